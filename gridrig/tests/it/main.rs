//! Behaviours of the command and its library, one module each.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "a test stops at what it did not expect, tells what it skips, and may tell a long story"
)]

mod arex;
mod audit_command;
mod background;
mod bad_input;
mod bounds;
mod broken_off;
mod browser;
mod calm;
mod cells;
mod check;
mod coallocation;
mod coallocation_real;
mod coallocation_requests;
mod command;
mod compare_command;
mod components;
mod dashboard;
mod describe_command;
mod documents;
mod doors;
mod explain;
mod export_command;
mod external_broker;
mod external_serve;
mod faces;
mod failing_nodes;
mod faults;
mod few_descriptors;
mod first_hour;
mod flags;
mod generic_resources;
mod golden;
mod gridway;
mod gridway_daemon;
mod job_chain;
mod journal_full;
mod kill_nine;
mod la_grid;
mod lagrid_outlet;
mod lending;
mod link_protocols;
mod load;
mod lsap;
mod metrics_command;
mod monitoring;
mod need;
mod not_continued;
mod open_results;
mod openapi;
mod overheard;
mod overrides;
mod own_discipline;
mod own_policy;
mod patience;
mod peer_protocol;
mod real_lrms;
mod real_slurm;
mod real_time;
mod reduce_command;
mod reduction_keys;
mod report_command;
mod reproduce;
mod reservations;
mod resolved;
mod resources_command;
mod run_command;
mod scenario;
mod scenario_refused;
mod separate_processes;
mod sessions;
mod silent_peer;
mod slurm_bench;
mod slurm_clients;
mod slurm_commands;
mod slurm_differential;
mod slurm_execute;
mod slurm_fields;
mod slurm_options;
mod sweep;
mod sweep_array;
mod sweep_page;
mod synthesize_command;
mod topologies;
mod trace_convert;
mod trace_import;
mod trace_info;
mod twin;
mod validate_command;
mod wheel;
#[path = "../../../crates/protocol/tests/it/lagrid/xsd.rs"]
mod xsd;
