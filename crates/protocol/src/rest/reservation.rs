//! Advance reservations that are made without a job.

use super::component::{JobComponent, JobRequirements};
use super::field::{checked, length, length_if_any};
use super::job::JobStartWindow;
use super::problem::{Problem, Result};
use gridrig_core::job::Reason;
use gridrig_core::reservation::{
    AdvanceReservation, Forbidden, ReservationRefusal, ReservationView,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Most users of a reservation.
const MOST_USERS: usize = 1000;

/// Processors that are to be reserved for jobs to come.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "processors": 4, "duration": "1h",
    "start_window": {"earliest_ns": 3_600_000_000_000_u64, "latest_ns": 7_200_000_000_000_u64}
})))]
pub struct ReservationRequest {
    /// How many processors.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub processors: u32,
    /// What their nodes must offer; jobs in the reservation ask for the same.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "by_name"
    )]
    pub requirements: Option<JobRequirements>,
    /// For how long, whatever their speed.
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$")
    )]
    pub duration: String,
    /// Within which it is to start; if flexible, the LRMS may move its start until it has
    /// started.
    pub start_window: JobStartWindow,
    /// Who may use, change and cancel it. Left out: everybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub users: Vec<String>,
    /// It is given back if it is not confirmed for so long. Left out: nobody has to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$")
    )]
    pub confirm_within: Option<String>,
}

/// Fields by their names: a list of their values would do for a struct.
fn by_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<JobRequirements>, D::Error> {
    let fields = Option::<serde_json::Map<_, _>>::deserialize(from)?;
    let read = fields.map(|fields| serde_json::from_value(fields.into()));
    read.transpose().map_err(D::Error::custom)
}

impl ReservationRequest {
    /// The same for the model, under a name.
    ///
    /// # Errors
    /// A problem document that names the field, its value and what was expected.
    pub fn wanted(&self, name: String) -> Result<AdvanceReservation> {
        let component = JobComponent {
            processors: self.processors,
            requirements: self.requirements.clone(),
            cluster: None,
        };
        let component = component.component("")?;
        if self.users.len() > MOST_USERS {
            let count = self.users.len().to_string();
            return Err(Problem::field("users", &count, "at most 1000 of them"));
        }
        let users = self.users.iter().cloned();
        let users = users.map(|user| checked("users", user));
        let duration = length("duration", &self.duration)?;
        if duration.is_zero() {
            return Err(Problem::field("duration", &self.duration, "more than 0"));
        }
        Ok(AdvanceReservation {
            name: checked("name", name)?,
            processors: component.processors,
            requirements: component.requirements,
            duration,
            window: *self.start_window.window()?,
            users: users.collect::<Result<_, _>>()?,
            confirm_within: length_if_any("confirm_within", &self.confirm_within)?,
        })
    }
}

/// Who says so.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ReservationUser {
    /// Who makes, confirms or cancels it: has to be one of its users, if it has any. Not
    /// asked where the client has a certificate.
    pub user: Option<String>,
}

/// Which page of reservations is wanted.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ReservationAfter {
    /// Those with names after this one.
    pub after: Option<String>,
}

/// What has become of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReservationState {
    /// It is kept until it has to be confirmed.
    Temporary,
    /// It is kept.
    Confirmed,
    /// It has begun.
    Begun,
}

/// How a reservation stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReservationStatus {
    /// What it is called.
    pub name: String,
    /// Whether it is kept.
    pub state: ReservationState,
    /// How many processors.
    pub processors: u32,
    /// From when on, in nanoseconds of the run.
    pub start_ns: u64,
    /// Until when.
    pub end_ns: u64,
    /// Within which it may start.
    pub start_window: JobStartWindow,
    /// Who may use it; nobody named: everybody.
    pub users: Vec<String>,
    /// How many of the processors no job in it has.
    pub free: u32,
    /// The numbers of the jobs that wait in it, in their order.
    pub waiting: Vec<u32>,
    /// The numbers of the jobs that run in it.
    pub running: Vec<u32>,
}

impl From<&ReservationView> for ReservationStatus {
    fn from(view: &ReservationView) -> Self {
        let wanted = &view.wanted;
        let numbers = |jobs: &[gridrig_core::ids::JobId]| jobs.iter().map(|job| job.0).collect();
        ReservationStatus {
            name: wanted.name.to_string(),
            state: match (view.begun, view.confirmed) {
                (true, _) => ReservationState::Begun,
                (false, true) => ReservationState::Confirmed,
                (false, false) => ReservationState::Temporary,
            },
            processors: wanted.processors,
            start_ns: view.start.as_nanos(),
            end_ns: view.end.as_nanos(),
            start_window: (&wanted.window).into(),
            users: wanted.users.iter().map(ToString::to_string).collect(),
            free: view.free.iter().map(|share| share.processors).sum(),
            waiting: numbers(&view.waiting),
            running: numbers(&view.running),
        }
    }
}

/// The reservations of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReservationList {
    /// By name.
    pub reservations: Vec<ReservationStatus>,
}

impl Problem {
    /// A reservation that is not made or changed.
    pub fn not_reserved(refusal: ReservationRefusal) -> Self {
        let (status, code) = match refusal {
            ReservationRefusal::NotHere => (404, "unknown-reservation"),
            ReservationRefusal::NotYours => (403, "not-yours"),
            ReservationRefusal::InUse => (409, "in-use"),
            ReservationRefusal::NotBefore(_) => (409, "not-before"),
            ReservationRefusal::Forbidden(Forbidden::TooWide { .. }) => {
                (422, Reason::NeverFits.name())
            }
            ReservationRefusal::Forbidden(_) => (422, Reason::NotReserved.name()),
            ReservationRefusal::Never(Reason::QueueFull) => (503, "queue-full"),
            ReservationRefusal::Never(reason) => (422, reason.name()),
        };
        let detail = match refusal {
            ReservationRefusal::Forbidden(what) => forbidden(what),
            _ => refusal.to_string(),
        };
        let mut problem = Problem::new(status, code, detail);
        if let ReservationRefusal::NotBefore(start) = refusal {
            problem.not_before_ns = Some(start.as_nanos());
        }
        problem
    }
}

/// What a cluster never reserves, by its field.
fn forbidden(what: Forbidden) -> String {
    let (field, value, expected) = match what {
        Forbidden::Any => return "this cluster makes no reservations".to_owned(),
        Forbidden::TooWide { processors, most } => {
            let expected = format!("at most {most}, as many as suitable nodes here have");
            ("processors", processors.to_string(), expected)
        }
        Forbidden::Generic => {
            return "field requirements.generic: expected none in a reservation".to_owned();
        }
        Forbidden::Past { latest, now } => {
            let expected = format!("not before the present, {}", now.as_nanos());
            let latest = latest.as_nanos().to_string();
            ("start_window.latest_ns", latest, expected)
        }
        Forbidden::TooLong { length, longest } => {
            let expected = format!("at most {longest}, the longest that is granted here");
            ("duration", length.to_string(), expected)
        }
        Forbidden::TooFar { earliest, last } => {
            let last = last.as_nanos();
            let expected = format!("at most {last}, as far ahead as is granted here");
            let earliest = earliest.as_nanos().to_string();
            ("start_window.earliest_ns", earliest, expected)
        }
        Forbidden::Endless { latest, last } => {
            let last = last.as_nanos();
            let expected = format!("at most {last}, with which it ends before the end of time");
            let latest = latest.as_nanos().to_string();
            ("start_window.latest_ns", latest, expected)
        }
    };
    Problem::field(field, &value, &expected).detail
}
