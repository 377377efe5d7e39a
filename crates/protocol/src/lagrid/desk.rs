//! Who answers.

use super::{
    CancelJob, Heartbeat, HeartbeatAnswer, JobReport, NotifyConn, NotifyJob, OpenConn,
    OpenConnAnswer, PeerFault, QueryJob, RequestResourceData, ResourceUpdate, SendResourceData,
    SendResourceDataAnswer, SubmitJob, SubmitJobAnswer, Taken,
};
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

/// A secret text: never shown, compared in constant time.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Token(text.into())
    }

    /// The text, for the one header that carries it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether this is the same token. Takes as long for a wrong one as for
    /// the right one.
    #[must_use]
    pub fn matches(&self, other: &Token) -> bool {
        let (a, b) = (self.0.as_bytes(), other.0.as_bytes());
        let differences = a
            .iter()
            .zip(b)
            .fold(a.len() ^ b.len(), |sum, (a, b)| sum | usize::from(a ^ b));
        differences == 0
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
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.address.ip().to_canonical().is_loopback()
    }
}

/// A broker at which its peers' messages arrive, read and checked for form.
/// It says who may do what, and keeps the connections.
pub trait Desk: Send + Sync + 'static {
    /// `openConn`.
    fn open_conn(
        &self,
        caller: &Caller,
        request: OpenConn,
    ) -> impl Future<Output = Result<OpenConnAnswer, PeerFault>> + Send;

    /// `notifyConn`.
    fn notify_conn(
        &self,
        caller: &Caller,
        request: NotifyConn,
    ) -> impl Future<Output = Result<Taken, PeerFault>> + Send;

    /// `heartbeat`.
    fn heartbeat(
        &self,
        caller: &Caller,
        request: Heartbeat,
    ) -> impl Future<Output = Result<HeartbeatAnswer, PeerFault>> + Send;

    /// `requestResourceData`.
    fn request_resource_data(
        &self,
        caller: &Caller,
        request: RequestResourceData,
    ) -> impl Future<Output = Result<ResourceUpdate, PeerFault>> + Send;

    /// `sendResourceData`.
    fn send_resource_data(
        &self,
        caller: &Caller,
        request: SendResourceData,
    ) -> impl Future<Output = Result<SendResourceDataAnswer, PeerFault>> + Send;

    /// `submitJob`.
    fn submit_job(
        &self,
        caller: &Caller,
        request: SubmitJob,
    ) -> impl Future<Output = Result<SubmitJobAnswer, PeerFault>> + Send;

    /// `queryJob`.
    fn query_job(
        &self,
        caller: &Caller,
        request: QueryJob,
    ) -> impl Future<Output = Result<JobReport, PeerFault>> + Send;

    /// `notifyJob`.
    fn notify_job(
        &self,
        caller: &Caller,
        request: NotifyJob,
    ) -> impl Future<Output = Result<Taken, PeerFault>> + Send;

    /// `cancelJob`.
    fn cancel_job(
        &self,
        caller: &Caller,
        request: CancelJob,
    ) -> impl Future<Output = Result<JobReport, PeerFault>> + Send;
}
