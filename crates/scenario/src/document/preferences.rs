//! What users say of the jobs of a workload for brokers that predict.

use crate::value::{Duration, Identifier, Name, Named, Positive, Str, Written, named};
use gridrig_core::job::{Measured, Objective, Preferences as Core};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

named!(
    Objective, "an objective",
    "early-start" => Objective::EarlyStart, "early-completion" => Objective::EarlyCompletion,
);

/// What the users of all its jobs say for brokers that predict (JSS 2.4). No scale divides
/// these times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Preferences {
    /// "early-start" or "early-completion". Default: what the policy of the broker is for.
    pub objective: Option<Str<Name<Objective>>>,
    /// How some system fares in benchmarks that are like the jobs, by their names. Default:
    /// none is known.
    pub benchmarks: Option<BTreeMap<Str<Identifier>, Benchmark>>,
    /// How long the files that a job reads take to be in place. Default: not known.
    pub stage_in: Option<Duration>,
    /// How long the files that a job writes take to be back. Default: not known.
    pub stage_out: Option<Duration>,
}

/// The result of a system in a benchmark, and how long a job takes there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table with result, such as { result = 1000 }"
)]
pub struct Benchmark {
    /// The more, the faster.
    pub result: Positive,
    /// The run time of each job there. Default: its estimate.
    pub time: Option<Duration>,
}

impl Preferences {
    /// The same for the model.
    pub(crate) fn settings(&self) -> Arc<Core> {
        let benchmarks = self.benchmarks.iter().flatten().map(|(name, told)| {
            let measured = Measured {
                result: told.result.0,
                time: told.time.map(|time| time.0),
            };
            (name.0.0.as_str().into(), measured)
        });
        Arc::new(Core {
            objective: self.objective.as_ref().map(Written::value),
            benchmarks: benchmarks.collect(),
            stage_in: self.stage_in.map(|time| time.0),
            stage_out: self.stage_out.map(|time| time.0),
        })
    }
}
