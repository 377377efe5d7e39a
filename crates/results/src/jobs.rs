//! One row per job: where it went, when, and what came of it.

mod build;
mod series;

pub(crate) use series::Loads;
pub use series::{MAX_POINTS, SeriesRow};

use crate::names::Names;
use gridrig_core::event::{EventKind, MessageKind};
use gridrig_core::grid::Topology;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{DUMMIES, JobLabel, Reason};
use gridrig_core::time::{SimDuration, SimTime};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use strum::{IntoStaticStr, VariantArray};

/// How a job stands when the run is over.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum JobState {
    /// It ran to its end.
    Completed,
    /// It was turned away for good.
    Rejected,
    /// It was removed on request.
    Cancelled,
    /// It was lost to a fault.
    Failed,
    /// It has no end that is known: the run ended first, or touch was lost.
    #[default]
    Unfinished,
}

impl JobState {
    /// All states, in the order of reports.
    pub const ALL: &'static [JobState] = <JobState as VariantArray>::VARIANTS;

    /// The name used in files and interfaces.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What became of one job. Instants count from the run's start and are
/// `None` where the thing did not happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct JobRow {
    /// Its name in this run.
    pub job: JobId,
    /// Where the trace has it.
    pub label: JobLabel,
    /// The domain it was submitted to (or whose cluster was); `None` without
    /// domains.
    pub origin: Option<DomainId>,
    /// The domain of `cluster`.
    pub exec_domain: Option<DomainId>,
    /// The cluster that queued it; `None` if none ever did.
    pub cluster: Option<ClusterId>,
    /// Processors wanted.
    pub processors: u32,
    /// Forwards on the path to the broker that has, or last had, the job.
    /// Forwards that came back are not among them; see `forwards`.
    pub hops: u32,
    /// All forwards, those that came back with a refusal included.
    pub forwards: u32,
    /// How it stands.
    pub state: JobState,
    /// Why it was rejected or failed, or touch with it was lost.
    pub reason: Option<Reason>,
    /// When the trace wants it submitted.
    pub intended: SimTime,
    /// When the replayer handed it over.
    pub submit: Option<SimTime>,
    /// When the broker that has, or last had, the job got it.
    pub broker_arrival: Option<SimTime>,
    /// When a broker last handed it to an LRMS.
    pub dispatch: Option<SimTime>,
    /// When the LRMS accepted it.
    pub queued: Option<SimTime>,
    /// When it began to run, the last time if it was requeued.
    pub start: Option<SimTime>,
    /// When it ended by itself.
    pub finish: Option<SimTime>,
    /// When the news of its end, whatever end, reached the entry broker (the
    /// submitter in a run without brokers).
    pub finish_seen: Option<SimTime>,
    /// When it was finished, rejected, cancelled or lost.
    pub end: Option<SimTime>,
    /// Run time at speed 1.0. In a table that is built it is what a job has at its cluster
    /// if that knows how long its program runs.
    pub run_time_ref: SimDuration,
    /// Its runs that ended with a node that failed, in order.
    pub earlier: Box<[EarlierRun]>,
    /// Processors that were delegated or asked for on its behalf; `None` where none were.
    pub lease: Option<Box<Lease>>,
    /// Whether it enters at a cluster, past any broker.
    pub direct: bool,
    /// Whether it asks for processors that are reserved for it.
    pub reserves: bool,
    /// When the broker that sent it on last predicted it to start.
    pub predicted: Option<SimTime>,
    /// When, and whose broker that was.
    pub predicted_by: Option<(SimTime, DomainId)>,
    /// Where processors were held for parts of it; empty but for a job that several clusters
    /// ran together, or were asked to.
    pub claims: Vec<ClaimRow>,
    /// How much was brought to its clusters of what it reads, in MiB; `None` if it reads
    /// nothing, or did not start on several.
    pub moved_mib: Option<u64>,
    /// When they were asked for last, where, and for which of its components.
    pub(crate) asked: Option<Box<(SimTime, Asked)>>,
    /// Position in the log of the event that started it.
    pub(crate) started_by: usize,
}

/// Clusters and sums of powers of two, as the events have them.
pub(crate) type Asked = Vec<(ClusterId, u64)>;

/// What the workload is called of dummy jobs, by which background loads are controlled.
pub const DUMMY_JOBS: &str = "dummy jobs";

/// Processors that a cluster held for a part of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClaimRow {
    /// The cluster.
    pub cluster: ClusterId,
    /// How many.
    pub processors: u32,
    /// Since when.
    pub from: SimTime,
    /// Until when; `None` if that is not known.
    pub until: Option<SimTime>,
    /// Position in the log of the event that tells of it.
    pub(crate) told_by: usize,
}

/// A run that ended with a node that failed, after which the job waited again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EarlierRun {
    /// When it began.
    pub start: SimTime,
    /// When the node failed.
    pub end: SimTime,
    /// Whether what was done by then counts.
    pub is_kept: bool,
}

