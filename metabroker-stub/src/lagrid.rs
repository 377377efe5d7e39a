//! The peer protocol of LA Grid: how its messages come in and are answered,
//! and how the sessions with peers are kept.

mod callings;
mod deliver;
mod desk;
mod face;
mod keeper;
mod links;
mod setup;
mod site;

pub use desk::BrokerDesk;
pub use face::routes;
pub use gridrig_scenario::interface::LinkProtocol;
pub(crate) use keeper::{keep, say_goodbye};
pub use links::{Link, LinkView, Links};
pub use setup::{LinkSetup, roles_towards};
pub(crate) use site::Site;
