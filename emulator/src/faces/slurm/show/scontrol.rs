//! `scontrol`

mod cluster;
mod job;
mod reservation;

pub(in crate::faces::slurm) use reservation::{
    answer as reserved, nodes as reserved_nodes, times_of,
};

use super::{Caller, Outcome, options, refuse, split_jobs, targets};
use crate::faces::slurm::batch::compress;
use crate::faces::slurm::store::{Hold, Job, JobStore, State};
use crate::faces::slurm::wire::{Answer, JOB_NODES, Request};
use crate::slurm::hostlist;
use gridrig_core::time::SimTime;

pub(super) fn scontrol(
    store: &mut JobStore,
    request: &Request,
    caller: &Caller,
) -> Result<Outcome, Answer> {
    let now = caller.now;
    let parsed = options("scontrol", request, &store.site)?;
    let (one_line, quiet) = (parsed.has("oneliner"), parsed.has("quiet"));
    let words: Vec<&str> = parsed.rest.iter().map(String::as_str).collect();
    let Some((keyword, rest)) = words.split_first() else {
        return refuse("too few arguments for keyword:scontrol\n");
    };
    let mut answer = match keyword.to_ascii_lowercase().as_str() {
        "create" => return reservation::create(store, rest, caller),
        "delete" => return reservation::delete(store, rest, caller),
        "update" if reservation::is_meant(rest) => return reservation::update(store, rest, caller),
        "version" => Answer::said(crate::faces::slurm::site::VERSION_LINE.to_owned()),
        "ping" => Answer::said(format!("Slurmctld(primary) at {} is UP\n", store.site.host)),
        "show" => {
            let of_job = request.env.iter().find(|(name, _)| name == JOB_NODES);
            let of_job = of_job.map(|(_, nodes)| nodes.as_str());
            show(store, rest, of_job, one_line, now)
        }
        "hold" | "uhold" | "release" | "requeue" | "requeuehold" if rest.is_empty() => {
            Answer::failed(1, format!("too few arguments for keyword:{keyword}\n"))
        }
        hold @ ("hold" | "uhold") => {
            // As root, Slurm's operator, and as any other user.
            let by = match hold == "hold" && caller.uid == 0 {
                true => Hold::Admin,
                false => Hold::User,
            };
            each(store, rest, |store, seq| store.hold(now, seq, by))
        }
        "release" => each(store, rest, |store, seq| store.release(now, seq)),
        "requeue" => requeue(store, rest, None, now),
        // Of a job of one's own, as root or not.
        "requeuehold" => requeue(store, rest, Some(Hold::Requeued), now),
        "wait_job" => wait_job(store, rest),
        "update" if rest.first().is_some_and(|word| is_node_name(word)) => {
            cluster::update(store, rest, caller).unwrap_or_else(|refused| refused)
        }
        "update" | "suspend" | "resume" | "reconfigure" | "shutdown" | "top" | "write" => {
            let why = "Requested operation not supported on this system";
            Answer::failed(1, format!("slurm_{keyword} error: {why}\n"))
        }
        _ => Answer::failed(1, format!("invalid keyword: {keyword}\n")),
    };
    if quiet {
        answer.stderr.clear();
    }
    Ok(answer.into())
}

/// Whether it is `NodeName=...`, which may be cut short.
fn is_node_name(word: &str) -> bool {
    let key = word.split('=').next().unwrap_or_default();
    is_short_for(key, "nodename", 5)
}

/// Whether it is the name, which may be cut short to so many letters.
fn is_short_for(word: &str, name: &str, least: usize) -> bool {
    word.len() >= least && name.starts_with(&word.to_ascii_lowercase())
}

/// Nodes are always ready, whether the job has them or not.
fn wait_job(store: &JobStore, words: &[&str]) -> Answer {
    let job = match words {
        [] => return Answer::failed(1, "too few arguments for keyword:wait_job\n"),
        [job] => job,
        _ => return Answer::failed(1, "too many arguments for keyword:wait_job\n"),
    };
    match targets(job).is_some_and(|of| of.iter().any(|t| !store.find(*t).is_empty())) {
        true => Answer::failed(0, format!("scontrol: Nodes are ready for job {job}\n")),
        false => Answer::failed(1, format!("scontrol: Problem running job {job}\n")),
    }
}

fn show(
    store: &JobStore,
    words: &[&str],
    of_job: Option<&str>,
    one_line: bool,
    now: SimTime,
) -> Answer {
    let Some((entity, rest)) = words.split_first() else {
        return Answer::failed(1, "too few arguments for keyword:show\n");
    };
    if rest.len() > 1 {
        return Answer::failed(1, "too many arguments for keyword:show\n");
    }
    // `job=7`, `JobId=7` and `job 7` alike.
    let wanted = rest.first().copied();
    let (entity, wanted) = match entity.split_once('=') {
        Some((entity, given)) => (entity, Some(given)),
        None => (*entity, wanted),
    };
    // Entities may be cut short, as in `show part`.
    let is = |name: &str, least: usize| is_short_for(entity, name, least);
    // What an emulated cluster has none of.
    let none = [
        ("licenses", 1, "No licenses configured in Slurm.\n"),
        ("frontend", 1, "No nodes in the system\n"),
        ("burstbuffer", 1, ""),
        ("federation", 2, ""),
        ("aliases", 2, ""),
        ("daemons", 1, "slurmctld slurmd\n"),
    ];
    match none.iter().find(|(name, least, _)| is(name, *least)) {
        _ if is("hostnames", 5) => host_names(wanted.or(of_job)),
        _ if is("hostlistsorted", 9) || is("hostlist", 5) => {
            host_list(wanted.or(of_job), entity.len() > "hostlist".len())
        }
        _ if is("jobs", 1) || is("jobid", 4) => job::show(store, wanted, one_line, now),
        _ if is("config", 3) => Answer::said(cluster::config(store, now)),
        _ if is("nodes", 1) => cluster::nodes(store, wanted, one_line, now),
        _ if is("partitions", 2) => cluster::partition(store, wanted, one_line),
        _ if is("reservations", 3) => reservation::show(store, wanted, one_line),
        Some((_, _, said)) => Answer::said((*said).to_owned()),
        None if is("topology", 1) => {
            Answer::failed(0, "scontrol: error: No topology information available\n")
        }
        None => Answer::failed(1, format!("invalid entity:{entity} for keyword:show \n")),
    }
}

