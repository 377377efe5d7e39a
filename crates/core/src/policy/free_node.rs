//! Free node (LSAP 4.3.2): the most free processors at the instant.

use super::{BrokerSettings, Choice, InformationNeed, Policy, PolicyEntry, Tie, View};
use crate::decision::Score;
use crate::job::JobRequest;

pub(super) const ENTRY: PolicyEntry = PolicyEntry::new(
    "free-node",
    "where the most processors are free",
    &[Tie::PARAMETER, BrokerSettings::COMMIT],
    InformationNeed::Totals,
    |settings| Box::new(FreeNode(Tie::of(settings))),
);

/// The most free processors are the best.
struct FreeNode(Tie);

impl Policy for FreeNode {
    fn choose(&mut self, _: &JobRequest<'_>, view: &View) -> Choice {
        let best = view.best(&view.candidates, |a, b| b.free.cmp(&a.free));
        Choice::Among(best, self.0)
    }

    fn score(&self, _: &JobRequest<'_>, view: &View, index: usize) -> Option<Score> {
        Some(Score {
            of: "free processors, the most",
            value: view.candidates[index].free as f64,
        })
    }
}
