//! Jobs that somebody has lost touch with, or has looked for.

use super::Auditor;
use crate::audit::place::{End, Place};
use gridrig_core::event::Party;
use gridrig_core::time::SimTime;

impl Auditor<'_, '_> {
    /// A broker that was started anew has looked for a job that it may have had
    /// before: it is here, having come or never left, or where it was sent.
    pub(super) fn recovered(
        &mut self,
        at: SimTime,
        index: usize,
        (by, to): (Party, Party),
        hop: u32,
    ) {
        let place = self.lives[index].place;
        self.lives[index].recovered = true;
        let was_here = match place {
            Place::Entering(here) | Place::Broker(here) => here == by,
            Place::Forwarded(from, here) => by == from || by == here,
            Place::Dispatched(from, _) => by == from,
            Place::Ended(end) => end == End::Rejected,
            _ => false,
        };
        let fits = match place {
            _ if to == by => was_here,
            Place::Queued(here) | Place::Running(here) => to == here || to.domain().is_some(),
            _ => place != Place::Nowhere,
        };
        if !fits {
            let (by, to) = (self.names.party(by), self.names.party(to));
            self.find_misplaced(at, index, &format!("is found at {to} by {by}"));
        }
        if was_here {
            self.lives[index].hop = hop;
            let sent = match to {
                _ if to == by => Place::Broker(by),
                Party::Lrms(_) => Place::Dispatched(by, to),
                _ => Place::Forwarded(by, to),
            };
            self.move_to(index, sent);
        }
    }

    /// Touch is lost only with a job that was sent there.
    pub(super) fn lost_touch(&mut self, at: SimTime, index: usize, by: Party, there: Party) {
        self.lives[index].lost = true;
        let fits = match (by, self.lives[index].place) {
            (_, Place::Nowhere) => false,
            (Party::Client, _) => there == self.submission(index).entry.into(),
            (_, Place::Dispatched(from, to) | Place::Forwarded(from, to)) if from == by => {
                to == there
            }
            _ => true,
        };
        if !fits {
            let (by, there) = (self.names.party(by), self.names.party(there));
            let what = format!("is not in touch with {by} at {there}");
            self.find_misplaced(at, index, &what);
        }
    }
}
