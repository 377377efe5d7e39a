//! Which window of a trace represents it best (LSAP 3.2, stage 1).

use super::bins::{Bins, Counts};
use super::steady::Steady;
use crate::load::TraceJob;
use crate::spec::{TraceWindow, WindowChoice};
use gridrig_core::time::SimDuration;

/// The components of the distance between a window and the whole, in the
/// order of [`RankedWindow::distances`].
pub const COMPONENTS: [&str; 5] = [
    "processors",
    "run_time",
    "interarrival",
    "arrival_rate",
    "demand",
];

/// More windows than this are not looked at.
pub const MAX_WINDOWS: u64 = 100_000;

/// A window with fewer jobs has no inter-arrival time and is not ranked.
const FEWEST_JOBS: usize = 2;

/// The windows of a trace, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowRanking {
    /// What was asked for.
    pub choice: WindowChoice,
    /// What they were compared with, and had to lie in.
    pub steady: Steady,
    /// Its jobs.
    pub steady_jobs: u64,
    /// Its jobs per second.
    pub arrival_rate: f64,
    /// Its demand: processor-seconds wanted per second.
    pub demand: f64,
    /// Windows left out for having fewer than two jobs.
    pub too_few_jobs: u64,
    /// The others, best first.
    pub windows: Vec<RankedWindow>,
}

/// A window, how far it is from the whole, and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedWindow {
    /// Where it begins, counted from the log's time 0.
    pub start: SimDuration,
    /// Its jobs.
    pub jobs: u64,
    /// Jobs per second.
    pub arrival_rate: f64,
    /// Processor-seconds wanted per second.
    pub demand: f64,
    /// Distance to the whole by component, each from 0 (alike) to 1: the
    /// Kolmogorov-Smirnov distance of the processors per job, of run times
    /// and of inter-arrival times; 1 - smaller / larger of the arrival rates
    /// and of the demands.
    pub distances: [f64; 5],
    /// Rank by component, from 1; equal distances share the mean of their
    /// ranks.
    pub ranks: [f64; 5],
    /// Root mean square of the ranks, each brought to 0 (the best) to 1 (the
    /// worst of all windows).
    pub score: f64,
}

impl WindowRanking {
    /// Windows looked at, also those with too few jobs.
    pub fn considered(&self) -> u64 {
        self.windows.len() as u64 + self.too_few_jobs
    }

    /// The window that represents the trace best.
    pub fn best(&self) -> Option<TraceWindow> {
        self.windows.first().map(|window| TraceWindow {
            start: window.start,
            length: self.choice.length,
        })
    }
}

/// Why no window can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrankable {
    /// Length or step is 0.
    Zero,
    /// No window fits the steady part, which is this long.
    TooLong(SimDuration),
    /// The step leaves more than [`MAX_WINDOWS`].
    TooMany(u64),
    /// No window has two jobs.
    Empty,
}

/// Ranks all windows of the wanted length that lie in the steady part of the
/// trace and start at a whole multiple of the step. Jobs are by submit time.
/// One pass: each job enters and leaves the histograms of the sliding window
/// once.
///
/// # Errors
/// [`Unrankable`] when there is no window to choose from.
pub fn rank_windows(jobs: &[TraceJob], choice: &WindowChoice) -> Result<WindowRanking, Unrankable> {
    if choice.length.is_zero() || choice.step.is_zero() {
        return Err(Unrankable::Zero);
    }
    let steady = Steady::of(jobs, choice);
    let step = choice.step.as_nanos();
    let first = steady.start.as_nanos().div_ceil(step);
    let end = steady.end.as_nanos();
    let Some(latest) = end.checked_sub(choice.length.as_nanos()) else {
        return Err(Unrankable::TooLong(steady.length()));
    };
    let count = (latest / step + 1).saturating_sub(first);
    if count == 0 {
        return Err(Unrankable::TooLong(steady.length()));
    }
    if count > MAX_WINDOWS {
        return Err(Unrankable::TooMany(count));
    }
    let from = jobs.partition_point(|job| job.submit < steady.start);
    let to = jobs.partition_point(|job| job.submit < steady.end);
    let whole = Whole::of(&jobs[from..to], steady.length());
    let mut ranking = WindowRanking {
        choice: *choice,
        steady,
        steady_jobs: (to - from) as u64,
        arrival_rate: whole.arrival_rate,
        demand: whole.demand,
        too_few_jobs: 0,
        windows: Vec::new(),
    };
    let mut sliding = Sliding::new(&whole);
    for index in first..first + count {
        let start = SimDuration::from_nanos(index * step);
        sliding.move_to(start, start + choice.length);
        match sliding.window(start, choice.length) {
            Some(window) => ranking.windows.push(window),
            None => ranking.too_few_jobs += 1,
        }
    }
    if ranking.windows.is_empty() {
        return Err(Unrankable::Empty);
    }
    order(&mut ranking.windows);
    Ok(ranking)
}

/// Quantities whose distributions are compared: processors, run time and the gap
/// to the job before.
const QUANTITIES: usize = 3;

/// The place of the gap among them.
const GAP: usize = 2;

/// What windows are compared with.
struct Whole<'a> {
    jobs: &'a [TraceJob],
    bins: [Bins; QUANTITIES],
    arrival_rate: f64,
    demand: f64,
}

