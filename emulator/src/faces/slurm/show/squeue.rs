//! `squeue`

mod fields;

use super::format::{self, Piece};
use super::{Caller, Filter, Said, list, options, refuse, split_jobs, targets};
use crate::faces::slurm::depend::Target;
use crate::faces::slurm::options::Parsed;
use crate::faces::slurm::site::Site;
use crate::faces::slurm::store::{Job, JobStore, Record, State};
use crate::faces::slurm::users::is_unknown;
use crate::faces::slurm::wire::{Answer, Request};
use crate::slurm::hostlist;
use fields::{FIELDS, STEP_FIELDS, Show, View};
use gridrig_core::time::SimTime;
use std::cmp::Ordering;
use std::collections::BTreeSet;

const DEFAULT: &str = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
const LONG: &str = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
const STEPS: &str = "%.15i %.8j %.9P %.8u %.9M %N";
const START: &str = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";

/// The states by name, as squeue lists them when it knows none of that name.
const STATES: &str = "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,\
    PREEMPTED,BOOT_FAIL,DEADLINE,OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,\
    REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED";

pub(super) fn squeue(store: &JobStore, request: &Request, caller: &Caller) -> Said {
    let now = caller.now;
    let parsed = options("squeue", request, &store.site)?;
    check(&parsed)?;
    let chosen = Chosen::of(&parsed, store, caller)?;
    let apart = parsed.has("array") || parsed.has("array-unique");
    let mut records = store.records(now, chosen.jobs.as_deref(), apart);
    if let Some([Target { id, .. }]) = chosen.jobs.as_deref()
        && records.is_empty()
        && store.find(Target::whole(*id)).is_empty()
    {
        return refuse("slurm_load_jobs error: Invalid job id specified\n");
    }
    records.retain(|record| chosen.takes(record, &store.site));
    let usual = if parsed.has("start") { "S" } else { "P,t,-p" };
    sort(&mut records, parsed.last("sort").unwrap_or(usual));
    let view = View {
        site: &store.site,
        now,
    };
    let show = |show: &Show, one: &Record<'_>| show(one, &view);
    if parsed.has("steps") {
        let (pieces, _) = format::letters(STEPS, &STEP_FIELDS);
        records.retain(|record| record.job.state == State::Running);
        let pieces = (pieces, String::new());
        return Ok(format::listing(&parsed, None, pieces, &records, show));
    }
    let (pieces, mut stderr) = pieces(&parsed);
    for user in chosen.filter.users.iter().flatten() {
        if is_unknown(user) {
            stderr.push_str(&format!("squeue: error: Invalid user: {user}\n\n"));
        }
    }
    let (date, pieces) = (Some(store.site.unix(now)), (pieces, stderr));
    Ok(format::listing(&parsed, date, pieces, &records, show))
}

/// What squeue refuses before it looks at any job.
fn check(parsed: &Parsed) -> Result<(), Answer> {
    let alone = parsed.last("jobs") == Some("") || parsed.last("steps") == Some("");
    if let Some(word) = parsed.rest.get(usize::from(alone)) {
        return Err(Answer {
            stdout: "Usage: squeue [OPTIONS]\n".to_owned(),
            ..Answer::failed(1, format!("squeue: error: Unrecognized option: {word}\n"))
        });
    }
    Ok(())
}

fn pieces(parsed: &Parsed) -> (Vec<Piece<Show>>, String) {
    let usual = match (parsed.has("start"), parsed.has("long")) {
        (true, _) => START,
        (false, true) => LONG,
        (false, false) => DEFAULT,
    };
    let complain =
        |what: &str, _| format!("squeue: error: Invalid job format specification: {what}\n");
    format::asked(parsed, usual, &FIELDS, complain)
}

/// Which of the jobs.
struct Chosen {
    filter: Filter,
    jobs: Option<Vec<Target>>,
    /// Short names; `None` is all.
    states: Option<BTreeSet<String>>,
}

