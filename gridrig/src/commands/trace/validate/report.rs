//! The verdict as text.

use crate::words::counts;
use gridrig_results::text::{aligned, cells, head};
use gridrig_tracelab::validate::{Clusters, Side, StatisticReport, Validation};
use std::fmt::Write as _;

/// The report, for people.
pub(super) fn text(outcome: &Validation, original: &str, reduced: &str) -> String {
    let word: &str = outcome.verdict.into();
    let mut text = format!("{word}: {}\n\n", outcome.summary());
    let left_out: u64 = outcome.left_out.values().sum();
    let all = outcome.original_jobs + left_out;
    let _ = write!(
        text,
        "{reduced}: {} jobs, against {original}: {} of its {all} jobs",
        outcome.reduced_jobs, outcome.original_jobs
    );
    let _ = match outcome.left_out.is_empty() {
        true => writeln!(text),
        false => writeln!(text, " (left out: {})", counts(&outcome.left_out)),
    };
    let _ = writeln!(text, "{}", outcome.identity);
    for note in &outcome.notes {
        let _ = writeln!(text, "note: {note}");
    }
    statistics(&mut text, outcome);
    clusters(&mut text, &outcome.clusters);
    for bound in &outcome.requirements {
        let met = if bound.met { "met" } else { "MISSED" };
        let _ = writeln!(
            text,
            "required {}: {:.4}, {met}",
            bound.requirement, bound.value
        );
    }
    text
}

fn statistics(text: &mut String, outcome: &Validation) {
    let mut lines = vec![
        head("statistic | value | margin | median | envelope | beyond | about"),
        cells(["", "", "", "of samples", "of samples"]),
    ];
    lines[1].push(format!("/ {}", outcome.samples));
    lines.extend(outcome.statistics.iter().map(|statistic| {
        let outside = if statistic.inside { "" } else { "  OUTSIDE" };
        vec![
            statistic.name.to_string(),
            format!("{:.4}", statistic.value),
            statistic.margin.map_or(String::new(), |it| it.to_string()),
            format!("{:.4}", statistic.median),
            envelope(statistic),
            statistic.beyond.to_string(),
            format!("{}{outside}", statistic.what),
        ]
    }));
    let _ = writeln!(
        text,
        "\nbeside {} {} samples, the design that it fits best:\n",
        outcome.samples,
        outcome.judged_by.name()
    );
    text.push_str(&aligned(&lines, "  ", &[0, 4, 6]));
    if !outcome.not_judged.is_empty() {
        let names = outcome.not_judged.join(", ");
        let _ = writeln!(
            text,
            "not judged (not in both traces, or not asked for): {names}"
        );
    }
}

fn envelope(statistic: &StatisticReport) -> String {
    let edge = |edge: Option<f64>| edge.map_or(String::new(), |edge| format!("{edge:.4}"));
    match statistic.side {
        Side::Upper => format!("at most {}", edge(statistic.high)),
        Side::Lower => format!("at least {}", edge(statistic.low)),
        Side::Both => format!("{} to {}", edge(statistic.low), edge(statistic.high)),
    }
}

fn clusters(text: &mut String, clusters: &Clusters) {
    /// Seconds.
    const DAY: f64 = 86_400.0;
    let agreement = clusters
        .adjusted_rand_index
        .map_or("no shared jobs".to_owned(), |index| {
            format!("adjusted Rand index {index:.3}")
        });
    let _ = writeln!(
        text,
        "\nclusters of arrivals: {} by the elbow ({} in the reduced trace by its own), {agreement}",
        clusters.original_k, clusters.reduced_k
    );
    for (number, cluster) in (1..).zip(&clusters.matched) {
        let _ = writeln!(
            text,
            "  {number:>2}: centre {:>9.3} d, reduced {:>9.3} d; {:>5.1} % of the jobs, reduced {:>5.1} %",
            cluster.original_centre_s / DAY,
            cluster.reduced_centre_s / DAY,
            100.0 * cluster.original_share,
            100.0 * cluster.reduced_share
        );
    }
}
