//! What no schema says, and what JSON and XML say alike: bounds on texts and
//! numbers, checked once for both codecs.

use super::connection::{
    HeartbeatAnswer, OpenConnAnswer, Proposal, Refusal, Taken, Terms, Verdict,
};
use super::job::{JobReport, SubmitJobAnswer};
use super::reference::{Parameter, Reference};
use super::resource::{ResourceUpdate, SendResourceDataAnswer};
use super::words::UpdateKind;
use crate::rest::{Problem, Result};
use crate::xml::is_xml;
use gridrig_core::load::LoadSample;
use std::collections::BTreeSet;

/// Longest name, key or code, in characters.
pub(super) const MAX_NAME: usize = 200;
/// Longest reason, in characters.
pub(super) const MAX_REASON: usize = 2000;
/// Longest address, in characters.
const MAX_ADDRESS: usize = 2000;
/// Most parameters of an endpoint reference.
const MAX_PARAMETERS: usize = 16;
/// Most clusters of one update.
const MAX_CLUSTERS: usize = 10_000;
/// Longest heartbeat interval: a day.
const MAX_HEARTBEAT_MS: u64 = 86_400_000;

/// A message whose fields can be looked at.
pub(super) trait Check {
    /// Refuses what can be no message of the protocol.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Refuses a value of which this does not hold.
pub(super) fn ensure(holds: bool, field: &str, value: impl ToString, expected: &str) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Problem::field(field, &value.to_string(), expected)),
    }
}

/// A text of 1 to `most` characters that XML can carry.
pub(super) fn text(field: &str, value: &str, most: usize) -> Result<()> {
    let is_plain = |c: char| is_xml(c) && (c == ' ' || !c.is_control());
    let fits = !value.is_empty() && value.chars().nth(most).is_none();
    if fits && value.chars().all(is_plain) {
        return Ok(());
    }
    let expected = format!("1 to {most} characters, none of them a control character");
    Err(Problem::field(field, value, &expected))
}

pub(super) fn optional(field: &str, value: &Option<String>, most: usize) -> Result<()> {
    let mut given = value.iter();
    given.try_for_each(|value| text(field, value, most))
}

pub(super) fn positive(field: &str, value: u64) -> Result<()> {
    ensure(value > 0, field, value, "at least 1")
}

pub(super) fn connection(name: &str) -> Result<()> {
    text("connection", name, MAX_NAME)
}

impl Check for Reference {
    fn check(&self) -> Result<()> {
        text("address", &self.address, MAX_ADDRESS)?;
        let web = ["http://", "https://"];
        let named = web.iter().any(|scheme| self.address.starts_with(scheme));
        // XML would have it without the spaces behind it.
        let whole = named && self.address.trim_end() == self.address;
        let is_url = whole && reqwest::Url::parse(&self.address).is_ok();
        let expected = "an http:// or https:// URL";
        ensure(is_url, "address", &self.address, expected)?;
        parameters(&self.parameters)
    }
}

pub(super) fn parameters(parameters: &[Parameter]) -> Result<()> {
    let count = parameters.len();
    let expected = "at most 16 of them";
    ensure(count <= MAX_PARAMETERS, "parameters", count, expected)?;
    for one in parameters {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_name = one.name.starts_with(begins) && one.name.chars().all(fits);
        let is_name = is_name && one.name.len() <= MAX_NAME;
        let expected = "the name of an XML element, at most 200 characters";
        ensure(is_name, "parameters.name", &one.name, expected)?;
        text("parameters.namespace", &one.namespace, MAX_ADDRESS)?;
        text("parameters.value", &one.value, MAX_ADDRESS)?;
    }
    Ok(())
}

/// A list with something in it, and nothing twice.
fn choice<T: Ord>(field: &str, list: &[T], least: usize) -> Result<()> {
    ensure(list.len() >= least, field, "", "at least one")?;
    let distinct = list.iter().collect::<BTreeSet<&T>>().len();
    ensure(distinct == list.len(), field, list.len(), "nothing twice")
}

