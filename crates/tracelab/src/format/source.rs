//! Bytes of a trace file: plain or gzip, and hashed as they lie on disk.

use crate::error::TraceError;
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a gzip member begins with.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// What other compressed files begin with, and what unpacks them.
const PACKED: [(&[u8], &str, &str); 4] = [
    (b"\xfd7zXZ", "xz", "xz -d"),
    (b"BZh", "bzip2", "bzip2 -d"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -d"),
    (b"PK\x03\x04", "zip", "unzip"),
];

/// Read in pieces of this size; both the hash and the decoder like them large.
const BUFFER_BYTES: usize = 1 << 16;

type Raw = Chain<Cursor<Vec<u8>>, HashingReader<File>>;

/// An open trace file that decompresses by itself and knows the hash of the
/// bytes on disk.
pub struct TraceFile {
    source: Source,
    progress: Progress,
}

/// How far a file has been read, on disk.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    read: Arc<AtomicU64>,
    total: u64,
}

impl Progress {
    /// How many things there are in the whole file, where so many are in what
    /// has been read: at most 64 times as many, since a file may lie about its
    /// length.
    pub(crate) fn expected(&self, seen: usize) -> usize {
        let read = self.read.load(Ordering::Relaxed).max(1);
        let all = seen as u128 * u128::from(self.total) / u128::from(read);
        // What has been read is ahead of what has been seen by some buffers.
        let all = usize::try_from(all + all / 8).unwrap_or(usize::MAX);
        all.clamp(seen, seen.saturating_mul(64))
    }
}

enum Source {
    Plain(Raw),
    Gzip(Box<MultiGzDecoder<BufReader<Raw>>>),
}

impl TraceFile {
    /// Opens a file; the first two bytes tell gzip (of any number of members)
    /// from plain text, whatever the name says.
    ///
    /// # Errors
    /// [`TraceError::Open`] when there is no such file or it cannot be read.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Open {
            file: path.display().to_string(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let progress = Progress {
            read: Arc::default(),
            total: file.metadata().map_err(failed)?.len(),
        };
        let mut reader = HashingReader {
            inner: file,
            hasher: Sha256::new(),
            read: Arc::clone(&progress.read),
        };
        let mut magic = Vec::new();
        let most = PACKED[0].0.len() as u64;
        (&mut reader)
            .take(most)
            .read_to_end(&mut magic)
            .map_err(failed)?;
        if let Some((_, kind, tool)) = PACKED.iter().find(|kind| magic.starts_with(kind.0)) {
            let problem = format!(
                "{kind} data: expected a trace as plain text or gzip; unpack it first ({tool})"
            );
            return Err(TraceError::file(&path.display().to_string(), problem));
        }
        let is_gzip = magic.starts_with(&GZIP_MAGIC);
        let raw = Cursor::new(magic).chain(reader);
        let source = if is_gzip {
            let buffered = BufReader::with_capacity(BUFFER_BYTES, raw);
            Source::Gzip(Box::new(MultiGzDecoder::new(buffered)))
        } else {
            Source::Plain(raw)
        };
        Ok(TraceFile { source, progress })
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// SHA-256 of the whole file as it lies on disk, in hex; reads what has
    /// not been read.
    ///
    /// # Errors
    /// What the system says when the rest cannot be read.
    pub fn sha256(self) -> io::Result<String> {
        let (_, mut reader) = match self.source {
            Source::Plain(raw) => raw.into_inner(),
            Source::Gzip(decoder) => decoder.into_inner().into_inner().into_inner(),
        };
        io::copy(&mut reader, &mut io::sink())?;
        Ok(hex(&reader.hasher.finalize()))
    }
}

impl Read for TraceFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            Source::Plain(raw) => raw.read(buffer),
            Source::Gzip(decoder) => decoder.read(buffer),
        }
    }
}

/// Bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct HashingReader<R> {
    inner: R,
    hasher: Sha256,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
