//! Behaviours of the command and its library, one module each.

mod audit_command;
mod bad_input;
mod check;
mod command;
mod documents;
mod lsap;
mod need;
mod overrides;
mod real_time;
mod resolved;
mod run_command;
mod scenario;
mod separate_processes;
