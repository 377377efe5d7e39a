//! What a broker believes about the others: the last information it received,
//! and optionally what it has itself sent since.

use super::{Access, PeerConfig};
use crate::ids::ClusterId;
use crate::job::{JobRequest, JobSpec};
use crate::load::{Fraction, FreeSpace, LoadSample, Mean, Window};
use crate::message::Target;
use crate::policy::{Candidate, Truth};
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration, SimTime, gcd, transfer_time};
use crate::timetable::Timetable;
use std::cmp::Reverse;
use std::sync::Arc;

/// One candidate with its static capacity and its last known load.
pub(super) struct Known {
    pub target: Target,
    /// One message takes this long to get there.
    pub latency: SimDuration,
    /// MiB of job data that a second carries there; `None`: at once.
    bandwidth: Option<Decimal>,
    /// When a peer takes jobs; `None`: always.
    timetable: Option<Timetable>,
    /// Own cluster: its resources. Peer: those of every cluster in reach with
    /// the hops left after forwarding there once, twice, ..., the widest first.
    reach: Vec<Vec<Arc<Resources>>>,
    /// Clusters of others of which a peer tells.
    passed_on: Vec<Arc<Resources>>,
    /// Shared with everybody else who was told the same.
    samples: Arc<[LoadSample]>,
    /// What waits in the peer's broker; known to the truth only.
    pending: Pending,
    sent: Vec<Sent>,
    /// Whether jobs may be sent there.
    pub access: Access,
    /// Before this instant none are, whatever else holds.
    pub closed_until: SimTime,
}

/// Jobs that a broker holds and no LRMS has yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// How many.
    pub jobs: u64,
    /// Processors they want.
    pub processors: u64,
    /// Their processor-nanoseconds.
    pub work: u128,
}

impl Pending {
    /// Counts a job in.
    pub(super) fn add(&mut self, job: &JobSpec) {
        self.jobs += 1;
        self.processors += u64::from(job.processors());
        self.work += work_of(job);
    }
}

/// A job on its way, or arrived since the last sample was taken.
struct Sent {
    arrives: SimTime,
    processors: u32,
    work: u128,
}

impl Known {
    fn idle(
        target: Target,
        latency: SimDuration,
        clusters: &[(ClusterId, Arc<Resources>)],
        reach: Vec<Vec<Arc<Resources>>>,
    ) -> Self {
        let samples = clusters.iter();
        let samples = samples.map(|(id, all)| LoadSample::idle(*id, all.processors()));
        Known {
            target,
            latency,
            bandwidth: None,
            timetable: None,
            reach,
            passed_on: Vec::new(),
            samples: samples.collect(),
            pending: Pending::default(),
            sent: Vec::new(),
            access: Access::Open,
            closed_until: SimTime::ZERO,
        }
    }

    pub fn cluster(own: &(ClusterId, Arc<Resources>), latency: SimDuration) -> Self {
        let reach = vec![vec![Arc::clone(&own.1)]];
        let (target, clusters) = (Target::Cluster(own.0), std::slice::from_ref(own));
        Known::idle(target, latency, clusters, reach)
    }

    pub fn peer(peer: &PeerConfig) -> Self {
        let mut reach = peer.reach.clone();
        for clusters in &mut reach {
            clusters.sort_by_key(|resources| Reverse(resources.processors()));
        }
        let target = Target::Peer(peer.domain);
        let passed_on = peer.passed_on.iter().map(|(_, all)| Arc::clone(all));
        Known {
            bandwidth: peer.bandwidth,
            timetable: peer.timetable.clone(),
            passed_on: passed_on.collect(),
            ..Known::idle(target, peer.latency, &peer.told_of(), reach)
        }
    }

    /// Whether a job could ever run there, `hops_left` forwards being allowed
    /// after this one.
    pub fn could_run(&self, job: &JobRequest<'_>, hops_left: u32) -> bool {
        let depth = (hops_left as usize).min(self.reach.len().saturating_sub(1));
        let Some(clusters) = self.reach.get(depth) else {
            return false;
        };
        let only = job.components.only();
        if only.is_some_and(|only| only.requirements.is_any()) {
            let widest = clusters.first();
            return widest.is_some_and(|all| job.processors <= all.processors());
        }
        clusters.iter().any(|all| all.could_run(job.components))
    }

