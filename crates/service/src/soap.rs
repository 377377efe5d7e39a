//! SOAP over HTTP: requests as an axum handler takes them, answers as it gives
//! them.

use crate::http::{self, Result};
use axum::extract::{FromRequest, Request as HttpRequest};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use gridrig_protocol::rest::Problem;
use gridrig_protocol::soap::{Addressing, Envelope, Fault, Unreadable, Version};
use gridrig_protocol::xml::{Element, excerpt};

/// A request that has been read, together with what its answer needs.
#[derive(Clone, Debug)]
pub struct Request {
    /// The message.
    pub envelope: Envelope,
    /// Its WS-Addressing properties.
    pub addressing: Addressing,
    /// The headers of HTTP.
    pub headers: HeaderMap,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    version: Version,
    text: String,
}

impl Reply {
    fn fault(fault: &Fault, version: Version, header: Vec<Element>) -> Self {
        Reply {
            status: fault.http_status(version),
            version,
            text: fault.envelope(version, header).write(),
        }
    }
}

impl From<Unreadable> for Reply {
    fn from(unreadable: Unreadable) -> Self {
        Reply::fault(&unreadable.fault, unreadable.version, Vec::new())
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let media = HeaderValue::from_static(self.version.media_type());
        (status, [(header::CONTENT_TYPE, media)], self.text).into_response()
    }
}

impl<S: Send + Sync> FromRequest<S> for Request {
    type Rejection = Reply;

    async fn from_request(request: HttpRequest, state: &S) -> Result<Self, Reply> {
        let headers = request.headers().clone();
        let version = assumed(&headers).map_err(Reply::from)?;
        let body = http::bytes(request, state).await.map_err(|problem| {
            let fault = Fault::sender(problem.code, problem.detail).with_status(problem.status);
            Reply::fault(&fault, version, Vec::new())
        })?;
        let envelope = Envelope::read(&body, version)?;
        let version = envelope.version;
        let refuse = |fault: Fault| Reply::fault(&fault, version, Vec::new());
        let addressing = Addressing::read(&envelope.header).map_err(refuse)?;
        let request = Request {
            envelope,
            addressing,
            headers,
        };
        match request.addressing.check_reply() {
            Ok(()) => Ok(request),
            Err(fault) => {
                let header = request.addressing.answer(FAULT_ACTION).write(&[]);
                Err(Reply::fault(&fault, version, header))
            }
        }
    }
}

/// The action of faults about WS-Addressing itself (SOAP Binding, section 6), and of
/// what is no operation's fault.
pub const FAULT_ACTION: &str = "http://www.w3.org/2005/08/addressing/fault";

/// The version that the media type speaks of; one that is not XML is refused, and so
/// is a request without one: a page elsewhere can have a browser send that.
fn assumed(headers: &HeaderMap) -> Result<Version, Unreadable> {
    match http::media_type(headers).as_str() {
        "text/xml" | "application/xml" => Ok(Version::Soap11),
        "application/soap+xml" => Ok(Version::Soap12),
        _ => {
            let reason = format!(
                "header Content-Type = \"{}\": expected text/xml or application/soap+xml",
                excerpt(http::header_text(headers, header::CONTENT_TYPE).unwrap_or_default())
            );
            Err(Unreadable {
                version: Version::Soap11,
                fault: Box::new(Fault::sender("unsupported-media-type", reason).with_status(415)),
            })
        }
    }
}

/// Answers a request with what `result` says, under the WS-Addressing action
/// of the operation or of its faults.
pub fn answer(
    request: &Request,
    actions: (&str, &str),
    result: Result<Element, Fault>,
) -> Response {
    let version = request.envelope.version;
    let header = |action| request.addressing.answer(action).write(&[]);
    let reply = match result {
        Ok(body) => {
            let header = header(actions.0);
            let envelope = Envelope {
                version,
                header,
                body,
            };
            Reply {
                status: 200,
                version,
                text: envelope.write(),
            }
        }
        Err(fault) => Reply::fault(&fault, version, header(actions.1)),
    };
    reply.into_response()
}

/// The WSDL of a service, to whoever asks for it by `?wsdl`.
///
/// # Errors
/// To whoever asks for anything else.
pub fn describe(uri: &Uri, document: impl FnOnce() -> String) -> Result<Response> {
    let asks = |query: &str| query.split('&').any(|q| q.eq_ignore_ascii_case("wsdl"));
    if !uri.query().is_some_and(asks) {
        let detail = format!("{} takes SOAP by POST; its WSDL is at ?wsdl", uri.path());
        return Err(Problem::new(405, "method-not-allowed", detail).into());
    }
    let media = [(header::CONTENT_TYPE, "text/xml; charset=utf-8")];
    Ok((media, document()).into_response())
}
