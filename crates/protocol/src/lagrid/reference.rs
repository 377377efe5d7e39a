//! Endpoint references: where a broker can be told of one of its jobs.

use serde::{Deserialize, Serialize};

/// A WS-Addressing 1.0 endpoint reference whose parameters are texts. A
/// forwarded job is tagged with the one of its forwarder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The address, a URL.
    pub address: String,
    /// What must come back with every message to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
}

/// A reference parameter: an element with a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The element's namespace.
    pub namespace: String,
    /// The element's local name.
    pub name: String,
    /// Its text.
    pub value: String,
}

impl Reference {
    /// A reference without parameters.
    pub fn of(address: impl Into<String>) -> Self {
        Reference {
            address: address.into(),
            parameters: Vec::new(),
        }
    }

    /// The same reference with one more parameter in our namespace.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.parameters.push(Parameter {
            namespace: super::LAGRID.to_owned(),
            name: name.to_owned(),
            value: value.into(),
        });
        self
    }

    /// The reference of a job of the broker at this address.
    pub fn of_job(address: impl Into<String>, job: u32) -> Self {
        Reference::of(address).with("job", job.to_string())
    }

    /// The text of our parameter of this name.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let is = |it: &&Parameter| it.namespace == super::LAGRID && it.name == name;
        self.parameters.iter().find(is).map(|it| it.value.as_str())
    }

    /// The job that it names, if it names one of ours.
    pub fn job(&self) -> Option<u32> {
        self.parameter("job")?.parse().ok()
    }
}
