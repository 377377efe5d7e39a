//! What is wrong with an inventory or a schema document.

use crate::xml::{XmlError, excerpt};
use gridrig_core::inventory::{InventoryError, SchemaError};

/// Why a document is no inventory, or no schema of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InventoryDocumentError {
    /// It is no XML that we read.
    #[error("{0}")]
    Xml(#[from] XmlError),
    /// An element or attribute is not where it belongs.
    #[error("line {line}: element {element}: {problem}")]
    Element {
        /// The line, from 1.
        line: usize,
        /// Its local name.
        element: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A value is none of its kind.
    #[error("field {field} = {value:?}: expected {expected}")]
    Field {
        /// Where: the path from the root.
        field: String,
        /// What stands there, cut off after 80 characters.
        value: String,
        /// What was expected.
        expected: String,
    },
    /// The records contradict each other.
    #[error("{0}")]
    Inventory(#[from] InventoryError),
    /// The rules contradict each other.
    #[error("{0}")]
    Schema(#[from] SchemaError),
}

impl InventoryDocumentError {
    /// The code of problem documents and faults.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Xml(error) => error.code,
            Self::Element { .. } => "bad-element",
            Self::Field { .. } => "bad-field",
            Self::Inventory(_) => "bad-inventory",
            Self::Schema(_) => "bad-schema",
        }
    }

    pub(super) fn field(field: &str, value: &str, expected: &str) -> Self {
        Self::Field {
            field: field.to_owned(),
            value: excerpt(value),
            expected: expected.to_owned(),
        }
    }
}
