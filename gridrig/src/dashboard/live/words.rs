//! Events in words, for the feed and for the life of a job.

use gridrig_core::event::Event;
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
    /// The name of its kind.
    pub kind: &'static str,
    /// The job.
    pub job: u32,
    /// Where and why.
    pub text: String,
}

impl Line {
    /// The line of an event; information is about no job and has none.
    pub fn of(n: usize, at: SimTime, event: Event<'_>, names: &Names) -> Option<Line> {
        let job = event.job?;
        let kind = event.kind.name();
        let placed = event.placement.iter();
        let processors: u64 = placed
            .map(|run| u64::from(run.nodes) * u64::from(run.processors))
            .sum();
        let many = if processors == 1 { "" } else { "s" };
        let text = names.told(&event, &format!("{processors} processor{many}"));
        // Its name stands before it already.
        let rest = text.strip_prefix(kind).map(str::trim_start);
        Some(Line {
            n: n as u64,
            t_s: at.as_secs_f64(),
            kind,
            job: job.0,
            text: rest.unwrap_or(&text).to_owned(),
        })
    }
}

/// The newest lines of a log, oldest first, at most [`FEED`].
pub fn newest(log: &EventLog, names: &Names) -> Vec<Line> {
    (log.len().saturating_sub(FEED)..log.len())
        .filter_map(|n| {
            let (at, event) = log.get(n)?;
            Line::of(n, at, event, names)
        })
        .collect()
}
