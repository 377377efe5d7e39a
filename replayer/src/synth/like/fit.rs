//! Fits a look-alike to a trace.

use super::leaning::{self, PARTS, Seen};
use super::levels::{Grain, divide, find};
use super::{ALIKE, BATCH_WINDOW_S, BatchLevel, Level, Likeness, LookAlike, Profile, Source, week};
use crate::characterize::calendar::Clock;
use crate::load::{Loaded, TraceJob};
use crate::swf::Record;
use crate::synth::error::SynthError;
use crate::synth::model::{Extent, Model, SCHEMA};
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

/// How finely a model tells things apart, from fine to coarse.
#[derive(Clone, Copy, Debug)]
struct Detail {
    run_times: usize,
    sizes: usize,
    /// Users with a profile of their own, and profiles that the others share.
    own: usize,
    shared: usize,
    labels: usize,
}

const DETAILS: [Detail; 9] = [
    detail(64, 24, 250, 12, 8),
    detail(48, 24, 250, 12, 8),
    detail(32, 24, 250, 12, 8),
    detail(32, 20, 150, 12, 6),
    detail(28, 16, 100, 10, 6),
    detail(24, 14, 70, 8, 4),
    detail(24, 12, 40, 8, 4),
    detail(20, 10, 24, 4, 3),
    detail(16, 8, 10, 2, 2),
];

const fn detail(
    run_times: usize,
    sizes: usize,
    own: usize,
    shared: usize,
    labels: usize,
) -> Detail {
    Detail {
        run_times,
        sizes,
        own,
        shared,
        labels,
    }
}

/// Requested times that a model lists.
const REQUESTS: usize = 24;

/// Steps between the quantiles of a range.
const STEPS: usize = 16;

/// A job as the fit sees it.
struct Row<'a> {
    submit: u64,
    cell: u64,
    size_level: u64,
    run_level: usize,
    part_of_day: usize,
    batch: usize,
    job: &'a TraceJob,
}

/// A batch of the source.
struct Batch {
    user: Option<u32>,
    start: u64,
    last: u64,
    jobs: u64,
    same_second: u64,
    first_run_level: usize,
    alike: bool,
}

fn seconds(time: SimDuration) -> u64 {
    time.as_nanos() / NANOS_PER_SEC
}

impl LookAlike {
    /// The model of a trace.
    ///
    /// # Errors
    /// [`SynthError::Unfit`] for a trace with fewer than two jobs or without a
    /// number of processors, or when no model is as small as wanted.
    pub fn fit(trace: &Loaded, options: FitOptions) -> Result<Self, SynthError> {
        let unfit = |reason: String| SynthError::Unfit {
            file: trace.file.clone(),
            reason,
        };
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
        for detail in DETAILS {
            let model = fit(trace, processors, detail);
            let bytes = Model::LookAlike(Box::new(model.clone())).to_json().len();
            if bytes < options.max_bytes {
                return Ok(model);
            }
        }
        let most = options.max_bytes;
        Err(unfit(format!("no model of it is below {most} bytes")))
    }
}

