//! Of which clusters of others brokers tell their consumers.

use super::{Grid, Link};
use crate::ids::{ClusterId, DomainId};
use crate::policy::InformationNeed;
use std::collections::{BTreeMap, BTreeSet};

/// By provider and consumer the clusters of others of which the one tells the other.
pub(super) type PassedOn = BTreeMap<(DomainId, DomainId), BTreeSet<ClusterId>>;

/// Of which clusters brokers come to know and pass it on: those within the forwards that
/// jobs of the consumer may make, but for its own and for what it has told itself. A
/// bound by the truth needs to be told nothing, and tells nothing.
pub(super) fn passed_on(grid: &Grid) -> PassedOn {
    let of = |id: DomainId| &grid.domains[id.index()];
    let tells = |id: DomainId| of(id).broker.policy.entry().need != InformationNeed::Truth;
    let links = grid.links.iter();
    let links = links.filter(|it| of(it.provider).broker.propagate_info);
    let links = links.filter(|it| tells(it.provider) && tells(it.consumer));
    let links = links.map(|it| {
        let hops = of(it.consumer).broker.hops().saturating_sub(1);
        (it, grid.reachable(it.provider, hops))
    });
    let links: Vec<(&Link, Vec<ClusterId>)> = links.collect();
    let mut all = PassedOn::new();
    loop {
        let mut grown = false;
        for (link, within) in &links {
            let (from, to) = (link.provider, link.consumer);
            let mut known: BTreeSet<ClusterId> = BTreeSet::new();
            for other in grid.providers_of(from).filter(|it| it.provider != to) {
                known.extend(&of(other.provider).clusters);
                known.extend(all.get(&(other.provider, from)).into_iter().flatten());
            }
            let own = |cluster: &ClusterId| grid.clusters[cluster.index()].domain;
            known.retain(|cluster| {
                let new = own(cluster) != Some(from) && own(cluster) != Some(to);
                new && within.binary_search(cluster).is_ok()
            });
            let told = all.entry((from, to)).or_default();
            grown |= known.len() > told.len();
            *told = known;
        }
        if !grown {
            all.retain(|_, clusters| !clusters.is_empty());
            return all;
        }
    }
}
