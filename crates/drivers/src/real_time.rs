//! Real time: every [agent](gridrig_core::agent) is owned by one tokio task, its
//! timers run on the wall clock and its messages travel over a [`Transport`].
//!
//! The driver knows no HTTP: whoever starts an agent hands it a transport,
//! and whoever receives a message hands it to the agent through its [`Actor`].
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
mod clock;
mod counts;
mod driven;
mod outbox;
mod recall;
mod record;

pub use actor::{Actor, CallError, start};
pub use clock::{RunClock, wall_length};
pub use counts::{Counts, LAG_BOUNDS};
pub use driven::{Driven, Journal};
pub use outbox::{Delivery, Outbox, Transport, TransportError};
pub use record::{EventSlice, EventWriter, Recorded, Recorder, merge, replay};
