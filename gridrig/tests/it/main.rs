//! Behaviours of the command's library, one module each.

mod check;
mod overrides;
mod resolved;
mod scenario;
