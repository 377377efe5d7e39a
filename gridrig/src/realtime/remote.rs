//! Services that run as processes of their own: their clock, and their part of
//! the event log.

use anyhow::{Context as _, anyhow};
use gridrig_core::ids::ClusterId;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::{Recorded, RunClock, merge, replay};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::Problem;
use gridrig_replayer::correlate::{Correlation, correlate};
use gridrig_replayer::observation::Names;
use gridrig_results::EventLog;
use std::collections::BTreeMap;

/// The clock of a running service, for everyone who is to take part in its
/// run.
///
/// # Errors
/// When it does not answer, or its clock has no usable speed.
pub async fn clock_of(client: &Client, url: &str) -> anyhow::Result<RunClock> {
    let asked = client.clock(url).await;
    let info = asked.with_context(|| format!("{url} cannot be asked"))?;
    let speed = Decimal::parse(&info.speed).filter(|speed| !speed.is_zero());
    let speed = speed.with_context(|| {
        let speed = info.speed;
        format!("{url}: field clock.speed = \"{speed}\": expected a number above 0")
    })?;
    Ok(RunClock::with_epoch(info.epoch_unix_ns, speed))
}

/// The whole log of a run: `own` events first, then those of each service,
/// brokers before LRMSs, in order of time.
///
/// Where somebody else's broker has brought jobs to the LRMSs `lrms`, whose
/// URLs are among `urls`, they go by these names there. Of a service that has forgotten
/// events there is what it has left, and what is to be said of that.
///
/// # Errors
/// For the first service that cannot be read.
pub async fn collect(
    client: &Client,
    own: Vec<Recorded>,
    urls: &[String],
    lrms: &BTreeMap<ClusterId, String>,
    names: &Names,
) -> anyhow::Result<(EventLog, Correlation, Vec<String>)> {
    let mut of_lrms = BTreeMap::new();
    let mut gaps = Vec::new();
    let mut logs = vec![own];
    for url in urls {
        let (events, gap) = events_of(client, url).await?;
        gaps.extend(gap);
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
    Ok((log, correlation, gaps))
}

/// The events of a service, those of its earlier lives among them, and that it has
/// forgotten some, if so.
async fn events_of(client: &Client, url: &str) -> anyhow::Result<(Vec<Recorded>, Option<String>)> {
    let (mut events, mut gap, mut position) = (Vec::new(), None, 0);
    loop {
        let asked = client.events(url, position).await;
        let page = asked.with_context(|| format!("{url} cannot be asked"))?;
        if page.first > position {
            let first = page.first;
            gap.get_or_insert_with(|| {
                format!(
                    "{url}: its events before number {first} are forgotten (expected a service \
                     started with a larger --keep-events, for this run only)"
                )
            });
        }
        if page.events.is_empty() {
            return Ok((events, gap));
        }
        position = page.first + page.events.len() as u64;
        for report in &page.events {
            let (at, placement) = report.at_and_placement();
            let event = report.event(&placement);
            let wrong =
                |problem: Problem| anyhow!("{url}: event {}: {}", events.len(), problem.detail);
            let event = event.map_err(wrong)?;
            events.push(Recorded::new(at, event));
        }
    }
}
