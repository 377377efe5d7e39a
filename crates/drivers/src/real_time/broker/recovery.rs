//! What a broker does that was started anew and has forgotten everything:
//! before it decides about a job that it may have had in an earlier life, it
//! asks everybody who could have the job. Whoever has it gets it once more,
//! under the same key, and answers with the first answer; so no job runs
//! twice.

use super::BrokerMachine;
use crate::real_time::letter::Message;
use crate::real_time::outbox::TransportError;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, Target};
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

impl BrokerMachine {
    /// Looks for a job that came from `peer`, or from a client, with `hop`
    /// forwards behind it. Until everybody has answered, no cycle decides it.
    pub(super) fn search(&mut self, job: JobId, peer: Option<DomainId>, hop: u32) {
        let config = self.broker.config();
        let own = config.clusters.iter().map(|(id, _)| Target::Cluster(*id));
        let peers = config.peers.iter().map(|known| known.domain);
        let peers = peers.filter(|domain| hop < config.settings.hops() && Some(*domain) != peer);
        let asked: BTreeMap<Target, u32> = own
            .chain(peers.map(Target::Peer))
            .map(|target| (target, 0))
            .collect();
        if asked.is_empty() || !self.broker.set_aside(job) {
            return;
        }
        for target in asked.keys() {
            self.ask(job, *target);
        }
        self.searches.insert(job, Search { asked });
    }

    fn ask(&mut self, job: JobId, target: Target) {
        match target {
            Target::Cluster(cluster) => self.write_to_lrms(cluster, Message::Locate(job)),
            Target::Peer(peer) => self.write_to_peer(peer, Message::Locate(job)),
        }
    }

    /// Somebody has answered whether they have the job, or has not.
    pub(super) fn note_answer(
        &mut self,
        job: JobId,
        target: Target,
        answer: &Result<(), TransportError>,
    ) {
        let Some(search) = self.searches.get_mut(&job) else {
            return;
        };
        match answer {
            Ok(()) => {
                self.searches.remove(&job);
                let (events, out) = (&mut self.recorder, &mut self.out);
                self.broker.place(self.now, job, target, events, out);
                if self.broker.is_unwanted(job) {
                    self.cancel(self.now, job);
                }
            }
            Err(TransportError::Answered { .. }) => {
                search.asked.remove(&target);
                if search.asked.is_empty() {
                    self.searches.remove(&job);
                    self.broker.put_back(job);
                    if self.broker.is_unwanted(job) {
                        self.cancel(self.now, job);
                    }
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
                    return self.fail(job);
                }
                let due = self.now + self.ask_again;
                let to = match target {
                    Target::Cluster(cluster) => Party::Lrms(cluster),
                    Target::Peer(peer) => Party::Broker(peer),
                };
                self.post(to, None, due, Message::Locate(job));
            }
        }
    }

    /// A peer that repeats a submission may have been started anew and have
    /// missed what became of the job: an end is told once more.
    pub(super) fn tell_again(&mut self, job: JobId, from: Party) {
        let end = self.ledger.get(job).and_then(|record| record.end);
        let (Some(end), Party::Broker(peer)) = (end, from) else {
            return;
        };
        match end.state {
            EndState::Rejected(reason) => {
                self.write_to_peer(peer, Message::Refusal { job, reason });
            }
            _ => {
                let (from, to) = (self.here, Party::Broker(peer));
                self.recorder
                    .emit(self.now, Event::new(EventKind::Notified, job, from).to(to));
                self.write_to_peer(peer, Message::Notice(end));
            }
        }
    }

    /// A job is given up: nobody here knows what became of it.
    pub(super) fn fail(&mut self, job: JobId) {
        let (by, reason) = (self.here, Reason::ServiceLost);
        self.recorder.emit(
            self.now,
            Event::new(EventKind::Failed, job, by).because(reason),
        );
        self.end(super::end_of(job, EndState::Failed(reason)));
    }
}
