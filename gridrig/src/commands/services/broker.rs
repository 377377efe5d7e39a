//! `gridrig broker`

mod role;
mod sessions;

use super::{Threads, clock, journal, notify_hosts, serve};
use crate::cli::{BrokerArgs, BrokerCommand};
use crate::commands::may_listen;
use crate::commands::resources::schema_file;
use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::own_policy;
use crate::scenario::Scenario;
use crate::words::list;
use anyhow::{Context as _, Result, anyhow, bail};
use gridrig_core::agent::BrokerSetup;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::decision::About;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::policy::PolicySpec;
use gridrig_core::resource::Resources;
use gridrig_core::time::SimDuration;
use gridrig_metabroker_stub::{Config, Introduction, Liveness, Peer};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::{self, ClusterInfo};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Serves one meta-broker until Ctrl-C.
pub(in crate::commands) fn broker(args: &BrokerArgs) -> Result<(), Failure> {
    if let Some(BrokerCommand::Role(role)) = &args.command {
        return role::set_role(role);
    }
    let (service, session) = (&args.service, &args.session);
    may_listen("--listen", service.listen, false, service.insecure)?;
    if let Some(listen) = session.peer_listen {
        let has_tls = session.tls_cert.is_some();
        may_listen("--peer-listen", listen, has_tls, service.insecure)?;
    }
    let policy = args.policy.clone();
    let mut monitoring = crate::commands::monitoring(&args.service.monitoring)?;
    let mut protocols = BTreeMap::new();
    let (mut grid, domain, seed) = match &args.scenario {
        Some(path) => {
            let scenario = Scenario::load(path, &args.set).map_err(Failure::input)?;
            monitoring.labels = monitor::of_scenario(&scenario, None).and(&monitoring.labels);
            let policy = policy.or(scenario.policies.first().cloned().flatten());
            own_policy::refuse(policy.as_ref(), None, "a broker by itself")?;
            let grid = scenario.grid_for(policy.as_ref());
            protocols = scenario.protocols;
            let domain = find_domain(&grid, &args.name)?;
            (grid, domain, args.seed.unwrap_or(scenario.seed))
        }
        None => (
            ask_clusters(&args.name, &args.lrms, policy.unwrap_or_default())?,
            DomainId(0),
            args.seed.unwrap_or(1),
        ),
    };
    add_clients(&mut grid, domain, &args.clients)?;
    let mut setup = BrokerSetup::of(&grid, domain, seed).map_err(Failure::input)?;
    if let Some(path) = &args.resource_schema {
        setup.resource_schema = schema_file(path)?;
    }
    let peers = peers(&grid, domain, args)?;
    let who = format!("broker {}", setup.name);
    let keep = |path: &Path| journal(path, args.memory, &who, &setup);
    let config = Config {
        lrms: own_clusters(&grid, domain, &args.lrms)?,
        links: sessions::links(args, &setup, &peers, &protocols)?,
        peer_door: sessions::door(args)?,
        journal: args.journal.as_deref().map(keep),
        peers,
        setup,
        clock: clock(&args.service),
        notify: notify_hosts(&args.service),
        hosts: args.service.allow_host.clone(),
        monitoring,
        keep_events: args.service.keep_events,
        decisions: About::None,
        faults: Default::default(),
        liveness: Liveness::default(),
        introduces: Some(Introduction::default()),
        asks: true,
    };
    serve(
        args.service.listen,
        Threads::One,
        gridrig_metabroker_stub::serve(config, args.service.listen, interrupt::wait()),
    )
}

fn find_domain(grid: &Grid, name: &str) -> Result<DomainId> {
    let position = grid.domains.iter().position(|domain| domain.name == name);
    position.map(|index| DomainId(index as u16)).ok_or_else(|| {
        let names = list(grid.domains.iter().map(|domain| &domain.name));
        anyhow!("--name {name}: there is no such domain (expected one of {names})")
    })
}

