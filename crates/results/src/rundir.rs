//! The run directory: everything about a run, open to other tools (design 8).
//!
//! `docs/run-directory.md` describes the files column by column. Each is
//! written under a name of its own with `.partial` behind it, synced to the
//! disk and then renamed, the manifest last: a directory with a manifest is
//! complete.

mod audited;
mod batch;
mod columns;
mod csv;
mod decisions;
mod events;
mod figures;
mod file;
mod job;
mod job_columns;
mod manifest;
mod open;
mod pages;
mod placements;
mod ran;
mod read;
mod reader;
mod runs;
mod series;
mod table_columns;
mod tables;
mod texts;
mod values;

pub use self::csv::{CsvError, write_csv};
pub use audited::audit_run_dir;
pub use batch::MOST_ROWS;
pub use decisions::{CandidateDoc, DecisionDoc, decisions_of, read_decisions};
pub use events::{EventsWriter, UnreadableRow, hold};
pub use figures::{Values, write_figures};
pub use file::{make_dir, sha256_of};
pub use gridrig_scenario::grid::{ClusterDoc, DomainDoc, GridDoc, LinkDoc, ResourceDoc};
pub use gridrig_scenario::{POOLED, is_bound};
pub use job::{OneJob, SomeEvents, read_job, read_newest};
pub use job_columns::OWNERS;
pub use manifest::{
    ChoiceDoc, ChosenShare, ChosenWindow, FileDoc, InfoDoc, MANIFEST_FORMAT, Manifest, MeasureDoc,
    ScaleDoc, StudyDoc, VariesDoc, read_manifest,
};
pub use open::{open_file, read_file};
pub use pages::Pages;
pub use placements::{Placements, read_placements};
pub use ran::Ran;
pub(crate) use read::is_unchanged;
pub use read::{Run, read, read_grid};
pub use series::{ClusterSeries, SeriesPoint, read_series};
pub use table_columns::{Codes, TableColumns};

use crate::audit::AuditReport;
use crate::audit::Violation;
use crate::jobs::JobTable;
use crate::log::EventLog;
use gridrig_core::decision::About;
use gridrig_core::grid::Grid;
use gridrig_core::job::Submission;
use parquet::errors::ParquetError;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Names of the files.
pub mod names {
    /// What the run was, and hashes of the other files.
    pub const MANIFEST: &str = "manifest.json";
    /// The resolved scenario.
    pub const SCENARIO: &str = "scenario.toml";
    /// One row per job.
    pub const JOBS: &str = "jobs.parquet";
    /// One row per visit of a job to a broker.
    pub const HOPS: &str = "hops.parquet";
    /// Load of each cluster over time.
    pub const SERIES: &str = "series.parquet";
    /// The event log.
    pub const EVENTS: &str = "events.parquet";
    /// One row per candidate of a decision of a broker; on request.
    pub const DECISIONS: &str = "decisions.parquet";
    /// The jobs as Batsim writes them; on request.
    pub const BATSIM: &str = "jobs.csv";
    /// What people say about the run: tags, a note.
    pub const LABELS: &str = "labels.json";
    /// What it takes to go on with a run that is not over.
    pub const RUNNING: &str = "running.json";
    /// Every file that a run directory may hold by us: first the manifest, and
    /// then those that nothing but a run has.
    pub(crate) const ALL: [&str; 9] = [
        MANIFEST, JOBS, HOPS, SERIES, EVENTS, DECISIONS, SCENARIO, BATSIM, LABELS,
    ];
}

/// What a run directory gives, or why not.
pub type Result<T, E = RunDirError> = std::result::Result<T, E>;

