//! Which job is where: waiting to be submitted, with Slurm, over. Pure.

use super::listing::{Listed, State};
use super::site::Site;
use gridrig_core::cluster::ProcessorIds;
use gridrig_core::ids::JobId;
use gridrig_core::job::{JobSpec, Reason};
use gridrig_core::time::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// How often a job is submitted whose submission was not answered.
const TRIES: u32 = 3;

/// Looks at which a job may be missing before Slurm is taken to have lost it.
const MISSED: u32 = 3;

/// The jobs of one life of the outlet.
pub(super) struct JobStore {
    prefix: String,
    jobs: BTreeMap<JobId, Job>,
    /// In the order in which they came.
    waiting: Vec<JobId>,
    /// Of Slurm's jobs under our names, those that nobody here wants.
    unwanted: BTreeSet<u32>,
}

struct Job {
    spec: JobSpec,
    stage: Stage,
    tries: u32,
    /// Slurm's number, as far as it is known.
    slurm: Option<u32>,
    started: bool,
    /// The latest instant at which it was known not to have started, or, when
    /// it runs, not to have ended.
    before: SimTime,
    missed: u32,
    /// It is over here; it stays until Slurm says so too.
    over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// To be submitted.
    Waiting,
    /// Submitted, without an answer.
    Unanswered,
    /// With Slurm.
    There,
}

/// Something that has happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct News {
    pub at: SimTime,
    pub job: JobId,
    pub what: What,
}

/// What has happened; at one instant ends come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Finished,
    Cancelled,
    Failed(Reason),
    Started(ProcessorIds),
}

impl JobStore {
    /// Names of Slurm's jobs begin with the prefix.
    pub fn new(prefix: String) -> Self {
        JobStore {
            prefix,
            jobs: BTreeMap::new(),
            waiting: Vec::new(),
            unwanted: BTreeSet::new(),
        }
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name that a job has there.
    pub fn name(&self, job: JobId) -> String {
        format!("{}{}", self.prefix, job.0)
    }

    /// A job has come.
    pub fn arrive(&mut self, spec: JobSpec, at: SimTime) {
        let id = spec.id;
        let job = Job {
            spec,
            stage: Stage::Waiting,
            tries: 0,
            slurm: None,
            started: false,
            before: at,
            missed: 0,
            over: false,
        };
        self.jobs.insert(id, job);
        self.waiting.push(id);
    }

    /// A job is over here, by whatever reason.
    pub fn end(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.over = true;
        match (job.stage, job.slurm) {
            (Stage::Waiting, _) => {
                self.waiting.retain(|waits| *waits != id);
                self.jobs.remove(&id);
            }
            (_, Some(slurm)) => {
                self.unwanted.insert(slurm);
            }
            (_, None) => {}
        }
    }

    /// The next job to be submitted.
    pub fn next(&self) -> Option<&JobSpec> {
        let id = self.waiting.first()?;
        self.jobs.get(id).map(|job| &job.spec)
    }

    /// Whether anybody has to look at Slurm's jobs.
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.unwanted.is_empty()
    }

