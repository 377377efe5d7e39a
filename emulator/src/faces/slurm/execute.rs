//! Scripts that are really executed, under the emulated allocation.
//!
//! A script runs in a process group of its own, with the environment that its
//! submitter gave it and nothing of ours, on this host whatever nodes it was
//! given. At most so many run at a time; when one is to end, its group is
//! asked first and ended after [`KILL_WAIT`].

mod environment;

use super::batch::{Batch, Interpreter, OpenMode, Reach};
use super::file_names::{default_output, facts, fill};
use super::site::Site;
use super::store::Job;
use super::{Execute, Setup};
use environment::environment;
use parking_lot::Mutex;
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Between asking a job's processes to end and ending them, as Slurm's
/// `KillWait` but shorter.
pub(super) const KILL_WAIT: Duration = Duration::from_secs(5);

/// The end of a script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exited {
    pub seq: u32,
    /// Exit code and signal.
    pub exit: (u8, u8),
    /// Why it never began.
    pub failed: Option<&'static str>,
}

impl Exited {
    /// Its script has run, or was ended.
    fn of(seq: u32, exit: (u8, u8)) -> Self {
        let failed = None;
        Exited { seq, exit, failed }
    }
}

/// Runs scripts.
pub(super) struct Runner {
    bounds: Execute,
    dir: PathBuf,
    spool: PathBuf,
    exits: UnboundedSender<thread::Result<Exited>>,
    running: BTreeMap<u32, Arc<Mutex<Process>>>,
    backlog: VecDeque<Launch>,
}

/// A script's process, as far as it has come.
#[derive(Debug, Default)]
struct Process {
    group: Option<Pid>,
    /// Whether it was to end before it began.
    unwanted: bool,
}

/// Everything that a script's process is made of.
struct Launch {
    seq: u32,
    batch: Arc<Batch>,
    spool: PathBuf,
    env: Vec<(String, String)>,
    output: PathBuf,
    error: Option<PathBuf>,
    input: Option<PathBuf>,
}

impl Runner {
    pub fn new(setup: &Setup, exits: UnboundedSender<thread::Result<Exited>>) -> Self {
        Runner {
            bounds: setup.execute.clone().unwrap_or_default(),
            dir: setup.door.dir().to_owned(),
            spool: setup.door.spool(),
            exits,
            running: BTreeMap::new(),
            backlog: VecDeque::new(),
        }
    }

    /// Starts the script of a job that has its processors.
    pub fn launch(&mut self, job: &Job, site: &Site) {
        let spool = self.spool.join(format!("job{:05}", job.id));
        let work_dir = Path::new(&job.batch.work_dir);
        let facts = facts(job, site);
        let file = |pattern: &str| work_dir.join(fill(pattern, &facts));
        let launch = Launch {
            seq: job.seq,
            batch: Arc::clone(&job.batch),
            env: environment(job, site, &self.dir),
            output: file(job.batch.output.as_deref().unwrap_or(default_output(job))),
            error: job.batch.error.as_deref().map(file),
            input: job.batch.input.as_deref().map(file),
            spool,
        };
        self.backlog.push_back(launch);
        self.start_more();
    }

    fn start_more(&mut self) {
        while self.running.len() < self.bounds.at_once.max(1)
            && let Some(launch) = self.backlog.pop_front()
        {
            let process: Arc<Mutex<Process>> = Arc::default();
            let (seq, exits) = (launch.seq, self.exits.clone());
            let delay = self.bounds.launch_delay;
            self.running.insert(seq, Arc::clone(&process));
            let named = thread::Builder::new().name(format!("slurm-job-{seq}"));
            let spawned = named.spawn(move || {
                thread::sleep(delay);
                let exited = catch_unwind(AssertUnwindSafe(|| launch.run(&process)));
                // The handler has gone when the service has ended.
                let _ = exits.send(exited);
            });
            if let Err(error) = spawned {
                tracing::warn!(%error, "no thread can be started for a Slurm job");
                let _ = self.exits.send(Ok(failed(seq)));
            }
        }
    }

    /// A script has ended: the next may start.
    pub fn ended(&mut self, seq: u32) {
        self.running.remove(&seq);
        self.start_more();
    }

    /// Asks a script to end, and ends it when it does not.
    pub fn kill(&mut self, seq: u32) {
        let waits = self.backlog.iter().position(|launch| launch.seq == seq);
        if let Some(at) = waits {
            self.backlog.remove(at);
            let _ = self.exits.send(Ok(Exited::of(seq, (0, 15))));
            return;
        }
        let Some(process) = self.running.get(&seq).cloned() else {
            return;
        };
        signal_group(&process, Signal::TERM);
        // A stopped process hears nothing.
        signal_group(&process, Signal::CONT);
        tokio::spawn(async move {
            tokio::time::sleep(KILL_WAIT).await;
            signal_group(&process, Signal::KILL);
        });
    }

    /// Sends these of a script's processes a signal.
    pub fn signal(&self, seq: u32, number: i32, reach: Reach) {
        let (process, signal) = (self.running.get(&seq), Signal::from_named_raw(number));
        let Some((process, signal)) = process.zip(signal) else {
            return;
        };
        let group = process.lock().group;
        match (reach, group) {
            (Reach::All, _) => signal_group(process, signal),
            (_, None) => {}
            // The shell leads its group.
            (Reach::Batch, Some(shell)) => drop(kill_process(shell, signal)),
            (Reach::Steps, Some(group)) => {
                for task in tasks_of(group) {
                    // It may just have ended.
                    let _ = kill_process(task, signal);
                }
            }
        }
    }

