//! Local only: what the domains do without a federation.

use super::{Choice, InformationNeed, Policy, PolicyEntry, Tie, View};
use crate::job::JobRequest;

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    is_bound: true,
    ..PolicyEntry::new(
        "local-only",
        "never to a peer (no federation)",
        &[Tie::PARAMETER],
        InformationNeed::Nothing,
        |settings| Box::new(LocalOnly(Tie::of(settings))),
    )
};

/// Own clusters, all alike, and never a peer.
struct LocalOnly(Tie);

impl Policy for LocalOnly {
    fn choose(&mut self, _: &JobRequest<'_>, view: &View) -> Choice {
        let mut own = view.possible.clone();
        own.retain(|index| *index < view.own);
        Choice::Among(own, self.0)
    }
}
