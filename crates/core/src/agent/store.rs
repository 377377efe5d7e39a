//! Which jobs a service has seen, and what it answered.

mod keys;

pub use keys::digest;
pub(super) use keys::{base_of, visit_name};

use crate::conversation::Arrival;
use crate::envelope::{EnvelopeId, Undelivered};
use crate::event::Party;
use crate::ids::JobId;
use crate::job::{JobSpec, Reason};
use crate::message::{EndState, JobEnd, News, Target};
use crate::placement::PlacementRun;
use crate::time::SimTime;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

/// The answer to a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The job.
    pub job: JobId,
    /// When it was decided.
    pub at: SimTime,
    /// Whether the job was taken; to a broker the refusal is a message of its
    /// own.
    pub taken: Result<(), Reason>,
    /// Whether this is the first answer given again.
    pub repeated: bool,
}

impl Receipt {
    /// The first answer.
    pub(super) fn first(job: JobId, at: SimTime, taken: Result<(), Reason>) -> Self {
        Receipt {
            job,
            at,
            taken,
            repeated: false,
        }
    }
}

/// Why a submission was no valid one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// Another job has that name.
    #[error("field id = {}: expected a number that no other job here has had", .0.0)]
    IdTaken(JobId),
    /// The key was used for another job.
    #[error("field key = \"{0}\": expected the job that was first submitted under this key")]
    KeyReused(String),
    /// The job is only to be found, and is not here.
    #[error("no job is held here under this key")]
    NotHere,
    /// The job is only to be found, and is looked for further on: whoever asks
    /// again learns of it.
    #[error("the job is being looked for: ask again")]
    NotFoundYet,
}

/// What it means for the message that has brought the job.
impl From<SubmitError> for Undelivered {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::NotFoundYet => Undelivered::Busy,
            _ => Undelivered::Declined(None),
        }
    }
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Waiting.
    Queued {
        /// Since when.
        since: SimTime,
    },
    /// Running.
    Running {
        /// When it began.
        start: SimTime,
        /// On which processors.
        placement: Vec<PlacementRun>,
    },
    /// With somebody else.
    Sent {
        /// With whom.
        to: Target,
    },
    /// Over.
    Ended(JobEnd),
}

/// What a service tells of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    /// The job.
    pub spec: JobSpec,
    /// When it came.
    pub arrived: SimTime,
    /// Where it stands.
    pub state: JobState,
    /// What whoever submitted it calls it, if it has a name of that kind: by
    /// it a job is found again that came through somebody else's broker.
    pub tag: Option<Arc<str>>,
    /// Under whose name it runs here, if its sender's identity is mapped.
    pub identity: Option<Arc<str>>,
}

/// One job that has been here.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub spec: JobSpec,
    pub arrived: SimTime,
    pub notify: Option<Arc<str>>,
    pub end: Option<JobEnd>,
    /// How often it stands among the ended jobs: it may come back, and end again.
    ended: u32,
    pub tag: Option<Arc<str>>,
    pub identity: Option<Arc<str>>,
    /// Each time that it came, the latest last: over a cycle of links it may
    /// come several times.
    visits: Vec<Visit>,
}

/// One time that a job has come here.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    key: Option<String>,
    pub from: Party,
    pub hop: u32,
    meant: Option<SimTime>,
    receipt: Receipt,
    /// What whoever brought it was told of it last.
    told: Option<News>,
}

impl Visit {
    /// The job's key without its hop, for sending it on.
    pub fn base_key(&self) -> Option<&str> {
        base_of(self.key.as_deref()?, self.hop)
    }

    /// The first answer, given again.
    fn receipt_again(&self) -> Receipt {
        Receipt {
            repeated: true,
            ..self.receipt.clone()
        }
    }

    /// Whether the job was turned away and has been sent again since, as after a rest or
    /// once there may be room: its way, and so its key, is the same.
    fn is_before(&self, arrival: &Arrival) -> bool {
        matches!(self.told, Some(News::Refused { .. })) && self.meant < arrival.meant
    }

    /// Whether whoever brought the job knows what became of it.
    fn is_over(&self) -> bool {
        match self.told {
            Some(News::Ended(end)) => !end.state.is_lost(),
            told => told.is_some(),
        }
    }
}

impl Record {
    /// The latest visit with so many forwards.
    pub fn visit(&self, hop: u32) -> Option<&Visit> {
        self.visits.iter().rfind(|visit| visit.hop == hop)
    }

    /// Whether it has come from there.
    pub fn came_from(&self, party: Party) -> bool {
        self.visits.iter().any(|visit| visit.from == party)
    }

    /// The visit under this key.
    fn under(&self, key: &str) -> Option<&Visit> {
        let mut visits = self.visits.iter();
        visits.rfind(|visit| visit.key.as_deref() == Some(key))
    }

    /// What is told of the job, which stands so.
    pub fn view(&self, state: JobState) -> JobView {
        JobView {
            spec: self.spec.clone(),
            arrived: self.arrived,
            state,
            tag: self.tag.clone(),
            identity: self.identity.clone(),
        }
    }
}

