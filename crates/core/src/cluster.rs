//! An LRMS: a queue, nodes, and a discipline or, in its place, a real LRMS.

mod advance;
mod blocks;
mod claims;
mod failures;
mod jobs;
mod kept;
mod outside;
mod reserved;
mod run_times;
mod schedule;
mod work;

pub use failures::{NodeChange, OnNodeFailure, PlannedChange};
pub use kept::{Background, MOST_RESERVATIONS, Overrun, Reserving};
pub use outside::{ProcessorIds, Started};
pub use run_times::RunTimes;
pub use work::run_time_on;

use crate::calendar::Demand;
use crate::discipline::{DisciplineKind, OwnDiscipline, SlurmBackfillSettings};
use crate::event::{Event, EventKind, EventSink, Party};
use crate::ids::{ClusterId, JobId};
use crate::job::{JobSpec, Reason};
use crate::load::{LoadHistory, LoadSample, Window};
use crate::placement::{Nodes, PlacementRun};
use crate::queue::Slot;
use crate::resource::Resources;
use crate::time::{SimDuration, SimTime};
use claims::Claims;
use failures::Down;
use jobs::{Claim, Classes, Job, JobTable, Known, Running};
use kept::Reserved;
use schedule::Scheduler;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use work::Work;

/// Most requirements, each other than all before, that jobs of one cluster may have:
/// what is known of them is kept.
pub const MOST_CLASSES: usize = 100_000;

/// How a cluster is set up.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// Its name in the run.
    pub id: ClusterId,
    /// Its nodes.
    pub resources: Resources,
    /// Its scheduling discipline.
    pub discipline: DisciplineKind,
    /// The user's own, in the place of that.
    pub own_discipline: Option<OwnDiscipline>,
    /// What `slurm-backfill` goes by.
    pub slurm: SlurmBackfillSettings,
    /// Zero: a pass follows every change at once. Else passes happen at
    /// multiples of it (LSAP 4.1: 5 ms).
    pub interval: SimDuration,
    /// The most jobs that may wait; a submission beyond is refused.
    pub queue_limit: Option<usize>,
    /// A real LRMS runs the jobs: it decides when they start and how long they
    /// last, and discipline and interval mean nothing.
    pub is_real: bool,
    /// What becomes of a job that runs on a node that fails.
    pub on_node_failure: OnNodeFailure,
    /// When which nodes of it fail and are repaired, sorted by instant; those that
    /// a real LRMS has never do.
    pub node_plan: Arc<[PlannedChange]>,
    /// How long some programs run here, whatever the run times of their jobs.
    pub run_times: Arc<RunTimes>,
    /// How it reserves processors for jobs that ask for it; `None`: it does not.
    pub reserving: Option<Reserving>,
    /// How its background load is controlled, by others: it knows nothing of it.
    pub background: Option<Background>,
}

impl ClusterConfig {
    /// An event-driven cluster without a bound on its queue.
    pub fn new(id: ClusterId, resources: Resources, discipline: DisciplineKind) -> Self {
        ClusterConfig {
            id,
            resources,
            discipline,
            own_discipline: None,
            slurm: SlurmBackfillSettings::default(),
            interval: SimDuration::ZERO,
            queue_limit: None,
            is_real: false,
            on_node_failure: OnNodeFailure::default(),
            node_plan: Arc::default(),
            run_times: Arc::default(),
            reserving: None,
            background: None,
        }
    }

    /// The name of its discipline.
    pub fn discipline_name(&self) -> &str {
        let own = self.own_discipline.as_ref();
        own.map_or(self.discipline.name(), |own| &own.name)
    }
}

/// A job that has just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The job.
    pub job: JobId,
    /// When it started.
    pub start: SimTime,
    /// When it ended.
    pub finish: SimTime,
}

/// What a cluster knows of a job that is with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// Waiting since then.
    Queued {
        /// When it was accepted.
        since: SimTime,
    },
    /// Running.
    Running {
        /// When it began.
        start: SimTime,
        /// On which processors.
        placement: Vec<PlacementRun>,
    },
}

