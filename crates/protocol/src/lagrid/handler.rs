//! Who answers.

use super::Request;
use crate::rest::Result;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

/// A secret text: never shown, compared in constant time.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Token(text.into())
    }

    /// The text, for the one header that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether this is the same token. Takes as long for a wrong one as for
    /// the right one.
    pub fn matches(&self, other: &Token) -> bool {
        let (a, b) = (self.0.as_bytes(), other.0.as_bytes());
        let pairs = a.iter().zip(b);
        pairs.fold(a.len() ^ b.len(), |sum, (a, b)| sum | usize::from(a ^ b)) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// Who asks, as far as the transport has shown it. What has been shown is
/// proven (a token is not: it is what the caller says).
#[derive(Clone, Debug)]
pub struct Caller {
    /// From where.
    pub address: SocketAddr,
    /// Whether the connection is encrypted.
    pub is_secure: bool,
    /// The distinguished name in the certificate that it presented and that
    /// was checked.
    pub identity: Option<Arc<str>>,
    /// The bearer token that it sent.
    pub token: Option<Token>,
    /// The base URL under which it has reached this broker, such as
    /// `http://127.0.0.1:8201`.
    pub base: String,
}

impl Caller {
    /// Whether it is on this machine.
    pub fn is_local(&self) -> bool {
        self.address.ip().to_canonical().is_loopback()
    }
}

/// Whoever answers one kind of request.
pub trait Answers<R: Request>: Send + Sync + 'static {
    /// The answer to a caller.
    fn answer(&self, caller: &Caller, request: R)
    -> impl Future<Output = Result<R::Answer>> + Send;
}
