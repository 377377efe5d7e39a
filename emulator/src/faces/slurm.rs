//! The commands of Slurm over an emulated cluster.
//!
//! The commands are links to the `gridrig` program in a directory of their
//! own ([`install`]). A call finds the socket beside its link, sends its
//! arguments and shows the answer ([`client`]); everything it means is decided
//! here, by one task that owns the store of jobs.
//!
//! - Words: [`options`](self) as getopt reads them, names of files and users.
//! - What is asked: `batch` (sbatch), `depend`, `length`.
//! - What is known: `store`, pure; `site`, the cluster's names and nodes.
//! - What is shown: `show`, one module per command.
//! - What acts: `handler` (the task), `door` (the socket), `execute` (scripts).

mod batch;
pub mod client;
mod depend;
mod door;
mod execute;
mod file_names;
mod handler;
mod length;
mod options;
mod show;
mod site;
mod store;
mod users;
mod wire;

pub use door::{Door, InstallError, install};

use crate::Config;
use axum::Router;
use gridrig_service::App;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The commands that are installed.
pub const COMMANDS: [&str; 9] = [
    "sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo", "srun", "sacctmgr", "sshare",
];

/// How this face is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where the commands are installed, and the socket they call.
    pub door: Arc<Door>,
    /// The name of the only partition.
    pub partition: String,
    /// Whether scripts are really executed, and how; else a job takes its
    /// virtual length.
    pub execute: Option<Execute>,
}

impl Setup {
    /// Commands at this door, jobs in virtual mode.
    pub fn new(door: Door) -> Self {
        Setup {
            door: Arc::new(door),
            partition: "compute".to_owned(),
            execute: None,
        }
    }
}

/// The bounds of scripts that are executed. Each is also bounded by its time
/// limit, 24 h where it has none.
#[derive(Clone, Debug)]
pub struct Execute {
    /// Scripts that may run at a time; others wait for one to end, with
    /// their processors held.
    pub at_once: usize,
    /// From the start of a job until its script runs: so long a real node takes, and
    /// programs that make a job's directory after `sbatch` rely on it.
    pub launch_delay: Duration,
}

impl Default for Execute {
    fn default() -> Self {
        Execute {
            at_once: 256,
            launch_delay: Duration::from_millis(250),
        }
    }
}

/// Where the socket lies in the directory of the commands.
fn socket_path(dir: &std::path::Path) -> PathBuf {
    dir.join(".gridrig").join("slurm.sock")
}

/// Starts answering; there are no routes over HTTP.
pub(super) fn routes(app: &App<Config>, setup: &Setup) -> Router {
    handler::open(app, setup);
    Router::new()
}
