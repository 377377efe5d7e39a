//! Jobs that somebody has lost touch with, or has looked for.

use super::Auditor;
use crate::audit::place::{Life, Place};
use crate::jobs::JobState;
use gridrig_core::event::Party;

impl<'a> Auditor<'a> {
    /// A broker that was restarted has looked for a job that it may have had
    /// before: it is here, having come or never left, or where it was sent. One that
    /// it had rejected and finds here has not ended: it has forgotten so before the
    /// client knew.
    pub(super) fn recovered(&mut self, life: &mut Life<'a>, (by, to): (Party, Party), hop: u32) {
        life.recovered = true;
        let was_here = match life.place {
            Place::Entering(here) | Place::Broker(here) => here == by,
            Place::Forwarded(from, here) => by == from || by == here,
            Place::Dispatched(from, _) => by == from,
            Place::Ended(JobState::Rejected) => to == by && by == life.job.entry.into(),
            _ => false,
        };
        let fits = match life.place {
            _ if to == by => was_here,
            Place::Queued(here) | Place::Running(here) => to == here || to.domain().is_some(),
            place => place != Place::Nowhere,
        };
        if !fits {
            let (by, to) = (self.names.party(by), self.names.party(to));
            self.find_misplaced(life, &format!("is found at {to} by {by}"));
        }
        if was_here {
            life.hop = hop;
            life.place = match to {
                _ if to == by => Place::Broker(by),
                Party::Lrms(_) => Place::Dispatched(by, to),
                _ => Place::Forwarded(by, to),
            };
        }
    }

    /// Touch is lost only with a job that was sent there.
    pub(super) fn lost_touch(&mut self, life: &mut Life<'a>, by: Party, there: Party) {
        life.lost = true;
        let fits = match (by, life.place) {
            (_, Place::Nowhere) => false,
            (Party::Client, _) => there == life.job.entry.into(),
            (_, Place::Dispatched(from, to) | Place::Forwarded(from, to)) if from == by => {
                to == there
            }
            _ => true,
        };
        if !fits {
            let (by, there) = (self.names.party(by), self.names.party(there));
            let what = format!("is reported lost by {by} at {there}");
            self.find_misplaced(life, &what);
        }
    }
}
