//! Co-allocation (KOALA, 3.2): one broker places the components of a job on several of its
//! clusters. A job is tried when it arrives, and if that fails it waits in the placement
//! queue, which is gone through from its head to its tail in each cycle for any job that has
//! room. Its processors are claimed on all its clusters, and only when all hold theirs does
//! it begin, everywhere at one instant; if one does not, the others let go. Or they are
//! reserved: see [`searching`]. Or a job of one cluster keeps one reservation: see [`keeping`].

mod keeping;
mod searching;
mod starting;
mod turns;

use super::{Around, Fit, Matchmaking};
use crate::agent::{Asked, BrokerSends, ClaimAnswer, ClaimShare, ClaimStep};
use crate::agent::{FromBroker, Passed, ToLrms};
use crate::broker::{Access, Broker, Held};
use crate::event::{Event, EventKind};
use crate::ids::{ClusterId, JobId};
use crate::job::{JobSpec, Reason};
use crate::message::Target;
use crate::policy::{BrokerSettings, Placing, Shares};
use crate::time::{Decimal, SimDuration, SimTime};
use searching::Searching;
use std::collections::{BTreeMap, BTreeSet};

/// The broker places jobs on several of its clusters.
pub struct CoAllocate {
    placing: Placing,
    /// Arrivals below this have been tried, and those below the second before this cycle.
    seen: u64,
    tried: u64,
    /// How often jobs that wait have been tried, where that is bounded.
    tries: BTreeMap<JobId, u32>,
    /// Arrivals that wait until no earlier one is searched for.
    behind: BTreeSet<u64>,
    placed: BTreeMap<JobId, Placed>,
    /// What may be taken of each cluster by what is known in this cycle.
    idle: Vec<u32>,
    /// What could be taken when these arrivals were tried last, in their order, and not placed.
    in_vain: (Vec<u32>, Vec<u64>),
    /// What the last samples do not show: the cluster by position, when the claim was to
    /// arrive, and processors.
    sent: Vec<(usize, SimTime, u32)>,
    /// The latest instant by which a claim is named.
    latest: SimTime,
}

/// How late a job is that is reserved for, or could not begin since a cluster was told too late.
pub struct Late {
    /// How often it could not begin since a cluster was told too late.
    times: u32,
    /// When it was first tried.
    since: SimTime,
}

/// A job that has been placed.
struct Placed {
    /// When it was asked for, as its messages name it.
    at: SimTime,
    /// The largest part first.
    parts: Vec<Part>,
    components: usize,
    /// Until when it runs, once it has begun.
    until: Option<SimTime>,
    /// When it starts, once that is known.
    starts: Option<SimTime>,
    /// The search for reservations for it, until that is over.
    search: Option<Box<Searching>>,
}

struct Part {
    cluster: ClusterId,
    share: ClaimShare,
    /// Whether processors are held there, and their least speed, if that is known.
    held: Option<Option<Decimal>>,
}

impl CoAllocate {
    /// For a policy that places components.
    pub fn new(settings: &BrokerSettings) -> Option<Self> {
        Some(CoAllocate {
            placing: Placing::of(settings)?,
            seen: 0,
            tried: 0,
            tries: BTreeMap::new(),
            behind: BTreeSet::new(),
            placed: BTreeMap::new(),
            idle: Vec::new(),
            in_vain: Default::default(),
            sent: Vec::new(),
            latest: SimTime::ZERO,
        })
    }

    /// Where a job would be placed, if so much may be taken of each cluster.
    fn shares(&self, broker: &Broker, job: &JobSpec, idle: &[u32]) -> Option<Shares> {
        let parts = self.placing.parts(job, &broker.config.clusters)?;
        Some(self.placing.place(&parts, idle)?.0)
    }

    /// What may be taken of each cluster, if so much is idle there.
    fn may_take(&self, broker: &Broker, idle: impl Fn(usize, u32) -> u32) -> Vec<u32> {
        let clusters = broker.config.clusters.iter().enumerate();
        let all = clusters.map(|(at, (_, it))| (at, it.processors()));
        let of = all.map(|(at, all)| self.placing.may_take(all, idle(at, all)));
        of.collect()
    }

