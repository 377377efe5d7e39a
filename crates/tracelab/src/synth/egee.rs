//! A workload as the EGEE grid had it: many parallel jobs of 1 to 64
//! processors in batches, by day and by night (LA Grid 4.3.1 and its Figure 9;
//! `docs/synthesize.md` says where each parameter comes from).
//!
//! Sizes and run times are drawn first; then the length of the trace is what
//! makes their demand the offered load that is asked for, exactly.

use super::error::{Result, SynthError, within};
use super::extent::{Budget, Extent, SCHEMA};
use super::unit::{unit, weighted};
use crate::format::{Record, field};
use gridrig_core::rng;
use rand_distr::{Distribution as _, LogNormal};
use serde::{Deserialize, Serialize};

/// The model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Egee {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Always `egee`.
    pub kind: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// How many jobs; days cannot be given, they follow from the load.
    pub extent: Extent,
    /// Processors that are to be loaded, in processors of speed 1.0.
    pub processors: u32,
    /// Demand over what the processors can do in the length of the trace.
    pub load: f64,
    /// Sizes with their weights.
    pub sizes: Vec<Size>,
    /// Median of the log-normal run times in seconds, at speed 1.0.
    pub run_time_median_s: f64,
    /// Standard deviation of their natural logarithm.
    pub run_time_sigma: f64,
    /// No job runs longer (s).
    pub run_time_max_s: f64,
    /// Mean number of jobs that are submitted together; the numbers are
    /// geometric.
    pub batch_mean: f64,
    /// Seconds between two jobs of a batch.
    pub batch_gap_s: f64,
    /// Weights of the hours of the day, from midnight on.
    pub hours: [f64; 24],
}

/// A size and how often it comes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Processors.
    pub processors: u32,
    /// Its weight.
    pub weight: f64,
}

/// Jobs of the LPC-EGEE 2004 log by hour of submission, in thousands.
const HOURS: [f64; 24] = [
    8.9, 11.9, 12.4, 14.4, 12.4, 9.9, 10.1, 8.8, 8.7, 8.2, 8.1, 8.1, 7.9, 7.5, 7.3, 7.1, 6.5, 6.9,
    6.1, 6.6, 8.6, 7.9, 9.1, 10.8,
];

/// No workload has more jobs in memory at a time.
const MOST_JOBS: f64 = 5e7;

impl Egee {
    /// So many jobs that load so many processors of speed 1.0.
    pub fn new(jobs: u64, processors: u32, load: f64, seed: u64) -> Self {
        let sizes = [1, 2, 4, 8, 16, 32, 64].into_iter();
        let sizes = sizes.zip([40.0, 10.0, 12.0, 12.0, 12.0, 9.0, 5.0]);
        Egee {
            schema: SCHEMA.to_owned(),
            kind: "egee".to_owned(),
            seed,
            extent: Extent::jobs(jobs),
            processors,
            load,
            sizes: sizes
                .map(|(processors, weight)| Size { processors, weight })
                .collect(),
            run_time_median_s: 500.0,
            run_time_sigma: 2.0,
            run_time_max_s: 172_800.0,
            batch_mean: 3.0,
            batch_gap_s: 2.0,
            hours: HOURS,
        }
    }

    /// Refuses parameters that make no workload.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] with the first of them.
    pub fn check(&self) -> Result<()> {
        self.extent.check()?;
        if self.extent.days.is_some() || self.extent.jobs.is_none() {
            let expected = "jobs alone: the days follow from the load";
            return Err(SynthError::parameter("extent", "days", expected));
        }
        let jobs = self.extent.jobs.unwrap_or(0);
        within("extent.jobs", jobs as f64, 1.0..=MOST_JOBS)?;
        within("processors", f64::from(self.processors), 1.0..=1e7)?;
        within("load", self.load, 1e-3..=100.0)?;
        if self.sizes.is_empty() {
            return Err(SynthError::parameter("sizes", "[]", "at least one entry"));
        }
        for (at, size) in self.sizes.iter().enumerate() {
            let field = |name: &str| format!("sizes[{at}].{name}");
            let [own, most] = [size.processors, self.processors].map(f64::from);
            within(&field("processors"), own, 1.0..=most)?;
            within(&field("weight"), size.weight, 1e-9..=1e9)?;
        }
        within("run_time_median_s", self.run_time_median_s, 1.0..=1e8)?;
        within("run_time_sigma", self.run_time_sigma, 0.0..=10.0)?;
        within("run_time_max_s", self.run_time_max_s, 1.0..=1e9)?;
        within("batch_mean", self.batch_mean, 1.0..=1e6)?;
        within("batch_gap_s", self.batch_gap_s, 0.0..=1e6)?;
        for (hour, weight) in self.hours.iter().enumerate() {
            within(&format!("hours[{hour}]"), *weight, 1e-9..=1e9)?;
        }
        Ok(())
    }

