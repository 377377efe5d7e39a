//! Processors that are held for a part of a job that several clusters run together.
//!
//! A part waits in the queue like a job, for one pass: the discipline starts it then, or it
//! leaves again. What is started is held until the broker says when the job begins, or lets
//! go of it, or says nothing for too long. Or its processors are reserved, from an instant
//! within a window on, before which the broker has to say when the job begins.

use super::jobs::{Claim, Known};
use super::kept::{Kept, MOST_RESERVATIONS};
use super::reserved::SHORTEST;
use super::schedule::Scheduler;
use super::work::slowest_speed;
use super::{Cluster, Event, EventKind, EventSink, Finished, Job, Slot};
use crate::calendar::Demand;
use crate::conversation::{Asked, ClaimAnswer};
use crate::ids::JobId;
use crate::job::{JobSpec, Reason, StartWindow};
use crate::time::{Decimal, SimDuration, SimTime};
use std::cmp::Reverse;

/// What a time may grow by that is divided by a speed, and multiplied.
const ROUNDING: SimDuration = SimDuration::from_nanos(1_000);

/// What there is to say of parts.
#[derive(Default)]
pub(super) struct Claims {
    /// Those that wait for a pass, in order of arrival.
    asked: Vec<JobId>,
    news: Vec<(Asked, ClaimAnswer)>,
}

impl Cluster {
    /// Holds processors for a part of a job that was asked for at this instant, if the
    /// discipline gives it some in the next pass; [`take_claim_news`](Self::take_claim_news)
    /// tells. What is held for an earlier request is not wanted any more.
    ///
    /// # Errors
    /// As [`submit`](Self::submit); [`Reason::LrmsRefused`] where a real LRMS runs the jobs.
    pub fn hold(
        &mut self,
        now: SimTime,
        part: &JobSpec,
        (at, timeout): (SimTime, SimDuration),
        events: &mut impl EventSink,
    ) -> Result<(), Reason> {
        let before = self.claimed(part.id).map(|before| before.asked);
        if let Some(before) = before.filter(|before| *before < at && self.is_silent(part.id)) {
            let (job, at) = (part.id, before);
            self.release(now, Asked { job, at }, events);
        }
        if self.config.is_real || self.jobs.by_id.contains_key(&part.id) {
            return Err(Reason::LrmsRefused);
        }
        let now = self.enter(now, part, Some(Claim::Asked(timeout)))?;
        let slot = self.jobs.by_id[&part.id];
        self.jobs.get_mut(slot).asked = at;
        self.claims.asked.retain(|job| *job != part.id);
        self.claims.asked.push(part.id);
        self.changed(now);
        Ok(())
    }

    /// Reserves processors for a part of a job that was asked for at this instant, in place of
    /// what is reserved for it and not confirmed yet.
    pub fn reserve_part(
        &mut self,
        now: SimTime,
        part: &JobSpec,
        (at, timeout): (SimTime, SimDuration),
        (earliest, latest): (SimTime, SimTime),
        events: &mut impl EventSink,
    ) -> ClaimAnswer {
        let now = self.not_before_the_latest(now);
        let known = self.claimed(part.id).filter(|known| known.asked < at);
        let known = known.map(|known| (known.asked, known.claim == Some(Claim::Reserved)));
        if let Some((before, false)) = known
            && self.is_silent(part.id)
        {
            let (job, at) = (part.id, before);
            self.release(now, Asked { job, at }, events);
        }
        let before = self.jobs.by_id.get(&part.id).copied();
        let may_be_here = known.is_some_and(|(_, is_reserved)| is_reserved);
        let may = before.is_none() || may_be_here;
        let window = StartWindow {
            earliest,
            latest,
            flexible: false,
        };
        let reserves = self.may_reserve(now, part.run_time, &window).is_ok()
            && self.reserved.present() < MOST_RESERVATIONS;
        let class = self.class_of(part).ok().filter(|_| may && reserves);
        let Some(Known { class, processors }) = class else {
            return ClaimAnswer::No;
        };
        let demand = Demand {
            class: class.unwrap_or_else(|| self.know(&part.components)),
            processors,
            length: part.run_time.max(SHORTEST) + ROUNDING,
        };
        let taken = before.and_then(|slot| Some((slot, self.take_reserved(slot)?)));
        let found = self.find_reservation(now, &demand, &window, events);
        let Some(kept) = found else {
            let next = self.next_reservation(&demand, latest.max(now));
            if let Some((slot, kept)) = taken {
                self.put_reserved(slot, kept);
            }
            return next.map_or(ClaimAnswer::No, ClaimAnswer::NotBefore);
        };
        if let Some((slot, _)) = taken {
            self.forget_part(slot);
        }
        let (start, speed) = (kept.held.start, self.slowest_reserved(&kept));
        let claim = Some(Claim::Reserved);
        let slot = self.insert_reserved((now, part), demand, part.run_time, claim);
        self.jobs.get_mut(slot).asked = at;
        self.put_reserved(slot, kept);
        self.ends.push(Reverse((now + timeout, part.id, slot)));
        self.changed(now);
        ClaimAnswer::Reserved { start, speed }
    }

