//! What a broker remembers so that no job is lost and no message counts twice:
//! what it says is written down here and goes out under a key and a name.

use crate::agent::Cx;
use crate::agent::store::{JobStore, Visit, digest, visit_name};
use crate::conversation::{Arrival, BrokerSends, FromBroker, Passed, ToLrms, ToPeer};
use crate::decision::Decision;
use crate::envelope::{Envelope, EnvelopeId, Received, Tally};
use crate::event::{Event, EventKind, EventSink, MessageKind, Party};
use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::JobSpec;
use crate::message::{JobEnd, News, Route, Target};
use crate::time::{SimDuration, SimTime, WallTime};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The jobs, names and keys that a broker remembers.
pub(super) struct Notes {
    pub domain: DomainId,
    /// One-way latency of the links to peers.
    pub latencies: BTreeMap<DomainId, SimDuration>,
    pub store: JobStore,
    /// The latest instant.
    pub now: SimTime,
    /// Jobs that are elsewhere, or on their way there, until their end: by how
    /// often they had been forwarded when they came here, which tells the visits
    /// of one job apart.
    pub under_way: BTreeMap<(JobId, u32), UnderWay>,
    /// Those of which a receiver has not answered for certain, and some of which it
    /// has since: few, where all of them are many.
    pub unsure: BTreeSet<(Target, (JobId, u32))>,
    /// Jobs that receivers were to be asked to remove, some of them over since.
    pub to_remove: BTreeSet<JobId>,
    /// Jobs of other domains that were handed to own clusters, by the domain
    /// at which they entered.
    pub taken_in: BTreeMap<Option<DomainId>, u64>,
    /// Jobs of others, whose processors were asked for here.
    pub asked: BTreeMap<JobId, JobSpec>,
    /// Jobs that all clusters hold their part of, and of which not all are told yet.
    pub beginning: BTreeMap<JobId, Begins>,
    /// By which way jobs have come of which parts are asked for.
    pub claimed: BTreeMap<JobId, Route>,
    /// The latest word of each peer about its room.
    pub rooms: BTreeMap<Target, EnvelopeId>,
    /// How many domains the grid has.
    pub domains: usize,
    pub next_id: EnvelopeId,
    pub undelivered: Tally,
}

/// A job that was sent.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    pub target: Target,
    /// The job as it was sent, for sending it again.
    pub job: Box<Arrival>,
    /// The receiver has confirmed to have it.
    pub confirmed: bool,
    /// It may be there although a later try was not answered.
    pub perhaps: bool,
    /// The receiver has been asked to remove it.
    pub told: bool,
    /// The receiver may have been asked so, and may have removed it.
    pub perhaps_removed: bool,
    /// Its data is on its way with it.
    pub has_data: bool,
}

/// A job that begins on several clusters.
#[derive(Default)]
pub(super) struct Begins {
    /// When its parts were asked for.
    pub asked_at: SimTime,
    /// Those who have not confirmed yet that theirs begins.
    pub others: BTreeSet<ClusterId>,
    /// What is said to the last one then.
    pub last: Option<(SimTime, FromBroker)>,
}

impl UnderWay {
    /// Whether the receiver has the job, or may have it.
    pub fn is_there(&self) -> bool {
        self.confirmed || self.perhaps
    }

    /// Whether the receiver may have the job, and has not said so.
    fn is_unsure(&self) -> bool {
        self.perhaps && !self.confirmed
    }
}

impl Notes {
    /// What the broker inside is given: what it says is noted.
    pub fn writing<'a, C: Cx<FromBroker>>(&'a mut self, cx: &'a mut C) -> Writing<'a, C> {
        self.now = self.now.max(cx.now());
        Writing { notes: self, cx }
    }

    /// A job that has come here with this key and so many forwards, as its next
    /// receiver gets it.
    pub fn on_its_way(
        &self,
        spec: JobSpec,
        base: &str,
        route: Route,
        target: Target,
        meant: Option<SimTime>,
    ) -> Box<Arrival> {
        let key = match target {
            Target::Cluster(_) => format!("{base}/{}", route.hop),
            Target::Peer(_) => self.forward_key(base, route),
        };
        Box::new(Arrival {
            key: Some(key),
            id: Some(spec.id),
            route: Some(route),
            meant,
            ..Arrival::of(spec)
        })
    }

    /// A job is sent on: what the receiver gets is noted.
    fn send_on(&mut self, passed: Passed, target: Target, due: SimTime) -> Option<Box<Arrival>> {
        let (job, route) = (passed.job, passed.route);
        let hop = hop_before(route.hop, target);
        let record = self.store.get(job)?;
        let base = record.visit(hop).and_then(Visit::base_key);
        let origin = base.and_then(|base| self.origin(base));
        // For a job without such a key, one of this broker's own.
        let own = || format!("{}/{}/{}", self.next_id.incarnation, self.domain.0, job.0);
        let base = base.map_or_else(own, str::to_owned);
        let mut sent = self.on_its_way(record.spec.clone(), &base, route, target, Some(due));
        sent.tag.clone_from(&record.tag);
        if let (Target::Cluster(_), 1..) = (target, hop) {
            *self.taken_in.entry(origin).or_default() += 1;
        }
        self.note_sent(target, sent.clone(), passed.has_data);
        Some(sent)
    }

