//! Jobs as the LRMSs see them: their logs are read while a run goes, and the
//! tag of each job says which job of the workload it is, if any.

use gridrig_core::event::EventKind;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::message::EndState;
use gridrig_core::time::SimTime;
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::tag::Tags;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};

/// Between two looks at a log that has nothing new.
const POLL: Duration = Duration::from_millis(200);

/// Whose a job in an LRMS is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The workload's, by its tag.
    Tagged(JobId),
    /// The workload's, by its tag, in another attempt than the one that counts.
    Repeated(JobId),
    /// The workload's, under its own name: it came by our own interface.
    Named(JobId),
    /// Somebody else's.
    Foreign,
}

/// What jobs are called in each LRMS, and whose they are.
pub type Names = BTreeMap<Place, Owner>;

/// Whose jobs are, as far as is known, for others to look at while a run goes.
#[derive(Clone, Debug, Default)]
pub struct Owners(Arc<std::sync::Mutex<Names>>);

impl Owners {
    /// Whose the job is that an LRMS calls so; `None` as long as nobody has
    /// looked.
    #[must_use]
    pub fn owner(&self, cluster: ClusterId, local: JobId) -> Option<Owner> {
        self.names().get(&(cluster, local)).copied()
    }

    /// Notes whose a job is.
    pub fn note(&self, cluster: ClusterId, local: JobId, owner: Owner) {
        self.names().insert((cluster, local), owner);
    }

    /// All that is known.
    #[must_use]
    pub fn all(&self) -> Names {
        self.names().clone()
    }

    fn names(&self) -> std::sync::MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job under the name that it has in an LRMS.
pub type Place = (ClusterId, JobId);

/// Something that an LRMS has written of a job of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The job.
    pub job: JobId,
    /// Where, and what it is called there.
    pub place: Place,
    /// When.
    pub at: SimTime,
    /// What.
    pub kind: EventKind,
    /// Why.
    pub reason: Option<Reason>,
}

/// What a job has been through under one name in one LRMS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    first: SimTime,
    has_started: bool,
    /// When it was over there, and how.
    pub end: Option<(SimTime, EndState)>,
    /// Whether the LRMS itself tells that its end was seen.
    is_seen: bool,
}

/// All attempts of a job.
pub(crate) type Attempts = BTreeMap<Place, Attempt>;

impl Attempt {
    /// Takes in what was observed.
    pub fn note(attempts: &mut Attempts, seen: &Observation) {
        let attempt = attempts.entry(seen.place).or_insert(Attempt {
            first: seen.at,
            has_started: false,
            end: None,
            is_seen: false,
        });
        let state = match (seen.kind, seen.reason) {
            (EventKind::Finished, _) => EndState::Completed,
            (EventKind::Cancelled, _) => EndState::Cancelled,
            (EventKind::Rejected, Some(reason)) => EndState::Rejected(reason),
            (EventKind::Failed, Some(reason)) => EndState::Failed(reason),
            (kind, _) => {
                attempt.has_started |= kind == EventKind::Started;
                attempt.is_seen |= kind == EventKind::FinishSeen;
                return;
            }
        };
        attempt.end = Some((seen.at, state));
    }

    /// The one that counts: that which came furthest, of equals the first.
    pub fn that_counts(attempts: &Attempts) -> Option<(Place, Attempt)> {
        let rank = |attempt: &Attempt| {
            let stage = match attempt.end {
                Some((_, EndState::Rejected(_))) => 0,
                Some((_, EndState::Completed)) => 4,
                Some(_) => 1,
                None if attempt.has_started => 3,
                None => 2,
            };
            (stage, Reverse(attempt.first))
        };
        let best = attempts.iter().rev().max_by_key(|(_, one)| rank(one));
        best.map(|(place, attempt)| (*place, *attempt))
    }

    /// When it ended, unless its LRMS tells that this was seen.
    pub fn unseen_end(&self) -> Option<SimTime> {
        let (at, _) = self.end.filter(|_| !self.is_seen)?;
        Some(at)
    }
}

