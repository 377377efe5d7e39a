//! `srun` inside a batch script: the tasks of a step, as processes of this
//! host, whatever nodes the job was given.

use super::{Refusal, eprint};
use crate::faces::slurm::file_names::{Facts, NO_TASK, fill};
use crate::faces::slurm::options::{Parsed, parse};
use crate::slurm::hostlist;
use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::{JoinHandle, spawn};

/// The most tasks of one step: each is a process.
const MOST_TASKS: u32 = 4_096;

pub(super) fn srun(called: &str, args: &[String]) -> Result<u8, Refusal> {
    let mistaken = |said| Refusal(255, said);
    let parsed = parse("srun", called, args).map_err(mistaken)?;
    if parsed.has("version") {
        return Ok(super::version());
    }
    let no_job = "srun: error: no allocation of an emulated cluster to run in (expected to be \
                  called from a script of sbatch)\n";
    let job = variable("SLURM_JOB_ID").ok_or_else(|| Refusal(1, no_job.to_owned()))?;
    if parsed.rest.is_empty() {
        let what = "srun: fatal: No command given to execute.\n";
        return Err(Refusal(1, what.to_owned()));
    }
    Ok(Step::of(&parsed, job).map_err(mistaken)?.run())
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A step of a job.
struct Step<'a> {
    parsed: &'a Parsed,
    tasks: u32,
    nodes: Vec<String>,
    facts: Facts,
}

impl<'a> Step<'a> {
    fn of(parsed: &'a Parsed, job: String) -> Result<Self, String> {
        let number = |name: &str| {
            let number = parsed.number(name, MOST_TASKS);
            number.map_err(|what| format!("srun: error: {what}\n"))
        };
        let of_job = |name: &str| variable(name).and_then(|text| text.parse().ok());
        let nodes = number("nodes")?;
        let per_node = number("ntasks-per-node")?;
        let tasks = match (number("ntasks")?, nodes, per_node) {
            (Some(tasks), _, _) => tasks,
            (None, Some(nodes), per_node) => nodes.saturating_mul(per_node.unwrap_or(1)),
            (None, None, _) => of_job("SLURM_NTASKS")
                .or_else(|| of_job("SLURM_JOB_NUM_NODES"))
                .unwrap_or(1),
        };
        let list = variable("SLURM_JOB_NODELIST").unwrap_or_default();
        let mut list = hostlist::expand(&list).unwrap_or_default();
        list.truncate(nodes.map_or(usize::MAX, |nodes| nodes as usize));
        if list.is_empty() {
            list.push("localhost".to_owned());
        }
        let array = variable("SLURM_ARRAY_JOB_ID").unwrap_or_else(|| job.clone());
        let task = variable("SLURM_ARRAY_TASK_ID").unwrap_or_else(|| NO_TASK.to_string());
        let facts = Facts::from([
            ('J', format!("{job}.0")),
            ('j', job),
            ('A', array),
            ('a', task),
            ('x', variable("SLURM_JOB_NAME").unwrap_or_default()),
            ('u', variable("SLURM_JOB_USER").unwrap_or_default()),
            ('s', "0".to_owned()),
        ]);
        Ok(Step {
            parsed,
            tasks: tasks.clamp(1, MOST_TASKS),
            nodes: list,
            facts,
        })
    }

    /// Starts all tasks, waits for them and answers the greatest exit code.
    fn run(&self) -> u8 {
        let (mut children, mut labels) = (Vec::new(), Vec::new());
        let mut worst = 0;
        for task in 0..self.tasks {
            match self.start(task) {
                Ok(mut child) => {
                    labels.extend(self.label(task, &mut child));
                    children.push((task, child));
                }
                Err(said) => {
                    eprint(&said);
                    worst = 2;
                    break;
                }
            }
        }
        for (task, mut child) in children {
            let Ok(status) = child.wait() else { continue };
            let code = match (status.code(), status.signal()) {
                (Some(code), _) => u8::try_from(code & 0xff).unwrap_or(1),
                (None, signal) => 128 | u8::try_from(signal.unwrap_or(0) & 0x7f).unwrap_or(0),
            };
            if code != 0 {
                let node = self.node_of(task).1;
                let said = match status.signal() {
                    Some(signal) => format!("srun: error: {node}: task {task}: signal {signal}\n"),
                    None => {
                        format!("srun: error: {node}: task {task}: Exited with exit code {code}\n")
                    }
                };
                eprint(&said);
            }
            worst = worst.max(code);
        }
        for label in labels {
            // A label's thread ends with what it labels.
            let _ = label.join();
        }
        worst
    }