fn fit(trace: &Loaded, processors: u32, detail: Detail) -> LookAlike {
    let jobs = &trace.jobs;
    let grain = |levels| Grain {
        levels,
        values: STEPS,
        steps: STEPS,
    };
    let sizes = divide(
        jobs.iter().map(|j| u64::from(j.processors)).collect(),
        grain(detail.sizes),
    );
    let run_times = divide(
        jobs.iter().map(|j| seconds(j.run_time)).collect(),
        grain(detail.run_times),
    );
    let (batches, of_job) = batches(jobs, &run_times);
    let clock = Clock::of(&trace.header);
    let rows = placed(jobs, of_job, &sizes, &run_times, &clock);
    let first = rows.first().map_or(0, |row| row.submit);
    let last = rows.last().map_or(0, |row| row.submit);
    let span = (last - first + 1) as f64 / 86_400.0;
    let starts: Vec<(u64, u64)> = batches.iter().map(|b| (b.start, b.jobs)).collect();
    let arrivals = week::measure(&starts, &clock, last + 1);
    let (levels, level_of) = batch_levels(&batches);
    let (run_time_leanings, size_leanings) = leanings(&rows, run_times.len(), sizes.len());
    let (requested_times_s, requests) = requests(&rows, run_times.len());
    let name = Path::new(&trace.file)
        .file_name()
        .map(|n| n.to_string_lossy());
    LookAlike {
        schema: SCHEMA.to_owned(),
        kind: "look-alike".to_owned(),
        seed: 1,
        extent: Extent {
            jobs: Some(jobs.len() as u64),
            days: Some(span),
        },
        processors,
        source: Source {
            trace: name.unwrap_or_default().into_owned(),
            jobs: jobs.len() as u64,
            days: span,
        },
        unix_start: arrivals.unix_start,
        first_submit_s: first + (last - first + 1).next_multiple_of(week::WEEK),
        hours_of_week: arrivals.hours_of_week,
        day_levels: arrivals.day_levels,
        hour_levels: arrivals.rhythm.hour_levels,
        hour_persistence: arrivals.rhythm.persistence,
        bunching: arrivals.rhythm.bunching,
        run_time_leanings,
        size_leanings,
        failed_permille: failed(&rows, run_times.len()),
        requests,
        requested_times_s,
        likeness: likeness(&rows, &batches, run_times.len() as u64),
        profiles: profiles(&rows, &batches, &level_of, detail),
        batches: levels,
        sizes,
        run_times,
    }
}

/// Each job with the ranges that it lies in.
fn placed<'a>(
    jobs: &'a [TraceJob],
    of_job: Vec<usize>,
    sizes: &[Level],
    run_times: &[Level],
    clock: &Clock,
) -> Vec<Row<'a>> {
    jobs.iter()
        .zip(of_job)
        .map(|(job, batch)| {
            let size_level = find(sizes, u64::from(job.processors));
            let run_level = find(run_times, seconds(job.run_time));
            Row {
                submit: seconds(job.submit),
                cell: (size_level * run_times.len() + run_level) as u64,
                size_level: size_level as u64,
                run_level,
                part_of_day: leaning::part(clock.hour(job.submit)),
                batch,
                job,
            }
        })
        .collect()
}

/// How run times and sizes lean towards times of the day.
fn leanings(rows: &[Row<'_>], runs: usize, sizes: usize) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let users: BTreeSet<Option<u32>> = rows.iter().map(|row| row.job.user).collect();
    let places: BTreeMap<Option<u32>, usize> = users.into_iter().zip(0..).collect();
    let seen = |row: &Row<'_>| Seen {
        user: places.get(&row.job.user).copied().unwrap_or(0),
        run: row.run_level,
        size: row.size_level as usize,
        part: row.part_of_day,
    };
    let jobs: Vec<Seen> = rows.iter().map(seen).collect();
    leaning::measure(&jobs, places.len(), runs, sizes)
}

/// The batches in order of their first jobs, and the batch of each job. Jobs
/// without a user count as those of one more.
fn batches(jobs: &[TraceJob], run_times: &[Level]) -> (Vec<Batch>, Vec<usize>) {
    let mut open: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    let mut batches: Vec<Batch> = Vec::new();
    let mut of_job = Vec::with_capacity(jobs.len());
    for job in jobs {
        let at = seconds(job.submit);
        let level = find(run_times, seconds(job.run_time));
        let current = open.get(&job.user).copied();
        let goes_on = current.filter(|b| at - batches[*b].start <= BATCH_WINDOW_S);
        let index = goes_on.unwrap_or(batches.len());
        match batches.get_mut(index) {
            Some(batch) => {
                batch.jobs += 1;
                batch.same_second += u64::from(batch.last == at);
                batch.last = at;
                batch.alike &= level.abs_diff(batch.first_run_level) <= ALIKE;
            }
            None => {
                open.insert(job.user, index);
                batches.push(Batch {
                    user: job.user,
                    start: at,
                    last: at,
                    jobs: 1,
                    same_second: 0,
                    first_run_level: level,
                    alike: true,
                });
            }
        }
        of_job.push(index);
    }
    (batches, of_job)
}