    /// Whether a peer has told later how much room it has.
    pub fn is_old(&mut self, told: &Received<()>) -> bool {
        let Some(id) = told.id else {
            return false;
        };
        let latest = self.rooms.entry(told.from).or_insert(id);
        let is_old = id < *latest;
        *latest = id.max(*latest);
        is_old
    }

    /// Somebody is asked for processors of a job, which stays where it is.
    pub fn request(&self, asked: Passed, due: SimTime) -> Option<Box<Arrival>> {
        let own = self.store.get(asked.job).map(|record| &record.spec);
        let spec = own.or_else(|| self.asked.get(&asked.job))?.clone();
        Some(Box::new(Arrival {
            id: Some(asked.job),
            route: Some(asked.route),
            meant: Some(due),
            ..Arrival::of(spec)
        }))
    }

    /// A job is with this target, or on its way there.
    pub fn note_sent(&mut self, target: Target, job: Box<Arrival>, has_data: bool) {
        let visit = visit_before(&job, target);
        let sent = UnderWay {
            target,
            job,
            confirmed: false,
            perhaps: false,
            told: false,
            perhaps_removed: false,
            has_data,
        };
        self.under_way.insert(visit, sent);
    }

    /// The visits of a job that are elsewhere, the latest first.
    pub fn visits_of(&mut self, job: JobId) -> impl Iterator<Item = &mut UnderWay> {
        let visits = self.under_way.range_mut((job, 0)..=(job, u32::MAX));
        visits.rev().map(|(_, sent)| sent)
    }

    /// The latest visit of a job that is with this target.
    pub fn sent_to(&mut self, job: JobId, target: Target) -> Option<&mut UnderWay> {
        self.visits_of(job).find(|sent| sent.target == target)
    }

    /// The latest visit of a job that is with this target, unless it is the one that
    /// is sent back, as far as is known. One that was sent back earlier may be told so
    /// again, and one that was found there, by a broker that was restarted, is known
    /// there by another name: it is sent once more, and who has sent it back says so.
    pub fn missed_by(
        &mut self,
        job: JobId,
        target: Target,
        visit: Option<u64>,
    ) -> Option<(JobId, u32)> {
        let sent = &self.sent_to(job, target)?.job;
        let name = visit_name(sent.key.as_deref()?, sent.meant);
        (visit? != name).then(|| visit_before(sent, target))
    }

    /// The visits that are with this target, or on their way there.
    pub fn visits_at(&self, target: Target) -> Vec<(JobId, u32)> {
        let all = self.under_way.iter();
        let there = all.filter(|(_, sent)| sent.target == target);
        there.map(|(visit, _)| *visit).collect()
    }

    /// The visits of which this receiver has not answered for certain.
    pub fn unsure_at(&mut self, target: Target) -> Vec<(JobId, u32)> {
        let all = (target, (JobId(0), 0))..=(target, (JobId(u32::MAX), u32::MAX));
        let is_unsure = |(_, visit): &(Target, (JobId, u32))| {
            let sent = self.under_way.get(visit);
            sent.is_some_and(|sent| sent.target == target && sent.is_unsure())
        };
        let all: Vec<_> = self.unsure.range(all).copied().collect();
        let (unsure, answered): (Vec<_>, Vec<_>) = all.into_iter().partition(is_unsure);
        for one in answered {
            self.unsure.remove(&one);
        }
        unsure.into_iter().map(|(_, visit)| visit).collect()
    }

    /// The visit in which the job was sent so, and is there still.
    pub fn sent_as(&mut self, job: &Arrival, target: Target) -> Option<&mut UnderWay> {
        let sent = self.under_way.get_mut(&visit_before(job, target))?;
        (sent.target == target && sent.job.key == job.key).then_some(sent)
    }

    /// The latest visit of a job that is with this target is there no more.
    pub fn forget_sent(&mut self, job: JobId, target: Target) {
        let visits = self.under_way.range((job, 0)..=(job, u32::MAX));
        let mut visits = visits.rev().filter(|(_, sent)| sent.target == target);
        if let Some(visit) = visits.next().map(|(visit, _)| *visit) {
            self.under_way.remove(&visit);
        }
    }

    /// The key towards a peer, from the one here without its hop. The way so far
    /// is part of it, in short, since by other ways a job may come by the same
    /// broker with as many hops; and one that has let the job pass by gets it a
    /// second time when it has settled.
    fn forward_key(&self, base: &str, route: Route) -> String {
        let way = digest(base.bytes().chain(self.domain.0.to_le_bytes()));
        let plain = base.rsplit('>').next().unwrap_or_default();
        let settled = if route.settled { "settled:" } else { "" };
        format!("{settled}{way:x}>{plain}/{}", route.hop)
    }

