//! How the services of a grid are set up, and where they are.

use super::RealOptions;
use anyhow::Context as _;
use gridrig_core::agent::BrokerSetup;
use gridrig_core::decision::Decision;
use gridrig_core::grid::{Domain, Grid, GridCluster};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{Recorded, Recorder, RunClock};
use gridrig_emulator as emulator;
use gridrig_emulator::faces::Faces;
use gridrig_emulator::lrms::Lrms;
use gridrig_metabroker_stub as broker;
use gridrig_metabroker_stub::lagrid::Links;
use gridrig_protocol::tls::TlsError;
use gridrig_service::http::{Labels, Monitoring, NotifyHosts};
use gridrig_service::recall_service;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Where the services of a grid are, in its order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Urls {
    lrms: Vec<String>,
    brokers: Vec<String>,
}

impl Urls {
    /// An address for each service, LRMSs first.
    pub(super) fn bind(grid: &Grid) -> anyhow::Result<(Self, Vec<Door>)> {
        let all = grid.clusters.len() + grid.domains.len();
        let doors = (0..all).map(|_| bind()).collect::<Result<Vec<_>, _>>()?;
        let mut lrms: Vec<String> = doors.iter().map(|door| door.url.clone()).collect();
        let brokers = lrms.split_off(grid.clusters.len());
        Ok((Urls { lrms, brokers }, doors))
    }

    /// Of services that nobody reaches.
    pub(super) fn nowhere(grid: &Grid) -> Self {
        Urls {
            lrms: vec![String::new(); grid.clusters.len()],
            brokers: vec![String::new(); grid.domains.len()],
        }
    }

    /// All of them, in the same order.
    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        self.lrms.iter().chain(&self.brokers)
    }

    /// The addresses at which these jobs enter.
    pub(super) fn entries(&self, submissions: &[Submission]) -> BTreeMap<Entry, String> {
        entries(submissions, |entry| match entry {
            Entry::Domain(domain) => self.brokers.get(domain.index()).cloned(),
            Entry::Cluster(cluster) => self.lrms.get(cluster.index()).cloned(),
        })
    }
}

/// What the services of a grid are called, LRMSs first.
pub(super) fn names(grid: &Grid) -> impl Iterator<Item = String> {
    let clusters = grid.clusters.iter();
    let domains = grid.domains.iter();
    let lrms = clusters.map(|cluster| named("lrms", &cluster.name));
    lrms.chain(domains.map(|domain| named("broker", &domain.name)))
}

fn named(kind: &str, name: &str) -> String {
    format!("{kind}-{name}")
}

/// How the services of a grid are set up.
pub struct Configs {
    pub(super) lrms: Vec<emulator::Config>,
    /// `None` is a broker that is not ours.
    pub(super) brokers: Vec<Option<broker::Config>>,
}

impl Configs {
    /// Those of a run on this clock.
    ///
    /// # Errors
    /// When a broker of the grid cannot be.
    pub fn of(
        grid: &Grid,
        options: &RealOptions,
        clock: RunClock,
        urls: &Urls,
    ) -> anyhow::Result<Self> {
        let lrms = grid.clusters.iter().map(|cluster| {
            let monitoring = monitoring(grid, cluster.domain, options);
            let mut config = lrms_config(grid, cluster, &urls.brokers, clock, monitoring);
            settle(&mut config, cluster, options);
            config
        });
        let lrms = lrms.collect();
        let domains = (0..).map(DomainId).zip(&grid.domains);
        let broker = |(id, domain): (DomainId, &Domain)| {
            let setup = BrokerSetup::of(grid, id, options.seed)?;
            let ours = (!domain.broker.external).then_some(setup);
            ours.map(|setup| broker_config(grid, setup, options, clock, urls))
                .transpose()
        };
        let brokers = domains.map(broker).collect::<Result<_, _>>()?;
        Ok(Configs { lrms, brokers })
    }

