//! What the traces do to clusters: how long their jobs are delayed there.

use super::job::{Pair, Selection};
use super::{Options, sampling};
use crate::load::TraceJob;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, EventSink};
use gridrig_core::grid::{Grid, GridCluster};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Components, Entry, JobLabel, JobSpec, Requirements, Submission};
use gridrig_core::resource::Resources;
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::virtual_time;
use gridrig_results::stats::{mean, quantile};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde::Serialize;
use std::cell::Cell;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::rc::Rc;

/// Honest samples that are run beside.
const SAMPLES: u32 = 20;

/// Delays agree where their distributions are no further apart than this.
const DISTANCE: f64 = 0.05;

/// And their means, as a share of the original's.
const MEAN: f64 = 0.10;

/// Where the original has more jobs, nothing is run.
const MOST_JOBS: usize = 200_000;

/// Where the traces are run, in virtual time.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its name in the report.
    pub name: String,
    /// Its clusters, with their brokers.
    pub grid: Grid,
    /// Where jobs enter.
    pub entry: Entry,
    /// Seed of the brokers.
    pub seed: u64,
}

impl Site {
    /// One cluster of so many processors under EASY backfilling.
    pub fn one_cluster(processors: u32) -> Self {
        Site::under(DisciplineKind::EasyBackfill, processors)
    }

    /// The same under another discipline.
    pub fn under(discipline: DisciplineKind, processors: u32) -> Self {
        let id = ClusterId(0);
        let resources = Resources::homogeneous(processors);
        let mut grid = Grid::default();
        grid.clusters.push(GridCluster {
            name: "cluster".to_owned(),
            domain: None,
            config: ClusterConfig::new(id, resources, discipline),
        });
        Site {
            name: format!(
                "one cluster of {processors} processors ({})",
                discipline.name()
            ),
            grid,
            entry: Entry::Cluster(id),
            seed: 1,
        }
    }

    fn processors(&self) -> f64 {
        let clusters = self.grid.clusters.iter();
        clusters
            .map(|it| f64::from(it.config.resources.processors()))
            .sum()
    }

    /// The delays of these jobs in seconds, rising, without jobs that do not finish there, such
    /// as those that fit no cluster: arrivals are stretched by this factor, then all times
    /// scaled as in the reduced trace. On one cluster without a broker they are waits.
    pub fn delays(&self, jobs: &[&TraceJob], stretch: f64, selection: &Selection) -> Vec<f64> {
        let first = jobs.first().map_or(SimDuration::ZERO, |job| job.submit);
        let by = stretch / selection.scale_arrival.as_f64();
        let scaled = |time: SimDuration, by: f64| (time.as_nanos() as f64 * by) as u64;
        let run_by = 1.0 / selection.scale_run_time.as_f64();
        let scaled_job = |job: &TraceJob| TraceJob {
            submit: SimDuration::from_nanos(scaled(job.submit - first, by)),
            run_time: SimDuration::from_nanos(scaled(job.run_time, run_by)),
            requested_time: job
                .requested_time
                .map(|asked| SimDuration::from_nanos(scaled(asked, run_by))),
            ..*job
        };
        let scaled = jobs.iter().map(|job| scaled_job(job));
        let mut delays = self.run(scaled, None).delays;
        delays.sort_unstable_by(f64::total_cmp);
        delays
    }

    /// How long each of these jobs waits, to the nanosecond, of those in `awaited`; when they
    /// have started the run is over. All jobs have to fit.
    pub(crate) fn waits(&self, jobs: &[&TraceJob], awaited: Range<usize>) -> Vec<SimDuration> {
        let jobs = jobs.iter().map(|job| **job);
        let seen = self.run(jobs, Some(awaited.clone())).jobs.into_iter();
        let awaited = seen.skip(awaited.start).take(awaited.len());
        awaited.map(|job| job.start.since(job.submit)).collect()
    }

