//! A broker: its decisions, what it knows of its jobs, and the relaying of
//! information.

mod delivery;
mod inputs;
mod recovery;
mod removal;
mod sending;
mod sessions;
mod setup;
#[cfg(test)]
mod tests;

pub use delivery::Lost;
pub use inputs::{Unexpected, Updated};
pub use sessions::{PeerSession, Pull, SessionChange};
pub use setup::{BrokerSetup, GridNames, Neighbour, SetupError};

use super::conversation::{FromBroker, ToPeer};
use super::ledger::{JobState, JobView, Ledger, Naming};
use super::letter::{LetterId, Tally};
use super::{Agent, Cx, JobKeeper};
use crate::broker::{Access, Broker, LocalInfo};
use crate::event::{Event, EventKind, Party};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::Reason;
use crate::load::LoadSample;
use crate::message::{EndState, JobEnd, News, Outgoing, Target};
use crate::rng;
use crate::session::Push;
use crate::time::{SimDuration, SimTime, WallTime};
use recovery::Search;
use sessions::Partners;
use std::collections::{BTreeMap, BTreeSet};

/// A broker.
pub struct BrokerAgent {
    broker: Broker,
    here: Party,
    neighbours: Vec<Neighbour>,
    ledger: Ledger,
    now: SimTime,
    /// The nominal instant of the next cycle.
    next_cycle: Option<SimTime>,
    grace: SimDuration,
    /// Jobs that are elsewhere, or on their way there, until their end.
    under_way: BTreeMap<JobId, UnderWay>,
    /// Jobs that are looked for before anything is decided about them.
    searches: BTreeMap<JobId, Search>,
    partners: Partners,
    /// When this life began.
    born: SimTime,
    /// What is said again to somebody who does not answer.
    reminders: BTreeSet<(WallTime, Reminder)>,
    round: Round,
    /// Jobs of other domains that were handed to own clusters, by the domain
    /// at which they entered.
    taken_in: BTreeMap<Option<DomainId>, u64>,
    /// How many domains the grid has.
    domains: usize,
    frozen: bool,
    incarnation: u64,
    letters_written: u64,
    out: Vec<Outgoing>,
    undelivered: Tally,
}

/// Something to be said again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reminder {
    /// The question whether the receiver has the job.
    Locate(JobId, Target),
    /// The request to remove the job.
    Cancel(JobId, Target),
}

/// Time between tries to say something to somebody who does not answer, on the
/// wall.
const SAY_AGAIN: SimDuration = SimDuration::from_millis(500);

/// A job that was sent.
#[derive(Clone, Debug)]
struct UnderWay {
    target: Target,
    /// When it was meant to arrive there, for sending it again.
    due: SimTime,
    /// Forwards so far, as it was sent.
    hop: u32,
    /// The receiver has confirmed to have it.
    confirmed: bool,
    /// It may be there although a later try was not answered.
    perhaps: bool,
    /// The receiver has been asked to remove it.
    told: bool,
    /// The message that its data goes with, until it has arrived.
    data: Option<LetterId>,
}

/// The samples of one exchange, on their way to the consumers as one message.
#[derive(Default)]
struct Round {
    at: SimTime,
    samples: BTreeMap<ClusterId, LoadSample>,
}

/// Names of jobs that come without one: apart from those of a run, and by
/// domain, so that brokers which forward to each other give no name twice.
const UNNAMED_FROM: u32 = 1 << 31;
const UNNAMED_STEP: u32 = 1 << 10;

impl BrokerAgent {
    /// A broker with an empty queue.
    #[must_use]
    pub fn new(setup: BrokerSetup) -> Self {
        let domain = setup.config.domain;
        let stream = rng::stream(setup.seed, &format!("broker.{}", setup.name));
        let mut broker = Broker::new(setup.config, stream);
        for peer in setup.sessions.keys() {
            broker.set_access(Target::Peer(*peer), Access::Closed);
        }
        let naming = Naming {
            next: UNNAMED_FROM + u32::from(domain.0) % UNNAMED_STEP,
            step: UNNAMED_STEP,
        };
        BrokerAgent {
            broker,
            here: Party::Broker(domain),
            neighbours: setup.neighbours,
            ledger: Ledger::new(setup.keep_ended, naming),
            now: SimTime::ZERO,
            next_cycle: None,
            grace: setup.grace,
            under_way: BTreeMap::new(),
            searches: BTreeMap::new(),
            partners: Partners::of(&setup.sessions),
            born: setup.born,
            reminders: BTreeSet::new(),
            round: Round::default(),
            taken_in: BTreeMap::new(),
            domains: setup.names.domains(),
            frozen: false,
            incarnation: setup.incarnation,
            letters_written: 0,
            out: Vec::new(),
            undelivered: Tally::default(),
        }
    }

