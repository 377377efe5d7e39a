//! The forms of an answer: XML or ARC's JSON, and A-REX's plain faults.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gridrig_drivers::real_time::CallError;
use gridrig_protocol::xml::Element;
use gridrig_service::http::media_type;
use serde_json::Value;
use tokio::task::JoinError;

/// An answer, or a fault.
pub(super) type Reply = Result<Response, Fault>;

/// A refusal as A-REX writes it: a status and a line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    status: u16,
    text: String,
}

impl Fault {
    pub(super) fn new(status: u16, text: impl Into<String>) -> Self {
        Fault {
            status,
            text: text.into(),
        }
    }

    pub(super) fn no_job() -> Self {
        Fault::new(404, "Job not found")
    }

    pub(super) fn not_implemented() -> Self {
        Fault::new(501, "Not Implemented")
    }

    /// A task of the request has panicked, or ended with the service.
    pub(super) fn broke_off(error: JoinError) -> Self {
        match error.is_panic() {
            true => {
                tracing::error!(%error, "a request broke off");
                Fault::new(500, "the request broke off (a panic, see the log)")
            }
            false => Fault::new(503, "the service is stopping"),
        }
    }
}

impl From<CallError> for Fault {
    fn from(error: CallError) -> Self {
        Fault::new(503, error.to_string())
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        text(status, "text/plain; charset=utf-8", self.text + "\n")
    }
}

/// A body of this media type.
pub(super) fn text(status: StatusCode, media: &'static str, body: String) -> Response {
    let media = HeaderValue::from_static(media);
    (status, [(header::CONTENT_TYPE, media)], body).into_response()
}

/// The form that a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Xml,
    Json,
}

impl Format {
    /// The first of the types in `Accept` that is one of ours, else XML.
    pub(super) fn wanted(headers: &HeaderMap) -> Self {
        let accepts = headers.get_all(header::ACCEPT).iter();
        let types = accepts.filter_map(|value| value.to_str().ok());
        for kind in types.flat_map(|value| value.split(',')) {
            match kind.split(';').next().unwrap_or_default().trim() {
                "application/json" => return Format::Json,
                "text/xml" | "application/xml" => return Format::Xml,
                _ => {}
            }
        }
        Format::Xml
    }

    /// The element in this form; `arrays` as in [`Element::to_json`].
    pub(super) fn answer(self, status: StatusCode, of: &Element, arrays: &[&str]) -> Response {
        match self {
            Format::Xml => text(status, "application/xml", of.to_document()),
            Format::Json => {
                let body = of.to_json(arrays).to_string();
                text(status, "application/json", body)
            }
        }
    }
}

/// The ids in `<jobs><job><id/></job>...</jobs>` or `{"job": [{"id": ...}]}`.
/// ARC's client declares no type for its XML.
pub(super) fn ids(headers: &HeaderMap, body: &str) -> Result<Vec<String>, Fault> {
    let ids = match media_type(headers).as_str() {
        "application/json" => ids_of_json(body),
        _ => ids_of_xml(body),
    };
    let ids = ids.map_err(|problem| Fault::new(400, problem))?;
    match ids.is_empty() {
        false => Ok(ids),
        true => Err(Fault::new(400, "no job: expected jobs/job/id")),
    }
}

fn ids_of_xml(body: &str) -> Result<Vec<String>, String> {
    let root = Element::parse(body.as_bytes()).map_err(|error| error.to_string())?;
    let jobs = root.elements().filter(|part| part.name == "job");
    let ids = jobs.flat_map(|job| job.elements().filter(|part| part.name == "id"));
    Ok(ids.map(|id| id.text().trim().to_owned()).collect())
}

fn ids_of_json(body: &str) -> Result<Vec<String>, String> {
    let root: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let jobs = match root.get("job") {
        Some(Value::Array(jobs)) => jobs.iter().collect(),
        Some(job) => vec![job],
        None => Vec::new(),
    };
    let ids = jobs.iter().filter_map(|job| job.get("id")?.as_str());
    Ok(ids.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[tokio::test]
    async fn a_panic_is_no_end_of_the_service() {
        let broken = std::future::poll_fn(|_| -> std::task::Poll<()> { panic!("broken") });
        let broken = tokio::spawn(broken).await.unwrap_err();
        assert_eq!(Fault::broke_off(broken).status, 500);
        let stopped = tokio::spawn(std::future::pending::<()>());
        stopped.abort();
        let stopped = stopped.await.unwrap_err();
        assert_eq!(Fault::broke_off(stopped).status, 503);
    }

    #[test]
    fn the_first_known_type_decides_the_form() {
        let wanted = |value| Format::wanted(&headers(header::ACCEPT, value));
        assert_eq!(
            wanted("text/html, application/json;q=0.9, text/xml"),
            Format::Json
        );
        assert_eq!(wanted("text/xml, application/json"), Format::Xml);
        assert_eq!(wanted("*/*"), Format::Xml);
    }

    #[test]
    fn jobs_are_named_in_xml_and_in_json() {
        let none = HeaderMap::new();
        let json = headers(header::CONTENT_TYPE, "application/json; charset=utf-8");
        let xml = "<jobs><job><id>a</id></job><job><id> b </id></job></jobs>";
        assert_eq!(ids(&none, xml).unwrap(), ["a", "b"]);
        let several = r#"{"job": [{"id": "a"}, {"id": "b"}]}"#;
        assert_eq!(ids(&json, several).unwrap(), ["a", "b"]);
        assert_eq!(ids(&json, r#"{"job": {"id": "a"}}"#).unwrap(), ["a"]);
        for (headers, body) in [
            (&none, "<jobs/>"),
            (&none, "{}"),
            (&json, "{}"),
            (&json, "<a/>"),
        ] {
            assert!(ids(headers, body).is_err(), "{body}");
        }
    }
}
