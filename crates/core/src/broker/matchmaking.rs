//! How jobs and processors are brought together, beside the policy: a module each,
//! over the same queue, the same cycle and the same messages. Where there is none the
//! broker routes: each job goes to the candidate that its policy chooses.

mod co_allocate;
mod delegate;
mod flock;
mod independent;
mod leases;
mod pull;
mod push;

pub(super) use co_allocate::Late;

use super::{Broker, BrokerConfig, Held, LocalInfo, MatchmakingKind};
use crate::agent::{Asked, BrokerSends, ClaimAnswer, Cx, Deal};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::{JobSpec, Reason};
use crate::message::{Route, Target};
use crate::policy::BrokerSettings;
use crate::time::{SimDuration, SimTime};

/// What a module is given while it acts.
type Around<'a> = dyn Cx<BrokerSends> + 'a;

/// A neighbour asks for the processors of a job.
pub(super) struct Request<'a> {
    from: DomainId,
    spec: &'a JobSpec,
    route: Route,
    /// When its message was meant to arrive.
    at: SimTime,
}

impl Request<'_> {
    /// What answers to it name.
    fn asked(&self) -> Asked {
        Asked {
            job: self.spec.id,
            at: self.at,
        }
    }
}

/// Whether a waiting job may go to a candidate that could run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// In this cycle.
    Now,
    /// Not yet: it waits, unless another candidate takes it.
    Later,
    /// The same, and it keeps nobody else waiting: nobody here has what it waits for.
    Away,
    /// Not from here.
    Never,
}

/// A way to bring jobs and processors together. In each cycle a broker goes through its
/// queue, and the policy chooses for each job among the candidates that this one lets
/// it have.
pub(super) trait Matchmaking: Send + Sync {
    /// Time between cycles.
    fn interval(&self, settings: &BrokerSettings) -> SimDuration {
        settings.interval
    }

    /// Whether what was sent since the last information counts.
    fn counts_own(&self) -> bool {
        false
    }

    /// A cycle begins. Answers the arrivals of the waiting jobs that it goes through, in
    /// their order: one that has no room is passed by those behind it. `None`: all, as they
    /// came, and who waits with whom is a matter of the settings.
    fn begin(&mut self, _: &Broker, _: &Around<'_>) -> Option<Vec<u64>> {
        None
    }

    /// Whether this job may go to the candidate in this place, own clusters first.
    fn fit(&self, broker: &Broker, index: usize, job: &Held) -> Fit;

    /// A waiting job is to go to this candidate; `true` if that has been seen to.
    fn take(&mut self, _: &mut Broker, _: &mut Around<'_>, _job: JobId, _index: usize) -> bool {
        false
    }

    /// Why a job that no candidate may have is not wanted any more.
    fn why_never(&self, _job: JobId) -> Option<Reason> {
        None
    }

    /// Whether it acts by a cycle of its own, in which it begins with what has just come.
    fn acts_by_a_cycle(&self) -> bool {
        false
    }

    /// Whether all that wait have been tried in vain with the room that there is.
    fn waits_for_room(&self, _: &Broker) -> bool {
        false
    }

    /// When it acts beside the cycles.
    fn next_due(&self, _broker: &Broker, _now: SimTime) -> Option<SimTime> {
        None
    }

