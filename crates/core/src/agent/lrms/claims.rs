//! Parts of jobs that several clusters run together, over links that may fail.

use super::{Claimed, JobNews, LrmsAgent};
use crate::agent::{Cx, Handle};
use crate::conversation::{Asked, ClaimStep, FromLrms};
use crate::envelope::{Received, Undelivered};
use crate::ids::JobId;
use crate::time::{SimDuration, SimTime};

/// The broker says something of processors for a part of a job. A message counts once, and a
/// request that a later one has overtaken, or that comes when nobody waits for it any more,
/// does not. The answer is whether the message is new, and of a start whether the part
/// begins.
impl Handle<Received<(Asked, ClaimStep)>> for LrmsAgent {
    type Answer = (bool, Result<(), Undelivered>);

    fn handle(
        &mut self,
        cx: &mut impl Cx<FromLrms>,
        heard: Received<(Asked, ClaimStep)>,
    ) -> Self::Answer {
        self.catch_up(cx);
        let (asked, step) = heard.said;
        let new = self.notes.store.hear(heard.from.into(), heard.id);
        match step {
            ClaimStep::Hold { timeout, .. } | ClaimStep::Reserve { timeout, .. } => {
                let before = self.notes.parts.get(&asked.job).map(|(at, _)| *at);
                let is_old = before.is_some_and(|before| before >= asked.at);
                if !new || is_old || asked.at + timeout < self.notes.now {
                    return (new, Ok(()));
                }
                self.forget_parts(timeout);
                let mut arrival = None;
                let step = step.with_job(|job| {
                    arrival = Some(job);
                    Some(())
                });
                let spec = arrival.as_ref().map(|arrival| arrival.spec.clone());
                self.notes.parts.insert(asked.job, (asked.at, arrival));
                if let Some(step) = step.and_then(|step| step.with_job(|()| spec.as_ref())) {
                    self.inside(cx, Claimed { asked, step });
                }
                (new, Ok(()))
            }
            ClaimStep::Begin { at, length, leads } => {
                if new {
                    self.begin(cx, asked, (at, length, leads));
                }
                let begins = self.cluster().begins(asked);
                (new, begins.then_some(()).ok_or(Undelivered::Declined(None)))
            }
            ClaimStep::Release => {
                let latest = self.notes.parts.entry(asked.job).or_default();
                if latest.0 <= asked.at {
                    *latest = (asked.at, None);
                }
                let step = ClaimStep::Release;
                self.inside(cx, Claimed { asked, step });
                (new, Ok(()))
            }
        }
    }
}

impl LrmsAgent {
    /// A job comes as a whole: what is reserved here for it is not wanted any more, though that
    /// may not have been heard yet.
    pub(super) fn forget_part_of(&mut self, cx: &mut impl Cx<FromLrms>, job: JobId) {
        if self.cluster().is_silent(job)
            && let Some((at, arrival)) = self.notes.parts.get_mut(&job)
        {
            *arrival = None;
            let (asked, step) = (Asked { job, at: *at }, ClaimStep::Release);
            self.inside(cx, Claimed { asked, step });
        }
    }

    /// A part begins, if it is held still. The job is known here from then on, if it is this
    /// LRMS that tells of it.
    fn begin(
        &mut self,
        cx: &mut impl Cx<FromLrms>,
        asked: Asked,
        (at, length, leads): (SimTime, SimDuration, bool),
    ) {
        let step = ClaimStep::Begin { at, length, leads };
        self.inside(cx, Claimed { asked, step });
        // Something more that was asked for, and refused, does not matter.
        let begins = leads && self.cluster().begins(asked);
        let part = self.notes.parts.get_mut(&asked.job).filter(|_| begins);
        if let Some(arrival) = part.and_then(|(_, arrival)| arrival.take()) {
            let at = self.notes.now;
            let spec = self.notes.store.enter(*arrival, asked.job, at);
            self.notes.tell(|| JobNews::Queued { spec, at });
        }
    }

    /// Nothing that is under way is about the parts that are gone for so long.
    fn forget_parts(&mut self, timeout: SimDuration) {
        let (now, cluster) = (self.notes.now, self.lrms.cluster());
        let parts = &mut self.notes.parts;
        parts.retain(|job, (at, _)| *at + timeout >= now || cluster.query(*job).is_some());
    }
}
