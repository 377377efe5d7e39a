//! What goes wrong: one code and one reason, as a SOAP Fault or as a problem
//! document.

use crate::inventory::InventoryDocumentError;
use crate::jsdl::JsdlError;
use crate::rest::Problem;
use crate::soap::{Fault, FaultKind};

/// The codes that the protocol itself defines. Others come from what its
/// messages carry (`unsupported-jsdl`) and from the service (`busy`).
pub mod codes {
    /// No connection of this name, or none any more.
    pub const UNKNOWN_CONNECTION: &str = "unknown-connection";
    /// The connection is still being negotiated.
    pub const NOT_ESTABLISHED: &str = "not-established";
    /// A round that is not the next one of its negotiation.
    pub const WRONG_ROUND: &str = "wrong-round";
    /// The credentials that were agreed to are missing or wrong.
    pub const NOT_AUTHENTICATED: &str = "not-authenticated";
    /// The peer is not known here, or the connection is another peer's.
    pub const NOT_AUTHORIZED: &str = "not-authorized";
    /// The receiver is no provider on this connection, or the sender no
    /// consumer.
    pub const WRONG_ROLE: &str = "wrong-role";
    /// No job of this name, or none that this peer may see.
    pub const UNKNOWN_JOB: &str = "unknown-job";
    /// The job has ended, so that it cannot be cancelled.
    pub const JOB_ENDED: &str = "job-ended";
    /// Another job came under this key.
    pub const KEY_REUSED: &str = "key-reused";
    /// A field is invalid.
    pub const INVALID: &str = "invalid";
    /// The body's element is no operation of the protocol.
    pub const UNKNOWN_OPERATION: &str = "unknown-operation";
}

/// What a request is answered with that cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} ({code})")]
pub struct PeerFault {
    /// A fixed name of what is wrong; [`codes`] has those of the protocol.
    pub code: String,
    /// What exactly is wrong.
    pub reason: String,
    /// The HTTP status of the problem document.
    pub status: u16,
}

impl PeerFault {
    /// A fault with the status that belongs to the code.
    #[must_use]
    pub fn new(code: &str, reason: impl Into<String>) -> Self {
        let status = match code {
            codes::NOT_AUTHENTICATED => 401,
            codes::NOT_AUTHORIZED | codes::WRONG_ROLE => 403,
            codes::UNKNOWN_CONNECTION | codes::UNKNOWN_JOB | codes::UNKNOWN_OPERATION => 404,
            codes::NOT_ESTABLISHED | codes::WRONG_ROUND | codes::JOB_ENDED => 409,
            "busy" | "stopped" | "timeout" => 503,
            "malformed" | "malformed-xml" | "doctype-refused" | "too-complex" => 400,
            _ => 422,
        };
        PeerFault {
            code: code.to_owned(),
            reason: reason.into(),
            status,
        }
    }

    /// A field with a value that will not do.
    #[must_use]
    pub fn field(field: &str, value: &str, expected: &str) -> Self {
        Problem::field(field, value, expected).into()
    }

    /// No connection of this name.
    #[must_use]
    pub fn unknown_connection(name: &str) -> Self {
        let name: String = name.chars().take(80).collect();
        let reason = format!("no connection \"{name}\" is open here: open one with openConn");
        PeerFault::new(codes::UNKNOWN_CONNECTION, reason)
    }

    /// No job of this number.
    #[must_use]
    pub fn unknown_job(job: u32) -> Self {
        Problem::unknown_job(job).into()
    }
}

impl From<Problem> for PeerFault {
    fn from(problem: Problem) -> Self {
        PeerFault {
            code: problem.code,
            reason: problem.detail,
            status: problem.status,
        }
    }
}

impl From<PeerFault> for Problem {
    fn from(fault: PeerFault) -> Self {
        Problem::new(fault.status, &fault.code, fault.reason)
    }
}

impl From<JsdlError> for PeerFault {
    fn from(error: JsdlError) -> Self {
        PeerFault::new(error.code(), error.to_string())
    }
}

impl From<InventoryDocumentError> for PeerFault {
    fn from(error: InventoryDocumentError) -> Self {
        PeerFault::new(error.code(), error.to_string())
    }
}

impl From<PeerFault> for Fault {
    fn from(fault: PeerFault) -> Self {
        let kind = match fault.status {
            500.. => FaultKind::Receiver,
            _ => FaultKind::Sender,
        };
        Fault::new(kind, fault.code, fault.reason)
    }
}

impl From<Fault> for PeerFault {
    fn from(fault: Fault) -> Self {
        let status = match fault.kind {
            FaultKind::Receiver => 503,
            _ => 422,
        };
        PeerFault {
            status,
            ..PeerFault::new(&fault.code, fault.reason)
        }
    }
}
