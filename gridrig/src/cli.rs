//! What the commands take on their lines.

mod load;
mod services;
pub mod values;

pub use load::{LoadArgs, Plan, Until};
pub use services::{
    BrokerArgs, BrokerCommand, EmulatorArgs, MonitoringArgs, ReplayArgs, RoleArgs, ServiceArgs,
    SessionArgs,
};

use crate::init::OwnLog;
use crate::runner::CellNumber;
use clap::{Args, Subcommand, ValueEnum};
use gridrig_core::inventory::Form;
use gridrig_protocol::description::Language;
use gridrig_results::threshold::{Figure, Threshold};
use std::path::PathBuf;

/// Forms of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line of text.
    Text,
    /// One JSON object a line.
    Json,
}

/// Which scenario, and what is different about it.
#[derive(Clone, Debug, Args)]
pub struct ScenarioArgs {
    /// The scenario file
    pub scenario: PathBuf,
    /// Override any key, for example workload.window.start=92.5d or
    /// domain.a.broker.interval=10s; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Override run.seed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Override run.clock
    #[arg(long)]
    pub clock: Option<ClockName>,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub json: bool,
}

/// The two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum ClockName {
    /// Simulated: time jumps from event to event
    Virtual,
    /// Real services on the wall clock, talking over sockets
    Real,
}

/// `gridrig init`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gridrig init my-study.toml\n  \
        gridrig init federation.toml --from alpha.swf:128 --from beta.swf:256")]
pub struct InitArgs {
    /// The file to write; it must not exist yet
    #[arg(default_value = "scenario.toml")]
    pub file: PathBuf,
    /// A log (SWF or GWF) and the processors of its cluster (default: from the header). The
    /// scenario gets a domain for each log, with the jobs of that log; may be repeated
    #[arg(long, value_name = "LOG[:PROCESSORS]")]
    pub from: Vec<OwnLog>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// `gridrig check`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gridrig check resources/scenarios/two-sites.toml\n  \
        gridrig check resources/scenarios/two-sites.toml --pilot runs/two-sites-1"
)]
pub struct CheckArgs {
    /// What to check.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Finished runs of the same policies, at least two of each. From their variation, estimate
    /// how many repeats are needed to detect differences that matter (run.relevant); may be
    /// repeated
    #[arg(long, value_name = "RUN")]
    pub pilot: Vec<PathBuf>,
}

/// `gridrig run`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gridrig run resources/scenarios/two-sites.toml --set run.tie=local -j 2\n  \
        gridrig run resources/scenarios/two-sites.toml --cell 2/7 --out runs\n\n\
        A cell is one policy on one replication. A cell that is run alone, in any process or on \
        any host, writes the same files as in a run of all cells."
)]
pub struct RunArgs {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Where run directories go: OUT/SCENARIO-SEED/POLICY/rNNN; if runs with other settings
    /// are there, OUT/SCENARIO-SEED-2, and so on
    #[arg(long, default_value = "runs")]
    pub out: PathBuf,
    /// Number of runs at a time (virtual clock only); 0: one for each processor. The files
    /// are the same for any number
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "dashboard"
    )]
    pub jobs: usize,
    /// Overwrite run directories that exist
    #[arg(long)]
    pub force: bool,
    /// Resume an interrupted run in real time. SCENARIO is its run directory or a folder of
    /// run directories; finished runs there stay as they are, and one with programs of others
    /// is written as far as it had come
    #[arg(long, conflicts_with_all = ["out", "force", "no_out", "csv", "cell", "kill", "set", "seed", "clock", "no_journal", "processes"])]
    pub resume: bool,
    /// Write no journals; the run in real time can then not be resumed, and all its events are
    /// kept in memory until it is over
    #[arg(long)]
    pub no_journal: bool,
    /// Run each service as a process of its own, restarted with its journal if it dies;
    /// real clock only
    #[arg(long, conflicts_with_all = ["no_journal", "no_out", "kill", "dashboard", "targets"])]
    pub processes: bool,
    /// Start the program of your own policy twice and check that both give the same answers
    /// to the same input
    #[arg(long)]
    pub check_determinism: bool,
    /// Write no run directory; a run in real time is then as with --no-journal
    #[arg(long, conflicts_with_all = ["out", "force", "csv"])]
    pub no_out: bool,
    /// Also write jobs.csv (Batsim's columns) into each run directory
    #[arg(long)]
    pub csv: bool,
    /// Run only cell K of the N cells (one policy on one replication each), counted from 1,
    /// by replication and then by policy
    #[arg(long, value_name = "K/N")]
    pub cell: Option<CellNumber>,
    /// Kill a service at this time of the run, for example a1@30s; real clock only, may be
    /// repeated
    #[arg(long, value_name = "NAME@TIME")]
    pub kill: Vec<String>,
    /// Metrics; real clock only.
    #[command(flatten)]
    pub monitoring: MonitoringArgs,
    /// Show the run in the browser while it lasts [default address: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true,
          default_missing_value = "127.0.0.1:0")]
    pub dashboard: Option<std::net::SocketAddr>,
    /// Keep the dashboard after the run, until Ctrl-C
    #[arg(long, requires = "dashboard")]
    pub keep_dashboard: bool,
    /// Allow the dashboard to listen on other addresses than loopback, although pages and
    /// the token go over plain HTTP
    #[arg(long, requires = "dashboard")]
    pub insecure: bool,
}

