//! The sessions of brokers: heartbeats that meet the same faults as messages.

use super::Agents;
use crate::faults::Passage;
use crate::virtual_time::watch::{Met, Step};
use gridrig_core::agent::{Ask, PeerLink, PeerSession, Pull, Received, SessionChange};
use gridrig_core::broker::BrokerConfig;
use gridrig_core::event::Party;
use gridrig_core::faults::FaultPlan;
use gridrig_core::ids::DomainId;
use gridrig_core::inventory::Form;
use gridrig_core::message::Target;
use gridrig_core::session::{Auth, Beat, Roles, Terms};
use gridrig_core::time::{SimDuration, WallTime};
use std::collections::BTreeMap;

/// Both ends of every link, by whose end it is and by whom it leads to.
pub(super) struct Sessions {
    ends: BTreeMap<(DomainId, DomainId), (PeerLink, Roles)>,
    heartbeat: SimDuration,
    give_up: SimDuration,
}

impl Sessions {
    pub fn new(plan: &FaultPlan) -> Self {
        Sessions {
            ends: BTreeMap::new(),
            heartbeat: plan.heartbeat,
            give_up: plan.give_up,
        }
    }

    /// A broker is started: it has no session yet, and asks its peers at once;
    /// where it knows what is with them, they were lost to it at this time.
    pub fn start(&mut self, config: &BrokerConfig, lost: Option<WallTime>) {
        let here = config.domain;
        for other in &config.neighbours {
            let mut providers = config.peers.iter();
            let consumer = providers.any(|peer| peer.domain == other.domain);
            let roles = Roles::new(other.consumer, consumer);
            let mut link = PeerLink::new(here < other.domain, self.give_up);
            if let Some(lost) = lost {
                link.lose(lost);
            }
            self.ends.insert((here, other.domain), (link, roles));
        }
    }

    /// A broker has stopped.
    pub fn stop(&mut self, here: DomainId) {
        self.ends.retain(|(domain, _), _| *domain != here);
    }

    /// When to see to the first session of a broker.
    pub fn next_wake(&self, here: DomainId) -> Option<WallTime> {
        let ends = self.ends.range((here, DomainId(0))..);
        let own = ends.take_while(|((domain, _), _)| *domain == here);
        own.map(|(_, (link, _))| link.wake()).min()
    }

    pub fn link(&mut self, here: DomainId, peer: DomainId) -> Option<&mut PeerLink> {
        self.ends.get_mut(&(here, peer)).map(|(link, _)| link)
    }

    fn terms(&self, here: DomainId, peer: DomainId) -> Option<Terms> {
        let (_, roles) = self.ends.get(&(here, peer))?;
        Some(Terms {
            auth: Auth::None,
            roles: *roles,
            heartbeat: self.heartbeat,
            job_language: "jsdl".into(),
            resource_language: "clusters".into(),
            form: Form::Flat,
        })
    }
}

