//! Jobs that several clusters run together, each a part.

use super::{Auditor, Life, Place, Rule};
use crate::audit::occupancy::{Fault, processors_of};
use gridrig_core::agent::ClaimShare;
use gridrig_core::cluster::run_time_on;
use gridrig_core::event::Party;
use gridrig_core::job::{Input, JobSpec};
use gridrig_core::placement::PlacementRun;
use gridrig_core::policy::CoAllocation;
use gridrig_core::time::{SimDuration, SimTime};

/// Processors for a part of a job at one cluster.
pub(super) struct Claim<'a> {
    lrms: Party,
    /// When they were asked for last. All parts of a job are asked for at one instant.
    asked_at: SimTime,
    /// What was asked for, as often as no answer is known: a request may have been lost.
    asked: Vec<u64>,
    /// What is held, or was last, and until when.
    held: Option<(JobSpec, &'a [PlacementRun])>,
    ended: Option<SimTime>,
    /// Whether the job has not gone back to its broker since.
    wanted: bool,
}

impl Claim<'_> {
    fn is_held(&self) -> bool {
        self.held.is_some() && self.ended.is_none()
    }
}

impl<'a> Auditor<'a> {
    /// Whether it is to run in what was asked for by claims.
    pub(super) fn runs_together(&self, life: &Life<'a>) -> bool {
        let claims = self.claims.get(&life.job.spec.id).into_iter().flatten();
        claims.into_iter().any(|claim| claim.wanted)
    }

    /// It is back at a broker, from where it may as well go as a whole.
    pub(super) fn unclaimed(&mut self, life: &Life<'a>) {
        if let Some(claims) = self.claims.get_mut(&life.job.spec.id) {
            claims.iter_mut().for_each(|claim| claim.wanted = false);
        }
    }

