//! Policies and disciplines of the user's own: a program for each broker or cluster,
//! which is asked in every cycle or pass (docs/own-policy.md).

mod dialogue;
mod discipline;
mod lua;
mod policy;
mod program;
mod wire;

#[cfg(test)]
pub use wire::Messages;

use crate::exit::Failure;
use crate::scenario::Scenario;
use crate::words::{hex, many};
use anyhow::{Context as _, bail};
use dialogue::SHOWN;
use discipline::Scheduler;
use gridrig_core::discipline::Planner;
use gridrig_core::door::Door;
use gridrig_core::grid::Grid;
use gridrig_core::ids::DomainId;
use gridrig_core::policy::{Policy, PolicySpec};
use parking_lot::Mutex;
use policy::Asker;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Different words of rejections that are kept apart.
const KINDS: usize = 20;
/// Cycles in which everything is held while no candidate has anything to do.
const IDLE_CYCLES: u32 = 100_000;

/// What the brokers of one run have to do with their programs.
#[derive(Default)]
pub struct OwnRun {
    failure: OnceLock<String>,
    /// Whether there is a failure.
    pub broken_off: AtomicBool,
    /// SHA-256 of each file among the words of the program.
    pub files: BTreeMap<String, String>,
    lines: AtomicU64,
    nanos: AtomicU64,
    /// Jobs that were turned away, by the words for it.
    rejected: Mutex<BTreeMap<String, u64>>,
}

/// Refuses a policy, or a discipline of a cluster, of the user's own where no run asks its
/// program.
///
/// # Errors
/// An input error, if there is one.
pub fn refuse(policy: Option<&PolicySpec>, grid: Option<&Grid>, who: &str) -> anyhow::Result<()> {
    let own = policy.filter(|policy| policy.is_own());
    let mut clusters = grid.into_iter().flat_map(|grid| &grid.clusters);
    let own = own.map(|own| format!("policy {own}")).or_else(|| {
        let own = clusters.find_map(|cluster| cluster.config.own_discipline.as_ref());
        own.map(|own| format!("discipline {}", own.name))
    });
    match own {
        Some(own) => bail!(
            "{own}: {who} runs no program of the user's (expected `gridrig run`, or one without \
             exec or lua)"
        ),
        None => Ok(()),
    }
}

/// Starts the programs of a policy and of disciplines that are the user's own, and gives
/// one to each broker or cluster of the grid; two where every line is to be answered twice.
///
/// # Errors
/// When one cannot be started, or says in the beginning what is no answer.
pub fn start(
    scenario: &Scenario,
    policy: Option<&PolicySpec>,
    grid: &mut Grid,
    twice: bool,
) -> Result<Option<Arc<OwnRun>>, Failure> {
    let policy = policy.filter(|policy| policy.is_own());
    let policy = policy.and_then(|policy| scenario.own_policies.get(&policy.to_string()));
    let disciplines = || scenario.own_disciplines();
    let mut files = BTreeMap::new();
    for own in policy.into_iter().chain(disciplines().map(|(_, own)| own)) {
        let words = own.exec.iter().flat_map(|exec| &exec.0);
        let words = words.filter(|word| Path::new(word).is_file());
        for word in words.chain(own.lua_file()) {
            let read = std::fs::read(word).with_context(|| word.clone())?;
            files.insert(word.clone(), hex(Sha256::digest(read)));
        }
    }
    if policy.is_none() && disciplines().next().is_none() {
        return Ok(None);
    }
    let run = Arc::new(OwnRun {
        files,
        ..OwnRun::default()
    });
    let with = (&run, 1 + usize::from(twice));
    for index in 0..grid.domains.len() {
        let Some(own) = policy else { break };
        let domain = DomainId(index as u16);
        let asker: Box<dyn Policy> =
            Box::new(Asker::start(own, scenario.seed, (grid, domain), with)?);
        grid.domains[index].broker.door = Some(once(asker));
    }
    for (id, own) in disciplines() {
        let cluster = &mut grid.clusters[id.index()];
        let scheduler: Box<dyn Planner> =
            Box::new(Scheduler::start(own, scenario.seed, cluster, with)?);
        if let Some(discipline) = &mut cluster.config.own_discipline {
            discipline.door = Some(once(scheduler));
        }
    }
    Ok(Some(run))
}

/// A door to the one rule of one participant.
fn once<T: ?Sized + Send + 'static>(rule: Box<T>) -> Door<T> {
    let rule = Mutex::new(Some(rule));
    let made = "a broker or a cluster of a run is made once";
    Door::new(move || rule.lock().take().expect(made))
}

impl OwnRun {
    fn fail(&self, why: String) {
        // What follows from the first is not worth a word.
        let _ = self.failure.set(why);
        self.broken_off.store(true, Ordering::Relaxed);
    }

    /// Whether nothing can be asked any more.
    pub fn is_broken_off(&self) -> bool {
        self.broken_off.load(Ordering::Relaxed)
    }

    /// What ended the run, if something has.
    pub fn failure(&self) -> Option<&String> {
        self.failure.get()
    }

    /// What a reader has to know of it.
    pub fn notes(&self) -> Vec<String> {
        let rejected = self.rejected.lock();
        let rejected = rejected.iter().map(|(words, count)| {
            let jobs = many(*count, "job");
            format!("policy-rejected: {jobs} turned away by the policy with the words: {words}")
        });
        let failure = self.failure.get();
        let failure = failure.map(|why| format!("policy-failed: {why}"));
        rejected.chain(failure).collect()
    }

    /// How much it was asked, and how long that took: wall time.
    pub fn asked(&self) -> (u64, f64) {
        let nanos = self.nanos.load(Ordering::Relaxed);
        (self.lines.load(Ordering::Relaxed), nanos as f64 / 1e9)
    }

    fn note_rejected(&self, words: &str) {
        let mut rejected = self.rejected.lock();
        let words: String = words.chars().take(SHOWN).collect();
        let known = rejected.len() < KINDS || rejected.contains_key(&words);
        let words = if known { words } else { "others".to_owned() };
        *rejected.entry(words).or_default() += 1;
    }
}
