//! The model of Lublin and Feitelson (*The workload on parallel
//! supercomputers: modeling the characteristics of rigid jobs*, JPDC 63(11),
//! 2003), complete: sizes, run times that depend on them, arrivals with a daily
//! cycle, batch and interactive jobs.
//!
//! Numbers differ from the authors' C program, which this is not a copy of, in
//! two ways on purpose. Its clock adds up whole seconds and so falls half a
//! second behind its daily cycle with every job (14 hours in 100,000 jobs);
//! ours does not. And no size exceeds the machine where its processors are no
//! power of two.

mod generate;
mod load;
mod presets;

pub use generate::LublinJobs;
pub use load::Calibration;
pub use presets::Preset;

use super::error::{Result, SynthError, within};
use super::extent::Extent;
use super::gamma;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Run times are redrawn above e^12 s, gaps between arrivals above e^13.
const MAX_LN_RUN_TIME: f64 = 12.0;
const MAX_LN_GAP: f64 = 13.0;

/// Half hours of a day.
const BUCKETS: usize = 48;
const BUCKET_SECONDS: f64 = 1_800.0;

/// A workload of one or more classes of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lublin {
    /// Always [`SCHEMA`](super::extent::SCHEMA).
    pub schema: String,
    /// Always `lublin`.
    pub kind: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// How much is made.
    pub extent: Extent,
    /// Processors of the machine.
    pub processors: u32,
    /// Hour of the day at which the trace begins.
    pub start_hour: u32,
    /// Classes by name; their streams are merged by arrival.
    pub classes: BTreeMap<String, JobClass>,
}

/// One class of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobClass {
    /// SWF queue of its jobs; 0 is interactive by convention.
    pub queue: u32,
    /// How many processors.
    pub size: SizeLaw,
    /// How long.
    pub run_time: RunTimeLaw,
    /// When.
    pub arrival: ArrivalLaw,
}

/// Sizes: serial, or two to the power of a two-stage uniform variable, rounded
/// to a power of two for one more class (section 4.1 of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeLaw {
    /// Probability of a serial job.
    pub serial: f64,
    /// Probability of a parallel job whose size is a power of two.
    pub power2: f64,
    /// Log2 of the smallest parallel size (0.2 more or less gives it less or
    /// more weight).
    pub low: f64,
    /// Log2 of the size where the second stage begins.
    pub med: f64,
    /// Log2 of the largest size.
    pub high: f64,
    /// Probability of the first stage, from low to med.
    pub prob: f64,
}

/// Run times: e to the power of a hyper-gamma variable whose first stage has
/// probability `pa * size + pb` (section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunTimeLaw {
    /// Shape of the first stage.
    pub a1: f64,
    /// Scale of the first stage.
    pub b1: f64,
    /// Shape of the second stage.
    pub a2: f64,
    /// Scale of the second stage.
    pub b2: f64,
    /// Slope of the probability of the first stage.
    pub pa: f64,
    /// Intercept of the probability of the first stage.
    pub pb: f64,
}

/// Arrivals: gaps of e to the power of a gamma variable, stretched and
/// squeezed over the day by the weights of 48 half hours (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalLaw {
    /// Shape of the logarithm of a gap in the peak hours.
    pub aarr: f64,
    /// Its scale.
    pub barr: f64,
    /// Factor on `aarr` from peak hours to all hours.
    pub arar: f64,
    /// Shape of the daily cycle.
    pub anum: f64,
    /// Its scale.
    pub bnum: f64,
}

impl Lublin {
    /// Refuses parameters that make no workload.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] with the first of them.
    pub fn check(&self) -> Result<()> {
        self.extent.check()?;
        within("processors", f64::from(self.processors), 1.0..=1e7)?;
        within("start_hour", f64::from(self.start_hour), 0.0..=23.0)?;
        if self.classes.is_empty() || self.classes.len() > 16 {
            let count = self.classes.len();
            return Err(SynthError::parameter("classes", count, "1 to 16 classes"));
        }
        for (name, class) in &self.classes {
            class.check(name)?;
        }
        Ok(())
    }
}

impl JobClass {
    fn check(&self, name: &str) -> Result<()> {
        let at = |field: &str| format!("classes.{name}.{field}");
        let size = &self.size;
        within(&at("size.serial"), size.serial, 0.0..=1.0)?;
        within(&at("size.power2"), size.power2, 0.0..=1.0 - size.serial)?;
        within(&at("size.high"), size.high, 0.0..=24.0)?;
        within(&at("size.med"), size.med, 0.0..=size.high)?;
        within(&at("size.low"), size.low, 0.0..=size.med)?;
        within(&at("size.prob"), size.prob, 0.0..=1.0)?;
        let run = &self.run_time;
        within(&at("run_time.pa"), run.pa, -1.0..=1.0)?;
        within(&at("run_time.pb"), run.pb, -10.0..=10.0)?;
        let stages = [("1", run.a1, run.b1), ("2", run.a2, run.b2)];
        for (stage, shape, scale) in stages {
            let fields = ["a", "b"].map(|law| at(&format!("run_time.{law}{stage}")));
            check_gamma(fields, shape, scale, MAX_LN_RUN_TIME)?;
        }
        let law = &self.arrival;
        within(&at("arrival.arar"), law.arar, 0.01..=100.0)?;
        let fields = [at("arrival.aarr"), at("arrival.barr")];
        check_gamma(fields, law.shape(), law.barr, MAX_LN_GAP)?;
        let fields = [at("arrival.anum"), at("arrival.bnum")];
        check_gamma(fields, law.anum, law.bnum, BUCKETS as f64)
    }
}

impl ArrivalLaw {
    /// Shape of the logarithm of a gap over all hours.
    fn shape(&self) -> f64 {
        self.aarr * self.arar
    }

    /// Weights of the half hours from midnight, 1 on average.
    ///
    /// The half hour i is the share of the gamma distribution around i, counted
    /// from the eleventh on: the cycle begins at 5:00, where it is lowest.
    fn weights(&self) -> [f64; BUCKETS] {
        const CYCLE_START: usize = 11;
        let mut weights = [0.0; BUCKETS];
        let cdf = |x: f64| gamma::cdf(x, self.anum, self.bnum);
        for i in CYCLE_START..CYCLE_START + BUCKETS {
            let at = i as f64;
            weights[(i - 1) % BUCKETS] = cdf(at + 0.5) - cdf(at - 0.5);
        }
        let mean = weights.iter().sum::<f64>() / BUCKETS as f64;
        weights.map(|weight| weight / mean)
    }
}

/// Shape and scale above 0, and at least a thousandth of what is drawn below
/// the limit: above it is redrawn.
fn check_gamma(
    [shape_field, scale_field]: [String; 2],
    shape: f64,
    scale: f64,
    limit: f64,
) -> Result<()> {
    within(&shape_field, shape, 1e-3..=1e6)?;
    within(&scale_field, scale, 1e-6..=1e6)?;
    if gamma::cdf(limit, shape, scale) < 1e-3 {
        let expected = format!("shape and scale that give values below {limit}");
        return Err(SynthError::parameter(shape_field, shape, expected));
    }
    Ok(())
}
