//! Behaviours of the command's library, one module each.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod check;
mod overrides;
mod resolved;
mod scenario;
