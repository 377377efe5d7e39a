//! An HTTP client of the native REST interface: plain HTTP, connections kept
//! open, every request bounded in time.

use crate::rest::{
    BrokerInfo, ClaimNotice, ClaimOrder, ClockInfo, ClusterInfo, DealNotice, EndPage, EventPage,
    InfoReport, JobList, JobNotice, JobReceipt, JobStatus, JobSubmission, PeerList, Problem,
    RoleChange, SessionInfo,
};
use gridrig_core::job::Reason;
use gridrig_core::transport::TransportError;
use reqwest::{ClientBuilder, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::sync::Once;
use std::time::Duration;

/// What a service answers, or why not.
type Result<T, E = ClientError> = std::result::Result<T, E>;

/// Why a request did not get the wanted answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The other side has certainly not seen the request.
    #[error("{0} cannot be reached")]
    NotReached(String, #[source] reqwest::Error),
    /// The request was sent, and no complete answer came back.
    #[error("{0} gave no answer")]
    NoAnswer(String, #[source] Box<dyn Error + Send + Sync>),
    /// The service has too much to do.
    #[error("{0} is busy")]
    Busy(String),
    /// The service turned the request away.
    #[error("{} answered {}: {} ({})", .0, .1.status, .1.detail, .1.code)]
    Problem(String, Box<Problem>),
    /// No client could be set up.
    #[error("no HTTP client can be set up")]
    Setup(#[source] reqwest::Error),
}

impl ClientError {
    /// Why a request came to nothing.
    pub(crate) fn of(url: &str, source: reqwest::Error) -> Self {
        let url = url.to_owned();
        match source.is_connect() {
            true => ClientError::NotReached(url, source),
            false => ClientError::no_answer(url, source),
        }
    }

    fn no_answer(url: String, why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        ClientError::NoAnswer(url, why.into())
    }

    /// Whether the other side may be there no more, as opposed to having
    /// answered something else than wanted.
    pub fn is_silence(&self) -> bool {
        matches!(
            self,
            ClientError::NotReached { .. } | ClientError::NoAnswer { .. }
        )
    }
}

/// What a failed request means for the message in it.
impl From<ClientError> for TransportError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::NotReached(url, source) => {
                TransportError::not_reached(url, cause(&source))
            }
            ClientError::NoAnswer(to, source) => {
                let why = cause(&*source);
                TransportError::NoAnswer { to, why }
            }
            ClientError::Busy(url) => TransportError::Busy { to: url },
            // Turned away at the door: nobody has seen it.
            ClientError::Problem(url, problem) if problem.code == "wrong-host" => {
                static TOLD: Once = Once::new();
                TOLD.call_once(|| tracing::warn!("{url}: {}", problem.detail));
                TransportError::not_reached(url, problem.detail)
            }
            // Of somebody in between: whether it got through is not known.
            ClientError::Problem(to, problem)
                if problem.code == "unspecified" && matches!(problem.status, 429 | 502..=504) =>
            {
                let why = problem.detail;
                TransportError::NoAnswer { to, why }
            }
            ClientError::Problem(url, problem) => TransportError::Answered {
                to: url,
                status: problem.status,
                reason: Reason::from_name(&problem.code),
                why: problem.detail,
            },
            ClientError::Setup(source) => {
                TransportError::not_reached("anybody", source.to_string())
            }
        }
    }
}

/// What was the matter in the first place: reqwest says no more than that it could not
/// send a request.
fn cause(mut error: &(dyn Error + 'static)) -> String {
    while let Some(below) = error.source() {
        error = below;
    }
    error.to_string()
}

/// A client. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    timeout: Duration,
}

/// Longest answer of one of our services that is read, in bytes: pages of jobs that
/// have many nodes each are long.
pub const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// Longest answer in a language that is not ours, and longest problem document.
const MOST_ANSWER: usize = 1024 * 1024;

impl Client {
    /// A client whose requests take at most `timeout`.
    ///
    /// # Errors
    /// [`ClientError::Setup`].
    pub fn new(timeout: Duration) -> Result<Self> {
        let http = http_client(timeout).build();
        let http = http.map_err(ClientError::Setup)?;
        Ok(Client { http, timeout })
    }

