//! Tries to deliver a message, and what each conversation comes to.

use super::Agents;
use super::network::{Parcel, Sent};
use crate::faults::Passage;
use crate::virtual_time::watch::{Met, Says, Step};
use gridrig_core::agent::{
    AfterTry, Arrival, Cancel, Envelope, Fate, FromBroker, FromClient, FromLrms, Message, Received,
    ToBroker, ToEntry, ToLrms, Tries, Undelivered,
};
use gridrig_core::event::Party;
use gridrig_core::ids::JobId;
use gridrig_core::message::Target;
use gridrig_core::session::Push;

type Delivered = Result<(), Undelivered>;

impl Agents<'_> {
    pub(super) fn handle_parcel(&mut self, parcel: Parcel) {
        match parcel {
            Parcel::Crash(broker) => self.crash(broker),
            Parcel::Repair(broker, anew) => self.repair(broker, anew),
            Parcel::Cancel(_, job) => self.tell_client(Cancel(job)),
            Parcel::FromClient(sent, tries) => match sent.message.said {
                ToEntry::Ends { .. } => self.ask_for_ends(sent.message.to, sent),
                _ => {
                    let (way, step) = ((sent.from, sent.message.to()), sent.message.step());
                    let result = self.attempt(way, step, |agents| agents.client_says(&sent));
                    self.follow_try(sent, tries, result);
                }
            },
            Parcel::ClientFate(fate) => self.tell_client(fate),
            Parcel::Ends(by, number) => self.answer(by, number),
            Parcel::FromBroker(sent, tries) => {
                let result = self.try_from_broker(&sent);
                self.follow_try(sent, tries, result);
            }
            Parcel::FromLrms(sent, tries) => {
                let (way, step) = ((sent.from, sent.message.to()), sent.message.step());
                let result = self.attempt(way, step, |agents| agents.lrms_says(&sent));
                self.follow_try(sent, tries, result);
            }
            Parcel::BrokerFate(fate) => {
                if let Party::Broker(domain) = fate.envelope.from {
                    self.tell_broker(domain, fate);
                }
            }
            Parcel::LrmsFate(fate) => {
                if let Party::Lrms(cluster) = fate.envelope.from {
                    self.tell_lrms(cluster, fate);
                }
            }
        }
    }

    /// One try to get something through, and its answer back.
    pub(super) fn attempt(
        &mut self,
        (from, to): (Party, Party),
        step: (Step, Option<JobId>),
        deliver: impl FnOnce(&mut Self) -> Delivered,
    ) -> Delivered {
        let is_there = match to {
            Party::Broker(domain) => self.brokers[domain.index()].is_some(),
            Party::Lrms(_) | Party::Client => true,
        };
        let (now, links) = (self.network.now, &mut self.network.links);
        let (result, met) = match links.passage(now, from, to, step.0.is_information()) {
            Passage::Lost => (Err(Undelivered::NoAnswer), Met::Loss),
            Passage::Closed => (Err(Undelivered::NotReached), Met::NoWay),
            _ if !is_there => (Err(Undelivered::NotReached), Met::ReceiverStopped),
            Passage::Open => {
                let answer = deliver(self);
                (answer, Met::Nothing(answer))
            }
            Passage::NoAnswer => (Err(Undelivered::NoAnswer), Met::LostAnswer(deliver(self))),
        };
        self.network.note((from, to), step, met);
        result
    }

    /// What follows a try to deliver a message of an agent: another one, or the
    /// agent learns what has become of it.
    fn follow_try<M: Sent>(&mut self, sent: Envelope<M>, mut tries: Tries, result: Delivered) {
        let way = (sent.from, sent.message.to());
        let (at, parcel) = match tries.note(result, self.down.contains(&way)) {
            AfterTry::Again(wait) => (self.network.after(wait), M::PARCEL(sent, tries)),
            AfterTry::Over(result) => {
                let silence = result.is_err_and(Undelivered::is_silence);
                match silence {
                    true => self.down.insert(way),
                    false => self.down.remove(&way),
                };
                self.network.links.counts.given_up += u64::from(silence);
                let envelope = sent;
                (self.network.now, M::FATE(Fate { envelope, result }))
            }
        };
        self.network.agenda.push(at, parcel);
    }

    /// A message to a peer travels in a session.
    fn try_from_broker(&mut self, sent: &Envelope<FromBroker>) -> Delivered {
        let (from, to, step) = (sent.from, sent.message.to(), sent.message.step());
        let (Party::Broker(here), Party::Broker(peer)) = (from, to) else {
            return self.attempt((from, to), step, |agents| agents.broker_says(sent));
        };
        let link = self.sessions.link(here, peer);
        if !link.is_some_and(|link| link.may_talk()) {
            return Err(Undelivered::NotReached);
        }
        let mut unknown = false;
        let result = self.attempt((from, to), step, |agents| {
            unknown = !agents.is_admitted(here, peer);
            match unknown {
                true => Err(Undelivered::NotReached),
                false => agents.broker_says(sent),
            }
        });
        match result {
            Err(Undelivered::NotReached) if unknown => self.forgotten(here, peer),
            Ok(()) | Err(Undelivered::Declined(_)) => {
                let now = self.network.wall();
                if let Some(link) = self.sessions.link(here, peer) {
                    link.answered(now);
                }
            }
            Err(_) => {}
        }
        result
    }

    fn broker_says(&mut self, sent: &Envelope<FromBroker>) -> Delivered {
        let Party::Broker(from) = sent.from else {
            return Ok(());
        };
        match &sent.message {
            FromBroker::Lrms(cluster, what) => {
                let to = Party::Lrms(*cluster);
                match what {
                    ToLrms::Dispatch(job) => self.bring(to, (**job).clone()),
                    ToLrms::Cancel(job) => {
                        self.remove(to, *job);
                        Ok(())
                    }
                    ToLrms::Claim(asked, step) => {
                        let said = (*asked, step.clone());
                        let heard = received(Target::Peer(from), sent, said);
                        self.tell_lrms(*cluster, heard).1
                    }
                }
            }
            FromBroker::Peer(peer, what) => {
                let said = received(Target::Peer(from), sent, what.clone());
                self.tell_broker(*peer, said)
                    .unwrap_or_else(|| found(false))
            }
            FromBroker::Client(_) => Ok(()),
        }
    }

    fn lrms_says(&mut self, sent: &Envelope<FromLrms>) -> Delivered {
        let (FromLrms::Broker(broker, what), Party::Lrms(from)) = (&sent.message, sent.from) else {
            return Ok(());
        };
        let by = Target::Cluster(from);
        match what {
            ToBroker::News(news) => {
                self.tell_broker(*broker, received(by, sent, *news));
                Ok(())
            }
            ToBroker::Claim(asked, held) => {
                self.tell_broker(*broker, received(by, sent, (*asked, *held)));
                Ok(())
            }
            ToBroker::Info(samples) => {
                let load = Push::from(samples.clone());
                let taken = self.tell_broker(*broker, received(by, sent, load));
                found(taken.is_some_and(|taken| taken.is_ok()))
            }
        }
    }

    fn client_says(&mut self, sent: &Envelope<FromClient>) -> Delivered {
        let to = sent.message.to();
        match &sent.message.said {
            ToEntry::Submit(job) => self.bring(to, (**job).clone()),
            ToEntry::Cancel(job) => found(self.remove(to, *job)),
            // Of services of ours the client learns by the ends that they publish.
            ToEntry::Query(_) | ToEntry::Ends { .. } => Ok(()),
        }
    }

    /// A job reaches a service, which tells a client at once that it does not take
    /// it.
    fn bring(&mut self, to: Party, job: Arrival) -> Delivered {
        let is_clients = job.route.is_none();
        let receipt = match to {
            Party::Broker(domain) => self.tell_broker(domain, job),
            Party::Lrms(cluster) => Some(self.tell_lrms(cluster, job)),
            Party::Client => None,
        };
        match receipt {
            Some(Ok(receipt)) if is_clients => receipt
                .taken
                .map_err(|reason| Undelivered::Declined(Some(reason))),
            Some(receipt) => Ok(receipt.map(drop)?),
            None => found(false),
        }
    }

    /// Whether the receiver knows the job (still).
    fn remove(&mut self, to: Party, job: JobId) -> bool {
        match to {
            Party::Broker(domain) => self.tell_broker(domain, Cancel(job)).unwrap_or(false),
            Party::Lrms(cluster) => self.tell_lrms(cluster, Cancel(job)),
            Party::Client => false,
        }
    }
}

/// What a receiver answers that took something or has it, or else turns it away.
fn found(yes: bool) -> Delivered {
    match yes {
        true => Ok(()),
        false => Err(Undelivered::Declined(None)),
    }
}

fn received<M, T>(from: Target, sent: &Envelope<M>, said: T) -> Received<T> {
    Received {
        from,
        id: Some(sent.id),
        meant: Some(sent.due),
        said,
    }
}
