//! What may become of a message on its way to another service.

use crate::agent::Undelivered;
use crate::job::Reason;

/// Why a message was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The receiver has certainly not seen it.
    #[error("{to} was not reached: {why}")]
    NotReached {
        /// The address.
        to: String,
        /// What the network said.
        why: String,
    },
    /// It was sent, and no answer came: the receiver may have seen it.
    #[error("{to} did not answer as expected: {why}")]
    NoAnswer {
        /// The address.
        to: String,
        /// What the network said.
        why: String,
    },
    /// The receiver has too much to do; it may be asked again.
    #[error("{to} is busy")]
    Busy {
        /// The address.
        to: String,
    },
    /// Whoever wrote it has called it back before it left.
    #[error("it was called back")]
    CalledBack,
    /// The receiver turned it away.
    #[error("{to} answered {status}: {why}")]
    Answered {
        /// The address.
        to: String,
        /// The HTTP status, or what stands for it.
        status: u16,
        /// The reason, where it is one of ours.
        reason: Option<Reason>,
        /// What the receiver said.
        why: String,
    },
}

impl TransportError {
    /// Nothing was sent, for this reason.
    pub fn not_reached(to: impl Into<String>, why: impl Into<String>) -> Self {
        let (to, why) = (to.into(), why.into());
        TransportError::NotReached { to, why }
    }

    /// It was turned away, for a reason that is none of ours.
    pub fn declined(to: &str, status: u16, why: impl Into<String>) -> Self {
        TransportError::Answered {
            to: to.to_owned(),
            status,
            reason: None,
            why: why.into(),
        }
    }

    /// A job that cannot be told to `to`, where it would run nowhere.
    pub fn unsaid(to: &str, why: impl std::fmt::Display) -> Self {
        TransportError::Answered {
            to: to.to_owned(),
            status: 422,
            reason: Some(Reason::NoCandidate),
            why: why.to_string(),
        }
    }

    /// What the sender has to know of it.
    pub fn fate(&self) -> Undelivered {
        match self {
            TransportError::NotReached { .. } => Undelivered::NotReached,
            TransportError::NoAnswer { .. } => Undelivered::NoAnswer,
            TransportError::Busy { .. } => Undelivered::Busy,
            TransportError::CalledBack => Undelivered::CalledBack,
            TransportError::Answered { reason, .. } => Undelivered::Declined(*reason),
        }
    }
}
