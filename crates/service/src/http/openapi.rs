//! What the OpenAPI documents of the services have in common: the problems that many routes
//! share, and how a document is written. Tests of the services make the shipped files with it.

use gridrig_protocol::rest::Problem;
use utoipa::IntoResponses;
use utoipa::openapi::OpenApi;

/// A document as it is shipped, with unsigned integers under the names of the OpenAPI format
/// registry, `uint32` and `uint64`: utoipa writes `u-int32`, which no reader knows. Its
/// operations have no tags, for which utoipa takes the modules of the handlers.
///
/// # Errors
/// When it is none.
pub fn text(mut openapi: OpenApi) -> serde_json::Result<String> {
    for item in openapi.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
        ];
        for operation in operations.into_iter().flatten() {
            operation.tags = None;
        }
    }
    let text = openapi.to_json()?;
    let text = text.replace(r#""format":"u-int"#, r#""format":"uint"#);
    let openapi: OpenApi = serde_json::from_str(&text)?;
    Ok(openapi.to_pretty_json()? + "\n")
}

/// The service has too much to do, or is ending.
#[derive(IntoResponses)]
#[response(
    status = 503,
    description = "Busy, stopping, or too slow; the request may be repeated",
    content_type = "application/problem+json",
    headers(("Retry-After" = u32, description = "Seconds after which to try again"))
)]
pub struct Unavailable(pub Problem);

/// A parameter of the query is none, or out of range.
#[derive(IntoResponses)]
#[response(
    status = 422,
    description = "A parameter is invalid",
    content_type = "application/problem+json"
)]
pub struct BadQuery(pub Problem);

/// No job of this number.
#[derive(IntoResponses)]
#[response(
    status = 404,
    description = "Unknown here, or forgotten",
    content_type = "application/problem+json"
)]
pub struct UnknownJob(pub Problem);

/// Why a body was not even looked at.
#[derive(IntoResponses)]
pub enum BadBody {
    /// No JSON at all.
    #[response(
        status = 400,
        description = "No JSON",
        content_type = "application/problem+json"
    )]
    Malformed(Problem),
    /// More than a service reads.
    #[response(
        status = 413,
        description = "Too large",
        content_type = "application/problem+json"
    )]
    TooLarge(Problem),
    /// Another type of content, or none declared.
    #[response(
        status = 415,
        description = "Not declared as JSON",
        content_type = "application/problem+json"
    )]
    NotJson(Problem),
}
