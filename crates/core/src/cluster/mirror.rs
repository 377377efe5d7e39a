//! The books of a cluster that somebody else runs: a real LRMS decides, this
//! tells what it was told, in the same events and the same figures of load.

use super::{Finished, JobStatus, Work};
use crate::event::{Event, EventKind, EventSink, Party};
use crate::ids::{ClusterId, JobId};
use crate::job::{JobSpec, Reason};
use crate::load::{LoadHistory, LoadSample, Window};
use crate::placement::PlacementRun;
use crate::resource::Resources;
use crate::time::{SimDuration, SimTime};
use std::collections::BTreeMap;

/// A cluster whose scheduling happens elsewhere.
///
/// - Getters: [`sample`](Self::sample), [`query`](Self::query),
///   [`queued`](Self::queued), [`busy`](Self::busy), [`present`](Self::present).
/// - Commands: [`submit`](Self::submit), [`cancel`](Self::cancel).
/// - What is told of it: [`start`](Self::start), [`finish`](Self::finish),
///   [`fail`](Self::fail).
///
/// Processors are numbered through all nodes in file order. Time only moves
/// forward: what is told late happens at the instant of the latest change.
pub struct Mirror {
    id: ClusterId,
    resources: Resources,
    queue_limit: Option<usize>,
    jobs: BTreeMap<JobId, Job>,
    queued: usize,
    busy: u32,
    taken: Vec<bool>,
    latest: SimTime,
    history: LoadHistory,
    work: Work,
}

struct Job {
    processors: u32,
    run_time: SimDuration,
    queued: SimTime,
    running: Option<Running>,
}

struct Running {
    start: SimTime,
    /// When its run time would be over: what the books of work count with.
    planned: SimTime,
    seats: Vec<u32>,
    placement: Vec<PlacementRun>,
}

/// Where a job that has started runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seats {
    /// On these processors.
    Exactly(Vec<u32>),
    /// On some of these, or, where nobody knows any better, of all.
    Among(Vec<u32>),
}

/// What became of the news that a job has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It runs.
    Yes,
    /// Its processors are still another job's here: that one's end has to be
    /// told first.
    NoRoom,
    /// It does not wait here.
    Unknown,
}

impl Mirror {
    /// The books of an empty cluster.
    #[must_use]
    pub fn new(id: ClusterId, resources: Resources, queue_limit: Option<usize>) -> Self {
        Mirror {
            taken: vec![false; resources.processors() as usize],
            id,
            resources,
            queue_limit,
            jobs: BTreeMap::new(),
            queued: 0,
            busy: 0,
            latest: SimTime::ZERO,
            history: LoadHistory::default(),
            work: Work::default(),
        }
    }

    /// Its name in the run.
    #[must_use]
    pub fn id(&self) -> ClusterId {
        self.id
    }

    /// Jobs that wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Processors in use by its jobs.
    #[must_use]
    pub fn busy(&self) -> u32 {
        self.busy
    }

    /// Jobs that wait or run.
    #[must_use]
    pub fn present(&self) -> usize {
        self.jobs.len()
    }

    /// What it would report at this instant.
    #[must_use]
    pub fn sample(&self, now: SimTime) -> LoadSample {
        let now = now.max(self.latest);
        let (queued_30, busy_30) = self.history.means(now, Window::Seconds30);
        let (queued_300, busy_300) = self.history.means(now, Window::Seconds300);
        LoadSample {
            cluster: self.id,
            at: now,
            processors: self.resources.processors(),
            busy: self.busy,
            queued: self.queued as u64,
            queued_processors: self.work.queued_processors,
            work_left: self.work.left(now, self.busy),
            queued_means: [queued_30, queued_300],
            busy_means: [busy_30, busy_300],
        }
    }

    /// The state of a job that waits or runs here.
    #[must_use]
    pub fn query(&self, job: JobId) -> Option<JobStatus> {
        let job = self.jobs.get(&job)?;
        Some(match &job.running {
            None => JobStatus::Queued { since: job.queued },
            Some(running) => JobStatus::Running {
                start: running.start,
                placement: running.placement.clone(),
            },
        })
    }

    /// Takes a job in.
    ///
    /// # Errors
    /// [`Reason::NeverFits`] for one that could not run on the empty cluster,
    /// [`Reason::QueueFull`] past the bound. Nothing is changed or told then.
    pub fn submit(
        &mut self,
        now: SimTime,
        job: &JobSpec,
        events: &mut impl EventSink,
    ) -> Result<(), Reason> {
        if job.processors == 0 || !self.resources.could_run(job) {
            return Err(Reason::NeverFits);
        }
        if self.queue_limit.is_some_and(|limit| self.queued >= limit) {
            return Err(Reason::QueueFull);
        }
        let now = self.pass(now);
        let entry = Job {
            processors: job.processors,
            run_time: job.run_time,
            queued: now,
            running: None,
        };
        let before = self.jobs.insert(job.id, entry);
        assert!(
            before.is_none(),
            "{} was submitted twice to one cluster",
            job.id
        );
        self.queued += 1;
        self.work.queue(job.processors, job.run_time);
        let (job, cluster) = (job.id, self.id);
        events.emit(now, Event::new(EventKind::Queued, job, cluster));
        self.record(now);
        Ok(())
    }

