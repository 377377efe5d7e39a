//! The reference meta-broker as a service: the broker model of the core
//! behind the native REST interface. Clients submit to it, peers forward to
//! it, LRMSs report to it.
//!
//! - [`spawn`] starts one in a thread of its own and gives a [`Handle`], with
//!   which tests and whole-grid runs make it slow, silent or dead;
//! - [`run`] serves on the runtime of the caller;
//! - [`serve`] is the body of `gridrig broker`.
//!
//! The name is that of the paper trail; it is no test double.

mod app;
mod drain;
mod glue2;
pub mod lagrid;
mod news;
mod resources;
mod service;
mod transport;
mod watch;

pub use gridrig_service::{run, serve, spawn};

use gridrig_core::agent::BrokerSetup;
use gridrig_core::decision::About;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_drivers::faults::Faults;
use gridrig_drivers::real_time::RunClock;
use gridrig_service::JournalSetup;
use gridrig_service::http::{Monitoring, NotifyHosts};
use gridrig_service::tls::ServerTls;
use lagrid::Links;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A running broker.
pub type Handle = gridrig_service::Handle<gridrig_core::agent::BrokerAgent>;

/// The application that routes share.
type App = gridrig_service::App<Config>;

/// How a broker service is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// The broker: policy, intervals, what it knows of its own clusters and of
    /// its peers. [`BrokerSetup::of`] makes it from a grid.
    pub setup: BrokerSetup,
    /// The addresses of its own LRMSs, such as `http://127.0.0.1:8081`.
    pub lrms: BTreeMap<ClusterId, String>,
    /// The brokers it has links with.
    pub peers: BTreeMap<DomainId, Peer>,
    /// The sessions with those that speak the peer protocol of LA Grid.
    pub links: Links,
    /// A door of its own for these; without, they come in by the same one as
    /// everybody.
    pub peer_door: Option<PeerDoor>,
    /// Its journal, for one that may die and be restarted.
    pub journal: Option<JournalSetup>,
    /// The clock it runs on, shared by all participants of a run.
    pub clock: RunClock,
    /// Where clients may have the news of their jobs posted to.
    pub notify: NotifyHosts,
    /// Names under which it is asked for, besides those of its machine.
    pub hosts: Vec<String>,
    /// How it is monitored.
    pub monitoring: Monitoring,
    /// Events that are kept; older ones are forgotten, and a run that wants
    /// them has no audit.
    pub keep_events: usize,
    /// The jobs about which it keeps how it decides.
    pub decisions: About,
    /// When a service that has jobs of this broker counts as lost.
    pub liveness: Liveness,
    /// What is planned to go wrong with its messages.
    pub faults: Faults,
    /// Its own address, where LRMSs are told it with each job. `None` where each knows the
    /// others from the start.
    pub introduces: Option<Introduction>,
    /// Whether an LRMS of its own is asked that never says how it stands, as may be where
    /// services were started one by one.
    pub asks: bool,
}

/// The address by which a broker is known to its LRMSs, once it has one.
#[derive(Clone, Debug, Default)]
pub struct Introduction(Arc<OnceLock<String>>);

impl Introduction {
    /// The service listens there. What it is bound to may be every address of the host,
    /// which is none that others could use.
    fn listening(&self, url: &str) {
        let everywhere = url.contains("//0.0.0.0:") || url.contains("//[::]:");
        if !everywhere {
            self.0.get_or_init(|| format!("{url}/v1/notifications"));
        }
    }

    /// Where news go.
    fn news(&self) -> Option<String> {
        self.0.get().cloned()
    }
}

/// Where peers come in that speak the protocol of LA Grid.
#[derive(Clone, Debug)]
pub struct PeerDoor {
    /// Its address.
    pub listen: SocketAddr,
    /// How it speaks TLS; `None` is plain HTTP.
    pub tls: Option<ServerTls>,
}

/// A broker at the other end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Name of its domain, for people.
    pub name: String,
    /// Its address, such as `http://127.0.0.1:8080`.
    pub url: String,
}

/// When a service that has jobs of this broker counts as lost, in wall time:
/// how fast the run's clock goes does not change how fast a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// Time between looks at it.
    pub every: Duration,
    /// So many looks in a row that nobody answers the door to.
    pub refused: u32,
    /// So long without an answer from someone who is there.
    pub silent: Duration,
}

impl Default for Liveness {
    fn default() -> Self {
        Liveness {
            every: Duration::from_millis(500),
            refused: 3,
            silent: Duration::from_secs(30),
        }
    }
}
