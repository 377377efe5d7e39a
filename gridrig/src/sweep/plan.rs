//! The plan of a sweep: written once, and refused when anything of it has changed.

use super::study::{Settings, Study};
use crate::check;
use crate::exit::Failure;
use crate::runner::{self, CellNumber, RunOptions};
use crate::scenario::{Clock, Scenario, ScenarioError, ScenarioText};
use crate::words::{hex, list};
use anyhow::{Context as _, anyhow, ensure};
use gridrig_results::rundir;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the plan was made from, and the hashes of all files.
const HEADER: &str = "plan.json";
/// A point on each line.
const POINTS: &str = "plan.jsonl";
/// The text of the scenario.
const SCENARIO: &str = "scenario.toml";

/// A sweep that has been planned.
pub struct Plan {
    /// Its folder, as an absolute path.
    pub dir: PathBuf,
    /// What it was made from.
    pub header: Header,
    /// Its points, in order.
    pub points: Vec<Point>,
    text: String,
}

/// What a plan was made from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version that made it.
    program: String,
    /// Where paths are looked for.
    directory: PathBuf,
    scenario: PathBuf,
    /// The keys that vary.
    pub keys: Vec<String>,
    /// The first one of the grid that has several values.
    pub grid: Option<String>,
    /// SHA-256 of the files that the scenario names at some point.
    inputs: BTreeMap<String, String>,
    /// SHA-256 of the other files of the plan.
    sha256: BTreeMap<String, String>,
}

/// A point of a sweep: a scenario of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Hash of its resolved scenario, and of the files that this names.
    pub id: String,
    /// What is set.
    pub set: Settings,
    /// So many runs.
    pub runs: u64,
    /// How long they take, one at a time, as `gridrig check` predicts it.
    pub predicted_s: f64,
}

impl Plan {
    /// Whether this folder is that of a plan.
    pub fn is_in(dir: &Path) -> bool {
        dir.join(HEADER).is_file() && dir.join(POINTS).is_file()
    }

    /// What it is called: its folder and its scenario.
    pub fn title(&self) -> String {
        let name = |path: &Path| path.file_stem().map(|it| it.to_string_lossy().into_owned());
        let names = [name(&self.dir), name(&self.header.scenario)];
        let [dir, scenario] = names.map(Option::unwrap_or_default);
        format!("{dir}, of {scenario}")
    }
}

/// What is set, as on a command line.
pub fn sets(set: &Settings) -> Vec<String> {
    let set = set.iter();
    set.map(|(key, value)| format!("{key}={value}")).collect()
}

/// Plans a study, and writes the plan into a folder; answers it, and whether it was
/// there already.
///
/// # Errors
/// Mistakes of the study or its scenario; a folder with something else in it.
pub fn make(study: &Path, out: &Path) -> Result<(Plan, bool), Failure> {
    let study = Study::load(study)?;
    let file = study.scenario.display().to_string();
    let text = std::fs::read_to_string(&study.scenario);
    let text = text.with_context(|| format!("{file}: cannot read the scenario"))?;
    let mut inputs = BTreeMap::new();
    let mut points: Vec<Point> = Vec::new();
    let mut ids = BTreeMap::new();
    for set in &study.points {
        let point = point(&study, &text, set, &mut inputs)?;
        if let Some(same) = ids.insert(point.id.clone(), points.len()) {
            let same: &Point = &points[same];
            let mut keys = study.keys.iter();
            let key = keys.find(|key| same.set.get(*key) != set.get(*key));
            return Err(Failure::Input(anyhow!(
                "{}: changes nothing: {} and {} make the same scenario (expected values that each \
                 make another one)",
                key.map(|key| study.at(key)).unwrap_or_default(),
                list(sets(&same.set)),
                list(sets(set))
            )));
        }
        points.push(point);
    }
    let directory = std::env::current_dir().map_err(Failure::run)?;
    let lines = points.iter().map(serde_json::to_string);
    let lines: Result<Vec<String>, _> = lines.collect();
    let lines = lines.map_err(Failure::run)?.join("\n") + "\n";
    let hash = |name: &str, text: &str| (name.to_owned(), hex(Sha256::digest(text)));
    let header = Header {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        directory,
        scenario: study.scenario.clone(),
        keys: study.keys.clone(),
        grid: study.grid.clone(),
        inputs,
        sha256: BTreeMap::from([hash(POINTS, &lines), hash(SCENARIO, &text)]),
    };
    let written = serde_json::to_string_pretty(&header).map_err(Failure::run)? + "\n";
    let is_there = is_there(out, &written)?;
    if !is_there {
        std::fs::create_dir_all(out)
            .with_context(|| format!("{}: expected a folder to write to", out.display()))?;
        // With the last one it is a plan.
        for (name, text) in [(SCENARIO, &text), (POINTS, &lines), (HEADER, &written)] {
            rundir::write_file(out, name, text.as_bytes()).map_err(Failure::run)?;
        }
    }
    Ok((Plan::open(out)?, is_there))
}

/// Whether this very plan is in a folder; refuses what else may be there.
fn is_there(out: &Path, header: &str) -> anyhow::Result<bool> {
    let there = std::fs::read_to_string(out.join(HEADER));
    let is_there = there.is_ok_and(|there| there == header);
    ensure!(
        is_there || rundir::is_vacant(out)?,
        "{}: holds another plan, or something else (expected a new folder: a plan stays as it is)",
        out.display()
    );
    Ok(is_there)
}

