//! Processors that are held for a part of a job that several clusters run together.
//!
//! A part waits in the queue like a job, for one pass: the discipline starts it then, or it
//! leaves again. What is started is held until the broker says when the job begins, or lets
//! go of it, or says nothing for too long.

use super::jobs::Claim;
use super::work::slowest_speed;
use super::{Cluster, Event, EventKind, EventSink, Finished, Slot};
use crate::ids::JobId;
use crate::job::{JobSpec, Reason};
use crate::time::{Decimal, SimDuration, SimTime};
use std::cmp::Reverse;

/// What there is to say of parts.
#[derive(Default)]
pub(super) struct Claims {
    /// Those that wait for a pass, in order of arrival.
    asked: Vec<JobId>,
    /// Whether processors are held, and the speed of the slowest.
    news: Vec<(JobId, Option<Decimal>)>,
}

impl Cluster {
    /// Holds processors for a part of a job, if the discipline gives it some in the next
    /// pass; [`take_claim_news`](Self::take_claim_news) tells.
    ///
    /// # Errors
    /// As [`submit`](Self::submit); [`Reason::LrmsRefused`] where a real LRMS runs the jobs.
    pub fn hold(
        &mut self,
        now: SimTime,
        part: &JobSpec,
        timeout: SimDuration,
    ) -> Result<(), Reason> {
        if self.config.is_real || self.jobs.by_id.contains_key(&part.id) {
            return Err(Reason::LrmsRefused);
        }
        let now = self.enter(now, part, Some(Claim::Asked(timeout)))?;
        self.claims.asked.push(part.id);
        self.changed(now);
        Ok(())
    }

    /// The job whose part this is begins at an instant, everywhere, and runs for so long;
    /// the cluster that `leads` tells of it. `false` if nothing is held for it (any more).
    pub fn begin(
        &mut self,
        now: SimTime,
        job: JobId,
        (at, length, leads): (SimTime, SimDuration, bool),
        events: &mut impl EventSink,
    ) -> bool {
        let now = self.not_before_the_latest(now);
        let Some(&slot) = self.jobs.by_id.get(&job) else {
            return false;
        };
        let known = self.jobs.get_mut(slot);
        if known.claim != Some(Claim::Held) {
            return false;
        }
        known.claim = Some(Claim::Begins(length, leads));
        if leads {
            events.emit(now, Event::new(EventKind::Queued, job, self.config.id));
        }
        self.ends.retain(|Reverse((_, _, ending))| *ending != slot);
        self.end_at(slot, at.max(now));
        true
    }

    /// Lets go of a part; nothing if it is not here.
    pub fn release(&mut self, now: SimTime, job: JobId, events: &mut impl EventSink) {
        let slot = self.jobs.by_id.get(&job).copied();
        if slot.is_some_and(|slot| self.jobs.get(slot).claim.is_some()) {
            let now = self.not_before_the_latest(now);
            let holds = self.holds_claim(job);
            self.remove(now, job);
            self.tell_claim_ended(now, job, holds, events);
            self.changed(now);
        }
    }

    /// Whether processors are held for a part of this job.
    pub(super) fn holds_claim(&self, job: JobId) -> bool {
        let known = self.jobs.by_id.get(&job);
        let known = known.map(|slot| self.jobs.get(*slot));
        known.is_some_and(|known| known.claim.is_some() && known.running.is_some())
    }

    /// If they were.
    pub(super) fn tell_claim_ended(
        &self,
        now: SimTime,
        job: JobId,
        holds: bool,
        events: &mut impl EventSink,
    ) {
        if holds {
            events.emit(now, Event::new(EventKind::ClaimEnded, job, self.config.id));
        }
    }

    /// Parts for which processors are held now, with the speed of the slowest, or for which
    /// there were none, or no more.
    pub fn take_claim_news(&mut self) -> Vec<(JobId, Option<Decimal>)> {
        std::mem::take(&mut self.claims.news)
    }

    /// After a pass: what it has not started leaves.
    pub(super) fn settle_claims(&mut self, now: SimTime, events: &mut impl EventSink) {
        for job in std::mem::take(&mut self.claims.asked) {
            let Some(&slot) = self.jobs.by_id.get(&job) else {
                continue;
            };
            let held = self.jobs.get(slot).running.as_ref();
            let speed = held.map(|held| slowest_speed(&self.config.resources, &held.placement));
            if speed.is_none() {
                self.remove(now, job);
                events.emit(
                    now,
                    Event::new(EventKind::ClaimRefused, job, self.config.id),
                );
                self.changed(now);
            }
            self.claims.news.push((job, speed));
        }
    }

    /// The instant has come that a part waited for.
    pub(super) fn claim_is_due(
        &mut self,
        at: SimTime,
        slot: Slot,
        events: &mut impl EventSink,
        finished: &mut Vec<Finished>,
    ) {
        let known = self.jobs.get_mut(slot);
        let job = known.id;
        let Some(running) = &mut known.running else {
            return;
        };
        match known.claim {
            Some(Claim::Begins(length, leads)) => {
                known.claim = Some(Claim::Runs(leads));
                running.start = at;
                if leads {
                    let started = Event::new(EventKind::Started, job, self.config.id);
                    events.emit(at, started.on(&running.placement));
                }
                return self.end_at(slot, at + length);
            }
            Some(Claim::Runs(true)) => {
                let (start, finish) = (running.start, at);
                events.emit(at, Event::new(EventKind::Finished, job, self.config.id));
                finished.push(Finished { job, start, finish });
            }
            Some(Claim::Runs(false)) => {}
            _ => self.claims.news.push((job, None)),
        }
        self.remove(at, job);
        self.tell_claim_ended(at, job, true, events);
        self.changed(at);
    }

    /// A part that has processors gives them back, or begins, at another instant than was
    /// known.
    fn end_at(&mut self, slot: Slot, finish: SimTime) {
        let known = self.jobs.get_mut(slot);
        let (job, processors) = (known.id, known.demand.processors);
        if let Some(running) = &mut known.running {
            let before = std::mem::replace(&mut running.finish, finish);
            self.work.change_end(processors, before, finish);
            self.ends.push(Reverse((finish, job, slot)));
        }
    }
}
