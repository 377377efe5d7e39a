//! Values of fields, checked.

use super::problem::{Problem, Result};
use gridrig_core::time::SimDuration;
use std::sync::Arc;

/// Longest name, in characters.
const MAX_NAME: usize = 200;

pub(super) fn checked(field: &str, text: String) -> Result<Arc<str>> {
    match text.is_empty() || is_longer(&text, MAX_NAME) || text.contains(char::is_control) {
        true => Err(Problem::field(
            field,
            &text,
            "1 to 200 characters, none of them a control character",
        )),
        false => Ok(text.into()),
    }
}

/// Whether a text has more than `most` characters, which is how JSON Schema
/// counts.
pub(super) fn is_longer(text: &str, most: usize) -> bool {
    text.chars().nth(most).is_some()
}

/// The same of a field that may be left out.
pub(super) fn length_if_any(field: &str, value: &Option<String>) -> Result<Option<SimDuration>> {
    value.as_ref().map(|value| length(field, value)).transpose()
}

/// What a message of its kind has to say.
pub(super) fn needed<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| Problem::field(name, "", "a value, which this kind needs"))
}

pub(super) fn length(field: &str, value: &str) -> Result<SimDuration> {
    let refuse = |why: String| {
        let expected = format!("a length of time such as \"60s\" ({why})");
        Problem::field(field, value, &expected)
    };
    // A scenario's author may write " + 60 s"; on the wire there is one way, the
    // one that the schema's pattern allows.
    if value.contains(|c: char| c == '+' || c.is_whitespace()) {
        return Err(refuse("it has a sign or a space".to_owned()));
    }
    SimDuration::parse(value).map_err(|error| refuse(error.to_string()))
}