    /// The submission of the next job was answered with Slurm's number, or not
    /// at all.
    pub fn submitted(&mut self, id: JobId, slurm: Option<u32>) {
        self.waiting.retain(|waits| *waits != id);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.tries += 1;
            job.slurm = slurm;
            job.missed = 0;
            job.stage = match slurm {
                Some(_) => Stage::There,
                None => Stage::Unanswered,
            };
        }
    }

    /// A job was refused: it is nowhere any more.
    pub fn refused(&mut self, id: JobId) {
        self.waiting.retain(|waits| *waits != id);
        self.jobs.remove(&id);
    }

    /// Jobs that are not over here.
    pub fn alive(&self) -> Vec<JobId> {
        let alive = self.jobs.iter().filter(|(_, job)| !job.over);
        alive.map(|(id, _)| *id).collect()
    }

    /// Slurm's jobs that are to be cancelled.
    pub fn unwanted(&self) -> Vec<u32> {
        self.unwanted.iter().copied().collect()
    }

    /// Every job of ours that Slurm may still have.
    pub fn with_slurm(&self) -> Vec<u32> {
        let known = self.jobs.values().filter_map(|job| job.slurm);
        known.chain(self.unwanted.iter().copied()).collect()
    }

    /// What a look that began at `looked` and has this to show has to tell,
    /// in the order in which it happened. `when` puts Slurm's seconds since
    /// 1970 into the time of the run.
    pub fn look(
        &mut self,
        listed: &[Listed],
        looked: SimTime,
        site: &Site,
        when: impl Fn(u64) -> SimTime,
    ) -> Vec<News> {
        let mut news = Vec::new();
        let mut seen = BTreeSet::new();
        // Those that are still there are found again.
        self.unwanted.clear();
        // Of two jobs with one name the first is the job: the other comes of
        // a submission that was thought lost.
        for one in listed {
            let number = one.name.strip_prefix(&self.prefix);
            let id = number.and_then(|number| number.parse().ok()).map(JobId);
            let job = id.and_then(|id| Some((id, self.jobs.get_mut(&id)?)));
            let Some((id, job)) = job else {
                self.reject(one);
                continue;
            };
            if job.stage != Stage::There {
                // The answer was lost, or another try was about to be made.
                job.stage = Stage::There;
                job.slurm = Some(one.id);
                self.waiting.retain(|waits| *waits != id);
            }
            let job = self.jobs.get_mut(&id).expect("it was just found");
            if job.slurm != Some(one.id) {
                self.reject(one);
                continue;
            }
            seen.insert(id);
            job.missed = 0;
            let over = job.over;
            if over {
                if !one.state.is_alive() {
                    self.jobs.remove(&id);
                }
                self.reject(one);
                continue;
            }
            let first = news.len();
            tell(job, id, one, looked, site, &when, &mut news);
            if news.len() == first {
                job.before = looked;
            }
        }
        self.miss(&seen, looked, &mut news);
        // At one instant ends make room for starts, but for the end of a job
        // that starts then.
        let starts: BTreeSet<(SimTime, JobId)> = news
            .iter()
            .filter(|one| matches!(one.what, What::Started(_)))
            .map(|one| (one.at, one.job))
            .collect();
        news.sort_by_key(|one| {
            let round = match (&one.what, starts.contains(&(one.at, one.job))) {
                (What::Started(_), _) => 1,
                (_, true) => 2,
                (_, false) => 0,
            };
            (one.at, round, one.job)
        });
        news
    }

    /// Nobody wants this job of Slurm's: as long as it lives, it is to be
    /// cancelled.
    fn reject(&mut self, one: &Listed) {
        if one.state.is_alive() {
            self.unwanted.insert(one.id);
        }
    }

    /// What a look did not show.
    fn miss(&mut self, seen: &BTreeSet<JobId>, looked: SimTime, news: &mut Vec<News>) {
        let mut gone = Vec::new();
        for (id, job) in &mut self.jobs {
            if seen.contains(id) || job.stage == Stage::Waiting {
                continue;
            }
            job.missed += 1;
            if job.missed < MISSED {
                continue;
            }
            match (job.over, job.stage) {
                (true, _) => gone.push(*id),
                (false, Stage::Unanswered) if job.tries < TRIES => {
                    job.stage = Stage::Waiting;
                    self.waiting.push(*id);
                }
                (false, _) => news.push(News {
                    at: looked,
                    job: *id,
                    what: What::Failed(Reason::ServiceLost),
                }),
            }
        }
        for id in gone {
            self.jobs.remove(&id);
        }
    }

    /// A start has been told: it is not told again.
    pub fn told_start(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.started = true;
        }
    }

    /// An end that Slurm has brought about has been told.
    pub fn told_end(&mut self, id: JobId) {
        self.jobs.remove(&id);
    }
}

/// What one look has to tell of a job: Slurm's seconds, made finer by what the
/// look before has seen.
fn tell(
    job: &Job,
    id: JobId,
    one: &Listed,
    looked: SimTime,
    site: &Site,
    when: &impl Fn(u64) -> SimTime,
    news: &mut Vec<News>,
) {
    let moment = |said: Option<u64>| said.map_or(looked, when).max(job.before);
    let has_run = one.state == State::Running || (one.start.is_some() && !one.nodes.is_empty());
    if !job.started && has_run && one.state != State::Pending {
        news.push(News {
            at: moment(one.start),
            job: id,
            what: What::Started(processor_ids(one, site)),
        });
    }
    let what = match one.state {
        State::Pending | State::Running => return,
        State::Completed => What::Finished,
        State::Cancelled => What::Cancelled,
        State::Failed => What::Failed(Reason::LrmsFailed),
    };
    news.push(News {
        at: moment(one.end),
        job: id,
        what,
    });
}

fn processor_ids(one: &Listed, site: &Site) -> ProcessorIds {
    let numbers = one.processor_ids.iter().flat_map(|(node, cpus)| {
        let cpus = cpus.iter();
        cpus.filter_map(move |cpu| site.processor_id(node, *cpu))
    });
    let numbers: Vec<u32> = numbers.collect();
    match numbers.is_empty() {
        false => ProcessorIds::Exactly(numbers),
        true => ProcessorIds::Among(
            one.nodes
                .iter()
                .flat_map(|node| site.processor_ids_of(node))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests;
