//! The engine that draws a burst week.
//!
//! Everything is drawn with integers from one named stream and fitted with
//! additions, products, quotients and square roots only, so the same jobs come
//! out on every machine.

use super::draw::{quantile, weighted};
use super::fit::fit;
use super::{Burst, Group, Moments, WEEK_SECONDS as WEEK};
use crate::format::{Record, field};
use crate::synth::unit::below;
use gridrig_core::rng;
use rand::rngs::ChaCha8Rng;

/// A job on its way; one that is set has no quantile of the run times and stays
/// as it is.
#[derive(Clone, Debug)]
struct Drawn {
    job: Record,
    quantile: Option<u64>,
}

impl Drawn {
    fn new(submit: u64, run_time: u64, size: u32, user: u32, quantile: Option<u64>) -> Self {
        let job = Record::made(0, submit, run_time, u64::from(size));
        Drawn {
            job: job.with(field::USER, u64::from(user)),
            quantile,
        }
    }
}

/// A number of a job, which has all of those that are drawn.
pub(super) fn number(job: &Record, field: usize) -> u64 {
    job.count(field).unwrap_or(0)
}

/// Draws the week of a model.
pub(super) fn generate(model: &Burst) -> Vec<Record> {
    let mut draw = rng::stream(model.seed, &model.name);
    let mut jobs = Vec::with_capacity(model.jobs);
    for (at, group) in model.groups.iter().enumerate() {
        add_group(model, at as u32, group, &mut draw, &mut jobs);
    }
    while jobs.len() < model.jobs {
        add_session(model, &mut draw, &mut jobs);
    }
    fit_sizes(model, &mut draw, &mut jobs);
    fit_run_times(model, &mut draw, &mut jobs);
    let mut jobs: Vec<Record> = jobs.into_iter().map(|drawn| drawn.job).collect();
    jobs.sort_by_key(|job| number(job, field::SUBMIT));
    let first = jobs.first().map_or(0, |job| number(job, field::SUBMIT));
    for (n, job) in (1u64..).zip(&mut jobs) {
        let user = number(job, field::USER);
        let requested_time = estimate(number(job, field::RUN_TIME), &mut draw);
        let status = weighted(&mut draw, &[(1, 90), (0, 6), (5, 4)]);
        for (field, value) in [
            (field::JOB, n),
            (field::SUBMIT, number(job, field::SUBMIT) - first),
            (field::REQUESTED, number(job, field::ALLOCATED)),
            (field::REQUESTED_TIME, requested_time),
            (field::STATUS, status.unwrap_or(0)),
            (field::GROUP, user % 7 + 1),
            (field::EXECUTABLE, user * 3 % 41 + 1),
            (field::QUEUE, queue_of(requested_time)),
            (field::PARTITION, 1),
        ] {
            job.set(field, value);
        }
    }
    jobs
}

/// Queues by requested time, as sites name them: short, medium, long, endless.
fn queue_of(requested_time: u64) -> u64 {
    const LIMITS: [u64; 3] = [3_600, 6 * 3_600, 24 * 3_600];
    let above = LIMITS.iter().filter(|limit| requested_time > **limit);
    above.count() as u64 + 1
}

fn add_group(model: &Burst, at: u32, group: &Group, draw: &mut ChaCha8Rng, jobs: &mut Vec<Drawn>) {
    let longest = model.run_time.max * model.scale;
    for (i, size) in (0..).zip(&group.sizes) {
        let spread = match group.run_time_s {
            run if run == longest => 0,
            run => below(draw, run / 10),
        };
        let submit = group.at_s + i * group.gap_s + below(draw, group.gap_s / 4);
        let run_time = stepped(group.run_time_s - spread, model.run_step);
        jobs.push(Drawn::new(submit, run_time, *size, at + 1, None));
    }
}