    /// The broker, to look at.
    #[must_use]
    pub fn broker(&self) -> &Broker {
        &self.broker
    }

    /// Jobs of other domains that were handed to clusters of this one, by the
    /// domain at which they entered: `None` where their key does not say.
    pub fn taken_in(&self) -> impl Iterator<Item = (Option<DomainId>, u64)> {
        self.taken_in.iter().map(|(origin, jobs)| (*origin, *jobs))
    }

    /// The domain at which a forwarded job entered the grid, as its key says:
    /// `RUN/DOMAIN/JOB` before the hop.
    fn origin(&self, job: JobId) -> Option<DomainId> {
        let key = self.ledger.get(job)?.base_key.as_ref()?;
        let domain = key.rsplit('/').nth(1)?.parse().ok().map(DomainId);
        // Anybody may write any key: only domains there are have a count.
        domain.filter(|domain| domain.index() < self.domains)
    }

    fn turn_away(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: JobId,
        peer: Option<DomainId>,
        reason: Reason,
    ) {
        let by = self.here;
        let end = JobEnd::without_run(job, EndState::Rejected(reason));
        self.ledger.end(end);
        if let Some(peer) = peer {
            let to = Party::Broker(peer);
            cx.emit(
                self.now,
                Event::new(EventKind::Refused, job, by)
                    .to(to)
                    .because(reason),
            );
            let news = News::Refused { job, reason };
            return self.write_to_peer(cx, peer, ToPeer::News(news));
        }
        cx.emit(
            self.now,
            Event::new(EventKind::Rejected, job, by).because(reason),
        );
        cx.emit(
            self.now,
            Event::new(EventKind::FinishSeen, job, Party::Client),
        );
        self.ledger.publish(end);
    }

    /// The samples of one instant travel on as one message; a newer instant
    /// sends off what an LRMS that fell silent left incomplete.
    fn collect(&mut self, cx: &mut impl Cx<FromBroker>, sample: &LoadSample) {
        if sample.at > self.round.at && !self.round.samples.is_empty() {
            self.relay(cx);
        }
        if sample.at < self.round.at {
            return;
        }
        self.round.at = sample.at;
        self.round.samples.insert(sample.cluster, sample.clone());
        if self.round.samples.len() >= self.broker.config().clusters.len() {
            self.relay(cx);
        }
    }

    fn relay(&mut self, cx: &mut impl Cx<FromBroker>) {
        let samples = std::mem::take(&mut self.round.samples);
        if self.frozen {
            return;
        }
        let samples: Vec<LoadSample> = samples.into_values().collect();
        for index in 0..self.neighbours.len() {
            let Neighbour {
                domain,
                latency,
                consumer,
                ..
            } = self.neighbours[index];
            let push = match self.partners.update(domain, &samples) {
                Some(Some(push)) => push,
                None if consumer => Push {
                    sequence: 0,
                    full: true,
                    samples: samples.clone(),
                },
                _ => continue,
            };
            let (from, to) = (self.here, Party::Broker(domain));
            cx.emit(self.now, Event::new(EventKind::InfoSent, None, from).to(to));
            // Peers have the sample one link latency after it was taken.
            let due = self.round.at + latency;
            self.post(cx, None, due, FromBroker::Peer(domain, ToPeer::Info(push)));
        }
    }

    /// Tells the broker that a job came back.
    fn refused(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId, by: Target, reason: Reason) {
        let unwanted = self.broker.is_unwanted(job);
        self.broker
            .handle_refusal(self.now, job, by, reason, cx, &mut self.out);
        if unwanted {
            self.note_removed(job);
        }
    }

