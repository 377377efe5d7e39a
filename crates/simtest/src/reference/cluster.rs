//! The reference cluster (design 4).

mod disciplines;
mod failures;
mod load;
mod nodes;
mod parts;
mod promises;
mod reserved;
mod wishes;

pub use failures::RefLoss;
pub use load::{RefLoad, RefMean};

use crate::trail::Share;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::ids::JobId;
use gridrig_core::job::{JobSpec, Reason};
use gridrig_core::time::{SimDuration, SimTime};
use nodes::{Node, Placement};
use reserved::Kept;
use wishes::estimate;

/// A job that a pass has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefStart {
    /// The job.
    pub job: JobId,
    /// On which processors.
    pub placement: Vec<Share>,
    /// When it will end.
    pub finish: SimTime,
}

struct Running {
    spec: JobSpec,
    placement: Placement,
    start: SimTime,
    finish: SimTime,
    /// When it would end by its estimate.
    expected: SimTime,
    /// When it was promised to end, before it was known where it runs.
    promised: SimTime,
}

/// A reservation that is kept from pass to pass.
#[derive(Clone)]
struct Promise {
    job: JobId,
    start: SimTime,
    /// Of each component.
    shares: Vec<Vec<u32>>,
}

/// A cluster kept as plain lists.
pub struct RefCluster {
    config: ClusterConfig,
    nodes: Vec<Node>,
    queue: Vec<JobSpec>,
    /// All that were ever taken in, in order.
    arrivals: Vec<JobId>,
    /// How many planned changes of nodes have happened.
    changes: usize,
    running: Vec<Running>,
    /// Every change of (queued jobs, busy processors) since the start.
    history: Vec<(SimTime, u64, u64)>,
    promises: Vec<Promise>,
    /// The head of the queue and its promise under EASY, from pass to pass.
    head: Option<(JobSpec, Promise)>,
    /// What is reserved for jobs that are to start within a window.
    kept: Vec<Kept>,
    /// Jobs of which parts had reservations that are lost, and that is not told yet.
    lost: Vec<JobId>,
    /// When it was last looked who is in their way.
    judged: SimTime,
    /// Whether these say which nodes.
    promises_by_node: bool,
    /// What each job was promised first: made when, to whom, for when.
    first_promises: Vec<(SimTime, JobId, SimTime)>,
    /// Whether plans are made by node: a job that minds the memory of nodes or
    /// what else they have has come.
    by_node: bool,
    /// Whether a job ended before its promise or was removed since the last
    /// pass.
    loosened: bool,
    /// Whether anything happened since `slurm-backfill` last planned.
    unplanned: bool,
    /// When a pass is due though nothing changes, as of the last one.
    wakeup: Option<SimTime>,
}

impl RefCluster {
    /// An empty cluster.
    pub fn new(config: ClusterConfig) -> Self {
        let mut nodes = Vec::new();
        for (resource, group) in (0u16..).zip(config.resources.groups()) {
            for number in 0..group.count {
                nodes.push(Node {
                    resource,
                    number,
                    free: group.cpu_count,
                    down: 0,
                    memory_left_kib: group.memory_mib.map(|mib| mib.saturating_mul(1024)),
                    generic_left: nodes::counts(&group.generic),
                });
            }
        }
        // Where reservations may be of nodes, they always are.
        let by_node = config.reserving.is_some() && config.resources.may_count_by_node();
        RefCluster {
            config,
            nodes,
            queue: Vec::new(),
            arrivals: Vec::new(),
            changes: 0,
            running: Vec::new(),
            history: Vec::new(),
            promises: Vec::new(),
            head: None,
            kept: Vec::new(),
            lost: Vec::new(),
            judged: SimTime::ZERO,
            promises_by_node: false,
            first_promises: Vec::new(),
            by_node,
            loosened: false,
            unplanned: false,
            wakeup: None,
        }
    }