    /// Whether a job could ever run on a cluster of which this candidate tells.
    pub fn could_run_where_it_tells(&self, job: &JobRequest<'_>) -> bool {
        let mut others = self.passed_on.iter();
        self.could_run(job, 0) || others.any(|all| all.could_run(job.components))
    }

    /// Whether jobs may be sent there at this instant.
    pub fn is_open(&self, at: SimTime) -> bool {
        let by_hours = |table: &Timetable| table.is_open(at);
        self.access == Access::Open
            && at >= self.closed_until
            && self.timetable.as_ref().is_none_or(by_hours)
    }

    /// When jobs may be sent there again: [`SimTime::MAX`] while only news can
    /// tell, `None` if they may be now or are never to be sent there again.
    pub fn reopening(&self, now: SimTime) -> Option<SimTime> {
        match self.access {
            Access::Open => {}
            Access::Closed => return Some(SimTime::MAX),
            Access::Gone => return None,
        }
        let from = now.max(self.closed_until);
        let table = self.timetable.as_ref();
        let open = table.map_or(from, |table| table.next_open(from));
        (open > now).then_some(open)
    }

    /// Takes in samples; what they can have seen is no longer counted as sent.
    pub fn receive(&mut self, samples: &[LoadSample]) {
        for sample in samples {
            let same = |known: &LoadSample| known.cluster == sample.cluster;
            match self.samples.iter().position(same) {
                Some(at) if self.samples[at].at <= sample.at => {
                    Arc::make_mut(&mut self.samples)[at] = sample.clone();
                }
                Some(_) => continue,
                None => {
                    let known = self.samples.iter().chain([sample]);
                    self.samples = known.cloned().collect();
                }
            }
            self.sent.retain(|sent| sent.arrives > sample.at);
        }
    }

    /// The same for samples that others are told, too: nothing is copied where
    /// they are about all the clusters there are.
    pub fn share(&mut self, samples: &Arc<[LoadSample]>) {
        let mut pairs = self.samples.iter().zip(samples.iter());
        let follow = |(known, sample): (&LoadSample, &LoadSample)| {
            known.cluster == sample.cluster && known.at <= sample.at
        };
        if self.samples.len() != samples.len() || !pairs.all(follow) {
            return self.receive(samples);
        }
        self.samples = Arc::clone(samples);
        if let Some(latest) = samples.iter().map(|sample| sample.at).max() {
            self.sent.retain(|sent| sent.arrives > latest);
        }
    }

    pub fn set_pending(&mut self, pending: Pending) {
        self.pending = pending;
    }

    pub fn note_sent(&mut self, now: SimTime, job: &JobSpec) {
        self.sent.push(Sent {
            arrives: now + self.latency + transfer_time(job.data_kib, self.bandwidth),
            processors: job.processors(),
            work: work_of(job),
        });
    }

    /// Processors of the jobs that were sent and are in no sample, in order.
    pub fn sent(&self) -> impl Iterator<Item = u32> {
        self.sent.iter().map(|sent| sent.processors)
    }

    /// The most processors that are free in one of its clusters.
    pub fn free(&self) -> i64 {
        self.most(|s| i64::from(s.free()))
    }

    /// Whether one of its clusters has so many processors free, less what was sent.
    pub fn has_room(&self, processors: u32) -> bool {
        let sent: i64 = self.sent().map(i64::from).sum();
        self.free() - sent >= i64::from(processors)
    }

    /// The samples in use, as they are now.
    pub fn shared_samples(&self) -> Arc<[LoadSample]> {
        Arc::clone(&self.samples)
    }

    /// The samples in use.
    pub fn samples(&self) -> &[LoadSample] {
        &self.samples
    }

    /// When the oldest sample in use was taken.
    pub fn information_from(&self) -> SimTime {
        let taken = self.samples.iter().map(|sample| sample.at);
        taken.min().unwrap_or(SimTime::ZERO)
    }

    fn processors(&self) -> u128 {
        let all = self.samples.iter().map(|s| u128::from(s.processors));
        all.sum::<u128>().max(1)
    }

