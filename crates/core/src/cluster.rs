//! An emulated LRMS: a queue, a discipline and nodes.

mod jobs;
pub mod mirror;
mod work;

use crate::calendar::{Calendar, Demand};
use crate::discipline::{
    Built, Discipline, DisciplineKind, Outlook, Planner, SlurmBackfillSettings, View,
};
use crate::event::{Event, EventKind, EventSink};
use crate::ids::{ClusterId, JobId};
use crate::job::{JobSpec, Reason, Requirements};
use crate::load::{LoadHistory, LoadSample, Window};
use crate::placement::{ClassId, Nodes, PlacementRun, Share};
use crate::plan::{Book, Waiting};
use crate::queue::{First, Queue, Slot};
use crate::resource::Resources;
use crate::time::{SimDuration, SimTime};
use jobs::{Classes, Job, JobTable, Running};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use work::Work;
pub use work::run_time_on;

/// How a cluster is set up.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// Its name in the run.
    pub id: ClusterId,
    /// Its nodes.
    pub resources: Resources,
    /// Its scheduling discipline.
    pub discipline: DisciplineKind,
    /// What `slurm-backfill` goes by.
    pub slurm: SlurmBackfillSettings,
    /// Zero: a pass follows every change at once. Else passes happen at
    /// multiples of it (LSAP 4.1: 5 ms).
    pub interval: SimDuration,
    /// The most jobs that may wait; a submission beyond is refused.
    pub queue_limit: Option<usize>,
    /// A real LRMS runs the jobs: it decides when they start and how long they
    /// last, and discipline and interval mean nothing.
    pub is_real: bool,
}

impl ClusterConfig {
    /// An event-driven cluster without a bound on its queue.
    #[must_use]
    pub fn new(id: ClusterId, resources: Resources, discipline: DisciplineKind) -> Self {
        let interval = SimDuration::ZERO;
        ClusterConfig {
            id,
            resources,
            discipline,
            slurm: SlurmBackfillSettings::default(),
            interval,
            queue_limit: None,
            is_real: false,
        }
    }
}

/// A job that has just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The job.
    pub job: JobId,
    /// When it started.
    pub start: SimTime,
    /// When it ended.
    pub finish: SimTime,
}

/// What a cluster knows of a job that is with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// Waiting since then.
    Queued {
        /// When it was accepted.
        since: SimTime,
    },
    /// Running.
    Running {
        /// When it began.
        start: SimTime,
        /// On which processors.
        placement: Vec<PlacementRun>,
    },
}

/// An emulated LRMS.
///
/// - Getters: [`resources`](Self::resources), [`sample`](Self::sample),
///   [`query`](Self::query), [`queued`](Self::queued), [`busy`](Self::busy).
/// - Commands: [`submit`](Self::submit), [`cancel`](Self::cancel),
///   [`finish`](Self::finish), [`fail_all`](Self::fail_all).
/// - Time: ask [`poll_timeout`](Self::poll_timeout) after any change; when it
///   is due, call [`handle_completions`](Self::handle_completions) and then,
///   once everything else of the instant has happened,
///   [`handle_pass`](Self::handle_pass). A job of length 0 that starts in the
///   pass ends in a new round of the same instant. Time only moves forward.
pub struct Cluster {
    config: ClusterConfig,
    scheduler: Scheduler,
    nodes: Nodes,
    queue: Queue,
    jobs: JobTable,
    classes: Classes,
    /// Ends of running jobs, by (finish, job): ties end in trace order.
    ends: BinaryHeap<Reverse<(SimTime, JobId, Slot)>>,
    next_pass: Option<SimTime>,
    history: LoadHistory,
    work: Work,
}

impl Cluster {
    /// An empty cluster.
    #[must_use]
    pub fn new(config: ClusterConfig) -> Self {
        let scheduler = Scheduler::new(&config);
        let queue = match &scheduler {
            Scheduler::Instant(_) => Queue::default(),
            Scheduler::Planning { .. } => Queue::plain(),
        };
        Cluster {
            scheduler,
            nodes: Nodes::new(&config.resources),
            classes: Classes::default(),
            queue,
            jobs: JobTable::default(),
            ends: BinaryHeap::new(),
            next_pass: None,
            history: LoadHistory::default(),
            work: Work::default(),
            config,
        }
    }

    /// Its name in the run.
    #[must_use]
    pub fn id(&self) -> ClusterId {
        self.config.id
    }

