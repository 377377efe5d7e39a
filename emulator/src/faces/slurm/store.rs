//! All jobs of the cluster as Slurm would know them. Pure: time comes in as
//! an argument, what the cluster is to do comes out as [`Action`]s.

mod change;
mod record;
mod requeue;
mod waiting;

pub(super) use record::Record;

use super::batch::{Batch, Reach};
use super::depend::{Kind, Target, Wish};
use super::length::Plan;
use super::site::{MIN_JOB_AGE, Site};
use crate::slurm::times;
use gridrig_core::cluster::NodeChange;
use gridrig_core::ids::JobId;
use gridrig_core::placement::PlacementRun;
use gridrig_core::reservation::ReservationView;
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use waiting::{Inside, Waiting};

/// Where a job stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Pending,
    Running,
    /// Its processes are being ended.
    Completing,
    Completed,
    Cancelled,
    Failed,
    Timeout,
    NodeFail,
}

impl State {
    /// Long and short name.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            State::Pending => ("PENDING", "PD"),
            State::Running => ("RUNNING", "R"),
            State::Completing => ("COMPLETING", "CG"),
            State::Completed => ("COMPLETED", "CD"),
            State::Cancelled => ("CANCELLED", "CA"),
            State::Failed => ("FAILED", "F"),
            State::Timeout => ("TIMEOUT", "TO"),
            State::NodeFail => ("NODE_FAIL", "NF"),
        }
    }

    /// Whether it is over.
    pub fn is_ended(self) -> bool {
        !matches!(self, State::Pending | State::Running | State::Completing)
    }
}

/// Who holds a job back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hold {
    User,
    Admin,
    /// By `scontrol requeuehold`.
    Requeued,
}

/// One job or task of an array.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    /// Its place in the order of arrival here.
    pub seq: u32,
    /// Its number; a task of an array gets one of its own when it starts.
    pub id: u32,
    /// The task of an array.
    pub task: Option<Task>,
    pub batch: Arc<Batch>,
    pub plan: Plan,
    pub limit: Option<SimDuration>,
    pub state: State,
    /// Why it ended as it did, or waited last.
    pub why: &'static str,
    pub priority: u32,
    pub hold: Option<Hold>,
    pub begin: Option<SimTime>,
    pub wishes: Vec<Wish>,
    /// Its name in the cluster, once it is there.
    pub machine: Option<JobId>,
    pub submit: SimTime,
    pub eligible: Option<SimTime>,
    pub start: Option<SimTime>,
    pub end: Option<SimTime>,
    pub placement: Vec<PlacementRun>,
    /// Exit code and signal.
    pub exit: (u8, u8),
    /// What its end is to be called, once its processes have ended.
    pub ending: Option<State>,
    pub cancelled_by: u32,
    /// How often it was requeued.
    pub restarts: u32,
    /// The process of its run before, on a node that failed, is still being ended.
    pub is_stale: bool,
    /// A task of an array that was cancelled before it started, while others
    /// still waited: only accounts remember it.
    pub dropped: bool,
}

impl Job {
    /// Its time limit less the seconds it has used, as `show` writes seconds.
    pub fn limit_text(&self, used: u64, show: impl Fn(u64) -> String) -> String {
        let limit = self.limit.map(times::seconds);
        limit.map_or("UNLIMITED".to_owned(), |limit| {
            show(limit.saturating_sub(used))
        })
    }

    /// The seconds it has waited, or did.
    pub fn pending_seconds(&self, now: SimTime) -> u64 {
        let until = self.start.or(self.end).unwrap_or(now);
        times::seconds(until.since(self.submit))
    }
}

/// A task of an array.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub array: u32,
    pub index: u32,
    pub at_a_time: Option<u32>,
    /// Number, least, greatest and step of all tasks.
    pub shape: (u32, u32, u32, u32),
}

