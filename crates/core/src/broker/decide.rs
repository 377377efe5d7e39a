//! A cycle of a broker: who gets each waiting job.

use super::{Access, Broker, OwnDispatch, view};
use crate::event::{Event, EventKind, EventSink};
use crate::ids::JobId;
use crate::job::Reason;
use crate::message::{Outgoing, Route, Target};
use crate::policy::{
    Candidate, Choice, DomainPolicy, Information, InformationNeed, Rule, Tie, Traveller,
};
use crate::time::SimTime;
use rand::RngExt;

impl Broker {
    /// Decides every waiting job, first come first served, on one view.
    pub fn handle_cycle(
        &mut self,
        now: SimTime,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        self.last_cycle = Some(now);
        if now >= self.reopening {
            self.queue.append(&mut self.parked);
        }
        match self.rule {
            Rule::Candidates(_) => self.compare_candidates(now, events, out),
            Rule::Domains(_) => self.weigh_domains(now, events, out),
        }
    }

    fn compare_candidates(
        &mut self,
        now: SimTime,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let counts_own = self.config.settings.own_dispatch == OwnDispatch::Debited
            || self.rule.need() == InformationNeed::Truth;
        let mut view: Vec<Candidate> = self
            .known
            .iter()
            .map(|known| known.candidate(counts_own))
            .collect();
        while let Some((_, job)) = self.queue.pop_first() {
            match self.choose_candidate(now, job, &view) {
                Ok(chosen) => {
                    let held = &self.jobs[&job];
                    if counts_own {
                        let work = view::work_of(&held.spec);
                        view::debit(&mut view[chosen], held.spec.processors, work);
                        self.known[chosen].note_sent(now, &held.spec);
                    }
                    self.send(now, job, chosen, events, out);
                }
                Err(None) => self.park(now, job),
                Err(Some(reason)) => self.turn_away(now, job, reason, events, out),
            }
        }
    }

    fn weigh_domains(
        &mut self,
        now: SimTime,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let counts_own = self.config.settings.own_dispatch == OwnDispatch::Debited;
        let (Rule::Domains(policy), Some(survey)) = (&self.rule, &mut self.survey) else {
            return;
        };
        let aggregates = policy.information() == Information::Aggregated;
        // What was sent is counted anew in each cycle: it changes with time.
        if std::mem::take(&mut self.informed) || counts_own {
            survey.refresh(&self.known, counts_own);
            if aggregates {
                survey.sum_up();
            }
        }
        while let Some((_, job)) = self.queue.pop_first() {
            match self.choose_domain(now, job) {
                Ok(chosen) => {
                    let held = &self.jobs[&job];
                    if let (true, Some(survey)) = (counts_own, &mut self.survey) {
                        let site = survey.debit(chosen, held.spec.processors);
                        if aggregates {
                            survey.sum_up_one(site);
                        }
                        self.known[chosen].note_sent(now, &held.spec);
                    }
                    self.send(now, job, chosen, events, out);
                }
                Err(None) => self.park(now, job),
                Err(Some(reason)) => self.turn_away(now, job, reason, events, out),
            }
        }
    }

    /// Only closed peers can take the job: it waits until one opens.
    fn park(&mut self, now: SimTime, job: JobId) {
        let closed = self.known.iter().filter_map(|known| known.reopening(now));
        // Someone is closed, or the job would not wait.
        self.reopening = closed.min().unwrap_or(now);
        self.parked.insert(self.jobs[&job].arrival, job);
    }

    /// A candidate by comparing them one by one; `Err(None)` while only closed
    /// peers can take the job.
    fn choose_candidate(
        &mut self,
        now: SimTime,
        job: JobId,
        view: &[Candidate],
    ) -> Result<usize, Option<Reason>> {
        let Rule::Candidates(policy) = &self.rule else {
            return Err(Some(Reason::NoCandidate));
        };
        let held = &self.jobs[&job];
        let hops_left = match held.route.settled {
            true => 0,
            false => self.config.settings.hops().saturating_sub(held.route.hop),
        };
        let possible = |index: &usize| {
            let known = &self.known[*index];
            let within_hops = match known.target {
                Target::Cluster(_) => known.could_run(&held.spec, 0),
                Target::Peer(_) => hops_left > 0 && known.could_run(&held.spec, hops_left - 1),
            };
            within_hops
                && known.access != Access::Gone
                && !held.refused_by.contains(&known.target)
                && policy.admits(&view[*index])
        };
        let mut tied: Vec<usize> = Vec::with_capacity(view.len());
        let mut closed = false;
        for index in (0..view.len()).filter(possible) {
            if !self.known[index].is_open(now) {
                closed = true;
                continue;
            }
            let order = match tied.first() {
                None => std::cmp::Ordering::Equal,
                Some(&best) => policy.compare(&held.spec, &view[index], &view[best]),
            };
            if order.is_lt() {
                tied.clear();
            }
            if order.is_le() {
                tied.push(index);
            }
        }
        match (tied.is_empty(), closed) {
            (true, true) => Err(None),
            (true, false) => Err(Some(self.no_candidate(job))),
            (false, _) => {
                let tie = policy.tie(self.config.settings.tie);
                Ok(self.break_tie(tied, tie))
            }
        }
    }

