//! Certificates as grids use them: distinguished names in the slash form,
//! proxy certificates (RFC 3820), and chains that are checked link by link.

use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::X509Name;

/// Why certificates will not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// Not in PEM, or not a certificate.
    #[error("not a certificate in PEM: {0}")]
    Malformed(String),
    /// Nothing there.
    #[error("no certificate: expected at least one in PEM")]
    Empty,
    /// More than are read.
    #[error("{0} certificates: expected at most {MOST_CERTIFICATES}")]
    TooMany(usize),
    /// Its time is over or has not come.
    #[error("the certificate of {subject} is valid from {from} to {to}: expected one of today")]
    Expired {
        /// Whose.
        subject: String,
        /// From when.
        from: String,
        /// To when.
        to: String,
    },
    /// The next certificate did not sign it.
    #[error("the certificate of {0} is not signed by {1}: expected a chain")]
    Broken(String, String),
    /// It belongs to another key.
    #[error("the certificate of {0} is for another key: expected the one of the request")]
    ForeignKey(String),
}

/// Longest chain that is read: ARC delegates a few times at most.
pub const MOST_CERTIFICATES: usize = 16;

/// Seconds by which clocks may differ.
const SKEW_S: i64 = 300;

/// The ends of a chain that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The name in the first certificate.
    pub subject: String,
    /// The name of the person or host behind all proxies.
    pub identity: String,
    /// When the first of its certificates runs out, in Unix seconds.
    pub not_after: i64,
    /// Whether the first certificate is a proxy.
    pub is_proxy: bool,
}

/// Reads and checks a chain in PEM, first certificate first: each within its
/// time at `now` (Unix seconds), each signed by the next. Who signed the last
/// is not looked at. `key`, where given, is the public key (the bits of
/// `subjectPublicKey`) that the first certificate has to be for.
///
/// # Errors
/// [`CertificateError`]
pub fn check_chain(pem: &[u8], key: Option<&[u8]>, now: i64) -> Result<Chain, CertificateError> {
    let ders = read_pem(pem)?;
    let ders: Vec<&[u8]> = ders.iter().map(Vec::as_slice).collect();
    check_der(&ders, key, now)
}

/// The certificates of a text in PEM; other blocks are passed over.
///
/// # Errors
/// [`CertificateError`]
pub fn read_pem(pem: &[u8]) -> Result<Vec<Vec<u8>>, CertificateError> {
    let mut ders = Vec::new();
    for block in Pem::iter_from_buffer(pem) {
        let block = block.map_err(|error| CertificateError::Malformed(error.to_string()))?;
        if block.label == "CERTIFICATE" {
            ders.push(block.contents);
        }
        if ders.len() > MOST_CERTIFICATES {
            return Err(CertificateError::TooMany(ders.len()));
        }
    }
    match ders.is_empty() {
        true => Err(CertificateError::Empty),
        false => Ok(ders),
    }
}

/// The same for certificates in DER.
///
/// # Errors
/// [`CertificateError`]
pub fn check_der(ders: &[&[u8]], key: Option<&[u8]>, now: i64) -> Result<Chain, CertificateError> {
    let parsed = ders.iter().map(|der| parse(der));
    let chain: Vec<X509Certificate<'_>> = parsed.collect::<Result<_, _>>()?;
    let first = chain.first().ok_or(CertificateError::Empty)?;
    if key.is_some_and(|key| first.public_key().subject_public_key.data.as_ref() != key) {
        let subject = slashed(first.subject());
        return Err(CertificateError::ForeignKey(subject));
    }
    for certificate in &chain {
        in_time(certificate, now)?;
    }
    for pair in chain.windows(2) {
        signed(&pair[0], &pair[1])?;
    }
    let holder = chain.iter().find(|certificate| !is_proxy(certificate));
    let identity = match holder {
        Some(holder) => slashed(holder.subject()),
        // All of them are proxies: the name of the person is the last one's
        // issuer.
        None => slashed(chain.last().map_or(first.issuer(), |last| last.issuer())),
    };
    let ends = chain.iter().map(|it| it.validity().not_after.timestamp());
    Ok(Chain {
        subject: slashed(first.subject()),
        identity,
        not_after: ends.min().unwrap_or(now),
        is_proxy: is_proxy(first),
    })
}

