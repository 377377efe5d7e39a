//! Backfilling as Slurm's `sched/backfill` plug-in does it.

use super::{Outlook, PlannedStart, Planner};
use crate::plan::{Profile, Waiting};
use crate::time::{SimDuration, SimTime};

/// Slurm's own names (`SchedulerParameters` in slurm.conf), in run time: no
/// scale divides them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlurmBackfillSettings {
    /// Time between plans; above 0.
    pub bf_interval: SimDuration,
    /// Reservations begin and end on multiples of this.
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
/// Slurm rounds them, so that jobs much shorter than that are not protected.
/// Slurm's are lists of nodes: one that begins early keeps its idle nodes from
/// others, and no other's.
pub struct SlurmBackfill {
    settings: SlurmBackfillSettings,
    profile: Profile,
    /// Jobs before this arrival have been looked at.
    next: u64,
    fifo_over: bool,
    /// How many more jobs this pass may plan for.
    plans: u32,
    /// What the book said when the last plan began.
    seen: Option<u64>,
}

impl SlurmBackfill {
    pub(super) fn new(settings: SlurmBackfillSettings) -> Self {
        SlurmBackfill {
            settings,
            profile: Profile::default(),
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

    /// The job's turn in the plan: what it gets now, or a reservation.
    fn plan(&mut self, outlook: &Outlook<'_>, job: &Waiting) -> Option<PlannedStart> {
        let (book, now) = (outlook.book, outlook.now);
        if let Some(shares) = outlook.fit_now(&mut self.profile, job) {
            let span = (now, self.floor(now + job.estimate));
            self.profile.reserve(book, job, span, &shares);
            return Some(PlannedStart::of(job, shares));
        }
        let (start, shares) = self.profile.earliest(book, job, now.after())?;
        if start <= now + self.settings.bf_window {
            let early = self.floor(start).max(now);
            let span = (start, self.floor(start + job.estimate));
            self.profile.reserve_early(book, job, early, span, &shares);
        }
        None
    }

    fn floor(&self, at: SimTime) -> SimTime {
        match self.settings.bf_resolution.as_nanos() {
            0 => at,
            step => SimTime::from_nanos(at.as_nanos() / step * step),
        }
    }
}

impl Planner for SlurmBackfill {
    fn begin(&mut self, outlook: &Outlook<'_>) {
        self.profile = outlook.book.profile(outlook.now);
        self.next = 0;
        self.fifo_over = false;
        self.plans = 0;
        let version = Some(outlook.book.version());
        if self.tick(outlook.now) == outlook.now && self.seen != version {
            self.seen = version;
            self.plans = self.settings.bf_max_job_test;
        }
    }

    fn next_start(&mut self, outlook: &Outlook<'_>) -> Option<PlannedStart> {
        for job in outlook.book.waiting_from(self.next) {
            if !self.fifo_over {
                // Nothing is reserved yet, so that what is free now stays free.
                if let Some(shares) = outlook.fit_now(&mut self.profile, job) {
                    self.next = job.arrival + 1;
                    let span = outlook.book.span_from(outlook.now, job, &shares);
                    self.profile.reserve(outlook.book, job, span, &shares);
                    return Some(PlannedStart::of(job, shares));
                }
                self.fifo_over = true;
            }
            if self.plans == 0 {
                break;
            }
            self.plans -= 1;
            self.next = job.arrival + 1;
            if let Some(start) = self.plan(outlook, job) {
                return Some(start);
            }
        }
        None
    }

    fn wakeup(&self, outlook: &Outlook<'_>) -> Option<SimTime> {
        outlook.book.waiting_from(0).next()?;
        let changed = self.seen != Some(outlook.book.version());
        changed.then(|| self.tick(outlook.now.after()))
    }
}
