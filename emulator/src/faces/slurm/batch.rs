//! What `sbatch` is told: options, the script's `#SBATCH` lines, the
//! caller's `SBATCH_*` variables.

mod array;
mod script;
mod values;

pub(super) use array::{MAX_ARRAY_SIZE, TaskList, compress};
pub(super) use script::{Interpreter, words};
pub(super) use values::{Reach, Warning, signal_number};

use super::depend::{self, Wish};
use super::options::{Parsed, parse};
use crate::slurm::times::Limit;
use gridrig_core::generic::Generics;
use std::sync::Arc;

/// The exit code of sbatch for options it cannot read.
pub(super) const BAD_OPTION: u8 = 255;

/// How a script's output file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OpenMode {
    #[default]
    Truncate,
    Append,
}

/// A batch job as it was asked for. Shared by the tasks of an array.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub user: Arc<str>,
    pub partition: Option<String>,
    pub account: Option<String>,
    pub comment: Option<String>,
    pub wckey: Option<String>,
    pub reservation: Option<String>,
    pub qos: Option<String>,
    pub nice: i64,
    pub limit: Option<Limit>,
    /// Tasks, processors of each, and the fewest nodes.
    pub tasks: u32,
    pub tasks_given: bool,
    pub cpus_per_task: u32,
    pub cpus_per_task_given: bool,
    pub tasks_per_node: Option<u32>,
    pub nodes: Option<u32>,
    /// The most nodes; no fewer than the fewest.
    pub most_nodes: Option<u32>,
    /// Nodes asked for and not wanted, by name: shown, and without effect.
    pub wanted_nodes: Option<String>,
    pub unwanted_nodes: Option<String>,
    pub exclusive: bool,
    pub requeue: bool,
    /// Whether it is cancelled once its dependencies can never come true.
    pub kill_on_invalid_dep: bool,
    /// The signal that it is sent before its limit.
    pub warning: Option<Warning>,
    /// What it was submitted by.
    pub submit_line: String,
    /// Memory of each node, or of each processor, in MiB.
    pub mem: Option<u64>,
    pub mem_per_cpu: Option<u64>,
    /// `--gres`: of each node.
    pub gres: Generics,
    pub work_dir: String,
    pub output: Option<String>,
    pub error: Option<String>,
    pub input: Option<String>,
    pub open_mode: OpenMode,
    pub export: Option<String>,
    /// The path of the script; none where it came by `--wrap` or stdin.
    pub command: Option<String>,
    pub script: Vec<u8>,
    pub arguments: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Whether another interface of the cluster took the job in.
    pub foreign: bool,
}

impl Batch {
    /// Whether it shares its nodes, as listings have it.
    pub fn shares(&self) -> &'static str {
        if self.exclusive { "NO" } else { "OK" }
    }

    /// Processors wanted.
    pub fn processors(&self) -> u32 {
        let processors = self.tasks.saturating_mul(self.cpus_per_task);
        processors.max(self.nodes.unwrap_or(1))
    }

    /// The fewest processors of each node.
    pub fn cpus_on_node(&self) -> u32 {
        let tasks = self.tasks_per_node.unwrap_or(1).max(1);
        tasks.saturating_mul(self.cpus_per_task)
    }

    /// The fewest nodes: those asked for, or what tasks need that are told
    /// how many of them share one.
    pub fn fewest_nodes(&self) -> u32 {
        let shared = self.tasks_per_node.map(|per| self.tasks.div_ceil(per));
        self.nodes.or(shared).unwrap_or(1)
    }

    /// The most processors of one node: its tasks are spread evenly over the fewest nodes.
    /// 0 is any number: all of them may be on one node, or whole nodes are taken, or what is
    /// reserved, which is of no node.
    pub fn most_per_node(&self) -> u32 {
        let nodes = self.fewest_nodes().max(1);
        let even = self.tasks.max(nodes).div_ceil(nodes);
        let tasks = even.min(self.tasks_per_node.unwrap_or(u32::MAX));
        match nodes > 1 && !self.exclusive && self.reservation.is_none() {
            true => tasks.saturating_mul(self.cpus_per_task),
            false => 0,
        }
    }

    /// The script's path with its arguments, as the commands show it.
    pub fn called(&self) -> String {
        let Some(command) = &self.command else {
            return "(null)".to_owned();
        };
        let arguments = self.arguments.iter().map(String::as_str);
        let words: Vec<&str> = std::iter::once(command.as_str()).chain(arguments).collect();
        words.join(" ")
    }
}

/// All that one `sbatch` asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    pub batch: Batch,
    pub array: Option<TaskList>,
    pub wishes: Vec<Wish>,
    /// All options, weaker ones first.
    pub given: Parsed,
    /// Goes to stderr besides what else is said.
    pub warnings: String,
}

/// Exit code and words of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub u8, pub String);

impl Refusal {
    pub fn error(code: u8, what: &str) -> Self {
        Refusal(code, format!("sbatch: error: {what}\n"))
    }

