//! A run in real time that is not over: its directory says what it takes to go on
//! with it.

use super::cell::cannot_go_on;
use super::write::{directory, folder, workload_hash};
use super::{Cell, CellNumber, Load, RunOptions, cells};
use crate::exit::Failure;
use crate::realtime::Journals;
use crate::scenario::{Clock, Scenario, ScenarioText};
use anyhow::{Context as _, anyhow, bail, ensure};
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_results::rundir::{self, names::RUNNING};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The directory of its journals.
const JOURNALS: &str = "journals";
/// Of the file that says how to go on.
const FORMAT: u32 = 1;

/// A run that has begun, or is to begin.
pub(super) struct Running {
    dir: PathBuf,
    doc: Doc,
}

#[derive(Serialize, Deserialize)]
struct Doc {
    format: u32,
    /// The version that writes the journals.
    program: String,
    /// Of the whole scenario: its name, where its files are looked for, its text.
    name: String,
    directory: PathBuf,
    scenario: String,
    cell: String,
    csv: bool,
    kill: Vec<String>,
    processes: bool,
    /// Why nobody can go on with it, if nobody can: for whoever lists runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cannot_continue: Option<String>,
    /// Part of every job's key.
    run: String,
    /// Hash of the jobs; absent before the run begins.
    workload: Option<String>,
    /// Each time that it was begun or gone on with.
    lives: Vec<Life>,
}

#[derive(Serialize, Deserialize)]
struct Life {
    began_unix_ms: u64,
    /// What the clock of the run showed.
    at_ns: u64,
    /// When the machine was suspended in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    suspended: Vec<Gap>,
}

impl Life {
    /// When nobody ran the run from the beginning of this life to that of the next.
    fn gaps(&self, next: &Life, speed: Decimal) -> Vec<Gap> {
        let at_s = SimTime::from_nanos(next.at_ns).as_secs_f64();
        // The next one goes on from the journals, which may end before it was noticed.
        let suspended = self.suspended.iter().map(|gap| Gap {
            at_s: gap.at_s.min(at_s),
            ..*gap
        });
        let mut gaps: Vec<Gap> = suspended.collect();
        let ran = speed.divide(next.at_ns.saturating_sub(self.at_ns));
        // The clock of the run stood meanwhile.
        let stood = gaps.iter().map(Gap::length_s).fold(0, u64::saturating_add);
        let stopped = Duration::from_millis(self.began_unix_ms) + Duration::from_nanos(ran);
        let stopped = stopped.as_secs().saturating_add(stood);
        let last = gaps.last().map_or(0, |gap| gap.resumed_unix_s);
        gaps.push(Gap {
            at_s,
            stopped_unix_s: stopped.max(last),
            resumed_unix_s: next.began_unix_ms / 1000,
            suspended: false,
        });
        gaps
    }
}

/// A time in which nobody ran a run: its clock stood.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// What the clock of the run showed.
    pub at_s: f64,
    /// When the run stopped: seconds since 1970.
    pub stopped_unix_s: u64,
    /// When it went on.
    pub resumed_unix_s: u64,
    /// Whether it went on by itself ([`SUSPENDED`]); else it was broken off.
    pub suspended: bool,
}

/// What has happened where the wall clock moves on and the monotonic one does not.
pub const SUSPENDED: &str = "the machine was suspended, or its clock was set forward";

impl Gap {
    fn length_s(&self) -> u64 {
        self.resumed_unix_s.saturating_sub(self.stopped_unix_s)
    }

    /// The gap in words.
    pub fn note(&self) -> String {
        let (at, length) = (self.at_s, SimDuration::from_secs(self.length_s()));
        match self.suspended {
            true => format!("suspended: {SUSPENDED} ({length} at {at:.1} s)"),
            false => format!(
                "broken-off: the run was interrupted at {at:.1} s and continued {length} later"
            ),
        }
    }
}

