//! The peer protocol of meta-brokers: LA Grid's messages (Rodero et al.,
//! "Enabling Grid Interoperability among Meta-Schedulers", Table 1), over SOAP
//! and over JSON.
//!
//! One model of messages has two codecs. Every operation is a request with an
//! answer; what goes wrong is a [`Problem`](crate::rest::Problem), which becomes a SOAP Fault or a
//! problem document with the same code. Whoever answers is a [`Handler`]: it is
//! handed messages that have been read and checked for form, together with who
//! asks. `docs/la-grid.md` describes the wire.
//!
//! | operation | request | answer |
//! |---|---|---|
//! | `openConn` | [`OpenConn`] | [`OpenConnAnswer`] |
//! | `notifyConn` | [`NotifyConn`] | [`Taken`] |
//! | `heartbeat` | [`Heartbeat`] | [`HeartbeatAnswer`] |
//! | `requestResourceData` | [`RequestResourceData`] | [`ResourceUpdate`] |
//! | `sendResourceData` | [`SendResourceData`] | [`SendResourceDataAnswer`] |
//! | `submitJob` | [`SubmitJob`] | [`SubmitJobAnswer`] |
//! | `queryJob` | [`QueryJob`] | [`JobReport`] |
//! | `notifyJob` | [`NotifyJob`] | [`Taken`] |
//! | `cancelJob` | [`CancelJob`] | [`JobReport`] |

mod check;
mod client;
mod connection;
mod fault;
mod handler;
mod initiator;
mod job;
mod message;
mod reference;
mod resource;
pub mod terms;
pub mod wire;
mod words;
pub mod wsdl;
mod xml;

pub use crate::rest::JobState;
pub use crate::xml::LAGRID;
pub use client::{Codec, PeerClient, PeerError, envelope};
pub use connection::{
    Heartbeat, HeartbeatAnswer, NotifyConn, OpenConn, OpenConnAnswer, Proposal, Refusal, Taken,
    Terms, Verdict,
};
pub use fault::codes;
pub use handler::{Answers, Caller, Handler, Token};
pub use initiator::{Agreed, Initiator, NoConnection};
pub use job::{CancelJob, JobReport, NotifyJob, Origin, QueryJob, SubmitJob, SubmitJobAnswer};
pub use message::{Message, Request};
pub use reference::{Parameter, Reference};
pub use resource::{
    ClusterReport, RequestResourceData, ResourceUpdate, SendResourceData, SendResourceDataAnswer,
};
pub use words::{
    Auth, ConnEvent, Form, JobLanguage, JobNews, ResourceLanguage, Role, UpdateKind, UpdateVerdict,
};

use crate::words::words;

/// Where a broker takes the messages in SOAP; its WSDL is at `?wsdl`.
pub const SOAP_PATH: &str = "/lagrid";
/// Under it a broker takes them in JSON: `POST /v1/peers/openConn` and so on.
pub const JSON_PATH: &str = "/v1/peers";

words! {
    /// An operation of the protocol, in the order of the paper's Table 1, by the name
    /// of the request's element and of the JSON route.
    Operation {
        /// Negotiates a connection, or its terms again.
        OpenConn = "openConn",
        /// Tells of an error or ends a connection.
        NotifyConn = "notifyConn",
        /// Shows that the sender is alive.
        Heartbeat = "heartbeat",
        /// Asks for resource information (pull).
        RequestResourceData = "requestResourceData",
        /// Sends resource information (push).
        SendResourceData = "sendResourceData",
        /// Submits or forwards a job.
        SubmitJob = "submitJob",
        /// Asks where a job stands.
        QueryJob = "queryJob",
        /// Tells of a job's end or of its refusal.
        NotifyJob = "notifyJob",
        /// Asks for a job to be removed.
        CancelJob = "cancelJob",
    }
}

impl Operation {
    /// The name of the answer's element.
    #[must_use]
    pub fn response(self) -> String {
        format!("{}Response", self.name())
    }
}
