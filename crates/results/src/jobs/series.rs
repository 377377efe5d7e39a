//! Queue length and busy processors of each cluster over time.

use super::{JobRow, JobTable};
use gridrig_core::ids::ClusterId;
use gridrig_core::time::SimTime;

/// The most rows that one cluster gets.
pub const MAX_POINTS: usize = 2_000;

/// The load of a cluster over `[at, at of its next row)`; the last row of a
/// cluster reaches to the end of the run.
///
/// A cluster that changes at no more than [`MAX_POINTS`] instants has a row
/// for each of them, and the rows are its exact history. One that changes
/// more often has [`MAX_POINTS`] rows at equal distances.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRow {
    /// The cluster.
    pub cluster: ClusterId,
    /// The instant.
    pub at: SimTime,
    /// Jobs that waited, after everything that happened at that instant.
    pub queued: u64,
    /// Processors in use, likewise.
    pub busy: u64,
    /// Share of the processors in use, as the mean over the row's span.
    pub utilization: f64,
    /// The most jobs that waited in the row's span.
    pub queued_max: u64,
    /// The most processors in use in the row's span.
    pub busy_max: u64,
}

/// A change at an instant: of the queue and of the busy processors.
type Change = (SimTime, i64, i64);

/// The state from an instant on.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    at: SimTime,
    queued: u64,
    busy: u64,
}

/// The exact history of every cluster.
#[derive(Clone, Debug)]
pub(crate) struct Loads(Vec<Vec<Step>>);

impl Loads {
    /// Jobs that waited and processors in use, after everything that happened at this
    /// instant.
    pub(crate) fn at(&self, cluster: ClusterId, at: SimTime) -> Option<(u64, u64)> {
        let steps = self.0.get(cluster.index())?;
        let next = steps.partition_point(|step| step.at <= at);
        let step = steps.get(next.checked_sub(1)?)?;
        Some((step.queued, step.busy))
    }
}

impl JobTable {
    /// Queue length and busy processors of every cluster over time: see
    /// [`SeriesRow`].
    pub fn series(&self) -> Vec<SeriesRow> {
        let mut rows = Vec::new();
        for (index, steps) in (0..).zip(&self.loads().0) {
            let processors = self.clusters()[usize::from(index)].processors;
            sample(ClusterId(index), processors, steps, self.end(), &mut rows);
        }
        rows
    }

    /// The exact load of every cluster over time.
    pub(crate) fn loads(&self) -> Loads {
        let mut changes: Vec<Vec<Change>> = vec![Vec::new(); self.clusters().len()];
        for row in self.rows() {
            for claim in &row.claims {
                if let Some(changes) = changes.get_mut(claim.cluster.index()) {
                    let processors = i64::from(claim.processors);
                    changes.push((claim.from, 0, processors));
                    changes.extend(claim.until.map(|until| (until, 0, -processors)));
                }
            }
            let cluster = row.cluster.and_then(|id| changes.get_mut(id.index()));
            if let Some(cluster) = cluster {
                add_changes(row, cluster);
            }
        }
        let changes = changes.into_iter();
        Loads(changes.map(|changes| steps(changes, self.end())).collect())
    }
}

fn add_changes(row: &JobRow, changes: &mut Vec<Change>) {
    let processors = match row.claims.is_empty() {
        true => i64::from(row.processors),
        // Each of its clusters has its own.
        false => 0,
    };
    let Some(queued) = row.queued else {
        return;
    };
    changes.push((queued, 1, 0));
    for earlier in &row.earlier {
        changes.push((earlier.start, -1, processors));
        changes.push((earlier.end, 1, -processors));
    }
    match (row.start, row.end) {
        (Some(start), end) => {
            changes.push((start, -1, processors));
            changes.extend(end.map(|end| (end.max(start), 0, -processors)));
        }
        (None, Some(end)) => changes.push((end, -1, 0)),
        (None, None) => {}
    }
}