    /// The domain at which a forwarded job entered the grid, as its key says:
    /// `RUN/DOMAIN/JOB` before the hop.
    fn origin(&self, base: &str) -> Option<DomainId> {
        let domain = base.rsplit('/').nth(1)?.parse().ok().map(DomainId);
        // Anybody may write any key: only domains there are have a count.
        domain.filter(|domain| domain.index() < self.domains)
    }

    /// A request to a receiver to remove a job: not while the job may still be on
    /// its way there, then it is asked when it has confirmed to have it.
    pub fn removes(&mut self, job: JobId, target: Target) -> Option<FromBroker> {
        self.to_remove.insert(job);
        let visits = self.under_way.range_mut((job, 0)..=(job, u32::MAX));
        let its = visits.map(|(_, sent)| sent);
        let its = its.filter(|sent| sent.target == target);
        // Of several visits there, the first of which nothing was said yet.
        if let Some(sent) = its.min_by_key(|sent| sent.told) {
            // This message would overtake one that carries data.
            if !sent.confirmed && (sent.perhaps || sent.has_data) {
                return None;
            }
            sent.told = true;
        }
        Some(FromBroker::removes(target, job))
    }

    pub fn post(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        address: Option<Arc<str>>,
        due: SimTime,
        message: FromBroker,
    ) {
        cx.send(Envelope {
            id: self.next_id.take(),
            from: self.domain.into(),
            address,
            due,
            message,
        });
    }
}

/// The visit here of a job that goes from here to this target.
pub(super) fn visit_before(job: &Arrival, target: Target) -> (JobId, u32) {
    (job.spec.id, hop_before(job.hop(), target))
}

/// How often a job had been forwarded that goes so to this target.
fn hop_before(hop: u32, target: Target) -> u32 {
    hop.saturating_sub(u32::from(matches!(target, Target::Peer(_))))
}

/// What the broker inside is given.
pub(super) struct Writing<'a, C> {
    notes: &'a mut Notes,
    cx: &'a mut C,
}

impl<C: EventSink> EventSink for Writing<'_, C> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        // Nobody sends what a broker tells itself: it is counted as one that never came.
        if event.kind == EventKind::Refused && event.to == Some(event.by) {
            self.notes.undelivered.count(MessageKind::Refuse);
        }
        self.cx.emit(at, event);
    }

    fn wants_decision(&self, job: JobId) -> bool {
        self.cx.wants_decision(job)
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        self.cx.decided(at, decision);
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
        let notes = &mut *self.notes;
        let message = match envelope.message {
            FromBroker::Lrms(to, ToLrms::Dispatch(job)) => {
                let sent = notes.send_on(job, Target::Cluster(to), due);
                sent.map(|job| FromBroker::Lrms(to, ToLrms::Dispatch(job)))
            }
            FromBroker::Lrms(to, ToLrms::Cancel(job)) => notes.removes(job, Target::Cluster(to)),
            FromBroker::Lrms(to, ToLrms::Claim(asked, step)) => notes.claim(to, (asked, step), due),
            FromBroker::Peer(to, ToPeer::Cancel(job)) => notes.removes(job, Target::Peer(to)),
            FromBroker::Peer(to, ToPeer::News(news)) => {
                notes.claimed.remove(&news.job());
                let news = notes.store.tell(to.into(), news);
                Some(FromBroker::Peer(to, ToPeer::News(news)))
            }
            FromBroker::Peer(to, ToPeer::Request(asked, at)) => {
                let request = notes.request(asked, due);
                request.map(|job| FromBroker::Peer(to, ToPeer::Request(job, at)))
            }
            FromBroker::Peer(to, said) => {
                let said = said.with_job(|job| notes.send_on(job, Target::Peer(to), due));
                said.map(|said| FromBroker::Peer(to, said))
            }
            FromBroker::Client(end) => return self.seen(end, due),
        };
        if let Some(message) = message {
            self.notes.post(self.cx, None, due, message);
        }
    }

    fn recall(&mut self, job: JobId) -> bool {
        let sent = self.notes.visits_of(job).next();
        let target = sent.filter(|sent| sent.has_data).map(|sent| sent.target);
        let stopped = target.filter(|_| self.cx.recall(job));
        if let Some(target) = stopped {
            self.notes.forget_sent(job, target);
        }
        stopped.is_some()
    }
}

impl<C: Cx<FromBroker>> Writing<'_, C> {
    /// The end of a job is known where the job came in.
    fn seen(&mut self, end: JobEnd, due: SimTime) {
        self.notes.claimed.remove(&end.job);
        self.notes.store.end(end);
        self.notes.store.publish(end);
        let Some(record) = self.notes.store.get(end.job) else {
            return;
        };
        let (entry, address) = (record.visit(0), record.notify.clone());
        if let Some(Party::Broker(peer)) = entry.map(|visit| visit.from) {
            let latency = self.notes.latencies.get(&peer);
            let due = due + latency.copied().unwrap_or_default();
            let news = self.notes.store.tell(peer.into(), News::Ended(end));
            let news = FromBroker::Peer(peer, ToPeer::News(news));
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