/// What is to be gone on with in a directory: the scenario, and how it is run.
///
/// # Errors
/// When nothing is, or not by this program.
pub fn resume(dir: &Path, options: RunOptions) -> anyhow::Result<(Scenario, RunOptions)> {
    let shown = dir.display();
    let dir = dir.canonicalize().with_context(|| shown.to_string())?;
    let mut found = Vec::new();
    find(&dir, 0, &mut found)?;
    let Some((first, others)) = found.split_first() else {
        bail!(
            "{shown}: no run to continue there (expected {RUNNING}, which a run in real time has \
             until it is over)"
        );
    };
    let doc = &first.doc;
    if let Some(other) = others.iter().find(|it| it.doc.scenario != doc.scenario) {
        bail!(
            "{shown}: holds runs of several scenarios, as in {} and {} (expected the directory of \
             one of them)",
            first.dir.display(),
            other.dir.display()
        );
    }
    let scenario = first.scenario()?;
    let cell = first.number()?;
    // OUT/SCENARIO-SEED/POLICY/rNNN, with a number behind the seed from the second on.
    let mut above = first.dir.ancestors().skip(2);
    let study = above.next().and_then(Path::file_name).unwrap_or_default();
    let study = study.to_string_lossy();
    let number = study.strip_prefix(&folder(&scenario.name, scenario.seed, 1));
    let number = number.and_then(|rest| rest.strip_prefix('-')?.parse().ok());
    let options = RunOptions {
        out: above.next().map(Path::to_owned),
        study: number.unwrap_or(1),
        cell: (first.dir == dir).then_some(cell),
        csv: doc.csv,
        kill: doc.kill.clone(),
        processes: doc.processes,
        resume: true,
        ..options
    };
    Ok((scenario, options))
}

/// Runs at most so many directories below the one that is named.
const DEPTH: usize = 3;

fn find(dir: &Path, depth: usize, found: &mut Vec<Running>) -> anyhow::Result<()> {
    if let Some(running) = Running::read(dir)? {
        found.push(running);
        return Ok(());
    }
    let entries = std::fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    dirs.retain(|path| depth < DEPTH && path.is_dir());
    dirs.sort();
    dirs.iter()
        .try_for_each(|below| find(below, depth + 1, found))
}

/// Whether runs with these options write down what happens as it happens. Where nobody can
/// go on with them they write events, from which no broker can be restarted by plan.
pub(super) fn keeps_journals(scenario: &Scenario, options: &RunOptions) -> bool {
    let faults = scenario.faults.as_ref();
    let restarts = faults.is_some_and(|faults| !faults.restarts.is_empty());
    wants_journals(scenario, options) && !(restarts && cannot_go_on(scenario).is_some())
}

/// Whether who breaks such a run off can go on with it.
pub(super) fn can_go_on(scenario: &Scenario, options: &RunOptions) -> bool {
    keeps_journals(scenario, options) && cannot_go_on(scenario).is_none()
}

/// Why a run is only written as far as it had come, if it is: it was broken off, and nobody
/// can go on with it.
pub(super) fn ends_here(scenario: &Scenario, options: &RunOptions) -> Option<String> {
    cannot_go_on(scenario).filter(|_| options.resume)
}

/// What the user has to know of runs with which nobody can go on though they were not told
/// to keep no journal.
pub(super) fn why_no_journal(scenario: &Scenario, options: &RunOptions) -> Option<String> {
    let others = cannot_go_on(scenario).filter(|_| wants_journals(scenario, options))?;
    let name = &scenario.name;
    Some(match keeps_journals(scenario, options) {
        true => format!(
            "{name}: a run that is killed cannot be continued ({others}), but --resume writes what \
             happened until then"
        ),
        false => format!(
            "{name}: no journal is kept ({others}, planned restarts), so a run that is killed \
             leaves nothing"
        ),
    })
}

fn wants_journals(scenario: &Scenario, options: &RunOptions) -> bool {
    let has_place = options.out.is_some() && !options.scratch && !options.no_journal;
    matches!(scenario.clock, Clock::Real { .. }) && has_place
}

