//! `sbatch`

use crate::faces::slurm::batch::{self, Refusal};
use crate::faces::slurm::depend::Target;
use crate::faces::slurm::show::{Caller, Outcome, elsewhere, usage};
use crate::faces::slurm::site::VERSION_LINE;
use crate::faces::slurm::store::JobStore;
use crate::faces::slurm::wire::{Answer, Request};
use crate::slurm::times;
use gridrig_core::time::SimTime;
use std::sync::Arc;

pub(super) fn sbatch(
    store: &mut JobStore,
    request: Request,
    caller: &Caller,
) -> Result<Outcome, Refusal> {
    let now = caller.now;
    let line = batch::command_line(&request.called, &request.args)?;
    if line.has("version") {
        return Ok(Answer::said(VERSION_LINE.to_owned()).into());
    }
    if line.has("help") || line.has("usage") {
        return Ok(Answer::said(usage("sbatch")).into());
    }
    let mut order = read(store, request, caller)?;
    check_size(store, &order)?;
    check_reservation(store, &order.batch, now)?;
    let count = order.array.as_ref().map_or(1, |list| list.tasks.len());
    if store.present() + count > store.site.max_jobs {
        let what = "Resource temporarily unavailable";
        return Err(Refusal::submission(what));
    }
    let begin = begin(store, &order, now)?;
    if let Some(text) = order.given.last("deadline") {
        let at = times::moment(text, store.site.unix(now));
        let at = at.ok_or_else(|| no_moment("deadline", text))?;
        let limit = order.batch.limit.and_then(times::Limit::length);
        let length = limit.map_or(0, times::seconds);
        if at < store.site.unix(now) + length {
            return Err(Refusal::submission(TOO_LONG));
        }
    }
    if order.given.has("test-only") {
        let cpus = store.processors(&order.batch);
        let stamp = times::stamp(store.site.unix(now));
        let what = format!(
            "sbatch: Job {} to start at {stamp} using {cpus} processors on nodes (null) in \
             partition {}\n",
            store.next_id(),
            store.site.partition
        );
        return Ok(Answer::failed(0, what).into());
    }
    let asked = ["parsable", "quiet", "wait", "clusters"];
    // Whoever names the cluster hears its name.
    let [parsable, quiet, wait, named] = asked.map(|name| order.given.has(name));
    let stderr = std::mem::take(&mut order.warnings);
    let id = store.submit(now, order, begin);
    let cluster = &store.site.cluster;
    let stdout = match (parsable, quiet) {
        (true, _) if named => format!("{id};{cluster}\n"),
        (true, _) => format!("{id}\n"),
        (false, true) => String::new(),
        (false, false) if named => format!("Submitted batch job {id} on cluster {cluster}\n"),
        (false, false) => format!("Submitted batch job {id}\n"),
    };
    let answer = Answer {
        stderr,
        ..Answer::said(stdout)
    };
    Ok(match wait {
        true => Outcome::WhenEnded(store.find(Target::whole(id)), answer),
        false => answer.into(),
    })
}

/// Slurm's words for a time limit that no job may have.
const TOO_LONG: &str = "Requested time limit is invalid (missing or exceeds some limit)";

/// Slurm's words for nodes that nobody has.
pub(super) const UNAVAILABLE: &str = "Requested node configuration is not available";

/// A job that could never run in the reservation that it names is refused at once.
fn check_reservation(store: &JobStore, batch: &batch::Batch, now: SimTime) -> Result<(), Refusal> {
    let Some(name) = &batch.reservation else {
        return Ok(());
    };
    let Some(view) = store.reservation(name) else {
        return Err(Refusal::submission("Requested reservation is invalid"));
    };
    let (wanted, limit) = (&view.wanted, batch.limit.and_then(times::Limit::length));
    if !wanted.users.is_empty() && !wanted.users.contains(&batch.user) {
        let what = "Access denied to requested reservation";
        return Err(Refusal::submission(what));
    }
    let rest = view.end.since(view.start.max(now).min(view.end));
    if limit.is_some_and(|limit| limit > rest) {
        return Err(Refusal::submission(TOO_LONG));
    }
    let narrow = store.processors(batch) <= wanted.processors;
    match narrow && batch.gres.is_empty() && batch.mem.or(batch.mem_per_cpu).is_none() {
        true => Ok(()),
        false => Err(Refusal::submission(UNAVAILABLE)),
    }
}

