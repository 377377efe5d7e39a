//! The run directories of a folder, and what the catalogue knows of each.

use super::labels::{self, Labels};
use crate::compare::{said, settings_in_words};
use crate::incomplete::{Incomplete, begun, is_begun, is_begun_log, is_file_of_a_run, is_held};
use crate::rundir::{self, Manifest, names};
use crate::summary::JobCounts;
use crate::words::pairs;
use gridrig_scenario::each_once;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// How deep runs may lie below the folder, as in comparisons.
const DEPTH: usize = 8;

/// Whether a run can be used.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its manifest is there, and every file has the size that it names.
    #[default]
    Complete,
    /// A process runs it.
    Running,
    /// It has no manifest, which is written last.
    HalfWritten,
    /// A file is missing, damaged or foreign.
    Damaged,
}

impl State {
    /// As it is written.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The main figures of a run, of all its measured jobs; null if undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Mean delay time.
    pub delay_s_mean: Option<f64>,
    /// Its 95 % quantile.
    pub delay_s_p95: Option<f64>,
    /// Mean wait time.
    pub wait_s_mean: Option<f64>,
    /// Mean response time.
    pub response_s_mean: Option<f64>,
    /// Mean bounded slowdown.
    pub bounded_slowdown_mean: Option<f64>,
    /// Busy / available processor-seconds.
    pub utilization: Option<f64>,
    /// Forwarded / submitted jobs.
    pub forwarding_ratio: Option<f64>,
    /// Share of the jobs that ever waited for processors.
    pub waited_share: Option<f64>,
    /// Last finish - first submit.
    pub makespan_s: Option<f64>,
}

impl Figures {
    /// Each as it is said by its name.
    fn named(of: impl Fn(&str) -> Option<f64>) -> Self {
        let mut all = json!(Figures::default());
        for (name, value) in all.as_object_mut().into_iter().flatten() {
            *value = json!(of(name));
        }
        Figures::deserialize(all).unwrap_or_default()
    }

    /// Those of a summary, whose `delay_s.mean` is `delay_s_mean`.
    fn of(summary: &Value) -> Self {
        Figures::named(|name| {
            let (metric, statistic) = name.rsplit_once('_').unwrap_or_default();
            let of_metric = summary[metric][statistic].as_f64();
            summary[name].as_f64().or(of_metric)
        })
    }

    /// The means over those that have the figure.
    pub(super) fn mean<'a>(all: impl Iterator<Item = &'a Figures>) -> Self {
        let all: Vec<Value> = all.map(|own| json!(own)).collect();
        Figures::named(|name| {
            let values: Vec<f64> = all.iter().filter_map(|own| own[name].as_f64()).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        })
    }
}

/// A run as the catalogue lists it. Of a run that is not complete, whatever
/// could not be read is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Where it lies below the folder of runs, with `/` between.
    pub path: String,
    /// Whether it can be used.
    pub state: State,
    /// Why it cannot; what else is wrong with it (labels that are damaged).
    pub reason: Option<String>,
    /// Name of the scenario.
    pub scenario: String,
    /// The policy; `pooled` for the bound of one pooled cluster; null for other
    /// runs without a broker.
    pub policy: Option<String>,
    /// The seed.
    pub seed: u64,
    /// Which replication, from 0.
    pub replication: u32,
    /// What tells the replication from the others.
    pub key: String,
    /// What varies between the replications; null if it is the only one.
    pub varies: Option<String>,
    /// `virtual` or `real`.
    pub clock: String,
    /// Whether jobs may be left over.
    pub partial: bool,
    /// Whether the run may be relied on; null if it does not say.
    pub valid: Option<bool>,
    /// What the audit found; empty if it does not say.
    pub audit: String,
    /// Hash of the resolved scenario.
    pub scenario_hash: String,
    /// Hash of the workload as replayed: equal ones can be paired.
    pub workload_hash: String,
    /// Names and SHA-256 of the traces.
    pub traces: String,
    /// What decided the numbers, with versions.
    pub versions: String,
    /// When it was written, in seconds since 1970; null if it does not say.
    pub written_unix_s: Option<u64>,
    /// How long it took on the wall clock, in seconds; null if it does not say.
    pub wall_s: Option<f64>,
    /// Its settings besides the policy, such as `exchange 15s`, as far as they are few;
    /// none of a pooled cluster.
    pub settings: Vec<String>,
    /// Jobs by what became of them.
    #[serde(flatten)]
    pub jobs: JobCounts,
    /// The main figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// What its reader must know.
    pub warnings: Vec<String>,
    /// What people say about it.
    #[serde(flatten)]
    pub labels: Labels,
}