/// Batches by powers of two: 1, 2, 3 and 4, 5 to 8 and so on.
fn batch_levels(batches: &[Batch]) -> (Vec<BatchLevel>, Vec<usize>) {
    let class = |batch: &Batch| batch.jobs.next_power_of_two().ilog2();
    let mut by_class: BTreeMap<u32, Vec<&Batch>> = BTreeMap::new();
    for batch in batches {
        by_class.entry(class(batch)).or_default().push(batch);
    }
    let one = Grain {
        levels: 1,
        values: STEPS,
        steps: STEPS,
    };
    let levels = by_class.values().map(|batches| {
        let counts = batches.iter().map(|b| b.jobs).collect();
        let mut durations: Vec<u64> = batches.iter().map(|b| b.last - b.start).collect();
        durations.sort_unstable();
        let (same, later) = batches.iter().fold((0, 0), |sums, b| {
            (sums.0 + b.same_second, sums.1 + b.jobs - 1)
        });
        let alike = batches.iter().filter(|batch| batch.alike).count() as u64;
        let last = durations.len() - 1;
        let quantile = |step: usize| durations[step * last / STEPS];
        BatchLevel {
            jobs: divide(counts, one).into_iter().next().unwrap_or_default(),
            duration_s: (0..=STEPS).map(quantile).collect(),
            same_second: per_mille(same, later),
            alike: per_mille(alike, batches.len() as u64),
        }
    });
    let levels = levels.collect();
    let classes: Vec<u32> = by_class.keys().copied().collect();
    let level_of = batches.iter().map(|batch| {
        let place = classes.binary_search(&class(batch));
        place.unwrap_or(0)
    });
    (levels, level_of.collect())
}