fn host_names(list: Option<&str>) -> Answer {
    let Some(list) = list.filter(|list| !list.is_empty()) else {
        return Answer::failed(0, "scontrol: error: host list is empty\n");
    };
    match hostlist::expand(list) {
        Some(names) => Answer::said(names.iter().map(|name| format!("{name}\n")).collect()),
        None => Answer::failed(1, format!("Invalid hostlist: {list}\n")),
    }
}

fn host_list(list: Option<&str>, sorted: bool) -> Answer {
    let Some(mut names) = list.and_then(hostlist::expand) else {
        let list = list.unwrap_or_default();
        return Answer::failed(1, format!("Invalid hostlist: {list}\n"));
    };
    if sorted {
        names.sort_by_key(|name| {
            let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
            let (prefix, number) = name.split_at(name.len() - digits);
            (prefix.to_owned(), number.parse::<u64>().unwrap_or(0))
        });
        names.dedup();
    }
    let names = hostlist::compress(names.iter().map(String::as_str));
    Answer::said(format!("{names}\n"))
}

fn each(store: &mut JobStore, words: &[&str], act: impl Fn(&mut JobStore, u32) -> bool) -> Answer {
    let mut answer = Answer::default();
    let bare = |word: &&str| {
        let id = word.strip_prefix("jobid=").or(word.strip_prefix("JobId="));
        id.unwrap_or(word).to_owned()
    };
    let words: Vec<String> = words.iter().map(bare).collect();
    for word in words.iter().flat_map(|word| split_jobs(word)) {
        let Err(why) = change(store, word, &act) else {
            continue;
        };
        answer.code = 1;
        let said = format!("{why} for job {word}\nslurm_suspend error: {why}\n");
        answer.stderr.push_str(&said);
    }
    answer
}

/// Lets jobs that run or have ended wait again, behind a hold or not.
fn requeue(store: &mut JobStore, words: &[&str], hold: Option<Hold>, now: SimTime) -> Answer {
    let mut answer = Answer::default();
    for word in words.iter().flat_map(|word| split_jobs(word)) {
        let name = word.split_once('=');
        let name = name.filter(|(key, _)| key.eq_ignore_ascii_case("jobid"));
        let name = name.map_or(word, |(_, name)| name);
        let of = targets(name);
        let found = of.iter().flatten().flat_map(|target| store.find(*target));
        let found: Vec<u32> = found.filter(|seq| is_shown(store, *seq, now)).collect();
        // Those of an array by what has become of them.
        let mut tasks: Vec<(&'static str, u32, Vec<u32>)> = Vec::new();
        let mut why = found.is_empty().then_some("Invalid job id specified");
        for seq in found {
            let done = store.requeue(now, seq, hold).err();
            why = why.or(done);
            let task = store.job(seq).and_then(|job| job.task.as_ref());
            let said = done.unwrap_or("No error");
            let task = task.map(|it| (it.array, it.index));
            let Some((array, index)) = task else { continue };
            match tasks.iter_mut().find(|(other, _, _)| *other == said) {
                Some((_, _, all)) => all.push(index),
                None => tasks.push((said, array, vec![index])),
            }
        }
        let Some(why) = why else { continue };
        answer.code = 1;
        let lines = tasks.iter().map(|(said, array, all)| {
            let all = compress(all);
            format!("{array}_{all}: {said}\n")
        });
        let said = match (tasks.is_empty(), name.contains('_')) {
            (false, _) => lines.collect(),
            (true, true) => format!("{name}: {why}\n"),
            (true, false) => format!("{why} for job {name}\n"),
        };
        answer.stderr.push_str(&said);
    }
    answer
}

/// Whether a job is still known to more than accounts.
fn is_shown(store: &JobStore, seq: u32, now: SimTime) -> bool {
    let job = store.job(seq);
    job.is_some_and(|job| !job.dropped && !store.is_aged(job, now))
}

/// Changes the jobs that a word names, or says why not.
fn change(
    store: &mut JobStore,
    word: &str,
    act: &impl Fn(&mut JobStore, u32) -> bool,
) -> Result<(), &'static str> {
    if let Some(name) = word.strip_prefix("name=") {
        // Of all that wait under the name; none is no mistake.
        let waits = |job: &&Job| job.state == State::Pending && job.batch.name == name;
        let named: Vec<u32> = store.all().filter(waits).map(|job| job.seq).collect();
        for seq in named {
            act(store, seq);
        }
        return Ok(());
    }
    let targets = targets(word).unwrap_or_default();
    let found = targets.iter().flat_map(|target| store.find(*target));
    let found: Vec<u32> = found.collect();
    if found.is_empty() {
        return Err("Invalid job id specified");
    }
    match found.into_iter().filter(|seq| act(store, *seq)).count() {
        0 => Err("Job/step already completing or completed"),
        _ => Ok(()),
    }
}

/// Puts blocks of indented lines into Slurm's two layouts.
fn layout(lines: &[String], one_line: bool) -> String {
    match one_line {
        true => lines.join(" ") + "\n",
        false => lines.join("\n   ") + "\n\n",
    }
}
