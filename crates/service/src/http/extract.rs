//! Extractors that answer with problem documents.

use super::ProblemResponse;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use gridrig_protocol::rest::Problem;
use serde::de::DeserializeOwned;

/// A JSON body.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ProblemResponse;

    async fn from_request(request: Request, state: &S) -> Result<Self, ProblemResponse> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Body(body)),
            Err(rejection) => Err(of_json(&rejection).into()),
        }
    }
}

fn of_json(rejection: &JsonRejection) -> Problem {
    let detail = rejection.body_text();
    match rejection {
        JsonRejection::JsonSyntaxError(_) => Problem::new(400, "malformed", detail),
        JsonRejection::JsonDataError(_) => Problem::new(422, "invalid", detail),
        JsonRejection::MissingJsonContentType(_) => {
            let detail = "header Content-Type: expected application/json";
            Problem::new(415, "unsupported-media-type", detail)
        }
        other => match other.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Problem::new(413, "too-large", detail),
            status => Problem::new(status.as_u16(), "unreadable", detail),
        },
    }
}

/// The query of a URL.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemResponse> {
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

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemResponse> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let unknown = |rejection: axum::extract::rejection::PathRejection| {
            ProblemResponse(Problem::new(404, "unknown-job", rejection.body_text()))
        };
        path.map(|axum::extract::Path(path)| Path(path))
            .map_err(unknown)
    }
}
