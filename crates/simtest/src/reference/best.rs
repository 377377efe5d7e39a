//! The search for one reservation, the best of those that can be had (docs/policies.md,
//! "Reservations to know when"). It is gone through from its beginning with the answers so far.

use gridrig_core::agent::ClaimAnswer;
use gridrig_core::time::SimTime;
use std::collections::BTreeMap;

/// A cluster is asked for one reservation for these components, as bits, in a window.
pub(super) type Question = (usize, u64, (SimTime, SimTime));

/// How a search has ended.
pub(super) enum Found {
    /// All that is held is to be used.
    Reserved,
    /// The job goes there like any other, where it is thought to start then.
    Elsewhere(usize, Option<SimTime>),
    Nothing,
}

/// What is reserved: at which cluster for which components, and by which answer.
pub(super) type Held = BTreeMap<usize, (u64, usize)>;

/// Where a job could run.
pub(super) struct Place {
    /// The candidate, by its position.
    pub view: usize,
    /// Whether it is asked.
    pub is_own: bool,
    /// Nanoseconds that count beside its start.
    pub rest: u128,
    /// When it counts as started, or done, without a reservation, if it may go there so.
    pub estimate: Option<u128>,
}

/// What is sought.
pub(super) struct Best {
    /// The best by what is predicted comes first.
    pub places: Vec<Place>,
    /// The components, as bits.
    pub all: u64,
    pub first: SimTime,
    pub last: SimTime,
}

impl Best {
    /// What is reserved, who lets go, and how the search has ended or what it asks.
    pub fn search(&self, answers: &[ClaimAnswer]) -> (Held, Vec<usize>, Result<Found, Question>) {
        let mut best: Option<u128> = None;
        let (mut held, mut let_go) = (Held::new(), Vec::new());
        let (mut unreserved, mut late) = (Vec::new(), Vec::new());
        let mut answered = answers.iter().enumerate();
        for place in &self.places {
            // It would start, or be done, before the best so far.
            let better = best.map(|before| before.saturating_sub(place.rest + 1));
            let better = better.and_then(|at| u64::try_from(at).ok());
            let last = better.map_or(self.last, |at| self.last.min(SimTime::from_nanos(at)));
            if !place.is_own {
                unreserved.push(place);
                continue;
            }
            if last < self.first {
                late.push(place);
                continue;
            }
            let Some((answer, said)) = answered.next() else {
                let question = (place.view, self.all, (self.first, last));
                return (held, let_go, Err(question));
            };
            let_go.clear();
            match said {
                ClaimAnswer::Reserved { start, .. } => {
                    let_go.extend(held.into_keys());
                    held = Held::from([(place.view, (self.all, answer))]);
                    best = Some(u128::from(start.as_nanos()) + place.rest);
                }
                ClaimAnswer::NotBefore(_) => late.push(place),
                _ => unreserved.push(place),
            }
        }
        if best.is_none() {
            unreserved.extend(late);
        }
        let estimated = unreserved.iter().filter_map(|it| Some((it.estimate?, it)));
        // Of equals the one that was ranked first.
        let found = match (best, estimated.min_by_key(|(counts, _)| *counts)) {
            (Some(best), other) if other.is_none_or(|(counts, _)| best <= counts) => {
                Found::Reserved
            }
            (_, Some((counts, place))) => {
                let_go.extend(std::mem::take(&mut held).into_keys());
                let starts = u64::try_from(counts - place.rest).ok();
                Found::Elsewhere(place.view, starts.map(SimTime::from_nanos))
            }
            (_, None) => Found::Nothing,
        };
        (held, let_go, Ok(found))
    }
}
