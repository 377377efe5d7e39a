//! What goes wrong: one code and one reason, as a SOAP Fault or as a problem
//! document.

use crate::inventory::InventoryDocumentError;
use crate::jsdl::JsdlError;
use crate::rest::Problem;
use crate::soap::{Fault, FaultKind};
use crate::xml::excerpt;

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

impl Problem {
    /// A problem with the status that belongs to the code; [`codes`] has those of
    /// the protocol.
    pub fn of_code(code: &str, detail: impl Into<String>) -> Self {
        let status = match code {
            codes::NOT_AUTHENTICATED => 401,
            codes::NOT_AUTHORIZED | codes::WRONG_ROLE => 403,
            codes::UNKNOWN_CONNECTION | codes::UNKNOWN_JOB | codes::UNKNOWN_OPERATION => 404,
            codes::NOT_ESTABLISHED | codes::WRONG_ROUND | codes::JOB_ENDED => 409,
            "busy" | "stopped" | "timeout" => 503,
            "malformed" | "malformed-xml" | "doctype-refused" | "too-complex" => 400,
            _ => 422,
        };
        Problem::new(status, code, detail)
    }

    /// No connection of this name.
    pub fn unknown_connection(name: &str) -> Self {
        let name = excerpt(name);
        let detail = format!("no connection \"{name}\" is open here: open one with openConn");
        Problem::of_code(codes::UNKNOWN_CONNECTION, detail)
    }
}

impl From<JsdlError> for Problem {
    fn from(error: JsdlError) -> Self {
        Problem::of_code(error.code(), error.to_string())
    }
}

impl From<InventoryDocumentError> for Problem {
    fn from(error: InventoryDocumentError) -> Self {
        Problem::of_code(error.code(), error.to_string())
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        let kind = match problem.status {
            500.. => FaultKind::Receiver,
            _ => FaultKind::Sender,
        };
        Fault::new(kind, problem.code, problem.detail)
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        match fault.kind {
            FaultKind::Receiver => Problem::new(503, &fault.code, fault.reason),
            _ => Problem::new(422, &fault.code, fault.reason),
        }
    }
}
