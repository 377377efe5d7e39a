//! Job descriptions in ADL, the Activity Description Language of EMI-ES
//! (EMI Execution Service 2.0, section 6): what ARC's client turns every
//! description into before it submits it.
//!
//! Read are the elements that an emulated cluster can act on. Every other
//! element is named in [`Activity::ignored`], so that nothing is dropped in
//! silence.

mod length;
mod read;

pub use length::{HELD_VARIABLE, LengthFrom, RUN_TIME_VARIABLE};

use crate::tag::TAG_VARIABLE;
use crate::xml::{Element, XmlError};
use gridrig_core::generic::Generics;

/// The namespace of the language.
pub const NAMESPACE: &str = "http://www.eu-emi.eu/es/2010/12/adl";
/// The namespace of ARC's extensions.
pub const NORDUGRID: &str = "http://www.nordugrid.org/es/2011/12/nordugrid-adl";

/// Most jobs in one `ActivityDescriptions`.
pub const MOST_ACTIVITIES: usize = 10_000;

/// One job as it is described.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// The name its owner gives it.
    pub name: Option<String>,
    /// What it runs; ADL allows none.
    pub executable: Option<Executable>,
    /// Standard input, a name in the session directory.
    pub input: Option<String>,
    /// Standard output.
    pub output: Option<String>,
    /// Standard error.
    pub error: Option<String>,
    /// Environment variables, in order.
    pub environment: Vec<(String, String)>,
    /// Processors, at least 1.
    pub slots: u32,
    /// The queue it asks for.
    pub queue: Option<String>,
    /// Requested wall time in seconds.
    pub wall_time_s: Option<u64>,
    /// Memory per processor in bytes.
    pub memory_bytes: Option<u64>,
    /// Disk per node in bytes.
    pub disk_bytes: Option<u64>,
    /// Processor architecture.
    pub platform: Option<String>,
    /// `Coprocessor`: what is taken of each node, by name; one of it where no
    /// number is said.
    pub coprocessor: Generics,
    /// Operating system, by family.
    pub os: Option<String>,
    /// Input files.
    pub inputs: Vec<InputFile>,
    /// Output files.
    pub outputs: Vec<OutputFile>,
    /// Whether the client says itself when its uploads are complete.
    pub client_data_push: bool,
    /// The delegation it is to use, if it names one.
    pub delegation: Option<String>,
    /// Elements that were not read, as paths below `ActivityDescription`, each
    /// once.
    pub ignored: Vec<String>,
}

impl Activity {
    /// What its owner calls it: the environment variable `GRIDRIG_TAG`, else
    /// its name.
    pub fn tag(&self) -> Option<&str> {
        let mut named = self.environment.iter();
        let tag = named.find(|(name, _)| name == TAG_VARIABLE);
        tag.map(|(_, tag)| tag.as_str()).or(self.name.as_deref())
    }
}

/// A program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executable {
    /// Its path.
    pub path: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// A file that a job needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFile {
    /// Its name in the session directory.
    pub name: String,
    /// Where it can be fetched; none means that the client uploads it.
    pub sources: Vec<String>,
}

impl InputFile {
    /// Whether the client uploads it.
    pub fn is_uploaded(&self) -> bool {
        self.sources.iter().all(|source| !source.contains("://"))
    }
}

/// A file that a job leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputFile {
    /// Its name in the session directory.
    pub name: String,
    /// Where it is to be put; none means that the client fetches it.
    pub targets: Vec<String>,
}

/// Why a text is no job description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdlError {
    /// No XML that is read here.
    #[error("not an ADL document: {0}")]
    Xml(#[from] XmlError),
    /// XML, but of something else.
    #[error("line {0}: root element {1}: expected ActivityDescription in namespace {NAMESPACE}")]
    Root(usize, String),
    /// An element with a value that will not do.
    #[error("line {line}: element {element} = \"{value}\": expected {expected}")]
    Value {
        /// Where.
        line: usize,
        /// Which, as a path below `ActivityDescription`.
        element: String,
        /// Its text, cut to 80 characters.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// More jobs in one document than are read.
    #[error("{0} activities in one document: expected at most {MOST_ACTIVITIES}")]
    TooMany(usize),
}

/// Reads one description, or all of an `ActivityDescriptions`. Each job has an
/// answer of its own: one that is wrong does not spoil the others.
///
/// # Errors
/// [`AdlError::Xml`] where the text is no XML, [`AdlError::TooMany`].
pub fn read(text: &str) -> Result<Vec<Result<Activity, AdlError>>, AdlError> {
    let root = Element::parse(text.as_bytes())?;
    // ARC's client writes the wrapper without a namespace and A-REX looks at
    // its name only.
    if root.name != "ActivityDescriptions" {
        return Ok(vec![read::activity(&root)]);
    }
    let activities: Vec<&Element> = root.elements().collect();
    if activities.len() > MOST_ACTIVITIES {
        return Err(AdlError::TooMany(activities.len()));
    }
    Ok(activities.into_iter().map(read::activity).collect())
}

#[cfg(test)]
mod tests;
