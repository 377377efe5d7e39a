//! The gridrig command: scenarios, runs, results.

pub mod check;
pub mod init;
pub mod scenario;
