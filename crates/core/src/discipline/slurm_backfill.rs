//! Backfilling as Slurm's `sched/backfill` plug-in does it.

use super::reservations::Reservations;
use super::{Outlook, PlannedStart, Planner, Promises};
use crate::calendar::{Calendar, Free, Reservation};
use crate::plan::Waiting;
use crate::time::{SimDuration, SimTime};

/// Slurm's own names (`SchedulerParameters` in slurm.conf), in run time: no
/// scale divides them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlurmBackfillSettings {
    /// Time between plans; above 0.
    pub bf_interval: SimDuration,
    /// Reservations begin and end on multiples of this; at 0 they are exact,
    /// and are kept.
    pub bf_resolution: SimDuration,
    /// A job that could start only later than this gets no reservation.
    pub bf_window: SimDuration,
    /// Jobs that one plan looks at.
    pub bf_max_job_test: u32,
}

impl Default for SlurmBackfillSettings {
    /// The defaults of Slurm 22.05: 30 s, 60 s, one day, 500 jobs.
    fn default() -> Self {
        SlurmBackfillSettings {
            bf_interval: SimDuration::from_secs(30),
            bf_resolution: SimDuration::from_secs(60),
            bf_window: SimDuration::from_secs(86_400),
            bf_max_job_test: 500,
        }
    }
}

/// At each change, jobs start in arrival order until one does not fit. At
/// multiples of `bf_interval`, if anything has changed since the last plan, all
/// waiting jobs are planned in arrival order, those that can start now do, and
/// the plan is forgotten. Reservations are rounded down to `bf_resolution` as
/// Slurm rounds them.
/// Slurm's are lists of nodes: one that begins early keeps its idle nodes from
/// others, and no other's.
///
/// With a `bf_resolution` of 0 nothing is rounded and a plan promises: what was
/// reserved stays so until the job starts, a plan can only move it forward, and
/// a job starts when its reservation does, between plans too.
pub struct SlurmBackfill {
    settings: SlurmBackfillSettings,
    /// What a plan leaves free that is forgotten afterwards.
    scratch: Free,
    /// With a `bf_resolution` of 0.
    reservations: Reservations,
    /// Jobs before this arrival have been looked at.
    next: u64,
    fifo_over: bool,
    /// How many more jobs this pass may plan for.
    plans: u32,
    /// What the backlog said when the last plan began.
    seen: Option<u64>,
}

impl SlurmBackfill {
    pub(super) fn new(settings: SlurmBackfillSettings) -> Self {
        SlurmBackfill {
            settings,
            scratch: Free::default(),
            reservations: Reservations::default(),
            next: 0,
            fifo_over: false,
            plans: 0,
            seen: None,
        }
    }

    /// The first instant from this one on at which a plan may be made.
    fn tick(&self, from: SimTime) -> SimTime {
        from.next_on_grid(SimDuration::ZERO, self.settings.bf_interval)
    }

    fn is_exact(&self) -> bool {
        self.settings.bf_resolution == SimDuration::ZERO
    }

    /// The job starts now if the plan has room for it.
    fn start_now(&mut self, outlook: &mut Outlook<'_>, job: &Waiting) -> Option<PlannedStart> {
        if !self.fifo_over || self.is_exact() {
            return outlook.fit_now(None, job);
        }
        // What is rounded does not get in the way of what is reserved in advance.
        outlook.fit_now(None, job)?;
        let mut start = outlook.fit_now(Some(&mut self.scratch), job)?;
        let span = (outlook.now, self.floor(outlook.now + job.demand.length));
        let layout = &outlook.calendar.layout;
        let held = layout.reservation(job.demand.class, span, start.shares);
        self.scratch.reserve(&held);
        start.shares = held.shares;
        Some(start)
    }

    /// The job's place in the plan.
    fn reserve(&mut self, outlook: &mut Outlook<'_>, job: &Waiting, before: Option<Reservation>) {
        let (now, length) = (outlook.now, job.demand.length);
        let is_exact = self.is_exact();
        let Calendar { layout, free, .. } = &mut *outlook.calendar;
        let free = if is_exact { free } else { &mut self.scratch };
        let found = free.earliest(layout, &job.demand, now.after());
        let found = found.filter(|(start, _)| *start <= now + self.settings.bf_window);
        let found = found.map(|(start, shares)| {
            let span = (start, start + length);
            layout.reservation(job.demand.class, span, shares)
        });
        if is_exact {
            self.reservations.put_sooner(outlook, job, found, before);
        } else if let Some(mut held) = found {
            // Held for one step at least: Slurm knows no shorter time limits.
            let early = self.floor(held.start);
            let fits = held.end;
            held.end = self.floor(fits).max(early + self.settings.bf_resolution);
            self.scratch.reserve_early(&held, fits, early.max(now));
        }
    }

    fn floor(&self, at: SimTime) -> SimTime {
        match self.settings.bf_resolution.as_nanos() {
            0 => at,
            step => SimTime::from_nanos(at.as_nanos() / step * step),
        }
    }
}

impl Planner for SlurmBackfill {
    fn begin(&mut self, outlook: &mut Outlook<'_>) {
        self.reservations.review(outlook);
        self.next = 0;
        self.fifo_over = false;
        self.plans = 0;
        let version = Some(outlook.backlog.version);
        if self.tick(outlook.now) == outlook.now && self.seen != version {
            self.seen = version;
            self.plans = self.settings.bf_max_job_test;
        }
    }

    fn next_start(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart> {
        for job in outlook.backlog.waiting_from(self.next) {
            if self.fifo_over && self.plans == 0 {
                break;
            }
            let before = self.reservations.take_out(outlook, job);
            if !self.fifo_over {
                if let Some(start) = self.start_now(outlook, job) {
                    self.next = job.arrival + 1;
                    return Some(start);
                }
                self.fifo_over = true;
                if self.plans > 0 && !self.is_exact() {
                    self.scratch.copy(&outlook.calendar.free);
                }
            }
            if self.plans == 0 {
                if let Some(held) = before {
                    self.reservations.put(outlook, job, held);
                }
                break;
            }
            self.plans -= 1;
            self.next = job.arrival + 1;
            if let Some(start) = self.start_now(outlook, job) {
                return Some(start);
            }
            self.reserve(outlook, job, before);
        }
        self.fifo_over = true;
        self.reservations.due(outlook, 0)
    }

    fn make_way(&mut self, outlook: &mut Outlook<'_>) {
        self.reservations.make_way(outlook);
    }

    fn promises(&mut self) -> &mut Promises {
        self.reservations.promises()
    }

    fn wakeup(&self, outlook: &Outlook<'_>) -> Option<SimTime> {
        outlook.backlog.waiting_from(0).next()?;
        let changed = self.seen != Some(outlook.backlog.version);
        let plan = changed.then(|| self.tick(outlook.now.after()));
        let reserved = self.reservations.next_start(outlook);
        plan.into_iter().chain(reserved).min()
    }
}
