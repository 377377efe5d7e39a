//! Models as files: one JSON document, one schema.

use super::burst::Burst;
use super::egee::Egee;
use super::error::{Result, SynthError};
use super::extent::{Extent, SCHEMA};
use super::like::LookAlike;
use super::lublin::Lublin;
use super::poisson::Poisson;
use crate::error::TraceError;
use crate::format::Record;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// No model file is larger, and none of ours a tenth of it.
const MAX_BYTES: u64 = 1 << 24;

/// A workload model of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, strum::IntoStaticStr)]
#[serde(untagged)]
#[strum(serialize_all = "kebab-case")]
pub enum Model {
    /// Lublin and Feitelson.
    Lublin(Lublin),
    /// Poisson arrivals of a mix of applications.
    Poisson(Poisson),
    /// A week of bursts with given moments.
    Burst(Box<Burst>),
    /// Batches of parallel jobs, as on the EGEE grid.
    Egee(Box<Egee>),
    /// A look-alike of a trace.
    LookAlike(Box<LookAlike>),
}

/// What every model file begins with; the rest is read once the kind is known,
/// so that its errors keep their lines.
#[derive(Deserialize)]
struct Head {
    schema: String,
    kind: String,
    /// What look-alikes had before they kept the demand of days.
    profiles: Option<IgnoredAny>,
}

impl Model {
    /// Reads a model file.
    ///
    /// # Errors
    /// [`SynthError::Read`], [`SynthError::Trace`] or [`SynthError::Parameter`].
    pub fn read(path: &Path) -> Result<Self> {
        let read = |source| SynthError::Read(path.to_owned(), source);
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
            .map_err(read)?;
        let file = path.display().to_string();
        if text.len() as u64 > MAX_BYTES {
            let problem = format!("more than {MAX_BYTES} bytes: expected a workload model");
            return Err(TraceError::line(&file, 1, problem).into());
        }
        Self::parse(&text, &file)
    }

    /// Reads a model from its text; `file` is what messages call it.
    ///
    /// # Errors
    /// [`SynthError::Trace`] or [`SynthError::Parameter`].
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        let head: Head = from_json(text, file)?;
        let refuse = |field: &str, value: &str, expected: &str| {
            let problem = format!("field {field} = \"{value}\": expected {expected}");
            Err(TraceError::line(file, 1, problem).into())
        };
        if head.schema != SCHEMA {
            return refuse("schema", &head.schema, SCHEMA);
        }
        if head.kind == "look-alike" && head.profiles.is_some() {
            let problem = "field profiles: this look-alike was fitted by an earlier version, which \
                           did not keep the demand of days: expected a model fitted again, by \
                           gridrig trace synthesize like TRACE --model-out FILE";
            return Err(TraceError::line(file, 1, problem.to_owned()).into());
        }
        let model = match head.kind.as_str() {
            "lublin" => Model::Lublin(from_json(text, file)?),
            "poisson" => Model::Poisson(from_json(text, file)?),
            "burst" => Model::Burst(Box::new(from_json(text, file)?)),
            "egee" => Model::Egee(Box::new(from_json(text, file)?)),
            "look-alike" => Model::LookAlike(Box::new(from_json(text, file)?)),
            other => {
                let expected = "lublin, poisson, burst, egee or look-alike";
                return refuse("kind", other, expected);
            }
        };
        model
            .check()
            .map_err(|source| TraceError::Model(file.to_owned(), Box::new(source)))?;
        Ok(model)
    }

    /// Refuses parameters that make no workload.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] with the first of them.
    pub fn check(&self) -> Result<()> {
        match self {
            Model::Lublin(model) => model.check(),
            Model::Poisson(model) => model.check(),
            Model::Burst(model) => model.check(),
            Model::Egee(model) => model.check(),
            Model::LookAlike(model) => model.check(),
        }
    }

    /// Its kind, as the file spells it.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Seed, processors and extent.
    fn basics(&self) -> (u64, u32, Extent) {
        match self {
            Model::Lublin(model) => (model.seed, model.processors, model.extent),
            Model::Poisson(model) => (model.seed, model.processors, model.extent),
            Model::Burst(model) => (model.seed, model.processors, Extent::days(7.0)),
            Model::Egee(model) => (model.seed, model.processors, model.extent),
            Model::LookAlike(model) => (model.seed, model.processors, model.extent),
        }
    }

    /// Seed of all its random streams.
    pub fn seed(&self) -> u64 {
        self.basics().0
    }

    /// Replaces the seed.
    pub fn set_seed(&mut self, seed: u64) {
        match self {
            Model::Lublin(model) => model.seed = seed,
            Model::Poisson(model) => model.seed = seed,
            Model::Burst(model) => model.seed = seed,
            Model::Egee(model) => model.seed = seed,
            Model::LookAlike(model) => model.seed = seed,
        }
    }

    /// Processors of the machine that the workload is for.
    pub fn processors(&self) -> u32 {
        self.basics().1
    }

    /// The length of the trace in seconds, where the model says.
    pub fn length_s(&self) -> Option<f64> {
        self.basics().2.seconds()
    }

    /// The jobs, in order of submission.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] when the model makes no workload.
    pub fn jobs(&self) -> Result<Box<dyn Iterator<Item = Record> + '_>> {
        Ok(match self {
            Model::Lublin(model) => Box::new(model.jobs()?),
            Model::Poisson(model) => Box::new(model.jobs()?),
            Model::Burst(model) => Box::new(model.jobs()?.into_iter()),
            Model::Egee(model) => Box::new(model.jobs()?.into_iter()),
            Model::LookAlike(model) => Box::new(model.jobs()?),
        })
    }

    /// The model as its file holds it: readable, one line for each list of
    /// numbers.
    pub fn to_json(&self) -> String {
        super::pretty::pretty(self)
    }
}

fn from_json<'a, T: Deserialize<'a>>(text: &'a str, file: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let whole = error.to_string();
        // serde_json says the place at the end; the message begins with it.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let problem = whole.strip_suffix(&place).unwrap_or(&whole).to_owned();
        TraceError::line(file, error.line().max(1) as u64, problem).into()
    })
}