fn heartbeat(ms: u64) -> Result<()> {
    let fits = (1..=MAX_HEARTBEAT_MS).contains(&ms);
    ensure(fits, "heartbeat_ms", ms, "1 to 86400000 milliseconds")
}

impl Check for Proposal {
    fn check(&self) -> Result<()> {
        choice("authentication", &self.authentication, 1)?;
        choice("initiator_roles", &self.initiator_roles, 0)?;
        choice("responder_roles", &self.responder_roles, 0)?;
        choice("job_languages", &self.job_languages, 1)?;
        choice("resource_languages", &self.resource_languages, 1)?;
        choice("resource_forms", &self.resource_forms, 1)?;
        heartbeat(self.heartbeat_ms)
    }
}

impl Check for Terms {
    fn check(&self) -> Result<()> {
        choice("initiator_roles", &self.initiator_roles, 0)?;
        choice("responder_roles", &self.responder_roles, 0)?;
        heartbeat(self.heartbeat_ms)
    }
}

impl Check for Refusal {
    fn check(&self) -> Result<()> {
        text("code", &self.code, MAX_NAME)?;
        text("reason", &self.reason, MAX_REASON)
    }
}

impl Check for OpenConnAnswer {
    fn check(&self) -> Result<()> {
        text("responder", &self.responder, MAX_NAME)?;
        self.endpoint.check()?;
        connection(&self.connection)?;
        positive("round", self.round.into())?;
        match &self.verdict {
            Verdict::Accepted(terms) => terms.check(),
            Verdict::Counter(proposal) => proposal.check(),
            Verdict::Refused(refusal) => refusal.check(),
        }
    }
}

impl Check for Taken {}

impl Check for HeartbeatAnswer {
    fn check(&self) -> Result<()> {
        positive("sequence", self.sequence)
    }
}

impl Check for ResourceUpdate {
    fn check(&self) -> Result<()> {
        positive("sequence", self.sequence)?;
        let from = self.from_sequence;
        let (fits, expected) = match self.kind {
            UpdateKind::Full => (from.is_none(), "none in a full update"),
            UpdateKind::Incremental => (
                from.is_some_and(|from| (1..self.sequence).contains(&from)),
                "an earlier update in an incremental one",
            ),
        };
        let from = from.map_or(String::new(), |from| from.to_string());
        ensure(fits, "from_sequence", from, expected)?;
        let count = self.clusters.len();
        ensure(count <= MAX_CLUSTERS, "clusters", count, "at most 10000")?;
        let mut seen: BTreeSet<u16> = BTreeSet::new();
        let reported = self.clusters.iter().map(|c| ("clusters", c.load.cluster));
        let removed = self.removed.iter().map(|cluster| ("removed", *cluster));
        for (field, cluster) in reported.chain(removed) {
            ensure(seen.insert(cluster), field, cluster, "every cluster once")?;
        }
        if let Some(inventory) = &self.inventory {
            let (form, wanted) = (&inventory.form, self.form.name());
            let expected = format!("{wanted}, as the update's");
            ensure(form == wanted, "inventory.form", form, &expected)?;
            inventory.inventory()?;
        }
        for cluster in &self.clusters {
            optional("name", &cluster.name, MAX_NAME)?;
            LoadSample::try_from(&cluster.load)?;
            for group in &cluster.groups {
                optional("name", &group.name, MAX_NAME)?;
                optional("architecture", &group.architecture, MAX_NAME)?;
                optional("os", &group.os, MAX_NAME)?;
                let is_speed = group.to_resource().is_some();
                ensure(is_speed, "speed", &group.speed, "a decimal number")?;
            }
        }
        Ok(())
    }
}

impl Check for SendResourceDataAnswer {}

impl Check for SubmitJobAnswer {
    fn check(&self) -> Result<()> {
        optional("reason", &self.reason, MAX_NAME)?;
        self.endpoint.check()
    }
}

impl Check for JobReport {
    fn check(&self) -> Result<()> {
        optional("reason", &self.reason, MAX_NAME)
    }
}
