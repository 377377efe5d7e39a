//! Batch submissions: jobs of one user that arrive together (DMM 5.1).

use super::Columns;
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use gridrig_results::stats::Distribution;
use serde::Serialize;
use std::collections::HashMap;

/// The time after the first job within which a job belongs to its batch; the
/// value that DMM calls the most significant.
pub const BATCH_WINDOW: SimDuration = SimDuration::from_secs(120);

/// Smallest sizes of the classes that spreads are given by.
const CLASSES: [u32; 9] = [2, 3, 5, 10, 20, 50, 100, 200, 500];

/// Jobs that one user submitted within the window after the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Batch {
    /// Who.
    pub user: u32,
    /// When the first one was submitted.
    pub first_submit: SimDuration,
    /// How many.
    pub jobs: u32,
    /// Shortest run.
    pub run_time_min: SimDuration,
    /// Longest run.
    pub run_time_max: SimDuration,
    /// Sum of run time x processors.
    pub processor_nanos: u128,
    /// Where its first job stands among all jobs.
    place: usize,
    /// Mean run time so far (s) and sum of squares around it, by Welford.
    mean: f64,
    squares: f64,
}

impl Batch {
    fn add(&mut self, run_time: SimDuration, size: u32) {
        self.jobs += 1;
        self.run_time_min = self.run_time_min.min(run_time);
        self.run_time_max = self.run_time_max.max(run_time);
        self.processor_nanos += u128::from(size) * u128::from(run_time.as_nanos());
        let run = run_time.as_secs_f64();
        let off = run - self.mean;
        self.mean += off / f64::from(self.jobs);
        self.squares += off * (run - self.mean);
    }

    /// Decimal orders of magnitude between its shortest and its longest run,
    /// the variability of DMM's Figure 6. Runs below one second count as one
    /// second: logs round them to 0.
    pub fn orders_of_magnitude(&self) -> f64 {
        let floor = |time: SimDuration| time.as_secs_f64().max(1.0);
        (floor(self.run_time_max) / floor(self.run_time_min)).log10()
    }

    /// Coefficient of variation of its run times (sample); `None` for a single
    /// job or runs of no length.
    pub fn cv(&self) -> Option<f64> {
        let sd = (self.squares / f64::from(self.jobs.checked_sub(1)?)).sqrt();
        (self.jobs > 1 && self.mean > 0.0).then(|| sd / self.mean)
    }
}

/// Batches of at least so many jobs, by the submission of their first job. Jobs
/// come in order of submission; a job belongs to the batch of its user that is
/// not older than `window`, else it begins a new one. Jobs without a user belong
/// to none. In most traces nearly all batches are single jobs; those are not kept
/// when nobody asks for them.
pub fn batches(jobs: &Columns, window: SimDuration, least: u32) -> Vec<Batch> {
    // The last batch of each user.
    let mut open: HashMap<u32, Batch> = HashMap::new();
    let mut batches: Vec<Batch> = Vec::new();
    for (place, ((submit, run_time, size), user)) in jobs.rows().zip(&jobs.users).enumerate() {
        let Some(user) = *user else { continue };
        match open.get_mut(&user) {
            Some(batch) if submit - batch.first_submit <= window => batch.add(run_time, size),
            _ => {
                let mut first = Batch {
                    place,
                    user,
                    first_submit: submit,
                    run_time_min: run_time,
                    ..Batch::default()
                };
                first.add(run_time, size);
                let ended = open.insert(user, first);
                batches.extend(ended.filter(|batch| batch.jobs >= least));
            }
        }
    }
    batches.extend(open.into_values().filter(|batch| batch.jobs >= least));
    batches.sort_unstable_by_key(|batch| batch.place);
    batches
}

/// What the batches of a trace are like. Only sets of two jobs and more count
/// as batches here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BatchStatistics {
    /// A job belongs to its batch up to so long after the first one (s).
    pub window_s: f64,
    /// Batches of two jobs and more.
    pub count: u64,
    /// Jobs in them.
    pub jobs: u64,
    /// Share of all jobs that are in them; null without jobs.
    pub jobs_share: Option<f64>,
    /// Share of all run time x processors; null where that is 0.
    pub processor_time_share: Option<f64>,
    /// Jobs whose user is not known, which can belong to no batch.
    pub jobs_without_user: u64,
    /// Jobs per batch.
    pub size: Distribution,
    /// Spread of the run times inside batches.
    pub orders_of_magnitude: Distribution,
    /// The same by size of the batch; classes without a batch are left out.
    pub by_size: Vec<SizeClass>,
}

/// Batches of about one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeClass {
    /// Smallest size of the class.
    pub from: u32,
    /// Largest; null for the last class, which is open.
    pub to: Option<u32>,
    /// Batches in it.
    pub count: u64,
    /// Decimal orders of magnitude between the shortest and the longest run of
    /// a batch, mean over the batches.
    pub orders_of_magnitude_mean: f64,
    /// The largest such spread.
    pub orders_of_magnitude_max: f64,
    /// Coefficient of variation of the run times in a batch, mean over the
    /// batches that have one; null where none has.
    pub cv_mean: Option<f64>,
}