/// Processors of others that were delegated to the domain where a job entered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lease {
    /// Whose they were the last time, and to whom they were delegated from there, one after
    /// the other.
    pub chain: Vec<DomainId>,
    /// Since when they are delegated, as long as they are.
    pub since: Option<SimTime>,
    /// How long they were before.
    pub before: SimDuration,
    /// Requests that were taken back before anything was delegated.
    pub cancelled: u32,
    /// Whether they were taken back by who had delegated them, which the release follows.
    is_expired: bool,
}

impl Lease {
    /// How long processors were delegated, until they were released or the run was over.
    pub fn charged(&self, run_end: SimTime) -> SimDuration {
        self.since
            .map_or(self.before, |since| self.before + run_end.since(since))
    }

    fn delegated(&mut self, at: SimTime, by: DomainId, to: DomainId) {
        if self.since.is_none() || self.chain.last() != Some(&by) {
            self.chain = vec![by];
        }
        self.chain.push(to);
        self.since.get_or_insert(at);
    }

    fn released(&mut self, at: SimTime) {
        match self.since.take() {
            Some(since) => self.before = self.before + at.since(since),
            None if std::mem::take(&mut self.is_expired) => {}
            None => self.cancelled += 1,
        }
    }

    /// The broker that had delegated them to the job's domain has taken them back.
    fn expired(&mut self, at: SimTime, by: DomainId) {
        if self.chain.iter().nth_back(1) == Some(&by)
            && let Some(since) = self.since.take()
        {
            self.before = self.before + at.since(since);
            self.is_expired = true;
        }
    }
}

impl JobRow {
    /// Whether it ran on delegated processors, and whose they were.
    pub fn lender(&self) -> Option<DomainId> {
        let lender = *self.lease.as_ref()?.chain.first()?;
        (self.exec_domain == Some(lender)).then_some(lender)
    }

    /// Processor-nanoseconds of its earlier runs that do not count as done.
    pub fn lost_nanos(&self) -> u128 {
        let runs = self.earlier.iter().filter(|run| !run.is_kept);
        let nanos = runs.map(|run| u128::from(run.end.since(run.start).as_nanos()));
        nanos.sum::<u128>() * u128::from(self.processors)
    }

    /// How long its earlier runs lasted whose work counts.
    pub fn kept(&self) -> SimDuration {
        let runs = self.earlier.iter().filter(|run| run.is_kept);
        let nanos = runs.map(|run| run.end.since(run.start).as_nanos());
        SimDuration::from_nanos(nanos.sum())
    }

    /// Actual run time: finish - start, and the earlier runs whose work counts.
    pub fn run_time(&self) -> Option<SimDuration> {
        Some(self.finish?.since(self.start?) + self.kept())
    }

    /// Delay time in seconds: finish_seen - submit - actual run time, for
    /// jobs that finished (LSAP 4.3).
    pub fn delay_s(&self) -> Option<f64> {
        let run_time = self.run_time()?.as_nanos().cast_signed();
        let passed = difference(self.finish_seen?, self.submit?);
        Some(seconds(passed.wrapping_sub(run_time)))
    }

    /// (finish_seen - submit) / actual run time; `None` for a run time of 0.
    pub fn expansion(&self) -> Option<f64> {
        let run_time = self.run_time()?;
        let passed = difference(self.finish_seen?, self.submit?);
        ratio(passed, run_time)
    }

    /// start - submit in seconds.
    pub fn wait_s(&self) -> Option<f64> {
        Some(seconds(difference(self.start?, self.submit?)))
    }

    /// Its earlier runs at the LRMS that accepted it last.
    pub(crate) fn runs_since_queued(&self) -> impl Iterator<Item = &EarlierRun> {
        let queued = self.queued;
        let earlier = self.earlier.iter();
        earlier.filter(move |run| queued.is_some_and(|queued| run.start >= queued))
    }

    /// How long these ran.
    pub(crate) fn ran_since_queued(&self) -> SimDuration {
        let runs = self.runs_since_queued();
        let nanos = runs.map(|run| run.end.since(run.start).as_nanos());
        SimDuration::from_nanos(nanos.sum())
    }

    /// start - queued in seconds, without its earlier runs: its time in the queue of the
    /// LRMS.
    pub fn queue_s(&self) -> Option<f64> {
        let ran = self.ran_since_queued().as_nanos().cast_signed();
        let passed = difference(self.start?, self.queued?);
        Some(seconds(passed.wrapping_sub(ran)))
    }

    /// response / actual run time; `None` for a run time of 0.
    pub fn slowdown(&self) -> Option<f64> {
        ratio(difference(self.finish?, self.submit?), self.run_time()?)
    }

    /// finish - submit in seconds.
    pub fn response_s(&self) -> Option<f64> {
        Some(seconds(difference(self.finish?, self.submit?)))
    }

    /// max(1, response / max(actual run time, tau)); `None` if both are 0.
    pub fn bounded_slowdown(&self, tau: SimDuration) -> Option<f64> {
        self.slowdown_against(self.run_time()?.max(tau))
    }

