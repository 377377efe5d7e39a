//! A broker: its decisions, what it knows of its jobs, and the relaying of
//! information.

mod claims;
mod delivery;
mod inputs;
mod links;
mod notes;
mod recovery;
mod removal;
mod sessions;
mod setup;
#[cfg(test)]
mod tests;

pub use delivery::Lost;
pub use links::{PeerState, Sampled, Unexpected, Updated};
pub use recovery::Alive;
pub use sessions::{PeerSession, Pull, SessionChange};
pub use setup::{BrokerSetup, GridNames, KEEP_ENDED, SetupError};

use super::store::{JobState, JobStore, JobView, Naming};
use super::{Agent, Cx, Handle, JobHolder, Participant};
use crate::broker::{Access, Broker, LocalInfo};
use crate::conversation::{Arrival, FromBroker};
use crate::envelope::{Envelope, EnvelopeId, Tally, Told};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::Reason;
use crate::message::{JobEnd, News, Target};
use crate::rng;
use crate::time::{SimDuration, SimTime, WallTime};
use links::Round;
use notes::Notes;
use recovery::Search;
use sessions::Partners;
use std::collections::{BTreeMap, BTreeSet};

/// A broker as a service runs it.
pub struct BrokerAgent {
    broker: Broker,
    notes: Notes,
    /// The nominal instant of the next cycle.
    next_cycle: Option<SimTime>,
    grace: SimDuration,
    /// Jobs that are looked for before anything is decided about them, by the key
    /// under which they have come.
    searches: BTreeMap<(JobId, Option<String>), Search>,
    /// When those that are over may be forgotten, if there is no room.
    forgets_next: WallTime,
    /// Which life of each service answered last.
    lives: BTreeMap<Target, u64>,
    partners: Partners,
    /// When this life began.
    born: SimTime,
    /// What is said again to somebody who does not answer.
    reminders: BTreeMap<WallTime, Vec<Reminder>>,
    round: Round,
    frozen: bool,
}

/// Something to be said again.
enum Reminder {
    /// The job itself, or the question whether the receiver has it.
    Bring(Target, Box<Arrival>),
    /// The request to remove the job.
    Remove(Target, JobId),
    /// What was said about processors, in the same message.
    Say(Box<Envelope<FromBroker>>),
}

/// Names of jobs that come without one: apart from those of a run, and by
/// domain, so that brokers which forward to each other give no name twice.
const UNNAMED_FROM: u32 = 1 << 31;
const UNNAMED_STEP: u32 = 1 << 10;

