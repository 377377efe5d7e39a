//! Advance reservations that are made without a job: processors for a time, for the jobs of
//! some users that name them (JSS 2.3 and 3.3.2: create, modify, cancel, confirm, claim).
//!
//! Such a reservation is kept like that of a job, under a number that no job has. Once it has
//! begun, jobs that name it start in it, in the order in which they came as far as they fit:
//! each takes its processors out of what is reserved, and gives them back to it.

use super::blocks::{Block, merge, part, take_out};
use super::jobs::{Claim, Known};
use super::kept::{Kept, MOST_RESERVATIONS};
use super::reserved::SHORTEST;
use super::schedule::Scheduler;
use super::{Cluster, Event, EventKind, EventSink, Finished, Slot};
use crate::calendar::{Calendar, Demand, Reservation, Shares};
use crate::event::Party;
use crate::ids::JobId;
use crate::job::{JobSpec, Reason, StartWindow};
use crate::reservation::{
    AdvanceReservation, Forbidden, ReservationOrder, ReservationRefusal, ReservationStep,
    ReservationUse, ReservationView,
};
use crate::time::{SimDuration, SimTime};
use std::cmp::Reverse;
use std::ops::Bound;
use std::sync::Arc;

impl Cluster {
    /// The advance reservations that were made without a job, by name, those after one.
    pub fn reservations(&self, after: &str) -> impl Iterator<Item = ReservationView> {
        let bounds = (Bound::Excluded(after), Bound::Unbounded);
        let ids = self.reserved.blocks.named.range::<str, _>(bounds);
        ids.filter_map(|(_, id)| self.reservation(*id))
    }

    /// All of them, as they were made.
    pub fn reservations_as_made(&self) -> impl Iterator<Item = ReservationView> {
        let ids = self.reserved.blocks.by_id.keys().rev();
        ids.filter_map(|id| self.reservation(*id))
    }

    /// That of this name.
    pub fn reservation_named(&self, name: &str) -> Option<ReservationView> {
        self.reservation(*self.reserved.blocks.named.get(name)?)
    }

    fn reservation(&self, id: JobId) -> Option<ReservationView> {
        let blocks = &self.reserved.blocks;
        let block = &blocks.by_id[&id];
        let kept = self.kept_of(id)?;
        let inside = blocks.inside.iter();
        let running = inside.filter(|(_, (of, own))| *of == id && own.is_some());
        Some(ReservationView {
            wanted: block.wanted.clone(),
            start: kept.held.start,
            end: kept.held.end,
            confirmed: block.confirmed,
            begun: block.all.is_some(),
            free: kept.held.shares.clone(),
            waiting: block.waiting.clone(),
            running: running.map(|(job, _)| *job).collect(),
        })
    }

    fn kept_of(&self, id: JobId) -> Option<&Kept> {
        let slot = self.jobs.by_id.get(&id)?;
        self.jobs.get(*slot).reserved.as_deref()
    }

    /// A user wants something of an advance reservation; answers how it stands then, of one
    /// that is cancelled how it stood.
    ///
    /// # Errors
    /// Why that is not done: everything is as it was.
    pub fn order_reservation(
        &mut self,
        now: SimTime,
        order: &ReservationOrder,
        events: &mut impl EventSink,
    ) -> Result<ReservationView, ReservationRefusal> {
        let by = order.by.as_ref();
        let id = match &order.step {
            ReservationStep::Make(wanted) => self.make(now, wanted, by, events)?,
            ReservationStep::Confirm(name) => {
                let id = self.reserved.blocks.of(name, by)?;
                let slot = self.jobs.by_id[&id];
                self.ends.retain(|Reverse((_, _, ending))| *ending != slot);
                if let Some(block) = self.reserved.blocks.by_id.get_mut(&id) {
                    block.confirmed = true;
                }
                id
            }
            ReservationStep::Cancel(name) => {
                let id = self.reserved.blocks.of(name, by)?;
                if self.reserved.blocks.is_used(id) {
                    return Err(ReservationRefusal::InUse);
                }
                let view = self.reservation(id).ok_or(ReservationRefusal::NotHere);
                self.drop_block(self.not_before_the_latest(now), id);
                return view;
            }
        };
        self.reservation(id).ok_or(ReservationRefusal::NotHere)
    }

