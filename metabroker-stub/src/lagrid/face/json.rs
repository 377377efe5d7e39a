//! JSON: a route for each operation, problem documents for what goes wrong.

use super::caller::From;
use axum::body::Bytes;
use axum::extract::{Request as HttpRequest, State};
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use gridrig_protocol::lagrid::wire::{self, Way};
use gridrig_protocol::lagrid::{Exchange, Handler, Message as _, Operation, Request};
use gridrig_protocol::rest::{Problem, Result};
use gridrig_service::http::{ProblemResponse, json_bytes};
use std::sync::Arc;

/// A document in JSON.
struct Json(Bytes);

impl Exchange for Json {
    type Written = Vec<u8>;

    fn read<R: Request>(&self) -> Result<R> {
        R::from_json(&self.0)
    }

    fn write<R: Request>(&self, answer: &R::Answer) -> Vec<u8> {
        answer.to_json()
    }
}

pub(super) async fn serve<H: Handler>(
    operation: Operation,
    State(handler): State<Arc<H>>,
    From(caller): From,
    request: HttpRequest,
) -> Response {
    let answer = match json_bytes(request).await {
        Ok(body) => {
            wire::log(Way::RequestIn, operation, || readable(&body));
            operation.serve(&*handler, &caller, &Json(body)).await
        }
        Err(problem) => Err(problem),
    };
    wire::log(Way::AnswerOut, operation, || match &answer {
        Ok(text) => readable(text),
        Err(problem) => format!("fault {}: {}", problem.code, problem.detail),
    });
    match answer {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(problem) => refuse(problem),
    }
}

fn readable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn refuse(problem: Problem) -> Response {
    let mut response = ProblemResponse(problem).into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        // RFC 9110, section 11.6.1: a 401 says how.
        let challenge = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}
