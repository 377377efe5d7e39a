//! What a broker sends, over HTTP.

use crate::lagrid::Links;
use crate::{Introduction, Peer};
use gridrig_core::agent::{Asked, BrokerSetup, ClaimStep, Envelope, FromBroker, ToLrms, ToPeer};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::load::LoadSample;
use gridrig_core::message::{News, Target};
use gridrig_core::time::SimTime;
use gridrig_drivers::faults::Faults;
use gridrig_drivers::real_time::{RunClock, Transport, TransportError};
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::lagrid::NotifyDrain;
use gridrig_protocol::rest::{ClaimOrder, DealNotice, JobSubmission, Problem};
use gridrig_service::{inform, name_of, notify};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

/// Posts to the broker's LRMSs, its peers, and to where clients want news.
pub struct HttpTransport {
    pub client: Client,
    pub lrms: BTreeMap<ClusterId, String>,
    pub peers: BTreeMap<DomainId, Peer>,
    pub links: Links,
    pub clock: RunClock,
    pub faults: Faults,
    pub introduces: Option<Introduction>,
    /// What peers are told of the clusters here.
    pub(crate) setup: BrokerSetup,
    pub(crate) refusals: Refusals,
}

/// The refusals of claims that have been told: of each LRMS those for the time of a claim, with
/// whether it was late by the clock here, and those for anything else.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<BTreeSet<(ClusterId, Option<bool>)>>);

impl Refusals {
    /// What is added to the words of an LRMS when they are told, once of each kind: a claim that
    /// was late here, too, says nothing of how far the clocks differ.
    fn note(
        &self,
        cluster: ClusterId,
        (asked, step): (Asked, &ClaimStep),
        problem: &Problem,
        now: SimTime,
    ) -> Option<&'static str> {
        let is_late = match step {
            ClaimStep::Hold { timeout, .. } | ClaimStep::Reserve { timeout, .. } => {
                asked.at + *timeout < now
            }
            ClaimStep::Begin { .. } | ClaimStep::Release => false,
        };
        let kind = (problem.code == Problem::WRONG_TIME).then_some(is_late);
        let more = match kind {
            Some(true) => "; it was late by the clock here as well",
            _ => "",
        };
        self.0.lock().insert((cluster, kind)).then_some(more)
    }
}

impl HttpTransport {
    /// The address of a service.
    pub fn base(&self, to: Target) -> Result<&str, TransportError> {
        let url = match to {
            Target::Cluster(cluster) => self.lrms.get(&cluster).map(String::as_str),
            Target::Peer(domain) => self.peers.get(&domain).map(|peer| peer.url.as_str()),
        };
        let why = "its address is not configured";
        url.ok_or_else(|| TransportError::not_reached(format!("{to:?}"), why))
    }

    async fn submit(&self, to: Target, job: JobSubmission) -> Result<(), TransportError> {
        self.client.submit(self.base(to)?, &job).await?;
        Ok(())
    }

    async fn cancel(&self, to: Target, job: JobId) -> Result<(), TransportError> {
        // An LRMS has a job once only.
        let from = to.peer().map(|_| self.setup.config.domain.0);
        self.client.cancel(self.base(to)?, job.0, from).await?;
        Ok(())
    }

    async fn to_lrms(
        &self,
        cluster: ClusterId,
        what: &ToLrms,
        envelope: &Envelope<FromBroker>,
    ) -> Result<(), TransportError> {
        let to = Target::Cluster(cluster);
        match what {
            ToLrms::Dispatch(job) => {
                let mut job = JobSubmission::of(job);
                job.notify = self.introduces.as_ref().and_then(Introduction::news);
                self.submit(to, job).await
            }
            ToLrms::Cancel(job) => self.cancel(to, *job).await,
            ToLrms::Claim(asked, step) => {
                let order = ClaimOrder::of(*asked, step, name_of(envelope));
                let now = self.clock.now();
                let told = self.client.order_claim(self.base(to)?, &order).await;
                if let Err(ClientError::Problem(_, problem)) = &told
                    && problem.status == 422
                    && let Some(more) = self.refusals.note(cluster, (*asked, step), problem, now)
                {
                    let (name, why) = (self.setup.names.cluster(cluster), &problem.detail);
                    tracing::warn!(
                        "the LRMS {name} holds no processors for this broker: {why}{more}"
                    );
                }
                Ok(told?)
            }
        }
    }

