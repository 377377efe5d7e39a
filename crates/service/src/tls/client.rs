//! Certificates of clients, proxies among them.
//!
//! rustls knows no proxy certificates (RFC 3820): their critical extension is
//! an error to it, and the person's certificate that signs them is no
//! authority. So proxies are checked here, link by link, down to the person's
//! own certificate, which rustls then checks against the authorities.

use gridrig_protocol::certificate::{self, CertificateError};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{
    CertificateError as Refusal, DigitallySignedStruct, DistinguishedName, Error, OtherError,
    RootCertStore, SignatureScheme,
};
use std::sync::Arc;

/// Takes clients without a certificate, with one of theirs, and with a proxy.
#[derive(Debug)]
pub(super) struct GridClients {
    persons: Arc<dyn ClientCertVerifier>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl GridClients {
    pub(super) fn new(roots: RootCertStore) -> Result<Self, VerifierBuilderError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let persons = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let persons = persons.allow_unauthenticated().build()?;
        Ok(GridClients {
            persons,
            algorithms,
        })
    }
}

/// How many certificates of the chain are proxies.
fn proxies(chain: &[&CertificateDer<'_>]) -> Result<usize, CertificateError> {
    for (index, der) in chain.iter().enumerate() {
        if !certificate::is_proxy(&certificate::parse(der)?) {
            return Ok(index);
        }
    }
    // A chain of nothing but proxies names nobody.
    Err(CertificateError::Empty)
}

fn refused(error: CertificateError) -> Error {
    let refusal = match error {
        CertificateError::Expired { .. } => Refusal::Expired,
        other => Refusal::Other(OtherError(Arc::new(other))),
    };
    Error::InvalidCertificate(refusal)
}

fn is_proxy(der: &CertificateDer<'_>) -> bool {
    certificate::parse(der).is_ok_and(|certificate| certificate::is_proxy(&certificate))
}

impl ClientCertVerifier for GridClients {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.persons.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let mut chain = vec![end_entity];
        chain.extend(intermediates);
        chain.truncate(certificate::MOST_CERTIFICATES);
        let proxies = proxies(&chain).map_err(refused)?;
        let unix = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let down_to_person: Vec<&[u8]> = chain[..=proxies].iter().map(AsRef::as_ref).collect();
        certificate::check_der(&down_to_person, None, unix).map_err(refused)?;
        let rest: Vec<CertificateDer<'_>> = chain[proxies + 1..]
            .iter()
            .map(|der| (*der).clone())
            .collect();
        self.persons.verify_client_cert(chain[proxies], &rest, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if !is_proxy(cert) {
            return verify_tls12_signature(message, cert, dss, &self.algorithms);
        }
        let parsed = certificate::parse(cert).map_err(refused)?;
        let key = &parsed.public_key().subject_public_key.data;
        let known = self.algorithms.mapping.iter();
        let mut fitting = known
            .filter(|(scheme, _)| *scheme == dss.scheme)
            .flat_map(|(_, algorithms)| algorithms.iter());
        match fitting.any(|algorithm| {
            algorithm
                .verify_signature(key, message, dss.signature())
                .is_ok()
        }) {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => Err(Error::InvalidCertificate(Refusal::BadSignature)),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if !is_proxy(cert) {
            return verify_tls13_signature(message, cert, dss, &self.algorithms);
        }
        let parsed = certificate::parse(cert).map_err(refused)?;
        let key = SubjectPublicKeyInfoDer::from(parsed.public_key().raw);
        verify_tls13_signature_with_raw_key(message, &key, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
