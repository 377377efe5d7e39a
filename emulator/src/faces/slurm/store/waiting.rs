//! Pending jobs that the cluster does not know of yet, by what they wait for,
//! so that a change looks at those alone that it may concern. Held jobs wait
//! for nothing but their release and are in none of the lists.

use super::{Action, FIRST_NAME, Job, JobStore, State, Verdict};
use crate::faces::slurm::depend::Wish;
use gridrig_core::ids::JobId;
use gridrig_core::time::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// Who waits for what. An entry may be out of date: whoever is found here is
/// looked at anew.
#[derive(Default)]
pub(super) struct Waiting {
    /// For an instant: (begin, job).
    begins: BTreeSet<(SimTime, u32)>,
    /// For a change of another job or array, by its number.
    others: BTreeMap<u32, BTreeSet<u32>>,
    /// To be the only one of this user and name.
    singles: BTreeMap<(u32, String), BTreeSet<u32>>,
    /// For fewer tasks of their array in the cluster.
    tasks: BTreeMap<u32, BTreeSet<u32>>,
}

impl Waiting {
    /// The next begin time.
    pub fn next_begin(&self) -> Option<SimTime> {
        self.begins.first().map(|(at, _)| *at)
    }

    /// A job whose begin time has come.
    pub fn take_begin(&mut self, now: SimTime) -> Option<u32> {
        let first = self.begins.first().filter(|(at, _)| *at <= now).copied();
        self.begins.remove(&first?);
        first.map(|(_, seq)| seq)
    }

    /// A job that will not be admitted by itself any more.
    pub fn forget(&mut self, job: &Job) {
        if let Some(begin) = job.begin {
            self.begins.remove(&(begin, job.seq));
        }
        if let Some(task) = &job.task {
            take(&mut self.tasks, &task.array, job.seq);
        }
        for wish in &job.wishes {
            match wish.target {
                Some(target) => take(&mut self.others, &target.id, job.seq),
                None => take(&mut self.singles, &single(job), job.seq),
            }
        }
    }

    /// It waits until one of its wishes may have come true.
    fn add_wishes(&mut self, job: &Job) {
        for wish in job.wishes.iter().filter(|wish| !wish.failed) {
            let who = match wish.target {
                Some(target) => self.others.entry(target.id).or_default(),
                None => self.singles.entry(single(job)).or_default(),
            };
            who.insert(job.seq);
        }
    }
}

/// Whom a job with the dependency `singleton` is compared with.
fn single(job: &Job) -> (u32, String) {
    (job.batch.uid, job.batch.name.clone())
}

fn take<K: Ord>(lists: &mut BTreeMap<K, BTreeSet<u32>>, key: &K, seq: u32) {
    if let Some(list) = lists.get_mut(key) {
        list.remove(&seq);
        if list.is_empty() {
            lists.remove(key);
        }
    }
}

/// Tasks of an array that are in the cluster.
#[derive(Clone, Copy, Default)]
pub(super) struct Inside {
    pub all: u32,
    pub running: u32,
}

impl JobStore {
    /// Sends a job into the cluster's queue, or notes what holds it back.
    pub(super) fn admit(&mut self, seq: u32, now: SimTime) {
        let Some(job) = self.job(seq) else { return };
        if job.state != State::Pending || job.machine.is_some() || job.hold.is_some() {
            return;
        }
        if let Some(begin) = job.begin.filter(|begin| *begin > now) {
            self.waiting.begins.insert((begin, seq));
            return;
        }
        let fulfilled = self.wishes_fulfilled(seq);
        let Some(job) = self.jobs.get(&seq) else {
            return;
        };
        if !fulfilled {
            if job.batch.kill_on_invalid_dep && Wish::can_never(&job.wishes) {
                let why = "DependencyNeverSatisfied";
                return self.close(now, seq, (State::Cancelled, why, (0, 0)));
            }
            self.waiting.add_wishes(job);
            return;
        }
        if let (true, Some(task)) = (self.is_throttled(job), &job.task) {
            let others = self.waiting.tasks.entry(task.array);
            others.or_default().insert(seq);
            return;
        }
        self.queued.insert(seq);
        // A job that was held and released comes under another name: the
        // cluster has seen the end of the first.
        let name = JobId(FIRST_NAME.saturating_add(self.names_given));
        self.names_given = self.names_given.saturating_add(1);
        if let Some(job) = self.jobs.get_mut(&seq) {
            job.eligible = Some(now);
            job.begin = None;
            job.machine = Some(name);
            self.by_machine.insert(name, seq);
        }
        self.count_task(seq, |tasks| tasks.all += 1);
        self.actions.push(Action::Submit(seq));
    }

