//! Where a job is, and what is known of it there.

use crate::names::Names;
use gridrig_core::event::Party;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;

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
    Ended(End),
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Completed,
    Rejected,
    Cancelled,
    Failed,
}

/// What is known of one job.
#[derive(Clone, Copy)]
pub(super) struct Life<'l> {
    pub(super) place: Place,
    pub(super) submitted: bool,
    pub(super) seen: bool,
    /// Somebody has lost touch with it.
    pub(super) lost: bool,
    /// A broker that was started anew has looked for it: what that broker said
    /// in its earlier life it may say again.
    pub(super) recovered: bool,
    /// Forwards on the path to where it is.
    pub(super) hop: u32,
    pub(super) last: SimTime,
    pub(super) start: SimTime,
    /// When it was promised to start.
    pub(super) promised: SimTime,
    /// Where it runs, while it does.
    pub(super) placement: &'l [PlacementRun],
}

pub(super) const UNBORN: Life<'static> = Life {
    place: Place::Nowhere,
    submitted: false,
    seen: false,
    lost: false,
    recovered: false,
    hop: 0,
    last: SimTime::ZERO,
    start: SimTime::ZERO,
    promised: SimTime::MAX,
    placement: &[],
};

impl Place {
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
