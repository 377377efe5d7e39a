//! The peer protocol of LA Grid: how its messages come in and are answered,
//! and how the sessions with peers are kept.

mod deliver;
mod face;
mod handler;
mod job_names;
mod links;
mod session_task;
mod setup;

pub use face::routes;
pub use gridrig_scenario::interface::LinkProtocol;
pub use handler::BrokerHandler;
pub use links::{Link, Links};
pub(crate) use session_task::{Ways, keep, say_goodbye};
pub use setup::{LinkSetup, roles_towards};
