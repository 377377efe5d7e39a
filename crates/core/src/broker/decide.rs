//! A cycle of a broker: who gets each waiting job.

use super::matchmaking::Fit;
use super::{Access, Broker};
use crate::agent::{BrokerSends, Cx, FromBroker, Passed};
use crate::decision::{Decision, Outcome, Standing};
use crate::event::{Event, EventKind};
use crate::ids::JobId;
use crate::job::{JobRequest, Reason};
use crate::message::{Route, Target};
use crate::policy::{Blocking, Choice, Placement, Queued, Tie};
use crate::time::{SimDuration, SimTime};
use rand::RngExt;
use std::collections::BTreeMap;

/// What becomes of a waiting job in a cycle.
enum Verdict {
    /// It goes to this candidate.
    Send(usize),
    /// It waits for room.
    Hold,
    /// It waits because the policy says so.
    HoldAlone,
    /// It waits for one that is closed.
    Park,
    /// Nobody takes it.
    TurnAway(Reason),
}

impl Broker {
    /// Decides every waiting job, first come first served, on one view.
    pub(crate) fn handle_cycle(&mut self, cx: &mut impl Cx<BrokerSends>) {
        let now = cx.now();
        self.last_cycle = Some(now);
        if now >= self.reopening {
            self.queue.append(&mut self.parked);
        }
        while let Some(first) = self.resting.first_entry()
            && first.key().0 <= now
        {
            let ((_, arrival), job) = first.remove_entry();
            self.queue.insert(arrival, job);
        }
        let informed = std::mem::take(&mut self.informed);
        self.survey.refresh(&self.known, informed);
        if self.policy.reads_queue() {
            self.show_queue(now);
        }
        let order = self.matched(cx, |own, broker, cx| own.begin(broker, cx));
        let mut order = order.flatten().map(Vec::into_iter);
        let blocks = order.is_none() && self.config.settings.blocking == Blocking::Head;
        let mut held = BTreeMap::new();
        while let Some((arrival, job)) = match &mut order {
            None => self.queue.pop_first(),
            Some(order) => order.find_map(|next| self.queue.remove_entry(&next)),
        } {
            let (verdict, told) = self.choose(now, job, cx.wants_decision(job));
            let outcome = match verdict {
                Verdict::Send(chosen) => self.send_chosen(cx, job, chosen),
                Verdict::Hold => {
                    held.insert(arrival, job);
                    Outcome::WaitsForRoom
                }
                Verdict::HoldAlone => {
                    held.insert(arrival, job);
                    Outcome::Held
                }
                Verdict::Park => {
                    self.park(now, job);
                    Outcome::WaitsForOpening
                }
                Verdict::TurnAway(reason) => {
                    self.turn_away(cx, job, reason);
                    Outcome::TurnedAway(reason)
                }
            };
            if let Some(mut decision) = told {
                decision.outcome = outcome;
                self.tell_parts(&mut decision);
                cx.decided(now, *decision);
            }
            if blocks && outcome == Outcome::WaitsForRoom && !self.survey.waits_away {
                break;
            }
        }
        self.queue.extend(held);
    }

    /// A job goes to this candidate: what is predicted of it is told before, unless a start is
    /// guaranteed, or not known ([`SimTime::MAX`]), and it counts as sent.
    pub(super) fn count_on(
        &mut self,
        cx: &mut impl Cx<BrokerSends>,
        job: JobId,
        chosen: usize,
        starts: Option<SimTime>,
    ) {
        let (now, spec) = (cx.now(), &self.jobs[&job].spec);
        let predicts = self.survey.predicts && starts.is_none();
        let forecast = predicts.then(|| {
            let view = &self.survey.view;
            self.policy.forecast(&JobRequest::from(spec), view, chosen)
        });
        let starts = starts.or(forecast.flatten().map(|it| now + it.start));
        if let Some(starts) = starts.filter(|at| *at < SimTime::MAX) {
            let predicted = Event::new(EventKind::Predicted, job, self.config.domain);
            cx.emit(now, predicted.at(starts));
        }
        if self.survey.counts_own {
            self.survey.debit(chosen, spec);
            self.known[chosen].note_sent(now, spec);
        }
    }

