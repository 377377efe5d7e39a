//! Messages about connections: `openConn`, `notifyConn`, `heartbeat`.

use super::reference::Reference;
use super::words::{Auth, ConnEvent, Form, JobLanguage, ResourceLanguage, Role};
use serde::{Deserialize, Serialize};

/// A round of a negotiation (section 2.1): what the initiator proposes. One
/// that names an established connection negotiates its terms anew; the old
/// ones hold until there are others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenConn {
    /// The initiator's domain, by name.
    pub initiator: String,
    /// Where the initiator takes messages.
    pub endpoint: Reference,
    /// Which life of the initiator this is: one that was restarted has
    /// another, greater number.
    pub incarnation: u64,
    /// The negotiation or connection, as the responder named it; absent in the
    /// first round of a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// Which round it is, from 1.
    pub round: u32,
    /// Rounds after which the initiator gives up.
    pub max_rounds: u32,
    /// What it proposes.
    pub proposal: Proposal,
}

/// What a party would agree to. Lists are in order of preference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// How the parties may show who they are.
    pub authentication: Vec<Auth>,
    /// What the initiator would be; none is a connection for later.
    pub initiator_roles: Vec<Role>,
    /// What the responder would be.
    pub responder_roles: Vec<Role>,
    /// Time between signs of life, in milliseconds on the wall.
    pub heartbeat_ms: u64,
    /// In which languages jobs may be described.
    pub job_languages: Vec<JobLanguage>,
    /// In which languages resources may be described.
    pub resource_languages: Vec<ResourceLanguage>,
    /// How far resource information may be aggregated.
    pub resource_forms: Vec<Form>,
}

/// What the parties have agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// How they show who they are.
    pub authentication: Auth,
    /// What the initiator is.
    pub initiator_roles: Vec<Role>,
    /// What the responder is.
    pub responder_roles: Vec<Role>,
    /// Time between signs of life, in milliseconds on the wall.
    pub heartbeat_ms: u64,
    /// How jobs are described.
    pub job_language: JobLanguage,
    /// How resources are described.
    pub resource_language: ResourceLanguage,
    /// How far resource information is aggregated.
    pub resource_form: Form,
}

/// The answer to a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenConnAnswer {
    /// The responder's domain, by name.
    pub responder: String,
    /// Where the responder takes messages.
    pub endpoint: Reference,
    /// Which life of the responder this is.
    pub incarnation: u64,
    /// The name of the negotiation and of the connection that comes of it.
    pub connection: String,
    /// The round that is answered.
    pub round: u32,
    /// What the responder says.
    pub verdict: Verdict,
}

/// What a responder says to a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Agreed: the connection is established on these terms.
    Accepted(Terms),
    /// Not so, but so.
    Counter(Proposal),
    /// There will be no connection.
    Refused(Refusal),
}

/// Why there will be no connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// A fixed name of the reason.
    pub code: String,
    /// The reason in a sentence.
    pub reason: String,
}

/// Tells of an error on a connection, or ends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotifyConn {
    /// The connection.
    pub connection: String,
    /// What has happened.
    pub event: ConnEvent,
    /// A fixed name of what has happened.
    pub code: String,
    /// What has happened in a sentence.
    pub reason: String,
}

/// The answer to a message that wants none: it has been taken in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// Whether the same message was here before, so that this one changed
    /// nothing.
    #[serde(default)]
    pub repeated: bool,
}

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// The connection.
    pub connection: String,
    /// Rises from sign to sign of one party on one connection, from 1.
    pub sequence: u64,
    /// Which life of the sender this is.
    pub incarnation: u64,
}

/// The answer to a sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatAnswer {
    /// The sign that is answered.
    pub sequence: u64,
    /// Which life of the answering party this is.
    pub incarnation: u64,
}
