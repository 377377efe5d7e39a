//! Activities and the jobs that they are.

use super::Face;
use gridrig_core::agent::{JobState, JobView};
use gridrig_core::ids::JobId;
use gridrig_core::message::EndState;
use gridrig_protocol::bes::{ActivityState, BesFault};
use gridrig_protocol::soap::EndpointReference;
use gridrig_protocol::xml::excerpt;

/// GridWay's driver asks again, after it has been restarted, only for
/// activities whose name begins so.
const PREFIX: &str = "urn:gridsam:";

impl Face {
    /// The reference of the activity that a job is.
    pub(super) fn reference(&self, address: &str, job: JobId) -> EndpointReference {
        let id = format!("{PREFIX}{}-{}", self.life, job.0);
        EndpointReference::of_activity(address, &id)
    }

    /// The job that a reference names. Its address is not looked at: clients
    /// write there what they connect to.
    pub(super) fn job(&self, reference: &EndpointReference) -> Result<JobId, BesFault> {
        let Some(id) = reference.activity() else {
            let message = "the endpoint reference names no activity: expected an element ID \
                           among its ReferenceParameters";
            return Err(BesFault::unknown_activity(message));
        };
        let number = id
            .strip_prefix(PREFIX)
            .and_then(|id| id.rsplit_once('-'))
            .filter(|(life, _)| *life == self.life)
            .and_then(|(_, text)| Some((text, text.parse::<u32>().ok()?)))
            .filter(|(text, number)| number.to_string() == *text);
        number
            .map(|(_, number)| JobId(number))
            .ok_or_else(|| unknown(&id))
    }
}

/// The fault about an activity that is not, or no longer, known.
pub(super) fn unknown(id: &str) -> BesFault {
    BesFault::unknown_activity(format!("no activity {} is known here", excerpt(id)))
}

/// Where an activity stands.
pub(super) fn state(view: &JobView) -> ActivityState {
    match &view.state {
        JobState::Queued { .. } => ActivityState::Pending,
        // A cluster sends no jobs on; one that did would run them elsewhere.
        JobState::Running { .. } | JobState::Sent { .. } => ActivityState::Running,
        JobState::Ended(end) => match end.state {
            EndState::Completed => ActivityState::Finished,
            EndState::Cancelled => ActivityState::Terminated,
            EndState::Rejected(_) | EndState::Failed(_) => ActivityState::Failed,
        },
    }
}
