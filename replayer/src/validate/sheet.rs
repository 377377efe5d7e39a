//! The sheet: the paper's Figures 3 and 4 and the envelope, as one HTML page.

use super::Validation;

/// The page.
#[must_use]
pub fn sheet(_validation: &Validation, _title: &str) -> String {
    String::new()
}
