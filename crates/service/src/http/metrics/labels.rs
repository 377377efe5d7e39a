//! The labels that say where a series is from: those of the service and those
//! that its user adds.

use super::table::{ALL, SERVICE_LABELS};
use std::collections::BTreeMap;

/// Labels by name, each a valid one of OpenMetrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, String>);

/// Why something is no label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Not `KEY=VALUE`.
    #[error("{0:?} has no = (expected KEY=VALUE, as in site=north)")]
    Form(String),
    /// The name will not do.
    #[error(
        "{0:?} is no name of a label (expected letters, digits and _, no digit first and not __)"
    )]
    Name(String),
    /// The name means something else here.
    #[error("label {0} is taken (expected another name)")]
    Taken(String),
    /// The value is too long to be one of few.
    #[error("label {0} has a value of {1} bytes (expected at most {MAX_VALUE})")]
    Long(String, usize),
    /// Too many.
    #[error("there are more than {MAX_LABELS} labels")]
    Many,
}

/// Labels of one service, at the most.
pub const MAX_LABELS: usize = 24;
/// Bytes in the value of a label, at the most.
pub const MAX_VALUE: usize = 200;

/// Names that Prometheus or the format gives a meaning to.
const RESERVED: [&str; 5] = ["job", "instance", "le", "quantile", "service"];

impl Labels {
    /// The labels of a service of this kind.
    pub fn of(service: &str) -> Self {
        Labels::default().with("service", service)
    }

    /// The same with one more. A longer value is cut: it comes from a name in
    /// a scenario, which is no reason to go without metrics.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        let end = value.floor_char_boundary(MAX_VALUE);
        self.0.insert(name.to_owned(), value[..end].to_owned());
        self
    }

    /// The same with these on top: what a user says counts more than what the
    /// service knows.
    #[must_use]
    pub fn and(mut self, over: &Labels) -> Self {
        self.0.extend(over.0.clone());
        self
    }

    /// Adds `KEY=VALUE`, as a user writes it.
    ///
    /// # Errors
    /// [`LabelError`].
    pub fn add(&mut self, text: &str) -> Result<(), LabelError> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| LabelError::Form(text.to_owned()))?;
        let name = name.to_owned();
        let mut envelopes = name.chars();
        let first = envelopes
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let good = first && envelopes.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !good || name.starts_with("__") {
            return Err(LabelError::Name(name));
        }
        let own = ALL.iter().any(|metric| metric.labels.contains(&&*name));
        if own || RESERVED.contains(&&*name) {
            return Err(LabelError::Taken(name));
        }
        if value.len() > MAX_VALUE {
            let length = value.len();
            return Err(LabelError::Long(name, length));
        }
        self.0.insert(name, value.to_owned());
        match self.0.len() + SERVICE_LABELS.len() > MAX_LABELS {
            true => Err(LabelError::Many),
            false => Ok(()),
        }
    }

    /// The labels by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_s_label_is_looked_at() {
        let mut labels = Labels::default();
        labels.add("site=north \"1\"=x").unwrap();
        labels.add("run=mine").unwrap();
        let all: Vec<_> = labels.iter().collect();
        assert_eq!(all, [("run", "mine"), ("site", "north \"1\"=x")]);
        for (text, said) in [
            ("site", "has no ="),
            ("=x", "is no name"),
            ("1a=x", "is no name"),
            ("__meta=x", "is no name"),
            ("é=x", "is no name"),
            ("job=7", "is taken"),
            ("state=x", "is taken"),
            ("le=x", "is taken"),
        ] {
            let error = labels.add(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        let long = format!("site={}", "x".repeat(MAX_VALUE + 1));
        assert!(matches!(labels.add(&long), Err(LabelError::Long { .. })));
    }

    #[test]
    fn there_are_not_many_labels() {
        let mut labels = Labels::default();
        let added = (0..MAX_LABELS).try_for_each(|i| labels.add(&format!("l{i}=x")));
        assert_eq!(added, Err(LabelError::Many));
    }

    #[test]
    fn what_the_user_says_counts_more() {
        let mut mine = Labels::default();
        mine.add("run=mine").unwrap();
        let labels = Labels::of("broker").with("run", "theirs").and(&mine);
        let all: Vec<_> = labels.iter().collect();
        assert_eq!(all, [("run", "mine"), ("service", "broker")]);
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let labels = Labels::default().with("domain", &"é".repeat(MAX_VALUE));
        let value = labels.iter().next().unwrap().1;
        assert_eq!(value.len(), MAX_VALUE);
    }
}
