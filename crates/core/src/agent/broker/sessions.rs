//! Peers that talk in sessions: what may be sent to them, and what becomes of
//! the jobs that are with them when they are lost and found again.

use super::BrokerAgent;
use super::notes::UnderWay;
use crate::agent::store::JobView;
use crate::agent::{Cx, Handle, JobHolder as _};
use crate::broker::Access;
use crate::conversation::{Arrival, FromBroker};
use crate::event::Party;
use crate::ids::{DomainId, JobId};
use crate::load::LoadSample;
use crate::message::{News, Target};
use crate::session::{Publisher, Push, Roles, Subscriber, Taken, Threshold};
use std::collections::BTreeMap;

/// A peer's session has changed. The answer is how many jobs are sent once
/// more, or fail, and what the peer is to be asked: a consumer asks for the load
/// there in a session in which it has heard nothing of it yet, or nothing for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PeerSession {
    /// The peer.
    pub peer: DomainId,
    /// What has changed.
    pub change: SessionChange,
}

/// What changes of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SessionChange {
    /// It is open.
    Open {
        /// What this broker is to the peer; `None` leaves that as it is. Jobs
        /// already taken are finished, whatever it was.
        roles: Option<Roles>,
        /// The peer had been lost, or has been restarted: it is told the
        /// news that it has missed, and every job that is with it, or may be,
        /// is sent once more under its key. Whoever has it answers as before
        /// and tells its end again; whoever has forgotten it takes it in.
        found: bool,
    },
    /// The peer shows that it lives: it is told the news that it has missed,
    /// and is sent once more what it did not answer.
    Answered,
    /// The peer is lost or the session has ended: nothing is sent there until
    /// there is another. The jobs that are there stay in the notes, since
    /// nobody knows whether they run.
    Closed,
    /// The peer has been away for too long: the jobs that are there fail by
    /// name, and others are decided without it.
    GivenUp,
}

/// A peer asks for the load of the clusters here, as last reported, or for what
/// of it has changed since an update. The answer is `None` where it holds no
/// session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pull {
    /// The peer.
    pub peer: DomainId,
    /// The update.
    pub since: Option<u64>,
}

/// So often a peer may show that it lives, mostly by a heartbeat that it answers,
/// before it is asked for the load there. Peers that tell of it by themselves do so
/// more often.
const QUIET: u32 = 10;

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
    /// Counts what the peer tells.
    subscriber: Subscriber,
    /// How often it has shown that it lives since it told something: from [`QUIET`]
    /// on it is asked.
    quiet: u32,
    /// News of its jobs that it has not been told.
    missed: Vec<News>,
}

impl Partners {
    /// No session is open yet.
    pub fn of(peers: &BTreeMap<DomainId, Option<Threshold>>) -> Self {
        let partner = |threshold: Option<Threshold>| Partner {
            roles: Roles::NONE,
            threshold,
            publisher: Publisher::new(),
            subscriber: Subscriber::default(),
            quiet: QUIET,
            missed: Vec::new(),
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

    /// Counts what a peer tells of its load, unless its message was here before.
    /// Answers whether it counts, and the last one that did; without a session
    /// each message does.
    pub fn take(&mut self, from: Target, push: &Push, new: bool) -> (Option<Taken>, u64) {
        let partner = match from {
            Target::Peer(peer) => self.0.get_mut(&peer),
            Target::Cluster(_) => None,
        };
        let Some(partner) = partner else {
            return (new.then_some(Taken::New), 0);
        };
        let count = &mut partner.subscriber;
        let taken = new.then(|| count.take(push.sequence, push.full));
        if taken == Some(Taken::New) {
            partner.quiet = 0;
        }
        (taken, count.last())
    }

    /// What this peer is to be asked by the broker `here`: what has changed since
    /// its last update.
    fn question(&self, here: DomainId, peer: DomainId) -> Option<Pull> {
        let partner = self.0.get(&peer)?;
        let last = partner.subscriber.last();
        let pull = Pull {
            peer: here,
            since: (last > 0).then_some(last),
        };
        (partner.roles.consumer && partner.quiet >= QUIET).then_some(pull)
    }

    /// News of a job did not arrive at a peer.
    pub fn miss(&mut self, peer: DomainId, news: News) {
        if let Some(partner) = self.0.get_mut(&peer) {
            partner.missed.push(news);
        }
    }
}

impl Handle<PeerSession> for BrokerAgent {
    type Answer = (usize, Option<Pull>);

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, session: PeerSession) -> Self::Answer {
        self.notes.now = self.notes.now.max(cx.now());
        let PeerSession { peer, change } = session;
        let jobs = match change {
            SessionChange::Open { roles, found } => {
                self.set_roles(peer, roles);
                match found {
                    true => {
                        self.tell_missed(cx, peer);
                        let all = self.notes.visits_at(Target::Peer(peer));
                        self.send_again(cx, Target::Peer(peer), all)
                    }
                    false => 0,
                }
            }
            SessionChange::Answered => {
                if let Some(partner) = self.partners.0.get_mut(&peer) {
                    partner.quiet += 1;
                }
                self.tell_missed(cx, peer);
                let unsure = self.notes.unsure_at(Target::Peer(peer));
                self.send_again(cx, Target::Peer(peer), unsure)
            }
            SessionChange::Closed => {
                self.set_roles(peer, Some(Roles::NONE));
                0
            }
            SessionChange::GivenUp => {
                let target = Target::Peer(peer);
                self.broker.set_access(target, Access::Gone);
                self.lose_all(cx, |sent| sent.target == target)
            }
        };
        self.settle();
        (jobs, self.partners.question(self.notes.domain, peer))
    }
}

impl Handle<Pull> for BrokerAgent {
    type Answer = Option<Push>;

