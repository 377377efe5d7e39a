//! Waiting until the brokers know each other.

use gridrig_core::grid::Grid;
use gridrig_protocol::client::Client;
use std::time::Duration;
use tokio::time::Instant;

/// How long brokers may take to open their sessions before the workload starts
/// all the same.
const SESSIONS: Duration = Duration::from_secs(30);
/// Time between two looks at them.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Waits until every broker among these services has a session with each of its
/// peers that is a domain of the scenario: a job that is decided before is not
/// sent where the scenario would have it. What does not open in time is said,
/// and the workload starts without.
pub(super) async fn open(client: &Client, urls: &[String], grid: &Grid) {
    let began = Instant::now();
    for url in urls {
        loop {
            let closed = closed(client, url, grid).await;
            if closed.is_empty() {
                break;
            }
            if began.elapsed() >= SESSIONS {
                let peers = closed.join(", ");
                tracing::warn!(
                    url,
                    peers,
                    "no session is open: the workload starts without one"
                );
                break;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// The peers with which this service ought to have a session and has none.
/// Programs that only submit open theirs when they want to.
async fn closed(client: &Client, url: &str, grid: &Grid) -> Vec<String> {
    // An LRMS has no peers; who does not answer is found out about later.
    let Ok(list) = client.peers(url).await else {
        return Vec::new();
    };
    let ours = |name: &str| grid.domains.iter().any(|domain| domain.name == name);
    let peers = list.peers.into_iter();
    let closed = peers.filter(|peer| {
        let session = peer.session.as_ref();
        ours(&peer.name) && session.is_some_and(|session| session.state != "open")
    });
    closed.map(|peer| peer.name).collect()
}