    fn make(
        &mut self,
        now: SimTime,
        wanted: &AdvanceReservation,
        by: Option<&Arc<str>>,
        events: &mut impl EventSink,
    ) -> Result<JobId, ReservationRefusal> {
        let now = self.not_before_the_latest(now);
        let blocks = &self.reserved.blocks;
        let before = match blocks.of(&wanted.name, by) {
            Ok(id) => Some((id, &blocks.by_id[&id])),
            Err(ReservationRefusal::NotHere) => None,
            Err(refusal) => return Err(refusal),
        };
        if let Some((id, block)) = before {
            if block.wanted == *wanted {
                return Ok(id);
            } else if block.all.is_some() || blocks.is_used(id) {
                return Err(ReservationRefusal::InUse);
            }
        }
        let before = before.map(|(id, _)| id);
        let id = before.unwrap_or_else(|| blocks.next_id());
        let spec = wanted.as_job(id);
        let known = self.class_of(&spec);
        let known = known.map_err(|reason| self.never(wanted, reason))?;
        let (window, duration) = (&wanted.window, wanted.duration);
        let may = self.may_make(now, duration, window);
        may.map_err(ReservationRefusal::Forbidden)?;
        // Of what each node has a count of, no part could be given to a job.
        if !wanted.requirements.generic.is_empty() {
            return Err(ReservationRefusal::Forbidden(Forbidden::Generic));
        } else if self.reserved.present() >= MOST_RESERVATIONS {
            return Err(ReservationRefusal::Never(Reason::QueueFull));
        }
        let Known { class, processors } = known;
        let demand = Demand {
            class: class.unwrap_or_else(|| self.know(&spec.components)),
            processors,
            length: duration.max(SHORTEST),
        };
        let slot = before.map(|id| self.jobs.by_id[&id]);
        let taken = slot.and_then(|slot| Some((slot, self.take_reserved(slot)?)));
        let Some(kept) = self.find_reservation(now, &demand, window, events) else {
            let next = self.next_reservation(&demand, window.latest.max(now));
            if let Some((slot, kept)) = taken {
                self.put_reserved(slot, kept);
            }
            return Err(next.map_or(
                ReservationRefusal::Never(Reason::NotReserved),
                ReservationRefusal::NotBefore,
            ));
        };
        if let Some((slot, kept)) = taken {
            self.reserved.opens.remove(&(kept.window.earliest, id));
            self.forget_part(slot);
        }
        let claim = Some(Claim::Advance);
        let slot = self.insert_reserved((now, &spec), demand, duration, claim);
        if window.flexible && window.earliest > now {
            self.reserved.opens.insert((window.earliest, id));
        }
        if let Some(within) = wanted.confirm_within {
            self.ends.push(Reverse((now + within, id, slot)));
        }
        self.put_reserved(slot, kept);
        let block = Block {
            wanted: wanted.clone(),
            confirmed: wanted.confirm_within.is_none(),
            all: None,
            waiting: Vec::new(),
        };
        let blocks = &mut self.reserved.blocks;
        blocks.named.insert(Arc::clone(&wanted.name), id);
        blocks.by_id.insert(id, block);
        self.changed(now);
        Ok(id)
    }

    /// Whether it may be reserved, and has an end wherever in its window it starts: the latest
    /// instant would be none.
    fn may_make(
        &self,
        now: SimTime,
        length: SimDuration,
        window: &StartWindow,
    ) -> Result<(), Forbidden> {
        self.may_reserve(now, length, window)?;
        let length = length.max(SHORTEST);
        let longest = SimTime::MAX.since(SimTime::ZERO.after());
        let (latest, last) = (window.latest, SimTime::ZERO + (longest - length));
        match (length > longest, latest > last) {
            (true, _) => Err(Forbidden::TooLong { length, longest }),
            (_, true) => Err(Forbidden::Endless { latest, last }),
            (false, false) => Ok(()),
        }
    }

    /// Why nodes of this cluster could not hold it, for this reason.
    fn never(&self, wanted: &AdvanceReservation, reason: Reason) -> ReservationRefusal {
        let (processors, resources) = (wanted.processors, &self.config.resources);
        match reason {
            Reason::NeverFits => ReservationRefusal::Forbidden(Forbidden::TooWide {
                processors,
                most: resources.capacity(&wanted.requirements),
            }),
            reason => ReservationRefusal::Never(reason),
        }
    }

