//! Fits a look-alike to a trace.

use super::{Class, DAY, LookAlike, Rhythm, Source, User};
use crate::characterize::calendar::Clock;
use crate::error::TraceError;
use crate::format::{EXECUTABLE, GROUP, PARTITION, QUEUE, Record, field};
use crate::load::{Loaded, TraceJob};
use crate::sanitize::Fields;
use crate::synth::error::Result;
use crate::synth::extent::{Extent, SCHEMA};
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Monday, 1 January 2024, 0:00.
const MADE_UP_MONDAY: u64 = 1_704_067_200;

/// Run times of the first class are shorter.
const SHORT_S: u64 = 60;

/// The next ones end at this power of two times as much each, at most.
const MOST_STEP: u32 = 2;

/// Counts of all days together with which finer run-time classes are taken.
const MOST_COUNTS: usize = 12_000;

/// Steps between quantiles, at most.
const STEPS: usize = 64;

/// Jobs that stand for those of a class, at most.
const POINTS: usize = 64;

/// Labels that a user has, at most.
const LABELS: usize = 4;

fn seconds(time: SimDuration) -> u64 {
    time.as_nanos() / NANOS_PER_SEC
}

/// The octave of the size, and how often a minute has to be multiplied by 2 to the
/// power of `step`.
fn class_of(job: &TraceJob, step: u32) -> (u32, u32) {
    let minutes = seconds(job.run_time) / SHORT_S;
    let length = minutes.checked_ilog2().map_or(0, |log| log / step + 1);
    (job.processors.ilog2(), length)
}

/// The step with which the days have not too many classes, the finer the better.
fn step_of(jobs: &[TraceJob]) -> u32 {
    let kinds = |step| {
        let of = |job: &TraceJob| (seconds(job.submit) / DAY, class_of(job, step));
        jobs.iter().map(of).collect::<BTreeSet<_>>().len()
    };
    (1..MOST_STEP)
        .find(|step| kinds(*step) <= MOST_COUNTS)
        .unwrap_or(MOST_STEP)
}

impl LookAlike {
    /// The model of a trace, of a machine with these processors or as many as its header says.
    ///
    /// # Errors
    /// [`SynthError::Trace`](crate::synth::SynthError::Trace) for a trace with fewer than two jobs.
    pub fn fit(trace: &Loaded, processors: Option<u32>) -> Result<Self> {
        let jobs = &trace.jobs;
        let ([first, .., last], Some(widest)) =
            (&jobs[..], jobs.iter().map(|j| j.processors).max())
        else {
            let reason = format!("{} usable jobs: expected at least 2", jobs.len());
            return Err(TraceError::file(&trace.file, reason).into());
        };
        let named = processors.or(trace.known_processors());
        let (first, last) = (seconds(first.submit), seconds(last.submit));
        let (first_day, days) = (first / DAY, last / DAY - first / DAY + 1);
        let clock = Clock::of(&trace.header);
        let start = clock
            .unix_start
            .map(|_| clock.second_of_week(SimDuration::ZERO));
        let name = Path::new(&trace.file).file_name().unwrap_or_default();
        let step = step_of(jobs);
        let known: BTreeSet<_> = jobs.iter().map(|job| class_of(job, step)).collect();
        let numbers: BTreeMap<(u32, u32), usize> = known.into_iter().zip(0..).collect();
        let class = |job: &TraceJob| numbers[&class_of(job, step)];
        let model = LookAlike {
            schema: SCHEMA.to_owned(),
            kind: "look-alike".to_owned(),
            seed: 1,
            extent: Extent {
                jobs: Some(jobs.len() as u64),
                days: Some(days as f64),
            },
            processors: named.unwrap_or(widest).max(widest),
            source: Source {
                trace: name.to_string_lossy().into_owned(),
                jobs: jobs.len() as u64,
                days: (last - first + 1) as f64 / DAY as f64,
            },
            unix_start: start.map(|start| MADE_UP_MONDAY + start),
            first_day: first_day + days.next_multiple_of(7),
            days: of_days(jobs, first_day, days as usize, class),
            hours_of_day: hours(jobs),
            rhythms: rhythms(jobs),
            classes: classes(jobs, numbers.len(), class),
            users: users(jobs, class),
        };
        model.check()?;
        Ok(model)
    }
}

/// The demand of each day, and its jobs by class.
fn of_days(
    jobs: &[TraceJob],
    first: u64,
    length: usize,
    class: impl Fn(&TraceJob) -> usize,
) -> Vec<Vec<u64>> {
    let mut days = vec![(0, BTreeMap::<usize, u64>::new()); length];
    for job in jobs {
        let day = &mut days[(seconds(job.submit) / DAY - first) as usize];
        day.0 += u64::from(job.processors) * seconds(job.run_time);
        *day.1.entry(class(job)).or_default() += 1;
    }
    let flat = |(demand, classes)| std::iter::once(demand).chain(pairs(classes)).collect();
    days.into_iter().map(flat).collect()
}

fn hours(jobs: &[TraceJob]) -> Vec<u64> {
    let mut hours = vec![0; 24];
    for job in jobs {
        hours[(seconds(job.submit) % DAY / 3_600) as usize] += 1;
    }
    hours
}

fn pairs(counts: BTreeMap<usize, u64>) -> impl Iterator<Item = u64> {
    counts
        .into_iter()
        .flat_map(|(class, jobs)| [class as u64, jobs])
}

/// `count` + 1 quantiles from the least to the greatest.
fn steps(mut values: Vec<u64>, count: usize) -> Vec<u64> {
    values.sort_unstable();
    let last = values.len() - 1;
    (0..=count)
        .map(|at| values[at * last / count.max(1)])
        .collect()
}

