//! The queries that every service understands.

use super::MAX_WAIT;
use gridrig_protocol::rest::{Problem, Result};
use serde::Deserialize;
use std::time::Duration;

/// Which jobs are to be listed.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ListQuery {
    /// Only jobs with a number above this one.
    #[cfg_attr(feature = "openapi", param(minimum = 0, maximum = 4_294_967_295_u32))]
    pub after: Option<u32>,
    /// At most so many, 100 unless said otherwise.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
    /// Only jobs in this state; a page may then hold fewer than `limit`.
    pub state: Option<String>,
}

impl ListQuery {
    /// How many jobs a page has.
    ///
    /// # Errors
    /// A problem document when `limit` is out of range.
    pub fn limit(&self) -> Result<usize> {
        page(self.limit, 100, 1000)
    }
}

/// Which ends are to be given.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct EndsQuery {
    /// Position from which on; 0 is the first end of all.
    #[serde(default)]
    #[cfg_attr(
        feature = "openapi",
        param(minimum = 0, maximum = 18_446_744_073_709_551_615_u64)
    )]
    pub after: u64,
    /// Wait so many milliseconds for a first one. 256 requests may wait at a time; while
    /// there are as many, a further one is answered at once, with 503 `busy` if there is
    /// no end yet.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", param(minimum = 0, maximum = 30_000))]
    pub wait_ms: u64,
}

impl EndsQuery {
    /// How long to wait for a first end.
    ///
    /// # Errors
    /// A problem document when the wait is too long.
    pub fn wait(&self) -> Result<Duration> {
        let wait = Duration::from_millis(self.wait_ms);
        let too_long = || Problem::field("wait_ms", &self.wait_ms.to_string(), "at most 30000");
        Some(wait)
            .filter(|wait| *wait <= MAX_WAIT)
            .ok_or_else(too_long)
    }
}

/// Ends on one page.
pub const ENDS_PAGE: usize = 1000;

/// Which peer has a job cancelled that it has forwarded.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct CancelQuery {
    /// Its domain; left out by clients.
    pub from: Option<u16>,
}

/// Which events are to be given.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct EventsQuery {
    /// Position from which on; 0 is the first event of all.
    #[serde(default)]
    #[cfg_attr(
        feature = "openapi",
        param(minimum = 0, maximum = 18_446_744_073_709_551_615_u64)
    )]
    pub after: u64,
    /// At most so many, 1000 unless said otherwise.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 10_000))]
    pub limit: Option<usize>,
}

impl EventsQuery {
    /// How many events a page has.
    ///
    /// # Errors
    /// A problem document when `limit` is out of range.
    pub fn limit(&self) -> Result<usize> {
        page(self.limit, 1000, 10_000)
    }
}

/// How far resources are aggregated.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ResourcesQuery {
    /// `flat`, `unique`, `one-to-n` or `n-to-n`; unless given, each relation
    /// is kept as the broker's schema says.
    #[cfg_attr(
        feature = "openapi",
        param(pattern = "^(flat|unique|one-to-n|n-to-n)$")
    )]
    pub form: Option<String>,
}

fn page(limit: Option<usize>, usual: usize, most: usize) -> Result<usize> {
    let limit = limit.unwrap_or(usual);
    match (1..=most).contains(&limit) {
        true => Ok(limit),
        false => {
            let expected = format!("1 to {most}");
            Err(Problem::field("limit", &limit.to_string(), &expected))
        }
    }
}
