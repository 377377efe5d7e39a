//! TLS towards a peer: whom we trust, and the certificate that we show; and one
//! provider for the whole process.

pub use crate::client::init;

use crate::client::http_client;
use crate::lagrid::{Codec, PeerClient};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a service or a client cannot speak TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that is not what it should be.
    #[error("{}: {problem} (expected {expected})", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What is wrong.
        problem: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// Files that do not belong together.
    #[error("{} and {}: {source} (expected a certificate and its key)", cert.display(), key.display())]
    Pair {
        /// The certificate.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why not.
        source: rustls::Error,
    },
}

impl TlsError {
    /// A file that is not what it should be.
    pub fn file(path: &Path, problem: impl fmt::Display, expected: &'static str) -> Self {
        TlsError::File {
            file: path.to_owned(),
            problem: problem.to_string(),
            expected,
        }
    }
}

/// The files of a broker that calls its peers over TLS, all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingTls {
    /// Authorities of the peers. Nobody else's are trusted.
    pub ca: PathBuf,
    /// The certificate that is shown, and its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// A client of peers, plain or over TLS, whose requests take at most
/// `timeout`.
///
/// # Errors
/// [`TlsError`]
pub fn peer_client(tls: Option<&OutgoingTls>, timeout: Duration) -> Result<PeerClient, TlsError> {
    let mut builder = http_client(timeout);
    if let Some(tls) = tls {
        let text = read(&tls.ca)?;
        let authorities = reqwest::Certificate::from_pem_bundle(&text)
            .map_err(|error| TlsError::file(&tls.ca, error, "certificates of authorities"))?;
        builder = builder.tls_certs_only(authorities);
        if let Some((cert, key)) = &tls.identity {
            let mut both = read(cert)?;
            both.push(b'\n');
            both.extend(read(key)?);
            let identity = reqwest::Identity::from_pem(&both)
                .map_err(|error| TlsError::file(cert, error, "a certificate and its key in PEM"))?;
            builder = builder.identity(identity);
        }
    }
    let http = builder.build().map_err(|error| {
        let path = tls.map_or(Path::new("TLS"), |tls| tls.ca.as_path());
        TlsError::file(path, error, "a consistent configuration")
    })?;
    Ok(PeerClient::new(http, Codec::default(), timeout))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| TlsError::file(path, error, "a file in PEM"))
}
