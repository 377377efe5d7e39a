//! What a tap would have counted of a finished run, from its tables: of a
//! million jobs in a fraction of the time that their events take to read.

use super::{Counts, Series, Tap, grid_steps};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
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
    forwards: Vec<u32>,
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
            let late =
                times.and_then(|times| Ok((times, table.u32s("forwards")?, table.codes("state")?)));
            (early.join(), late)
        });
        // What panics there is caught by the table, and told as an error.
        let early = early.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ([intended, submit, queued], processors, cluster) = early?;
        let ([start, end, seen], forwards, state) = late?;
        Ok(Jobs {
            intended,
            submit,
            queued,
            start,
            end,
            seen,
            processors,
            forwards,
            cluster,
            state,
        })
    }

    fn len(&self) -> usize {
        self.submit.len()
    }

    /// The latest instant at which something happened to a job.
    fn last(&self) -> SimTime {
        let all = [
            &self.submit,
            &self.queued,
            &self.start,
            &self.end,
            &self.seen,
        ];
        let latest = all.into_iter().flatten().copied().max();
        instant(latest.unwrap_or(0)).unwrap_or(SimTime::ZERO)
    }
}

fn instant(nanos: i64) -> Option<SimTime> {
    u64::try_from(nanos).ok().map(SimTime::from_nanos)
}

impl Tap {
    /// The tap of a run that ended at `end`, after so many events besides
    /// information.
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
        let last = jobs.intended.last().copied().and_then(instant);
        let mut tap = Tap::new(grid, 0, last.unwrap_or(SimTime::ZERO), tolerance);
        tap.jobs = jobs.len();
        tap.events = events;
        tap.now = end;
        let clusters: Vec<Option<usize>> = jobs
            .cluster
            .names
            .iter()
            .map(|name| {
                let mut ids = (0..grid.clusters.len()).map(|id| ClusterId(id as u16));
                ids.position(|id| shown.cluster(id) == *name)
            })
            .collect();
        let mut courses = Courses::new(&tap, jobs.last(), end);
        for row in 0..jobs.len() {
            let code = usize::from(jobs.cluster.rows[row]);
            let cluster = clusters.get(code).copied().flatten();
            tap.count(&jobs, row, cluster);
            courses.add(&jobs, row, cluster);
        }
        tap.count_forwards(dir, &shown)?;
        let (course, sparks) = courses.finish();
        tap.course = course;
        tap.sparks = sparks;
        Ok(tap)
    }

    fn count(&mut self, jobs: &Jobs, row: usize, cluster: Option<usize>) {
        let at = |column: &[i64]| u64::try_from(column[row]).ok();
        let (submit, queued, start) = (at(&jobs.submit), at(&jobs.queued), at(&jobs.start));
        let (end, seen) = (at(&jobs.end), at(&jobs.seen));
        let state = jobs.state.name(row).unwrap_or_default();
        let completed = state == "completed";
        let counts: &mut Counts = &mut self.counts;
        if let Some(submit) = submit {
            counts.submitted += 1;
            let intended = at(&jobs.intended).unwrap_or(submit);
            self.lags.record(submit.saturating_sub(intended));
        }
        counts.forwarded += u64::from(jobs.forwards[row] > 0);
        counts.seen += u64::from(seen.is_some());
        match state {
            "completed" => counts.finished += 1,
            "rejected" => counts.rejected += 1,
            "cancelled" => counts.cancelled += 1,
            "failed" => counts.failed += 1,
            _ => {}
        }
        if let Some(start) = start {
            let waited = queued.is_some_and(|queued| start.saturating_sub(queued) > self.tolerance);
            counts.started += 1;
            counts.waited += u64::from(waited);
        }
        if let (true, Some(submit), Some(start), Some(end), Some(seen)) =
            (completed, submit, start, end, seen)
        {
            let (whole, ran) = (seen.saturating_sub(submit), end.saturating_sub(start));
            self.delays.record(whole.saturating_sub(ran));
        }
        let Some(now) = cluster.and_then(|cluster| self.clusters.get_mut(cluster)) else {
            return;
        };
        now.finished += u64::from(completed);
        match (queued, start, end) {
            (_, Some(_), None) => {
                now.running += 1;
                now.busy += jobs.processors[row];
                counts.running += 1;
            }
            (Some(_), None, None) => {
                now.queued += 1;
                counts.queued += 1;
            }
            _ => {}
        }
    }

    fn count_forwards(&mut self, dir: &Path, shown: &Names) -> Result<(), RunDirError> {
        let table = TableColumns::open(dir, names::HOPS)?;
        let (from, to) = (table.codes("domain")?, table.codes("forwarded_to")?);
        let ids = |codes: &Codes| -> Vec<Option<DomainId>> {
            let id = |name: &String| shown.domain_ids().find(|id| shown.domain(*id) == *name);
            codes.names.iter().map(id).collect()
        };
        let (from_ids, to_ids) = (ids(&from), ids(&to));
        let of =
            |ids: &[Option<DomainId>], code: u16| ids.get(usize::from(code)).copied().flatten();
        for (from, to) in from.rows.iter().zip(&to.rows) {
            let pair = of(&from_ids, *from).zip(of(&to_ids, *to));
            if let Some((from, to)) = pair {
                self.counts.forwards += 1;
                let cell = from.index() * self.domains + to.index();
                self.forwards[cell] += 1;
            }
        }
        Ok(())
    }
}