/// Makes the directory of a run that is to be.
///
/// # Errors
/// When it cannot be made.
pub(super) fn claim(
    (CellNumber { number, of }, cell): (CellNumber, &Cell),
    scenario: &Scenario,
    options: &RunOptions,
) -> Result<(), Failure> {
    let Some(dir) = directory(cell, options) else {
        return Ok(());
    };
    rundir::prepare(&dir, options.force).map_err(Failure::run)?;
    let (name, seed) = (&scenario.name, scenario.seed);
    let running = Running {
        doc: Doc {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            name: name.clone(),
            directory: std::env::current_dir().map_err(Failure::run)?,
            scenario: scenario.to_resolved_toml(),
            cell: format!("{number}/{of}"),
            csv: options.csv,
            kill: options.kill.clone(),
            processes: options.processes,
            cannot_continue: cannot_go_on(scenario),
            run: format!("{name}-{seed}-{number}-{}", std::process::id()),
            workload: None,
            lives: Vec::new(),
        },
        dir,
    };
    remove(&running.dir.join(JOURNALS))?;
    let resolved = cell.replication.scenario.to_resolved_toml();
    rundir::write_file(&running.dir, rundir::names::SCENARIO, resolved.as_bytes())
        .map_err(Failure::run)?;
    running.write()
}

impl Running {
    /// The run of this cell, if it is to be or has begun.
    ///
    /// # Errors
    /// When what is written of it cannot be read.
    pub fn of(cell: &Cell, options: &RunOptions) -> anyhow::Result<Option<Self>> {
        directory(cell, options).map_or(Ok(None), |dir| Self::read(&dir))
    }

    /// The whole scenario.
    fn scenario(&self) -> anyhow::Result<Scenario> {
        let doc = &self.doc;
        let here = std::env::current_dir().is_ok_and(|here| here == doc.directory);
        let scenario = Scenario::parse(&ScenarioText {
            file: Path::new(&format!("{}.toml", doc.name)),
            text: &doc.scenario,
            sets: &[],
            directory: if here { Path::new("") } else { &doc.directory },
            traces_may_be_missing: false,
        });
        Ok(scenario?)
    }

    fn number(&self) -> anyhow::Result<CellNumber> {
        let number = self.doc.cell.parse::<CellNumber>();
        number.map_err(|why| anyhow!("{}: {why}", self.dir.join(RUNNING).display()))
    }

    /// Its cell.
    ///
    /// # Errors
    /// When the scenario has no such cell.
    pub fn cell(&self) -> anyhow::Result<Cell> {
        let scenario = self.scenario()?;
        let replications = scenario.replications();
        let mut all = replications.iter().flat_map(|it| cells(&scenario, it));
        let cell = all.nth(self.number()?.number - 1);
        cell.with_context(|| format!("{}: no such cell", self.doc.cell))
    }

    /// The journals, for a service of a run that has begun.
    pub fn journals(&self) -> Journals {
        Journals::of_run(&self.dir.join(JOURNALS), &self.doc.run)
    }

