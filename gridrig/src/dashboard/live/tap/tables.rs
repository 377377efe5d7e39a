//! What a tap counts of a finished run, from its tables: of a million jobs in a
//! fraction of the time that their events take to read.

use super::Tap;
use gridrig_core::event::{Event, EventKind, EventSink as _, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::names::Names;
use gridrig_results::rundir::{Codes, RunDirError, TableColumns, names};
use std::path::Path;
use std::thread;

/// Columns of `jobs.parquet`; instants in nanoseconds, below 0 for never.
struct Jobs {
    intended: Vec<i64>,
    submit: Vec<i64>,
    queued: Vec<i64>,
    start: Vec<i64>,
    end: Vec<i64>,
    seen: Vec<i64>,
    processors: Vec<u32>,
    cluster: Codes,
    state: Codes,
}

impl Jobs {
    fn read(dir: &Path) -> Result<Self, RunDirError> {
        let table = TableColumns::open(dir, names::JOBS)?;
        let instants = |wanted: [&'static str; 3]| {
            let [a, b, c] = wanted.map(|name| table.i64s(name));
            Ok::<_, RunDirError>([a?, b?, c?])
        };
        // Two halves of about the same work.
        let (early, late) = thread::scope(|scope| {
            let early = scope.spawn(|| {
                let processors = table.u32s("processors")?;
                let cluster = table.codes("cluster")?;
                let times = instants(["intended_ns", "submit_ns", "queued_ns"])?;
                Ok::<_, RunDirError>((times, processors, cluster))
            });
            let times = instants(["start_ns", "end_ns", "finish_seen_ns"]);
            let late = times.and_then(|times| Ok((times, table.codes("state")?)));
            (early.join(), late)
        });
        // What panics there is caught by the table, and told as an error.
        let early = early.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ([intended, submit, queued], processors, cluster) = early?;
        let ([start, end, seen], state) = late?;
        Ok(Jobs {
            intended,
            submit,
            queued,
            start,
            end,
            seen,
            processors,
            cluster,
            state,
        })
    }

    fn len(&self) -> usize {
        self.submit.len()
    }

    /// What happened to the jobs, in no order.
    fn steps(&self) -> Vec<(i64, Step, u32)> {
        let columns = [
            (Step::Submitted, &self.submit),
            (Step::Queued, &self.queued),
            (Step::Started, &self.start),
            (Step::Ended, &self.end),
            (Step::Seen, &self.seen),
        ];
        let steps = columns.into_iter().flat_map(|(step, column)| {
            let rows = column.iter().zip(0..);
            rows.map(move |(at, row)| (*at, step, row))
        });
        steps.filter(|(at, ..)| *at >= 0).collect()
    }
}

/// What may happen to a job, in the order in which it does; with a row of the
/// jobs, or of the visits to brokers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Submitted,
    Forwarded,
    Queued,
    Started,
    Ended,
    Seen,
}

/// Forwards: job, from and to.
struct Forwards(Vec<(JobId, DomainId, DomainId)>);

impl Forwards {
    /// Reads them; adds them to what happened.
    fn read(
        dir: &Path,
        shown: &Names,
        steps: &mut Vec<(i64, Step, u32)>,
    ) -> Result<Self, RunDirError> {
        let table = TableColumns::open(dir, names::HOPS)?;
        let (jobs, at) = (table.u32s("job_id")?, table.i64s("forwarded_ns")?);
        let domains = |column| {
            let codes = table.codes(column)?;
            let id = |name: &String| shown.domain_ids().find(|id| shown.domain(*id) == *name);
            let ids: Vec<_> = codes.names.iter().map(id).collect();
            let of = |code: &u16| ids.get(usize::from(*code)).copied().flatten();
            Ok::<Vec<_>, RunDirError>(codes.rows.iter().map(of).collect())
        };
        let (from, to) = (domains("domain")?, domains("forwarded_to")?);
        let mut all = Vec::new();
        for ((job, at), (from, to)) in jobs.into_iter().zip(at).zip(from.into_iter().zip(to)) {
            if let (0.., Some(from), Some(to)) = (at, from, to) {
                steps.push((at, Step::Forwarded, all.len() as u32));
                all.push((JobId(job), from, to));
            }
        }
        Ok(Forwards(all))
    }
}

fn instant(nanos: i64) -> SimTime {
    SimTime::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

impl Tap {
    /// The tap of a run that ended at `end`, after so many events besides
    /// information: it is told of the last way of each job.
    ///
    /// # Errors
    /// Tables that are missing or damaged.
    pub fn of_tables(
        dir: &Path,
        grid: &Grid,
        tolerance: SimDuration,
        end: SimTime,
        events: u64,
    ) -> Result<Self, RunDirError> {
        let jobs = Jobs::read(dir)?;
        let shown = Names::of(grid);
        let last = jobs
            .intended
            .last()
            .map_or(SimTime::ZERO, |last| instant(*last));
        let mut tap = Tap::new(grid, jobs.len(), last, tolerance);
        let clusters = jobs.cluster.names.iter();
        let clusters = clusters.map(|name| shown.find_cluster(name));
        let clusters: Vec<Option<ClusterId>> = clusters.collect();
        let mut steps = jobs.steps();
        let forwards = Forwards::read(dir, &shown, &mut steps)?;
        steps.sort_unstable();
        for (at, step, row) in steps {
            let at = instant(at);
            if step == Step::Forwarded {
                let (job, from, to) = forwards.0[row as usize];
                tap.emit(at, Event::new(EventKind::Forwarded, job, from).to(to));
                continue;
            }
            let code = usize::from(jobs.cluster.rows[row as usize]);
            let cluster = clusters.get(code).copied().flatten();
            jobs.tell(&mut tap, at, step, row as usize, cluster);
        }
        tap.events = events;
        tap.close(end);
        Ok(tap)
    }
}

impl Jobs {
    /// Tells of a step of the job in a row.
    fn tell(&self, tap: &mut Tap, at: SimTime, step: Step, row: usize, cluster: Option<ClusterId>) {
        let job = JobId(row as u32);
        let by = cluster.map_or(Party::Client, Party::Lrms);
        let placement = [PlacementRun {
            resource: 0,
            node: 0,
            nodes: 1,
            processors: self.processors[row],
        }];
        let event = |kind| Event::new(kind, job, by);
        tap.emit(
            at,
            match step {
                Step::Submitted => event(EventKind::Submitted).at(instant(self.intended[row])),
                Step::Queued => event(EventKind::Queued),
                Step::Started => event(EventKind::Started).on(&placement),
                Step::Ended => event(match self.state.name(row) {
                    Some("completed") => EventKind::Finished,
                    Some("rejected") => EventKind::Rejected,
                    Some("cancelled") => EventKind::Cancelled,
                    _ => EventKind::Failed,
                }),
                Step::Seen | Step::Forwarded => event(EventKind::FinishSeen),
            },
        );
    }
}