impl Chosen {
    fn of(parsed: &Parsed, store: &JobStore, caller: &Caller) -> Result<Self, Answer> {
        // `-j 7` and `-j7` alike: the value of this option may stand alone.
        let jobs = match parsed.last("jobs") {
            Some("") => parsed.rest.first().map(String::as_str),
            given => given,
        };
        let read = |text: &str| {
            let all = split_jobs(text).into_iter().map(|part| {
                let bad = || format!("squeue: error: Invalid job id: {part}\n");
                targets(part.trim()).ok_or_else(|| Answer::failed(1, bad()))
            });
            let all: Result<Vec<Vec<Target>>, Answer> = all.collect();
            all.map(|all| all.concat())
        };
        let jobs = jobs.filter(|jobs| !jobs.is_empty()).map(read).transpose()?;
        let states = match list(parsed, "states") {
            None if parsed.has("start") => Some([State::Pending.names().1.to_owned()].into()),
            None => {
                let shown = [State::Pending, State::Running, State::Completing];
                Some(shown.map(|state| state.names().1.to_owned()).into())
            }
            Some(words) if words.len() == 1 && words[0].eq_ignore_ascii_case("all") => None,
            Some(words) => Some(read_states(&words)?),
        };
        let nodes = list(parsed, "nodelist").map(|nodes| nodes.join(","));
        let nodes = nodes.map(|list| match hostlist::expand(&list) {
            Some(names) => known_nodes(names, store),
            None => refuse(format!(
                "squeue: error: Invalid node name specified {list}\n"
            )),
        });
        Ok(Chosen {
            filter: Filter::of(parsed, caller, nodes.transpose()?),
            jobs,
            states,
        })
    }

    fn takes(&self, record: &Record<'_>, site: &Site) -> bool {
        let state = record.job.state.names().1;
        self.filter.takes(record.job, site)
            && self.states.as_ref().is_none_or(|all| all.contains(state))
    }
}

fn known_nodes(names: Vec<String>, store: &JobStore) -> Result<BTreeSet<String>, Answer> {
    let all = store.site.nodes(std::iter::empty());
    let is_known = |name: &String| all.iter().any(|node| node.name == *name);
    match names.iter().find(|name| !is_known(name)) {
        Some(other) => refuse(format!("squeue: error: Invalid node name {other}\n")),
        None => Ok(names.into_iter().collect()),
    }
}

fn read_states(words: &[String]) -> Result<BTreeSet<String>, Answer> {
    const SHORT: [&str; 24] = [
        "PD", "R", "S", "CD", "CA", "F", "TO", "NF", "PR", "BF", "DL", "OOM", "CG", "CF", "RS",
        "RD", "RQ", "RF", "RH", "RV", "SI", "SE", "SO", "ST",
    ];
    let mut states = BTreeSet::new();
    for word in words {
        let upper = word.to_ascii_uppercase();
        let mut known = STATES.split(',').zip(SHORT);
        let found = known.find(|(long, short)| *long == upper || *short == upper);
        let Some((_, short)) = found else {
            return refuse(format!(
                "squeue: error: Invalid job state specified: {word}\nsqueue: error: Valid job \
                 states include: {STATES}\n\n"
            ));
        };
        states.insert(short.to_owned());
    }
    Ok(states)
}

/// Sorts by letters of the format, each with a sign; what compares equal
/// stays in order of submission.
fn sort(records: &mut [Record<'_>], by: &str) {
    let keys: Vec<(bool, char)> = by
        .split(',')
        .filter_map(|key| {
            let down = key.starts_with('-');
            Some((down, key.trim_start_matches(['-', '+']).chars().next()?))
        })
        .collect();
    records.sort_by(|a, b| {
        keys.iter().fold(Ordering::Equal, |order, (down, key)| {
            let compared = compare(a, b, *key);
            order.then(if *down { compared.reverse() } else { compared })
        })
    });
}

fn compare(a: &Record<'_>, b: &Record<'_>, key: char) -> Ordering {
    let (one, other) = (a.job, b.job);
    match key {
        'i' => (a.array_id(), &one.task.as_ref().map(|t| t.index))
            .cmp(&(b.array_id(), &other.task.as_ref().map(|t| t.index))),
        'A' => one.id.cmp(&other.id),
        't' => one.state.names().1.cmp(other.state.names().1),
        'T' => one.state.names().0.cmp(other.state.names().0),
        'p' | 'Q' => a.priority().cmp(&b.priority()),
        'j' => one.batch.name.cmp(&other.batch.name),
        'u' => one.batch.user.cmp(&other.batch.user),
        'C' => a.cpus.cmp(&b.cpus),
        'D' => a.nodes.cmp(&b.nodes),
        'S' => {
            // What may begin later is expected to; what nobody knows is last.
            let start = |job: &Job| job.start.or(job.begin).unwrap_or(SimTime::MAX);
            start(one).cmp(&start(other))
        }
        'e' => one.end.cmp(&other.end),
        'V' => one.submit.cmp(&other.submit),
        'l' => one.limit.cmp(&other.limit),
        'N' | 'R' => a.node_list.cmp(&b.node_list),
        _ => Ordering::Equal,
    }
}
