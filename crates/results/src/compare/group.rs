//! Which runs are one policy, and which are one replication.

mod windows;

use super::Options;
use super::document::Role;
use super::error::{CompareError, Result};
use super::find::FoundRun;
use crate::names::unused;
use crate::rundir::{self, Manifest, POOLED, names};
use crate::threshold::{Figure, Threshold};
use gridrig_scenario::each_once;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What tells one replication from another; runs of different policies are
/// paired by it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Position in the scenario, which gives the order.
    index: u32,
    /// What the scenario calls it, such as `window+7d`.
    pub(super) text: String,
    /// The jobs and their instants.
    pub(super) workload: String,
    /// Of all random streams.
    pub(super) seed: u64,
    /// Which of several runs of the real clock, which never repeats itself.
    repeat: u32,
}

/// One policy under one set of settings, with all its runs.
#[derive(Debug)]
pub(super) struct Variant<'a> {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) runs: BTreeMap<Key, &'a FoundRun>,
}

impl<'a> Variant<'a> {
    /// Any of its runs; all share policy and settings.
    pub(super) fn first(&self) -> Option<&'a FoundRun> {
        self.runs.values().next().copied()
    }

    /// Its name says it only where it is the only variant of that policy.
    fn is_of(&self, policy: &str) -> bool {
        let own = self.first().and_then(|run| run.manifest.policy.as_deref());
        own == Some(policy)
    }

    /// The folder of the study that it belongs to.
    fn folder(&self) -> Option<&'a Path> {
        self.first()?.dir.parent()?.parent()
    }
}

/// All runs, sorted into policies and replications.
#[derive(Debug, Default)]
pub(super) struct Study<'a> {
    /// The baseline first, then the other policies, then the bounds.
    pub(super) variants: Vec<Variant<'a>>,
    /// The replications that every variant has, each different from all
    /// others.
    pub(super) keys: Vec<Key>,
    /// Replications that gave the same runs as an earlier one.
    pub(super) identical: Vec<String>,
    /// Replications that not every variant has, and which lack them.
    pub(super) unpaired: Vec<String>,
    /// Why replications that were started one by one share jobs, if they do.
    overlap: Option<String>,
}

/// By replication: what no earlier one has too. What is the same counts once.
pub(super) struct Distinct {
    /// The run of a variant.
    pub(super) own: Vec<bool>,
    /// Its run and the baseline's.
    pub(super) pairs: Vec<bool>,
}

impl<'a> Study<'a> {
    /// With `alone`, one policy will do.
    pub(super) fn of(runs: &'a [FoundRun], options: &Options, alone: bool) -> Result<Self> {
        let mut sorted: BTreeMap<Identity, BTreeMap<Key, &FoundRun>> = BTreeMap::new();
        for run in runs {
            let policy = run.manifest.policy.clone();
            let identity = (policy, settings(&run.manifest).to_string());
            insert(sorted.entry(identity).or_default(), run)?;
        }
        let mut grids = runs.iter().map(|run| &run.manifest.grid);
        let brokered = grids.any(|grid| !grid.domains.is_empty());
        let mut variants = named(sorted, brokered);
        if variants.len() < 2 && !alone {
            return Err(only_one(&variants, runs));
        }
        choose_roles(&mut variants, options)?;
        let mut study = Study {
            variants,
            ..Study::default()
        };
        study.pair();
        study.overlap = study.overlap()?;
        Ok(study)
    }

