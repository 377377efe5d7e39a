//! Fits a look-alike to a trace.

use super::daytime::{self, PARTS};
use super::levels::{Grain, divide, find};
use super::stretch::WEEK;
use super::turns::Turns;
use super::{Level, LookAlike, Profile, Source, calibrate, inside, likeness, turns, week};
use crate::characterize::calendar::Clock;
use crate::error::TraceError;
use crate::format::{EXECUTABLE, GROUP, PARTITION, QUEUE, Record, field};
use crate::load::{Loaded, TraceJob};
use crate::sanitize::Fields;
use crate::synth::error::SynthError;
use crate::synth::extent::{Extent, SCHEMA};
use crate::synth::pretty::pretty;
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a fit keeps to.
#[derive(Clone, Copy, Debug)]
pub struct FitOptions {
    /// Largest model file in bytes. What does not fit is told apart less finely:
    /// fewer users with a profile of their own, fewer ranges.
    pub max_bytes: usize,
    /// Processors of the machine, where the header is silent.
    pub processors: Option<u32>,
}

impl Default for FitOptions {
    fn default() -> Self {
        FitOptions {
            max_bytes: 50_000,
            processors: None,
        }
    }
}

/// How finely a model tells things apart: ranges of run times and of sizes, users
/// with a profile of their own, profiles that the others share, and labels of a
/// profile.
type Detail = [usize; 5];

/// From fine to coarse.
const DETAILS: [Detail; 14] = [
    [64, 24, 250, 12, 8],
    [48, 24, 250, 12, 8],
    [32, 24, 250, 12, 8],
    [32, 20, 150, 12, 6],
    [28, 16, 100, 10, 6],
    [24, 14, 70, 8, 4],
    [24, 12, 55, 8, 4],
    [24, 12, 40, 8, 4],
    [22, 10, 32, 6, 3],
    [20, 10, 24, 4, 3],
    [20, 10, 18, 4, 3],
    [18, 8, 14, 3, 2],
    [16, 8, 10, 2, 2],
    [16, 6, 6, 2, 2],
];

/// Requested times that a model lists.
const REQUESTS: usize = 24;

/// A size that so large a part of an ordinary range has its own: jobs on 64
/// processors run for other times than those on 40.
const OWN_SIZE: f64 = 0.1;

/// Steps between the quantiles of a range.
const STEPS: usize = 16;

/// A job as the fit sees it.
struct Row<'a> {
    submit: u64,
    cell: u64,
    size_level: u64,
    run_level: usize,
    part_of_day: usize,
    /// Users numbered from 0.
    user: usize,
    job: &'a TraceJob,
}

fn seconds(time: SimDuration) -> u64 {
    time.as_nanos() / NANOS_PER_SEC
}

impl LookAlike {
    /// The model of a trace.
    ///
    /// # Errors
    /// [`SynthError::Trace`] for a trace with fewer than two jobs or without a
    /// number of processors, or when no model is as small as wanted.
    pub fn fit(trace: &Loaded, options: FitOptions) -> Result<Self, SynthError> {
        let unfit = |reason: String| TraceError::file(&trace.file, reason).into();
        if trace.jobs.len() < 2 {
            let found = trace.jobs.len();
            return Err(unfit(format!("{found} usable jobs: expected at least 2")));
        }
        let widest = trace
            .jobs
            .iter()
            .map(|job| job.processors)
            .max()
            .unwrap_or(1);
        let named = trace
            .header
            .max_processors()
            .and_then(|p| u32::try_from(p).ok());
        let processors = options.processors.or(named).unwrap_or(widest).max(widest);
        let timing = Timing::of(trace);
        let submits: Vec<u64> = timing.submits.iter().map(|job| job.0).collect();
        let (first, last) = (submits[0], submits[submits.len() - 1]);
        let length = last - first + 1;
        let days = length as f64 / 86_400.0;
        let model = LookAlike {
            schema: SCHEMA.to_owned(),
            kind: "look-alike".to_owned(),
            seed: 1,
            extent: Extent {
                jobs: Some(trace.jobs.len() as u64),
                days: Some(days),
            },
            processors,
            source: source(trace, days),
            first_submit_s: first + length.next_multiple_of(WEEK),
            ..LookAlike::default()
        };
        let ways = week::measure(&model, &submits, &timing.clock);
        let mut arrivals = calibrate::nearest(ways, &submits);
        arrivals.gap_weights = arrivals.fit_gap_weights(&submits);
        for detail in DETAILS {
            let mut model = fit(trace, &arrivals, &timing, detail);
            let bytes = pretty(&model).len();
            // Calibration may add a digit to a number of each profile.
            if bytes + 2 * model.profiles.len() < options.max_bytes {
                model.calibrate(&timing.submits)?;
                return Ok(model);
            }
        }
        let most = options.max_bytes;
        Err(unfit(format!("no model of it is below {most} bytes")))
    }
}

