//! What is measured: part of the scenario, never implied.

use crate::value::{Name, Named, Text, name_of, named};
use gridrig_core::time::{SimDuration, SimTime};

/// When a run stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// When every job has ended.
    #[default]
    Drained,
    /// With the last arrival, leaving the rest unfinished. Mean wait
    /// times are then too low, and the summary warns of it.
    LastArrival,
}

named!(Stop, "a rule to stop", "drained" => Stop::Drained, "last-arrival" => Stop::LastArrival);

impl Stop {
    /// The name used in scenarios and results.
    pub fn name(self) -> &'static str {
        name_of(self)
    }

    /// The rule with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Name::read(name).ok().map(|Name(stop)| stop)
    }
}

/// The `[measure]` of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Jobs submitted from this instant on are measured, and so is the
    /// utilization.
    pub from: SimTime,
    /// Jobs submitted up to and including this instant; `None` is the last
    /// finish of the run.
    pub until: Option<SimTime>,
    /// When the run stops.
    pub stop: Stop,
    /// Bound of the bounded slowdown, in the time of the run.
    pub tau: SimDuration,
    /// Whether jobs that enter at a cluster, past any broker, are measured.
    pub direct: bool,
}

impl Default for Measure {
    /// Everything, until drained, with a bound of 10 s.
    fn default() -> Self {
        Measure {
            from: SimTime::ZERO,
            until: None,
            stop: Stop::Drained,
            tau: SimDuration::from_secs(10),
            direct: true,
        }
    }
}

impl Measure {
    /// Whether a job submitted at that instant is measured.
    pub fn covers(&self, submit: SimTime) -> bool {
        submit >= self.from && self.until.is_none_or(|until| submit <= until)
    }

    /// The same of one of which it is known whether it entered at a cluster.
    pub fn measures(&self, submit: Option<SimTime>, direct: bool) -> bool {
        (self.direct || !direct) && submit.is_some_and(|submit| self.covers(submit))
    }
}