/// Reads the log of one LRMS.
pub(crate) struct LogReader {
    pub client: Client,
    pub url: String,
    pub cluster: ClusterId,
    pub tags: Tags,
    /// Whether a job of the workload goes by its own name.
    pub is_named: Arc<[bool]>,
    pub out: mpsc::UnboundedSender<Observation>,
    /// How far it is read.
    pub after: Arc<Mutex<u64>>,
    pub owners: Owners,
}

impl LogReader {
    /// Reads on until nobody listens any more.
    pub async fn run(self) {
        while !self.out.is_closed() {
            match self.read_page().await {
                Ok(0) => tokio::time::sleep(POLL).await,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "the log of an LRMS cannot be read");
                    tokio::time::sleep(POLL).await;
                }
            }
        }
    }

    /// Reads what there is.
    pub async fn catch_up(&self) -> Result<(), ClientError> {
        while self.read_page().await? > 0 {}
        Ok(())
    }

    async fn read_page(&self) -> Result<usize, ClientError> {
        let mut after = self.after.lock().await;
        let page = self.client.events(&self.url, *after).await?;
        for report in &page.events {
            let Some(local) = report.job.map(JobId) else {
                continue;
            };
            let owner = match self.owners.owner(self.cluster, local) {
                Some(owner) => owner,
                None => {
                    let owner = self.owner(local).await?;
                    self.owners.note(self.cluster, local, owner);
                    owner
                }
            };
            let (at, placement) = report.at_and_placement();
            if let (Owner::Tagged(job), Ok(event)) = (owner, report.event(&placement)) {
                // Nobody may be listening any more.
                let _ = self.out.send(Observation {
                    job,
                    place: (self.cluster, local),
                    at,
                    kind: event.kind,
                    reason: event.reason,
                });
            }
        }
        *after = page.next;
        Ok(page.events.len())
    }

    async fn owner(&self, local: JobId) -> Result<Owner, ClientError> {
        let tag = match self.client.job(&self.url, local.0).await {
            Ok(status) => status.tag,
            // It has been forgotten: nobody will know.
            Err(ClientError::Problem { .. }) => None,
            Err(error) => return Err(error),
        };
        let named = self.is_named.get(local.index()).copied().unwrap_or(false);
        Ok(match tag.as_deref().and_then(|tag| self.tags.job_in(tag)) {
            Some(job) if named && job == local => Owner::Named(job),
            Some(job) if job.index() < self.is_named.len() => Owner::Tagged(job),
            _ if named && tag.is_none() => Owner::Named(local),
            _ => Owner::Foreign,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ClusterId = ClusterId(0);
    const B: ClusterId = ClusterId(1);

    /// The attempt that counts of those that go through this.
    fn counts(told: &[(ClusterId, u32, u64, EventKind)]) -> (Place, Option<SimTime>) {
        let mut attempts = Attempts::new();
        for (cluster, local, at, kind) in told {
            let seen = Observation {
                job: JobId(7),
                place: (*cluster, JobId(*local)),
                at: SimTime::from_secs(*at),
                kind: *kind,
                reason: Some(Reason::NeverFits).filter(|_| kind.row().has_reason),
            };
            Attempt::note(&mut attempts, &seen);
        }
        let (place, attempt) = Attempt::that_counts(&attempts).unwrap();
        (place, attempt.unseen_end())
    }

    #[test]
    fn the_attempt_that_came_furthest_counts_and_of_equals_the_first() {
        let mut told = vec![
            (A, 900, 1, EventKind::Rejected),
            (A, 901, 2, EventKind::Queued),
            (A, 901, 2, EventKind::Started),
            (B, 900, 3, EventKind::Queued),
            (B, 900, 3, EventKind::Started),
        ];
        assert_eq!(counts(&told), ((A, JobId(901)), None));
        told.push((B, 900, 8, EventKind::Finished));
        let end = Some(SimTime::from_secs(8));
        assert_eq!(counts(&told), ((B, JobId(900)), end));
    }

    #[test]
    fn an_end_that_its_lrms_tells_as_seen_is_not_told_again() {
        let mut told = vec![(A, 5, 1, EventKind::Rejected)];
        assert_eq!(counts(&told).1, Some(SimTime::from_secs(1)));
        told.push((A, 5, 1, EventKind::FinishSeen));
        assert_eq!(counts(&told).1, None);
    }
}
