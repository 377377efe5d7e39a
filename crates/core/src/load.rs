//! What an LRMS reports of its load: instant, 30 s and 300 s means (LSAP 4.1).
//!
//! Means are time-weighted over the last `min(t, window)` seconds and kept as
//! integer fractions, so that two implementations compare them alike.

use crate::ids::ClusterId;
use crate::time::{SimDuration, SimTime};
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use strum::{EnumString, IntoStaticStr};

/// The windows over which means are reported.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr,
)]
pub enum Window {
    /// No mean: the value of the instant.
    #[strum(serialize = "0s")]
    Instant,
    /// The last 30 seconds.
    #[default]
    #[strum(serialize = "30s")]
    Seconds30,
    /// The last 300 seconds.
    #[strum(serialize = "300s")]
    Seconds300,
}

impl Window {
    /// All windows.
    pub const ALL: [Window; 3] = [Window::Instant, Window::Seconds30, Window::Seconds300];

    /// The name used in scenarios and results: its length.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The length of the window.
    pub const fn length(self) -> SimDuration {
        match self {
            Window::Instant => SimDuration::ZERO,
            Window::Seconds30 => SimDuration::from_secs(30),
            Window::Seconds300 => SimDuration::from_secs(300),
        }
    }
}

/// A mean as the fraction `sum / weight`, `weight` above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mean {
    /// Value times nanoseconds, or the value itself at weight 1.
    pub sum: u128,
    /// Nanoseconds, or 1.
    pub weight: u64,
}

impl Mean {
    /// A value that holds for an instant.
    pub fn instant(value: u64) -> Self {
        Mean {
            sum: u128::from(value),
            weight: 1,
        }
    }

    /// The mean as a float, for display.
    pub fn as_f64(self) -> f64 {
        self.sum as f64 / self.weight as f64
    }
}

/// A value of integer fractions that compares exactly.
#[derive(Clone, Copy, Debug)]
pub struct Fraction {
    /// May be below zero: what a broker has sent may exceed what it knew.
    pub numerator: i128,
    /// Above 0.
    pub denominator: u128,
}

impl Fraction {
    /// The value as a float, for display.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Compares without rounding. Numerators and denominators of loads stay
    /// below 2^62 (nanoseconds of a window times processors), so that the
    /// products fit.
    pub fn compare(self, other: Self) -> Ordering {
        let times = |a: Self, b: Self| a.numerator.saturating_mul(b.denominator.cast_signed());
        times(self, other).cmp(&times(other, self))
    }
}

/// Memory, disk and generic resources that are free, of nodes that say how much
/// they have; `None` where none does, or nobody has told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FreeSpace {
    /// Memory of all nodes that no job has, in KiB.
    pub memory_kib: Option<u64>,
    /// The most of it on one node.
    pub node_memory_kib: Option<u64>,
    /// Disk of the nodes that have a free processor, in MiB.
    pub disk_mib: Option<u64>,
    /// Generic resources of all nodes that no job has, by name.
    pub generic: BTreeMap<Arc<str>, u64>,
}

impl FreeSpace {
    /// Each of the two added or, of the memory on one node, the greater.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        for (name, count) in other.generic {
            let all = self.generic.entry(name).or_default();
            *all = all.saturating_add(count);
        }
        FreeSpace {
            memory_kib: sum(self.memory_kib, other.memory_kib),
            node_memory_kib: self.node_memory_kib.max(other.node_memory_kib),
            disk_mib: sum(self.disk_mib, other.disk_mib),
            generic: self.generic,
        }
    }
}

/// The load of one cluster, sampled at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LoadSample {
    /// Which cluster.
    pub cluster: ClusterId,
    /// When it was sampled.
    pub at: SimTime,
    /// All processors of the cluster that are not down.
    pub processors: u32,
    /// Busy processors at that instant.
    pub busy: u32,
    /// Jobs queued at that instant.
    pub queued: u64,
    /// Processors that the queued jobs want.
    pub queued_processors: u64,
    /// Processor-nanoseconds still to be done by running and queued jobs:
    /// known to an emulation only, for the full-information bound.
    pub work_left: u128,
    /// Mean of queued jobs over 30 s and 300 s.
    pub queued_means: [Mean; 2],
    /// Mean of busy processors over 30 s and 300 s.
    pub busy_means: [Mean; 2],
    /// Free memory, disk and generic resources; shared, since most clusters have
    /// no such bounds, and samples are told to many.
    pub space: Arc<FreeSpace>,
}

impl LoadSample {
    /// An idle cluster: what a broker takes for granted before the first report.
    pub fn idle(cluster: ClusterId, processors: u32) -> Self {
        LoadSample {
            cluster,
            at: SimTime::ZERO,
            processors,
            busy: 0,
            queued: 0,
            queued_processors: 0,
            work_left: 0,
            queued_means: [Mean::instant(0); 2],
            busy_means: [Mean::instant(0); 2],
            space: Arc::default(),
        }
    }