/// Which runs are compared, and by what.
#[derive(Clone, Debug, Args)]
pub struct ComparisonArgs {
    /// Run directories, or folders with runs below them
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The policy that the others are compared with [default: round-robin if
    /// it is there, else the first]
    #[arg(long, value_name = "POLICY")]
    pub baseline: Option<String>,
    /// The figure by which policies are judged, for example delay_s.p95; may be repeated;
    /// the first one gives the verdict [default: run.primary of the scenario]
    #[arg(long, value_name = "METRIC.STATISTIC", value_parser = Figure::parse)]
    pub primary: Vec<Figure>,
    /// A bound that every run has to keep, for example "delay_s.p95 < 60"; may be
    /// repeated
    #[arg(long, value_name = "BOUND", value_parser = values::text::<Threshold>)]
    pub require: Vec<Threshold>,
    /// The smallest difference of a figure that matters, for example delay_s.mean=0.5; may
    /// be repeated [default: run.relevant of the scenario, else a tenth of the broker
    /// interval for figures in seconds]
    #[arg(long, value_name = "METRIC.STATISTIC=NUMBER", value_parser = relevant)]
    pub relevant: Vec<(Figure, f64)>,
    /// Leave damaged and half-written runs out, and list them
    #[arg(long)]
    pub skip_damaged: bool,
}

/// `delay_s.mean=0.5`
pub(crate) fn relevant(text: &str) -> Result<(Figure, f64), String> {
    let (figure, least) = text.split_once('=').unwrap_or((text, ""));
    let least: Option<f64> = least.trim().parse().ok();
    let least = least.filter(|least| *least > 0.0 && least.is_finite());
    let least = least.ok_or("expected a figure and a number above 0, as in delay_s.mean=0.5")?;
    Ok((Figure::parse(figure)?, least))
}

/// `gridrig compare`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gridrig compare runs/two-sites-1 --baseline round-robin\n\n\
        Intervals need repeats: run the scenario with run.replicate. Exit code 99: a threshold \
        was missed."
)]
pub struct CompareArgs {
    /// What to compare.
    #[command(flatten)]
    pub comparison: ComparisonArgs,
    /// Number of users to show, those with the most processor time first
    #[arg(long, default_value = "5")]
    pub users: usize,
    /// Show runs even if they are not comparable, without a verdict
    #[arg(long)]
    pub anyway: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print Markdown
    #[arg(long)]
    pub markdown: bool,
}

/// `gridrig report`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gridrig report runs/two-sites-1 --out report.html\n\n\
        Exit code 99: the page is written, and a threshold was missed."
)]
pub struct ReportArgs {
    /// What to compare.
    #[command(flatten)]
    pub comparison: ComparisonArgs,
    /// The page to write; it must not exist yet [default: report.html in the folder of the
    /// first RUN]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite an existing page
    #[arg(long)]
    pub force: bool,
    /// The replication of the charts over time, by its key, for example window+604800s or
    /// window+7d [default: the one that disagrees most with the verdict, else the first]
    #[arg(long, value_name = "KEY")]
    pub replication: Option<String>,
    /// Number of users to show, those with the most processor time first
    #[arg(long, default_value = "10")]
    pub users: usize,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `gridrig dashboard`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gridrig dashboard\n  gridrig dashboard runs --listen 127.0.0.1:8080\n\n\
        Unless stdout is a terminal, its first line has the address. Every page asks for a token: \
        GRIDRIG_TOKEN, \
        or else a token that is made once and kept in $XDG_STATE_HOME/gridrig/dashboard-token (by \
        default ~/.local/state/gridrig/dashboard-token). The link with the token is printed on \
        stderr. A script sends the token:\n\n  curl -H \"Authorization: Bearer $(cat ~/.local/state/gridrig/dashboard-token)\" \\\n    \
        http://127.0.0.1:8080/api/live"
)]
pub struct DashboardArgs {
    /// The folder of runs; runs started from the page are written there
    #[arg(default_value = "runs")]
    pub runs: PathBuf,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: std::net::SocketAddr,
    /// Allow listening on other addresses than loopback, although pages and the token go
    /// over plain HTTP
    #[arg(long)]
    pub insecure: bool,
    /// Also accept this host name, for example of a proxy in front of the dashboard; may be
    /// repeated
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Allow scenarios from the page to name programs, directories, any files and real
    /// LRMSs. Whoever has the token can then run commands as you
    #[arg(long)]
    pub allow_commands: bool,
}