    /// A job goes to the candidate that was chosen for it, unless the matchmaking sees
    /// to it.
    fn send_chosen(&mut self, cx: &mut impl Cx<BrokerSends>, job: JobId, chosen: usize) -> Outcome {
        // Where one of several reservations is kept, that says where it goes.
        let later = self.config.settings.policy.placement() == Some(Placement::KeptReservation);
        if !later {
            self.count_on(cx, job, chosen, None);
        }
        let target = self.known[chosen].target;
        match self.matched(cx, |own, it, cx| own.take(it, cx, job, chosen)) {
            Some(true) => Outcome::Arranged,
            _ => {
                if later {
                    self.count_on(cx, job, chosen, None);
                }
                self.send_to(cx, job, target);
                Outcome::Sent
            }
        }
    }

    /// What becomes of a waiting job, and how that came about if that is wanted.
    fn choose(
        &mut self,
        now: SimTime,
        job: JobId,
        wanted: bool,
    ) -> (Verdict, Option<Box<Decision>>) {
        let (mut choice, closed) = self.ask(job, Some(now));
        let window = self.jobs[&job].spec.start_window.as_deref();
        if window.is_some_and(|window| window.latest < now) {
            choice = Choice::Reject(Reason::NotReserved);
        }
        let mut told = wanted.then(|| Box::new(self.consider(now, job, &choice)));
        let verdict = self.settle(job, choice, closed);
        if let (Some(told), Verdict::Send(chosen)) = (&mut told, &verdict) {
            told.candidates[*chosen].standing = Standing::Chosen;
        }
        (verdict, told)
    }

    fn settle(&mut self, job: JobId, choice: Choice, closed: bool) -> Verdict {
        match choice {
            // None has room.
            Choice::Among(none, _) | Choice::InTurn(none)
                if none.is_empty() && self.survey.lacks_room =>
            {
                Verdict::Hold
            }
            Choice::Among(all, tie) if !all.is_empty() => match self.with_room(job, all) {
                none if none.is_empty() => Verdict::Hold,
                some => Verdict::Send(self.break_tie(some, tie)),
            },
            Choice::InTurn(all) if !all.is_empty() => {
                let turn = (self.peer_turn % all.len() as u64) as usize;
                self.peer_turn += 1;
                Verdict::Send(all[turn])
            }
            Choice::Hold => Verdict::HoldAlone,
            Choice::Reject(reason) => Verdict::TurnAway(reason),
            Choice::Among(..) | Choice::InTurn(_) if closed => match self.ask(job, None).0 {
                Choice::Among(all, _) | Choice::InTurn(all) if !all.is_empty() => Verdict::Park,
                _ if self.survey.lacks_room => Verdict::Park,
                _ => Verdict::TurnAway(self.no_candidate(job)),
            },
            _ => Verdict::TurnAway(self.no_candidate(job)),
        }
    }

    /// Those of equally good ones that have room for a job, or all where it does not
    /// wait for any. Nor does it wait for room at a peer whose own clusters could
    /// never run it: those that could are further on.
    fn with_room(&self, job: JobId, mut all: Vec<usize>) -> Vec<usize> {
        if self.survey.late {
            let request = JobRequest::from(&self.jobs[&job].spec);
            all.retain(|&index| {
                let known = &self.known[index];
                known.has_room(request.processors) || !known.could_run_where_it_tells(&request)
            });
        }
        all
    }

    /// What the policy says, with the candidates that are open at this instant,
    /// or with all of them; and whether some were left out for being closed.
    fn ask(&mut self, job: JobId, at: Option<SimTime>) -> (Choice, bool) {
        let closed = self.find_possible(job, at);
        let request = JobRequest::from(&self.jobs[&job].spec);
        (self.policy.choose(&request, &self.survey.view), closed)
    }

    /// The waiting jobs for a policy that wants them all at once. It is shown no job that
    /// nobody may have: that is a matter of the broker's.
    fn show_queue(&mut self, now: SimTime) {
        let mut waiting = Vec::with_capacity(self.queue.len());
        for job in self.queue.values().copied().collect::<Vec<_>>() {
            self.find_possible(job, Some(now));
            let possible = &self.survey.view.possible;
            if !possible.is_empty() {
                waiting.push((job, possible.clone()));
            }
        }
        let queued = waiting.into_iter().map(|(job, possible)| Queued {
            request: JobRequest::from(&self.jobs[&job].spec),
            possible,
        });
        let queued: Vec<Queued<'_>> = queued.collect();
        self.policy.read_queue(now, &queued, &self.survey.view);
    }

