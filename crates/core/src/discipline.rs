//! Scheduling disciplines of an LRMS, one file each behind one trait.

mod fcfs;
mod first_in_first_fit;

use crate::placement::{ClassId, Nodes};
use crate::queue::{First, Queue};
use crate::time::SimTime;

/// What a discipline may look at when it picks.
pub struct View<'a> {
    /// The instant of the pass.
    pub now: SimTime,
    /// The jobs that wait.
    pub queue: &'a Queue,
    /// The nodes.
    pub nodes: &'a Nodes,
}

impl View<'_> {
    /// Processors a job of this class could have this instant.
    #[must_use]
    pub fn available(&self, class: ClassId) -> u32 {
        self.nodes.available(class)
    }
}

/// Decides which queued job starts next.
pub trait Discipline: Send {
    /// The next job to start at this instant, or `None` when the pass is over.
    /// It is asked again after each start.
    fn next_start(&mut self, view: &View<'_>) -> Option<First>;
}

/// The disciplines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DisciplineKind {
    /// LSAP 3.1: in arrival order, the first job that fits runs.
    FirstInFirstFit,
    /// First come, first served: nobody passes the head of the queue.
    Fcfs,
}

impl DisciplineKind {
    /// All disciplines.
    pub const ALL: [DisciplineKind; 2] = [DisciplineKind::FirstInFirstFit, DisciplineKind::Fcfs];

    /// The name used in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DisciplineKind::FirstInFirstFit => "first-in-first-fit",
            DisciplineKind::Fcfs => "fcfs",
        }
    }

    /// The discipline with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// A fresh discipline of this kind.
    #[must_use]
    pub fn build(self) -> Box<dyn Discipline> {
        match self {
            DisciplineKind::FirstInFirstFit => Box::new(first_in_first_fit::FirstInFirstFit),
            DisciplineKind::Fcfs => Box::new(fcfs::Fcfs),
        }
    }
}
