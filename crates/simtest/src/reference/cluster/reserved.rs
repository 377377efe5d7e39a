//! Processors that are reserved for jobs which are to start within a window: one list of
//! them, in which every question looks at everything (docs/reservations.md).

use super::nodes::Placement;
use super::wishes::{estimate, holds};
use super::{RefCluster, RefStart};
use crate::reference::plan::Hold;
use gridrig_core::cluster::Overrun;
use gridrig_core::ids::JobId;
use gridrig_core::job::{JobSpec, Reason, StartWindow};
use gridrig_core::time::{SimDuration, SimTime};

/// What is reserved for a job, or for a part of one.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) spec: JobSpec,
    pub(super) window: StartWindow,
    /// Whether it is known that a flexible one may start.
    pub(super) opened: bool,
    pub(super) start: SimTime,
    pub(super) length: SimDuration,
    /// Of each component.
    pub(super) shares: Vec<Vec<u32>>,
    /// Whether it is known to have begun.
    pub(super) due: bool,
    /// When it was to start, if it could not.
    pub(super) late: Option<SimTime>,
    /// Of a part of which nobody has said yet that it begins: when it is given back.
    pub(super) confirm_by: Option<SimTime>,
    pub(super) is_part: bool,
}

impl Kept {
    /// For a job, or a part of one, of so long, not reserved yet.
    pub(super) fn new(now: SimTime, spec: JobSpec, window: StartWindow) -> Self {
        Kept {
            length: estimate(&spec),
            spec,
            window,
            opened: !window.flexible || window.earliest <= now,
            start: now,
            shares: Vec::new(),
            due: false,
            late: None,
            confirm_by: None,
            is_part: false,
        }
    }
}

/// A job is reserved for as if it took so long at least.
pub(super) const SHORTEST: SimDuration = SimDuration::from_nanos(1_000_000);

impl RefCluster {
    /// Takes a job that is to start within a window.
    pub(super) fn reserve(
        &mut self,
        now: SimTime,
        job: &JobSpec,
        window: &StartWindow,
    ) -> Result<(), Reason> {
        if self.config.reserving.is_none() || window.latest < now {
            return Err(Reason::NotReserved);
        }
        let mut spec = self.as_it_runs_here(job);
        spec.requested_time = Some(estimate(&spec).max(SHORTEST));
        self.by_node |= self.minds_nodes(&spec);
        self.make_way(now);
        let new = Kept {
            length: self.length(&spec),
            ..Kept::new(now, spec, *window)
        };
        let found = self.find(now, &new);
        self.kept.push(found.ok_or(Reason::NotReserved)?);
        self.arrivals.push(job.id);
        Ok(())
    }

    pub(super) fn find(&mut self, now: SimTime, new: &Kept) -> Option<Kept> {
        let found = self.within(now, new);
        found.or_else(|| self.move_others(now, new))
    }

    /// As late as the window allows, if it is flexible; else the earliest in it.
    fn within(&self, now: SimTime, kept: &Kept) -> Option<Kept> {
        let last = kept.window.latest;
        let late = kept.window.flexible.then(|| self.earliest(now, kept, last));
        late.flatten()
            .or_else(|| self.earliest(now, kept, kept.window.earliest.max(now)))
    }

    /// The earliest start in the window from then on at which it fits for as long as it may
    /// take.
    pub(super) fn earliest(&self, now: SimTime, kept: &Kept, mut from: SimTime) -> Option<Kept> {
        let all: u64 = self.places().iter().map(|place| place.processors).sum();
        let most = self.config.reserving?.most_share.multiply(all);
        let plan = self.plan(self.holds_and_head(now));
        loop {
            let wishes = self.wishes_for(&kept.spec, kept.length);
            let (start, shares) = plan.earliest(&wishes, from)?;
            let span = (start, start + kept.length);
            match self.next_below(span, u64::from(kept.spec.processors()), most) {
                Some(SimTime::MAX) => return None,
                Some(next) => from = next,
                None if start > kept.window.latest => return None,
                None => {
                    return Some(Kept {
                        start,
                        shares,
                        ..kept.clone()
                    });
                }
            }
        }
    }

    /// Flexible ones are moved within their windows, the one first that has to start first:
    /// all of them, or none.
    fn move_others(&mut self, now: SimTime, new: &Kept) -> Option<Kept> {
        let before = self.kept.clone();
        let is_free = |kept: &Kept| kept.window.flexible && !kept.due;
        let (mut others, stay): (Vec<Kept>, Vec<Kept>) = before.iter().cloned().partition(is_free);
        others.sort_by_key(|kept| (kept.window.latest, kept.spec.id));
        self.loosened |= !others.is_empty();
        self.unplanned |= !others.is_empty();
        self.kept = stay;
        let mut found = self.earliest(now, new, new.window.earliest.max(now));
        for other in found.is_some().then_some(others).into_iter().flatten() {
            let Some(last) = found.take() else { break };
            self.kept.push(last);
            found = self.within(now, &other);
        }
        self.kept.extend(found);
        let is_new = |kept: &Kept| kept.spec.id == new.spec.id;
        let place = self.kept.iter().position(is_new);
        match place.filter(|_| self.kept.len() > before.len()) {
            Some(place) => Some(self.kept.remove(place)),
            None => {
                self.kept = before;
                None
            }
        }
    }

