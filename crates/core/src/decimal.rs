//! Exact decimal numbers.

use std::fmt;

/// An exact decimal of at least 0 with at most eighteen places after the point.
///
/// Scale factors and speeds are kept like this, so that `floor(t / factor)`
/// is the same number everywhere, and so are the numbers of inventories: sums of
/// such numbers are such numbers, so that totals and comparisons are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Decimal(u128);

/// Parts of one.
const ONE: u128 = 10u128.pow(PLACES as u32);
const PLACES: usize = 18;
/// Parts of a billionth.
const BILLIONTH: u128 = ONE / 1_000_000_000;

impl Decimal {
    /// Nothing.
    pub const ZERO: Decimal = Decimal(0);
    /// One.
    pub const ONE: Decimal = Decimal(ONE);

    /// Reads digits with at most one point, such as `60`, `2.5` or `.5`, that
    /// fit 64 bits without it.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('+').unwrap_or(text);
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let fraction = fraction.trim_end_matches('0');
        let fits = format!("{whole}{fraction}").parse::<u64>().is_ok();
        fits.then(|| Self::of_digits(whole, fraction))?
    }

    /// Reads digits with at most one point between them, such as `60` or
    /// `2.5`: at most twenty before it and nine after.
    pub fn parse_long(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let fit = (1..=20).contains(&whole.len()) && (1..=9).contains(&fraction.len());
        fit.then(|| Self::of_digits(whole, fraction))?
    }

    fn of_digits(whole: &str, fraction: &str) -> Option<Self> {
        let digits = format!("{whole}{fraction:0<PLACES$}");
        let fit = fraction.len() <= PLACES && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| fit).map(Decimal)
    }

    /// A whole number.
    pub const fn from_whole(whole: u64) -> Self {
        Decimal(whole as u128 * ONE)
    }

    /// So many billionths.
    pub(crate) const fn from_billionths(billionths: u64) -> Self {
        Decimal(billionths as u128 * BILLIONTH)
    }

    /// So many millionths.
    pub(crate) const fn from_millionths(millionths: u64) -> Self {
        Decimal(millionths as u128 * (ONE / 1_000_000))
    }

    /// Whether the value is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The value as a float, for display and statistics.
    pub fn as_f64(self) -> f64 {
        let (over, under) = self.ratio();
        over as f64 / under as f64
    }

    /// `floor(nanos / self)`; saturates where the result does not fit.
    /// Dividing by zero gives the greatest value.
    pub fn divide(self, nanos: u64) -> u64 {
        if self.0 == ONE {
            return nanos;
        }
        let quotient = (u128::from(nanos) * ONE).checked_div(self.0);
        quotient.map_or(u64::MAX, narrow)
    }

    /// `floor(whole * self)`; saturates where the result does not fit.
    pub fn multiply(self, whole: u64) -> u64 {
        narrow(self.0.saturating_mul(u128::from(whole)) / ONE)
    }

    /// `floor(nanos * self / by)`, exact while the product fits; saturates where the result
    /// does not fit, as dividing by zero does.
    pub fn over_other(self, by: Decimal, nanos: u64) -> u64 {
        let common = (self.0 | by.0).trailing_zeros().min(u128::BITS - 1);
        let (mut over, mut under) = (self.0 >> common, by.0 >> common);
        loop {
            if let Some(product) = over.checked_mul(nanos.into()) {
                return product.checked_div(under).map_or(u64::MAX, narrow);
            }
            (over, under) = (over >> 1, under >> 1);
        }
    }

    /// The value as a fraction of whole numbers, the lower one a power of ten;
    /// saturates where they do not fit, which what has been read does.
    pub fn ratio(self) -> (u64, u64) {
        let (mut over, mut under) = (self.0, ONE);
        while under > 1 && over.is_multiple_of(10) {
            (over, under) = (over / 10, under / 10);
        }
        (narrow(over), narrow(under))
    }

    /// The value times 10^9, rounded down to a whole number.
    pub const fn billionths(self) -> u128 {
        self.0 / BILLIONTH
    }

    /// The sum; it stays at the greatest value that there is, 3.4 * 10^20.
    #[must_use]
    pub const fn plus(self, other: Decimal) -> Self {
        Decimal(self.0.saturating_add(other.0))
    }

    /// The product with a whole number, likewise.
    #[must_use]
    pub const fn times(self, by: u64) -> Self {
        Decimal(self.0.saturating_mul(by as u128))
    }

    /// The quotient, rounded down to nine places; `None` for a divisor of 0.
    pub fn over(self, by: u64) -> Option<Self> {
        let quotient = self.billionths().checked_div(u128::from(by))?;
        Some(Decimal(quotient * BILLIONTH))
    }
}

