//! A broker in real time: the broker of the core and the relaying of
//! information.

mod delivery;
mod recovery;
mod removal;
mod sessions;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::{BrokerSetup, GridNames, Neighbour};

use super::actor::{JobKeeper, Machine};
use super::ledger::{Arrival, JobState, JobView, Ledger, Naming, Opened, Receipt, SubmitError};
use super::letter::{Letter, LetterId, Message, Tally};
use super::outbox::Delivery;
use super::recall::Recall;
use super::record::Recorder;
use gridrig_core::broker::{Access, Broker, Course, LocalInfo};
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::grid::transfer_time;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{JobSpec, Reason};
use gridrig_core::load::LoadSample;
use gridrig_core::message::{EndState, JobEnd, Outgoing, Target};
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};
use recovery::Search;
use sessions::Partners;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A broker as its task owns it.
pub struct BrokerMachine {
    broker: Broker,
    here: Party,
    neighbours: Vec<Neighbour>,
    recorder: Recorder,
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
    ask_again: SimDuration,
    round: Round,
    /// Jobs of other domains that were handed to own clusters, by the domain
    /// at which they entered.
    taken_in: BTreeMap<Option<DomainId>, u64>,
    /// How many domains the grid has.
    domains: usize,
    frozen: bool,
    incarnation: u64,
    letters: Vec<Letter>,
    letters_written: u64,
    out: Vec<Outgoing>,
    undelivered: Arc<Tally>,
}

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
    /// By which it can be called back while its data is on its way.
    recall: Option<Recall>,
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

