//! Which jobs a service has seen, and what it answered.

use super::conversation::Arrival;
use super::envelope::EnvelopeId;
use crate::event::Party;
use crate::ids::JobId;
use crate::job::{JobSpec, Reason};
use crate::message::{JobEnd, Target};
use crate::placement::PlacementRun;
use crate::time::SimTime;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmitError {
    /// Another job has that name.
    IdTaken(JobId),
    /// The key was used for another job.
    KeyReused(String),
}

impl fmt::Display for SubmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubmitError::IdTaken(JobId(id)) => write!(
                f,
                "field id = {id}: expected a number that no other job here has had"
            ),
            SubmitError::KeyReused(key) => write!(
                f,
                "field key = \"{key}\": expected the job that was first submitted under this key"
            ),
        }
    }
}

impl std::error::Error for SubmitError {}

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
    pub from: Party,
    pub arrived: SimTime,
    pub notify: Option<Arc<str>>,
    pub end: Option<JobEnd>,
    pub tag: Option<Arc<str>>,
    pub identity: Option<Arc<str>>,
    /// The job's key without its hop, for sending it on.
    pub base_key: Option<String>,
    keys: Vec<String>,
}

impl Record {
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
    answers: BTreeMap<String, Receipt>,
    records: BTreeMap<JobId, Record>,
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
            answers: BTreeMap::new(),
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
    pub fn open(&mut self, arrival: &Arrival) -> Result<Opened, SubmitError> {
        let first = arrival.key.as_ref().and_then(|key| self.answers.get(key));
        if let Some(first) = first {
            let same = self.records.get(&first.job).is_some_and(|record| {
                let id = record.spec.id;
                record.spec
                    == JobSpec {
                        id,
                        ..arrival.spec.clone()
                    }
                    && arrival.id.is_none_or(|wanted| wanted == id)
            });
            let key = arrival.key.clone().unwrap_or_default();
            return match same {
                true => Ok(Opened::Repeated(Receipt {
                    repeated: true,
                    ..first.clone()
                })),
                false => Err(SubmitError::KeyReused(key)),
            };
        }
        match arrival.id {
            // A job may come by again over a cycle of links, with more hops.
            Some(id) if self.records.contains_key(&id) && arrival.hop() == 0 => {
                Err(SubmitError::IdTaken(id))
            }
            Some(id) => Ok(Opened::New(id)),
            None => Ok(Opened::New(self.next_name())),
        }
    }

    fn next_name(&mut self) -> JobId {
        while self.records.contains_key(&JobId(self.naming.next)) {
            self.naming.next = self.naming.next.wrapping_add(self.naming.step);
        }
        let name = JobId(self.naming.next);
        self.naming.next = self.naming.next.wrapping_add(self.naming.step);
        name
    }

    /// Enters a new job under its name; answers what it is. The answer to its
    /// submission is given once it is known.
    pub fn enter(&mut self, arrival: Arrival, job: JobId, at: SimTime) -> JobSpec {
        let before = self.records.remove(&job);
        let mut keys = before.map(|record| record.keys).unwrap_or_default();
        let (from, hop) = (arrival.from(), arrival.hop());
        let last = format!("/{hop}");
        let base_key = arrival.key.as_ref().and_then(|key| key.strip_suffix(&last));
        let base_key = base_key.map(str::to_owned);
        keys.extend(arrival.key);
        let spec = JobSpec {
            id: job,
            ..arrival.spec
        };
        let record = Record {
            spec: spec.clone(),
            from,
            arrived: at,
            notify: arrival.notify,
            end: None,
            tag: arrival.tag.map(cut),
            identity: arrival.identity,
            base_key,
            keys,
        };
        self.records.insert(job, record);
        spec
    }

    /// Notes the answer to a submission, for whoever repeats it under its key.
    pub fn answer(&mut self, key: Option<String>, receipt: Receipt) -> Receipt {
        if let Some(key) = key {
            self.answers.insert(key, receipt.clone());
        }
        receipt
    }

    pub fn get(&self, job: JobId) -> Option<&Record> {
        self.records.get(&job)
    }

