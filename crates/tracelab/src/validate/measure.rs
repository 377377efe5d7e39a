//! The statistics of one sample, the reduced trace among them.

use super::arrivals::{Arrivals, UNIT_NS};
use super::encode::{
    ASSOCIATIONS, CLASS, EXECUTABLE, Encoded, HOUR, LABELS, PROCESSORS, PROFILE, QUEUE, RUN_TIME,
    Row, SUBMIT, USER,
};
use super::statistics::Values;
use super::stretches::{STRETCHES, Stretch};
use crate::characterize::bins::{cumulate, quarter_octave};
use crate::linkage::Result;
use gridrig_core::time::NANOS_PER_SEC;

/// Jobs of one user within this time of the first belong to its batch (DMM
/// 5.2.2).
const BATCH_NS: u64 = 120 * NANOS_PER_SEC;

/// Bins of inter-arrival times: 0, then four to an octave of milliseconds.
pub(super) const GAP_BINS: usize = 1 + 4 * 40;

/// What one sample is like.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub values: Values,
    /// Cumulative share of inter-arrival times at each bin.
    pub gaps: Vec<f64>,
    pub arrivals: Arrivals,
    pub stretch: Option<Stretch>,
}

/// The reference with everything that a sample is compared with.
#[derive(Debug)]
pub(super) struct Ruler<'a> {
    pub encoded: &'a Encoded,
    pub arrivals: Arrivals,
    /// Cluster of each job of the reference.
    cluster: Vec<u32>,
    most: usize,
}

impl<'a> Ruler<'a> {
    pub(super) fn new(encoded: &'a Encoded, most: usize) -> Result<Self> {
        let times: Vec<u64> = encoded
            .reference
            .iter()
            .map(|r| r.submit_ns / UNIT_NS)
            .collect();
        let arrivals = Arrivals::of(&times, most, None)?;
        let cluster = times
            .iter()
            .map(|t| arrivals.cut.label(*t) as u32)
            .collect();
        Ok(Ruler {
            encoded,
            arrivals,
            cluster,
            most,
        })
    }

    /// Measures the jobs of `rows` at the places `kept`, in order of their
    /// submit times.
    pub(super) fn measure(&self, rows: &[Row], kept: &[u32]) -> Result<Measured> {
        let jobs: Vec<&Row> = kept.iter().map(|at| &rows[*at as usize]).collect();
        let mut values = Values::new();
        self.quantities(&jobs, &mut values);
        self.labels(&jobs, &mut values);
        self.over_time(&jobs, &mut values);
        associations(&jobs, &mut values);
        order(&jobs, &mut values);
        let gaps = gaps(&jobs, &mut values);
        batches(&jobs, self.encoded.shares[USER].len(), &mut values);
        if !values.contains_key("users.tv") {
            for name in ["users.repeat", "users.time", "batches.share"] {
                values.remove(name);
            }
        }
        let times: Vec<u64> = jobs.iter().map(|row| row.submit_ns / UNIT_NS).collect();
        let arrivals = Arrivals::of(&times, self.most, Some(self.arrivals.elbow))?;
        let shared = jobs.iter().zip(&times);
        let labels = shared.filter_map(|(row, time)| {
            let original = self.cluster[row.origin? as usize] as usize;
            Some((original, arrivals.cut.label(*time)))
        });
        values.extend(arrivals.compare(&self.arrivals, &labels.unzip()));
        let stretch = self.encoded.worst_stretch(&jobs);
        values.extend(stretch.map(|stretch| (STRETCHES, stretch.score)));
        Ok(Measured {
            values,
            gaps,
            arrivals,
            stretch,
        })
    }

    fn quantities(&self, jobs: &[&Row], values: &mut Values) {
        let count = jobs.len() as f64;
        for (quantity, name) in [(PROCESSORS, "processors.ks"), (RUN_TIME, "run_time.ks")] {
            let cdf = &self.encoded.cdf[quantity];
            let mut counts = vec![0u32; cdf.len()];
            for row in jobs {
                counts[row.slots[quantity] as usize] += 1;
            }
            let (mut sum, mut apart) = (0u64, 0.0_f64);
            for (at, share) in counts.iter().zip(cdf) {
                sum += u64::from(*at);
                apart = apart.max((sum as f64 / count - share).abs());
            }
            values.insert(name, apart);
        }
        let serial = jobs.iter().filter(|row| row.serial).count();
        values.insert("serial.share", serial as f64 / count);
        if self.encoded.mean_demand > 0.0 {
            let mean = jobs.iter().map(|row| row.demand).sum::<f64>() / count;
            values.insert("demand.ratio", mean / self.encoded.mean_demand);
        }
    }

