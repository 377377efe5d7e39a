//! Numbers and words as reports show them.

use crate::words;

/// A number with three or four digits that count.
pub(super) fn number(value: f64) -> String {
    words::short(value).replace(',', "")
}

/// The same with its sign.
pub(super) fn signed(value: f64) -> String {
    match value > 0.0 {
        true => format!("+{}", number(value)),
        false => number(value),
    }
}

/// A figure that may be undefined.
pub(super) fn maybe(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), number)
}

/// A share in percent.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share))
}

/// A p-value.
pub(super) fn p_value(p: Option<f64>) -> String {
    p.map_or("-".to_owned(), words::p_value)
}

/// What varies, one or several of it.
pub(super) fn noun(over: &str, count: u64) -> String {
    let one = words::noun(over);
    match count {
        1 => one.to_owned(),
        _ => format!("{one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_shows_the_digits_that_count() {
        let shown = [
            0.0,
            0.01234,
            1.234,
            123.45,
            -12_345.6,
            0.000_04,
            -0.000_000_1,
        ];
        let shown = shown.map(number);
        assert_eq!(
            shown,
            ["0", "0.012", "1.23", "123.5", "-12346", "4.0e-5", "-1.0e-7"]
        );
        assert_eq!(
            [signed(2.0), signed(-2.0), signed(0.0)],
            ["+2.00", "-2.00", "0"]
        );
    }

    #[test]
    fn a_count_of_what_varies_reads_as_english() {
        assert_eq!(noun("window", 1), "window");
        assert_eq!(noun("broker-phase", 3), "broker phases");
    }
}
