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
mod config;
mod glue2;
pub mod lagrid;
mod resources;
mod service;
mod transport;
mod watch;

pub use config::{Config, Liveness, Peer, PeerDoor};
pub use gridrig_service::{run, serve, spawn};

/// A running broker.
pub type Handle = gridrig_service::Handle<gridrig_core::agent::BrokerAgent>;

/// The description that the service gives of itself.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    gridrig_service::openapi::<Config>()
}
