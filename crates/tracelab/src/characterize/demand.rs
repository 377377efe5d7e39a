//! Demand with unlimited resources: what would be busy if every job started
//! when it is submitted (LSAP 4.2, Figures 7 and 8).

use super::Columns;
use super::bins::Bins;
use gridrig_core::time::SimDuration;
use serde::Serialize;

/// The demand does not change between two instants: from when, up to when (in
/// nanoseconds of the log), and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// It begins here.
    pub from: u64,
    /// It ends before this.
    pub until: u64,
    /// Processors wanted.
    pub processors: u64,
    /// Jobs running.
    pub jobs: u64,
}

/// Concurrent jobs and processors over time. Times count from the log's time
/// 0, so that they can be used as a window's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Demand {
    /// Most processors wanted at once; null without a job that runs.
    pub peak_processors: Option<u64>,
    /// When that is first so (s).
    pub peak_processors_at_s: Option<f64>,
    /// Most jobs running at once.
    pub peak_jobs: Option<u64>,
    /// When that is first so (s).
    pub peak_jobs_at_s: Option<f64>,
    /// Processors wanted, mean over the time from the first start to the last
    /// end.
    pub mean_processors: Option<f64>,
    /// Jobs running, mean over the same time.
    pub mean_jobs: Option<f64>,
    /// Share of that time in which more is wanted than the machine has; null
    /// where its processors are not known.
    pub above_machine_share: Option<f64>,
    /// Width of a bin of the series (s).
    pub bin_s: Option<f64>,
    /// The series.
    pub series: Series,
}

/// The demand in bins of equal width, one element per bin in each column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Where the bin begins (s).
    pub at_s: Vec<f64>,
    /// Most processors wanted in it.
    pub processors_max: Vec<u64>,
    /// Processors wanted, mean over the bin.
    pub processors_mean: Vec<f64>,
    /// Most jobs running in it.
    pub jobs_max: Vec<u64>,
    /// Jobs running, mean over the bin.
    pub jobs_mean: Vec<f64>,
}

/// Walks the demand level by level, in order of time. Ends come before starts
/// at one instant; runs of length 0 count for nothing. Jobs may come in any
/// order.
pub fn sweep(jobs: &Columns, mut visit: impl FnMut(Level)) {
    let rows = jobs.rows().map(|(submit, run_time, size)| {
        let end = submit + run_time;
        ([submit.as_nanos(), end.as_nanos()], size)
    });
    // An end that saturates may be no later than its start.
    let running = rows.filter(|([start, end], _)| end > start);
    let sorted = |which: usize| {
        let changes = running.clone().map(|(at, size)| (at[which], size));
        let mut changes: Vec<(u64, u32)> = changes.collect();
        changes.sort_unstable_by_key(|change| change.0);
        changes.into_iter().peekable()
    };
    let (mut starts, mut ends) = (sorted(0), sorted(1));
    let (mut processors, mut count) = (0u64, 0u64);
    // Every start has its end, so the ends are used up last.
    while let Some((end, _)) = ends.peek().copied() {
        let now = starts.peek().map_or(end, |start| start.0.min(end));
        while let Some((_, ended)) = ends.next_if(|end| end.0 <= now) {
            processors -= u64::from(ended);
            count -= 1;
        }
        while let Some((_, started)) = starts.next_if(|start| start.0 <= now) {
            processors += u64::from(started);
            count += 1;
        }
        let until = match (starts.peek(), ends.peek()) {
            (Some(start), Some(end)) => start.0.min(end.0),
            (None, Some(end)) => end.0,
            _ => break,
        };
        visit(Level {
            from: now,
            until,
            processors,
            jobs: count,
        });
    }
}

impl Demand {
    /// Of these jobs, with a series of at most `bins` bins (at least 1), beside
    /// a machine of so many processors.
    pub fn of(jobs: &Columns, bins: usize, machine: Option<u64>) -> Self {
        let begin = jobs.submits.iter().min();
        let end = jobs.rows().map(|(submit, run, _)| submit + run).max();
        let (Some(begin), Some(end)) = (begin, end) else {
            return Demand::default();
        };
        let grid = Bins::spanning(*begin, end, bins);
        let mut gauge = Gauge {
            processors: Channel::new(grid.count),
            jobs: Channel::new(grid.count),
            grid,
            bin: 0,
            machine,
            first: None,
            last: 0,
            above: 0,
        };
        sweep(jobs, |level| gauge.add(level));
        gauge.finish()
    }
}

