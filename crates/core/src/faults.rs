//! Which faults happen in a run, as a plan: to messages by chance, to services at
//! instants. Drivers carry it out, in virtual and in real time.

use crate::agent::{Memory, Patience};
use crate::event::Party;
use crate::ids::DomainId;
use crate::time::{Decimal, SimDuration, SimTime, gcd};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;

/// Which faults happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPlan {
    /// What happens to messages: of several that concern one, the first.
    pub links: Vec<LinkFaults>,
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

/// What happens to some messages for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFaults {
    /// To which.
    pub on: Scope,
    /// Since when.
    pub from: SimTime,
    /// Until when.
    pub until: SimTime,
    /// What.
    pub rates: Rates,
}

/// The ways that some messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All.
    All,
    /// Between brokers.
    Brokers,
    /// Within a domain: between a broker and its LRMSs, and from clients.
    Domain,
    /// To and from one, towards one other or towards everybody.
    Of(Party, Option<Party>),
}

/// What happens to messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Every message comes later by this.
    pub delay: SimDuration,
    /// And by at most this, drawn for each.
    pub jitter: SimDuration,
    /// A request is lost: its receiver never sees it.
    pub lost: Chance,
    /// An answer is lost, so that its request is repeated.
    pub repeated: Chance,
    /// A message is overtaken by those that are sent within a second.
    pub overtaken: Chance,
}

/// A probability below 1, as an exact fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chance {
    times: u32,
    of: u32,
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
    /// Whether only information about load is affected.
    pub information: bool,
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
            links: Vec::new(),
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

impl FaultPlan {
    /// Whether nothing goes wrong.
    pub fn is_empty(&self) -> bool {
        let nothing = Rates::default();
        let links = self.links.iter().all(|link| link.rates == nothing);
        links && self.outages.is_empty() && self.restarts.is_empty()
    }

    /// When a broker is away, in order: one that crashes while it is away is back when
    /// the first that it has crashed by is.
    pub fn absences(&self, broker: DomainId) -> Vec<Restart> {
        let own = self.restarts.iter().filter(|one| one.broker == broker);
        let crashes = own.clone().map(|one| (one.at, None));
        let returns = own.map(|one| (one.back, Some(*one)));
        let mut steps: Vec<_> = crashes.chain(returns).collect();
        steps.sort_by_key(|(at, back)| (*at, back.is_some()));
        let (mut absences, mut away) = (Vec::new(), None);
        for (now, back) in steps {
            match (back, away) {
                (None, None) => away = Some(now),
                (Some(back), Some(at)) => {
                    away = None;
                    absences.push(Restart { at, ..back });
                }
                _ => {}
            }
        }
        absences
    }

    /// What happens by chance to a message from one to the other at this instant.
    pub fn rates(&self, now: SimTime, from: Party, to: Party) -> Rates {
        let concerns =
            |link: &&LinkFaults| link.from <= now && now < link.until && link.on.have(from, to);
        let link = self.links.iter().find(concerns);
        link.map_or_else(Rates::default, |link| link.rates)
    }

    /// The outage that a message from one to the other meets at this instant, which
    /// may be one of `information`.
    pub fn outage(
        &self,
        now: SimTime,
        from: Party,
        to: Party,
        information: bool,
    ) -> Option<&Outage> {
        self.outages.iter().find(|outage| {
            let meets = information || !outage.information;
            let on = Scope::Of(outage.of, outage.towards);
            meets && outage.from <= now && now < outage.until && on.have(from, to)
        })
    }
}

impl LinkFaults {
    /// This happens to all messages, all the time.
    pub fn everywhere(rates: Rates) -> Self {
        LinkFaults {
            on: Scope::All,
            from: SimTime::ZERO,
            until: SimTime::MAX,
            rates,
        }
    }
}

impl Scope {
    fn have(self, from: Party, to: Party) -> bool {
        let between_brokers = matches!((from, to), (Party::Broker(_), Party::Broker(_)));
        match self {
            Scope::All => true,
            Scope::Brokers => between_brokers,
            Scope::Domain => !between_brokers,
            Scope::Of(one, towards) => {
                let other = |party: Party| towards.is_none_or(|towards| towards == party);
                (one == from && other(to)) || (one == to && other(from))
            }
        }
    }
}

impl Chance {
    /// Once in so many times on average; never with 0.
    pub const fn once_in(times: u32) -> Self {
        Chance {
            times: (times > 0) as u32,
            of: times,
        }
    }

    /// This probability; `None` for one of 1 or more, and for one with more than
    /// nine decimal places.
    pub fn new(probability: Decimal) -> Option<Self> {
        let (times, of) = probability.ratio();
        let shared = gcd(times, of);
        let chance = Chance {
            times: (times / shared).try_into().ok()?,
            of: (of / shared).try_into().ok()?,
        };
        match chance.times {
            0 => Some(Chance::default()),
            _ => (chance.times < chance.of).then_some(chance),
        }
    }

    /// Whether it happens this time; nothing is drawn for what never does.
    pub fn happens(self, rng: &mut ChaCha8Rng) -> bool {
        self.times > 0 && rng.random_range(0..self.of) < self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_that_crashes_while_it_is_away_is_back_when_the_first_is() {
        let restart = |broker, at, back| Restart {
            broker: DomainId(broker),
            at: SimTime::from_secs(at),
            back: SimTime::from_secs(back),
            anew: Some(Memory::None),
        };
        let plan = FaultPlan {
            restarts: vec![
                restart(0, 10, 100),
                restart(0, 20, 50),
                restart(1, 1, 2),
                restart(0, 60, 200),
                restart(0, 100, 110),
            ],
            ..FaultPlan::default()
        };
        // At one instant it crashes first, which it has already, and is back then.
        let expected = [restart(0, 10, 50), restart(0, 60, 100)];
        assert_eq!(plan.absences(DomainId(0)), expected);
        assert_eq!(plan.absences(DomainId(1)), [restart(1, 1, 2)]);
        assert_eq!(plan.absences(DomainId(2)), []);
    }

    #[test]
    fn a_probability_is_an_exact_fraction_below_1() {
        let chance = |text| Chance::new(Decimal::parse(text).unwrap());
        assert_eq!(chance("0.001"), Some(Chance::once_in(1000)));
        assert_eq!(chance("0.4"), Some(Chance { times: 2, of: 5 }));
        assert_eq!(chance("0.999999999").unwrap().of, 1_000_000_000);
        for never in ["1", "1.5", "0.0000000001"] {
            assert_eq!(chance(never), None, "{never}");
        }
        let mut rng = crate::rng::stream(1, "test");
        let chance = chance("0.4").unwrap();
        let happened = (0..10_000).filter(|_| chance.happens(&mut rng)).count();
        assert!((3_800..4_200).contains(&happened), "{happened}");
        assert_eq!(Chance::new(Decimal::ZERO), Some(Chance::once_in(0)));
        assert!(!Chance::once_in(0).happens(&mut rng));
    }
}
