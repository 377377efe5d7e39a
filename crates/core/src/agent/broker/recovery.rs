//! What a broker does that was restarted and has forgotten everything:
//! before it decides about a job that it may have had in an earlier life, it
//! asks everybody who could have the job. Whoever has it gets it once more,
//! under the same key, and answers with the first answer; so no job runs
//! twice. And what it does when a service was restarted that has jobs of it.

use super::notes::{UnderWay, visit_before};
use super::{BrokerAgent, Reminder};
use crate::agent::store::{Receipt, SubmitError, base_of};
use crate::agent::{Cx, Handle};
use crate::conversation::{Arrival, FromBroker, ToPeer};
use crate::envelope::Undelivered;
use crate::event::{Event, EventKind, Party};
use crate::ids::{DomainId, JobId};
use crate::message::{EndState, JobEnd, News, Route, Target};
use crate::time::SimDuration;
use std::collections::BTreeMap;

/// A service without a session answers in this life. In one that was not known before
/// it may have forgotten jobs: it is asked for each that it had confirmed, and touch is
/// lost with those that it does not know. It is not sent them once more, since they may
/// go on behind it. The answer is how many it is asked for or have been lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Alive {
    /// Which service.
    pub service: Target,
    /// Which life of it answers.
    pub life: u64,
}

impl Handle<Alive> for BrokerAgent {
    type Answer = usize;

    fn handle(&mut self, cx: &mut impl Cx<FromBroker>, Alive { service, life }: Alive) -> usize {
        self.notes.now = self.notes.now.max(cx.now());
        let before = self.lives.insert(service, life);
        // At the first sight of a peer nothing says that it was restarted.
        if before.map_or(service.peer().is_some(), |before| before == life) {
            return 0;
        }
        let is_there = move |sent: &UnderWay| sent.target == service && sent.confirmed;
        // One that several clusters run together has no key to ask for it by.
        let lost = self.lose_all(cx, |sent| {
            before.is_some() && is_there(sent) && sent.job.key.is_none()
        });
        let there = self.notes.under_way.values();
        let there = there.filter(|sent| is_there(sent) && sent.job.key.is_some());
        let there: Vec<_> = there.map(|sent| sent.job.clone()).collect();
        let asked = there.len();
        for mut job in there {
            job.sought = true;
            self.bring_again(cx, service, job);
        }
        self.settle();
        lost + asked
    }
}

/// A job that is looked for.
#[derive(Debug)]
pub(super) struct Search {
    /// How it has come.
    arrival: Arrival,
    /// Who has not answered yet, under which key they would have it, and how often
    /// they were silent. Nobody, of a job that is nowhere: that is remembered.
    asked: BTreeMap<(Target, Option<String>), u32>,
    /// Whoever brought it has given it away: else he asks himself.
    pub held: bool,
    /// It is to be removed, wherever it is.
    pub unwanted: bool,
}

impl Search {
    /// The peer that has brought the job, or asks for it.
    pub fn from(&self) -> Option<DomainId> {
        self.arrival.route.and_then(|route| route.from)
    }
}

/// So often somebody may be silent who is asked: half a second apart, that is
/// five minutes.
const SILENCES: u32 = 600;

/// So many jobs may be looked for at a time that enter here, once more as many that have
/// come one hop, and so on: brokers that ask each other would wait for each other else.
/// Whoever brings one more comes again. Without a bound a peer or a client could fill the
/// memory with jobs that are said to be from an earlier life of the broker.
const MOST_SEARCHES: usize = 100_000;
/// And so many may wait when another one is brought, if the broker has no larger bound.
const MOST_WAITING: usize = 1_000_000;
/// How long it is remembered that a job is nowhere when there is no room: whoever asked
/// comes again for the answer.
const REMEMBERED: SimDuration = SimDuration::from_secs(60);

impl BrokerAgent {
    /// The searches for a job, by each way on which it has come here.
    pub(super) fn searches_of(&mut self, job: JobId) -> impl Iterator<Item = &mut Search> {
        let from = (job, None);
        let its = self.searches.range_mut(from..);
        let its = its.take_while(move |((sought, _), _)| *sought == job);
        its.map(|(_, search)| search)
    }

    /// Whether there is room to look for a job that has come this way.
    fn may_search(&mut self, cx: &impl Cx<FromBroker>, hop: u32) -> bool {
        let hops = self.broker.config().settings.hops();
        let room = MOST_SEARCHES * (1 + hop.min(hops) as usize);
        if self.searches.len() >= room && cx.wall() >= self.forgets_next {
            self.forgets_next = cx.wall() + REMEMBERED;
            self.searches.retain(|_, search| !search.asked.is_empty());
        }
        self.searches.len() < room
    }