/// A share to three digits.
fn per_mille(part: u64, of: u64) -> f64 {
    (part as f64 / of.max(1) as f64 * 1e3).round() / 1e3
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

/// Profiles of the users, the busiest first.
fn profiles(
    rows: &[Row<'_>],
    batches: &[Batch],
    level_of: &[usize],
    detail: Detail,
) -> Vec<Profile> {
    #[derive(Default)]
    struct Tables {
        user: Option<u32>,
        jobs: u64,
        batches: BTreeMap<u64, u64>,
        cells: BTreeMap<u64, u64>,
        parts: [u64; PARTS],
        labels: BTreeMap<[i64; 4], i64>,
    }
    let mut users: BTreeMap<Option<u32>, Tables> = BTreeMap::new();
    for (batch, level) in batches.iter().zip(level_of) {
        let tables = users.entry(batch.user).or_default();
        *tables.batches.entry(*level as u64).or_default() += 1;
    }
    for row in rows {
        let tables = users.entry(row.job.user).or_default();
        tables.user = row.job.user;
        tables.jobs += 1;
        tables.parts[row.part_of_day] += 1;
        *tables.cells.entry(row.cell).or_default() += 1;
        let field = |value: Option<u32>| value.map_or(-1, i64::from);
        let job = row.job;
        let fields = [job.group, job.executable, job.queue, job.partition].map(field);
        *tables.labels.entry(fields).or_default() += 1;
    }
    let mut ranked: Vec<Tables> = users.into_values().collect();
    ranked.sort_by_key(|tables| std::cmp::Reverse(tables.jobs));
    let tail = ranked.split_off(detail.own.min(ranked.len()));
    let mut groups: Vec<Vec<Tables>> = ranked.into_iter().map(|tables| vec![tables]).collect();
    // Neighbours in rank share a profile.
    let each = tail.len().div_ceil(detail.shared).max(1);
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
            let (mut batches, mut cells, mut labels) = Default::default();
            let mut parts = [0; PARTS];
            for tables in group {
                parts
                    .iter_mut()
                    .zip(tables.parts)
                    .for_each(|(sum, n)| *sum += n);
                add(&mut batches, tables.batches);
                add(&mut cells, tables.cells);
                add(&mut labels, tables.labels);
            }
            let mut labels: Vec<([i64; 4], i64)> = labels.into_iter().collect();
            labels.sort_by_key(|label| (std::cmp::Reverse(label.1), label.0));
            labels.truncate(detail.labels);
            Profile {
                users,
                batches: pairs(batches),
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

/// How much more often than their user's mix gives it jobs are like the one
/// before.
fn likeness(rows: &[Row<'_>], batches: &[Batch], run_ranges: u64) -> Likeness {
    let chance = Chance::of(rows, run_ranges);
    let mut last_of_batch: Vec<Option<u64>> = vec![None; batches.len()];
    let mut last_of_user: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    // Of the pairs of jobs that follow each other: those that are alike, and all.
    let (mut alike, mut mixed, mut following) = ((0, 0), (0, 0), (0, 0));
    let count = |pair: &mut (u64, u64), same: bool| {
        pair.0 += u64::from(same);
        pair.1 += 1;
    };
    for row in rows {
        if let Some(last) = last_of_batch[row.batch] {
            if batches[row.batch].alike {
                count(&mut alike, last == row.cell);
            } else {
                count(&mut mixed, last / run_ranges == row.size_level);
            }
        } else if let Some(last) = last_of_user.get(&row.job.user) {
            count(&mut following, *last == row.cell);
        }
        last_of_batch[row.batch] = Some(row.cell);
        last_of_user.insert(row.job.user, row.cell);
    }
    let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    // Where a share s comes by chance, keeping with probability q shows as
    // q + (1 - q) s.
    let beyond = |found: f64, chance: f64| match chance < 1.0 {
        true => ((found - chance) / (1.0 - chance)).clamp(0.0, 1.0),
        false => 0.0,
    };
    let users = batches
        .windows(2)
        .filter(|b| b[0].user == b[1].user)
        .count();
    let mut shares: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    for batch in batches {
        *shares.entry(batch.user).or_default() += 1;
    }
    let by_chance: f64 = shares
        .values()
        .map(|n| share(*n, batches.len() as u64).powi(2))
        .sum();
    let rounded = |share: f64| (share * 1e4).round() / 1e4;
    Likeness {
        same_cell: rounded(share(alike.0, alike.1)),
        same_size: rounded(beyond(share(mixed.0, mixed.1), chance.size)),
        next_batch: rounded(beyond(share(following.0, following.1), chance.cell)),
        same_user: rounded(beyond(
            share(users as u64, batches.len() as u64 - 1),
            by_chance,
        )),
    }
}

/// Probabilities that two jobs of a user are alike by chance, over all jobs.
struct Chance {
    cell: f64,
    size: f64,
}

impl Chance {
    fn of(rows: &[Row<'_>], run_ranges: u64) -> Self {
        let mut users: BTreeMap<Option<u32>, BTreeMap<u64, f64>> = BTreeMap::new();
        for row in rows {
            *users
                .entry(row.job.user)
                .or_default()
                .entry(row.cell)
                .or_default() += 1.0;
        }
        let (mut cell, mut size) = (0.0, 0.0);
        for cells in users.values() {
            let total: f64 = cells.values().sum();
            let mut sizes: BTreeMap<u64, f64> = BTreeMap::new();
            for (at, count) in cells {
                cell += count * count / total;
                *sizes.entry(at / run_ranges).or_default() += count;
            }
            size += sizes.values().map(|n| n * n / total).sum::<f64>();
        }
        let jobs = rows.len().max(1) as f64;
        Chance {
            cell: cell / jobs,
            size: size / jobs,
        }
    }
}

/// Jobs among these that the trace holds as well, by submit time, run time,
/// size and user: none, as a look-alike begins after its source.
#[must_use]
pub fn recurring_jobs(trace: &Loaded, made: impl Iterator<Item = Record>) -> u64 {
    let known: BTreeSet<(u64, u64, u64, Option<u64>)> = trace
        .jobs
        .iter()
        .map(|job| {
            let user = job.user.map(u64::from);
            (
                job.submit.as_nanos(),
                job.run_time.as_nanos(),
                u64::from(job.processors),
                user,
            )
        })
        .collect();
    let tuple = |job: &Record| {
        let nanos = |time: Option<SimDuration>| time.unwrap_or_default().as_nanos();
        let size = job.allocated_processors.unwrap_or(0);
        (nanos(job.submit_time), nanos(job.run_time), size, job.user)
    };
    made.filter(|job| known.contains(&tuple(job))).count() as u64
}