    /// Free processors at the instant.
    pub fn free(&self) -> u32 {
        self.processors.saturating_sub(self.busy)
    }

    /// Queued jobs over this window.
    pub fn queued_over(&self, window: Window) -> Mean {
        match window {
            Window::Instant => Mean::instant(self.queued),
            Window::Seconds30 => self.queued_means[0],
            Window::Seconds300 => self.queued_means[1],
        }
    }

    /// Busy processors over this window.
    pub fn busy_over(&self, window: Window) -> Mean {
        match window {
            Window::Instant => Mean::instant(u64::from(self.busy)),
            Window::Seconds30 => self.busy_means[0],
            Window::Seconds300 => self.busy_means[1],
        }
    }
}

/// The last 300 seconds of a cluster's load.
#[derive(Debug)]
pub struct LoadHistory {
    /// Changes, oldest first; the first one lies at or before the start of
    /// the longest window.
    changes: VecDeque<Change>,
}

/// From `at` on the values hold; the integrals are those up to `at`.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: SimTime,
    /// Queued jobs and busy processors.
    values: [u64; 2],
    integrals: [u128; 2],
}

impl Change {
    fn integrals_at(&self, at: SimTime) -> [u128; 2] {
        let passed = u128::from(at.since(self.at).as_nanos());
        let of = |n: usize| self.integrals[n] + passed * u128::from(self.values[n]);
        [of(0), of(1)]
    }
}

impl Default for LoadHistory {
    fn default() -> Self {
        let start = Change {
            at: SimTime::ZERO,
            values: [0; 2],
            integrals: [0; 2],
        };
        LoadHistory {
            changes: VecDeque::from([start]),
        }
    }
}

impl LoadHistory {
    /// Takes note of the values that hold from `now` on.
    pub fn record(&mut self, now: SimTime, queued: u64, busy: u64) {
        let last = self.changes.back_mut().expect("a history is never empty");
        let values = [queued, busy];
        if last.at == now {
            last.values = values;
            return;
        }
        let integrals = last.integrals_at(now);
        self.changes.push_back(Change {
            at: now,
            values,
            integrals,
        });
        let horizon = window_start(now, Window::Seconds300);
        while self.changes.get(1).is_some_and(|next| next.at <= horizon) {
            self.changes.pop_front();
        }
    }

    /// When the values last changed.
    pub fn latest(&self) -> SimTime {
        self.changes.back().map_or(SimTime::ZERO, |last| last.at)
    }

    /// Means of queued jobs and of busy processors over the window that ends now.
    pub fn means(&self, now: SimTime, window: Window) -> [Mean; 2] {
        let last = self.changes.back().expect("a history is never empty");
        let start = window_start(now, window);
        let weight = now.since(start).as_nanos();
        if weight == 0 {
            return last.values.map(Mean::instant);
        }
        let after = self.changes.partition_point(|change| change.at <= start);
        let before = self.changes[after.saturating_sub(1)].integrals_at(start);
        let end = last.integrals_at(now);
        let of = |n: usize| Mean {
            sum: end[n] - before[n],
            weight,
        };
        [of(0), of(1)]
    }
}

fn window_start(now: SimTime, window: Window) -> SimTime {
    SimTime::from_nanos(now.as_nanos().saturating_sub(window.length().as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_cover_the_time_since_the_start_until_the_window_is_full() {
        let mut history = LoadHistory::default();
        history.record(SimTime::from_secs(10), 4, 100);
        let mean = |history: &LoadHistory, at, window| {
            let [queued, busy] = history.means(SimTime::from_secs(at), window);
            (queued.as_f64(), busy.as_f64())
        };
        assert_eq!(mean(&history, 10, Window::Seconds30), (0.0, 0.0));
        assert_eq!(mean(&history, 20, Window::Seconds30), (2.0, 50.0));
        assert_eq!(mean(&history, 40, Window::Seconds30), (4.0, 100.0));
        assert_eq!(mean(&history, 40, Window::Seconds300), (3.0, 75.0));
        assert_eq!(mean(&history, 40, Window::Instant), (4.0, 100.0));
        history.record(SimTime::from_secs(400), 0, 30);
        assert_eq!(mean(&history, 400, Window::Seconds300), (4.0, 100.0));
        assert_eq!(mean(&history, 400, Window::Instant), (0.0, 30.0));
        assert_eq!(mean(&history, 415, Window::Seconds30), (2.0, 65.0));
    }

    #[test]
    fn a_value_that_never_lasted_leaves_no_trace() {
        let mut history = LoadHistory::default();
        history.record(SimTime::from_secs(1), 9, 9);
        history.record(SimTime::from_secs(1), 0, 0);
        let [queued, busy] = history.means(SimTime::from_secs(2), Window::Seconds30);
        assert_eq!((queued.sum, busy.sum), (0, 0));
    }
}