    /// Where more would be reserved than may be at an instant of this time: the next end of
    /// a reservation.
    fn next_below(&self, (from, to): (SimTime, SimTime), more: u64, most: u64) -> Option<SimTime> {
        if more > most {
            return Some(SimTime::MAX);
        }
        let spans = self.kept.iter().map(|kept| {
            let end = kept.start + kept.length;
            (kept.start, end, u64::from(kept.spec.processors()))
        });
        let spans: Vec<(SimTime, SimTime, u64)> = spans.collect();
        let begins = spans.iter().map(|(start, ..)| *start);
        let mut instants: Vec<SimTime> = begins.filter(|at| from < *at && *at < to).collect();
        instants.push(from);
        let reserved = |at: SimTime| {
            let here = spans
                .iter()
                .filter(|(start, end, _)| *start <= at && at < *end);
            here.map(|(.., processors)| processors).sum::<u64>()
        };
        if instants.into_iter().all(|at| reserved(at) + more <= most) {
            return None;
        }
        let ends = spans.iter().map(|(_, end, _)| *end);
        ends.filter(|end| *end > from).min()
    }

    /// No promise is kept between passes that cannot be relied on, since one was missed or
    /// a job overruns.
    pub(super) fn make_way(&mut self, now: SimTime) {
        let waits = |job: JobId| self.queue.iter().any(|queued| queued.id == job);
        self.promises.retain(|promise| waits(promise.job));
        self.head.take_if(|(spec, _)| !waits(spec.id));
        let head = self.head.iter().map(|(_, promise)| promise);
        let mut all = self.promises.iter().chain(head);
        let missed = all.any(|promise| promise.start < now);
        let overrun = self.running.iter().any(|running| running.expected <= now);
        if missed || overrun {
            self.promises.clear();
            self.head = None;
        }
    }

    fn holds_and_head(&self, now: SimTime) -> Vec<Hold> {
        let mut holds = self.all_holds(now);
        let is_listed = |job| self.promises.iter().any(|promise| promise.job == job);
        if let Some((spec, head)) = self.head.as_ref().filter(|(spec, _)| !is_listed(spec.id)) {
            holds.extend(self.hold(spec, head.start, head.shares.clone()));
        }
        holds
    }

    /// What is reserved, from its start on.
    pub(super) fn kept_holds(&self) -> impl Iterator<Item = Hold> {
        let all = self.kept.iter();
        all.flat_map(|kept| {
            let wishes = self.wishes_for(&kept.spec, kept.length);
            let span = (kept.start, kept.start + kept.length);
            holds(&wishes, span, kept.shares.clone())
        })
    }

    /// When the next reservation begins or is given back, or the window of a flexible one
    /// opens.
    pub(super) fn next_kept(&self) -> Option<SimTime> {
        let ahead = self.kept.iter().filter(|kept| !kept.due);
        let closed = self.kept.iter().filter(|kept| !kept.opened);
        let opens = closed.map(|kept| kept.window.earliest);
        let ends = self.kept.iter().filter_map(|kept| kept.confirm_by);
        ahead.map(|kept| kept.start).chain(opens).chain(ends).min()
    }

    /// When the next job has run as long as estimated, while a reservation is late.
    pub(super) fn next_overrun(&self) -> Option<SimTime> {
        let waits = self.kills() && self.kept.iter().any(|kept| kept.due);
        let expected = self.running.iter().map(|running| running.expected);
        expected.filter(|at| waits && *at > self.judged).min()
    }

    fn kills(&self) -> bool {
        self.config.reserving.map(|it| it.overrun) == Some(Overrun::Kill)
    }

    /// A job leaves that waits for its reservation; `false` if none does.
    pub(super) fn unreserve(&mut self, job: JobId) -> bool {
        let before = self.kept.len();
        self.kept.retain(|kept| kept.spec.id != job);
        self.kept.len() < before
    }

    /// Reservations begin: jobs end that run too long in their way. Answers which, and
    /// whether any began.
    pub fn begin_reserved(&mut self, now: SimTime) -> (Vec<JobId>, bool) {
        let begun = self.come_due(now);
        self.judged = now;
        let mut ended = Vec::new();
        while self.kills()
            && let Some(job) = self.in_the_way(now)
        {
            self.cancel(now, job);
            ended.push(job);
        }
        (ended, begun)
    }

