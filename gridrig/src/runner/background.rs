//! Background loads that are kept within a range (KOALA, 5.5): the dummy jobs that stand ready
//! for that, and whether it could be done.

use gridrig_core::grid::{Grid, GridCluster};
use gridrig_core::job::{Components, DUMMIES, Entry, JobLabel, JobSpec, Requirements, Submission};
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_results::JobTable;

/// So long a load may stand above its range with no dummy job left to remove.
const TOLERATED: SimDuration = SimDuration::from_secs(60);

/// Adds a dummy job for each look at a background load, as long as jobs come to the brokers.
pub(super) fn add_dummies(grid: &Grid, submissions: &mut Vec<Submission>) {
    let mut jobs = submissions.iter();
    let last = jobs.rfind(|job| matches!(job.entry, Entry::Domain(_)));
    let last = last.map_or(SimTime::ZERO, |job| job.at);
    let before = submissions.len();
    for cluster in &grid.clusters {
        let Some(background) = cluster.config.background else {
            continue;
        };
        let whole = Components::one(background.processors.get(), Requirements::default());
        let spec = JobSpec {
            requested_time: Some(background.length),
            ..JobSpec::of(whole, background.length)
        };
        let mut at = SimTime::ZERO;
        while at <= last {
            submissions.push(Submission {
                spec: spec.clone(),
                at,
                entry: Entry::Cluster(cluster.config.id),
                label: JobLabel {
                    workload: DUMMIES,
                    ..JobLabel::default()
                },
            });
            at += background.check;
        }
    }
    if submissions.len() > before {
        submissions.sort_by_key(|job| job.at);
    }
}

/// Where a load has stood above its range for longer than is tolerated.
pub(super) fn notes(grid: &Grid, table: &JobTable) -> Vec<String> {
    let above = |cluster: &GridCluster| {
        let background = cluster.config.background?;
        let longest = longest_above(cluster, background.most, table);
        (longest > TOLERATED).then(|| {
            format!(
                "background load of {}: above {} of its processors for {longest} on end, with no \
                 dummy job left to remove: more than {TOLERATED}, so that this run is void",
                cluster.name, background.most
            )
        })
    };
    grid.clusters.iter().filter_map(above).collect()
}

/// The longest time for which jobs that came past the broker had more than this share, none
/// of them a dummy, while the load was looked at.
fn longest_above(cluster: &GridCluster, most: Decimal, table: &JobTable) -> SimDuration {
    let mut rows = table.rows().iter();
    let last = rows.rfind(|row| row.label.is_dummy());
    let end = last.map_or(SimTime::ZERO, |row| row.intended);
    let here = |id| id == Some(cluster.config.id);
    let mut changes: Vec<(SimTime, i64, i64)> = Vec::new();
    for row in table
        .rows()
        .iter()
        .filter(|row| row.direct && here(row.cluster))
    {
        let Some(start) = row.start else { continue };
        let load = i64::from(row.processors);
        let dummies = i64::from(row.label.is_dummy());
        changes.push((start, load, dummies));
        changes.push((row.end.unwrap_or(end), -load, -dummies));
    }
    changes.sort_unstable();
    let bound = most.times(cluster.config.resources.processors().into());
    let (mut load, mut dummies, mut since) = (0_i64, 0_i64, None);
    let mut longest = SimDuration::ZERO;
    let mut changes = changes.into_iter().peekable();
    while let Some((at, by, of_dummies)) = changes.next() {
        (load, dummies) = (load + by, dummies + of_dummies);
        if changes.peek().is_some_and(|next| next.0 == at) {
            continue;
        }
        let is_above = dummies == 0 && Decimal::from_whole(load.unsigned_abs()) > bound;
        match (is_above, since) {
            (true, None) => since = Some(at),
            (false, Some(from)) => {
                longest = longest.max(at.min(end).since(from));
                since = None;
            }
            _ => {}
        }
    }
    longest
}
