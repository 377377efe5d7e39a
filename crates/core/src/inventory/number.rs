//! Exact numbers of an inventory.

use crate::time::Decimal;
use std::fmt;

/// An exact decimal of at least 0 with at most nine places after the point.
///
/// Sums of such numbers are such numbers, so that totals and comparisons are
/// exact; only a mean or median may have to be rounded down to nine places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(u128);

/// Parts of one.
const ONE: u128 = 1_000_000_000;
const PLACES: usize = 9;
/// Digits before the point that are read.
const MOST_DIGITS: usize = 20;

impl Number {
    /// 0.
    pub const ZERO: Number = Number(0);

    /// Reads digits with at most one point between them, such as `60` or
    /// `2.5`: at most twenty before it and nine after.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let digits = |part: &str, most: usize| {
            (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole, MOST_DIGITS) || fraction.is_some_and(|part| !digits(part, PLACES)) {
            return None;
        }
        let whole: u128 = whole.parse().ok()?;
        let fraction: u128 = format!("{:0<PLACES$}", fraction.unwrap_or(""))
            .parse()
            .ok()?;
        Some(Number(whole * ONE + fraction))
    }

    /// The value of a decimal, cut off after nine places.
    #[must_use]
    pub fn from_decimal(decimal: Decimal) -> Self {
        let (over, under) = decimal.ratio();
        Number(u128::from(over) * ONE / u128::from(under))
    }

    /// The value times 10^9, a whole number.
    #[must_use]
    pub const fn billionths(self) -> u128 {
        self.0
    }

    /// The sum; it stays at the greatest value that there is.
    #[must_use]
    pub const fn plus(self, other: Number) -> Self {
        Number(self.0.saturating_add(other.0))
    }

    /// The product with a whole number, likewise.
    #[must_use]
    pub const fn times(self, by: u64) -> Self {
        Number(self.0.saturating_mul(by as u128))
    }

    /// The quotient, rounded down to nine places; `None` for a divisor of 0.
    #[must_use]
    pub const fn over(self, by: u64) -> Option<Self> {
        match self.0.checked_div(by as u128) {
            Some(quotient) => Some(Number(quotient)),
            None => None,
        }
    }
}

impl From<u64> for Number {
    fn from(whole: u64) -> Self {
        Number(u128::from(whole) * ONE)
    }
}

/// The shortest text that [`Number::parse`] reads as the same number.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / ONE, self.0 % ONE);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let fraction = format!("{fraction:0PLACES$}");
        write!(f, "{whole}.{}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_decimals_and_print_shortest() {
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
            assert_eq!(Number::parse(text).unwrap().to_string(), printed);
        }
        for text in ["", ".5", "5.", "1e3", "-1", "+1", "0.0000000001", "1 ", "١"] {
            assert_eq!(Number::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn decimals_keep_nine_places() {
        let from = |text| Number::from_decimal(Decimal::parse(text).unwrap()).to_string();
        assert_eq!(from("2.20"), "2.2");
        assert_eq!(from("1.0000000019"), "1.000000001");
        assert_eq!(from("12"), "12");
    }

    #[test]
    fn a_mean_is_rounded_down() {
        assert_eq!(
            Number::from(8800).over(3).unwrap().to_string(),
            "2933.333333333"
        );
        assert_eq!(Number::from(1).over(0), None);
    }
}
