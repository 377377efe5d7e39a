//! `gridrig emulator`

mod all;

use super::{clock, duration, notify_hosts, serve};
use crate::cli::EmulatorArgs;
use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::scenario::Scenario;
use anyhow::anyhow;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{BrokerSettings, GridCluster};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::resource::Resources;
use gridrig_emulator::faces::{FaceKind, Faces};
use gridrig_emulator::{Broker, Config};
use gridrig_protocol::rest::serve::{Labels, Monitoring};
use gridrig_protocol::tls::{ServerTls, TlsFiles};
use std::path::Path;

/// Serves one emulated cluster, or all of a scenario, until Ctrl-C.
pub(in crate::commands) fn emulator(args: &EmulatorArgs) -> Result<(), Failure> {
    let faces = faces(&args.faces)?;
    let tls = tls(args)?;
    let monitoring = monitor::monitoring(&args.service.monitoring)?;
    let finish = |mut config: Config, mut shown: Vec<FaceKind>| {
        config.notify = notify_hosts(&args.service);
        config.keep_events = args.service.keep_events;
        shown.extend(&faces);
        config.faces = Faces::of(&shown);
        config.tls.clone_from(&tls);
        config.monitoring = Monitoring {
            labels: config.monitoring.labels.and(&monitoring.labels),
            targets: monitoring.targets.clone(),
        };
        config
    };
    if args.all {
        return all::serve_all(args, &finish);
    }
    let (config, shown) = match &args.scenario {
        Some(_) => from_scenario(args)?,
        None => (from_flags(args)?, Vec::new()),
    };
    serve(
        args.service.listen,
        gridrig_emulator::serve(
            finish(config, shown),
            args.service.listen,
            interrupt::wait(),
        ),
    )
}

fn faces(names: &[String]) -> Result<Vec<FaceKind>, Failure> {
    let face = |name: &String| {
        FaceKind::from_name(name).ok_or_else(|| {
            let known = FaceKind::ALL.map(FaceKind::name).join(", ");
            Failure::input(anyhow!("--face {name}: expected one of {known}"))
        })
    };
    names.iter().map(face).collect()
}

fn tls(args: &EmulatorArgs) -> Result<Option<ServerTls>, Failure> {
    let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) else {
        return Ok(None);
    };
    let files = TlsFiles {
        cert: cert.clone(),
        key: key.clone(),
        client_ca: args.tls_client_ca.clone(),
    };
    ServerTls::read(&files).map(Some).map_err(Failure::input)
}

fn from_flags(args: &EmulatorArgs) -> Result<Config, Failure> {
    let resources = match (args.processors, &args.resources) {
        (Some(0), _) => {
            return Err(Failure::input(anyhow!(
                "--processors 0: expected at least 1"
            )));
        }
        (Some(processors), _) => Resources::homogeneous(processors),
        (None, Some(file)) => gridrig_protocol::resources::read(file).map_err(Failure::input)?,
        (None, None) => {
            return Err(Failure::input(anyhow!(
                "the cluster has no nodes (expected --processors, --resources or --scenario)"
            )));
        }
    };
    let discipline = DisciplineKind::from_name(&args.discipline).ok_or_else(|| {
        let names = DisciplineKind::ALL.map(DisciplineKind::name).join(", ");
        Failure::input(anyhow!(
            "--discipline {}: expected one of {names}",
            args.discipline
        ))
    })?;
    let mut config = Config::new(&args.name, resources, discipline, clock(&args.service)?);
    config.cluster.id = ClusterId(args.index);
    config.cluster.interval = duration("--interval", &args.interval)?;
    let settings = BrokerSettings::default();
    config.broker = args
        .broker
        .as_ref()
        .map(|url| broker(DomainId(0), url, &settings));
    Ok(config)
}

fn from_scenario(args: &EmulatorArgs) -> Result<(Config, Vec<FaceKind>), Failure> {
    let (path, scenario) = scenario(args)?;
    let grid = &scenario.grid;
    let cluster = grid
        .clusters
        .iter()
        .find(|cluster| cluster.name == args.name);
    let cluster = cluster.ok_or_else(|| {
        let names: Vec<&str> = grid.clusters.iter().map(|c| c.name.as_str()).collect();
        Failure::input(anyhow!(
            "{}: there is no cluster {} (expected --name with one of {})",
            path.display(),
            args.name,
            names.join(", ")
        ))
    })?;
    let resources = cluster.config.resources.clone();
    let clock = clock(&args.service)?;
    let mut config = Config::new(&args.name, resources, cluster.config.discipline, clock);
    config.cluster = cluster.config.clone();
    config.monitoring.labels = labels(&scenario, cluster);
    if let (Some(domain), Some(url)) = (cluster.domain, &args.broker) {
        config.broker = Some(broker(domain, url, &grid.domains[domain.index()].broker));
    }
    Ok((config, scenario.faces[cluster.config.id.index()].clone()))
}

/// What a scenario says of a cluster, for its metrics.
fn labels(scenario: &Scenario, cluster: &GridCluster) -> Labels {
    let domains = &scenario.grid.domains;
    let domain = cluster.domain.map(|id| &domains[id.index()].name);
    let labels = monitor::of_scenario(scenario, domain);
    // Of several policies nobody here knows which one is run.
    match scenario.policies[..] {
        [Some(policy)] => labels.with("policy", policy.name()),
        _ => labels,
    }
}

fn scenario(args: &EmulatorArgs) -> Result<(&Path, Scenario), Failure> {
    let path = args.scenario.as_deref().unwrap_or(Path::new(""));
    let scenario = Scenario::load(path, &args.set).map_err(Failure::input)?;
    Ok((path, scenario))
}

fn broker(domain: DomainId, url: &str, settings: &BrokerSettings) -> Broker {
    Broker {
        domain,
        url: url.trim_end_matches('/').to_owned(),
        latency: settings.lrms_latency,
        exchange: settings.exchange,
    }
}
