//! The journals of a run: one for each service, and one for the client.

use gridrig_core::agent::Memory;
use gridrig_core::time::SimTime;
use gridrig_drivers::faults::{FaultCounts, Faults};
use gridrig_scenario::external::as_directory;
use gridrig_service::{JournalSetup, last_instant};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the names of journals end, and those of files beside them.
const JOURNAL: &str = "journal";
const FAULTS: &str = "faults";

/// The journals of a run, which all end at one instant.
#[derive(Clone, Debug)]
pub struct Journals {
    dir: PathBuf,
    run: String,
    from: SimTime,
    closed: Arc<AtomicBool>,
}

impl Journals {
    /// Those in this directory, which is made if it is not there, of the run with this
    /// name.
    ///
    /// # Errors
    /// When it cannot be made, or a journal in it not be read.
    pub fn open(dir: &Path, run: &str) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let mut journals = Self::of_run(dir, run);
        for path in journals.files(JOURNAL)? {
            journals.from = journals.from.max(last_instant(&path)?);
        }
        Ok(journals)
    }

    /// Those of a run that has begun, for one of its services.
    pub fn of_run(dir: &Path, run: &str) -> Self {
        Journals {
            dir: dir.to_owned(),
            run: run.to_owned(),
            from: SimTime::ZERO,
            closed: Arc::default(),
        }
    }

    /// The latest instant of the run that any of them has, from which the run goes on.
    pub fn from(&self) -> SimTime {
        self.from
    }

    fn files(&self, kind: &str) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.dir)? {
            files.push(entry?.path());
        }
        files.retain(|path| path.extension().is_some_and(|it| it == kind));
        Ok(files)
    }

    /// From now on what goes wrong by plan, in the process of this participant, is noted
    /// beside its journal.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn note(&self, planned: &Faults, name: &str) -> io::Result<()> {
        planned.note_in(&self.path(name, FAULTS))
    }

    /// How often something has gone wrong by plan, in all processes and lives.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn fault_counts(&self) -> io::Result<FaultCounts> {
        let mut counts = FaultCounts::default();
        for path in self.files(FAULTS)? {
            counts.add_noted(&path)?;
        }
        Ok(counts)
    }

    fn path(&self, name: &str, kind: &str) -> PathBuf {
        self.dir.join(format!("{}.{kind}", as_directory(name)))
    }

    /// The journal of a participant with this name.
    pub(super) fn of(&self, name: &str) -> JournalSetup {
        JournalSetup {
            path: self.path(name, JOURNAL),
            memory: Memory::Journal,
            of: format!("{name} of {}", self.run),
            clock_stands: true,
            closed: Arc::clone(&self.closed),
        }
    }

    /// Nothing more is written: what follows is no part of the run.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}