    /// Turns to a job and finds its possible candidates, those that are open at this
    /// instant or all of them; answers whether some were left out for being closed.
    fn find_possible(&mut self, job: JobId, at: Option<SimTime>) -> bool {
        let held = &self.jobs[&job];
        let request = JobRequest::from(&held.spec);
        let hops_left = self.hops_left(held.route);
        self.survey.turn_to(&request, held.route);
        if self.survey.predicts {
            let said = request.preferences.and_then(|own| own.stage_in);
            let known = self.known.iter().map(|known| {
                // Its size and the bandwidth tell more than its user does.
                let peer = known.target.peer();
                let computed = peer.and_then(|peer| self.carries(peer, held));
                self.config.latency(known.target) + computed.or(said).unwrap_or_default()
            });
            self.survey.view.stage_in = known.collect();
        }
        let (mut closed, mut later, mut away) = (false, false, false);
        for (index, known) in self.known.iter().enumerate() {
            // Where the first one stands for all, the matchmaking sees to who is open.
            let for_all = self.survey.together;
            let able = self.survey.suits(index, known, &request, hops_left);
            let out = known.access == Access::Gone || held.refused_by.contains(&known.target);
            if !for_all && (!able || out) {
                continue;
            }
            match for_all || at.is_none_or(|at| known.is_open(at)) {
                true => match self.fit(index, held) {
                    Fit::Now => self.survey.view.possible.push(index),
                    Fit::Later => later = true,
                    Fit::Away => away = true,
                    Fit::Never => {}
                },
                false => closed = true,
            }
        }
        self.survey.lacks_room = later || away;
        self.survey.waits_away = away && !later;
        closed
    }

    /// Forwards left to a job that has come this way. One that is to stay goes on only
    /// from where it entered.
    pub(super) fn hops_left(&self, route: Route) -> u32 {
        match route.settled && route.from.is_some() {
            true => 0,
            false => self.survey.hops.saturating_sub(route.hop),
        }
    }

    /// Only closed peers can take the job: it waits until one opens or its window closes.
    fn park(&mut self, now: SimTime, job: JobId) {
        let closed = self.known.iter().filter_map(|known| known.reopening(now));
        let held = &self.jobs[&job];
        let window = held.spec.start_window.as_deref();
        let closes = window.map(|window| window.latest.after());
        // Someone is closed, or the job would not wait.
        let looks = closed.chain(closes).min().unwrap_or(now);
        self.reopening = match self.parked.is_empty() {
            true => looks,
            false => looks.min(self.reopening),
        };
        self.parked.insert(held.arrival, job);
    }

    fn no_candidate(&self, job: JobId) -> Reason {
        let own = self.matchmaking.as_ref();
        own.and_then(|own| own.why_never(job)).unwrap_or_else(|| {
            match self.jobs[&job].refused_by.is_empty() {
                true => Reason::NoCandidate,
                false => Reason::AllRefused,
            }
        })
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

    pub(super) fn send_to(&mut self, cx: &mut impl Cx<BrokerSends>, job: JobId, target: Target) {
        let (now, here) = (cx.now(), self.config.domain);
        let kind = match target {
            Target::Cluster(_) => EventKind::Dispatched,
            Target::Peer(_) => EventKind::Forwarded,
        };
        cx.emit(now, Event::new(kind, job, here).to(target));
        let held = self.jobs.get_mut(&job).expect("a queued job is held");
        (held.sent, held.sent_at, held.lost) = (Some(target), now, false);
        let (data_kib, from) = (held.spec.data_kib, Some(here));
        let until = held.route.until.take();
        let route = Route {
            from,
            until,
            ..held.route
        };
        let due = now + self.config.latency(target);
        let (data, hop) = match target {
            Target::Cluster(_) => (SimDuration::ZERO, route.hop),
            Target::Peer(to) => {
                // Its data goes with it.
                let hop = route.hop + 1;
                (self.transfer_to(to, data_kib), hop)
            }
        };
        let passed = Passed {
            job,
            route: Route { hop, ..route },
            has_data: data > SimDuration::ZERO,
        };
        self.post(cx, due + data, FromBroker::brings(target, passed));
    }
}