/// Why a run directory could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// It is there already and not empty.
    #[error("{}: the run directory exists; expected a new one (or --force)", .0.display())]
    Exists(PathBuf),
    /// The file system refused an action on a file.
    #[error("{}: cannot {}", .1.display(), .0)]
    Io(&'static str, PathBuf, #[source] io::Error),
    /// A file is no Parquet file, or a damaged one.
    #[error("{}: expected a whole Parquet file", .0.display())]
    Parquet(PathBuf, #[source] ParquetError),
    /// A file is so damaged that its reader failed.
    #[error("{}: expected a whole Parquet file: {}", .0.display(), .1)]
    Damaged(PathBuf, String),
    /// A table is longer than it may be.
    #[error("{}: {found} rows, or values of a column: expected at most {most} ({by})", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// How many it has.
        found: i64,
        /// How many it may have.
        most: u64,
        /// What says so.
        by: &'static str,
    },
    /// A column of a file is missing or of another type than this one.
    #[error("{}: column {}: expected it with type {}", .0.display(), .1, .2)]
    Column(PathBuf, &'static str, &'static str),
    /// A value that cannot be.
    #[error("{}:{row}: field {field} = \"{value}\": expected {expected}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: u64,
        /// The column.
        field: &'static str,
        /// The value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The manifest is no manifest.
    #[error("{}:{}: expected the manifest of a run", .0.display(), .1.line())]
    Manifest(PathBuf, #[source] serde_json::Error),
    /// The manifest describes something that cannot be.
    #[error("{}: field {field} = \"{value}\": expected {expected}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field.
        field: String,
        /// Its value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
}

impl RunDirError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RunDirError + use<> {
        let path = path.to_owned();
        move |source| RunDirError::Io(action, path, source)
    }

    /// A field of the manifest that cannot be used.
    fn field(dir: &Path, field: &str, value: impl Into<String>, expected: &'static str) -> Self {
        RunDirError::Field {
            path: dir.join(names::MANIFEST),
            field: field.to_owned(),
            value: value.into(),
            expected,
        }
    }

    fn column(path: &Path, column: &'static str, expected: &'static str) -> Self {
        RunDirError::Column(path.to_owned(), column, expected)
    }

    fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> RunDirError + use<> {
        let path = path.to_owned();
        move |source| RunDirError::Parquet(path, source)
    }

    /// A table that could not be written: mostly the file system refused.
    fn unwritten(path: &Path) -> impl FnOnce(ParquetError) -> RunDirError + use<> {
        let path = path.to_owned();
        move |error| {
            let refused = match error {
                ParquetError::External(error) => match error.downcast::<io::Error>() {
                    Ok(error) => *error,
                    Err(error) => io::Error::other(error),
                },
                error => io::Error::other(error),
            };
            RunDirError::Io("write", path, refused)
        }
    }
}

/// What the audit of a finished run says.
pub type AuditOutcome = Result<AuditReport, Vec<Violation>>;

/// Everything that goes into a run directory.
#[derive(Clone, Copy, Debug)]
pub struct RunFiles<'a> {
    /// What the caller knows of the run; the rest of it is added.
    pub info: &'a Manifest,
    /// Text of the resolved scenario.
    pub scenario: &'a str,
    /// Domains, clusters and links.
    pub grid: &'a Grid,
    /// What is written of the grid and is no matter of the model; none of a run
    /// that nobody has written down.
    pub document: Option<&'a gridrig_scenario::document::Document>,
    /// The workload that `table` was built from.
    pub submissions: &'a [Submission],
    /// The event log.
    pub log: &'a EventLog,
    /// The job table.
    pub table: &'a JobTable,
}

/// Writes a run directory and makes the directories above it.
///
/// # Errors
/// [`RunDirError::Exists`] for a directory that is there and not empty,
/// unless `force`: then the files of the run before are replaced. Errors of
/// the file system otherwise; what was written stays, without a manifest.
pub fn write(dir: &Path, force: bool, run: &RunFiles<'_>) -> Result<()> {
    let files = write_tables(dir, force, run, None)?;
    write_manifest(dir, run, files)
}

/// The first part of [`write()`]: all but the manifest, which of `run.info` needs
/// no more than `measure`. Answers what the manifest says of the files.
///
/// # Errors
/// As [`write()`].
pub fn write_tables(
    dir: &Path,
    force: bool,
    run: &RunFiles<'_>,
    events: Option<EventsWriter>,
) -> Result<BTreeMap<String, FileDoc>> {
    // People may have said something of a run since it began there.
    if events.is_none() || !is_free(dir, true)? {
        prepare(dir, force)?;
    }
    let series = run.table.series();
    let scenario = file::write_bytes(dir, names::SCENARIO, run.scenario.as_bytes())?;
    let mut files = BTreeMap::from([
        (names::SCENARIO.to_owned(), scenario),
        (names::JOBS.to_owned(), job_columns::table(run).write(dir)?),
        (names::HOPS.to_owned(), tables::hops(run.table).write(dir)?),
        (
            names::SERIES.to_owned(),
            tables::series(run.table, &series).write(dir)?,
        ),
        (
            names::EVENTS.to_owned(),
            match events {
                Some(events) => events.finish(run.log)?,
                None => events::write(dir, run.log, run.grid)?,
            },
        ),
    ]);
    if run.log.decisions().of() != About::None {
        let table = decisions::Decided::of(run.log, run.table);
        files.insert(names::DECISIONS.to_owned(), table.table().write(dir)?);
    }
    Ok(files)
}