    /// How long a request may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// `POST /v1/jobs`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn submit(&self, base: &str, job: &JobSubmission) -> Result<JobReceipt> {
        self.post(format!("{base}/v1/jobs"), job).await
    }

    /// `GET /v1/jobs/{id}`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn job(&self, base: &str, id: u32) -> Result<JobStatus> {
        self.get(format!("{base}/v1/jobs/{id}")).await
    }

    /// `GET /v1/jobs`, from the first one above `after` on.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn jobs(&self, base: &str, after: Option<u32>) -> Result<JobList> {
        let after = after.map_or(String::new(), |after| format!("?after={after}"));
        self.get(format!("{base}/v1/jobs{after}")).await
    }

    /// `DELETE /v1/jobs/{id}`, of a broker that has forwarded it as the domain `from`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn cancel(&self, base: &str, id: u32, from: Option<u16>) -> Result<JobStatus> {
        let by = from.map_or_else(String::new, |domain| format!("?from={domain}"));
        let url = format!("{base}/v1/jobs/{id}{by}");
        let request = self.http.request(Method::DELETE, &url);
        read(self.send(request, &url, self.timeout).await?, url).await
    }

    /// `GET /v1/ends`: ends from position `after` on; waits up to `wait` for
    /// the first one.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn ends(&self, base: &str, after: u64, wait: Duration) -> Result<EndPage> {
        let url = format!("{base}/v1/ends?after={after}&wait_ms={}", wait.as_millis());
        let request = self.http.get(&url);
        read(self.send(request, &url, self.timeout + wait).await?, url).await
    }

    /// `GET /v1/events` from position `after` on.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn events(&self, base: &str, after: u64) -> Result<EventPage> {
        self.get(format!("{base}/v1/events?after={after}")).await
    }

    /// `POST` of a notification to a complete URL.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn notify(&self, url: &str, notice: &JobNotice) -> Result<()> {
        self.tell(url, notice).await
    }

    /// `POST /v1/deals`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn deal(&self, base: &str, notice: &DealNotice) -> Result<()> {
        self.tell(&format!("{base}/v1/deals"), notice).await
    }

    /// `POST /v1/claims` of an LRMS.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn order_claim(&self, base: &str, order: &ClaimOrder) -> Result<()> {
        self.tell(&format!("{base}/v1/claims"), order).await
    }

    /// `POST /v1/claims` of a broker.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn tell_claim(&self, base: &str, notice: &ClaimNotice) -> Result<()> {
        self.tell(&format!("{base}/v1/claims"), notice).await
    }

    /// `POST /v1/info`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn inform(&self, base: &str, info: &InfoReport) -> Result<()> {
        self.tell(&format!("{base}/v1/info"), info).await
    }

    /// `GET /v1/info` of an LRMS.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn cluster(&self, base: &str) -> Result<ClusterInfo> {
        self.get(format!("{base}/v1/info")).await
    }

    /// `GET /v1/info` of a broker.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn broker(&self, base: &str) -> Result<BrokerInfo> {
        self.get(format!("{base}/v1/info")).await
    }

    /// `PUT /v1/peers/NAME/role` of a broker.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn set_role(&self, base: &str, peer: &str, role: &str) -> Result<SessionInfo> {
        let url = format!("{base}/v1/peers/{peer}/role");
        let change = RoleChange {
            role: role.to_owned(),
        };
        let request = self.http.put(&url).json(&change);
        read(self.send(request, &url, self.timeout).await?, url).await
    }

    /// `GET /v1/peers` of a broker.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn peers(&self, base: &str) -> Result<PeerList> {
        self.get(format!("{base}/v1/peers")).await
    }

    /// The clock of a service of either kind, from its `GET /v1/info`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn clock(&self, base: &str) -> Result<ClockInfo> {
        #[derive(serde::Deserialize)]
        struct Clocked {
            clock: ClockInfo,
        }
        let info: Clocked = self.get(format!("{base}/v1/info")).await?;
        Ok(info.clock)
    }

    /// `GET /healthz`: whether the service is there.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn healthy(&self, base: &str) -> Result<()> {
        let url = format!("{base}/healthz");
        let request = self.http.get(&url);
        self.send(request, &url, self.timeout).await.map(drop)
    }

    /// `POST` of a text of this media type, for services that speak something
    /// else than JSON; answers status and body, cut off at 1 MiB.
    ///
    /// # Errors
    /// [`ClientError::NotReached`], [`ClientError::NoAnswer`].
    pub async fn post_text(
        &self,
        url: &str,
        media_type: &str,
        text: String,
    ) -> Result<(u16, String)> {
        let request = self.http.post(url).header("content-type", media_type);
        let request = request.body(text).timeout(self.timeout);
        let url = url.to_owned();
        let sent = request.send().await;
        let response = sent.map_err(|source| ClientError::of(&url, source))?;
        let status = response.status().as_u16();
        let body = body_of(response, url, MOST_ANSWER).await?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// Tells a service something, which it takes in or refuses.
    async fn tell(&self, url: &str, body: &impl Serialize) -> Result<()> {
        let request = self.http.post(url).json(body);
        self.send(request, url, self.timeout).await.map(drop)
    }

    async fn get<T: DeserializeOwned>(&self, url: String) -> Result<T> {
        let request = self.http.get(&url);
        read(self.send(request, &url, self.timeout).await?, url).await
    }

    async fn post<T: DeserializeOwned>(&self, url: String, body: &impl Serialize) -> Result<T> {
        let request = self.http.post(&url).json(body);
        read(self.send(request, &url, self.timeout).await?, url).await
    }

    async fn send(
        &self,
        request: RequestBuilder,
        url: &str,
        timeout: Duration,
    ) -> Result<Response> {
        let url = url.to_owned();
        let sent = request.timeout(timeout).send().await;
        let response = sent.map_err(|source| ClientError::of(&url, source))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        Err(refused(url, problem_of(response, status).await))
    }
}