    /// The same against the run time at speed 1.0, which does not flatter
    /// slow domains.
    pub fn bounded_slowdown_ref(&self, tau: SimDuration) -> Option<f64> {
        self.slowdown_against(self.run_time_ref.max(tau))
    }

    /// submit - intended in nanoseconds.
    pub fn submission_lag_ns(&self) -> Option<i64> {
        Some(difference(self.submit?, self.intended))
    }

    /// From its start until it ended or, if it did not, until `run_end`.
    pub fn occupied(&self, run_end: SimTime) -> Option<(SimTime, SimTime)> {
        let start = self.start?;
        Some((start, self.end.unwrap_or(run_end).max(start)))
    }

    fn slowdown_against(&self, length: SimDuration) -> Option<f64> {
        let response = difference(self.finish?, self.submit?);
        ratio(response, length).map(|slowdown| slowdown.max(1.0))
    }
}

/// One visit of a job to a broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HopRow {
    /// The job.
    pub job: JobId,
    /// Forwards before this visit, 0 at the entry broker.
    pub hop: u32,
    /// Whose broker.
    pub domain: DomainId,
    /// The domain that forwarded it here.
    pub from_domain: Option<DomainId>,
    /// When it arrived.
    pub arrival: SimTime,
    /// When this broker last forwarded it on.
    pub forwarded: Option<SimTime>,
    /// Where to.
    pub forwarded_to: Option<DomainId>,
    /// When this broker last handed it to a cluster of its own.
    pub dispatched: Option<SimTime>,
    /// When this broker sent it back to where it came from.
    pub refused: Option<SimTime>,
    /// Why.
    pub reason: Option<Reason>,
}

/// What brokers say about processors that are delegated.
pub(crate) const SAID: [EventKind; 4] = [
    EventKind::LeaseRequested,
    EventKind::LeaseRejected,
    EventKind::Delegated,
    EventKind::Released,
];

/// What the table knows of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterInfo {
    /// Its domain.
    pub domain: Option<DomainId>,
    /// All processors.
    pub processors: u32,
    /// The sum of their speeds, in parts of 1e-9.
    pub speeds: u128,
    /// Time between scheduling passes, 0 if event-driven.
    pub pass_interval: SimDuration,
    /// When how many of the processors went down (above 0) or came up (below), in
    /// order.
    pub down: Vec<(SimTime, i64)>,
}

/// All jobs of a run, in the order of the workload. Jobs that were never
/// handed over, since the run ended first, have a row without instants.
#[derive(Clone, Debug)]
pub struct JobTable {
    rows: Vec<JobRow>,
    hops: Vec<HopRow>,
    names: Names,
    /// Names of the workloads, in the order of the scenario.
    pub(crate) workloads: Vec<String>,
    clusters: Vec<ClusterInfo>,
    messages: [u64; MessageKind::ALL.len()],
    /// Where each domain stands among the others, by id.
    pub(crate) topology: Vec<Topology>,
    /// What brokers have said about processors, in the order of [`SAID`].
    pub(crate) said: [u64; SAID.len()],
    end: SimTime,
    /// The instant at which the last job finished.
    pub(crate) last_finish: Option<SimTime>,
}

impl JobTable {
    /// The rows, in the order of the workload.
    pub fn rows(&self) -> &[JobRow] {
        &self.rows
    }

    /// A digest of the rows: tables with the same one are taken to be equal.
    pub fn digest(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        self.rows.hash(&mut hash);
        hash.finish()
    }

    /// Visits to brokers, by (job, order of arrival).
    pub fn hops(&self) -> &[HopRow] {
        &self.hops
    }

    /// The names of domains and clusters.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The name of the workload at this position of the scenario; its number
    /// if it has none.
    pub fn workload(&self, index: u16) -> Cow<'_, str> {
        if index == DUMMIES {
            return DUMMY_JOBS.into();
        }
        let known = self.workloads.get(usize::from(index));
        known.map_or_else(|| index.to_string().into(), Cow::from)
    }

    /// What is known of the clusters, by id.
    pub fn clusters(&self) -> &[ClusterInfo] {
        &self.clusters
    }

    /// Messages of this kind in the whole run.
    pub fn messages(&self, kind: MessageKind) -> u64 {
        self.messages[kind as usize]
    }

    /// Whether domains are part of sites or grids.
    pub(crate) fn is_divided(&self) -> bool {
        let mut all = self.topology.iter();
        all.any(|it| it.site.is_some() || it.grid.is_some())
    }

    /// The instant of the run's last event.
    pub fn end(&self) -> SimTime {
        self.end
    }
}

/// Signed nanoseconds between two instants. Instants lie within 584 years of
/// each other, and anything a run can show within 292.
fn difference(later: SimTime, earlier: SimTime) -> i64 {
    later
        .as_nanos()
        .wrapping_sub(earlier.as_nanos())
        .cast_signed()
}

/// Nanoseconds to seconds with one rounding: both sides are exact up to 2^53.
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

fn ratio(nanos: i64, by: SimDuration) -> Option<f64> {
    (!by.is_zero()).then(|| nanos as f64 / by.as_nanos() as f64)
}