/// An LRMS: an emulated one, or what is known of a real one.
///
/// - Getters: [`resources`](Self::resources), [`sample`](Self::sample),
///   [`query`](Self::query), [`queued`](Self::queued), [`busy`](Self::busy).
/// - Commands: [`submit`](Self::submit), [`cancel`](Self::cancel),
///   [`finish`](Self::finish), [`fail`](Self::fail),
///   [`change_nodes`](Self::change_nodes); of a real LRMS also
///   [`start`](Self::start_outside).
/// - Time: ask [`poll_timeout`](Self::poll_timeout) after any change; when it
///   is due, call [`handle_completions`](Self::handle_completions), then
///   [`handle_node_changes`](Self::handle_node_changes) and, once everything
///   else of the instant has happened, [`handle_pass`](Self::handle_pass). A job of length 0 that starts in the
///   pass ends in a new round of the same instant.
///
/// Time only moves forward: what is told late happens at the instant of the
/// latest change. In a cluster that a real LRMS runs nothing happens by itself.
pub struct Cluster {
    config: ClusterConfig,
    scheduler: Scheduler,
    nodes: Nodes,
    jobs: JobTable,
    classes: Classes,
    /// Ends of running jobs, by (finish, job): ties end in trace order.
    ends: BinaryHeap<Reverse<(SimTime, JobId, Slot)>>,
    next_pass: Option<SimTime>,
    history: LoadHistory,
    work: Work,
    /// Nodes that are down, and why.
    down: BTreeMap<(u16, u32), Down>,
    down_processors: u32,
    /// How many of the planned changes have been made.
    changes_made: usize,
    next_change: Option<SimTime>,
    claims: Claims,
    reserved: Reserved,
}

impl Cluster {
    /// An empty cluster.
    pub fn new(config: ClusterConfig) -> Self {
        Cluster {
            scheduler: Scheduler::new(&config),
            nodes: Nodes::new(&config.resources),
            classes: Classes::default(),
            jobs: JobTable::default(),
            ends: BinaryHeap::new(),
            next_pass: None,
            history: LoadHistory::default(),
            work: Work::default(),
            down: BTreeMap::new(),
            down_processors: 0,
            changes_made: 0,
            next_change: config.node_plan.first().map(|planned| planned.at),
            claims: Claims::default(),
            reserved: Reserved::new(&config.resources, config.reserving.as_ref()),
            config,
        }
    }

    /// Its name in the run.
    pub fn id(&self) -> ClusterId {
        self.config.id
    }

    /// Whether it reserves processors for jobs that ask for it.
    pub fn reserves(&self) -> bool {
        self.config.reserving.is_some()
    }

    /// Its nodes.
    pub fn resources(&self) -> &Resources {
        &self.config.resources
    }

    /// Jobs that wait.
    pub fn queued(&self) -> usize {
        self.work.queued_jobs
    }

    /// Processors in use.
    pub fn busy(&self) -> u32 {
        self.nodes.busy()
    }

    /// Jobs that wait or run.
    pub fn present(&self) -> usize {
        self.jobs.by_id.len() - self.reserved.blocks.len()
    }

    /// What the cluster would report at this instant.
    pub fn sample(&self, now: SimTime) -> LoadSample {
        let now = self.not_before_the_latest(now);
        let [queued_30, busy_30] = self.history.means(now, Window::Seconds30);
        let [queued_300, busy_300] = self.history.means(now, Window::Seconds300);
        LoadSample {
            cluster: self.config.id,
            at: now,
            processors: self.config.resources.processors() - self.down_processors,
            busy: self.nodes.busy(),
            queued: self.work.queued_jobs as u64,
            queued_processors: self.work.queued_processors,
            work_left: self.work.left(now, self.nodes.busy()),
            queued_means: [queued_30, queued_300],
            busy_means: [busy_30, busy_300],
            space: self.nodes.space(),
        }
    }

    /// The state of a job that waits or runs here.
    pub fn query(&self, job: JobId) -> Option<JobStatus> {
        let job = self.jobs.get(*self.jobs.by_id.get(&job)?);
        let running = job.running.as_ref().filter(|_| job.has_begun());
        Some(match running {
            None => JobStatus::Queued { since: job.queued },
            Some(running) => JobStatus::Running {
                start: running.start,
                placement: running.placement.clone(),
            },
        })
    }

