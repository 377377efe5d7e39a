//! What the services and the replayer take on their lines.

use super::values;
use clap::{Args, Subcommand};
use gridrig_core::agent::Memory;
use gridrig_core::cluster::Overrun;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::inventory::Form;
use gridrig_core::policy::PolicySpec;
use gridrig_core::session::{Auth, Roles, Threshold};
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_emulator::faces::FaceKind;
use gridrig_metabroker_stub::lagrid::LinkProtocol;
use std::path::PathBuf;
use std::time::Duration;

/// Where a service listens and how its clock runs.
#[derive(Clone, Debug, Args)]
pub struct ServiceArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: std::net::SocketAddr,
    /// Allow other addresses than loopback without TLS, to listen on and to send peers'
    /// tokens to
    #[arg(long)]
    pub insecure: bool,
    /// Also accept requests under this host name, by which others know this machine or a
    /// proxy in front of it; may be repeated
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// How many times faster than the wall clock the run goes
    #[arg(long, default_value = "1", value_parser = values::text::<Decimal>)]
    pub speed: Decimal,
    /// Time 0 of the run, in Unix nanoseconds as of `date +%s%N`; the same for all
    /// services of one run [default: when the service starts]
    #[arg(long, value_name = "UNIX_NS")]
    pub epoch: Option<u64>,
    /// Post notifications of a job to any URL in its `notify`, not only to loopback
    /// addresses
    #[arg(long)]
    pub notify_anywhere: bool,
    /// Keep this many of the newest events; a run whose events are dropped cannot
    /// be audited
    #[arg(long, value_name = "N", default_value = "1000000")]
    pub keep_events: usize,
    /// Metrics.
    #[command(flatten)]
    pub monitoring: MonitoringArgs,
}

/// How services are monitored.
#[derive(Clone, Debug, Default, Args)]
pub struct MonitoringArgs {
    /// Add this label to every metric, for example site=north; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub labels: Vec<String>,
    /// Keep a file with the address of the service in this folder while it runs,
    /// for Prometheus (file_sd_configs)
    #[arg(long, value_name = "DIR")]
    pub targets: Option<PathBuf>,
}

