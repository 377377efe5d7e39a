//! What the reference cluster reports.

use super::RefCluster;
use super::nodes::Counts;
use gridrig_core::job::JobSpec;
use gridrig_core::load::Window;
use gridrig_core::time::SimTime;

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
    /// Memory that nobody has, in KiB: of all nodes, and the most on one; `None`
    /// where a node has no bound of it.
    pub memory_kib: Option<(u64, u64)>,
    /// Generic resources that nobody has, of all nodes.
    pub generic: Counts,
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
    pub fn idle(processors: u32) -> Self {
        let zero = RefMean { sum: 0, weight: 1 };
        RefLoad {
            at: SimTime::ZERO,
            processors: u64::from(processors),
            busy: 0,
            memory_kib: None,
            generic: Counts::default(),
            queued: 0,
            queued_processors: 0,
            work_left: 0,
            queued_means: [zero; 3],
            busy_means: [zero; 3],
        }
    }
}

impl RefCluster {
    /// The report of this instant.
    pub fn sample(&self, now: SimTime) -> RefLoad {
        let means = |value: fn(&(SimTime, u64, u64)) -> u64| {
            Window::ALL.map(|window| self.mean(now, window, value))
        };
        let to_come = |job: &JobSpec| u128::from(job.run_time.as_nanos());
        let waiting = self.queue.iter();
        let queued_work: u128 = waiting
            .map(|j| u128::from(j.processors()) * to_come(j))
            .sum();
        let running = self.running.iter().map(|running| {
            let left = u128::from(running.finish.since(now).as_nanos());
            u128::from(running.spec.processors()) * left
        });
        RefLoad {
            at: now,
            processors: self.processors_up(),
            busy: self.busy(),
            memory_kib: self.free_memory(),
            generic: self.free_generic(),
            queued: self.queue.len() as u64,
            queued_processors: self.queue.iter().map(|j| u64::from(j.processors())).sum(),
            work_left: queued_work + running.sum::<u128>(),
            queued_means: means(|change| change.1),
            busy_means: means(|change| change.2),
        }
    }

    fn free_memory(&self) -> Option<(u64, u64)> {
        let (mut all, mut most) = (0, 0);
        for node in &self.nodes {
            let left = node.memory_left_kib?;
            if node.down == 0 {
                all += left;
                most = most.max(left);
            }
        }
        Some((all, most))
    }

    fn free_generic(&self) -> Counts {
        let mut free = Counts::default();
        for node in &self.nodes {
            for (name, count) in &node.generic_left {
                let is_up = u64::from(node.down == 0);
                *free.entry(name.clone()).or_default() += is_up * count;
            }
        }
        free
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
