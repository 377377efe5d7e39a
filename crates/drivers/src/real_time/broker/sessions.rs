//! Peers that talk in sessions: what may be sent to them, and what becomes of
//! the jobs that are with them when they are lost and found again.

use super::BrokerMachine;
use crate::real_time::actor::JobKeeper as _;
use crate::real_time::ledger::JobView;
use crate::real_time::letter::Message;
use gridrig_core::broker::Access;
use gridrig_core::event::Party;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::load::LoadSample;
use gridrig_core::message::Target;
use gridrig_core::session::{Publisher, Push, Roles, Threshold};
use gridrig_core::time::SimTime;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The peers that talk in sessions.
#[derive(Debug, Default)]
pub(super) struct Partners(BTreeMap<DomainId, Partner>);

/// What this broker is to a peer, and owes it.
#[derive(Debug)]
struct Partner {
    roles: Roles,
    /// How far a value must move before the peer is told.
    threshold: Option<Threshold>,
    publisher: Publisher,
    /// Jobs of the peer's whose end it has not been told.
    owed: BTreeSet<JobId>,
}

impl Partners {
    /// No session is open yet.
    pub fn of(peers: &BTreeMap<DomainId, Option<Threshold>>) -> Self {
        let partner = |threshold: Option<Threshold>| Partner {
            roles: Roles::NONE,
            threshold,
            publisher: Publisher::new(),
            owed: BTreeSet::new(),
        };
        let peers = peers.iter();
        Partners(peers.map(|(peer, t)| (*peer, partner(*t))).collect())
    }

    /// Whether it is one of them.
    pub fn has(&self, target: Target) -> bool {
        matches!(target, Target::Peer(peer) if self.0.contains_key(&peer))
    }

    /// What a peer is told after these samples were taken: `None` where no
    /// session decides that, an empty list where there is nothing to tell.
    pub fn update(&mut self, peer: DomainId, samples: &[LoadSample]) -> Option<Option<Push>> {
        let partner = self.0.get_mut(&peer)?;
        if !partner.roles.provider {
            return Some(None);
        }
        Some(partner.publisher.push(samples, partner.threshold))
    }

    /// An update did not arrive: the next one is a full one.
    pub fn want_full(&mut self, peer: DomainId) {
        if let Some(partner) = self.0.get_mut(&peer) {
            partner.publisher.want_full();
        }
    }

    /// News of a job did not arrive at a peer.
    pub fn owe(&mut self, peer: DomainId, job: JobId) {
        if let Some(partner) = self.0.get_mut(&peer) {
            partner.owed.insert(job);
        }
    }
}

impl BrokerMachine {
    /// A session with a peer is open, and this broker has these roles in it.
    /// A change of roles is another call; jobs already taken are finished.
    pub fn set_roles(&mut self, now: SimTime, peer: DomainId, roles: Roles) {
        self.set_now(now);
        if let Some(known) = self.partners.0.get_mut(&peer) {
            known.roles = roles;
            known.publisher.want_full();
            let access = match roles.consumer {
                true => Access::Open,
                false => Access::Closed,
            };
            self.broker.set_access(Target::Peer(peer), access);
        }
        self.settle();
    }

    /// What this broker is to a peer with which it talks in sessions.
    #[must_use]
    pub fn roles(&self, peer: DomainId) -> Option<Roles> {
        self.partners.0.get(&peer).map(|partner| partner.roles)
    }

    /// Whether it is something to every peer with which it talks in sessions:
    /// each of them has been open by now.
    #[must_use]
    pub fn has_all_sessions(&self) -> bool {
        let mut partners = self.partners.0.values();
        partners.all(|partner| partner.roles != Roles::NONE)
    }

    /// What a peer may be told, because it asks: the load of the clusters here,
    /// as last reported, or what of it has changed since an update.
    pub fn pull(&mut self, peer: DomainId, since: Option<u64>) -> Option<Push> {
        let own = self.broker.samples();
        let own = own.filter(|(target, _)| matches!(target, Target::Cluster(_)));
        let samples: Vec<LoadSample> = own.flat_map(|(_, known)| known.to_vec()).collect();
        let partner = self.partners.0.get_mut(&peer)?;
        Some(partner.publisher.pull_since(&samples, since))
    }

