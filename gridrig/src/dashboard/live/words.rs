//! Events in words, for the feed and for the life of a job.

use gridrig_core::event::Event;
use gridrig_core::grid::Grid;
use gridrig_core::time::SimTime;
use gridrig_results::EventLog;
use gridrig_results::names::Names;
use serde::Serialize;

/// Events of the feed.
pub const FEED: usize = 40;

/// An event as a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Its position in the log.
    pub n: u64,
    /// When, in seconds of the run.
    pub t_s: f64,
    /// What happened, in one word.
    pub kind: &'static str,
    /// The job.
    pub job: u32,
    /// Where and why.
    pub text: String,
}

impl Line {
    /// The line of an event; information is about no job and has none.
    #[must_use]
    pub fn of(n: usize, at: SimTime, event: Event<'_>, names: &Names) -> Option<Line> {
        let job = event.job()?;
        let (kind, text) = words(event, names);
        Some(Line {
            n: n as u64,
            t_s: at.as_secs_f64(),
            kind,
            job: job.0,
            text,
        })
    }
}

/// The newest lines of a log from a position on, oldest first, at most
/// [`FEED`].
#[must_use]
pub fn newest(log: &EventLog, names: &Names, from: usize) -> Vec<Line> {
    let first = log.len().saturating_sub(FEED).max(from);
    (first..log.len())
        .filter_map(|n| {
            let (at, event) = log.get(n)?;
            Line::of(n, at, event, names)
        })
        .collect()
}

/// The names of a grid.
#[must_use]
pub fn names(grid: &Grid) -> Names {
    Names::of(grid)
}

fn words(event: Event<'_>, names: &Names) -> (&'static str, String) {
    match event {
        Event::Submitted { entry, .. } => ("submitted", format!("to {}", names.entry(entry))),
        Event::BrokerArrival { domain, hop, .. } => (
            "arrived",
            format!("at broker:{}, hop {hop}", names.domain(domain)),
        ),
        Event::Forwarded { from, to, .. } => (
            "forwarded",
            format!(
                "from broker:{} to broker:{}",
                names.domain(from),
                names.domain(to)
            ),
        ),
        Event::Refused { by, to, reason, .. } => (
            "refused",
            format!(
                "by {}, back to {}: {}",
                names.party(by),
                names.party(to),
                reason.name()
            ),
        ),
        Event::Dispatched {
            domain, cluster, ..
        } => (
            "dispatched",
            format!(
                "by broker:{} to lrms:{}",
                names.domain(domain),
                names.cluster(cluster)
            ),
        ),
        Event::Queued { cluster, .. } => ("queued", format!("at lrms:{}", names.cluster(cluster))),
        Event::Started {
            cluster, placement, ..
        } => {
            let processors: u64 = placement
                .iter()
                .map(|run| u64::from(run.nodes) * u64::from(run.processors))
                .sum();
            let many = if processors == 1 { "" } else { "s" };
            let place = names.cluster(cluster);
            (
                "started",
                format!("at lrms:{place} on {processors} processor{many}"),
            )
        }
        Event::Finished { cluster, .. } => {
            ("finished", format!("at lrms:{}", names.cluster(cluster)))
        }
        Event::Notified { from, to, .. } => (
            "notified",
            format!("from {} to {}", names.party(from), names.party(to)),
        ),
        Event::FinishSeen { by, .. } => ("seen", format!("by {}", names.party(by))),
        Event::Rejected { by, reason, .. } => (
            "rejected",
            format!("by {}: {}", names.party(by), reason.name()),
        ),
        Event::Cancelled { by, .. } => ("cancelled", format!("at {}", names.party(by))),
        Event::Failed { by, reason, .. } => (
            "failed",
            format!("at {}: {}", names.party(by), reason.name()),
        ),
        Event::InfoSent { from, to } => (
            "informed",
            format!("from {} to {}", names.party(from), names.party(to)),
        ),
    }
}