    /// Whether a job that may have been here in an earlier life can be taken in: it is
    /// known, is looked for, or there is room.
    pub(super) fn may_come_again(&mut self, cx: &impl Cx<FromBroker>, arrival: &Arrival) -> bool {
        let bound = self.broker.config().queue_limit;
        let bound = bound.map_or(MOST_WAITING, |bound| bound.max(MOST_WAITING));
        self.may_search(cx, arrival.hop()) && self.broker.queued() < bound
            || self.notes.store.find(arrival.key.as_deref()).is_some()
            || arrival.id.is_some_and(|job| {
                let id = (job, arrival.key.clone());
                self.searches.contains_key(&id)
            })
    }

    /// Whoever has brought a job here, in an earlier life of either, asks for it.
    pub(super) fn look_for(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        arrival: Arrival,
        may_be_forgotten: bool,
    ) -> Result<Receipt, SubmitError> {
        if let Some(known) = self.notes.store.find(arrival.key.as_deref()) {
            return known;
        }
        if !may_be_forgotten {
            return Err(SubmitError::NotHere);
        }
        let id = (arrival.spec.id, arrival.key.clone());
        if !self.searches.contains_key(&id) {
            if !self.may_search(cx, arrival.hop()) {
                return Err(SubmitError::NotFoundYet);
            }
            self.search(cx, arrival, false);
        }
        match self.searches.get(&id) {
            Some(search) if search.asked.is_empty() => Err(SubmitError::NotHere),
            _ => Err(SubmitError::NotFoundYet),
        }
    }

    /// Looks for a job that has come here, or is asked for, with everybody who
    /// could have it by this way. Until all have answered, no cycle decides it.
    pub(super) fn search(&mut self, cx: &mut impl Cx<FromBroker>, arrival: Arrival, held: bool) {
        let id = (arrival.spec.id, arrival.key.clone());
        let before = self.searches.get_mut(&id);
        if let Some(search) = before.filter(|search| !search.asked.is_empty()) {
            search.held |= held;
            return;
        }
        let questions = self.questions(&arrival);
        let asked = questions.iter();
        let asked = asked.map(|(target, job)| ((*target, job.key.clone()), 0));
        let search = Search {
            asked: asked.collect(),
            arrival,
            held,
            unwanted: false,
        };
        self.searches.insert(id.clone(), search);
        if questions.is_empty() {
            return self.end_search(cx, id, None, false);
        }
        for (target, job) in questions {
            self.bring_again(cx, target, job);
        }
    }

    /// The job as everybody would have it who could have got it from here.
    fn questions(&self, arrival: &Arrival) -> Vec<(Target, Box<Arrival>)> {
        let config = self.broker.config();
        let here = self.broker.way(arrival.route);
        let from = Some(config.domain);
        let key = arrival.key.as_deref().unwrap_or_default();
        let base = base_of(key, arrival.hop()).unwrap_or_default();
        let question = |target, route| {
            let spec = arrival.spec.clone();
            let mut job = self
                .notes
                .on_its_way(spec, base, route, target, arrival.meant);
            job.tag.clone_from(&arrival.tag);
            job.sought = true;
            (target, job)
        };
        let own = config.clusters.iter().map(|(id, _)| {
            let route = Route { from, ..here };
            question(Target::Cluster(*id), route)
        });
        let stays = here.settled && here.from.is_some();
        let may_go_on = !stays && here.hop < config.settings.hops();
        let peers = config.peers.iter().filter(|_| may_go_on);
        // Where it entered it may have been sent once more when it had settled.
        let settles = here.from.is_none() && config.settings.policy.entry().wanders();
        let peers = peers.flat_map(|known| {
            let ways = [Some(here.settled), settles.then_some(true)];
            let route = move |settled| Route {
                from,
                hop: here.hop + 1,
                settled,
                ..here
            };
            let target = Target::Peer(known.domain);
            ways.into_iter()
                .flatten()
                .map(move |settled| (target, route(settled)))
        });
        let peers = peers.map(|(target, route)| question(target, route));
        own.chain(peers).collect()
    }

    /// The search for which this was asked and is not answered.
    pub(super) fn search_with(
        &self,
        job: &Arrival,
        target: Target,
    ) -> Option<(JobId, Option<String>)> {
        let asked = (target, job.key.clone());
        let its = self.searches.range((job.spec.id, None)..);
        let mut its = its.take_while(|((sought, _), _)| *sought == job.spec.id);
        let (id, _) = its.find(|(_, search)| search.asked.contains_key(&asked))?;
        Some(id.clone())
    }