    /// Takes a job into the queue; it may start in the next pass.
    ///
    /// # Errors
    /// [`Reason::NeverFits`] for a job that could not run on the empty
    /// cluster, [`Reason::LrmsRefused`] for one of several components where a
    /// real LRMS runs the jobs, [`Reason::QueueFull`] past the bound, or where jobs
    /// with [`MOST_CLASSES`] other requirements have come. Nothing is changed or
    /// told then.
    pub fn submit(
        &mut self,
        now: SimTime,
        job: &JobSpec,
        events: &mut impl EventSink,
    ) -> Result<(), Reason> {
        let known_here = self.known_here(job);
        let job = known_here.as_ref().unwrap_or(job);
        if let Some(window) = &job.start_window {
            return self.reserve(now, job, window, events);
        }
        let now = self.enter(now, job, None)?;
        events.emit(now, Event::new(EventKind::Queued, job.id, self.config.id));
        self.changed(now);
        Ok(())
    }

    /// The job with the run time that it has here, if that is known: as if it had said so
    /// itself.
    fn known_here(&self, job: &JobSpec) -> Option<JobSpec> {
        let run_time = self.config.known_length(job)?;
        Some(JobSpec {
            run_time,
            ..job.clone()
        })
    }

    /// Takes a job, or a claim for a part of one, into the queue; answers since when it
    /// is there.
    fn enter(
        &mut self,
        now: SimTime,
        job: &JobSpec,
        claim: Option<Claim>,
    ) -> Result<SimTime, Reason> {
        let Known { class, processors } = self.class_of(job)?;
        let limit = self.config.queue_limit;
        if limit.is_some_and(|limit| self.queued() >= limit) {
            return Err(Reason::QueueFull);
        }
        // Not before now: what is refused leaves nothing behind.
        let class = class.unwrap_or_else(|| self.know(&job.components));
        let now = self.not_before_the_latest(now);
        let slot = self.jobs.insert(Job {
            id: job.id,
            demand: Demand {
                class,
                processors,
                length: job.run_time,
            },
            estimate: job.requested_time.unwrap_or(job.run_time),
            arrival: 0,
            queued: now,
            running: None,
            claim,
            asked: SimTime::ZERO,
            reserved: None,
        });
        let nodes = &mut self.nodes;
        let arrival = self
            .scheduler
            .arrive(now, &job.into(), (class, slot), nodes);
        self.jobs.get_mut(slot).arrival = arrival;
        self.work.queue(processors, job.run_time);
        Ok(now)
    }

    /// Removes a job that waits or runs; `false` if it is not here (any more).
    pub fn cancel(&mut self, now: SimTime, job: JobId, events: &mut impl EventSink) -> bool {
        let by = Party::Lrms(self.config.id);
        self.drop_job(now, Event::new(EventKind::Cancelled, job, by), job, events)
    }

    /// A job that waits or runs is lost; `false` if it is not here.
    pub fn fail(
        &mut self,
        now: SimTime,
        job: JobId,
        reason: Reason,
        events: &mut impl EventSink,
    ) -> bool {
        let by = Party::Lrms(self.config.id);
        let failed = Event::new(EventKind::Failed, job, by).because(reason);
        self.drop_job(now, failed, job, events)
    }

    fn drop_job(
        &mut self,
        now: SimTime,
        event: Event<'_>,
        job: JobId,
        events: &mut impl EventSink,
    ) -> bool {
        let now = self.not_before_the_latest(now);
        let holds = self.holds_claim(job);
        let is_here = self.remove(now, job);
        if is_here {
            events.emit(now, event);
            self.tell_claim_ended(now, job, holds, events);
            self.changed(now);
        }
        is_here
    }

