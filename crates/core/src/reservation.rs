//! Advance reservations that are made without a job (JSS 2.3 and 3.3.2): what is asked for, and
//! how it stands.

use crate::calendar::Shares;
use crate::ids::JobId;
use crate::job::{Components, JobSpec, Reason, Requirements, StartWindow};
use crate::time::{SimDuration, SimTime};
use std::sync::Arc;

/// Processors that are to be reserved for jobs to come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AdvanceReservation {
    /// What it is called: one of the same name is modified.
    pub name: Arc<str>,
    /// How many processors.
    pub processors: u32,
    /// What their nodes must offer; jobs in it ask for the same.
    pub requirements: Requirements,
    /// For how long, whatever their speed.
    pub duration: SimDuration,
    /// Within which it is to start; if flexible, its start may be moved until it has started.
    pub window: StartWindow,
    /// Who may use and change it; everybody if there are none.
    pub users: Vec<Arc<str>>,
    /// It is given back if it is not confirmed for so long; `None`: nobody has to.
    pub confirm_within: Option<SimDuration>,
}

/// What is to become of an advance reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ReservationStep {
    /// It is made, or takes the place of the one of its name: if it cannot be, that stays.
    Make(Box<AdvanceReservation>),
    /// The one of this name is wanted.
    Confirm(Arc<str>),
    /// The one of this name is not wanted.
    Cancel(Arc<str>),
}

/// A user about an advance reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReservationOrder {
    /// Who says so.
    pub by: Option<Arc<str>>,
    /// What.
    pub step: ReservationStep,
}

/// A job is for an advance reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReservationUse {
    /// For which.
    pub name: Arc<str>,
    /// Whose job it is.
    pub user: Option<Arc<str>>,
}

/// Why an advance reservation is not made, or not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReservationRefusal {
    /// There is none of this name.
    #[error("there is no such reservation, or no more")]
    NotHere,
    /// It is for others.
    #[error("it is for other users")]
    NotYours,
    /// It has begun, or jobs wait for it.
    #[error("it has begun, or jobs wait for it")]
    InUse,
    /// The same may be granted for this instant or later.
    #[error("there are no processors for it within its window; there may be from {0} on")]
    NotBefore(SimTime),
    /// It is against the rules of the cluster, or too much for it.
    #[error("it is never granted here")]
    Forbidden(Forbidden),
    /// It is never granted.
    #[error("it is not granted here: {}", .0.name())]
    Never(Reason),
}

/// What a cluster never reserves, with the value that will not do and what would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// Anything: it makes no reservations.
    Any,
    /// More processors than its suitable nodes have.
    TooWide {
        /// How many are wanted.
        processors: u32,
        /// How many there are.
        most: u32,
    },
    /// Generic resources of nodes.
    Generic,
    /// What should have started.
    Past {
        /// When it would have to start at the latest.
        latest: SimTime,
        /// The present.
        now: SimTime,
    },
    /// For longer than it grants.
    TooLong {
        /// For how long it is wanted.
        length: SimDuration,
        /// The longest that is granted.
        longest: SimDuration,
    },
    /// Further ahead than it grants.
    TooFar {
        /// When it would start at the earliest.
        earliest: SimTime,
        /// The last start that is granted now.
        last: SimTime,
    },
    /// What would not be over before the end of time.
    Endless {
        /// When it would start at the latest.
        latest: SimTime,
        /// The last start with which it is over by then.
        last: SimTime,
    },
}

/// How an advance reservation stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationView {
    /// What was asked for.
    pub wanted: AdvanceReservation,
    /// From when on processors are reserved.
    pub start: SimTime,
    /// Until when.
    pub end: SimTime,
    /// Whether it is kept without being confirmed (any more).
    pub confirmed: bool,
    /// Whether it has begun.
    pub begun: bool,
    /// Which processors are reserved, and in use by no job in it.
    pub free: Shares,
    /// Jobs that wait in it, in their order.
    pub waiting: Vec<JobId>,
    /// Jobs that run in it.
    pub running: Vec<JobId>,
}

impl AdvanceReservation {
    pub(crate) fn is_for(&self, user: Option<&Arc<str>>) -> bool {
        self.users.is_empty() || user.is_some_and(|user| self.users.contains(user))
    }

    pub(crate) fn as_job(&self, id: JobId) -> JobSpec {
        let components = Components::one(self.processors, self.requirements.clone());
        JobSpec {
            id,
            ..JobSpec::of(components, self.duration)
        }
    }
}
