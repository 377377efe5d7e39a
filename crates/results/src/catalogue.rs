//! The catalogue: what runs a folder holds, in a table that is quick to ask
//! (`docs/catalogue.md`).
//!
//! `catalogue.sqlite` is a copy, never the original. Everything in it stands in
//! the run directories as well, tags and notes included (`labels.json`), so it
//! may be deleted, damaged or of another version: it is then made anew.

mod filter;
mod labels;
mod remove;
mod rows;
mod scan;
mod store;

pub use crate::incomplete::is_held;
pub use filter::{Filter, FilterError};
pub use labels::{Labels, LabelsError, MOST_NOTE, MOST_TAG, MOST_TAGS};
pub use remove::Removed;
pub use rows::{Order, Row, rows};
pub use scan::{Figures, RunEntry, State};

use crate::rundir::RunDirError;
use scan::Scan;
use std::io;
use std::path::{Path, PathBuf};
use store::Store;

/// Name of the file in the folder of runs.
pub const CATALOGUE: &str = "catalogue.sqlite";

/// What the catalogue answers, or why not.
type Result<T, E = CatalogueError> = std::result::Result<T, E>;

/// Why the catalogue could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The folder of runs cannot be read.
    #[error("{}: cannot read the folder of runs", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// The table refused.
    #[error("{}: the catalogue cannot be used", .0.display())]
    Store(PathBuf, #[source] rusqlite::Error),
    /// No run is listed under this path.
    #[error("run \"{}\": expected the path of a run, or of a folder with runs, below {}", .0, .1.display())]
    Unknown(String, PathBuf),
    /// A run that is to be deleted goes on.
    #[error("{0}: it is being run (expected runs that are over)")]
    Running(String),
    /// Labels that cannot be.
    #[error(transparent)]
    Labels(#[from] LabelsError),
    /// A file of a run directory could not be written.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// A run could not be deleted.
    #[error("{}: cannot be deleted", .0.display())]
    Remove(PathBuf, #[source] io::Error),
}

/// What a refresh found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refresh {
    /// Runs that are new or have changed, and were read.
    pub read: u64,
    /// Runs that are as they were.
    pub unchanged: u64,
    /// Runs that are gone.
    pub gone: u64,
    /// Links to directories, which are not followed.
    pub links: u64,
    /// Directories that could not be read, and why.
    pub unreadable: Vec<String>,
}

/// The runs of a folder.
#[derive(Debug)]
pub struct Catalogue {
    folder: PathBuf,
    store: Store,
    notice: Option<String>,
}

impl Catalogue {
    /// Opens the catalogue of a folder of runs and makes it if there is none.
    /// A damaged one, or one of another version, is made anew. Where none can
    /// be kept (the folder cannot be written to, or the file of this name is
    /// somebody else's), it is held in memory and [`notice`](Self::notice)
    /// says so. Nothing is listed before the first [`refresh`](Self::refresh).
    ///
    /// # Errors
    /// When the folder is no directory that can be read.
    pub fn open(folder: &Path) -> Result<Self> {
        std::fs::read_dir(folder)
            .map_err(|source| CatalogueError::Folder(folder.to_owned(), source))?;
        let path = folder.join(CATALOGUE);
        let (store, notice) = match Store::open(&path) {
            Ok(store) => (store, None),
            Err(why) => (
                Store::in_memory().map_err(|e| store_error(&path)(e))?,
                Some(format!(
                    "{}: {why}; the catalogue is held in memory",
                    path.display()
                )),
            ),
        };
        Ok(Catalogue {
            folder: folder.to_owned(),
            store,
            notice,
        })
    }

    /// Why the catalogue is not kept on the disk, if it is not.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Brings the table up to date with the run directories. Runs whose files
    /// have the sizes and dates of before are not read again.
    ///
    /// # Errors
    /// When the folder cannot be read, or the table cannot be written. A table
    /// that turns out to be damaged is made again.
    pub fn refresh(&mut self) -> Result<Refresh> {
        let scan = Scan::of(&self.folder)
            .map_err(|source| CatalogueError::Folder(self.folder.clone(), source))?;
        let folder = self.folder.clone();
        let refreshed = self.attempt(|store| store.refresh(&folder, &scan))?;
        Ok(Refresh {
            links: scan.links,
            unreadable: scan.unreadable,
            ..refreshed
        })
    }

    /// All runs, by path.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn runs(&mut self) -> Result<Vec<RunEntry>> {
        self.attempt(|store| store.runs())
    }

    /// The runs at or below a path such as `two-sites-1/round-robin`; `""` is
    /// the whole folder.
    ///
    /// # Errors
    /// [`CatalogueError::Unknown`] if no run is listed there. What is listed
    /// lies in the folder: a path cannot lead out of it.
    pub fn at(&mut self, path: &str) -> Result<Vec<RunEntry>> {
        let path = path.trim_end_matches('/');
        let below = format!("{path}/");
        let mut runs = self.runs()?;
        runs.retain(|run| path.is_empty() || run.path == path || run.path.starts_with(&below));
        match runs.is_empty() {
            true => Err(self.unknown(path)),
            false => Ok(runs),
        }
    }

    /// Sets tags and note of every run at or below a path, in the run
    /// directories first; answers how many runs. The pin stays as it is.
    ///
    /// # Errors
    /// An unknown path, labels that cannot be, a `labels.json` that is damaged
    /// (it is not overwritten: it may hold somebody's words).
    pub fn label(&mut self, path: &str, tags: &[String], note: &str) -> Result<u64> {
        let wanted = Labels::new(tags, note)?;
        self.relabel(path, |labels| {
            (labels.tags, labels.note) = (wanted.tags.clone(), wanted.note.clone())
        })
    }

    /// Pins the runs at or below a path as the baseline of comparisons, or
    /// takes the pin away. There is one baseline: a pin takes the place of the
    /// one before.
    ///
    /// # Errors
    /// As [`label`](Self::label).
    pub fn pin(&mut self, path: &str, pinned: bool) -> Result<u64> {
        let chosen = self.at(path)?;
        let is_chosen = |run: &RunEntry| chosen.iter().any(|other| other.path == run.path);
        let others = self.runs()?.into_iter();
        for other in others.filter(|run| pinned && run.labels.baseline && !is_chosen(run)) {
            self.relabel(&other.path, |labels| labels.baseline = false)?;
        }
        self.relabel(path, |labels| labels.baseline = pinned)
    }

    /// Deletes the runs at or below a path: the files that a run wrote, and
    /// the directories that are empty then. Files of others stay, and are
    /// named in the answer.
    ///
    /// # Errors
    /// An unknown path, a run that a process runs, or a file that cannot be deleted.
    pub fn delete(&mut self, path: &str) -> Result<Removed> {
        let mut removed = Removed::default();
        let runs = self.at(path)?;
        // All of them before the first file of any goes.
        runs.iter()
            .try_for_each(|run| remove::refuse_running(&self.folder, &run.path))?;
        for run in runs {
            remove::run(&self.folder, &run.path, &mut removed)?;
        }
        self.refresh()?;
        Ok(removed)
    }

    fn relabel(&mut self, path: &str, change: impl Fn(&mut Labels)) -> Result<u64> {
        let runs = self.at(path)?;
        let folder = self.folder.clone();
        let write = || -> Result<()> {
            for run in &runs {
                let dir = folder.join(&run.path);
                // Its file and not the table: another program may have changed it.
                let labels = labels::read(&dir)?;
                let mut wanted = labels.clone();
                change(&mut wanted);
                if wanted != labels {
                    labels::write(&dir, &wanted)?;
                }
            }
            Ok(())
        };
        self.attempt(|store| store.locked(write))??;
        self.refresh()?;
        Ok(runs.len() as u64)
    }

    fn unknown(&self, path: &str) -> CatalogueError {
        CatalogueError::Unknown(path.to_owned(), self.folder.clone())
    }

    /// Asks the table, and once more if it had to be made again.
    fn attempt<T>(&mut self, mut ask: impl FnMut(&mut Store) -> rusqlite::Result<T>) -> Result<T> {
        let path = self.folder.join(CATALOGUE);
        match ask(&mut self.store) {
            Ok(answer) => return Ok(answer),
            Err(error) if !store::is_damage(&error) => return Err(store_error(&path)(error)),
            Err(_) => {}
        }
        let empty = match self.notice {
            None => Store::anew(&path),
            Some(_) => Store::in_memory(),
        };
        self.store = empty.map_err(store_error(&path))?;
        let scan = Scan::of(&self.folder)
            .map_err(|source| CatalogueError::Folder(self.folder.clone(), source))?;
        let again = self.store.refresh(&self.folder, &scan);
        again
            .and_then(|_| ask(&mut self.store))
            .map_err(store_error(&path))
    }
}

fn store_error(path: &Path) -> impl Fn(rusqlite::Error) -> CatalogueError + use<> {
    let path = path.to_owned();
    move |source| CatalogueError::Store(path.clone(), source)
}
