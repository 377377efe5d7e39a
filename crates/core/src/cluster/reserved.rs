//! Advance reservations: processors that are reserved for jobs which are to start within a
//! window.
//!
//! They stand in the calendar, beside which every discipline plans. A job whose window is
//! fixed starts when its reservation does; a flexible one is reserved as late as its window
//! allows, starts before if the queue leaves room for it, and is moved where another
//! reservation could not be made otherwise.

use super::jobs::{Claim, Known};
use super::kept::{Kept, MOST_RESERVATIONS};
use super::schedule::Scheduler;
use super::{Cluster, Event, EventKind, EventSink, Finished, Job, Slot};
use crate::calendar::{Calendar, Demand, Reservation};
use crate::discipline::Outlook;
use crate::ids::JobId;
use crate::job::{JobSpec, Reason, StartWindow};
use crate::placement::PlacementRun;
use crate::reservation::Forbidden;
use crate::time::{SimDuration, SimTime};
use std::collections::BTreeSet;

/// One that takes no time would seem to overrun in the pass before which it starts.
pub(super) const SHORTEST: SimDuration = SimDuration::from_nanos(1_000_000);

impl Cluster {
    /// Reserves processors for a job, which waits here until then.
    pub(super) fn reserve(
        &mut self,
        now: SimTime,
        job: &JobSpec,
        window: &StartWindow,
        events: &mut impl EventSink,
    ) -> Result<(), Reason> {
        let Known { class, processors } = self.class_of(job)?;
        let estimate = job.requested_time.unwrap_or(job.run_time);
        let estimate = estimate.max(SHORTEST);
        if self.may_reserve(now, estimate, window).is_err() {
            return Err(Reason::NotReserved);
        } else if self.reserved.present() >= MOST_RESERVATIONS {
            return Err(Reason::QueueFull);
        }
        let class = class.unwrap_or_else(|| self.know(&job.components));
        let now = self.not_before_the_latest(now);
        let calendar = self.scheduler.calendar().ok_or(Reason::NotReserved)?;
        let demand = Demand {
            class,
            processors,
            length: calendar.layout.longest(class, estimate),
        };
        let kept = self.find_reservation(now, &demand, window, events);
        let kept = kept.ok_or(Reason::NotReserved)?;
        let start = kept.held.start;
        let slot = self.insert_reserved((now, job), demand, estimate, None);
        if window.flexible && window.earliest > now {
            self.reserved.opens.insert((window.earliest, job.id));
        }
        self.put_reserved(slot, kept);
        events.emit(now, Event::new(EventKind::Queued, job.id, self.config.id));
        let reserved = Event::new(EventKind::Reserved, job.id, self.config.id);
        events.emit(now, reserved.at(start));
        self.changed(now);
        Ok(())
    }

    /// Whether processors are reserved here for so long, from an instant within a window on.
    pub(super) fn may_reserve(
        &self,
        now: SimTime,
        length: SimDuration,
        window: &StartWindow,
    ) -> Result<(), Forbidden> {
        let rules = self.config.reserving.ok_or(Forbidden::Any)?;
        rules.allows(now, length, window)
    }

    /// Processors for such a job, from an instant within a window on.
    pub(super) fn find_reservation(
        &mut self,
        now: SimTime,
        demand: &Demand,
        window: &StartWindow,
        events: &mut impl EventSink,
    ) -> Option<Kept> {
        self.make_way(now);
        let (_, calendar) = self.scheduler.plan()?;
        let found = self.reserved.within(calendar, demand, (window, now));
        let found = found.or_else(|| self.move_others(now, demand, window, events));
        found.map(|held| Kept {
            window: *window,
            demand: *demand,
            held,
            late: None,
        })
    }

    /// A job is here for which something is to be reserved.
    pub(super) fn insert_reserved(
        &mut self,
        (now, job): (SimTime, &JobSpec),
        demand: Demand,
        estimate: SimDuration,
        claim: Option<Claim>,
    ) -> Slot {
        // Its place in the order, should a node fail under it.
        let arrival = match &mut self.scheduler {
            Scheduler::Planning { backlog, .. } => backlog.take_place(),
            _ => 0,
        };
        self.jobs.insert(Job {
            id: job.id,
            demand: Demand {
                length: job.run_time,
                ..demand
            },
            estimate,
            arrival,
            queued: now,
            running: None,
            claim,
            asked: now,
            reserved: None,
        })
    }

