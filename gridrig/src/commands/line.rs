//! The command line: what can be asked for, and how each answer ends.

use super::export::ExportArgs;
use super::gridway::GridwayArgs;
use super::reproduce::ReproduceArgs;
use super::trace::TraceArgs;
use crate::cli::{
    AuditArgs, BrokerArgs, CheckArgs, CompareArgs, DashboardArgs, EmulatorArgs, ExplainArgs,
    InitArgs, LogFormat, MetricsArgs, ReplayArgs, ReportArgs, ResourcesArgs, RunArgs, SchemaArgs,
};
use clap::{Parser, Subcommand};

/// The test bench for brokers of batch clusters.
///
/// Emulates clusters and meta-brokers, replays traces through them in virtual
/// or in real time, and says which forwarding policy did better.
#[derive(Debug, Parser)]
#[command(
    name = "gridrig",
    version,
    propagate_version = true,
    after_help = "Example:\n  gridrig run resources/scenarios/two-sites.toml\n\n\
        Exit codes: 0 done, 1 the run or its audit failed or it is not valid, 2 bad usage or \
        input, 99 a threshold was missed, 130 interrupted."
)]
pub struct Cli {
    /// How log lines on stderr are written. GRIDRIG_LOG sets what is logged.
    #[arg(long, global = true, default_value = "text", display_order = 900)]
    pub log_format: LogFormat,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands that work.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented scenario to start from
    Init(InitArgs),
    /// Validate a scenario and predict what it will do, without running it
    Check(CheckArgs),
    /// Run a scenario and compare its policies
    Run(RunArgs),
    /// Compare the policies of finished runs, with intervals
    Compare(CompareArgs),
    /// Write one offline HTML page about finished runs
    Report(ReportArgs),
    /// Write the jobs of finished runs as CSV, SWF or Batsim's CSV
    Export(ExportArgs),
    /// Serve the dashboard of a folder of runs
    Dashboard(DashboardArgs),
    /// Rebuild a finished run from its event log and check every invariant
    Audit(AuditArgs),
    /// Say why a job of a finished run went where it went
    Explain(ExplainArgs),
    /// Read, reduce, validate and generate workload traces
    Trace(TraceArgs),
    /// Serve one emulated cluster
    Emulator(Box<EmulatorArgs>),
    /// Serve one meta-broker
    Broker(Box<BrokerArgs>),
    /// Submit a trace, on time, to a running broker or cluster
    Replay(ReplayArgs),
    /// Serve the GridWay meta-scheduler as a driver (MAD) of emulated clusters
    Gridway(GridwayArgs),
    /// Repeat a study against real programs that it starts itself
    Reproduce(ReproduceArgs),
    /// Show the metrics of the services; set up Prometheus and Grafana
    Metrics(MetricsArgs),
    /// Show what clusters offer, in the forms that brokers tell each other
    Resources(ResourcesArgs),
    /// Print the schema of a file format
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Serve a service of a run, as its runner orders
    #[command(hide = true)]
    Service {
        /// What the runner says.
        order: String,
    },
}
