//! Whether a reduced trace is like its original (LSAP 3.2 and its Figures 3 and 4):
//! within margins, or at least as random samples are.
//!
//! [`validate`] measures some thirty statistics of the reduced trace against
//! the part of the original it was made from, and the same of a few hundred random
//! samples of that part; it runs both, and samples, on clusters, and tells how far
//! their delays are apart. `docs/validate.md` has every statistic with its formula.

mod arrivals;
mod behaviour;
mod curves;
mod demand;
mod encode;
mod envelope;
mod identity;
mod job;
mod measure;
mod outcome;
mod profiles;
mod require;
mod sampling;
mod sheet;
mod statistics;
mod stretches;
mod told;

pub(crate) use behaviour::apart;
pub use behaviour::{Behaviour, Delays, Site};
pub use curves::{Curve, Curves};
pub use demand::Demand;
pub use identity::Identity;
pub use job::Selection;
pub use outcome::{Agreement, Clusters, MatchedCluster, RequirementReport, Standing, Validation};
pub use profiles::{Partition, k_means};
pub use require::{Requirement, RequirementError};
pub use sampling::Design;
pub use sheet::sheet;
pub use statistics::{Group, STATISTICS, Side, Statistic, StatisticReport};
pub use stretches::Stretch;

use crate::linkage::LinkageError;
use crate::load::TraceJob;
use std::collections::BTreeSet;

/// What is to be compared, and how strictly.
#[derive(Clone, Debug)]
pub struct Options {
    /// The part of the original that the reduced trace was made from, and how
    /// its times were scaled.
    pub selection: Selection,
    /// Random samples of each design; at least [`MIN_SAMPLES`].
    pub samples: u32,
    /// Seed of the samples.
    pub seed: u64,
    /// Only statistics of these groups are judged; `None` is all of them.
    pub groups: Option<BTreeSet<Group>>,
    /// For a trace that was generated from a model instead of reduced: both
    /// traces are sampled down to this share of their jobs, so that the
    /// question is whether it differs from the original by more than two
    /// such samples of the original do.
    pub thin: Option<f64>,
    /// Bounds that the user sets on top.
    pub requirements: Vec<Requirement>,
    /// Whether somebody says how the trace was reduced, so that its load may differ.
    pub declared: bool,
    /// Where delays are compared; `None` is one cluster as wide as the widest job.
    pub site: Option<Site>,
}

/// Fewer samples have no 99 % envelope: of 200 and the reduction itself, two
/// are the most extreme 1 %.
pub const MIN_SAMPLES: u32 = 200;

/// The share of random samples that may lie outside the common envelope.
pub const LEVEL: f64 = 0.01;

/// Clusters of arrivals are counted up to this many (LSAP 3.2: the elbow is looked
/// for among 1 to 30).
const MOST_CLUSTERS: usize = 30;

impl Default for Options {
    fn default() -> Self {
        Options {
            selection: Selection::default(),
            samples: MIN_SAMPLES,
            seed: 1,
            groups: None,
            thin: None,
            requirements: Vec::new(),
            declared: true,
            site: None,
        }
    }
}

/// Why two traces cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// The reduced trace is empty.
    #[error("reduced jobs = 0: expected at least one")]
    NoReduced,
    /// Nothing of the original is left to compare with.
    #[error(
        "original jobs = 0 after the width limit and the window ({0} left out): expected the \
         window that the reduced trace was cut from"
    )]
    NoOriginal(u64),
    /// A reduced trace has no more jobs than its original.
    #[error(
        "reduced jobs = {0}: expected at most the {1} jobs of the original's window; \
         a generated trace is compared by thinning both"
    )]
    TooMany(usize, usize),
    /// Too few samples for the envelope.
    #[error("samples = {0}: expected {MIN_SAMPLES} to 100000")]
    Samples(u32),
    /// A share that keeps nothing or everything.
    #[error("thin = \"{0}\": expected a share above 0 and below 1")]
    Thin(f64),
    /// A requirement on what is not measured.
    #[error("requirement \"{0}\": expected a statistic that both traces have; there are {1}")]
    UnknownStatistic(String, String),
    /// Submit times that cannot be clustered.
    #[error("submit times cannot be clustered")]
    Linkage(#[from] LinkageError),
}

/// Compares a reduced trace with its original. `original` is the whole trace;
/// [`Options::selection`] says which part of it the reduced one stands for.
/// Both may be in any order. The same input and seed give the same answer.
///
/// # Errors
/// Any [`ValidateError`].
pub fn validate(
    original: &[TraceJob],
    reduced: &[TraceJob],
    options: &Options,
) -> Result<Validation, ValidateError> {
    if !(MIN_SAMPLES..=100_000).contains(&options.samples) {
        return Err(ValidateError::Samples(options.samples));
    }
    if let Some(share) = options.thin.filter(|share| !(*share > 0.0 && *share < 1.0)) {
        return Err(ValidateError::Thin(share));
    }
    if reduced.is_empty() {
        return Err(ValidateError::NoReduced);
    }
    let mut pair = job::Pair::new(original, reduced, &options.selection)?;
    if let Some(share) = options.thin {
        pair.thin(share, options.seed);
    }
    if pair.reduced.len() > pair.reference.len() {
        return Err(ValidateError::TooMany(
            pair.reduced.len(),
            pair.reference.len(),
        ));
    }
    outcome::judge(&pair, options)
}