    fn most(&self, free: fn(&LoadSample) -> i64) -> i64 {
        self.samples.iter().map(free).max().unwrap_or(0)
    }

    /// The candidate as seen now; what was sent counts only if `debited`.
    pub fn candidate(&self, debited: bool) -> Candidate {
        let processors = self.processors();
        let samples = || self.samples.iter();
        // Where all nodes are down all there is is in use.
        let is_down = !self.samples.is_empty() && samples().all(|s| s.processors == 0);
        let utilization = |w| match is_down {
            false => sum(samples().map(|s| s.busy_over(w)), processors),
            true => Fraction {
                numerator: 1,
                denominator: 1,
            },
        };
        let spaces = samples().map(|s| Arc::clone(&s.space));
        let both = |all: Arc<FreeSpace>, one: Arc<FreeSpace>| match *one == FreeSpace::default() {
            true => all,
            false => Arc::new(FreeSpace::clone(&all).and(FreeSpace::clone(&one))),
        };
        let mut candidate = Candidate {
            processors,
            queued: Window::ALL.map(|w| sum(samples().map(|s| s.queued_over(w)), 1)),
            utilization: Window::ALL.map(utilization),
            free: self.free(),
            space: spaces.reduce(both).unwrap_or_default(),
        };
        if debited {
            for sent in &self.sent {
                candidate.debit(sent.processors);
            }
        }
        candidate
    }

    /// What is true of it, provided that this is what it was told; what was
    /// sent counts.
    pub fn truth(&self) -> Truth {
        let work: u128 = self.samples.iter().map(|s| s.work_left).sum();
        let mut truth = Truth {
            free_beyond_queue: self
                .most(|s| i64::from(s.free()) - s.queued_processors.cast_signed())
                - self.pending.processors.cast_signed(),
            work_per_processor: Fraction {
                numerator: (work + self.pending.work).cast_signed(),
                denominator: self.processors(),
            },
        };
        for sent in &self.sent {
            truth.debit(sent.processors, sent.work);
        }
        truth
    }
}

impl Candidate {
    /// Counts a job that was sent there but is not in the sample: one more
    /// queued, its processors busy and no longer free.
    pub(super) fn debit(&mut self, processors: u32) {
        for queued in &mut self.queued {
            queued.numerator += queued.denominator.cast_signed();
        }
        for utilization in &mut self.utilization {
            // The denominator is weight x all processors; one more busy
            // processor adds one weight.
            let weight = utilization.denominator / self.processors;
            let busy = u128::from(processors.max(1));
            utilization.numerator += (busy * weight).cast_signed();
        }
        self.free -= i64::from(processors);
    }
}

impl Truth {
    /// The same.
    pub(super) fn debit(&mut self, processors: u32, work: u128) {
        self.free_beyond_queue -= i64::from(processors);
        self.work_per_processor.numerator += work.cast_signed();
    }
}

/// Processor-nanoseconds of a job at speed 1.0.
pub(super) fn work_of(job: &JobSpec) -> u128 {
    u128::from(job.processors()) * u128::from(job.run_time.as_nanos())
}

/// The sum of means over `divisor`. Samples of one instant share their weight;
/// others (after a lost message, or passed on) are brought to a common one.
fn sum(means: impl Iterator<Item = Mean>, divisor: u128) -> Fraction {
    let mut total = Mean { sum: 0, weight: 1 };
    for (index, mean) in means.enumerate() {
        if index == 0 {
            total = mean;
        } else if total.weight == mean.weight {
            total.sum += mean.sum;
        } else {
            let common = gcd(total.weight, mean.weight).max(1);
            let (to_total, to_mean) = (mean.weight / common, total.weight / common);
            let weight = u128::from(total.weight) * u128::from(to_total);
            let crossed = total.sum * u128::from(to_total) + mean.sum * u128::from(to_mean);
            // Nanosecond weights of two windows multiply to less than 2^77 at most;
            // a shift keeps the result within 64 bits of weight.
            let shift = (128 - weight.leading_zeros()).saturating_sub(63);
            total = Mean {
                sum: crossed >> shift,
                weight: (weight >> shift) as u64,
            };
        }
    }
    Fraction {
        numerator: total.sum.cast_signed(),
        denominator: u128::from(total.weight) * divisor,
    }
}