/// A domain of its own out of the clusters at these addresses, as they
/// describe themselves.
fn ask_clusters(
    name: &str,
    lrms: &[(String, String)],
    policy: PolicySpec,
) -> Result<Grid, Failure> {
    let runtime = Runtime::new().map_err(Failure::run)?;
    let client = Client::new(Duration::from_secs(5)).map_err(Failure::run)?;
    let mut grid = Grid::default();
    for (id, (name, url)) in (0..).map(ClusterId).zip(lrms) {
        let asked = runtime.block_on(client.cluster(url));
        let described = asked
            .map_err(anyhow::Error::new)
            .and_then(|info| described(id, info));
        grid.clusters.push(GridCluster {
            name: name.clone(),
            domain: Some(DomainId(0)),
            config: described.with_context(|| format!("--lrms {name}={url}"))?,
        });
    }
    grid.domains.push(Domain {
        name: name.to_owned(),
        broker: BrokerSettings {
            policy,
            ..BrokerSettings::default()
        },
        clusters: grid.clusters.iter().map(|it| it.config.id).collect(),
        topology: Default::default(),
    });
    Ok(grid)
}

/// A cluster as it describes itself. How it schedules is its own business.
fn described(id: ClusterId, info: ClusterInfo) -> Result<ClusterConfig> {
    if info.cluster != id.0 {
        bail!(
            "it was started with --index {}, but is number {} here (expected the clusters in the \
             order of their --index)",
            info.cluster,
            id.0
        );
    }
    let groups: Option<Vec<_>> = info.resources.iter().map(|g| g.to_resource()).collect();
    let resources = groups.and_then(Resources::new);
    let resources = resources.context("it describes impossible nodes")?;
    let resources = resources.with_benchmarks(rest::benchmarks(&info.benchmarks)?);
    Ok(ClusterConfig::new(
        id,
        resources,
        DisciplineKind::FirstInFirstFit,
    ))
}

/// Those who submit by the protocol of LA Grid are domains without clusters.
fn add_clients(grid: &mut Grid, provider: DomainId, clients: &[String]) -> Result<()> {
    for name in clients {
        if name.is_empty() || grid.domains.iter().any(|domain| domain.name == *name) {
            bail!("--client {name}: expected a name that no domain and no other client has");
        }
        let consumer = DomainId(grid.domains.len() as u16);
        grid.domains.push(Domain {
            name: name.clone(),
            broker: BrokerSettings::default(),
            clusters: Vec::new(),
            topology: Default::default(),
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

/// The address given with a name.
fn address(given: &[(String, String)], name: &str) -> Option<String> {
    let found = given.iter().find(|(known, _)| known == name);
    found.map(|(_, url)| url.clone())
}

/// The address of every cluster that the broker sends jobs to: those of its domain, and
/// where processors are lent those of all.
fn own_clusters(
    grid: &Grid,
    domain: DomainId,
    lrms: &[(String, String)],
) -> Result<BTreeMap<ClusterId, String>> {
    let url = |id: ClusterId| {
        let name = &grid.clusters[id.index()].name;
        let url = address(lrms, name);
        let why = || format!("cluster {name} has no address (expected --lrms {name}=URL)");
        Ok((id, url.with_context(why)?))
    };
    let site = &grid.domains[domain.index()];
    let lends = site.broker.matchmaking().is_lending();
    let all = (0..).map(ClusterId).take(grid.clusters.len());
    let sent_to = all.filter(|id| lends || site.clusters.contains(id));
    sent_to.map(url).collect()
}

/// The address of every broker it has a link with.
fn peers(grid: &Grid, domain: DomainId, args: &BrokerArgs) -> Result<BTreeMap<DomainId, Peer>> {
    let providers = grid.providers_of(domain).map(|link| link.provider);
    let consumers = grid.consumers_of(domain).map(|link| link.consumer);
    let peer = |peer: DomainId| {
        let name = grid.domains[peer.index()].name.clone();
        let silent = || args.clients.contains(&name).then(String::new);
        let url = address(&args.peers, &name).or_else(silent);
        let why = || format!("peer {name} has no address (expected --peer {name}=URL)");
        let url = url.with_context(why)?;
        Ok((peer, Peer { name, url }))
    };
    providers.chain(consumers).map(peer).collect()
}