/// When and by whom jobs are submitted, which every detail has in common.
struct Timing {
    clock: Clock,
    turns: Turns,
    /// Users numbered from 0.
    users: BTreeMap<Option<u32>, usize>,
    /// Submit time in seconds and user of each job, as SWF has it.
    submits: Vec<(u64, i64)>,
}

impl Timing {
    fn of(trace: &Loaded) -> Self {
        let jobs = &trace.jobs;
        let clock = Clock::of(&trace.header);
        let users: BTreeSet<Option<u32>> = jobs.iter().map(TraceJob::user).collect();
        let users: BTreeMap<Option<u32>, usize> = users.into_iter().zip(0..).collect();
        let submits: Vec<u64> = jobs.iter().map(|job| seconds(job.submit)).collect();
        let number = |job: &TraceJob| users.get(&job.user()).copied().unwrap_or(0);
        let by_user: Vec<(u64, usize)> = submits
            .iter()
            .copied()
            .zip(jobs.iter().map(number))
            .collect();
        let name = |job: &TraceJob| job.user().map_or(-1, i64::from);
        Timing {
            turns: turns::measure(&by_user, users.len()),
            submits: submits.into_iter().zip(jobs.iter().map(name)).collect(),
            clock,
            users,
        }
    }
}

/// A model with these arrivals.
fn fit(trace: &Loaded, arrivals: &LookAlike, timing: &Timing, detail: Detail) -> LookAlike {
    let jobs = &trace.jobs;
    let [run_levels, size_levels, ..] = detail;
    let grain = |levels, own| Grain {
        levels,
        values: STEPS,
        steps: STEPS,
        own,
    };
    let sizes = divide(
        jobs.iter().map(|j| u64::from(j.processors)).collect(),
        grain(size_levels, OWN_SIZE),
    );
    let run_times = divide(
        jobs.iter().map(|j| seconds(j.run_time)).collect(),
        grain(run_levels, 1.0),
    );
    let rows = placed(jobs, &sizes, &run_times, timing);
    let users = timing.users.len();
    let turns = &timing.turns;
    let (run_time_weights, size_weights) = day_weights(&rows, users, run_times.len(), sizes.len());
    let (requested_times_s, requests) = requests(&rows, run_times.len());
    LookAlike {
        turns: turns
            .odds
            .chunks(turns::AGES)
            .map(<[f64]>::to_vec)
            .collect(),
        run_time_weights,
        size_weights,
        failed_permille: failed(&rows, run_times.len()),
        requests,
        requested_times_s,
        inside: inside(&rows, &sizes, &run_times),
        likeness: likeness::measure(
            rows.iter().map(|row| (row.submit, row.user, row.cell)),
            users,
            run_times.len() as u64,
        ),
        profiles: profiles(&rows, &turns.of_user, detail),
        sizes,
        run_times,
        ..arrivals.clone()
    }
}