    pub(super) fn next_reservation(&mut self, demand: &Demand, from: SimTime) -> Option<SimTime> {
        let (_, calendar) = self.scheduler.plan()?;
        let found = self.reserved.earliest(calendar, demand, from);
        found.map(|found| found.start)
    }

    fn slowest_reserved(&self, kept: &Kept) -> Decimal {
        let groups = self.config.resources.groups();
        let speeds = kept.held.shares.iter();
        let speeds = speeds.map(|share| groups[usize::from(share.resource)].speed);
        speeds.min().unwrap_or(Decimal::ONE)
    }

    /// A part is not here any more that has given back what was reserved for it.
    pub(super) fn forget_part(&mut self, slot: Slot) -> Job {
        self.ends.retain(|Reverse((_, _, ending))| *ending != slot);
        self.jobs.remove(slot)
    }

    /// The same, and the broker has to know.
    pub(super) fn lose_part(&mut self, slot: Slot) {
        let Job { id, asked, .. } = self.forget_part(slot);
        let asked = Asked { job: id, at: asked };
        self.claims.news.push((asked, ClaimAnswer::No));
    }

    /// What is reserved for a part is kept from the instant on at which the job begins.
    fn begin_reserved(
        &mut self,
        slot: Slot,
        (at, length, leads): (SimTime, SimDuration, bool),
    ) -> bool {
        let Some(mut kept) = self.take_reserved(slot) else {
            return false;
        };
        let Scheduler::Planning { calendar, .. } = &self.scheduler else {
            return false;
        };
        // At speed 1.0, and no less when it is turned into a time here again.
        let speed = self.slowest_reserved(&kept);
        let slowest = speed.multiply(length.max(SHORTEST).as_nanos());
        let estimate = SimDuration::from_nanos(slowest + 1);
        let planned = calendar.layout.length_on(estimate, &kept.held.shares);
        let end = at + planned;
        if at < kept.held.start || end > kept.held.end {
            self.put_reserved(slot, kept);
            return false;
        }
        (kept.held.start, kept.held.end) = (at, end);
        kept.demand.length = planned;
        let known = self.jobs.get_mut(slot);
        known.claim = Some(Claim::Begins(length, leads));
        known.demand.length = length;
        known.estimate = estimate;
        self.put_reserved(slot, kept);
        self.ends.retain(|Reverse((_, _, ending))| *ending != slot);
        true
    }

