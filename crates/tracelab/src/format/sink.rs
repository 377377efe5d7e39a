//! Files that appear whole or not at all.

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Not one of the systems that gzip numbers: the same everywhere.
const UNKNOWN_SYSTEM: u8 = 255;

/// The files that are being written, under their names with `.partial`.
static PARTIAL: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn partial_files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what is being written: for a process that ends here and now.
pub fn remove_partial() {
    for path in &*partial_files() {
        let _ = fs::remove_file(path);
    }
}

/// A trace file that is being written, gzip when its name ends in `.gz`.
///
/// It is written under its name with `.partial` behind it and renamed by
/// [`OutFile::commit`]; dropped without that it is removed, so that nobody
/// mistakes half a trace for one. What is no regular file (`/dev/stdout`) is
/// written as it is.
#[derive(Debug)]
pub struct OutFile {
    bytes: Option<Bytes>,
    /// Where it is written and what it is to be called; `None` for what is no
    /// regular file.
    rename: Option<(PathBuf, PathBuf)>,
}

#[derive(Debug)]
enum Bytes {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

/// Begins a trace file. The same text gives the same bytes: the gzip header
/// holds neither name nor time.
///
/// # Errors
/// What the system says when the file cannot be made.
pub fn create(path: &Path) -> io::Result<OutFile> {
    // A device would be replaced by a file if it were renamed over.
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
    let target = match special {
        true => path.to_owned(),
        false => partial_name(path),
    };
    if !special {
        partial_files().insert(target.clone());
    }
    let file = BufWriter::new(File::create(&target)?);
    let gzip = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("gz"));
    let bytes = match gzip {
        true => Bytes::Gzip(Box::new(gzip_writer(file, Compression::default()))),
        false => Bytes::Plain(file),
    };
    Ok(OutFile {
        bytes: Some(bytes),
        rename: (!special).then(|| (target, path.to_owned())),
    })
}

/// Compresses into one gzip member without name and time.
pub(crate) fn gzip_writer<W: Write>(out: W, level: Compression) -> GzEncoder<W> {
    GzBuilder::new()
        .mtime(0)
        .operating_system(UNKNOWN_SYSTEM)
        .write(out, level)
}

fn partial_name(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

impl OutFile {
    /// Ends the file and gives it its name.
    ///
    /// # Errors
    /// What the system says; the file is then not there under its name.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(bytes) = self.bytes.take() else {
            return Ok(());
        };
        let file = match bytes {
            Bytes::Plain(file) => file,
            Bytes::Gzip(encoder) => encoder.finish()?,
        };
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let Some((partial, name)) = &self.rename {
            file.sync_all()?;
            fs::rename(partial, name)?;
            partial_files().remove(partial);
            self.rename = None;
        }
        Ok(())
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.bytes {
            Some(Bytes::Plain(file)) => file.write(bytes),
            Some(Bytes::Gzip(encoder)) => encoder.write(bytes),
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.bytes {
            // Flushing the encoder would cut its blocks short.
            Some(Bytes::Gzip(_)) | None => Ok(()),
            Some(Bytes::Plain(file)) => file.flush(),
        }
    }
}

impl Drop for OutFile {
    fn drop(&mut self) {
        // Open or not, an unlinked file is gone; there is nobody to tell when
        // even that fails.
        if let Some((partial, _)) = &self.rename {
            let _ = fs::remove_file(partial);
            partial_files().remove(partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::TraceFile;
    use std::io::Read as _;

    fn write(path: &Path, text: &str) {
        let mut file = create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.commit().unwrap();
    }

    #[test]
    fn the_name_decides_about_gzip_and_equal_texts_are_equal_files() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.swf.gz"), folder.path().join("b.GZ"));
        for path in [&a, &b] {
            write(path, "1 2 3\n");
            let mut text = String::new();
            TraceFile::open(path)
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, "1 2 3\n");
        }
        assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap());
        let plain = folder.path().join("c.swf");
        write(&plain, "1 2 3\n");
        assert_eq!(fs::read(&plain).unwrap(), b"1 2 3\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn what_is_not_committed_leaves_nothing_and_harms_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.swf");
        write(&path, "old\n");
        let mut file = create(&path).unwrap();
        file.write_all(b"new\n").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let null = Path::new("/dev/null");
        write(null, "gone\n");
        assert!(!fs::metadata(null).unwrap().is_file());
    }
}
