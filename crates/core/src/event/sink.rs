//! Where events go.

use super::Event;
use crate::decision::Decision;
use crate::ids::JobId;
use crate::time::SimTime;

/// Whoever keeps the events: drivers tell, results listen.
pub trait EventSink {
    /// Takes note of an event. Times never decrease within one machine.
    fn emit(&mut self, at: SimTime, event: Event<'_>);

    /// Whether it is to be told how brokers decide about this job.
    fn wants_decision(&self, _job: JobId) -> bool {
        false
    }

    /// Takes note of how a broker has decided.
    fn decided(&mut self, _at: SimTime, _decision: Decision) {}
}

/// Keeps nothing.
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&mut self, _at: SimTime, _event: Event<'_>) {}
}

impl<S: EventSink + ?Sized> EventSink for &mut S {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        (**self).emit(at, event);
    }

    fn wants_decision(&self, job: JobId) -> bool {
        (**self).wants_decision(job)
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        (**self).decided(at, decision);
    }
}
