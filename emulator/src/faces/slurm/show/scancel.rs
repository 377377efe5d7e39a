//! `scancel`

use super::{Caller, Filter, Said, list, options, refuse, split_jobs, targets};
use crate::faces::slurm::batch::{Reach, signal_number};
use crate::faces::slurm::depend::Target;
use crate::faces::slurm::options::Parsed;
use crate::faces::slurm::site::Site;
use crate::faces::slurm::store::{Job, JobStore, State};
use crate::faces::slurm::users::is_unknown;
use crate::faces::slurm::wire::{Answer, Request};
use crate::slurm::hostlist;
use std::collections::BTreeSet;

pub(super) fn scancel(store: &mut JobStore, request: &Request, caller: &Caller) -> Said {
    let parsed = options("scancel", request, &store.site)?;
    let mut named: Vec<Target> = Vec::new();
    for word in parsed.rest.iter().flat_map(|word| split_jobs(word)) {
        // A step is what its job is, here.
        let (job, _step) = word.split_once('.').unwrap_or((word, ""));
        let bad = || Answer::failed(1, format!("scancel: error: Invalid job id {word}\n"));
        named.extend(targets(job).ok_or_else(bad)?);
    }
    let filter = Chosen::of(&parsed, caller)?;
    if named.is_empty() && !filter.is_any() {
        return refuse("scancel: error: No job identification provided\n");
    }
    let signal = parsed.last("signal").map(read_signal).transpose()?;
    let reach = match (parsed.has("batch"), parsed.has("full")) {
        (true, _) => Reach::Batch,
        (_, true) => Reach::All,
        _ => Reach::Steps,
    };
    let mut stderr = String::new();
    let verbose = parsed.has("verbose");
    let mut chosen: Vec<u32> = Vec::new();
    for target in &named {
        let found = store.find(*target);
        if verbose {
            stderr.push_str(&format!("scancel: Terminating job {target}\n"));
            if found.is_empty() {
                stderr.push_str(&format!(
                    "scancel: error: Kill job error on job id {target}: Invalid job id specified\n"
                ));
            }
        }
        chosen.extend(found);
    }
    if named.is_empty() {
        chosen.extend(store.all().map(|job| job.seq));
    }
    chosen.retain(|seq| {
        let job = store.job(*seq);
        job.is_some_and(|job| !job.state.is_ended() && filter.takes(job, &store.site))
    });
    // Later ones first: what is pending does not start in place of what ends.
    for seq in chosen.into_iter().rev() {
        match signal {
            Some(number) if number != 9 || reach == Reach::Batch => {
                store.signal(seq, number, reach);
            }
            _ => store.cancel(caller.now, seq, caller.uid),
        }
    }
    Ok(Answer {
        stderr,
        ..Answer::default()
    })
}

fn read_signal(text: &str) -> Result<i32, Answer> {
    let found = signal_number(text).filter(|number| *number < 32);
    found.ok_or_else(|| Answer::failed(1, format!("Unknown job signal: {text}\n")))
}

/// Which of the jobs.
struct Chosen {
    filter: Filter,
    states: Option<BTreeSet<Wanted>>,
}

/// The states that `scancel --state` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    Pending,
    Running,
    Suspended,
}

impl Chosen {
    fn of(parsed: &Parsed, caller: &Caller) -> Result<Self, Answer> {
        for user in list(parsed, "user").iter().flatten() {
            if is_unknown(user) {
                return refuse(format!("scancel: error: Invalid user name: {user}\n"));
            }
        }
        let states =
            list(parsed, "state").map(|words| words.iter().map(|word| read_state(word)).collect());
        let nodes = parsed.last("nodelist");
        let nodes = nodes.map(|nodes| hostlist::expand(nodes).into_iter().flatten().collect());
        Ok(Chosen {
            filter: Filter::of(parsed, caller, nodes),
            states: states.transpose()?,
        })
    }

    fn is_any(&self) -> bool {
        self.filter.is_any() || self.states.is_some()
    }

    fn takes(&self, job: &Job, site: &Site) -> bool {
        let state = match job.state {
            State::Pending => Wanted::Pending,
            _ => Wanted::Running,
        };
        self.filter.takes(job, site) && self.states.as_ref().is_none_or(|all| all.contains(&state))
    }
}

fn read_state(word: &str) -> Result<Wanted, Answer> {
    match word.to_ascii_uppercase().as_str() {
        "PD" | "PENDING" => Ok(Wanted::Pending),
        "R" | "RUNNING" => Ok(Wanted::Running),
        "S" | "SUSPENDED" => Ok(Wanted::Suspended),
        _ => refuse(format!(
            "Invalid job state specified: {word}\n\
                 Valid job states are PENDING, RUNNING, and SUSPENDED\n"
        )),
    }
}