/// What is asked for, with what the caller's side adds.
fn read(store: &JobStore, request: Request, caller: &Caller) -> Result<batch::Order, Refusal> {
    let script = request.script.unwrap_or_default();
    let mut order = batch::read(&request.called, &request.args, &request.env, &script)?;
    let asked = order.given.last("clusters");
    if asked.is_some_and(|asked| !store.site.is_meant_by(asked)) {
        return Err(Refusal::error(1, &elsewhere(asked)));
    }
    let batch = &mut order.batch;
    let words = std::iter::once(&request.called).chain(&request.args);
    batch.submit_line = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    batch.uid = caller.uid;
    batch.gid = caller.gid;
    batch.user = Arc::clone(&caller.user);
    let cwd = request.cwd;
    batch.work_dir = match batch.work_dir.as_str() {
        "" => cwd,
        path if path.starts_with('/') => path.to_owned(),
        path => format!("{cwd}/{path}"),
    };
    if store.site.execute {
        batch.env = request.env;
    }
    if let Some(command) = &mut batch.command
        && !command.starts_with('/')
    {
        // Slurm shows where the script was.
        let name = command.trim_start_matches("./");
        *command = format!("{}/{name}", batch.work_dir);
    }
    let partition = batch.partition.as_deref();
    let mut wanted = partition.into_iter().flat_map(|names| names.split(','));
    if let Some(other) = wanted.find(|name| *name != store.site.partition) {
        let other = if other.is_empty() { "(null)" } else { other };
        let why = format!("invalid partition specified: {other}");
        return Err(Refusal::because(&why, "Invalid partition name specified"));
    }
    Ok(order)
}

/// Slurm's words for a time that is none.
fn no_moment(option: &str, text: &str) -> Refusal {
    let read = match text.strip_prefix("now+") {
        Some(_) => "now+".len(),
        None => text.bytes().take_while(u8::is_ascii_digit).count(),
    };
    let what = format!("Invalid --{option} specification");
    let Refusal(code, said) = Refusal::error(batch::BAD_OPTION, &what);
    let what = format!("Invalid time specification (pos={read}): {text}\n{said}");
    Refusal(code, what)
}

/// When the job may begin, if that lies ahead.
fn begin(store: &JobStore, order: &batch::Order, now: SimTime) -> Result<Option<SimTime>, Refusal> {
    let Some(text) = order.given.last("begin") else {
        return Ok(None);
    };
    let unix = times::moment(text, store.site.unix(now));
    let unix = unix.ok_or_else(|| no_moment("begin", text))?;
    Ok(Some(store.site.instant(unix)).filter(|at| *at > now))
}

/// A job that could never run is refused, as Slurm does with
/// `EnforcePartLimits=ALL`: nothing waits for ever on an emulated cluster.
fn check_size(store: &JobStore, order: &batch::Order) -> Result<(), Refusal> {
    let resources = &store.site.resources;
    let plan = super::super::length::plan(&order.batch);
    let spec = store.spec(&order.batch, plan);
    let nodes = order.batch.nodes.unwrap_or(0);
    if nodes > resources.nodes() && spec.processors() <= resources.processors() {
        return Err(Refusal::submission("Node count specification invalid"));
    }
    if resources.could_run(&spec.components) {
        return Ok(());
    }
    if spec.processors() > resources.processors() {
        let what = "More processors requested than permitted";
        return Err(Refusal::submission(what));
    }
    let why = "Memory specification can not be satisfied";
    Err(Refusal::because(why, UNAVAILABLE))
}