    /// Copies of the journals as they are now, in this directory.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn copy_journals(&self, to: &Path, scenario: &Scenario) -> anyhow::Result<Journals> {
        let journals = self.dir.join(JOURNALS);
        // Before the run has begun there are none.
        for entry in std::fs::read_dir(&journals).into_iter().flatten() {
            let entry = entry?;
            let copied = std::fs::copy(entry.path(), to.join(entry.file_name()));
            copied.with_context(|| entry.path().display().to_string())?;
        }
        let opened = Journals::open(to, &self.doc.run);
        let opened = opened.with_context(|| journals.display().to_string())?;
        Ok(as_kept(opened, scenario))
    }

    /// The run directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The run in this directory, if it is to be or has begun.
    ///
    /// # Errors
    /// When what is written of it cannot be read, or another version has.
    pub fn read(dir: &Path) -> anyhow::Result<Option<Self>> {
        let path = dir.join(RUNNING);
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| path.display().to_string())?,
        };
        let doc: Doc = serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        let (written, this) = (&doc.program, env!("CARGO_PKG_VERSION"));
        ensure!(
            doc.format == FORMAT && written == this,
            "{}: field program = \"{written}\": expected \"{this}\", since only the version that \
             began a run can continue it",
            path.display()
        );
        let dir = dir.to_owned();
        Ok(Some(Running { dir, doc }))
    }

    /// Its directory for this process alone, until what is answered is dropped.
    ///
    /// # Errors
    /// When another process runs it, or its directory cannot be locked.
    pub fn lock(&self) -> anyhow::Result<File> {
        let dir = self.dir.display();
        rundir::hold(&self.dir).map_err(|error| match error {
            TryLockError::WouldBlock => {
                anyhow!("{dir}: another process is running it (expected none)")
            }
            TryLockError::Error(error) => anyhow::Error::new(error).context(dir.to_string()),
        })
    }

    fn write(&self) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(&self.doc).map_err(Failure::run)?;
        rundir::write_file(&self.dir, RUNNING, &text).map_err(Failure::run)
    }

    /// Part of the key of every job.
    pub fn id(&self) -> &str {
        &self.doc.run
    }

    /// It begins, or goes on from what its journals say, or ends with that.
    ///
    /// # Errors
    /// When the jobs are others than before, or its files cannot be read or written.
    #[allow(
        clippy::disallowed_methods,
        reason = "how long nobody ran it is said in the manifest, under host"
    )]
    pub fn begin(&mut self, load: &Load, scenario: &Scenario) -> Result<Journals, Failure> {
        let hash = workload_hash(&load.submissions, true);
        let before = self.doc.workload.get_or_insert_with(|| hash.clone());
        if *before != hash {
            return Err(Failure::Input(anyhow!(
                "{}: field workload = \"{before}\": the jobs have changed since the run began \
                 (expected the same traces, not \"{hash}\")",
                self.dir.join(RUNNING).display()
            )));
        }
        let journals = self.dir.join(JOURNALS);
        let journals = Journals::open(&journals, &self.doc.run)
            .with_context(|| journals.display().to_string())
            .map_err(Failure::Run)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        self.doc.lives.push(Life {
            began_unix_ms: since.unwrap_or_default().as_millis() as u64,
            at_ns: journals.from().as_nanos(),
            suspended: Vec::new(),
        });
        self.write()?;
        Ok(as_kept(journals, scenario))
    }

    /// When nobody ran it.
    pub fn gaps(&self, clock: Clock) -> Vec<Gap> {
        let Clock::Real { speed } = clock else {
            return Vec::new();
        };
        let lives = &self.doc.lives;
        let pairs = lives.iter().zip(lives.iter().skip(1));
        let before = pairs.flat_map(|(life, next)| life.gaps(next, speed));
        let last = lives.last().into_iter().flat_map(|life| &life.suspended);
        before.chain(last.copied()).collect()
    }

    /// The machine was suspended: so says the file, too, for whoever goes on with the run.
    pub fn note_suspension(&mut self, gap: Gap) {
        if let Some(life) = self.doc.lives.last_mut() {
            life.suspended.push(gap);
        }
        if let Err(failure) = self.write() {
            let why = failure.why();
            tracing::warn!(why, "that the machine was suspended cannot be written down");
        }
    }

    /// Tells the user how it can go on.
    pub fn say(&self) {
        eprintln!("to continue it: {}", self.command());
    }

    /// The command that goes on with it.
    pub fn command(&self) -> String {
        format!("gridrig run --resume {}", self.dir.display())
    }

    /// Nobody can go on with it: its journals stay for who wants to see them.
    ///
    /// # Errors
    /// When its file cannot be removed.
    pub fn give_up(&self) -> Result<(), Failure> {
        rundir::remove_file(&self.dir, RUNNING).map_err(Failure::run)
    }

    /// Its results are written.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub fn end(self) -> Result<(), Failure> {
        self.give_up()?;
        remove(&self.dir.join(JOURNALS))
    }

    /// It could not begin: nothing of it stays, nor of a run that it was to replace, whose
    /// manifest is gone.
    ///
    /// # Errors
    /// When its directory cannot be removed.
    pub fn forget(self) -> Result<(), Failure> {
        remove(&self.dir)
    }
}

/// Journals as runs of this scenario keep them.
fn as_kept(journals: Journals, scenario: &Scenario) -> Journals {
    match cannot_go_on(scenario) {
        None => journals,
        Some(_) => journals.of_events(),
    }
}

fn remove(dir: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let what = format!("{}: cannot be removed", dir.display());
            Err(Failure::Run(anyhow::Error::new(error).context(what)))
        }
        _ => Ok(()),
    }
}
