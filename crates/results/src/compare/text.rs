//! Numbers and words as reports show them.

use crate::threshold::Figure;

/// A number with three or four digits that count.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let text = match size {
        1000.0.. => format!("{value:.0}"),
        100.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.001.. => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    };
    // What rounds to zero has no sign.
    match text
        .trim_start_matches('-')
        .trim_matches(['0', '.'])
        .is_empty()
    {
        true => "0".to_owned(),
        false => text,
    }
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
    match p {
        None => "-".to_owned(),
        Some(p) if p < 0.0005 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    }
}

/// A figure in words, such as `mean delay`.
pub(super) fn words(figure: Figure) -> String {
    let statistic = match figure.statistic() {
        "p50" => "median",
        "p95" => "95 % quantile of the",
        "p99" => "99 % quantile of the",
        other => other,
    };
    let metric = match figure.metric() {
        "delay_s" => "delay",
        "expansion" => "expansion ratio",
        "wait_s" => "wait",
        "response_s" => "response time",
        "bounded_slowdown" => "bounded slowdown",
        "bounded_slowdown_ref" => "bounded slowdown at speed 1.0",
        other => other,
    };
    format!("{statistic} {metric}")
}

/// What varies, one or several of it.
pub(super) fn noun(over: &str, count: u64) -> String {
    let one = match over {
        "window" | "seed" | "shake" | "workload" | "repeat" => over.to_owned(),
        "sample-phase" => "sample phase".to_owned(),
        "broker-phase" => "broker phase".to_owned(),
        _ => "replication".to_owned(),
    };
    match count {
        1 => one,
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
