//! The log of messages, for whoever wants to see what two brokers say to each
//! other. Credentials travel in headers of HTTP and are no part of it.

use super::Operation;
use tracing::Level;

/// The target of the log, at level trace: `GRIDRIG_LOG=gridrig::wire=trace`.
pub const WIRE: &str = "gridrig::wire";

/// Which way a message goes, with its name in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Way {
    /// A request that this side makes.
    RequestOut,
    /// The answer to it.
    AnswerIn,
    /// A request that comes in.
    RequestIn,
    /// The answer to it.
    AnswerOut,
}

/// Writes a message into the log, if there is one; only then is its text made.
pub fn log(way: Way, operation: Operation, text: impl FnOnce() -> String) {
    if tracing::enabled!(target: WIRE, Level::TRACE) {
        let (way, operation): (&str, &str) = (way.into(), operation.name());
        tracing::trace!(target: WIRE, way, operation, message = text());
    }
}