    /// Finds the replications that all have, and those that repeat another.
    fn pair(&mut self) {
        let all: BTreeSet<&Key> = self.variants.iter().flat_map(|v| v.runs.keys()).collect();
        let mut seen: BTreeMap<Vec<&str>, &Key> = BTreeMap::new();
        let mut keys = Vec::new();
        for key in all {
            let runs = self.variants.iter().map(|v| (v, v.runs.get(key)));
            let all = runs.clone().filter(|(_, run)| run.is_none());
            let lacking: Vec<&str> = all.map(|(variant, _)| variant.name.as_str()).collect();
            if !lacking.is_empty() {
                let text = format!("{} (no run of {})", key.text, lacking.join(", "));
                self.unpaired.push(text);
                continue;
            }
            let tables = runs.filter_map(|(_, run)| Some(jobs_hash(&run?.manifest)));
            match seen.entry(tables.collect()) {
                std::collections::btree_map::Entry::Occupied(earlier) => {
                    let text = format!("{} (same as {})", key.text, earlier.get().text);
                    self.identical.push(text);
                }
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(key);
                    keys.push(key.clone());
                }
            }
        }
        self.keys = keys;
    }

    /// By replication: whether no earlier one has the same two runs. Policies that draw
    /// nothing run alike under every seed, even beside one that draws.
    pub(super) fn distinct_pairs(&self, one: usize, other: usize) -> Vec<bool> {
        let hash = |variant: usize, key: &Key| {
            let run = self.variants.get(variant)?.runs.get(key)?;
            Some(jobs_hash(&run.manifest))
        };
        let mut seen = BTreeSet::new();
        let keys = self.keys.iter();
        keys.map(|key| seen.insert((hash(one, key), hash(other, key))))
            .collect()
    }

    /// Which runs of a variant count.
    pub(super) fn distinct(&self, variant: usize) -> Distinct {
        Distinct {
            own: self.distinct_pairs(variant, variant),
            pairs: self.distinct_pairs(0, variant),
        }
    }

    /// Whether every domain keeps its jobs under a variant.
    pub(super) fn is_local_only(&self, variant: usize) -> bool {
        let variant = self.variants.get(variant);
        variant.is_some_and(|variant| variant.is_of("local-only"))
    }

    /// The variant of `local-only` that another one is held against: the only one, or
    /// the only one in the folder of its study.
    pub(super) fn local_only(&self, beside: usize) -> Option<usize> {
        let all = (0..self.variants.len()).filter(|at| self.is_local_only(*at));
        let all: Vec<usize> = all.collect();
        if let [only] = all[..] {
            return Some(only);
        }
        let folder = self.variants.get(beside)?.folder();
        let own = all.into_iter();
        let mut own = own.filter(|at| self.variants[*at].folder() == folder);
        own.next().filter(|_| own.next().is_none())
    }

    /// The runs of one replication, in the order of the variants.
    pub(super) fn runs_of(&self, key: &Key) -> Vec<&'a FoundRun> {
        let runs = self.variants.iter().filter_map(|v| v.runs.get(key));
        runs.copied().collect()
    }

    /// All runs, variant by variant.
    pub(super) fn all_runs(&self) -> impl Iterator<Item = &'a FoundRun> {
        self.variants.iter().flat_map(|v| v.runs.values().copied())
    }

    /// What varies between the replications, and why they share jobs, if
    /// they do.
    pub(super) fn varies(&self) -> (String, Option<String>) {
        let docs = self.all_runs().map(|run| &run.manifest.study.varies);
        let docs: Vec<_> = docs.flatten().collect();
        if let Some(doc) = docs.first() {
            let overlap = docs.iter().find_map(|doc| doc.overlap.clone());
            return (doc.over.clone(), overlap);
        }
        let differ = |of: &dyn Fn(&Key) -> String| {
            self.keys.iter().map(of).collect::<BTreeSet<_>>().len() > 1
        };
        // Runs that were started one by one say nothing of each other.
        let over = if self.keys.len() < 2 {
            "replication"
        } else if differ(&|key| key.workload.clone()) {
            "workload"
        } else if differ(&|key| key.seed.to_string()) {
            "seed"
        } else {
            "repeat"
        };
        (over.to_owned(), self.overlap.clone())
    }

    /// What policies are judged by: what was asked for, else what the runs
    /// declare, else the mean delay.
    pub(super) fn primary(&self, options: &Options) -> Result<Vec<Figure>> {
        let mut primary = options.primary.clone();
        if primary.is_empty() {
            for run in self.all_runs() {
                for text in &run.manifest.study.primary {
                    let parsed = Figure::parse(text);
                    primary.push(parsed.map_err(|why| CompareError::Declared {
                        path: run.dir.join(names::MANIFEST),
                        field: "study.primary",
                        value: text.clone(),
                        why,
                    })?);
                }
            }
        }
        if primary.is_empty() {
            primary.push(Figure::DEFAULT);
        }
        let mut seen = BTreeSet::new();
        primary.retain(|figure| seen.insert(*figure));
        Ok(primary)
    }

    /// The smallest difference of each figure that matters: what was asked for, else
    /// what the runs declare, else a tenth of the longest broker interval for figures
    /// in seconds, and none for others.
    pub(super) fn relevant(&self, primary: &[Figure], options: &Options) -> BTreeMap<String, f64> {
        let runs = || self.all_runs().map(|run| &run.manifest);
        let interval = runs().filter_map(|manifest| manifest.grid.longest_interval());
        let usual = interval.max().map_or(0.0, |it| it.as_secs_f64() / 10.0);
        let one = |figure: &Figure| {
            let name = figure.to_string();
            let asked = options.relevant.iter().find(|(asked, _)| asked == figure);
            let asked = asked.map(|(_, relevant)| *relevant);
            let declared = || runs().find_map(|it| it.study.relevant.get(&name).copied());
            let usual = if figure.unit() == "s" { usual } else { 0.0 };
            let relevant = asked.or_else(declared).unwrap_or(usual);
            (name, relevant)
        };
        primary.iter().map(one).collect()
    }

    /// The bounds that the runs declare and those that were asked for.
    pub(super) fn thresholds(&self, options: &Options) -> Vec<Threshold> {
        let texts = self.all_runs().flat_map(|run| &run.manifest.study.require);
        let declared = texts.filter_map(|text| Threshold::parse(text).ok());
        each_once(declared.chain(options.require.iter().cloned()))
    }
}

