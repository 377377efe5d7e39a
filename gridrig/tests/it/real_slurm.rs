//! Debian's real Slurm, started by a test on loopback and free ports, with
//! its own munged, and always stopped with the test.
//!
//! `start` is what a test calls; the commands of the real Slurm find it by
//! the `SLURM_CONF` that [`RealSlurm::command`] sets.

use crate::patience::Patience;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A running Slurm of `nodes` nodes `n1`... of `cpus` pretended processors.
pub struct RealSlurm {
    dir: tempfile::TempDir,
    daemons: Vec<Child>,
}

/// How the nodes and the scheduler of a real Slurm are set up.
pub struct Setup {
    pub nodes: u32,
    pub cpus: u32,
    /// `sched/builtin` or `sched/backfill`.
    pub scheduler: &'static str,
}

/// Seconds until the daemons answer.
const PATIENCE: u64 = 30;

/// Starts one; `None`, with a word, where it is not installed or may not be
/// started, and a failure where nothing may be skipped.
pub fn start(test: &str, setup: &Setup) -> Option<RealSlurm> {
    crate::need::slurm(test)?;
    let dir = tempfile::tempdir().expect("a directory");
    let mut slurm = RealSlurm {
        dir,
        daemons: Vec::new(),
    };
    slurm.munge();
    slurm.configure(setup);
    slurm.daemon(Command::new("slurmctld").args(["-D", "-c"]));
    for node in 1..=setup.nodes {
        slurm.daemon(Command::new("slurmd").args(["-D", "-N", &format!("n{node}")]));
    }
    let idle = |slurm: &RealSlurm| {
        let said = slurm.run("sinfo", &["-h", "-t", "idle", "-o", "%D"]);
        String::from_utf8_lossy(&said.stdout).trim() == setup.nodes.to_string()
    };
    let patience = Patience::seconds(PATIENCE).every(100);
    while !idle(&slurm) {
        let log = std::fs::read_to_string(slurm.path("slurmctld.log")).unwrap_or_default();
        patience.wait(format_args!("the real Slurm does not come up:\n{log}"));
    }
    Some(slurm)
}

impl RealSlurm {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A munged of its own, with a key of its own, as its user wants it.
    fn munge(&mut self) {
        let open = |path: &Path, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("permissions");
        };
        open(self.dir.path(), 0o755);
        let (user, group) = munge_user();
        let home = self.path("munge");
        std::fs::create_dir(&home).expect("a directory");
        let key = home.join("key");
        std::fs::write(&key, [7; 1024]).expect("a key");
        for path in [&home, &key] {
            chown(path, Some(user), Some(group)).expect("root gives files away");
        }
        open(&home, 0o755);
        open(&key, 0o400);
        let mut munged = Command::new("munged");
        munged.arg("-F").uid(user).gid(group);
        for (option, file) in [
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        ] {
            munged.arg(format!("--{option}={}", home.join(file).display()));
        }
        self.daemon(&mut munged);
        let patience = Patience::seconds(PATIENCE);
        while !home.join("socket").exists() {
            let log = std::fs::read_to_string(home.join("log")).unwrap_or_default();
            patience.wait(format_args!("munged does not come up:\n{log}"));
        }
    }

    fn configure(&self, setup: &Setup) {
        let host = Command::new("hostname").output().expect("hostname");
        let host = String::from_utf8_lossy(&host.stdout).trim().to_owned();
        for state in ["state", "spool"] {
            std::fs::create_dir(self.path(state)).expect("a directory");
        }
        let dir = self.dir.path().display();
        let (controller, nodes) = (free_port(), setup.nodes);
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\n\
             AuthType=auth/munge\nAuthInfo=socket={dir}/munge/socket\nCredType=cred/munge\n\
             SlurmUser=root\nStateSaveLocation={dir}/state\nSlurmdSpoolDir={dir}/spool/%n\n\
             SlurmctldPidFile={dir}/slurmctld.pid\nSlurmdPidFile={dir}/slurmd-%n.pid\n\
             SlurmctldLogFile={dir}/slurmctld.log\nSlurmdLogFile={dir}/slurmd-%n.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nReturnToService=2\nMpiDefault=none\n\
             SwitchType=switch/none\nEnforcePartLimits=ALL\nSlurmdParameters=config_overrides\n\
             CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\nSchedulerType={}\n\
             SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,\
             default_queue_depth=10000\n",
            setup.scheduler
        );
        for node in 1..=nodes {
            let (port, cpus) = (free_port(), setup.cpus);
            writeln!(
                text,
                "NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} \
                 CPUs={cpus} RealMemory=1000 State=UNKNOWN"
            )
            .expect("text");
        }
        writeln!(
            text,
            "PartitionName=compute Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP"
        )
        .expect("text");
        std::fs::write(self.path("slurm.conf"), text).expect("a configuration");
    }

    fn daemon(&mut self, command: &mut Command) {
        let child = command
            .env("SLURM_CONF", self.path("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.daemons.push(child.expect("a daemon starts"));
    }

    /// A command of this Slurm.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(format!("/usr/bin/{name}"));
        command
            .env("SLURM_CONF", self.path("slurm.conf"))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command of this Slurm.
    pub fn run(&self, name: &str, args: &[&str]) -> Output {
        let output = self.command(name).args(args).output();
        output.expect("a command of Slurm runs")
    }
}

impl Drop for RealSlurm {
    fn drop(&mut self) {
        // Jobs outlive their daemons; what is left of them is ended first.
        let cancel = self.command("scancel").args(["-u", "root"]).spawn();
        if let Ok(mut cancel) = cancel {
            end(&mut cancel, false);
        }
        let patience = Patience::seconds(5);
        while !patience.is_over() {
            let left = self.command("squeue").arg("-h").output();
            if left.is_ok_and(|left| left.stdout.is_empty()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        // The nodes, the controller, munged last.
        while let Some(mut daemon) = self.daemons.pop() {
            end(&mut daemon, true);
        }
    }
}

/// Waits for a child, asking it to end if `ask`; ends it when it takes too
/// long.
fn end(child: &mut Child, ask: bool) {
    if ask {
        let id = child.id().to_string();
        let _ = Command::new("kill").arg(id).stderr(Stdio::null()).status();
    }
    let patience = Patience::seconds(5);
    while !patience.is_over() {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Number and group of the user that munged runs as.
fn munge_user() -> (u32, u32) {
    let table = std::fs::read_to_string("/etc/passwd").expect("users");
    let line = table.lines().find(|line| line.starts_with("munge:"));
    let fields: Vec<&str> = line.expect("the user munge").split(':').collect();
    let number = |at: usize| fields[at].parse().expect("a number");
    (number(2), number(3))
}