impl<'a> Whole<'a> {
    fn of(jobs: &'a [TraceJob], length: SimDuration) -> Self {
        let gaps = jobs.windows(2).map(|pair| gap(&pair[0], &pair[1]));
        let work: u128 = jobs.iter().map(TraceJob::demand).sum();
        let seconds = length.as_secs_f64();
        Whole {
            jobs,
            bins: [
                Bins::of(jobs.iter().map(|job| job.processors.into()).collect()),
                Bins::of(jobs.iter().map(|job| job.run_time.as_nanos()).collect()),
                Bins::of(gaps.collect()),
            ],
            arrival_rate: jobs.len() as f64 / seconds,
            demand: work as f64 / 1e9 / seconds,
        }
    }
}

fn gap(before: &TraceJob, after: &TraceJob) -> u64 {
    (after.submit - before.submit).as_nanos()
}

/// The histograms of a window that moves forward.
struct Sliding<'a> {
    whole: &'a Whole<'a>,
    /// The bins of each job.
    places: Vec<[u16; QUANTITIES]>,
    /// The window is `jobs[from..to]`.
    from: usize,
    to: usize,
    counts: [Counts; QUANTITIES],
    work: u128,
}

impl<'a> Sliding<'a> {
    fn new(whole: &'a Whole<'a>) -> Self {
        let place = |(index, job): (usize, &TraceJob)| {
            // That of the first job is never looked at: no window holds a job
            // before it.
            let before = index
                .checked_sub(1)
                .map_or(job, |before| &whole.jobs[before]);
            let values = [
                job.processors.into(),
                job.run_time.as_nanos(),
                gap(before, job),
            ];
            std::array::from_fn(|at| whole.bins[at].bin(values[at]))
        };
        Sliding {
            places: whole.jobs.iter().enumerate().map(place).collect(),
            from: 0,
            to: 0,
            counts: std::array::from_fn(|at| Counts::new(&whole.bins[at])),
            work: 0,
            whole,
        }
    }

    /// To the jobs of `[start, end)`; neither end ever moves back.
    fn move_to(&mut self, start: SimDuration, end: SimDuration) {
        let jobs = self.whole.jobs;
        while self.to < jobs.len() && jobs[self.to].submit < end {
            let known = if self.to > self.from { QUANTITIES } else { GAP };
            for at in 0..known {
                self.counts[at].add(self.places[self.to][at]);
            }
            self.work += jobs[self.to].demand();
            self.to += 1;
        }
        while self.from < self.to && jobs[self.from].submit < start {
            for at in 0..GAP {
                self.counts[at].remove(self.places[self.from][at]);
            }
            // The next job loses the one before it.
            if self.from + 1 < self.to {
                self.counts[GAP].remove(self.places[self.from + 1][GAP]);
            }
            self.work -= jobs[self.from].demand();
            self.from += 1;
        }
    }

    /// What the window is like now; `None` with too few jobs.
    fn window(&self, start: SimDuration, length: SimDuration) -> Option<RankedWindow> {
        let jobs = self.to - self.from;
        if jobs < FEWEST_JOBS {
            return None;
        }
        let seconds = length.as_secs_f64();
        let arrival_rate = jobs as f64 / seconds;
        let demand = self.work as f64 / 1e9 / seconds;
        let whole = self.whole;
        Some(RankedWindow {
            start,
            jobs: jobs as u64,
            arrival_rate,
            demand,
            distances: [
                self.counts[0].distance(&whole.bins[0]),
                self.counts[1].distance(&whole.bins[1]),
                self.counts[GAP].distance(&whole.bins[GAP]),
                relative(arrival_rate, whole.arrival_rate),
                relative(demand, whole.demand),
            ],
            ranks: [0.0; 5],
            score: 0.0,
        })
    }
}

/// How far apart two rates are, from 0 to 1.
fn relative(a: f64, b: f64) -> f64 {
    let larger = a.max(b);
    if larger > 0.0 {
        1.0 - a.min(b) / larger
    } else {
        0.0
    }
}

/// Ranks from 1; equal values have the mean of theirs.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        for at in tied {
            ranks[*at] = before as f64 + (tied.len() as f64 + 1.0) / 2.0;
        }
        before += tied.len();
    }
    ranks
}

/// Ranks the windows by each component, and sorts them by the root mean square
/// of their ranks. Ranks, unlike sums of distances, let no component outweigh
/// the others by the width of its scale; squares keep a window that is poor in
/// one respect from making up for it in the others. Equals go by their start.
fn order(windows: &mut [RankedWindow]) {
    for component in 0..COMPONENTS.len() {
        let of = |window: &RankedWindow| window.distances[component];
        let distances: Vec<f64> = windows.iter().map(of).collect();
        for (window, rank) in windows.iter_mut().zip(ranks(&distances)) {
            window.ranks[component] = rank;
        }
    }
    let worst = windows.len().saturating_sub(1).max(1) as f64;
    for window in windows.iter_mut() {
        let squares = window.ranks.map(|rank| ((rank - 1.0) / worst).powi(2));
        window.score = (squares.iter().sum::<f64>() / COMPONENTS.len() as f64).sqrt();
    }
    windows.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.start.cmp(&b.start)));
}