/// Policy and settings: runs that share both differ only by replication.
type Identity = (Option<String>, String);

/// What was set besides the policy and what varies between replications.
pub(super) fn settings(manifest: &Manifest) -> Value {
    let mut grid = serde_json::to_value(&manifest.grid).unwrap_or_default();
    let varies = manifest.study.varies.as_ref();
    let phase_varies = varies.is_some_and(|varies| varies.over == "broker-phase");
    let domains = grid.get_mut("domains").and_then(Value::as_array_mut);
    for domain in domains.into_iter().flatten() {
        if let Value::Object(keys) = domain {
            keys.remove("policy");
            if phase_varies {
                keys.remove("phase");
            }
        }
    }
    serde_json::json!({
        "grid": grid,
        "measure": serde_json::to_value(&manifest.measure).unwrap_or_default(),
        "clock": manifest.clock,
    })
}

/// Whether a run shows what is possible at best or at worst, and competes only
/// where nothing else does.
pub(super) fn is_bound(manifest: &Manifest) -> bool {
    let policy = manifest.policy.as_deref();
    manifest.grid.is_pooled() || policy.is_some_and(rundir::is_bound)
}

/// The traces of a run with the beginning of their hashes.
pub(super) fn traces(manifest: &Manifest) -> String {
    let one = |(name, hash): (&String, &String)| {
        let name = Path::new(name)
            .file_name()
            .map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned());
        format!("{name} ({hash:.12})")
    };
    let all: Vec<String> = manifest.trace_sha256.iter().map(one).collect();
    match all.is_empty() {
        true => "no trace".to_owned(),
        false => all.join(", "),
    }
}

fn jobs_hash(manifest: &Manifest) -> &str {
    let doc = manifest.files.get(names::JOBS);
    doc.map_or("", |doc| doc.sha256.as_str())
}

