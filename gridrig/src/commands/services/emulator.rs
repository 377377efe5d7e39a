//! `gridrig emulator`

use super::{clock, duration, notify_hosts, serve};
use crate::cli::EmulatorArgs;
use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::scenario::Scenario;
use anyhow::anyhow;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::BrokerSettings;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::resource::Resources;
use gridrig_emulator::{Broker, Config};
use gridrig_protocol::rest::serve::Monitoring;

/// Serves one emulated cluster until Ctrl-C.
pub(in crate::commands) fn emulator(args: &EmulatorArgs) -> Result<(), Failure> {
    let mut config = match &args.scenario {
        Some(_) => from_scenario(args)?,
        None => from_flags(args)?,
    };
    config.notify = notify_hosts(&args.service);
    config.keep_events = args.service.keep_events;
    let monitoring = monitor::monitoring(&args.service.monitoring)?;
    config.monitoring = Monitoring {
        labels: config.monitoring.labels.and(&monitoring.labels),
        ..monitoring
    };
    serve(
        args.service.listen,
        gridrig_emulator::serve(config, args.service.listen, interrupt::wait()),
    )
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

fn from_scenario(args: &EmulatorArgs) -> Result<Config, Failure> {
    let path = args.scenario.as_deref().unwrap_or(std::path::Path::new(""));
    let scenario = Scenario::load(path, &args.set).map_err(Failure::input)?;
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
    let domain = cluster.domain.map(|id| &grid.domains[id.index()].name);
    config.monitoring.labels = monitor::of_scenario(&scenario, domain);
    // Of several policies nobody here knows which one is run.
    if let [Some(policy)] = scenario.policies[..] {
        let labels = std::mem::take(&mut config.monitoring.labels);
        config.monitoring.labels = labels.with("policy", policy.name());
    }
    if let (Some(domain), Some(url)) = (cluster.domain, &args.broker) {
        config.broker = Some(broker(domain, url, &grid.domains[domain.index()].broker));
    }
    Ok(config)
}

fn broker(domain: DomainId, url: &str, settings: &BrokerSettings) -> Broker {
    Broker {
        domain,
        url: url.trim_end_matches('/').to_owned(),
        latency: settings.lrms_latency,
        exchange: settings.exchange,
    }
}
