//! The pure heart of gridrig: emulated clusters, meta-brokers and submitters
//! as state machines.
//!
//! Nothing here does I/O, reads a clock or owns randomness. Time comes in as
//! [`SimTime`](time::SimTime), random streams are handed over, messages go out
//! as values and everything that happens is told to an
//! [`EventSink`](event::EventSink). Two drivers run these machines: one on an
//! event queue (virtual time), one on wall-clock timers (real time).
//!
//! The rule of use is the same for every machine: after any change, drain what
//! the call returned, then ask for the next time-out. For a single cluster:
//!
//! ```
//! use gridrig_core::cluster::{Cluster, ClusterConfig};
//! use gridrig_core::discipline::DisciplineKind;
//! use gridrig_core::event::NoEvents;
//! use gridrig_core::ids::{ClusterId, JobId};
//! use gridrig_core::job::JobSpec;
//! use gridrig_core::resource::Resources;
//! use gridrig_core::time::{SimDuration, SimTime};
//!
//! let config = ClusterConfig::new(
//!     ClusterId(0),
//!     Resources::homogeneous(4),
//!     DisciplineKind::FirstInFirstFit,
//! );
//! let mut cluster = Cluster::new(config);
//! let job = JobSpec::rigid(JobId(0), 2, SimDuration::from_secs(10));
//! cluster.submit(SimTime::ZERO, &job, &mut NoEvents).unwrap();
//! let mut finished = Vec::new();
//! while let Some(now) = cluster.poll_timeout() {
//!     cluster.handle_completions(now, &mut NoEvents, &mut finished);
//!     cluster.handle_pass(now, &mut NoEvents);
//! }
//! assert_eq!(finished[0].finish, SimTime::from_secs(10));
//! ```

pub mod agent;
pub mod broker;
pub mod calendar;
pub mod cluster;
pub mod coallocation;
mod conversation;
mod decimal;
pub mod decision;
pub mod discipline;
pub mod door;
mod envelope;
pub mod event;
pub mod faults;
pub mod generic;
pub mod grid;
pub mod ids;
pub mod inventory;
pub mod job;
pub mod load;
pub mod message;
pub mod placement;
pub mod plan;
pub mod policy;
pub mod queue;
pub mod reservation;
pub mod resource;
pub mod rng;
pub mod session;
pub mod submitter;
pub mod time;
pub mod timetable;
pub mod tournament;
pub mod transport;