/// Course and sparks while they are counted: in each row what changed since
/// the row before it.
struct Courses {
    course: Changes,
    sparks: Changes,
}

impl Courses {
    fn new(tap: &Tap, last: SimTime, end: SimTime) -> Self {
        let clusters = tap.clusters.len();
        Courses {
            course: Changes::new(grid_steps(&tap.course, 3, last, end), 3),
            sparks: Changes::new(grid_steps(&tap.sparks, clusters, last, end), clusters),
        }
    }

    fn add(&mut self, jobs: &Jobs, row: usize, cluster: Option<usize>) {
        const BROKERS: usize = 0;
        const QUEUED: usize = 1;
        const RUNNING: usize = 2;
        let (course, sparks) = (&mut self.course, &mut self.sparks);
        // Where the job is, and since when it is not there any more.
        let mut place = None;
        let mut moves = |at: i64, to: Option<usize>| {
            let Some(at) = instant(at) else { return };
            let step = course.step(at);
            if let Some(place) = place {
                course.change(step, place, -1);
            }
            if let Some(to) = to {
                course.change(step, to, 1);
            }
            if let Some(cluster) = cluster {
                let waits = i32::from(to == Some(QUEUED)) - i32::from(place == Some(QUEUED));
                if waits != 0 {
                    sparks.change(sparks.step(at), cluster, waits);
                }
            }
            place = to;
        };
        moves(jobs.submit[row], Some(BROKERS));
        moves(jobs.queued[row], Some(QUEUED));
        moves(jobs.start[row], Some(RUNNING));
        moves(jobs.end[row], None);
    }

    fn finish(self) -> (Series, Series) {
        (self.course.finish(), self.sparks.finish())
    }
}

struct Changes {
    series: Series,
    times: Vec<SimTime>,
    width: usize,
    changes: Vec<i32>,
}

impl Changes {
    fn new(series: Series, width: usize) -> Self {
        let times = series.times().to_vec();
        let changes = vec![0; times.len() * width];
        Changes {
            series,
            times,
            width,
            changes,
        }
    }

    /// The first row that sees what happens at an instant: a row is taken
    /// before anything happens at its own, but for the last one.
    fn step(&self, at: SimTime) -> usize {
        let after = self.times.partition_point(|time| *time <= at);
        after.min(self.times.len().saturating_sub(1))
    }

    fn change(&mut self, step: usize, column: usize, by: i32) {
        if let Some(change) = self.changes.get_mut(step * self.width + column) {
            *change += by;
        }
    }

    fn finish(mut self) -> Series {
        let mut now = vec![0_i32; self.width];
        let mut figures = Vec::with_capacity(self.changes.len());
        for row in self.changes.chunks(self.width.max(1)) {
            for (now, change) in now.iter_mut().zip(row) {
                *now += change;
                figures.push(u32::try_from(*now).unwrap_or(0));
            }
        }
        self.series.fill(figures);
        self.series
    }
}