/// Something that is to be done to the cluster or to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Submit it.
    Submit(u32),
    /// Remove it.
    Cancel(JobId),
    /// End it.
    Finish(JobId),
    /// Run its script.
    Launch(u32),
    /// End its processes.
    Kill(u32),
    /// Send these of its processes a signal.
    Signal(u32, i32, Reach),
    /// Take a node down or up.
    Node(NodeChange),
}

/// Names that this face gives to its jobs in the cluster, above those that
/// the cluster gives by itself and below 2^32.
const FIRST_NAME: u32 = 0xE000_0000;

/// The first job's priority; each later one's is one less.
const FIRST_PRIORITY: u32 = 4_294_901_759;

/// All jobs.
pub(super) struct JobStore {
    pub site: Site,
    /// The advance reservations of the cluster, by name.
    pub reservations: Vec<ReservationView>,
    jobs: BTreeMap<u32, Job>,
    /// Jobs by number; an array's number finds its tasks.
    by_id: BTreeMap<u32, Vec<u32>>,
    by_machine: BTreeMap<JobId, u32>,
    /// Pending jobs that are in the cluster's queue.
    queued: BTreeSet<u32>,
    /// Pending jobs that the cluster does not know of yet, by what they wait
    /// for, so that a change looks at those alone that it may concern. Held
    /// jobs wait for their release and are in none of these.
    waiting: Waiting,
    /// Tasks of each array that are in the cluster, and how many of them run.
    inside: BTreeMap<u32, Inside>,
    running: BTreeSet<u32>,
    /// Ended jobs by when they ended: (end, job).
    ended: VecDeque<(SimTime, u32)>,
    /// Ended jobs before this position are in no listing but sacct's.
    aged: usize,
    /// Instants at which running jobs reach their limit.
    limits: BTreeSet<(SimTime, u32)>,
    /// Those at which they are sent the signal of `--signal`.
    warnings: BTreeSet<(SimTime, u32)>,
    next_seq: u32,
    names_given: u32,
    next_id: u32,
    next_priority: u32,
    actions: Vec<Action>,
    keep_ended: usize,
}

impl JobStore {
    /// An empty store.
    pub fn new(site: Site, keep_ended: usize) -> Self {
        JobStore {
            site,
            reservations: Vec::new(),
            jobs: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_machine: BTreeMap::new(),
            queued: BTreeSet::new(),
            waiting: Waiting::default(),
            inside: BTreeMap::new(),
            running: BTreeSet::new(),
            ended: VecDeque::new(),
            aged: 0,
            limits: BTreeSet::new(),
            warnings: BTreeSet::new(),
            next_seq: 0,
            names_given: 0,
            next_id: 1,
            next_priority: FIRST_PRIORITY,
            actions: Vec::new(),
            keep_ended: keep_ended.max(1),
        }
    }

    /// What is to be done since this was last asked.
    pub fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Asks for something to be done.
    pub fn give(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// A reservation by its name.
    pub fn reservation(&self, name: &str) -> Option<&ReservationView> {
        let mut all = self.reservations.iter();
        all.find(|it| *it.wanted.name == *name)
    }

    /// A job by its place.
    pub fn job(&self, seq: u32) -> Option<&Job> {
        self.jobs.get(&seq)
    }

    /// The same, to change it.
    fn job_mut(&mut self, seq: u32) -> Option<&mut Job> {
        self.jobs.get_mut(&seq)
    }

    /// The number that the next job gets.
    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Jobs that wait, run or are still shown.
    pub fn present(&self) -> usize {
        self.jobs.len() - self.aged
    }

    /// Placements of the running jobs.
    pub fn placements(&self) -> impl Iterator<Item = &[PlacementRun]> {
        let running = self.running.iter().filter_map(|seq| self.jobs.get(seq));
        running.map(|job| job.placement.as_slice())
    }

    /// All jobs that are known, also those that only sacct shows.
    pub fn all(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    /// The jobs that a number, or a number and a task, stands for.
    pub fn find(&self, target: Target) -> Vec<u32> {
        let all = self.by_id.get(&target.id).map_or(&[][..], Vec::as_slice);
        let of_task = |seq: &&u32| match (target.task, self.jobs.get(seq)) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(wanted), Some(job)) => {
                let task = job.task.as_ref();
                task.is_some_and(|task| (task.array, task.index) == (target.id, wanted))
            }
        };
        all.iter().filter(of_task).copied().collect()
    }