    /// The jobs of this model, in order of submission.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] when it makes no workload.
    pub fn jobs(&self) -> Result<Vec<Record>> {
        self.check()?;
        let count = self.extent.jobs.unwrap_or(0);
        let lengths = LogNormal::new(self.run_time_median_s.ln(), self.run_time_sigma);
        let lengths = lengths.map_err(|error| {
            let sigma = self.run_time_sigma.to_string();
            SynthError::parameter("run_time_sigma", sigma, error.to_string())
        })?;
        let mut sizes = rng::stream(self.seed, "egee/sizes");
        let mut runs = rng::stream(self.seed, "egee/run-times");
        let mut drawn: Vec<(u32, u64)> = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let place = weighted(&mut sizes, self.sizes.iter().map(|size| size.weight));
            let size = place.map_or(1, |place| self.sizes[place].processors);
            let length = lengths.sample(&mut runs).min(self.run_time_max_s);
            drawn.push((size, (length as u64).max(1)));
        }
        let demand: f64 = drawn
            .iter()
            .map(|(size, run)| f64::from(*size) * *run as f64)
            .sum();
        let length = demand / (f64::from(self.processors) * self.load);
        let arrivals = self.arrivals(count, length);
        let mut budget = Budget::new(&self.extent);
        let jobs = arrivals.into_iter().zip(drawn);
        let records = jobs.map_while(|((submit, batch), (size, run))| {
            let job = Record::made(budget.take(submit)?, submit, run, u64::from(size));
            Some(job.with(field::USER, batch % USERS + 1))
        });
        Ok(records.collect())
    }

    /// Seconds of submission with the number of the batch, sorted.
    fn arrivals(&self, count: u64, length: f64) -> Vec<(u64, u64)> {
        let mut random = rng::stream(self.seed, "egee/arrivals");
        let clock = DayClock::new(&self.hours, length);
        let mut arrivals = Vec::with_capacity(count as usize);
        let more = 1.0 - 1.0 / self.batch_mean;
        let mut batch = 0;
        while (arrivals.len() as u64) < count {
            let mut at = clock.at(unit(&mut random));
            loop {
                // What would come after the end is part of the trace still.
                arrivals.push((at.min(length) as u64, batch));
                at += self.batch_gap_s;
                if arrivals.len() as u64 >= count || unit(&mut random) >= more {
                    break;
                }
            }
            batch += 1;
        }
        arrivals.sort_unstable();
        arrivals
    }
}

/// Users take turns with their batches.
const USERS: u64 = 97;

/// Turns shares of all jobs into seconds, by the weights of the hours.
struct DayClock {
    /// Weight up to the end of each hour of the trace.
    sums: Vec<f64>,
    length: f64,
}

impl DayClock {
    fn new(hours: &[f64; 24], length: f64) -> Self {
        let whole = (length / 3600.0).ceil().max(1.0) as usize;
        let mut sum = 0.0;
        let sums = (0..whole).map(|hour| {
            let part = ((length - hour as f64 * 3600.0) / 3600.0).clamp(0.0, 1.0);
            sum += hours[hour % 24] * part;
            sum
        });
        DayClock {
            sums: sums.collect(),
            length,
        }
    }

    fn at(&self, share: f64) -> f64 {
        let all = self.sums.last().copied().unwrap_or(0.0);
        let target = share * all;
        let hour = self.sums.partition_point(|sum| *sum <= target);
        let hour = hour.min(self.sums.len().saturating_sub(1));
        let before = hour.checked_sub(1).map_or(0.0, |last| self.sums[last]);
        let own = self.sums[hour] - before;
        let from = hour as f64 * 3600.0;
        let to = (from + 3600.0).min(self.length);
        let part = if own > 0.0 {
            (target - before) / own
        } else {
            0.0
        };
        from + part * (to - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demand_is_the_load_asked_for_over_the_length_of_the_trace() {
        let model = Egee::new(20_000, 5_000, 0.9, 7);
        let jobs = model.jobs().unwrap();
        assert_eq!(jobs.len(), 20_000);
        let seconds = |job: &Record, field| job.time(field).unwrap().as_secs_f64();
        let size = |job: &Record| job.count(field::ALLOCATED).unwrap();
        let demand: f64 = jobs
            .iter()
            .map(|job| seconds(job, field::RUN_TIME) * size(job) as f64)
            .sum();
        let last = seconds(&jobs[19_999], field::SUBMIT);
        assert!((demand / (5_000.0 * last) - 0.9).abs() < 0.01);
        assert!(jobs.is_sorted_by_key(|job| [field::SUBMIT, field::JOB].map(|at| job.count(at))));
        let sizes = jobs.iter().map(size);
        assert_eq!((sizes.clone().min(), sizes.max()), (Some(1), Some(64)));
    }

    #[test]
    fn the_hours_of_the_day_have_their_weights() {
        let mut model = Egee::new(50_000, 500, 0.5, 1);
        model.hours = [1.0; 24];
        model.hours[3] = 9.0;
        let jobs = model.jobs().unwrap();
        let hour = |job: &Record| job.count(field::SUBMIT).unwrap() / 3_600 % 24;
        let third = jobs.iter().filter(|job| hour(job) == 3).count() as f64;
        assert!((third / 50_000.0 - 9.0 / 32.0).abs() < 0.02, "{third}");
    }

    #[test]
    fn a_length_in_days_is_refused() {
        let mut model = Egee::new(10, 64, 0.9, 1);
        model.extent.days = Some(1.0);
        let error = model.check().unwrap_err().to_string();
        assert!(error.contains("jobs alone"), "{error}");
    }
}