/// One step per instant at which something changed, beginning at 0.
fn steps(mut changes: Vec<Change>, end: SimTime) -> Vec<Step> {
    changes.retain(|(at, _, _)| *at <= end);
    changes.sort_unstable();
    let mut queued: i64 = 0;
    let mut busy: i64 = 0;
    let mut steps = vec![Step::default()];
    for instant in changes.chunk_by(|a, b| a.0 == b.0) {
        queued += instant.iter().map(|change| change.1).sum::<i64>();
        busy += instant.iter().map(|change| change.2).sum::<i64>();
        let step = Step {
            at: instant[0].0,
            queued: queued.max(0).cast_unsigned(),
            busy: busy.max(0).cast_unsigned(),
        };
        match steps.last_mut() {
            Some(last) if last.at == step.at => *last = step,
            _ => steps.push(step),
        }
    }
    steps
}

fn sample(
    cluster: ClusterId,
    processors: u32,
    steps: &[Step],
    end: SimTime,
    rows: &mut Vec<SeriesRow>,
) {
    let instants: Vec<SimTime> = if steps.len() <= MAX_POINTS {
        steps.iter().map(|step| step.at).collect()
    } else {
        let at = |point: u64| u128::from(end.as_nanos()) * u128::from(point) / MAX_POINTS as u128;
        let points = 0..MAX_POINTS as u64;
        points.map(|p| SimTime::from_nanos(at(p) as u64)).collect()
    };
    let mut current = 0;
    for (index, &from) in instants.iter().enumerate() {
        let until = instants.get(index + 1).copied().unwrap_or(end);
        while steps.get(current + 1).is_some_and(|next| next.at <= from) {
            current += 1;
        }
        let first = steps[current];
        let mut row = SeriesRow {
            cluster,
            at: from,
            queued: first.queued,
            busy: first.busy,
            utilization: 0.0,
            queued_max: first.queued,
            busy_max: first.busy,
        };
        let mut busy_nanos: u128 = 0;
        let mut at = from;
        while let Some(next) = steps.get(current + 1).filter(|next| next.at < until) {
            busy_nanos +=
                u128::from(steps[current].busy) * u128::from(next.at.since(at).as_nanos());
            at = next.at;
            current += 1;
            row.queued_max = row.queued_max.max(next.queued);
            row.busy_max = row.busy_max.max(next.busy);
        }
        busy_nanos += u128::from(steps[current].busy) * u128::from(until.since(at).as_nanos());
        let span = u128::from(until.since(from).as_nanos());
        row.utilization = match span {
            0 => first.busy as f64 / f64::from(processors),
            _ => busy_nanos as f64 / (span * u128::from(processors)) as f64,
        };
        rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_changes_are_shown_exactly() {
        let at = SimTime::from_secs;
        let changes = vec![
            (at(0), 1, 0),
            (at(0), -1, 3),
            (at(10), 0, -3),
            (at(5), 2, 0),
        ];
        let mut rows = Vec::new();
        sample(ClusterId(0), 4, &steps(changes, at(20)), at(20), &mut rows);
        let shown: Vec<_> = rows.iter().map(|r| (r.at, r.queued, r.busy)).collect();
        assert_eq!(shown, [(at(0), 0, 3), (at(5), 2, 3), (at(10), 2, 0)]);
        let utilization: Vec<_> = rows.iter().map(|r| r.utilization).collect();
        assert_eq!(utilization, [0.75, 0.75, 0.0]);
    }

    #[test]
    fn many_changes_are_averaged_and_keep_their_peaks() {
        let at = SimTime::from_secs;
        let changes = (0..10_000).flat_map(|second| {
            let busy = if second % 2 == 0 { 1 } else { -1 };
            [(at(second), 0, busy)]
        });
        let mut rows = Vec::new();
        let steps = steps(changes.collect(), at(10_000));
        sample(ClusterId(0), 1, &steps, at(10_000), &mut rows);
        assert_eq!(rows.len(), MAX_POINTS);
        assert!(rows.iter().all(|row| row.busy_max == 1));
        let mean = rows.iter().map(|row| row.utilization).sum::<f64>() / MAX_POINTS as f64;
        assert!((mean - 0.5).abs() < 1e-9, "{mean}");
    }
}
