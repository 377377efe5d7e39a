//! `gridrig emulator`

mod all;
mod lrms;

use super::{Threads, clock, journal, notify_hosts, serve, server_tls};
use crate::cli::EmulatorArgs;
use crate::commands::may_listen;
use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::realtime::slurm_setup;
use crate::scenario::Scenario;
use crate::words::list;
use anyhow::{Context as _, bail};
use gridrig_core::agent::Memory;
use gridrig_core::cluster::Reserving;
use gridrig_core::grid::{BrokerSettings, GridCluster};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::resource::Resources;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_emulator::faces::{FaceKind, Faces, slurm};
use gridrig_emulator::lrms::Lrms;
use gridrig_emulator::{Broker, Config};
use gridrig_scenario::document::Cluster;
use gridrig_scenario::value::Str;
use gridrig_service::http::{Labels, Monitoring};
use std::path::Path;

/// Serves one emulated cluster, or all of a scenario, until Ctrl-C.
pub(in crate::commands) fn emulator(args: &EmulatorArgs) -> Result<(), Failure> {
    let (cert, key) = (args.tls_cert.as_ref(), args.tls_key.as_ref());
    let tls = server_tls(cert, key, args.tls_client_ca.as_ref())?;
    let service = &args.service;
    may_listen("--listen", service.listen, tls.is_some(), service.insecure)?;
    let monitoring = crate::commands::monitoring(&args.service.monitoring)?;
    let finish = |mut config: Config, mut written: Cluster| {
        config.notify = notify_hosts(&args.service);
        config.hosts.clone_from(&args.service.allow_host);
        config.keep_events = args.service.keep_events;
        config.monitoring = Monitoring {
            labels: config.monitoring.labels.and(&monitoring.labels),
            ..monitoring.clone()
        };
        args.faces.iter().for_each(|face| written.show(*face));
        written.arc_step = args.arc_step.map(Str).or(written.arc_step);
        config.faces = Faces::written(&written);
        let bin = args.slurm_bin.clone().filter(|_| !args.all);
        let bin = bin.or_else(|| written.slurm_bin());
        check_journal(args, &config, bin.is_some())?;
        config.faces.slurm = slurm_face(args, bin.as_deref())?;
        config.tls.clone_from(&tls);
        Ok(config)
    };
    if args.all {
        return all::serve_all(args, &finish);
    }
    let (config, written) = match &args.scenario {
        Some(_) => from_scenario(args)?,
        None => (from_flags(args)?, Cluster::default()),
    };
    let mut config = finish(config, written)?;
    lrms::set(&mut config, args)?;
    let (who, setup) = (format!("emulator {}", config.name), config.setup(0));
    let keep = |path: &Path| journal(path, Memory::Journal, &who, &setup);
    config.journal = args.journal.as_deref().map(keep);
    serve(
        args.service.listen,
        Threads::All,
        gridrig_emulator::serve(config, args.service.listen, interrupt::wait()),
    )
}

/// A journal has what the cluster is told. What others know of its jobs besides would be
/// lost, and with it which jobs are meant. Agreements are reservations of the cluster.
fn check_journal(args: &EmulatorArgs, config: &Config, slurm: bool) -> anyhow::Result<()> {
    let faces = config.faces.kinds();
    let is_real = args.lrms.as_deref() == Some("slurm") || matches!(config.lrms, Lrms::Slurm(_));
    let others = [
        (faces.contains(&FaceKind::Arc), "face arc"),
        (faces.contains(&FaceKind::Bes), "face bes"),
        (slurm, "commands of Slurm"),
        (is_real, "real LRMS"),
    ];
    let other = others.into_iter().find(|(is_there, _)| *is_there);
    if let (Some(path), Some((_, other))) = (&args.journal, other) {
        let (path, cluster) = (path.display(), &config.name);
        bail!(
            "--journal {path}: expected no {other} at cluster {cluster}, since what is known there \
             of its jobs is in no journal"
        );
    }
    Ok(())
}

