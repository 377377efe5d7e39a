//! The journals of a run: one for each service, and one for the client.

use gridrig_core::agent::Memory;
use gridrig_core::time::SimTime;
use gridrig_scenario::external::as_directory;
use gridrig_service::{JournalSetup, last_instant};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
        for entry in std::fs::read_dir(dir)? {
            journals.from = journals.from.max(last_instant(&entry?.path())?);
        }
        Ok(journals)
    }

    /// Those of a run that has begun, for one of its services.
    #[must_use]
    pub fn of_run(dir: &Path, run: &str) -> Self {
        Journals {
            dir: dir.to_owned(),
            run: run.to_owned(),
            from: SimTime::ZERO,
            closed: Arc::default(),
        }
    }

    /// The latest instant of the run that any of them has, from which the run goes on.
    #[must_use]
    pub fn from(&self) -> SimTime {
        self.from
    }

    /// The journal of a participant with this name.
    pub(super) fn of(&self, name: &str) -> JournalSetup {
        JournalSetup {
            path: self.dir.join(as_directory(name) + ".journal"),
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
