//! The services of a grid, wired to each other.

use super::{FaultKind, RealOptions, ServiceId};
use crate::words::list;
use anyhow::Context as _;
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use gridrig_core::agent::{BrokerAgent, BrokerSetup};
use gridrig_core::event::MessageKind;
use gridrig_core::grid::{Grid, GridCluster};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Submission};
use gridrig_drivers::real_time::{Recorded, RunClock};
use gridrig_emulator as emulator;
use gridrig_emulator::faces::{FaceKind, Faces};
use gridrig_emulator::lrms::Lrms;
use gridrig_metabroker_stub as broker;
use gridrig_metabroker_stub::lagrid::Links;
use gridrig_protocol::tls::TlsError;
use gridrig_service::http::metrics::Target;
use gridrig_service::http::{Labels, Monitoring, NotifyHosts};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

/// The running services of a grid.
pub struct Services {
    lrms: Vec<emulator::Handle>,
    /// `None` is a broker that is not ours.
    brokers: Vec<Option<broker::Handle>>,
}

/// How long the sessions of all brokers may take to open, and how often that is
/// looked at.
const SESSIONS: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Ended jobs each service answers for: a whole run's.
const KEEP_ENDED: usize = 10_000_000;

impl Services {
    /// Starts every LRMS and every broker. All listeners are bound before the
    /// first service starts, so that everyone knows everyone's address.
    pub(super) async fn start(
        grid: &Grid,
        options: &RealOptions,
        clock: RunClock,
    ) -> anyhow::Result<Self> {
        let domains = (0..).map(DomainId).take(grid.domains.len());
        let setups = domains.map(|domain| BrokerSetup::of(grid, domain, options.seed));
        let setups: Vec<BrokerSetup> = setups.collect::<Result<_, _>>()?;
        let bind_all = |count: usize| (0..count).map(|_| bind()).collect::<Result<Vec<_>, _>>();
        let lrms_doors = bind_all(grid.clusters.len())?;
        let broker_doors = bind_all(grid.domains.len())?;
        let urls = |doors: &[Door]| doors.iter().map(|door| door.url.clone()).collect();
        let (lrms_urls, broker_urls): (Vec<String>, Vec<String>) =
            (urls(&lrms_doors), urls(&broker_doors));
        let mut services = Services {
            lrms: Vec::new(),
            brokers: Vec::new(),
        };
        for (cluster, door) in grid.clusters.iter().zip(lrms_doors) {
            let monitoring = monitoring(grid, cluster.domain, options);
            let mut config = lrms_config(grid, cluster, &broker_urls, clock, monitoring);
            if let Some(written) = options.clusters.get(cluster.config.id.index()) {
                config.faces = Faces::written(written);
                // A broker of the run is told by the run.
                if !config.names_apart {
                    announce(&cluster.name, &door.url, &written.faces());
                }
            }
            config.faults = options.planned.clone();
            config.faces.slurm = options.slurm.get(&cluster.config.id).cloned();
            if let Some(site) = options.lrms.get(&cluster.config.id) {
                config.lrms = Lrms::Slurm(Box::new(site.clone()));
            }
            let started = emulator::spawn(config, door.listener).await;
            services
                .lrms
                .push(started.with_context(|| not_started(&cluster.name))?);
        }
        let doors = setups.into_iter().zip(broker_doors);
        for ((setup, door), domain) in doors.zip(&grid.domains) {
            if domain.broker.external {
                services.brokers.push(None);
                continue;
            }
            let name = setup.name.clone();
            let peers = peers(grid, &setup, &broker_urls);
            // Peers on one machine, which need not show who they are.
            let as_written = |_: &mut _| Ok::<_, TlsError>(());
            let (said, none) = (&options.protocols, |_: &_| None);
            let links = Links::of(&setup, &peers, said, none, None, as_written);
            let config = broker::Config {
                links: links.with_context(|| not_started(&name))?,
                peer_door: None,
                journal: None,
                lrms: own_lrms(&setup, &lrms_urls),
                peers,
                setup: BrokerSetup {
                    keep_ended: KEEP_ENDED,
                    ..setup
                },
                clock,
                notify: NotifyHosts::default(),
                monitoring: monitoring(grid, None, options),
                // The run audits them.
                keep_events: usize::MAX,
                liveness: options.liveness,
                faults: options.planned.clone(),
            };
            let started = broker::spawn(config, door.listener).await;
            let started = started.with_context(|| not_started(&name))?;
            services.brokers.push(Some(started));
        }
        Ok(services)
    }

