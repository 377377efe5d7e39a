//! Listens to a run's events and counts; cheap enough for the hot loop.

use super::estimate::Histogram;
use super::series::Series;
use gridrig_core::event::{Event, EventSink, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::time::{SimDuration, SimTime};

/// Rows of the course of the whole grid.
const COURSE: usize = 360;
/// Rows of the courses of the clusters.
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

/// Jobs so far.
#[derive(Clone, Copy, Debug, Default)]
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
    pub seen: u64,
    /// Forwarded at least once.
    pub forwarded: u64,
    /// Forwards.
    pub forwards: u64,
    /// Started.
    pub started: u64,
    /// Started later than they were queued.
    pub waited: u64,
}

impl Counts {
    /// Jobs that brokers hold, or that are on their way.
    #[must_use]
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
pub struct Tap {
    slots: Vec<Slot>,
    counts: Counts,
    clusters: Vec<ClusterNow>,
    domains: usize,
    /// Forwards from (row) to (column).
    forwards: Vec<u64>,
    /// When (row) last sent its information to (column); 0 is never.
    told: Vec<u64>,
    delays: Histogram,
    lags: Histogram,
    course: Series,
    sparks: Series,
    next_row: SimTime,
    next_spark: SimTime,
    now: SimTime,
    events: u64,
    /// A start so much later than the job was queued is a timer's lateness.
    tolerance: u64,
}

impl Tap {
    /// Counts a run on this grid with jobs 0 to `jobs`, the last of which is
    /// submitted at `last`.
    #[must_use]
    pub fn new(grid: &Grid, jobs: usize, last: SimTime, tolerance: SimDuration) -> Self {
        let part = |rows: usize| SimDuration::from_nanos(last.as_nanos() / rows as u64);
        let (domains, clusters) = (grid.domains.len(), grid.clusters.len());
        Tap {
            slots: vec![Slot::default(); jobs],
            counts: Counts::default(),
            clusters: vec![ClusterNow::default(); clusters],
            domains,
            forwards: vec![0; domains * domains],
            told: vec![0; domains * domains],
            delays: Histogram::default(),
            lags: Histogram::default(),
            course: Series::new(3, COURSE, part(COURSE / 2)),
            sparks: Series::new(clusters, SPARK, part(SPARK / 2)),
            next_row: SimTime::ZERO,
            next_spark: SimTime::ZERO,
            now: SimTime::ZERO,
            events: 0,
            tolerance: tolerance.as_nanos(),
        }
    }

    /// Jobs so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The clusters in file order.
    #[must_use]
    pub fn clusters(&self) -> &[ClusterNow] {
        &self.clusters
    }

    /// Forwards from one domain to another.
    #[must_use]
    pub fn forwards(&self, from: DomainId, to: DomainId) -> u64 {
        let at = from.index() * self.domains + to.index();
        self.forwards.get(at).copied().unwrap_or(0)
    }

    /// When one domain last sent its information to another.
    #[must_use]
    pub fn told(&self, from: DomainId, to: DomainId) -> Option<SimTime> {
        let at = from.index() * self.domains + to.index();
        let told = self.told.get(at).copied().unwrap_or(0);
        told.checked_sub(1).map(SimTime::from_nanos)
    }

    /// Delays of the jobs whose end has been seen, in nanoseconds.
    #[must_use]
    pub fn delays(&self) -> &Histogram {
        &self.delays
    }

    /// How late jobs were handed over, in nanoseconds.
    #[must_use]
    pub fn lags(&self) -> &Histogram {
        &self.lags
    }

    /// Jobs with brokers, queued and running over time.
    #[must_use]
    pub fn course(&self) -> &Series {
        &self.course
    }

    /// The queue of each cluster over time.
    #[must_use]
    pub fn sparks(&self) -> &Series {
        &self.sparks
    }

    /// The instant of the last event.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// How many events there were.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// All jobs of the run.
    #[must_use]
    pub fn jobs(&self) -> usize {
        self.slots.len()
    }

    /// Time passes without an event.
    pub fn advance(&mut self, at: SimTime) {
        if at >= self.next_row || at >= self.next_spark {
            self.catch_up(at);
        }
        self.now = self.now.max(at);
    }

