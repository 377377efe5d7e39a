//! Processors that are reserved for jobs which are to start within a window: one list of
//! them, in which every question looks at everything. Windows are not flexible, and who
//! runs too long ends (docs/reservations.md).

use super::wishes::estimate;
use super::{RefCluster, RefStart};
use crate::reference::plan::Hold;
use gridrig_core::ids::JobId;
use gridrig_core::job::{JobSpec, Reason, StartWindow};
use gridrig_core::time::{SimDuration, SimTime};

/// What is reserved for a job.
pub(super) struct Kept {
    spec: JobSpec,
    start: SimTime,
    /// Of each component.
    shares: Vec<Vec<u32>>,
    /// Whether it is known to have begun.
    due: bool,
}

/// A job is reserved for as if it took so long at least.
const SHORTEST: SimDuration = SimDuration::from_nanos(1_000_000);

impl RefCluster {
    /// The earliest start in the window at which it fits for as long as it may take.
    pub(super) fn reserve(
        &mut self,
        now: SimTime,
        job: &JobSpec,
        window: &StartWindow,
    ) -> Result<(), Reason> {
        let rules = self.config.reserving.ok_or(Reason::NotReserved)?;
        if window.latest < now {
            return Err(Reason::NotReserved);
        }
        let mut spec = self.as_it_runs_here(job);
        spec.requested_time = Some(estimate(&spec).max(SHORTEST));
        self.by_node |= self.minds_nodes(&spec);
        let all: u64 = self.places().iter().map(|place| place.processors).sum();
        let most = rules.most_share.multiply(all);
        let mut from = window.earliest.max(now);
        let found = loop {
            let plan = self.plan(self.between_passes(now));
            let Some(found) = plan.earliest(&self.wishes(&spec), from) else {
                break None;
            };
            let span = (found.0, found.0 + self.length(&spec));
            match self.next_below(span, u64::from(spec.processors()), most) {
                None => break Some(found),
                Some(SimTime::MAX) => break None,
                Some(next) => from = next,
            }
        };
        let found = found.filter(|(start, _)| *start <= window.latest);
        let (start, shares) = found.ok_or(Reason::NotReserved)?;
        self.kept.push(Kept {
            spec,
            start,
            shares,
            due: false,
        });
        self.arrivals.push(job.id);
        Ok(())
    }

    /// Where more would be reserved than may be at an instant of this time: the next end of
    /// a reservation.
    fn next_below(&self, (from, to): (SimTime, SimTime), more: u64, most: u64) -> Option<SimTime> {
        if more > most {
            return Some(SimTime::MAX);
        }
        let spans = self.kept.iter().map(|kept| {
            let end = kept.start + self.length(&kept.spec);
            (kept.start, end, u64::from(kept.spec.processors()))
        });
        let spans: Vec<(SimTime, SimTime, u64)> = spans.collect();
        let begins = spans.iter().map(|(start, ..)| *start);
        let mut instants: Vec<SimTime> = begins.filter(|at| from < *at && *at < to).collect();
        instants.push(from);
        let reserved = |at: SimTime| {
            let here = spans.iter().filter(|(start, end, _)| *start <= at && at < *end);
            here.map(|(.., processors)| processors).sum::<u64>()
        };
        if instants.into_iter().all(|at| reserved(at) + more <= most) {
            return None;
        }
        let ends = spans.iter().map(|(_, end, _)| *end).filter(|end| *end > from);
        ends.min()
    }

    /// What is taken as far as is known when no pass is under way.
    fn between_passes(&self, now: SimTime) -> Vec<Hold> {
        let mut holds = self.all_holds(now);
        if let Some((spec, head)) = &self.head
            && self.queue.iter().any(|queued| queued.id == spec.id)
            && !self.promises.iter().any(|promise| promise.job == spec.id)
        {
            holds.extend(self.hold(spec, head.start, head.shares.clone()));
        }
        holds
    }

    /// What is reserved, from its start on.
    pub(super) fn kept_holds(&self) -> impl Iterator<Item = Hold> {
        let all = self.kept.iter();
        all.flat_map(|kept| self.hold(&kept.spec, kept.start, kept.shares.clone()))
    }

    /// When the next reservation begins.
    pub(super) fn next_kept(&self) -> Option<SimTime> {
        let ahead = self.kept.iter().filter(|kept| !kept.due);
        ahead.map(|kept| kept.start).min()
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
        let mut ended = Vec::new();
        while let Some(job) = self.in_the_way(now) {
            self.cancel(now, job);
            ended.push(job);
        }
        (ended, begun)
    }

    fn come_due(&mut self, now: SimTime) -> bool {
        let ahead = self.kept.iter_mut().filter(|kept| !kept.due);
        let begun = ahead.filter(|kept| kept.start <= now);
        begun.map(|kept| kept.due = true).count() > 0
    }

    /// The one that should have ended first of those that run where something is missing.
    fn in_the_way(&mut self, now: SimTime) -> Option<JobId> {
        self.sort_kept();
        let kept = std::mem::take(&mut self.kept);
        let (mut taken, mut missing) = (Vec::new(), vec![false; self.places().len()]);
        for one in kept.iter().filter(|one| one.due) {
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
        let late = self.running.iter().filter(|running| running.expected <= now);
        let there = late.filter(|running| {
            let own = running.placement.iter().flat_map(|own| self.by_place(own));
            let places = missing.iter().cycle();
            own.zip(places).any(|(share, missing)| share > 0 && *missing)
        });
        let first = there.min_by_key(|running| (running.expected, running.spec.id));
        first.map(|running| running.spec.id)
    }

    fn sort_kept(&mut self) {
        self.kept.sort_by_key(|kept| (kept.start, kept.spec.id));
    }

    /// Jobs start whose reservations have begun.
    pub(super) fn start_kept(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        self.come_due(now);
        self.sort_kept();
        let due = self.kept.iter().filter(|kept| kept.due).count();
        for _ in 0..due {
            let Kept { spec, shares, .. } = self.kept.remove(0);
            let placement = self.place_as_planned(&spec, &shares);
            let placement = placement.expect("what is reserved is free when it begins");
            self.loosened = true;
            self.queue.push(spec);
            started.push(self.start(now, self.queue.len() - 1, placement));
        }
    }
}