    fn come_due(&mut self, now: SimTime) -> bool {
        let mut any = false;
        for kept in &mut self.kept {
            let (due, opened) = (kept.start <= now, kept.window.earliest <= now);
            any |= (due && !kept.due) || (opened && !kept.opened);
            (kept.due, kept.opened) = (due, kept.opened || opened);
        }
        any
    }

    /// The one that should have ended first of those that run where something is missing.
    fn in_the_way(&mut self, now: SimTime) -> Option<JobId> {
        self.sort_kept();
        let kept = std::mem::take(&mut self.kept);
        let (mut taken, mut missing) = (Vec::new(), vec![false; self.places().len()]);
        // What nobody has confirmed is not kept.
        let is_kept = |one: &&Kept| one.due && one.confirm_by.is_none();
        for one in kept.iter().filter(is_kept) {
            match self.place_as_planned(&one.spec, &one.shares) {
                Some(placement) => {
                    self.change(&one.spec, &placement, true);
                    taken.push((&one.spec, placement));
                }
                None => {
                    let shares = one.shares.iter().flat_map(|own| own.iter().enumerate());
                    shares.for_each(|(place, share)| missing[place] |= *share > 0);
                }
            }
        }
        for (spec, placement) in taken {
            self.change(spec, &placement, false);
        }
        self.kept = kept;
        let late = self
            .running
            .iter()
            .filter(|running| running.expected <= now);
        let there = late.filter(|running| {
            let own = running.placement.iter().flat_map(|own| self.by_place(own));
            let places = missing.iter().cycle();
            own.zip(places)
                .any(|(share, missing)| share > 0 && *missing)
        });
        let first = there.min_by_key(|running| (running.expected, running.spec.id));
        first.map(|running| running.spec.id)
    }

    fn sort_kept(&mut self) {
        let turn = |kept: &Kept| kept.late.unwrap_or(kept.start);
        self.kept.sort_by_key(|kept| (turn(kept), kept.spec.id));
    }

    /// A pass begins: jobs start whose reservations have begun.
    pub(super) fn start_kept(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        self.come_due(now);
        if self.is_late() {
            self.make_way(now);
            self.start_late(now, started);
        }
    }

    /// Those start on what is reserved for them, or where there is room, now and again when
    /// it is known what others are promised. Who finds none waits, and no promise holds.
    pub(super) fn start_late(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        self.sort_kept();
        let due = self.kept.iter().filter(|kept| kept.due).count();
        if due > 0 {
            (self.loosened, self.unplanned) = (true, true);
        }
        let mut late = Vec::new();
        for kept in self.kept.drain(..due).collect::<Vec<_>>() {
            match self.place_as_planned(&kept.spec, &kept.shares) {
                _ if kept.confirm_by.is_some() => self.lost.push(kept.spec.id),
                Some(placement) => started.push(self.begin(now, kept.spec, placement)),
                None => late.push(kept),
            }
        }
        for mut kept in late {
            let mut placement = self.fits_now(self.holds_and_head(now), &kept.spec, now);
            if placement.is_none() && kept.start < now && !kept.is_part {
                self.promises.clear();
                self.head = None;
                placement = self.fits_now(self.holds_and_head(now), &kept.spec, now);
            }
            if let Some(placement) = placement {
                started.push(self.begin(now, kept.spec, placement));
                continue;
            }
            // The other parts of a job do not wait for it.
            if kept.is_part {
                self.lost.push(kept.spec.id);
                continue;
            }
            kept.late.get_or_insert(kept.start);
            kept.start = kept.start.max(now);
            self.kept.push(kept);
        }
    }

    /// Whether a job waits though its reservation has begun.
    pub(super) fn is_late(&self) -> bool {
        self.kept.iter().any(|kept| kept.due)
    }

    /// A job starts that was in no queue.
    fn begin(&mut self, now: SimTime, spec: JobSpec, placement: Placement) -> RefStart {
        self.queue.push(spec);
        self.start(now, self.queue.len() - 1, placement)
    }

    /// Those start whose windows have opened, where the queue leaves room; whether any has.
    pub(super) fn start_flexible(&mut self, now: SimTime, started: &mut Vec<RefStart>) -> bool {
        self.sort_kept();
        let before = started.len();
        let open = |kept: &&Kept| kept.window.flexible && !kept.due && kept.window.earliest <= now;
        for open in self.kept.iter().filter(open).cloned().collect::<Vec<_>>() {
            self.loosened = true;
            self.unplanned = true;
            self.unreserve(open.spec.id);
            match self.fits_now(self.holds_and_head(now), &open.spec, now) {
                Some(placement) => started.push(self.begin(now, open.spec, placement)),
                None => self.kept.push(open),
            }
        }
        started.len() > before
    }
}
