//! Who starts the jobs of a cluster, and its scheduling passes.

use super::{Cluster, ClusterConfig, Job, Running, run_time_on};
use crate::calendar::{Calendar, Demand};
use crate::discipline::{Built, Discipline, Outlook, Planner};
use crate::event::{Event, EventKind, EventSink};
use crate::ids::JobId;
use crate::job::{JobRequest, Requirements};
use crate::placement::{ClassId, Nodes, Part, PlacementRun};
use crate::plan::{Backlog, Waiting};
use crate::queue::{Queue, Slot};
use crate::resource::Resources;
use crate::time::{SimDuration, SimTime};
use std::cmp::Reverse;

/// Who starts jobs.
pub(super) enum Scheduler {
    /// A discipline that looks at the instant, with the queue.
    Instant {
        discipline: Box<dyn Discipline>,
        queue: Box<Queue>,
    },
    /// A discipline that plans, with the backlog and the calendar.
    Planning {
        planner: Box<dyn Planner>,
        backlog: Box<Backlog>,
        calendar: Box<Calendar>,
    },
    /// A real LRMS, which tells of it.
    Outside,
}

impl Scheduler {
    pub fn calendar(&self) -> Option<&Calendar> {
        match self {
            Scheduler::Planning { calendar, .. } => Some(calendar),
            _ => None,
        }
    }

    /// What plans are made of.
    pub fn plan(&mut self) -> Option<(&mut Backlog, &mut Calendar)> {
        match self {
            Scheduler::Planning {
                backlog, calendar, ..
            } => Some((backlog.as_mut(), calendar.as_mut())),
            _ => None,
        }
    }

    pub fn new(config: &ClusterConfig) -> Self {
        if config.is_real {
            return Scheduler::Outside;
        }
        let reserves = config.reserving.is_some();
        let own = config.own_discipline.as_ref();
        let built = match own.and_then(|own| own.door.as_ref()) {
            Some(door) => Built::Planning(door.open()),
            None => config.discipline.build(config.slurm, reserves),
        };
        match built {
            Built::Instant(discipline) => Scheduler::Instant {
                discipline,
                queue: Box::default(),
            },
            Built::Planning(planner) => Scheduler::Planning {
                planner,
                backlog: Box::default(),
                calendar: Box::new(match reserves && config.resources.may_count_by_node() {
                    true => Calendar::new(&config.resources).by_node(),
                    false => Calendar::new(&config.resources),
                }),
            },
        }
    }

    /// A class of jobs is new; these run.
    pub fn know<'a>(
        &mut self,
        resources: &Resources,
        wanted: &Requirements,
        running: impl Iterator<Item = (JobId, ClassId, &'a [PlacementRun])>,
    ) {
        if let Scheduler::Planning { calendar, .. } = self {
            calendar.know(resources, wanted, running);
        }
    }

    /// A class of jobs of several components is new.
    pub fn know_joint(&mut self, parts: Vec<Part>) {
        if let Scheduler::Planning { calendar, .. } = self {
            calendar.know_joint(parts);
        }
    }

    /// A job waits; answers its place in the order of arrival.
    pub fn arrive(
        &mut self,
        now: SimTime,
        job: &JobRequest<'_>,
        (class, slot): (ClassId, Slot),
        nodes: &mut Nodes,
    ) -> u64 {
        match self {
            Scheduler::Instant { queue, .. } => {
                let (arrival, first_of_class) = queue.push(class, job.processors, slot);
                if first_of_class {
                    nodes.watch(class);
                }
                arrival
            }
            Scheduler::Planning {
                backlog, calendar, ..
            } => {
                let demand = Demand {
                    class,
                    processors: job.processors,
                    length: calendar.layout.longest(class, job.estimate),
                };
                backlog.arrive(Waiting {
                    arrival: 0,
                    slot,
                    job: job.id,
                    since: now,
                    demand,
                    at_full_speed: job.estimate,
                })
            }
            Scheduler::Outside => 0,
        }
    }

    /// A job that ran waits again.
    pub fn put_back(&mut self, job: &Job, slot: Slot, nodes: &mut Nodes) {
        let (class, processors) = (job.demand.class, job.demand.processors);
        match self {
            Scheduler::Instant { queue, .. } => {
                if queue.put_back(class, processors, job.arrival, slot) {
                    nodes.watch(class);
                }
            }
            Scheduler::Planning {
                backlog, calendar, ..
            } => backlog.put_back(Waiting {
                arrival: job.arrival,
                slot,
                job: job.id,
                since: job.queued,
                demand: Demand {
                    length: calendar.layout.longest(class, job.estimate),
                    ..job.demand
                },
                at_full_speed: job.estimate,
            }),
            Scheduler::Outside => {}
        }
    }

    /// Nodes, with all their processors, go down or come up.
    pub fn change_nodes(&mut self, now: SimTime, nodes: &PlacementRun, up: bool) {
        if let Some((backlog, calendar)) = self.plan() {
            backlog.change_nodes();
            calendar.change_nodes(now, nodes, up);
        }
    }

    /// A waiting job leaves without having run.
    pub fn withdraw(&mut self, job: &Job, nodes: &mut Nodes) {
        match self {
            Scheduler::Instant { queue, .. } => {
                if queue.remove(job.demand.class, job.demand.processors, job.arrival) {
                    nodes.unwatch(job.demand.class);
                }
            }
            Scheduler::Planning { backlog, .. } => backlog.withdraw(job.arrival),
            Scheduler::Outside => {}
        }
    }

