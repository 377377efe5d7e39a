//! The agents of a grid on a network that loses, repeats and reorders messages:
//! no process, and no time.
//!
//! Each try to deliver a message may lose the request or its answer, and a
//! message may take a way on which others overtake it. Who gets no answer tries
//! again, as the couriers of the real-time driver do: for ever towards an own
//! broker or LRMS, `TRIES` times towards a peer, which is then lost and found
//! again after a while.

mod delivery;

use crate::reference::RefCancellation;
use crate::trail::Trails;
use gridrig_core::agent::{
    Agent, BrokerAgent, BrokerSetup, Cx, Due, Fate, FromBroker, FromLrms, Handle, Home, Letter,
    LrmsAgent, LrmsSetup, Message, Participant, PeerSession, SessionChange, SetupError,
    Undelivered,
};
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::rng;
use gridrig_core::session::Roles;
use gridrig_core::time::{SimDuration, SimTime, WallTime};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::collections::BTreeMap;

/// How often things go wrong: each once in so many times, never with 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A request is lost: its receiver never sees it.
    pub lost: u32,
    /// An answer is lost, so that its request is repeated.
    pub repeated: u32,
    /// A message is overtaken by those that are sent within a second.
    pub overtaken: u32,
}

/// How often something has gone wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests lost.
    pub lost: u64,
    /// Answers lost.
    pub repeated: u64,
    /// Messages overtaken.
    pub overtaken: u64,
    /// Messages that were given up after all tries.
    pub given_up: u64,
}

/// Tries to reach a peer.
const TRIES: u32 = 3;
/// Time between two tries.
const TRY_AGAIN: SimDuration = SimDuration::from_millis(250);
/// How much later a message comes that is overtaken.
const DETOUR: SimDuration = SimDuration::from_secs(1);
/// After so long a peer that was lost shows that it lives.
const AWAY: SimDuration = SimDuration::from_secs(2);

/// What is on its way or is to happen, from whom.
#[derive(Clone, Debug)]
enum Parcel {
    Enter(usize, Party),
    Remove(JobId, Party),
    Broker(DomainId, Letter<FromBroker>),
    Lrms(ClusterId, Letter<FromLrms>),
    BrokerFate(DomainId, Fate<FromBroker>),
    LrmsFate(ClusterId, Fate<FromLrms>),
    Session(DomainId, PeerSession),
}

/// By time and order of sending; each with the tries so far.
type Queue = BTreeMap<(SimTime, u64), (Parcel, u32)>;

/// A grid of agents with the messages between them.
pub struct Network<'a> {
    submissions: &'a [Submission],
    brokers: Vec<BrokerAgent>,
    lrms: Vec<LrmsAgent>,
    queue: Queue,
    parcels: u64,
    faults: Faults,
    rng: ChaCha8Rng,
    now: SimTime,
    trails: Trails,
    counts: Counts,
}

impl<'a> Network<'a> {
    /// A grid in which every two brokers that have a link hold a session.
    ///
    /// # Errors
    /// When a policy needs the truth, which no agent has.
    pub fn new(
        grid: &Grid,
        submissions: &'a [Submission],
        cancellations: &[RefCancellation],
        (seed, faults): (u64, Faults),
    ) -> Result<Self, SetupError> {
        let lrms = grid.clusters.iter().map(|cluster| {
            let home = cluster.domain.map(|domain| {
                let broker = &grid.domains[domain.index()].broker;
                Home {
                    domain,
                    latency: broker.lrms_latency,
                    exchange: broker.exchange,
                }
            });
            LrmsAgent::new(LrmsSetup {
                cluster: cluster.config.clone(),
                home,
                incarnation: 0,
                keep_ended: usize::MAX,
                names_apart: true,
            })
        });
        let mut network = Network {
            submissions,
            brokers: Vec::new(),
            lrms: lrms.collect(),
            queue: Queue::new(),
            parcels: 0,
            faults,
            rng: rng::stream(seed, "network"),
            now: SimTime::ZERO,
            trails: Trails::new(submissions.len()),
            counts: Counts::default(),
        };
        for domain in (0..).map(DomainId).take(grid.domains.len()) {
            let mut setup = BrokerSetup::of(grid, domain, seed)?;
            // So that no two brokers give a letter the same name.
            setup.incarnation = u64::from(domain.0);
            for other in &setup.config.neighbours {
                let mut peers = setup.config.peers.iter();
                let consumer = peers.any(|peer| peer.domain == other.domain);
                let change = SessionChange::Open {
                    roles: Some(Roles::new(other.consumer, consumer)),
                    found: false,
                };
                let peer = other.domain;
                setup.sessions.insert(peer, None);
                let open = Parcel::Session(domain, PeerSession { peer, change });
                network.push(SimTime::ZERO, open, 0);
            }
            network.brokers.push(BrokerAgent::new(setup));
        }
        for (index, submission) in submissions.iter().enumerate() {
            let enter = Parcel::Enter(index, party(submission.entry));
            network.push(submission.at, enter, 0);
        }
        for removal in cancellations {
            let to = party(submissions[removal.job.index()].entry);
            network.push(removal.at, Parcel::Remove(removal.job, to), 0);
        }
        Ok(network)
    }

