//! JSON documents that say by which schema they are.

use crate::check::CheckReport;
use crate::load::Report;
use gridrig_results::RunSummary;
use gridrig_results::compare::Comparison;
use gridrig_tracelab::twin::Twin;
use serde::Serialize;

/// What `run --json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Runs<'a> {
    /// Every run, policy by policy in each repeat.
    pub runs: Vec<&'a RunSummary>,
}

/// A document that begins with the name and the version of its schema. The version rises
/// when a field goes or means something else, and not when one is added.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Versioned<T> {
    schema: &'static str,
    #[serde(flatten)]
    document: T,
}

/// A document with a schema of its own.
pub trait Document {
    /// Name and version of the schema.
    const SCHEMA: &'static str;
}

impl Document for Runs<'_> {
    const SCHEMA: &'static str = RUN;
}

impl Document for &Comparison {
    const SCHEMA: &'static str = COMPARE;
}

impl Document for &CheckReport {
    const SCHEMA: &'static str = CHECK;
}

impl Document for &Report {
    const SCHEMA: &'static str = LOAD;
}

impl Document for &Twin {
    const SCHEMA: &'static str = TWIN;
}

impl<T: Document> From<T> for Versioned<T> {
    fn from(document: T) -> Self {
        Versioned::of(T::SCHEMA, document)
    }
}

impl<T> Versioned<T> {
    /// A document of this name and version.
    pub fn of(schema: &'static str, document: T) -> Self {
        Versioned { schema, document }
    }
}

/// What the document of `run` is called.
pub const RUN: &str = "gridrig.run.1";
/// What that of `compare` is called.
pub const COMPARE: &str = "gridrig.compare.1";
/// What that of `check` is called.
pub const CHECK: &str = "gridrig.check.1";
/// What that of `load` is called.
pub const LOAD: &str = "gridrig.load.1";
/// What that of `twin` is called.
pub const TWIN: &str = "gridrig.twin.1";
/// What that of `whatif` is called.
pub const WHATIF: &str = "gridrig.whatif.1";
