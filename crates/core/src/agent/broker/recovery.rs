//! What a broker does that was started anew and has forgotten everything:
//! before it decides about a job that it may have had in an earlier life, it
//! asks everybody who could have the job. Whoever has it gets it once more,
//! under the same key, and answers with the first answer; so no job runs
//! twice.

use super::{BrokerAgent, Reminder};
use crate::agent::Cx;
use crate::agent::conversation::{FromBroker, ToLrms, ToPeer};
use crate::agent::envelope::Undelivered;
use crate::event::{Event, EventKind, Party};
use crate::ids::{DomainId, JobId};
use crate::message::{EndState, JobEnd, News, Target};
use std::collections::BTreeMap;

/// A job that is looked for.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Who has not answered yet, and how often they were asked.
    asked: BTreeMap<Target, u32>,
}

/// So often somebody is asked who does not answer: half a second apart, that
/// is five minutes.
const QUESTIONS: u32 = 600;

impl BrokerAgent {
    /// Looks for a job that has come here. Until everybody has answered, no
    /// cycle decides it.
    pub(super) fn search(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId) {
        let Some(route) = self.broker.route(job) else {
            return;
        };
        let config = self.broker.config();
        let own = config.clusters.iter().map(|(id, _)| Target::Cluster(*id));
        let peers = config.peers.iter().map(|known| known.domain);
        let most = config.settings.hops();
        let peers = peers.filter(|domain| route.hop < most && Some(*domain) != route.from);
        let asked: BTreeMap<Target, u32> = own
            .chain(peers.map(Target::Peer))
            .map(|target| (target, 0))
            .collect();
        if !self.broker.set_aside(job) {
            return;
        }
        if asked.is_empty() {
            let (now, broker) = (self.notes.now, &mut self.broker);
            return broker.put_back(now, job, cx);
        }
        for target in asked.keys() {
            self.ask(cx, job, *target);
        }
        self.searches.insert(job, Search { asked });
    }

    pub(super) fn ask(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId, target: Target) {
        let question = match target {
            Target::Cluster(cluster) => FromBroker::Lrms(cluster, ToLrms::Locate(job)),
            Target::Peer(peer) => FromBroker::Peer(peer, ToPeer::Locate(job)),
        };
        self.write_to(cx, target, question);
    }

    /// Whether somebody has not answered yet whether they have the job.
    pub(super) fn is_asked(&self, job: JobId, target: Target) -> bool {
        let search = self.searches.get(&job);
        search.is_some_and(|search| search.asked.contains_key(&target))
    }

    /// Somebody has answered whether they have the job, or has not.
    pub(super) fn note_answer(
        &mut self,
        cx: &mut impl Cx<FromBroker>,
        job: JobId,
        target: Target,
        answer: Result<(), Undelivered>,
    ) {
        let Some(search) = self.searches.get_mut(&job) else {
            return;
        };
        match answer {
            Ok(()) => {
                self.searches.remove(&job);
                self.broker
                    .place_at(&mut self.notes.writing(cx), job, target);
                if let Some(sent) = self.notes.under_way.get_mut(&job) {
                    sent.confirmed = true;
                }
                self.remove_unwanted(cx, job);
            }
            Err(Undelivered::Declined(_)) => {
                search.asked.remove(&target);
                if search.asked.is_empty() {
                    self.searches.remove(&job);
                    self.broker.put_back(self.notes.now, job, cx);
                    self.remove_unwanted(cx, job);
                }
            }
            Err(_silence) => {
                let Some(times) = search.asked.get_mut(&target) else {
                    return;
                };
                *times += 1;
                if *times > QUESTIONS {
                    // Whoever is silent may have it: anywhere else it could
                    // run a second time.
                    self.searches.remove(&job);
                    return self.lose_touch(cx, job, target);
                }
                self.remind_of(cx, Reminder::Locate(job, target));
            }
        }
    }

    /// A peer that repeats a submission may have been started anew and have
    /// missed what became of the job: an end is told once more.
    pub(super) fn tell_again(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId, to: Party) {
        let end = self.notes.store.get(job).and_then(|record| record.end);
        let (Some(end), Party::Broker(peer)) = (end, to) else {
            return;
        };
        let news = match end.state {
            EndState::Rejected(reason) => News::Refused { job, reason },
            _ => News::Ended(end),
        };
        self.say_again(cx, peer, news);
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

    /// Touch with a job is lost: nobody here knows what became of it.
    pub(super) fn lose_touch(&mut self, cx: &mut impl Cx<FromBroker>, job: JobId, target: Target) {
        let mut writing = self.notes.writing(cx);
        if self.broker.give_up(&mut writing, job, target) {
            self.notes.under_way.remove(&job);
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