    async fn to_peer(
        &self,
        domain: DomainId,
        what: &ToPeer,
        envelope: &Envelope<FromBroker>,
    ) -> Result<(), TransportError> {
        let (to, link) = (Target::Peer(domain), self.links.get(domain));
        // Who is passive asks for what it wants to know.
        if link.is_some_and(|link| link.setup.passive) {
            return Ok(());
        }
        match (what, link) {
            (ToPeer::Forward(job), Some(link)) => link.forward(job).await,
            (ToPeer::Forward(job), None) => self.submit(to, JobSubmission::forwarded(job)).await,
            (ToPeer::Cancel(job), Some(link)) => link.cancel(*job).await,
            (ToPeer::Cancel(job), None) => self.cancel(to, *job).await,
            (ToPeer::News(news), Some(link)) => link.tell_news(envelope, *news).await,
            (ToPeer::News(news), None) => {
                notify(&self.client, envelope, *news, self.base(to)).await
            }
            (ToPeer::Info(push), Some(link)) => link.update(push, envelope, &self.setup).await,
            (ToPeer::Drain(until), Some(link)) => {
                let (connection, until_ns) = (link.connection()?, until.as_nanos());
                let request = NotifyDrain {
                    connection,
                    until_ns,
                };
                link.call(&request).await.map(drop)
            }
            (ToPeer::Drain(until), None) => {
                let url = format!("{}/v1/peers/{}/drain", self.base(to)?, self.setup.name);
                let text = format!("{{\"draining\":true,\"until_ns\":{}}}", until.as_nanos());
                let posted = self.client.post_text(&url, "application/json", text);
                match posted.await? {
                    (204, _) => Ok(()),
                    (status, why) => Err(TransportError::declined(&url, status, why)),
                }
            }
            // A scenario that would have it said in a session is refused.
            (ToPeer::Request(..) | ToPeer::Deal(_), Some(_)) => {
                let why = "processors are delegated over native links only";
                Err(TransportError::declined(self.base(to)?, 501, why))
            }
            (ToPeer::Request(job, at), None) => {
                let notice = DealNotice::request((job, *at), name_of(envelope));
                Ok(self.client.deal(self.base(to)?, &notice).await?)
            }
            (ToPeer::Deal(deal), None) => {
                let notice = DealNotice::deal(*deal, name_of(envelope));
                Ok(self.client.deal(self.base(to)?, &notice).await?)
            }
            (ToPeer::Info(push), None) => {
                inform(&self.client, envelope, &push.samples, self.base(to)?).await
            }
        }
    }
}

impl Transport for HttpTransport {
    type Message = FromBroker;

    async fn deliver(&self, envelope: &Envelope<FromBroker>) -> Result<(), TransportError> {
        match &envelope.message {
            FromBroker::Lrms(cluster, what) => self.to_lrms(*cluster, what, envelope).await,
            FromBroker::Peer(domain, what) => self.to_peer(*domain, what, envelope).await,
            FromBroker::Client(end) => {
                let why = "it has given no address";
                let nowhere = Err(TransportError::not_reached("the client", why));
                notify(&self.client, envelope, News::Ended(*end), nowhere).await
            }
        }
    }

    fn faults(&self) -> Faults {
        self.faults.clone()
    }

    async fn sample(&self, cluster: ClusterId) -> Result<LoadSample, TransportError> {
        let base = self.base(Target::Cluster(cluster))?;
        let info = self.client.cluster(base).await?;
        let sample = LoadSample::try_from(&info.load);
        let sample =
            sample.map_err(|problem| TransportError::declined(base, 200, problem.detail))?;
        // Whatever number the LRMS gives itself, here it has this one.
        Ok(LoadSample { cluster, ..sample })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::agent::{Arrival, ClaimShare};
    use gridrig_core::job::JobSpec;
    use gridrig_core::time::SimDuration;

    #[test]
    fn refusals_are_told_once_of_each_lrms_and_kind() {
        let minute = SimDuration::from_secs(60);
        let asked = Asked {
            job: JobId(7),
            at: SimTime::from_secs(100),
        };
        let hold = ClaimStep::Hold {
            job: Box::new(Arrival::of(JobSpec::rigid(asked.job, 2, minute))),
            share: ClaimShare::Components(1),
            estimate: minute,
            timeout: minute,
        };
        let other = Problem::field("from", "b", "the broker to which this LRMS reports");
        let of_time = Problem {
            code: Problem::WRONG_TIME.to_owned(),
            ..Problem::field("asked_ns", "100", "another instant")
        };
        let refusals = Refusals::default();
        let late = Some("; it was late by the clock here as well");
        // One that is late does not use up what is told of a clock.
        for (cluster, problem, now, expected) in [
            (0, &of_time, 161, late),
            (0, &of_time, 170, None),
            (0, &of_time, 160, Some("")),
            (0, &of_time, 101, None),
            (0, &other, 161, Some("")),
            (0, &other, 101, None),
            (1, &of_time, 161, late),
            (1, &of_time, 101, Some("")),
        ] {
            let (cluster, now) = (ClusterId(cluster), SimTime::from_secs(now));
            let told = refusals.note(cluster, (asked, &hold), problem, now);
            assert_eq!(told, expected, "{cluster} at {now}: {problem}");
        }
    }
}
