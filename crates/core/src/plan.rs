//! The jobs that wait, with their estimates, as a discipline that plans ahead
//! sees them.
//!
//! The estimate of a job is its requested time, if the trace has one, else its
//! run time; over mixed speeds it is stretched by the slowest resource that
//! the job may use, since the plan is made before the placement.

use crate::calendar::{Demand, Hold};
use crate::ids::JobId;
use crate::queue::Slot;
use crate::time::{SimDuration, SimTime};
use std::collections::BTreeMap;

/// A job that waits, as a plan sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Place in the order of arrival.
    pub arrival: u64,
    /// Where the cluster has the job.
    pub slot: Slot,
    /// The job.
    pub job: JobId,
    /// Since when it waits.
    pub since: SimTime,
    /// What it wants, for as long as it is expected to take wherever it runs.
    pub demand: Demand,
    /// The estimate at speed 1.0.
    pub(crate) at_full_speed: SimDuration,
}

/// The jobs that wait, and what has changed that a plan may go by.
#[derive(Debug, Default)]
pub struct Backlog {
    waiting: BTreeMap<u64, Waiting>,
    next_arrival: u64,
    /// Changes with every arrival, start, end and removal.
    pub(crate) version: u64,
    /// How often a job has ended before it was promised to, or was removed: a
    /// plan may be tightened when this changes.
    pub(crate) loosened: u64,
    /// How often a running job has given back what it held, or a waiting one
    /// was removed: as long as this stays and no job runs too long, nothing
    /// fits that did not fit before.
    pub(crate) given_back: u64,
    /// How often a job has ended after its expected end.
    pub(crate) overran: u64,
    /// How often nodes have gone down or come up: nothing that was planned before
    /// holds, and jobs that came long ago may wait again.
    pub(crate) node_changes: u64,
    reshuffled: u64,
}

impl Backlog {
    /// The jobs that wait and arrived at `arrival` or after, in order.
    pub fn waiting_from(&self, arrival: u64) -> impl Iterator<Item = &Waiting> {
        self.waiting.range(arrival..).map(|(_, waiting)| waiting)
    }

    /// How many jobs wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether this job waits.
    pub fn waits(&self, arrival: u64) -> bool {
        self.waiting.contains_key(&arrival)
    }

    /// The job of this arrival, if it waits.
    pub fn waiting_job(&self, arrival: u64) -> Option<&Waiting> {
        self.waiting.get(&arrival)
    }

    /// How often a waiting job has left without having run, or one that ran waits again.
    pub fn reshuffled(&self) -> u64 {
        self.reshuffled
    }

    /// A job waits, behind all others; answers its arrival.
    pub(crate) fn arrive(&mut self, job: Waiting) -> u64 {
        let arrival = self.next_arrival;
        self.waiting.insert(arrival, Waiting { arrival, ..job });
        self.next_arrival += 1;
        self.version += 1;
        arrival
    }

    /// A job that does not wait takes a place in the order of arrival.
    pub(crate) fn take_place(&mut self) -> u64 {
        self.next_arrival += 1;
        self.next_arrival - 1
    }

    /// Processors that were reserved are free, or will be at another time.
    pub(crate) fn loosen(&mut self) {
        self.version += 1;
        self.loosened += 1;
        self.given_back += 1;
    }

    /// A waiting job leaves without having run.
    pub(crate) fn withdraw(&mut self, arrival: u64) {
        self.waiting.remove(&arrival);
        self.reshuffled += 1;
        self.loosen();
    }

    /// A waiting job starts.
    pub(crate) fn start(&mut self, arrival: u64) -> Option<Waiting> {
        self.version += 1;
        self.waiting.remove(&arrival)
    }

    /// A job that ran waits again.
    pub(crate) fn put_back(&mut self, job: Waiting) {
        self.waiting.insert(job.arrival, job);
        self.reshuffled += 1;
        self.version += 1;
    }

    /// Nodes go down or come up.
    pub(crate) fn change_nodes(&mut self) {
        self.loosen();
        self.node_changes += 1;
    }

    /// A running job has given back what it held.
    pub(crate) fn end(&mut self, now: SimTime, hold: &Hold) {
        self.version += 1;
        self.given_back += 1;
        self.overran += u64::from(hold.expected < now);
        self.loosened += u64::from(now < hold.promised);
    }
}