    /// It is not kept any more; nobody is in it.
    pub(super) fn drop_block(&mut self, now: SimTime, id: JobId) {
        let slot = self.jobs.by_id[&id];
        let blocks = &mut self.reserved.blocks;
        let Some(block) = blocks.by_id.remove(&id) else {
            return;
        };
        blocks.named.remove(&block.wanted.name);
        match block.all {
            None => {
                self.unreserve(slot);
            }
            Some(all) => {
                blocks.closes.remove(&(all.end, id));
                self.reserved.due.remove(&(all.start, id, slot));
                self.reserved.quota.change(&all, 1);
                if let Some(kept) = self.jobs.get_mut(slot).reserved.take() {
                    self.change_free(now, &kept.demand, &kept.held, kept.held.shares.clone(), 1);
                }
            }
        }
        self.forget_part(slot);
        // Its end is known to nobody who plans by what runs.
        if let Scheduler::Planning { backlog, .. } = &mut self.scheduler {
            backlog.loosen();
        }
        self.changed(now);
    }

    /// From now on these processors of a reservation are free for others (1), or not (-1).
    fn change_free(
        &mut self,
        now: SimTime,
        demand: &Demand,
        held: &Reservation,
        shares: Shares,
        sign: i64,
    ) {
        if let (Scheduler::Planning { calendar, .. }, true) = (&mut self.scheduler, now < held.end)
        {
            let Calendar { layout, free, .. } = &mut **calendar;
            let part = layout.reservation(demand.class, (now, held.end), shares);
            match sign {
                1 => free.release(&part),
                _ => free.reserve(&part),
            }
        }
    }

    /// Takes a job that is for an advance reservation; it waits there.
    ///
    /// # Errors
    /// As [`submit`](Self::submit); [`Reason::NotReserved`] if there is no such reservation,
    /// it is not confirmed, it is for other users, or the job cannot end before it does.
    pub fn submit_inside(
        &mut self,
        now: SimTime,
        job: &JobSpec,
        inside: &ReservationUse,
        events: &mut impl EventSink,
    ) -> Result<(), Reason> {
        let known_here = self.known_here(job);
        let job = known_here.as_ref().unwrap_or(job);
        let now = self.not_before_the_latest(now);
        let Known { class, processors } = self.class_of(job)?;
        let user = inside.user.as_ref();
        let id = self.reserved.blocks.of(&inside.name, user);
        let id = id.map_err(|_| Reason::NotReserved)?;
        let block = &self.reserved.blocks.by_id[&id];
        let kept = self.kept_of(id).ok_or(Reason::NotReserved)?;
        let estimate = job.requested_time.unwrap_or(job.run_time).max(SHORTEST);
        let Scheduler::Planning { calendar, .. } = &self.scheduler else {
            return Err(Reason::NotReserved);
        };
        let all = block.all.as_ref().unwrap_or(&kept.held);
        let length = calendar.layout.length_on(estimate, &all.shares);
        let ends = now.max(all.start) + length <= all.end;
        let fits = class == Some(kept.demand.class) && processors <= block.wanted.processors;
        if !(block.confirmed && ends && fits && job.start_window.is_none()) {
            return Err(Reason::NotReserved);
        }
        let limit = self.config.queue_limit.unwrap_or(MOST_RESERVATIONS);
        let all_inside = self.reserved.blocks.inside.len();
        if block.waiting.len() >= limit || all_inside >= MOST_RESERVATIONS {
            return Err(Reason::QueueFull);
        }
        let demand = Demand {
            processors,
            ..kept.demand
        };
        self.insert_reserved((now, job), demand, estimate, None);
        let blocks = &mut self.reserved.blocks;
        blocks.inside.insert(job.id, (id, None));
        if let Some(block) = blocks.by_id.get_mut(&id) {
            block.waiting.push(job.id);
        }
        events.emit(now, Event::new(EventKind::Queued, job.id, self.config.id));
        self.changed(now);
        Ok(())
    }