    /// Whether a job has left squeue and scontrol.
    pub fn is_aged(&self, job: &Job, now: SimTime) -> bool {
        job.end
            .is_some_and(|end| job.state.is_ended() && now.since(end) > MIN_JOB_AGE)
    }

    /// When something happens by itself: a begin time, or a limit.
    pub fn next_timer(&self) -> Option<SimTime> {
        let firsts = [&self.limits, &self.warnings].map(BTreeSet::first);
        let firsts = firsts.into_iter().flatten().map(|(at, _)| *at);
        firsts.chain(self.waiting.next_begin()).min()
    }

    /// Why a pending job waits.
    pub fn reason(&self, job: &Job, now: SimTime) -> &'static str {
        if job.state != State::Pending {
            return job.why;
        }
        match job.hold {
            Some(Hold::User) => return "JobHeldUser",
            Some(Hold::Admin) => return "JobHeldAdmin",
            Some(Hold::Requeued) => return "job requeued in held state",
            None => {}
        }
        let begun = |name: &String| self.reservation(name).is_some_and(|it| it.begun);
        if job.machine.is_some() && !job.batch.reservation.as_ref().is_none_or(begun) {
            return "Reservation";
        }
        if job.machine.is_some() {
            return match self.queued.first() == Some(&job.seq) {
                true => "Resources",
                false => "Priority",
            };
        }
        if job.begin.is_some_and(|begin| begin > now) {
            return "BeginTime";
        }
        match Wish::can_never(&job.wishes) {
            true => "DependencyNeverSatisfied",
            false if !job.wishes.is_empty() => "Dependency",
            false if self.runs_enough(job) => "JobArrayTaskLimit",
            false => "Priority",
        }
    }

    /// What has become of a wish of this job.
    fn verdict(&self, job: &Job, wish: &Wish) -> Verdict {
        if wish.failed {
            return Verdict::Never;
        }
        let Some(target) = wish.target else {
            let earlier = self.jobs.range(..job.seq).map(|(_, other)| other);
            let same = |other: &Job| {
                !other.state.is_ended()
                    && other.batch.name == job.batch.name
                    && other.batch.uid == job.batch.uid
            };
            return match earlier.filter(|other| same(other)).count() {
                0 => Verdict::Fulfilled,
                _ => Verdict::Waiting,
            };
        };
        let target = match (wish.kind, &job.task) {
            (Kind::AfterCorr, Some(task)) => Target {
                task: Some(task.index),
                ..target
            },
            _ => target,
        };
        // A job that is not known (any more) holds nobody back, as in Slurm.
        let others = self.find(target);
        let others = others.iter().filter_map(|seq| self.jobs.get(seq));
        let others: Vec<&Job> = others.filter(|other| other.seq != job.seq).collect();
        let ended = others.iter().all(|other| other.state.is_ended());
        let well = |other: &&Job| other.state == State::Completed;
        let good = others.iter().all(well);
        let bad = others.iter().any(|it| it.state.is_ended() && !well(it));
        match wish.kind {
            Kind::After if others.iter().all(|o| o.state != State::Pending) => Verdict::Fulfilled,
            Kind::AfterAny if ended => Verdict::Fulfilled,
            Kind::AfterOk | Kind::AfterCorr if good => Verdict::Fulfilled,
            Kind::AfterOk | Kind::AfterCorr if bad => Verdict::Never,
            Kind::AfterNotOk if ended && (bad || others.is_empty()) => Verdict::Fulfilled,
            Kind::AfterNotOk if ended => Verdict::Never,
            _ => Verdict::Waiting,
        }
    }
}

/// What has become of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fulfilled,
    Waiting,
    Never,
}

#[cfg(test)]
mod tests;