impl Agents<'_> {
    /// At the start every session is open already.
    pub(super) fn open_sessions(&mut self) {
        let ends: Vec<_> = self.sessions.ends.keys().copied().collect();
        for (here, peer) in ends {
            self.agree(here, peer);
        }
    }

    /// Sees to the sessions of a broker that are due.
    pub(super) fn see_to_sessions(&mut self, here: DomainId) {
        let now = self.network.wall();
        let ends = self.sessions.ends.iter();
        let due = ends.filter(|((domain, _), (link, _))| *domain == here && link.wake() <= now);
        let due: Vec<DomainId> = due.map(|((_, peer), _)| *peer).collect();
        for peer in due {
            let Some(link) = self.sessions.link(here, peer) else {
                continue;
            };
            let (changes, ask) = link.see_to(now);
            for change in changes {
                self.tell_and_ask(here, peer, change);
            }
            match ask {
                Some(Ask::Open) => self.open(here, peer),
                Some(Ask::Heartbeat) => self.beat(here, peer),
                None => {}
            }
            self.set_timers(here);
        }
    }

    /// A broker asks a peer for a session: the peer has one as soon as it agrees,
    /// the broker when it hears so.
    fn open(&mut self, here: DomainId, peer: DomainId) {
        let passage = self.meet(here, peer, Step::OpenSession);
        if matches!(passage, Passage::Open | Passage::NoAnswer) {
            self.agree(peer, here);
        }
        if passage == Passage::Open
            && let Some(pull) = self.agree(here, peer)
        {
            self.pull(here, peer, pull);
        }
    }

    /// This end of a link has agreed on a session: what the other is to be asked.
    fn agree(&mut self, here: DomainId, peer: DomainId) -> Option<Pull> {
        let (now, life) = (self.network.wall(), self.lives[peer.index()]);
        let terms = self.sessions.terms(here, peer);
        let (link, terms) = self.sessions.link(here, peer).zip(terms)?;
        let name = format!("{}-{}", here.0, peer.0);
        let change = link.opened(now, name.into(), terms, life);
        self.tell_broker(here, PeerSession { peer, change })?.1
    }

    /// Tells a broker what has changed of a session, and asks the peer what it then
    /// wants to know.
    fn tell_and_ask(&mut self, here: DomainId, peer: DomainId, change: SessionChange) {
        let told = self.tell_broker(here, PeerSession { peer, change });
        if let Some((_, Some(pull))) = told {
            self.pull(here, peer, pull);
        }
    }

    /// A broker asks a peer for the load there: the answer is as good as an update
    /// that the peer sends by itself.
    fn pull(&mut self, here: DomainId, peer: DomainId, pull: Pull) {
        let passage = self.meet(here, peer, Step::AskForLoad);
        let is_reached = matches!(passage, Passage::Open | Passage::NoAnswer);
        if !is_reached || !self.is_admitted(here, peer) {
            return;
        }
        let push = self.tell_broker(peer, pull).flatten();
        if let (Passage::Open, Some(said)) = (passage, push) {
            let now = self.network.wall();
            if let Some(link) = self.sessions.link(here, peer) {
                link.answered(now);
            }
            self.tell_broker(here, Received::new(Target::Peer(peer), said));
        }
    }

    fn beat(&mut self, here: DomainId, peer: DomainId) {
        let now = self.network.wall();
        let beat = match self.meet(here, peer, Step::Heartbeat) {
            Passage::Lost | Passage::Closed => Beat::Silence,
            _ if !self.is_admitted(here, peer) => Beat::Forgotten,
            Passage::Open => Beat::Answered,
            Passage::NoAnswer => Beat::Silence,
        };
        let link = self.sessions.link(here, peer);
        if let Some(change) = link.and_then(|link| link.beat(now, beat)) {
            self.tell_and_ask(here, peer, change);
        }
    }

    /// What meets a question of a broker to a peer.
    fn meet(&mut self, here: DomainId, peer: DomainId, step: Step) -> Passage {
        let (from, to) = (Party::Broker(here), Party::Broker(peer));
        let (now, links) = (self.network.now, &mut self.network.links);
        let passage = links.passage(now, from, to, step.is_information());
        let is_there = self.brokers[peer.index()].is_some();
        let met = match passage {
            Passage::Lost => Met::Loss,
            Passage::Closed => Met::NoWay,
            _ if !is_there => Met::ReceiverStopped,
            Passage::NoAnswer => Met::LostAnswer(Ok(())),
            Passage::Open => Met::Nothing(Ok(())),
        };
        self.network.note((from, to), (step, None), met);
        match is_there {
            true => passage,
            false => Passage::Closed,
        }
    }

    /// Whether the receiver of a message knows the session it belongs to, which
    /// is a sign of life to it.
    pub(super) fn is_admitted(&mut self, from: DomainId, to: DomainId) -> bool {
        let (now, life) = (self.network.wall(), self.lives[from.index()]);
        let link = self.sessions.link(to, from);
        let Some(link) = link.filter(|link| link.admits(life)) else {
            return false;
        };
        link.heard(now);
        true
    }

    /// The receiver of a message did not know its session.
    pub(super) fn forgotten(&mut self, here: DomainId, peer: DomainId) {
        let now = self.network.wall();
        if let Some(link) = self.sessions.link(here, peer) {
            let change: Option<SessionChange> = link.beat(now, Beat::Forgotten);
            if let Some(change) = change {
                self.tell_broker(here, PeerSession { peer, change });
            }
        }
        self.set_timers(here);
    }
}