/// What it means that a service has refused a request.
fn refused(url: String, problem: Problem) -> ClientError {
    match problem.code.as_str() {
        // Whoever asks for a job, or brings one that is looked for, is to come again.
        "busy" | "timeout" | "not-found-yet" => ClientError::Busy(url),
        // It may have got as far as the agent.
        "stopped" => ClientError::no_answer(url, problem.detail),
        _ => ClientError::Problem(url, Box::new(problem)),
    }
}

/// The body of an answer, which is read no further once it has more than `most` bytes.
pub(crate) async fn body_of(mut response: Response, url: String, most: usize) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() <= most => body.extend_from_slice(&chunk),
            Ok(_) => return Ok(body),
            Err(source) => return Err(ClientError::no_answer(url, source)),
        }
    }
}

/// Whether requests can be sent to this address.
pub fn is_address(url: &str) -> bool {
    let has_scheme = url.starts_with("http://") || url.starts_with("https://");
    has_scheme && Url::parse(url).is_ok()
}

/// Names ring as the provider, unless one is named already. reqwest is built
/// without a provider of its own and panics when it makes a client, even for
/// plain HTTP, before this has been called; [`Client::new`]
/// calls it.
pub fn init() {
    // An error says that another call was first, which is just as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// How services are connected to, with so much patience at most.
pub(crate) fn http_client(timeout: Duration) -> ClientBuilder {
    init();
    reqwest::Client::builder()
        .connect_timeout(CONNECT.min(timeout))
        .pool_idle_timeout(KEEP_IDLE)
        .tcp_nodelay(true)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
}

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(2);
/// Kept connections are closed before a service's own bound on idleness.
const KEEP_IDLE: Duration = Duration::from_secs(20);

/// The problem document of an answer, or what stands for it where another kind
/// of server answers.
async fn problem_of(response: Response, status: StatusCode) -> Problem {
    let unspoken = || {
        let words = status.canonical_reason().unwrap_or("no explanation");
        Problem::new(status.as_u16(), "unspecified", words)
    };
    let body = body_of(response, String::new(), MOST_ANSWER).await;
    let body = body.unwrap_or_default();
    serde_json::from_slice(&body).unwrap_or_else(|_| unspoken())
}

async fn read<T: DeserializeOwned>(response: Response, url: String) -> Result<T> {
    let body = body_of(response, url.clone(), MAX_ANSWER).await?;
    if body.len() > MAX_ANSWER {
        let why = format!("its answer has more than {MAX_ANSWER} bytes");
        return Err(ClientError::no_answer(url, why));
    }
    let unreadable = |why| {
        ClientError::no_answer(
            url,
            format!("what it answered is not the JSON that is expected: {why}"),
        )
    };
    serde_json::from_slice(&body).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_whether_the_message_was_seen() {
        let error = |status, code: &str| {
            let problem = Problem::new(status, code, "why");
            TransportError::from(refused("http://lrms".to_owned(), problem))
        };
        for code in ["busy", "timeout", "not-found-yet"] {
            let busy = error(503, code);
            assert!(
                matches!(busy, TransportError::Busy { .. }),
                "{code}: {busy}"
            );
        }
        let unseen = error(403, "wrong-host");
        assert!(matches!(unseen, TransportError::NotReached { .. }));
        for status in [429, 502, 503, 504] {
            let perhaps = error(status, "unspecified");
            assert!(
                matches!(perhaps, TransportError::NoAnswer { .. }),
                "{status}"
            );
        }
        for (status, code) in [(404, "unspecified"), (503, "draining")] {
            let told = error(status, code);
            assert!(matches!(told, TransportError::Answered { .. }), "{status}");
        }
    }

    #[test]
    fn a_broker_of_another_hand_answers_with_a_number_and_a_state() {
        let least: JobReceipt = serde_json::from_str(r#"{"id":7,"state":"queued"}"#).unwrap();
        assert_eq!((least.id, least.at_ns), (7, 0));
    }
}
