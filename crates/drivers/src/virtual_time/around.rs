//! What brokers and LRMSs are given in virtual time.

use super::agenda::Agenda;
use super::message::Message;
use gridrig_core::agent::{BrokerSends, Cx, Envelope, FromBroker, FromLrms, LrmsSends};
use gridrig_core::decision::Decision;
use gridrig_core::event::{Event, EventSink, Party};
use gridrig_core::ids::JobId;
use gridrig_core::time::{SimTime, WallTime};
use std::collections::BTreeSet;

/// The clock, the log and the messages on their way.
pub(super) struct Around<'a> {
    pub now: SimTime,
    pub agenda: Agenda<Message>,
    /// Jobs whose end has been seen where they entered.
    pub ended: usize,
    events: &'a mut dyn EventSink,
    /// Jobs whose data was stopped on its way to a peer.
    recalled: BTreeSet<JobId>,
}

impl<'a> Around<'a> {
    pub fn new(events: &'a mut dyn EventSink) -> Self {
        Around {
            now: SimTime::ZERO,
            agenda: Agenda::new(),
            ended: 0,
            events,
            recalled: BTreeSet::new(),
        }
    }

    /// Whether the data of a job that arrives now was stopped; once.
    pub fn is_recalled(&mut self, job: JobId) -> bool {
        !self.recalled.is_empty() && self.recalled.remove(&job)
    }

    /// The clock of services, which goes as fast as the run.
    fn wall(&self) -> WallTime {
        WallTime::from_nanos(self.now.as_nanos())
    }
}

impl EventSink for Around<'_> {
    // As that of the log, which this passes on to.
    #[inline(always)]
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.events.emit(at, event);
    }

    fn wants_decision(&self, job: JobId) -> bool {
        self.events.wants_decision(job)
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        self.events.decided(at, decision);
    }
}

impl Cx<BrokerSends> for Around<'_> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn wall(&self) -> WallTime {
        self.wall()
    }

    #[inline]
    fn send(&mut self, envelope: Envelope<BrokerSends>) {
        match (envelope.message, envelope.from) {
            (FromBroker::Client(_), _) => self.ended += 1,
            (message, Party::Broker(from)) => {
                let message = Message::FromBroker(from, message);
                self.agenda.push(envelope.due, message);
            }
            (_, Party::Client | Party::Lrms(_)) => {}
        }
    }

    fn recall(&mut self, job: JobId) -> bool {
        self.recalled.insert(job)
    }
}

impl Cx<LrmsSends> for Around<'_> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn wall(&self) -> WallTime {
        self.wall()
    }

    #[inline]
    fn send(&mut self, envelope: Envelope<LrmsSends>) {
        match (envelope.message, envelope.from) {
            (FromLrms::Client(_), _) => self.ended += 1,
            (message, Party::Lrms(from)) => {
                let message = Message::FromLrms(from, message);
                self.agenda.push(envelope.due, message);
            }
            (_, Party::Client | Party::Broker(_)) => {}
        }
    }
}
