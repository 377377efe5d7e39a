//! Services that run as processes of their own: their clock, and their part of
//! the event log.

use gridrig_core::ids::ClusterId;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::{Recorded, RunClock, merge, replay};
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::rest::Problem;
use gridrig_replayer::correlate::{Correlation, correlate};
use gridrig_replayer::observation::Names;
use gridrig_results::EventLog;
use std::collections::BTreeMap;

/// Why a remote service is of no use to a run.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// It cannot be asked.
    #[error("{url} cannot be asked")]
    Ask {
        /// The service.
        url: String,
        /// Why.
        #[source]
        source: ClientError,
    },
    /// Its answer makes no sense.
    #[error("{url}: event {position}: {}", .problem.detail)]
    Event {
        /// The service.
        url: String,
        /// Which of its events.
        position: u64,
        /// What is wrong with it.
        problem: Box<Problem>,
    },
    /// It does not have its first events any more.
    #[error(
        "{url}: its events before number {first} are forgotten (expected a service started with \
         a larger --keep-events, for this run only)"
    )]
    Forgotten {
        /// The service.
        url: String,
        /// Its oldest event.
        first: u64,
    },
    /// Its clock has no usable speed.
    #[error("{url}: field clock.speed = \"{speed}\": expected a number above 0")]
    Speed {
        /// The service.
        url: String,
        /// What it says.
        speed: String,
    },
}

/// The clock of a running service, for everyone who is to take part in its
/// run.
///
/// # Errors
/// [`RemoteError`].
pub async fn clock_of(client: &Client, url: &str) -> Result<RunClock, RemoteError> {
    let asked = client.clock(url).await;
    let info = asked.map_err(|source| RemoteError::Ask {
        url: url.to_owned(),
        source,
    })?;
    let speed = Decimal::parse(&info.speed).filter(|speed| !speed.is_zero());
    let speed = speed.ok_or_else(|| RemoteError::Speed {
        url: url.to_owned(),
        speed: info.speed,
    })?;
    Ok(RunClock::with_epoch(info.epoch_unix_ns, speed))
}

/// The whole log of a run: `own` events first, then those of each service,
/// brokers before LRMSs, in order of time.
///
/// Where somebody else's broker has brought jobs to the LRMSs `lrms`, whose
/// URLs are among `urls`, they go by these names there.
///
/// # Errors
/// [`RemoteError`] for the first service that cannot be read.
pub async fn collect(
    client: &Client,
    own: Vec<Recorded>,
    urls: &[String],
    lrms: &BTreeMap<ClusterId, String>,
    names: &Names,
) -> Result<(EventLog, Correlation), RemoteError> {
    let mut of_lrms = BTreeMap::new();
    let mut logs = vec![own];
    for url in urls {
        let events = events_of(client, url).await?;
        match lrms.iter().find(|(_, known)| *known == url) {
            Some((cluster, _)) => drop(of_lrms.insert(*cluster, events)),
            None => logs.push(events),
        }
    }
    let correlation = correlate(&mut of_lrms, names);
    logs.extend(of_lrms.into_values());
    let mut log = EventLog::default();
    replay(&merge(logs), &mut log);
    log.sort();
    Ok((log, correlation))
}

/// The events of a service, those of its earlier lives among them.
async fn events_of(client: &Client, url: &str) -> Result<Vec<Recorded>, RemoteError> {
    let mut events = Vec::new();
    loop {
        let position = events.len() as u64;
        let asked = client.events(url, position).await;
        let page = asked.map_err(|source| RemoteError::Ask {
            url: url.to_owned(),
            source,
        })?;
        // Without all events there is nothing to audit.
        if page.first > position {
            return Err(RemoteError::Forgotten {
                url: url.to_owned(),
                first: page.first,
            });
        }
        if page.events.is_empty() {
            return Ok(events);
        }
        for report in &page.events {
            let (at, placement) = report.at_and_placement();
            let event = report
                .event(&placement)
                .map_err(|problem| RemoteError::Event {
                    url: url.to_owned(),
                    position: events.len() as u64,
                    problem: Box::new(problem),
                })?;
            events.push(Recorded::new(at, event));
        }
    }
}
