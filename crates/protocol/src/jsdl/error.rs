//! What can be wrong with a job's description.

use crate::xml::{XmlError, excerpt};

/// What a job definition gives, or why not.
pub(crate) type Result<T, E = JsdlError> = std::result::Result<T, E>;

/// Why a document was not read, or is no job of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}{text}")]
pub struct JsdlError {
    /// `file:line: `, or nothing for a job that was read before.
    at: String,
    text: String,
    path: Option<String>,
    code: &'static str,
}

const INVALID: &str = "invalid-jsdl";
const UNSUPPORTED: &str = "unsupported-jsdl";

impl JsdlError {
    /// The code of problem documents and faults.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The path of the element at fault from the root, if it is about one.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Whether it asks for what is not supported.
    pub fn is_unsupported(&self) -> bool {
        self.code == UNSUPPORTED
    }

    /// The document is no XML that we read.
    pub(super) fn xml(file: &str, error: &XmlError) -> Self {
        JsdlError {
            at: format!("{file}:{}: ", error.line),
            text: error.problem.clone(),
            path: None,
            code: error.code,
        }
    }

    /// An element is where none of its name may be, or lacks one.
    pub(super) fn element(path: &str, problem: &str) -> Self {
        Self::of(INVALID, path, &format!(": {problem}"))
    }

    /// A value is none of its kind; a hostile one is not echoed at length.
    pub(super) fn value(path: &str, value: &str, expected: &str) -> Self {
        let what = format!(" = {:?}: expected {expected}", excerpt(value));
        Self::of(INVALID, path, &what)
    }

    /// An element or attribute that is not supported, with the reason if there
    /// is more to say.
    pub(super) fn unsupported(path: &str, why: &str) -> Self {
        let colon = if why.is_empty() { "" } else { ": " };
        Self::of(UNSUPPORTED, path, &format!(": not supported{colon}{why}"))
    }

    fn of(code: &'static str, path: &str, what: &str) -> Self {
        JsdlError {
            at: String::new(),
            text: format!("element {path}{what}"),
            path: Some(path.to_owned()),
            code,
        }
    }

    /// The same, at a line of a file.
    pub(super) fn at(mut self, file: &str, line: usize) -> Self {
        self.at = format!("{file}:{line}: ");
        self
    }
}