    /// Lets everything happen up to this instant: at each, timers first.
    pub fn run_until(&mut self, end: SimTime) {
        while let Some(now) = self.next_instant().filter(|now| *now <= end) {
            self.now = now;
            if !self.handle_timer()
                && let Some((_, (parcel, tries))) = self.queue.pop_first()
            {
                self.carry(parcel, tries);
            }
        }
    }

    /// What has happened to every job.
    #[must_use]
    pub fn trails(&self) -> &Trails {
        &self.trails
    }

    /// What has gone wrong.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn push(&mut self, at: SimTime, parcel: Parcel, tries: u32) {
        self.parcels += 1;
        self.queue.insert((at, self.parcels), (parcel, tries));
    }

    fn next_instant(&self) -> Option<SimTime> {
        let brokers = self.brokers.iter();
        // The wall clock goes as fast as the run.
        let on_the_wall = brokers.clone().filter_map(Agent::next_wall_due);
        let on_the_wall = on_the_wall.map(|at| SimTime::from_nanos(at.as_nanos()));
        let cycles = brokers.filter_map(Participant::next_due);
        let clusters = self.lrms.iter().filter_map(Participant::next_due);
        let parcel = self.queue.first_key_value().map(|((at, _), _)| *at);
        let timers = cycles.chain(clusters).chain(on_the_wall);
        let next = timers.chain(parcel).min();
        next.map(|next| next.max(self.now))
    }

    /// Handles one timer that is due, if there is one.
    fn handle_timer(&mut self) -> bool {
        let now = self.now;
        let wall = WallTime::from_nanos(now.as_nanos());
        let is_due = |due: Option<SimTime>| due.is_some_and(|due| due <= now);
        if let Some(lrms) = self.lrms.iter().position(|one| is_due(one.next_due())) {
            let due = Due::Model { loads: Vec::new() };
            self.tell_lrms(ClusterId(lrms as u16), due);
            return true;
        }
        let is_late = |one: &BrokerAgent| one.next_wall_due().is_some_and(|due| due <= wall);
        if let Some(broker) = self.brokers.iter().position(is_late) {
            self.tell_broker(DomainId(broker as u16), Due::Wall);
            return true;
        }
        let mut brokers = self.brokers.iter();
        let Some(broker) = brokers.position(|one| is_due(one.next_due())) else {
            return false;
        };
        let read = self.brokers[broker].reads().into_iter();
        let loads = read.map(|cluster| self.lrms[cluster.index()].sample_at(now));
        let due = Due::Model {
            loads: loads.collect(),
        };
        self.tell_broker(DomainId(broker as u16), due);
        true
    }

    fn tell_broker<I>(&mut self, to: DomainId, input: I) -> <BrokerAgent as Handle<I>>::Answer
    where
        BrokerAgent: Handle<I>,
    {
        let mut around = Around::of(self.now, &mut self.trails, &mut self.queue);
        let answer = self.brokers[to.index()].handle(&mut around, input);
        let (sent, recalled) = (around.sent, around.recalled);
        for letter in sent {
            self.send(letter.due, Parcel::Broker(to, letter));
        }
        for letter in recalled {
            let result = Err(Undelivered::CalledBack);
            let fate = Parcel::BrokerFate(to, Fate { letter, result });
            self.push(self.now, fate, 0);
        }
        answer
    }

    fn tell_lrms<I>(&mut self, to: ClusterId, input: I) -> <LrmsAgent as Handle<I>>::Answer
    where
        LrmsAgent: Handle<I>,
    {
        let mut around = Around::of(self.now, &mut self.trails, &mut self.queue);
        let answer = self.lrms[to.index()].handle(&mut around, input);
        for letter in around.sent {
            self.send(letter.due, Parcel::Lrms(to, letter));
        }
        answer
    }

    fn send(&mut self, due: SimTime, parcel: Parcel) {
        let overtaken = self.once_in(self.faults.overtaken);
        self.counts.overtaken += u64::from(overtaken);
        let detour = if overtaken { DETOUR } else { SimDuration::ZERO };
        self.push(due.max(self.now) + detour, parcel, 0);
    }

    fn once_in(&mut self, times: u32) -> bool {
        times > 0 && self.rng.random_range(0..times) == 0
    }

    /// One try to deliver.
    fn carry(&mut self, parcel: Parcel, tries: u32) {
        match parcel {
            Parcel::BrokerFate(to, fate) => return self.tell_broker(to, fate),
            Parcel::LrmsFate(to, fate) => return self.tell_lrms(to, fate),
            Parcel::Session(to, change) => {
                self.tell_broker(to, change);
                return;
            }
            Parcel::Enter(index, _) if tries == 0 => {
                let Submission {
                    at, entry, spec, ..
                } = &self.submissions[index];
                let (job, entry, intended) = (spec.id, *entry, *at);
                let submitted = Event::new(EventKind::Submitted, job, Party::Client)
                    .to(entry)
                    .at(intended);
                self.trails.emit(self.now, submitted);
            }
            _ => {}
        }
        let is_lost = self.once_in(self.faults.lost);
        let result = match is_lost {
            true => Err(Undelivered::NoAnswer),
            false => self.deliver(&parcel),
        };
        let is_repeated = !is_lost && self.once_in(self.faults.repeated);
        self.counts.lost += u64::from(is_lost);
        self.counts.repeated += u64::from(is_repeated);
        let is_answered = !is_lost && !is_repeated;
        let to_peer = matches!(&parcel, Parcel::Broker(_, letter)
            if matches!(letter.message, FromBroker::Peer(..)));
        if !is_answered && (!to_peer || tries + 1 < TRIES) {
            return self.push(self.now + TRY_AGAIN, parcel, tries + 1);
        }
        let result = match is_answered {
            true => result,
            false => Err(Undelivered::NoAnswer),
        };
        self.report(parcel, result);
    }

    /// The sender learns what has become of its message.
    fn report(&mut self, parcel: Parcel, result: Result<(), Undelivered>) {
        match parcel {
            Parcel::Broker(from, letter) => {
                if let (Err(Undelivered::NoAnswer), FromBroker::Peer(peer, _)) =
                    (result, &letter.message)
                {
                    self.counts.given_up += 1;
                    let change = SessionChange::Answered;
                    let found = PeerSession {
                        peer: *peer,
                        change,
                    };
                    self.push(self.now + AWAY, Parcel::Session(from, found), 0);
                }
                let fate = Fate { letter, result };
                self.push(self.now, Parcel::BrokerFate(from, fate), 0);
            }
            Parcel::Lrms(from, letter) => {
                let fate = Fate { letter, result };
                self.push(self.now, Parcel::LrmsFate(from, fate), 0);
            }
            _ => {}
        }
    }
}

