//! JSON documents that say by which schema they are.

use crate::load::Report;
use gridrig_results::RunSummary;
use gridrig_results::compare::Comparison;
use schemars::JsonSchema;
use serde::Serialize;

/// What `run --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct Runs<'a> {
    /// Every run, policy by policy in each repeat.
    pub runs: Vec<&'a RunSummary>,
}

/// A document that begins with the name and the version of its schema. The version rises
/// when a field goes or means something else, and not when one is added.
#[derive(Serialize)]
pub struct Versioned<T> {
    schema: &'static str,
    #[serde(flatten)]
    document: T,
}

impl<'a> From<Runs<'a>> for Versioned<Runs<'a>> {
    fn from(document: Runs<'a>) -> Self {
        let schema = RUN;
        Versioned { schema, document }
    }
}

impl<'a> From<&'a Comparison> for Versioned<&'a Comparison> {
    fn from(document: &'a Comparison) -> Self {
        let schema = COMPARE;
        Versioned { schema, document }
    }
}

impl<'a> From<&'a Report> for Versioned<&'a Report> {
    fn from(document: &'a Report) -> Self {
        let schema = LOAD;
        Versioned { schema, document }
    }
}

/// What the document of `run` is called.
pub const RUN: &str = "gridrig.run.1";
/// What that of `compare` is called.
pub const COMPARE: &str = "gridrig.compare.1";
/// What that of `load` is called.
pub const LOAD: &str = "gridrig.load.1";
