//! Numbered updates of resource information: pushed past a threshold, in full
//! or only what has moved; a gap asks for everything again.

use crate::ids::ClusterId;
use crate::load::LoadSample;
use std::collections::BTreeMap;

/// How far a value must move before it is worth telling: a share of the
/// processors of its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    millionths: u32,
}

impl Threshold {
    /// This many millionths of the processors: 100,000 are a tenth.
    pub fn of_millionths(millionths: u32) -> Self {
        Threshold { millionths }
    }

    /// Whether `moved` out of `processors` is past it.
    fn is_passed(self, moved: u64, processors: u32) -> bool {
        let whole = u128::from(processors.max(1));
        u128::from(moved) * 1_000_000 > u128::from(self.millionths) * whole
    }
}

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Push {
    /// Counted from 1 within a session.
    pub sequence: u64,
    /// Whether it replaces all that was known; else it changes what is named.
    pub full: bool,
    /// The samples, by cluster.
    pub samples: Vec<LoadSample>,
}

/// All that is known, outside a session.
impl From<Vec<LoadSample>> for Push {
    fn from(samples: Vec<LoadSample>) -> Self {
        Push {
            sequence: 0,
            full: true,
            samples,
        }
    }
}

/// The side that tells: a provider, towards one consumer.
#[derive(Clone, Debug, Default)]
pub struct Publisher {
    /// The last number given.
    sequence: u64,
    /// The other side needs everything.
    wants_full: bool,
    /// What it was last told of each cluster.
    told: BTreeMap<ClusterId, LoadSample>,
}

impl Publisher {
    /// Towards a consumer that knows nothing yet.
    pub fn new() -> Self {
        Publisher {
            wants_full: true,
            ..Publisher::default()
        }
    }

    /// The consumer has lost the thread: the next update is a full one.
    pub fn want_full(&mut self) {
        self.wants_full = true;
    }

    /// What is to be pushed after these samples were taken: everything that is
    /// known if the consumer needs that or there is no threshold, else what has
    /// moved past it, and nothing if nothing has.
    pub fn push(&mut self, samples: &[LoadSample], threshold: Option<Threshold>) -> Option<Push> {
        let full = self.wants_full || threshold.is_none();
        let moved = |sample: &&LoadSample| match (self.told.get(&sample.cluster), threshold) {
            (Some(told), Some(threshold)) => has_moved(told, sample, threshold),
            _ => true,
        };
        let chosen: Vec<LoadSample> = match full {
            true => samples.to_vec(),
            false => samples.iter().filter(moved).cloned().collect(),
        };
        (!chosen.is_empty()).then(|| self.tell(full, chosen))
    }

    /// Everything, because the consumer asks for it: pull mode.
    pub fn pull(&mut self, samples: &[LoadSample]) -> Push {
        self.tell(true, samples.to_vec())
    }

    /// What has changed since update `since`, because the consumer asks for it
    /// (it may be nothing): everything where that is not the last update, or no
    /// update at all.
    pub fn pull_since(&mut self, samples: &[LoadSample], since: Option<u64>) -> Push {
        if self.wants_full || self.sequence == 0 || since != Some(self.sequence) {
            return self.pull(samples);
        }
        let changed = |sample: &&LoadSample| self.told.get(&sample.cluster) != Some(*sample);
        self.tell(false, samples.iter().filter(changed).cloned().collect())
    }

    fn tell(&mut self, full: bool, mut samples: Vec<LoadSample>) -> Push {
        let told = samples.iter();
        let told = told.map(|sample| (sample.cluster, sample.clone()));
        self.told.extend(told);
        if full {
            samples = self.told.values().cloned().collect();
        }
        self.sequence += 1;
        self.wants_full &= !full;
        Push {
            sequence: self.sequence,
            full,
            samples,
        }
    }
}

fn has_moved(told: &LoadSample, now: &LoadSample, threshold: Threshold) -> bool {
    let passed =
        |before: u64, after: u64| threshold.is_passed(before.abs_diff(after), now.processors);
    told.processors != now.processors
        || passed(told.queued, now.queued)
        || passed(told.queued_processors, now.queued_processors)
        || passed(u64::from(told.busy), u64::from(now.busy))
}

/// What became of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It counts.
    New,
    /// It was here before, or is older than what is here.
    Old,
    /// Something is missing before it: it does not count, and everything is
    /// to be asked for.
    Gap,
}

/// The side that is told: a consumer, by one provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subscriber {
    last: u64,
    /// It has had a full update, on which others can build.
    primed: bool,
}

