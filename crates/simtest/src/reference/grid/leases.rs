//! What brokers say to each other about processors.

use super::{Kind, RefWay, Simulation, What, after};
use crate::trail::Step;
use gridrig_core::agent::Deal;
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::event::EventKind;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::time::{SimDuration, SimTime};

impl Simulation<'_> {
    /// Answers when the next one is.
    pub(super) fn delegation_cycle(&mut self, now: SimTime, index: usize) -> SimDuration {
        let settings = &self.grid.domains[index].broker;
        let domain = self.brokers[index].domain();
        let (decisions, next) = match settings.matchmaking() {
            MatchmakingKind::Delegate => {
                let decisions = self.brokers[index].delegation_cycle(now);
                (decisions, settings.delegation_interval)
            }
            MatchmakingKind::Flock => (self.brokers[index].look_after_jobs(), settings.interval),
            _ => (Vec::new(), settings.delegation_interval),
        };
        self.carry_out_all(now, domain, decisions);
        next
    }

    /// What was delegated or asked for at a broker for this job is released.
    pub(super) fn give_up(&mut self, now: SimTime, domain: DomainId, job: JobId) {
        if self.grid.domains[domain.index()]
            .broker
            .matchmaking()
            .is_lending()
        {
            let release = self.brokers[domain.index()].give_up(now, job);
            self.carry_out_all(now, domain, release.into_iter().collect());
        }
    }

    /// A broker asks a neighbour for the processors of a job.
    pub(super) fn ask(
        &mut self,
        now: SimTime,
        domain: DomainId,
        (job, to): (JobId, DomainId),
        way: RefWay,
    ) {
        let step = Step::Lease(EventKind::LeaseRequested, domain, to, i64::from(way.hop));
        self.trails.note(now, job, step);
        let at = after(now, self.link_latency(domain, to));
        self.brokers[domain.index()].asks_at(job, at);
        let what = What::Ask(to, job, domain, way);
        self.add(at, Kind::Lease, (to.0, domain.0, job.0), what);
    }

    /// A broker says something else to a neighbour.
    pub(super) fn say(&mut self, now: SimTime, domain: DomainId, to: DomainId, deal: Deal) {
        let told = match deal {
            Deal::Reject(asked) => Some((EventKind::LeaseRejected, asked)),
            Deal::Delegate { asked, .. } => Some((EventKind::Delegated, asked)),
            Deal::Release(asked) => Some((EventKind::Released, asked)),
            Deal::Room { .. } => None,
        };
        let job = told.map_or(JobId(0), |(_, asked)| asked.job);
        if let Some((kind, asked)) = told {
            let at = asked.at.as_nanos().cast_signed();
            self.trails
                .note(now, job, Step::Lease(kind, domain, to, at));
        }
        // Who lends may forward nothing to who borrows.
        let (there, back) = (self.link_latency(domain, to), self.link_latency(to, domain));
        let at = after(now, there.max(back));
        let what = What::Say(to, domain, deal);
        self.add(at, Kind::Lease, (to.0, domain.0, job.0), what);
    }
}
