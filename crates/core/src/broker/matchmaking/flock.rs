//! Pools that flock (`fcondor`): the jobs of one account that enter at a domain are in the
//! hands of a *job manager*. It asks one site manager at a time for processors, first that
//! of its own domain, and whenever one has not served all of its jobs the next one, by the
//! order of domains, on and on.
//!
//! A site manager serves users in its *matchmaking cycles*: the one with the least past
//! usage first, all of whose jobs that have room, then the next one. What it cannot serve
//! is rejected at the end of the cycle, and that is when the job manager learns of it.

use super::leases::{Lease, Lent, ask, say};
use super::{Around, Fit, Matchmaking, Request, fits_here};
use crate::agent::Deal;
use crate::broker::{Broker, Held};
use crate::ids::{DomainId, IdMap, JobId};
use crate::job::JobRequest;
use crate::message::Target;
use crate::policy::BrokerSettings;
use crate::time::{SimDuration, SimTime};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// Whose jobs a job manager has; `None`: those of nobody in particular.
type Account = Option<NonZeroU32>;

/// A user as a site manager knows it: where the jobs enter, and the account.
type User = (DomainId, Account);

/// What a user has used here, in processor-nanoseconds.
#[derive(Default)]
struct Usage {
    used: u128,
    /// Processors held now.
    held: u64,
    /// Until when it is counted.
    until: SimTime,
}

impl Usage {
    /// Steps in which usage is reduced to a half.
    const STEPS: u64 = 8;
    /// What is left of it after a step, in millionths: 2^(-1/8).
    const LEFT: u128 = 917_004;

    /// Counts until now.
    fn count(&mut self, now: SimTime, half_life: SimDuration) -> u128 {
        let step = (half_life.as_nanos() / Self::STEPS).max(1);
        let (mut at, now_ns) = (self.until.as_nanos(), now.as_nanos());
        while self.used > 0 || self.held > 0 {
            let end = (at / step + 1).saturating_mul(step);
            let passed = end.min(now_ns) - at;
            self.used += u128::from(self.held) * u128::from(passed);
            at += passed;
            if end > now_ns {
                break;
            }
            self.used = self.used * Self::LEFT / 1_000_000;
        }
        self.until = now;
        self.used
    }
}

/// A site manager and the job managers of its domain.
#[derive(Default)]
pub struct Flock {
    /// Processors of the own clusters that nobody holds.
    room: Vec<i64>,
    /// Processors of others, by the job they are for.
    leases: IdMap<Lease>,
    /// What this one takes back by itself.
    lent: Lent,
    /// For whom own processors are held, by job, and how many.
    held: IdMap<(User, u64)>,
    usage: BTreeMap<User, Usage>,
    /// Where job managers are that are not at home.
    away: BTreeMap<Account, DomainId>,
    /// Job managers that have not been served all they have asked for.
    unserved: BTreeSet<Account>,
    /// A matchmaking cycle has been and is to be answered.
    has_served: bool,
    /// Something has changed for job managers that are not at home.
    has_news: bool,
    /// The next arrival when they looked last.
    looked: u64,
    /// The instant of that.
    last: Option<SimTime>,
}

impl Flock {
    /// Processors of the own clusters go to the user of a job, or come back.
    fn hold(&mut self, broker: &Broker, now: SimTime, job: JobId, takes: bool) {
        let holder = match takes {
            true => broker.jobs.get(&job).map(|held| {
                let holder = (user(held), u64::from(held.spec.processors()));
                self.held.insert(job, holder);
                holder
            }),
            false => self.held.remove(&job),
        };
        if let Some((user, processors)) = holder {
            let usage = self.usage.entry(user).or_default();
            usage.count(now, broker.config.settings.usage_half_life);
            match takes {
                true => usage.held += processors,
                false => usage.held -= processors,
            }
        }
    }

    /// When job managers look after their jobs next.
    fn next_look(&self, broker: &Broker, now: SimTime) -> Option<SimTime> {
        if self.has_served {
            return Some(now);
        }
        let has_news = self.has_news || self.looked != broker.next_arrival;
        let due = || broker.next_after(now, broker.config.settings.interval, self.last);
        (has_news && !self.away.is_empty()).then(due)
    }

    /// After a cycle: what was asked for and has no room is rejected, and the job managers
    /// at home know what was not served.
    fn answer(&mut self, broker: &mut Broker, cx: &mut Around<'_>) {
        let waiting: Vec<JobId> = broker.queue.values().copied().collect();
        for job in waiting {
            let held = &broker.jobs[&job];
            match held.route.from {
                Some(from) => {
                    let asked = held.asked_here();
                    broker.forget(job);
                    say(broker, cx, from, Deal::Reject(asked));
                }
                None => {
                    if !self.away.contains_key(&held.spec.account) {
                        self.unserved.insert(held.spec.account);
                    }
                }
            }
        }
    }