    /// Ends all scripts at once: their cluster has ended.
    pub fn end_all(&mut self) {
        self.backlog.clear();
        for process in self.running.values() {
            signal_group(process, Signal::KILL);
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.end_all();
    }
}

fn signal_group(process: &Mutex<Process>, signal: Signal) {
    let mut process = process.lock();
    match process.group {
        Some(group) => {
            // It may just have ended.
            let _ = kill_process_group(group, signal);
        }
        None if signal == Signal::TERM || signal == Signal::KILL => process.unwanted = true,
        None => {}
    }
}

/// What runs below an `srun` in this group of processes.
fn tasks_of(group: Pid) -> Vec<Pid> {
    let group = group.as_raw_nonzero().get();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    // PID (NAME) STATE PARENT GROUP ..., where a name may have blanks and parentheses.
    let known = processes.filter_map(|process| {
        let id: i32 = process.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let mut rest = rest.split_ascii_whitespace().skip(1).map(str::parse::<i32>);
        let (parent, its_group) = (rest.next()?.ok()?, rest.next()?.ok()?);
        (its_group == group).then(|| (id, (parent, name == "srun")))
    });
    let known: BTreeMap<i32, (i32, bool)> = known.collect();
    let is_task = |id: &i32| {
        let parent = |id: &i32| known.get(id).map(|(parent, _)| *parent);
        let mut above = std::iter::successors(parent(id), parent).take(known.len());
        above.any(|id| known.get(&id).is_some_and(|(_, is_srun)| *is_srun))
    };
    let tasks = known.keys().filter(|id| is_task(id));
    tasks.filter_map(|id| Pid::from_raw(*id)).collect()
}

fn failed(seq: u32) -> Exited {
    // Slurm's code for output files that cannot be opened.
    Exited {
        failed: Some("JobLaunchFailure"),
        ..Exited::of(seq, (0, 53))
    }
}

impl Launch {
    /// Runs the script to its end.
    fn run(&self, process: &Mutex<Process>) -> Exited {
        let exited = match self.start(process) {
            Ok(Some(mut child)) => {
                // Until it is waited for, no other process gets its number.
                let (id, ended) = (WaitId::Pid(Pid::from_child(&child)), WaitIdOptions::EXITED);
                let _ = retry_on_intr(|| waitid(id.clone(), ended | WaitIdOptions::NOWAIT));
                if let Some(group) = process.lock().group.take() {
                    // What a script leaves behind ends with its job.
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let status = child.wait().ok();
                status.map(|status| Exited::of(self.seq, exit_of(status)))
            }
            Ok(None) => Some(Exited::of(self.seq, (0, 15))),
            Err(error) => {
                tracing::info!(job = self.seq, %error, "a Slurm job could not be launched");
                None
            }
        };
        // The spool of one job is of no use to another.
        let _ = fs::remove_dir_all(&self.spool);
        exited.unwrap_or_else(|| failed(self.seq))
    }

    fn start(&self, process: &Mutex<Process>) -> io::Result<Option<std::process::Child>> {
        fs::create_dir_all(&self.spool)?;
        let script = self.spool.join("slurm_script");
        write_script(&script, &self.batch.script)?;
        let output = self.open(&self.output)?;
        let error = match &self.error {
            Some(path) if *path != self.output => self.open(path)?,
            _ => output.try_clone()?,
        };
        let input = match &self.input {
            Some(path) => Stdio::from(File::open(path)?),
            None => Stdio::null(),
        };
        // As slurmd does where the directory is not there (any more).
        let work_dir = Path::new(&self.batch.work_dir);
        let work_dir = match work_dir.is_dir() {
            true => work_dir,
            false => Path::new("/tmp"),
        };
        let interpreter = Interpreter::of(&self.batch.script);
        let mut command = Command::new(&interpreter.path);
        command
            .args(&interpreter.argument)
            .arg(&script)
            .args(&self.batch.arguments)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(work_dir)
            .stdin(input)
            .stdout(output)
            .stderr(error)
            .process_group(0);
        let mut process = process.lock();
        if process.unwanted {
            return Ok(None);
        }
        let child = command.spawn()?;
        let id = i32::try_from(child.id()).ok();
        process.group = id.and_then(Pid::from_raw);
        Ok(Some(child))
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let append = self.batch.open_mode == OpenMode::Append;
        let mut options = OpenOptions::new();
        options.create(true).write(true);
        options.append(append).truncate(!append).open(path)
    }
}

/// Writes a script where nothing lies, not even a link: it is executed.
fn write_script(path: &Path, script: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o700);
    options.open(path)?.write_all(script)
}

fn exit_of(status: std::process::ExitStatus) -> (u8, u8) {
    let byte = |number: i32| u8::try_from(number & 0xff).unwrap_or(0);
    let code = status.code().map_or(0, byte);
    (code, status.signal().map_or(0, byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_written_where_nothing_lies() {
        let name = format!("gridrig-script-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).unwrap();
        let (theirs, link) = (dir.join("theirs"), dir.join("slurm_script"));
        fs::write(&theirs, "kept").unwrap();
        std::os::unix::fs::symlink(&theirs, &link).unwrap();
        for planted in [&link, &theirs] {
            let refused = write_script(planted, b"#!/bin/sh\n").unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read(&theirs).unwrap(), b"kept");
        fs::remove_file(&link).unwrap();
        write_script(&link, b"#!/bin/sh\n").unwrap();
        assert_eq!(fs::read(&link).unwrap(), b"#!/bin/sh\n");
        fs::remove_dir_all(dir).unwrap();
    }
}
