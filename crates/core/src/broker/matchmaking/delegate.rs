//! Delegated matchmaking (DMM): jobs stay where they enter, and processors of others are
//! added to their domain for them, through a chain of leases over the links of the tree.
//!
//! A request for the processors of one job waits in the queue of the broker that was asked,
//! among the jobs that entered there. In a *matchmaking cycle* the queue is served from the
//! own processors that nobody holds: a job starts, a request is answered with a delegation.
//! In a *delegation cycle*, while what runs and waits here is above the threshold, what
//! cannot be served now is asked for at a neighbour, one after the other. Processors that
//! were delegated are the borrower's until it releases them, back along the chain.

use super::leases::{Lease, Lent, ask, say};
use super::{Around, Fit, Matchmaking, Request, fits_here};
use crate::agent::Deal;
use crate::broker::{Broker, Held};
use crate::ids::{DomainId, IdMap, JobId};
use crate::job::JobRequest;
use crate::message::Target;
use crate::policy::{Blocking, BrokerSettings};
use crate::time::{SimDuration, SimTime};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// A site manager's part.
#[derive(Default)]
pub struct Delegate {
    /// Processors of the own clusters that nobody holds.
    room: Vec<i64>,
    /// By the job they are for.
    leases: IdMap<Lease>,
    /// What this one takes back by itself.
    lent: Lent,
    /// Jobs of this domain whose processors have been delegated: they start in the next
    /// delegation cycle.
    served: BTreeMap<u64, JobId>,
    /// Neighbours that have rejected the request for a job.
    rejected_by: IdMap<Vec<DomainId>>,
    /// Requests that were here, and when, in that order.
    seen: VecDeque<(SimTime, JobId)>,
    /// The same by job.
    known: IdMap<()>,
    /// The instant of the last delegation cycle.
    last: Option<SimTime>,
}

/// What runs and waits at a domain, and the processors that are there.
struct Load {
    wanted: i64,
    processors: i64,
}

impl Load {
    /// Lent processors are not there, and borrowed ones are.
    fn of(broker: &Broker, leases: &IdMap<Lease>) -> Self {
        let clusters = broker.config.clusters.iter();
        let own: i64 = clusters.map(|(_, all)| i64::from(all.processors())).sum();
        let mut load = Load {
            wanted: 0,
            processors: own,
        };
        // Sums do not depend on the order.
        let all = broker.jobs.iter();
        let all = all.map(|(job, held)| (job, held, i64::from(held.spec.processors())));
        for (job, held, processors) in all {
            match (held.sent, held.route.from) {
                (Some(Target::Cluster(_)), Some(_)) => load.processors -= processors,
                (Some(_), None) if leases.contains_key(job) => {
                    load.wanted += processors;
                    load.processors += processors;
                }
                (Some(Target::Peer(_)), _) => {}
                (Some(Target::Cluster(_)), None) | (None, _) => load.wanted += processors,
            }
        }
        load
    }

    /// Without processors there is always too much.
    fn is_above(&self, settings: &BrokerSettings) -> bool {
        let there = u64::try_from(self.processors).unwrap_or(0);
        let wanted = u64::try_from(self.wanted).unwrap_or(0);
        there == 0 || wanted > settings.delegation_threshold.multiply(there)
    }
}

impl Delegate {
    /// The neighbour to ask for the processors of a job: the nearest by the tree, among those
    /// the one with the most free processors, and of these the first.
    fn target(&self, broker: &Broker, job: JobId, now: SimTime) -> Option<DomainId> {
        let held = &broker.jobs[&job];
        let hops = held.route.hop.saturating_add(1);
        let left = broker.survey.hops.checked_sub(hops)?;
        let request = JobRequest::from(&held.spec);
        let rejected_by = self.rejected_by.get(&job);
        let asked = |peer: &DomainId| rejected_by.is_some_and(|all| all.contains(peer));
        let known = broker.known.iter().filter_map(|known| match known.target {
            Target::Peer(peer) => Some((broker.config.around.get(&peer)?, peer, known)),
            Target::Cluster(_) => None,
        });
        let able = known.filter(|(_, peer, known)| {
            let new = held.route.from != Some(*peer) && held.route.origin != *peer;
            new && !asked(peer) && known.is_open(now) && known.could_run(&request, left)
        });
        let order = able.map(|(relation, peer, known)| (relation, Reverse(known.free()), peer));
        order.min().map(|(.., peer)| peer)
    }

