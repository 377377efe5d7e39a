//! A plan of faults as it is carried out: what of it meets one message.

use gridrig_core::event::Party;
use gridrig_core::faults::{Chance, FaultPlan};
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;

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

impl FaultCounts {
    /// Each count under the name that it has in results.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("lost", self.lost),
            ("duplicated", self.repeated),
            ("reordered", self.overtaken),
            ("cut-off", self.cut),
            ("given-up", self.given_up),
            ("restarts", self.restarted),
        ]
    }
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
pub(crate) struct Links {
    pub plan: FaultPlan,
    pub counts: FaultCounts,
    rng: ChaCha8Rng,
}

impl Links {
    pub fn new(plan: FaultPlan, seed: u64) -> Self {
        Links {
            plan,
            counts: FaultCounts::default(),
            rng: rng::stream(seed, "faults"),
        }
    }

    /// When a message arrives that was to arrive at `due`.
    pub fn arrival(&mut self, now: SimTime, due: SimTime, from: Party, to: Party) -> SimTime {
        let rates = self.plan.rates(now, from, to);
        let mut at = due.max(now) + rates.delay;
        if !rates.jitter.is_zero() {
            let nanos = self.rng.random_range(0..=rates.jitter.as_nanos());
            at += SimDuration::from_nanos(nanos);
        }
        if rates.overtaken.happens(&mut self.rng) {
            self.counts.overtaken += 1;
            at += DETOUR;
        }
        at
    }

    /// What meets a try to deliver something now, which may be information about
    /// load.
    pub fn passage(
        &mut self,
        now: SimTime,
        from: Party,
        to: Party,
        is_information: bool,
    ) -> Passage {
        if let Some(outage) = self.plan.outage(now, from, to, is_information) {
            self.counts.cut += 1;
            return match outage.silent {
                true => Passage::Lost,
                false => Passage::Closed,
            };
        }
        let rates = self.plan.rates(now, from, to);
        let mut happens = |chance: Chance, count: &mut u64| {
            let happens = chance.happens(&mut self.rng);
            *count += u64::from(happens);
            happens
        };
        if happens(rates.lost, &mut self.counts.lost) {
            Passage::Lost
        } else if happens(rates.repeated, &mut self.counts.repeated) {
            Passage::NoAnswer
        } else {
            Passage::Open
        }
    }
}
