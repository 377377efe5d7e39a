//! Tries to deliver a message, and what each conversation comes to.

use super::network::Parcel;
use super::{Agents, party};
use crate::faults::Passage;
use gridrig_core::agent::{
    AfterTry, Arrival, Cancel, Envelope, Fate, FromBroker, FromLrms, Message, Received, SAY_AGAIN,
    SubmitError, ToBroker, ToLrms, ToPeer, Tries, Undelivered,
};
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason, Submission};
use gridrig_core::message::Target;

type Delivered = Result<(), Undelivered>;

impl<S: EventSink> Agents<'_, S> {
    pub(super) fn handle_parcel(&mut self, parcel: Parcel) {
        match parcel {
            Parcel::Crash(broker) => self.crash(broker),
            Parcel::Repair(broker, anew) => self.repair(broker, anew),
            // Who has seen the end of a job hands it over no more.
            Parcel::Submit(_, job, _) if self.network.seen[job.index()] => {}
            Parcel::Submit(to, job, tries) => {
                let again = |tries| Parcel::Submit(to, job, tries);
                let submit = |agents: &mut Self| agents.enter(to, job);
                self.taken[job.index()] = self.client_asks(to, tries, again, submit);
            }
            Parcel::Cancel(to, job, tries) => {
                let again = |tries| Parcel::Cancel(to, job, tries);
                let remove = |agents: &mut Self| {
                    let known = agents.remove(party(to), job);
                    agents.removed[job.index()] |= known;
                    Ok(())
                };
                self.client_asks(to, tries, again, remove);
            }
            Parcel::FromBroker(sent, tries) => {
                let result = self.try_from_broker(&sent);
                self.follow_try(sent, tries, result, Parcel::FromBroker, Parcel::BrokerFate);
            }
            Parcel::FromLrms(sent, tries) => {
                let to = sent.message.to();
                let result = self.attempt(sent.from, to, |agents| agents.lrms_says(&sent));
                self.follow_try(sent, tries, result, Parcel::FromLrms, Parcel::LrmsFate);
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
    fn attempt(
        &mut self,
        from: Party,
        to: Party,
        deliver: impl FnOnce(&mut Self) -> Delivered,
    ) -> Delivered {
        let is_there = match to {
            Party::Broker(domain) => self.brokers[domain.index()].is_some(),
            Party::Lrms(_) | Party::Client => true,
        };
        let passage = self.network.links.passage(self.network.now, from, to);
        match passage {
            Passage::Lost => Err(Undelivered::NoAnswer),
            Passage::Closed => Err(Undelivered::NotReached),
            _ if !is_there => Err(Undelivered::NotReached),
            Passage::Open => deliver(self),
            Passage::NoAnswer => {
                let _ = deliver(self);
                Err(Undelivered::NoAnswer)
            }
        }
    }

    /// What follows a try to deliver a message of an agent: another one, or the
    /// agent learns what has become of it.
    fn follow_try<M: Message>(
        &mut self,
        sent: Envelope<M>,
        mut tries: Tries,
        result: Delivered,
        again: fn(Envelope<M>, Tries) -> Parcel,
        fate: fn(Fate<M>) -> Parcel,
    ) {
        let way = (sent.from, sent.message.to());
        let (at, parcel) = match tries.note(result, self.down.contains(&way)) {
            AfterTry::Again(wait) => (self.network.after(wait), again(sent, tries)),
            AfterTry::Over(result) => {
                let silence = result.is_err_and(Undelivered::is_silence);
                match silence {
                    true => self.down.insert(way),
                    false => self.down.remove(&way),
                };
                self.network.links.counts.given_up += u64::from(silence);
                let envelope = sent;
                (self.network.now, fate(Fate { envelope, result }))
            }
        };
        self.network.agenda.push(at, parcel);
    }

    /// A client tries until it is answered; whether it is now.
    fn client_asks(
        &mut self,
        to: Entry,
        mut tries: Tries,
        again: impl FnOnce(Tries) -> Parcel,
        deliver: impl FnOnce(&mut Self) -> Delivered,
    ) -> bool {
        let result = self.attempt(Party::Client, party(to), deliver);
        let wait = match tries.note(result, false) {
            AfterTry::Again(wait) => wait,
            AfterTry::Over(Err(error)) if error.is_passing() => SAY_AGAIN,
            AfterTry::Over(_) => return true,
        };
        let at = self.network.after(wait);
        self.network.agenda.push(at, again(tries));
        false
    }

    /// A message to a peer travels in a session.
    fn try_from_broker(&mut self, sent: &Envelope<FromBroker>) -> Delivered {
        let (from, to) = (sent.from, sent.message.to());
        let (Party::Broker(here), Party::Broker(peer)) = (from, to) else {
            return self.attempt(from, to, |agents| agents.broker_says(sent));
        };
        let link = self.sessions.link(here, peer);
        if !link.is_some_and(|link| link.may_talk()) {
            return Err(Undelivered::NotReached);
        }
        let mut unknown = false;
        let result = self.attempt(from, to, |agents| {
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
                    ToLrms::Dispatch(job) | ToLrms::Locate(job) => self.bring(to, (**job).clone()),
                    ToLrms::Cancel(job) => {
                        self.remove(to, *job);
                        Ok(())
                    }
                }
            }
            FromBroker::Peer(peer, what) => {
                let (by, to) = (Target::Peer(from), Party::Broker(*peer));
                match what {
                    ToPeer::Forward(job) | ToPeer::Locate(job) => self.bring(to, (**job).clone()),
                    ToPeer::Cancel(job) => {
                        self.remove(to, *job);
                        Ok(())
                    }
                    ToPeer::News(news) => {
                        self.tell_broker(*peer, received(by, sent, *news));
                        Ok(())
                    }
                    ToPeer::Info(push) => {
                        let taken = self.tell_broker(*peer, received(by, sent, push.clone()));
                        found(taken.is_some_and(|taken| taken.is_ok()))
                    }
                }
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
            ToBroker::Info(samples) => {
                let taken = self.tell_broker(*broker, received(by, sent, samples.clone()));
                found(taken.is_some_and(|taken| taken.is_ok()))
            }
        }
    }

    /// A client's job is handed over, under the key that it always has.
    fn enter(&mut self, to: Entry, job: JobId) -> Delivered {
        let Submission { at, spec, .. } = &self.submissions[job.index()];
        let (Entry::Domain(DomainId(entry)) | Entry::Cluster(ClusterId(entry))) = to;
        let arrival = Arrival {
            key: Some(format!("run/{entry}/{}/0", job.0)),
            id: Some(job),
            meant: Some(*at),
            sought: self.removed[job.index()],
            ..Arrival::of(spec.clone())
        };
        let sought = arrival.sought;
        let answer = self.bring(party(to), arrival);
        if let (true, Err(Undelivered::Declined(_))) = (sought, answer) {
            let lost = Event::new(EventKind::LostTouch, job, Party::Client);
            let now = self.network.now;
            self.network.emit(now, lost.to(to).because(Reason::Lost));
        }
        answer
    }

    fn bring(&mut self, to: Party, job: Arrival) -> Delivered {
        let receipt = match to {
            Party::Broker(domain) => self.tell_broker(domain, job),
            Party::Lrms(cluster) => Some(self.tell_lrms(cluster, job)),
            Party::Client => None,
        };
        match receipt {
            Some(Err(SubmitError::NotFoundYet)) => Err(Undelivered::Busy),
            receipt => found(receipt.is_some_and(|receipt| receipt.is_ok())),
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
