//! Debian's Slurm, started on loopback and free ports with a munged of its own,
//! in a directory of its own, and ended with the value.

use crate::realtime::workdir;
use anyhow::{Context as _, anyhow, bail};
use gridrig_replayer::outlet::plain_program;
use gridrig_service::free_ports;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// How the nodes and the scheduler are set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Nodes `n1`, `n2`, ...
    pub nodes: u32,
    /// Pretended processors of each.
    pub cpus: u32,
    /// `sched/builtin` or `sched/backfill`.
    pub scheduler: &'static str,
    /// More `SchedulerParameters`, such as `bf_interval=5`.
    pub parameters: String,
}

/// A running Slurm.
pub struct PrivateSlurm {
    dir: TempDir,
    daemons: Vec<(&'static str, Child)>,
}

/// How long the daemons may take to answer, in looks of [`LOOK`].
const LOOKS: u32 = 600;
const LOOK: Duration = Duration::from_millis(100);

/// Looks until a daemon that is asked to end is ended.
const END_LOOKS: u32 = 50;

/// What is missing for one to be started; empty if nothing is.
pub fn missing() -> Vec<&'static str> {
    let has = |program: &str| {
        let mut folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].into_iter();
        folders.any(|folder| Path::new(folder).join(program).exists())
    };
    let is_root = rustix::process::geteuid().is_root();
    let all = [
        (is_root, "root, which slurmd needs"),
        (has("munged"), "munged (Debian's munge)"),
        (has("slurmctld"), "slurmctld (Debian's slurmctld)"),
        (has("slurmd"), "slurmd (Debian's slurmd)"),
        (has("sbatch"), "sbatch (Debian's slurm-client)"),
    ];
    let missing = all.into_iter().filter(|(is_there, _)| !is_there);
    missing.map(|(_, what)| what).collect()
}

impl PrivateSlurm {
    /// Starts one and waits until all its nodes are idle.
    ///
    /// # Errors
    /// When it is not installed, may not be started, or does not come up.
    pub fn start(setup: &Setup) -> anyhow::Result<Self> {
        let missing = missing();
        if !missing.is_empty() {
            bail!("a Slurm of our own: expected {}", missing.join(", "));
        }
        let mut slurm = PrivateSlurm {
            dir: workdir()?,
            daemons: Vec::new(),
        };
        // Others may look into it, as munge wants it.
        fs::set_permissions(slurm.dir.path(), Permissions::from_mode(0o755))?;
        slurm.munge()?;
        slurm.configure(setup)?;
        slurm.daemon("slurmctld", plain_program("slurmctld").args(["-D", "-c"]))?;
        for node in 1..=setup.nodes {
            let mut slurmd = plain_program("slurmd");
            slurm.daemon("slurmd", slurmd.args(["-D", "-N", &format!("n{node}")]))?;
        }
        let wanted = setup.nodes.to_string();
        let idle = ["-h", "-t", "idle", "-o", "%D"];
        let said = || slurm.run("sinfo", &idle);
        if !comes(LOOKS, || said().is_ok_and(|said| said.trim() == wanted)) {
            let log = slurm.log();
            bail!("Slurm does not come up; its controller says:\n{log}");
        }
        Ok(slurm)
    }

    /// Its `slurm.conf`.
    pub fn conf(&self) -> PathBuf {
        self.path("slurm.conf")
    }

    /// What its controller has logged so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.path("slurmctld.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The process of its controller.
    pub fn controller(&self) -> Option<u32> {
        let mut daemons = self.daemons.iter();
        let controller = daemons.find(|(name, _)| *name == "slurmctld");
        controller.map(|(_, child)| child.id())
    }

    /// One of its commands.
    pub fn command(&self, name: &str) -> Command {
        let mut command = plain_program(format!("/usr/bin/{name}"));
        command.env("SLURM_CONF", self.conf()).stdin(Stdio::null());
        command
    }

    /// What one of its commands says on stdout.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run(&self, name: &str, args: &[&str]) -> anyhow::Result<String> {
        let output = self.command(name).args(args).output();
        let output = output.with_context(|| format!("{name} of Slurm"))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A munged with a key of its own, as its user wants it.
    fn munge(&mut self) -> anyhow::Result<()> {
        let (user, group) = munge_user()?;
        let home = self.path("munge");
        fs::create_dir(&home)?;
        let key = home.join("key");
        let mut bytes = [0; 1024];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        fs::write(&key, bytes)?;
        for path in [&home, &key] {
            chown(path, Some(user), Some(group)).context("files for munge")?;
        }
        fs::set_permissions(&home, Permissions::from_mode(0o755))?;
        fs::set_permissions(&key, Permissions::from_mode(0o400))?;
        let mut munged = plain_program("munged");
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
        self.daemon("munged", &mut munged)?;
        if !comes(LOOKS, || home.join("socket").exists()) {
            let log = fs::read_to_string(home.join("log")).unwrap_or_default();
            bail!("munged does not come up:\n{log}");
        }
        Ok(())
    }