/// How users go on during a day.
fn rhythms(jobs: &[TraceJob]) -> Vec<Rhythm> {
    let mut days: BTreeMap<(u64, Option<u32>), Vec<u64>> = BTreeMap::new();
    for job in jobs {
        let at = seconds(job.submit);
        days.entry((at / DAY, job.user())).or_default().push(at);
    }
    // Octaves of jobs by the length in seconds, in steps of a factor of 8.
    let mut kinds: BTreeMap<(u32, u32), Vec<Vec<u64>>> = BTreeMap::new();
    for day in days.values().filter(|day| day.len() > 1) {
        let length = day[day.len() - 1] - day[0] + 1;
        let gaps = day.windows(2).map(|pair| pair[1] - pair[0]).collect();
        kinds
            .entry((day.len().ilog2(), length.ilog2() / 3))
            .or_default()
            .push(gaps);
    }
    let rhythm = |((octave, _), days): ((u32, u32), Vec<Vec<u64>>)| {
        let gaps = days.concat();
        let count = (gaps.len() / 2).clamp(1, STEPS);
        Rhythm {
            jobs: 1 << octave,
            days: days.len() as u64,
            repeats_permille: repeats(&days),
            gaps_s: steps(gaps, count),
        }
    };
    let found: Vec<Rhythm> = kinds.into_iter().map(rhythm).collect();
    match found.is_empty() {
        // Every user has one job a day; no other number can arise.
        true => vec![Rhythm {
            jobs: 2,
            days: 1,
            repeats_permille: 0,
            gaps_s: vec![0, DAY],
        }],
        false => found,
    }
}

/// How often of a thousand a gap is of the octave of the one before, beyond what
/// chance gives.
fn repeats(days: &[Vec<u64>]) -> u64 {
    let octave = |gap: &u64| (gap + 1).ilog2();
    let mut octaves = [0u64; 64];
    days.iter()
        .flatten()
        .for_each(|gap| octaves[octave(gap) as usize] += 1);
    let all: u64 = octaves.iter().sum();
    let chance: u64 = octaves.iter().map(|count| count * count).sum();
    let chance = chance as f64 / (all * all).max(1) as f64;
    let pairs = days.iter().flat_map(|day| day.windows(2));
    let alike = pairs
        .clone()
        .filter(|pair| octave(&pair[0]) == octave(&pair[1]))
        .count();
    let found = alike as f64 / pairs.count().max(1) as f64;
    match chance < 1.0 {
        true => (1e3 * (found - chance) / (1.0 - chance)).clamp(0.0, 1e3) as u64,
        false => 0,
    }
}

fn classes(jobs: &[TraceJob], count: usize, class: impl Fn(&TraceJob) -> usize) -> Vec<Class> {
    let mut members: Vec<(Vec<[u64; 3]>, u64)> = vec![(Vec::new(), 0); count];
    for job in jobs {
        let (members, failed) = &mut members[class(job)];
        let requested = job.requested_time.map_or(0, seconds);
        members.push([u64::from(job.processors), seconds(job.run_time), requested]);
        *failed += u64::from(job.failed);
    }
    let of = |(mut jobs, failed): (Vec<[u64; 3]>, u64)| {
        jobs.sort_unstable();
        // Each is the middle of a part of them.
        let points = jobs.len().div_ceil(2).min(POINTS);
        let middles = (0..points).flat_map(|at| jobs[(2 * at + 1) * jobs.len() / (2 * points)]);
        Class {
            failed_permille: failed * 1_000 / jobs.len() as u64,
            jobs: middles.collect(),
        }
    };
    members.into_iter().map(of).collect()
}

fn users(jobs: &[TraceJob], class: impl Fn(&TraceJob) -> usize) -> Vec<User> {
    #[derive(Default)]
    struct Counts {
        days: BTreeMap<u64, u64>,
        classes: BTreeMap<usize, u64>,
        labels: BTreeMap<[i64; 4], i64>,
    }
    let number = |value: Option<u32>| value.map_or(-1, i64::from);
    let mut users: BTreeMap<i64, Counts> = BTreeMap::new();
    for job in jobs {
        let user = users.entry(number(job.user())).or_default();
        *user.days.entry(seconds(job.submit) / DAY).or_default() += 1;
        *user.classes.entry(class(job)).or_default() += 1;
        let labels = [GROUP, EXECUTABLE, QUEUE, PARTITION].map(|at| number(job.ids[at]));
        *user.labels.entry(labels).or_default() += 1;
    }
    let of = |(user, counts): (i64, Counts)| {
        let mut labels: Vec<([i64; 4], i64)> = counts.labels.into_iter().collect();
        labels.sort_by_key(|label| (std::cmp::Reverse(label.1), label.0));
        labels.truncate(LABELS);
        let flat = |([a, b, c, d], jobs): ([i64; 4], i64)| [a, b, c, d, jobs];
        User {
            user,
            days: counts.days.len() as u64,
            crowding: counts.days.values().map(|jobs| jobs * jobs).sum(),
            classes: pairs(counts.classes).collect(),
            labels: labels.into_iter().flat_map(flat).collect(),
        }
    };
    users.into_iter().map(of).collect()
}

/// Jobs among these that the trace holds as well, by submit time, run time,
/// size and user: none, as a look-alike begins after its source.
pub fn recurring_jobs(trace: &Loaded, made: impl Iterator<Item = Record>) -> u64 {
    let known: BTreeSet<_> = trace.jobs.iter().map(identity).collect();
    made.filter(|job| known.contains(&identity(job))).count() as u64
}

fn identity(job: &impl Fields) -> [Option<u64>; 4] {
    [
        field::SUBMIT,
        field::RUN_TIME,
        field::ALLOCATED,
        field::USER,
    ]
    .map(|at| job.field(at + 1))
}