    /// Something that Slurm's controller would refuse.
    pub fn submission(what: &str) -> Self {
        Self::error(1, &format!("Batch job submission failed: {what}"))
    }

    /// A job of several components.
    fn heterogeneous() -> Self {
        let why = "Heterogeneous jobs are not emulated (expected one component, without \":\" \
                   and #SBATCH hetjob)";
        Self::because(why, "Requested operation not supported on this system")
    }

    /// The same, after why.
    pub fn because(why: &str, what: &str) -> Self {
        Refusal(1, Self::error(1, why).1 + &Self::submission(what).1)
    }
}

/// Reads the command line alone: the caller's side needs the script's name.
pub(super) fn command_line(called: &str, args: &[String]) -> Result<Parsed, Refusal> {
    let parsed = parse("sbatch", called, args).map_err(|said| Refusal(BAD_OPTION, said))?;
    match parsed.rest.first().is_some_and(|word| word == ":") {
        true => Err(Refusal::heterogeneous()),
        false => Ok(parsed),
    }
}

/// The variables that stand for options, weaker than the command line.
const VARIABLES: [(&str, &str); 10] = [
    ("SBATCH_ACCOUNT", "account"),
    ("SBATCH_ARRAY_INX", "array"),
    ("SBATCH_EXPORT", "export"),
    ("SBATCH_JOB_NAME", "job-name"),
    ("SBATCH_NO_REQUEUE", "no-requeue"),
    ("SBATCH_OPEN_MODE", "open-mode"),
    ("SBATCH_PARTITION", "partition"),
    ("SBATCH_RESERVATION", "reservation"),
    ("SBATCH_TIMELIMIT", "time"),
    ("SBATCH_WCKEY", "wckey"),
];

/// Everything that was asked for; later sources win: `#SBATCH` lines, the
/// environment, the command line.
pub(super) fn read(
    called: &str,
    args: &[String],
    env: &[(String, String)],
    script: &[u8],
) -> Result<Order, Refusal> {
    let line = command_line(called, args)?;
    let mut all = Parsed::default();
    if !line.has("wrap") {
        script::check(script)?;
        let name = line.rest.first().map_or("stdin", String::as_str);
        all.options = script::directives(called, name, script)?;
    }
    for (variable, option) in VARIABLES {
        if let Some((_, value)) = env.iter().find(|(name, _)| name == variable) {
            all.options.push((option, Some(value.clone())));
        }
    }
    all.options.extend(line.options.iter().cloned());
    let mut order = Order::default();
    apply(&all, &mut order)?;
    let path = line.rest.first();
    let default_name = match (line.has("wrap"), path) {
        (true, _) => "wrap",
        (false, Some(path)) => path.rsplit('/').next().unwrap_or(path),
        (false, None) => "sbatch",
    };
    if order.batch.name.is_empty() {
        order.batch.name = default_name.to_owned();
    }
    order.batch.command = path.cloned();
    order.batch.arguments = line.rest.iter().skip(1).cloned().collect();
    order.batch.script = match line.last("wrap") {
        Some(wrapped) => script::wrap(wrapped),
        None => script.to_vec(),
    };
    order.given = all;
    Ok(order)
}

fn apply(all: &Parsed, order: &mut Order) -> Result<(), Refusal> {
    let text = |name: &str| all.last(name).map(str::to_owned);
    let batch = &mut order.batch;
    batch.name = text("job-name").unwrap_or_default();
    batch.partition = text("partition");
    batch.account = text("account");
    batch.comment = text("comment");
    batch.wckey = text("wckey");
    batch.reservation = text("reservation");
    batch.qos = text("qos");
    batch.output = text("output");
    batch.error = text("error");
    batch.input = text("input");
    batch.export = text("export");
    batch.work_dir = text("chdir").unwrap_or_default();
    batch.wanted_nodes = text("nodelist");
    batch.unwanted_nodes = text("exclude");
    values::check(all)?;
    batch.exclusive = all.has("exclusive");
    batch.requeue = last_of(all, "requeue", "no-requeue").unwrap_or(true);
    let kills = all.last("kill-on-invalid-dep");
    batch.kill_on_invalid_dep = kills.is_some_and(|kills| kills.eq_ignore_ascii_case("yes"));
    batch.warning = all.last("signal").and_then(Warning::parse);
    batch.nice = match all.last("nice") {
        Some("") => 100,
        Some(nice) => values::leading_number(nice),
        None => 0,
    };
    batch.open_mode = match all.last("open-mode") {
        Some(mode) if mode.starts_with('a') => OpenMode::Append,
        _ => OpenMode::Truncate,
    };
    if let Some(time) = all.last("time") {
        let bad = || Refusal::error(BAD_OPTION, "Invalid --time specification");
        batch.limit = Some(Limit::parse(time).ok_or_else(bad)?);
    }
    if all.has("mem") && all.has("mem-per-cpu") {
        let what = "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.";
        return Err(Refusal(1, format!("sbatch: fatal: {what}\n")));
    }
    batch.mem = memory(all, "mem")?;
    batch.mem_per_cpu = memory(all, "mem-per-cpu")?;
    batch.gres = gres(all)?;
    sizes(all, order)?;
    if let Some(list) = all.last("array") {
        let tasks = TaskList::parse(list);
        let bad = || Refusal::submission("Invalid job array specification");
        order.array = Some(tasks.ok_or_else(bad)?);
    }
    if let Some(wishes) = all.last("dependency").filter(|wishes| !wishes.is_empty()) {
        let wishes = depend::parse(wishes);
        order.wishes = wishes.ok_or_else(|| Refusal::submission("Job dependency problem"))?;
    }
    Ok(())
}