/// The point with these settings.
fn point(
    study: &Study,
    text: &str,
    set: &Settings,
    inputs: &mut BTreeMap<String, String>,
) -> anyhow::Result<Point> {
    let sets = sets(set);
    let scenario = parse(&study.scenario, text, &sets).map_err(|error| {
        let said = error.to_string();
        let mut named = set.keys().zip(&sets);
        let named = named.find(|(_, set)| said.contains(&format!("--set {set}")));
        let at = named.map(|(key, _)| format!("{}: ", study.at(key)));
        anyhow!("{}{:#}", at.unwrap_or_default(), anyhow!(error))
    })?;
    let at = || format!("{} at {}", scenario.name, list(&sets));
    ensure!(
        scenario.clock == Clock::Virtual,
        "{}: clock = \"real\": expected clock = \"virtual\", since runs go side by side",
        at()
    );
    runner::refuse(&scenario, &RunOptions::default()).with_context(at)?;
    let prepared = runner::prepare_workloads(&scenario).with_context(at)?;
    let report = check::check(&scenario, &prepared);
    ensure!(
        report.jobs > report.impossible_jobs,
        "{}: no job can run (expected at least one)",
        at()
    );
    Ok(Point {
        id: id(&scenario, inputs)?,
        set: set.clone(),
        runs: report.runs,
        predicted_s: (report.wall_time_s * 1e3).ceil() / 1e3,
    })
}

fn parse(file: &Path, text: &str, sets: &[String]) -> Result<Scenario, ScenarioError> {
    Scenario::parse(&ScenarioText::new(file, text, sets))
}

/// What tells a scenario from others: its text without directories, and the files that it
/// names, whose SHA-256 are kept by their paths.
fn id(scenario: &Scenario, inputs: &mut BTreeMap<String, String>) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    hash.update(scenario.to_canonical_toml());
    for path in scenario.document.files() {
        let file = Path::new(&path);
        if !inputs.contains_key(&path) && file.is_file() {
            inputs.insert(path.clone(), rundir::sha256_of(file)?);
        }
        hash.update(inputs.get(&path).map_or("", String::as_str));
    }
    Ok(hex(hash.finalize())[..16].to_owned())
}

fn refuse_changed(path: &Path, sha256: &str) -> anyhow::Result<()> {
    let (found, path) = (rundir::sha256_of(path)?, path.display());
    ensure!(
        found == sha256,
        "{path}: was changed since the plan was made: its SHA-256 is {found} (expected {sha256}, or \
         a new plan in another folder)"
    );
    Ok(())
}

impl Plan {
    /// Reads a plan. From then on the process works in the directory in which it was
    /// made, where that is there, so that paths mean the same.
    ///
    /// # Errors
    /// What is no plan, or one that has changed.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        let found = dir.canonicalize();
        let dir =
            found.with_context(|| format!("{}: expected the folder of a plan", dir.display()))?;
        let read = |name: &str| {
            let path = dir.join(name);
            let text = std::fs::read_to_string(&path);
            let expected = || format!("{}: expected a plan (gridrig sweep plan)", path.display());
            text.with_context(expected)
        };
        let at = dir.join(HEADER).display().to_string();
        let header = serde_json::from_str(&read(HEADER)?);
        let header: Header = header.with_context(|| format!("{at}: expected a plan"))?;
        let (made, this) = (&header.program, env!("CARGO_PKG_VERSION"));
        ensure!(
            made == this,
            "{at}: field program = \"{made}\": expected \"{this}\", since a sweep is run by the \
             version that planned it"
        );
        for (name, sha256) in &header.sha256 {
            refuse_changed(&dir.join(name), sha256)?;
        }
        let (text, lines) = (read(SCENARIO)?, read(POINTS)?);
        let points = lines.lines().map(serde_json::from_str);
        let points: Result<Vec<Point>, _> = points.collect();
        let points = points.with_context(|| dir.join(POINTS).display().to_string())?;
        if header.directory.is_dir() {
            std::env::set_current_dir(&header.directory)
                .with_context(|| header.directory.display().to_string())?;
        }
        Ok(Plan {
            dir,
            header,
            points,
            text,
        })
    }

    /// Refuses files other than those that it was made from.
    ///
    /// # Errors
    /// The first one that is another.
    pub fn refuse_changed(&self) -> anyhow::Result<()> {
        let mut inputs = self.header.inputs.iter();
        inputs.try_for_each(|(path, sha256)| refuse_changed(Path::new(path), sha256))
    }

    /// The scenario of a point.
    ///
    /// # Errors
    /// When it is another one than was planned, as by a program that is not the same.
    pub fn scenario(&self, point: &Point) -> anyhow::Result<Scenario> {
        let scenario = parse(&self.header.scenario, &self.text, &sets(&point.set))?;
        let id = id(&scenario, &mut self.header.inputs.clone())?;
        let planned = &point.id;
        ensure!(
            id == *planned,
            "point {planned}: its scenario is now {id} (expected the one that was planned)"
        );
        Ok(scenario)
    }

    /// Where the runs of a point go.
    pub fn runs_of(&self, point: &Point) -> PathBuf {
        self.dir.join("runs").join(&point.id)
    }

    /// How many runs it has.
    pub fn runs(&self) -> u64 {
        self.points.iter().map(|point| point.runs).sum()
    }

    /// How long all runs take, one at a time.
    pub fn predicted_s(&self) -> f64 {
        self.points.iter().map(|point| point.predicted_s).sum()
    }

    /// The points of a slice, which are neighbours: each slice takes about as long.
    pub fn slice(&self, slice: CellNumber) -> impl Iterator<Item = &Point> {
        let all_s = self.predicted_s();
        let mut before_s = 0.0;
        self.points.iter().filter(move |point| {
            let middle_s = before_s + point.predicted_s / 2.0;
            before_s += point.predicted_s;
            let at = (middle_s / all_s * slice.of as f64) as usize;
            at.min(slice.of - 1) + 1 == slice.number
        })
    }
}
