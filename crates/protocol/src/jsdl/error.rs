//! What is wrong with a document.

use std::fmt;

/// Where in a file; a document that was not read from one has no position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position(Option<(String, usize)>);

impl Position {
    pub(super) fn at(file: &str, line: usize) -> Self {
        Position(Some((file.to_owned(), line)))
    }

    /// No position.
    #[must_use]
    pub fn none() -> Self {
        Position(None)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some((file, line)) => write!(f, "{file}:{line}: "),
            None => Ok(()),
        }
    }
}

/// Why a document was not read, or is no job of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsdlError {
    /// It is no XML that we read.
    #[error("{file}:{line}: {problem}")]
    Xml {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The code of the problem.
        code: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// An element or attribute that is not supported.
    #[error("{at}element {path}: not supported{why}")]
    Unsupported {
        /// Where.
        at: Position,
        /// The path of the element from the root.
        path: String,
        /// Why, with a leading `: `, or nothing.
        why: String,
    },
    /// An element is where none of its name may be, or lacks one.
    #[error("{at}element {path}: {problem}")]
    Element {
        /// Where.
        at: Position,
        /// The path of the element from the root.
        path: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A value is none of its kind.
    #[error("{at}element {path} = {value:?}: expected {expected}")]
    Value {
        /// Where.
        at: Position,
        /// The path of the element from the root.
        path: String,
        /// The value.
        value: String,
        /// What was expected.
        expected: String,
    },
}

impl JsdlError {
    /// The code of problem documents and faults.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            JsdlError::Xml { code, .. } => code,
            JsdlError::Unsupported { .. } => "unsupported-jsdl",
            JsdlError::Element { .. } | JsdlError::Value { .. } => "invalid-jsdl",
        }
    }

    /// The path of the element at fault, where there is one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            JsdlError::Xml { .. } => None,
            JsdlError::Unsupported { path, .. }
            | JsdlError::Element { path, .. }
            | JsdlError::Value { path, .. } => Some(path),
        }
    }

    pub(super) fn value(path: &str, value: &str, expected: &str) -> Self {
        JsdlError::Value {
            at: Position::none(),
            path: path.to_owned(),
            // A hostile value is not echoed at length.
            value: crate::xml::excerpt(value),
            expected: expected.to_owned(),
        }
    }

    pub(super) fn unsupported(path: &str, why: &str) -> Self {
        JsdlError::Unsupported {
            at: Position::none(),
            path: path.to_owned(),
            why: format!(": {why}"),
        }
    }
}