    /// To the end, or until the awaited jobs have started.
    fn run(&self, jobs: impl Iterator<Item = TraceJob>, awaited: Option<Range<usize>>) -> Seen {
        let submission = |(id, job): (u32, TraceJob)| Submission {
            spec: JobSpec {
                id: JobId(id),
                requested_time: job.requested_time,
                ..JobSpec::of(
                    Components::one(job.processors, Requirements::default()),
                    job.run_time,
                )
            },
            at: SimTime::ZERO + job.submit,
            entry: self.entry,
            label: JobLabel::default(),
        };
        let submissions: Vec<Submission> = (0..).zip(jobs).map(submission).collect();
        let waiting = Rc::new(Cell::new(awaited.clone().map(|jobs| jobs.len())));
        let mut seen = Seen {
            awaited: awaited.unwrap_or_default(),
            waiting: Rc::clone(&waiting),
            jobs: submissions.iter().map(|job| Times::from(job.at)).collect(),
            delays: Vec::with_capacity(submissions.len()),
        };
        let options = virtual_time::Options {
            seed: self.seed,
            ..virtual_time::Options::default()
        };
        let go_on = |_, _| match waiting.get() {
            Some(0) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        virtual_time::run(&self.grid, &submissions, &options, &mut seen, go_on);
        seen
    }
}

/// When a job was submitted and started, and when it finished if it did.
struct Times {
    submit: SimTime,
    start: SimTime,
    finish: Option<SimTime>,
}

impl From<SimTime> for Times {
    fn from(submit: SimTime) -> Self {
        Times {
            submit,
            start: submit,
            finish: None,
        }
    }
}

/// Takes note of delays: end seen - submit - actual run time. The end of a job that did
/// not finish is seen as well, but it has no delay.
struct Seen {
    jobs: Vec<Times>,
    /// The run ends when none of these waits any more, where it is counted how many do.
    awaited: Range<usize>,
    waiting: Rc<Cell<Option<usize>>>,
    delays: Vec<f64>,
}

impl EventSink for Seen {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        let Some(index) = event.job.map(|job| job.index()) else {
            return;
        };
        let Some(job) = self.jobs.get_mut(index) else {
            return;
        };
        match event.kind {
            EventKind::Started => {
                job.start = at;
                let started = usize::from(self.awaited.contains(&index));
                self.waiting
                    .set(self.waiting.get().map(|waiting| waiting - started));
            }
            EventKind::Finished => job.finish = Some(at),
            EventKind::FinishSeen => {
                let delay = |finish: SimTime| at.since(job.submit) - finish.since(job.start);
                let delay = job.finish.map(|finish| delay(finish).as_secs_f64());
                self.delays.extend(delay);
            }
            _ => {}
        }
    }
}

/// Delays in seconds of the run; null where no job finishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Delays {
    /// Their mean.
    pub mean_s: Option<f64>,
    /// Their 95 % quantile.
    pub p95_s: Option<f64>,
    /// Jobs that did not finish and have no delay.
    pub unfinished: u64,
}

impl Delays {
    /// Of so many jobs.
    fn of(sorted: &[f64], jobs: usize) -> Self {
        Delays {
            mean_s: mean(sorted),
            p95_s: quantile(sorted, 0.95),
            unfinished: jobs.saturating_sub(sorted.len()) as u64,
        }
    }
}

/// The delays of both traces, and of random samples, at the offered load of the
/// reduced trace: arrivals of the others are stretched until they offer as much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Behaviour {
    /// Where they were run.
    pub on: String,
    /// Work over capacity, from the first to the last arrival of the original's window.
    pub offered_load: f64,
    /// The original's.
    pub original: Delays,
    /// The reduced trace's.
    pub reduced: Delays,
    /// Greatest distance of the two delay CDFs; null where no job of one finishes.
    pub distance: Option<f64>,
    /// Random samples of as many jobs.
    pub samples: u32,
    /// Least and largest mean delay of the samples of which jobs finish; null without such.
    pub sampled_mean_s: Option<[f64; 2]>,
    /// Least and largest distance of theirs to the original's CDF, likewise.
    pub sampled_distance: Option<[f64; 2]>,
    /// Whether jobs of both finish, the distance is at most 0.05 and the means are within 10 %.
    pub agrees: bool,
    /// Whether mean and distance are within what samples have.
    pub as_samples: bool,
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (on, offered) = (&self.on, self.offered_load);
        write!(f, "On {on}, at an offered load of {offered:.3}, ")?;
        let both = self.reduced.mean_s.zip(self.original.mean_s);
        let Some((reduced_s, original_s)) = both else {
            let none = match (self.reduced.mean_s, self.original.mean_s) {
                (None, None) => "either trace",
                (None, _) => "the reduced trace",
                _ => "the original",
            };
            return write!(
                f,
                "no job of {none} finishes, for example because all are wider than each cluster: \
                 there are no delays to compare"
            );
        };
        write!(
            f,
            "jobs are delayed by {reduced_s:.2} s in the mean ({:.2} s at the 95 % quantile), those \
             of the original by {original_s:.2} s ({:.2} s); delay CDFs are up to {:.3} apart. ",
            self.reduced.p95_s.unwrap_or_default(),
            self.original.p95_s.unwrap_or_default(),
            self.distance.unwrap_or_default()
        )?;
        if self.reduced.unfinished + self.original.unfinished > 0 {
            write!(
                f,
                "Jobs that do not finish there, for example because they fit no cluster, have no \
                 delay: {} of the reduced trace and {} of the original. ",
                self.reduced.unfinished, self.original.unfinished
            )?;
        }
        let samples = self.samples;
        let [least_s, most_s] = self.sampled_mean_s.unwrap_or_default();
        let [_, apart] = self.sampled_distance.unwrap_or_default();
        write!(
            f,
            "{samples} random samples of as many jobs have means of {least_s:.2} to {most_s:.2} s \
             and are up to {apart:.3} apart: "
        )?;
        f.write_str(match (self.agrees, self.as_samples) {
            (true, _) => "delays agree",
            (false, true) => {
                "random samples of this size do not show how long the original's jobs are delayed"
            }
            (false, false) => "delays are not those of random samples",
        })
    }
}

