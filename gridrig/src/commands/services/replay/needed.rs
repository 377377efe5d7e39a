//! What a replay has to be given: addresses of where its jobs enter, and of all services
//! that they may get to, whose logs are part of the run.

use crate::cli::ReplayArgs;
use crate::words::list;
use anyhow::{Result, bail};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Submission};
use gridrig_protocol::client::Client;
use std::collections::BTreeSet;

/// Refuses jobs that enter where there is no address.
pub(super) fn refuse_unaddressed(
    args: &ReplayArgs,
    grid: &Grid,
    jobs: &[Submission],
    has_address: impl Fn(&Entry) -> bool,
) -> Result<()> {
    let lost = jobs.iter().filter(|job| !has_address(&job.entry));
    let entries: BTreeSet<Entry> = lost.clone().map(|job| job.entry).collect();
    if entries.is_empty() {
        return Ok(());
    }
    let (lost, all) = (lost.count(), jobs.len());
    let names = named(grid, &entries, "domain");
    let to = args.to.iter();
    let to = to.map(|(name, url)| format!("--to {name}={url}"));
    let outlets = args.outlet.iter().map(|text| format!("--outlet {text}"));
    let given = list(to.chain(outlets));
    let expected = list(entries.iter().map(|entry| {
        let name = name(grid, *entry);
        format!("--to {name}=URL or --outlet {name}=OUTLET")
    }));
    bail!(
        "{names}: no address, but {lost} of {all} jobs enter there (given: {given}; expected also \
         {expected})"
    )
}

/// What is to be said of services whose addresses are not among these, if jobs that enter
/// here may get to such.
pub(super) async fn not_collected(
    client: &Client,
    urls: &[String],
    grid: &Grid,
    jobs: &[Submission],
) -> Option<String> {
    // Nothing is written of such a replay.
    if urls.is_empty() {
        return None;
    }
    let mut missing = within_reach(grid, jobs.iter().map(|job| job.entry).collect());
    for url in urls {
        // Who answers in neither form is found out about later.
        if let Ok(lrms) = client.cluster(url).await {
            missing.remove(&Entry::Cluster(ClusterId(lrms.cluster)));
        } else if let Ok(broker) = client.broker(url).await {
            missing.remove(&Entry::Domain(DomainId(broker.domain)));
        }
    }
    let names = named(grid, &missing, "broker");
    (!missing.is_empty()).then(|| {
        format!(
            "not-collected: {names}: the run lacks their events, and its audit fails if jobs get \
             there (expected --collect with the address of each)"
        )
    })
}

/// The brokers of ours and the LRMSs that jobs may get to that enter there.
fn within_reach(grid: &Grid, entries: BTreeSet<Entry>) -> BTreeSet<Entry> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<Entry> = entries.into_iter().collect();
    while let Some(entry) = next.pop() {
        let Entry::Domain(id) = entry else {
            reached.insert(entry);
            continue;
        };
        if !reached.insert(entry) {
            continue;
        }
        let site = &grid.domains[id.index()];
        next.extend(site.clusters.iter().map(|cluster| Entry::Cluster(*cluster)));
        let broker = &site.broker;
        if !broker.external && (broker.hops() > 0 || broker.matchmaking().makes_deals()) {
            let links = grid.providers_of(id);
            next.extend(links.map(|link| Entry::Domain(link.provider)));
        }
    }
    reached.retain(|entry| match entry {
        Entry::Domain(id) => !grid.domains[id.index()].broker.external,
        Entry::Cluster(_) => true,
    });
    reached
}

/// All of these; a domain is called `domain` or what else it stands for.
fn named(grid: &Grid, entries: &BTreeSet<Entry>, domain: &str) -> String {
    list(entries.iter().map(|entry| {
        let kind = match entry {
            Entry::Domain(_) => domain,
            Entry::Cluster(_) => "cluster",
        };
        format!("{kind} {}", name(grid, *entry))
    }))
}

fn name(grid: &Grid, entry: Entry) -> &str {
    match entry {
        Entry::Domain(id) => &grid.domains[id.index()].name,
        Entry::Cluster(id) => &grid.clusters[id.index()].name,
    }
}