    /// Ends a running job now: something outside the model has decided its end,
    /// such as a real LRMS, the process it stands for or a time limit. `None` if
    /// it does not run here.
    pub fn finish(
        &mut self,
        now: SimTime,
        job: JobId,
        events: &mut impl EventSink,
    ) -> Option<Finished> {
        let slot = *self.jobs.by_id.get(&job)?;
        let start = self.jobs.get(slot).running.as_ref()?.start;
        let finish = self.not_before_the_latest(now);
        let finished = Event::new(EventKind::Finished, job, self.config.id);
        self.drop_job(finish, finished, job, events);
        Some(Finished { job, start, finish })
    }

    /// The instant at which a change is told.
    fn not_before_the_latest(&self, now: SimTime) -> SimTime {
        now.max(self.history.latest())
    }

    /// When something happens here by itself: a completion, a planned change of
    /// nodes or a pass.
    pub fn poll_timeout(&self) -> Option<SimTime> {
        earlier(self.next_completion(), self.next_pass)
    }

    /// When the next running job ends or is ended, or nodes fail or are repaired as planned.
    pub fn next_completion(&self) -> Option<SimTime> {
        let end = self.ends.peek().map(|Reverse((finish, _, _))| *finish);
        let reserved = self.reserved.next_in(self.scheduler.calendar());
        earlier(end, earlier(self.next_change, reserved))
    }

    /// Whether something happens here by itself beside changes of nodes.
    pub fn is_at_work(&self) -> bool {
        !self.ends.is_empty() || self.next_pass.is_some() || self.reserved.next().is_some()
    }

    /// When the next scheduling pass is due.
    pub fn next_pass(&self) -> Option<SimTime> {
        self.next_pass
    }

    /// Ends the jobs whose time has come and appends them to `finished`.
    pub fn handle_completions(
        &mut self,
        now: SimTime,
        events: &mut impl EventSink,
        finished: &mut Vec<Finished>,
    ) {
        while let Some(&Reverse((finish, job, slot))) = self.ends.peek() {
            if finish > now {
                break;
            }
            self.ends.pop();
            if self.jobs.get(slot).claim.is_some() {
                self.claim_is_due(finish, slot, events, finished);
                continue;
            }
            let known = self.jobs.remove(slot);
            self.scheduler.end(finish, job);
            let running = known.running.expect("only running jobs have an end");
            let start = running.start;
            self.nodes.give_back(known.demand.class, running.placement);
            self.work.end(known.demand.processors, finish);
            self.leave_block(finish, job);
            let ended = Event::new(EventKind::Finished, job, self.config.id);
            events.emit(finish, ended);
            finished.push(Finished { job, start, finish });
            self.changed(finish);
        }
    }

    fn remove(&mut self, now: SimTime, job: JobId) -> bool {
        let Some(&slot) = self.jobs.by_id.get(&job) else {
            return false;
        };
        let was_reserved = self.leave_block(now, job) || self.unreserve(slot);
        let known = self.jobs.remove(slot);
        let Demand {
            class,
            processors,
            length,
        } = known.demand;
        match known.running {
            None if was_reserved => {
                self.ends.retain(|Reverse((_, _, ending))| *ending != slot);
            }
            None => {
                self.scheduler.withdraw(&known, &mut self.nodes);
                self.work.unqueue(processors, length);
            }
            Some(running) => {
                self.scheduler.end(now, job);
                self.nodes.give_back(class, running.placement);
                self.work.end(processors, running.finish);
                self.ends.retain(|Reverse((_, _, ending))| *ending != slot);
            }
        }
        true
    }

    fn changed(&mut self, now: SimTime) {
        self.record(now);
        if self.config.is_real {
            return;
        }
        let due = now.next_on_grid(SimDuration::ZERO, self.config.interval);
        // A pass that a plan wants later does not hold this one up.
        self.next_pass = Some(self.next_pass.map_or(due, |pass| pass.min(due)));
    }

    fn record(&mut self, now: SimTime) {
        let busy = u64::from(self.nodes.busy());
        self.history.record(now, self.queued() as u64, busy);
    }
}

/// The earlier of two instants, of which each may be none.
pub(crate) fn earlier(one: Option<SimTime>, other: Option<SimTime>) -> Option<SimTime> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
