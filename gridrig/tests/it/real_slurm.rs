//! Debian's real Slurm, started by a test on loopback and always stopped with
//! the test.

pub use gridrig::reproduce::private_slurm::Setup;

use gridrig::reproduce::private_slurm::PrivateSlurm;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Nodes of so many processors whose scheduler takes one job after the other.
pub fn builtin(nodes: u32, cpus: u32) -> Setup {
    Setup {
        nodes,
        cpus,
        scheduler: "sched/builtin",
        parameters: String::new(),
    }
}

/// A running Slurm.
pub struct RealSlurm(PrivateSlurm);

/// Starts one; `None`, with a word, where it is not installed or may not be
/// started, and a failure where nothing may be skipped.
pub fn start(test: &str, setup: &Setup) -> Option<RealSlurm> {
    crate::need::slurm(test)?;
    Some(RealSlurm(PrivateSlurm::start(setup).expect("a real Slurm")))
}

impl RealSlurm {
    /// Its `slurm.conf`.
    pub fn conf(&self) -> PathBuf {
        self.0.conf()
    }

    /// Ends its controller as a crash would.
    pub fn crash_controller(&self) {
        let id = self.0.controller().expect("a controller").to_string();
        let kill = Command::new("kill").args(["-KILL", &id]).status();
        assert!(kill.expect("kill").success());
    }

    /// Ends it; answers the processes that still have a log of its nodes open.
    pub fn end(self) -> Vec<PathBuf> {
        let log = self.conf().with_file_name("slurmd-").display().to_string();
        drop(self.0);
        let all = fs::read_dir("/proc").expect("processes").flatten();
        let has_log = |process: &PathBuf| {
            let files = fs::read_dir(process.join("fd")).into_iter().flatten();
            let paths = files.flatten().map(|file| file.path());
            let mut files = paths.filter_map(|path| fs::read_link(path).ok());
            files.any(|file| file.to_string_lossy().starts_with(&log))
        };
        all.map(|it| it.path()).filter(has_log).collect()
    }

    /// A command of this Slurm.
    pub fn command(&self, name: &str) -> Command {
        self.0.command(name)
    }

    /// Runs a command of this Slurm.
    pub fn run(&self, name: &str, args: &[&str]) -> Output {
        let output = self.command(name).args(args).output();
        output.expect("a command of Slurm runs")
    }
}
