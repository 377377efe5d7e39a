//! Extractors that answer with problem documents.

use super::{ProblemResponse, Result, header_text};
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use gridrig_protocol::rest::Problem;
use serde::de::DeserializeOwned;

/// A JSON body.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ProblemResponse;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Body(body)),
            Err(rejection) => Err(of_json(&rejection).into()),
        }
    }
}

/// The bytes of a body that is declared as JSON.
///
/// # Errors
/// A problem document when it is not, or cannot be read.
pub async fn json_bytes(request: Request) -> Result<Bytes, Problem> {
    match media_type(request.headers()).as_str() {
        "application/json" => bytes(request, &()).await,
        _ => Err(not_json()),
    }
}

/// The bytes of a body.
///
/// # Errors
/// A problem document when it cannot be read.
pub async fn bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    let bytes = Bytes::from_request(request, state).await;
    bytes.map_err(|error| unread(error.status(), error.body_text()))
}

/// The media type of a body without its parameters; nothing where none is declared.
pub fn media_type(headers: &HeaderMap) -> String {
    let media = header_text(headers, CONTENT_TYPE).unwrap_or_default();
    let essence = media.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

fn unread(status: StatusCode, detail: String) -> Problem {
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "too-large",
        _ => "unreadable",
    };
    Problem::new(status.as_u16(), code, detail)
}

fn not_json() -> Problem {
    let detail = "header Content-Type: expected application/json";
    Problem::new(415, "unsupported-media-type", detail)
}

fn of_json(rejection: &JsonRejection) -> Problem {
    let detail = rejection.body_text();
    match rejection {
        JsonRejection::JsonSyntaxError(_) => Problem::new(400, "malformed", detail),
        JsonRejection::JsonDataError(_) => Problem::new(422, "invalid", detail),
        JsonRejection::MissingJsonContentType(_) => not_json(),
        other => unread(other.status(), detail),
    }
}

/// The query of a URL.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let invalid = |rejection: axum::extract::rejection::QueryRejection| {
            ProblemResponse(Problem::new(422, "invalid", rejection.body_text()))
        };
        query
            .map(|axum::extract::Query(query)| Query(query))
            .map_err(invalid)
    }
}

/// A part of the URL's path. What is none of our names is the name of nothing.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let unknown = |rejection: axum::extract::rejection::PathRejection| {
            ProblemResponse(Problem::new(404, "unknown-job", rejection.body_text()))
        };
        path.map(|axum::extract::Path(path)| Path(path))
            .map_err(unknown)
    }
}