    fn end(&mut self, cx: &mut impl Cx<FromBroker>, end: JobEnd) {
        self.under_way.remove(&end.job);
        self.broker.handle_end(self.now, end, cx, &mut self.out);
        if self.broker.whereabouts(end.job).is_none() {
            self.ledger.end(end);
        }
    }

    /// Whoever has jobs of this broker and must therefore be watched. Peers
    /// with sessions are not among them: their heartbeats say more.
    #[must_use]
    pub fn relied_on(&self) -> BTreeSet<Target> {
        let confirmed = self.under_way.values().filter(|sent| sent.confirmed);
        let targets = confirmed.map(|sent| sent.target);
        targets.filter(|to| !self.partners.has(*to)).collect()
    }

    /// Whether samples from there are expected, and about those clusters.
    fn expects(&self, from: Target, samples: &[LoadSample]) -> bool {
        let config = self.broker.config();
        let clusters = match from {
            Target::Cluster(_) => &config.clusters,
            Target::Peer(domain) => match config.peers.iter().find(|peer| peer.domain == domain) {
                Some(peer) => &peer.clusters,
                None => return false,
            },
        };
        let known = |sample: &LoadSample| clusters.iter().any(|(id, _)| *id == sample.cluster);
        let own = |sample: &LoadSample| match from {
            Target::Cluster(cluster) => sample.cluster == cluster,
            Target::Peer(_) => true,
        };
        samples.iter().all(|sample| known(sample) && own(sample))
    }

    /// After any change: what is to be sent becomes letters, and the next
    /// cycle is found.
    fn settle(&mut self, cx: &mut impl Cx<FromBroker>) {
        let mut out = std::mem::take(&mut self.out);
        for outgoing in out.drain(..) {
            self.send(cx, outgoing);
        }
        self.out = out;
        self.find_cycle(self.now);
    }

    /// The next cycle for work that was meant for this instant: one whose
    /// grace has not passed is still to come.
    fn find_cycle(&mut self, meant: SimTime) {
        let within_grace = |cycle: &SimTime| *cycle + self.grace >= self.now;
        let pending = self.next_cycle.filter(|_| self.broker.queued() > 0);
        let first = self.broker.poll_timeout(meant.min(self.now));
        let first = first.filter(within_grace);
        let next = self.broker.poll_timeout(self.now);
        self.next_cycle = pending.into_iter().chain(first).chain(next).min();
    }

    fn set_now(&mut self, now: SimTime) {
        self.now = self.now.max(now);
    }
}

impl JobKeeper for BrokerAgent {
    fn view(&self, job: JobId) -> Option<JobView> {
        let record = self.ledger.get(job)?;
        let state = match (self.broker.whereabouts(job), record.end) {
            (Some(Some(to)), _) => JobState::Sent { to },
            (Some(None), _) => JobState::Queued {
                since: record.arrived,
            },
            (None, Some(end)) => JobState::Ended(end),
            (None, None) => return None,
        };
        Some(record.view(state))
    }

    fn list(&self, after: Option<JobId>, limit: usize) -> Vec<JobView> {
        let jobs = self.ledger.list(after, limit);
        jobs.filter_map(|job| self.view(job)).collect()
    }

    fn ends(&self, after: u64, limit: usize) -> (u64, Vec<JobEnd>) {
        self.ledger.ends(after, limit)
    }
}

impl Agent for BrokerAgent {
    type Sends = FromBroker;

    fn now(&self) -> SimTime {
        self.now
    }

    fn next_due(&self) -> Option<SimTime> {
        self.next_cycle.filter(|_| !self.frozen)
    }

    fn next_wall_due(&self) -> Option<WallTime> {
        let first = self.reminders.first().map(|(due, _)| *due);
        first.filter(|_| !self.frozen)
    }

    fn grace(&self) -> SimDuration {
        self.grace
    }

    fn reads(&self) -> Vec<ClusterId> {
        let config = self.broker.config();
        match (config.settings.local_info, self.next_due()) {
            (LocalInfo::Fresh, Some(_)) => config.clusters.iter().map(|(id, _)| *id).collect(),
            _ => Vec::new(),
        }
    }

    fn published(&self) -> u64 {
        self.ledger.published()
    }

    fn undelivered(&self) -> Tally {
        self.undelivered
    }
}
