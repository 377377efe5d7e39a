//! The gridrig command: scenarios, runs, results.

pub mod check;
mod cli;
mod commands;
pub mod dashboard;
mod estimate;
mod exit;
pub mod init;
mod interrupt;
mod load;
mod logging;
mod memory;
mod monitor;
pub mod own_policy;
mod progress;
pub mod realtime;
pub mod reproduce;
mod runner;
mod sweep;
mod table;
mod versioned;
mod words;

pub use commands::main;
pub use gridrig_scenario as scenario;