    /// The discipline makes a new plan in the next pass, and keeps no more than it needs until
    /// then.
    fn make_way(&mut self, now: SimTime) {
        if let Scheduler::Planning {
            planner,
            backlog,
            calendar,
        } = &mut self.scheduler
        {
            calendar.advance(now);
            planner.make_way(&mut Outlook {
                now,
                nodes: &mut self.nodes,
                backlog,
                calendar,
            });
        }
    }

    pub(super) fn put_reserved(&mut self, slot: Slot, kept: Kept) {
        let job = self.jobs.get_mut(slot);
        if let Scheduler::Planning { calendar, .. } = &mut self.scheduler {
            self.reserved.put((job.id, slot), &kept, calendar);
        }
        job.reserved = Some(Box::new(kept));
    }

    /// A job gives its reservation back.
    pub(super) fn take_reserved(&mut self, slot: Slot) -> Option<Kept> {
        let job = self.jobs.get_mut(slot);
        let kept = job.reserved.take()?;
        if let Some((backlog, calendar)) = self.scheduler.plan() {
            self.reserved.take_out((job.id, slot), &kept, calendar);
            backlog.loosen();
        }
        Some(*kept)
    }

    /// A job leaves that waits for its reservation; `false` if it has none.
    pub(super) fn unreserve(&mut self, slot: Slot) -> bool {
        let job = self.jobs.get(slot).id;
        let kept = self.take_reserved(slot);
        if let Some(kept) = &kept {
            self.reserved.opens.remove(&(kept.window.earliest, job));
        }
        kept.is_some()
    }

    /// A reservation that is found when flexible ones are moved within their windows;
    /// nothing is moved if there is none.
    fn move_others(
        &mut self,
        now: SimTime,
        demand: &Demand,
        window: &StartWindow,
        events: &mut impl EventSink,
    ) -> Option<Reservation> {
        let ahead = self.reserved.ahead.iter();
        let flexible = ahead.filter_map(|(_, id, slot)| {
            let kept = self.jobs.get(*slot).reserved.as_ref()?;
            let latest = kept.window.flexible.then_some(kept.window.latest);
            Some((latest?, *id, *slot))
        });
        let mut flexible: Vec<(SimTime, JobId, Slot)> = flexible.collect();
        flexible.sort_unstable();
        let before = flexible.into_iter();
        let before = before.filter_map(|(.., slot)| Some((slot, self.take_reserved(slot)?)));
        let before: Vec<(Slot, Kept)> = before.collect();
        let (_, calendar) = self.scheduler.plan()?;
        let from = window.earliest.max(now);
        let found = self.reserved.earliest(calendar, demand, from);
        let found = found.filter(|found| found.start <= window.latest);
        let mut moved: Vec<Reservation> = Vec::new();
        let mut taken = found.clone();
        // The one that has to start first is the first to get a place.
        for (_, kept) in &before {
            let Some(last) = taken.take() else {
                break;
            };
            calendar.free.reserve(&last);
            self.reserved.quota.change(&last, -1);
            moved.push(last);
            let within = (&kept.window, now);
            taken = self.reserved.within(calendar, &kept.demand, within);
        }
        for own in &moved {
            calendar.free.release(own);
            self.reserved.quota.change(own, 1);
        }
        moved.extend(taken.take());
        let fits = found.is_some() && moved.len() == 1 + before.len();
        let mut places = moved.into_iter().skip(1);
        for (slot, kept) in before {
            let own = places.next().filter(|_| fits);
            let held = own.unwrap_or_else(|| kept.held.clone());
            let job = self.jobs.get(slot);
            if held.start != kept.held.start && job.claim.is_none() {
                let job = job.id;
                let told = Event::new(EventKind::Reserved, job, self.config.id);
                events.emit(now, told.at(held.start));
            }
            self.put_reserved(slot, Kept { held, ..kept });
        }
        found.filter(|_| fits)
    }

