//! What a broker sends, over HTTP.

use crate::config::Peer;
use crate::lagrid::{Link, Links, Site};
use gridrig_core::event::Party;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::load::LoadSample;
use gridrig_drivers::real_time::{Letter, Message, Transport, TransportError};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::{JobSubmission, LoadReport};
use gridrig_service::{inform, notify};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Posts to the broker's LRMSs, its peers, and to where clients want news.
pub struct HttpTransport {
    pub client: Client,
    pub lrms: BTreeMap<ClusterId, String>,
    pub peers: BTreeMap<DomainId, Peer>,
    pub links: Links,
    /// What peers are told of the clusters here.
    pub(crate) site: Site,
}

impl HttpTransport {
    /// The session with a peer, if it has one.
    fn link(&self, to: Party) -> Option<&Arc<Link>> {
        match to {
            Party::Broker(domain) => self.links.get(domain),
            Party::Client | Party::Lrms(_) => None,
        }
    }

    /// The address of a service.
    pub fn base(&self, to: Party) -> Result<&str, TransportError> {
        let url = match to {
            Party::Lrms(cluster) => self.lrms.get(&cluster).map(String::as_str),
            Party::Broker(domain) => self.peers.get(&domain).map(|peer| peer.url.as_str()),
            Party::Client => None,
        };
        url.ok_or_else(|| TransportError::NotReached {
            to: format!("{to:?}"),
            why: "its address is not configured".to_owned(),
        })
    }
}

impl HttpTransport {
    /// Whether the receiver has a job that it has not turned away.
    async fn locate(&self, letter: &Letter, job: u32) -> Result<(), TransportError> {
        let base = self.base(letter.to)?;
        let status = self
            .client
            .job(base, job)
            .await
            .map_err(TransportError::from)?;
        match status.state.as_str() {
            "rejected" => Err(TransportError::Answered {
                to: base.to_owned(),
                status: 404,
                reason: None,
                why: "it has turned the job away".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

impl Transport for HttpTransport {
    async fn deliver(&self, letter: &Letter) -> Result<(), TransportError> {
        if let Some(link) = self.link(letter.to) {
            return link.deliver(letter, &self.site).await;
        }
        match &letter.message {
            Message::Forward {
                spec,
                key,
                from,
                hop,
                origin,
                settled,
                tag,
            } => {
                let job = JobSubmission {
                    tag: tag.as_deref().map(str::to_owned),
                    ..JobSubmission::of(spec, key.clone(), Some(*from), *hop, letter.due)
                };
                let job = job.on_its_way(*origin, *settled);
                let sent = self.client.submit(self.base(letter.to)?, &job).await;
                sent.map(drop).map_err(TransportError::from)
            }
            Message::Dispatch {
                spec,
                key,
                from,
                hop,
                tag,
            } => {
                let job = JobSubmission {
                    tag: tag.as_deref().map(str::to_owned),
                    ..JobSubmission::of(spec, key.clone(), Some(*from), *hop, letter.due)
                };
                let sent = self.client.submit(self.base(letter.to)?, &job).await;
                sent.map(drop).map_err(TransportError::from)
            }
            Message::Submit { .. } => Err(TransportError::NotReached {
                to: "nobody".to_owned(),
                why: "a broker dispatches and forwards, it does not submit".to_owned(),
            }),
            Message::Notice(_) | Message::Refusal { .. } => {
                notify(&self.client, letter, self.base(letter.to)).await
            }
            Message::Info(samples) => {
                let samples = samples.iter().map(LoadReport::from);
                inform(&self.client, letter, samples, self.base(letter.to)?).await
            }
            Message::Locate(job) => self.locate(letter, job.0).await,
            Message::Update(push) => {
                // A peer without a session has no use for its number.
                let samples = push.samples.iter().map(LoadReport::from);
                inform(&self.client, letter, samples, self.base(letter.to)?).await
            }
            Message::Cancel(job) => {
                let sent = self.client.cancel(self.base(letter.to)?, job.0).await;
                sent.map(drop).map_err(TransportError::from)
            }
        }
    }

    async fn sample(&self, cluster: ClusterId) -> Result<LoadSample, TransportError> {
        let base = self.base(Party::Lrms(cluster))?;
        let info = self
            .client
            .cluster(base)
            .await
            .map_err(TransportError::from)?;
        let sample = LoadSample::try_from(&info.load);
        let sample = sample.map_err(|problem| TransportError::Answered {
            to: base.to_owned(),
            status: 200,
            reason: None,
            why: problem.detail,
        })?;
        // Whatever number the LRMS gives itself, here it has this one.
        Ok(LoadSample { cluster, ..sample })
    }
}