    /// A candidate by weighing domains; `Err(None)` while only closed peers can
    /// take the job.
    fn choose_domain(&mut self, now: SimTime, job: JobId) -> Result<usize, Option<Reason>> {
        let (Rule::Domains(policy), Some(_)) = (&self.rule, &self.survey) else {
            return Err(Some(Reason::NoCandidate));
        };
        match self.ask(policy.as_ref(), job, Some(now)) {
            Choice::Tied(all) if !all.is_empty() => {
                Ok(self.break_tie(all, self.config.settings.tie))
            }
            Choice::AtRandom(all) if !all.is_empty() => Ok(self.break_tie(all, Tie::Random)),
            Choice::InTurn(all) if !all.is_empty() => {
                let turn = (self.peer_turn % all.len() as u64) as usize;
                self.peer_turn += 1;
                Ok(all[turn])
            }
            Choice::Return => Err(Some(Reason::HopsExhausted)),
            _ => match self.ask(policy.as_ref(), job, None) {
                Choice::Nobody | Choice::Return => Err(Some(self.no_candidate(job))),
                _ => Err(None),
            },
        }
    }

    fn no_candidate(&self, job: JobId) -> Reason {
        match self.jobs[&job].refused_by.is_empty() {
            true => Reason::NoCandidate,
            false => Reason::AllRefused,
        }
    }

    /// What the policy says, with the peers that are open at this instant, or
    /// with all of them.
    fn ask(&self, policy: &dyn DomainPolicy, job: JobId, at: Option<SimTime>) -> Choice {
        let Some(survey) = &self.survey else {
            return Choice::Nobody;
        };
        let held = &self.jobs[&job];
        let spec = &held.spec;
        let wanted = survey.wanted(&spec.requirements);
        let own = self.config.clusters.len();
        let refused = |index: usize| {
            let known = &self.known[index];
            known.access == Access::Gone || held.refused_by.contains(&known.target)
        };
        let left = self.config.settings.hops().saturating_sub(held.route.hop);
        let open = |position: usize, by: Information| {
            let index = own + position - 1;
            let beyond = || left > 1 && self.known[index].could_run(spec, left - 1);
            let is_open = at.is_none_or(|at| self.known[index].is_open(at));
            left > 0
                && is_open
                && !refused(index)
                && (survey.suits(position, wanted, spec, by) || beyond())
        };
        let traveller = Traveller {
            job: spec,
            wanted,
            route: held.route,
            refused_here: &refused,
            open: &open,
        };
        policy.choose(&traveller, survey.sites())
    }

    /// One of the equally good ones, never an empty list.
    fn break_tie(&mut self, mut tied: Vec<usize>, rule: Tie) -> usize {
        let turn = self.turn;
        self.turn += 1;
        if rule == Tie::Local {
            let own = |index: &usize| matches!(self.known[*index].target, Target::Cluster(_));
            if tied.iter().any(own) {
                tied.retain(own);
            }
        }
        match rule {
            Tie::Rotate | Tie::Local => {
                let turn = (turn % tied.len() as u64) as usize;
                tied[turn]
            }
            Tie::First => tied[0],
            Tie::Random => tied[self.rng.random_range(0..tied.len())],
        }
    }

    fn send(
        &mut self,
        now: SimTime,
        job: JobId,
        chosen: usize,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let target = self.known[chosen].target;
        self.send_to(now, job, target, events, out);
    }

    pub(super) fn send_to(
        &mut self,
        now: SimTime,
        job: JobId,
        target: Target,
        events: &mut impl EventSink,
        out: &mut Vec<Outgoing>,
    ) {
        let domain = self.config.domain;
        let held = self.jobs.get_mut(&job).expect("a queued job is held");
        held.sent = Some(target);
        held.sent_at = now;
        let mut route = Route {
            from: Some(domain),
            ..held.route
        };
        match target {
            Target::Cluster(cluster) => {
                events.emit(
                    now,
                    Event::new(EventKind::Dispatched, job, domain).to(cluster),
                );
                out.push(Outgoing::Dispatch {
                    job,
                    cluster,
                    route,
                });
            }
            Target::Peer(to) => {
                events.emit(now, Event::new(EventKind::Forwarded, job, domain).to(to));
                route.hop += 1;
                out.push(Outgoing::Forward { job, to, route });
            }
        }
    }
}