    /// At most `limit` jobs with a name above `after`, by name.
    pub fn list(&self, after: Option<JobId>, limit: usize) -> impl Iterator<Item = JobId> {
        let from = after.map_or(0, |job| job.0.saturating_add(1));
        let skip_all = after == Some(JobId(u32::MAX));
        let range = self.records.range(JobId(from)..);
        range
            .map(|(job, _)| *job)
            .take(if skip_all { 0 } else { limit })
    }

    /// Notes a job's end; the oldest ended jobs are forgotten beyond the
    /// number that is kept.
    pub fn end(&mut self, end: JobEnd) {
        let Some(record) = self.records.get_mut(&end.job) else {
            return;
        };
        if record.end.replace(end).is_none() {
            self.ended.push_back(end.job);
        }
        while self.ended.len() > self.keep_ended {
            let Some(oldest) = self.ended.pop_front() else {
                break;
            };
            // A job that has come back since is not over.
            let over = self
                .records
                .get(&oldest)
                .is_some_and(|record| record.end.is_some());
            if let (true, Some(record)) = (over, self.records.remove(&oldest)) {
                for key in record.keys {
                    self.answers.remove(&key);
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
        (
            from,
            self.ends.iter().skip(skip).take(limit).copied().collect(),
        )
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
mod tests {
    use super::*;
    use crate::message::EndState;
    use crate::time::SimDuration;

    fn arrival(key: &str, id: Option<u32>, processors: u32) -> Arrival {
        let spec = JobSpec::rigid(
            JobId(id.unwrap_or(0)),
            processors,
            SimDuration::from_secs(1),
        );
        let (key, id) = (Some(key.to_owned()), id.map(JobId));
        Arrival {
            key,
            id,
            ..Arrival::of(spec)
        }
    }

    fn submit(store: &mut JobStore, arrival: Arrival) -> Result<Receipt, SubmitError> {
        let job = match store.open(&arrival)? {
            Opened::Repeated(receipt) => return Ok(receipt),
            Opened::New(job) => job,
        };
        let key = arrival.key.clone();
        store.enter(arrival, job, SimTime::ZERO);
        Ok(store.answer(key, Receipt::first(job, SimTime::ZERO, Ok(()))))
    }

    fn store(keep: usize) -> JobStore {
        JobStore::new(keep, Naming { next: 0, step: 1 })
    }

    #[test]
    fn a_repeated_key_is_answered_with_the_first_answer() {
        let mut store = store(10);
        let first = submit(&mut store, arrival("k", None, 2)).unwrap();
        let again = submit(&mut store, arrival("k", None, 2)).unwrap();
        assert!(again.repeated && !first.repeated && again.job == first.job);
        let other = submit(&mut store, arrival("k", None, 3));
        assert_eq!(other, Err(SubmitError::KeyReused("k".to_owned())));
    }

    #[test]
    fn names_given_by_the_store_avoid_those_that_were_brought_along() {
        let mut store = store(10);
        submit(&mut store, arrival("a", Some(0), 1)).unwrap();
        assert_eq!(
            submit(&mut store, arrival("b", None, 1)).unwrap().job,
            JobId(1)
        );
        let taken = submit(&mut store, arrival("c", Some(1), 1));
        assert_eq!(taken, Err(SubmitError::IdTaken(JobId(1))));
    }

    #[test]
    fn old_ended_jobs_are_forgotten_together_with_their_keys() {
        let mut store = store(2);
        for id in 0..3 {
            submit(&mut store, arrival(&format!("k{id}"), Some(id), 1)).unwrap();
            let state = EndState::Cancelled;
            let job = JobId(id);
            let end = JobEnd::without_run(job, state);
            store.end(end);
            store.publish(end);
        }
        assert!(store.get(JobId(0)).is_none() && store.get(JobId(1)).is_some());
        assert_eq!(store.answers.len(), 2);
        let (from, ends) = store.ends(0, 9);
        assert_eq!((from, ends.len(), store.published()), (1, 2, 3));
    }

    #[test]
    fn a_message_counts_once_and_a_restarted_sender_is_heard_again() {
        let mut store = store(1);
        let id = |incarnation, number| {
            Some(EnvelopeId {
                incarnation,
                number,
            })
        };
        assert!(store.hear(Party::Client, id(1, 0)));
        assert!(!store.hear(Party::Client, id(1, 0)));
        assert!(store.hear(Party::Client, id(1, 1)));
        assert!(store.hear(Party::Client, id(2, 0)));
    }
}