    /// With `--label`: threads that write a task's lines with its number.
    fn label(&self, task: u32, child: &mut Child) -> Vec<JoinHandle<()>> {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let stdout = stdout.map(|from| spawn(move || copy_lines(task, from, io::stdout())));
        let stderr = stderr.map(|from| spawn(move || copy_lines(task, from, io::stderr())));
        stdout.into_iter().chain(stderr).collect()
    }

    /// Number and name of the node that a task is on: in blocks, as Slurm
    /// distributes them.
    fn node_of(&self, task: u32) -> (usize, &str) {
        let nodes = self.nodes.len();
        let per_node = (self.tasks as usize).div_ceil(nodes).max(1);
        let at = (task as usize / per_node).min(nodes - 1);
        (at, &self.nodes[at])
    }

    fn start(&self, task: u32) -> Result<Child, String> {
        let (program, args) = self.parsed.rest.split_first().ok_or_else(String::new)?;
        let (node_id, node) = self.node_of(task);
        let mut facts = self.facts.clone();
        facts.extend([('n', node_id.to_string()), ('t', task.to_string())]);
        facts.insert('N', node.to_owned());
        let mut command = Command::new(program);
        command.args(args);
        let first_on_node = (0..task).filter(|other| self.node_of(*other).0 == node_id);
        let local = first_on_node.count();
        for (name, value) in [
            ("SLURM_PROCID", task.to_string()),
            ("SLURM_LOCALID", local.to_string()),
            ("SLURM_NODEID", node_id.to_string()),
            ("SLURMD_NODENAME", node.to_owned()),
            ("SLURM_STEP_ID", "0".to_owned()),
            ("SLURM_STEPID", "0".to_owned()),
            ("SLURM_STEP_NUM_TASKS", self.tasks.to_string()),
            ("SLURM_STEP_NUM_NODES", self.nodes.len().to_string()),
            ("SLURM_NTASKS", self.tasks.to_string()),
            ("SLURM_NPROCS", self.tasks.to_string()),
        ] {
            command.env(name, value);
        }
        self.export(&mut command);
        if let Some(dir) = self.parsed.last("chdir") {
            command.current_dir(dir);
        }
        self.redirect(&mut command, &facts)?;
        command.spawn().map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "No such file or directory".to_owned(),
                io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
                _ => error.to_string(),
            };
            format!(
                "slurmstepd-{node}: error: execve(): {program}: {why}\n\
                 srun: error: {node}: task {task}: Exited with exit code 2\n"
            )
        })
    }

    fn export(&self, command: &mut Command) {
        for part in self.parsed.last("export").unwrap_or_default().split(',') {
            if let Some((name, value)) = part.split_once('=') {
                command.env(name, value);
            }
        }
    }

    fn redirect(&self, command: &mut Command, facts: &Facts) -> Result<(), String> {
        let mode = self.parsed.last("open-mode");
        let append = mode.is_some_and(|mode| mode.starts_with('a'));
        let open = |pattern: &str| {
            let path = PathBuf::from(fill(pattern, facts));
            // Tasks that share a file must not cut each other's lines off.
            let shared = !pattern.contains("%t") && facts[&'t'] != "0";
            let mut options = OpenOptions::new();
            options.create(true).append(true);
            if !append && !shared {
                let _ = std::fs::remove_file(&path);
            }
            options.open(&path).map_err(|error| {
                format!("srun: error: Could not open {}: {error}\n", path.display())
            })
        };
        if self.parsed.has("label") {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        if let Some(output) = self.parsed.last("output").filter(|name| *name != "none") {
            let file = open(output)?;
            if self.parsed.last("error").is_none() {
                let copy = file.try_clone();
                command.stderr(copy.map_err(|error| format!("srun: error: {error}\n"))?);
            }
            command.stdout(file);
        }
        if let Some(error) = self.parsed.last("error").filter(|name| *name != "none") {
            command.stderr(open(error)?);
        }
        match self.parsed.last("input") {
            Some("none") => drop(command.stdin(Stdio::null())),
            Some(path) => {
                let file = std::fs::File::open(fill(path, facts));
                let file =
                    file.map_err(|error| format!("srun: error: Could not open {path}: {error}\n"))?;
                command.stdin(file);
            }
            // One task may read; several would take each other's input.
            None if self.tasks > 1 => drop(command.stdin(Stdio::null())),
            None => {}
        }
        Ok(())
    }
}

fn copy_lines(task: u32, from: impl Read, mut to: impl Write) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let mut labelled = format!("{task}: ").into_bytes();
        labelled.append(&mut line);
        if to.write_all(&labelled).is_err() {
            return;
        }
    }
}
