//! Bytes of a trace file: plain or compressed, and hashed as they lie on disk.

use crate::error::{Result, TraceError};
use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What compressed files begin with; any number of such pieces may follow each other.
const GZIP: &[u8] = b"\x1f\x8b";
const XZ: &[u8] = b"\xfd7zXZ";
const BZIP2: &[u8] = b"BZh";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// An archive of several files.
const ZIP: &[u8] = b"PK\x03\x04";

/// Most memory for the window of xz; `xz -9` needs a quarter of it.
const XZ_WINDOW_KIB: u32 = 256 << 10;

/// Read in pieces of this size; both the hash and the decoder like them large.
const BUFFER_BYTES: usize = 1 << 16;

type Raw = Chain<Cursor<Vec<u8>>, HashingReader<File>>;
type Buffered = BufReader<Raw>;

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
    Gzip(Box<MultiGzDecoder<Buffered>>),
    Xz(Box<XzReader<Buffered>>),
    Bzip2(Box<MultiBzDecoder<Buffered>>),
    Zstd(Box<zstd::Decoder<'static, Buffered>>),
}

impl TraceFile {
    /// Opens a file; its first bytes tell gzip, xz, bzip2 and zstd from plain
    /// text, whatever the name says.
    ///
    /// # Errors
    /// [`TraceError::Open`] when there is no such file or it cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |source| TraceError::Open(path.display().to_string(), source);
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
        (&mut reader)
            .take(XZ.len() as u64)
            .read_to_end(&mut magic)
            .map_err(failed)?;
        let is = |kind: &[u8]| magic.starts_with(kind);
        let [gzip, xz, bzip2, zstd, zip] = [GZIP, XZ, BZIP2, ZSTD, ZIP].map(is);
        if zip {
            let problem = "a zip archive: expected a file as plain text, gzip, xz, bzip2 or \
                           zstd; unpack it first (unzip)";
            return Err(TraceError::file(
                &path.display().to_string(),
                problem.to_owned(),
            ));
        }
        let raw = Cursor::new(magic).chain(reader);
        if !(gzip || xz || bzip2 || zstd) {
            let source = Source::Plain(raw);
            return Ok(TraceFile { source, progress });
        }
        let buffered = BufReader::with_capacity(BUFFER_BYTES, raw);
        let source = if gzip {
            Source::Gzip(Box::new(MultiGzDecoder::new(buffered)))
        } else if xz {
            let reader = XzReader::new_mem_limit(buffered, true, XZ_WINDOW_KIB);
            Source::Xz(Box::new(reader))
        } else if bzip2 {
            Source::Bzip2(Box::new(MultiBzDecoder::new(buffered)))
        } else {
            let decoder = zstd::Decoder::with_buffer(buffered).map_err(failed)?;
            Source::Zstd(Box::new(decoder))
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
            Source::Xz(decoder) => decoder.into_inner().into_inner().into_inner(),
            Source::Bzip2(decoder) => decoder.into_inner().into_inner().into_inner(),
            Source::Zstd(decoder) => decoder.finish().into_inner().into_inner(),
        };
        io::copy(&mut reader, &mut io::sink())?;
        Ok(hex(&reader.hasher.finalize()))
    }
}

impl Read for TraceFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.source {
            Source::Plain(raw) => return raw.read(buffer),
            Source::Gzip(decoder) => decoder.read(buffer),
            Source::Xz(decoder) => decoder.read(buffer),
            Source::Bzip2(decoder) => decoder.read(buffer),
            Source::Zstd(decoder) => decoder.read(buffer),
        };
        // Every decoder has its own kind for what is damaged.
        read.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => io::Error::new(io::ErrorKind::InvalidData, error),
        })
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