    /// Reservations begin: where jobs that run too long are in their way, and are not to
    /// be, they end, and are appended to `ended`.
    pub fn handle_reservations(
        &mut self,
        now: SimTime,
        events: &mut impl EventSink,
        ended: &mut Vec<Finished>,
    ) {
        if self.reserved.come_due(now) {
            self.next_pass = Some(self.next_pass.map_or(now, |pass| pass.min(now)));
        }
        let kills = self.reserved.looked.is_some();
        self.reserved.looked = self.reserved.looked.map(|_| now);
        self.close_blocks(now, kills, events, ended);
        while kills && let Some(job) = self.in_the_way(now) {
            self.end_overrun(now, job, events, ended);
        }
    }

    /// A job ends that runs longer than estimated on what is reserved.
    pub(super) fn end_overrun(
        &mut self,
        now: SimTime,
        job: JobId,
        events: &mut impl EventSink,
        ended: &mut Vec<Finished>,
    ) {
        let slot = self.jobs.by_id.get(&job).copied();
        if let Some(slot) = slot.filter(|slot| self.jobs.get(*slot).running.is_some()) {
            self.lose(now, slot, Reason::OverranReservation, events, ended);
            self.changed(now);
        }
    }

    /// A job that runs longer than estimated where something is missing of what is reserved
    /// from now on.
    fn in_the_way(&mut self, now: SimTime) -> Option<JobId> {
        let mut missing: BTreeSet<(u16, Option<u32>)> = BTreeSet::new();
        let mut taken = Vec::new();
        for (.., slot) in &self.reserved.due {
            let job = self.jobs.get(*slot);
            // What nobody has confirmed is not kept.
            let Some(kept) = job.reserved.as_ref().filter(|_| job.is_sure()) else {
                continue;
            };
            let (class, shares) = (kept.demand.class, &kept.held.shares);
            match self.nodes.offers(class, shares) {
                true => taken.push((class, self.nodes.take_planned(class, shares))),
                false => missing.extend(shares.iter().map(|it| (it.resource, it.node))),
            }
        }
        for (class, placement) in taken.into_iter().rev() {
            self.nodes.give_back(class, placement);
        }
        let calendar = self.scheduler.calendar()?;
        let is_there = |run: &PlacementRun| {
            let nodes = run.node..run.node + run.nodes;
            let meets = |(resource, node): &(u16, Option<u32>)| {
                *resource == run.resource && node.is_none_or(|node| nodes.contains(&node))
            };
            missing.iter().any(meets)
        };
        calendar.overrunning(now).find_map(|id| {
            let slot = *self.jobs.by_id.get(&id)?;
            let job = self.jobs.get(slot);
            let running = job.running.as_ref().filter(|_| job.claim.is_none())?;
            let is_there = running.placement.iter().any(is_there);
            is_there.then_some(id)
        })
    }

    /// At the beginning of a pass, and again where the discipline has planned beside those
    /// that are late: jobs start whose reservations have begun, the first one first.
    pub(super) fn start_reserved(
        &mut self,
        now: SimTime,
        is_planned: bool,
        events: &mut impl EventSink,
    ) {
        self.reserved.come_due(now);
        if self.reserved.due.is_empty() || !self.serve_blocks(now, events) {
            return;
        }
        if !is_planned {
            self.make_way(now);
        }
        // Each has what was reserved for it, if that is free.
        let due = self.reserved.due.clone().into_iter();
        let late = due.filter_map(|(.., slot)| {
            if self.jobs.get(slot).claim == Some(Claim::Advance) {
                return None;
            }
            let kept = self.take_reserved(slot)?;
            if self.jobs.get(slot).claim == Some(Claim::Reserved) {
                self.lose_part(slot);
                return None;
            }
            let (class, shares) = (kept.demand.class, &kept.held.shares);
            if !self.nodes.offers(class, shares) {
                return Some((slot, kept));
            }
            let placement = self.nodes.take_planned(class, shares);
            self.start_kept(now, (slot, &kept), placement, events);
            None
        });
        let late: Vec<(Slot, Kept)> = late.collect();
        for (slot, kept) in late {
            match self.placement_before_others(now, (slot, &kept)) {
                Some(placement) => self.start_kept(now, (slot, &kept), placement, events),
                // The others do not wait for it.
                None if self.jobs.get(slot).claim.is_some() => self.lose_part(slot),
                None => self.wait_longer(now, slot, kept, events),
            }
        }
    }

