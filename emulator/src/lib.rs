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
mod config;
pub mod faces;
pub mod lrms;
mod service;
mod transport;

pub use config::{Broker, Config};
pub use gridrig_service::{run, serve, spawn};

/// A running LRMS.
pub type Handle = gridrig_service::Handle<gridrig_core::agent::LrmsAgent>;

/// The description that the service gives of itself.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    gridrig_service::openapi::<Config>()
}
