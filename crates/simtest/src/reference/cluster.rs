//! The reference cluster (design 4).

use crate::trail::Share;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::ids::JobId;
use gridrig_core::job::{JobSpec, Reason, Requirements};
use gridrig_core::load::Window;
use gridrig_core::resource::Resource;
use gridrig_core::time::{SimDuration, SimTime};

/// A mean as `sum / weight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefMean {
    /// Value times nanoseconds; the value itself where the weight is 1.
    pub sum: u128,
    /// Nanoseconds; 1 for a value of the instant.
    pub weight: u128,
}

/// What the cluster reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefLoad {
    /// When it was sampled.
    pub at: SimTime,
    /// All processors.
    pub processors: u64,
    /// Busy processors.
    pub busy: u64,
    /// Jobs that wait.
    pub queued: u64,
    /// Processors they want.
    pub queued_processors: u64,
    /// Processor-nanoseconds left to do, queued jobs at speed 1.0.
    pub work_left: u128,
    /// Queued jobs by window: instant, 30 s, 300 s.
    pub queued_means: [RefMean; 3],
    /// Busy processors by window: instant, 30 s, 300 s.
    pub busy_means: [RefMean; 3],
}

impl RefLoad {
    /// What is believed before the first report.
    #[must_use]
    pub fn idle(processors: u32) -> Self {
        let zero = RefMean { sum: 0, weight: 1 };
        RefLoad {
            at: SimTime::ZERO,
            processors: u64::from(processors),
            busy: 0,
            queued: 0,
            queued_processors: 0,
            work_left: 0,
            queued_means: [zero; 3],
            busy_means: [zero; 3],
        }
    }
}

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

struct Node {
    resource: u16,
    number: u32,
    free: u32,
    /// `None` is unlimited.
    memory_left_kib: Option<u64>,
}

struct Running {
    spec: JobSpec,
    placement: Vec<Share>,
    finish: SimTime,
}

/// A cluster kept as plain lists.
pub struct RefCluster {
    config: ClusterConfig,
    nodes: Vec<Node>,
    queue: Vec<JobSpec>,
    running: Vec<Running>,
    /// Every change of (queued jobs, busy processors) since the start.
    history: Vec<(SimTime, u64, u64)>,
}

impl RefCluster {
    /// An empty cluster.
    #[must_use]
    pub fn new(config: ClusterConfig) -> Self {
        let mut nodes = Vec::new();
        for (resource, group) in (0u16..).zip(config.resources.groups()) {
            for number in 0..group.count {
                nodes.push(Node {
                    resource,
                    number,
                    free: group.cpu_count,
                    memory_left_kib: group.memory_mib.map(|mib| mib.saturating_mul(1024)),
                });
            }
        }
        RefCluster {
            config,
            nodes,
            queue: Vec::new(),
            running: Vec::new(),
            history: Vec::new(),
        }
    }

    /// Takes a job into the queue.
    ///
    /// # Errors
    /// The reason for which it is turned away.
    pub fn submit(&mut self, now: SimTime, job: &JobSpec) -> Result<(), Reason> {
        let empty = RefCluster::new(self.config.clone());
        if job.processors == 0 || empty.place(job).is_none() {
            return Err(Reason::NeverFits);
        }
        if let Some(limit) = self.config.queue_limit
            && self.queue.len() >= limit
        {
            return Err(Reason::QueueFull);
        }
        self.queue.push(job.clone());
        self.note(now);
        Ok(())
    }

    /// Removes a job that waits or runs; whether it was here.
    pub fn cancel(&mut self, now: SimTime, job: JobId) -> bool {
        if let Some(index) = self.queue.iter().position(|queued| queued.id == job) {
            self.queue.remove(index);
        } else if let Some(index) = self.running.iter().position(|r| r.spec.id == job) {
            let running = self.running.remove(index);
            self.release(&running);
        } else {
            return false;
        }
        self.note(now);
        true
    }

    /// Ends the jobs whose time has come, in order of (finish, job).
    pub fn complete(&mut self, now: SimTime) -> Vec<(SimTime, JobId)> {
        let mut ended = Vec::new();
        while let Some(index) = self.running.iter().position(|r| r.finish <= now) {
            let running = self.running.remove(index);
            self.release(&running);
            ended.push((running.finish, running.spec.id));
        }
        ended.sort_unstable();
        if !ended.is_empty() {
            self.note(now);
        }
        ended
    }

    /// One scheduling pass: starts what the discipline allows.
    pub fn pass(&mut self, now: SimTime) -> Vec<RefStart> {
        let mut started = Vec::new();
        while let Some((index, placement)) = self.next_start() {
            let spec = self.queue.remove(index);
            let finish = SimTime::from_nanos(
                now.as_nanos()
                    .saturating_add(self.run_time(&spec, &placement).as_nanos()),
            );
            for share in &placement {
                self.take(*share, spec.requirements.memory_kib);
            }
            started.push(RefStart {
                job: spec.id,
                placement: placement.clone(),
                finish,
            });
            self.running.push(Running {
                spec,
                placement,
                finish,
            });
        }
        if !started.is_empty() {
            self.note(now);
        }
        started
    }

    /// When the next running job ends.
    #[must_use]
    pub fn next_completion(&self) -> Option<SimTime> {
        self.running.iter().map(|running| running.finish).min()
    }

    /// Jobs that wait, in order.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Processors in use.
    #[must_use]
    pub fn busy(&self) -> u64 {
        let shares = self.running.iter().flat_map(|running| &running.placement);
        shares.map(|share| u64::from(share.processors)).sum()
    }

