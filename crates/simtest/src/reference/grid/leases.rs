//! What brokers say to each other about processors.

use super::{Kind, RefBroker, RefWay, Simulation, What, after};
use crate::trail::Step;
use gridrig_core::agent::Deal;
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::event::{EventKind, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::message::Target;
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
        let settings = &self.grid.domains[domain.index()].broker;
        if settings.matchmaking().is_lending() {
            let release = self.brokers[domain.index()].give_up(now, job);
            self.carry_out_all(now, domain, release.into_iter().collect());
        }
    }

    /// A job comes to a cluster, with the time-out of the processors that it is to have.
    pub(super) fn dispatched_to(
        &mut self,
        now: SimTime,
        cluster: ClusterId,
        (job, until): (JobId, Option<SimTime>),
        from: DomainId,
    ) {
        self.handed_by[job.index()] = Some(from);
        // It has not been heard yet that what is reserved for it here is not wanted.
        if let Some(index) = self.part_of(cluster, job) {
            self.let_go(now, index);
        }
        let taken = match until.is_some_and(|until| until <= now) {
            true => Err(Reason::LeaseExpired),
            false => self.arrive_at_cluster(now, cluster, job),
        };
        match (taken, until) {
            (Ok(()), Some(until)) => self.leases.push((until, cluster, job)),
            (Ok(()), None) => {}
            (Err(reason), _) => {
                let (by, to) = (Party::Lrms(cluster), Party::Broker(from));
                self.trails.note(now, job, Step::Refused(by, to, reason));
                let at = after(now, self.latency_from(cluster));
                self.back(at, from, job, Target::Cluster(cluster), reason);
            }
        }
    }

    /// When processors are next taken back, by brokers and from jobs.
    pub(super) fn lease_ends(&self) -> impl Iterator<Item = SimTime> {
        let jobs = self.leases.iter().map(|(until, ..)| *until);
        jobs.chain(self.brokers.iter().filter_map(RefBroker::takes_back_at))
    }

    /// Jobs that are on processors of others at their time-out fail.
    pub(super) fn end_leases(&mut self, now: SimTime) {
        let due: Vec<_> = self
            .leases
            .extract_if(.., |(until, ..)| *until <= now)
            .collect();
        for (_, cluster, job) in due {
            if self.clusters[cluster.index()].cancel(now, job) {
                let step = Step::Failed(Party::Lrms(cluster), Reason::LeaseExpired);
                self.trails.note(now, job, step);
                self.changed(now, cluster.index());
                self.news_from_cluster(now, cluster, job);
            }
        }
    }

    /// A broker takes back what it has delegated until now.
    pub(super) fn take_back(&mut self, now: SimTime, index: usize) {
        let domain = self.brokers[index].domain();
        while let Some((to, asked, said)) = self.brokers[index].take_back(now) {
            let at = asked.at.as_nanos().cast_signed();
            let step = Step::Lease(EventKind::LeaseExpired, domain, to, at);
            self.trails.note(now, asked.job, step);
            self.carry_out_all(now, domain, said);
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