    fn configure(&self, setup: &Setup) -> anyhow::Result<()> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?;
        let host = host.trim();
        for state in ["state", "spool"] {
            fs::create_dir(self.path(state))?;
        }
        let dir = self.dir.path().display();
        let nodes = setup.nodes;
        let ports = free_ports(nodes as usize + 1)?;
        let controller = ports[0];
        let mut text = format!(
            "ClusterName=private\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\n\
             AuthType=auth/munge\nAuthInfo=socket={dir}/munge/socket\nCredType=cred/munge\n\
             SlurmUser=root\nStateSaveLocation={dir}/state\nSlurmdSpoolDir={dir}/spool/%n\n\
             SlurmctldPidFile={dir}/slurmctld.pid\nSlurmdPidFile={dir}/slurmd-%n.pid\n\
             SlurmctldLogFile={dir}/slurmctld.log\nSlurmdLogFile={dir}/slurmd-%n.log\n\
             SlurmctldDebug=debug2\nLogTimeFormat=iso8601_ms\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nReturnToService=2\nMpiDefault=none\n\
             SwitchType=switch/none\nEnforcePartLimits=ALL\nSlurmdParameters=config_overrides\n\
             CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\nSchedulerType={}\n\
             SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,\
             default_queue_depth=10000",
            setup.scheduler
        );
        if !setup.parameters.is_empty() {
            write!(text, ",{}", setup.parameters)?;
        }
        text.push('\n');
        for node in 1..=nodes {
            let (port, cpus) = (ports[node as usize], setup.cpus);
            writeln!(
                text,
                "NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} \
                 CPUs={cpus} RealMemory=1000 State=UNKNOWN"
            )?;
        }
        writeln!(
            text,
            "PartitionName=compute Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP"
        )?;
        fs::write(self.conf(), text)?;
        Ok(())
    }

    fn daemon(&mut self, name: &'static str, command: &mut Command) -> anyhow::Result<()> {
        let child = command
            .env("SLURM_CONF", self.conf())
            // Its log is read as UTC.
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for whoever started it; it ends what it started.
            .process_group(0)
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        self.daemons.push((name, child));
        Ok(())
    }

    /// The step daemons of its nodes, and what runs in their sessions. They are children of
    /// nobody here, but each has the log of its node open.
    fn steps(&self) -> Vec<Pid> {
        let log = self.path("slurmd-").display().to_string();
        let is_step = |pid: Pid| {
            let of = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
            let name = fs::read_to_string(of.join("comm"));
            let files = fs::read_dir(of.join("fd")).into_iter().flatten().flatten();
            let mut files = files.filter_map(|file| fs::read_link(file.path()).ok());
            name.is_ok_and(|name| name.trim() == "slurmstepd")
                && files.any(|file| file.to_string_lossy().starts_with(&log))
        };
        let own = session_of(std::process::id().cast_signed());
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let all = all.filter_map(|it| Pid::from_raw(it.file_name().to_str()?.parse().ok()?));
        let all = all.filter_map(|pid| Some((pid, session_of(pid.as_raw_nonzero().get())?)));
        let all: Vec<(Pid, i32)> = all.filter(|(_, session)| Some(*session) != own).collect();
        let steps = all.iter().filter(|(pid, _)| is_step(*pid));
        let sessions: Vec<i32> = steps.map(|(_, session)| *session).collect();
        let of_steps = all.iter().filter(|(_, it)| sessions.contains(it));
        of_steps.map(|(pid, _)| *pid).collect()
    }
}

/// The session of a process; that of threads of the kernel, and of whoever began outside of a
/// container, is 0 and none.
fn session_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may have anything in it: state, parent, group, session.
    let (_, behind) = stat.rsplit_once(')')?;
    let session = behind.split_whitespace().nth(3)?.parse().ok()?;
    (session > 0).then_some(session)
}

impl Drop for PrivateSlurm {
    fn drop(&mut self) {
        // Jobs outlive their daemons; what is left of them is ended first.
        let cancel = self.command("scancel").args(["-u", "root"]).spawn();
        if let Ok(mut cancel) = cancel {
            end(&mut cancel, false);
        }
        let left = || self.run("squeue", &["-h"]);
        comes(END_LOOKS, || left().is_ok_and(|left| left.is_empty()));
        // The nodes, the controller, munged last.
        while let Some((_, mut daemon)) = self.daemons.pop() {
            end(&mut daemon, true);
        }
        // Without a controller, jobs could not be cancelled.
        comes(END_LOOKS, || {
            let steps = self.steps();
            for step in &steps {
                let _ = kill_process(*step, Signal::KILL);
            }
            steps.is_empty()
        });
    }
}

/// Waits for a child, asking it to end if `ask`; ends it when it takes too
/// long.
fn end(child: &mut Child, ask: bool) {
    if ask {
        let id = child.id().to_string();
        let _ = plain_program("kill").arg(id).stderr(Stdio::null()).status();
    }
    if !comes(END_LOOKS, || !matches!(child.try_wait(), Ok(None))) {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Looks until something is so; whether it is, after so many looks.
fn comes(looks: u32, mut is_so: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| {
        is_so() || {
            sleep(LOOK);
            false
        }
    })
}

/// Number and group of the user that munged runs as.
fn munge_user() -> anyhow::Result<(u32, u32)> {
    let table = fs::read_to_string("/etc/passwd")?;
    let line = table.lines().find_map(|line| line.strip_prefix("munge:"));
    let fields: Vec<&str> = line.unwrap_or_default().split(':').collect();
    match fields.as_slice() {
        [_, user, group, ..] => Ok((user.parse()?, group.parse()?)),
        _ => Err(anyhow!("there is no user munge (expected Debian's munge)")),
    }
}