/// One certificate.
///
/// # Errors
/// [`CertificateError::Malformed`]
pub fn parse(der: &[u8]) -> Result<X509Certificate<'_>, CertificateError> {
    let parsed = X509Certificate::from_der(der);
    let parsed = parsed.map_err(|error| CertificateError::Malformed(error.to_string()))?;
    Ok(parsed.1)
}

fn in_time(certificate: &X509Certificate<'_>, now: i64) -> Result<(), CertificateError> {
    let validity = certificate.validity();
    let from = validity.not_before.timestamp().saturating_sub(SKEW_S);
    if (from..=validity.not_after.timestamp()).contains(&now) {
        return Ok(());
    }
    Err(CertificateError::Expired {
        subject: slashed(certificate.subject()),
        from: validity.not_before.to_string(),
        to: validity.not_after.to_string(),
    })
}

/// Whether `issuer` signed `certificate`.
///
/// # Errors
/// [`CertificateError::Broken`]
pub fn signed(
    certificate: &X509Certificate<'_>,
    issuer: &X509Certificate<'_>,
) -> Result<(), CertificateError> {
    let named = certificate.issuer().as_raw() == issuer.subject().as_raw();
    let signed = || certificate.verify_signature(Some(issuer.public_key()));
    if named && signed().is_ok() {
        return Ok(());
    }
    Err(CertificateError::Broken(
        slashed(certificate.subject()),
        slashed(issuer.subject()),
    ))
}

/// Whether a certificate is a proxy: by its extension (RFC 3820 section 3.8),
/// or, as before that, by its name being its issuer's and one more.
pub fn is_proxy(certificate: &X509Certificate<'_>) -> bool {
    const PROXY_CERT_INFO: &str = "1.3.6.1.5.5.7.1.14";
    let mut extensions = certificate.extensions().iter();
    if extensions.any(|extension| extension.oid.to_id_string() == PROXY_CERT_INFO) {
        return true;
    }
    let subject = slashed(certificate.subject());
    let added = subject.strip_prefix(&slashed(certificate.issuer()));
    matches!(added, Some("/CN=proxy" | "/CN=limited proxy"))
}

/// A distinguished name as grids write it: `/DC=org/DC=nordugrid/CN=alice`. In a value,
/// a backslash is doubled, and a slash after which a further part could begin has one
/// before it: no two names are written alike.
pub fn slashed(name: &X509Name<'_>) -> String {
    let mut text = String::new();
    for attribute in name.iter_attributes() {
        let oid = attribute.attr_type();
        let short = match oid.to_id_string().as_str() {
            "0.9.2342.19200300.100.1.25" => "DC".to_owned(),
            "0.9.2342.19200300.100.1.1" => "UID".to_owned(),
            "1.2.840.113549.1.9.1" => "emailAddress".to_owned(),
            "2.5.4.3" => "CN".to_owned(),
            "2.5.4.6" => "C".to_owned(),
            "2.5.4.7" => "L".to_owned(),
            "2.5.4.8" => "ST".to_owned(),
            "2.5.4.10" => "O".to_owned(),
            "2.5.4.11" => "OU".to_owned(),
            other => other.to_owned(),
        };
        let value = attribute.as_str().unwrap_or("?");
        let mut value = value.replace('\\', r"\\");
        if value.contains('=') {
            value = value.replace('/', r"\/");
        }
        text.push_str(&format!("/{short}={value}"));
    }
    text
}

#[cfg(test)]
mod tests;
