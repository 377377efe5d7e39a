//! An emulated LRMS as a service: the cluster model of the core behind the
//! native REST interface, on the wall clock or on one that runs faster.
//!
//! It serves any client, with or without brokers: `POST /v1/jobs` with
//! `{"processors": 2, "run_time": "60s"}` is all it takes.
//!
//! - [`spawn`] starts one in a thread of its own and gives a [`Handle`], with
//!   which tests and whole-grid runs make it slow, silent or dead;
//! - [`run`] serves on the runtime of the caller;
//! - [`serve`] is the body of `gridrig emulator`.

mod app;
pub mod faces;
pub mod lrms;
mod nodes;
mod reservations;
mod service;
mod slurm;
mod transport;

pub use gridrig_service::{run, serve, spawn};

use faces::Faces;
use gridrig_core::agent::KEEP_ENDED;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::resource::Resources;
use gridrig_core::time::SimDuration;
use gridrig_drivers::faults::Faults;
use gridrig_drivers::real_time::RunClock;
use gridrig_service::http::{Monitoring, NotifyHosts};
use gridrig_service::tls::ServerTls;
use gridrig_service::{JournalSetup, KEEP_EVENTS};
use lrms::Lrms;

/// A running LRMS.
pub type Handle = gridrig_service::Handle<gridrig_core::agent::LrmsAgent>;

/// How an emulated LRMS is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its name, for people.
    pub name: String,
    /// Its number, nodes, discipline, pass interval and bound on the queue.
    pub cluster: ClusterConfig,
    /// What runs its jobs.
    pub lrms: Lrms,
    /// The broker it reports to; `None` for one that serves clients only.
    pub broker: Option<Broker>,
    /// The clock it runs on, shared by all participants of a run.
    pub clock: RunClock,
    /// Where clients may have the news of their jobs posted to.
    pub notify: NotifyHosts,
    /// Names under which it is asked for, besides those of its machine.
    pub hosts: Vec<String>,
    /// The interfaces of other systems that it offers.
    pub faces: Faces,
    /// How it is monitored.
    pub monitoring: Monitoring,
    /// What is planned to go wrong with its messages.
    pub faults: Faults,
    /// Its journal, for one that may die and be restarted.
    pub journal: Option<JournalSetup>,
    /// How it speaks TLS; `None` is plain HTTP.
    pub tls: Option<ServerTls>,
    /// Whether jobs that were named elsewhere may come besides those that are
    /// named here, as in a run without a broker of ours.
    pub names_apart: bool,
    /// Ended jobs that are still answered for; older ones are forgotten.
    pub keep_ended: usize,
    /// Events that are kept; older ones are forgotten, and a run that wants
    /// them has no audit.
    pub keep_events: usize,
}

/// The broker that an LRMS reports to.
#[derive(Clone, Debug)]
pub struct Broker {
    /// Its domain.
    pub domain: DomainId,
    /// Its address, such as `http://127.0.0.1:8080`.
    pub url: String,
    /// One-way latency that is modelled on top of the network's.
    pub latency: SimDuration,
    /// Time between reports of the load.
    pub exchange: SimDuration,
}

impl Config {
    /// An LRMS for clients, on this clock.
    pub fn new(
        name: &str,
        resources: Resources,
        discipline: DisciplineKind,
        clock: RunClock,
    ) -> Self {
        Config {
            name: name.to_owned(),
            cluster: ClusterConfig::new(ClusterId(0), resources, discipline),
            lrms: Lrms::default(),
            broker: None,
            clock,
            notify: NotifyHosts::default(),
            hosts: Vec::new(),
            faces: Faces::default(),
            monitoring: Monitoring::default(),
            journal: None,
            tls: None,
            names_apart: false,
            keep_ended: KEEP_ENDED,
            keep_events: KEEP_EVENTS,
            faults: Faults::default(),
        }
    }
}