    /// Its nodes.
    #[must_use]
    pub fn resources(&self) -> &Resources {
        &self.config.resources
    }

    /// Jobs that wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Processors in use.
    #[must_use]
    pub fn busy(&self) -> u32 {
        self.nodes.busy()
    }

    /// Jobs that wait or run.
    #[must_use]
    pub fn present(&self) -> usize {
        self.jobs.by_id.len()
    }

    /// What the cluster would report at this instant.
    #[must_use]
    pub fn sample(&self, now: SimTime) -> LoadSample {
        let (queued_30, busy_30) = self.history.means(now, Window::Seconds30);
        let (queued_300, busy_300) = self.history.means(now, Window::Seconds300);
        LoadSample {
            cluster: self.config.id,
            at: now,
            processors: self.config.resources.processors(),
            busy: self.nodes.busy(),
            queued: self.queue.len() as u64,
            queued_processors: self.work.queued_processors,
            work_left: self.work.left(now, self.nodes.busy()),
            queued_means: [queued_30, queued_300],
            busy_means: [busy_30, busy_300],
        }
    }

    /// The state of a job that waits or runs here.
    #[must_use]
    pub fn query(&self, job: JobId) -> Option<JobStatus> {
        let job = self.jobs.get(*self.jobs.by_id.get(&job)?);
        Some(match &job.running {
            None => JobStatus::Queued { since: job.queued },
            Some(running) => JobStatus::Running {
                start: running.start,
                placement: running.placement.clone(),
            },
        })
    }

    /// Takes a job into the queue; it may start in the next pass.
    ///
    /// # Errors
    /// [`Reason::NeverFits`] for a job that could not run on the empty
    /// cluster, [`Reason::QueueFull`] past the bound. Nothing is changed or
    /// told then.
    pub fn submit(
        &mut self,
        now: SimTime,
        job: &JobSpec,
        events: &mut impl EventSink,
    ) -> Result<(), Reason> {
        let known = self.classes.known(&job.requirements);
        let capacity = match known {
            Some(class) => self.classes.capacity[class.0 as usize],
            None => self.config.resources.capacity(&job.requirements),
        };
        if job.processors == 0 || job.processors > capacity {
            return Err(Reason::NeverFits);
        }
        if self
            .config
            .queue_limit
            .is_some_and(|limit| self.queue.len() >= limit)
        {
            return Err(Reason::QueueFull);
        }
        // Not before now: what is refused leaves nothing behind.
        let class = known.unwrap_or_else(|| self.know(&job.requirements, capacity));
        let slot = self.jobs.insert(Job {
            id: job.id,
            processors: job.processors,
            run_time: job.run_time,
            class,
            arrival: 0,
            queued: now,
            running: None,
        });
        let (arrival, first_of_class) = self.queue.push(class, job.processors, slot);
        self.jobs.get_mut(slot).arrival = arrival;
        match &mut self.scheduler {
            Scheduler::Planning { book, calendar, .. } => {
                let at_full_speed = job.requested_time.unwrap_or(job.run_time);
                let length = calendar.layout.longest(class, at_full_speed);
                let processors = job.processors;
                let demand = Demand {
                    class,
                    processors,
                    length,
                };
                book.arrive(Waiting {
                    arrival,
                    slot,
                    demand,
                    at_full_speed,
                });
            }
            // Only these ask what a whole class could have this instant.
            Scheduler::Instant(_) if first_of_class => self.nodes.watch(class),
            Scheduler::Instant(_) => {}
        }
        self.work.queue(job.processors, job.run_time);
        events.emit(now, Event::new(EventKind::Queued, job.id, self.config.id));
        self.changed(now);
        Ok(())
    }

    fn know(&mut self, wanted: &Requirements, capacity: u32) -> ClassId {
        let resources = &self.config.resources;
        let class = self.nodes.add_class(resources, wanted);
        self.classes.add(wanted, capacity);
        if let Scheduler::Planning { calendar, .. } = &mut self.scheduler {
            calendar.know(resources, wanted, self.jobs.running());
        }
        class
    }

    /// Removes a job that waits or runs; `false` if it is not here (any more).
    pub fn cancel(&mut self, now: SimTime, job: JobId, events: &mut impl EventSink) -> bool {
        if !self.remove(now, job) {
            return false;
        }
        events.emit(
            now,
            Event::new(
                EventKind::Cancelled,
                job,
                crate::event::Party::Lrms(self.config.id),
            ),
        );
        self.changed(now);
        true
    }

