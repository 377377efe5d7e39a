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
    /// Copies the files to a folder for each domain in `into`. Nothing is written
    /// through a link that lies there.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn copy(&self, into: &Path) -> io::Result<()> {
        for (domain, logs) in &self.logs {
            let folder = into.join(domain);
            std::fs::create_dir_all(&folder)?;
            for folder in [into, &folder] {
                if !std::fs::symlink_metadata(folder)?.is_dir() {
                    return Err(io::Error::other("expected a directory, not a link to one"));
                }
            }
            for entry in std::fs::read_dir(logs)? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                let _ = std::fs::remove_file(&path);
                let mut copy = std::fs::File::create_new(&path)?;
                io::copy(&mut std::fs::File::open(entry.path())?, &mut copy)?;
            }
        }
        tracing::debug!(from = %self.dir.path().display(), "the output of the brokers is kept");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_brokers_go_through_no_link() {
        let (said, run) = (workdir().unwrap(), workdir().unwrap());
        std::fs::write(said.path().join("start"), "hello").unwrap();
        let own = run.path().join("own");
        std::fs::write(&own, "mine").unwrap();
        let into = run.path().join("broker");
        std::fs::create_dir_all(into.join("a")).unwrap();
        std::os::unix::fs::symlink(&own, into.join("a/start")).unwrap();
        let logs = BrokerLogs {
            logs: vec![("a".to_owned(), said.path().to_owned())],
            dir: Arc::new(said),
        };
        logs.copy(&into).unwrap();
        assert_eq!(std::fs::read_to_string(&own).unwrap(), "mine");
        let copied = std::fs::read_to_string(into.join("a/start"));
        assert_eq!(copied.unwrap(), "hello");
        // A folder that is a link.
        let there = run.path().join("there");
        std::os::unix::fs::symlink(&into, &there).unwrap();
        assert!(logs.copy(&there).is_err());
    }
}