/// A number in 64 bits, the greatest one where it does not fit.
pub(crate) fn narrow(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl From<u64> for Decimal {
    fn from(whole: u64) -> Self {
        Decimal::from_whole(whole)
    }
}

/// The shortest text that is read as the same number.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / ONE, self.0 % ONE);
        let fraction = match fraction {
            0 => String::new(),
            part => format!(".{part:0PLACES$}"),
        };
        write!(f, "{whole}{}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_and_print_shortest() {
        for (text, printed) in [
            ("0", "0"),
            ("2.50", "2.5"),
            ("007", "7"),
            ("0.000000001", "0.000000001"),
            (
                "99999999999999999999.999999999",
                "99999999999999999999.999999999",
            ),
        ] {
            assert_eq!(Decimal::parse_long(text).unwrap().to_string(), printed);
        }
        for text in ["", ".5", "5.", "1e3", "-1", "+1", "0.0000000001", "1 ", "١"] {
            assert_eq!(Decimal::parse_long(text), None, "{text:?}");
        }
    }

    #[test]
    fn factors_have_eighteen_places_and_fit_64_bits() {
        for (text, printed) in [
            ("+60", "60"),
            (".5", "0.5"),
            ("5.", "5"),
            ("0.1234567890123456780", "0.123456789012345678"),
            ("18446744073709551615", "18446744073709551615"),
        ] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), printed);
        }
        for text in [
            "",
            ".",
            ".0",
            "1e3",
            "++1",
            "-1",
            "1.+1",
            "0.1234567890123456789",
            "18446744073709551616",
            "1844674407370955161.56",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_mean_is_rounded_down_to_nine_places() {
        let over = |number: Decimal, by| number.over(by).unwrap().to_string();
        assert_eq!(over(8800.into(), 3), "2933.333333333");
        assert_eq!(
            over(Decimal::parse("1.0000000019").unwrap(), 1),
            "1.000000001"
        );
        assert_eq!(Decimal::ONE.over(0), None);
    }

    #[test]
    fn scaling_rounds_down() {
        let of = |text| Decimal::parse(text).unwrap();
        assert_eq!(of("60").divide(119), 1);
        assert_eq!(of("2.5").divide(9), 3);
        assert_eq!(of("0.5").divide(9), 18);
        assert_eq!(of("2.5").multiply(3), 7);
        assert_eq!(of("1000").multiply(u64::MAX), u64::MAX);
        let hour = 3_600_000_000_000;
        assert_eq!(
            of("1250.5").over_other(of("1000.4"), hour),
            4_500_000_000_000
        );
        assert_eq!(of("3").over_other(of("7"), 100), 42);
        let flops = of("2500000000000000000");
        assert_eq!(
            flops.over_other(of("1000000000000000000"), hour),
            9_000_000_000_000
        );
        assert_eq!(flops.over_other(of("0.000000001"), hour), u64::MAX);
        assert_eq!(Decimal::ONE.over_other(Decimal::ZERO, 1), u64::MAX);
        assert_eq!(Decimal::ZERO.over_other(Decimal::ZERO, 1), u64::MAX);
        assert_eq!(Decimal::ZERO.divide(1), u64::MAX);
        assert_eq!(of("2.50").ratio(), (25, 10));
        assert_eq!(of("1234.567").as_f64(), 1234.567);
    }
}
