//! A plan of faults as it is carried out: what of it meets one message.

use gridrig_core::agent::Patience;
use gridrig_core::event::Party;
use gridrig_core::faults::{Chance, FaultPlan};
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_core::transport::TransportError;
use parking_lot::{Mutex, MutexGuard};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::future::Future;
use std::sync::Arc;

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
#[derive(Debug)]
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

/// A plan that all services of a run in real time share; by default nothing goes
/// wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults(Option<Arc<Mutex<Links>>>);

impl Faults {
    /// Carries this plan out, with the stream `faults` of this seed.
    #[must_use]
    pub fn new(plan: FaultPlan, seed: u64) -> Self {
        Faults(Some(Arc::new(Mutex::new(Links::new(plan, seed)))))
    }

    fn links(&self) -> Option<MutexGuard<'_, Links>> {
        let links = self.0.as_ref()?;
        Some(links.lock())
    }

    /// How often something has gone wrong; `None` without a plan.
    #[must_use]
    pub fn counts(&self) -> Option<FaultCounts> {
        self.links().map(|links| links.counts)
    }

    /// When the client takes a service for lost; `None` without a plan.
    #[must_use]
    pub fn patience(&self) -> Option<Patience> {
        self.links().map(|links| links.plan.patience)
    }

    /// A message was given up after all tries.
    pub(crate) fn note_given_up(&self) {
        if let Some(mut links) = self.links() {
            links.counts.given_up += 1;
        }
    }

    /// By how much later a message arrives that leaves now.
    pub(crate) fn delay(&self, now: SimTime, from: Party, to: Party) -> SimDuration {
        let links = self.links().filter(|_| has_begun(now));
        links.map_or(SimDuration::ZERO, |mut links| {
            links.arrival(now, now, from, to).since(now)
        })
    }

    /// Makes a request from one to the other, which may be one of information about
    /// load, as far as the plan lets it through now.
    ///
    /// # Errors
    /// That of the request; that it, or its answer, has not got through.
    pub async fn carry<T>(
        &self,
        now: SimTime,
        (from, to): (Party, Party),
        is_information: bool,
        request: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        let links = self.links().filter(|_| has_begun(now));
        let passage = links.map_or(Passage::Open, |mut links| {
            links.passage(now, from, to, is_information)
        });
        let (to, why) = (format!("{to:?}"), "a planned fault".to_owned());
        match passage {
            Passage::Open => request.await,
            Passage::Closed => Err(TransportError::NotReached { to, why }),
            Passage::Lost => Err(TransportError::NoAnswer { to, why }),
            Passage::NoAnswer => {
                let _ = request.await;
                Err(TransportError::NoAnswer { to, why })
            }
        }
    }
}

/// Before its clock runs, a run has services that get to know each other.
fn has_begun(now: SimTime) -> bool {
    now > SimTime::ZERO
}
