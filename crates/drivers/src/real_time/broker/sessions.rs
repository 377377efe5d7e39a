//! Peers that talk in sessions: what may be sent to them, and what becomes of
//! the jobs that are with them when they are lost and found again.

use super::BrokerMachine;
use crate::real_time::letter::Message;
use gridrig_core::broker::Access;
use gridrig_core::event::Party;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::message::Target;
use gridrig_core::session::Roles;
use gridrig_core::time::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// The peers that talk in sessions, and what this broker is to each.
#[derive(Debug, Default)]
pub(super) struct Partners(BTreeMap<DomainId, Roles>);

impl Partners {
    /// No session is open yet.
    pub fn of(peers: BTreeSet<DomainId>) -> Self {
        Partners(peers.into_iter().map(|peer| (peer, Roles::NONE)).collect())
    }

    /// Whether it is one of them.
    pub fn has(&self, target: Target) -> bool {
        matches!(target, Target::Peer(peer) if self.0.contains_key(&peer))
    }

    /// Whether resources are told to this peer; `None` where no session
    /// decides that.
    pub fn provides_to(&self, peer: DomainId) -> Option<bool> {
        self.0.get(&peer).map(|roles| roles.provider)
    }
}

impl BrokerMachine {
    /// A session with a peer is open, and this broker has these roles in it.
    /// A change of roles is another call; jobs already taken are finished.
    pub fn set_roles(&mut self, now: SimTime, peer: DomainId, roles: Roles) {
        self.set_now(now);
        if let Some(known) = self.partners.0.get_mut(&peer) {
            *known = roles;
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
        self.partners.0.get(&peer).copied()
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
