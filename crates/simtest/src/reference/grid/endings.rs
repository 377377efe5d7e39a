//! How jobs are removed, and how the news of an end travels.

use super::{Item, Kind, Simulation, What, after};
use crate::reference::broker::{Decision, Removal};
use crate::reference::cluster::RefLoss;
use crate::trail::Step;
use gridrig_core::event::Party;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason};
use gridrig_core::message::Target;
use gridrig_core::time::{SimDuration, SimTime};

impl Simulation<'_> {
    /// Nodes that are repaired or fail at this instant.
    pub(super) fn node_changes(&mut self, now: SimTime) {
        for id in (0u16..).map(ClusterId).take(self.clusters.len()) {
            let (lost, changed) = self.clusters[id.index()].change_nodes(now);
            if !changed.is_empty() {
                self.changed(now, id.index());
            }
            for (nodes, up) in changed {
                self.trails.nodes.push((now, id, nodes, up));
            }
            for (job, loss) in lost {
                match loss {
                    RefLoss::Place(done) => {
                        let step = Step::Requeued(id, done.cast_signed());
                        self.trails.note(now, job, step);
                    }
                    RefLoss::Job => {
                        let step = Step::Failed(Party::Lrms(id), Reason::NodeFailed);
                        self.trails.note(now, job, step);
                        self.news_from_cluster(now, id, job);
                    }
                }
            }
        }
    }

    /// When a job is to start that is sent somewhere, if that is told.
    pub(super) fn note_predicted(&mut self, now: SimTime, domain: DomainId, sent: &Decision) {
        if let Decision::Dispatch(job, ..) | Decision::Forward(job, ..) | Decision::Begun(job, _) =
            sent
            && let Some(starts) = self.brokers[domain.index()].starts(*job)
        {
            self.trails.note(now, *job, Step::Predicted(domain, starts));
        }
    }

    pub(super) fn cancel_at_broker(
        &mut self,
        now: SimTime,
        domain: DomainId,
        job: JobId,
        by: Option<DomainId>,
    ) {
        if self.brokers[domain.index()].is_asking(job) {
            self.give_up(now, domain, job);
            return self.carry_out(now, domain, Decision::Drop(job));
        }
        if self.brokers[domain.index()].waits_for_parts(job, by) {
            return self.carry_out(now, domain, Decision::Drop(job));
        }
        match self.brokers[domain.index()].remove(job, by) {
            Removal::Unknown => {}
            Removal::Done => self.carry_out(now, domain, Decision::Drop(job)),
            Removal::Follow(Target::Cluster(cluster), _) => {
                let at = after(now, self.lrms_latency(domain));
                let key = self.key_of(Entry::Cluster(cluster), job);
                let what = What::CancelAtCluster(cluster, job);
                self.add(at, Kind::Cancellation, key, what);
            }
            Removal::Follow(Target::Peer(peer), true) if self.stop_data(now, domain, job) => {
                let processors = self.submissions[job.index()].spec.processors();
                self.brokers[domain.index()].stopped(peer, processors);
                self.carry_out(now, domain, Decision::Drop(job));
            }
            Removal::Follow(Target::Peer(peer), _) => {
                let at = after(now, self.link_latency(domain, peer));
                let key = self.key_of(Entry::Domain(peer), job);
                let what = What::CancelAtBroker(peer, job, Some(domain));
                self.add(at, Kind::Cancellation, key, what);
            }
        }
    }

    /// Takes a job off the wire whose data has not left yet: its message takes
    /// the latency of the link from there on, or longer.
    fn stop_data(&mut self, now: SimTime, from: DomainId, job: JobId) -> bool {
        let leaving = |item: &Item| match item.what {
            What::ToBroker(to, which, Some(by), _) => {
                let data = self.carrying(from, to, job) > SimDuration::ZERO;
                let left = after(now, self.link_latency(from, to)) > item.at;
                which == job && by == from && data && !left
            }
            _ => false,
        };
        let found = self.agenda.iter().position(leaving);
        found.map(|index| self.agenda.remove(index)).is_some()
    }

    pub(super) fn cancel_at_cluster(&mut self, now: SimTime, cluster: ClusterId, job: JobId) {
        if let Some(index) = self.part_of(cluster, job) {
            self.cancel_part(now, index);
        } else if self.clusters[cluster.index()].cancel(now, job) {
            let step = Step::Cancelled(Party::Lrms(cluster));
            self.trails.note(now, job, step);
            self.changed(now, cluster.index());
            self.news_from_cluster(now, cluster, job);
        }
    }

    pub(super) fn news_from_cluster(&mut self, now: SimTime, cluster: ClusterId, job: JobId) {
        let from = Party::Lrms(cluster);
        match self.handed_by[job.index()] {
            None => self.seen(now, job, Party::Client),
            Some(domain) => {
                let to = Party::Broker(domain);
                self.trails.note(now, job, Step::Notified(from, to));
                let at = after(now, self.latency_from(cluster));
                self.news(at, domain, job);
            }
        }
    }

    pub(super) fn news_at_broker(&mut self, now: SimTime, domain: DomainId, job: JobId) {
        let here = Party::Broker(domain);
        self.give_up(now, domain, job);
        let said = self.brokers[domain.index()].is_over(now, job);
        self.carry_out_all(now, domain, said);
        let record = self.trails.record(job);
        let run = record.start.zip(record.finish);
        match self.brokers[domain.index()].ended(job, run) {
            None => {}
            Some(None) => self.seen(now, job, here),
            Some(Some(from)) => {
                let step = Step::Notified(here, Party::Broker(from));
                self.trails.note(now, job, step);
                let at = after(now, self.link_latency(from, domain));
                self.news(at, from, job);
            }
        }
    }

    pub(super) fn seen(&mut self, now: SimTime, job: JobId, by: Party) {
        self.trails.note(now, job, Step::Seen(by));
        self.unseen -= 1;
    }

    fn news(&mut self, at: SimTime, to: DomainId, job: JobId) {
        let key = self.key_of(Entry::Domain(to), job);
        self.add(at, Kind::Arrival, key, What::News(to, job));
    }

    pub(super) fn back(
        &mut self,
        at: SimTime,
        to: DomainId,
        job: JobId,
        by: Target,
        reason: Reason,
    ) {
        let key = self.key_of(Entry::Domain(to), job);
        self.add(at, Kind::Arrival, key, What::Back(to, job, by, reason));
    }

    /// How long the data of a job takes over the link: KiB * 1e9 / 1024
    /// nanoseconds at one MiB a second.
    pub(super) fn carrying(
        &self,
        consumer: DomainId,
        provider: DomainId,
        job: JobId,
    ) -> SimDuration {
        let nanos = self.submissions[job.index()].spec.data_kib * 1_000_000_000 / 1024;
        let link = self.link(consumer, provider);
        let bandwidth = link.and_then(|link| link.bandwidth);
        bandwidth.map_or(SimDuration::ZERO, |bandwidth| {
            SimDuration::from_nanos(bandwidth.divide(nanos))
        })
    }

    /// The latency between an LRMS and its broker, of all that it says.
    pub(super) fn latency_from(&self, cluster: ClusterId) -> SimDuration {
        let domain = self.grid.clusters[cluster.index()].domain;
        domain.map_or(SimDuration::ZERO, |domain| self.lrms_latency(domain))
    }
}