/// A run directory, not yet read.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) path: String,
    /// Names, sizes and dates of its files: the same ones, the same run.
    pub(super) stamp: String,
    /// Whether a process runs it. That is asked once, so that stamp and state never differ.
    pub(super) held: bool,
}

/// All run directories of a folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    pub(super) places: Vec<Place>,
    pub(super) links: u64,
    pub(super) unreadable: Vec<String>,
}

impl Scan {
    /// # Errors
    /// When the folder itself cannot be read.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let mut scan = Scan::default();
        scan.walk(folder, "", DEPTH)?;
        scan.places.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(scan)
    }

    fn walk(&mut self, dir: &Path, path: &str, depth: usize) -> io::Result<()> {
        let mut below = Vec::new();
        let mut files = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                below.push(name);
            } else if kind.is_symlink() && entry.path().is_dir() {
                // It could lead anywhere, and around in circles.
                self.links += 1;
            } else if let Ok(facts) = entry.metadata() {
                let date = facts.modified().ok();
                let date = date.and_then(|date| date.duration_since(UNIX_EPOCH).ok());
                files.push((name, facts.len(), date.unwrap_or_default().as_nanos()));
            }
        }
        let is_of_a_run = |name: &str| is_begun(name) || is_file_of_a_run(name);
        let is_run = files.iter().any(|(name, ..)| is_of_a_run(name));
        if is_run && !path.is_empty() {
            // One that is made again, or gone on with, has a manifest meanwhile.
            let begun = |(name, ..): &(String, u64, u128)| is_begun(name);
            let is_over = files.iter().any(|(name, ..)| name == names::MANIFEST);
            let held = (!is_over || files.iter().any(begun)) && is_held(dir);
            // A log that grows says nothing new of its run.
            files.retain(|(name, ..)| !is_begun_log(name));
            files.sort();
            let mut stamp = match held {
                true => "held;".to_owned(),
                false => String::new(),
            };
            for (name, bytes, date) in files {
                let _ = write!(stamp, "{name}:{bytes}:{date};");
            }
            self.places.push(Place {
                path: path.to_owned(),
                stamp,
                held,
            });
            return Ok(());
        }
        below.sort();
        for name in below.into_iter().filter(|_| depth > 0) {
            let path = match path.is_empty() {
                true => name.clone(),
                false => format!("{path}/{name}"),
            };
            if let Err(error) = self.walk(&dir.join(&name), &path, depth - 1) {
                self.unreadable.push(format!("{path}: {error}"));
            }
        }
        Ok(())
    }
}

/// Reads what the catalogue lists of a run. It never fails: what is wrong with
/// a directory is what is listed.
pub(super) fn inspect(folder: &Path, place: &Place) -> RunEntry {
    let dir = folder.join(&place.path);
    let mut entry = RunEntry {
        path: place.path.clone(),
        ..RunEntry::default()
    };
    match labels::read(&dir) {
        Ok(labels) => entry.labels = labels,
        Err(error) => entry.reason = Some(error.to_string()),
    }
    if !dir.join(names::MANIFEST).exists() {
        unfinished(&mut entry, &dir, place.held);
        return entry;
    }
    match rundir::read_manifest(&dir) {
        Ok(manifest) => {
            if let Some(reason) = missing(&dir, &manifest) {
                entry.state = State::Damaged;
                entry.reason = Some(reason);
            }
            describe(&mut entry, manifest);
        }
        Err(error) => {
            entry.state = State::Damaged;
            entry.reason = Some(without_folder(folder, &said(&error)));
        }
    }
    if place.held {
        entry.state = State::Running;
        let being_run = Incomplete::Running.reason();
        entry.reason = Some(format!("{being_run}, and its figures are those of before"));
    }
    entry
}

/// What is known of a run without a manifest.
fn unfinished(entry: &mut RunEntry, dir: &Path, held: bool) {
    let running = begun(dir);
    let is_real = running["lives"].is_array();
    // It lies where its scenario with its seed, and its policy, are named.
    let above = entry.path.rsplit('/').skip(1);
    let mut above = above.filter(|_| is_real || held);
    let policy = above.next().map(str::to_owned);
    let study = above.next().unwrap_or_default();
    let (scenario, seed) = match running["name"].as_str() {
        Some(name) => {
            let rest = study.strip_prefix(name).and_then(|it| it.strip_prefix('-'));
            let seed = rest.and_then(|rest| rest.split('-').next()?.parse().ok());
            (name, seed.unwrap_or_default())
        }
        None => named(study).unwrap_or_default(),
    };
    let scenario = scenario.to_owned();
    let stands = Incomplete::of(&running, held);
    let (state, reason) = match stands {
        Incomplete::Running => (State::Running, stands.reason()),
        Incomplete::HalfWritten => {
            let reason = format!("no manifest.json: {}", stands.reason());
            (State::HalfWritten, reason)
        }
        _ => (State::HalfWritten, stands.reason()),
    };
    // Only runs in real time say how they go on.
    let clock = match is_real {
        true => "real",
        false if held => "virtual",
        false => "",
    };
    (entry.scenario, entry.seed, entry.policy) = (scenario, seed, policy);
    (entry.state, entry.reason) = (state, Some(reason));
    clock.clone_into(&mut entry.clock);
}