    /// Ends a running job now, before its run time has passed: something
    /// outside the model has decided its end, such as the process it stands
    /// for or a time limit. `None` if it does not run here.
    pub fn finish(
        &mut self,
        now: SimTime,
        job: JobId,
        events: &mut impl EventSink,
    ) -> Option<Finished> {
        let slot = *self.jobs.by_id.get(&job)?;
        let start = self.jobs.get(slot).running.as_ref()?.start;
        self.remove(now, job);
        let cluster = self.config.id;
        events.emit(now, Event::new(EventKind::Finished, job, cluster));
        self.changed(now);
        let finish = now;
        Some(Finished { job, start, finish })
    }

    /// Loses every job that is here, as a crash would; answers them in trace
    /// order.
    pub fn fail_all(
        &mut self,
        now: SimTime,
        reason: Reason,
        events: &mut impl EventSink,
    ) -> Vec<JobId> {
        let lost = self.jobs.ids();
        for &job in &lost {
            self.remove(now, job);
            let by = crate::event::Party::Lrms(self.config.id);
            events.emit(now, Event::new(EventKind::Failed, job, by).because(reason));
        }
        self.changed(now);
        lost
    }

    /// When something happens here by itself: a completion or a pass.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<SimTime> {
        let end = self.next_completion();
        match (end, self.next_pass) {
            (Some(end), Some(pass)) => Some(end.min(pass)),
            (end, pass) => end.or(pass),
        }
    }

    /// When the next running job ends.
    #[must_use]
    pub fn next_completion(&self) -> Option<SimTime> {
        self.ends.peek().map(|Reverse((finish, _, _))| *finish)
    }

    /// When the next scheduling pass is due.
    #[must_use]
    pub fn next_pass(&self) -> Option<SimTime> {
        self.next_pass
    }

    /// Ends the jobs whose time has come and appends them to `finished`.
    pub fn handle_completions(
        &mut self,
        now: SimTime,
        events: &mut impl EventSink,
        finished: &mut Vec<Finished>,
    ) {
        while let Some(&Reverse((finish, id, slot))) = self.ends.peek() {
            if finish > now {
                break;
            }
            self.ends.pop();
            let job = self.jobs.remove(slot);
            self.scheduler.end(finish, id);
            let running = job.running.expect("only running jobs have an end");
            let start = running.start;
            self.nodes.give_back(job.class, running.placement);
            self.work.end(job.processors, finish);
            events.emit(finish, Event::new(EventKind::Finished, id, self.config.id));
            finished.push(Finished {
                job: id,
                start,
                finish,
            });
            self.changed(finish);
        }
    }

    /// The scheduling pass of this instant, if one is due.
    pub fn handle_pass(&mut self, now: SimTime, events: &mut impl EventSink) {
        if self.next_pass.is_none_or(|due| due > now) {
            return;
        }
        self.next_pass = None;
        let busy_before = self.nodes.busy();
        match &self.scheduler {
            Scheduler::Instant(_) => self.pass_by_the_instant(now, events),
            Scheduler::Planning { .. } => self.pass_by_a_plan(now, events),
        }
        if self.nodes.busy() != busy_before {
            self.record(now);
        }
    }

    fn pass_by_the_instant(&mut self, now: SimTime, events: &mut impl EventSink) {
        while !self.queue.is_empty() {
            let Scheduler::Instant(discipline) = &mut self.scheduler else {
                break;
            };
            let view = View {
                now,
                queue: &self.queue,
                nodes: &self.nodes,
            };
            let Some(first) = discipline.next_start(&view) else {
                break;
            };
            self.start(now, first, None, events);
        }
    }

    fn pass_by_a_plan(&mut self, now: SimTime, events: &mut impl EventSink) {
        let mut begun = false;
        while let Scheduler::Planning {
            planner,
            book,
            calendar,
        } = &mut self.scheduler
        {
            if !begun {
                calendar.advance(now);
            }
            let mut outlook = Outlook {
                now,
                nodes: &self.nodes,
                book,
                calendar,
            };
            if !begun {
                planner.begin(&mut outlook);
                begun = true;
                // A promise is withdrawn before the job starts late.
                self.tell_promises(now, events);
                continue;
            }
            let Some(planned) = planner.next_start(&mut outlook) else {
                self.next_pass = planner.wakeup(&outlook);
                self.tell_promises(now, events);
                break;
            };
            self.start(now, planned.first, Some(&planned.shares), events);
        }
    }

    /// Between passes that are apart a start is late for its plan: nothing is
    /// promised then.
    fn tell_promises(&mut self, now: SimTime, events: &mut impl EventSink) {
        let Scheduler::Planning { planner, .. } = &mut self.scheduler else {
            return;
        };
        for (slot, start) in planner.promises().take_news() {
            if self.config.interval > SimDuration::ZERO {
                continue;
            }
            let (job, lrms) = (self.jobs.get(slot).id, self.config.id);
            events.emit(
                now,
                match start {
                    Some(start) => Event::new(EventKind::Promised, job, lrms).at(start),
                    None => Event::new(EventKind::PromiseWithdrawn, job, lrms),
                },
            );
        }
    }

    fn start(
        &mut self,
        now: SimTime,
        first: First,
        shares: Option<&[Share]>,
        events: &mut impl EventSink,
    ) {
        let First {
            arrival,
            slot,
            class,
            processors,
            ..
        } = first;
        let placement = match shares {
            None => self.nodes.take(class, processors),
            Some(shares) => self.nodes.take_planned(class, shares),
        };
        if self.queue.remove_first(first) {
            self.nodes.unwatch(class);
        }
        let resources = &self.config.resources;
        let job = self.jobs.get_mut(slot);
        let finish = now + run_time_on(resources, &placement, job.run_time);
        if let Scheduler::Planning { book, calendar, .. } = &mut self.scheduler
            && let Some(waited) = book.start(arrival)
        {
            let promised = now + waited.demand.length;
            let job = (job.id, class, waited.at_full_speed);
            calendar.start(now, job, promised, &placement);
        }
        let cluster = self.config.id;
        events.emit(
            now,
            Event::new(EventKind::Started, job.id, cluster).on(&placement),
        );
        self.work.start(processors, job.run_time, finish);
        job.running = Some(Running {
            start: now,
            finish,
            placement,
        });
        self.ends.push(Reverse((finish, job.id, slot)));
    }

    fn remove(&mut self, now: SimTime, job: JobId) -> bool {
        let Some(&slot) = self.jobs.by_id.get(&job) else {
            return false;
        };
        let job = self.jobs.remove(slot);
        match job.running {
            None => {
                if let Scheduler::Planning { book, .. } = &mut self.scheduler {
                    book.withdraw(job.arrival);
                }
                if self.queue.remove(job.class, job.processors, job.arrival) {
                    self.nodes.unwatch(job.class);
                }
                self.work.unqueue(job.processors, job.run_time);
            }
            Some(running) => {
                self.scheduler.end(now, job.id);
                self.nodes.give_back(job.class, running.placement);
                self.work.end(job.processors, running.finish);
                self.ends.retain(|Reverse((_, _, ending))| *ending != slot);
            }
        }
        true
    }

    fn changed(&mut self, now: SimTime) {
        self.record(now);
        let due = now.next_on_grid(SimDuration::ZERO, self.config.interval);
        // A pass that a plan wants later does not hold this one up.
        self.next_pass = Some(self.next_pass.map_or(due, |pass| pass.min(due)));
    }

    fn record(&mut self, now: SimTime) {
        self.history
            .record(now, self.queue.len() as u64, u64::from(self.nodes.busy()));
    }
}

/// The discipline, with the book and the calendar where it plans.
enum Scheduler {
    Instant(Box<dyn Discipline>),
    Planning {
        planner: Box<dyn Planner>,
        book: Box<Book>,
        calendar: Box<Calendar>,
    },
}

impl Scheduler {
    fn new(config: &ClusterConfig) -> Self {
        match config.discipline.build(config.slurm) {
            Built::Instant(discipline) => Scheduler::Instant(discipline),
            Built::Planning(planner) => Scheduler::Planning {
                planner,
                book: Box::default(),
                calendar: Box::new(Calendar::new(&config.resources)),
            },
        }
    }

    /// A running job has ended.
    fn end(&mut self, now: SimTime, job: JobId) {
        if let Scheduler::Planning { book, calendar, .. } = self
            && let Some(hold) = calendar.end(now, job)
        {
            book.end(now, &hold);
        }
    }
}