    /// Serves one of them, by its name, until its process is ended.
    ///
    /// # Errors
    /// When there is none of this name; what the service ends with.
    pub async fn serve(self, service: &str, listener: TcpListener) -> anyhow::Result<()> {
        let is_it = |kind: &str, name: &str| named(kind, name) == service;
        let mut lrms = self.lrms.into_iter();
        let mut brokers = self.brokers.into_iter().flatten();
        let forever = std::future::pending();
        if let Some(config) = lrms.find(|config| is_it("lrms", &config.name)) {
            return Ok(emulator::run(config, listener, forever).await?);
        }
        let config = brokers.find(|config| is_it("broker", &config.setup.name));
        let config = config.with_context(|| format!("{service}: no such service"))?;
        Ok(broker::run(config, listener, forever).await?)
    }

    /// What the journals of all services tell.
    pub(super) fn recall(&self) -> Recalled {
        let mut recalled = Recalled::default();
        let mut decisions = Vec::new();
        let mut told = |name: String, it: (Recorder, Option<io::Error>)| {
            let recorder = recalled.note(it);
            let restarts = recorder.lives().saturating_sub(1);
            let restarted = (restarts > 0).then_some((name, restarts));
            recalled.restarted.extend(restarted);
            decisions.extend(recorder.take_decisions());
            recorder.take()
        };
        let brokers = self.brokers.iter().flatten();
        let brokers = brokers.map(|it| told(named("broker", &it.setup.name), recall_service(it)));
        let brokers = brokers.collect();
        let lrms = self.lrms.iter();
        let lrms = lrms.map(|it| {
            (
                it.cluster.id,
                told(named("lrms", &it.name), recall_service(it)),
            )
        });
        let lrms = lrms.collect();
        recalled.logs = Logs {
            brokers,
            lrms,
            decisions,
        };
        recalled
    }
}

/// What journals tell.
#[derive(Default)]
pub(super) struct Recalled {
    pub logs: Logs,
    /// Services that went on from their journals, and how often.
    pub restarted: Vec<(String, u32)>,
    /// Why a journal tells no more, where it cannot be read to its end.
    pub errors: Vec<String>,
    /// What has happened before is in all of them; without errors, everything.
    pub until: Option<SimTime>,
}

impl Recalled {
    /// Takes note of how far a journal could be read.
    pub fn note(&mut self, (recorder, error): (Recorder, Option<io::Error>)) -> Recorder {
        if let Some(error) = error {
            self.errors.push(error.to_string());
            let last = recorder.page((recorder.len() as u64).saturating_sub(1), 1);
            let last = last.events.last().map_or(SimTime::ZERO, |event| event.at);
            self.until = Some(self.until.map_or(last, |until| until.min(last)));
        }
        recorder
    }
}

/// The logs of all services.
#[derive(Default)]
pub(super) struct Logs {
    /// At one instant they are the cause of what LRMSs do.
    pub brokers: Vec<Vec<Recorded>>,
    pub lrms: BTreeMap<ClusterId, Vec<Recorded>>,
    /// How brokers have decided.
    pub decisions: Vec<(SimTime, Decision)>,
}

/// A bound listener and its address.
pub(super) struct Door {
    pub listener: TcpListener,
    pub url: String,
}

fn bind() -> anyhow::Result<Door> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let door = bound.and_then(|listener| {
        let url = format!("http://{}", listener.local_addr()?);
        Ok(Door { listener, url })
    });
    door.with_context(|| not_started("a listener on 127.0.0.1"))
}

/// The addresses at which these jobs enter, by where that is.
pub(super) fn entries(
    submissions: &[Submission],
    url: impl Fn(Entry) -> Option<String>,
) -> BTreeMap<Entry, String> {
    let mut entries = BTreeMap::new();
    for entry in submissions.iter().map(|submission| submission.entry) {
        if let (false, Some(url)) = (entries.contains_key(&entry), url(entry)) {
            entries.insert(entry, url);
        }
    }
    entries
}

pub(super) fn not_started(service: &str) -> String {
    format!("{service} cannot be started")
}

