//! The engine that draws a burst week.
//!
//! Everything is drawn with integers from one named stream and fitted with
//! additions, products, quotients and square roots only, so the same jobs come
//! out on every machine.

use super::draw::{Draw, quantile};
use super::fit::{Target, fit};
use super::{Burst, Group, WEEK_SECONDS as WEEK};

/// A generated job.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) submit: u64,
    pub(super) run_time: u64,
    pub(super) size: u32,
    pub(super) user: u32,
    pub(super) requested_time: u64,
    pub(super) status: u8,
    fixed: bool,
    quantile: u64,
}

/// Draws the week of a model.
pub(super) fn generate(model: &Burst) -> Vec<Job> {
    let mut draw = Draw::new(model.seed, &model.name);
    let mut jobs = Vec::with_capacity(model.jobs);
    for (at, group) in model.groups.iter().enumerate() {
        add_group(model, at as u32, group, &mut draw, &mut jobs);
    }
    while jobs.len() < model.jobs {
        add_session(model, &mut draw, &mut jobs);
    }
    fit_sizes(model, &mut draw, &mut jobs);
    fit_run_times(model, &mut draw, &mut jobs);
    jobs.sort_by_key(|job| job.submit);
    let first = jobs.first().map_or(0, |job| job.submit);
    for job in &mut jobs {
        job.submit -= first;
        job.requested_time = estimate(job.run_time, &mut draw);
        job.status = draw
            .weighted(&[(1, 90), (0, 6), (5, 4)])
            .unwrap_or_default();
    }
    jobs
}

fn add_group(model: &Burst, at: u32, group: &Group, draw: &mut Draw, jobs: &mut Vec<Job>) {
    let longest = model.run_time.max * model.scale;
    for (i, size) in (0..).zip(&group.sizes) {
        let spread = match group.run_time_s {
            run if run == longest => 0,
            run => draw.below(run / 10),
        };
        jobs.push(Job {
            submit: group.at_s + i * group.gap_s + draw.below(group.gap_s / 4),
            run_time: stepped(group.run_time_s - spread, model.run_step),
            size: *size,
            user: at + 1,
            requested_time: 0,
            status: 0,
            fixed: true,
            quantile: 0,
        });
    }
}

/// A user sits down and submits a few similar jobs.
fn add_session(model: &Burst, draw: &mut Draw, jobs: &mut Vec<Job>) {
    let mut submit = session_start(model, draw);
    // The smaller of two draws: few users submit most jobs.
    let user = draw.below(model.users).min(draw.below(model.users)) as u32;
    let size = draw.weighted(&model.sizes).unwrap_or(1);
    let around = draw.below(1000);
    let count = 1 + draw.below(4).min(draw.below(6));
    for _ in 0..count {
        if submit >= WEEK || jobs.len() >= model.jobs {
            return;
        }
        let same_size = draw.chance(75);
        let other = draw.weighted(&model.sizes).unwrap_or(1);
        let permille = (around + draw.below(200)).saturating_sub(100).min(999);
        jobs.push(Job {
            submit,
            run_time: stepped(quantile(&model.run_quantiles, permille), model.run_step),
            size: if same_size { size } else { other },
            user: user + 1 + model.groups.len() as u32,
            requested_time: 0,
            status: 0,
            fixed: false,
            quantile: permille,
        });
        submit += 30 + draw.below(60) * draw.below(60);
    }
}

/// An instant of the week, drawn by the hour of the day and the day.
fn session_start(model: &Burst, draw: &mut Draw) -> u64 {
    let largest = model.hourly.iter().copied().max().unwrap_or(1) * 100;
    loop {
        let at = draw.below(WEEK);
        let in_week = (at + model.start_in_week()) % WEEK;
        let (day, hour) = (in_week / 86_400, in_week % 86_400 / 3_600);
        let percent = if day < 5 { 100 } else { model.weekend_percent };
        if draw.below(largest) < model.hourly[hour as usize] * percent {
            return at;
        }
    }
}

fn fit_sizes(model: &Burst, draw: &mut Draw, jobs: &mut [Job]) {
    let mut sizes: Vec<u64> = jobs.iter().map(|j| u64::from(j.size)).collect();
    let target = Target {
        mean: model.size.mean,
        sd: model.size.sd,
    };
    fit(&mut sizes, &free(jobs), target, draw, |draw, _, old| {
        draw.weighted(&model.sizes).map_or(old, u64::from)
    });
    for (job, size) in jobs.iter_mut().zip(sizes) {
        job.size = u32::try_from(size).unwrap_or(job.size);
    }
}

fn fit_run_times(model: &Burst, draw: &mut Draw, jobs: &mut [Job]) {
    // The moments are those after scaling and lifting short runs.
    let lifted = |run: u64| run.max(model.scale);
    let mut runs: Vec<u64> = jobs.iter().map(|j| lifted(j.run_time)).collect();
    let before = runs.clone();
    let target = Target {
        mean: model.run_time.mean * model.scale as f64,
        sd: model.run_time.sd * model.scale as f64,
    };
    let longest = model.run_time.max * model.scale;
    let at_quantile: Vec<u64> = jobs.iter().map(|j| j.quantile).collect();
    fit(&mut runs, &free(jobs), target, draw, |draw, at, old| {
        let new = if draw.chance(50) {
            let permille = (at_quantile[at] + draw.below(300)).saturating_sub(150);
            quantile(&model.run_quantiles, permille.min(999))
        } else {
            old - old / 8 + draw.below(old / 4 + 1)
        };
        lifted(stepped(new, model.run_step)).min(longest)
    });
    for ((job, new), old) in jobs.iter_mut().zip(runs).zip(before) {
        // A run below the scale stays as drawn unless the fit moved it.
        if new != old {
            job.run_time = new;
        }
    }
}

fn free(jobs: &[Job]) -> Vec<usize> {
    (0..jobs.len()).filter(|i| !jobs[*i].fixed).collect()
}

fn stepped(run: u64, step: u64) -> u64 {
    (run / step).max(1) * step
}

/// What a user asks for: a round number above the run, often far above.
fn estimate(run: u64, draw: &mut Draw) -> u64 {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 3_600;
    const ROUND: [u64; 16] = [
        5 * MINUTE,
        10 * MINUTE,
        15 * MINUTE,
        30 * MINUTE,
        HOUR,
        2 * HOUR,
        3 * HOUR,
        4 * HOUR,
        6 * HOUR,
        8 * HOUR,
        12 * HOUR,
        18 * HOUR,
        24 * HOUR,
        48 * HOUR,
        96 * HOUR,
        168 * HOUR,
    ];
    let wanted = run + run * draw.below(4) / 2;
    let last = ROUND[ROUND.len() - 1];
    let enough = |limit: u64| ROUND.iter().copied().find(|round| *round >= limit);
    enough(wanted).or(enough(run)).unwrap_or(last).max(run)
}
