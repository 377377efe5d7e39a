//! Messages with resource information between two parties: how many, and what
//! their rhythm makes of the age of what the receiver knows.

use gridrig_core::time::{SimDuration, SimTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times between messages are told apart by this much: in virtual time they
/// are all alike, on the wall clock no two are.
const STEP: u64 = 1_000_000;

/// The messages of one party to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) count: u64,
    /// When the last one was sent, where that is known.
    pub(super) last: Option<SimTime>,
    /// How often each time between two messages occurred, in steps.
    gaps: BTreeMap<u64, u64>,
}

/// How old what a receiver knew of a sender was, over the time from the first
/// message that arrived to the end of the run. Seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InfoAge {
    /// Mean over time.
    pub mean_s: f64,
    /// The age that was not exceeded in 95 % of that time.
    pub p95_s: f64,
    /// The largest.
    pub max_s: f64,
    /// When the last message was sent.
    pub last_ns: u64,
}

impl Flow {
    pub(super) fn add(&mut self, at: SimTime) {
        self.count += 1;
        if let Some(last) = self.last.replace(at) {
            let gap = at.since(last).as_nanos().div_ceil(STEP);
            *self.gaps.entry(gap).or_default() += 1;
        }
    }

    /// The age of what came this way, `latency` after it was sent: what is
    /// known grows old from `latency` to that and the time until the next
    /// message. `None` if none arrived before `end`.
    pub(super) fn age(&self, latency: SimDuration, end: SimTime) -> Option<InfoAge> {
        let last = self.last?;
        let seconds = |steps: u64| steps as f64 * STEP as f64 / 1e9;
        let all = self.gaps.iter();
        let mut gaps: Vec<(f64, f64)> = all.map(|(gap, n)| (seconds(*gap), *n as f64)).collect();
        // The last message is known until the run ends.
        let rest = end.since(last).as_nanos();
        let known = rest.checked_sub(latency.as_nanos());
        match known {
            Some(known) if known > 0 => gaps.push((known as f64 / 1e9, 1.0)),
            None if gaps.is_empty() => return None,
            _ => {}
        }
        let way = latency.as_secs_f64();
        let time: f64 = gaps.iter().map(|(gap, n)| gap * n).sum();
        let squares: f64 = gaps.iter().map(|(gap, n)| gap * gap * n).sum();
        let longest = gaps.iter().map(|(gap, _)| *gap).fold(0.0, f64::max);
        Some(InfoAge {
            mean_s: way
                + if time > 0.0 {
                    squares / time / 2.0
                } else {
                    0.0
                },
            p95_s: way + quantile(gaps, 0.95 * time),
            max_s: way + longest,
            last_ns: last.as_nanos(),
        })
    }
}

/// The age that is not exceeded in `time` of the whole: each gap is as long at
/// each of its ages, so that the time spent up to an age is the sum of the
/// lesser of it and each gap.
fn quantile(mut gaps: Vec<(f64, f64)>, time: f64) -> f64 {
    gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut reaching: f64 = gaps.iter().map(|(_, n)| n).sum();
    let (mut age, mut spent) = (0.0, 0.0);
    for (gap, n) in gaps {
        let more = (gap - age) * reaching;
        if spent + more >= time {
            return age + (time - spent) / reaching;
        }
        spent += more;
        age = gap;
        reaching -= n;
    }
    age
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SimTime {
        SimTime::from_secs(seconds)
    }

    #[test]
    fn a_regular_flow_has_the_ages_of_a_saw_tooth() {
        let mut flow = Flow::default();
        (0..=10).for_each(|n| flow.add(at(15 * n)));
        let age = flow.age(SimDuration::from_secs(2), at(167)).expect("known");
        // From 2 to 17 s, eleven times.
        assert!((age.mean_s - 9.5).abs() < 1e-9, "{age:?}");
        assert!((age.p95_s - (2.0 + 0.95 * 15.0)).abs() < 1e-9, "{age:?}");
        assert_eq!((age.max_s, age.last_ns), (17.0, at(150).as_nanos()));
    }

    #[test]
    fn ages_of_an_irregular_flow_are_those_of_a_fine_sampling() {
        let sent = [0, 3, 4, 20, 21, 50];
        let mut flow = Flow::default();
        sent.iter().for_each(|s| flow.add(at(*s)));
        let (latency, end) = (1.0, 57.0);
        let age = flow.age(SimDuration::from_secs(1), at(57)).expect("known");
        let mut ages: Vec<f64> = (0..560_000)
            .map(|k| latency + (f64::from(k) + 0.5) * (end - latency) / 560_000.0)
            .map(|now| {
                let known = sent.iter().rfind(|s| **s as f64 + latency <= now);
                now - *known.expect("one has arrived") as f64
            })
            .collect();
        ages.sort_by(f64::total_cmp);
        let mean = ages.iter().sum::<f64>() / ages.len() as f64;
        assert!((age.mean_s - mean).abs() < 1e-3, "{age:?} {mean}");
        assert!((age.p95_s - ages[532_000]).abs() < 1e-3, "{age:?}");
        assert!((age.max_s - 30.0).abs() < 1e-9, "{age:?}");
    }

    #[test]
    fn what_never_arrived_has_no_age() {
        let mut flow = Flow::default();
        assert_eq!(flow.age(SimDuration::ZERO, at(5)), None);
        flow.add(at(4));
        assert_eq!(flow.age(SimDuration::from_secs(2), at(5)), None);
        assert!(flow.age(SimDuration::from_secs(1), at(5)).is_some());
    }
}
