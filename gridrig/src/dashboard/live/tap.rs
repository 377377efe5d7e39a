//! Listens to a run's events and counts; cheap enough for the hot loop.
//!
//! Most events of a quiet grid are messages with resource information. The log
//! counts them anyway, and a tap asks it when somebody looks.

mod leases;
mod tables;

use super::series::Series;
use crate::estimate::Histogram;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::time::{SimDuration, SimTime};
use leases::Leases;
use serde::Serialize;

/// Rows of the history of the whole grid.
const HISTORY: usize = 360;
/// Rows of the histories of the clusters.
const SPARK: usize = 64;

/// What is known of a cluster now.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterNow {
    /// Jobs that wait in its queue.
    pub queued: u32,
    /// Jobs that run.
    pub running: u32,
    /// Processors in use.
    pub busy: u32,
    /// Jobs that ended here by themselves.
    pub finished: u64,
    /// When it was last sampled for its broker.
    pub sampled: Option<SimTime>,
}

impl ClusterNow {
    /// Queued, running, busy processors, finished.
    pub fn figures(&self) -> [u64; 4] {
        [
            self.queued.into(),
            self.running.into(),
            self.busy.into(),
            self.finished,
        ]
    }
}

/// Jobs so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Handed over.
    pub submitted: u64,
    /// In queues of LRMSs now.
    pub queued: u32,
    /// Running now.
    pub running: u32,
    /// Ran to their end.
    pub finished: u64,
    /// Turned away for good.
    pub rejected: u64,
    /// Removed on request.
    pub cancelled: u64,
    /// Lost to a fault.
    pub failed: u64,
    /// Their end is known where they came in.
    #[serde(rename = "ended")]
    pub seen: u64,
    /// Forwarded at least once.
    pub forwarded: u64,
    /// Started.
    #[serde(skip)]
    pub started: u64,
    /// Started later than they were queued.
    #[serde(skip)]
    pub waited: u64,
}

impl Counts {
    /// Jobs that brokers hold, or that are on their way.
    pub fn with_brokers(&self) -> u64 {
        let gone = self.finished + self.rejected + self.cancelled + self.failed;
        let placed = u64::from(self.queued) + u64::from(self.running);
        self.submitted.saturating_sub(gone + placed)
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Away,
    Queued,
    Running,
    Ended,
}

/// What has to be remembered of a job until its end is seen.
#[derive(Clone, Copy, Default)]
struct Slot {
    submit: u64,
    /// When it was queued or started; once it has ended, how long it ran.
    mark: u64,
    processors: u32,
    cluster: u16,
    phase: Phase,
    forwarded: bool,
}

/// Counts a run's events.
#[derive(Default)]
pub struct Tap {
    slots: Vec<Slot>,
    /// All jobs of the run.
    pub jobs: usize,
    /// Jobs so far.
    pub counts: Counts,
    /// The clusters in file order.
    pub clusters: Vec<ClusterNow>,
    domains: usize,
    /// Forwards from (row) to (column).
    forwards: Vec<u64>,
    /// When (row) last sent its information to (column); 0 is never.
    told: Vec<u64>,
    /// Delays of the jobs whose end has been seen, in nanoseconds.
    pub delays: Histogram,
    /// How late jobs were handed over, in nanoseconds.
    pub lags: Histogram,
    /// Jobs with brokers, queued and running over time.
    pub history: Series,
    /// The queue of each cluster over time.
    pub sparks: Series,
    /// Processors that are delegated.
    pub leases: Leases,
    next_row: SimTime,
    next_spark: SimTime,
    /// The earlier of the two: one comparison for every event.
    due: SimTime,
    /// The instant of the last event.
    pub now: SimTime,
    events: u64,
    /// Messages with resource information, at the last look.
    informed: u64,
    /// A start so much later than the job was queued is a timer's lateness.
    tolerance: u64,
}

impl Tap {
    /// Counts a run on this grid with jobs 0 to `jobs`, the last of which is
    /// submitted at `last`.
    pub fn new(grid: &Grid, jobs: usize, last: SimTime, tolerance: SimDuration) -> Self {
        let part = |rows: usize| SimDuration::from_nanos(last.as_nanos() / rows as u64);
        let (domains, clusters) = (grid.domains.len(), grid.clusters.len());
        Tap {
            slots: vec![Slot::default(); jobs],
            jobs,
            clusters: vec![ClusterNow::default(); clusters],
            domains,
            forwards: vec![0; domains * domains],
            told: vec![0; domains * domains],
            history: Series::new(3, HISTORY, part(HISTORY / 2)),
            sparks: Series::new(clusters, SPARK, part(SPARK / 2)),
            tolerance: tolerance.as_nanos(),
            ..Tap::default()
        }
    }