/// `gridrig emulator`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gridrig emulator --name a1 --processors 225 --listen 127.0.0.1:8101\n  \
        gridrig emulator --scenario resources/scenarios/two-sites.toml --name a1 \\\n    \
        --broker http://127.0.0.1:8201\n  \
        gridrig emulator --scenario resources/scenarios/two-sites.toml --all --face arc\n  \
        gridrig emulator --processors 64 --face arc --tls-cert cert.pem --tls-key key.pem\n  \
        gridrig emulator --name s1 --lrms slurm --broker http://127.0.0.1:8201\n\n\
        The first line on stdout gives the address; with --all the address of each cluster."
)]
pub struct EmulatorArgs {
    /// Name of the cluster; with --scenario, the cluster of the scenario to serve
    #[arg(long, default_value = "cluster")]
    pub name: String,
    /// Take the cluster from a scenario
    #[arg(long, conflicts_with_all = ["processors", "resources", "discipline", "interval"])]
    pub scenario: Option<PathBuf>,
    /// Override any key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "scenario")]
    pub set: Vec<String>,
    /// Number of single-processor nodes
    #[arg(long, conflicts_with = "resources")]
    pub processors: Option<u32>,
    /// Nodes described in XML
    #[arg(long, value_name = "FILE")]
    pub resources: Option<PathBuf>,
    /// Scheduling discipline
    #[arg(long, default_value = "first-in-first-fit",
          value_parser = values::one_of(DisciplineKind::ALL, DisciplineKind::name))]
    pub discipline: DisciplineKind,
    /// Time between scheduling passes; with 0s a pass follows every change
    #[arg(long, default_value = "0s", value_parser = values::text::<SimDuration>)]
    pub interval: SimDuration,
    /// Reserve processors for jobs that have a start window; if an earlier job overruns its
    /// estimate and still holds reserved processors, it is ended (kill) or the reserved job
    /// waits (delay)
    #[arg(long, value_name = "OVERRUN", conflicts_with = "scenario",
          value_parser = values::one_of(Overrun::ALL, Overrun::name))]
    pub reservations: Option<Overrun>,
    /// Number of this cluster among those of its broker, from 0; only without --scenario
    #[arg(long, default_value = "0", conflicts_with = "scenario")]
    pub index: u16,
    /// Broker to report to
    #[arg(long, value_name = "URL", value_parser = values::url)]
    pub broker: Option<String>,
    /// Serve every cluster of the scenario, each on a port of its own: free ports,
    /// or consecutive ones from that of --listen
    #[arg(long, requires = "scenario", conflicts_with_all = ["name", "broker", "slurm_bin"])]
    pub all: bool,
    /// Also offer an interface of another system: arc (ARC REST 1.0), bes
    /// (OGSA-BES 1.0), ws-agreement (WS-Agreement 1.0, for advance reservations);
    /// may be repeated, adds to the faces of the scenario
    #[arg(long = "face", value_name = "FACE",
          value_parser = values::one_of(&FaceKind::ALL, FaceKind::name))]
    pub faces: Vec<FaceKind>,
    /// With the face arc: wall time of each step of the computing element itself (four
    /// before the job reaches the LRMS, three after it ends, one to kill it) [default: the
    /// scenario's, else 0s]
    #[arg(long, value_name = "TIME", value_parser = values::text::<SimDuration>)]
    pub arc_step: Option<SimDuration>,
    /// Speak TLS with this certificate, in PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        conflicts_with = "broker"
    )]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM, without passphrase
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Check the certificates of clients by these authorities, in PEM; clients
    /// without a certificate are accepted too
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,
    /// Install the commands of Slurm (sbatch, squeue, ...) for this cluster in
    /// a directory of their own
    #[arg(long, value_name = "DIR")]
    pub slurm_bin: Option<PathBuf>,
    /// Name of the partition that the Slurm commands show
    #[arg(
        long,
        value_name = "NAME",
        default_value = "compute",
        requires = "slurm_bin"
    )]
    pub slurm_partition: String,
    /// Execute the scripts given to sbatch, instead of only holding processors for the run
    /// time
    #[arg(long)]
    pub slurm_execute: bool,
    /// Largest number of scripts executed at the same time
    #[arg(
        long,
        value_name = "N",
        default_value = "256",
        requires = "slurm_execute"
    )]
    pub slurm_at_once: usize,
    /// Time from the start of a job until its script runs; a real Slurm takes 0.2 to
    /// 0.75 s
    #[arg(long, value_name = "DURATION", default_value = "250ms", requires = "slurm_execute", value_parser = values::wall)]
    pub slurm_launch_delay: Duration,
    /// What runs the jobs: emulated, or slurm (a real Slurm, called by its commands;
    /// the nodes of the cluster are then those of Slurm) [default: the scenario's,
    /// else emulated]
    #[arg(long, value_name = "LRMS", conflicts_with_all = ["all", "slurm_bin"])]
    pub lrms: Option<String>,
    /// The slurm.conf of the real Slurm [default: SLURM_CONF, else Slurm's default]
    #[arg(long, value_name = "FILE", requires = "lrms")]
    pub lrms_conf: Option<PathBuf>,
    /// The directory of the commands of the real Slurm [default: search PATH]
    #[arg(long, value_name = "DIR", requires = "lrms")]
    pub lrms_bin: Option<PathBuf>,
    /// The partition of the real Slurm [default: its default one]
    #[arg(long, value_name = "NAME", requires = "lrms")]
    pub lrms_partition: Option<String>,
    /// A batch script for the jobs, in which {seconds}, {job} and {processors}
    /// are filled in [default: one that sleeps]
    #[arg(long, value_name = "FILE", requires = "lrms")]
    pub lrms_template: Option<PathBuf>,
    /// Write every input of the cluster to this file before the cluster acts on it: an
    /// emulator that is restarted with the same file, --epoch and --speed goes on where the
    /// last one stopped. Not with the faces arc and bes, the commands of Slurm or a real
    /// LRMS: what they know of the jobs would be lost
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    pub journal: Option<PathBuf>,
    /// Clock and address.
    #[command(flatten)]
    pub service: ServiceArgs,
}