/// The last part of [`write()`], with which the directory is complete.
///
/// # Errors
/// Errors of the file system.
pub fn write_manifest(
    dir: &Path,
    run: &RunFiles<'_>,
    files: BTreeMap<String, FileDoc>,
) -> Result<()> {
    file::write_bytes(dir, names::MANIFEST, &manifest(dir, run, files)?)?;
    file::sync_dir(dir)
}

/// Whether there is nothing in a directory but what a run began to write, or no such
/// directory. What people say about a run is about that one, and about no other.
///
/// # Errors
/// Errors of the file system.
pub fn is_vacant(dir: &Path) -> Result<bool> {
    is_free(dir, false)
}

/// Whether a run may be written to a directory, which may be labelled if it is its own.
fn is_free(dir: &Path, may_be_labelled: bool) -> Result<bool> {
    if !dir.exists() {
        return Ok(true);
    }
    let mut entries = fs::read_dir(dir).map_err(RunDirError::io("read the directory", dir))?;
    let is_partial = |entry: &fs::DirEntry| entry.path().extension() == Some("partial".as_ref());
    let is_label = |entry: &fs::DirEntry| may_be_labelled && entry.file_name() == names::LABELS;
    let is_ours = |entry: fs::DirEntry| is_partial(&entry) || is_label(&entry);
    Ok(entries.all(|entry| entry.is_ok_and(is_ours)))
}

/// Writes no more of a run than
/// [`on_common_jobs`](crate::compare::on_common_jobs) reads: some columns of its
/// jobs, and the manifest. They are not to outlive the process, so nothing is
/// hashed or brought to the disk.
///
/// # Errors
/// Errors of the file system.
pub fn write_scratch(dir: &Path, run: &RunFiles<'_>) -> Result<()> {
    prepare(dir, false)?;
    job_columns::write_compared(dir, run)?;
    let path = dir.join(names::MANIFEST);
    let text = manifest(dir, run, BTreeMap::new())?;
    fs::write(&path, text).map_err(RunDirError::io("write", &path))
}

fn manifest(dir: &Path, run: &RunFiles<'_>, files: BTreeMap<String, FileDoc>) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(&Manifest::new(run, files))
        .map_err(|source| RunDirError::Manifest(dir.join(names::MANIFEST), source))?;
    text.push(b'\n');
    Ok(text)
}

/// Writes `jobs.csv` in the columns of Batsim into a run directory.
///
/// # Errors
/// Errors of the file system.
pub fn write_batsim_csv(
    dir: &Path,
    log: &EventLog,
    table: &JobTable,
    submissions: &[Submission],
    grid: &Grid,
) -> Result<()> {
    let mut text = Vec::new();
    crate::batsim::jobs_csv(log, table, submissions, grid, &mut text)
        .map_err(RunDirError::io("write", &dir.join(names::BATSIM)))?;
    file::write_bytes(dir, names::BATSIM, &text)?;
    file::sync_dir(dir)
}

/// Writes a file that is not the run's own, such as [`names::LABELS`]: the
/// manifest does not have its hash.
///
/// # Errors
/// Errors of the file system.
pub fn write_file(dir: &Path, name: &str, text: &[u8]) -> Result<()> {
    file::write_bytes(dir, name, text)?;
    file::sync_dir(dir)
}

/// Removes a file of a run directory, if it is there.
///
/// # Errors
/// Errors of the file system.
pub fn remove_file(dir: &Path, name: &str) -> Result<()> {
    let path = dir.join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(RunDirError::io("remove", &path)(error))
        }
        _ => Ok(()),
    }
}

/// Makes a run directory, and the directories above it, for a run that is to be.
///
/// # Errors
/// As [`write()`].
pub fn prepare(dir: &Path, force: bool) -> Result<()> {
    make_dir(dir)?;
    if is_vacant(dir)? {
        return Ok(());
    }
    if !force {
        let path = dir.to_owned();
        return Err(RunDirError::Exists(path));
    }
    // The manifest goes first: what is half replaced must not look complete.
    // What not every run has would outlive it.
    for name in [names::MANIFEST, names::BATSIM, names::DECISIONS] {
        remove_file(dir, name)?;
    }
    Ok(())
}
