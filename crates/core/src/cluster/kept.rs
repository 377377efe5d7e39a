//! What a cluster knows of its reservations.

use super::blocks::Blocks;
use crate::calendar::{Calendar, Demand, Quota, Reservation};
use crate::ids::JobId;
use crate::job::StartWindow;
use crate::queue::Slot;
use crate::reservation::Forbidden;
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration, SimTime};
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use strum::{EnumString, IntoStaticStr, VariantArray};

/// Most jobs for which one cluster keeps processors at a time, and most jobs in its advance
/// reservations.
pub const MOST_RESERVATIONS: usize = 100_000;

/// What becomes of a job that runs longer than estimated on processors that are reserved
/// for another one by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Overrun {
    /// It is ended, so that the reservation is kept.
    #[default]
    Kill,
    /// It runs on, and the other job waits.
    Delay,
}

impl Overrun {
    /// All of them.
    pub const ALL: &'static [Overrun] = <Overrun as VariantArray>::VARIANTS;

    /// The name used in scenarios.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Within which range the load of those who come past the broker is kept (KOALA, 5.5), for
/// whoever submits dummy jobs to the cluster and removes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// Below this share of its processors a dummy job is submitted.
    pub least: Decimal,
    /// Above this share dummy jobs are removed.
    pub most: Decimal,
    /// Time between two looks at it, above 0.
    pub check: SimDuration,
    /// Processors of a dummy job.
    pub processors: NonZeroU32,
    /// How long one runs that is not removed.
    pub length: SimDuration,
}

/// How a cluster reserves processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserving {
    /// What becomes of jobs that are in the way.
    pub overrun: Overrun,
    /// How much of its processors may be reserved at one instant, at most 1.
    pub most_share: Decimal,
    /// How long a reservation may be at most; `None`: any.
    pub longest: Option<SimDuration>,
    /// How far ahead it may start at most; `None`: any.
    pub most_ahead: Option<SimDuration>,
}

impl Reserving {
    /// How many of a cluster's processors may be reserved at one instant.
    pub fn share_of(&self, all: u32) -> u32 {
        let share = self.most_share.multiply(u64::from(all));
        u32::try_from(share).unwrap_or(all)
    }

    /// Whether processors may be reserved for so long, from an instant within a window on.
    pub(super) fn allows(
        &self,
        now: SimTime,
        length: SimDuration,
        window: &StartWindow,
    ) -> Result<(), Forbidden> {
        let (earliest, latest) = (window.earliest, window.latest);
        let longest = self.longest.filter(|longest| length > *longest);
        let last = self.most_ahead.map(|ahead| now + ahead);
        let last = last.filter(|last| earliest > *last);
        match (latest < now, longest, last) {
            (true, ..) => Err(Forbidden::Past { latest, now }),
            (_, Some(longest), _) => Err(Forbidden::TooLong { length, longest }),
            (.., Some(last)) => Err(Forbidden::TooFar { earliest, last }),
            (false, None, None) => Ok(()),
        }
    }
}

/// What a cluster knows of its reservations.
pub(super) struct Reserved {
    /// How many processors may still be reserved when.
    pub quota: Quota,
    /// Jobs by the start of their reservations, until that has come.
    pub ahead: BTreeSet<(SimTime, JobId, Slot)>,
    /// Jobs whose reservations have begun, and that could not start yet.
    pub due: BTreeSet<(SimTime, JobId, Slot)>,
    /// When windows of flexible ones open.
    pub opens: BTreeSet<(SimTime, JobId)>,
    /// Until when jobs that run longer than estimated were looked for in their way, if
    /// these end.
    pub looked: Option<SimTime>,
    /// Those without a job.
    pub blocks: Blocks,
}

/// What is reserved for a job.
pub(super) struct Kept {
    pub window: StartWindow,
    pub demand: Demand,
    pub held: Reservation,
    /// When it was to start, if that has been told to be late.
    pub late: Option<SimTime>,
}