    /// It waits again, in its old place, unless it has been tried often enough.
    fn put_back(&mut self, broker: &mut Broker, mut cx: &mut Around<'_>, job: JobId) {
        self.placed.remove(&job);
        let Some(held) = broker.jobs.get_mut(&job) else {
            return;
        };
        held.sent = None;
        if held.unwanted {
            return broker.end_unwanted(&mut cx, job);
        }
        let arrival = held.arrival;
        match self.is_tried_enough(job) {
            true => {
                self.forget(job);
                broker.turn_away(&mut cx, job, Reason::TriesExhausted);
            }
            false => drop(broker.queue.insert(arrival, job)),
        }
    }

    /// Those that wait, from an arrival on, but for those that fail as before, since the same
    /// may be taken; all where jobs may wait for something else than room.
    fn worth_a_try(&mut self, broker: &Broker, cx: &Around<'_>, from: u64) -> Vec<u64> {
        let waiting = broker.queue.range(from..).map(|(arrival, _)| *arrival);
        let open = broker.known.iter().all(|it| it.is_open(cx.now()));
        if !open || self.placing.tries > 0 || self.placing.reservations.is_some() {
            return waiting.collect();
        }
        let (idle, failed) = &mut self.in_vain;
        if *idle != self.idle {
            idle.clone_from(&self.idle);
            failed.clear();
        }
        let mut before = failed.iter().copied().peekable();
        let waiting = waiting.filter(|arrival| {
            while before.next_if(|tried| tried < arrival).is_some() {}
            before.peek() != Some(arrival)
        });
        let order: Vec<u64> = waiting.collect();
        failed.extend(order.iter().filter(|arrival| {
            let job = broker.queue[arrival];
            broker.jobs[&job].spec.start_window.is_none() && !cx.wants_decision(job)
        }));
        failed.sort_unstable();
        order
    }

    /// A job is not here any more.
    fn forget(&mut self, job: JobId) {
        self.placed.remove(&job);
        self.tries.remove(&job);
    }

    /// A job does not begin: all let go, and it waits again. Where a cluster was told too
    /// late, all are told earlier the next time.
    fn give_up(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId) {
        let is_late = self.placed.get(&job).is_some_and(|it| it.search.is_some());
        self.end_search(broker, cx, job);
        self.release(broker, cx, job, 0);
        let is_begun = self.placed.get(&job).is_some_and(|it| it.until.is_some());
        if is_late || is_begun {
            Self::note_try(broker, job, cx.now(), true);
        }
        if is_begun {
            let here = broker.config.domain;
            let refused = Event::new(EventKind::Refused, job, here).to(here);
            cx.emit(cx.now(), refused.because(Reason::ServiceLost));
        }
        self.put_back(broker, cx, job);
    }

    fn is_tried_enough(&self, job: JobId) -> bool {
        let tries = self.tries.get(&job).copied().unwrap_or(0);
        self.placing.tries > 0 && tries >= self.placing.tries
    }

    /// The next instant by which a request can be named: no two have one name.
    fn name(&mut self, arrives: SimTime) -> SimTime {
        self.latest = arrives.max(self.latest + SimDuration::from_nanos(1));
        self.latest
    }

    /// Lets go of what is held, or may be, for a job, but for so many parts.
    fn release(&self, broker: &Broker, cx: &mut Around<'_>, job: JobId, but: usize) {
        let Some(placed) = self.placed.get(&job) else {
            return;
        };
        let asked = Asked { job, at: placed.at };
        for part in placed.parts.iter().skip(but) {
            say(broker, cx, part.cluster, (asked, ClaimStep::Release));
        }
    }
}

/// Says something to an LRMS.
fn say(
    broker: &Broker,
    mut cx: &mut Around<'_>,
    to: ClusterId,
    (asked, step): (Asked, ClaimStep<Passed>),
) {
    let due = cx.now() + broker.config.latency(Target::Cluster(to));
    let message: BrokerSends = FromBroker::Lrms(to, ToLrms::Claim(asked, step));
    broker.post(&mut cx, due, message);
}

