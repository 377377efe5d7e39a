//! Deleting a run.

use super::{CatalogueError, Result};
use crate::incomplete::{is_begun_log, is_held};
use crate::rundir::names;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::Path;

/// What was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// Runs.
    pub runs: u64,
    /// Files that no run writes: they were left where they are.
    pub kept: Vec<String>,
}

/// Refuses a run that a process has for itself; it may be making it again, beside the
/// manifest of before.
pub(super) fn refuse_running(folder: &Path, path: &str) -> Result<()> {
    match is_held(&folder.join(path)) {
        true => Err(CatalogueError::Running(path.to_owned())),
        false => Ok(()),
    }
}

/// Deletes the run at a path below the folder.
pub(super) fn run(folder: &Path, path: &str, removed: &mut Removed) -> Result<()> {
    refuse_running(folder, path)?;
    let dir = folder.join(path);
    // The manifest goes first: what is half deleted must not look complete.
    for name in names::ALL {
        for name in [name.to_owned(), format!("{name}.partial")] {
            let file = dir.join(name);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(cannot(&file)(error));
                }
                _ => {}
            }
        }
    }
    removed.runs += 1;
    let mut left = Vec::new();
    match fs::read_dir(&dir) {
        // Somebody else was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot(&dir)(error)),
        Ok(entries) => {
            for entry in entries {
                let entry = entry.map_err(cannot(&dir))?;
                let (name, file) = (entry.file_name(), entry.path());
                let name = name.to_string_lossy();
                if is_begun_log(&name) {
                    fs::remove_file(&file).map_err(cannot(&file))?;
                } else {
                    left.push(format!("{path}/{name}"));
                }
            }
        }
    }
    left.sort();
    removed.kept.append(&mut left);
    // Directories that are empty now, up to the folder; the first that is not
    // ends it.
    let mut empty = Some(Path::new(path));
    while let Some(relative) = empty.filter(|path| !path.as_os_str().is_empty()) {
        if fs::remove_dir(folder.join(relative)).is_err() {
            break;
        }
        empty = relative.parent();
    }
    Ok(())
}

fn cannot(path: &Path) -> impl Fn(io::Error) -> CatalogueError + use<> {
    let path = path.to_owned();
    move |source| CatalogueError::Remove(path.clone(), source)
}
