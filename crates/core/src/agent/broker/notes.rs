//! What a broker remembers so that no job is lost and no message counts twice:
//! what it says is written down here and goes out under a key and a name.

use crate::agent::Cx;
use crate::agent::conversation::{Arrival, BrokerSends, FromBroker, Passed, ToLrms, ToPeer};
use crate::agent::envelope::{Envelope, EnvelopeId, Tally};
use crate::agent::store::JobStore;
use crate::event::{Event, EventKind, EventSink, Party};
use crate::ids::{DomainId, JobId};
use crate::message::{EndState, JobEnd, News, Route, Target};
use crate::time::{SimDuration, SimTime, WallTime};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The jobs, names and keys that a broker remembers.
pub(super) struct Notes {
    pub domain: DomainId,
    /// One-way latency of the links to peers.
    pub latencies: BTreeMap<DomainId, SimDuration>,
    pub store: JobStore,
    /// The latest instant.
    pub now: SimTime,
    /// Jobs that are elsewhere, or on their way there, until their end.
    pub under_way: BTreeMap<JobId, UnderWay>,
    /// Jobs of other domains that were handed to own clusters, by the domain
    /// at which they entered.
    pub taken_in: BTreeMap<Option<DomainId>, u64>,
    /// How many domains the grid has.
    pub domains: usize,
    pub incarnation: u64,
    pub envelopes_written: u64,
    pub undelivered: Tally,
}

/// A job that was sent.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    pub target: Target,
    /// When it was meant to arrive there, for sending it again.
    pub due: SimTime,
    /// Forwards so far, as it was sent.
    pub hop: u32,
    /// The key under which it was sent.
    pub key: String,
    /// The receiver has confirmed to have it.
    pub confirmed: bool,
    /// It may be there although a later try was not answered.
    pub perhaps: bool,
    /// The receiver has been asked to remove it.
    pub told: bool,
    /// Its data is on its way with it.
    pub has_data: bool,
}

impl UnderWay {
    /// Whether the receiver has the job, or may have it.
    pub fn is_there(&self) -> bool {
        self.confirmed || self.perhaps
    }
}

impl Notes {
    /// What the broker inside is given: what it says is noted.
    pub fn writing<'a, C: Cx<FromBroker>>(&'a mut self, cx: &'a mut C) -> Writing<'a, C> {
        self.now = self.now.max(cx.now());
        Writing { notes: self, cx }
    }

    /// A job that is held here as its next receiver gets it.
    pub fn on_its_way(&self, passed: Passed, key: String, due: SimTime) -> Option<Box<Arrival>> {
        let record = self.store.get(passed.job)?;
        Some(Box::new(Arrival {
            key: Some(key),
            id: Some(passed.job),
            route: Some(passed.route),
            meant: Some(due),
            tag: record.tag.clone(),
            ..Arrival::of(record.spec.clone())
        }))
    }

    fn note_sent(&mut self, passed: Passed, key: String, target: Target, due: SimTime) {
        let sent = UnderWay {
            target,
            due,
            hop: passed.route.hop,
            key,
            confirmed: false,
            perhaps: false,
            told: false,
            has_data: passed.has_data,
        };
        self.under_way.insert(passed.job, sent);
    }

    /// The key without its hop that a job goes under from here: of the one it
    /// came with; for a job without such a key, one of this broker's own.
    fn base_key(&self, job: JobId) -> String {
        let record = self.store.get(job);
        let base = record.and_then(|record| record.base_key.clone());
        base.unwrap_or_else(|| format!("{}/{}/{}", self.incarnation, self.domain.0, job.0))
    }

    /// The key towards a peer. The way so far is part of it, in short, since by
    /// other ways a job may come by the same broker with as many hops; and one
    /// that has let the job pass by gets it a second time when it has settled.
    fn forward_key(&self, job: JobId, route: Route) -> String {
        let base = self.base_key(job);
        let way = digest(&base, self.domain);
        let plain = base.rsplit('>').next().unwrap_or_default();
        let settled = if route.settled { "settled:" } else { "" };
        format!("{settled}{way:x}>{plain}/{}", route.hop)
    }

    /// The domain at which a forwarded job entered the grid, as its key says:
    /// `RUN/DOMAIN/JOB` before the hop.
    fn origin(&self, job: JobId) -> Option<DomainId> {
        let key = self.store.get(job)?.base_key.as_ref()?;
        let domain = key.rsplit('/').nth(1)?.parse().ok().map(DomainId);
        // Anybody may write any key: only domains there are have a count.
        domain.filter(|domain| domain.index() < self.domains)
    }

