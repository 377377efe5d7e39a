//! Jobs as they are submitted, shown and listed.

use super::component::{
    JobComponent, JobDivision, JobInput, JobRequirements, inputs, more_components,
};
use super::end::{JobEndReport, JobState};
use super::field::{checked, is_longer, length, length_if_any};
use super::place::{Place, PlacementReport};
use super::preferences::JobPreferences;
use super::problem::{Problem, Result};
use crate::xml::record::is_default;
use gridrig_core::agent::{self, Arrival, JobView};
use gridrig_core::ids::JobId;
use gridrig_core::job::{Components, JobSpec, StartWindow};
use gridrig_core::reservation::ReservationUse;
use gridrig_core::time::SimTime;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::sync::Arc;

/// A job that is handed over, by a client or by a broker. Only `processors`
/// and `run_time` are needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({"processors": 2, "run_time": "60s"})))]
pub struct JobSubmission {
    /// Processors wanted; of the first component, where the job has more.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub processors: u32,
    /// How long it runs on a node of speed 1.0, with unit: ns, us, ms, s, min
    /// (or m), h, d or w; a whole number of nanoseconds, at most 584 years.
    #[cfg_attr(
        feature = "openapi",
        schema(
            example = "60s",
            pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$"
        )
    )]
    pub run_time: String,
    /// The user's estimate, with unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$")
    )]
    pub requested_time: Option<String>,
    /// What its nodes must offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<JobRequirements>,
    /// Its other components, which start and end with the first, on one cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 63))]
    pub more_components: Vec<JobComponent>,
    /// The number of the only cluster that will do for the first component: for a broker
    /// whose policy places components.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<u16>,
    /// How it may be divided over several clusters, if it is one component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<JobDivision>,
    /// The job's number in the run; left out, the service gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// What its submitter calls it: by it a job is found again that came past
    /// somebody else's broker. Cut to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Idempotency key: a submission repeated under its key is answered with
    /// the first answer and never run twice. The replayer and the brokers use
    /// `RUN/ORIGIN/JOB/HOP`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub key: Option<String>,
    /// An `http://` URL to which the news of the job's end is posted. Its host
    /// is this machine's loopback, unless the service allows others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 2000, pattern = "^http://"))]
    pub notify: Option<String>,
    /// The domain of the broker that sends the job; left out by clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u16>,
    /// Forwards so far.
    #[serde(default)]
    pub hop: u32,
    /// The domain at which it entered the grid; left out, that of `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<u16>,
    /// Whether it has been forwarded as often as it may be: the broker keeps it
    /// or refuses it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// Data that goes with it when it is forwarded, in KiB.
    #[serde(default, skip_serializing_if = "is_default")]
    pub data_kib: u64,
    /// What its components read, where several clusters run them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 256))]
    pub inputs: Vec<JobInput>,
    /// The account or project that it is charged to, by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 1))]
    pub account: Option<NonZeroU32>,
    /// The program that it runs, by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 1))]
    pub executable: Option<NonZeroU32>,
    /// When it is to start: it asks for processors that are reserved for it, and is refused
    /// by a cluster that has none then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_window: Option<JobStartWindow>,
    /// What its user prefers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferences: Option<JobPreferences>,
    /// The advance reservation of an LRMS in which it is to run: it waits there, and is
    /// refused if it could not end before the reservation does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<JobReservation>,
    /// When it was meant to arrive, in nanoseconds of the run: a job that is
    /// late by the milliseconds of the wire is still decided in the broker's
    /// cycle it was meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_ns: Option<u64>,
    /// Until when the processors that it is to have are delegated to the domain of `from`, in
    /// nanoseconds of the run: then it ends as failed. Left out: as long as it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<u64>,
    /// A broker looks for the job: it is taken only if it is here under its key,
    /// or is found further on by a broker that was restarted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sought: bool,
}

/// Within which a job is to start, in nanoseconds of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobStartWindow {
    /// Not before.
    pub earliest_ns: u64,
    /// Not after.
    pub latest_ns: u64,
    /// Whether the LRMS may move the start within the window until the job has started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flexible: bool,
}

