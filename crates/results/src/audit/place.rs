//! Where a job is, and what is known of it there.

use crate::jobs::JobState;
use crate::names::Names;
use gridrig_core::event::Party;
use gridrig_core::job::Submission;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// With the replayer.
    Nowhere,
    /// Handed over, not taken in yet.
    Entering(Party),
    /// Held by a domain's broker.
    Broker(Party),
    /// On its way between two brokers.
    Forwarded(Party, Party),
    /// On its way from a broker to an LRMS.
    Dispatched(Party, Party),
    /// Waiting at an LRMS.
    Queued(Party),
    /// Running.
    Running(Party),
    /// Sent back to the submitter, to be rejected.
    SentBack,
    /// Over.
    Ended(JobState),
}

/// What is known of one job.
#[derive(Clone, Copy)]
pub(super) struct Life<'a> {
    pub(super) job: &'a Submission,
    pub(super) place: Place,
    pub(super) submitted: bool,
    pub(super) seen: bool,
    /// Somebody has lost touch with it.
    pub(super) lost: bool,
    /// A broker that was restarted has looked for it: what that broker said
    /// in its earlier life it may say again.
    pub(super) recovered: bool,
    /// Forwards on the path to where it is.
    pub(super) hop: u32,
    /// When its last event happened.
    pub(super) last: SimTime,
    pub(super) start: SimTime,
    /// How much of its run time earlier runs have done, at speed 1.0.
    pub(super) done: SimDuration,
    /// When it was promised to start.
    pub(super) promised: SimTime,
    /// Where it runs, while it does.
    pub(super) placement: &'a [PlacementRun],
}

impl<'a> Life<'a> {
    /// A job of which no event has told.
    pub(super) fn new(job: &'a Submission) -> Self {
        Life {
            job,
            place: Place::Nowhere,
            submitted: false,
            seen: false,
            lost: false,
            recovered: false,
            hop: 0,
            last: SimTime::ZERO,
            start: SimTime::ZERO,
            done: SimDuration::ZERO,
            promised: SimTime::MAX,
            placement: &[],
        }
    }

    /// Follows the log, so that one event out of place is found once. A job
    /// that runs or is over stays so: its processors must be given back.
    pub(super) fn move_to(&mut self, place: Place) {
        if !matches!(self.place, Place::Running(_) | Place::Ended(_)) {
            self.place = place;
        }
    }
}

impl Place {
    /// For messages.
    pub(super) fn shown(self, names: &Names) -> String {
        let name = |party| names.party(party);
        match self {
            Place::Nowhere => "not submitted".to_owned(),
            Place::Entering(entry) => format!("on its way to {}", name(entry)),
            Place::Broker(here) => format!("held by {}", name(here)),
            Place::Forwarded(from, to) | Place::Dispatched(from, to) => {
                format!("on its way from {} to {}", name(from), name(to))
            }
            Place::Queued(here) => format!("queued at {}", name(here)),
            Place::Running(here) => format!("running at {}", name(here)),
            Place::SentBack => "sent back to its submitter".to_owned(),
            Place::Ended(_) => "over".to_owned(),
        }
    }
}
