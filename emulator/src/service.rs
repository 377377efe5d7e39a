//! An emulated LRMS as one of the services.

use crate::Config;
use crate::app;
use crate::faces;
use crate::lrms::{Lrms, slurm};
use crate::transport::HttpTransport;
use axum::Router;
use gridrig_core::agent::{Home, LrmsAgent, LrmsSetup};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{Actor, RunClock};
use gridrig_protocol::client::Client;
use gridrig_service::http::metrics::table;
use gridrig_service::http::{Labels, Monitoring, Samples};
use gridrig_service::tls::ServerTls;
use gridrig_service::{App, JournalSetup, MOST_WAITING, Service};
use std::sync::Arc;
use tokio::task::JoinHandle;

impl Config {
    /// How its machine is set up in the life of this number.
    pub fn setup(&self, incarnation: u64) -> LrmsSetup {
        let home = self.broker.as_ref().map(|broker| Home {
            domain: broker.domain,
            latency: broker.latency,
            exchange: broker.exchange,
        });
        let mut cluster = self.cluster.clone();
        cluster.queue_limit.get_or_insert(MOST_WAITING);
        cluster.is_real = matches!(self.lrms, Lrms::Slurm(_));
        LrmsSetup {
            cluster,
            home,
            incarnation,
            keep_ended: self.keep_ended,
            names_apart: self.names_apart,
        }
    }
}

impl Service for Config {
    type Machine = LrmsAgent;
    type Transport = HttpTransport;

    const OPENAPI: &'static str = include_str!("../../resources/openapi/emulator.json");

    fn name(&self) -> String {
        format!("lrms-{}", self.name)
    }

    fn clock(&self) -> RunClock {
        self.clock
    }

    fn keep_events(&self) -> usize {
        self.keep_events
    }

    fn journal(&self) -> Option<&JournalSetup> {
        self.journal.as_ref()
    }

    fn tls(&self) -> Option<&ServerTls> {
        self.tls.as_ref()
    }

    fn hosts(&self) -> &[String] {
        &self.hosts
    }

    fn routes() -> Router<App<Self>> {
        app::routes()
    }

    fn faces(app: &App<Self>) -> Router {
        faces::routes(app)
    }

    fn machine(&self, incarnation: u64, _born: SimTime) -> LrmsAgent {
        LrmsAgent::new(self.setup(incarnation))
    }

    fn transport(&self, client: Client) -> HttpTransport {
        let broker = self.broker.as_ref().map(|broker| broker.url.clone());
        HttpTransport::new(client, broker, self.faults.clone())
    }

    fn companion(
        &self,
        actor: &Actor<LrmsAgent>,
        _transport: &Arc<HttpTransport>,
    ) -> Option<JoinHandle<()>> {
        match &self.lrms {
            Lrms::Emulated => None,
            Lrms::Slurm(site) => Some(slurm::open(site, self.clock, actor)),
        }
    }

    fn monitoring(&self) -> &Monitoring {
        &self.monitoring
    }

    fn labels(&self) -> Labels {
        Labels::of("emulator")
            .with("cluster", &self.name)
            .and(&self.monitoring.labels)
    }

    fn observe(&self, machine: &LrmsAgent, now: SimTime, samples: &mut Samples) {
        let load = machine.sample_at(now);
        let running = machine.cluster().present() - machine.cluster().queued();
        samples.level(&table::JOBS, &["queued"], load.queued as f64);
        samples.level(&table::JOBS, &["running"], running as f64);
        let wanted = load.queued_processors as f64;
        samples.level(&table::QUEUED_PROCESSORS, &[], wanted);
        samples.level(&table::BUSY_PROCESSORS, &[], f64::from(load.busy));
        let all = f64::from(load.processors);
        samples.level(&table::AVAILABLE_PROCESSORS, &[], all);
    }
}
