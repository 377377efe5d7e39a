//! Parts of messages about connections, and the answers to these.

use super::reference::Reference;
use super::words::{Auth, Form, JobLanguage, ResourceLanguage, Role};
use super::xml::{LaGrid, parts};
use crate::rest::Result;
use crate::xml::record::{Field, Fields, Language as _, Tag};
use crate::xml::{Element, LAGRID};
use serde::{Deserialize, Serialize};

parts! {
    /// What a party would agree to. Lists are in order of preference.
    pub struct Proposal {
        /// How the parties may show who they are.
        pub authentication: Vec<Auth> = "authentication",
        /// What the initiator would be; none is a connection for later.
        pub initiator_roles: Vec<Role> = "initiatorRole",
        /// What the responder would be.
        pub responder_roles: Vec<Role> = "responderRole",
        /// Time between signs of life, in milliseconds on the wall.
        pub heartbeat_ms: u64 = "heartbeatMs",
        /// In which languages jobs may be described.
        pub job_languages: Vec<JobLanguage> = "jobLanguage",
        /// In which languages resources may be described.
        pub resource_languages: Vec<ResourceLanguage> = "resourceLanguage",
        /// How far resource information may be aggregated.
        pub resource_forms: Vec<Form> = "resourceForm",
    }

    /// What the parties have agreed to.
    pub struct Terms {
        /// How they show who they are.
        pub authentication: Auth = "authentication",
        /// What the initiator is.
        pub initiator_roles: Vec<Role> = "initiatorRole",
        /// What the responder is.
        pub responder_roles: Vec<Role> = "responderRole",
        /// Time between signs of life, in milliseconds on the wall.
        pub heartbeat_ms: u64 = "heartbeatMs",
        /// How jobs are described.
        pub job_language: JobLanguage = "jobLanguage",
        /// How resources are described.
        pub resource_language: ResourceLanguage = "resourceLanguage",
        /// How far resource information is aggregated.
        pub resource_form: Form = "resourceForm",
    }

    /// The answer to a round.
    pub struct OpenConnAnswer {
        /// The responder's domain, by name.
        pub responder: String = "responder",
        /// Where the responder takes messages.
        pub endpoint: Reference = "endpoint",
        /// Which life of the responder this is.
        pub incarnation: u64 = "incarnation",
        /// The name of the negotiation and of the connection that comes of it.
        pub connection: String = "connection",
        /// The round that is answered.
        pub round: u32 = "round",
        /// What the responder says.
        pub verdict: Verdict = "verdict",
    }
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

/// One of three elements, whatever the field is called.
impl Field<LaGrid> for Verdict {
    fn put(&self, _tag: Tag, parent: &mut Element) {
        match self {
            Verdict::Accepted(terms) => LaGrid::put(terms, (LAGRID, "accepted"), parent),
            Verdict::Counter(proposal) => LaGrid::put(proposal, (LAGRID, "counter"), parent),
            Verdict::Refused(refusal) => LaGrid::put(refusal, (LAGRID, "refused"), parent),
        }
    }

    fn take(fields: &mut Fields<'_, LaGrid>, _tag: Tag) -> Result<Self> {
        if let Some(terms) = fields.take((LAGRID, "accepted"))? {
            return Ok(Verdict::Accepted(terms));
        }
        if let Some(proposal) = fields.take((LAGRID, "counter"))? {
            return Ok(Verdict::Counter(proposal));
        }
        let refused: Option<_> = fields.take((LAGRID, "refused"))?;
        let missing = || fields.missing("accepted, counter or refused");
        refused.map(Verdict::Refused).ok_or_else(missing)
    }
}

parts! {
    /// Why there will be no connection.
    pub struct Refusal {
        /// A fixed name of the reason.
        pub code: String = "code",
        /// The reason in a sentence.
        pub reason: String = "reason",
    }

    /// The answer to a message that wants none: it has been taken in.
    #[derive(Default)]
    pub struct Taken {
        /// Whether the same message was here before, so that this one changed
        /// nothing.
        #[serde(default)]
        pub repeated: bool = "repeated" [or false],
    }

    /// The answer to a sign of life.
    pub struct HeartbeatAnswer {
        /// The sign that is answered.
        pub sequence: u64 = "sequence",
        /// Which life of the answering party this is.
        pub incarnation: u64 = "incarnation",
    }
}
