//! Event log, audit, job table, statistics, run directories
