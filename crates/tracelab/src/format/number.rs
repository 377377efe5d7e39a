//! Exact decimal numbers from bytes.

use gridrig_core::time::{NANOS_PER_SEC, SimDuration};

/// A decimal number, exact to nine places; further places are cut off, since
/// no time is finer than a nanosecond, and it is said that they were. By default
/// it is -1: *not available*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Below zero, which every field of SWF reads as *not available*.
    pub negative: bool,
    /// The part before the point.
    pub whole: u64,
    /// The part after the point, in billionths.
    pub billionths: u32,
    /// Whether places that are not zero were cut off.
    pub cut: bool,
}

impl Default for Number {
    fn default() -> Self {
        Number {
            negative: true,
            ..Number::from(1)
        }
    }
}

impl From<u64> for Number {
    fn from(whole: u64) -> Self {
        Number {
            negative: false,
            whole,
            billionths: 0,
            cut: false,
        }
    }
}

impl From<SimDuration> for Number {
    fn from(time: SimDuration) -> Self {
        Number {
            billionths: (time.as_nanos() % NANOS_PER_SEC) as u32,
            ..Number::from(time.as_nanos() / NANOS_PER_SEC)
        }
    }
}

impl<T: Into<Number>> From<Option<T>> for Number {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Number::default, T::into)
    }
}

impl Number {
    /// Reads `12`, `-1`, `3.25`, `.5` or `1.2e+06`; `None` for anything else
    /// and for what does not fit 64 bits.
    pub fn parse(text: &[u8]) -> Option<Number> {
        let (sign, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let magnitude = match digits.iter().all(u8::is_ascii_digit) {
            true => parsed(digits).map(|whole| (whole, 0, false)),
            false => with_fraction(digits),
        };
        magnitude.map(|(whole, billionths, cut)| Number {
            negative: sign && (whole > 0 || billionths > 0),
            whole,
            billionths,
            cut,
        })
    }

    /// The smallest whole number that is no less, the sign left aside: a
    /// requirement must be met.
    pub fn rounded_up(self) -> u64 {
        self.whole.saturating_add(u64::from(self.billionths > 0))
    }

    /// Seconds as a duration; `None` past 584 years. The sign is not looked at.
    pub fn seconds(self) -> Option<SimDuration> {
        self.whole
            .checked_mul(NANOS_PER_SEC)?
            .checked_add(u64::from(self.billionths))
            .map(SimDuration::from_nanos)
    }
}

/// What a text stands for, if it stands for one.
pub(crate) fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whole part, billionths and whether places were cut off, of a number with a point or an exponent.
fn with_fraction(text: &[u8]) -> Option<(u64, u32, bool)> {
    let (mantissa, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => (&text[..at], parse_exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let point = mantissa.iter().position(|b| *b == b'.');
    let (whole, fraction) = match point {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let mut value: u128 = 0;
    // Places of the mantissa that `value` leaves out: digits past the 30th
    // are below a billionth for every exponent that is accepted.
    let mut places: i32 = 9 + exponent;
    let mut cut = false;
    for (at, byte) in whole.iter().chain(fraction).enumerate() {
        if !byte.is_ascii_digit() {
            return None;
        }
        let in_fraction = at >= whole.len();
        if value < 10u128.pow(30) {
            value = value * 10 + u128::from(byte - b'0');
            places -= i32::from(in_fraction);
        } else if in_fraction {
            cut |= *byte != b'0';
        } else {
            return None;
        }
    }
    let scale = 10u128.checked_pow(places.unsigned_abs());
    let scaled = match (scale, places >= 0) {
        (Some(scale), true) => value.checked_mul(scale)?,
        (Some(scale), false) => {
            cut |= !value.is_multiple_of(scale);
            value / scale
        }
        (None, true) if value > 0 => return None,
        (None, _) => {
            cut |= value > 0;
            0
        }
    };
    let whole = u64::try_from(scaled / u128::from(NANOS_PER_SEC)).ok()?;
    let billionths = u32::try_from(scaled % u128::from(NANOS_PER_SEC)).ok()?;
    Some((whole, billionths, cut))
}

fn parse_exponent(text: &[u8]) -> Option<i32> {
    let exponent = parsed(text)?;
    (-40..=40).contains(&exponent).then_some(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_decimals() {
        let check = |text: &str, negative, whole, billionths| {
            let expected = Number {
                negative,
                whole,
                billionths,
                cut: false,
            };
            assert_eq!(Number::parse(text.as_bytes()), Some(expected), "{text}");
        };
        check("0", false, 0, 0);
        check("-1", true, 1, 0);
        check("-0", false, 0, 0);
        check("-0.5", true, 0, 500_000_000);
        check("142.00", false, 142, 0);
        check("0.1", false, 0, 100_000_000);
        check(".000000001", false, 0, 1);
        check("7.", false, 7, 0);
        check("18446744073709551615", false, u64::MAX, 0);
        check("1.25e+06", false, 1_250_000, 0);
        check("5e-1", false, 0, 500_000_000);
        check("0e40", false, 0, 0);
        check("1.9000000000", false, 1, 900_000_000);
    }

    #[test]
    fn places_past_the_ninth_are_cut_off_and_it_is_said() {
        let long = format!("1.{}", "9".repeat(100));
        for (text, whole, billionths) in [
            ("1.9999999999", 1, 999_999_999),
            ("5e-40", 0, 0),
            ("-0.0000000001", 0, 0),
            (&long, 1, 999_999_999),
        ] {
            let number = Number::parse(text.as_bytes()).unwrap();
            assert_eq!((number.whole, number.billionths), (whole, billionths));
            assert!(number.cut, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            "-",
            "+",
            ".",
            "-.",
            "1-",
            "1.2.3",
            "0x10",
            "NaN",
            "inf",
            "1e",
            "e5",
            "1e99",
            "18446744073709551616",
            "{1,2}",
            "1,5",
            "9e30",
            "\u{0661}",
        ] {
            assert_eq!(Number::parse(text.as_bytes()), None, "{text}");
        }
    }
}
