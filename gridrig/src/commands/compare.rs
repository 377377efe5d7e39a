//! `gridrig compare`

use super::{print, print_json};
use crate::cli::{CompareArgs, ComparisonArgs};
use crate::exit::Failure;
use anyhow::anyhow;
use gridrig_results::compare::{self, Options, ThresholdDoc};
use gridrig_results::threshold::{Figure, Threshold};

/// Compares finished runs and says which policy is better, if any is.
pub(super) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let options = options(&args.comparison, args.users, args.anyway)?;
    let comparison = compare::compare(&args.comparison.runs, &options).map_err(Failure::input)?;
    for run in &comparison.skipped {
        eprintln!("left out: {run}");
    }
    if args.json {
        print_json(&comparison)?;
    } else {
        let report = compare::report(&comparison);
        print(&match args.markdown {
            true => report.markdown(),
            false => report.text(),
        })?;
    }
    thresholds(&comparison.thresholds)
}

/// What runs are compared by.
pub(super) fn options(
    args: &ComparisonArgs,
    users: usize,
    anyway: bool,
) -> Result<Options, Failure> {
    let primary = args.primary.iter().map(|text| {
        Figure::parse(text).map_err(|why| Failure::input(anyhow!("--primary \"{text}\": {why}")))
    });
    let require = args.require.iter().map(|text| {
        Threshold::parse(text).map_err(|why| {
            Failure::input(anyhow!(
                "--require \"{text}\": expected a threshold such as \"delay_s.p95 < 60\" ({why})"
            ))
        })
    });
    Ok(Options {
        baseline: args.baseline.clone(),
        primary: primary.collect::<Result<_, _>>()?,
        require: require.collect::<Result<_, _>>()?,
        users,
        seed: args.seed,
        skip_damaged: args.skip_damaged,
        anyway,
    })
}

/// Says which thresholds were missed, and fails if any was.
pub(super) fn thresholds(all: &[ThresholdDoc]) -> Result<(), Failure> {
    let mut missed = all.iter().filter(|t| !t.held).peekable();
    if missed.peek().is_none() {
        return Ok(());
    }
    for threshold in missed {
        eprintln!(
            "require {}: missed by {} in {} of {} runs",
            threshold.require, threshold.policy, threshold.missed, threshold.runs
        );
    }
    Err(Failure::Threshold)
}