    fn handle(&mut self, _cx: &mut impl Cx<FromBroker>, pull: Pull) -> Option<Push> {
        let own = self.broker.samples();
        let own = own.filter(|(target, _)| matches!(target, Target::Cluster(_)));
        let mut samples: Vec<LoadSample> = own.flat_map(|(_, known)| known.to_vec()).collect();
        samples.extend(self.broker.passed_on(self.notes.now, pull.peer));
        let partner = self.partners.0.get_mut(&pull.peer)?;
        Some(partner.publisher.pull_since(&samples, pull.since))
    }
}

impl BrokerAgent {
    /// Whether it is something to every peer with which it talks in sessions:
    /// each of them has been open by now.
    pub fn has_all_sessions(&self) -> bool {
        let mut partners = self.partners.0.values();
        partners.all(|partner| partner.roles != Roles::NONE)
    }

    /// A job as the peer that brought it may see it.
    pub fn view_for(&self, peer: DomainId, job: JobId) -> Option<JobView> {
        let record = self.notes.store.get(job)?;
        let its = record.came_from(Party::Broker(peer));
        its.then(|| self.view(job)).flatten()
    }

    /// What this broker is to a peer from now on.
    fn set_roles(&mut self, peer: DomainId, roles: Option<Roles>) {
        let Some(known) = self.partners.0.get_mut(&peer) else {
            return;
        };
        (known.subscriber, known.quiet) = (Subscriber::default(), QUIET);
        let Some(roles) = roles else { return };
        known.roles = roles;
        known.publisher.want_full();
        let access = match roles.consumer {
            true => Access::Open,
            false => Access::Closed,
        };
        self.broker.set_access(Target::Peer(peer), access);
    }

    /// Tells a peer that is there again the news that it has missed.
    fn tell_missed(&mut self, cx: &mut impl Cx<FromBroker>, peer: DomainId) {
        let Some(partner) = self.partners.0.get_mut(&peer) else {
            return;
        };
        for news in std::mem::take(&mut partner.missed) {
            self.say_again(cx, peer, news);
        }
        self.ask_again_to_remove(cx, peer);
    }

    /// Sends once more, under their keys, the jobs of these visits, which are with
    /// this target, or may be; answers how many there are. One whose data
    /// is on its way still comes with it. What it may have removed it gets only if
    /// it has the job: where it has forgotten that, nobody knows.
    pub(super) fn send_again(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        target: Target,
        visits: Vec<(JobId, u32)>,
    ) -> usize {
        let now = self.notes.now;
        let comes = |sent: &UnderWay| sent.has_data && sent.job.meant.is_some_and(|due| due > now);
        let mut count = 0;
        for visit in visits {
            let sent = self.notes.under_way.get_mut(&visit);
            let Some(sent) = sent.filter(|sent| !comes(sent)) else {
                continue;
            };
            let mut job = sent.job.clone();
            sent.perhaps_removed |= sent.told;
            job.sought = sent.perhaps_removed;
            sent.perhaps = true;
            sent.confirmed = false;
            sent.told = false;
            self.notes.unsure.insert((target, visit));
            self.bring_again(cx, target, job);
            count += 1;
        }
        count
    }

    /// Sends a job once more, or asks for it. It was meant to arrive when it was
    /// first sent: a receiver that was restarted sees by it that the job may
    /// have been there before.
    pub(super) fn bring_again(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        target: Target,
        job: Box<Arrival>,
    ) {
        let due = job.meant.unwrap_or(self.notes.now);
        self.notes
            .post(cx, None, due, FromBroker::brings(target, job));
    }
}