    /// The job whose part this is begins at an instant, everywhere, and runs for so long;
    /// the cluster that `leads` tells of it. `false` if nothing is held for it (any more), or
    /// that instant has passed: the others would not wait.
    pub fn begin(
        &mut self,
        now: SimTime,
        asked: Asked,
        (at, length, leads): (SimTime, SimDuration, bool),
        events: &mut impl EventSink,
    ) -> bool {
        let now = self.not_before_the_latest(now);
        let is_reserved = match self.part(asked).and_then(|known| known.claim) {
            Some(Claim::Held) => false,
            Some(Claim::Reserved) => true,
            _ => return false,
        };
        let job = asked.job;
        let slot = self.jobs.by_id[&job];
        let begins = (at, length, leads);
        if at < now || is_reserved && !self.begin_reserved(slot, begins) {
            self.release(now, asked, events);
            return false;
        }
        self.jobs.get_mut(slot).asked = asked.at;
        if leads {
            events.emit(now, Event::new(EventKind::Queued, job, self.config.id));
        }
        if is_reserved {
            if leads {
                let reserved = Event::new(EventKind::Reserved, job, self.config.id);
                events.emit(now, reserved.at(at));
            }
            self.changed(now);
            return true;
        }
        self.jobs.get_mut(slot).claim = Some(Claim::Begins(length, leads));
        self.ends.retain(|Reverse((_, _, ending))| *ending != slot);
        self.end_at(slot, at);
        true
    }

    /// Lets go of a part that was asked for so, or before; nothing if it is not here.
    pub fn release(&mut self, now: SimTime, asked: Asked, events: &mut impl EventSink) {
        if self.part(asked).is_some() {
            let (now, job) = (self.not_before_the_latest(now), asked.job);
            let holds = self.holds_claim(job);
            self.remove(now, job);
            self.tell_claim_ended(now, job, holds, events);
            self.changed(now);
        }
    }

    /// A job of which a part is here, or waits for its pass.
    fn claimed(&self, job: JobId) -> Option<&Job> {
        let known = self.jobs.get(*self.jobs.by_id.get(&job)?);
        known.claim.is_some().then_some(known)
    }

    /// The same where it was asked for so, or before: what was asked for since was refused.
    fn part(&self, asked: Asked) -> Option<&Job> {
        self.claimed(asked.job)
            .filter(|known| known.asked <= asked.at)
    }

    /// Whether a part that was asked for so begins, or has begun and is not over.
    pub fn begins(&self, asked: Asked) -> bool {
        let claim = self.part(asked).and_then(|known| known.claim);
        matches!(claim, Some(Claim::Begins(..) | Claim::Runs(_)))
    }

    /// Whether a part of this job is here of which somebody else tells.
    pub fn is_silent(&self, job: JobId) -> bool {
        let claim = self.claimed(job).and_then(|known| known.claim);
        claim.is_some_and(|it| !matches!(it, Claim::Begins(_, true) | Claim::Runs(true)))
    }

    /// Whether processors are held for a part of this job.
    pub(super) fn holds_claim(&self, job: JobId) -> bool {
        let known = self.claimed(job);
        known.is_some_and(|known| known.running.is_some())
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
    pub fn take_claim_news(&mut self) -> Vec<(Asked, ClaimAnswer)> {
        std::mem::take(&mut self.claims.news)
    }

    /// After a pass: what it has not started leaves.
    pub(super) fn settle_claims(&mut self, now: SimTime, events: &mut impl EventSink) {
        for job in std::mem::take(&mut self.claims.asked) {
            let Some(&slot) = self.jobs.by_id.get(&job) else {
                continue;
            };
            let known = self.jobs.get(slot);
            let at = known.asked;
            let held = known.running.as_ref();
            let speed = held.map(|held| slowest_speed(&self.config.resources, &held.placement));
            let answer = speed.map_or(ClaimAnswer::No, ClaimAnswer::Held);
            if speed.is_none() {
                self.remove(now, job);
                let refused = Event::new(EventKind::ClaimRefused, job, self.config.id);
                events.emit(now, refused);
                self.changed(now);
            }
            self.claims.news.push((Asked { job, at }, answer));
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
        if self.jobs.get(slot).claim == Some(Claim::Advance) {
            return self.drop_block(at, self.jobs.get(slot).id);
        }
        if self.jobs.get(slot).claim == Some(Claim::Reserved) {
            self.take_reserved(slot);
            self.lose_part(slot);
            return self.changed(at);
        }
        let known = self.jobs.get_mut(slot);
        let (job, asked) = (known.id, known.asked);
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
            _ => {
                let asked = Asked { job, at: asked };
                self.claims.news.push((asked, ClaimAnswer::No));
            }
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