    /// What a job manager does for its jobs that wait.
    fn manage(
        &mut self,
        broker: &mut Broker,
        cx: &mut Around<'_>,
        account: Account,
        mut waiting: BTreeMap<u64, JobId>,
    ) {
        let here = broker.config.domain;
        let at = self.away.get(&account).copied().unwrap_or(here);
        let mut moves = self.unserved.contains(&account);
        if at != here && !moves {
            // One that could never be served there waits for the next one.
            let asks = ask_all(broker, cx, at, &waiting);
            moves = !asks && asked(broker, at, account).is_empty();
        }
        if !moves {
            return;
        }
        for (arrival, job) in asked(broker, at, account) {
            let asked = broker.asked_there(&broker.jobs[&job], at);
            broker.stop_asking(job);
            say(broker, cx, at, Deal::Release(asked));
            waiting.insert(arrival, job);
        }
        let to = next(broker, cx.now(), at, &waiting);
        if to == here {
            self.away.remove(&account);
        } else {
            self.away.insert(account, to);
            ask_all(broker, cx, to, &waiting);
        }
    }
}

/// Whose a job is.
fn user(held: &Held) -> User {
    (held.route.origin, held.spec.account)
}

/// Jobs of an account for which this domain was asked, in order of arrival.
fn asked(broker: &Broker, at: DomainId, account: Account) -> BTreeMap<u64, JobId> {
    let all = broker.jobs.iter();
    let asked =
        all.filter(|(_, held)| held.sent == Some(Target::Peer(at)) && held.spec.account == account);
    asked.map(|(job, held)| (held.arrival, *job)).collect()
}

/// Whether a domain that is not this one could ever run a job, and takes it now.
fn could_serve(broker: &Broker, now: SimTime, at: DomainId, job: JobId) -> bool {
    let request = JobRequest::from(&broker.jobs[&job].spec);
    let mut known = broker.known.iter();
    let known = known.find(|known| known.target == Target::Peer(at));
    let able = known.is_some_and(|known| known.is_open(now) && known.could_run(&request, 0));
    able && broker.survey.hops > 0
}

/// Asks a domain for what it could serve; whether there was anything.
fn ask_all(
    broker: &mut Broker,
    cx: &mut Around<'_>,
    at: DomainId,
    waiting: &BTreeMap<u64, JobId>,
) -> bool {
    let now = cx.now();
    let jobs = waiting.values().copied();
    let jobs: Vec<JobId> = jobs
        .filter(|job| could_serve(broker, now, at, *job))
        .collect();
    for job in &jobs {
        ask(broker, cx, *job, at);
    }
    !jobs.is_empty()
}

/// The domain that comes after this one and could serve some of the jobs; the own one is
/// always among them.
fn next(broker: &Broker, now: SimTime, at: DomainId, waiting: &BTreeMap<u64, JobId>) -> DomainId {
    let here = broker.config.domain;
    let peers = broker.config.peers.iter().map(|peer| peer.domain);
    let able = peers.filter(|peer| {
        let mut jobs = waiting.values();
        jobs.any(|job| could_serve(broker, now, *peer, *job))
    });
    let all = able.chain([here]);
    all.min_by_key(|id| (*id <= at, *id)).unwrap_or(here)
}

impl Matchmaking for Flock {
    fn interval(&self, settings: &BrokerSettings) -> SimDuration {
        settings.matchmaking_interval
    }

    /// Fair share: users by their past usage, those alike by their first job.
    fn begin(&mut self, broker: &Broker, cx: &Around<'_>) -> Option<Vec<u64>> {
        let now = cx.now();
        self.room = broker.room();
        self.has_served = true;
        let mut users: BTreeMap<User, Vec<u64>> = BTreeMap::new();
        for (arrival, job) in &broker.queue {
            let held = &broker.jobs[job];
            let user = user(held);
            let is_here = held.route.from.is_some() || !self.away.contains_key(&user.1);
            if is_here {
                users.entry(user).or_default().push(*arrival);
            }
        }
        let half_life = broker.config.settings.usage_half_life;
        let mut users: Vec<(u128, Vec<u64>)> = users
            .into_iter()
            .map(|(user, jobs)| {
                let usage = self.usage.get_mut(&user);
                (usage.map_or(0, |usage| usage.count(now, half_life)), jobs)
            })
            .collect();
        users.sort_by_key(|(used, jobs)| (*used, jobs[0]));
        Some(users.into_iter().flat_map(|(_, jobs)| jobs).collect())
    }

