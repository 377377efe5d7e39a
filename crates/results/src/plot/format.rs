//! Numbers as readers see them: grouped, rounded, with their unit.

use std::fmt::Write as _;

/// What stands where a number is not defined.
pub(super) const UNDEFINED: &str = "n/a";

/// A number with four significant digits, its integer part grouped by commas;
/// integers below 10^15 are written whole, very large and very small numbers
/// as `1.23e20`, and what is not finite as `n/a`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return UNDEFINED.to_owned();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e15).contains(&size) {
        return exponent(value);
    }
    if value.fract() == 0.0 {
        return grouped(&format!("{value:.0}"));
    }
    let digits = 3 - size.log10().floor() as i32;
    let text = format!("{value:.*}", digits.max(0) as usize);
    grouped(trim_zeros(&text))
}

/// A count, grouped by commas.
pub fn integer(value: u64) -> String {
    grouped(&value.to_string())
}

/// A share (0 to 1) as per cent with at most one decimal, two below one per
/// cent.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return UNDEFINED.to_owned();
    }
    let value = share * 100.0;
    if value.abs() >= 1e6 || !value.is_finite() {
        return format!("{} %", exponent(value.clamp(-f64::MAX, f64::MAX)));
    }
    let small = value != 0.0 && value.abs() < 1.0;
    let text = format!("{value:.*}", if small { 2 } else { 1 });
    format!("{} %", grouped(trim_zeros(&text)))
}

/// A duration given in seconds, in its two greatest units: `1 h 5 min`,
/// `2.5 s`, `12 ms`.
pub fn seconds(value: f64) -> String {
    if !value.is_finite() {
        return UNDEFINED.to_owned();
    }
    let size = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    if size == 0.0 {
        return "0 s".to_owned();
    }
    if size < 1.0 {
        let (scaled, unit) = match size {
            s if s >= 1e-3 => (s * 1e3, "ms"),
            s if s >= 1e-6 => (s * 1e6, "µs"),
            s => (s * 1e9, "ns"),
        };
        return format!("{sign}{} {unit}", number(scaled));
    }
    if size < 59.95 {
        return format!("{sign}{} s", trim_zeros(&format!("{size:.1}")));
    }
    if size >= 8.64e13 {
        return format!("{sign}{} d", number(size / 86_400.0));
    }
    let whole = |unit: f64| (size / unit).round() as u64;
    let (total, small, per, names) = match size {
        s if s < 3_599.5 => (whole(1.0), 1, 60, ("min", "s")),
        s if s < 86_370.0 => (whole(60.0), 1, 60, ("h", "min")),
        _ => (whole(3_600.0), 1, 24, ("d", "h")),
    };
    let (great, rest) = (total / per, total % per * small);
    let mut text = format!("{sign}{} {}", integer(great), names.0);
    if rest > 0 && great < 1_000 {
        let _ = write!(text, " {rest} {}", names.1);
    }
    text
}

/// `1.23e20`.
pub(super) fn exponent(value: f64) -> String {
    let text = format!("{value:.2e}");
    match text.split_once('e') {
        Some((mantissa, power)) => format!("{}e{power}", trim_zeros(mantissa)),
        None => text,
    }
}

/// `12.50` as `12.5`, `3.00` as `3`, `-0.0` as `0`.
pub(super) fn trim_zeros(text: &str) -> &str {
    let short = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    if short == "-0" { "0" } else { short }
}

/// Commas between groups of three digits of the integer part.
pub(super) fn grouped(text: &str) -> String {
    let (sign, rest) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(fraction);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_grouped() {
        let shown = |value| number(value);
        assert_eq!(shown(0.0), "0");
        assert_eq!(shown(-0.0), "0");
        assert_eq!(shown(1234567.0), "1,234,567");
        assert_eq!(shown(-1234.56), "-1,235");
        assert_eq!(shown(13.9645), "13.96");
        assert_eq!(shown(0.012345), "0.01235");
        assert_eq!(shown(2.5e20), "2.5e20");
        assert_eq!(shown(5e-324), "4.94e-324");
        assert_eq!(shown(f64::NAN), "n/a");
        assert_eq!(integer(1000), "1,000");
        assert_eq!(integer(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn durations_take_their_two_greatest_units() {
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(0.0125), "12.5 ms");
        assert_eq!(seconds(59.96), "1 min");
        assert_eq!(seconds(2.5), "2.5 s");
        assert_eq!(seconds(90.0), "1 min 30 s");
        assert_eq!(seconds(3_599.6), "1 h");
        assert_eq!(seconds(7_500.0), "2 h 5 min");
        assert_eq!(seconds(-7_200.0), "-2 h");
        assert_eq!(seconds(90_000.0), "1 d 1 h");
        assert_eq!(seconds(1e9), "11,574 d");
        assert_eq!(seconds(f64::MAX), "2.08e303 d");
        assert_eq!(seconds(f64::INFINITY), "n/a");
    }

    #[test]
    fn shares_are_shown_per_hundred() {
        assert_eq!(percent(0.5), "50 %");
        assert_eq!(percent(0.12345), "12.3 %");
        assert_eq!(percent(0.00123), "0.12 %");
        assert_eq!(percent(f64::MAX), "1.8e308 %");
        assert_eq!(percent(f64::NAN), "n/a");
    }
}