/// All jobs that have been here, up to a number of ended ones.
#[derive(Debug)]
pub(super) struct JobStore {
    /// By the key under which it came.
    keys: BTreeMap<String, JobId>,
    /// Boxed, since the leaves of a map that grows at its end are half empty.
    records: BTreeMap<JobId, Box<Record>>,
    /// Ended jobs, oldest first.
    ended: VecDeque<JobId>,
    keep_ended: usize,
    /// Ends of jobs that entered here, oldest first, from `first_end` on.
    ends: VecDeque<JobEnd>,
    first_end: u64,
    naming: Naming,
    heard: BTreeMap<Party, Heard>,
}

/// How jobs that come without a name are called: from `first` on, in steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Naming {
    pub next: u32,
    pub step: u32,
}

impl JobStore {
    pub fn new(keep_ended: usize, naming: Naming) -> Self {
        JobStore {
            keys: BTreeMap::new(),
            records: BTreeMap::new(),
            ended: VecDeque::new(),
            keep_ended: keep_ended.max(1),
            ends: VecDeque::new(),
            first_end: 0,
            naming,
            heard: BTreeMap::new(),
        }
    }

    /// The first answer, if this submission repeats one; else the job's name.
    /// One that is brought `again` may have come over a cycle of links since it
    /// came first, which is forgotten.
    pub fn open(&mut self, arrival: &Arrival, again: bool) -> Result<Opened, SubmitError> {
        let before = self.under(arrival.key.as_deref());
        if let Some((record, visit)) = before.filter(|(_, visit)| !visit.is_before(arrival)) {
            let id = record.spec.id;
            let same = record.spec
                == JobSpec {
                    id,
                    ..arrival.spec.clone()
                }
                && arrival.id.is_none_or(|wanted| wanted == id);
            let key = || arrival.key.clone().unwrap_or_default();
            return match same {
                true => Ok(Opened::Repeated(visit.receipt_again())),
                false => Err(SubmitError::KeyReused(key())),
            };
        }
        match arrival.id {
            // A job may come by again over a cycle of links, with more hops, and to
            // an LRMS with fewer once it was sent back.
            Some(id) if self.is_held(id) && arrival.hop() == 0 && !again => {
                Err(SubmitError::IdTaken(id))
            }
            Some(id) => Ok(Opened::New(id)),
            None => Ok(Opened::New(self.next_name())),
        }
    }

    /// Whether a job has come here and was not sent back each time.
    fn is_held(&self, job: JobId) -> bool {
        let is_back = |visit: &Visit| matches!(visit.told, Some(News::Refused { .. }));
        let record = self.records.get(&job);
        record.is_some_and(|record| !record.visits.iter().all(is_back))
    }

    fn under(&self, key: Option<&str>) -> Option<(&Record, &Visit)> {
        let record = self.records.get(self.keys.get(key?)?)?;
        Some((record, record.under(key?)?))
    }

    /// The answer to whoever only looks for a job, if its key is known here.
    pub fn find(&self, key: Option<&str>) -> Option<Result<Receipt, SubmitError>> {
        let (_, visit) = self.under(key)?;
        Some(match visit.told {
            Some(News::Refused { .. }) => Err(SubmitError::NotHere),
            _ => Ok(visit.receipt_again()),
        })
    }

    /// What is told once more to whoever repeats a submission. One that was restarted
    /// may know another instant at which the job was to arrive: a refusal is named by
    /// that.
    pub fn told_under(&self, arrival: &Arrival) -> Option<News> {
        let key = arrival.key.as_deref();
        let mut news = self.under(key)?.1.told?;
        if let News::Refused { visit, .. } = &mut news {
            *visit = key.map(|key| visit_name(key, arrival.meant));
        }
        Some(news)
    }

    fn next_name(&mut self) -> JobId {
        while self.records.contains_key(&JobId(self.naming.next)) {
            self.naming.next = self.naming.next.wrapping_add(self.naming.step);
        }
        let name = JobId(self.naming.next);
        self.naming.next = self.naming.next.wrapping_add(self.naming.step);
        name
    }

    /// Enters a job that comes under this name; answers what it is.
    pub fn enter(&mut self, arrival: Arrival, job: JobId, at: SimTime) -> JobSpec {
        let before = self.records.remove(&job);
        let before = before.map(|record| (record.visits, record.ended));
        let (mut visits, ended) = before.unwrap_or_default();
        // Nearly all jobs come once, and are remembered for long.
        visits.reserve_exact(1);
        visits.push(Visit {
            from: arrival.from(),
            hop: arrival.hop(),
            meant: arrival.meant,
            receipt: Receipt::first(job, at, Ok(())),
            told: None,
            key: arrival.key.clone(),
        });
        if let Some(key) = arrival.key {
            self.keys.insert(key, job);
        }
        let spec = JobSpec {
            id: job,
            ..arrival.spec
        };
        let record = Record {
            spec: spec.clone(),
            arrived: at,
            notify: arrival.notify,
            end: None,
            ended,
            tag: arrival.tag.map(cut),
            identity: arrival.identity,
            visits,
        };
        self.records.insert(job, Box::new(record));
        spec
    }