/// What a model is fitted to.
fn source(trace: &Loaded, days: f64) -> Source {
    let name = Path::new(&trace.file).file_name();
    Source {
        trace: name.unwrap_or_default().to_string_lossy().into_owned(),
        jobs: trace.jobs.len() as u64,
        days,
    }
}

/// Each job with the ranges that it lies in.
fn placed<'a>(
    jobs: &'a [TraceJob],
    sizes: &[Level],
    run_times: &[Level],
    timing: &Timing,
) -> Vec<Row<'a>> {
    let row = |job: &'a TraceJob| {
        let size_level = find(sizes, u64::from(job.processors));
        let run_level = find(run_times, seconds(job.run_time));
        Row {
            submit: seconds(job.submit),
            cell: (size_level * run_times.len() + run_level) as u64,
            size_level: size_level as u64,
            run_level,
            part_of_day: daytime::part(timing.clock.hour(job.submit)),
            // Jobs without a user count as those of one more.
            user: timing.users.get(&job.user()).copied().unwrap_or(0),
            job,
        }
    };
    jobs.iter().map(row).collect()
}

/// Where in their ranges the jobs of each cell lie.
fn inside(rows: &[Row<'_>], sizes: &[Level], run_times: &[Level]) -> Vec<u64> {
    let run = |row: &Row<'_>| (row.run_level, seconds(row.job.run_time));
    let size = |row: &Row<'_>| (row.size_level as usize, u64::from(row.job.processors));
    let runs = inside::places(&rows.iter().map(run).collect::<Vec<_>>(), run_times.len());
    let sizes = inside::places(&rows.iter().map(size).collect::<Vec<_>>(), sizes.len());
    let places = runs.into_iter().zip(sizes);
    inside::measure(
        rows.iter()
            .zip(places)
            .map(|(row, (run, size))| (row.cell, run, size)),
    )
}

/// How run times and sizes depend on the time of the day.
fn day_weights(
    rows: &[Row<'_>],
    users: usize,
    runs: usize,
    sizes: usize,
) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let run = |row: &Row<'_>| (row.user, row.run_level, row.part_of_day);
    let size = |row: &Row<'_>| {
        let group = row.user * runs + row.run_level;
        (group, row.size_level as usize, row.part_of_day)
    };
    (
        daytime::ratios(rows.iter().map(run), users, runs),
        daytime::ratios(rows.iter().map(size), users * runs, sizes),
    )
}