/// Which of two opposite flags came last.
fn last_of(all: &Parsed, yes: &str, no: &str) -> Option<bool> {
    let mut given = all.options.iter().rev().map(|(long, _)| *long);
    let last = given.find(|long| [yes, no].contains(long));
    last.map(|long| long == yes)
}

fn number(all: &Parsed, name: &str) -> Result<Option<u32>, Refusal> {
    let number = all.number(name, i32::MAX.unsigned_abs());
    number.map_err(|what| Refusal::error(1, &what))
}

fn memory(all: &Parsed, name: &str) -> Result<Option<u64>, Refusal> {
    let Some(text) = all.last(name) else {
        return Ok(None);
    };
    let bad = || Refusal::error(BAD_OPTION, &format!("Invalid --{name} specification"));
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = text[..digits].parse().map_err(|_| bad())?;
    let mib = match text[digits..].to_ascii_lowercase().as_str() {
        "k" | "kb" => Some(count.div_ceil(1024)),
        "" | "m" | "mb" => Some(count),
        "g" | "gb" => count.checked_mul(1 << 10),
        "t" | "tb" => count.checked_mul(1 << 20),
        _ => None,
    };
    mib.map(Some).ok_or_else(bad)
}

/// Of each node, by `--gres`.
fn gres(all: &Parsed) -> Result<Generics, Refusal> {
    let text = all.last("gres").filter(|text| *text != "none");
    let bad = |_| Refusal::submission("Invalid generic resource (gres) specification");
    text.unwrap_or_default().parse().map_err(bad)
}

fn sizes(all: &Parsed, order: &mut Order) -> Result<(), Refusal> {
    let tasks = number(all, "ntasks")?;
    let cpus = number(all, "cpus-per-task")?;
    let per_node = number(all, "ntasks-per-node")?;
    let counts = all.last("nodes").map(node_count).transpose()?;
    let nodes = counts.map(|(fewest, _)| fewest);
    let batch = &mut order.batch;
    batch.tasks = match (tasks, nodes, per_node) {
        (Some(tasks), _, _) => tasks,
        (None, Some(nodes), Some(per_node)) => nodes.saturating_mul(per_node),
        (None, Some(nodes), None) => nodes,
        (None, None, Some(per_node)) => per_node,
        (None, None, None) => 1,
    };
    batch.nodes = match (tasks, nodes) {
        (Some(tasks), Some(nodes)) if nodes > tasks => {
            order.warnings = format!(
                "sbatch: Warning: can't run {tasks} processes on {nodes} nodes, \
                 setting nnodes to {tasks}\n"
            );
            Some(tasks)
        }
        _ => nodes,
    };
    batch.most_nodes = match (batch.nodes, counts) {
        (Some(fewest), Some((asked, most))) if fewest == asked => Some(most),
        (fewest, _) => fewest,
    };
    batch.tasks_given = tasks.is_some() || per_node.is_some();
    batch.cpus_per_task = cpus.unwrap_or(1);
    batch.cpus_per_task_given = cpus.is_some();
    batch.tasks_per_node = per_node;
    Ok(())
}

/// The fewest and the most nodes of `min[-max]`, each with a `k` or `m` where
/// they are many.
fn node_count(text: &str) -> Result<(u32, u32), Refusal> {
    let bad = || Refusal::error(BAD_OPTION, &format!("\"{text}\" is not a valid node count"));
    let count = |text: &str| -> Result<u32, Refusal> {
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1 << 10),
            None => text
                .strip_suffix(['m', 'M'])
                .map_or((text, 1), |digits| (digits, 1 << 20)),
        };
        let count: u32 = digits.parse().map_err(|_| bad())?;
        Ok(count.saturating_mul(unit))
    };
    let (fewest, most) = match text.split_once('-') {
        None => (count(text)?, count(text)?),
        Some((fewest, most)) => (count(fewest)?, count(most)?),
    };
    if most < fewest {
        let what = format!("Maximum node count {most} is less than minimum node count {fewest}");
        return Err(Refusal::error(BAD_OPTION, &what));
    }
    match most {
        0 => Err(Refusal::submission("Node count specification invalid")),
        _ => Ok((fewest.max(1), most)),
    }
}

#[cfg(test)]
mod tests;
