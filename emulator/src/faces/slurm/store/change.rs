//! What happens to jobs.

use super::{Action, FIRST_NAME, Hold, Job, JobStore, State, Task};
use crate::faces::slurm::batch::{Batch, Order, TaskList};
use crate::faces::slurm::length::{self, Plan};
use crate::faces::slurm::site::MIN_JOB_AGE;
use crate::slurm::times::Limit;
use gridrig_core::ids::JobId;
use gridrig_core::job::{Components, JobSpec, Reason, Requirements};
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use std::sync::Arc;

/// The run time of an executed job without a limit: a bound, not a length.
pub(in crate::faces::slurm) const LONGEST: SimDuration = SimDuration::from_secs(24 * 3_600);

/// Past its limit, a script has so long to end before its processors are
/// given back.
const GRACE: SimDuration = SimDuration::from_secs(60);

/// How a job ended: its state, why, exit code and signal.
type Ending = (State, &'static str, (u8, u8));

impl JobStore {
    /// The job as the cluster's model takes it: accounts, and the programs that keys
    /// stand for, are known there by number, so that one with a name is known here alone.
    pub fn spec(&self, batch: &Batch, plan: Plan) -> JobSpec {
        let processors = self.processors(batch);
        let limit = batch.limit.and_then(Limit::length);
        // Memory of a node is shared by the processors that fit on one.
        let per_node = processors.min(self.site.widest());
        let kib = |mib: u64| mib.saturating_mul(1024);
        let shared = batch.mem.map(|mib| kib(mib).div_ceil(u64::from(per_node)));
        let memory = batch.mem_per_cpu.map(kib).or(shared);
        let run_time = match self.site.execute && !batch.foreign {
            true => self.bound(limit.unwrap_or(LONGEST)),
            false => plan.length,
        };
        let requirements = Requirements {
            memory_kib: memory.unwrap_or(0),
            most_per_node: batch.most_per_node(),
            generic: batch.gres.clone(),
            ..Requirements::default()
        };
        let number = |name: &Option<String>| name.as_ref()?.parse().ok();
        JobSpec {
            requested_time: limit,
            account: number(&batch.account),
            executable: number(&batch.wckey),
            ..JobSpec::of(Components::one(processors, requirements), run_time)
        }
    }

    /// What the model takes for the run time of a script: it ends by itself
    /// or at its limit, and is certainly over then, on the fastest node too.
    fn bound(&self, limit: SimDuration) -> SimDuration {
        let speeds = self.site.resources.groups().iter().map(|group| group.speed);
        let fastest = speeds.map(|speed| speed.as_f64().ceil() as u64).max();
        let nanos = limit.as_nanos().saturating_add(GRACE.as_nanos());
        SimDuration::from_nanos(nanos.saturating_mul(fastest.unwrap_or(1).max(1)))
    }

    /// Processors that a job takes; `--exclusive` takes whole nodes.
    pub fn processors(&self, batch: &Batch) -> u32 {
        let processors = batch.processors();
        match batch.exclusive {
            true => {
                let widest = self.site.widest();
                let nodes = processors.div_ceil(widest).max(batch.nodes.unwrap_or(1));
                nodes
                    .saturating_mul(widest)
                    .min(self.site.resources.processors().max(processors))
            }
            false => processors,
        }
    }

    /// Takes in what `sbatch` asked for; answers the job's number.
    pub fn submit(&mut self, now: SimTime, order: Order, begin: Option<SimTime>) -> u32 {
        let mut job = self.new_job(now, order.batch);
        if order.given.has("hold") {
            // It gets its place among the others when it is released.
            job.hold = Some(Hold::User);
            self.next_priority += 1;
        }
        job.begin = begin;
        job.wishes = order.wishes;
        let (id, first) = (job.id, job.seq);
        match order.array {
            None => self.enter(job),
            Some(list) => {
                for task in tasks(id, &list) {
                    let (seq, task) = (self.next_seq, Some(task));
                    let job = job.clone();
                    self.enter(Job { seq, task, ..job });
                }
            }
        }
        for seq in first..self.next_seq {
            self.admit(seq, now);
        }
        id
    }

    fn new_job(&mut self, now: SimTime, batch: Batch) -> Job {
        let id = self.take_id();
        let priority = self.take_priority();
        Job {
            seq: self.next_seq,
            id,
            plan: length::plan(&batch),
            limit: batch.limit.and_then(Limit::length),
            batch: Arc::new(batch),
            why: "None",
            priority,
            submit: now,
            ..Job::default()
        }
    }

    fn take_id(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    fn take_priority(&mut self) -> u32 {
        let priority = self.next_priority;
        self.next_priority -= 1;
        priority
    }

    fn enter(&mut self, job: Job) {
        self.next_seq = job.seq + 1;
        self.by_id.entry(job.id).or_default().push(job.seq);
        self.jobs.insert(job.seq, job);
    }

    /// A job that came to the cluster by another of its interfaces.
    pub fn take_in(&mut self, at: SimTime, spec: &JobSpec, uid: u32, user: &Arc<str>) {
        // The names of this face's own jobs are known, or were given up.
        if spec.id.0 >= FIRST_NAME || self.by_machine.contains_key(&spec.id) {
            return;
        }
        let batch = Batch {
            name: format!("job-{}", spec.id.0),
            uid,
            user: Arc::clone(user),
            gres: spec.components.first.requirements.generic.clone(),
            account: spec.account.map(|account| account.to_string()),
            wckey: spec.executable.map(|executable| executable.to_string()),
            tasks: spec.processors(),
            cpus_per_task: 1,
            tasks_given: true,
            requeue: true,
            foreign: true,
            ..Batch::default()
        };
        let mut job = self.new_job(at, batch);
        (job.machine, job.eligible) = (Some(spec.id), Some(at));
        let seq = job.seq;
        self.enter(job);
        self.queued.insert(seq);
        self.by_machine.insert(spec.id, seq);
    }

    /// The cluster has started a job.
    pub fn started(&mut self, at: SimTime, name: JobId, placement: Vec<PlacementRun>) {
        let Some(&seq) = self.by_machine.get(&name) else {
            return;
        };
        self.queued.remove(&seq);
        self.running.insert(seq);
        self.split(seq);
        self.count_task(seq, |inside| inside.running += 1);
        let Some(job) = self.job_mut(seq) else { return };
        job.state = State::Running;
        job.start = Some(at);
        job.eligible.get_or_insert(at);
        job.placement = placement;
        let (ours, is_stale) = (!job.batch.foreign, job.is_stale);
        if let (true, Some(limit)) = (ours, job.limit) {
            let warned = job.batch.warning.as_ref();
            let warned = warned.map(|warning| at + warning.into_run(limit));
            self.limits.insert((at + limit, seq));
            self.warnings.extend(warned.map(|at| (at, seq)));
        }
        if ours && self.site.execute && !is_stale {
            self.actions.push(Action::Launch(seq));
        }
        self.stir(seq, at);
    }

    /// A task that stops being one of the pending gets a number of its own,
    /// but for the last, which keeps the array's.
    fn split(&mut self, seq: u32) {
        let Some(job) = self.job(seq) else { return };
        let Some(task) = &job.task else { return };
        let (array, id) = (task.array, job.id);
        let tasks = self.by_id.get(&array).map_or(&[][..], Vec::as_slice);
        let others = tasks.iter().filter(|other| **other != seq);
        let mut others = others.filter_map(|other| self.jobs.get(other));
        let waits = others.any(|other| other.state == State::Pending && other.id == array);
        if id != array || !waits {
            return;
        }
        let own = self.take_id();
        self.by_id.entry(own).or_default().push(seq);
        if let Some(job) = self.jobs.get_mut(&seq) {
            job.id = own;
        }
    }

    /// The cluster says that a job is over.
    pub fn over(&mut self, at: SimTime, end: &JobEnd) {
        let Some(&seq) = self.by_machine.get(&end.job) else {
            return;
        };
        let Some(job) = self.jobs.get(&seq) else {
            return;
        };
        if job.state.is_ended() {
            return;
        }
        let executes = self.site.execute && !job.batch.foreign && job.start.is_some();
        if executes {
            // Its process may still be there: the model's bound has come, or
            // somebody removed the job by another interface.
            self.actions.push(Action::Kill(seq));
        }
        let ending = match (job.ending, end.state) {
            (Some(state), _) => (state, job.why, job.exit),
            (None, EndState::Completed) if executes => (State::Timeout, "TimeLimit", (0, 0)),
            (None, EndState::Completed) if job.plan.exit == 0 => (State::Completed, "None", (0, 0)),
            (None, EndState::Completed) => (State::Failed, "NonZeroExitCode", (job.plan.exit, 0)),
            (None, EndState::Cancelled) => (State::Cancelled, job.why, (0, 0)),
            (None, EndState::Rejected(_)) => (State::Failed, "BadConstraints", (0, 1)),
            (None, EndState::Failed(Reason::NodeFailed)) => (State::NodeFail, "NodeDown", (0, 1)),
            (None, EndState::Failed(_)) => (State::Failed, "NodeDown", (1, 0)),
        };
        self.close(end.finish.unwrap_or(at), seq, ending);
    }

    pub(super) fn close(&mut self, at: SimTime, seq: u32, (state, why, exit): Ending) {
        let dropped = self.drops(seq, state);
        if !dropped {
            self.split(seq);
        }
        let Some(job) = self.jobs.get_mut(&seq) else {
            return;
        };
        let (start, limit) = (job.start, job.limit);
        job.dropped = dropped;
        job.state = state;
        job.why = why;
        job.exit = exit;
        job.end = Some(at);
        job.start.get_or_insert(at);
        if let (Some(start), Some(limit)) = (start, limit) {
            self.limits.remove(&(start + limit, seq));
        }
        let inside = job.machine.is_some();
        self.waiting.forget(job);
        self.queued.remove(&seq);
        if self.running.remove(&seq) {
            self.count_task(seq, |tasks| tasks.running -= 1);
        }
        if inside {
            self.count_task(seq, |tasks| tasks.all -= 1);
        }
        self.ended.push_back((at, seq));
        self.stir(seq, at);
        self.forget();
    }

    /// Whether a task that ends now has never been more than one of several
    /// that wait.
    fn drops(&self, seq: u32, state: State) -> bool {
        let job = self.jobs.get(&seq);
        let never_began = |job: &&Job| job.start.is_none() && state == State::Cancelled;
        let task = job.filter(never_began).and_then(|job| job.task.as_ref());
        let tasks = task.and_then(|task| self.by_id.get(&task.array));
        let others = tasks.into_iter().flatten().filter(|other| **other != seq);
        let mut others = others.filter_map(|other| self.jobs.get(other));
        others.any(|other| other.state == State::Pending)
    }

    /// Ended jobs age, and the oldest are forgotten.
    pub fn age(&mut self, now: SimTime) {
        let aged = |(end, _): &&(SimTime, u32)| now.since(*end) > MIN_JOB_AGE;
        let more = self.ended.iter().skip(self.aged).take_while(aged).count();
        self.aged += more;
    }

    fn forget(&mut self) {
        while self.ended.len() > self.keep_ended {
            let Some((_, seq)) = self.ended.pop_front() else {
                return;
            };
            self.aged = self.aged.saturating_sub(1);
            let Some(job) = self.jobs.remove(&seq) else {
                continue;
            };
            if let Some(name) = job.machine {
                self.by_machine.remove(&name);
            }
            let numbers = [Some(job.id), job.task.as_ref().map(|task| task.array)];
            for number in numbers.into_iter().flatten() {
                if let Some(seqs) = self.by_id.get_mut(&number) {
                    seqs.retain(|other| *other != seq);
                    if seqs.is_empty() {
                        self.by_id.remove(&number);
                        self.inside.remove(&number);
                    }
                }
            }
        }
    }

    /// Timers: begin times that have come, limits that are reached.
    pub fn handle_timers(&mut self, now: SimTime) {
        while let Some(&(at, seq)) = self.limits.first()
            && at <= now
        {
            self.limits.remove(&(at, seq));
            self.end_early(seq, State::Timeout, "TimeLimit", (0, 0));
        }
        while let Some(&(at, seq)) = self.warnings.first()
            && at <= now
        {
            self.warnings.remove(&(at, seq));
            self.warn(at, seq);
        }
        while let Some(seq) = self.waiting.take_begin(now) {
            self.admit(seq, now);
        }
    }

    /// Ends a running job: its process first if it has one, else at once.
    fn end_early(&mut self, seq: u32, state: State, why: &'static str, exit: (u8, u8)) {
        let execute = self.site.execute;
        let Some(job) = self.job_mut(seq) else { return };
        if job.ending.is_some() || job.state.is_ended() {
            return;
        }
        (job.ending, job.why, job.exit) = (Some(state), why, exit);
        match (execute && !job.batch.foreign, job.machine) {
            (true, _) => {
                job.state = State::Completing;
                self.actions.push(Action::Kill(seq));
            }
            (false, Some(name)) if state == State::Cancelled => {
                self.actions.push(Action::Cancel(name));
            }
            (false, Some(name)) => self.actions.push(Action::Finish(name)),
            (false, None) => {}
        }
    }

    /// The cluster did not take a job: somebody else used its name.
    pub fn not_taken(&mut self, seq: u32, now: SimTime) {
        self.close(now, seq, (State::Failed, "BadConstraints", (0, 1)));
    }

    /// The process of a job has ended; `failed` says why it never began.
    pub fn exited(&mut self, seq: u32, exit: (u8, u8), failed: Option<&'static str>) {
        let Some(job) = self.job_mut(seq) else { return };
        if std::mem::take(&mut job.is_stale) && job.ending.is_none() {
            if job.state == State::Running {
                self.actions.push(Action::Launch(seq));
            }
            return;
        }
        let Some(name) = job.machine.filter(|_| !job.state.is_ended()) else {
            return;
        };
        if job.ending.is_none() {
            let (state, why) = match (failed, exit) {
                (Some(why), _) => (State::Failed, why),
                (None, (0, 0)) => (State::Completed, "None"),
                (None, (0, _)) => (State::Failed, "RaisedSignal"),
                (None, _) => (State::Failed, "NonZeroExitCode"),
            };
            (job.ending, job.why, job.exit) = (Some(state), why, exit);
        }
        let action = match job.ending {
            Some(State::Cancelled) => Action::Cancel(name),
            _ => Action::Finish(name),
        };
        self.actions.push(action);
    }

    /// `scancel`.
    pub fn cancel(&mut self, now: SimTime, seq: u32, uid: u32) {
        let job = self.job(seq).filter(|job| !job.state.is_ended());
        let why = job.map(|job| self.reason(job, now));
        let (Some(why), Some(job)) = (why, self.jobs.get_mut(&seq)) else {
            return;
        };
        job.cancelled_by = uid;
        match (job.state, job.machine) {
            (State::Pending, Some(name)) => {
                job.why = why;
                self.actions.push(Action::Cancel(name));
            }
            (State::Pending, None) => self.close(now, seq, (State::Cancelled, why, (0, 0))),
            _ => self.end_early(seq, State::Cancelled, why, (0, 15)),
        }
    }

    /// `scontrol hold`: `false` if it has ended. One that runs stays as it is.
    pub fn hold(&mut self, now: SimTime, seq: u32, hold: Hold) -> bool {
        let Some(job) = self.jobs.get_mut(&seq) else {
            return false;
        };
        if job.state != State::Pending || job.batch.foreign {
            return !job.state.is_ended();
        }
        job.hold = Some(hold);
        job.eligible = None;
        self.waiting.forget(job);
        // It leaves the cluster's queue until it is released.
        if let Some(name) = job.machine.take() {
            self.by_machine.remove(&name);
            self.queued.remove(&seq);
            self.actions.push(Action::Cancel(name));
            self.count_task(seq, |tasks| tasks.all -= 1);
            self.stir(seq, now);
        }
        true
    }

    /// `scontrol release`: `false` if it has ended.
    pub fn release(&mut self, now: SimTime, seq: u32) -> bool {
        let Some(job) = self.jobs.get(&seq) else {
            return false;
        };
        if job.state != State::Pending {
            return !job.state.is_ended();
        }
        if job.hold.is_some() {
            let priority = self.take_priority();
            if let Some(job) = self.jobs.get_mut(&seq) {
                (job.hold, job.priority) = (None, priority);
            }
            self.admit(seq, now);
        }
        true
    }
}

fn tasks(array: u32, list: &TaskList) -> impl Iterator<Item = Task> {
    let ends = [list.tasks.first(), list.tasks.last()];
    let [least, greatest] = ends.map(|task| task.copied().unwrap_or(0));
    let count = u32::try_from(list.tasks.len()).unwrap_or(u32::MAX);
    let shape = (count, least, greatest, list.step);
    let at_a_time = list.at_a_time;
    list.tasks.iter().map(move |index| Task {
        array,
        index: *index,
        at_a_time,
        shape,
    })
}