    /// Ends the courses with how things are at `at`.
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
            self.next_row = self.course.next_after(self.next_row);
        }
        while self.next_spark <= at {
            self.add_spark(self.next_spark);
            self.next_spark = self.sparks.next_after(self.next_spark);
        }
    }

    fn add_row(&mut self, at: SimTime) {
        let brokers = u32::try_from(self.counts.with_brokers()).unwrap_or(u32::MAX);
        let row = [brokers, self.counts.queued, self.counts.running];
        self.course.push(at, row.into_iter());
    }

    fn add_spark(&mut self, at: SimTime) {
        let queues = self.clusters.iter().map(|cluster| cluster.queued);
        self.sparks.push(at, queues);
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

    fn inform(&mut self, at: SimTime, from: Party, to: Party) {
        match (from, to) {
            (Party::Lrms(cluster), _) => {
                if let Some(seen) = self.clusters.get_mut(cluster.index()) {
                    seen.sampled = Some(at);
                }
            }
            (Party::Broker(from), Party::Broker(to)) => {
                let cell = from.index() * self.domains + to.index();
                if let Some(told) = self.told.get_mut(cell) {
                    *told = at.as_nanos() + 1;
                }
            }
            _ => {}
        }
    }

    fn forward(&mut self, job: JobId, from: DomainId, to: DomainId) {
        self.counts.forwards += 1;
        let cell = from.index() * self.domains + to.index();
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
    #[inline]
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        if at >= self.next_row || at >= self.next_spark {
            self.catch_up(at);
        }
        self.now = self.now.max(at);
        self.events += 1;
        let nanos = at.as_nanos();
        match event {
            Event::Submitted { job, intended, .. } => {
                self.counts.submitted += 1;
                self.lags.record(at.since(intended).as_nanos());
                if let Some(slot) = self.slots.get_mut(job.index()) {
                    slot.submit = nanos;
                }
            }
            Event::Queued { job, cluster } => {
                if let Some(slot) = self.slots.get_mut(job.index()) {
                    slot.mark = nanos;
                    slot.cluster = cluster.0;
                    slot.phase = Phase::Queued;
                }
                self.counts.queued += 1;
                if let Some(seen) = self.clusters.get_mut(cluster.index()) {
                    seen.queued += 1;
                }
            }
            Event::Started {
                job,
                cluster,
                placement,
            } => {
                let processors = placement.iter().map(|run| run.nodes * run.processors).sum();
                self.start(nanos, job, cluster, processors);
            }
            Event::Finished { job, .. } => self.finish(nanos, job),
            Event::FinishSeen { job, .. } => self.see(nanos, job),
            Event::InfoSent { from, to } => self.inform(at, from, to),
            Event::Forwarded { job, from, to } => self.forward(job, from, to),
            Event::Rejected { job, .. } => {
                self.counts.rejected += 1;
                self.leave(job, nanos);
            }
            Event::Cancelled { job, .. } => {
                self.counts.cancelled += 1;
                self.leave(job, nanos);
            }
            Event::Failed { job, .. } => {
                self.counts.failed += 1;
                self.leave(job, nanos);
            }
            Event::BrokerArrival { .. }
            | Event::Refused { .. }
            | Event::Dispatched { .. }
            | Event::Notified { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::cluster::ClusterConfig;
    use gridrig_core::discipline::DisciplineKind;
    use gridrig_core::grid::{Domain, GridCluster};
    use gridrig_core::job::{Entry, Reason};
    use gridrig_core::placement::PlacementRun;
    use gridrig_core::resource::Resources;

    const C: ClusterId = ClusterId(0);

    fn tap(jobs: usize) -> Tap {
        let mut grid = Grid::default();
        for name in ["a", "b"] {
            let clusters = match name {
                "a" => vec![C],
                _ => Vec::new(),
            };
            grid.domains.push(Domain {
                name: name.to_owned(),
                broker: gridrig_core::grid::BrokerSettings::default(),
                clusters,
            });
        }
        grid.clusters.push(GridCluster {
            name: "a1".to_owned(),
            domain: Some(DomainId(0)),
            config: ClusterConfig::new(C, Resources::homogeneous(8), DisciplineKind::Fcfs),
        });
        Tap::new(&grid, jobs, SimTime::from_secs(100), SimDuration::ZERO)
    }

    fn at(tap: &mut Tap, second: u64, event: Event<'_>) {
        tap.emit(SimTime::from_secs(second), event);
    }

    fn run_job(tap: &mut Tap, job: JobId, times: [u64; 5]) {
        let placement = [PlacementRun {
            resource: 0,
            node: 0,
            nodes: 2,
            processors: 3,
        }];
        let (entry, intended) = (Entry::Domain(DomainId(0)), SimTime::ZERO);
        at(
            tap,
            times[0],
            Event::Submitted {
                job,
                entry,
                intended,
            },
        );
        at(tap, times[1], Event::Queued { job, cluster: C });
        assert_eq!(tap.clusters()[0].queued, 1);
        let placement = &placement;
        at(
            tap,
            times[2],
            Event::Started {
                job,
                cluster: C,
                placement,
            },
        );
        assert_eq!((tap.clusters()[0].busy, tap.clusters()[0].queued), (6, 0));
        at(tap, times[3], Event::Finished { job, cluster: C });
        at(
            tap,
            times[4],
            Event::FinishSeen {
                job,
                by: Party::Broker(DomainId(0)),
            },
        );
    }

    #[test]
    fn a_job_counts_in_one_place_at_a_time() {
        let mut tap = tap(2);
        run_job(&mut tap, JobId(0), [1, 3, 3, 10, 11]);
        run_job(&mut tap, JobId(1), [20, 22, 30, 40, 45]);
        let counts = *tap.counts();
        assert_eq!((counts.submitted, counts.finished, counts.seen), (2, 2, 2));
        assert_eq!((counts.started, counts.waited), (2, 1));
        assert_eq!(
            (counts.queued, counts.running, counts.with_brokers()),
            (0, 0, 0)
        );
        assert_eq!(tap.clusters()[0].busy, 0);
        // 11 - 1 - 7 = 3 s and 45 - 20 - 10 = 15 s.
        assert_eq!(tap.delays().mean(), Some(9e9));
        assert_eq!(tap.lags().len(), 2);
    }

    #[test]
    fn a_job_that_never_ran_has_no_delay_and_leaves_no_trace() {
        let mut tap = tap(2);
        let (job, by) = (JobId(0), Party::Broker(DomainId(0)));
        let (entry, intended) = (Entry::Domain(DomainId(0)), SimTime::ZERO);
        at(
            &mut tap,
            1,
            Event::Submitted {
                job,
                entry,
                intended,
            },
        );
        let (from, to) = (DomainId(0), DomainId(1));
        at(&mut tap, 2, Event::Forwarded { job, from, to });
        at(
            &mut tap,
            3,
            Event::Forwarded {
                job,
                from: to,
                to: from,
            },
        );
        let reason = Reason::NoCandidate;
        at(&mut tap, 4, Event::Rejected { job, by, reason });
        at(&mut tap, 4, Event::FinishSeen { job, by });
        let counts = tap.counts();
        assert_eq!(
            (counts.rejected, counts.forwarded, counts.forwards),
            (1, 1, 2)
        );
        assert_eq!((tap.forwards(from, to), tap.delays().len()), (1, 0));
        let job = JobId(1);
        at(
            &mut tap,
            5,
            Event::Submitted {
                job,
                entry,
                intended,
            },
        );
        at(&mut tap, 6, Event::Queued { job, cluster: C });
        at(
            &mut tap,
            7,
            Event::Cancelled {
                job,
                by: Party::Lrms(C),
            },
        );
        assert_eq!((tap.counts().queued, tap.clusters()[0].queued), (0, 0));
        // A job that is not of the run harms nobody.
        at(
            &mut tap,
            8,
            Event::Finished {
                job: JobId(9),
                cluster: ClusterId(9),
            },
        );
    }

    #[test]
    fn the_course_has_a_row_at_every_instant_of_its_grid_and_one_at_the_end() {
        let mut tap = tap(1);
        run_job(&mut tap, JobId(0), [1, 2, 2, 60, 60]);
        tap.close(SimTime::from_secs(100));
        let rows = tap.course().rows(0);
        let steps: Vec<f64> = rows
            .windows(2)
            .map(|pair| pair[1][0] - pair[0][0])
            .collect();
        let inner = &steps[..steps.len() - 1];
        assert!(
            inner.iter().all(|step| (step - inner[0]).abs() < 1e-6),
            "{steps:?}"
        );
        let running = rows.iter().filter(|row| row[3] > 0.0).count() as f64 * inner[0];
        assert!((running - 58.0).abs() <= inner[0], "{running}");
        assert_eq!(rows.last().unwrap()[0], 100.0);
    }

    #[test]
    fn information_is_told_by_whom_to_whom() {
        let mut tap = tap(0);
        let (a, b) = (DomainId(0), DomainId(1));
        at(
            &mut tap,
            0,
            Event::InfoSent {
                from: Party::Broker(a),
                to: Party::Broker(b),
            },
        );
        at(
            &mut tap,
            15,
            Event::InfoSent {
                from: Party::Lrms(C),
                to: Party::Broker(a),
            },
        );
        assert_eq!(tap.told(a, b), Some(SimTime::ZERO));
        assert_eq!(tap.told(b, a), None);
        assert_eq!(tap.clusters()[0].sampled, Some(SimTime::from_secs(15)));
    }
}
