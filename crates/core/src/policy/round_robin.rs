//! Round robin (LSAP 4.3.2): the candidates in turn.

use super::{Choice, InformationNeed, Policy, PolicyEntry, Tie, View};
use crate::job::JobRequest;

pub(super) const ENTRY: PolicyEntry = PolicyEntry::new(
    "round-robin",
    "in turn, whatever is known",
    &[],
    InformationNeed::Nothing,
    |_| Box::new(RoundRobin),
);

/// Every candidate is as good as any other, and they take turns.
struct RoundRobin;

impl Policy for RoundRobin {
    fn choose(&mut self, _: &JobRequest<'_>, view: &View) -> Choice {
        Choice::Among(view.possible.clone(), Tie::Rotate)
    }
}
