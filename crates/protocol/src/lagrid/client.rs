//! A client of the peer protocol, over SOAP or JSON. Requests are bounded in
//! time, answers in size.

use super::wire::{self, Way};
use super::{JSON_PATH, Message, Operation, Request, SOAP_PATH, Token};
use crate::client::{ClientError, body_of};
use crate::rest::Problem;
use crate::soap::{Addressing, Envelope, Fault, Version};
use crate::words::words;
use crate::xml::{Element, excerpt};
use gridrig_core::job::Reason;
use gridrig_core::transport::TransportError;
use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, StatusCode};
use std::time::Duration;

words! {
    /// How messages are written.
    #[derive(Default)]
    Codec {
        /// SOAP 1.1.
        #[default]
        Soap11 = "soap-1.1",
        /// SOAP 1.2.
        Soap12 = "soap-1.2",
        /// JSON.
        Json = "json",
    }
}

/// What a peer answers, or why not.
type Result<T, E = PeerError> = std::result::Result<T, E>;

/// Why a request did not get the wanted answer.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The request or its answer was lost.
    #[error(transparent)]
    Lost(#[from] ClientError),
    /// The answer is none of the protocol.
    #[error("{0} gave an invalid answer: {1}")]
    Garbage(String, String),
    /// The peer turned the request away.
    #[error("{0} refused: {1}")]
    Fault(String, Box<Problem>),
}

impl PeerError {
    fn garbage(url: &str, why: String) -> Self {
        PeerError::Garbage(url.to_owned(), why)
    }

    /// Whether the request may be repeated unchanged with some hope.
    pub fn is_passing(&self) -> bool {
        match self {
            PeerError::Fault(_, fault) => {
                ["busy", "not-found-yet", "stopped", "timeout"].contains(&&*fault.code)
            }
            PeerError::Lost(_) => true,
            PeerError::Garbage { .. } => false,
        }
    }

    /// What it means for the message in the request, which was for `to`.
    pub fn delivering(&self, to: String) -> TransportError {
        let why = self.to_string();
        match self {
            PeerError::Lost(ClientError::NotReached { .. }) => {
                TransportError::NotReached { to, why }
            }
            PeerError::Lost(_) | PeerError::Garbage { .. } => TransportError::NoAnswer { to, why },
            PeerError::Fault { .. } if self.is_passing() => TransportError::Busy { to },
            PeerError::Fault(_, fault) => TransportError::Answered {
                to,
                status: fault.status,
                reason: Reason::from_name(&fault.code),
                why,
            },
        }
    }

    /// The fault that the peer told of, if it answered with one.
    pub fn fault(&self) -> Option<&Problem> {
        match self {
            PeerError::Fault(_, fault) => Some(fault),
            _ => None,
        }
    }
}

/// Largest answer that is read: an update about [10,000 clusters](super::ResourceUpdate)
/// would not fit into a request either.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// A client. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct PeerClient {
    http: reqwest::Client,
    timeout: Duration,
    codec: Codec,
    token: Option<Token>,
}

impl PeerClient {
    /// A client that speaks through `http`, whose requests take at most
    /// `timeout`.
    pub fn new(http: reqwest::Client, codec: Codec, timeout: Duration) -> Self {
        PeerClient {
            http,
            timeout,
            codec,
            token: None,
        }
    }

    /// The same client showing a bearer token.
    #[must_use]
    pub fn with_token(mut self, token: Option<Token>) -> Self {
        self.token = token;
        self
    }