    /// A job is not in its reservation any more, if it was in one: what it had there is
    /// reserved again. Answers whether it waited there.
    pub(super) fn leave_block(&mut self, now: SimTime, job: JobId) -> bool {
        let blocks = &mut self.reserved.blocks;
        let Some((id, own)) = blocks.inside.remove(&job) else {
            return false;
        };
        let Some(own) = own else {
            if let Some(block) = blocks.by_id.get_mut(&id) {
                block.waiting.retain(|waiting| *waiting != job);
            }
            return true;
        };
        let slot = self.jobs.by_id[&id];
        if let Some(mut kept) = self.jobs.get_mut(slot).reserved.take() {
            self.change_free(now, &kept.demand, &kept.held, own.clone(), -1);
            merge(&mut kept.held.shares, own);
            self.jobs.get_mut(slot).reserved = Some(kept);
        }
        false
    }

    /// Reservations that have begun, in a pass: jobs start in them. Answers whether others
    /// than these are due.
    pub(super) fn serve_blocks(&mut self, now: SimTime, events: &mut impl EventSink) -> bool {
        let mut others = false;
        for (.., id, slot) in self.reserved.due.clone() {
            let Some(block) = self.reserved.blocks.by_id.get_mut(&id) else {
                others = true;
                continue;
            };
            if !block.confirmed {
                self.drop_block(now, id);
                continue;
            }
            if block.all.is_none()
                && let Some(kept) = &self.jobs.get(slot).reserved
            {
                block.all = Some(kept.held.clone());
                self.reserved.blocks.closes.insert((kept.held.end, id));
            }
            for job in block.waiting.clone() {
                self.start_inside(now, (id, slot), job, events);
            }
        }
        others
    }

    fn start_inside(
        &mut self,
        now: SimTime,
        (id, block): (JobId, Slot),
        job: JobId,
        events: &mut impl EventSink,
    ) {
        let Some(mut kept) = self.jobs.get_mut(block).reserved.take() else {
            return;
        };
        let slot = self.jobs.by_id[&job];
        let (demand, estimate) = (self.jobs.get(slot).demand, self.jobs.get(slot).estimate);
        let end = kept.held.end;
        let own = part(&kept.held.shares, demand.processors).filter(|own| {
            let Scheduler::Planning { calendar, .. } = &self.scheduler else {
                return false;
            };
            let ends = now + calendar.layout.length_on(estimate, own) <= end;
            ends && self.nodes.offers(demand.class, own)
        });
        if let Some(own) = &own {
            self.change_free(now, &kept.demand, &kept.held, own.clone(), 1);
            take_out(&mut kept.held.shares, own);
        }
        self.jobs.get_mut(block).reserved = Some(kept);
        let Some(own) = own else { return };
        let placement = self.nodes.take_planned(demand.class, &own);
        let blocks = &mut self.reserved.blocks;
        if let Some(block) = blocks.by_id.get_mut(&id) {
            block.waiting.retain(|waiting| *waiting != job);
        }
        blocks.inside.insert(job, (id, Some(own)));
        self.start_reserved_on(now, slot, placement, events);
        if let Scheduler::Planning { calendar, .. } = &mut self.scheduler {
            calendar.hold_until(job, end);
        }
    }

    /// Reservations end: jobs that wait in one, and those that run in it longer than
    /// estimated if such jobs are not to, end with it.
    pub(super) fn close_blocks(
        &mut self,
        now: SimTime,
        kills: bool,
        events: &mut impl EventSink,
        ended: &mut Vec<Finished>,
    ) {
        while let Some((end, id)) = self.reserved.blocks.closes.first().copied()
            && end <= now
        {
            let inside = self.reserved.blocks.inside.iter();
            let inside = inside.filter(|(_, (block, _))| *block == id);
            let inside: Vec<(JobId, bool)> = inside
                .map(|(job, (_, own))| (*job, own.is_some()))
                .collect();
            for (job, runs) in inside {
                let failed = Event::new(EventKind::Failed, job, Party::Lrms(self.config.id));
                if !runs {
                    self.remove(now, job);
                    events.emit(now, failed.because(Reason::NotReserved));
                    self.reserved.blocks.turned_out.push(job);
                } else if kills {
                    self.end_overrun(now, job, events, ended);
                } else {
                    self.leave_block(now, job);
                }
            }
            self.drop_block(now, id);
        }
    }

    /// Jobs that have waited in vain for a reservation that is over.
    pub fn take_turned_out(&mut self) -> Vec<JobId> {
        std::mem::take(&mut self.reserved.blocks.turned_out)
    }
}
