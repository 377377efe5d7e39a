//! Scheduling disciplines of an LRMS, one file each behind one trait.

mod conservative_backfill;
mod easy_backfill;
mod fcfs;
mod first_in_first_fit;
mod in_order;
mod lines;
mod promises;
mod reservations;
mod shortest_job_first;
mod slurm_backfill;

pub use promises::Promises;
pub use slurm_backfill::SlurmBackfillSettings;

use crate::calendar::{Calendar, Free, Shares};
use crate::door::Door;
use crate::placement::Nodes;
use crate::plan::{Backlog, Waiting};
use crate::queue::{First, Queue};
use crate::time::SimTime;
use strum::{EnumString, IntoStaticStr, VariantArray};

/// What a discipline that plans may look at.
pub struct Outlook<'a> {
    /// The instant of the pass.
    pub now: SimTime,
    /// The nodes; what is tried on them is undone.
    pub nodes: &'a mut Nodes,
    /// The jobs that wait, with their estimates.
    pub backlog: &'a Backlog,
    /// What is free when.
    pub calendar: &'a mut Calendar,
}

impl Outlook<'_> {
    /// What the job gets if it starts at this instant, by the plan (`None`: what
    /// the calendar has free) and by the nodes; `None` if it has to wait.
    pub fn fit_now(&mut self, plan: Option<&mut Free>, job: &Waiting) -> Option<PlannedStart> {
        let Calendar { layout, free, .. } = &mut *self.calendar;
        let shares = plan.unwrap_or(free).fit(layout, &job.demand, self.now)?;
        let is_free = self.nodes.offers(job.demand.class, &shares);
        is_free.then_some(PlannedStart { job: *job, shares })
    }
}

/// The next job to start, and where.
pub struct PlannedStart {
    /// The job.
    pub job: Waiting,
    /// What it gets.
    pub shares: Shares,
}

/// Decides which queued job starts next, by what there is at this instant.
pub trait Discipline: Send {
    /// The next of the jobs that wait to start at this instant, or `None` when
    /// the pass is over. It is asked again after each start; what it tries on the
    /// nodes is undone.
    fn next_start(&mut self, queue: &Queue, nodes: &mut Nodes) -> Option<First>;
}

/// Decides which queued job starts next, by a plan of what will be free when.
pub trait Planner: Send {
    /// A pass begins.
    fn begin(&mut self, outlook: &mut Outlook<'_>);

    /// The next job to start at this instant, or `None` when the pass is over.
    /// It is asked again after each start, when the calendar has it.
    fn next_start(&mut self, outlook: &mut Outlook<'_>) -> Option<PlannedStart>;

    /// The starts that it promises.
    fn promises(&mut self) -> &mut Promises;

    /// Something else than its jobs is about to be put into the calendar, or started: what
    /// it keeps for longer than a job needs it is to go. The next pass makes a new plan.
    fn make_way(&mut self, _outlook: &mut Outlook<'_>) {}

    /// Nothing that it has promised holds any more.
    fn break_promises(&mut self) {
        self.promises().break_all();
    }

    /// When it wants a pass though nothing has changed, asked at the end of
    /// each pass; after this instant.
    fn wakeup(&self, _outlook: &Outlook<'_>) -> Option<SimTime> {
        None
    }
}

/// A discipline that is in no table: the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnDiscipline {
    /// Its name.
    pub name: String,
    /// Where it is had, for clusters of a run.
    pub door: Option<Door<dyn Planner>>,
}

/// A discipline, of either sort.
pub(crate) enum Built {
    /// Looks at this instant only.
    Instant(Box<dyn Discipline>),
    /// Plans; the backlog is kept for it alone.
    Planning(Box<dyn Planner>),
}

/// The disciplines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum DisciplineKind {
    /// LSAP 3.1: in arrival order, the first job that fits runs.
    FirstInFirstFit,
    /// First come, first served: nobody passes the head of the queue.
    Fcfs,
    /// The job with the shortest estimate is the next; nobody passes it.
    ShortestJobFirst,
    /// The head of the queue has a reservation; others may pass it if they do
    /// not delay it (Lifka 1995; Mu'alem and Feitelson 2001).
    EasyBackfill,
    /// Every job has a reservation when it arrives (Mu'alem and Feitelson 2001).
    ConservativeBackfill,
    /// First come, first served at each change, and a plan of the whole queue
    /// at intervals, as Slurm's sched/backfill does.
    SlurmBackfill,
}

impl DisciplineKind {
    /// All disciplines.
    pub const ALL: &'static [DisciplineKind] = <DisciplineKind as VariantArray>::VARIANTS;

    /// The name used in scenarios and results.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The discipline with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// A fresh discipline of this kind, of a cluster that `reserves` processors for jobs,
    /// so that it has to look ahead, or does not.
    pub(crate) fn build(self, slurm: SlurmBackfillSettings, reserves: bool) -> Built {
        match self {
            DisciplineKind::FirstInFirstFit | DisciplineKind::Fcfs if reserves => {
                let passes = self == DisciplineKind::FirstInFirstFit;
                Built::Planning(Box::new(in_order::InOrder::new(passes)))
            }
            DisciplineKind::FirstInFirstFit => {
                Built::Instant(Box::new(first_in_first_fit::FirstInFirstFit))
            }
            DisciplineKind::Fcfs => Built::Instant(Box::new(fcfs::Fcfs)),
            DisciplineKind::ShortestJobFirst => {
                Built::Planning(Box::new(shortest_job_first::ShortestJobFirst::default()))
            }
            DisciplineKind::EasyBackfill => {
                Built::Planning(Box::new(easy_backfill::EasyBackfill::new(reserves)))
            }
            DisciplineKind::ConservativeBackfill => Built::Planning(Box::new(
                conservative_backfill::ConservativeBackfill::default(),
            )),
            DisciplineKind::SlurmBackfill => {
                Built::Planning(Box::new(slurm_backfill::SlurmBackfill::new(slurm)))
            }
        }
    }
}