    fn cell(&self, from: DomainId, to: DomainId) -> usize {
        from.index() * self.domains + to.index()
    }

    /// Forwards from one domain to another.
    pub fn forwards(&self, from: DomainId, to: DomainId) -> u64 {
        self.forwards.get(self.cell(from, to)).copied().unwrap_or(0)
    }

    /// When a party last sent its information to another.
    pub fn told(&self, from: Party, to: Party) -> Option<SimTime> {
        match (from, to) {
            (Party::Lrms(cluster), _) => self.clusters.get(cluster.index())?.sampled,
            (Party::Broker(from), Party::Broker(to)) => {
                let told = self.told.get(self.cell(from, to))?.checked_sub(1);
                told.map(SimTime::from_nanos)
            }
            _ => None,
        }
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events + self.informed
    }

    /// Time passes, with an event at its end or without.
    #[inline]
    pub fn advance(&mut self, at: SimTime) {
        if at >= self.due {
            self.catch_up(at);
        }
        self.now = self.now.max(at);
    }

    /// Ends the histories with how things are at `at`.
    pub fn close(&mut self, at: SimTime) {
        self.now = self.now.max(at);
        self.add_row(self.now);
        self.add_spark(self.now);
    }

    /// Adds the rows that were due before this instant, all alike: nothing has
    /// happened since the last event. A full series thins out, so there are
    /// never many.
    #[cold]
    fn catch_up(&mut self, at: SimTime) {
        while self.next_row <= at {
            self.add_row(self.next_row);
            self.next_row = self.history.next_after(self.next_row);
        }
        while self.next_spark <= at {
            self.add_spark(self.next_spark);
            self.next_spark = self.sparks.next_after(self.next_spark);
        }
        self.due = self.next_row.min(self.next_spark);
    }

    fn add_row(&mut self, at: SimTime) {
        let brokers = u32::try_from(self.counts.with_brokers()).unwrap_or(u32::MAX);
        let row = [brokers, self.counts.queued, self.counts.running];
        self.history.push(at, row.into_iter());
    }

    fn add_spark(&mut self, at: SimTime) {
        let queues = self.clusters.iter().map(|cluster| cluster.queued);
        self.sparks.push(at, queues);
    }

    fn queue(&mut self, at: u64, job: JobId, cluster: ClusterId) {
        if let Some(slot) = self.slots.get_mut(job.index()) {
            (slot.mark, slot.cluster, slot.phase) = (at, cluster.0, Phase::Queued);
        }
        self.counts.queued += 1;
        if let Some(seen) = self.clusters.get_mut(cluster.index()) {
            seen.queued += 1;
        }
    }

    fn start(&mut self, at: u64, job: JobId, cluster: ClusterId, processors: u32) {
        let Some(slot) = self.slots.get_mut(job.index()) else {
            return;
        };
        let waited = slot.phase == Phase::Queued && at.saturating_sub(slot.mark) > self.tolerance;
        if let Some(seen) = self.clusters.get_mut(cluster.index()) {
            if slot.phase == Phase::Queued {
                seen.queued = seen.queued.saturating_sub(1);
                self.counts.queued = self.counts.queued.saturating_sub(1);
            }
            seen.running += 1;
            seen.busy += processors;
        }
        slot.mark = at;
        slot.processors = processors;
        slot.cluster = cluster.0;
        slot.phase = Phase::Running;
        self.counts.running += 1;
        self.counts.started += 1;
        self.counts.waited += u64::from(waited);
    }

    fn finish(&mut self, at: u64, job: JobId) {
        self.counts.finished += 1;
        let Some(cluster) = self.leave(job, at) else {
            return;
        };
        if let Some(seen) = self.clusters.get_mut(cluster) {
            seen.finished += 1;
        }
        if let Some(slot) = self.slots.get_mut(job.index()) {
            slot.phase = Phase::Ended;
        }
    }

