//! Messages as they reach agents: what each conversation comes to.

use super::{Network, Parcel};
use gridrig_core::agent::{
    Arrival, Cancel, FromBroker, FromLrms, JobKeeper, JobState, Letter, Received, ToBroker, ToLrms,
    ToPeer, Undelivered,
};
use gridrig_core::event::Party;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Submission;
use gridrig_core::message::{EndState, Target};

impl Network<'_> {
    /// A message, or what a client wants, reaches whom it is for.
    pub(super) fn deliver(&mut self, parcel: &Parcel) -> Result<(), Undelivered> {
        match parcel {
            Parcel::Enter(index, to) => {
                let Submission { at, spec, .. } = &self.submissions[*index];
                let (Party::Broker(DomainId(entry)) | Party::Lrms(ClusterId(entry))) = *to else {
                    return Err(Undelivered::NotReached);
                };
                let arrival = Arrival {
                    key: Some(format!("run/{entry}/{index}/0")),
                    id: Some(spec.id),
                    meant: Some(*at),
                    ..Arrival::of(spec.clone())
                };
                self.bring(*to, arrival)
            }
            Parcel::Remove(job, to) => self.remove(*to, *job),
            Parcel::Broker(from, letter) => match &letter.message {
                FromBroker::Lrms(cluster, what) => {
                    let to = Party::Lrms(*cluster);
                    match what {
                        ToLrms::Dispatch(job) => self.bring(to, (**job).clone()),
                        ToLrms::Cancel(job) => self.remove(to, *job),
                        ToLrms::Locate(job) => locate(&self.lrms[cluster.index()], *job),
                    }
                }
                FromBroker::Peer(peer, what) => {
                    let (from, to) = (Target::Peer(*from), Party::Broker(*peer));
                    match what {
                        ToPeer::Forward(job) => self.bring(to, (**job).clone()),
                        ToPeer::Cancel(job) => self.remove(to, *job),
                        ToPeer::Locate(job) => locate(&self.brokers[peer.index()], *job),
                        ToPeer::News(news) => {
                            self.tell_broker(*peer, received(from, letter, *news));
                            Ok(())
                        }
                        ToPeer::Info(push) => {
                            let update = received(from, letter, push.clone());
                            let taken = self.tell_broker(*peer, update);
                            taken.map_or(Err(Undelivered::Declined(None)), |_| Ok(()))
                        }
                    }
                }
                FromBroker::Client(_) => Ok(()),
            },
            Parcel::Lrms(from, letter) => match &letter.message {
                FromLrms::Broker(broker, what) => {
                    let from = Target::Cluster(*from);
                    match what {
                        ToBroker::News(news) => {
                            self.tell_broker(*broker, received(from, letter, *news));
                            Ok(())
                        }
                        ToBroker::Info(samples) => {
                            let info = received(from, letter, samples.clone());
                            let taken = self.tell_broker(*broker, info);
                            taken.map_or(Err(Undelivered::Declined(None)), |_| Ok(()))
                        }
                    }
                }
                FromLrms::Client(_) => Ok(()),
            },
            Parcel::BrokerFate(..) | Parcel::LrmsFate(..) | Parcel::Session(..) => Ok(()),
        }
    }

    fn bring(&mut self, to: Party, job: Arrival) -> Result<(), Undelivered> {
        let receipt = match to {
            Party::Broker(domain) => self.tell_broker(domain, job),
            Party::Lrms(cluster) => self.tell_lrms(cluster, job),
            Party::Client => return Err(Undelivered::NotReached),
        };
        let declined = Err(Undelivered::Declined(None));
        receipt.map_or(declined, |_| Ok(()))
    }

    fn remove(&mut self, to: Party, job: JobId) -> Result<(), Undelivered> {
        match to {
            Party::Broker(domain) => self.tell_broker(domain, Cancel(job)),
            Party::Lrms(cluster) => self.tell_lrms(cluster, Cancel(job)),
            Party::Client => false,
        };
        Ok(())
    }
}

fn received<M, T>(from: Target, letter: &Letter<M>, said: T) -> Received<T> {
    Received {
        from,
        id: Some(letter.id),
        meant: Some(letter.due),
        said,
    }
}

/// Whether an agent has a job that it has not turned away.
fn locate(agent: &impl JobKeeper, job: JobId) -> Result<(), Undelivered> {
    let has = |state: &JobState| !matches!(state, JobState::Ended(end) if matches!(end.state, EndState::Rejected(_)));
    match agent.view(job).is_some_and(|view| has(&view.state)) {
        true => Ok(()),
        false => Err(Undelivered::Declined(None)),
    }
}
