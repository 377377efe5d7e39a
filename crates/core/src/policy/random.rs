//! Random: any candidate, each as likely.

use super::{Choice, InformationNeed, Policy, PolicyEntry, Tie, View};
use crate::job::JobRequest;

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    draws: true,
    ..PolicyEntry::new(
        "random",
        "anywhere, each place as likely",
        &[],
        InformationNeed::Nothing,
        |_| Box::new(Random),
    )
};

/// Every candidate is as good as any other, and chance decides.
struct Random;

impl Policy for Random {
    fn choose(&mut self, _: &JobRequest<'_>, view: &View) -> Choice {
        Choice::Among(view.possible.clone(), Tie::Random)
    }
}