impl Subscriber {
    /// Takes note of an update with this number.
    pub fn take(&mut self, sequence: u64, full: bool) -> Taken {
        if sequence <= self.last {
            return Taken::Old;
        }
        if !full && (!self.primed || sequence != self.last + 1) {
            return Taken::Gap;
        }
        self.last = sequence;
        self.primed = true;
        Taken::New
    }

    /// The last number that counted.
    pub fn last(&self) -> u64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cluster: u16, busy: u32) -> LoadSample {
        let mut sample = LoadSample::idle(ClusterId(cluster), 100);
        sample.busy = busy;
        sample
    }

    fn tenth() -> Option<Threshold> {
        Some(Threshold::of_millionths(100_000))
    }

    #[test]
    fn the_first_update_is_full_and_later_ones_tell_what_has_moved() {
        let mut publisher = Publisher::new();
        let first = publisher.push(&[sample(0, 0), sample(1, 0)], tenth());
        let first = first.unwrap();
        assert_eq!(
            (first.sequence, first.full, first.samples.len()),
            (1, true, 2)
        );
        // A tenth itself is not past a tenth.
        assert_eq!(
            publisher.push(&[sample(0, 10), sample(1, 0)], tenth()),
            None
        );
        let moved = publisher.push(&[sample(0, 11), sample(1, 0)], tenth());
        let moved = moved.unwrap();
        assert_eq!((moved.sequence, moved.full), (2, false));
        assert_eq!(moved.samples, [sample(0, 11)]);
        // Small steps add up against what was last told.
        assert_eq!(publisher.push(&[sample(0, 20)], tenth()), None);
        assert!(publisher.push(&[sample(0, 22)], tenth()).is_some());
    }

    #[test]
    fn without_a_threshold_everything_is_told_each_time() {
        let mut publisher = Publisher::new();
        for sequence in 1..4 {
            let push = publisher.push(&[sample(0, 0)], None).unwrap();
            assert_eq!((push.sequence, push.full), (sequence, true));
        }
    }

    #[test]
    fn a_gap_does_not_count_and_a_full_update_closes_it() {
        let mut subscriber = Subscriber::default();
        // Nothing to build on yet.
        assert_eq!(subscriber.take(1, false), Taken::Gap);
        assert_eq!(subscriber.take(1, true), Taken::New);
        assert_eq!(subscriber.take(2, false), Taken::New);
        assert_eq!(subscriber.take(4, false), Taken::Gap);
        assert_eq!(subscriber.last(), 2);
        assert_eq!(subscriber.take(5, true), Taken::New);
        assert_eq!(subscriber.take(6, false), Taken::New);
    }

    #[test]
    fn repeated_and_reordered_updates_change_nothing() {
        let mut subscriber = Subscriber::default();
        subscriber.take(3, true);
        for (sequence, full) in [(3, true), (2, true), (1, false)] {
            assert_eq!(subscriber.take(sequence, full), Taken::Old);
        }
    }

    #[test]
    fn who_has_the_last_update_is_told_what_has_changed_and_others_everything() {
        let mut publisher = Publisher::new();
        // Nothing was told yet, whatever is asked for.
        assert!(
            publisher
                .pull_since(&[sample(0, 0), sample(1, 0)], Some(0))
                .full
        );
        let changed = publisher.pull_since(&[sample(0, 1), sample(1, 0)], Some(1));
        assert_eq!((changed.sequence, changed.full), (2, false));
        assert_eq!(changed.samples, [sample(0, 1)]);
        let nothing = publisher.pull_since(&[sample(0, 1), sample(1, 0)], Some(2));
        assert_eq!((nothing.sequence, nothing.samples.len()), (3, 0));
        for since in [None, Some(2), Some(9)] {
            let all = publisher.pull_since(&[sample(0, 1), sample(1, 0)], since);
            assert!(all.full && all.samples.len() == 2, "{since:?}");
        }
    }

    #[test]
    fn whoever_lost_the_thread_is_told_everything() {
        let mut publisher = Publisher::new();
        publisher.push(&[sample(0, 0), sample(1, 0)], tenth());
        publisher.want_full();
        let push = publisher.push(&[sample(0, 50)], tenth()).unwrap();
        assert!(push.full);
        assert_eq!(push.samples, [sample(0, 50), sample(1, 0)]);
        let pulled = publisher.pull(&[sample(1, 7)]);
        assert_eq!(pulled.samples, [sample(0, 50), sample(1, 7)]);
        assert_eq!((pulled.sequence, pulled.full), (3, true));
    }
}
