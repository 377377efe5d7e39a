//! `gridrig compare`

use super::{print, print_json};
use crate::cli::CompareArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use gridrig_results::compare::{self, Comparison, Options};
use gridrig_results::threshold::{Figure, Threshold};

/// Compares finished runs and says which policy is better, if any is.
pub(super) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let options = options(args)?;
    let comparison = compare::compare(&args.runs, &options).map_err(Failure::input)?;
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
    thresholds(&comparison)
}

/// The figures that `--primary` names.
pub(super) fn primary(texts: &[String]) -> Result<Vec<Figure>, Failure> {
    let parse = |text: &String| {
        Figure::parse(text).map_err(|why| Failure::input(anyhow!("--primary \"{text}\": {why}")))
    };
    texts.iter().map(parse).collect()
}

/// The thresholds that `--require` sets.
pub(super) fn require(texts: &[String]) -> Result<Vec<Threshold>, Failure> {
    let parse = |text: &String| {
        Threshold::parse(text).map_err(|why| {
            Failure::input(anyhow!(
                "--require \"{text}\": expected a threshold such as \"delay_s.p95 < 60\" ({why})"
            ))
        })
    };
    texts.iter().map(parse).collect()
}

fn options(args: &CompareArgs) -> Result<Options, Failure> {
    Ok(Options {
        baseline: args.baseline.clone(),
        primary: primary(&args.primary)?,
        require: require(&args.require)?,
        users: args.users,
        seed: args.seed,
        skip_damaged: args.skip_damaged,
        anyway: args.anyway,
    })
}

fn thresholds(comparison: &Comparison) -> Result<(), Failure> {
    let mut missed = comparison.thresholds.iter().filter(|t| !t.held).peekable();
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
