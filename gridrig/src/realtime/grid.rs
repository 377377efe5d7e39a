//! The services of a grid, wired to each other.

use super::configs::{Configs, Logs, Urls, entries, not_started};
use super::{FaultKind, RealOptions, ServiceId};
use crate::words::list;
use anyhow::{Context as _, Result};
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use gridrig_core::agent::BrokerAgent;
use gridrig_core::event::MessageKind;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Submission};
use gridrig_drivers::real_time::RunClock;
use gridrig_emulator as emulator;
use gridrig_emulator::faces::FaceKind;
use gridrig_metabroker_stub as broker;
use gridrig_service::http::metrics::Target;
use std::collections::BTreeMap;
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

impl Services {
    /// Starts every LRMS and every broker. All listeners are bound before the
    /// first service starts, so that everyone knows everyone's address.
    pub(super) async fn start(grid: &Grid, options: &RealOptions, clock: RunClock) -> Result<Self> {
        let (urls, mut doors) = Urls::bind(grid)?;
        let configs = Configs::of(grid, options, clock, &urls)?;
        let mut services = Services {
            lrms: Vec::new(),
            brokers: Vec::new(),
        };
        let broker_doors = doors.split_off(grid.clusters.len());
        for ((config, door), cluster) in configs.lrms.into_iter().zip(doors).zip(&grid.clusters) {
            let written = options.clusters.get(cluster.config.id.index());
            // A broker of the run is told by the run.
            if let Some(written) = written.filter(|_| !config.names_apart) {
                announce(&cluster.name, &door.url, &written.faces());
            }
            let started = emulator::spawn(config, door.listener).await;
            services
                .lrms
                .push(started.with_context(|| not_started(&cluster.name))?);
        }
        for ((config, door), domain) in configs
            .brokers
            .into_iter()
            .zip(broker_doors)
            .zip(&grid.domains)
        {
            services.brokers.push(match config {
                None => None,
                Some(config) => {
                    let started = broker::spawn(config, door.listener).await;
                    Some(started.with_context(|| not_started(&domain.name))?)
                }
            });
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
        entries(submissions, |entry| match entry {
            Entry::Domain(domain) => self.broker(domain).map(broker::Handle::url),
            Entry::Cluster(cluster) => self.lrms.get(cluster.index()).map(emulator::Handle::url),
        })
    }

    /// The LRMS of a cluster.
    pub fn lrms(&self, cluster: ClusterId) -> Option<&emulator::Handle> {
        self.lrms.get(cluster.index())
    }

    /// The broker of a domain.
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

    /// The logs of all services.
    pub(super) fn logs(&self) -> Logs {
        let brokers = self.brokers().map(|broker| broker.recorder().take());
        let lrms = (0..).map(ClusterId).zip(&self.lrms);
        let decided = self.brokers().map(|it| it.recorder().take_decisions());
        Logs {
            decisions: decided.flatten().collect(),
            brokers: brokers.collect(),
            lrms: lrms
                .map(|(id, lrms)| (id, lrms.recorder().take()))
                .collect(),
        }
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
