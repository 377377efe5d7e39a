//! The commands: what each is told, does and prints. One module per command.

mod format;
mod sacct;
mod sbatch;
mod scancel;
mod scontrol;
mod sinfo;
mod squeue;
mod sshare;

pub(super) use scontrol::reserved;

use super::batch::Refusal;
use super::depend::Target;
use super::options::{Parsed, parse};
use super::site::{Site, VERSION_LINE};
use super::store::{Job, JobStore, Record, State};
use super::wire::{Answer, Request};
use crate::slurm::hostlist;
use gridrig_core::reservation::ReservationOrder;
use gridrig_core::time::SimTime;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Who calls, and when.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub uid: u32,
    pub gid: u32,
    pub user: Arc<str>,
    pub now: SimTime,
}

/// What a command says, or refuses with.
type Said = Result<Answer, Answer>;

/// What a command comes to.
pub(super) enum Outcome {
    /// This, at once.
    Now(Answer),
    /// This, when these jobs have ended; the code is the greatest of theirs.
    WhenEnded(Vec<u32>, Answer),
    /// What becomes of this, which the cluster is asked for.
    Reserve(Reserving, Box<ReservationOrder>),
}

/// What is done to a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserving {
    Create,
    Update,
    Delete,
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        Outcome::Now(answer)
    }
}

/// Does what a command asks for.
pub(super) fn command(store: &mut JobStore, request: Request, caller: &Caller) -> Outcome {
    let answer = match request.command.as_str() {
        "sbatch" => {
            let done = sbatch::sbatch(store, request, caller);
            return done.unwrap_or_else(|Refusal(code, said)| Answer::failed(code, said).into());
        }
        "squeue" => squeue::squeue(store, &request, caller),
        "scancel" => scancel::scancel(store, &request, caller),
        "scontrol" => {
            let done = scontrol::scontrol(store, &request, caller);
            return done.unwrap_or_else(Into::into);
        }
        "sinfo" => sinfo::sinfo(store, &request, caller.now),
        "sacct" => sacct::sacct(store, &request, caller),
        "sshare" => sshare::sshare(&request, &store.site),
        "sacctmgr" => Ok(sacctmgr(&request)),
        other => refuse(format!("{other}: error: not a command of this cluster\n")),
    };
    answer.unwrap_or_else(|refusal| refusal).into()
}

/// Slurm's words where no database keeps accounts, as none does here.
fn sacctmgr(request: &Request) -> Answer {
    let mut args = request.args.iter();
    match args.any(|arg| arg == "--version" || arg == "-V") {
        true => Answer::said(VERSION_LINE.to_owned()),
        false => Answer::failed(
            1,
            "You are not running a supported accounting_storage plugin\n\
             Only 'accounting_storage/slurmdbd' is supported.\n",
        ),
    }
}

/// The options of a command; answered at once where they ask for the version, are
/// mistaken or name another cluster: these commands belong to one.
fn options(name: &str, request: &Request, site: &Site) -> Result<Parsed, Answer> {
    let parsed = parse(name, &request.called, &request.args);
    let parsed = parsed.map_err(|said| Answer::failed(1, said))?;
    if parsed.has("version") {
        return Err(Answer::said(VERSION_LINE.to_owned()));
    }
    if parsed.has("help") || parsed.has("usage") {
        return Err(Answer::said(usage(name)));
    }
    // Accounts are kept of all clusters: of another one `sacct` lists nothing.
    let asked = parsed.last("clusters").filter(|_| name != "sacct");
    match asked.is_some_and(|asked| !site.is_meant_by(asked)) {
        true => refuse(format!("{name}: error: {}\n", elsewhere(asked))),
        false => Ok(parsed),
    }
}

/// Slurm's words for a cluster that its commands cannot reach.
fn elsewhere(asked: Option<&str>) -> String {
    let asked = asked.unwrap_or_default();
    format!(
        "'{asked}' can't be reached now, or it is an invalid entry for --cluster.  Use \
         'sacctmgr list clusters' to see available clusters."
    )
}

fn usage(name: &str) -> String {
    format!(
        "Usage: {name} [OPTIONS]\nAs Slurm 22.05's {name}; docs/slurm.md of gridrig lists what \
         has an effect here.\n"
    )
}

