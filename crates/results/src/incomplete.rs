//! A run directory without a manifest, which is written last: why it has none, and what can
//! be done about that.

use crate::rundir::names;
use serde_json::Value;
use std::fs::{self, TryLockError};
use std::path::Path;

/// How a run stands whose directory has no manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// A process runs it.
    Running,
    /// It is to be run in real time, beside others of its scenario.
    NotBegun,
    /// It was broken off in real time; why nobody can go on with it, if nobody can.
    Interrupted(Option<String>),
    /// It was broken off, and nothing says how it could go on.
    HalfWritten,
}

impl Incomplete {
    /// The run in this directory; `None` if it is complete, or there is no run.
    pub fn at(dir: &Path) -> Option<Self> {
        if dir.join(names::MANIFEST).exists() {
            return None;
        }
        let held = is_held(dir);
        let entries = fs::read_dir(dir).ok()?.flatten();
        let mut files = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_one = held || files.any(|name| is_begun(&name) || is_file_of_a_run(&name));
        is_one.then(|| Self::of(&begun(dir), held))
    }

    /// The one of which this is what [`begun`] says.
    pub(crate) fn of(begun: &Value, held: bool) -> Self {
        match begun["lives"].as_array() {
            _ if held => Incomplete::Running,
            None => Incomplete::HalfWritten,
            Some(lives) if lives.is_empty() => Incomplete::NotBegun,
            Some(_) => {
                let why = begun["cannot_continue"].as_str();
                Incomplete::Interrupted(why.map(str::to_owned))
            }
        }
    }

    /// Why it is not complete.
    pub fn reason(&self) -> String {
        match self {
            Incomplete::Running => "it is being run".to_owned(),
            Incomplete::NotBegun => "it has not begun".to_owned(),
            Incomplete::Interrupted(None) => "it was interrupted, and can be continued".to_owned(),
            Incomplete::Interrupted(Some(why)) => {
                format!("it was interrupted, and cannot be continued ({why})")
            }
            Incomplete::HalfWritten => "it was interrupted while it was written".to_owned(),
        }
    }

    /// What its user can do for the run in this directory.
    pub fn remedy(&self, dir: &Path) -> String {
        let resume = format!("gridrig run --resume {}", dir.display());
        match self {
            Incomplete::Running => "wait until it is over".to_owned(),
            Incomplete::NotBegun => format!("{resume} begins it"),
            Incomplete::Interrupted(None) => format!("{resume} continues it"),
            Incomplete::Interrupted(Some(_)) => {
                format!("{resume} writes what happened until then")
            }
            Incomplete::HalfWritten => "run it again".to_owned(),
        }
    }
}

/// What a run in real time that is not over says of itself; null of any other.
pub(crate) fn begun(dir: &Path) -> Value {
    let text = fs::read(dir.join(names::RUNNING)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Whether a file of this name says that a run goes on, or was broken off.
pub(crate) fn is_begun(name: &str) -> bool {
    name == names::RUNNING || is_begun_log(name)
}

/// Whether this is the event log of a run that goes on in virtual time, or was killed: it
/// has the number of its process.
pub(crate) fn is_begun_log(name: &str) -> bool {
    name.starts_with(names::EVENTS) && name.ends_with(".partial")
}

/// Any file that only a run has makes a directory one, whole or not. A lone
/// scenario.toml does not: people keep scenarios under that name.
pub(crate) fn is_file_of_a_run(name: &str) -> bool {
    let name = name.strip_suffix(".partial").unwrap_or(name);
    names::ALL[..5].contains(&name)
}

/// Whether a process has the directory for itself, as whoever runs a run has.
pub fn is_held(dir: &Path) -> bool {
    let file = fs::File::open(dir);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
