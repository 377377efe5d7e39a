//! What LRMSs have written of a job that somebody else's broker brought there.

use crate::event::EventKind;
use crate::ids::{ClusterId, JobId};
use crate::job::Reason;
use crate::message::EndState;
use crate::time::{SimTime, WallTime};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A job under the name that it has in an LRMS.
pub type Place = (ClusterId, JobId);

/// Something that an LRMS has written of a job of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
pub struct Attempt {
    first: SimTime,
    has_started: bool,
    /// When it was over there, and how.
    pub end: Option<(SimTime, EndState)>,
    /// When that was read.
    pub(super) heard: WallTime,
    /// Whether the LRMS itself tells that its end was seen.
    is_seen: bool,
}

/// All attempts of a job.
pub type Attempts = BTreeMap<Place, Attempt>;

impl Attempt {
    /// Takes in what was observed, which was read at this instant.
    pub fn note(attempts: &mut Attempts, seen: &Observation, heard: WallTime) {
        let attempt = attempts.entry(seen.place).or_insert(Attempt {
            first: seen.at,
            has_started: false,
            end: None,
            heard,
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
        attempt.heard = heard;
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
            Attempt::note(&mut attempts, &seen, WallTime::ZERO);
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
