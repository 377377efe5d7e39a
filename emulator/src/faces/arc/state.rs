//! ARC's names for where a job stands.

use gridrig_core::agent::{JobState, JobView};
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::time::{SimDuration, SimTime};

/// A state of ARC REST 1.0. The steps between them take no time here unless
/// the face is set up so that they do ([`Setup::step`](super::Setup::step)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub(super) enum RestState {
    /// Just created, as the answer to its creation says.
    Accepting,
    /// Known, and waiting for its turn.
    Accepted,
    /// Its files are being fetched, or waited for.
    Preparing,
    /// Waits to be handed to the LRMS.
    Prepared,
    /// On its way into the LRMS.
    Submitting,
    /// Waits in the LRMS.
    Queuing,
    /// In the LRMS, which holds it.
    Held,
    /// On processors.
    Running,
    /// Is leaving the processors.
    ExitingLrms,
    /// The LRMS says of it what ARC has no word for: it has ended there, and
    /// not well.
    Other,
    /// Has run, and waits for its outputs to be put away.
    Executed,
    /// Its outputs are being put away.
    Finishing,
    /// Ran to its end.
    Finished,
    /// Did not.
    Failed,
    /// Is being removed on request.
    Killing,
    /// Was removed on request.
    Killed,
    /// The LRMS has forgotten it; its id is all that is left.
    Wiped,
}

impl RestState {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    /// The state in the words of EMI-ES (2.0, section 4.3), which ARC gives
    /// beside its own.
    pub(super) const fn emies(self) -> &'static [&'static str] {
        match self {
            RestState::Accepting | RestState::Accepted => &["emies:accepted"],
            RestState::Preparing => &["emies:preprocessing", "emiesattr:client-stagein-possible"],
            RestState::Prepared => &["emies:preprocessing"],
            RestState::Submitting => &["emies:processing-accepting"],
            RestState::Queuing | RestState::Held => &["emies:processing-queued"],
            RestState::Running => &["emies:processing-running", "emiesattr:app-running"],
            RestState::ExitingLrms | RestState::Other | RestState::Killing => &["emies:processing"],
            RestState::Executed => &["emies:processing", "emiesattr:app-stopped"],
            RestState::Finishing => &["emies:postprocessing"],
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

    /// On the way into the LRMS, which takes four steps; the last part of the
    /// way it is held there.
    pub(super) fn before(
        until: SimTime,
        held: SimDuration,
        now: SimTime,
        step: SimDuration,
    ) -> Self {
        let left = until.since(now).as_nanos();
        if left <= held.as_nanos() && !held.is_zero() {
            return RestState::Held;
        }
        match (left - held.as_nanos()).div_ceil(step.as_nanos().max(1)) {
            0 | 1 => RestState::Submitting,
            2 => RestState::Prepared,
            3 => RestState::Preparing,
            _ => RestState::Accepted,
        }
    }

    /// Where the LRMS says that a job stands; out of it, a job that has run
    /// takes three steps.
    pub(super) fn of(view: Option<&JobView>, now: SimTime, step: SimDuration) -> Self {
        match view.map(|view| &view.state) {
            None => RestState::Wiped,
            Some(JobState::Queued { .. } | JobState::Sent { .. }) => RestState::Queuing,
            Some(JobState::Running { .. }) => RestState::Running,
            Some(JobState::Ended(end)) => Self::after(end, now, step),
        }
    }

    fn after(end: &JobEnd, now: SimTime, step: SimDuration) -> Self {
        let (leaving, state) = match end.state {
            EndState::Completed => (RestState::ExitingLrms, RestState::Finished),
            EndState::Cancelled => (RestState::Other, RestState::Killed),
            EndState::Rejected(_) | EndState::Failed(_) => (RestState::Other, RestState::Failed),
        };
        let (Some(_), Some(finish)) = (end.start, end.finish) else {
            return state;
        };
        match now.since(finish).as_nanos().checked_div(step.as_nanos()) {
            Some(0) => leaving,
            Some(1) if state != RestState::Killed => RestState::Executed,
            Some(2) if state != RestState::Killed => RestState::Finishing,
            _ => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::ids::JobId;

    const STEP: SimDuration = SimDuration::from_secs(2);

    #[test]
    fn four_steps_lead_into_the_lrms() {
        let until = SimTime::from_secs(8);
        let at = |now| {
            let now = SimTime::from_secs(now);
            RestState::before(until, SimDuration::ZERO, now, STEP).name()
        };
        let seen = [0, 1, 2, 4, 5, 6, 7, 8, 9].map(at);
        let into = "ACCEPTED ACCEPTED PREPARING PREPARED PREPARED SUBMITTING SUBMITTING \
                    SUBMITTING SUBMITTING";
        assert_eq!(seen.join(" "), into);
    }

    #[test]
    fn a_job_that_is_held_is_so_after_the_steps() {
        let held = SimDuration::from_secs(5);
        let until = SimTime::from_secs(13);
        let at = |now, step| RestState::before(until, held, SimTime::from_secs(now), step).name();
        let seen = [0, 7, 8, 12].map(|now| at(now, STEP));
        assert_eq!(seen, ["ACCEPTED", "SUBMITTING", "HELD", "HELD"]);
        assert_eq!(
            at(8, SimDuration::ZERO),
            "HELD",
            "also where steps are none"
        );
    }

    #[test]
    fn three_steps_lead_out_of_it_unless_the_job_never_ran() {
        let end = |state, start| JobEnd {
            job: JobId(0),
            state,
            cluster: None,
            start,
            finish: Some(SimTime::from_secs(10)),
        };
        let at = |now, end| RestState::after(&end, SimTime::from_secs(now), STEP).name();
        let ran = Some(SimTime::from_secs(1));
        let seen = [10, 12, 14, 16].map(|now| at(now, end(EndState::Completed, ran)));
        assert_eq!(seen, ["EXITINGLRMS", "EXECUTED", "FINISHING", "FINISHED"]);
        let seen = [10, 12, 14].map(|now| at(now, end(EndState::Cancelled, ran)));
        assert_eq!(seen, ["OTHER", "KILLED", "KILLED"]);
        let lost = EndState::Failed(gridrig_core::job::Reason::LrmsFailed);
        let seen = [10, 12, 14, 16].map(|now| at(now, end(lost, ran)));
        assert_eq!(seen, ["OTHER", "EXECUTED", "FINISHING", "FAILED"]);
        let refused = EndState::Rejected(gridrig_core::job::Reason::NeverFits);
        assert_eq!(at(10, end(refused, None)), "FAILED");
        let now = SimTime::from_secs(10);
        let none = RestState::after(&end(EndState::Completed, ran), now, SimDuration::ZERO);
        assert_eq!(
            none,
            RestState::Finished,
            "steps that take no time are not seen"
        );
    }
}