    /// A job has started, ended or left the queue: admits those that have
    /// waited for it.
    pub(super) fn stir(&mut self, seq: u32, now: SimTime) {
        let Some(job) = self.job(seq) else { return };
        let array = job.task.as_ref().map(|task| task.array);
        let numbers = [Some(job.id), array.filter(|array| *array != job.id)];
        let mut who = BTreeSet::new();
        if job.state.is_ended() && !self.waiting.singles.is_empty() {
            let same = self.waiting.singles.remove(&single(job));
            who = same.unwrap_or_default();
        }
        for number in numbers.into_iter().flatten() {
            who.extend(self.waiting.others.remove(&number).into_iter().flatten());
        }
        for seq in who {
            self.admit(seq, now);
        }
        let Some(array) = array else { return };
        while let Some(first) = self.waiting.tasks.get(&array).and_then(BTreeSet::first) {
            let first = *first;
            let job = self.jobs.get(&first);
            if job.is_some_and(|job| self.is_throttled(job)) {
                return;
            }
            take(&mut self.waiting.tasks, &array, first);
            self.admit(first, now);
        }
    }

    /// Counts a task of an array; other jobs are not counted.
    pub(super) fn count_task(&mut self, seq: u32, count: impl Fn(&mut Inside)) {
        let task = self.jobs.get(&seq).and_then(|job| job.task.as_ref());
        if let Some(task) = task {
            count(self.inside.entry(task.array).or_default());
        }
    }

    /// Whether as many tasks of its array run as may.
    pub(super) fn runs_enough(&self, job: &Job) -> bool {
        self.reaches(job, |inside| inside.running)
    }

    /// Whether as many tasks of its array are in the cluster as may be.
    fn is_throttled(&self, job: &Job) -> bool {
        self.reaches(job, |inside| inside.all)
    }

    fn reaches(&self, job: &Job, count: fn(&Inside) -> u32) -> bool {
        let Some(task) = &job.task else { return false };
        let inside = self.inside.get(&task.array).map_or(0, count);
        task.at_a_time.is_some_and(|most| inside >= most)
    }

    /// Whether a job's wishes have come true; forgets those that have.
    fn wishes_fulfilled(&mut self, seq: u32) -> bool {
        let Some(job) = self.jobs.get(&seq) else {
            return false;
        };
        if job.wishes.is_empty() {
            return true;
        }
        let verdict = |wish: &Wish| (*wish, self.verdict(job, wish));
        let verdicts: Vec<(Wish, Verdict)> = job.wishes.iter().map(verdict).collect();
        let one = |(wish, verdict): &(Wish, Verdict)| wish.any && *verdict == Verdict::Fulfilled;
        let enough = verdicts.iter().any(one);
        let left = verdicts.into_iter();
        let left = left.filter(|(_, v)| *v != Verdict::Fulfilled);
        let left = left.map(|(wish, verdict)| Wish {
            failed: verdict == Verdict::Never,
            ..wish
        });
        let left: Vec<Wish> = left.filter(|_| !enough).collect();
        let fulfilled = left.is_empty();
        if let Some(job) = self.jobs.get_mut(&seq) {
            job.wishes = left;
        }
        fulfilled
    }
}