    /// Total variation, and the label furthest from its expected number on the
    /// scale where a count has the same spread whatever it is: twice the
    /// difference of the square roots (Freeman and Tukey 1950).
    fn labels(&self, jobs: &[&Row], values: &mut Values) {
        const NAMES: [(usize, &str, Option<&str>); LABELS] = [
            (USER, "users.tv", Some("users.worst")),
            (QUEUE, "queues.tv", Some("queues.worst")),
            (EXECUTABLE, "executables.tv", Some("executables.worst")),
            (CLASS, "classes.tv", Some("classes.worst")),
            (PROFILE, "profiles.tv", None),
            (HOUR, "hours.tv", Some("hours.worst")),
        ];
        let count = jobs.len() as f64;
        for (label, distance, worst) in NAMES {
            let shares = &self.encoded.shares[label];
            // A label that every job has the same of, -1 perhaps, says nothing.
            if shares.iter().filter(|share| **share > 0.0).count() < 2 {
                continue;
            }
            let mut counts = vec![0u32; shares.len()];
            for row in jobs {
                counts[row.labels[label] as usize] += 1;
            }
            let pairs = || counts.iter().map(|n| f64::from(*n)).zip(shares);
            let apart: f64 = pairs().map(|(n, share)| (n / count - share).abs()).sum();
            values.insert(distance, apart / 2.0);
            if let Some(worst) = worst {
                let far = pairs().map(|(n, p)| 2.0 * (n.sqrt() - (count * p).sqrt()).abs());
                values.insert(worst, far.fold(0.0, f64::max));
            }
        }
        let total: f64 = jobs.iter().map(|row| row.demand).sum();
        if total > 0.0 && values.contains_key("users.tv") {
            let mut demand = vec![0.0; self.encoded.user_demand.len()];
            for row in jobs {
                demand[row.labels[USER] as usize] += row.demand / total;
            }
            let pairs = demand.iter().zip(&self.encoded.user_demand);
            let apart: f64 = pairs.map(|(a, b)| (a - b).abs()).sum();
            values.insert("users.demand_tv", apart / 2.0);
        }
    }

    /// Kolmogorov-Smirnov distances over the submit time: of jobs, and of
    /// their demand. Both curves are steps, so the greatest distance is at a
    /// job of the sample, on one of its sides.
    fn over_time(&self, jobs: &[&Row], values: &mut Values) {
        let total: f64 = jobs.iter().map(|row| row.demand).sum();
        let encoded = self.encoded;
        let cdfs = [&encoded.cdf[SUBMIT], &encoded.demand_cdf];
        let (mut sums, mut apart) = ([0.0; 2], [0.0_f64; 2]);
        for together in jobs.chunk_by(|a, b| a.slots[SUBMIT] == b.slots[SUBMIT]) {
            let slot = together[0].slots[SUBMIT] as usize;
            let demand: f64 = together.iter().map(|row| row.demand).sum();
            let by = [
                together.len() as f64 / jobs.len() as f64,
                if total > 0.0 { demand / total } else { 0.0 },
            ];
            for at in 0..2 {
                let before = slot.checked_sub(1).map_or(0.0, |slot| cdfs[at][slot]);
                apart[at] = apart[at].max((sums[at] - before).abs());
                sums[at] += by[at];
                apart[at] = apart[at].max((sums[at] - cdfs[at][slot]).abs());
            }
        }
        values.insert("arrivals.ks", apart[0]);
        if total > 0.0 && encoded.mean_demand > 0.0 {
            values.insert("demand.ks", apart[1]);
        }
    }
}

/// Mean pointwise information between a label and the time.
fn associations(jobs: &[&Row], values: &mut Values) {
    const NAMES: [&str; ASSOCIATIONS] = ["processors.time", "run_time.time", "users.time"];
    for (at, name) in NAMES.into_iter().enumerate() {
        let sum: f64 = jobs.iter().map(|row| row.information[at]).sum();
        values.insert(name, sum / jobs.len() as f64);
    }
}

/// What follows what.
fn order(jobs: &[&Row], values: &mut Values) {
    for (at, name) in ["processors.lag1", "run_time.lag1"].into_iter().enumerate() {
        let mean = jobs.iter().map(|row| row.ranks[at]).sum::<f64>() / jobs.len() as f64;
        let squares: f64 = jobs.iter().map(|row| (row.ranks[at] - mean).powi(2)).sum();
        let product = |w: &[&Row]| (w[0].ranks[at] - mean) * (w[1].ranks[at] - mean);
        let products: f64 = jobs.windows(2).map(product).sum();
        // Sizes that are all one have no order; the rest is rounding.
        if squares > 1e-9 {
            values.insert(name, products / squares);
        }
    }
    let pairs = jobs.len().saturating_sub(1);
    if pairs > 0 {
        let same = |w: &&[&Row]| w[0].labels[USER] == w[1].labels[USER];
        let repeats = jobs.windows(2).filter(same).count();
        values.insert("users.repeat", repeats as f64 / pairs as f64);
    }
}

/// Inter-arrival times: their variation, and their CDF.
fn gaps(jobs: &[&Row], values: &mut Values) -> Vec<f64> {
    let mut bins = vec![0.0; GAP_BINS];
    let gap = |w: &[&Row]| w[1].submit_ns - w[0].submit_ns;
    let count = jobs.len().saturating_sub(1) as f64;
    if count < 1.0 {
        return bins;
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    for gap in jobs.windows(2).map(gap) {
        let seconds = gap as f64 / NANOS_PER_SEC as f64;
        sum += seconds;
        squares += seconds * seconds;
        bins[gap_bin(gap)] += 1.0 / count;
    }
    cumulate(&mut bins);
    let mean = sum / count;
    if mean > 0.0 {
        let variance = (squares / count - mean * mean).max(0.0);
        values.insert("interarrival.cv", variance.sqrt() / mean);
    }
    bins
}

/// The bin of an inter-arrival time.
fn gap_bin(gap: u64) -> usize {
    quarter_octave(gap / 1_000_000).min(GAP_BINS - 1)
}

/// The share of jobs in batches of at least two: jobs of one user within
/// 120 s of the batch's first.
fn batches(jobs: &[&Row], users: usize, values: &mut Values) {
    let mut open: Vec<(u64, u32)> = vec![(0, 0); users];
    let mut batched = 0u64;
    for row in jobs {
        let (first, size) = &mut open[row.labels[USER] as usize];
        if *size > 0 && row.submit_ns - *first <= BATCH_NS {
            *size += 1;
            batched += if *size == 2 { 2 } else { 1 };
        } else {
            (*first, *size) = (row.submit_ns, 1);
        }
    }
    values.insert("batches.share", batched as f64 / jobs.len() as f64);
}
