//! ARC's names for where a job stands.

use gridrig_core::message::EndState;
use gridrig_drivers::real_time::{JobState, JobView};

/// A state of ARC REST 1.0. A-REX passes through more of them than are met
/// here, since an emulated job's steps between them take no time: `ACCEPTED`,
/// `PREPARED`, `SUBMITTING`, `EXITINGLRMS`, `OTHER`, `EXECUTED`, `FINISHING`
/// and `KILLING`; `HELD` needs an LRMS that holds jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestState {
    /// Just created, as the answer to its creation says.
    Accepting,
    /// Waits for the files that its client uploads.
    Preparing,
    /// On its way into the LRMS.
    Submitting,
    /// Waits in the LRMS.
    Queuing,
    /// On processors.
    Running,
    /// Ran to its end.
    Finished,
    /// Did not.
    Failed,
    /// Was removed on request.
    Killed,
    /// The LRMS has forgotten it; its id is all that is left.
    Wiped,
}

impl RestState {
    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            RestState::Accepting => "ACCEPTING",
            RestState::Preparing => "PREPARING",
            RestState::Submitting => "SUBMITTING",
            RestState::Queuing => "QUEUING",
            RestState::Running => "RUNNING",
            RestState::Finished => "FINISHED",
            RestState::Failed => "FAILED",
            RestState::Killed => "KILLED",
            RestState::Wiped => "WIPED",
        }
    }

    /// The state in the words of EMI-ES (2.0, section 4.3), which ARC gives
    /// beside its own.
    pub(super) const fn emies(self) -> &'static [&'static str] {
        match self {
            RestState::Accepting => &["emies:accepted"],
            RestState::Preparing => &["emies:preprocessing", "emiesattr:client-stagein-possible"],
            RestState::Submitting => &["emies:processing-accepting"],
            RestState::Queuing => &["emies:processing-queued"],
            RestState::Running => &["emies:processing-running", "emiesattr:app-running"],
            RestState::Finished => &["emies:terminal", "emiesattr:client-stageout-possible"],
            RestState::Failed => &["emies:terminal", "emiesattr:processing-failure"],
            RestState::Killed => &["emies:terminal", "emiesattr:processing-cancel"],
            RestState::Wiped => &["emies:terminal", "emiesattr:expired"],
        }
    }

    /// Whether nothing more happens to the job by itself.
    pub(super) const fn is_end(self) -> bool {
        matches!(
            self,
            RestState::Finished | RestState::Failed | RestState::Killed | RestState::Wiped
        )
    }

    /// Where the LRMS says that a job stands.
    pub(super) fn of(view: Option<&JobView>) -> Self {
        match view.map(|view| &view.state) {
            None => RestState::Wiped,
            Some(JobState::Queued { .. } | JobState::Sent { .. }) => RestState::Queuing,
            Some(JobState::Running { .. }) => RestState::Running,
            Some(JobState::Ended(end)) => match end.state {
                EndState::Completed => RestState::Finished,
                EndState::Cancelled => RestState::Killed,
                EndState::Rejected(_) | EndState::Failed(_) => RestState::Failed,
            },
        }
    }
}