fn lrms_config(
    grid: &Grid,
    cluster: &GridCluster,
    brokers: &[String],
    clock: RunClock,
    monitoring: Monitoring,
) -> emulator::Config {
    let site = cluster.domain.and_then(|id| grid.domains.get(id.index()));
    let is_external = site.is_some_and(|site| site.broker.external);
    let home = cluster.domain.and_then(|domain| {
        let (site, url) = (site?, brokers.get(domain.index())?);
        (!is_external).then(|| emulator::Broker {
            domain,
            url: url.clone(),
            latency: site.broker.lrms_latency,
            exchange: site.broker.exchange,
        })
    });
    let (resources, discipline) = (cluster.config.resources.clone(), cluster.config.discipline);
    emulator::Config {
        cluster: cluster.config.clone(),
        broker: home,
        monitoring,
        names_apart: is_external,
        ..emulator::Config::new(&cluster.name, resources, discipline, clock)
    }
}

/// The labels of the run, and of the domain where a service does not know it.
/// Where they all listen is told in one file.
fn monitoring(grid: &Grid, domain: Option<DomainId>, options: &RealOptions) -> Monitoring {
    let domain = domain.and_then(|id| grid.domains.get(id.index()));
    let labels = domain.map_or_else(Labels::default, |domain| {
        Labels::default().with("domain", &domain.name)
    });
    Monitoring {
        labels: labels.and(&options.monitoring.labels),
        targets: None,
    }
}

/// What the run says of an LRMS.
fn settle(config: &mut emulator::Config, cluster: &GridCluster, options: &RealOptions) {
    if let Some(written) = options.clusters.get(cluster.config.id.index()) {
        config.faces = Faces::written(written);
    }
    config.journal = options.journal(&named("lrms", &cluster.name));
    config.keep_events = options.keep_events_of_lrms();
    config.faults = options.planned.clone();
    config.faces.slurm = options.slurm.get(&cluster.config.id).cloned();
    if let Some(site) = options.lrms.get(&cluster.config.id) {
        config.lrms = Lrms::Slurm(Box::new(site.clone()));
    }
}

fn broker_config(
    grid: &Grid,
    setup: BrokerSetup,
    options: &RealOptions,
    clock: RunClock,
    urls: &Urls,
) -> anyhow::Result<broker::Config> {
    let name = setup.name.clone();
    let lends = setup.config.settings.matchmaking().is_lending();
    let peers = peers(grid, &setup, &urls.brokers);
    // Peers on one machine, which need not show who they are.
    let as_written = |_: &mut _| Ok::<_, TlsError>(());
    let (said, none) = (&options.protocols, |_: &_| None);
    let links = Links::of(&setup, &peers, said, none, None, as_written);
    let lrms = (0..).map(ClusterId).zip(urls.lrms.iter().cloned());
    let is_own = |id: &ClusterId| setup.config.clusters.iter().any(|(own, _)| own == id);
    Ok(broker::Config {
        links: links.with_context(|| not_started(&name))?,
        peer_door: None,
        journal: options.journal(&named("broker", &name)),
        lrms: lrms.filter(|(id, _)| lends || is_own(id)).collect(),
        peers,
        setup,
        clock,
        notify: NotifyHosts::default(),
        hosts: Vec::new(),
        monitoring: monitoring(grid, None, options),
        keep_events: options.keep_events(),
        decisions: options.decisions,
        liveness: options.liveness,
        // The LRMSs of others hear of it first by its jobs.
        introduces: lends.then(broker::Introduction::default),
        asks: false,
        faults: options.planned.clone(),
    })
}

fn peers(grid: &Grid, setup: &BrokerSetup, urls: &[String]) -> BTreeMap<DomainId, broker::Peer> {
    let peer = |domain: DomainId| {
        let name = grid.domains.get(domain.index())?.name.clone();
        let url = urls.get(domain.index())?.clone();
        Some((domain, broker::Peer { name, url }))
    };
    let neighbours = setup.config.neighbours.iter();
    neighbours
        .filter_map(|neighbour| peer(neighbour.domain))
        .collect()
}
