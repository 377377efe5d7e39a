//! How many repeats a scenario needs, by what a pilot's runs show.

use crate::scenario::Scenario;
use anyhow::{Context as _, ensure};
use gridrig_results::compare::{self, Options};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// Repeats that it takes, for a chance of 0.8 each, to find policies equivalent that do
/// not differ, and one better than another from which it differs by twice what matters
/// (`docs/compare.md`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Repeats {
    /// The first primary figure.
    pub figure: String,
    /// The smallest difference of it that matters.
    pub relevant: f64,
    /// For the two policies that need most.
    pub needed: u64,
    /// These two.
    pub policies: [String; 2],
    /// Repeats that the scenario asks for.
    pub planned: u64,
    /// Repeats of the pilot.
    pub pilot: u64,
}

impl Repeats {
    /// What the runs at or below these directories say.
    ///
    /// # Errors
    /// Runs that cannot be compared, fewer than two repeats, or a figure of which no
    /// difference is too small to matter.
    pub fn of(scenario: &Scenario, pilot: &[PathBuf]) -> anyhow::Result<Self> {
        let options = Options {
            primary: scenario.primary.clone(),
            relevant: scenario.relevant.iter().map(|(a, b)| (*a, *b)).collect(),
            ..Options::default()
        };
        let verdict = compare::compare(pilot, &options).context("pilot")?.verdict;
        let (figure, relevant) = (verdict.figure, verdict.relevant);
        ensure!(
            verdict.n > 1,
            "pilot: {} repeat of each policy (expected at least two, see run.replicate)",
            verdict.n
        );
        let needed = verdict.pairs.into_iter().filter_map(|pair| {
            let policies = [pair.policy, pair.against];
            Some((pair.pairs_needed?, policies))
        });
        let (needed, policies) = needed.max_by_key(|(needed, _)| *needed).with_context(|| {
            format!("run.relevant: no smallest relevant difference of {figure} (expected a number above 0)")
        })?;
        Ok(Repeats {
            figure,
            relevant,
            needed,
            policies,
            planned: scenario.replicate.map_or(1, |it| u64::from(it.count)),
            pilot: verdict.n,
        })
    }
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = &self.policies;
        write!(
            f,
            "{} needed to tell a difference of {} in {} ({one} against {other}), by {} of the \
             pilot; {} planned",
            self.needed, self.relevant, self.figure, self.pilot, self.planned
        )
    }
}