/// The requested times that occur most, and for each range of run times how
/// often each. Others count as the next longer one of the list.
fn requests(rows: &[Row<'_>], ranges: usize) -> (Vec<u64>, Vec<Vec<u64>>) {
    let requested = |row: &Row<'_>| row.job.requested_time.map(seconds);
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for time in rows.iter().filter_map(requested) {
        *counts.entry(time).or_default() += 1;
    }
    let longest = counts.keys().next_back().copied();
    let mut common: Vec<(u64, u64)> = counts.into_iter().collect();
    common.sort_by_key(|(time, count)| (std::cmp::Reverse(*count), *time));
    common.truncate(REQUESTS - 1);
    let mut list: Vec<u64> = common.into_iter().map(|c| c.0).chain(longest).collect();
    list.sort_unstable();
    list.dedup();
    let mut tables = vec![BTreeMap::new(); ranges];
    for row in rows {
        let index = requested(row).map_or(list.len(), |t| list.partition_point(|l| *l < t));
        *tables[row.run_level].entry(index as u64).or_default() += 1;
    }
    (list, tables.into_iter().map(pairs).collect())
}

fn pairs(table: BTreeMap<u64, u64>) -> Vec<u64> {
    table
        .into_iter()
        .flat_map(|(key, count)| [key, count])
        .collect()
}

fn failed(rows: &[Row<'_>], ranges: usize) -> Vec<u64> {
    let mut counts = vec![(0u64, 0u64); ranges];
    for row in rows {
        let count = &mut counts[row.run_level];
        count.0 += u64::from(row.job.failed);
        count.1 += 1;
    }
    counts
        .iter()
        .map(|(failed, all)| failed * 1_000 / (*all).max(1))
        .collect()
}

/// What a user, or several together, submitted.
#[derive(Default)]
struct Tables {
    user: Option<u32>,
    jobs: u64,
    turns: u64,
    stays: f64,
    cells: BTreeMap<u64, u64>,
    parts: [u64; PARTS],
    labels: BTreeMap<[i64; 4], i64>,
}

/// Profiles of the users, the busiest first; `turns` has each user's number of
/// turns and odds to go on.
fn profiles(rows: &[Row<'_>], turns: &[(u64, f64)], detail: Detail) -> Vec<Profile> {
    let [.., own, shared, of_profile] = detail;
    let mut users: BTreeMap<usize, Tables> = BTreeMap::new();
    for row in rows {
        let tables = users.entry(row.user).or_default();
        tables.user = row.job.user();
        (tables.turns, tables.stays) = turns[row.user];
        tables.jobs += 1;
        tables.parts[row.part_of_day] += 1;
        *tables.cells.entry(row.cell).or_default() += 1;
        let field = |value: Option<u32>| value.map_or(-1, i64::from);
        let fields = [GROUP, EXECUTABLE, QUEUE, PARTITION].map(|at| field(row.job.ids[at]));
        *tables.labels.entry(fields).or_default() += 1;
    }
    let mut ranked: Vec<Tables> = users.into_values().collect();
    ranked.sort_by_key(|tables| std::cmp::Reverse(tables.jobs));
    let tail = ranked.split_off(own.min(ranked.len()));
    let mut groups: Vec<Vec<Tables>> = ranked.into_iter().map(|tables| vec![tables]).collect();
    // Neighbours in rank share a profile.
    let each = tail.len().div_ceil(shared).max(1);
    let mut tail = tail.into_iter().peekable();
    while tail.peek().is_some() {
        groups.push(tail.by_ref().take(each).collect());
    }
    groups
        .into_iter()
        .map(|group| {
            let number = |user: Option<u32>| user.map_or(-1, i64::from);
            let users = group
                .iter()
                .flat_map(|tables| [number(tables.user), tables.jobs.cast_signed()])
                .collect();
            let (mut cells, mut labels) = Default::default();
            let mut parts = [0; PARTS];
            let (mut turns, mut jobs, mut stays) = (0, 0, 0.0);
            for tables in group {
                turns += tables.turns;
                jobs += tables.jobs;
                stays += tables.stays * tables.jobs as f64;
                parts
                    .iter_mut()
                    .zip(tables.parts)
                    .for_each(|(sum, n)| *sum += n);
                add(&mut cells, tables.cells);
                add(&mut labels, tables.labels);
            }
            let mut labels: Vec<([i64; 4], i64)> = labels.into_iter().collect();
            labels.sort_by_key(|label| (std::cmp::Reverse(label.1), label.0));
            labels.truncate(of_profile);
            Profile {
                users,
                turns,
                stays: (stays / jobs.max(1) as f64 * 1e2).round() / 1e2,
                parts_of_day: parts.to_vec(),
                cells: pairs(cells),
                labels: labels
                    .into_iter()
                    .flat_map(|(f, n)| [f[0], f[1], f[2], f[3], n])
                    .collect(),
            }
        })
        .collect()
}

fn add<K: Ord, N: std::ops::AddAssign + Default>(sum: &mut BTreeMap<K, N>, more: BTreeMap<K, N>) {
    for (key, count) in more {
        *sum.entry(key).or_default() += count;
    }
}

/// Jobs among these that the trace holds as well, by submit time, run time,
/// size and user: none, as a look-alike begins after its source.
#[must_use]
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
