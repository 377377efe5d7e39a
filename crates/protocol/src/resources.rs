//! Cluster files: the nodes of an emulated LRMS as XML, in the form of
//! Listing 1 of the LSAP paper.
//!
//! ```
//! use gridrig_protocol::resources;
//!
//! let text = r#"<EmulatedResources xmlns="http://cs.fiu.edu/emulator/resources">
//!   <Resource>
//!     <Count>64</Count>
//!     <Architecture>x86</Architecture>
//!     <CPUCount>2</CPUCount>
//!     <OS>LINUX</OS>
//!     <PhysicalMemory>1024</PhysicalMemory>
//!   </Resource>
//! </EmulatedResources>"#;
//! let cluster = resources::parse("site.xml", text).unwrap();
//! assert_eq!((cluster.nodes(), cluster.processors()), (64, 128));
//! ```
//!
//! The same rules are in `resources/xsd/emulated-resources.xsd`; what a schema
//! cannot say (the sum of all processors, no document type) is checked here
//! only. The format has a page of its own, `docs/resources-xml.md`.

mod records;
mod slurm;
mod write;

pub use slurm::{Defaults, Told, from_slurm};
pub use write::{WriteError, write};

use crate::xml::Element;
use crate::xml::record::{At, Language as _, Value as _, Wrong};
use gridrig_core::resource::{MOST_PROCESSORS, Resources};
use records::{Cluster, Groups};
use std::io::Read as _;
use std::path::Path;

/// The namespace of every element of a cluster file (LSAP Listing 1).
pub const NAMESPACE: &str = "http://cs.fiu.edu/emulator/resources";

/// The largest cluster file that is read, in bytes. A group of nodes takes
/// some 250 bytes, so that 60,000 different kinds of node fit; a larger file
/// is something else, given by mistake.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Most elements and texts of a file: those of 60,000 groups, and some more.
const MAX_NODES: usize = 1_000_000;

const ROOT: &str = "EmulatedResources";

/// Why a file is no cluster file. Every message begins with `FILE:LINE` where
/// a line is at fault.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    /// The file cannot be read.
    #[error("{0}: cannot read the cluster file")]
    Read(String, #[source] std::io::Error),
    /// The file is larger than [`MAX_BYTES`].
    #[error("{0}: the file is larger than {MAX_BYTES} bytes: expected a cluster file")]
    TooLarge(String),
    /// What stands at a line is none of a cluster file.
    #[error("{0}:{1}: {2}")]
    At(String, usize, String),
    /// Together the groups have more processors than can be counted.
    #[error("{0}: the cluster has more than {MOST_PROCESSORS} processors")]
    TooManyProcessors(String),
}

impl ResourceError {
    fn at(file: &str, line: usize, problem: impl Into<String>) -> Self {
        ResourceError::At(file.to_owned(), line, problem.into())
    }
}

/// Reads a cluster file.
///
/// # Errors
/// When the file cannot be read, is larger than [`MAX_BYTES`] or is no
/// cluster file.
pub fn read(path: &Path) -> Result<Resources, ResourceError> {
    let file = path.display().to_string();
    let failed = |source| ResourceError::Read(file.clone(), source);
    let handle = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more than is allowed tells a file that is too large, whatever
    // its size claims to be.
    let taken = handle.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if taken.map_err(failed)? as u64 > MAX_BYTES {
        return Err(ResourceError::TooLarge(file));
    }
    parse_bytes(&file, &bytes)
}

/// Reads the text of a cluster file; `file` names it in messages.
///
/// # Errors
/// When the text is longer than [`MAX_BYTES`] or is no cluster file.
pub fn parse(file: &str, text: &str) -> Result<Resources, ResourceError> {
    if text.len() as u64 > MAX_BYTES {
        return Err(ResourceError::TooLarge(file.to_owned()));
    }
    parse_bytes(file, text.as_bytes())
}

fn parse_bytes(file: &str, text: &[u8]) -> Result<Resources, ResourceError> {
    let root = Element::parse_at_most(text, MAX_NODES)
        .map_err(|error| ResourceError::at(file, error.line, error.problem))?;
    let file = file.to_owned();
    let (mut language, at) = (Cluster { file }, At::root(&root));
    if !root.is(NAMESPACE, ROOT) {
        return Err(language.error(&at, Wrong::Unknown(&root, &[(NAMESPACE, ROOT)])));
    }
    let Groups { groups } = Groups::read(&at, &mut language)?;
    if groups.is_empty() {
        let problem = "missing element Resource: expected at least one";
        return Err(language.error(&at, Wrong::Other(problem)));
    }
    let file = language.file;
    Resources::new(groups).ok_or(ResourceError::TooManyProcessors(file))
}