/// Adds a run under its key. The same run twice counts once; on the real
/// clock two runs of one scenario are two repeats.
fn insert<'a>(runs: &mut BTreeMap<Key, &'a FoundRun>, run: &'a FoundRun) -> Result<()> {
    let manifest = &run.manifest;
    // Of the jobs alone, wherever they enter; of older runs that have no such
    // hash, that with the entries.
    let hashes = &manifest.workload_hashes;
    let workload = hashes.get("jobs").or_else(|| hashes.get("all"));
    let mut key = Key {
        index: manifest.replication,
        text: run.key.clone(),
        workload: workload.cloned().unwrap_or_default(),
        seed: manifest.seed,
        repeat: 0,
    };
    while let Some(other) = runs.get(&key) {
        if jobs_hash(&other.manifest) == jobs_hash(manifest) {
            return Ok(());
        }
        if manifest.clock != "real" {
            let policy = manifest.policy.as_deref().unwrap_or("no-broker");
            return Err(CompareError::Conflict {
                first: other.dir.clone(),
                second: run.dir.clone(),
                what: format!("{policy}, {}, seed {}", key.text, key.seed),
            });
        }
        key.repeat += 1;
        key.text = format!("{} repeat {}", manifest.study.key, key.repeat);
    }
    runs.insert(key, run);
    Ok(())
}

/// Names for the variants: the policy, with the study's folder before it
/// where two have the same.
fn named<'a>(
    sorted: BTreeMap<Identity, BTreeMap<Key, &'a FoundRun>>,
    brokered: bool,
) -> Vec<Variant<'a>> {
    let mut variants: Vec<Variant<'a>> = Vec::new();
    for ((policy, _), runs) in sorted {
        let first = runs.values().next().map(|run| &run.manifest);
        let pooled =
            policy.is_none() && (brokered || first.is_some_and(|run| run.grid.is_pooled()));
        let role = match pooled || first.is_some_and(is_bound) {
            true => Role::Bound,
            false => Role::Contender,
        };
        let name = match policy {
            Some(policy) => policy,
            None if pooled => POOLED.to_owned(),
            None => "no-broker".to_owned(),
        };
        variants.push(Variant { name, role, runs });
    }
    let names: Vec<String> = variants.iter().map(|v| v.name.clone()).collect();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for variant in &mut variants {
        if names.iter().filter(|name| **name == variant.name).count() > 1 {
            let folder = variant.folder().and_then(Path::file_name);
            let folder = folder.unwrap_or_default().to_string_lossy();
            variant.name = format!("{folder}/{}", variant.name);
        }
        variant.name = unused(&mut used, &variant.name, "#");
    }
    variants
}

fn only_one(variants: &[Variant<'_>], runs: &[FoundRun]) -> CompareError {
    let names: Vec<&str> = variants.iter().map(|v| v.name.as_str()).collect();
    let traces: BTreeSet<String> = runs.iter().map(|run| traces(&run.manifest)).collect();
    let hint = match traces.len() {
        0 | 1 => String::new(),
        _ => {
            let traces: Vec<String> = traces.into_iter().take(4).collect();
            format!(
                "; they are runs of different traces: {}",
                traces.join(" and ")
            )
        }
    };
    CompareError::OnePolicy(
        format!("all runs ({}) are of {}", runs.len(), names.join(", ")),
        hint,
    )
}

/// Puts the baseline first and the bounds last.
fn choose_roles(variants: &mut Vec<Variant<'_>>, options: &Options) -> Result<()> {
    let position = match &options.baseline {
        Some(wanted) => {
            let exact = variants.iter().position(|v| v.name == *wanted);
            exact.ok_or_else(|| {
                let known: Vec<&str> = variants.iter().map(|v| v.name.as_str()).collect();
                CompareError::Baseline(wanted.clone(), known.join(", "))
            })?
        }
        None => {
            let known = variants.iter().position(|v| v.is_of("round-robin"));
            let any = variants.iter().position(|v| v.role != Role::Bound);
            known.or(any).unwrap_or(0)
        }
    };
    let mut baseline = variants.remove(position);
    baseline.role = Role::Baseline;
    // Where nothing else is left to hold against the baseline, the bounds are
    // what is compared.
    if variants.iter().all(|variant| variant.role == Role::Bound) {
        for variant in variants.iter_mut() {
            variant.role = Role::Contender;
        }
    }
    variants.sort_by_key(|variant| variant.role);
    variants.insert(0, baseline);
    Ok(())
}