    /// A search is over: the job was found there, may be there with somebody who
    /// is silent, or is nowhere. Then it is decided here, if it was brought here.
    fn end_search(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        id: (JobId, Option<String>),
        found: Option<(Target, Box<Arrival>)>,
        is_silent: bool,
    ) {
        let Some(search) = self.searches.get_mut(&id) else {
            return;
        };
        search.asked.clear();
        if found.is_none() && !search.held {
            return;
        }
        let (job, here) = (id.0, self.notes.domain);
        let Some(search) = self.searches.remove(&id) else {
            return;
        };
        let Search { arrival, held, .. } = search;
        let way = self.broker.way(arrival.route);
        let sent = found.as_ref().map(|(target, _)| *target);
        let settled = found.as_ref().and_then(|(_, child)| child.route);
        let settled = settled.map_or(way.settled, |route| route.settled);
        let spec = arrival.spec.clone();
        self.broker.restore(spec, Route { settled, ..way }, sent);
        if !held {
            self.notes.store.enter(arrival, job, self.notes.now);
        }
        if let (Some(target), true) = (sent, is_silent) {
            return self.lose_touch(cx, (job, way.hop), target);
        }
        let told = Event::new(EventKind::Recovered, job, here);
        let to = sent.map_or(Party::from(here), Party::from);
        cx.emit(self.notes.now, told.to(to).with(way.hop));
        if let Some((target, mut child)) = found {
            child.sought = false;
            self.notes.note_sent(target, child.clone(), false);
            if let Some(sent) = self.notes.sent_as(&child, target) {
                sent.confirmed = true;
            }
            // Its end may have been told already.
            self.bring_again(cx, target, child);
        }
        if search.unwanted {
            self.remove(cx, job, way.from);
        }
    }

    /// Somebody has answered whether they have a job, or has not.
    pub(super) fn note_answer(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        mut job: Box<Arrival>,
        target: Target,
        answer: Result<(), Undelivered>,
    ) {
        let search = self.search_with(&job, target);
        // A question of a search that is over says nothing of what was sent there since.
        let sent = self.notes.sent_as(&job, target);
        let is_about_it = sent.as_ref().is_some_and(|it| it.job.meant == job.meant);
        let is_sure = sent.is_some_and(|sent| sent.confirmed);
        match (search, answer) {
            (None, _) if !is_about_it => {}
            // It was restarted, and knows the job: it tells of its end by itself.
            (None, Ok(())) if is_sure => {}
            (None, Ok(())) => {
                job.sought = false;
                self.bring_again(cx, target, job);
            }
            // It may have ended there by request, and there is nobody else to ask.
            (None, Err(Undelivered::Declined(_))) => {
                let visit = visit_before(&job, target);
                self.notes.under_way.remove(&visit);
                self.lose_touch(cx, visit, target);
            }
            (Some(id), Ok(())) => self.end_search(cx, id, Some((target, job)), false),
            (Some(id), Err(Undelivered::Declined(_))) => {
                if let Some(search) = self.searches.get_mut(&id) {
                    search.asked.remove(&(target, job.key));
                    if search.asked.is_empty() {
                        self.end_search(cx, id, None, false);
                    }
                }
            }
            (search, Err(silence)) => {
                let search = search.and_then(|id| Some((self.searches.get_mut(&id)?, id)));
                if let Some((search, id)) = search
                    && let Some(times) = search.asked.get_mut(&(target, job.key.clone()))
                {
                    *times += u32::from(silence.is_silence());
                    if *times > SILENCES {
                        // Whoever is silent may have it: anywhere else it could
                        // run a second time.
                        return self.end_search(cx, id, Some((target, job)), true);
                    }
                }
                self.remind_of(cx, Reminder::Bring(target, job));
            }
        }
    }

    /// A peer that repeats a submission may have been restarted and have
    /// missed what became of the job: that is told once more.
    pub(super) fn tell_again(&mut self, cx: &mut impl Cx<FromBroker>, repeated: &Arrival) {
        let news = self.notes.store.told_under(repeated);
        if let (Some(news), Party::Broker(peer)) = (news, repeated.from()) {
            self.say_again(cx, peer, news);
        }
    }

    /// Tells a peer news of a job once more.
    pub(super) fn say_again(&mut self, cx: &mut impl Cx<FromBroker>, peer: DomainId, news: News) {
        if let News::Ended(JobEnd { job, .. }) = news {
            let told = Event::new(EventKind::Notified, job, self.notes.domain);
            cx.emit(self.notes.now, told.to(peer));
        }
        let news = FromBroker::Peer(peer, ToPeer::News(news));
        self.write_to(cx, Target::Peer(peer), news);
    }

    /// Touch with a visit of a job is lost: nobody here knows what became of it.
    pub(super) fn lose_touch(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        (job, hop): (JobId, u32),
        target: Target,
    ) {
        let mut writing = self.notes.writing(cx);
        if self.broker.lose_touch(&mut writing, job, target, Some(hop)) {
            self.note_end(JobEnd::without_run(job, EndState::LOST));
        }
    }

    /// Sends a message that is this layer's own.
    pub(super) fn write_to(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        to: Target,
        message: FromBroker,
    ) {
        let due = self.notes.now + self.broker.config().latency(to);
        self.notes.post(cx, None, due, message);
    }
}
