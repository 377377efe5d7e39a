//! All clusters hold their parts of a job, and it begins.

use super::{Around, CoAllocate, Late, Placed, say};
use crate::agent::{Asked, ClaimStep};
use crate::broker::{Broker, Held};
use crate::event::{Event, EventKind};
use crate::ids::JobId;
use crate::time::{Decimal, SimDuration, SimTime};

impl CoAllocate {
    /// How long a start is put off so that all clusters are told before.
    pub(super) fn ahead(broker: &Broker, job: JobId, most: SimDuration) -> SimDuration {
        let late = broker.jobs.get(&job).and_then(|held| held.late.as_ref());
        let Some(times) = late.map(|it| it.times).filter(|it| *it > 0) else {
            return SimDuration::ZERO;
        };
        let seconds = SimDuration::from_secs(1 << times.min(16));
        seconds.min(SimDuration::from_nanos(most.as_nanos() / 2))
    }

    /// The same where its start is searched for: up to four times the time-out.
    pub(super) fn search_ahead(broker: &Broker, job: JobId) -> SimDuration {
        let timeout = broker.config.settings.co_allocation.claim_timeout;
        let most = SimDuration::from_nanos(timeout.as_nanos().saturating_mul(8));
        Self::ahead(broker, job, most)
    }

    /// A job is tried at this instant, or was in vain, since a cluster was told too late.
    pub(super) fn note_try(broker: &mut Broker, job: JobId, now: SimTime, in_vain: bool) {
        if let Some(held) = broker.jobs.get_mut(&job) {
            let first = Late {
                times: 0,
                since: now,
            };
            held.late.get_or_insert(first).times += u32::from(in_vain);
        }
    }

    /// The last start of a job without a window that can start at this instant. What it has
    /// searched for before counts: two jobs that search at once can each be in the other's way
    /// for as long as they do.
    pub(super) fn last_start(
        held: &Held,
        now: SimTime,
        soonest: SimTime,
        within: SimDuration,
    ) -> SimTime {
        let searched = held.late.as_ref().map(|it| now.since(it.since));
        let searched = searched.unwrap_or_default().as_nanos();
        SimTime::from_nanos((soonest + within).as_nanos().saturating_sub(searched))
    }

    /// How many other jobs have been placed and do not run yet.
    pub(super) fn being_started(&self, now: SimTime, but: JobId) -> usize {
        let others = self.placed.iter().filter(|(job, _)| **job != but);
        let starting = |placed: &Placed| placed.starts.is_some_and(|at| at > now);
        others.filter(|(_, placed)| starting(placed)).count()
    }

    /// All clusters hold their part: the job begins everywhere at one instant.
    pub(super) fn begin_job(
        &mut self,
        broker: &mut Broker,
        cx: &mut Around<'_>,
        job: JobId,
        reserved: Option<SimTime>,
    ) {
        let most = broker.config.settings.co_allocation.claim_timeout;
        let ahead = Self::ahead(broker, job, most);
        let others = self.being_started(cx.now(), job);
        let (Some(placed), Some(held)) = (self.placed.get_mut(&job), broker.jobs.get_mut(&job))
        else {
            return;
        };
        let settings = &broker.config.settings;
        let costs = &settings.co_allocation;
        let speeds = placed.parts.iter().filter_map(|part| part.held.flatten());
        let speed = speeds.min().unwrap_or(Decimal::ONE);
        let spec = &held.spec;
        let program = (spec.executable, spec.processors());
        let length = costs.length(program, spec.run_time, placed.parts.len());
        let length = SimDuration::from_nanos(speed.divide(length.as_nanos()));
        let due = cx.now() + settings.lrms_latency;
        let startup = costs.startup_among(placed.components, others);
        let parts = placed.parts.iter().map(|part| (part.cluster, part.share));
        let soonest = due + (costs.staging(spec, parts) + startup).max(ahead);
        let at = reserved.unwrap_or(soonest);
        (placed.starts, placed.until) = (Some(at), Some(at + length));
        held.sent_at = cx.now();
        self.tries.remove(&job);
        let lead = placed.parts[0].cluster;
        let dispatched = Event::new(EventKind::Dispatched, job, broker.config.domain);
        cx.emit(cx.now(), dispatched.to(lead));
        let asked = Asked { job, at: placed.at };
        // Last the one that tells of it: where links fail, it begins when the others do.
        for part in placed.parts.iter().rev() {
            let leads = part.cluster == lead;
            let step = ClaimStep::Begin { at, length, leads };
            say(broker, cx, part.cluster, (asked, step));
        }
    }
}