    /// A receiver is to be asked to remove a job: not while the job may still
    /// be on its way there, then it is asked when it has confirmed to have it.
    pub fn may_ask_to_remove(&mut self, job: JobId) -> bool {
        let Some(sent) = self.under_way.get_mut(&job) else {
            return true;
        };
        // This message would overtake one that carries data.
        let may = sent.confirmed || !(sent.perhaps || sent.has_data);
        sent.told |= may;
        may
    }

    pub fn post(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        address: Option<Arc<str>>,
        due: SimTime,
        message: FromBroker,
    ) {
        let (incarnation, number) = (self.incarnation, self.envelopes_written);
        self.envelopes_written += 1;
        cx.send(Envelope {
            id: EnvelopeId {
                incarnation,
                number,
            },
            from: self.domain.into(),
            address,
            due,
            message,
        });
    }
}

/// A way in short: FNV-1a of the way so far and the next broker on it.
fn digest(way: &str, next: DomainId) -> u64 {
    let bytes = way.bytes().chain(next.0.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What the broker inside is given.
pub(super) struct Writing<'a, C> {
    notes: &'a mut Notes,
    cx: &'a mut C,
}

impl<C: EventSink> EventSink for Writing<'_, C> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.cx.emit(at, event);
    }
}

impl<C: Cx<FromBroker>> Cx<BrokerSends> for Writing<'_, C> {
    fn now(&self) -> SimTime {
        self.notes.now
    }

    fn wall(&self) -> WallTime {
        self.cx.wall()
    }

    fn send(&mut self, envelope: Envelope<BrokerSends>) {
        let due = envelope.due;
        let message = match envelope.message {
            FromBroker::Lrms(cluster, said) => {
                let said = match said {
                    ToLrms::Dispatch(passed) => {
                        let base = self.notes.base_key(passed.job);
                        let key = format!("{base}/{}", passed.route.hop);
                        let Some(job) = self.notes.on_its_way(passed, key.clone(), due) else {
                            return;
                        };
                        let target = Target::Cluster(cluster);
                        self.notes.note_sent(passed, key, target, due);
                        if passed.route.hop > 0 {
                            let origin = self.notes.origin(passed.job);
                            *self.notes.taken_in.entry(origin).or_default() += 1;
                        }
                        ToLrms::Dispatch(job)
                    }
                    ToLrms::Cancel(job) if !self.notes.may_ask_to_remove(job) => return,
                    ToLrms::Cancel(job) => ToLrms::Cancel(job),
                    ToLrms::Locate(job) => ToLrms::Locate(job),
                };
                FromBroker::Lrms(cluster, said)
            }
            FromBroker::Peer(peer, said) => {
                let said = match said {
                    ToPeer::Forward(passed) => {
                        let key = self.notes.forward_key(passed.job, passed.route);
                        let Some(job) = self.notes.on_its_way(passed, key.clone(), due) else {
                            return;
                        };
                        let target = Target::Peer(peer);
                        self.notes.note_sent(passed, key, target, due);
                        ToPeer::Forward(job)
                    }
                    ToPeer::News(news) => {
                        if let News::Refused { job, reason } = news {
                            let state = EndState::Rejected(reason);
                            self.notes.store.end(JobEnd::without_run(job, state));
                        }
                        ToPeer::News(news)
                    }
                    ToPeer::Cancel(job) if !self.notes.may_ask_to_remove(job) => return,
                    ToPeer::Cancel(job) => ToPeer::Cancel(job),
                    ToPeer::Info(never) => match never {},
                    ToPeer::Locate(job) => ToPeer::Locate(job),
                };
                FromBroker::Peer(peer, said)
            }
            FromBroker::Client(end) => return self.seen(end, due),
        };
        self.notes.post(self.cx, None, due, message);
    }

    fn recall(&mut self, job: JobId) -> bool {
        let sent = self.notes.under_way.get(&job);
        let stopped = sent.is_some_and(|sent| sent.has_data) && self.cx.recall(job);
        if stopped {
            self.notes.under_way.remove(&job);
        }
        stopped
    }
}

impl<C: Cx<FromBroker>> Writing<'_, C> {
    /// The end of a job is known where the job came in.
    fn seen(&mut self, end: JobEnd, due: SimTime) {
        self.notes.store.end(end);
        self.notes.store.publish(end);
        let Some(record) = self.notes.store.get(end.job) else {
            return;
        };
        let (from, address) = (record.from, record.notify.clone());
        if let Party::Broker(peer) = from {
            let latency = self.notes.latencies.get(&peer);
            let due = due + latency.copied().unwrap_or_default();
            let news = FromBroker::Peer(peer, ToPeer::News(News::Ended(end)));
            self.notes.post(self.cx, None, due, news);
        }
        if address.is_some() {
            let told = Event::new(EventKind::Notified, end.job, self.notes.domain);
            self.cx.emit(self.notes.now, told.to(Party::Client));
            let end = FromBroker::Client(end);
            self.notes.post(self.cx, address, due, end);
        }
    }
}
