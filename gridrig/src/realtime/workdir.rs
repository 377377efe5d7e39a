//! A directory of a run that is gone with it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A new directory, for its owner alone, removed with all that is in it when
/// this is dropped.
#[derive(Debug)]
pub struct WorkDir(PathBuf);

/// What brokers that are not ours have said in a run.
#[derive(Clone, Debug)]
pub struct BrokerLogs {
    /// Keeps the files there.
    pub(super) dir: Arc<WorkDir>,
    /// The directories of the files, by the names of domains.
    pub(super) logs: Vec<(String, PathBuf)>,
}

impl BrokerLogs {
    /// Copies the files to a folder for each domain in `into`.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn copy(&self, into: &Path) -> io::Result<()> {
        for (domain, logs) in &self.logs {
            let into = into.join(domain);
            std::fs::create_dir_all(&into)?;
            for entry in std::fs::read_dir(logs)? {
                let entry = entry?;
                std::fs::copy(entry.path(), into.join(entry.file_name()))?;
            }
        }
        tracing::debug!(from = %self.dir.path().display(), "what brokers have said is kept");
        Ok(())
    }
}

impl WorkDir {
    /// Makes one among the temporary files. Its path is short: sockets lie in
    /// it, whose paths have at most 107 bytes.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make() -> io::Result<Self> {
        let made = tempfile::Builder::new().prefix("gridrig-").tempdir()?;
        Ok(WorkDir(made.keep()))
    }

    /// Leaves it where it is.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.0)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty()
            && let Err(error) = std::fs::remove_dir_all(&self.0)
        {
            let dir = self.0.display();
            tracing::warn!(%dir, %error, "a temporary directory stays");
        }
    }
}
