//! A meta-broker as one of the services.

use crate::app;
use crate::config::Config;
use crate::transport::HttpTransport;
use crate::watch::watch;
use gridrig_drivers::real_time::{Actor, BrokerMachine, BrokerSetup, Recorder, RunClock};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::serve::ServiceGauges;
use gridrig_service::{App, Service};
use std::sync::Arc;
use tokio::task::JoinHandle;
use utoipa_axum::router::OpenApiRouter;

impl Service for Config {
    type Machine = BrokerMachine;
    type Transport = HttpTransport;

    fn name(&self) -> String {
        format!("broker-{}", self.setup.name)
    }

    fn clock(&self) -> RunClock {
        self.clock
    }

    fn keep_events(&self) -> usize {
        self.keep_events
    }

    fn routes() -> OpenApiRouter<App<Self>> {
        app::routes()
    }

    fn machine(&self, incarnation: u64, recorder: Recorder) -> BrokerMachine {
        let setup = BrokerSetup {
            incarnation,
            ..self.setup.clone()
        };
        BrokerMachine::new(setup.wait_on(&self.clock), recorder)
    }

    fn transport(&self, client: Client) -> HttpTransport {
        HttpTransport {
            client,
            lrms: self.lrms.clone(),
            peers: self.peers.clone(),
        }
    }

    /// Watches those who have jobs of this broker.
    fn companion(
        &self,
        actor: &Actor<BrokerMachine>,
        transport: &Arc<HttpTransport>,
    ) -> Option<JoinHandle<()>> {
        let watching = watch(actor.clone(), Arc::clone(transport), self.liveness);
        Some(tokio::spawn(watching))
    }

    fn gauges(machine: &BrokerMachine) -> ServiceGauges {
        ServiceGauges {
            queued: machine.broker().queued() as u64,
            busy_processors: None,
            held: Some(machine.broker().held() as u64),
        }
    }
}
