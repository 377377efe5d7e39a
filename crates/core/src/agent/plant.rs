//! What an LRMS runs its jobs on: the model, or somebody else's machines.

use crate::cluster::mirror::{Mirror, Seats, Started};
use crate::cluster::{Cluster, ClusterConfig, Finished, JobStatus};
use crate::event::EventSink;
use crate::ids::{ClusterId, JobId};
use crate::job::{JobSpec, Reason};
use crate::load::LoadSample;
use crate::time::SimTime;

/// An emulated cluster, or the books of a real one.
pub enum Plant {
    /// The model decides.
    Emulated(Box<Cluster>),
    /// A real LRMS decides.
    Mirrored(Box<Mirror>),
}

/// Both alike, for the calls that both have.
macro_rules! either {
    ($plant:expr, $one:ident => $call:expr) => {
        match $plant {
            Plant::Emulated($one) => $call,
            Plant::Mirrored($one) => $call,
        }
    };
}

impl Plant {
    pub(super) fn new(config: ClusterConfig) -> Self {
        match config.is_real {
            false => Plant::Emulated(Box::new(Cluster::new(config))),
            true => Plant::Mirrored(Box::new(Mirror::new(
                config.id,
                config.resources,
                config.queue_limit,
            ))),
        }
    }

    /// Its name in the run.
    #[must_use]
    pub fn id(&self) -> ClusterId {
        either!(self, one => one.id())
    }

    /// Jobs that wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        either!(self, one => one.queued())
    }

    /// Processors in use.
    #[must_use]
    pub fn busy(&self) -> u32 {
        either!(self, one => one.busy())
    }

    /// Jobs that wait or run.
    #[must_use]
    pub fn present(&self) -> usize {
        either!(self, one => one.present())
    }

    /// What it would report at this instant.
    #[must_use]
    pub fn sample(&self, now: SimTime) -> LoadSample {
        either!(self, one => one.sample(now))
    }

    /// The state of a job that waits or runs here.
    #[must_use]
    pub fn query(&self, job: JobId) -> Option<JobStatus> {
        either!(self, one => one.query(job))
    }

    pub(super) fn submit(
        &mut self,
        now: SimTime,
        job: &JobSpec,
        events: &mut impl EventSink,
    ) -> Result<(), Reason> {
        either!(self, one => one.submit(now, job, events))
    }

    pub(super) fn cancel(&mut self, now: SimTime, job: JobId, events: &mut impl EventSink) -> bool {
        either!(self, one => one.cancel(now, job, events))
    }

    pub(super) fn finish(
        &mut self,
        now: SimTime,
        job: JobId,
        events: &mut impl EventSink,
    ) -> Option<Finished> {
        either!(self, one => one.finish(now, job, events))
    }

    /// Only what somebody else runs starts from outside.
    pub(super) fn start(
        &mut self,
        at: SimTime,
        job: JobId,
        seats: &Seats,
        events: &mut impl EventSink,
    ) -> Started {
        match self {
            Plant::Emulated(_) => Started::Unknown,
            Plant::Mirrored(mirror) => mirror.start(at, job, seats, events),
        }
    }

    /// Only what somebody else runs is lost from outside.
    pub(super) fn fail(
        &mut self,
        at: SimTime,
        job: JobId,
        reason: Reason,
        events: &mut impl EventSink,
    ) -> bool {
        match self {
            Plant::Emulated(_) => false,
            Plant::Mirrored(mirror) => mirror.fail(at, job, reason, events),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<SimTime> {
        match self {
            Plant::Emulated(cluster) => cluster.poll_timeout(),
            Plant::Mirrored(_) => None,
        }
    }

    /// When the next running job ends, where the model decides that.
    #[must_use]
    pub fn next_completion(&self) -> Option<SimTime> {
        match self {
            Plant::Emulated(cluster) => cluster.next_completion(),
            Plant::Mirrored(_) => None,
        }
    }

    pub(super) fn handle_completions(
        &mut self,
        now: SimTime,
        events: &mut impl EventSink,
        finished: &mut Vec<Finished>,
    ) {
        if let Plant::Emulated(cluster) = self {
            cluster.handle_completions(now, events, finished);
        }
    }

    pub(super) fn handle_pass(&mut self, now: SimTime, events: &mut impl EventSink) {
        if let Plant::Emulated(cluster) = self {
            cluster.handle_pass(now, events);
        }
    }
}