    /// The report of this instant.
    #[must_use]
    pub fn sample(&self, now: SimTime) -> RefLoad {
        let means = |value: fn(&(SimTime, u64, u64)) -> u64| {
            Window::ALL.map(|window| self.mean(now, window, value))
        };
        let to_come = |job: &JobSpec| u128::from(job.run_time.as_nanos());
        let waiting = self.queue.iter();
        let queued_work: u128 = waiting.map(|j| u128::from(j.processors) * to_come(j)).sum();
        let running = self.running.iter().map(|running| {
            let left = u128::from(running.finish.since(now).as_nanos());
            u128::from(running.spec.processors) * left
        });
        RefLoad {
            at: now,
            processors: u64::from(self.config.resources.processors()),
            busy: self.busy(),
            queued: self.queue.len() as u64,
            queued_processors: self.queue.iter().map(|j| u64::from(j.processors)).sum(),
            work_left: queued_work + running.sum::<u128>(),
            queued_means: means(|change| change.1),
            busy_means: means(|change| change.2),
        }
    }

    /// The first queued job that the discipline lets start, and where.
    fn next_start(&self) -> Option<(usize, Vec<Share>)> {
        let may_look_at = match self.config.discipline {
            DisciplineKind::FirstInFirstFit => self.queue.len(),
            DisciplineKind::Fcfs => self.queue.len().min(1),
        };
        let candidates = self.queue.iter().take(may_look_at).enumerate();
        candidates
            .filter_map(|(index, job)| Some((index, self.place(job)?)))
            .next()
    }

    /// Resources in file order, nodes in number order, on each as many
    /// processors as it has free and its remaining memory allows.
    fn place(&self, job: &JobSpec) -> Option<Vec<Share>> {
        let mut placement = Vec::new();
        let mut missing = job.processors;
        for node in &self.nodes {
            let resource = &self.config.resources.groups()[usize::from(node.resource)];
            if missing == 0 || !is_of_kind(resource, &job.requirements) {
                continue;
            }
            let by_memory = match (node.memory_left_kib, job.requirements.memory_kib) {
                (None, _) | (_, 0) => u64::MAX,
                (Some(left), each) => left / each,
            };
            let here = u64::from(node.free.min(missing)).min(by_memory);
            let Ok(here) = u32::try_from(here) else {
                continue;
            };
            if here > 0 {
                placement.push(Share {
                    resource: node.resource,
                    node: node.number,
                    processors: here,
                });
                missing -= here;
            }
        }
        (missing == 0).then_some(placement)
    }

    /// Over mixed speeds a job runs at the slowest: the longest of the times
    /// it would take on each of its nodes.
    fn run_time(&self, job: &JobSpec, placement: &[Share]) -> SimDuration {
        let groups = self.config.resources.groups();
        let times = placement.iter().map(|share| {
            let speed = groups[usize::from(share.resource)].speed;
            SimDuration::from_nanos(speed.divide(job.run_time.as_nanos()))
        });
        times.max().unwrap_or(job.run_time)
    }

    fn take(&mut self, share: Share, memory_kib: u64) {
        for node in &mut self.nodes {
            if (node.resource, node.number) == (share.resource, share.node) {
                node.free -= share.processors;
                if let Some(left) = &mut node.memory_left_kib {
                    *left -= u64::from(share.processors) * memory_kib;
                }
            }
        }
    }

    fn release(&mut self, running: &Running) {
        let memory_kib = running.spec.requirements.memory_kib;
        for share in &running.placement {
            for node in &mut self.nodes {
                if (node.resource, node.number) == (share.resource, share.node) {
                    node.free += share.processors;
                    if let Some(left) = &mut node.memory_left_kib {
                        *left += u64::from(share.processors) * memory_kib;
                    }
                }
            }
        }
    }

    fn note(&mut self, now: SimTime) {
        self.history
            .push((now, self.queue.len() as u64, self.busy()));
    }

    /// The time-weighted mean over the last min(t, window): the sum over all
    /// changes of value times the part of its duration inside the window.
    fn mean(
        &self,
        now: SimTime,
        window: Window,
        value: fn(&(SimTime, u64, u64)) -> u64,
    ) -> RefMean {
        let now_ns = now.as_nanos();
        let length = window.length().as_nanos().min(now_ns);
        if length == 0 {
            let sum = self.history.last().map_or(0, value);
            return RefMean {
                sum: u128::from(sum),
                weight: 1,
            };
        }
        let begin = now_ns - length;
        let mut sum: u128 = 0;
        for (index, change) in self.history.iter().enumerate() {
            let next = self.history.get(index + 1);
            let from = change.0.as_nanos().max(begin);
            let to = next.map_or(now_ns, |next| next.0.as_nanos().min(now_ns));
            sum += u128::from(value(change)) * u128::from(to.saturating_sub(from));
        }
        RefMean {
            sum,
            weight: u128::from(length),
        }
    }
}

fn is_of_kind(resource: &Resource, wanted: &Requirements) -> bool {
    let architecture = match (&wanted.architecture, &resource.architecture) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(want), Some(have)) => want.to_ascii_lowercase() == have.to_ascii_lowercase(),
    };
    let os = match (&wanted.os, &resource.os) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(want), Some(have)) => want.to_ascii_lowercase() == have.to_ascii_lowercase(),
    };
    let disk = match resource.disk_mib {
        None => true,
        Some(have) => have >= wanted.disk_mib,
    };
    architecture && os && disk
}
