//! The journals of a run: one for each service, and one for the client. Where programs of
//! others take part, events are written in their place.

use gridrig_core::agent::{ClientInput, Memory, Observation, Record};
use gridrig_core::time::SimTime;
use gridrig_drivers::faults::{FaultCounts, Faults};
use gridrig_drivers::real_time::Journal;
use gridrig_scenario::external::as_directory;
use gridrig_service::{JournalSetup, LineWriter, last_instant, line_writer};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the names of journals end, and those of files beside them.
const JOURNAL: &str = "journal";
const FAULTS: &str = "faults";
/// Those of events, and of what the client has seen in the logs of LRMSs.
const EVENTS: &str = "events";
const SEEN: &str = "seen";

/// The journals of a run, which all end at one instant.
#[derive(Clone, Debug)]
pub struct Journals {
    dir: PathBuf,
    run: String,
    from: SimTime,
    closed: Arc<AtomicBool>,
    only_events: bool,
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
            only_events: false,
        }
    }

    /// The same of a run that nobody can go on with: its events are written.
    #[must_use]
    pub fn of_events(self) -> Self {
        Journals {
            only_events: true,
            ..self
        }
    }

    /// Whether events are written, from which nobody can go on.
    pub(super) fn only_events(&self) -> bool {
        self.only_events
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
        let kind = if self.only_events { EVENTS } else { JOURNAL };
        JournalSetup {
            path: self.path(name, kind),
            memory: Memory::Journal,
            of: format!("{name} of {}", self.run),
            clock_stands: true,
            closed: Arc::clone(&self.closed),
            events: self.only_events,
        }
    }

    /// The file with what the client has seen of its jobs in the logs of LRMSs: their
    /// names there are in no event.
    pub(super) fn seen(&self) -> PathBuf {
        self.path("client", SEEN)
    }

    /// Writes that file.
    pub(super) fn write_seen(&self) -> io::Result<Journal<ClientInput>> {
        let mut write: LineWriter<Observation> = line_writer(&self.seen())?;
        Ok(Box::new(move |record: &Record<ClientInput>| match record {
            Record::Input {
                input: ClientInput::Observation(seen),
                ..
            } => write(seen),
            _ => Ok(()),
        }))
    }

    /// Nothing more is written: what follows is no part of the run.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}