impl From<&StartWindow> for JobStartWindow {
    fn from(window: &StartWindow) -> Self {
        JobStartWindow {
            earliest_ns: window.earliest.as_nanos(),
            latest_ns: window.latest.as_nanos(),
            flexible: window.flexible,
        }
    }
}

impl JobStartWindow {
    pub(super) fn window(&self) -> Result<Box<StartWindow>> {
        if self.latest_ns < self.earliest_ns {
            let value = self.latest_ns.to_string();
            let expected = "an instant that is not before start_window.earliest_ns";
            return Err(Problem::field("start_window.latest_ns", &value, expected));
        }
        Ok(Box::new(StartWindow {
            earliest: SimTime::from_nanos(self.earliest_ns),
            latest: SimTime::from_nanos(self.latest_ns),
            flexible: self.flexible,
        }))
    }
}

/// In which reservation a job is to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobReservation {
    /// Its name.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: String,
    /// Whose job it is; not asked where the client has a certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub user: Option<String>,
}

impl JobReservation {
    /// The same for the model.
    ///
    /// # Errors
    /// A problem document that names the field.
    pub fn checked(self) -> Result<Box<ReservationUse>> {
        let user = self.user.map(|user| checked("reservation.user", user));
        Ok(Box::new(ReservationUse {
            name: checked("reservation.name", self.name)?,
            user: user.transpose()?,
        }))
    }
}

/// Longest key that is kept, in characters.
const MAX_KEY: usize = 200;
/// Longest URL that is kept, in characters.
const MAX_URL: usize = 2000;

impl JobSubmission {
    /// A job as it is handed over, by a client or by the broker that its route
    /// names.
    pub fn of(job: &Arrival) -> Self {
        let spec = &job.spec;
        let first = JobComponent::from(&spec.components.first);
        JobSubmission {
            processors: first.processors,
            run_time: spec.run_time.to_string(),
            requested_time: spec.requested_time.map(|time| time.to_string()),
            requirements: first.requirements,
            more_components: spec.components.more.iter().map(Into::into).collect(),
            cluster: first.cluster,
            division: spec.division.as_deref().map(Into::into),
            id: job.id.map(|id| id.0),
            tag: owned(&job.tag),
            key: job.key.clone(),
            notify: owned(&job.notify),
            from: job.route.and_then(|route| Some(route.from?.0)),
            hop: job.hop(),
            origin: None,
            settled: false,
            data_kib: spec.data_kib,
            inputs: spec.inputs.iter().map(Into::into).collect(),
            account: spec.account,
            executable: spec.executable,
            start_window: spec.start_window.as_deref().map(Into::into),
            preferences: spec.preferences.as_deref().map(Into::into),
            reservation: job.reservation.as_ref().map(|own| JobReservation {
                name: own.name.to_string(),
                user: owned(&own.user),
            }),
            meant_ns: job.meant.map(SimTime::as_nanos),
            until_ns: job.route.and_then(|route| Some(route.until?.as_nanos())),
            sought: job.sought,
        }
    }

    /// The same between brokers, with all that is to be known of its route.
    pub fn forwarded(job: &Arrival) -> Self {
        JobSubmission {
            origin: job.route.map(|route| route.origin.0),
            settled: job.route.is_some_and(|route| route.settled),
            ..Self::of(job)
        }
    }

    /// The job; its id is 0 where none is given.
    ///
    /// # Errors
    /// A problem document that names the field, its value and what was
    /// expected.
    pub fn spec(&self) -> Result<JobSpec> {
        self.check_texts()?;
        let first = JobComponent {
            processors: self.processors,
            requirements: self.requirements.clone(),
            cluster: self.cluster,
        };
        let components = Components {
            first: first.component("")?,
            more: more_components(self.more_components.clone())?,
        };
        let (division, preferences) = (self.division.as_ref(), self.preferences.as_ref());
        Ok(JobSpec {
            id: JobId(self.id.unwrap_or(0)),
            division: division.map(|own| own.division(&components)).transpose()?,
            inputs: inputs(&self.inputs, &components)?,
            components,
            run_time: length("run_time", &self.run_time)?,
            requested_time: length_if_any("requested_time", &self.requested_time)?,
            data_kib: self.data_kib,
            account: self.account,
            executable: self.executable,
            start_window: self.start_window.map(|own| own.window()).transpose()?,
            preferences: preferences.map(JobPreferences::preferences).transpose()?,
        })
    }