    fn fit(&self, broker: &Broker, index: usize, job: &Held) -> Fit {
        let request = JobRequest::from(&job.spec);
        let peer = match job.route.from {
            None if broker.known[index].could_run(&request, 0) => Fit::Later,
            _ => Fit::Never,
        };
        fits_here(&self.room, index, job).unwrap_or(peer)
    }

    fn take(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId, index: usize) -> bool {
        let (now, target) = (cx.now(), broker.known[index].target);
        self.hold(broker, now, job, true);
        let Some(held) = broker.jobs.get_mut(&job) else {
            return false;
        };
        self.room[index] -= i64::from(held.spec.processors());
        let (Some(to), Target::Cluster(cluster)) = (held.route.from, target) else {
            return false;
        };
        (held.sent, held.sent_at) = (Some(target), now);
        let asked = held.asked_here();
        self.lent.delegate(broker, cx, (to, asked), (cluster, None));
        true
    }

    fn next_due(&self, broker: &Broker, now: SimTime) -> Option<SimTime> {
        let look = self.next_look(broker, now);
        look.into_iter().chain(self.lent.next_due(now)).min()
    }

    /// Job managers look after their jobs.
    fn act(&mut self, broker: &mut Broker, cx: &mut Around<'_>) {
        while let Some((to, asked)) = self.lent.expire(broker, cx) {
            self.deal(broker, cx, to, Deal::Release(asked));
        }
        if self.next_look(broker, cx.now()) != Some(cx.now()) {
            return;
        }
        if std::mem::take(&mut self.has_served) {
            self.answer(broker, cx);
        }
        (self.last, self.looked, self.has_news) = (Some(cx.now()), broker.next_arrival, false);
        let mut managers: BTreeMap<Account, BTreeMap<u64, JobId>> = BTreeMap::new();
        for (arrival, job) in &broker.queue {
            let held = &broker.jobs[job];
            if held.route.from.is_none() {
                let waiting = managers.entry(held.spec.account).or_default();
                waiting.insert(*arrival, *job);
            }
        }
        for (account, waiting) in managers {
            self.manage(broker, cx, account, waiting);
        }
        self.unserved.clear();
    }

    fn request(&mut self, broker: &mut Broker, cx: &mut Around<'_>, asks: &Request<'_>) {
        if let Some(asked) = broker.given_up(asks) {
            self.deal(broker, cx, asks.from, Deal::Release(asked));
        }
        let request = JobRequest::from(asks.spec);
        let mut own = broker.known.iter().take(broker.config.clusters.len());
        let able = own.any(|known| known.could_run(&request, 0));
        let is_here = broker.jobs.contains_key(&asks.spec.id);
        if !able || is_here || broker.is_drained(cx.now()) {
            return say(broker, cx, asks.from, Deal::Reject(asks.asked()));
        }
        broker.take_in(asks);
    }

    fn deal(&mut self, broker: &mut Broker, cx: &mut Around<'_>, from: DomainId, deal: Deal) {
        match deal {
            Deal::Reject(asked) => {
                if let Some(held) = broker.asking(from, asked) {
                    self.unserved.insert(held.spec.account);
                    broker.stop_asking(asked.job);
                }
            }
            Deal::Delegate {
                asked,
                cluster,
                until,
            } => {
                if broker.asking(from, asked).is_none() {
                    return say(broker, cx, from, Deal::Release(asked));
                }
                let lease = Lease {
                    cluster,
                    from,
                    asked,
                    until,
                };
                if broker.comes_too_late(cx.now(), lease) {
                    broker.stop_asking(asked.job);
                    self.has_news = true;
                    return say(broker, cx, from, Deal::Release(asked));
                }
                self.leases.insert(asked.job, lease);
                broker.send_to_leased(cx, asked.job, lease);
            }
            Deal::Release(asked) => {
                if broker.asked_by(from, asked).is_some() {
                    self.hold(broker, cx.now(), asked.job, false);
                    self.lent.forget(asked.job);
                    broker.forget(asked.job);
                }
            }
            Deal::Room { .. } => {}
        }
        self.has_news = true;
    }

    fn is_back(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId) {
        self.hold(broker, cx.now(), job, false);
        if let Some(lease) = self.leases.remove(&job) {
            say(broker, cx, lease.from, Deal::Release(lease.asked));
        }
        self.has_news = true;
    }

    fn withdraw(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId) -> bool {
        self.has_news = true;
        let held = broker.jobs.get(&job);
        let Some((held, to)) = held.and_then(|held| Some((held, held.sent?.peer()?))) else {
            return false;
        };
        say(broker, cx, to, Deal::Release(broker.asked_there(held, to)));
        true
    }
}
