//! What decides: which policy is the best, and what federating comes to.

use crate::stats::{Interval, Judgement, Paired};
use serde::Serialize;

/// What the comparison found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// One policy is better than all others.
    Winner,
    /// Some policies are better than the rest, and not told apart.
    Several,
    /// All policies are equivalent.
    Equivalent,
    /// Which is better cannot be told.
    #[default]
    Open,
    /// Too few repeats to tell.
    TooFewRepeats,
    /// The repeats share jobs, so that chance cannot be told.
    Descriptive,
    /// The runs are not comparable.
    NotComparable,
}

/// The sentence and its numbers. They are about `policy`: the best one, held against the
/// best of those that it is better than; without intervals, the one with the best figure,
/// held against the next; where none is better than another, the one with the best figure,
/// held against the baseline of the comparison. That baseline is never `policy`: where it
/// is the best, the next one is held against it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The sentence.
    pub text: String,
    /// What was found.
    pub outcome: Outcome,
    /// Who is better than all others; null if nobody is.
    pub winner: Option<String>,
    /// The policies that no other is better than; empty without intervals.
    pub best: Vec<String>,
    /// What the difference comes to; null without intervals.
    pub judgement: Option<Judgement>,
    /// The policy that the numbers are of.
    pub policy: Option<String>,
    /// The policy that it is held against; not always that of the comparison.
    pub baseline: String,
    /// The figure; less is better.
    pub figure: String,
    /// Its mean over the replications.
    pub value: Option<f64>,
    /// The baseline's.
    pub baseline_value: Option<f64>,
    /// value - baseline_value.
    pub difference: Option<f64>,
    /// value / baseline_value.
    pub ratio: Option<f64>,
    /// The smallest difference that matters; 0 where any does.
    pub relevant: f64,
    /// Lower end of the simultaneous interval of the difference; null without one.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Corrected p-value of no difference.
    pub p_corrected: Option<f64>,
    /// Pairs.
    pub n: u64,
    /// Pairs whose difference has the other sign.
    pub disagree: u64,
    /// Pairs without difference.
    pub tied: u64,
    /// Figures that go the other way by more than what matters; part of the text.
    pub against: Vec<String>,
    /// Every two policies that compete.
    pub pairs: Vec<Versus>,
}

/// A policy against another, by the first primary figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Versus {
    /// The policy.
    pub policy: String,
    /// The policy that it is held against.
    pub against: String,
    /// The difference, with its simultaneous interval.
    #[serde(flatten)]
    pub paired: Paired,
    /// Corrected p-value of no difference; null without intervals.
    pub p_corrected: Option<f64>,
    /// What the difference comes to; null without intervals.
    pub judgement: Option<Judgement>,
    /// Pairs that it takes to tell a difference that matters; null where any does.
    pub pairs_needed: Option<u64>,
}

impl Versus {
    /// The same of the other policy.
    pub(super) fn turned(&self) -> Self {
        let paired = self.paired;
        let interval = paired.interval.map(|it| Interval {
            low: -it.high,
            high: -it.low,
            p: it.p,
        });
        let ratio = match paired.ratio {
            // A mean of 0 has no ratio to it, and is 0 times any other.
            None => (paired.difference != 0.0).then_some(0.0),
            Some(ratio) => (ratio != 0.0).then(|| 1.0 / ratio),
        };
        Versus {
            policy: self.against.clone(),
            against: self.policy.clone(),
            paired: Paired {
                difference: -paired.difference,
                ratio,
                interval,
                ..paired
            },
            judgement: self.judgement.map(|judgement| match judgement {
                Judgement::Better => Judgement::Worse,
                Judgement::Worse => Judgement::Better,
                same => same,
            }),
            ..self.clone()
        }
    }
}

/// The best policy against `local-only`, under which every domain keeps its jobs.
/// Without figures where that lacks jobs which the policy has completed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Federation {
    /// The sentence.
    pub text: String,
    /// Of the policies that compete, the one with the best figure.
    pub policy: String,
    /// The figure; less is better.
    pub figure: String,
    /// Jobs that did not complete under `local-only` only.
    pub missing_jobs: u64,
    /// Mean of the figure over the replications.
    pub value: Option<f64>,
    /// The same under `local-only`.
    pub local_value: Option<f64>,
    /// The difference, pair by pair, with its own 95 % interval.
    pub paired: Option<Paired>,
    /// Where jobs were submitted, by the mean of the metric, the worse off first.
    pub domains: Vec<Domain>,
}

/// Jobs of a domain with and without federation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Domain {
    /// Its name.
    pub domain: String,
    /// Its jobs, over all replications.
    pub jobs: u64,
    /// Mean of the metric under the policy.
    pub value: f64,
    /// Mean of the metric under `local-only`.
    pub local_value: f64,
}
