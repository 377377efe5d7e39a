//! Who looks on while a scenario runs, and may stop it.

use super::{Cell, Load, PolicyRun};
use crate::realtime::Listener;
use crate::scenario::{Replication, Scenario};
use gridrig_core::decision::Decision;
use gridrig_core::event::{Event, EventSink};
use gridrig_core::grid::Grid;
use gridrig_core::ids::JobId;
use gridrig_core::policy::PolicySpec;
use gridrig_core::time::SimTime;
use gridrig_results::EventLog;

/// Events between two looks at the clock.
const EVENTS: u64 = 4096;

/// Is told what the runs of a scenario do.
pub trait Observer: Send + Sync {
    /// Every policy is about to run on every replication.
    fn begin(&self, scenario: &Scenario, replications: &[Replication]);

    /// One policy begins on one replication; `position` counts the runs.
    fn start<'a>(&'a self, position: usize, start: &Start<'a>) -> Box<dyn Observation + 'a>;

    /// A run is over and written.
    fn finish(&self, position: usize, run: &PolicyRun);

    /// Whether it wants the runs to stop.
    fn stop_requested(&self) -> bool;
}

/// What a run is, as far as an observer needs to know.
pub struct Start<'a> {
    /// Its scenario.
    pub scenario: &'a Scenario,
    /// Its grid.
    pub grid: &'a Grid,
    /// Its policy.
    pub policy: Option<&'a PolicySpec>,
    /// Its jobs.
    pub load: &'a Load,
}

impl<'a> Start<'a> {
    /// The run of this cell.
    pub(super) fn of(cell: &'a Cell, grid: &'a Grid, load: &'a Load) -> Self {
        Start {
            scenario: &cell.replication.scenario,
            grid,
            policy: cell.contender.ours.as_ref(),
            load,
        }
    }

    /// When it stops although jobs still wait or run.
    pub(super) fn stop_at(&self) -> Option<SimTime> {
        self.load.stop_at(&self.scenario.measure)
    }
}

/// One run under an observer's eyes. A run in virtual time tells it each event;
/// one in real time gives it listener, and lets it listen a few times a second.
pub trait Observation {
    /// This has happened.
    fn emit(&mut self, at: SimTime, event: Event<'_>);

    /// This is all that has happened so far: there is time to show it.
    fn look(&mut self, log: &EventLog);

    /// A run in real time is heard through these.
    fn listen(&mut self, listener: &Listener);

    /// Takes in what there is to hear, and shows how things are at `now`.
    fn hear(&mut self, now: SimTime);

    /// The run is over, at `now`; `log` is what happened in virtual time.
    fn end(self: Box<Self>, log: Option<&EventLog>, now: SimTime);
}

/// An event log that is observed while it grows.
pub(super) struct Observed<'l, 'o> {
    log: &'l mut EventLog,
    observation: Box<dyn Observation + 'o>,
    /// Events until the next look at the clock.
    left: u64,
}

impl<'l, 'o> Observed<'l, 'o> {
    /// Keeps events in `log` and tells of them.
    pub(super) fn new(log: &'l mut EventLog, observation: Box<dyn Observation + 'o>) -> Self {
        Observed {
            log,
            observation,
            left: EVENTS,
        }
    }

    /// The run is over.
    pub(super) fn end(self) {
        self.observation.end(Some(self.log), self.log.end());
    }

    #[cold]
    fn look(&mut self) {
        self.left = EVENTS;
        self.observation.look(self.log);
    }
}

impl EventSink for Observed<'_, '_> {
    #[inline]
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.log.emit(at, event);
        // It would pass these over; no call is cheaper still.
        if event.job.is_some() {
            self.observation.emit(at, event);
        }
        self.left -= 1;
        if self.left == 0 {
            self.look();
        }
    }

    fn wants_decision(&self, job: JobId) -> bool {
        self.log.wants_decision(job)
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        self.log.decided(at, decision);
    }
}