    /// Notes the answer to the submission that was entered last, for whoever
    /// repeats it under its key.
    pub fn answer(&mut self, receipt: Receipt) -> Receipt {
        let record = self.records.get_mut(&receipt.job);
        if let Some(visit) = record.and_then(|record| record.visits.last_mut()) {
            visit.receipt = receipt.clone();
        }
        receipt
    }

    /// Whoever has brought a job is told what has become of it: noted, and
    /// answered with which time that he has brought it.
    pub fn tell(&mut self, to: Party, mut news: News) -> News {
        let mut end = None;
        let visits = self.records.get_mut(&news.job());
        let visits = visits.into_iter().flat_map(|record| &mut record.visits);
        let its = visits.filter(|visit| visit.from == to && !visit.is_over());
        let its = its.max_by_key(|visit| visit.hop);
        if let News::Refused { job, reason, visit } = &mut news {
            let name = |its: &&mut Visit| Some(visit_name(its.key.as_deref()?, its.meant));
            *visit = its.as_ref().and_then(name);
            end = Some(JobEnd::without_run(*job, EndState::Rejected(*reason)));
        }
        if let Some(visit) = its {
            visit.told = Some(news);
        }
        if let Some(end) = end {
            self.end(end);
        }
        news
    }

    pub fn get(&self, job: JobId) -> Option<&Record> {
        self.records.get(&job).map(Box::as_ref)
    }

    /// At most `limit` jobs with a name above `after`, by name.
    pub fn list(&self, after: Option<JobId>, limit: usize) -> impl Iterator<Item = JobId> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let jobs = self.records.range((from, Bound::Unbounded));
        jobs.take(limit).map(|(job, _)| *job)
    }

    /// Notes a job's end; the oldest ended jobs are forgotten beyond the
    /// number that is kept.
    pub fn end(&mut self, end: JobEnd) {
        let Some(record) = self.records.get_mut(&end.job) else {
            return;
        };
        if record.end.replace(end).is_none() {
            record.ended += 1;
            self.ended.push_back(end.job);
        }
        while self.ended.len() > self.keep_ended {
            let Some(oldest) = self.ended.pop_front() else {
                break;
            };
            // A job that has come back since is not over, or has ended again.
            let over = self.records.get_mut(&oldest).is_some_and(|record| {
                record.ended -= 1;
                record.ended == 0 && record.end.is_some()
            });
            if over && let Some(record) = self.records.remove(&oldest) {
                for key in record.visits.into_iter().filter_map(|visit| visit.key) {
                    self.keys.remove(&key);
                }
            }
        }
    }

    /// Makes an end known to whoever follows the ends of jobs entered here.
    pub fn publish(&mut self, end: JobEnd) {
        self.ends.push_back(end);
        if self.ends.len() > self.keep_ended {
            self.ends.pop_front();
            self.first_end += 1;
        }
    }

    /// At most `limit` published ends from position `after` on, and the
    /// position of the first one given.
    pub fn ends(&self, after: u64, limit: usize) -> (u64, Vec<JobEnd>) {
        let from = after.max(self.first_end);
        let skip = usize::try_from(from - self.first_end).unwrap_or(usize::MAX);
        let ends = self.ends.iter().skip(skip).take(limit);
        (from, ends.copied().collect())
    }

    /// How many ends have been published.
    pub fn published(&self) -> u64 {
        self.first_end + self.ends.len() as u64
    }

    /// Whether a message of this name is new; one without a name always is.
    pub fn hear(&mut self, from: Party, id: Option<EnvelopeId>) -> bool {
        let Some(id) = id else { return true };
        let heard = self.heard.entry(from).or_default();
        if heard.incarnation != id.incarnation {
            *heard = Heard {
                incarnation: id.incarnation,
                ..Heard::default()
            };
        }
        if id.number < heard.all_before || !heard.numbers.insert(id.number) {
            return false;
        }
        if heard.numbers.len() > REORDERED
            && let Some(oldest) = heard.numbers.pop_first()
        {
            heard.all_before = oldest.saturating_add(1);
        }
        true
    }
}

/// Longest tag, in characters.
const MOST_TAG: usize = 200;

fn cut(tag: Arc<str>) -> Arc<str> {
    match tag.char_indices().nth(MOST_TAG) {
        Some((end, _)) => tag[..end].into(),
        None => tag,
    }
}

/// Messages of one sender, of which the latest may have come out of order.
#[derive(Debug, Default)]
struct Heard {
    incarnation: u64,
    all_before: u64,
    numbers: BTreeSet<u64>,
}

/// A sender's messages keep their order on each way they take; two ways to one
/// receiver are never so many messages apart.
const REORDERED: usize = 4096;

/// What became of looking a submission up.
pub(super) enum Opened {
    Repeated(Receipt),
    New(JobId),
}

#[cfg(test)]
mod tests;
