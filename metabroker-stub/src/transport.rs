//! What a broker sends, over HTTP.

use crate::config::Peer;
use gridrig_core::event::Party;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::load::LoadSample;
use gridrig_drivers::real_time::{Letter, LetterId, Message, Transport, TransportError};
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::rest::{
    InfoReport, JobNotice, JobSubmission, LetterName, LoadReport, reason_of_code,
};
use std::collections::BTreeMap;

/// Posts to the broker's LRMSs, its peers, and to where clients want news.
pub(crate) struct HttpTransport {
    pub client: Client,
    pub lrms: BTreeMap<ClusterId, String>,
    pub peers: BTreeMap<DomainId, Peer>,
}

impl HttpTransport {
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

    async fn notify(&self, letter: &Letter, notice: JobNotice) -> Result<(), TransportError> {
        let url = match &letter.address {
            Some(address) => address.to_string(),
            None => format!("{}/v1/notifications", self.base(letter.to)?),
        };
        self.client.notify(&url, &notice).await.map_err(failure)
    }
}

impl Transport for HttpTransport {
    async fn deliver(&self, letter: &Letter) -> Result<(), TransportError> {
        let (from, name) = (letter.from.into(), name(letter.id));
        match &letter.message {
            Message::Dispatch {
                spec,
                key,
                from,
                hop,
            }
            | Message::Forward {
                spec,
                key,
                from,
                hop,
            } => {
                let job = JobSubmission::of(spec, key.clone(), Some(*from), *hop, letter.due);
                let sent = self.client.submit(self.base(letter.to)?, &job).await;
                sent.map(drop).map_err(failure)
            }
            Message::Submit { .. } => Err(TransportError::NotReached {
                to: "nobody".to_owned(),
                why: "a broker dispatches and forwards, it does not submit".to_owned(),
            }),
            Message::Refusal { job, reason } => {
                self.notify(
                    letter,
                    JobNotice::refused(from, name, letter.due, *job, *reason),
                )
                .await
            }
            Message::Notice(end) => {
                self.notify(letter, JobNotice::ended(from, name, letter.due, end))
                    .await
            }
            Message::Info(samples) => {
                let samples = samples.iter().map(LoadReport::from).collect();
                let info = InfoReport {
                    from,
                    letter: Some(name),
                    meant_ns: Some(letter.due.as_nanos()),
                    samples,
                };
                self.client
                    .inform(self.base(letter.to)?, &info)
                    .await
                    .map_err(failure)
            }
            Message::Cancel(job) => {
                let sent = self.client.cancel(self.base(letter.to)?, job.0).await;
                sent.map(drop).map_err(failure)
            }
        }
    }

    async fn sample(&self, cluster: ClusterId) -> Result<LoadSample, TransportError> {
        let base = self.base(Party::Lrms(cluster))?;
        let info = self.client.cluster(base).await.map_err(failure)?;
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

fn name(id: LetterId) -> LetterName {
    LetterName {
        incarnation: id.incarnation,
        number: id.number,
    }
}

fn failure(error: ClientError) -> TransportError {
    let why = |source: &dyn std::error::Error| source.to_string();
    match error {
        ClientError::NotReached { url, source } => TransportError::NotReached {
            to: url,
            why: why(&source),
        },
        ClientError::NoAnswer { url, source } => TransportError::NoAnswer {
            to: url,
            why: why(&source),
        },
        ClientError::Busy { url } => TransportError::Busy { to: url },
        ClientError::Problem { url, problem } => TransportError::Answered {
            to: url,
            status: problem.status,
            reason: reason_of_code(&problem.code),
            why: problem.detail,
        },
        ClientError::Setup(source) => TransportError::NotReached {
            to: "anybody".to_owned(),
            why: why(&source),
        },
    }
}