    fn claim(&mut self, life: &Life<'a>, lrms: Party) -> Option<&mut Claim<'a>> {
        let claims = self.claims.get_mut(&life.job.spec.id)?;
        claims.iter_mut().find(|claim| claim.lrms == lrms)
    }

    pub(super) fn claim_requested(&mut self, life: &Life<'a>, lrms: Party, bits: i64) {
        if !matches!(life.place, Place::Broker(_)) {
            self.find_misplaced(life, "is placed on several clusters");
        }
        let (asked_at, asked) = (life.last, bits.cast_unsigned());
        if let Some(before) = self.claim(life, lrms) {
            (before.asked_at, before.wanted) = (asked_at, true);
            return before.asked.push(asked);
        }
        let claims = self.claims.entry(life.job.spec.id).or_default();
        claims.push(Claim {
            lrms,
            asked_at,
            asked: vec![asked],
            held: None,
            ended: None,
            wanted: true,
        });
    }

    pub(super) fn claimed(&mut self, life: &Life<'a>, lrms: Party, placement: &'a [PlacementRun]) {
        let processors = processors_of(placement);
        let processors = u32::try_from(processors).unwrap_or(u32::MAX);
        let spec = &life.job.spec;
        let part = |bits: &u64| ClaimShare::of_bits(*bits, processors).of(spec, spec.run_time);
        let free = self.claim(life, lrms).filter(|claim| !claim.is_held());
        // The latest that fits, if that is any. Which one it answers is not told: those after the
        // first may be answered yet.
        let answered = free.and_then(|claim| {
            let fits = |bits: &u64| part(bits).is_some_and(|it| it.processors() == processors);
            let first = claim.asked.iter().position(fits);
            let latest = claim.asked.iter().rposition(fits);
            let latest = latest.or(claim.asked.len().checked_sub(1))?;
            let bits = claim.asked[latest];
            claim.asked.drain(..=first.unwrap_or(latest));
            Some(bits)
        });
        let Some(bits) = answered else {
            let message = format!("{} holds processors unasked", self.names.party(lrms));
            return self.find_about(Rule::Claims, life, message);
        };
        let Some(part) = part(&bits) else {
            return self.find_about(Rule::Claims, life, "it has no such components");
        };
        let here = |cluster| Party::Lrms(cluster) == lrms;
        let named = part.components.iter().filter_map(|one| one.cluster);
        if named.into_iter().any(|cluster| !here(cluster)) {
            let message = format!(
                "{} holds a component for another cluster",
                self.names.party(lrms)
            );
            self.find_about(Rule::Claims, life, message);
        }
        let faults = match self.occupancy(lrms) {
            Some(occupancy) => occupancy.take(&part, placement),
            None => vec![(
                Rule::NodeExists,
                "it is at a cluster that does not exist".to_owned(),
            )],
        };
        for (rule, message) in faults {
            self.find_about(rule, life, message);
        }
        if let Some(claim) = self.claim(life, lrms) {
            (claim.held, claim.ended) = (Some((part, placement)), None);
        }
    }

    pub(super) fn claim_refused(&mut self, life: &Life<'a>, lrms: Party) {
        let claim = self.claim(life, lrms);
        match claim.filter(|claim| !claim.is_held() && !claim.asked.is_empty()) {
            Some(claim) => drop(claim.asked.remove(0)),
            None => {
                let message = format!("{} refuses it unasked", self.names.party(lrms));
                self.find_about(Rule::Claims, life, message);
            }
        }
    }

    pub(super) fn claim_ended(&mut self, life: &Life<'a>, lrms: Party) {
        let at = life.last;
        let held = self.claim(life, lrms).filter(|claim| claim.is_held());
        let ended = held.and_then(|claim| {
            claim.ended = Some(at);
            claim.held.clone()
        });
        match (ended, self.occupancy(lrms)) {
            (Some((part, placement)), Some(occupancy)) => occupancy.give_back(&part, placement),
            _ => {
                let message = format!(
                    "{} gives back what it does not hold",
                    self.names.party(lrms)
                );
                self.find_about(Rule::Claims, life, message);
            }
        }
    }

    /// What is held for it, or was until its end: of what was asked for last. What was asked
    /// for before may be held for a while yet.
    fn parts(&self, life: &Life<'a>) -> impl Iterator<Item = (Party, &'a [PlacementRun])> {
        let wanted = self.wanted(life);
        wanted.filter_map(|claim| Some((claim.lrms, claim.held.as_ref()?.1)))
    }

    fn wanted(&self, life: &Life<'a>) -> impl Iterator<Item = &Claim<'a>> {
        let claims = || self.claims.get(&life.job.spec.id).into_iter().flatten();
        let asked_at = claims().map(|claim| claim.asked_at).max();
        let at = life.last;
        claims().filter(move |claim| {
            Some(claim.asked_at) == asked_at && claim.ended.is_none_or(|ended| ended >= at)
        })
    }

    /// When it may start at the earliest: each part has what it reads then.
    fn staged(&self, life: &Life<'a>) -> Option<SimTime> {
        let costs = self.costs(life)?;
        let staged = self.wanted(life).filter_map(|claim| {
            let inputs = &claim.held.as_ref()?.0.inputs;
            let missing = Input::missing_mib(inputs, claim.lrms.cluster()?);
            Some(claim.asked_at + costs.transfer(missing))
        });
        staged.max()
    }

    /// All its processors are to be held, and these by who tells of it.
    pub(super) fn begun_together(
        &self,
        life: &Life<'a>,
        lrms: Party,
        placement: &[PlacementRun],
    ) -> Vec<Fault> {
        let mut faults = Vec::new();
        let sizes: Vec<u64> = self
            .parts(life)
            .map(|(_, held)| processors_of(held))
            .collect();
        let held: u64 = sizes.iter().sum();
        let wanted = u64::from(life.job.spec.processors());
        if held != wanted {
            let message = format!("{held} processors are held for it, expected {wanted}");
            faults.push((Rule::ProcessorCount, message));
        }
        let division = life.job.spec.division.as_deref();
        if division.is_some_and(|division| !division.permits(&sizes)) {
            let message = format!("it is divided into {sizes:?}, which it does not permit");
            faults.push((Rule::Claims, message));
        }
        if !self
            .parts(life)
            .any(|(by, held)| by == lrms && held == placement)
        {
            let message = "it starts on other processors than are held for it".to_owned();
            faults.push((Rule::Claims, message));
        }
        if let Some(staged) = self.staged(life).filter(|staged| *staged > life.last) {
            let message = format!("it starts before {staged}, when all that it reads is there");
            faults.push((Rule::Claims, message));
        }
        faults
    }

    fn costs(&self, life: &Life<'a>) -> Option<&'a CoAllocation> {
        let domain = self.cluster(self.parts(life).next()?.0)?.domain?;
        let domain = self.facts.grid.domains.get(domain.index())?;
        Some(&domain.broker.co_allocation)
    }

    /// How long it runs, as long as everywhere on the slowest of its nodes.
    pub(super) fn together(&self, life: &Life<'a>) -> Option<SimDuration> {
        let spec = &life.job.spec;
        let costs = self.costs(life)?;
        let program = (spec.executable, spec.processors());
        let length = costs.length(program, spec.run_time, self.parts(life).count());
        let lasts = self.parts(life).filter_map(|(lrms, placement)| {
            let config = &self.cluster(lrms)?.config;
            Some(run_time_on(&config.resources, placement, length))
        });
        lasts.max()
    }

    /// At its end: nothing of it has been given back before.
    pub(super) fn look_at_parts(&mut self, life: &Life<'a>) {
        if !self.runs_together(life) {
            return;
        }
        let held: u64 = self.parts(life).map(|(_, held)| processors_of(held)).sum();
        if held != u64::from(life.job.spec.processors()) {
            let message = "some of its processors were given back before it has ended";
            self.find_about(Rule::Claims, life, message);
        }
    }

    /// When the log is over: nothing is held for a job that has ended.
    pub(super) fn look_at_claims(&mut self, life: &Life<'a>) {
        let claims = self.claims.get(&life.job.spec.id).into_iter().flatten();
        let held = claims.filter(|claim| claim.is_held()).count();
        if held > 0 && matches!(life.place, Place::Ended(_)) && !self.facts.partial {
            let message = "processors are held for it after its end";
            self.find(Rule::Claims, life.job.spec.id, None, message);
        }
    }
}
