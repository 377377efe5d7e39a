//! Which faults happen in a run: a plan, and what of it meets one message.

use gridrig_core::agent::{Memory, Patience};
use gridrig_core::event::Party;
use gridrig_core::ids::DomainId;
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;

/// Which faults happen, all from one seed: to messages by rates, to services at
/// instants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPlan {
    /// What happens to messages between brokers.
    pub between: Rates,
    /// What happens to messages within a domain: between a broker and its LRMSs,
    /// and from clients.
    pub within: Rates,
    /// From then on nothing happens to messages by rates.
    pub until: SimTime,
    /// Services that cannot be reached for a time.
    pub outages: Vec<Outage>,
    /// Brokers that stop and are there again.
    pub restarts: Vec<Restart>,
    /// How fast the clock of the run goes beside that of the wall, above 0.
    pub speed: Decimal,
    /// Time between the heartbeats of a session, on the wall.
    pub heartbeat: SimDuration,
    /// A peer that is away for longer is given up, on the wall.
    pub give_up: SimDuration,
    /// When the client takes a service for lost.
    pub patience: Patience,
}

/// What happens to messages of one kind of link. Of what happens by chance, each
/// happens once in so many times, and never with 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Every message comes later by this.
    pub delay: SimDuration,
    /// And by at most this, drawn for each.
    pub jitter: SimDuration,
    /// A request is lost: its receiver never sees it.
    pub lost: u32,
    /// An answer is lost, so that its request is repeated.
    pub repeated: u32,
    /// A message is overtaken by those that are sent within a second.
    pub overtaken: u32,
}

/// A service that cannot be reached, and reaches nobody, for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Whose.
    pub of: Party,
    /// Towards whom; `None`: towards everybody.
    pub towards: Option<Party>,
    /// Since when.
    pub from: SimTime,
    /// Until when.
    pub until: SimTime,
    /// Whether it takes requests in and never answers them: else nobody finds a
    /// way to it.
    pub silent: bool,
}

/// A broker that stops, with all that it has not sent off, and is there again
/// later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Whose broker.
    pub broker: DomainId,
    /// When it stops.
    pub at: SimTime,
    /// When it is there again.
    pub back: SimTime,
    /// What it then knows, restarted. `None`: it has only stood still, as a
    /// process does that is stopped and goes on.
    pub anew: Option<Memory>,
}

impl Default for FaultPlan {
    /// Nothing goes wrong; the clocks go alike, sessions are as services keep them,
    /// and the client waits for whoever is away as long as it takes.
    fn default() -> Self {
        FaultPlan {
            between: Rates::default(),
            within: Rates::default(),
            until: SimTime::MAX,
            outages: Vec::new(),
            restarts: Vec::new(),
            speed: Decimal::ONE,
            heartbeat: SimDuration::from_secs(10),
            give_up: SimDuration::from_secs(300),
            patience: Patience {
                comes_back: SimDuration::from_nanos(u64::MAX),
                ..Patience::default()
            },
        }
    }
}

/// How often something has gone wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Requests lost.
    pub lost: u64,
    /// Answers lost.
    pub repeated: u64,
    /// Messages overtaken.
    pub overtaken: u64,
    /// Tries in vain to reach somebody who could not be reached.
    pub cut: u64,
    /// Messages that were given up after all tries.
    pub given_up: u64,
    /// Brokers that had stopped and are there again.
    pub restarted: u64,
}

/// How much later a message comes that is overtaken.
const DETOUR: SimDuration = SimDuration::from_secs(1);

/// What meets a try to deliver a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It gets through, and so does the answer.
    Open,
    /// It gets through, the answer does not.
    NoAnswer,
    /// It does not get through, and nobody says so.
    Lost,
    /// There is no way to the receiver.
    Closed,
}

/// A plan as it is carried out.
pub(crate) struct Links<'a> {
    pub plan: &'a FaultPlan,
    pub counts: FaultCounts,
    rng: ChaCha8Rng,
}

impl<'a> Links<'a> {
    pub fn new(plan: &'a FaultPlan, seed: u64) -> Self {
        Links {
            plan,
            counts: FaultCounts::default(),
            rng: rng::stream(seed, "faults"),
        }
    }

    /// When a message arrives that was to arrive at `due`.
    pub fn arrival(&mut self, now: SimTime, due: SimTime, from: Party, to: Party) -> SimTime {
        let rates = self.rates(now, from, to);
        let mut at = due.max(now) + rates.delay;
        if !rates.jitter.is_zero() {
            let nanos = self.rng.random_range(0..=rates.jitter.as_nanos());
            at += SimDuration::from_nanos(nanos);
        }
        if self.once_in(rates.overtaken) {
            self.counts.overtaken += 1;
            at += DETOUR;
        }
        at
    }

    /// What meets a try to deliver something now.
    pub fn passage(&mut self, now: SimTime, from: Party, to: Party) -> Passage {
        let joins = |outage: &&Outage| {
            let other = |one: Party| outage.towards.is_none_or(|towards| towards == one);
            let here = (outage.of == from && other(to)) || (outage.of == to && other(from));
            here && outage.from <= now && now < outage.until
        };
        if let Some(outage) = self.plan.outages.iter().find(joins) {
            self.counts.cut += 1;
            return match outage.silent {
                true => Passage::Lost,
                false => Passage::Closed,
            };
        }
        let rates = self.rates(now, from, to);
        if self.once_in(rates.lost) {
            self.counts.lost += 1;
            return Passage::Lost;
        }
        if self.once_in(rates.repeated) {
            self.counts.repeated += 1;
            return Passage::NoAnswer;
        }
        Passage::Open
    }

    fn rates(&self, now: SimTime, from: Party, to: Party) -> Rates {
        if now >= self.plan.until {
            return Rates::default();
        }
        match (from, to) {
            (Party::Broker(_), Party::Broker(_)) => self.plan.between,
            _ => self.plan.within,
        }
    }

    fn once_in(&mut self, times: u32) -> bool {
        times > 0 && self.rng.random_range(0..times) == 0
    }
}