/// A user sits down and submits a few similar jobs.
fn add_session(model: &Burst, draw: &mut ChaCha8Rng, jobs: &mut Vec<Drawn>) {
    let mut submit = session_start(model, draw);
    // The smaller of two draws: few users submit most jobs.
    let user = below(draw, model.users).min(below(draw, model.users)) as u32;
    let size = weighted(draw, &model.sizes).unwrap_or(1);
    let around = below(draw, 1000);
    let count = 1 + below(draw, 4).min(below(draw, 6));
    for _ in 0..count {
        if submit >= WEEK || jobs.len() >= model.jobs {
            return;
        }
        let same_size = below(draw, 100) < 75;
        let other = weighted(draw, &model.sizes).unwrap_or(1);
        let permille = (around + below(draw, 200)).saturating_sub(100).min(999);
        let run_time = stepped(quantile(&model.run_quantiles, permille), model.run_step);
        let size = if same_size { size } else { other };
        let user = user + 1 + model.groups.len() as u32;
        jobs.push(Drawn::new(submit, run_time, size, user, Some(permille)));
        submit += 30 + below(draw, 60) * below(draw, 60);
    }
}

/// An instant of the week, drawn by the hour of the day and the day.
fn session_start(model: &Burst, draw: &mut ChaCha8Rng) -> u64 {
    let largest = model.hourly.iter().copied().max().unwrap_or(1) * 100;
    loop {
        let at = below(draw, WEEK);
        let in_week = (at + model.start_in_week()) % WEEK;
        let (day, hour) = (in_week / 86_400, in_week % 86_400 / 3_600);
        let percent = if day < 5 { 100 } else { model.weekend_percent };
        if below(draw, largest) < model.hourly[hour as usize] * percent {
            return at;
        }
    }
}

fn fit_sizes(model: &Burst, draw: &mut ChaCha8Rng, jobs: &mut [Drawn]) {
    let mut sizes = numbers(jobs, field::ALLOCATED);
    fit(&mut sizes, &free(jobs), model.size, draw, |draw, _, old| {
        weighted(draw, &model.sizes).map_or(old, u64::from)
    });
    for (drawn, size) in jobs.iter_mut().zip(sizes) {
        drawn.job.set(field::ALLOCATED, size);
    }
}

fn fit_run_times(model: &Burst, draw: &mut ChaCha8Rng, jobs: &mut [Drawn]) {
    // The moments are those after scaling and lifting short runs.
    let lifted = |run: u64| run.max(model.scale);
    let mut runs = numbers(jobs, field::RUN_TIME);
    runs.iter_mut().for_each(|run| *run = lifted(*run));
    let before = runs.clone();
    let longest = model.run_time.max * model.scale;
    let target = Moments {
        max: longest,
        mean: model.run_time.mean * model.scale as f64,
        sd: model.run_time.sd * model.scale as f64,
    };
    let at_quantile: Vec<u64> = jobs.iter().map(|j| j.quantile.unwrap_or(0)).collect();
    fit(&mut runs, &free(jobs), target, draw, |draw, at, old| {
        let new = if below(draw, 100) < 50 {
            let permille = (at_quantile[at] + below(draw, 300)).saturating_sub(150);
            quantile(&model.run_quantiles, permille.min(999))
        } else {
            old - old / 8 + below(draw, old / 4 + 1)
        };
        lifted(stepped(new, model.run_step)).min(longest)
    });
    for ((drawn, new), old) in jobs.iter_mut().zip(runs).zip(before) {
        // A run below the scale stays as drawn unless the fit moved it.
        if new != old {
            drawn.job.set(field::RUN_TIME, new);
        }
    }
}

fn free(jobs: &[Drawn]) -> Vec<usize> {
    (0..jobs.len())
        .filter(|i| jobs[*i].quantile.is_some())
        .collect()
}

fn numbers(jobs: &[Drawn], field: usize) -> Vec<u64> {
    jobs.iter().map(|drawn| number(&drawn.job, field)).collect()
}

fn stepped(run: u64, step: u64) -> u64 {
    (run / step).max(1) * step
}

/// What a user asks for: a round number above the run, often far above.
fn estimate(run: u64, draw: &mut ChaCha8Rng) -> u64 {
    /// In minutes, up to a week.
    const ROUND: [u64; 16] = [
        5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1_080, 1_440, 2_880, 5_760, 10_080,
    ];
    let wanted = run + run * below(draw, 4) / 2;
    let last = ROUND[ROUND.len() - 1] * 60;
    let rounds = ROUND.iter().map(|minutes| minutes * 60);
    let enough = |limit: u64| rounds.clone().find(|round| *round >= limit);
    enough(wanted).or(enough(run)).unwrap_or(last).max(run)
}
