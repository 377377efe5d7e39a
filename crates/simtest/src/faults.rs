//! Seeded random plans of faults that happen while jobs are under way.

use crate::scenarios::Scenario;
use gridrig_core::agent::Memory;
use gridrig_core::event::Party;
use gridrig_core::faults::{FaultPlan, Outage, Restart};
use gridrig_core::ids::DomainId;
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;

/// Draws the faults of one scenario.
pub struct Draw<'a> {
    scenario: &'a Scenario,
    rng: ChaCha8Rng,
}

impl<'a> Draw<'a> {
    /// For this scenario, by its seed.
    #[must_use]
    pub fn new(scenario: &'a Scenario) -> Self {
        Draw {
            scenario,
            rng: rng::stream(scenario.seed, "scenario.faults"),
        }
    }

    /// Two brokers find no way to each other for a time.
    pub fn partition(&mut self, plan: &mut FaultPlan) {
        let (of, towards) = (self.broker(), self.broker());
        if of != towards {
            self.outage(plan, of, Some(towards), false);
        }
    }

    /// A broker answers nobody for a time.
    pub fn silence(&mut self, plan: &mut FaultPlan) {
        let of = self.broker();
        self.outage(plan, of, None, true);
    }

    /// Brokers are restarted and have forgotten everything, so many times in all.
    pub fn restarts(&mut self, plan: &mut FaultPlan, times: u32) {
        self.stops(plan, times, Some(Memory::None));
    }

    /// Brokers stop, so many times, and go on: restarted with this memory, or,
    /// without one, because they only stood still.
    pub fn stops(&mut self, plan: &mut FaultPlan, times: u32, anew: Option<Memory>) {
        for _ in 0..times {
            let (broker, (at, back)) = (self.broker(), self.span());
            plan.restarts.push(Restart {
                broker,
                at,
                back,
                anew,
            });
        }
    }

    fn outage(
        &mut self,
        plan: &mut FaultPlan,
        of: DomainId,
        towards: Option<DomainId>,
        silent: bool,
    ) {
        let (from, until) = self.span();
        plan.outages.push(Outage {
            of: Party::Broker(of),
            towards: towards.map(Party::Broker),
            from,
            until,
            silent,
            information: false,
        });
    }

    fn broker(&mut self) -> DomainId {
        DomainId(self.rng.random_range(0..self.scenario.grid.domains.len()) as u16)
    }

    /// A time of up to a minute that begins not later than half a minute after
    /// the last submission: there is work then.
    fn span(&mut self) -> (SimTime, SimTime) {
        let last = self.scenario.submissions.last().map(|one| one.at);
        let last = last.unwrap_or(SimTime::ZERO).as_nanos() / MILLI + 30_000;
        let from = SimTime::from_nanos(self.rng.random_range(0..=last) * MILLI);
        let length = SimDuration::from_millis(self.rng.random_range(1..=60_000));
        (from, from + length)
    }
}

const MILLI: u64 = 1_000_000;