/// `gridrig broker`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gridrig broker --name a --policy queue-length \\\n    \
        --lrms a1=http://127.0.0.1:8101 --lrms a2=http://127.0.0.1:8102\n  \
        gridrig broker --scenario resources/scenarios/two-sites.toml --name a \\\n    \
        --lrms a1=http://127.0.0.1:8101 --peer b=http://127.0.0.1:8202\n\n\
        Peers need the same description of the grid, so a broker with peers needs --scenario. A \
        broker without peers asks its clusters.",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct BrokerArgs {
    /// What to do with a running broker, instead of serving one.
    #[command(subcommand)]
    pub command: Option<BrokerCommand>,
    /// Name of the domain; with --scenario, the domain of the scenario to serve
    #[arg(long, required = true, default_value = "", hide_default_value = true)]
    pub name: String,
    /// Take the grid and all settings from a scenario
    #[arg(long)]
    pub scenario: Option<PathBuf>,
    /// Override any key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "scenario")]
    pub set: Vec<String>,
    /// Forwarding policy [default: the first of the scenario]
    #[arg(long, value_parser = values::text::<PolicySpec>)]
    pub policy: Option<PolicySpec>,
    /// Name and address of a cluster of this domain (where processors are lent: of every
    /// cluster of the grid); without --scenario give them in the order of their --index; may
    /// be repeated
    #[arg(long = "lrms", value_name = "NAME=URL", required = true,
          value_parser = values::named_url)]
    pub lrms: Vec<(String, String)>,
    /// Name and address of a broker that this broker has a link with; may be repeated
    #[arg(long = "peer", value_name = "NAME=URL", requires = "scenario",
          value_parser = values::named_url)]
    pub peers: Vec<(String, String)>,
    /// Accept jobs over the LA Grid protocol from a program that is not a broker and gives
    /// NAME as its initiator; no requests are sent to it
    #[arg(long = "client", value_name = "NAME")]
    pub clients: Vec<String>,
    /// The protocol to peers, instead of the scenario's: native, json, soap (1.1)
    /// or soap12; requests are accepted in all of them
    #[arg(long, value_name = "PROTOCOL",
          value_parser = values::one_of(&LinkProtocol::ALL, LinkProtocol::name))]
    pub protocol: Option<LinkProtocol>,
    /// Sessions with peers.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Write every input of the broker to this file before the broker acts on it:
    /// a broker that is restarted with the same file goes on where the last one
    /// stopped
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// What a restarted broker remembers: everything in its journal (journal) or nothing
    /// (none). In both cases it still serves its earlier events
    #[arg(long, value_name = "MEMORY", requires = "journal",
          default_value = "journal",
          value_parser = values::one_of(&Memory::ALL, Memory::name))]
    pub memory: Memory,
    /// Seed of the broker's random numbers [default: the scenario's]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Schema document that says how resources are aggregated for other brokers [default:
    /// the built-in resources/inventory/la-grid.xml]
    #[arg(long, value_name = "FILE")]
    pub resource_schema: Option<PathBuf>,
    /// Clock and address.
    #[command(flatten)]
    pub service: ServiceArgs,
}

/// Commands to a running broker.
#[derive(Debug, Subcommand)]
pub enum BrokerCommand {
    /// Change a broker's role towards a peer (provider, consumer, both, none); jobs already
    /// accepted still run
    #[command(after_help = "Example:\n  gridrig broker role http://127.0.0.1:8201 b provider")]
    Role(RoleArgs),
}

/// `gridrig broker role`
#[derive(Debug, Args)]
pub struct RoleArgs {
    /// The broker
    #[arg(value_parser = values::url)]
    pub url: String,
    /// Name of the peer's domain
    pub peer: String,
    /// The role of the broker for the peer: provider, consumer, both or none
    #[arg(value_parser = values::roles)]
    pub role: Roles,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Sessions of a broker with its peers (links that speak json, soap or soap12).
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// A method by which peers authenticate: none (peers on this machine only),
    /// bearer, mutual-tls; may be repeated, the preferred one first [default: none]
    #[arg(long = "auth", value_name = "METHOD", default_value = "none", hide_default_value = true,
          value_parser = values::one_of(&Auth::ALL, Auth::name))]
    pub auth: Vec<Auth>,
    /// The file with the bearer token that this broker and a peer share
    #[arg(long = "peer-token", value_name = "NAME=FILE")]
    pub tokens: Vec<String>,
    /// The distinguished name in a peer's certificate, for example /CN=broker-b
    #[arg(long = "peer-identity", value_name = "NAME=DN")]
    pub identities: Vec<String>,
    /// Local user to whom the jobs of peer NAME belong
    #[arg(long = "map-identity", value_name = "NAME=LOCAL")]
    pub mapped: Vec<String>,
    /// Send a peer a heartbeat after this wall time without a message to or from it
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::positive)]
    pub heartbeat: SimDuration,
    /// Give up a peer that has been unreachable for this long. Jobs there count as lost,
    /// unless it reports their end later; other jobs are decided without it
    #[arg(long, value_name = "DURATION", default_value = "5min", value_parser = values::text::<SimDuration>)]
    pub give_up: SimDuration,
    /// Send peers the load of a cluster only when it has changed by more than this share of
    /// its processors, for example 0.1 [default: at each exchange]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub push_past: Option<Threshold>,
    /// Send peers resources as records in this form, and ask them for the same:
    /// flat, unique, one-to-n or n-to-n; may be repeated, the preferred one first
    /// [default: the load of each cluster, plus records if the peer asks for them]
    #[arg(long = "resource-form", value_name = "FORM",
          value_parser = values::one_of(&Form::ALL, Form::name))]
    pub resource_forms: Vec<Form>,
    /// The address for peers [default: that of --listen]
    #[arg(long, value_name = "ADDRESS")]
    pub peer_listen: Option<std::net::SocketAddr>,
    /// The certificate of this broker for its peers, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca", "peer_listen"])]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM, without passphrase
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The authorities of the peers' certificates, in PEM
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
}