    /// The job is in no LRMS any more; answers in which it ran.
    fn leave(&mut self, job: JobId, at: u64) -> Option<usize> {
        let slot = self.slots.get_mut(job.index())?;
        let phase = std::mem::take(&mut slot.phase);
        let index = usize::from(slot.cluster);
        let seen = self.clusters.get_mut(index)?;
        match phase {
            Phase::Queued => {
                seen.queued = seen.queued.saturating_sub(1);
                self.counts.queued = self.counts.queued.saturating_sub(1);
                None
            }
            Phase::Running => {
                seen.running = seen.running.saturating_sub(1);
                seen.busy = seen.busy.saturating_sub(slot.processors);
                self.counts.running = self.counts.running.saturating_sub(1);
                slot.mark = at.saturating_sub(slot.mark);
                Some(index)
            }
            Phase::Away | Phase::Ended => None,
        }
    }

    fn see(&mut self, at: u64, job: JobId) {
        self.counts.seen += 1;
        let Some(slot) = self.slots.get(job.index()) else {
            return;
        };
        if slot.phase == Phase::Ended {
            let whole = at.saturating_sub(slot.submit);
            self.delays.record(whole.saturating_sub(slot.mark));
        }
    }

    /// Takes note of all messages with resource information so far: sender,
    /// receiver, how many, and when the last of them was sent.
    pub fn inform(&mut self, sent: impl Iterator<Item = (Party, Party, u64, Option<SimTime>)>) {
        self.informed = 0;
        for (from, to, count, last) in sent {
            self.informed += count;
            if let Some(last) = last {
                self.last_informed(last, from, to);
            }
        }
    }

    fn last_informed(&mut self, at: SimTime, from: Party, to: Party) {
        match (from, to) {
            (Party::Lrms(cluster), _) => {
                if let Some(seen) = self.clusters.get_mut(cluster.index()) {
                    seen.sampled = Some(at);
                }
            }
            (Party::Broker(from), Party::Broker(to)) => {
                let cell = self.cell(from, to);
                if let Some(told) = self.told.get_mut(cell) {
                    *told = at.as_nanos() + 1;
                }
            }
            _ => {}
        }
    }

    fn forward(&mut self, job: JobId, from: DomainId, to: DomainId) {
        let cell = self.cell(from, to);
        if let Some(count) = self.forwards.get_mut(cell) {
            *count += 1;
        }
        if let Some(slot) = self.slots.get_mut(job.index()) {
            self.counts.forwarded += u64::from(!slot.forwarded);
            slot.forwarded = true;
        }
    }
}

impl EventSink for Tap {
    /// Messages with resource information are passed over: see
    /// [`inform`](Tap::inform).
    #[inline]
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        let Some(job) = event.job else {
            return;
        };
        self.advance(at);
        self.events += 1;
        let nanos = at.as_nanos();
        match event.kind {
            EventKind::Submitted => {
                self.counts.submitted += 1;
                self.lags.record(at.since(event.instant()).as_nanos());
                if let Some(slot) = self.slots.get_mut(job.index()) {
                    slot.submit = nanos;
                }
            }
            EventKind::Queued => {
                if let Some(cluster) = event.by.cluster() {
                    self.queue(nanos, job, cluster);
                }
            }
            EventKind::Started => {
                let placed = event.placement.iter();
                let processors = placed.map(|run| run.nodes * run.processors).sum();
                if let Some(cluster) = event.by.cluster() {
                    self.start(nanos, job, cluster, processors);
                }
            }
            EventKind::Finished => self.finish(nanos, job),
            EventKind::FinishSeen => self.see(nanos, job),
            EventKind::Forwarded => {
                let to = event.to.and_then(Party::domain);
                if let Some((from, to)) = event.by.domain().zip(to) {
                    self.forward(job, from, to);
                }
            }
            EventKind::LeaseRequested
            | EventKind::LeaseRejected
            | EventKind::Delegated
            | EventKind::LeaseExpired
            | EventKind::Released => {
                let to = event.to.and_then(Party::domain);
                if let Some((by, to)) = event.by.domain().zip(to) {
                    self.leases.said(event.kind, job, by, to);
                }
            }
            // What it has done is no part of its delay: as if it had come so much later.
            EventKind::Requeued if event.value > 0 => {
                if let Some(slot) = self.slots.get_mut(job.index()) {
                    slot.submit += nanos.saturating_sub(slot.mark);
                }
            }
            EventKind::Rejected => self.counts.rejected += 1,
            EventKind::Cancelled => self.counts.cancelled += 1,
            EventKind::Failed => self.counts.failed += 1,
            _ => {}
        }
        if event.kind.is_terminal() && event.kind != EventKind::Finished {
            self.leave(job, nanos);
        }
    }
}

#[cfg(test)]
mod tests;
