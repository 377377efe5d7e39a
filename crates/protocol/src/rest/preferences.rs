//! What the user of a job says for a broker that predicts, and what clusters achieve in benchmarks.

use super::field::{checked, length_if_any};
use super::problem::{Problem, Result};
use gridrig_core::job::{Measured, Objective, Preferences};
use gridrig_core::resource::Benchmarks;
use gridrig_core::time::Decimal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most benchmarks of a job or a cluster.
const MOST_BENCHMARKS: usize = 64;

/// What the user of a job prefers and knows: a broker that predicts goes by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobPreferences {
    /// That it starts early, or is done early; left out, what the broker's policy is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<JobObjective>,
    /// How some system fares in benchmarks that are like the job, by their names of 1 to 200
    /// characters, at most 64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub benchmarks: BTreeMap<String, JobBenchmark>,
    /// How long the files that it reads take to be in place, with unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$")
    )]
    pub stage_in: Option<String>,
    /// How long the files that it writes take to be back, with unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$")
    )]
    pub stage_out: Option<String>,
}

/// `early-start` or `early-completion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JobObjective {
    /// It starts early.
    EarlyStart,
    /// It is done early.
    EarlyCompletion,
}

/// The result of a system in a benchmark, and how long the job takes there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({"result": "1250", "time": "1h"})))]
pub struct JobBenchmark {
    /// A decimal number above 0; the more, the faster.
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)$")
    )]
    pub result: String,
    /// The run time of the job there, with unit; left out, its estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$")
    )]
    pub time: Option<String>,
}

impl From<&Preferences> for JobPreferences {
    fn from(said: &Preferences) -> Self {
        let benchmarks = said.benchmarks.iter().map(|(name, measured)| {
            let benchmark = JobBenchmark {
                result: measured.result.to_string(),
                time: measured.time.map(|time| time.to_string()),
            };
            (name.to_string(), benchmark)
        });
        JobPreferences {
            objective: said.objective.map(|objective| match objective {
                Objective::EarlyStart => JobObjective::EarlyStart,
                Objective::EarlyCompletion => JobObjective::EarlyCompletion,
            }),
            benchmarks: benchmarks.collect(),
            stage_in: said.stage_in.map(|time| time.to_string()),
            stage_out: said.stage_out.map(|time| time.to_string()),
        }
    }
}

impl JobPreferences {
    pub(super) fn preferences(&self) -> Result<Arc<Preferences>> {
        const BENCHMARKS: &str = "preferences.benchmarks";
        let measured = |name: &str, told: &JobBenchmark| {
            let field = |of| format!("{BENCHMARKS}.{name}.{of}");
            Ok(Measured {
                result: result_of(&field("result"), &told.result)?,
                time: length_if_any(&field("time"), &told.time)?,
            })
        };
        Ok(Arc::new(Preferences {
            objective: self.objective.map(|objective| match objective {
                JobObjective::EarlyStart => Objective::EarlyStart,
                JobObjective::EarlyCompletion => Objective::EarlyCompletion,
            }),
            benchmarks: by_name(BENCHMARKS, &self.benchmarks, measured)?,
            stage_in: length_if_any("preferences.stage_in", &self.stage_in)?,
            stage_out: length_if_any("preferences.stage_out", &self.stage_out)?,
        }))
    }
}

/// What a cluster achieves in benchmarks, as it was told.
///
/// # Errors
/// A problem document that names the field, its value and what was expected.
pub fn benchmarks(told: &BTreeMap<String, String>) -> Result<Benchmarks> {
    by_name("benchmarks", told, |name, text| {
        result_of(&format!("benchmarks.{name}"), text)
    })
}

fn by_name<T, U>(
    field: &str,
    told: &BTreeMap<String, T>,
    read: impl Fn(&str, &T) -> Result<U>,
) -> Result<BTreeMap<Arc<str>, U>> {
    if told.len() > MOST_BENCHMARKS {
        let given = format!("{} benchmarks", told.len());
        return Err(Problem::field(field, &given, "at most 64"));
    }
    let all = told.iter();
    all.map(|(name, value)| Ok((checked(field, name.clone())?, read(name, value)?)))
        .collect()
}

fn result_of(field: &str, text: &str) -> Result<Decimal> {
    let signed = text.starts_with('+');
    let result = Decimal::parse(text).filter(|result| !signed && !result.is_zero());
    result.ok_or_else(|| Problem::field(field, text, "a decimal number above 0, such as \"2.5\""))
}
