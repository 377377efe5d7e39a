//! The reference cluster (design 4).

use super::plan::{Hold, RefPlan, Wish};
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
    /// When it would end by its estimate.
    expected: SimTime,
    /// When it was promised to end, before it was known where it runs.
    promised: SimTime,
}

/// A conservative promise.
struct Promise {
    job: JobId,
    hold: Hold,
}

/// A cluster kept as plain lists.
pub struct RefCluster {
    config: ClusterConfig,
    nodes: Vec<Node>,
    queue: Vec<JobSpec>,
    running: Vec<Running>,
    /// Every change of (queued jobs, busy processors) since the start.
    history: Vec<(SimTime, u64, u64)>,
    promises: Vec<Promise>,
    /// Whether a job ended before its promise or was removed since the last
    /// pass.
    loosened: bool,
    /// Whether anything happened since `slurm-backfill` last planned.
    unplanned: bool,
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
            promises: Vec::new(),
            loosened: false,
            unplanned: false,
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
        self.unplanned = true;
        self.note(now);
        Ok(())
    }

    /// Removes a job that waits or runs; whether it was here.
    pub fn cancel(&mut self, now: SimTime, job: JobId) -> bool {
        if let Some(index) = self.queue.iter().position(|queued| queued.id == job) {
            self.queue.remove(index);
            self.loosened = true;
        } else if let Some(index) = self.running.iter().position(|r| r.spec.id == job) {
            let running = self.running.remove(index);
            self.release(&running);
            self.loosened |= now < running.promised;
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
            let running = self.running.remove(index);
            self.release(&running);
            self.loosened |= running.finish < running.promised;
            self.unplanned = true;
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
        match self.config.discipline {
            DisciplineKind::FirstInFirstFit => self.first_that_fit(now, usize::MAX, &mut started),
            DisciplineKind::Fcfs => self.first_that_fit(now, 1, &mut started),
            DisciplineKind::EasyBackfill => self.easy(now, &mut started),
            DisciplineKind::ConservativeBackfill => self.conservative(now, &mut started),
            DisciplineKind::SlurmBackfill => self.slurm(now, &mut started),
        }
        if !started.is_empty() {
            self.note(now);
        }
        started
    }

    /// When a pass is due though nothing changes: `slurm-backfill` plans on a
    /// grid of instants, and conservative promises are kept when their time
    /// comes, unless a job overruns: then they wait for its end.
    #[must_use]
    pub fn wakeup(&self, now: SimTime) -> Option<SimTime> {
        match self.config.discipline {
            DisciplineKind::SlurmBackfill => {
                let grid = self.config.slurm.bf_interval.as_nanos();
                (self.unplanned && !self.queue.is_empty())
                    .then(|| SimTime::from_nanos((now.as_nanos() / grid + 1) * grid))
            }
            DisciplineKind::ConservativeBackfill => {
                if self.running.iter().any(|running| running.expected <= now) {
                    return None;
                }
                let starts = self.promises.iter().map(|promise| promise.hold.from);
                starts.filter(|start| *start > now).min()
            }
            _ => None,
        }
    }

    fn first_that_fit(&mut self, now: SimTime, look_at: usize, started: &mut Vec<RefStart>) {
        let everything = vec![u32::MAX; self.config.resources.groups().len()];
        loop {
            let mut candidates = self.queue.iter().take(look_at).enumerate();
            let found = candidates
                .find_map(|(index, job)| Some((index, self.place_within(job, &everything)?)));
            let Some((index, placement)) = found else {
                return;
            };
            started.push(self.start(now, index, placement));
        }
    }

    /// The queue in order; the first that has to wait is promised the earliest
    /// instant for ever, the others may start if that stays true.
    fn easy(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        let mut promise: Option<Hold> = None;
        let mut index = 0;
        while index < self.queue.len() {
            let job = self.queue[index].clone();
            let mut holds = self.running_holds(now);
            holds.extend(promise.clone());
            if let Some(placement) = self.fits_now(&holds, &job, now) {
                started.push(self.start(now, index, placement));
                continue;
            }
            if promise.is_none() {
                let next = now + SimDuration::from_nanos(1);
                let found = self.plan(holds).earliest(&self.wish(&job), next);
                promise = found.map(|(from, shares)| Hold {
                    from,
                    to: SimTime::MAX,
                    shares,
                    memory_kib: job.requirements.memory_kib,
                });
            }
            index += 1;
        }
    }

    fn conservative(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        let waiting: Vec<JobId> = self.queue.iter().map(|job| job.id).collect();
        self.promises
            .retain(|promise| waiting.contains(&promise.job));
        let missed = self.promises.iter().any(|promise| promise.hold.from < now);
        let overrun = self.running.iter().any(|running| running.expected <= now);
        if missed || overrun {
            self.promises.clear();
        }
        let compress = std::mem::take(&mut self.loosened);
        for job in self.queue.clone() {
            let held = self.promises.iter().position(|p| p.job == job.id);
            if held.is_some() && !compress {
                continue;
            }
            if let Some(held) = held {
                self.promises.remove(held);
            }
            let mut holds = self.running_holds(now);
            holds.extend(self.promises.iter().map(|promise| promise.hold.clone()));
            let wish = self.wish(&job);
            if let Some((from, shares)) = self.plan(holds).earliest(&wish, now) {
                let to = from + wish.length;
                let memory_kib = wish.memory_kib;
                let hold = Hold {
                    from,
                    to,
                    shares,
                    memory_kib,
                };
                self.promises.push(Promise { job: job.id, hold });
            }
        }
        let mut index = 0;
        while index < self.queue.len() {
            let job = self.queue[index].clone();
            let promise = self.promises.iter().find(|promise| promise.job == job.id);
            let due = promise.filter(|promise| promise.hold.from <= now);
            match due.and_then(|due| self.place_within(&job, &due.hold.shares)) {
                Some(placement) => {
                    self.promises.retain(|promise| promise.job != job.id);
                    started.push(self.start(now, index, placement));
                }
                None => index += 1,
            }
        }
    }

    fn slurm(&mut self, now: SimTime, started: &mut Vec<RefStart>) {
        let settings = self.config.slurm;
        let on_grid = now
            .as_nanos()
            .is_multiple_of(settings.bf_interval.as_nanos());
        let plans = on_grid && self.unplanned;
        if plans {
            self.unplanned = false;
        }
        while let Some(head) = self.queue.first().cloned() {
            let holds = self.running_holds(now);
            let Some(placement) = self.fits_now(&holds, &head, now) else {
                break;
            };
            started.push(self.start(now, 0, placement));
        }
        if !plans {
            return;
        }
        let floor = |at: SimTime| {
            let step = settings.bf_resolution.as_nanos();
            SimTime::from_nanos(at.as_nanos() / step * step)
        };
        // What has started in the plan ends in the plan at a rounded instant.
        let mut holds = self.running_holds(now);
        let mut index = 0;
        for _ in 0..settings.bf_max_job_test {
            let Some(job) = self.queue.get(index).cloned() else {
                break;
            };
            let wish = self.wish(&job);
            let memory_kib = wish.memory_kib;
            let shares = self.plan(holds.clone()).fit(&wish, now);
            let placed = shares.and_then(|shares| {
                let placement = self.place_within(&job, &shares)?;
                Some((shares, placement))
            });
            if let Some((shares, placement)) = placed {
                let to = floor(now + wish.length);
                holds.push(Hold {
                    from: now,
                    to,
                    shares,
                    memory_kib,
                });
                started.push(self.start(now, index, placement));
                continue;
            }
            index += 1;
            let next = now + SimDuration::from_nanos(1);
            if let Some((start, shares)) = self.plan(holds.clone()).earliest(&wish, next)
                && start <= now + settings.bf_window
            {
                let to = floor(start + wish.length);
                if start < to {
                    holds.push(Hold {
                        from: start,
                        to,
                        shares: shares.clone(),
                        memory_kib,
                    });
                    let early = floor(start).max(now);
                    let more = self
                        .plan(holds.clone())
                        .before(early, start, &shares, memory_kib);
                    holds.extend(more);
                }
            }
        }
    }

    fn start(&mut self, now: SimTime, index: usize, placement: Vec<Share>) -> RefStart {
        let spec = self.queue.remove(index);
        let later = |length: SimDuration| {
            let finish = now.as_nanos().saturating_add(length.as_nanos());
            SimTime::from_nanos(finish)
        };
        let finish = later(self.time_on(spec.run_time, &placement));
        let expected = later(self.time_on(estimate(&spec), &placement));
        let promised = later(self.wish(&spec).length);
        for share in &placement {
            self.take(*share, spec.requirements.memory_kib);
        }
        self.unplanned = true;
        let start = RefStart {
            job: spec.id,
            placement: placement.clone(),
            finish,
        };
        self.running.push(Running {
            spec,
            placement,
            finish,
            expected,
            promised,
        });
        start
    }

    fn plan(&self, holds: Vec<Hold>) -> RefPlan<'_> {
        let groups = self.config.resources.groups();
        RefPlan { groups, holds }
    }

    /// An end that is overdue is expected right after this instant.
    fn running_holds(&self, now: SimTime) -> Vec<Hold> {
        let next = now + SimDuration::from_nanos(1);
        let holds = self.running.iter().map(|running| {
            let mut shares = vec![0; self.config.resources.groups().len()];
            for share in &running.placement {
                shares[usize::from(share.resource)] += share.processors;
            }
            Hold {
                from: SimTime::ZERO,
                to: running.expected.max(next),
                shares,
                memory_kib: running.spec.requirements.memory_kib,
            }
        });
        holds.collect()
    }

    fn wish(&self, job: &JobSpec) -> Wish {
        let memory_kib = job.requirements.memory_kib;
        let groups = self.config.resources.groups().iter();
        let usable = groups.clone().filter(|g| is_of_kind(g, &job.requirements));
        let longest = usable.map(|group| group.speed.divide(estimate(job).as_nanos()));
        let most = groups.map(|group| {
            let by_memory = match group.memory_mib {
                Some(mib) if memory_kib > 0 => mib.saturating_mul(1024) / memory_kib,
                _ => u64::MAX,
            };
            let per_node = u64::from(group.cpu_count).min(by_memory);
            let all = u64::from(group.count) * per_node;
            match is_of_kind(group, &job.requirements) {
                true => u32::try_from(all).unwrap_or(u32::MAX),
                false => 0,
            }
        });
        Wish {
            processors: job.processors,
            length: SimDuration::from_nanos(longest.max().unwrap_or(0)),
            most: most.collect(),
            memory_kib,
        }
    }

    /// Where it goes if the plan and the nodes let it start now.
    fn fits_now(&self, holds: &[Hold], job: &JobSpec, now: SimTime) -> Option<Vec<Share>> {
        let shares = self.plan(holds.to_vec()).fit(&self.wish(job), now)?;
        self.place_within(job, &shares)
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

    /// Resources in file order, nodes in number order, on each as many
    /// processors as it has free and its remaining memory allows.
    fn place(&self, job: &JobSpec) -> Option<Vec<Share>> {
        let everything = vec![u32::MAX; self.config.resources.groups().len()];
        self.place_within(job, &everything)
    }

    /// The same, with so many of each resource at most.
    fn place_within(&self, job: &JobSpec, shares: &[u32]) -> Option<Vec<Share>> {
        let mut placement = Vec::new();
        let mut missing = job.processors;
        let mut allowed = shares.to_vec();
        for node in &self.nodes {
            let resource = &self.config.resources.groups()[usize::from(node.resource)];
            if missing == 0 || !is_of_kind(resource, &job.requirements) {
                continue;
            }
            let by_memory = match (node.memory_left_kib, job.requirements.memory_kib) {
                (None, _) | (_, 0) => u64::MAX,
                (Some(left), each) => left / each,
            };
            let allowed = &mut allowed[usize::from(node.resource)];
            let here = u64::from(node.free.min(missing).min(*allowed)).min(by_memory);
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
                *allowed -= here;
            }
        }
        (missing == 0).then_some(placement)
    }

    /// Over mixed speeds a job runs at the slowest: the longest of the times
    /// it would take on each of its nodes.
    fn time_on(&self, run_time: SimDuration, placement: &[Share]) -> SimDuration {
        let groups = self.config.resources.groups();
        let times = placement.iter().map(|share| {
            let speed = groups[usize::from(share.resource)].speed;
            SimDuration::from_nanos(speed.divide(run_time.as_nanos()))
        });
        times.max().unwrap_or(run_time)
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

/// What the user said, else the truth.
fn estimate(job: &JobSpec) -> SimDuration {
    job.requested_time.unwrap_or(job.run_time)
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
    // Speeds have exact decimals, wishes millionths.
    let (mantissa, scale) = resource.speed.ratio();
    let speed =
        u128::from(mantissa) * 1_000_000 >= u128::from(wanted.speed_millionths) * u128::from(scale);
    architecture && os && disk && speed
}