/// Adds up levels into bins and totals.
struct Gauge {
    grid: Bins,
    /// The bin of the next level; levels follow each other without a gap.
    bin: usize,
    machine: Option<u64>,
    processors: Channel,
    jobs: Channel,
    first: Option<u64>,
    last: u64,
    above: u64,
}

/// One of the two curves.
#[derive(Default)]
struct Channel {
    peak: u64,
    peak_at: u64,
    max: Vec<u64>,
    /// Value x nanoseconds.
    sum: Vec<u128>,
}

impl Channel {
    fn new(bins: usize) -> Self {
        Channel {
            max: vec![0; bins],
            sum: vec![0; bins],
            ..Channel::default()
        }
    }

    fn add(&mut self, bin: usize, value: u64, nanos: u64) {
        self.max[bin] = self.max[bin].max(value);
        self.sum[bin] += u128::from(value) * u128::from(nanos);
    }

    fn see(&mut self, value: u64, at: u64) {
        if value > self.peak {
            self.peak = value;
            self.peak_at = at;
        }
    }

    fn means(&self, nanos: u64) -> Vec<f64> {
        let mean = |sum: &u128| *sum as f64 / nanos.max(1) as f64;
        self.sum.iter().map(mean).collect()
    }

    fn mean(&self, nanos: u64) -> f64 {
        self.sum.iter().sum::<u128>() as f64 / nanos.max(1) as f64
    }
}

impl Gauge {
    fn add(&mut self, level: Level) {
        if self.first.is_none() {
            self.first = Some(level.from);
            self.bin = self.grid.index(level.from);
        }
        self.last = level.until;
        self.processors.see(level.processors, level.from);
        self.jobs.see(level.jobs, level.from);
        if self.machine.is_some_and(|has| level.processors > has) {
            self.above += level.until - level.from;
        }
        let mut from = level.from;
        while from < level.until {
            let end = self.grid.end(self.bin);
            let until = level.until.min(end);
            self.processors
                .add(self.bin, level.processors, until - from);
            self.jobs.add(self.bin, level.jobs, until - from);
            from = until;
            self.bin += usize::from(until == end);
        }
    }

    fn finish(self) -> Demand {
        let Some(first) = self.first else {
            return Demand::default();
        };
        let span = self.last - first;
        let seconds = |nanos| SimDuration::from_nanos(nanos).as_secs_f64();
        let share = self.above as f64 / span.max(1) as f64;
        Demand {
            peak_processors: Some(self.processors.peak),
            peak_processors_at_s: Some(seconds(self.processors.peak_at)),
            peak_jobs: Some(self.jobs.peak),
            peak_jobs_at_s: Some(seconds(self.jobs.peak_at)),
            mean_processors: Some(self.processors.mean(span)),
            mean_jobs: Some(self.jobs.mean(span)),
            above_machine_share: self.machine.map(|_| share),
            bin_s: Some(seconds(self.grid.width)),
            series: Series {
                at_s: self.grid.starts_s(),
                processors_mean: self.processors.means(self.grid.width),
                processors_max: self.processors.max,
                jobs_mean: self.jobs.means(self.grid.width),
                jobs_max: self.jobs.max,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::time::SimDuration;

    /// Of (submit time in ns, processors, run time in ns).
    fn columns(jobs: &[(u64, u32, u64)]) -> Columns {
        let nanos = SimDuration::from_nanos;
        Columns {
            submits: jobs.iter().map(|job| nanos(job.0)).collect(),
            run_times: jobs.iter().map(|job| nanos(job.2)).collect(),
            sizes: jobs.iter().map(|job| job.1).collect(),
            users: vec![None; jobs.len()],
        }
    }

    #[test]
    fn no_job_that_runs_has_no_demand() {
        let none = Columns::default();
        assert_eq!(Demand::of(&none, 10, None), Demand::default());
        let short = columns(&[(5, 3, 0)]);
        assert_eq!(Demand::of(&short, 10, None), Demand::default());
    }

    #[test]
    fn times_at_the_end_of_the_range_do_no_harm() {
        let jobs = columns(&[
            (0, 1, 1_000_000_000),
            (u64::MAX - 5, u32::MAX, u64::MAX),
            (u64::MAX, u32::MAX, u64::MAX),
        ]);
        let demand = Demand::of(&jobs, 50, None);
        assert_eq!(demand.peak_processors, Some(u64::from(u32::MAX)));
        assert_eq!(demand.above_machine_share, None);
        assert!(demand.series.at_s.len() <= 51);
    }
}
