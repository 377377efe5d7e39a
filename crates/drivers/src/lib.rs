//! The two drivers of the pure models, side by side.
//!
//! [`virtual_time`] delivers messages from an event queue: a year of grid life
//! in seconds, and the same seed gives the same bytes. The real-time driver
//! gives every machine a task of its own, timers on the wall clock and messages
//! over a transport. They differ only in how they wait and how a message
//! travels.

pub mod faults;
pub mod real_time;
pub mod virtual_time;