    /// Whether a request has been here within the memory; from now on it has.
    fn remember(&mut self, now: SimTime, job: JobId, memory: SimDuration) -> bool {
        while let Some((_, old)) = self.seen.pop_front_if(|(at, _)| *at + memory <= now) {
            self.known.remove(&old);
        }
        let known = self.known.contains_key(&job);
        if !known {
            self.known.insert(job, ());
            self.seen.push_back((now, job));
        }
        known
    }

    /// When the next delegation cycle is.
    fn next_cycle(&self, broker: &Broker, now: SimTime) -> Option<SimTime> {
        let interval = broker.config.settings.delegation_interval;
        let waits = !broker.queue.is_empty() || !self.served.is_empty();
        waits.then(|| broker.next_after(now, interval, self.last))
    }

    /// A delegation cycle.
    fn delegation_cycle(&mut self, broker: &mut Broker, cx: &mut Around<'_>) {
        let now = cx.now();
        self.last = Some(now);
        for job in std::mem::take(&mut self.served).into_values() {
            let lease = self.leases[&job];
            if broker.comes_too_late(now, lease) {
                // It waits here again.
                self.leases.remove(&job);
                broker.stop_asking(job);
                say(broker, cx, lease.from, Deal::Release(lease.asked));
            } else {
                broker.send_to_leased(cx, job, lease);
            }
        }
        let mut load = Load::of(broker, &self.leases);
        self.room = broker.room();
        let mut blocked = false;
        let waiting: Vec<JobId> = broker.queue.values().copied().collect();
        for job in waiting {
            let held = &broker.jobs[&job];
            let (from, processors) = (held.route.from, i64::from(held.spec.processors()));
            let request = JobRequest::from(&held.spec);
            let own = broker.known.iter().enumerate().take(self.room.len());
            let mut own = own
                .filter(|(_, known)| known.could_run(&request, 0))
                .filter(|(_, known)| !held.refused_by.contains(&known.target))
                .peekable();
            let never = own.peek().is_none();
            let room = own.find(|(index, _)| self.room[*index] >= processors);
            if let (Some((index, _)), false) = (room, blocked) {
                // The next matchmaking cycle serves it.
                self.room[index] -= processors;
                continue;
            }
            let blocks = broker.config.settings.blocking == Blocking::Head;
            if !never && !load.is_above(&broker.config.settings) {
                blocked |= blocks;
                continue;
            }
            match (self.target(broker, job, now), from) {
                (Some(to), _) => ask(broker, cx, job, to),
                (None, Some(from)) => {
                    let asked = held.asked_here();
                    self.forget(broker, job);
                    say(broker, cx, from, Deal::Reject(asked));
                }
                // All are asked again in the next cycle.
                (None, None) => {
                    self.rejected_by.remove(&job);
                    blocked |= blocks && !never;
                    continue;
                }
            }
            load.wanted -= processors;
        }
    }

    /// A job or a request is not here any more.
    fn forget(&mut self, broker: &mut Broker, job: JobId) {
        self.leases.remove(&job);
        self.lent.forget(job);
        self.rejected_by.remove(&job);
        if let Some(held) = broker.jobs.get(&job) {
            self.served.remove(&held.arrival);
        }
        broker.forget(job);
    }
}

impl Matchmaking for Delegate {
    fn interval(&self, settings: &BrokerSettings) -> SimDuration {
        settings.matchmaking_interval
    }

    fn begin(&mut self, broker: &Broker, _: &Around<'_>) -> Option<Vec<u64>> {
        self.room = broker.room();
        None
    }

    fn fit(&self, broker: &Broker, index: usize, job: &Held) -> Fit {
        let known = &broker.known[index];
        let peer = match known.target {
            Target::Peer(peer) if broker.config.around.contains_key(&peer) => Fit::Away,
            _ => Fit::Never,
        };
        fits_here(&self.room, index, job).unwrap_or(peer)
    }

