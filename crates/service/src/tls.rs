//! TLS of the services.

mod client;
mod curve;

use client::GridClients;
use gridrig_protocol::certificate::{self, CertificateError};
use gridrig_protocol::tls::{TlsError, init};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a service that speaks TLS, all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Its certificate, and those between it and its authority.
    pub cert: PathBuf,
    /// Its private key, without a passphrase.
    pub key: PathBuf,
    /// Authorities of clients. With them a client may present a certificate,
    /// and one that does not hold is refused; without, none is asked for.
    pub client_ca: Option<PathBuf>,
}

/// How a service speaks TLS. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    issuer: String,
    asks_for_clients: bool,
}

impl ServerTls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`]
    pub fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        init();
        let certificates = certificates(&files.cert)?;
        let issuer = certificates.first().map(|first| issuer(first));
        let issuer = issuer
            .unwrap_or(Err(CertificateError::Empty))
            .map_err(|error| TlsError::file(&files.cert, error, "a certificate in PEM"))?;
        let expected = "a private key in PEM, without passphrase";
        let key = PrivateKeyDer::from_pem_file(&files.key)
            .map_err(|error| TlsError::file(&files.key, error, expected))?;
        let pair = |source| TlsError::Pair {
            cert: files.cert.clone(),
            key: files.key.clone(),
            source,
        };
        let builder = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()
            .map_err(pair)?;
        let builder = match &files.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let expected = "certificates of authorities";
                let mut roots = RootCertStore::empty();
                for authority in self::certificates(path)? {
                    let added = roots.add(authority);
                    added.map_err(|error| TlsError::file(path, error, expected))?;
                }
                let clients = GridClients::new(roots);
                let clients = clients.map_err(|error| TlsError::file(path, error, expected))?;
                builder.with_client_cert_verifier(Arc::new(clients))
            }
        };
        let config = builder.with_single_cert(certificates, key);
        let mut config = config.map_err(pair)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(ServerTls {
            config: Arc::new(config),
            issuer,
            asks_for_clients: files.client_ca.is_some(),
        })
    }

    /// The distinguished name of who signed the service's certificate.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Whether clients may present a certificate.
    pub fn asks_for_clients(&self) -> bool {
        self.asks_for_clients
    }

    /// What a connection is served with.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

/// ring, and one more way to agree on a key for clients that know no other.
fn provider() -> CryptoProvider {
    let mut provider = rustls::crypto::ring::default_provider();
    provider.kx_groups.push(&curve::SECP521R1);
    provider
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    const EXPECTED: &str = "certificates in PEM";
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let read: Vec<_> = read.map_err(|error| TlsError::file(path, error, EXPECTED))?;
    match read.is_empty() {
        true => Err(TlsError::file(path, "no certificate in it", EXPECTED)),
        false => Ok(read),
    }
}

fn issuer(der: &[u8]) -> Result<String, CertificateError> {
    Ok(certificate::slashed(certificate::parse(der)?.issuer()))
}