fn from_flags(args: &EmulatorArgs) -> anyhow::Result<Config> {
    let resources = match (args.processors, &args.resources) {
        // Those of the real one, once it has been asked.
        (None, None) if args.lrms.as_deref() == Some("slurm") => Resources::homogeneous(1),
        (Some(0), _) => bail!("--processors 0: expected at least 1"),
        (Some(processors), _) => Resources::homogeneous(processors),
        (None, Some(file)) => gridrig_protocol::resources::read(file)?,
        (None, None) => {
            bail!("the cluster has no nodes (expected --processors, --resources or --scenario)")
        }
    };
    let clock = clock(&args.service);
    let mut config = Config::new(&args.name, resources, args.discipline, clock);
    config.cluster.id = ClusterId(args.index);
    config.cluster.interval = args.interval;
    let most_share = Decimal::ONE;
    config.cluster.reserving = args.reservations.map(|overrun| Reserving {
        overrun,
        most_share,
        longest: None,
        most_ahead: None,
    });
    let settings = BrokerSettings::default();
    let home = args.broker.as_ref();
    config.broker = home.map(|url| broker(DomainId(0), url, &settings));
    Ok(config)
}

/// What the metrics of a scenario's cluster are told apart by.
fn labels(scenario: &Scenario, cluster: &GridCluster) -> Labels {
    let domains = &scenario.grid.domains;
    let domain = cluster.domain.map(|id| &domains[id.index()].name);
    let labels = monitor::of_scenario(scenario, domain);
    match &scenario.policies[..] {
        [Some(policy)] => labels.with("policy", &policy.to_string()),
        // Of several policies nobody here knows which one is run.
        _ => labels,
    }
}

fn from_scenario(args: &EmulatorArgs) -> anyhow::Result<(Config, Cluster)> {
    let (path, scenario) = scenario(args)?;
    let grid = &scenario.grid;
    let mut clusters = grid.clusters.iter().zip(scenario.clusters());
    let cluster = clusters.find(|(cluster, _)| cluster.name == args.name);
    let (cluster, written) = cluster.with_context(|| {
        let names = list(grid.clusters.iter().map(|cluster| &cluster.name));
        let (file, name) = (path.display(), &args.name);
        format!("{file}: there is no cluster {name} (expected --name with one of {names})")
    })?;
    let clock = clock(&args.service);
    let mut config = of_cluster(args, &scenario, (cluster, written), clock)?;
    if let (Some(domain), Some(url)) = (cluster.domain, &args.broker) {
        config.broker = Some(broker(domain, url, &grid.domains[domain.index()].broker));
    }
    Ok((config, written.clone()))
}

/// A cluster of a scenario, on this clock.
fn of_cluster(
    args: &EmulatorArgs,
    scenario: &Scenario,
    (cluster, written): (&GridCluster, &Cluster),
    clock: RunClock,
) -> anyhow::Result<Config> {
    let (resources, discipline) = (cluster.config.resources.clone(), cluster.config.discipline);
    let mut config = Config::new(&cluster.name, resources, discipline, clock);
    config.cluster = cluster.config.clone();
    config.monitoring.labels = labels(scenario, cluster);
    if args.lrms.is_none() {
        lrms::written(&mut config, written)?;
    }
    Ok(config)
}

fn scenario(args: &EmulatorArgs) -> anyhow::Result<(&Path, Scenario)> {
    let path = args.scenario.as_deref().unwrap_or(Path::new(""));
    Ok((path, Scenario::load(path, &args.set)?))
}

/// The commands of Slurm, installed, if they are asked for.
fn slurm_face(args: &EmulatorArgs, dir: Option<&Path>) -> anyhow::Result<Option<slurm::Setup>> {
    let Some(dir) = dir else {
        if args.slurm_execute {
            bail!("--slurm-execute: expected --slurm-bin, or a cluster with slurm_bin");
        }
        return Ok(None);
    };
    let speed = args.service.speed;
    if args.slurm_execute && speed != Decimal::ONE {
        bail!("--speed {speed}: expected 1 with --slurm-execute, since scripts run in real time");
    }
    let mut setup = slurm_setup(dir)?;
    setup.partition.clone_from(&args.slurm_partition);
    setup.execute = args.slurm_execute.then_some(slurm::Execute {
        at_once: args.slurm_at_once,
        launch_delay: args.slurm_launch_delay,
    });
    Ok(Some(setup))
}

fn broker(domain: DomainId, url: &str, settings: &BrokerSettings) -> Broker {
    Broker {
        domain,
        url: url.trim_end_matches('/').to_owned(),
        latency: settings.lrms_latency,
        exchange: settings.exchange,
    }
}