impl BrokerAgent {
    /// A broker with an empty queue.
    pub fn new(mut setup: BrokerSetup) -> Self {
        let (domain, settings) = (setup.config.domain, &mut setup.config.settings);
        if !setup.grace.is_zero() {
            // That of a start, its answer, and the last start.
            let least = setup.grace + setup.grace + setup.grace;
            let costs = std::mem::take(&mut settings.co_allocation);
            settings.co_allocation = costs.not_before(least);
        }
        let stream = rng::stream(setup.seed, &format!("broker.{}", setup.name));
        let neighbours = setup.config.neighbours.clone().into_iter();
        let latencies = neighbours.map(|other| (other.domain, other.latency));
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
            notes: Notes {
                domain,
                latencies: latencies.collect(),
                store: JobStore::new(setup.keep_ended, naming),
                now: SimTime::ZERO,
                under_way: BTreeMap::new(),
                unsure: BTreeSet::new(),
                to_remove: BTreeSet::new(),
                taken_in: BTreeMap::new(),
                asked: BTreeMap::new(),
                beginning: BTreeMap::new(),
                claimed: BTreeMap::new(),
                rooms: BTreeMap::new(),
                domains: setup.names.domains(),
                next_id: EnvelopeId::first(setup.incarnation),
                undelivered: Tally::default(),
            },
            next_cycle: None,
            grace: setup.grace,
            searches: BTreeMap::new(),
            forgets_next: WallTime::ZERO,
            lives: BTreeMap::new(),
            partners: Partners::of(&setup.sessions),
            born: setup.born,
            reminders: BTreeMap::new(),
            round: Round::default(),
            frozen: false,
        }
    }

    /// The broker, to look at.
    pub fn broker(&self) -> &Broker {
        &self.broker
    }

    /// Jobs of other domains that were handed to clusters of this one, by the
    /// domain at which they entered: `None` where their key does not say.
    pub fn taken_in(&self) -> impl Iterator<Item = (Option<DomainId>, u64)> {
        let all = self.notes.taken_in.iter();
        all.map(|(origin, jobs)| (*origin, *jobs))
    }

    /// The broker handles an input, and what it sends is written down.
    fn inside<I>(&mut self, cx: &mut impl Cx<FromBroker>, input: I) -> <Broker as Handle<I>>::Answer
    where
        Broker: Handle<I>,
    {
        self.broker.handle(&mut self.notes.writing(cx), input)
    }

    /// Tells the broker that a job came back.
    fn refused(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId, by: Target, reason: Reason) {
        let unwanted = self.broker.is_unwanted(job);
        let visit = None;
        let said = News::Refused { job, reason, visit };
        self.inside(cx, Told { from: by, said });
        if unwanted {
            self.note_removed(job);
        }
    }

    /// A job is over for this broker, unless an earlier visit goes on, or touch
    /// with it is lost.
    fn note_end(&mut self, end: JobEnd) {
        if end.state.is_lost() || self.broker.whereabouts(end.job).is_none() {
            self.notes.store.end(end);
        }
    }

    /// Whoever has jobs of this broker, or may have, or was asked for processors, and must
    /// therefore be watched. Peers with sessions are not among them: their heartbeats say
    /// more.
    pub fn relied_on(&self) -> BTreeSet<Target> {
        let there = self.notes.under_way.values().filter(|sent| sent.is_there());
        let asked = self.broker.asked().map(|(_, peer)| Target::Peer(peer));
        let targets = there.map(|sent| sent.target).chain(asked);
        targets.filter(|to| !self.partners.has(*to)).collect()
    }

    /// The next cycle for work that was meant for this instant: one whose
    /// grace has not passed is still to come.
    fn find_cycle(&mut self, meant: SimTime) {
        let now = self.notes.now;
        let within_grace = |cycle: &SimTime| *cycle + self.grace >= now;
        let pending = self.next_cycle.filter(|_| self.broker.queued() > 0);
        let first = self.broker.poll_timeout(meant.min(now));
        let first = first.filter(within_grace);
        let next = self.broker.poll_timeout(now);
        self.next_cycle = pending.into_iter().chain(first).chain(next).min();
    }

    /// After any change, the next cycle is found.
    fn settle(&mut self) {
        let broker = &self.broker;
        self.notes
            .asked
            .retain(|job, _| broker.whereabouts(*job).is_some());
        self.find_cycle(self.notes.now);
    }
}

impl JobHolder for BrokerAgent {
    fn view(&self, job: JobId) -> Option<JobView> {
        let record = self.notes.store.get(job)?;
        let state = match (self.broker.whereabouts(job), record.end) {
            (Some(Some(_)), Some(end)) if end.state.is_lost() => JobState::Ended(end),
            (Some(Some(to)), _) => JobState::Sent { to },
            (None, Some(end)) => JobState::Ended(end),
            // One that is looked for is held by nobody yet.
            (Some(None), _) | (None, None) => JobState::Queued {
                since: record.arrived,
            },
        };
        Some(record.view(state))
    }

    fn list(&self, after: Option<JobId>, limit: usize) -> Vec<JobView> {
        let jobs = self.notes.store.list(after, limit);
        jobs.filter_map(|job| self.view(job)).collect()
    }

    fn ends(&self, after: u64, limit: usize) -> (u64, Vec<JobEnd>) {
        self.notes.store.ends(after, limit)
    }
}

impl Participant for BrokerAgent {
    type Sends = FromBroker;

    fn next_due(&self) -> Option<SimTime> {
        self.next_cycle.filter(|_| !self.frozen)
    }
}

impl Agent for BrokerAgent {
    fn now(&self) -> SimTime {
        self.notes.now
    }

    fn next_wall_due(&self) -> Option<WallTime> {
        let first = self.reminders.keys().next().copied();
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
        self.notes.store.published()
    }

    fn undelivered(&self) -> Tally {
        self.notes.undelivered
    }
}
