//! Runs without a comparison: each by its own figures.

use super::material::Material;
use super::number::{cell, key_words, share};
use crate::compare::find::FoundRun;
use crate::plot::{Cell, Page, Table};
use crate::threshold::METRICS;
use crate::words;

/// Runs of a column that are told one by one.
const MOST_RUNS: usize = 100;

pub(super) fn draw(page: &mut Page, material: &Material) {
    page.heading("Runs");
    let mut jobs = Table::new("run | replication | trace | submitted | completed | rejected | other | utilization | ever waited | makespan, s".split(" | "))
    .caption("Jobs and load of each run");
    let metrics = METRICS
        .into_iter()
        .filter(|metric| *metric != "bounded_slowdown_ref");
    let tables = metrics.map(|metric| {
        let (name, unit) = (words::metric(metric), words::unit_of(metric));
        let caption = format!("{name}{unit}, over all measured jobs of the run");
        let heads = "run | replication | n | mean | median | p95 | p99 | max";
        (metric, Table::new(heads.split(" | ")).caption(caption))
    });
    let mut tables: Vec<(&str, Table)> = tables.collect();
    let mut hidden = 0;
    for column in &material.columns {
        hidden += column.runs.len().saturating_sub(MOST_RUNS);
        for run in column.runs.iter().take(MOST_RUNS) {
            jobs.push(job_row(&column.name, run));
            for (metric, table) in &mut tables {
                table.push(metric_row(&column.name, run, metric));
            }
        }
    }
    page.table(&jobs);
    tables.iter().for_each(|(_, table)| page.table(table));
    if hidden > 0 {
        page.paragraph(&format!("{hidden} more runs are not listed."));
    }
}

fn job_row(name: &str, run: &FoundRun) -> Vec<Cell> {
    let summary = &run.manifest.summary;
    let jobs = |state: &str| summary["jobs"][state].as_u64();
    let number = |jobs: Option<u64>| jobs.map_or(Cell::Missing, Cell::from);
    let figure = |name: &str| summary[name].as_f64();
    let others = ["cancelled", "failed", "unfinished"].map(jobs);
    let other = others.iter().all(Option::is_some);
    vec![
        Cell::Text(name.to_owned()),
        Cell::Text(key_words(&run.key)),
        Cell::Text(super::material::traces(run).join(", ")),
        number(jobs("submitted")),
        number(jobs("completed")),
        number(jobs("rejected")),
        number(other.then(|| others.into_iter().flatten().sum())),
        share(figure("utilization")),
        share(figure("waited_share")),
        cell(figure("makespan_s")),
    ]
}

fn metric_row(name: &str, run: &FoundRun, metric: &str) -> Vec<Cell> {
    let summary = &run.manifest.summary[metric];
    let of = |statistic: &str| summary[statistic].as_f64();
    let mut cells = vec![
        Cell::Text(name.to_owned()),
        Cell::Text(key_words(&run.key)),
        summary["n"].as_u64().map_or(Cell::Missing, Cell::from),
    ];
    cells.extend(["mean", "p50", "p95", "p99", "max"].map(|statistic| cell(of(statistic))));
    cells
}