impl BatchStatistics {
    /// Of jobs in order of submission.
    pub fn of(jobs: &Columns, window: SimDuration) -> Self {
        let all = batches(jobs, window, 2);
        let in_none = jobs.users.iter().filter(|user| user.is_none()).count() as u64;
        let count: u64 = all.iter().map(|batch| u64::from(batch.jobs)).sum();
        let total: u128 = jobs.demands().sum();
        let batched: u128 = all.iter().map(|batch| batch.processor_nanos).sum();
        let spreads: Vec<f64> = all.iter().map(Batch::orders_of_magnitude).collect();
        BatchStatistics {
            window_s: window.as_nanos() as f64 / NANOS_PER_SEC as f64,
            count: all.len() as u64,
            jobs: count,
            jobs_share: (!jobs.users.is_empty()).then(|| count as f64 / jobs.users.len() as f64),
            processor_time_share: (total > 0).then(|| batched as f64 / total as f64),
            jobs_without_user: in_none,
            size: Distribution::of(all.iter().map(|batch| f64::from(batch.jobs))),
            by_size: by_size(&all, &spreads),
            orders_of_magnitude: Distribution::of(spreads),
        }
    }
}

fn by_size(batches: &[Batch], spreads: &[f64]) -> Vec<SizeClass> {
    let mean = |of: &[f64]| (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64);
    let class = |(at, from): (usize, &u32)| {
        let to = CLASSES.get(at + 1).map(|next| next - 1);
        let within = |batch: &Batch| (*from..=to.unwrap_or(u32::MAX)).contains(&batch.jobs);
        let of_class = batches.iter().zip(spreads).filter(|of| within(of.0));
        let (cvs, spreads): (Vec<_>, Vec<f64>) = of_class.map(|of| (of.0.cv(), of.1)).unzip();
        let cvs: Vec<f64> = cvs.into_iter().flatten().collect();
        Some(SizeClass {
            from: *from,
            to,
            count: spreads.len() as u64,
            orders_of_magnitude_mean: mean(&spreads)?,
            orders_of_magnitude_max: spreads.iter().copied().fold(0.0, f64::max),
            cv_mean: mean(&cvs),
        })
    };
    CLASSES.iter().enumerate().filter_map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of (submit time in s, user, run time in s, processors).
    fn columns(jobs: &[(u64, Option<u32>, u64, u32)]) -> Columns {
        let mut columns = Columns::default();
        for (submit, user, run, size) in jobs {
            let [submit, run] = [submit, run].map(|time| SimDuration::from_secs(*time));
            columns.submits.push(submit);
            columns.run_times.push(run);
            columns.sizes.push(*size);
            columns.users.push(*user);
        }
        columns
    }

    #[test]
    fn a_batch_ends_a_window_after_its_first_job_not_its_last() {
        let jobs = columns(&[
            (0, Some(1), 10, 1),
            (50, Some(2), 10, 1),
            (100, Some(1), 1_000, 2),
            (120, Some(1), 0, 1),
            (121, Some(1), 7, 1),
            (200, Some(1), 7, 1),
            (200, None, 7, 1),
        ]);
        let all = batches(&jobs, BATCH_WINDOW, 1);
        let sizes: Vec<(u32, u32)> = all.iter().map(|b| (b.user, b.jobs)).collect();
        assert_eq!(sizes, [(1, 3), (2, 1), (1, 2)]);
        assert_eq!(all[0].orders_of_magnitude(), 3.0);
        assert_eq!(all[2].orders_of_magnitude(), 0.0);
        assert_eq!(all[2].cv(), Some(0.0));
        assert_eq!(all[1].cv(), None);
        let of = BatchStatistics::of(&jobs, BATCH_WINDOW);
        assert_eq!((of.count, of.jobs, of.jobs_without_user), (2, 5, 1));
        assert_eq!(of.jobs_share, Some(5.0 / 7.0));
        let (inside, total) = (10.0 + 2_000.0 + 14.0, 10.0 + 10.0 + 2_000.0 + 21.0);
        assert!((of.processor_time_share.unwrap() - inside / total).abs() < 1e-12);
        assert_eq!(of.size.max, Some(3.0));
    }

    #[test]
    fn classes_hold_every_batch_once() {
        let mut jobs = Vec::new();
        for size in 1..=600u32 {
            let at = u64::from(size) * 1_000;
            jobs.extend((0..size).map(|i| (at, Some(size), 1 + u64::from(i), 1)));
        }
        let of = BatchStatistics::of(&columns(&jobs), BATCH_WINDOW);
        assert_eq!(of.count, 599);
        assert_eq!(of.by_size.iter().map(|c| c.count).sum::<u64>(), 599);
        let last = of.by_size.last().unwrap();
        assert_eq!((last.from, last.to, last.count), (500, None, 101));
        assert!((last.orders_of_magnitude_max - 600f64.log10()).abs() < 1e-12);
        let first = &of.by_size[0];
        assert_eq!((first.from, first.to, first.count), (2, Some(2), 1));
        // Runs of 1 s and 2 s: sd sqrt(1/2), mean 3/2.
        assert!((first.cv_mean.unwrap() - 0.5f64.sqrt() / 1.5).abs() < 1e-12);
    }

    #[test]
    fn no_job_makes_no_statistic() {
        let of = BatchStatistics::of(&Columns::default(), BATCH_WINDOW);
        assert_eq!((of.jobs_share, of.processor_time_share), (None, None));
        assert!(of.by_size.is_empty());
    }
}