impl Matchmaking for CoAllocate {
    /// Arrivals are tried at once, and all that wait in the cycles.
    fn begin(&mut self, broker: &Broker, cx: &Around<'_>) -> Option<Vec<u64>> {
        let now = cx.now();
        if self.placing.keeps_one() {
            return None;
        }
        let settings = &broker.config.settings;
        let scans = now.next_on_grid(settings.phase, settings.interval) == now;
        let from = if scans { 0 } else { self.seen };
        self.tried = std::mem::replace(&mut self.seen, broker.next_arrival);
        let known = &broker.known;
        let sampled = |at: usize| known[at].information_from();
        self.sent.retain(|(at, arrives, _)| *arrives > sampled(*at));
        let sent = |at: usize| {
            let own = self.sent.iter().filter(|(to, ..)| *to == at);
            own.map(|(_, _, processors)| i64::from(*processors))
                .sum::<i64>()
        };
        self.idle = self.may_take(broker, |at, _| match known[at].is_open(now) {
            true => u32::try_from(known[at].free() - sent(at)).unwrap_or(0),
            false => 0,
        });
        let mut order = self.worth_a_try(broker, cx, from);
        if !self.behind.is_empty() {
            order = self.in_turn(broker, order);
        }
        if self.placing.tries > 0 {
            self.tries.retain(|job, _| broker.jobs.contains_key(job));
            for arrival in &order {
                *self.tries.entry(broker.queue[arrival]).or_default() += 1;
            }
        }
        Some(order)
    }

    fn acts_by_a_cycle(&self) -> bool {
        !self.placing.keeps_one()
    }

    fn waits_for_room(&self, broker: &Broker) -> bool {
        let in_vain = &self.in_vain.1;
        let mut waiting = broker.queue.keys();
        !in_vain.is_empty() && waiting.all(|arrival| in_vain.binary_search(arrival).is_ok())
    }

    /// The first candidate stands for all.
    fn fit(&self, broker: &Broker, index: usize, job: &Held) -> Fit {
        if self.placing.keeps_one() {
            return Fit::Now;
        }
        if index > 0 {
            return Fit::Never;
        }
        if self.placing.reservations.is_some() {
            let parts = self.placing.parts(&job.spec, &broker.config.clusters);
            return match parts.is_some_and(|parts| parts.fit_at_once()) {
                true => Fit::Now,
                false => Fit::Never,
            };
        }
        // Most of those that wait do so at a glance.
        let wanted = u64::from(job.spec.processors());
        let idle = self.idle.iter().copied().map(u64::from).sum::<u64>();
        let at_a_glance = idle < wanted && job.arrival < self.tried;
        if at_a_glance && !self.is_tried_enough(job.spec.id) {
            return Fit::Later;
        }
        if self.shares(broker, &job.spec, &self.idle).is_some() {
            return Fit::Now;
        }
        if self.is_tried_enough(job.spec.id) {
            return Fit::Never;
        }
        // It could be placed some time, or would not wait here any more.
        if job.arrival < self.tried {
            return Fit::Later;
        }
        let all = self.may_take(broker, |at, processors| match broker.known[at].access {
            Access::Gone => 0,
            Access::Open | Access::Closed => processors,
        });
        match self.shares(broker, &job.spec, &all) {
            Some(_) => Fit::Later,
            None => Fit::Never,
        }
    }

    fn why_never(&self, job: JobId) -> Option<Reason> {
        self.is_tried_enough(job).then_some(Reason::TriesExhausted)
    }

    fn take(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId, at: usize) -> bool {
        if self.placing.reservations.is_some() {
            return self.begin_search(broker, cx, job, at);
        }
        let Some(held) = broker.jobs.get(&job) else {
            return false;
        };
        let spec = &held.spec;
        let Some(parts) = self.placing.parts(spec, &broker.config.clusters) else {
            return false;
        };
        let Some((shares, components)) = self.placing.place(&parts, &self.idle) else {
            return false;
        };
        let settings = &broker.config.settings;
        let costs = &settings.co_allocation;
        let (program, now) = ((spec.executable, spec.processors()), cx.now());
        let length = costs.length(program, spec.run_time, shares.len());
        // With what the messages take.
        let others = self.being_started(now, job);
        let clusters = &broker.config.clusters;
        let parts_of = shares.iter().map(|(at, share)| (clusters[*at].0, *share));
        let before = costs.staging(spec, parts_of) + costs.startup_among(components, others);
        let estimate = before + length + SimDuration::from_secs(1);
        let arrives = now + settings.lrms_latency;
        let at = self.name(arrives);
        let asked = Asked { job, at };
        let passed = held.passed_by(broker.config.domain);
        let mut claimed = Vec::with_capacity(shares.len());
        for (at, share) in shares {
            let (cluster, processors) = (broker.config.clusters[at].0, parts.processors_of(share));
            self.idle[at] -= processors;
            self.sent.push((at, arrives, processors));
            let requested = Event::new(EventKind::ClaimRequested, job, broker.config.domain);
            let bits = i64::try_from(share.bits()).unwrap_or(0);
            cx.emit(now, requested.to(cluster).with(bits));
            let step = ClaimStep::Hold {
                job: passed,
                share,
                estimate,
                timeout: costs.claim_timeout,
            };
            say(broker, cx, cluster, (asked, step));
            claimed.push(Part {
                cluster,
                share,
                held: None,
            });
        }
        if let Some(held) = broker.jobs.get_mut(&job) {
            (held.sent, held.sent_at) = (Some(Target::Cluster(claimed[0].cluster)), now);
            // Those behind it are tried with what is left.
            let (idle, failed) = &mut self.in_vain;
            idle.clone_from(&self.idle);
            failed.retain(|arrival| *arrival > held.arrival);
        }
        let placed = Placed {
            at: asked.at,
            parts: claimed,
            components,
            until: None,
            starts: None,
            search: None,
        };
        self.placed.insert(job, placed);
        true
    }