/// `gridrig audit`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gridrig audit runs/two-sites-1/round-robin/r000")]
pub struct AuditArgs {
    /// A run directory
    pub run: PathBuf,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `gridrig explain`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gridrig explain runs/two-sites-1/queue-length/r000 17\n\n\
        Decisions are read from decisions.parquet where the run has recorded them \
        (run.decisions). If a run in virtual time has none, it is simulated again."
)]
pub struct ExplainArgs {
    /// A run directory, or the folder of a policy with one run
    pub run: PathBuf,
    /// Number of the job in the run (job_id in jobs.parquet)
    pub job: u32,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `gridrig metrics`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gridrig metrics\n  gridrig metrics --out monitoring\n\n\
        The second command writes prometheus.yml, the Grafana dashboards and the provisioning of \
        both. Prometheus then finds services started with --targets monitoring/targets."
)]
pub struct MetricsArgs {
    /// Write configuration for Prometheus and Grafana into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "json")]
    pub out: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `gridrig resources`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gridrig resources resources/clusters/heterogeneous.xml\n  \
                  gridrig resources resources/inventory/table-2.xml --form n-to-n\n  \
                  gridrig resources import nodes.txt > site.xml",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct ResourcesArgs {
    /// Something else than to show them.
    #[command(subcommand)]
    pub command: Option<ResourcesCommand>,
    /// Cluster files, which make a domain, or one inventory (XML)
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print the resources in this form: flat, unique, one-to-n or n-to-n [default: only
    /// print the size of each form]
    #[arg(long, value_parser = values::one_of(&Form::ALL, Form::name))]
    pub form: Option<Form>,
    /// Schema document that says how resources are aggregated [default: the built-in
    /// resources/inventory/la-grid.xml]
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,
    /// JSON instead of a table or XML
    #[arg(long)]
    pub json: bool,
}

/// What else can be done with resources.
#[derive(Debug, Subcommand)]
pub enum ResourcesCommand {
    /// Make a cluster file from Slurm's list of nodes
    Import(ImportResourcesArgs),
}

/// `gridrig resources import`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  scontrol show node > nodes.txt
  gridrig resources import nodes.txt > site.xml
  sinfo -N -o '%N|%c|%m|%d|%G|%T' | gridrig resources import /dev/stdin --architecture aarch64")]
pub struct ImportResourcesArgs {
    /// Output of `scontrol show node`, or of `sinfo -N` with a column of processors
    pub file: PathBuf,
    /// The architecture for nodes that have none in the file
    #[arg(long, default_value = "x86_64")]
    pub architecture: String,
    /// The operating system for nodes that have none in the file
    #[arg(long, default_value = "Linux")]
    pub os: String,
}

/// `gridrig describe`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gridrig describe job.xrsl --to jsdl > job.jsdl
  gridrig describe job.jdl --to json | curl -d @- http://127.0.0.1:8201/v1/jobs

Attributes that the other language cannot express are listed on stderr.")]
pub struct DescribeArgs {
    /// The description of one job, or of several
    pub file: PathBuf,
    /// Output language: jsdl, adl, xrsl, rsl, jdl, or json for REST
    #[arg(long, value_parser = values::one_of(Language::ALL, Language::name))]
    pub to: Language,
    /// Input language [default: recognized by content]
    #[arg(long, value_parser = values::one_of(Language::ALL, Language::name))]
    pub from: Option<Language>,
}

/// Formats with a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaFormat {
    /// Scenario files, as JSON Schema.
    Scenario,
    /// What `run --json` prints, as JSON Schema.
    Run,
    /// What `compare --json` prints, as JSON Schema.
    Compare,
    /// What `check --json` prints, as JSON Schema.
    Check,
    /// What `load --json` prints, as JSON Schema.
    Load,
    /// What `twin --json` prints, as JSON Schema.
    Twin,
    /// What `whatif --json` prints, as JSON Schema.
    Whatif,
    /// The lines to and from the program of a policy, as JSON Schema.
    Policy,
    /// Resource descriptions, as XSD.
    Resources,
    /// Inventories and their schema documents, as XSD.
    Inventory,
    /// The emulator's REST interface, as OpenAPI.
    Emulator,
    /// The broker's REST interface, as OpenAPI.
    Broker,
}