    /// It acts.
    fn act(&mut self, _: &mut Broker, _: &mut Around<'_>) {}

    /// A neighbour asks for the processors of a job.
    fn request(&mut self, _: &mut Broker, _: &mut Around<'_>, _: &Request<'_>) {}

    /// A neighbour says something else.
    fn deal(&mut self, _: &mut Broker, _: &mut Around<'_>, _from: DomainId, _deal: Deal) {}

    /// An LRMS holds processors for a part of a job, or has reserved them, or does not, or no
    /// more.
    fn claim(
        &mut self,
        _: &mut Broker,
        _: &mut Around<'_>,
        _from: ClusterId,
        (_asked, _said): (Asked, ClaimAnswer),
    ) {
    }

    /// A job is not where it was sent any more: it has ended, or was refused, or it was
    /// removed while it waited here.
    fn is_back(&mut self, _: &mut Broker, _: &mut Around<'_>, _job: JobId) {}

    /// A neighbour has brought a job, taken in or not.
    fn brought(&mut self) {}

    /// A job of so many processors that was sent to this neighbour has not got there, and
    /// never will.
    fn never_came(&mut self, _to: DomainId, _processors: u32) {}

    /// Which clusters have been asked for a part of a job, where several may be.
    fn parts_of(&self, _job: JobId) -> Vec<ClusterId> {
        Vec::new()
    }

    /// A job is to be removed; `true` if it waits here although something was sent for it,
    /// which is taken back.
    fn withdraw(&mut self, _: &mut Broker, _: &mut Around<'_>, _job: JobId) -> bool {
        false
    }
}

/// The one of these settings; `None` where the broker routes.
pub(super) fn build(config: &BrokerConfig) -> Option<Box<dyn Matchmaking>> {
    let settings = &config.settings;
    Some(match settings.matchmaking() {
        MatchmakingKind::Route => return None,
        MatchmakingKind::Independent => {
            let late = settings.commits_late(&settings.policy);
            Box::new(independent::Independent { late })
        }
        MatchmakingKind::Push => Box::new(push::Push),
        MatchmakingKind::Pull => Box::new(pull::Pull::default()),
        MatchmakingKind::Flock => Box::new(flock::Flock::default()),
        MatchmakingKind::Delegate => Box::new(delegate::Delegate::default()),
        MatchmakingKind::CoAllocate => Box::new(co_allocate::CoAllocate::new(settings)?),
    })
}

impl Broker {
    /// The module does something with the broker; nothing where there is none.
    pub(super) fn matched<T>(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        what: impl FnOnce(&mut dyn Matchmaking, &mut Broker, &mut Around<'_>) -> T,
    ) -> Option<T> {
        let mut own = self.matchmaking.take()?;
        let answer = what(&mut *own, self, cx);
        self.matchmaking = Some(own);
        Some(answer)
    }

    /// Whether cycles come to what the last one came to, nothing, as long as nobody says anything
    /// and the own clusters, which are looked at then, stay as they are.
    pub fn waits_for_its_clusters(&self) -> bool {
        let others = self.parked.len() + self.resting.len();
        let own = self.matchmaking.as_ref().filter(|_| others == 0);
        self.config.settings.local_info == LocalInfo::Fresh
            && own.is_some_and(|own| own.waits_for_room(self))
    }

    /// When it acts beside its cycles.
    pub fn next_act(&self) -> Option<SimTime> {
        self.matchmaking.as_ref()?.next_due(self, self.now)
    }

    /// Whether a job may go to a candidate that could run it.
    pub(super) fn fit(&self, index: usize, job: &Held) -> Fit {
        let own = self.matchmaking.as_ref();
        own.map_or(Fit::Now, |own| own.fit(self, index, job))
    }

    /// A neighbour has brought a job.
    pub(crate) fn brought(&mut self) {
        if let Some(own) = &mut self.matchmaking {
            own.brought();
        }
    }

    /// A job that was sent there has not got there, and never will.
    pub(super) fn never_came(&mut self, to: Target, processors: u32) {
        if let (Some(own), Some(peer)) = (&mut self.matchmaking, to.peer()) {
            own.never_came(peer, processors);
        }
    }

    /// Timers are due: that of the cycles, or that of the module.
    pub(crate) fn handle_due(&mut self, cx: &mut impl Cx<BrokerSends>) {
        let now = cx.now();
        let acts = |broker: &Broker| {
            let own = broker.matchmaking.as_ref();
            own.is_some_and(|own| own.next_due(broker, now) == Some(now))
        };
        let own = self.matchmaking.as_ref();
        let by_a_cycle = own.is_some_and(|own| own.acts_by_a_cycle());
        if !acts(self) || by_a_cycle || self.next_cycle(now) == Some(now) {
            self.handle_cycle(cx);
        }
        if acts(self) {
            self.matched(cx, |own, broker, cx| own.act(broker, cx));
        }
    }

    /// A neighbour asks for the processors of a job, that has come this way.
    pub(crate) fn handle_request(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        from: Target,
        (spec, at): (&JobSpec, SimTime),
        route: Option<Route>,
    ) {
        self.now = cx.now();
        let route = self.way(route);
        if let Target::Peer(from) = from {
            let request = Request {
                from,
                spec,
                route,
                at,
            };
            self.matched(cx, |own, broker, cx| own.request(broker, cx, &request));
        }
    }

    /// A neighbour says something else about processors.
    pub(crate) fn handle_deal(&mut self, cx: &mut impl Cx<BrokerSends>, from: Target, deal: Deal) {
        self.now = cx.now();
        if let Target::Peer(from) = from {
            self.matched(cx, |own, broker, cx| own.deal(broker, cx, from, deal));
        }
    }

    /// An LRMS holds processors for a part of a job, or does not.
    pub(crate) fn handle_claim(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        from: ClusterId,
        claim: (Asked, ClaimAnswer),
    ) {
        self.now = cx.now();
        self.matched(cx, |own, broker, cx| own.claim(broker, cx, from, claim));
    }

    /// Whether this is the central domain.
    fn is_central(&self) -> bool {
        self.config.central == Some(self.config.domain)
    }

    /// Processors of each own cluster that no job holds which was sent there, nor a
    /// neighbour that they are delegated to.
    fn room(&self) -> Vec<i64> {
        let clusters = self.config.clusters.iter();
        let mut room: Vec<i64> = clusters
            .map(|(_, all)| i64::from(all.processors()))
            .collect();
        if room.is_empty() {
            return room;
        }
        // Sums do not depend on the order.
        let sent = self.jobs.values().filter_map(|held| {
            let mut own = self.config.clusters.iter();
            let at = own.position(|(id, _)| held.sent == Some(Target::Cluster(*id)))?;
            Some((at, i64::from(held.spec.processors())))
        });
        for (at, processors) in sent {
            room[at] -= processors;
        }
        room
    }
}

/// Whether a job of this size has room in one of the own clusters, which come first among
/// the candidates.
fn fits_here(room: &[i64], index: usize, job: &Held) -> Option<Fit> {
    let room = room.get(index)?;
    Some(match *room >= i64::from(job.spec.processors()) {
        true => Fit::Now,
        false => Fit::Later,
    })
}
