//! Jobs that waited longest relative to what they are: first-in-first-fit
//! lets narrow jobs pass wide ones for as long as it likes (LSAP 3.1).

use super::common::Opened;
use super::document::Starved;
use crate::rundir::Result;
use serde_json::Number;

/// So many jobs of each run are told.
pub(super) const MOST: usize = 10;

/// So many rows are looked through for all jobs before the next ones: they stay
/// in the processor's cache.
const BLOCK: usize = 4_096;

/// The jobs of a run with the longest wait relative to their run time, the
/// longest first; among equals the earlier job.
pub(super) fn find(
    run: &Opened<'_>,
    replication: &str,
    common: &[bool],
    (processors, run_time_s, waits): (&[u32], &[f64], &[f64]),
) -> Result<Vec<Starved>> {
    let tau_s = run.measure.tau.as_secs_f64().max(1e-9);
    let relative = |row: usize| waits[row] / run_time_s[row].max(tau_s);
    let mut worst: Vec<(f64, usize)> = Vec::with_capacity(MOST + 1);
    for row in (0..waits.len()).filter(|row| common[*row]) {
        let share = relative(row);
        // Most jobs never wait, and the rest rarely beats the worst so far.
        let beats = worst.len() < MOST || worst.last().is_some_and(|last| share > last.0);
        if share > 0.0 && beats {
            let place = worst.partition_point(|other| other.0 >= share);
            worst.insert(place, (share, row));
            worst.truncate(MOST);
        }
    }
    if worst.is_empty() {
        return Ok(Vec::new());
    }
    let queued = run.columns.i64s("queued_ns")?;
    let started = run.columns.i64s("start_ns")?;
    let clusters = run.columns.codes("cluster")?;
    let mut passed = vec![0; worst.len()];
    let blocks = clusters.rows.chunks(BLOCK).zip(queued.chunks(BLOCK));
    for ((clusters_here, queued_here), started_here) in blocks.zip(started.chunks(BLOCK)) {
        for (passed, (_, row)) in passed.iter_mut().zip(&worst) {
            // Without branches, and over three lists at once: a million rows
            // are looked through for each of these jobs.
            let (own, since, until) = (clusters.rows[*row], queued[*row], started[*row]);
            let others = clusters_here.iter().zip(queued_here).zip(started_here);
            let others = others.map(|((cluster, queued), started)| {
                let here = *cluster == own;
                u64::from(here & (*queued > since) & (*started > i64::MIN) & (*started < until))
            });
            *passed += others.sum::<u64>();
        }
    }
    let job = |((relative_wait, row), overtaken_by): ((f64, usize), u64)| Starved {
        replication: replication.to_owned(),
        row: [
            ("job", Number::from_u128(run.jobs[row].into())),
            ("processors", Number::from_u128(processors[row].into())),
            ("run_time_s", Number::from_f64(run_time_s[row])),
            ("wait_s", Number::from_f64(waits[row])),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect(),
        relative_wait,
        overtaken_by,
        cluster: clusters.name(row).map(str::to_owned),
    };
    Ok(worst.into_iter().zip(passed).map(job).collect())
}
