//! `gridrig broker`

mod role;
mod sessions;

use super::{Threads, clock, named_url, notify_hosts, serve};
use crate::cli::{BrokerArgs, BrokerCommand};
use crate::commands::resources::schema_file;
use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::scenario::Scenario;
use anyhow::anyhow;
use gridrig_core::agent::BrokerSetup;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::policy::PolicySpec;
use gridrig_core::resource::Resources;
use gridrig_core::time::SimDuration;
use gridrig_metabroker_stub::{Config, Liveness, Peer};
use gridrig_protocol::client::Client;
use std::collections::BTreeMap;
use std::time::Duration;

/// Serves one meta-broker until Ctrl-C.
pub(in crate::commands) fn broker(args: &BrokerArgs) -> Result<(), Failure> {
    if let Some(BrokerCommand::Role(role)) = &args.command {
        return role::set_role(role);
    }
    let lrms: Vec<(&str, String)> = args
        .lrms
        .iter()
        .map(|text| named_url("--lrms", text))
        .collect::<Result<_, _>>()?;
    let policy = args.policy.as_deref().map(policy_named).transpose()?;
    let mut monitoring = monitor::monitoring(&args.service.monitoring)?;
    let mut protocols = BTreeMap::new();
    let (mut grid, domain, seed) = match &args.scenario {
        Some(path) => {
            let scenario = Scenario::load(path, &args.set).map_err(Failure::input)?;
            monitoring.labels = monitor::of_scenario(&scenario, None).and(&monitoring.labels);
            let policy = policy.or(scenario.policies.first().cloned().flatten());
            let grid = scenario.grid_for(policy.as_ref());
            protocols = scenario.protocols;
            let domain = find_domain(&grid, &args.name)?;
            (grid, domain, args.seed.unwrap_or(scenario.seed))
        }
        None => (
            ask_clusters(&args.name, &lrms, policy.unwrap_or_default())?,
            DomainId(0),
            args.seed.unwrap_or(1),
        ),
    };
    add_clients(&mut grid, domain, &args.clients)?;
    let mut setup = BrokerSetup::of(&grid, domain, seed).map_err(Failure::input)?;
    if let Some(path) = &args.resource_schema {
        setup.resource_schema = schema_file(path)?;
    }
    let peers = peers(&grid, domain, &args.peers, &args.clients)?;
    let config = Config {
        lrms: own_clusters(&grid, domain, &lrms)?,
        links: sessions::links(args, &setup, &peers, &protocols)?,
        peer_door: sessions::door(args)?,
        journal: args.journal.clone(),
        peers,
        setup,
        clock: clock(&args.service)?,
        notify: notify_hosts(&args.service),
        monitoring,
        keep_events: args.service.keep_events,
        liveness: Liveness::default(),
    };
    serve(
        args.service.listen,
        Threads::One,
        gridrig_metabroker_stub::serve(config, args.service.listen, interrupt::wait()),
    )
}

fn policy_named(name: &str) -> Result<PolicySpec, Failure> {
    let policy = name.parse();
    policy.map_err(|expected| Failure::input(anyhow!("--policy {name}: expected {expected}")))
}

fn find_domain(grid: &Grid, name: &str) -> Result<DomainId, Failure> {
    let position = grid.domains.iter().position(|domain| domain.name == name);
    position.map(|index| DomainId(index as u16)).ok_or_else(|| {
        let names: Vec<&str> = grid.domains.iter().map(|d| d.name.as_str()).collect();
        Failure::input(anyhow!(
            "--name {name}: there is no such domain (expected one of {})",
            names.join(", ")
        ))
    })
}