fn party(entry: Entry) -> Party {
    match entry {
        Entry::Domain(domain) => Party::Broker(domain),
        Entry::Cluster(cluster) => Party::Lrms(cluster),
    }
}

/// What an agent is given on this network.
struct Around<'a, M> {
    now: SimTime,
    trails: &'a mut Trails,
    queue: &'a mut Queue,
    sent: Vec<Letter<M>>,
    recalled: Vec<Letter<FromBroker>>,
}

impl<'a, M> Around<'a, M> {
    fn of(now: SimTime, trails: &'a mut Trails, queue: &'a mut Queue) -> Self {
        Around {
            now,
            trails,
            queue,
            sent: Vec::new(),
            recalled: Vec::new(),
        }
    }
}

impl<M> EventSink for Around<'_, M> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.trails.emit(at, event);
    }
}

impl<M: Message> Cx<M> for Around<'_, M> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn wall(&self) -> WallTime {
        WallTime::from_nanos(self.now.as_nanos())
    }

    fn send(&mut self, letter: Letter<M>) {
        self.sent.push(letter);
    }

    /// A letter has left with its first try.
    fn recall(&mut self, job: JobId) -> bool {
        let is_it = |(parcel, tries): &(Parcel, u32)| {
            let Parcel::Broker(_, letter) = parcel else {
                return false;
            };
            *tries == 0 && letter.message.data_of() == Some(job)
        };
        let mut there = self.queue.iter().filter(|(_, parcel)| is_it(parcel));
        let Some(place) = there.next().map(|(place, _)| *place) else {
            return false;
        };
        if let Some((Parcel::Broker(_, letter), _)) = self.queue.remove(&place) {
            self.recalled.push(letter);
        }
        true
    }
}
