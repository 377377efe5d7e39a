//! The command line: what can be asked for, and how each answer ends.

use super::export::ExportArgs;
use super::gridway::GridwayDriver;
use super::reproduce::StudyName;
use super::sweep::SweepCommand;
use super::trace::TraceCommand;
use super::twin::TwinArgs;
use super::whatif::WhatifArgs;
use crate::cli::{
    AuditArgs, BrokerArgs, CheckArgs, CompareArgs, DashboardArgs, DescribeArgs, EmulatorArgs,
    ExplainArgs, InitArgs, LoadArgs, LogFormat, MetricsArgs, ReplayArgs, ReportArgs, ResourcesArgs,
    RunArgs, SchemaFormat,
};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::fmt::Write as _;

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
        Exit codes: 0 done; 1 the run failed, its audit failed, or the run is not valid; 2 bad \
        usage or input; 99 a threshold was missed; 130 interrupted."
)]
pub struct Cli {
    /// How log lines on stderr are written. GRIDRIG_LOG sets what is logged.
    #[arg(long, global = true, default_value = "text", display_order = 900)]
    pub log_format: LogFormat,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands as the help lists them: by what somebody wants.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Run a scenario", &["init", "check", "run", "sweep"]),
    (
        "Look at what came out",
        &[
            "compare",
            "report",
            "dashboard",
            "explain",
            "audit",
            "export",
        ],
    ),
    ("Work with traces", &["trace", "twin", "whatif"]),
    (
        "Serve the parts one by one, for a broker or client under test",
        &["emulator", "broker", "replay", "load", "gridway", "metrics"],
    ),
    (
        "Formats, studies, the shell",
        &[
            "schema",
            "resources",
            "describe",
            "reproduce",
            "completions",
            "man",
            "help",
        ],
    ),
];

impl Cli {
    /// What stands on the command line.
    ///
    /// # Errors
    /// A mistake in it, or an answer such as the help.
    pub fn read() -> Result<Self, clap::Error> {
        let matches = Self::grouped().try_get_matches()?;
        Self::from_arg_matches(&matches)
    }

    /// The command with its help in groups.
    fn grouped() -> clap::Command {
        let mut command = Self::command();
        command.build();
        let header = *command.get_styles().get_header();
        let literal = *command.get_styles().get_literal();
        let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
        for (group, names) in GROUPS {
            let _ = writeln!(text, "{header}{group}:{header:#}");
            for name in names {
                let about = command.find_subcommand(name).and_then(|it| it.get_about());
                let about = about.map(ToString::to_string).unwrap_or_default();
                let _ = writeln!(text, "  {literal}{name:<11}{literal:#}  {about}");
            }
            text.push('\n');
        }
        let _ = write!(
            text,
            "{header}Options:{header:#}\n{{options}}{{after-help}}"
        );
        Self::command().help_template(text)
    }
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
    /// Run a scenario for many combinations of settings, in slices (e.g. a Slurm array)
    #[command(subcommand)]
    #[command(after_help = "Example:
  gridrig sweep plan study.toml --out sweep
  gridrig sweep run sweep -j 0
  gridrig sweep merge sweep")]
    Sweep(SweepCommand),
    /// Compare the policies of finished runs, with intervals
    Compare(CompareArgs),
    /// Write one offline HTML page about finished runs
    Report(ReportArgs),
    /// Write the jobs of finished runs as CSV, SWF or Batsim's CSV
    Export(ExportArgs),
    /// Serve the dashboard of a folder of runs
    Dashboard(DashboardArgs),
    /// Check a finished run: rebuild it from its event log and test every rule
    Audit(AuditArgs),
    /// Show why a job of a finished run was sent where it was
    Explain(ExplainArgs),
    /// Read, reduce, validate and generate workload traces
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Run a log on a model of its site and show how well the recorded waits are reproduced
    Twin(TwinArgs),
    /// From the logs of several sites, show what a broker between them would change
    Whatif(WhatifArgs),
    /// Serve one emulated cluster
    Emulator(Box<EmulatorArgs>),
    /// Serve one meta-broker
    Broker(Box<BrokerArgs>),
    /// Submit a trace, on time, to a running broker or cluster
    Replay(ReplayArgs),
    /// Load-test a broker or cluster: clients submit, wait, submit again; answers are timed
    Load(LoadArgs),
    /// Act as a GridWay driver (MAD), so that GridWay submits to emulated clusters
    #[command(subcommand)]
    Gridway(GridwayDriver),
    /// Repeat a published study, or the comparison with a real Slurm
    #[command(subcommand)]
    #[command(after_help = "Example:\n  gridrig reproduce slurm-fidelity --out fidelity")]
    Reproduce(StudyName),
    /// Show the metrics of the services; set up Prometheus and Grafana
    Metrics(MetricsArgs),
    /// Show the resources of clusters in the forms that brokers exchange
    Resources(ResourcesArgs),
    /// Translate the description of a job into another language
    Describe(DescribeArgs),
    /// Print the schema of a file format
    #[command(after_help = "Example:\n  gridrig schema scenario")]
    Schema {
        /// Which format
        format: SchemaFormat,
    },
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
    /// End a process group of a run when its runner is gone
    #[command(hide = true)]
    Guard {
        /// Its number; with 1 all processes would be meant.
        #[arg(value_parser = clap::value_parser!(u32).range(2..))]
        group: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_stands_in_one_group_of_the_help() {
        let mut command = Cli::command();
        command.build();
        let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut shown: Vec<&str> = shown.map(|it| it.get_name()).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }
}