    /// Tells a peer that is there again the news that it has missed.
    pub fn tell_missed(&mut self, now: SimTime, peer: DomainId) {
        self.set_now(now);
        let Some(partner) = self.partners.0.get_mut(&peer) else {
            return;
        };
        for job in std::mem::take(&mut partner.owed) {
            self.tell_again(job, Party::Broker(peer));
        }
        self.ask_again_to_remove(peer);
        self.settle();
    }

    /// A job as the peer that brought it may see it.
    #[must_use]
    pub fn view_for(&self, peer: DomainId, job: JobId) -> Option<JobView> {
        let record = self.ledger.get(job)?;
        let its = record.from == Party::Broker(peer);
        its.then(|| self.view(job)).flatten()
    }

    /// Notes under whose name a job runs here: what its sender's identity is
    /// mapped to.
    pub fn set_identity(&mut self, job: JobId, identity: Arc<str>) {
        self.ledger.set_identity(job, identity);
    }

    /// A peer is lost or its session has ended: nothing is sent there until
    /// there is another. The jobs that are there stay in the books, since
    /// nobody knows whether they run.
    pub fn close(&mut self, now: SimTime, peer: DomainId) {
        self.set_roles(now, peer, Roles::NONE);
    }

    /// A peer is there again: every job that is with it, or may be, is sent
    /// once more under its key. Whoever has it answers as before and tells its
    /// end again; whoever has forgotten it takes it in anew. Answers how many
    /// there were.
    pub fn resend(&mut self, now: SimTime, peer: DomainId) -> usize {
        self.send_again(now, peer, |_| true)
    }

    /// The same for those alone whose sending was not answered, after a sign
    /// of life.
    pub fn resend_unanswered(&mut self, now: SimTime, peer: DomainId) -> usize {
        self.send_again(now, peer, |sent| sent.perhaps && !sent.confirmed)
    }

    fn send_again(
        &mut self,
        now: SimTime,
        peer: DomainId,
        which: impl Fn(&super::UnderWay) -> bool,
    ) -> usize {
        self.set_now(now);
        let there = self
            .under_way
            .iter_mut()
            .filter(|(_, sent)| sent.target == Target::Peer(peer) && which(sent));
        let jobs: Vec<(JobId, u32, SimTime)> = there
            .map(|(job, sent)| {
                sent.perhaps = true;
                sent.confirmed = false;
                sent.told = false;
                (*job, sent.hop, sent.due)
            })
            .collect();
        for &(job, hop, due) in &jobs {
            let Some(spec) = self.broker.spec(job).cloned() else {
                continue;
            };
            let Some(course) = self.broker.course(job) else {
                continue;
            };
            let message = Message::Forward {
                spec,
                key: self.forward_key(job, hop, course.settled),
                tag: self.tag(job),
                from: self.broker.config().domain,
                hop,
                origin: course.origin,
                settled: course.settled,
            };
            // It was meant for then: a receiver that was started anew sees by
            // it that the job may have been there before.
            self.post(Party::Broker(peer), None, due, message);
        }
        self.settle();
        jobs.len()
    }

    /// A peer has been away for too long: the jobs that are there fail by
    /// name, and others are decided without it. Answers how many failed.
    pub fn give_up(&mut self, now: SimTime, peer: DomainId) -> usize {
        self.set_now(now);
        let target = Target::Peer(peer);
        self.broker.set_access(target, Access::Gone);
        let there = self
            .under_way
            .iter()
            .filter(|(_, sent)| sent.target == target);
        let lost: Vec<JobId> = there.map(|(job, _)| *job).collect();
        for &job in &lost {
            self.under_way.remove(&job);
            if self.broker.whereabouts(job) == Some(Some(target)) {
                self.fail(job);
            }
        }
        self.settle();
        lost.len()
    }
}