/// Runs both traces and the samples; `None` without work, and for very long traces.
pub(super) fn behaviour(pair: &Pair, options: &Options) -> Option<Behaviour> {
    let widest = pair.reference.iter().map(|job| job.processors).max()?;
    let alone = || Site::one_cluster(widest);
    let site = options.site.clone().unwrap_or_else(alone);
    let selection = &options.selection;
    let demand = |jobs: &[&TraceJob]| -> f64 {
        let seconds = |job: &&TraceJob| job.demand() as f64 / 1e9;
        jobs.iter().map(seconds).sum()
    };
    let original: Vec<&TraceJob> = pair.reference.iter().collect();
    let reduced: Vec<&TraceJob> = pair.reduced.iter().map(|placed| &placed.job).collect();
    let wanted = demand(&reduced);
    let span = original.last()?.submit - original.first()?.submit;
    if wanted <= 0.0 || span.is_zero() || original.len() > MOST_JOBS {
        return None;
    }
    let run = |jobs: &[&TraceJob]| site.delays(jobs, demand(jobs) / wanted, selection);
    let (of_original, of_reduced) = (run(&original), run(&reduced));
    let sample = |number: u32| {
        let name = format!("validate-behaviour-{number}");
        let mut stream = rng::stream(options.seed, &name);
        let kept = sampling::random(original.len(), reduced.len(), &mut stream);
        let jobs: Vec<&TraceJob> = kept.iter().map(|at| original[*at as usize]).collect();
        let delays = run(&jobs);
        Some((mean(&delays)?, distance_of(&of_original, &delays)?))
    };
    let samples = (0..SAMPLES).into_par_iter().filter_map(sample);
    let samples: Vec<(f64, f64)> = samples.collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = || samples.iter().map(of);
        let most = values().reduce(f64::max)?;
        Some([values().reduce(f64::min)?, most])
    };
    let (sampled_mean_s, sampled_distance) = (range(|it| it.0), range(|it| it.1));
    let original = Delays::of(&of_original, original.len());
    let reduced = Delays::of(&of_reduced, reduced.len());
    let distance = distance_of(&of_original, &of_reduced);
    let means = reduced.mean_s.zip(original.mean_s);
    let near = means.is_some_and(|(own, other)| (own - other).abs() <= MEAN * other);
    let within = |value: Option<f64>, range: Option<[f64; 2]>, from: f64| {
        let both = value.zip(range);
        both.is_some_and(|(value, [least, most])| (least.min(from)..=most).contains(&value))
    };
    let among = within(reduced.mean_s, sampled_mean_s, f64::INFINITY);
    let capacity = site.processors() * span.as_nanos() as f64 / 1e9;
    let scale = selection.scale_arrival.as_f64() / selection.scale_run_time.as_f64();
    Some(Behaviour {
        on: site.name,
        offered_load: wanted * scale / capacity,
        original,
        reduced,
        distance,
        samples: SAMPLES,
        sampled_mean_s,
        sampled_distance,
        agrees: near && distance.is_some_and(|it| it <= DISTANCE),
        as_samples: among && within(distance, sampled_distance, 0.0),
    })
}

/// The greatest distance of the CDFs of two rising lists, if there is something in both.
fn distance_of(a: &[f64], b: &[f64]) -> Option<f64> {
    (!a.is_empty() && !b.is_empty()).then(|| apart(a, b, f64::MIN))
}

/// The greatest distance of the CDFs of two rising lists.
pub(crate) fn apart(a: &[f64], b: &[f64], from: f64) -> f64 {
    let share = |of: &[f64], value: f64| {
        of.partition_point(|other| *other <= value) as f64 / of.len().max(1) as f64
    };
    let above = a.iter().chain(b).copied().filter(|value| *value > from);
    let distances = above
        .chain([from])
        .map(|value| (share(a, value) - share(b, value)).abs());
    distances.fold(0.0, f64::max)
}