    /// A job has started, at this instant or, where later changes are already
    /// told, at the latest of them.
    pub fn start(
        &mut self,
        at: SimTime,
        id: JobId,
        seats: &Seats,
        events: &mut impl EventSink,
    ) -> Started {
        let waits = self.jobs.get(&id).filter(|job| job.running.is_none());
        let Some((processors, run_time)) = waits.map(|job| (job.processors, job.run_time)) else {
            return Started::Unknown;
        };
        let Some(seats) = self.free_seats(seats, processors) else {
            return Started::NoRoom;
        };
        let at = self.pass(at);
        for seat in &seats {
            self.taken[*seat as usize] = true;
        }
        self.busy += processors;
        self.queued -= 1;
        let planned = at + run_time;
        self.work.start(processors, run_time, planned);
        let placement = self.placement(&seats);
        events.emit(
            at,
            Event::new(EventKind::Started, id, self.id).on(&placement),
        );
        if let Some(job) = self.jobs.get_mut(&id) {
            job.running = Some(Running {
                start: at,
                planned,
                seats,
                placement,
            });
        }
        self.record(at);
        Started::Yes
    }

    /// A running job has ended by itself; `None` if it does not run here.
    pub fn finish(
        &mut self,
        at: SimTime,
        job: JobId,
        events: &mut impl EventSink,
    ) -> Option<Finished> {
        let start = self.jobs.get(&job)?.running.as_ref()?.start;
        let finish = self.pass(at);
        self.remove(job);
        let cluster = self.id;
        events.emit(finish, Event::new(EventKind::Finished, job, cluster));
        self.record(finish);
        Some(Finished { job, start, finish })
    }

    /// A job that waits or runs is lost; `false` if it is not here.
    pub fn fail(
        &mut self,
        at: SimTime,
        job: JobId,
        reason: Reason,
        events: &mut impl EventSink,
    ) -> bool {
        let by = Party::Lrms(self.id);
        self.drop_job(
            at,
            job,
            Event::new(EventKind::Failed, job, by).because(reason),
            events,
        )
    }

    /// Removes a job that waits or runs; `false` if it is not here (any more).
    pub fn cancel(&mut self, now: SimTime, job: JobId, events: &mut impl EventSink) -> bool {
        let by = Party::Lrms(self.id);
        self.drop_job(now, job, Event::new(EventKind::Cancelled, job, by), events)
    }

    fn drop_job(
        &mut self,
        at: SimTime,
        job: JobId,
        event: Event<'_>,
        events: &mut impl EventSink,
    ) -> bool {
        if !self.remove(job) {
            return false;
        }
        let at = self.pass(at);
        events.emit(at, event);
        self.record(at);
        true
    }

    fn remove(&mut self, job: JobId) -> bool {
        let Some(job) = self.jobs.remove(&job) else {
            return false;
        };
        match job.running {
            None => {
                self.queued -= 1;
                self.work.unqueue(job.processors, job.run_time);
            }
            Some(running) => {
                self.busy -= job.processors;
                self.work.end(job.processors, running.planned);
                for seat in running.seats {
                    self.taken[seat as usize] = false;
                }
            }
        }
        true
    }

    /// The instant at which a change is told.
    fn pass(&mut self, at: SimTime) -> SimTime {
        self.latest = self.latest.max(at);
        self.latest
    }

    fn record(&mut self, now: SimTime) {
        self.history
            .record(now, self.queued as u64, u64::from(self.busy));
    }

    fn free_seats(&self, seats: &Seats, wanted: u32) -> Option<Vec<u32>> {
        let wanted = wanted as usize;
        let is_free = |seat: &u32| self.taken.get(*seat as usize) == Some(&false);
        let mut chosen: Vec<u32> = match seats {
            Seats::Exactly(exactly) => {
                let mut exactly: Vec<u32> = exactly.clone();
                exactly.sort_unstable();
                exactly.dedup();
                exactly.truncate(wanted);
                if exactly.len() != wanted || !exactly.iter().all(is_free) {
                    return None;
                }
                exactly
            }
            Seats::Among(these) => {
                let mut some: Vec<u32> = these.iter().copied().filter(is_free).collect();
                some.sort_unstable();
                some.dedup();
                some.truncate(wanted);
                let all = 0..self.resources.processors();
                let others = all.filter(|seat| is_free(seat) && some.binary_search(seat).is_err());
                let others: Vec<u32> = others.take(wanted - some.len()).collect();
                some.extend(others);
                if some.len() != wanted {
                    return None;
                }
                some
            }
        };
        chosen.sort_unstable();
        Some(chosen)
    }