    /// Waits until all brokers that talk in sessions have opened them: a job
    /// that is decided before is not sent where the scenario would have it.
    /// What does not open within [`SESSIONS`] is said, and the run goes on.
    pub(super) async fn sessions_open(&self) {
        let open = async {
            for broker in self.brokers() {
                while !broker.ask(BrokerAgent::has_all_sessions).await {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            }
        };
        if tokio::time::timeout(SESSIONS, open).await.is_err() {
            tracing::warn!("the run begins before every session is open");
        }
    }

    /// The addresses at which these jobs enter.
    pub(super) fn entries(&self, submissions: &[Submission]) -> BTreeMap<Entry, String> {
        let url = |entry: Entry| match entry {
            Entry::Domain(domain) => self.broker(domain).map(broker::Handle::url),
            Entry::Cluster(cluster) => self.lrms.get(cluster.index()).map(emulator::Handle::url),
        };
        let mut entries = BTreeMap::new();
        for entry in submissions.iter().map(|submission| submission.entry) {
            if let (false, Some(url)) = (entries.contains_key(&entry), url(entry)) {
                entries.insert(entry, url);
            }
        }
        entries
    }

    /// The LRMS of a cluster.
    #[must_use]
    pub fn lrms(&self, cluster: ClusterId) -> Option<&emulator::Handle> {
        self.lrms.get(cluster.index())
    }

    /// The broker of a domain.
    #[must_use]
    pub fn broker(&self, domain: DomainId) -> Option<&broker::Handle> {
        self.brokers.get(domain.index())?.as_ref()
    }

    /// Those that are ours.
    fn brokers(&self) -> impl Iterator<Item = &broker::Handle> {
        self.brokers.iter().flatten()
    }

    /// Where the metrics of each are, for Prometheus.
    pub(super) fn targets(&self) -> Vec<Target> {
        let brokers = self.brokers();
        let brokers = brokers.map(|one| Target::new(one.address(), one.metrics().labels()));
        let lrms = self.lrms.iter();
        brokers
            .chain(lrms.map(|one| Target::new(one.address(), one.metrics().labels())))
            .collect()
    }

    /// Makes something go wrong with a service.
    pub(super) fn inject(&self, service: ServiceId, fault: FaultKind) {
        tracing::info!(?service, ?fault, "a fault is injected");
        match service {
            ServiceId::Lrms(id) => self.lrms(id).map(|it| match fault {
                FaultKind::Kill => it.kill(),
                FaultKind::Answers(fault) => it.fault(fault),
            }),
            ServiceId::Broker(id) => self.broker(id).map(|it| match fault {
                FaultKind::Kill => it.kill(),
                FaultKind::Answers(fault) => it.fault(fault),
            }),
        };
    }

    /// Stops all timers and waits until no message is under way: first what
    /// the LRMSs have said, then what the brokers make of it. News of an end
    /// pass at most every broker once, so as many rounds see all of it home.
    pub(super) async fn wind_up(&self) {
        for lrms in &self.lrms {
            lrms.freeze().await;
        }
        for broker in self.brokers() {
            broker.freeze().await;
        }
        for lrms in &self.lrms {
            lrms.drained().await;
        }
        for _round in 0..=self.brokers.len() {
            for broker in self.brokers() {
                broker.drained().await;
            }
        }
    }

    /// Waits until a service has broken off, which [`stop`](Self::stop) then says.
    pub(super) async fn failed(&self) {
        let mut any: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
        any.extend(self.brokers().map(|broker| broker.failed().boxed()));
        any.extend(self.lrms.iter().map(|lrms| lrms.failed().boxed()));
        any.next().await;
    }

    /// Ends every service; answers what went wrong in that.
    pub(super) async fn stop(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for broker in self.brokers() {
            if let Err(error) = broker.stop().await {
                faults.push(format!(
                    "the broker at {} ended badly: {error}",
                    broker.url()
                ));
            }
        }
        for lrms in &self.lrms {
            if let Err(error) = lrms.stop().await {
                faults.push(format!("the LRMS at {} ended badly: {error}", lrms.url()));
            }
        }
        faults
    }

    /// The logs of all services, brokers first: at one instant they are the
    /// cause of what LRMSs do.
    pub(super) fn logs(&self) -> (Vec<Vec<Recorded>>, BTreeMap<ClusterId, Vec<Recorded>>) {
        let brokers = self.brokers().map(|broker| broker.recorder().take());
        let lrms = (0..).map(ClusterId).zip(&self.lrms);
        (
            brokers.collect(),
            lrms.map(|(id, lrms)| (id, lrms.recorder().take()))
                .collect(),
        )
    }

    /// Requests counted at the services as messages of this kind.
    pub(super) fn received(&self, kind: MessageKind) -> u64 {
        let brokers = self.brokers().map(|broker| broker.metrics().messages(kind));
        brokers
            .chain(self.lrms.iter().map(|lrms| lrms.metrics().messages(kind)))
            .sum()
    }

    /// Messages of this kind that the services could not deliver.
    pub(super) fn undelivered(&self, kind: MessageKind) -> u64 {
        let brokers = self.brokers().map(|broker| broker.undelivered().of(kind));
        brokers
            .chain(self.lrms.iter().map(|lrms| lrms.undelivered().of(kind)))
            .sum()
    }
}

/// A bound listener and its address.
struct Door {
    listener: TcpListener,
    url: String,
}

fn bind() -> anyhow::Result<Door> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let door = bound.and_then(|listener| {
        let url = format!("http://{}", listener.local_addr()?);
        Ok(Door { listener, url })
    });
    door.with_context(|| not_started("a listener on 127.0.0.1"))
}

/// Whoever is to submit through a face has to know where it is, and the port
/// is a new one in each run.
fn announce(cluster: &str, url: &str, faces: &[FaceKind]) {
    if faces.is_empty() {
        return;
    }
    let faces = list(faces.iter().map(|face| face.name()));
    // An answer to the user, not a log line: it shows at any log level.
    eprintln!("cluster {cluster} offers {faces} at {url}");
}

fn not_started(service: &str) -> String {
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
        // The run audits them.
        keep_events: usize::MAX,
        keep_ended: KEEP_ENDED,
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

fn own_lrms(setup: &BrokerSetup, urls: &[String]) -> BTreeMap<ClusterId, String> {
    let own = setup.config.clusters.iter();
    own.filter_map(|(id, _)| Some((*id, urls.get(id.index())?.clone())))
        .collect()
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