/// Scenario and seed by the name of their folder. From the second folder on a number stands
/// behind the seed: where two numbers end the name, it does not say which is the seed.
fn named<'s>(study: &'s str) -> Option<(&'s str, u64)> {
    let split = |text: &'s str| {
        let (name, number) = text.rsplit_once('-')?;
        Some((name, number.parse::<u64>().ok()?))
    };
    let (name, seed) = split(study)?;
    let may_be_another = seed > 1 && split(name).is_some();
    (!may_be_another).then_some((name, seed))
}

/// The first file that is not as long as the manifest says. Its bytes are not
/// read: comparisons and audits do that.
fn missing(dir: &Path, manifest: &Manifest) -> Option<String> {
    manifest
        .files
        .iter()
        .find_map(|(name, file)| match fs::metadata(dir.join(name)) {
            Err(_) => Some(format!("{name}: missing")),
            Ok(facts) if !facts.is_file() => Some(format!("{name}: expected a regular file")),
            Ok(facts) if facts.len() != file.bytes => Some(format!(
                "{name}: {} bytes, the manifest has {}",
                facts.len(),
                file.bytes
            )),
            Ok(_) => None,
        })
}

fn describe(entry: &mut RunEntry, manifest: Manifest) {
    let summary = &manifest.summary;
    entry.jobs = JobCounts::deserialize(&summary["jobs"]).unwrap_or_default();
    entry.figures = Figures::of(summary);
    entry.valid = summary["valid"].as_bool();
    entry.audit = summary["audit"].as_str().unwrap_or_default().to_owned();
    // A summary repeats the warnings of its manifest and may add to them.
    let told = summary["warnings"].as_array().into_iter().flatten();
    let told = told.filter_map(Value::as_str).map(str::to_owned);
    entry.warnings = each_once(manifest.warnings.iter().cloned().chain(told));
    entry.policy = manifest.policy_or_bound();
    entry.traces = pairs(&manifest.trace_sha256).join(", ");
    entry.versions = pairs(&manifest.versions).join(", ");
    entry.written_unix_s = manifest.host.get("written_unix_s").and_then(Value::as_u64);
    entry.wall_s = manifest.host.get("wall_s").and_then(Value::as_f64);
    entry.settings = settings_in_words(&manifest);
    let hash = manifest.workload_hashes.get("all");
    entry.workload_hash = hash.cloned().unwrap_or_default();
    entry.scenario = manifest.study.scenario;
    entry.key = manifest.study.key;
    entry.varies = manifest.study.varies.map(|varies| varies.over);
    entry.seed = manifest.seed;
    entry.replication = manifest.replication;
    entry.clock = manifest.clock;
    entry.partial = manifest.partial;
    entry.scenario_hash = manifest.scenario_hash;
}

/// Names of files as they are called below the folder.
fn without_folder(folder: &Path, text: &str) -> String {
    text.replace(&format!("{}/", folder.display()), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_a_run_goes_on_is_asked_once() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("s-1/p/r000");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("events.parquet.7.partial"), "").unwrap();
        let look = || Scan::of(folder.path()).unwrap().places.remove(0);
        let before = look();
        let held = fs::File::open(&dir).unwrap();
        held.lock().unwrap();
        // Its stamp is that of a run that nobody runs, and so is its state.
        assert_eq!(inspect(folder.path(), &before).state, State::HalfWritten);
        let during = look();
        drop(held);
        assert_eq!(inspect(folder.path(), &during).state, State::Running);
        assert_ne!(before.stamp, during.stamp);
        assert_eq!(before.stamp, look().stamp);
    }

    #[test]
    fn a_folder_whose_name_ends_with_two_numbers_names_no_scenario() {
        for (study, expected) in [
            ("two-sites-7", Some(("two-sites", 7))),
            // There is no folder of number 1.
            ("phase-3-1", Some(("phase-3", 1))),
            ("phase-3-7", None),
            ("two-sites-1-2", None),
            ("two-sites", None),
        ] {
            assert_eq!(named(study), expected, "{study}");
        }
    }
}
