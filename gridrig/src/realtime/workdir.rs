//! A directory of a run that is gone with it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// What brokers that are not ours have said in a run.
#[derive(Clone, Debug)]
pub struct BrokerLogs {
    /// Keeps the files there.
    pub(super) dir: Arc<TempDir>,
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

/// A new directory among the temporary files, for its owner alone. Its path is
/// short: sockets lie in it, whose paths have at most 107 bytes.
///
/// # Errors
/// When it cannot be made.
pub fn workdir() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("gridrig-").tempdir()
}
