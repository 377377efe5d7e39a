//! Where jobs stand, as clients may see them.

use super::answer::Fault;
use super::state::RestState;
use super::store::{Job, Stage};
use super::{Call, Face};
use gridrig_core::agent::{JobHolder as _, JobState, JobView, LrmsAgent};
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::Driven;
use std::collections::BTreeMap;

/// Where a job stands at the instant of the request.
pub(super) struct Look {
    pub(super) state: RestState,
    /// What the LRMS says; `None` where it has not had the job.
    pub(super) view: Option<JobView>,
}

impl Look {
    /// How the LRMS has ended it, if it has.
    pub(super) fn end(&self) -> Option<&JobEnd> {
        match &self.view.as_ref()?.state {
            JobState::Ended(end) => Some(end),
            _ => None,
        }
    }
}

/// What is known of a job on this side of the LRMS: besides its stage, when it came and
/// when its removal was asked for.
type Standing = (Stage, SimTime, Option<SimTime>);

fn state(of: &Standing, view: Option<&JobView>, now: SimTime, step: SimDuration) -> RestState {
    let (stage, arrived, asked) = of;
    let (state, killed) = match *stage {
        Stage::Uploading { .. } if now < *arrived + step => (RestState::Accepted, None),
        Stage::Uploading { .. } => (RestState::Preparing, None),
        Stage::Entering { until, held } => (RestState::before(until, held, now, step), None),
        Stage::Submitting => (RestState::Submitting, None),
        Stage::InLrms(_) => (RestState::of(view, now, step), *asked),
        Stage::Failed { .. } => (RestState::Failed, None),
        Stage::Killed { at } => (RestState::Killed, Some(at)),
    };
    match (state, killed) {
        (RestState::Killed | RestState::Other, Some(at)) if now < at + step => RestState::Killing,
        (RestState::Other, Some(_)) => RestState::Killed,
        (state, _) => state,
    }
}

/// Where these jobs stand. Those that are no more, or that were to be
/// forgotten and have ended, are left out.
pub(super) async fn look_at(face: &Face, numbers: &[u64]) -> Result<BTreeMap<u64, Look>, Fault> {
    let stages: Vec<(u64, Standing)> = {
        let mut store = face.store();
        store.give_up(face.app.config.clock.now());
        let stage = |number: &u64| {
            let job = store.jobs.get(number)?;
            Some((*number, (job.stage.clone(), job.arrived, job.killed)))
        };
        numbers.iter().filter_map(stage).collect()
    };
    let step = face.step();
    let view = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| {
        let look = |(number, job): (u64, Standing)| {
            let view = match job.0 {
                Stage::InLrms(job) => lrms.view(job),
                _ => None,
            };
            let state = state(&job, view.as_ref(), now, step);
            (number, Look { state, view })
        };
        stages.into_iter().map(look).collect::<BTreeMap<_, _>>()
    };
    let mut looks = face.app.actor.call(view).await?;
    let mut store = face.store();
    looks.retain(|number, look| match store.jobs.get(number) {
        Some(job) if job.wipe && look.state.is_end() => {
            store.forget(*number);
            false
        }
        found => found.is_some(),
    });
    Ok(looks)
}

/// The number of a job that whoever asks may know of.
pub(super) fn find(face: &Face, viewer: Option<&str>, id: &str) -> Option<u64> {
    let number = face.number(id)?;
    let store = face.store();
    let job = store.jobs.get(&number)?;
    job.is_visible(viewer).then_some(number)
}

/// The job that a client names, as it stands.
pub(super) async fn look_at_one(face: &Face, call: &Call, id: &str) -> Result<(u64, Look), Fault> {
    let number = find(face, call.viewer.as_deref(), id).ok_or_else(Fault::no_job)?;
    let look = look_at(face, &[number]).await?.remove(&number);
    Ok((number, look.ok_or_else(Fault::no_job)?))
}

/// What went wrong with a job, if something did.
pub(super) fn problem(job: &Job, look: &Look) -> Option<String> {
    let cancelled = "Job is canceled by external request";
    match (&job.stage, look.end().map(|end| end.state)) {
        (Stage::Failed { reason, .. }, _) => Some(reason.clone()),
        (Stage::Killed { .. }, None) | (_, Some(EndState::Cancelled)) => Some(cancelled.to_owned()),
        (_, Some(EndState::Rejected(reason))) => Some(refusal(reason)),
        (_, Some(EndState::Failed(reason))) => {
            Some(format!("the LRMS lost the job: {}", reason.name()))
        }
        (_, Some(EndState::Completed) | None) => None,
    }
}

fn refusal(reason: Reason) -> String {
    let why = match reason {
        Reason::NeverFits => "no set of its nodes could ever hold it",
        Reason::QueueFull => "its queue has reached its bound",
        _ => "it was turned away",
    };
    format!("LRMS error: the job was refused ({}): {why}", reason.name())
}
