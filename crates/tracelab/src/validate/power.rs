//! What a verdict could have told: how far off a reduction may be and still
//! pass, and whether that is too far for the verdict to mean much.

use super::encode::Encoded;
use super::statistics::{StatisticReport, Values};
use serde::Serialize;
use std::fmt;

/// A distance of distribution functions that is plain to see. Where random
/// samples lie farther apart, passing says little.
const WIDE: f64 = 0.2;

/// Where random samples have less than half of the demand per job, or more than
/// twice as much, passing says nothing about demand.
const LEAST_RATIO: f64 = 0.5;
const MOST_RATIO: f64 = 2.0;

/// Fewer jobs say little about anything.
const FEW: u64 = 50;

/// The statistic of demand per job.
const DEMAND: &str = "demand.ratio";

/// Distances whose envelopes are told.
const DISTANCES: [(&str, &str); 3] = [
    ("processors.ks", "processor CDF"),
    ("run_time.ks", "run-time CDF"),
    ("arrivals.ks", "arrival CDF"),
];

/// Demand in processor-seconds of the original's time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Demand {
    /// Of the jobs that could be sampled.
    pub original_processor_s: f64,
    /// Of the reduced trace.
    pub reduced_processor_s: f64,
    /// The second over the first; null where there is no demand.
    pub share: Option<f64>,
    /// What share random samples of as many jobs have, by the envelope of
    /// `demand.ratio`; null where that is not judged.
    pub low: Option<f64>,
    /// The upper edge.
    pub high: Option<f64>,
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(share) = self.share else {
            return f.write_str("none");
        };
        write!(
            f,
            "{:.0} of {:.0} processor-seconds ({:.1} %)",
            self.reduced_processor_s,
            self.original_processor_s,
            100.0 * share
        )?;
        match self.low.zip(self.high) {
            Some((low, high)) => write!(
                f,
                "; random samples of as many jobs keep {:.1} to {:.1} %",
                100.0 * low,
                100.0 * high
            ),
            None => Ok(()),
        }
    }
}

/// What the verdict could have told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Power {
    /// Whether there is any warning.
    pub low: bool,
    /// How far off a reduction of as many jobs may be and still pass, in words.
    pub passes_unseen: Vec<String>,
    /// Why passing says little: one sentence for each rule that holds.
    pub warnings: Vec<String>,
}

impl Power {
    /// What is added to a verdict of "passed".
    pub(super) fn reservation(&self) -> &'static str {
        let is_of_demand = |warning: &String| warning.starts_with(DEMAND);
        match (self.low, self.warnings.iter().all(is_of_demand)) {
            (false, _) => "",
            (true, true) => "; that says little about demand: see the warning of low power",
            (true, false) => "; that says little: see the warnings of low power",
        }
    }
}

pub(super) fn demand(
    encoded: &Encoded,
    observed: &Values,
    statistics: &[StatisticReport],
) -> Demand {
    let jobs = encoded.reference.len().max(1) as f64;
    let sampled = encoded.reduced.len() as f64 / jobs;
    let original = encoded.mean_demand * encoded.reference.len() as f64;
    let share = observed.get(DEMAND).map(|ratio| ratio * sampled);
    let judged = statistics.iter().find(|s| s.name == DEMAND);
    let edge = |edge: Option<f64>| edge.map(|ratio| (ratio * sampled).clamp(0.0, 1.0));
    Demand {
        original_processor_s: original,
        reduced_processor_s: share.unwrap_or(0.0) * original,
        share,
        low: judged.and_then(|s| edge(s.low)),
        high: judged.and_then(|s| edge(s.high)),
    }
}

/// Judges the envelope itself: `jobs` of the original and of the reduced trace.
pub(super) fn power(jobs: (u64, u64), statistics: &[StatisticReport]) -> Power {
    let find = |name: &str| statistics.iter().find(|s| s.name == name);
    let (mut unseen, mut warnings) = (Vec::new(), Vec::new());
    if jobs.1 < FEW {
        warnings.push(format!(
            "the reduced trace has {} jobs, fewer than {FEW}: with so few, little can be told apart",
            jobs.1
        ));
    }
    for (name, what) in DISTANCES {
        let Some(edge) = find(name).and_then(|s| s.high) else {
            continue;
        };
        unseen.push(format!("{what} up to {edge:.3} off"));
        if edge > WIDE {
            warnings.push(format!(
                "{name}: random samples are up to {edge:.2} off, more than {WIDE}: a reduction may \
                 have a plainly different {what} and pass"
            ));
        }
    }
    if let Some((low, high)) = find(DEMAND).and_then(|s| s.low.zip(s.high)) {
        let low = low.max(0.0);
        unseen.push(format!(
            "demand per job {low:.2} to {high:.2} times as much"
        ));
        if low < LEAST_RATIO || high > MOST_RATIO {
            warnings.push(format!(
                "{DEMAND}: random samples have {low:.2} to {high:.2} times the demand per job, \
                 beyond {LEAST_RATIO} to {MOST_RATIO}: a few large jobs decide it, and a reduction \
                 without them passes"
            ));
        }
    }
    Power {
        low: !warnings.is_empty(),
        passes_unseen: unseen,
        warnings,
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::{Group, Side};
    use super::*;

    fn report(name: &'static str, low: Option<f64>, high: Option<f64>) -> StatisticReport {
        StatisticReport {
            name,
            group: Group::Marginals,
            side: Side::Both,
            what: "",
            value: 0.0,
            median: 0.0,
            low,
            high,
            deviation: 0.0,
            beyond: 0,
            inside: true,
        }
    }

    #[test]
    fn narrow_envelopes_of_many_jobs_have_power() {
        let statistics = [
            report("processors.ks", None, Some(0.2)),
            report("demand.ratio", Some(0.5), Some(2.0)),
        ];
        let power = power((1_000, 50), &statistics);
        assert!(!power.low && power.warnings.is_empty(), "{power:?}");
        assert_eq!(power.reservation(), "");
        assert_eq!(
            power.passes_unseen,
            [
                "processor CDF up to 0.200 off",
                "demand per job 0.50 to 2.00 times as much"
            ]
        );
    }

    #[test]
    fn each_rule_that_holds_is_said_by_name() {
        let statistics = [
            report("processors.ks", None, Some(0.21)),
            report("run_time.ks", None, Some(0.1)),
            report("arrivals.ks", None, Some(0.3)),
            report("demand.ratio", Some(-0.1), Some(1.9)),
        ];
        let power = power((1_000, 49), &statistics);
        let begin = [
            "the reduced trace has 49",
            "processors.ks",
            "arrivals.ks",
            "demand.ratio",
        ];
        assert!(power.low);
        assert!(power.reservation().contains("says little: see"));
        let only_demand = super::power((1_000, 50), &statistics[3..]);
        assert!(only_demand.reservation().contains("little about demand"));
        assert_eq!(power.warnings.len(), begin.len(), "{power:?}");
        for (warning, begin) in power.warnings.iter().zip(begin) {
            assert!(warning.starts_with(begin), "{warning}");
        }
        assert!(
            power.warnings[3].contains("0.00 to 1.90 times"),
            "{power:?}"
        );
    }
}