    /// The same client with another codec.
    #[must_use]
    pub fn speaking(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// How it writes.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Asks the broker at `address`, which is its base URL or its endpoint
    /// (the base URL with `/lagrid`).
    ///
    /// # Errors
    /// [`PeerError`].
    pub async fn call<R: Request>(&self, address: &str, request: &R) -> Result<R::Answer> {
        let base = address.trim_end_matches('/');
        let base = base.strip_suffix(SOAP_PATH).unwrap_or(base);
        match self.codec {
            Codec::Soap11 => self.soap(base, request, Version::Soap11).await,
            Codec::Soap12 => self.soap(base, request, Version::Soap12).await,
            Codec::Json => self.json(base, request).await,
        }
    }

    async fn soap<R: Request>(
        &self,
        base: &str,
        request: &R,
        version: Version,
    ) -> Result<R::Answer> {
        let url = format!("{base}{SOAP_PATH}");
        let body = envelope(request, version, &url).write();
        let (media, action) = (version.media_type(), R::OPERATION.action());
        let post = self.http.post(&url);
        let post = match version {
            Version::Soap11 => post
                .header(CONTENT_TYPE, media)
                .header("SOAPAction", format!("\"{action}\"")),
            Version::Soap12 => post.header(CONTENT_TYPE, format!("{media}; action=\"{action}\"")),
        };
        wire::log(Way::RequestOut, R::OPERATION, || body.clone());
        let (_, answer) = self.ask(post.body(body), &url).await?;
        wire::log(Way::AnswerIn, R::OPERATION, || readable(&answer));
        let garbage = |why| PeerError::garbage(&url, why);
        let envelope = Envelope::read(&answer, version)
            .map_err(|unreadable| garbage(unreadable.fault.reason))?;
        if let Some(fault) = Fault::of(&envelope) {
            let fault = Box::new(fault.into());
            return Err(PeerError::Fault(url, fault));
        }
        let expected = R::OPERATION.response();
        if !envelope.body.is(super::LAGRID, &expected) {
            let name = excerpt(&envelope.body.name);
            return Err(garbage(format!("element {name}: expected {expected}")));
        }
        R::Answer::from_element(&envelope.body).map_err(|problem| garbage(problem.detail))
    }

    async fn json<R: Request>(&self, base: &str, request: &R) -> Result<R::Answer> {
        let url = format!("{base}{JSON_PATH}/{}", R::OPERATION.name());
        let post = self.http.post(&url);
        let post = post.header(CONTENT_TYPE, "application/json");
        let body = request.to_json();
        wire::log(Way::RequestOut, R::OPERATION, || readable(&body));
        let (status, answer) = self.ask(post.body(body), &url).await?;
        wire::log(Way::AnswerIn, R::OPERATION, || readable(&answer));
        if status.is_success() {
            let read = R::Answer::from_json(&answer);
            return read.map_err(|problem| PeerError::garbage(&url, problem.detail));
        }
        let why = format!("HTTP status {status} without a problem document");
        Err(match serde_json::from_slice(&answer) {
            Ok(problem) => PeerError::Fault(url, problem),
            Err(_) => PeerError::garbage(&url, why),
        })
    }

    /// Sends a request and reads its answer, up to a bound.
    async fn ask(&self, mut post: RequestBuilder, url: &str) -> Result<(StatusCode, Vec<u8>)> {
        if let Some(token) = &self.token {
            post = post.bearer_auth(token.expose());
        }
        let sent = post.timeout(self.timeout).send().await;
        let answer = sent.map_err(|source| ClientError::of(url, source))?;
        let status = answer.status();
        let body = body_of(answer, url.to_owned(), MAX_ANSWER).await?;
        if body.len() > MAX_ANSWER {
            let why = format!("it has more than {MAX_ANSWER} bytes");
            return Err(PeerError::garbage(url, why));
        }
        Ok((status, body))
    }
}

fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A request in its envelope, with the WS-Addressing properties of its
/// operation.
pub fn envelope<R: Request>(request: &R, version: Version, to: &str) -> Envelope {
    let addressing = Addressing {
        to: Some(to.to_owned()),
        action: Some(R::OPERATION.action()),
        ..Addressing::default()
    };
    let parameters: Vec<Element> = request.reference().iter().map(Element::from).collect();
    Envelope {
        version,
        header: addressing.write(&parameters),
        body: request.to_element(R::OPERATION.name()),
    }
}

impl Operation {
    /// The WS-Addressing action of its request, and its SOAPAction.
    pub fn action(self) -> String {
        format!("{}/{}", super::LAGRID, self.name())
    }

    /// The WS-Addressing action of its answer.
    pub fn response_action(self) -> String {
        format!("{}/{}", super::LAGRID, self.response())
    }

    /// The WS-Addressing action of the protocol's faults.
    pub const FAULT_ACTION: &'static str = "urn:gridrig:lagrid:1/Fault";
}
