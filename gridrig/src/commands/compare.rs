//! `gridrig compare`

use super::{print, print_json, say_each};
use crate::cli::{CompareArgs, ComparisonArgs};
use crate::exit::Failure;
use crate::versioned::Versioned;
use gridrig_results::compare::{self, Options, ThresholdDoc};

/// Compares finished runs and says which policy is better, if any is.
pub(super) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let options = options(&args.comparison, args.users, args.anyway);
    let comparison = compare::compare(&args.comparison.runs, &options).map_err(Failure::input)?;
    say_each("left out", &comparison.skipped);
    match (args.json, args.markdown) {
        (true, _) => print_json(&Versioned::from(&comparison))?,
        (false, true) => print(&compare::report(&comparison).markdown())?,
        (false, false) => print(&compare::report(&comparison).text())?,
    }
    thresholds(&comparison.thresholds)
}

/// What runs are compared by.
pub(super) fn options(args: &ComparisonArgs, users: usize, anyway: bool) -> Options {
    Options {
        baseline: args.baseline.clone(),
        primary: args.primary.clone(),
        require: args.require.clone(),
        users,
        relevant: args.relevant.clone(),
        skip_damaged: args.skip_damaged,
        anyway,
    }
}

/// Says which thresholds were missed, and fails if any was.
pub(super) fn thresholds(all: &[ThresholdDoc]) -> Result<(), Failure> {
    let missed: Vec<_> = all.iter().filter(|t| !t.held).collect();
    for threshold in &missed {
        eprintln!(
            "require {}: missed by {} in {} of {} runs",
            threshold.require, threshold.policy, threshold.missed, threshold.runs
        );
    }
    if missed.is_empty() {
        return Ok(());
    }
    Err(Failure::Threshold)
}