    /// There is something to do as soon as a job has come, and when not all clusters have
    /// said for too long that they hold their part of one.
    fn next_due(&self, broker: &Broker, now: SimTime) -> Option<SimTime> {
        let new = broker.queue.range(self.seen..).next();
        let new = new.filter(|_| !self.placing.keeps_one());
        let timeout = broker.config.settings.co_allocation.claim_timeout;
        let waits = self.placed.values().filter(|it| it.until.is_none());
        let first = waits.map(|it| (it.at + timeout).max(now)).min();
        let acts = new.is_some() || self.may_follow(broker);
        acts.then_some(now).into_iter().chain(first).min()
    }

    fn act(&mut self, broker: &mut Broker, cx: &mut Around<'_>) {
        let timeout = broker.config.settings.co_allocation.claim_timeout;
        let waits = self.placed.iter().filter(|(_, it)| it.until.is_none());
        let over = waits.filter(|(_, it)| it.at + timeout <= cx.now());
        for job in over.map(|(job, _)| *job).collect::<Vec<_>>() {
            self.give_up(broker, cx, job);
        }
    }

    fn claim(
        &mut self,
        broker: &mut Broker,
        cx: &mut Around<'_>,
        from: ClusterId,
        (asked, said): (Asked, ClaimAnswer),
    ) {
        let (job, speed) = (asked.job, said.held());
        let search = |placed: &Placed| placed.search.is_some();
        if self.placed.get(&job).is_some_and(search) {
            return self.hear(broker, cx, from, (asked, said));
        }
        let placed = self.placed.get_mut(&job);
        let Some(placed) = placed.filter(|placed| placed.at == asked.at) else {
            // What is held for a job that has gone is not needed.
            if matches!(said, ClaimAnswer::Held(_) | ClaimAnswer::Reserved { .. }) {
                say(broker, cx, from, (asked, ClaimStep::Release));
            }
            return;
        };
        if placed.until.is_some() {
            // One of them did not hear of the start in time.
            if said == ClaimAnswer::No {
                self.give_up(broker, cx, job);
            }
            return;
        }
        if let Some(part) = placed.parts.iter_mut().find(|part| part.cluster == from) {
            part.held = Some(speed);
        }
        if placed.parts.iter().any(|part| part.held.is_none()) {
            return;
        }
        let mut parts = placed.parts.iter();
        match parts.all(|part| part.held.flatten().is_some()) {
            true => self.begin_job(broker, cx, job, None),
            false => self.give_up(broker, cx, job),
        }
    }

    fn is_back(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId) {
        match self.placed.get(&job).map(|placed| placed.until) {
            Some(None) => {
                self.end_search(broker, cx, job);
                self.release(broker, cx, job, 0);
            }
            Some(Some(until)) if cx.now() < until => self.release(broker, cx, job, 1),
            _ => {}
        }
        self.forget(job);
    }

    fn parts_of(&self, job: JobId) -> Vec<ClusterId> {
        let parts = self.placed.get(&job).into_iter().flat_map(|it| &it.parts);
        parts.map(|part| part.cluster).collect()
    }

    fn withdraw(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId) -> bool {
        let placed = self.placed.get(&job);
        let waits = placed.is_some_and(|placed| placed.until.is_none());
        if waits {
            self.end_search(broker, cx, job);
            self.release(broker, cx, job, 0);
            self.placed.remove(&job);
        }
        waits
    }
}
