//! JSON: a route for each operation, problem documents for what goes wrong.

use super::caller::From;
use axum::extract::{Request as HttpRequest, State};
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use gridrig_protocol::lagrid::wire::{self, Way};
use gridrig_protocol::lagrid::{Answers, Message as _, Request};
use gridrig_protocol::rest::Problem;
use gridrig_service::http::{ProblemResponse, json_bytes};
use std::sync::Arc;

pub(super) async fn serve<H: Answers<R>, R: Request>(
    State(handler): State<Arc<H>>,
    From(caller): From,
    request: HttpRequest,
) -> Response {
    let read = read::<R>(request).await;
    let answer = match read {
        Ok(request) => handler.answer(&caller, request).await,
        Err(problem) => Err(problem),
    };
    match answer {
        Ok(answer) => {
            let text = answer.to_json();
            wire::log(Way::AnswerOut, R::OPERATION, || readable(&text));
            ([(CONTENT_TYPE, "application/json")], text).into_response()
        }
        Err(problem) => {
            let said = || format!("fault {}: {}", problem.code, problem.detail);
            wire::log(Way::AnswerOut, R::OPERATION, said);
            refuse(problem)
        }
    }
}

fn readable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

async fn read<R: Request>(request: HttpRequest) -> Result<R, Problem> {
    let body = json_bytes(request).await?;
    wire::log(Way::RequestIn, R::OPERATION, || readable(&body));
    R::from_json(&body)
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
