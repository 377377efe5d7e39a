//! The reference: a cluster, a broker and a grid simulation to be read.
//!
//! Everything is a vector that is scanned from the front; a mean is a sum over
//! the whole history; the agenda is a list that is searched for its smallest
//! key. Nothing here is taken from `gridrig_core`'s cluster, queue, placement,
//! load history, broker or driver: what agrees with them agrees because both
//! follow the design.

mod best;
mod broker;
mod cluster;
mod grid;
mod matching;
mod plan;

pub use broker::{RefBroker, RefView, RefWay};
pub use cluster::{RefCluster, RefLoad, RefLoss, RefMean, RefStart};
pub use grid::{RefCancellation, simulate};