    /// Takes a job into the queue.
    ///
    /// # Errors
    /// The reason for which it is turned away.
    pub fn submit(&mut self, now: SimTime, job: &JobSpec) -> Result<(), Reason> {
        // Whether or not it is spread over nodes where it reserves.
        let mut config = self.config.clone();
        config.reserving = None;
        let empty = RefCluster::new(config);
        if job.components.iter().any(|one| one.processors == 0) || empty.place(job).is_none() {
            return Err(Reason::NeverFits);
        }
        if let Some(window) = &job.start_window {
            return self.reserve(now, job, window);
        }
        let limit = self.config.queue_limit;
        if limit.is_some_and(|limit| self.queue.len() >= limit) {
            return Err(Reason::QueueFull);
        }
        self.queue.push(self.as_it_runs_here(job));
        self.arrivals.push(job.id);
        self.by_node |= self.minds_nodes(job);
        self.unplanned = true;
        self.note(now);
        Ok(())
    }

    /// The job with the run time that its program is known to have here.
    fn as_it_runs_here(&self, job: &JobSpec) -> JobSpec {
        let mut job = job.clone();
        let Some(times) = job
            .executable
            .and_then(|it| self.config.run_times.0.get(&it))
        else {
            return job;
        };
        let size = job.processors();
        let known: Vec<(u32, u64)> = times.iter().map(|(n, t)| (n.get(), t.as_nanos())).collect();
        let (mut time, last) = (known[0].1, known[known.len() - 1]);
        for pair in known.windows(2) {
            let ((low, from), (high, to)) = (pair[0], pair[1]);
            if (low..=high).contains(&size) {
                let parts = i128::from(high - low);
                let sum = i128::from(from) * parts
                    + (i128::from(to) - i128::from(from)) * i128::from(size - low);
                time = (sum / parts) as u64;
            }
        }
        if size >= last.0 {
            time = last.1;
        }
        // The shortest that lasts so long.
        let speed = self.config.resources.groups()[0].speed;
        let mut length = speed.multiply(time);
        while speed.divide(length) < time {
            length += 1;
        }
        job.run_time = SimDuration::from_nanos(length);
        job
    }

    /// Removes a job that waits or runs; whether it was here.
    pub fn cancel(&mut self, now: SimTime, job: JobId) -> bool {
        if let Some(index) = self.queue.iter().position(|queued| queued.id == job) {
            self.queue.remove(index);
            self.loosened = true;
        } else if let Some(index) = self.running.iter().position(|r| r.spec.id == job) {
            self.end(now, index);
        } else if self.unreserve(job) {
            self.loosened = true;
        } else {
            return false;
        }
        self.unplanned = true;
        self.note(now);
        true
    }

    /// Ends the jobs whose time has come, in order of (finish, job).
    pub fn complete(&mut self, now: SimTime) -> Vec<(SimTime, JobId)> {
        let mut ended = Vec::new();
        while let Some(index) = self.running.iter().position(|r| r.finish <= now) {
            let running = self.end(now, index);
            self.unplanned = true;
            ended.push((running.finish, running.spec.id));
        }
        ended.sort_unstable();
        if !ended.is_empty() {
            self.note(now);
        }
        ended
    }

    /// A running job gives back what it held. One that overran breaks what EASY has promised.
    fn end(&mut self, now: SimTime, index: usize) -> Running {
        let running = self.running.remove(index);
        self.change(&running.spec, &running.placement, false);
        self.loosened |= now < running.promised;
        if self.config.discipline == DisciplineKind::EasyBackfill && running.expected < now {
            self.promises.clear();
        }
        running
    }