    /// What is free for a job that could not start when its reservation began. If others are
    /// in its way that have only been promised something since, nothing of that holds.
    fn placement_before_others(
        &mut self,
        now: SimTime,
        (slot, kept): (Slot, &Kept),
    ) -> Option<Vec<PlacementRun>> {
        let beside = self.placement_now(now, &kept.demand);
        let waits = kept.held.start < now && self.jobs.get(slot).claim.is_none();
        if beside.is_some() || !waits {
            return beside;
        }
        if let Scheduler::Planning { planner, .. } = &mut self.scheduler {
            planner.break_promises();
        }
        self.make_way(now);
        self.placement_now(now, &kept.demand)
    }

    /// A job cannot start when its reservation begins.
    fn wait_longer(
        &mut self,
        now: SimTime,
        slot: Slot,
        mut kept: Kept,
        events: &mut impl EventSink,
    ) {
        if kept.late.is_none() {
            kept.late = Some(kept.held.start);
            let job = self.jobs.get(slot).id;
            let late = Event::new(EventKind::PromiseWithdrawn, job, self.config.id);
            events.emit(now, late);
        }
        if kept.held.start < now {
            (kept.held.start, kept.held.end) = (now, now + kept.demand.length);
        }
        self.put_reserved(slot, kept);
        self.reserved.come_due(now);
    }

    /// At the end of a pass: jobs start whose windows have opened, where the queue leaves
    /// room.
    pub(super) fn start_flexible(&mut self, now: SimTime, events: &mut impl EventSink) {
        let ahead = self.reserved.ahead.iter();
        let open = ahead.filter(|(.., slot)| {
            let kept = self.jobs.get(*slot).reserved.as_ref();
            kept.is_some_and(|kept| kept.window.flexible && kept.window.earliest <= now)
        });
        let open: Vec<Slot> = open.map(|(.., slot)| *slot).collect();
        for slot in open {
            let Some(mut kept) = self.take_reserved(slot) else {
                continue;
            };
            let (id, is_block) = (self.jobs.get(slot).id, self.jobs.get(slot).claim.is_some());
            if is_block && !self.reserved.blocks.is_confirmed(id) {
                self.put_reserved(slot, kept);
                continue;
            }
            match self.placement_now(now, &kept.demand) {
                Some(placement) if is_block => {
                    if let Scheduler::Planning { calendar, .. } = &self.scheduler {
                        let class = kept.demand.class;
                        let span = (now, now + kept.demand.length);
                        let shares = calendar.layout.shares_of(class, &placement);
                        kept.held = calendar.layout.reservation(class, span, shares);
                        self.nodes.give_back(class, placement);
                    }
                    self.reserved.opens.remove(&(kept.window.earliest, id));
                    self.put_reserved(slot, kept);
                    self.next_pass = Some(now);
                }
                Some(placement) => {
                    self.start_kept(now, (slot, &kept), placement, events);
                    // What was kept for it later is free.
                    self.next_pass = Some(now);
                }
                None => self.put_reserved(slot, kept),
            }
        }
    }

    /// The job starts that had this reservation, which it has given back.
    fn start_kept(
        &mut self,
        now: SimTime,
        (slot, kept): (Slot, &Kept),
        placement: Vec<PlacementRun>,
        events: &mut impl EventSink,
    ) {
        let job = self.jobs.get(slot);
        self.reserved.opens.remove(&(kept.window.earliest, job.id));
        self.start_reserved_on(now, slot, placement, events);
    }

    /// A job starts that was in no queue.
    pub(super) fn start_reserved_on(
        &mut self,
        now: SimTime,
        slot: Slot,
        placement: Vec<PlacementRun>,
        events: &mut impl EventSink,
    ) {
        let job = self.jobs.get(slot);
        self.work.queue(job.demand.processors, job.demand.length);
        self.scheduler.put_back(job, slot, &mut self.nodes);
        self.start(now, slot, placement, events);
    }

    /// What is free, if it is free for as long as a job may need it.
    fn placement_now(&mut self, now: SimTime, demand: &Demand) -> Option<Vec<PlacementRun>> {
        let (_, Calendar { layout, free, .. }) = self.scheduler.plan()?;
        let shares = free.fit(layout, demand, now)?;
        let is_free = self.nodes.offers(demand.class, &shares);
        is_free.then(|| self.nodes.take_planned(demand.class, &shares))
    }
}
