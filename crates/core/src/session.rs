//! A session between two meta-brokers (LA Grid paper 2.1, 2.4): negotiated in
//! rounds, kept alive by heartbeats, lost and found again.
//!
//! - [`Stance`], [`Offer`] and [`Verdict`]: the negotiation, `openConn`.
//! - [`Session`]: the state of one connection, `heartbeat` and `notifyConn`.
//! - [`Publisher`] and [`Subscriber`]: numbered updates, `sendResourceData`.
//!
//! All instants here are the wall clock's: [`WallTime`](crate::time::WallTime).

mod negotiation;
mod state;
mod updates;

pub use negotiation::{Auth, Offer, Refusal, Roles, Stance, Terms, Verdict};
pub use state::{Beat, Change, Phase, Session};
pub use updates::{Publisher, Push, Subscriber, Taken, Threshold};
