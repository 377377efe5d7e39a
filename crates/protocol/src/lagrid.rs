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
mod request;
mod resource;
pub mod terms;
pub mod wire;
mod words;
pub mod wsdl;
mod xml;

pub use crate::rest::JobState;
pub use crate::xml::LAGRID;
pub use client::{Codec, PeerClient, PeerError, envelope};
pub use connection::{HeartbeatAnswer, OpenConnAnswer, Proposal, Refusal, Taken, Terms, Verdict};
pub use fault::codes;
pub use handler::{Answers, Caller, Token};
pub use initiator::{Agreed, Initiator, NoConnection};
pub use job::{JobReport, Origin, SubmitJobAnswer};
pub use message::{Message, Request};
pub use reference::{Parameter, Reference};
pub use request::*;
pub use resource::{ClusterReport, ResourceUpdate, SendResourceDataAnswer};
pub use words::{
    Auth, ConnEvent, Form, JobLanguage, JobNews, ResourceLanguage, Role, UpdateKind, UpdateVerdict,
};

/// Where a broker takes the messages in SOAP; its WSDL is at `?wsdl`.
pub const SOAP_PATH: &str = "/lagrid";
/// Under it a broker takes them in JSON: `POST /v1/peers/openConn` and so on.
pub const JSON_PATH: &str = "/v1/peers";

impl Operation {
    /// The name of the answer's element.
    pub fn response(self) -> String {
        format!("{}Response", self.name())
    }
}
