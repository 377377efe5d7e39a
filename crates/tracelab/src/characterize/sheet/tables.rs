//! The tables of a sheet.

use crate::characterize::Characterization;
use crate::characterize::batches::BatchStatistics;
use crate::characterize::clusters::{ClusterSizeFrom, Clusters, Imbalance};
use gridrig_results::plot::{Cell, Table, integer, number, seconds};
use gridrig_results::stats::Distribution;

/// Clusters that get a row.
const CLUSTER_ROWS: usize = 40;

/// LSAP Tables 1 and 2, with quantiles.
pub(super) fn distributions(trace: &Characterization) -> Table {
    let head = " | n | mean | sd | cv | min | p50 | p90 | p95 | p99 | max | trimmed mean";
    let mut table = Table::new(head.split(" | ")).caption(
        "Run times, sizes and gaps (LSAP Tables 1 and 2); the trimmed mean leaves out the largest \
         1 %",
    );
    for (name, of) in [
        ("run time (s)", &trace.run_time_s),
        ("processors", &trace.processors),
        ("inter-arrival time (s)", &trace.interarrival_s),
    ] {
        table.push(row(name, of));
    }
    table
}

fn row(name: &str, of: &Distribution) -> Vec<Cell> {
    let mut cells = vec![Cell::from(name), Cell::from(of.n)];
    cells.extend(of.row().map(Cell::from));
    cells
}

pub(super) fn sizes(trace: &Characterization) -> Table {
    let share = |value: Option<f64>| value.map_or(Cell::Missing, Cell::percent);
    let sizes = &trace.sizes;
    Table::new(["jobs", "share"])
        .caption("Jobs by their size")
        .row([Cell::from("one processor"), share(sizes.serial_share)])
        .row([Cell::from("2, 4, 8, ..."), share(sizes.power_of_two_share)])
        .row([Cell::from("any other"), share(sizes.other_share)])
        .row([
            Cell::from("processor time of those on one processor"),
            share(sizes.serial_processor_time_share),
        ])
}

pub(super) fn batches(of: &BatchStatistics) -> Table {
    let mut table = Table::new(["jobs in the batch", "batches", "mean", "largest", "mean cv"])
        .caption("Longest over shortest run inside a batch in powers of ten, and cv of its runs");
    for class in &of.by_size {
        let size = match class.to {
            Some(to) if to == class.from => to.to_string(),
            Some(to) => format!("{} to {to}", class.from),
            None => format!("{} and more", class.from),
        };
        table.push([
            Cell::from(size),
            Cell::from(class.count),
            Cell::from(class.orders_of_magnitude_mean),
            Cell::from(class.orders_of_magnitude_max),
            Cell::from(class.cv_mean),
        ]);
    }
    table
}

/// The imbalances in words.
pub(super) fn imbalance(all: &Clusters) -> String {
    let field = all.field.name();
    let between = |of: &Imbalance| {
        format!(
            "{}:1 ({} over {})",
            number(of.ratio),
            all.label(of.most),
            all.label(of.least)
        )
    };
    let overall = all.overall_imbalance.as_ref().map_or_else(
        || "is not known, since the clusters' processors are not".to_owned(),
        |of| format!("is {}", between(of)),
    );
    let temporary = all.temporary_imbalance.as_ref().map_or_else(
        || "is not defined".to_owned(),
        |of| {
            format!(
                "is {}, {} into the log",
                between(&of.between),
                seconds(of.at_s)
            )
        },
    );
    format!(
        "The field {field} names {} clusters; {} jobs name none. The overall imbalance, the \
         largest ratio of arrivals per processor, {overall}. The temporary imbalance, the largest \
         ratio of arrivals within one hour, {temporary}.",
        integer(all.count),
        integer(all.jobs_without)
    )
}

pub(super) fn clusters(all: &Clusters) -> Table {
    let sized = all.loads.iter().any(|load| load.processors.is_some());
    let mut head = vec!["cluster", "jobs", "share", "hour mean", "hour max"];
    if sized {
        head.extend(["processors", "per processor", "day mean", "day max"]);
    }
    let mut table = Table::new(head);
    for load in all.loads.iter().take(CLUSTER_ROWS) {
        let mut cells = vec![
            Cell::from(load.label()),
            Cell::from(load.jobs),
            Cell::percent(load.jobs_share),
            Cell::from(load.hourly_load_mean),
            Cell::from(load.hourly_load_max),
        ];
        if sized {
            cells.push(match (load.processors, load.processors_from) {
                (Some(count), Some(ClusterSizeFrom::Observed)) => {
                    Cell::Number(format!("\u{2265} {}", integer(count)))
                }
                (Some(count), _) => Cell::from(count),
                (None, _) => Cell::Missing,
            });
            let loads = [
                load.cumulative_load,
                load.daily_load_mean,
                load.daily_load_max,
            ];
            cells.extend(loads.map(Cell::from));
        }
        table.push(cells);
    }
    let mut caption = "Arrivals at the clusters, in all and by hour".to_owned();
    if sized {
        caption += "; per processor in all and by day; \u{2265} what ran there at once";
    }
    let more = all.loads.len().saturating_sub(CLUSTER_ROWS);
    if more > 0 {
        caption += &format!("; {more} smaller ones are in the JSON");
    }
    table.caption(caption)
}
