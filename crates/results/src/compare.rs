//! Finished runs against each other: which policy is better, by how much, and
//! how sure that is (`docs/compare.md`).
//!
//! The unit of replication is the run, never the job. Runs are paired by their
//! workload and what varies between replications; every figure of a run is
//! over the jobs that completed under every policy of its replication. Tables,
//! Markdown, JSON and pages are all made from one [`Comparison`].

mod age;
mod answer;
mod breakdown;
mod classes;
pub(crate) mod common;
mod document;
mod error;
mod estimate;
mod federation;
pub(crate) mod figures;
pub(crate) mod find;
mod group;
mod guard;
mod layout;
pub(crate) mod parallel;
mod present;
mod starvation;
mod text;
mod verdict;

pub use answer::{Domain, Federation, Outcome, Verdict, Versus};
pub use common::{OnCommonJobs, on_common_jobs};
pub use document::{
    Breakdown, Cell, ClusterShare, Comparison, Estimate, Forwarded, Group, Guard, InformationAge,
    Load, Measured, Method, Objection, Pairs, Policy, Role, RunDoc, RunMetric, Starved,
    ThresholdDoc, Unfinished,
};
pub use error::CompareError;
pub(crate) use guard::settings_in_words;
pub(crate) use present::further;
pub use present::{Report, Table, report};

pub use find::{find_runs, said};
pub use guard::{Difference, differing};

use crate::threshold::{Figure, Threshold};
use error::Result;
use std::path::PathBuf;

/// What to compare, and by what.
#[derive(Clone, Debug)]
pub struct Options {
    /// The policy that all others are held against, by its name in the
    /// comparison; `None` is round-robin if it is there, else the first found.
    pub baseline: Option<String>,
    /// What policies are judged by; empty is what the runs declare.
    pub primary: Vec<Figure>,
    /// Bounds besides those that the runs declare.
    pub require: Vec<Threshold>,
    /// The smallest differences that matter, before what the runs declare.
    pub relevant: Vec<(Figure, f64)>,
    /// How many users are shown, by processor time.
    pub users: usize,
    /// Whether damaged runs are left out, and named, instead of refused.
    pub skip_damaged: bool,
    /// Whether runs that are not comparable are shown all the same.
    pub anyway: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            baseline: None,
            primary: Vec::new(),
            require: Vec::new(),
            relevant: Vec::new(),
            users: 5,
            skip_damaged: false,
            anyway: false,
        }
    }
}

/// Compares all complete runs at or below these directories.
///
/// # Errors
/// All are mistakes of input: a directory without runs, a run that is foreign,
/// damaged or half written, fewer than two policies, no replication that all
/// of them have, an unknown baseline, runs that are not comparable.
pub fn compare(paths: &[PathBuf], options: &Options) -> Result<Comparison> {
    document(paths, options, false, None)
}

/// As [`compare`], and with it by policy the delays of all replications
/// together, in no order: of the measured jobs that completed in every run of
/// their replication, bounds too.
///
/// # Errors
/// As [`compare`].
pub(crate) fn compare_with_delays(
    paths: &[PathBuf],
    options: &Options,
) -> Result<(Comparison, Vec<Vec<f64>>)> {
    let mut delays = Vec::new();
    let document = document(paths, options, false, Some(&mut delays))?;
    Ok((document, delays))
}

/// The same document of runs of a single policy, which is its own baseline:
/// groups of jobs, starvation, load and decisions, and no differences.
///
/// # Errors
/// As [`compare`], but for having one policy.
pub fn alone(paths: &[PathBuf], options: &Options) -> Result<Comparison> {
    document(paths, options, true, None)
}

fn document(
    paths: &[PathBuf],
    options: &Options,
    alone: bool,
    delays: Option<&mut figures::Delays>,
) -> Result<Comparison> {
    let found = find::find(paths, options.skip_damaged)?;
    let study = group::Study::of(&found.runs, options, alone)?;
    let guard = guard::guard(&study);
    if !guard.objections.is_empty() && !options.anyway {
        return Err(CompareError::NotComparable(guard.objections));
    }
    if study.keys.is_empty() {
        let objections = guard.objections.iter().map(|it| &it.message);
        let why: Vec<&str> = match guard.objections.is_empty() {
            true => study.unpaired.iter().take(6).map(String::as_str).collect(),
            false => objections.map(String::as_str).collect(),
        };
        return Err(CompareError::NoPair(why.join("; ")));
    }
    let primary = study.primary(options)?;
    let replications = figures::measure(&study, primary[0], delays)?;
    let tables = estimate::Tables {
        study: &study,
        primary: &primary,
        replications: &replications,
    };
    Ok(tables.document(options, guard, found.skipped))
}
