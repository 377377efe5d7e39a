//! The problems that many routes share, as the OpenAPI documents name them.

use gridrig_protocol::rest::Problem;
use utoipa::IntoResponses;

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