    fn check_texts(&self) -> Result<()> {
        let bad_key = |key: &&String| key.is_empty() || is_longer(key, MAX_KEY);
        if let Some(key) = self.key.as_ref().filter(bad_key) {
            return Err(Problem::field("key", key, "1 to 200 characters"));
        }
        let bad_url = |url: &&String| {
            !url.starts_with("http://") || is_longer(url, MAX_URL) || Url::parse(url).is_err()
        };
        if let Some(url) = self.notify.as_ref().filter(bad_url) {
            let expected = "an http:// URL of at most 2000 characters";
            return Err(Problem::field("notify", url, expected));
        }
        Ok(())
    }
}

/// A name of a reservation or a user.
fn owned(text: &Option<Arc<str>>) -> Option<String> {
    text.as_deref().map(str::to_owned)
}

/// The answer to a submission. A repeated submission gets the first one again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobReceipt {
    /// The job's number.
    pub id: u32,
    /// `queued`, or `refused` when a broker's job was not taken; the broker
    /// then gets the refusal as a notification.
    pub state: String,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When that was decided, in nanoseconds of the run. Ours always say so; whoever submits
    /// does not need it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub at_ns: u64,
}

/// A job as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobStatus {
    /// The job's number.
    pub id: u32,
    /// What the client of another interface calls it, such as the name in its
    /// job description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Under whose name it runs here: what the identity of the peer that sent
    /// it is mapped to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The account or project that it is charged to, by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 1))]
    pub account: Option<NonZeroU32>,
    /// The program that it runs, by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 1))]
    pub executable: Option<NonZeroU32>,
    /// When it is to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_window: Option<JobStartWindow>,
    /// Processors of all components.
    pub processors: u32,
    /// The components after the first, which has the other processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 63))]
    pub more_components: Vec<JobComponent>,
    /// Run time on a node of speed 1.0.
    pub run_time: String,
    /// The user's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_time: Option<String>,
    /// `queued`, `running`, `sent` (a broker's job that is elsewhere),
    /// `completed`, `rejected`, `cancelled` or `failed`.
    pub state: String,
    /// Why it was rejected or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it came here, in nanoseconds of the run.
    pub arrived_ns: u64,
    /// When it started, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// When it ended, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_ns: Option<u64>,
    /// The cluster it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<u16>,
    /// To whom a broker sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_to: Option<Place>,
    /// Where it runs, node by node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placement: Vec<PlacementReport>,
}

impl From<&JobView> for JobStatus {
    fn from(view: &JobView) -> Self {
        let spec = &view.spec;
        let mut status = JobStatus {
            id: spec.id.0,
            tag: owned(&view.tag),
            identity: owned(&view.identity),
            account: spec.account,
            executable: spec.executable,
            start_window: spec.start_window.as_deref().map(Into::into),
            processors: spec.processors(),
            more_components: spec.components.more.iter().map(Into::into).collect(),
            run_time: spec.run_time.to_string(),
            requested_time: spec.requested_time.map(|time| time.to_string()),
            arrived_ns: view.arrived.as_nanos(),
            ..JobStatus::default()
        };
        let state = match &view.state {
            agent::JobState::Queued { .. } => JobState::Queued,
            agent::JobState::Running { start, placement } => {
                status.start_ns = Some(start.as_nanos());
                status.placement = placement.iter().map(Into::into).collect();
                JobState::Running
            }
            agent::JobState::Sent { to } => {
                status.sent_to = Some((*to).into());
                JobState::Sent
            }
            agent::JobState::Ended(end) => {
                let end = JobEndReport::from(end);
                (status.reason, status.cluster) = (end.reason, end.cluster);
                (status.start_ns, status.finish_ns) = (end.start_ns, end.finish_ns);
                end.state
            }
        };
        status.state = state.name().to_owned();
        status
    }
}

impl JobStatus {
    /// Whether the job is over.
    pub fn is_over(&self) -> bool {
        JobState::from_name(&self.state).is_some_and(JobState::is_end)
    }
}

/// Some of the jobs of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobList {
    /// Jobs by number.
    pub jobs: Vec<JobStatus>,
    /// What to give as `after` for the following ones; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

#[cfg(test)]
mod tests;
