//! The common line, in one pass over its bytes.

use super::number::Number;
use super::record::FIELDS;

/// Digits that fit 64 bits whatever they are.
const SAFE_DIGITS: usize = 19;

/// Places that a number keeps.
const PLACES: usize = 9;

/// Reads a whole line of exactly 18 plain numbers at the beginning of
/// `ahead`, and answers its length with its line feed.
///
/// `None` for everything that is not such a line: comments, more or fewer
/// fields, exponents, a line that `ahead` does not hold to its end. What it
/// is, the careful reader finds out.
pub(super) fn plain_line(ahead: &[u8], numbers: &mut [Number; FIELDS]) -> Option<usize> {
    let mut at = 0;
    for number in numbers.iter_mut() {
        while matches!(*ahead.get(at)?, b' ' | b'\t') {
            at += 1;
        }
        at = plain_number(ahead, at, number)?;
    }
    while matches!(*ahead.get(at)?, b' ' | b'\t' | b'\r') {
        at += 1;
    }
    (ahead[at] == b'\n').then_some(at + 1)
}

/// One number that ends at a blank or a line end, and where it ends.
#[inline]
fn plain_number(text: &[u8], start: usize, number: &mut Number) -> Option<usize> {
    let negative = *text.get(start)? == b'-';
    let first = start + usize::from(negative);
    let mut at = first;
    let mut whole: u64 = 0;
    let mut byte = *text.get(at)?;
    while byte.is_ascii_digit() {
        // More digits than fit are refused below.
        whole = whole.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        at += 1;
        byte = *text.get(at)?;
    }
    let mut billionths = 0;
    if at == first || at - first > SAFE_DIGITS {
        return None;
    }
    if byte == b'.' {
        at += 1;
        let point = at;
        let mut scale = 1_000_000_000u32;
        byte = *text.get(at)?;
        while byte.is_ascii_digit() {
            scale /= 10;
            billionths += u32::from(byte - b'0') * scale;
            at += 1;
            byte = *text.get(at)?;
        }
        if at - point > PLACES {
            return None;
        }
    }
    if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
        return None;
    }
    *number = Number {
        negative: negative && (whole > 0 || billionths > 0),
        whole,
        billionths,
        cut: false,
    };
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_line_is_read_as_the_careful_reader_would() {
        let line = "  1 0.5\t-1 18446744073709 4 -1 -1.25 4 300. -1 1 7 1 -1 0 -1 -1 -0 \r\n2 3";
        let mut numbers = [Number::default(); FIELDS];
        let length = plain_line(line.as_bytes(), &mut numbers).unwrap();
        assert_eq!(length, line.find('\n').unwrap() + 1);
        for (number, text) in numbers.iter().zip(line.split_whitespace()) {
            assert_eq!(Some(*number), Number::parse(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn everything_else_is_left_to_the_careful_reader() {
        let good = ["1"; FIELDS].join(" ");
        let mut numbers = [Number::default(); FIELDS];
        assert!(plain_line(format!("{good}\n").as_bytes(), &mut numbers).is_some());
        for text in [
            String::new(),
            good.clone(),
            format!("{good} 1\n"),
            format!("{}\n", &good[2..]),
            format!("; {good}\n"),
            format!("{}1e3\n", &good[..good.len() - 1]),
            format!("{}99999999999999999999\n", &good[..good.len() - 1]),
            format!("{}0.1234567891\n", &good[..good.len() - 1]),
            format!("{}-\n", &good[..good.len() - 1]),
        ] {
            assert_eq!(plain_line(text.as_bytes(), &mut numbers), None, "{text}");
        }
    }
}
