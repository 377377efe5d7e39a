//! Numbers in the tables of a report, with the digits of the verdict's
//! sentence.

use crate::plot::Cell;
use crate::stats::Paired;
use crate::words::short;

/// The same with its sign.
pub(super) fn signed(value: f64) -> String {
    match value > 0.0 {
        true => format!("+{}", short(value)),
        false => short(value),
    }
}

/// A figure that may be undefined.
pub(super) fn cell(value: Option<f64>) -> Cell {
    Cell::shown(value.unwrap_or(f64::NAN), short)
}

/// A share that may be undefined.
pub(super) fn share(value: Option<f64>) -> Cell {
    Cell::percent(value.unwrap_or(f64::NAN))
}

/// A figure with its difference behind it; a star where the interval of the
/// difference excludes 0.
pub(super) fn with_difference(value: Option<f64>, paired: Option<&Paired>) -> Cell {
    let (Some(value), Some(paired)) = (value, paired) else {
        return cell(value);
    };
    let interval = paired.interval;
    let star = match interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0) {
        true => "*",
        false => "",
    };
    let difference = signed(paired.difference);
    Cell::Number(format!("{} ({difference}{star})", short(value)))
}

/// So many of something.
pub(super) fn count(n: u64, one: &str) -> String {
    let text = crate::plot::integer(n);
    match n {
        1 => format!("{text} {one}"),
        _ => format!("{text} {one}s"),
    }
}

/// A key as people read it: `window+1209600s` is `window+14d`.
pub fn key_words(key: &str) -> String {
    let days = || {
        let seconds: u64 = key
            .strip_prefix("window+")?
            .strip_suffix('s')?
            .parse()
            .ok()?;
        seconds.is_multiple_of(86_400).then_some(seconds / 86_400)
    };
    days().map_or(key.to_owned(), |days| format!("window+{days}d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        let shown = [0.0, 0.01234, 1.234, 123.45, -12_345.6, 0.000_04].map(short);
        assert_eq!(shown, ["0", "0.012", "1.23", "123.5", "-12,346", "4.0e-5"]);
        assert_eq!(
            [signed(2.0), signed(-2.0), signed(0.0)],
            ["+2.00", "-2.00", "0"]
        );
    }

    #[test]
    fn whole_days_of_a_window_are_days() {
        assert_eq!(key_words("window+1209600s"), "window+14d");
        assert_eq!(key_words("window+1.5s"), "window+1.5s");
        assert_eq!(key_words("seed=3"), "seed=3");
    }
}
