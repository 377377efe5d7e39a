//! The load of the clusters that a trace names.

use super::{instant, number, percent};
use gridrig_results::text::{head, table};
use gridrig_tracelab::characterize::clusters::{ClusterLoad, ClusterSizeFrom, Clusters, Imbalance};
use std::fmt::Write as _;

/// Clusters that get a line of their own.
const LINES: usize = 10;

/// Columns of a name.
const NAME_WIDTH: usize = 26;

pub(super) fn write(text: &mut String, all: &Clusters) {
    imbalance(text, all);
    let mut lines = vec![head(
        "cluster | processors | jobs | share | jobs/proc | day mean | day max | hour max",
    )];
    lines.extend(all.loads.iter().take(LINES).map(row));
    text.push_str(&table(&lines));
    if all.loads.len() > LINES {
        let rest: u64 = all.loads[LINES..].iter().map(|load| load.jobs).sum();
        let _ = writeln!(
            text,
            "and {} more with {rest} jobs (--json has them)",
            all.loads.len() - LINES
        );
    }
    if all.loads.iter().any(observed) {
        text.push_str(
            "(day: jobs per processor; >= is the most that ran there at once by the wait times; \
             --cluster ID=N gives the real number)\n",
        );
    }
}

fn observed(load: &ClusterLoad) -> bool {
    load.processors_from == Some(ClusterSizeFrom::Observed)
}

fn imbalance(text: &mut String, all: &Clusters) {
    let field = all.field.name();
    let _ = writeln!(
        text,
        "\n{} clusters (field {field}); {} jobs name none",
        all.count, all.jobs_without
    );
    let ratio = |imbalance: &Imbalance| {
        format!(
            "{}:1 ({} over {})",
            number(Some(imbalance.ratio)),
            imbalance.most,
            imbalance.least
        )
    };
    let overall = all.overall_imbalance.as_ref().map_or(
        "unknown without the clusters' processors (--cluster ID=N)".to_owned(),
        ratio,
    );
    let temporary = all
        .temporary_imbalance
        .as_ref()
        .map_or("none".to_owned(), |worst| {
            format!("{} at {}", ratio(&worst.between), instant(worst.at_s))
        });
    let _ = writeln!(
        text,
        "overall imbalance {overall}; temporary imbalance {temporary}"
    );
}

fn row(load: &ClusterLoad) -> Vec<String> {
    let at_least = if observed(load) { ">=" } else { "" };
    let processors = load
        .processors
        .map_or("-".to_owned(), |count| format!("{at_least}{count}"));
    vec![
        shorten(&load.label(), NAME_WIDTH),
        processors,
        load.jobs.to_string(),
        percent(Some(load.jobs_share)),
        number(load.cumulative_load),
        number(load.daily_load_mean),
        number(load.daily_load_max),
        load.hourly_load_max.to_string(),
    ]
}

/// A name that fits. What a terminal would obey is shown instead.
fn shorten(name: &str, width: usize) -> String {
    let safe: String = name
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    match safe.chars().count() > width {
        true => safe.chars().take(width - 2).chain("..".chars()).collect(),
        false => safe,
    }
}
