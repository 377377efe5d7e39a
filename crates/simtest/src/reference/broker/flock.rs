//! The reference of flocking: what users have used is found by going through the history of
//! what they held, half-life by half-life, and job managers by going through all visits.

use super::{Chosen, Decision, RefBroker, Visit};
use gridrig_core::agent::Deal;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::message::Target;
use gridrig_core::time::SimTime;
use std::num::NonZeroU32;

/// Whose jobs: where they enter, and the account.
type User = (DomainId, Option<NonZeroU32>);

/// Processors of this domain that a user held.
pub(super) struct Hold {
    user: User,
    job: JobId,
    processors: u32,
    since: SimTime,
    until: Option<SimTime>,
}

/// The part of a broker that is about flocking.
#[derive(Default)]
pub(super) struct Flock {
    holds: Vec<Hold>,
    /// Job managers that are not at home.
    away: Vec<(Option<NonZeroU32>, DomainId)>,
    /// Those that have not been served all.
    pub unserved: Vec<Option<NonZeroU32>>,
}

fn user(visit: &Visit) -> User {
    (visit.way.origin, visit.spec.account)
}

impl RefBroker<'_> {
    /// The job's user holds processors here from now on.
    pub(super) fn hold(&mut self, now: SimTime, index: usize) {
        let visit = &self.visits[index];
        self.flock.holds.push(Hold {
            user: user(visit),
            job: visit.spec.id,
            processors: visit.spec.processors(),
            since: now,
            until: None,
        });
    }

    pub(super) fn let_go(&mut self, now: SimTime, job: JobId) {
        for hold in &mut self.flock.holds {
            if hold.job == job && hold.until.is_none() {
                hold.until = Some(now);
            }
        }
    }

    /// Processor-nanoseconds of a user, less with every eighth of a half-life.
    fn used(&self, user: User, now: SimTime) -> u128 {
        let step = self.settings.usage_half_life.as_nanos() / 8;
        let (mut used, mut begin) = (0u128, 0);
        loop {
            let end = begin + step;
            for hold in self.flock.holds.iter().filter(|hold| hold.user == user) {
                let last = hold.until.unwrap_or(now).as_nanos().min(end);
                let first = hold.since.as_nanos().max(begin);
                let time = last.saturating_sub(first);
                used += u128::from(hold.processors) * u128::from(time);
            }
            if end > now.as_nanos() {
                return used;
            }
            used = used * 917_004 / 1_000_000;
            begin = end;
        }
    }

    fn manager_at(&self, account: Option<NonZeroU32>) -> DomainId {
        let mut away = self.flock.away.iter();
        let at = away.find(|(whose, _)| *whose == account);
        at.map_or(self.domain, |(_, at)| *at)
    }

    /// The waiting jobs that a matchmaking cycle looks at: the user who has used least
    /// first, and of those alike the one whose first job came first.
    fn by_fair_share(&self, now: SimTime) -> Vec<JobId> {
        let waits = |visit: &&Visit| {
            let here = visit.from.is_some() || self.manager_at(visit.spec.account) == self.domain;
            here && visit.sent_to.is_none()
        };
        let mut users: Vec<(User, u128)> = Vec::new();
        for visit in self.visits.iter().filter(waits) {
            if !users.iter().any(|(known, _)| *known == user(visit)) {
                users.push((user(visit), self.used(user(visit), now)));
            }
        }
        users.sort_by_key(|(_, used)| *used);
        let mut jobs = Vec::new();
        for (who, _) in users {
            let its = self.visits.iter().filter(waits);
            let its = its.filter(|visit| user(visit) == who);
            jobs.extend(its.map(|visit| visit.spec.id));
        }
        jobs
    }

    /// A matchmaking cycle.
    pub(in crate::reference) fn fair_cycle(&mut self, now: SimTime) -> Vec<Decision> {
        self.at = Some(now);
        let mut decisions = Vec::new();
        for job in self.by_fair_share(now) {
            let index = self.latest(job).expect("it waits");
            match self.decide(index) {
                Chosen::View(view) => {
                    self.hold(now, index);
                    decisions.push(self.send(now, index, view, None));
                }
                Chosen::NoRoom => {}
                lost => decisions.push(self.turn_away(index, &lost)),
            }
        }
        // What others have asked for is answered, and those at home know.
        let waiting = self.visits.iter().filter(|visit| visit.sent_to.is_none());
        for job in waiting.map(|visit| visit.spec.id).collect::<Vec<_>>() {
            let index = self.latest(job).expect("it waits");
            let account = self.visits[index].spec.account;
            match self.visits[index].from {
                Some(from) => {
                    let asked = self.visits.remove(index).asked_here();
                    decisions.push(Decision::Say(from, Deal::Reject(asked)));
                }
                None if self.manager_at(account) == self.domain => {
                    self.flock.unserved.push(account);
                }
                None => {}
            }
        }
        decisions.extend(self.look_after_jobs());
        decisions
    }

    /// Job managers go on to the next domain, or ask where they are.
    pub(in crate::reference) fn look_after_jobs(&mut self) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let is_waiting = |visit: &&Visit| visit.from.is_none() && visit.sent_to.is_none();
        let waiting = self.visits.iter().filter(is_waiting);
        let mut accounts: Vec<_> = waiting.map(|visit| visit.spec.account).collect();
        accounts.sort_unstable();
        accounts.dedup();
        for account in accounts {
            let at = self.manager_at(account);
            let mut moves = self.flock.unserved.contains(&account);
            if at != self.domain && !moves {
                decisions.extend(self.ask_all(account, at));
                let asked = Some(Target::Peer(at));
                let mut its = self.visits.iter();
                moves = !its.any(|visit| visit.spec.account == account && visit.sent_to == asked);
            }
            if !moves {
                continue;
            }
            for visit in &mut self.visits {
                if visit.spec.account == account && visit.sent_to == Some(Target::Peer(at)) {
                    visit.sent_to = None;
                    decisions.push(Decision::Say(at, Deal::Release(visit.asked_there())));
                }
            }
            let to = self.next_pool(account, at);
            self.flock.away.retain(|(whose, _)| *whose != account);
            if to != self.domain {
                self.flock.away.push((account, to));
                decisions.extend(self.ask_all(account, to));
            }
        }
        self.flock.unserved.clear();
        decisions
    }

    /// Whether a pool could ever serve a job.
    pub(super) fn pool_could_run(&self, visit: &Visit, pool: DomainId) -> bool {
        self.could_hold(&visit.spec, &self.grid.domains[pool.index()].clusters)
    }

    fn ask_all(&mut self, account: Option<NonZeroU32>, pool: DomainId) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for index in 0..self.visits.len() {
            let visit = &self.visits[index];
            let waits = visit.from.is_none() && visit.sent_to.is_none();
            if waits && visit.spec.account == account && self.pool_could_run(visit, pool) {
                decisions.push(Decision::Ask(visit.spec.id, pool, visit.onward()));
                self.visits[index].sent_to = Some(Target::Peer(pool));
            }
        }
        decisions
    }

    /// The pool after this one, round and round, that could serve a waiting job.
    fn next_pool(&self, account: Option<NonZeroU32>, at: DomainId) -> DomainId {
        let all = self.grid.domains.len() as u16;
        for step in 1..=all {
            let pool = DomainId((at.0 + step) % all);
            let is_linked = self.targets().contains(&Target::Peer(pool));
            let serves = self.visits.iter().any(|visit| {
                let waits = visit.from.is_none() && visit.sent_to.is_none();
                waits && visit.spec.account == account && self.pool_could_run(visit, pool)
            });
            if pool == self.domain || is_linked && serves {
                return pool;
            }
        }
        self.domain
    }
}
