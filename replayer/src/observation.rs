//! Jobs as the LRMSs see them: their logs are read while a run goes, and the
//! tag of each job says which job of the workload it is, if any.

use gridrig_core::agent::{Observation, Place};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::tag::Tags;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};

/// Between two looks at a log that has nothing new.
const POLL: Duration = Duration::from_millis(200);

/// Whose a job in an LRMS is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The workload's, by its tag.
    Tagged(JobId),
    /// The workload's, by its tag, in another attempt than the one that counts.
    Repeated(JobId),
    /// The workload's, under its own name: it came by our own interface.
    Named(JobId),
    /// Somebody else's.
    Foreign,
}

/// What jobs are called in each LRMS, and whose they are.
pub type Names = BTreeMap<Place, Owner>;

/// Whose jobs are, as far as is known, for others to look at while a run goes.
#[derive(Clone, Debug, Default)]
pub struct Owners(Arc<parking_lot::Mutex<Names>>);

impl Owners {
    /// Whose the job is that an LRMS calls so; `None` as long as nobody has
    /// looked.
    pub fn owner(&self, cluster: ClusterId, local: JobId) -> Option<Owner> {
        self.0.lock().get(&(cluster, local)).copied()
    }

    /// Notes whose a job is.
    pub fn note(&self, cluster: ClusterId, local: JobId, owner: Owner) {
        self.0.lock().insert((cluster, local), owner);
    }

    /// All that is known.
    pub fn all(&self) -> Names {
        self.0.lock().clone()
    }
}

/// Why a log is not read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The LRMS could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// So many events were forgotten before they were read.
    #[error("{0} events were forgotten before they were read")]
    Forgotten(u64),
}

/// Reads the log of one LRMS.
pub(crate) struct LogReader {
    pub client: Client,
    pub url: String,
    pub cluster: ClusterId,
    pub tags: Tags,
    /// Whether a job of the workload goes by its own name.
    pub is_named: Arc<[bool]>,
    pub out: mpsc::UnboundedSender<Observation>,
    /// How far it is read, once it is.
    pub after: Arc<Mutex<Option<u64>>>,
    pub owners: Owners,
}

impl LogReader {
    /// Reads on until nobody listens any more. It ends with an error where the LRMS
    /// forgets events before they are read: jobs might be waited for for ever.
    pub async fn run(self) -> io::Result<()> {
        while !self.out.is_closed() {
            match self.read_page().await {
                Ok(0) => tokio::time::sleep(POLL).await,
                Ok(_) => {}
                Err(ReadError::Forgotten(events)) => {
                    return Err(io::Error::other(format!(
                        "{}: {events} events were forgotten before they were read (expected \
                         an LRMS that keeps more of them, or fewer jobs at a time)",
                        self.url
                    )));
                }
                Err(ReadError::Client(error)) => {
                    tracing::debug!(%error, "the log of an LRMS cannot be read");
                    tokio::time::sleep(POLL).await;
                }
            }
        }
        Ok(())
    }

    /// Reads what there is.
    pub async fn catch_up(&self) -> Result<(), ReadError> {
        loop {
            match self.read_page().await {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                // What comes after them can still be read.
                Err(error @ ReadError::Forgotten(_)) => {
                    tracing::warn!(url = self.url, %error, "a log has a gap");
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn read_page(&self) -> Result<usize, ReadError> {
        let mut after = self.after.lock().await;
        let page = self.client.events(&self.url, after.unwrap_or(0)).await?;
        // What an LRMS has forgotten before it was read for the first time is of others.
        let gap = page.first.saturating_sub(after.unwrap_or(page.first));
        if gap > 0 {
            *after = Some(page.first);
            return Err(ReadError::Forgotten(gap));
        }
        for report in &page.events {
            let Some(local) = report.job.map(JobId) else {
                continue;
            };
            let owner = match self.owners.owner(self.cluster, local) {
                Some(owner) => owner,
                None => {
                    let owner = self.owner(local).await?;
                    self.owners.note(self.cluster, local, owner);
                    owner
                }
            };
            let (at, placement) = report.at_and_placement();
            if let (Owner::Tagged(job), Ok(event)) = (owner, report.event(&placement)) {
                // Nobody may be listening any more.
                let _ = self.out.send(Observation {
                    job,
                    place: (self.cluster, local),
                    at,
                    kind: event.kind,
                    reason: event.reason,
                });
            }
        }
        *after = Some(page.next);
        Ok(page.events.len())
    }

    async fn owner(&self, local: JobId) -> Result<Owner, ClientError> {
        let tag = match self.client.job(&self.url, local.0).await {
            Ok(status) => status.tag,
            // It has been forgotten: nobody will know.
            Err(ClientError::Problem { .. }) => None,
            Err(error) => return Err(error),
        };
        let named = self.is_named.get(local.index()).copied().unwrap_or(false);
        Ok(match tag.as_deref().and_then(|tag| self.tags.job_in(tag)) {
            Some(job) if named && job == local => Owner::Named(job),
            Some(job) if job.index() < self.is_named.len() => Owner::Tagged(job),
            _ if named && tag.is_none() => Owner::Named(local),
            _ => Owner::Foreign,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    /// Reads these pages of a log, one after the other.
    async fn read(pages: &[&str]) -> Vec<Result<usize, ReadError>> {
        let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let reader = LogReader {
            client: Client::new(Duration::from_secs(60)).unwrap(),
            url: format!("http://{}", service.local_addr().unwrap()),
            cluster: ClusterId(0),
            tags: Tags::of_run("r"),
            is_named: Arc::new([]),
            out: mpsc::unbounded_channel().0,
            after: Arc::default(),
            owners: Owners::default(),
        };
        let mut all = Vec::new();
        for page in pages {
            let answer = async {
                let (mut asked, _) = service.accept().await.unwrap();
                assert!(asked.read(&mut [0; 4096]).await.unwrap() > 0);
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length";
                let answer = format!("{head}: {}\r\n\r\n{page}", page.len());
                asked.write_all(answer.as_bytes()).await.unwrap();
            };
            all.push(tokio::join!(reader.read_page(), answer).0);
        }
        all
    }

    #[tokio::test]
    async fn events_that_are_forgotten_before_they_are_read_end_the_reading() {
        let from_7 = r#"{"first":7,"events":[],"next":9,"total":9}"#;
        let from_9 = r#"{"first":9,"events":[],"next":9,"total":9}"#;
        let from_12 = r#"{"first":12,"events":[],"next":15,"total":15}"#;
        let [Ok(0), Ok(0), Err(ReadError::Forgotten(3))] =
            &read(&[from_7, from_9, from_12]).await[..]
        else {
            panic!("a gap is an error, what was forgotten before the first look is none");
        };
    }
}
