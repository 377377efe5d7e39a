//! A week of a grid as data, and the engine that draws it.

use super::draw::{Draw, quantile};
use super::fit::{Target, fit};

/// Seconds in the week that is generated.
pub(super) const WEEK: u64 = 7 * 86_400;

/// Both scales of the LSAP reduction; run times below it become 1 s.
pub(super) const SCALE: u64 = 60;

/// Everything that makes one workload different from another. Times are in
/// trace seconds.
#[derive(Debug)]
pub(super) struct Model {
    /// What the trace stands in for.
    pub(super) stands_for: &'static str,
    /// Name of the random stream.
    pub(super) stream: &'static str,
    pub(super) seed: u64,
    /// Jobs of the week, those of the fixed groups included.
    pub(super) jobs: usize,
    /// Processors of the machine named in the header.
    pub(super) max_processors: u32,
    /// Unix seconds of the start, and seconds since the Monday before.
    pub(super) unix_start: u64,
    pub(super) start_in_week: u64,
    /// Start and end as the header spells them.
    pub(super) start_time: &'static str,
    pub(super) end_time: &'static str,
    /// Published moments: run times in scaled seconds, sizes in processors.
    pub(super) run_time: Published,
    pub(super) size: Published,
    /// Quantiles of the run times that are drawn, by permille.
    pub(super) run_quantiles: &'static [(u64, u64)],
    /// Run times are multiples of this.
    pub(super) run_step: u64,
    /// Sizes that are drawn, by weight.
    pub(super) sizes: &'static [(u32, u64)],
    /// Jobs that are set: bursts of wide jobs and the longest run.
    pub(super) groups: &'static [Group],
    pub(super) users: u64,
    /// Share of starts between 8 and 18 h on working days against nights.
    pub(super) hourly: &'static [u64; 24],
    /// Percent of that on Saturdays and Sundays.
    pub(super) weekend_percent: u64,
}

/// Moments of a published table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Published {
    pub(super) max: u64,
    pub(super) mean: f64,
    pub(super) sd: f64,
}

/// Jobs of one user that arrive one after the other, kept as they are while
/// the rest is fitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) at: u64,
    /// Between two submissions.
    pub(super) gap: u64,
    pub(super) sizes: &'static [u32],
    /// Each runs this long, up to a tenth less unless it is the longest run.
    pub(super) run_time: u64,
}

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
pub(super) fn generate(model: &Model) -> Vec<Job> {
    let mut draw = Draw::new(model.seed, model.stream);
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

fn add_group(model: &Model, at: u32, group: &Group, draw: &mut Draw, jobs: &mut Vec<Job>) {
    let longest = model.run_time.max * SCALE;
    for (i, size) in (0..).zip(group.sizes) {
        let spread = match group.run_time {
            run if run == longest => 0,
            run => draw.below(run / 10),
        };
        jobs.push(Job {
            submit: group.at + i * group.gap + draw.below(group.gap / 4),
            run_time: stepped(group.run_time - spread, model.run_step),
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
fn add_session(model: &Model, draw: &mut Draw, jobs: &mut Vec<Job>) {
    let mut submit = session_start(model, draw);
    // The smaller of two draws: few users submit most jobs.
    let user = draw.below(model.users).min(draw.below(model.users)) as u32;
    let size = draw.weighted(model.sizes).unwrap_or(1);
    let around = draw.below(1000);
    let count = 1 + draw.below(4).min(draw.below(6));
    for _ in 0..count {
        if submit >= WEEK || jobs.len() >= model.jobs {
            return;
        }
        let same_size = draw.chance(75);
        let other = draw.weighted(model.sizes).unwrap_or(1);
        let permille = (around + draw.below(200)).saturating_sub(100).min(999);
        jobs.push(Job {
            submit,
            run_time: stepped(quantile(model.run_quantiles, permille), model.run_step),
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
fn session_start(model: &Model, draw: &mut Draw) -> u64 {
    let largest = model.hourly.iter().copied().max().unwrap_or(1) * 100;
    loop {
        let at = draw.below(WEEK);
        let in_week = (at + model.start_in_week) % WEEK;
        let (day, hour) = (in_week / 86_400, in_week % 86_400 / 3_600);
        let percent = if day < 5 { 100 } else { model.weekend_percent };
        if draw.below(largest) < model.hourly[hour as usize] * percent {
            return at;
        }
    }
}

fn fit_sizes(model: &Model, draw: &mut Draw, jobs: &mut [Job]) {
    let mut sizes: Vec<u64> = jobs.iter().map(|j| u64::from(j.size)).collect();
    let target = Target {
        mean: model.size.mean,
        sd: model.size.sd,
    };
    fit(&mut sizes, &free(jobs), target, draw, |draw, _, old| {
        draw.weighted(model.sizes).map_or(old, u64::from)
    });
    for (job, size) in jobs.iter_mut().zip(sizes) {
        job.size = u32::try_from(size).unwrap_or(job.size);
    }
}

fn fit_run_times(model: &Model, draw: &mut Draw, jobs: &mut [Job]) {
    // The moments are those after scaling and lifting short runs.
    let lifted = |run: u64| run.max(SCALE);
    let mut runs: Vec<u64> = jobs.iter().map(|j| lifted(j.run_time)).collect();
    let before = runs.clone();
    let target = Target {
        mean: model.run_time.mean * SCALE as f64,
        sd: model.run_time.sd * SCALE as f64,
    };
    let at_quantile: Vec<u64> = jobs.iter().map(|j| j.quantile).collect();
    fit(&mut runs, &free(jobs), target, draw, |draw, at, old| {
        let new = if draw.chance(50) {
            let permille = (at_quantile[at] + draw.below(300)).saturating_sub(150);
            quantile(model.run_quantiles, permille.min(999))
        } else {
            old - old / 8 + draw.below(old / 4 + 1)
        };
        lifted(stepped(new, model.run_step)).min(model.run_time.max * SCALE)
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