/// A domain of its own out of the clusters at these addresses, as they
/// describe themselves.
fn ask_clusters(name: &str, lrms: &[(&str, String)], policy: PolicySpec) -> Result<Grid, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::run)?;
    let client = Client::new(Duration::from_secs(5)).map_err(Failure::run)?;
    let broker = BrokerSettings {
        policy,
        ..BrokerSettings::default()
    };
    let mut grid = Grid::default();
    for (index, (cluster, url)) in lrms.iter().enumerate() {
        let id = ClusterId(index as u16);
        let info = runtime.block_on(client.cluster(url)).map_err(|e| {
            Failure::input(anyhow!(
                "--lrms {cluster}={url}: {e} (expected a running emulator)"
            ))
        })?;
        if info.cluster != id.0 {
            return Err(Failure::input(anyhow!(
                "--lrms {cluster}={url}: it was started with --index {}, but is number {index} \
                 here (expected the clusters in the order of their --index)",
                info.cluster
            )));
        }
        let groups: Option<Vec<_>> = info.resources.iter().map(|g| g.to_resource()).collect();
        let resources = groups.and_then(Resources::new).ok_or_else(|| {
            Failure::input(anyhow!(
                "--lrms {cluster}={url}: it describes nodes that cannot be"
            ))
        })?;
        // How the cluster schedules is its own business.
        let config = ClusterConfig::new(id, resources, DisciplineKind::FirstInFirstFit);
        grid.clusters.push(GridCluster {
            name: (*cluster).to_owned(),
            domain: Some(DomainId(0)),
            config,
        });
    }
    let clusters = grid
        .clusters
        .iter()
        .map(|cluster| cluster.config.id)
        .collect();
    grid.domains.push(Domain {
        name: name.to_owned(),
        broker,
        clusters,
    });
    Ok(grid)
}

/// Those who submit by the protocol of LA Grid are domains without clusters.
fn add_clients(grid: &mut Grid, provider: DomainId, clients: &[String]) -> Result<(), Failure> {
    for name in clients {
        if name.is_empty() || grid.domains.iter().any(|domain| domain.name == *name) {
            return Err(Failure::input(anyhow!(
                "--client {name}: expected a name that no domain and no other client has"
            )));
        }
        let consumer = DomainId(grid.domains.len() as u16);
        grid.domains.push(Domain {
            name: name.clone(),
            broker: BrokerSettings::default(),
            clusters: Vec::new(),
        });
        grid.links.push(Link {
            consumer,
            provider,
            latency: SimDuration::from_millis(1),
            bandwidth: None,
        });
    }
    Ok(())
}

/// The address of every cluster of the domain.
fn own_clusters(
    grid: &Grid,
    domain: DomainId,
    lrms: &[(&str, String)],
) -> Result<BTreeMap<ClusterId, String>, Failure> {
    let own = &grid.domains[domain.index()].clusters;
    let address = |id: &ClusterId| {
        let name = &grid.clusters[id.index()].name;
        let given = lrms.iter().find(|(given, _)| given == name);
        given.map(|(_, url)| (*id, url.clone())).ok_or_else(|| {
            Failure::input(anyhow!(
                "cluster {name} has no address (expected --lrms {name}=URL)"
            ))
        })
    };
    own.iter().map(address).collect()
}

/// The address of every broker it has a link with.
fn peers(
    grid: &Grid,
    domain: DomainId,
    given: &[String],
    clients: &[String],
) -> Result<BTreeMap<DomainId, Peer>, Failure> {
    let given: Vec<(&str, String)> = given
        .iter()
        .map(|text| named_url("--peer", text))
        .collect::<Result<_, _>>()?;
    let providers = grid.providers_of(domain).map(|link| link.provider);
    let consumers = grid.consumers_of(domain).map(|link| link.consumer);
    providers
        .chain(consumers)
        .map(|peer| {
            let name = &grid.domains[peer.index()].name;
            let url = given
                .iter()
                .find(|(given, _)| given == name)
                .map(|(_, url)| url.clone());
            let url = url.or_else(|| clients.contains(name).then(String::new));
            let url = url.ok_or_else(|| {
                Failure::input(anyhow!(
                    "peer {name} has no address (expected --peer {name}=URL)"
                ))
            })?;
            Ok((
                peer,
                Peer {
                    name: name.clone(),
                    url,
                },
            ))
        })
        .collect()
}
