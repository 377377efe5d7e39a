//! Writing a file so that it is whole or not there.

use super::open::open_file;
use super::{FileDoc, Result, RunDirError, remove_file};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// A file under its partial name, hashed as it is written.
#[derive(Debug)]
pub(super) struct PartialFile {
    file: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
    partial: PathBuf,
    path: PathBuf,
}

impl PartialFile {
    /// `own` tells its partial name from that of another process, where both may
    /// write for long.
    pub(super) fn create(dir: &Path, name: &str, own: &str) -> Result<Self> {
        let partial = dir.join(format!("{name}{own}.partial"));
        // A new file: a link that lies there is not written through.
        remove_file(dir, &format!("{name}{own}.partial"))?;
        let file = File::create_new(&partial).map_err(RunDirError::io("create", &partial))?;
        Ok(PartialFile {
            file: BufWriter::with_capacity(1 << 16, file),
            hash: Sha256::new(),
            bytes: 0,
            partial,
            path: dir.join(name),
        })
    }

    /// Where it lies until it is finished.
    pub(super) fn lies_at(&self) -> &Path {
        &self.partial
    }

    /// Brings the file to the disk and gives it its name.
    pub(super) fn finish(mut self, rows: Option<u64>) -> Result<FileDoc> {
        let synced = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(RunDirError::io("write", &self.partial))?;
        fs::rename(&self.partial, &self.path).map_err(RunDirError::io("rename", &self.partial))?;
        Ok(FileDoc {
            sha256: HEXLOWER.encode(&self.hash.finalize()),
            bytes: self.bytes,
            rows,
        })
    }
}

impl Write for PartialFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.hash.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub(super) fn write_bytes(dir: &Path, name: &str, bytes: &[u8]) -> Result<FileDoc> {
    let mut file = PartialFile::create(dir, name, "")?;
    let path = file.partial.clone();
    file.write_all(bytes)
        .map_err(RunDirError::io("write", &path))?;
    file.finish(None)
}

/// Makes the names of a directory's files last.
pub(super) fn sync_dir(dir: &Path) -> Result<()> {
    let opened = File::open(dir).map_err(RunDirError::io("open", dir))?;
    opened.sync_all().map_err(RunDirError::io("sync", dir))
}

/// Makes a directory and those above it, and makes their names last.
///
/// # Errors
/// Those of the file system.
pub fn make_dir(dir: &Path) -> Result<()> {
    let is_new = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
    let new: Vec<&Path> = dir.ancestors().take_while(is_new).collect();
    fs::create_dir_all(dir).map_err(RunDirError::io("make the directory", dir))?;
    for parent in new.iter().filter_map(|new| new.parent()) {
        let is_here = parent.as_os_str().is_empty();
        sync_dir(if is_here { Path::new(".") } else { parent })?;
    }
    Ok(())
}

/// SHA-256 of a file as it lies there, in hexadecimal.
///
/// # Errors
/// Those of the file system.
pub fn sha256_of(path: &Path) -> Result<String> {
    let mut file = open_file(path).map_err(RunDirError::io("open", path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(HEXLOWER.encode(&hash.finalize())),
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(RunDirError::io("read", path)(error)),
        }
    }
}
