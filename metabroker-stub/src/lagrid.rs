//! The peer protocol of LA Grid: how its messages come in and are answered.

mod face;

pub use face::routes;
