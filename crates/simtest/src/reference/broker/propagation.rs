//! What the reference broker is told, and what of it it passes on.

use super::super::cluster::RefLoad;
use super::RefBroker;
use gridrig_core::grid::{BrokerSettings, Grid};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::JobSpec;
use gridrig_core::message::Target;

/// The clusters of which a provider tells a consumer: its own, then those of others that it
/// passes on, in order. Each is found by the ways that news of it can go: from its own
/// broker, from one who propagates to the next, never back to whom it came from.
pub(in crate::reference) fn told(grid: &Grid, from: DomainId, to: DomainId) -> Vec<ClusterId> {
    let broker = |id: DomainId| -> &BrokerSettings { &grid.domains[id.index()].broker };
    let truth = |id: DomainId| broker(id).policy.entry().name == "full-information";
    let own = |id: DomainId| grid.domains[id.index()].clusters.clone();
    let is_link = |consumer: DomainId, provider: DomainId| {
        let mut links = grid.links.iter();
        links.any(|it| it.consumer == consumer && it.provider == provider)
    };
    let all: Vec<DomainId> = (0..).take(grid.domains.len()).map(DomainId).collect();
    let passes = |from: DomainId, to: DomainId| {
        broker(from).propagate_info && is_link(to, from) && !truth(from) && !truth(to)
    };
    // Whose news gets over this link, round by round.
    let mut known: Vec<(DomainId, DomainId, ClusterId)> = Vec::new();
    loop {
        let mut new = Vec::new();
        for (from, to) in all.iter().flat_map(|a| all.iter().map(|b| (*a, *b))) {
            if !passes(from, to) {
                continue;
            }
            let reach = grid.reachable(from, broker(to).hops().saturating_sub(1));
            for other in all.iter().filter(|it| is_link(from, **it) && **it != to) {
                let before = known.iter().filter(|it| (it.0, it.1) == (*other, from));
                let before = before.map(|it| it.2);
                for cluster in own(*other).into_iter().chain(before) {
                    let its = own(from).contains(&cluster) || own(to).contains(&cluster);
                    let fact = (from, to, cluster);
                    if !its
                        && reach.contains(&cluster)
                        && !known.contains(&fact)
                        && !new.contains(&fact)
                    {
                        new.push(fact);
                    }
                }
            }
        }
        if new.is_empty() {
            break;
        }
        known.extend(new);
    }
    let passed_on = known.iter().filter(|it| (it.0, it.1) == (from, to));
    let mut passed_on: Vec<ClusterId> = passed_on.map(|it| it.2).collect();
    passed_on.sort_unstable();
    own(from).into_iter().chain(passed_on).collect()
}

impl RefBroker<'_> {
    /// Loads of one candidate's clusters, all of one instant.
    pub fn inform(&mut self, target: Target, loads: &[(ClusterId, RefLoad)]) {
        for view in self.views.iter_mut().filter(|it| it.target == target) {
            for (id, load) in loads {
                for known in view.loads.iter_mut().filter(|known| known.0 == *id) {
                    known.1 = load.clone();
                }
                view.sent.retain(|(arrives, _)| *arrives > load.at);
            }
        }
    }

    /// What waits in a peer's broker (the truth).
    pub fn inform_waiting(&mut self, peer: DomainId, waiting: Vec<JobSpec>) {
        let to = Target::Peer(peer);
        for view in self.views.iter_mut().filter(|it| it.target == to) {
            view.waiting.clone_from(&waiting);
        }
    }

    /// What a consumer is told besides the load of own clusters.
    pub fn passed_on(&self, to: DomainId) -> Vec<(ClusterId, RefLoad)> {
        let mut all = Vec::new();
        let own = self.grid.domains[self.domain.index()].clusters.len();
        for cluster in told(self.grid, self.domain, to).into_iter().skip(own) {
            let others = self.views.iter().filter(|it| it.target != Target::Peer(to));
            let known = others.flat_map(|view| &view.loads);
            let known = known.filter(|(id, _)| *id == cluster);
            // Of several of one instant the first.
            let best =
                known.reduce(|best, other| if other.1.at > best.1.at { other } else { best });
            all.extend(best.cloned());
        }
        all
    }
}
