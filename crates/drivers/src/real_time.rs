//! Real time: every machine of the model is owned by one tokio task, its
//! timers run on the wall clock and its messages travel over a [`Transport`].
//!
//! The driver knows no HTTP: whoever starts a machine hands it a transport,
//! and whoever receives a message calls the machine through its [`Actor`].
//!
//! # The order rule
//!
//! A timer of a real machine fires late, by a millisecond or by a scheduling
//! hiccup. To agree with virtual time nonetheless, a machine that wakes at the
//! real instant `now` first handles its own timers whose nominal instant is
//! not after `now`, each *at its nominal instant* and in nominal order, and
//! only then the message that woke it, at `now`. Lateness thus delays what a
//! machine says, never what it decides on.
//!
//! A message may say for when it was meant. A broker lets a few milliseconds
//! pass after the instant of a cycle, and what arrives then but was meant for
//! that instant or an earlier one still belongs to the cycle; what was meant
//! for later waits until the cycle is over. So the milliseconds that a
//! submission spends on the wire do not cost it a whole interval.
//!
//! A message that takes a latency is sent off when its nominal sending instant
//! plus that latency has come, so the time a machine was late counts towards
//! the latency instead of adding to it.

mod actor;
mod broker;
mod clock;
mod counts;
mod ledger;
mod letter;
mod lrms;
mod outbox;
mod outlived;
mod plant;
mod recall;
mod record;
mod retold;
mod submitter;

pub use actor::{Actor, CallError, JobKeeper, Machine, start};
pub use broker::{BrokerMachine, BrokerSetup, GridNames, Neighbour};
pub use clock::RunClock;
pub use counts::{Counts, LAG_BOUNDS};
pub use ledger::{Arrival, JobState, JobView, Receipt, SubmitError};
pub use letter::{Letter, LetterId, Message, Tally};
pub use lrms::{Home, JobNews, LrmsMachine, LrmsSetup};
pub use outbox::{Delivery, Outbox, Transport, TransportError};
pub use plant::Plant;
pub use recall::Recall;
pub use record::{EventSlice, Recorded, Recorder, Settled, Witness, merge, replay, settle};
pub use retold::told_once;
pub use submitter::{Handover, submit_on_time};

/// Why a grid cannot run on the wall clock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RealTimeError {
    /// A policy that has to know the truth everywhere at once.
    #[error(
        "domain {domain}: field policy = \"{policy}\": expected a policy that decides on received \
         information, since the truth about a grid at one instant exists on the virtual clock only"
    )]
    NeedsTruth {
        /// The domain's name.
        domain: String,
        /// The policy's name.
        policy: &'static str,
    },
    /// A domain that the grid does not have.
    #[error("there is no domain {index}: the grid has {domains}")]
    NoSuchDomain {
        /// Its position.
        index: usize,
        /// How many there are.
        domains: usize,
    },
}
