//! A meta-broker as one of the services.

use crate::Config;
use crate::app;
use crate::lagrid::{self, BrokerHandler, Ways, keep, say_goodbye};
use crate::transport::{HttpTransport, Refusals};
use crate::watch::{ask, watch};
use axum::Router;
use gridrig_core::agent::{BrokerAgent, BrokerSetup, Memory};
use gridrig_core::decision::About;
use gridrig_core::faults::Restart;
use gridrig_core::message::Target;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{Actor, RunClock};
use gridrig_protocol::client::Client;
use gridrig_service::http::base_url;
use gridrig_service::http::metrics::table;
use gridrig_service::http::{Labels, Monitoring, Samples};
use gridrig_service::{App, JournalSetup, MOST_WAITING, Service, SideDoor};
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use tokio::task::JoinHandle;

impl Service for Config {
    type Machine = BrokerAgent;
    type Transport = HttpTransport;

    const OPENAPI: &'static str = include_str!("../../resources/openapi/broker.json");

    fn name(&self) -> String {
        format!("broker-{}", self.setup.name)
    }

    fn clock(&self) -> RunClock {
        self.clock
    }

    fn keep_events(&self) -> usize {
        self.keep_events
    }

    fn decisions(&self) -> About {
        self.decisions
    }

    fn hosts(&self) -> &[String] {
        &self.hosts
    }

    fn routes() -> Router<App<Self>> {
        app::routes()
    }

    fn faces(app: &App<Self>) -> Router {
        match (app.config.links.is_empty(), &app.config.peer_door) {
            (false, None) => lagrid::routes(Arc::new(BrokerHandler::new(app.clone()))),
            _ => Router::new(),
        }
    }

    fn side_door(app: &App<Self>) -> io::Result<Option<SideDoor>> {
        let Some(door) = &app.config.peer_door else {
            return Ok(None);
        };
        let listener = TcpListener::bind(door.listen)?;
        let url = base_url(listener.local_addr()?, door.tls.is_some());
        app.config.links.set_address(&url);
        tracing::info!(url, "listening for peers");
        Ok(Some(SideDoor {
            listener,
            tls: door.tls.clone(),
            routes: lagrid::routes(Arc::new(BrokerHandler::new(app.clone()))),
        }))
    }

    fn listening(&self, url: &str) {
        if self.peer_door.is_none() {
            self.links.set_address(url);
        }
        if let Some(introduction) = &self.introduces {
            introduction.listening(url);
        }
    }

    async fn farewell(&self) {
        say_goodbye(&self.links).await;
    }

    fn journal(&self) -> Option<&JournalSetup> {
        self.journal.as_ref()
    }

    fn resumed(&self) {
        self.links.lose();
    }

    fn absences(&self) -> Vec<Restart> {
        self.faults.absences(self.setup.config.domain)
    }

    fn restart(&mut self, memory: Memory) {
        self.faults.note_restart();
        self.links = self.links.next_life();
        if let Some(journal) = &mut self.journal {
            journal.memory = memory;
        }
    }

    fn machine(&self, incarnation: u64, born: SimTime) -> BrokerAgent {
        let links = self.links.iter();
        let mut setup = BrokerSetup {
            incarnation,
            sessions: links.map(|link| (link.domain, link.setup.push)).collect(),
            grace: self.clock.grace(self.setup.config.settings.interval),
            born,
            ..self.setup.clone()
        };
        setup.config.queue_limit.get_or_insert(MOST_WAITING);
        BrokerAgent::new(setup)
    }

    fn transport(&self, client: Client) -> HttpTransport {
        HttpTransport {
            client,
            lrms: self.lrms.clone(),
            peers: self.peers.clone(),
            links: self.links.clone(),
            clock: self.clock,
            faults: self.faults.clone(),
            introduces: self.introduces.clone(),
            setup: self.setup.clone(),
            refusals: Refusals::default(),
        }
    }

    /// Watches those who have jobs of this broker, and asks those who say nothing.
    fn companion(
        &self,
        actor: &Actor<BrokerAgent>,
        transport: &Arc<HttpTransport>,
    ) -> Option<JoinHandle<()>> {
        let watching = watch(actor.clone(), Arc::clone(transport), self.liveness);
        let origin = self.clock.deadline(SimTime::ZERO);
        let ways = Ways {
            faults: self.faults.clone(),
            clock: self.clock,
            here: self.setup.config.domain,
        };
        let keeping = keep(actor.clone(), self.links.clone(), ways, origin);
        let asking = self
            .asks
            .then(|| ask(actor.clone(), Arc::clone(transport), self.clock));
        Some(tokio::spawn(async {
            let asking = async {
                if let Some(asking) = asking {
                    asking.await
                }
            };
            tokio::join!(watching, keeping, asking);
        }))
    }

    fn monitoring(&self) -> &Monitoring {
        &self.monitoring
    }

    fn labels(&self) -> Labels {
        Labels::of("broker")
            .with("domain", &self.setup.name)
            .with("policy", &self.setup.config.settings.policy.to_string())
            .and(&self.monitoring.labels)
    }

    fn observe(&self, machine: &BrokerAgent, now: SimTime, samples: &mut Samples) {
        let (broker, names) = (machine.broker(), &self.setup.names);
        let (queued, held) = (broker.queued(), broker.held());
        samples.level(&table::JOBS, &["queued"], queued as f64);
        let sent = held.saturating_sub(queued);
        samples.level(&table::JOBS, &["sent"], sent as f64);
        for (source, age) in broker.information_age(now) {
            let (name, kind) = match source {
                Target::Cluster(id) => (names.cluster(id), "lrms"),
                Target::Peer(id) => (names.domain(id), "broker"),
            };
            let age = age.as_secs_f64();
            samples.level(&table::INFORMATION_AGE, &[&name, kind], age);
        }
        // Whoever may forward here has a count from the start.
        let neighbours = self.setup.config.neighbours.iter();
        let consumers = neighbours.filter(|peer| peer.consumer);
        let mut taken_in: BTreeMap<_, u64> = consumers.map(|peer| (Some(peer.domain), 0)).collect();
        taken_in.extend(machine.taken_in());
        for (origin, jobs) in taken_in {
            let origin = origin.map_or("unknown".into(), |origin| names.domain(origin));
            let executing = &self.setup.name;
            samples.count(&table::FORWARDED_JOBS, &[&origin, executing], jobs);
        }
    }
}