    fn take(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId, index: usize) -> bool {
        let Some(held) = broker.jobs.get_mut(&job) else {
            return false;
        };
        self.room[index] -= i64::from(held.spec.processors());
        let (Some(to), Target::Cluster(cluster)) = (held.route.from, broker.known[index].target)
        else {
            return false;
        };
        (held.sent, held.sent_at) = (Some(Target::Cluster(cluster)), cx.now());
        let asked = held.asked_here();
        self.lent.delegate(broker, cx, (to, asked), (cluster, None));
        true
    }

    fn next_due(&self, broker: &Broker, now: SimTime) -> Option<SimTime> {
        let cycle = self.next_cycle(broker, now);
        cycle.into_iter().chain(self.lent.next_due(now)).min()
    }

    fn act(&mut self, broker: &mut Broker, cx: &mut Around<'_>) {
        while let Some((to, asked)) = self.lent.expire(broker, cx) {
            self.deal(broker, cx, to, Deal::Release(asked));
        }
        if self.next_cycle(broker, cx.now()) == Some(cx.now()) {
            self.delegation_cycle(broker, cx);
        }
    }

    fn request(&mut self, broker: &mut Broker, cx: &mut Around<'_>, asks: &Request<'_>) {
        let (now, Request { spec, route, .. }) = (cx.now(), asks);
        if let Some(asked) = broker.given_up(asks) {
            self.deal(broker, cx, asks.from, Deal::Release(asked));
        }
        let memory = broker.config.settings.delegation_memory;
        let is_here = broker.jobs.contains_key(&spec.id);
        let known = self.remember(now, spec.id, memory);
        let request = JobRequest::from(*spec);
        let left = broker.survey.hops.checked_sub(route.hop.saturating_add(1));
        let able = broker.known.iter().any(|known| match known.target {
            Target::Cluster(_) => known.could_run(&request, 0),
            Target::Peer(peer) => {
                let near = broker.config.around.contains_key(&peer);
                near && left.is_some_and(|left| known.could_run(&request, left))
            }
        });
        if is_here || known || !able || broker.is_drained(now) {
            return say(broker, cx, asks.from, Deal::Reject(asks.asked()));
        }
        broker.take_in(asks);
    }

    fn deal(&mut self, broker: &mut Broker, cx: &mut Around<'_>, from: DomainId, deal: Deal) {
        match deal {
            // Who is lost has not taken back what it had delegated.
            Deal::Reject(asked) if self.leases.contains_key(&asked.job) => {}
            Deal::Reject(asked) => {
                if broker.asking(from, asked).is_some() {
                    broker.stop_asking(asked.job);
                    self.rejected_by.entry(asked.job).or_default().push(from);
                }
            }
            Deal::Delegate {
                asked,
                cluster,
                until,
            } => {
                let Some(held) = broker.asking(from, asked) else {
                    return say(broker, cx, from, Deal::Release(asked));
                };
                let lease = Lease {
                    cluster,
                    from,
                    asked,
                    until,
                };
                self.leases.insert(asked.job, lease);
                match held.route.from {
                    Some(to) => {
                        let asks = (to, held.asked_here());
                        self.lent.delegate(broker, cx, asks, (cluster, until));
                    }
                    None => drop(self.served.insert(held.arrival, asked.job)),
                }
            }
            Deal::Release(asked) => {
                let Some(held) = broker.asked_by(from, asked) else {
                    return;
                };
                let there = held.sent.and_then(Target::peer);
                let there = there.map(|peer| (peer, broker.asked_there(held, peer)));
                self.forget(broker, asked.job);
                if let Some((to, asked)) = there {
                    say(broker, cx, to, Deal::Release(asked));
                }
            }
            Deal::Room { .. } => {}
        }
    }

    fn is_back(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId) {
        self.rejected_by.remove(&job);
        if let Some(lease) = self.leases.remove(&job) {
            say(broker, cx, lease.from, Deal::Release(lease.asked));
        }
    }

    fn withdraw(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId) -> bool {
        let held = broker.jobs.get(&job);
        let Some((held, to)) = held.and_then(|held| Some((held, held.sent?.peer()?))) else {
            return false;
        };
        let asked = broker.asked_there(held, to);
        self.leases.remove(&job);
        self.rejected_by.remove(&job);
        self.served.remove(&held.arrival);
        say(broker, cx, to, Deal::Release(asked));
        true
    }
}