    /// One scheduling pass: starts what the discipline allows.
    pub fn pass(&mut self, now: SimTime) -> Vec<RefStart> {
        let mut started = Vec::new();
        self.start_kept(now, &mut started);
        match self.config.discipline {
            DisciplineKind::FirstInFirstFit if self.config.reserving.is_some() => {
                self.in_order(now, true, &mut started);
            }
            DisciplineKind::Fcfs if self.config.reserving.is_some() => {
                self.in_order(now, false, &mut started);
            }
            DisciplineKind::FirstInFirstFit => self.first_that_fit(now, usize::MAX, &mut started),
            DisciplineKind::Fcfs => self.first_that_fit(now, 1, &mut started),
            DisciplineKind::ShortestJobFirst => self.shortest_first(now, &mut started),
            DisciplineKind::EasyBackfill => self.easy(now, &mut started),
            DisciplineKind::ConservativeBackfill => self.conservative(now, &mut started),
            DisciplineKind::SlurmBackfill if self.config.slurm.bf_resolution.is_zero() => {
                self.slurm_that_promises(now, &mut started);
            }
            DisciplineKind::SlurmBackfill => self.slurm(now, &mut started),
        }
        self.wakeup = self.next_wakeup(now);
        if self.start_flexible(now, &mut started) {
            self.wakeup = Some(now);
        }
        if !started.is_empty() {
            self.note(now);
        }
        started
    }

    /// When a pass is due though nothing changes.
    pub fn wakeup(&self) -> Option<SimTime> {
        self.wakeup
    }

    /// `slurm-backfill` plans on a grid of instants, and promises are kept when their time
    /// comes, unless a job overruns: then they wait for its end.
    fn next_wakeup(&self, now: SimTime) -> Option<SimTime> {
        let is_slurm = self.config.discipline == DisciplineKind::SlurmBackfill;
        let grid = self.config.slurm.bf_interval.as_nanos();
        let plan = (is_slurm && self.unplanned && !self.queue.is_empty())
            .then(|| SimTime::from_nanos((now.as_nanos() / grid + 1) * grid));
        let overrun = self.running.iter().any(|running| running.expected <= now);
        let starts = self.promises.iter().map(|promise| promise.start);
        let starts = starts.filter(|start| *start > now && !overrun);
        starts.chain(plan).min()
    }

    /// What each job was promised first: made when, to whom, for when.
    pub fn first_promises(&self) -> &[(SimTime, JobId, SimTime)] {
        &self.first_promises
    }

    fn start(&mut self, now: SimTime, index: usize, placement: Placement) -> RefStart {
        let spec = self.queue.remove(index);
        self.take_promise(spec.id);
        let finish = now + self.time_on(spec.run_time, &placement);
        let expected = now + self.time_on(estimate(&spec), &placement);
        let promised = now + self.length(&spec);
        self.change(&spec, &placement, true);
        self.unplanned = true;
        let start = RefStart {
            job: spec.id,
            placement: placement.concat(),
            finish,
        };
        self.running.push(Running {
            spec,
            placement,
            start: now,
            finish,
            expected,
            promised,
        });
        start
    }

    /// Until when a job runs, or a part of one is held, and on what.
    pub fn held(&mut self, job: JobId) -> Option<(&mut SimTime, Vec<Share>)> {
        let running = self.running.iter_mut().find(|it| it.spec.id == job)?;
        Some((&mut running.finish, running.placement.concat()))
    }

    /// When the next running job ends or is ended, or nodes fail or are repaired.
    pub fn next_completion(&self) -> Option<SimTime> {
        let ends = self.running.iter().map(|running| running.finish);
        let kept = self.next_kept().into_iter().chain(self.next_overrun());
        ends.chain(self.next_change()).chain(kept).min()
    }

    /// Jobs that wait, in order.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Processors in use.
    pub fn busy(&self) -> u64 {
        let running = self.running.iter();
        let shares = running.flat_map(|running| running.placement.iter().flatten());
        shares.map(|share| u64::from(share.processors)).sum()
    }

    fn note(&mut self, now: SimTime) {
        self.history
            .push((now, self.queue.len() as u64, self.busy()));
    }
}
