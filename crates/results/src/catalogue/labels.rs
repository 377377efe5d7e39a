//! `labels.json`: what people say about a run. It lies in the run directory,
//! so that tags and notes go where the run goes and outlive the catalogue.

use crate::rundir::{self, RunDirError, names};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Version of the file.
const FORMAT: u32 = 1;
/// A run has at most so many tags.
pub const MOST_TAGS: usize = 32;
/// A tag has at most so many characters.
pub const MOST_TAG: usize = 64;
/// A note has at most so many characters.
pub const MOST_NOTE: usize = 4000;

/// Tags, note and pin of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// Sorted, each once.
    pub tags: Vec<String>,
    /// Free text; empty if there is none.
    pub note: String,
    /// Whether comparisons hold others against it.
    pub baseline: bool,
}

/// Labels that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum LabelsError {
    /// Something was asked for that a label cannot be.
    #[error("field {field} = \"{value}\": expected {expected}")]
    Field {
        /// `tags` or `note`.
        field: &'static str,
        /// The value, cut to a line.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// The file is there and is no file of labels.
    #[error("{}:{}: {}: expected labels (correct the file, or remove it)", .0.display(), .1, .2)]
    Damaged(PathBuf, usize, String),
    /// The file cannot be read.
    #[error("{}: cannot read", .0.display())]
    Read(PathBuf, #[source] io::Error),
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    note: String,
    #[serde(default)]
    baseline: bool,
}

impl Labels {
    /// Tags are trimmed, sorted and kept once; empty ones are left out.
    ///
    /// # Errors
    /// Too many tags, or tags or a note that are too long or hold control
    /// characters.
    pub fn new(tags: &[String], note: &str) -> Result<Self, LabelsError> {
        let wrong = |field, value: &str, expected: String| LabelsError::Field {
            field,
            value: value.chars().take(80).collect(),
            expected,
        };
        let tags: BTreeSet<&str> = tags.iter().map(|tag| tag.trim()).collect();
        let tags: Vec<&str> = tags.into_iter().filter(|tag| !tag.is_empty()).collect();
        if tags.len() > MOST_TAGS {
            let count = tags.len().to_string();
            return Err(wrong("tags", &count, format!("at most {MOST_TAGS} tags")));
        }
        for tag in &tags {
            if tag.chars().count() > MOST_TAG || tag.chars().any(|c| c.is_control() || c == ',') {
                let expected =
                    format!("at most {MOST_TAG} characters without commas or control characters");
                return Err(wrong("tags", tag, expected));
            }
        }
        // Browsers send line ends of their own.
        let note = note.replace("\r\n", "\n");
        let note = note.trim();
        let control = |c: char| c.is_control() && c != '\n' && c != '\t';
        if note.chars().count() > MOST_NOTE || note.chars().any(control) {
            let expected = format!("at most {MOST_NOTE} characters of text");
            return Err(wrong("note", note, expected));
        }
        Ok(Labels {
            tags: tags.into_iter().map(str::to_owned).collect(),
            note: note.to_owned(),
            baseline: false,
        })
    }
}

/// The labels of a run directory; none if it has no file of them.
pub(super) fn read(dir: &Path) -> Result<Labels, LabelsError> {
    let path = dir.join(names::LABELS);
    let text = match rundir::read_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Labels::default()),
        Err(source) => return Err(LabelsError::Read(path, source)),
        Ok(text) => text,
    };
    let damaged = |line: usize, message: String| LabelsError::Damaged(path.clone(), line, message);
    let document: Document =
        serde_json::from_slice(&text).map_err(|e| damaged(e.line(), e.to_string()))?;
    if document.format != FORMAT {
        let found = document.format;
        return Err(damaged(
            1,
            format!("field format = \"{found}\": not {FORMAT}"),
        ));
    }
    let labels = Labels::new(&document.tags, &document.note);
    let labels = labels.map_err(|error| damaged(1, error.to_string()))?;
    Ok(Labels {
        baseline: document.baseline,
        ..labels
    })
}

/// Writes the labels of a run directory; no file if there are none.
pub(super) fn write(dir: &Path, labels: &Labels) -> Result<(), RunDirError> {
    if *labels == Labels::default() {
        return rundir::remove_file(dir, names::LABELS);
    }
    let document = Document {
        format: FORMAT,
        tags: labels.tags.clone(),
        note: labels.note.clone(),
        baseline: labels.baseline,
    };
    let path = dir.join(names::LABELS);
    let mut text = serde_json::to_vec_pretty(&document)
        .map_err(|source| RunDirError::Manifest(path, source))?;
    text.push(b'\n');
    rundir::write_file(dir, names::LABELS, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    #[test]
    fn tags_are_trimmed_sorted_and_kept_once() {
        let labels = Labels::new(&tags(&[" b", "a", "b ", ""]), " x\r\ny ").unwrap();
        assert_eq!(labels.tags, ["a", "b"]);
        assert_eq!(labels.note, "x\ny");
    }

    #[test]
    fn what_no_label_can_be_is_refused() {
        let many: Vec<String> = (0..=MOST_TAGS).map(|n| n.to_string()).collect();
        for (tags, note) in [
            (tags(&["a,b"]), ""),
            (tags(&["a\u{7}"]), ""),
            (tags(&["x".repeat(MOST_TAG + 1).as_str()]), ""),
            (many, ""),
            (tags(&[]), "\u{1b}[31m"),
            (tags(&[]), "x".repeat(MOST_NOTE + 1).as_str()),
        ] {
            assert!(Labels::new(&tags, note).is_err(), "{tags:?} {note}");
        }
    }
}