    /// A waiting job starts.
    fn start(&mut self, now: SimTime, (job, arrival): (JobId, u64), placement: &[PlacementRun]) {
        if let Some((backlog, calendar)) = self.plan()
            && let Some(waited) = backlog.start(arrival)
        {
            let promised = now + waited.demand.length;
            let job = (job, waited.demand.class, waited.at_full_speed);
            calendar.start(now, job, promised, placement);
        }
    }

    /// A running job has ended.
    pub fn end(&mut self, now: SimTime, job: JobId) {
        if let Some((backlog, calendar)) = self.plan()
            && let Some(hold) = calendar.end(now, job)
        {
            backlog.end(now, &hold);
        }
    }
}

impl Cluster {
    /// The scheduling pass of this instant, if one is due.
    pub fn handle_pass(&mut self, now: SimTime, events: &mut impl EventSink) {
        if self.next_pass.is_none_or(|due| due > now) {
            return;
        }
        self.next_pass = None;
        let busy_before = self.nodes.busy();
        self.start_reserved(now, false, events);
        match &self.scheduler {
            Scheduler::Instant { .. } => self.pass_by_the_instant(now, events),
            Scheduler::Planning { .. } => self.pass_by_a_plan(now, events),
            Scheduler::Outside => {}
        }
        self.start_flexible(now, events);
        if self.nodes.busy() != busy_before {
            self.record(now);
        }
        self.settle_claims(now, events);
    }

    fn pass_by_the_instant(&mut self, now: SimTime, events: &mut impl EventSink) {
        while let Scheduler::Instant { discipline, queue } = &mut self.scheduler
            && !queue.is_empty()
        {
            let Some(first) = discipline.next_start(queue, &mut self.nodes) else {
                break;
            };
            if queue.remove_first(first) {
                self.nodes.unwatch(first.class);
            }
            let placement = self.nodes.take(first.class, first.processors);
            self.start(now, first.slot, placement, events);
        }
    }

    fn pass_by_a_plan(&mut self, now: SimTime, events: &mut impl EventSink) {
        let mut begun = false;
        while let Scheduler::Planning {
            planner,
            backlog,
            calendar,
        } = &mut self.scheduler
        {
            if !begun {
                calendar.advance(now);
            }
            let mut outlook = Outlook {
                now,
                nodes: &mut self.nodes,
                backlog,
                calendar,
            };
            if !begun {
                planner.begin(&mut outlook);
                begun = true;
                // A promise is withdrawn before the job starts late.
                self.tell_promises(now, events);
                self.start_reserved(now, true, events);
                continue;
            }
            let Some(planned) = planner.next_start(&mut outlook) else {
                self.next_pass = planner.wakeup(&outlook);
                self.tell_promises(now, events);
                break;
            };
            let (class, slot) = (planned.job.demand.class, planned.job.slot);
            let placement = self.nodes.take_planned(class, &planned.shares);
            self.start(now, slot, placement, events);
        }
    }

    /// Between passes that are apart a start is late for its plan: nothing is
    /// promised then.
    fn tell_promises(&mut self, now: SimTime, events: &mut impl EventSink) {
        let Scheduler::Planning { planner, .. } = &mut self.scheduler else {
            return;
        };
        for (slot, start) in planner.promises().take_news() {
            // Nor is anything promised to a part that does not wait beyond this pass.
            let known = self.jobs.get(slot);
            if self.config.interval > SimDuration::ZERO || known.claim.is_some() {
                continue;
            }
            let (job, lrms) = (known.id, self.config.id);
            let told = match start {
                Some(start) => Event::new(EventKind::Promised, job, lrms).at(start),
                None => Event::new(EventKind::PromiseWithdrawn, job, lrms),
            };
            events.emit(now, told);
        }
    }

    pub(super) fn start(
        &mut self,
        now: SimTime,
        slot: Slot,
        placement: Vec<PlacementRun>,
        events: &mut impl EventSink,
    ) {
        let (job, finish) = self.started(now, slot, placement, events);
        self.ends.push(Reverse((finish, job, slot)));
    }

    /// A job that has left the queue has these processors now; answers which it
    /// is and when its run time will be over.
    pub(super) fn started(
        &mut self,
        now: SimTime,
        slot: Slot,
        placement: Vec<PlacementRun>,
        events: &mut impl EventSink,
    ) -> (JobId, SimTime) {
        let known = self.jobs.get_mut(slot);
        let (job, run_time) = (known.id, known.demand.length);
        let length = match &mut known.claim {
            Some(claim) => claim.hold(),
            None => run_time_on(&self.config.resources, &placement, run_time),
        };
        let finish = now + length;
        self.scheduler.start(now, (job, known.arrival), &placement);
        let kind = match known.claim {
            Some(_) => EventKind::Claimed,
            None => EventKind::Started,
        };
        events.emit(now, Event::new(kind, job, self.config.id).on(&placement));
        self.work.start(known.demand.processors, run_time, finish);
        known.running = Some(Running {
            start: now,
            finish,
            placement,
        });
        (job, finish)
    }
}