/// The words of all occurrences of an option, split at commas; `None` if it
/// was not given or names nothing.
fn list(parsed: &Parsed, name: &str) -> Option<Vec<String>> {
    let last = parsed.last(name)?;
    let words = last
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

/// Whether a text is in the list; no list takes everything.
fn among(list: &Option<Vec<String>>, text: &str) -> bool {
    list.as_ref()
        .is_none_or(|list| list.iter().any(|one| one == text))
}

/// Whether a job is of one of these users, who are given by name or number.
fn of_users(users: &Option<Vec<String>>, job: &Job) -> bool {
    among(users, &job.batch.user) || among(users, &job.batch.uid.to_string())
}

/// Which jobs squeue and scancel are about.
struct Filter {
    users: Option<Vec<String>>,
    names: Option<Vec<String>>,
    partitions: Option<Vec<String>>,
    accounts: Option<Vec<String>>,
    qos: Option<Vec<String>>,
    nodes: Option<BTreeSet<String>>,
    reservations: Option<Vec<String>>,
    /// Licenses: there are none.
    nothing: bool,
}

impl Filter {
    fn of(parsed: &Parsed, caller: &Caller, nodes: Option<BTreeSet<String>>) -> Self {
        let me = parsed.has("me").then(|| vec![caller.user.to_string()]);
        Filter {
            users: me.or_else(|| list(parsed, "user")),
            names: list(parsed, "name").or_else(|| list(parsed, "jobname")),
            partitions: list(parsed, "partition"),
            accounts: list(parsed, "account"),
            qos: list(parsed, "qos"),
            nodes,
            reservations: list(parsed, "reservation"),
            nothing: parsed.has("licenses"),
        }
    }

    /// Whether anything was asked for.
    fn is_any(&self) -> bool {
        let who = [&self.users, &self.accounts, &self.qos];
        let what = [&self.names, &self.partitions, &self.reservations];
        let listed = who.into_iter().chain(what).any(Option::is_some);
        listed || self.nodes.is_some() || self.nothing
    }

    fn takes(&self, job: &Job, site: &Site) -> bool {
        let on = |wanted: &BTreeSet<String>| {
            let mut nodes = site.nodes_of(&job.placement).into_iter();
            nodes.any(|(node, _)| wanted.contains(&format!("n{node}")))
        };
        !self.nothing
            && self.nodes.as_ref().is_none_or(on)
            && of_users(&self.users, job)
            && among(&self.names, &job.batch.name)
            && among(&self.partitions, &site.partition)
            && among(&self.accounts, or_nothing(&job.batch.account))
            && among(&self.reservations, or_nothing(&job.batch.reservation))
            && among(&self.qos, or_nothing(&job.batch.qos))
    }
}

fn or_nothing(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

fn or_null(text: &Option<String>) -> String {
    text.clone().unwrap_or("(null)".to_owned())
}

/// What a command refuses with exit code 1.
fn refuse<T>(said: impl Into<String>) -> Result<T, Answer> {
    Err(Answer::failed(1, said))
}

fn in_directory(record: &Record<'_>, name: &str) -> String {
    match name.starts_with('/') {
        true => name.to_owned(),
        false => format!("{}/{name}", record.job.batch.work_dir),
    }
}

/// What a job takes of each kind of resource. Until it has nodes, Slurm counts
/// the fewest that it asks for, with all of their memory.
fn tres(site: &Site, record: &Record<'_>) -> String {
    let (batch, cpus) = (&*record.job.batch, record.cpus);
    if record.job.state != State::Pending {
        return format!("cpu={cpus},node={},billing={cpus}", record.nodes);
    }
    let nodes = batch.fewest_nodes();
    let memory = match batch.mem_per_cpu {
        Some(mib) => mib.saturating_mul(u64::from(cpus)),
        None => {
            let of_node = batch.mem.unwrap_or_else(|| site.memory_mib());
            of_node.saturating_mul(u64::from(nodes))
        }
    };
    format!("cpu={cpus},mem={memory}M,node={nodes},billing={cpus}")
}

/// Reads `4_[1-3,7]` besides what [`Target`] reads.
fn targets(text: &str) -> Option<Vec<Target>> {
    let Some((id, tasks)) = text.split_once("_[") else {
        return Target::parse(text).map(|target| vec![target]);
    };
    let tasks = super::batch::TaskList::parse(tasks.strip_suffix(']')?)?;
    let id = id.parse().ok().filter(|id| *id > 0)?;
    let tasks = tasks.tasks.iter().map(|task| Some(*task));
    Some(tasks.map(|task| Target { id, task }).collect())
}

/// Splits a list of jobs at commas outside brackets.
fn split_jobs(text: &str) -> Vec<&str> {
    let mut parts = hostlist::split(text).unwrap_or_else(|| vec![text]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}