/// `gridrig replay`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gridrig replay resources/scenarios/two-sites.toml \\\n    \
        --to a=http://127.0.0.1:8201 --collect http://127.0.0.1:8101 --collect http://127.0.0.1:8201\n  \
        gridrig replay s.toml --outlet a1=bes:http://127.0.0.1:8101/services/bes \\\n    \
        --collect http://127.0.0.1:8101\n  \
        gridrig replay s.toml --outlet a=lagrid:http://127.0.0.1:8201#replayer \\\n    \
        --collect http://127.0.0.1:8101\n  \
        gridrig replay s.toml --outlet 'a=command:arcsub -z client.conf -b Random {xrsl}'\n\n\
        Forms of OUTLET:\n  \
        json:URL                     gridrig's own interface, as with --to\n  \
        bes:URL                      OGSA-BES\n  \
        arc:URL                      ARC REST\n  \
        lagrid:URL#INITIATOR         LA Grid with SOAP 1.1, in a session as a consumer\n  \
        lagrid-soap12:URL#INITIATOR  the same with SOAP 1.2\n  \
        lagrid-json:URL#INITIATOR    the same with JSON\n  \
        slurm:DIR                    the sbatch in this directory\n  \
        command:WORDS                a command, run without a shell (' and \" quote words); one of\n\
        \x20                              {xrsl}, {jsdl}, {adl}, {rsl}, {jdl}, {script}, {template}\n\
        \x20                              stands for the job's description\n\n\
        The run uses the clock of the services, and the first job is submitted at once. If every \
        service is given to --collect, the run is audited and written like any other run."
)]
pub struct ReplayArgs {
    /// The scenario whose workload is submitted
    pub scenario: PathBuf,
    /// Override any key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Address that gets the jobs of this domain or cluster; may be repeated
    #[arg(
        long = "to",
        value_name = "NAME=URL",
        required_unless_present = "outlet",
        value_parser = values::named_url
    )]
    pub to: Vec<(String, String)>,
    /// Submit the jobs of a domain or cluster through another interface than gridrig's, in
    /// one of the forms below. The jobs are then found by their tags in the LRMSs given to
    /// --collect; may be repeated
    #[arg(long = "outlet", value_name = "NAME=OUTLET")]
    pub outlet: Vec<String>,
    /// How long a submission by --outlet may take, in wall time
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = values::wall)]
    pub outlet_timeout: Duration,
    /// How many submissions by --outlet are under way at a time (over LA Grid always one)
    #[arg(long, value_name = "N", default_value = "4")]
    pub outlet_at_once: usize,
    /// Give up jobs that an outlet accepted and no LRMS received, after this wall time
    /// without any event
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = values::wall)]
    pub lost_after: Duration,
    /// Address of a service whose events belong to the run; repeat for every service that
    /// jobs may get to (those left out are named before the first job)
    #[arg(long = "collect", value_name = "URL", value_parser = values::url)]
    pub collect: Vec<String>,
    /// Where the run directory goes; needs --collect
    #[arg(long, requires = "collect")]
    pub out: Option<PathBuf>,
    /// Overwrite a run directory that exists
    #[arg(long)]
    pub force: bool,
    /// If a service stops answering, keep its jobs for this long and submit them again,
    /// under the same keys, when it answers [default: give up after three tries]
    #[arg(long, value_name = "DURATION", value_parser = values::wall)]
    pub patience: Option<Duration>,
    /// Serve /metrics at this address while submitting; port 0 takes a free one,
    /// which is printed on stderr [default with --targets: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<std::net::SocketAddr>,
    /// Allow --metrics at other addresses than loopback, although there is no TLS
    #[arg(long, requires = "metrics")]
    pub insecure: bool,
    /// Also accept requests to --metrics under this host name; may be repeated
    #[arg(long, value_name = "HOST", requires = "metrics")]
    pub allow_host: Vec<String>,
    /// Metrics.
    #[command(flatten)]
    pub monitoring: MonitoringArgs,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub json: bool,
}
