//! Jobs that are to be removed: where they wait, while their data leaves, or
//! wherever they were sent.

use super::{Broker, Held};
use crate::event::{Event, EventKind, EventSink, Party};
use crate::ids::{DomainId, JobId};
use crate::message::{EndState, JobEnd, Outgoing, Target};
use crate::time::transfer_time;
use crate::time::{SimDuration, SimTime};

impl Broker {
    /// Removes a job: here if it still waits, else wherever it was sent.
    /// `false` if it is not known here (any more).
    ///
    /// A request that crosses a refusal is not lost: the job ends when it comes
    /// back. One that would overtake the job's data is the driver's to
    /// [recall](Broker::recall).
    pub fn cancel(
        &mut self,
        now: SimTime,
        job: JobId,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) -> bool {
        let Some(held) = self.jobs.get_mut(&job) else {
            return false;
        };
        let sent = held.sent;
        // A job that was here before comes back to each visit in its turn.
        let mut visit = Some(held);
        while let Some(held) = visit {
            held.unwanted = true;
            visit = held.earlier.as_deref_mut();
        }
        match sent {
            Some(to) => out.push(Outgoing::Cancel { job, to }),
            None => self.end_unwanted(now, job, events, out),
        }
        true
    }

    /// Whether the data of a job is still on its way out to a peer: a request
    /// to remove the job would be there first.
    #[must_use]
    pub fn is_leaving(&self, now: SimTime, job: JobId) -> bool {
        let Some(held) = self.jobs.get(&job) else {
            return false;
        };
        let Some(Target::Peer(to)) = held.sent else {
            return false;
        };
        let transfer = self.transfer_to(to, held);
        transfer > SimDuration::ZERO && now <= held.sent_at + transfer
    }

    /// Ends a job whose data has been stopped on its way: it never gets where
    /// it was sent. `false` if it was not sent anywhere.
    pub fn recall(
        &mut self,
        now: SimTime,
        job: JobId,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) -> bool {
        let Some(held) = self.jobs.get_mut(&job).filter(|held| held.sent.is_some()) else {
            return false;
        };
        held.sent = None;
        self.end_unwanted(now, job, events, out);
        true
    }

    /// Whether a job that is held here is to be removed.
    #[must_use]
    pub fn is_unwanted(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|held| held.unwanted)
    }

    /// A job that is to be removed is here.
    pub(super) fn end_unwanted(
        &mut self,
        now: SimTime,
        job: JobId,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let by = Party::Broker(self.config.domain);
        events.emit(now, Event::new(EventKind::Cancelled, job, by));
        let end = JobEnd::without_run(job, EndState::Cancelled);
        self.handle_end(now, end, events, out);
    }

    fn transfer_to(&self, to: DomainId, held: &Held) -> SimDuration {
        let mut peers = self.config.peers.iter();
        let peer = peers.find(|peer| peer.domain == to);
        transfer_time(held.spec.data_kib, peer.and_then(|peer| peer.bandwidth))
    }
}