impl Kept {
    /// Its place among others: who is late keeps the one that it had.
    fn turn(&self, (job, slot): (JobId, Slot)) -> (SimTime, JobId, Slot) {
        (self.late.unwrap_or(self.held.start), job, slot)
    }
}

impl Reserved {
    pub fn new(resources: &Resources, reserving: Option<&Reserving>) -> Self {
        let all = resources.processors();
        Reserved {
            quota: Quota::new(reserving.map_or(0, |it| it.share_of(all))),
            ahead: BTreeSet::new(),
            due: BTreeSet::new(),
            opens: BTreeSet::new(),
            looked: reserving
                .filter(|it| it.overrun == Overrun::Kill)
                .map(|_| SimTime::ZERO),
            blocks: Blocks::default(),
        }
    }

    /// How many there are.
    pub fn present(&self) -> usize {
        self.ahead.len() + self.due.len()
    }

    /// When a reservation begins, its window opens, or one without a job ends.
    pub fn next(&self) -> Option<SimTime> {
        let starts = self.ahead.first().map(|(start, ..)| *start);
        let opens = self.opens.first().map(|(opens, _)| *opens);
        let closes = self.blocks.closes.first().map(|(end, _)| *end);
        starts.into_iter().chain(opens).chain(closes).min()
    }

    /// The same, or when the next job of this calendar has run as long as estimated, where a
    /// reservation is late in whose way it may be.
    pub fn next_in(&self, calendar: Option<&Calendar>) -> Option<SimTime> {
        let looked = self.looked.filter(|_| !self.due.is_empty());
        let overrun = looked.and_then(|looked| calendar?.next_expected(looked));
        self.next().into_iter().chain(overrun).min()
    }

    /// Whether there is anything to do now.
    pub fn come_due(&mut self, now: SimTime) -> bool {
        let mut any = false;
        while let Some(first) = self.ahead.first().filter(|(start, ..)| *start <= now) {
            self.due.insert(*first);
            self.ahead.pop_first();
            any = true;
        }
        while self.opens.first().is_some_and(|(opens, _)| *opens <= now) {
            self.opens.pop_first();
            any = true;
        }
        any
    }

    pub fn put(&mut self, job: (JobId, Slot), kept: &Kept, calendar: &mut Calendar) {
        calendar.free.reserve(&kept.held);
        self.quota.change(&kept.held, -1);
        self.ahead.insert(kept.turn(job));
    }

    pub fn take_out(&mut self, job: (JobId, Slot), kept: &Kept, calendar: &mut Calendar) {
        calendar.free.release(&kept.held);
        self.quota.change(&kept.held, 1);
        let key = kept.turn(job);
        if !self.ahead.remove(&key) {
            self.due.remove(&key);
        }
    }

    /// The earliest reservation from an instant on.
    pub fn earliest(
        &self,
        calendar: &mut Calendar,
        demand: &Demand,
        from: SimTime,
    ) -> Option<Reservation> {
        let Calendar { layout, free, .. } = calendar;
        let mut start = from;
        loop {
            let (free_from, shares) = free.earliest(layout, demand, start)?;
            start = self.quota.earliest(demand, free_from)?;
            if start == free_from {
                let span = (start, start + demand.length);
                return Some(layout.reservation(demand.class, span, shares));
            }
        }
    }

    /// A reservation within a window: as late as it allows if it is flexible and there is
    /// room then, else the earliest.
    pub fn within(
        &self,
        calendar: &mut Calendar,
        demand: &Demand,
        (window, now): (&StartWindow, SimTime),
    ) -> Option<Reservation> {
        let earliest = |calendar: &mut Calendar, from| {
            let found = self.earliest(calendar, demand, from);
            found.filter(|found| found.start <= window.latest)
        };
        let last = window.flexible.then(|| earliest(calendar, window.latest));
        last.flatten()
            .or_else(|| earliest(calendar, window.earliest.max(now)))
    }
}