impl BrokerMachine {
    /// A broker with an empty queue that tells `recorder` what happens.
    #[must_use]
    pub fn new(setup: BrokerSetup, recorder: Recorder) -> Self {
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
        BrokerMachine {
            broker,
            here: Party::Broker(domain),
            neighbours: setup.neighbours,
            recorder,
            ledger: Ledger::new(setup.keep_ended, naming),
            now: SimTime::ZERO,
            next_cycle: None,
            grace: setup.grace,
            under_way: BTreeMap::new(),
            searches: BTreeMap::new(),
            partners: Partners::of(&setup.sessions),
            born: setup.born,
            ask_again: setup.ask_again,
            round: Round::default(),
            taken_in: BTreeMap::new(),
            domains: setup.names.domains(),
            frozen: false,
            incarnation: setup.incarnation,
            letters: Vec::new(),
            letters_written: 0,
            out: Vec::new(),
            undelivered: Arc::default(),
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

    /// Whether a letter of this name is new here; repeated ones are to be
    /// confirmed again and otherwise ignored.
    pub fn hear(&mut self, from: Party, id: LetterId) -> bool {
        self.ledger.hear(from, id)
    }

    fn turn_away(&mut self, job: JobId, peer: Option<DomainId>, reason: Reason) {
        let by = self.here;
        let end = end_of(job, EndState::Rejected(reason));
        self.ledger.end(end);
        if let Some(peer) = peer {
            let to = Party::Broker(peer);
            self.recorder.emit(
                self.now,
                Event::new(EventKind::Refused, job, by)
                    .to(to)
                    .because(reason),
            );
            self.write_to_peer(peer, Message::Refusal { job, reason });
            return;
        }
        self.recorder.emit(
            self.now,
            Event::new(EventKind::Rejected, job, by).because(reason),
        );
        self.recorder.emit(
            self.now,
            Event::new(EventKind::FinishSeen, job, Party::Client),
        );
        self.ledger.publish(end);
    }

    /// Takes in samples of an own cluster or of a peer's clusters; those of
    /// own clusters are relayed to the consumers.
    pub fn handle_info(&mut self, now: SimTime, from: Target, samples: &[LoadSample]) {
        self.set_now(now);
        self.broker.handle_info(from, samples);
        if let Target::Cluster(_) = from {
            for sample in samples {
                self.collect(sample);
            }
        }
        self.settle();
    }

    /// The samples of one instant travel on as one message; a newer instant
    /// sends off what an LRMS that fell silent left incomplete.
    fn collect(&mut self, sample: &LoadSample) {
        if sample.at > self.round.at && !self.round.samples.is_empty() {
            self.relay();
        }
        if sample.at < self.round.at {
            return;
        }
        self.round.at = sample.at;
        self.round.samples.insert(sample.cluster, sample.clone());
        if self.round.samples.len() >= self.broker.config().clusters.len() {
            self.relay();
        }
    }

    fn relay(&mut self) {
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
            let message = match self.partners.update(domain, &samples) {
                Some(Some(push)) => Message::Update(push),
                None if consumer => Message::Info(samples.clone()),
                _ => continue,
            };
            let (from, to) = (self.here, Party::Broker(domain));
            self.recorder.emit(
                self.now,
                Event::new(EventKind::InfoSent, None::<JobId>, from).to(to),
            );
            // Peers have the sample one link latency after it was taken.
            let due = self.round.at + latency;
            self.post(to, None, due, message);
        }
    }

    /// A job came back, at the instant it was meant to if that is known.
    pub fn handle_refusal(
        &mut self,
        now: SimTime,
        meant: Option<SimTime>,
        (job, reason): (JobId, Reason),
        by: Target,
    ) {
        self.set_now(now);
        if self
            .under_way
            .get(&job)
            .is_some_and(|sent| sent.target == by)
        {
            self.under_way.remove(&job);
        }
        self.refused(job, by, reason);
        self.settle();
        self.find_cycle(meant.unwrap_or(self.now));
    }

    /// Tells the broker that a job came back.
    fn refused(&mut self, job: JobId, by: Target, reason: Reason) {
        let unwanted = self.broker.is_unwanted(job);
        let (recorder, out) = (&mut self.recorder, &mut self.out);
        self.broker
            .handle_refusal(self.now, job, by, reason, recorder, out);
        if unwanted {
            self.note_removed(job);
        }
    }

    /// News of a job's end, from where it was sent. `false` if the job is not
    /// with that sender: it has been given up, or was never sent there.
    pub fn handle_end(&mut self, now: SimTime, by: Target, end: JobEnd) -> bool {
        self.set_now(now);
        let expected = self.broker.whereabouts(end.job) == Some(Some(by));
        if expected {
            self.end(end);
        }
        self.settle();
        expected
    }

    fn end(&mut self, end: JobEnd) {
        self.under_way.remove(&end.job);
        self.broker
            .handle_end(self.now, end, &mut self.recorder, &mut self.out);
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
    #[must_use]
    pub fn expects(&self, from: Target, samples: &[LoadSample]) -> bool {
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
    fn settle(&mut self) {
        for outgoing in std::mem::take(&mut self.out) {
            self.send(outgoing);
        }
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

    fn send(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Dispatch { job, cluster } => {
                let Some(spec) = self.broker.spec(job).cloned() else {
                    return;
                };
                let hop = self.ledger.get(job).map_or(0, |record| record.hop);
                let (key, from) = (self.key(job, hop), self.broker.config().domain);
                self.note_sent(job, Target::Cluster(cluster), hop);
                if hop > 0 {
                    *self.taken_in.entry(self.origin(job)).or_default() += 1;
                }
                self.write_to_lrms(
                    cluster,
                    Message::Dispatch {
                        spec,
                        key,
                        from,
                        hop,
                        tag: self.tag(job),
                    },
                );
            }
            Outgoing::Forward {
                job,
                to,
                hop,
                origin,
                settled,
            } => {
                let Some(spec) = self.broker.spec(job).cloned() else {
                    return;
                };
                let key = self.forward_key(job, hop, settled);
                let from = self.broker.config().domain;
                self.note_sent(job, Target::Peer(to), hop);
                let neighbour = self.neighbours.iter().find(|other| other.domain == to);
                let bandwidth = neighbour.and_then(|other| other.bandwidth);
                let data = transfer_time(spec.data_kib, bandwidth);
                let forward = Message::Forward {
                    spec,
                    key,
                    tag: self.tag(job),
                    from,
                    hop,
                    origin,
                    settled,
                };
                // Its data goes with it.
                self.write_to_peer_after(data, to, forward);
                if data > SimDuration::ZERO {
                    self.make_recallable(job);
                }
            }
            Outgoing::Refuse { job, to, reason } => {
                self.ledger.end(end_of(job, EndState::Rejected(reason)));
                self.write_to_peer(to, Message::Refusal { job, reason });
            }
            Outgoing::Notify { end, to } => self.write_to_peer(to, Message::Notice(end)),
            Outgoing::Seen { end } => self.seen(end),
            Outgoing::Cancel { job, to } => self.ask_to_remove(job, to),
        }
    }

    fn tag(&self, job: JobId) -> Option<Arc<str>> {
        self.ledger.get(job)?.tag.clone()
    }

    fn note_sent(&mut self, job: JobId, target: Target, hop: u32) {
        let sent = UnderWay {
            target,
            due: self.now + self.latency(target),
            hop,
            confirmed: false,
            perhaps: false,
            told: false,
            recall: None,
        };
        self.under_way.insert(job, sent);
    }

    /// The key a job travels under from here: the one it came with, with the
    /// hop it is on; for a job without such a key, one of this broker's own.
    fn key(&self, job: JobId, hop: u32) -> String {
        let record = self.ledger.get(job);
        match record.and_then(|record| record.base_key.as_ref()) {
            Some(base) => format!("{base}/{hop}"),
            None => {
                let (life, domain) = (self.incarnation, self.broker.config().domain.0);
                format!("{life}/{domain}/{}/{hop}", job.0)
            }
        }
    }

    /// The same towards a peer: one that has let the job pass by gets it a
    /// second time when it has settled.
    fn forward_key(&self, job: JobId, hop: u32, settled: bool) -> String {
        let key = self.key(job, hop);
        match settled {
            true => format!("settled:{key}"),
            false => key,
        }
    }

    fn seen(&mut self, end: JobEnd) {
        self.ledger.end(end);
        self.ledger.publish(end);
        if let Some(Party::Broker(peer)) = self.ledger.get(end.job).map(|record| record.from) {
            self.write_to_peer(peer, Message::Notice(end));
        }
        let address = self
            .ledger
            .get(end.job)
            .and_then(|record| record.notify.clone());
        if address.is_some() {
            let (from, to) = (self.here, Party::Client);
            self.recorder.emit(
                self.now,
                Event::new(EventKind::Notified, end.job, from).to(to),
            );
            self.post(to, address, self.now, Message::Notice(end));
        }
    }

    fn write_to_lrms(&mut self, cluster: ClusterId, message: Message) {
        let due = self.now + self.broker.config().settings.lrms_latency;
        self.post(Party::Lrms(cluster), None, due, message);
    }

    fn write_to_peer(&mut self, peer: DomainId, message: Message) {
        self.write_to_peer_after(SimDuration::ZERO, peer, message);
    }

    fn write_to_peer_after(&mut self, extra: SimDuration, peer: DomainId, message: Message) {
        let due = self.now + self.latency(Target::Peer(peer)) + extra;
        self.post(Party::Broker(peer), None, due, message);
    }

    /// One-way latency to a place that jobs are sent to.
    fn latency(&self, target: Target) -> SimDuration {
        match target {
            Target::Cluster(_) => self.broker.config().settings.lrms_latency,
            Target::Peer(peer) => {
                let mut neighbours = self.neighbours.iter();
                let known = neighbours.find(|neighbour| neighbour.domain == peer);
                known.map_or(SimDuration::ZERO, |neighbour| neighbour.latency)
            }
        }
    }

    fn post(&mut self, to: Party, address: Option<Arc<str>>, due: SimTime, message: Message) {
        let (incarnation, number) = (self.incarnation, self.letters_written);
        self.letters_written += 1;
        let id = LetterId {
            incarnation,
            number,
        };
        self.letters.push(Letter {
            id,
            from: self.here,
            to,
            address,
            due,
            message,
            recall: None,
        });
    }

    fn set_now(&mut self, now: SimTime) {
        self.now = self.now.max(now);
    }
}

fn end_of(job: JobId, state: EndState) -> JobEnd {
    JobEnd {
        job,
        state,
        cluster: None,
        start: None,
        finish: None,
    }
}

impl JobKeeper for BrokerMachine {
    fn submit(&mut self, now: SimTime, arrival: Arrival) -> Result<Receipt, SubmitError> {
        self.set_now(now);
        let job = match self.ledger.open(&arrival)? {
            Opened::Repeated(receipt) => {
                self.tell_again(receipt.job, arrival.from);
                self.settle();
                return Ok(receipt);
            }
            Opened::New(job) => job,
        };
        let spec = JobSpec {
            id: job,
            ..arrival.spec.clone()
        };
        let (from, hop) = (arrival.from, arrival.hop);
        let peer = match from {
            Party::Broker(domain) if hop > 0 => Some(domain),
            // What a peer has not forwarded enters the grid here.
            Party::Broker(_) | Party::Client | Party::Lrms(_) => None,
        };
        let course = Course {
            from: peer,
            hop,
            origin: arrival
                .origin
                .or(peer)
                .unwrap_or(self.broker.config().domain),
            settled: arrival.settled,
        };
        let taken = self
            .broker
            .take_over(self.now, spec.clone(), course, &mut self.recorder);
        let receipt = Receipt {
            job,
            at: self.now,
            taken,
            repeated: false,
        };
        let meant = arrival.meant.unwrap_or(self.now);
        let perhaps_known = arrival.key.is_some() && meant < self.born;
        self.ledger.enter(arrival, spec, &receipt);
        match taken {
            Err(reason) => self.turn_away(job, peer, reason),
            Ok(()) if perhaps_known => self.search(job, peer, hop),
            Ok(()) => {}
        }
        self.settle();
        self.find_cycle(meant);
        Ok(receipt)
    }

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
        Some(JobView {
            spec: record.spec.clone(),
            arrived: record.arrived,
            state,
            tag: record.tag.clone(),
            identity: record.identity.clone(),
        })
    }

    fn list(&self, after: Option<JobId>, limit: usize) -> Vec<JobView> {
        let jobs = self.ledger.list(after, limit);
        jobs.filter_map(|job| self.view(job)).collect()
    }

    fn ends(&self, after: u64, limit: usize) -> (u64, Vec<JobEnd>) {
        self.ledger.ends(after, limit)
    }

    fn freeze(&mut self) {
        self.frozen = true;
    }

    fn undelivered(&self) -> Arc<Tally> {
        Arc::clone(&self.undelivered)
    }
}

impl Machine for BrokerMachine {
    fn now(&self) -> SimTime {
        self.now
    }

    fn due(&self) -> Option<SimTime> {
        self.next_cycle.filter(|_| !self.frozen)
    }

    fn step(&mut self, at: SimTime) {
        self.set_now(at);
        self.next_cycle = None;
        self.broker
            .handle_cycle(self.now, &mut self.recorder, &mut self.out);
        self.settle();
    }

    fn grace(&self) -> SimDuration {
        self.grace
    }

    fn wants_samples(&self) -> Vec<ClusterId> {
        let config = self.broker.config();
        match (config.settings.local_info, self.due()) {
            (LocalInfo::Fresh, Some(_)) => config.clusters.iter().map(|(id, _)| *id).collect(),
            _ => Vec::new(),
        }
    }

    fn handle_sample(&mut self, sample: &LoadSample) {
        let from = Target::Cluster(sample.cluster);
        self.broker.handle_info(from, std::slice::from_ref(sample));
    }

    fn take_letters(&mut self, out: &mut Vec<Letter>) {
        out.append(&mut self.letters);
    }

    fn handle_delivery(&mut self, now: SimTime, delivery: Delivery) {
        self.set_now(now);
        self.note_delivery(delivery);
        self.settle();
    }

    fn published(&self) -> u64 {
        self.ledger.published()
    }
}