    /// Processors, in rising order, as nodes.
    fn placement(&self, seats: &[u32]) -> Vec<PlacementRun> {
        let mut runs: Vec<PlacementRun> = Vec::new();
        let mut seats = seats.iter().copied().peekable();
        let mut first_of_group = 0;
        for (resource, group) in self.resources.groups().iter().enumerate() {
            let end = first_of_group + group.count * group.cpu_count;
            while let Some(seat) = seats.next_if(|seat| *seat < end) {
                let node = (seat - first_of_group) / group.cpu_count;
                let last = first_of_group + (node + 1) * group.cpu_count;
                let mut processors = 1;
                while seats.next_if(|seat| *seat < last).is_some() {
                    processors += 1;
                }
                let resource = u16::try_from(resource).unwrap_or(u16::MAX);
                match runs.last_mut() {
                    Some(run)
                        if (run.resource, run.node + run.nodes, run.processors)
                            == (resource, node, processors) =>
                    {
                        run.nodes += 1;
                    }
                    _ => runs.push(PlacementRun {
                        resource,
                        node,
                        nodes: 1,
                        processors,
                    }),
                }
            }
            first_of_group = end;
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Resource;
    use crate::time::Decimal;

    struct Nothing;

    impl EventSink for Nothing {
        fn emit(&mut self, _at: SimTime, _event: Event<'_>) {}
    }

    fn two_nodes_of_two() -> Mirror {
        let group = Resource {
            name: None,
            count: 2,
            cpu_count: 2,
            architecture: None,
            os: None,
            memory_mib: None,
            disk_mib: None,
            speed: Decimal::ONE,
        };
        Mirror::new(ClusterId(0), Resources::new(vec![group]).unwrap(), Some(2))
    }

    fn job(id: u32, processors: u32) -> JobSpec {
        JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(10))
    }

    fn at(secs: u64) -> SimTime {
        SimTime::from_secs(secs)
    }

    #[test]
    fn a_start_waits_until_the_end_before_it_is_told() {
        let mut books = two_nodes_of_two();
        books.submit(at(0), &job(0, 3), &mut Nothing).unwrap();
        books.submit(at(0), &job(1, 2), &mut Nothing).unwrap();
        let full = books.submit(at(0), &job(2, 1), &mut Nothing);
        assert_eq!(full, Err(Reason::QueueFull));
        let first = Seats::Exactly(vec![0, 1, 2]);
        assert_eq!(
            books.start(at(1), JobId(0), &first, &mut Nothing),
            Started::Yes
        );
        let second = Seats::Exactly(vec![2, 3]);
        let early = books.start(at(5), JobId(1), &second, &mut Nothing);
        assert_eq!(early, Started::NoRoom);
        let ended = books.finish(at(4), JobId(0), &mut Nothing).unwrap();
        assert_eq!((ended.start, ended.finish), (at(1), at(4)));
        assert_eq!(
            books.start(at(5), JobId(1), &second, &mut Nothing),
            Started::Yes
        );
        let Some(JobStatus::Running { placement, .. }) = books.query(JobId(1)) else {
            panic!("it runs");
        };
        let run = |node, nodes, processors| PlacementRun {
            resource: 0,
            node,
            nodes,
            processors,
        };
        assert_eq!(placement, [run(1, 1, 2)]);
        assert_eq!((books.busy(), books.queued(), books.present()), (2, 0, 1));
    }

    #[test]
    fn where_nobody_knows_the_processors_free_ones_are_taken() {
        let mut books = two_nodes_of_two();
        books.submit(at(0), &job(0, 1), &mut Nothing).unwrap();
        books.submit(at(0), &job(1, 3), &mut Nothing).unwrap();
        let one = Seats::Among(vec![1]);
        assert_eq!(
            books.start(at(0), JobId(0), &one, &mut Nothing),
            Started::Yes
        );
        let any = Seats::Among(vec![1, 2]);
        assert_eq!(
            books.start(at(0), JobId(1), &any, &mut Nothing),
            Started::Yes
        );
        assert_eq!(books.busy(), 4);
        assert!(books.cancel(at(1), JobId(0), &mut Nothing));
        assert!(!books.cancel(at(1), JobId(0), &mut Nothing));
        assert!(books.fail(at(2), JobId(1), Reason::LrmsFailed, &mut Nothing));
        assert_eq!((books.busy(), books.present()), (0, 0));
        assert_eq!(books.sample(at(2)).work_left, 0);
    }

    #[test]
    fn what_is_told_late_happens_at_the_latest_change() {
        let mut books = two_nodes_of_two();
        books.submit(at(0), &job(0, 1), &mut Nothing).unwrap();
        books.submit(at(7), &job(1, 4), &mut Nothing).unwrap();
        let any = Seats::Among(Vec::new());
        assert_eq!(
            books.start(at(3), JobId(0), &any, &mut Nothing),
            Started::Yes
        );
        let ended = books.finish(at(5), JobId(0), &mut Nothing).unwrap();
        assert_eq!((ended.start, ended.finish), (at(7), at(7)));
        let never = books.submit(at(8), &job(2, 5), &mut Nothing);
        assert_eq!(never, Err(Reason::NeverFits));
    }
}
