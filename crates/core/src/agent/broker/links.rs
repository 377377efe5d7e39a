//! A broker as a participant: what reaches it, and what it sends, over links on
//! which every message arrives once.

use crate::agent::{BrokerSends, Brought, Cancel, Cx, Due, Handle, Participant, Told};
use crate::broker::{Broker, Pending};
use crate::event::{Event, EventKind, Party};
use crate::ids::DomainId;
use crate::job::Reason;
use crate::load::LoadSample;
use crate::message::{News, Route, Target};
use crate::time::SimTime;
use std::sync::Arc;

impl Participant for Broker {
    type Sends = BrokerSends;

    fn next_due(&self) -> Option<SimTime> {
        self.poll_timeout(self.now)
    }
}

impl Handle<Brought<'_>> for Broker {
    type Answer = Result<(), Reason>;

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, brought: Brought<'_>) -> Self::Answer {
        self.now = cx.now();
        let (job, now) = (brought.spec.id, self.now);
        let route = self.way(brought.route);
        let taken = self.take_over(cx, brought.spec.clone(), route);
        if let Err(reason) = taken {
            match route.from {
                Some(peer) => self.refuse(cx, peer, job, reason),
                None => {
                    let rejected = Event::new(EventKind::Rejected, job, self.config().domain);
                    cx.emit(now, rejected.because(reason));
                    let seen = Event::new(EventKind::FinishSeen, job, Party::Client);
                    cx.emit(now, seen);
                }
            }
        }
        taken
    }
}

/// The answer is whether the job is known here (still).
impl Handle<Cancel> for Broker {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, Cancel(job): Cancel) -> bool {
        self.now = cx.now();
        self.cancel(cx, job)
    }
}

/// News of a job changes nothing if the job is not with whoever tells it.
impl Handle<Told<News>> for Broker {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, news: Told<News>) {
        self.now = cx.now();
        let by = news.from;
        match news.said {
            News::Ended(end) if end.state.is_lost() => {
                self.lose_touch(cx, end.job, by);
            }
            News::Ended(end) => self.handle_end(cx, by, end),
            News::Refused { job, reason, .. } => self.handle_refusal(cx, job, by, reason),
        }
    }
}

/// The clusters of a domain were sampled: of the broker's own or of a peer's. All
/// that are told share what is said.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// Whose clusters.
    pub domain: DomainId,
    /// Their load.
    pub samples: Arc<[LoadSample]>,
}

impl Handle<Sampled> for Broker {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<BrokerSends>, sampled: Sampled) {
        match sampled.domain == self.config().domain {
            true => self.handle_loads(&sampled.samples),
            false => self.share_info(sampled.domain, &sampled.samples),
        }
    }
}

/// The truth about a peer: what its clusters are at, and what waits at its
/// broker. No message can bring it.
#[derive(Clone, Debug)]
pub struct PeerState {
    /// The peer.
    pub peer: DomainId,
    /// The load of its clusters, this instant.
    pub samples: Arc<[LoadSample]>,
    /// What waits there.
    pub pending: Pending,
}

impl Handle<PeerState> for Broker {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<BrokerSends>, truth: PeerState) {
        self.share_info(truth.peer, &truth.samples);
        self.handle_pending(truth.peer, truth.pending);
    }
}

impl Handle<Due> for Broker {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<BrokerSends>, due: Due) {
        self.now = cx.now();
        if let Due::Model { loads } = due {
            self.handle_loads(&loads);
            self.handle_cycle(cx);
        }
    }
}

impl Broker {
    /// Takes in the load of own clusters.
    fn handle_loads(&mut self, loads: &[LoadSample]) {
        for load in loads {
            let from = Target::Cluster(load.cluster);
            self.handle_info(from, std::slice::from_ref(load));
        }
    }

    /// The way that a job has come: what a peer has not forwarded enters the grid
    /// here.
    pub(crate) fn way(&self, route: Option<Route>) -> Route {
        let route = route.filter(|route| route.hop > 0);
        route.unwrap_or(Route::entering(self.config().domain))
    }
}
