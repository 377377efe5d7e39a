//! What a tap counts of a finished run, from its tables: of a million jobs in a
//! fraction of the time that their events take to read.

use super::Tap;
use gridrig_core::event::{Event, EventKind, EventSink as _, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::names::Names;
use gridrig_results::rundir::{Result, RunDirError, TableColumns, names};
use std::path::Path;
use std::thread;

/// What happens to a job, and the column of `jobs.parquet` that says when; below
/// 0 is never. How it ended is in another column.
const STEPS: [(EventKind, &str); 5] = [
    (EventKind::Submitted, "submit_ns"),
    (EventKind::Queued, "queued_ns"),
    (EventKind::Started, "start_ns"),
    (EventKind::Finished, "end_ns"),
    (EventKind::FinishSeen, "finish_seen_ns"),
];

/// Forwards: when, and job, from and to.
fn forwards(dir: &Path, shown: &Names) -> Result<Vec<(i64, JobId, DomainId, DomainId)>> {
    let table = TableColumns::open(dir, names::HOPS)?;
    let domains = |column| {
        let codes = table.codes(column)?;
        let ids = codes.names.iter().map(|name| shown.find_domain(name));
        let ids: Vec<Option<DomainId>> = ids.collect();
        let of = |code: &u16| ids.get(usize::from(*code)).copied().flatten();
        Ok::<Vec<_>, RunDirError>(codes.rows.iter().map(of).collect())
    };
    let jobs = table.u32s("job_id")?.into_iter().map(JobId);
    let parties = domains("domain")?.into_iter().zip(domains("forwarded_to")?);
    let rows = jobs.zip(table.i64s("forwarded_ns")?).zip(parties);
    let forward = |((job, at), (from, to))| (at >= 0).then_some((at, job, from?, to?));
    Ok(rows.filter_map(forward).collect())
}

fn instant(nanos: i64) -> SimTime {
    SimTime::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

impl Tap {
    /// The tap of a run that ended at `end`, after so many events besides
    /// information. Tables have each job once: of one that was lost and queued
    /// again, as faults do it, the tap is told of its last way.
    ///
    /// # Errors
    /// Tables that are missing or damaged.
    pub fn of_tables(
        dir: &Path,
        grid: &Grid,
        tolerance: SimDuration,
        end: SimTime,
        events: u64,
    ) -> Result<Self> {
        let (shown, jobs) = (Names::of(grid), TableColumns::open(dir, names::JOBS)?);
        let (times, rest) = thread::scope(|scope| {
            let times = STEPS.map(|(_, column)| scope.spawn(|| jobs.i64s(column)));
            let rest = (jobs.i64s("intended_ns"), jobs.u32s("processors"));
            // What panics there is caught by the table, and told as an error.
            let join = |column: thread::ScopedJoinHandle<'_, _>| {
                let joined = column.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            (times.map(join), rest)
        });
        let (intended, processors) = (rest.0?, rest.1?);
        let mut steps = Vec::new();
        for ((kind, _), times) in STEPS.into_iter().zip(times) {
            let rows = times?.into_iter().zip(0_u32..);
            steps.extend(rows.map(|(at, row)| (at, kind, row)));
        }
        steps.retain(|(at, ..)| *at >= 0);
        let forwards = forwards(dir, &shown)?;
        let rows = forwards.iter().zip(0..);
        steps.extend(rows.map(|((at, ..), row)| (*at, EventKind::Forwarded, row)));
        steps.sort_unstable();
        let (clusters, states) = (jobs.codes("cluster")?, jobs.codes("state")?);
        let lrms = clusters.names.iter().map(|name| shown.find_cluster(name));
        let lrms: Vec<Option<Party>> = lrms.map(|id| id.map(Party::Lrms)).collect();
        let ends = states.names.iter().map(|state| EventKind::from_name(state));
        let ends: Vec<EventKind> = ends.map(|end| end.unwrap_or(EventKind::Finished)).collect();

        let last = intended.last().map_or(SimTime::ZERO, |last| instant(*last));
        let mut tap = Tap::new(grid, intended.len(), last, tolerance);
        for (at, kind, row) in steps {
            let (at, job, row) = (instant(at), JobId(row), row as usize);
            if kind == EventKind::Forwarded {
                let (_, job, from, to) = forwards[row];
                tap.emit(at, Event::new(kind, job, from).to(to));
                continue;
            }
            let placement = [PlacementRun {
                resource: 0,
                node: 0,
                nodes: 1,
                processors: processors[row],
            }];
            let kind = match kind {
                EventKind::Finished => ends[usize::from(states.rows[row])],
                kind => kind,
            };
            let by = lrms.get(usize::from(clusters.rows[row])).copied().flatten();
            // Of the value and the placement a tap takes what it needs.
            let event = Event::new(kind, job, by.unwrap_or(Party::Client));
            tap.emit(at, event.at(instant(intended[row])).on(&placement));
        }
        tap.events = events;
        tap.close(end);
        Ok(tap)
    }
}
