//! A plan of faults as it is carried out: what of it meets one message.

use gridrig_core::agent::Patience;
use gridrig_core::event::Party;
use gridrig_core::faults::{Chance, FaultPlan, Restart};
use gridrig_core::ids::DomainId;
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_core::transport::TransportError;
use parking_lot::Mutex;
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::collections::BTreeSet;
use std::fs::File;
use std::future::Future;
use std::io::{self, Write as _};
use std::path::Path;
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

    /// Adds what was noted in a file ([`Faults::note_in`]): a digit for each time, the
    /// place of the count among all.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn add_noted(&mut self, path: &Path) -> io::Result<()> {
        for digit in std::fs::read(path)? {
            match digit {
                b'0' => self.lost += 1,
                b'1' => self.repeated += 1,
                b'2' => self.overtaken += 1,
                b'3' => self.cut += 1,
                b'4' => self.given_up += 1,
                _ => self.restarted += 1,
            }
        }
        Ok(())
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
    pub fn new(plan: FaultPlan, seed: u64, stream: &str) -> Self {
        Links {
            plan,
            counts: FaultCounts::default(),
            rng: rng::stream(seed, stream),
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

/// A plan that all services of a process share in real time; by default nothing goes
/// wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults(Option<Arc<Mutex<InRealTime>>>);

#[derive(Debug)]
struct InRealTime {
    links: Links,
    /// When brokers are away.
    absences: Vec<Restart>,
    /// What goes wrong is also noted there.
    notes: Option<File>,
}

impl Faults {
    /// Carries this plan out, with the stream of this name of the seed.
    pub fn new(plan: FaultPlan, seed: u64, stream: &str) -> Self {
        let brokers: BTreeSet<_> = plan.restarts.iter().map(|one| one.broker).collect();
        let absences = brokers.into_iter().flat_map(|one| plan.absences(one));
        Faults(Some(Arc::new(Mutex::new(InRealTime {
            absences: absences.collect(),
            links: Links::new(plan, seed, stream),
            notes: None,
        }))))
    }

    /// From now on what goes wrong is noted in this file too, and counts on from what
    /// it has: a process may die.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn note_in(&self, path: &Path) -> io::Result<()> {
        if let Some(all) = &self.0 {
            let file = File::options().create(true).append(true).open(path)?;
            let mut all = all.lock();
            all.links.counts.add_noted(path)?;
            all.notes = Some(file);
        }
        Ok(())
    }

    /// How often something has gone wrong; `None` without a plan.
    pub fn counts(&self) -> Option<FaultCounts> {
        Some(self.0.as_ref()?.lock().links.counts)
    }

    /// When the client takes a service for lost; `None` without a plan.
    pub fn patience(&self) -> Option<Patience> {
        Some(self.0.as_ref()?.lock().links.plan.patience)
    }

    /// Whether any broker is restarted.
    pub fn restarts(&self) -> bool {
        let mut all = self.0.iter();
        all.any(|all| !all.lock().absences.is_empty())
    }

    /// When this broker is away, in order.
    pub fn absences(&self, broker: DomainId) -> Vec<Restart> {
        let all = self.0.iter().flat_map(|all| all.lock().absences.clone());
        all.filter(|one| one.broker == broker).collect()
    }

    /// What `change` makes of the plan, once the run has begun; what goes wrong in that
    /// is noted.
    fn note<T>(&self, now: SimTime, change: impl FnOnce(&mut InRealTime) -> T) -> Option<T> {
        // Before its clock runs, a run has services that get to know each other.
        let all = self.0.as_ref().filter(|_| now > SimTime::ZERO)?;
        let mut all = all.lock();
        let before = all.links.counts.named();
        let made = change(&mut all);
        let counts = all.links.counts.named();
        if let Some(mut notes) = all.notes.as_ref() {
            let pairs = counts.into_iter().zip(before).enumerate();
            for (place, ((_, now), (_, before))) in pairs {
                let text = place.to_string().repeat((now - before) as usize);
                // Where the disk is full the journals say so.
                let _ = notes.write_all(text.as_bytes());
            }
        }
        Some(made)
    }

    /// A message was given up after all tries.
    pub(crate) fn note_given_up(&self) {
        self.note(SimTime::MAX, |all| all.links.counts.given_up += 1);
    }

    /// A broker is there again.
    pub fn note_restart(&self) {
        self.note(SimTime::MAX, |all| all.links.counts.restarted += 1);
    }

    /// By how much later a message arrives that leaves now.
    pub(crate) fn delay(&self, now: SimTime, from: Party, to: Party) -> SimDuration {
        let arrival = self.note(now, |all| all.links.arrival(now, now, from, to));
        arrival.map_or(SimDuration::ZERO, |at| at.since(now))
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
        let passage = self.note(now, |all| {
            let passage = all.links.passage(now, from, to, is_information);
            let mut absences = all.absences.iter();
            let is_away = |one: &Restart| one.at <= now && now < one.back;
            match absences.any(|one| is_away(one) && Party::Broker(one.broker) == to) {
                true if passage != Passage::Lost => Passage::Closed,
                _ => passage,
            }
        });
        let (to, why) = (format!("{to:?}"), "a planned fault".to_owned());
        match passage.unwrap_or(Passage::Open) {
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
