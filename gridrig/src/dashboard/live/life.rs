//! The whole life of one job, as a document.

use super::words::Line;
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::Submission;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_protocol::rest::PlacementReport;
use gridrig_results::EventLog;
use gridrig_results::jobs::{ClaimRow, JobRow};
use gridrig_results::names::Names;
use gridrig_results::rundir::{OWNERS, OneJob};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Steps of a life that are shown: a job that is refused for ever has more.
const STEPS: usize = 500;

/// The life of a job as far as this log has it; none for a job that is not
/// among the submissions, whose ids are their positions.
pub fn so_far(
    job: JobId,
    submissions: &[Submission],
    log: &EventLog,
    names: &Names,
) -> Option<Value> {
    let submission = submissions.get(job.index())?;
    let all = log.records().enumerate();
    let own = all.filter(|(_, (_, event))| event.job == Some(job));
    Some(life(submission, own, names))
}

/// The life of a job of a finished run.
pub fn finished(job: &OneJob) -> Value {
    let places = job.events.rows.iter().map(|row| *row as usize);
    let events = places.zip(job.events.log.records());
    life(&job.submission, events, &job.names)
}

/// From its own events, each with its position in the log. `job` is its number
/// in the run, as in `jobs.parquet`; `state` says in one word what became of it
/// so far; `owners` names the fields that say whose it is; `cluster` is where it
/// runs or ran, and `parts` what each cluster had of it that a broker asked for a
/// part; `exchanges`, what was said about it over HTTP, is for the caller to add.
fn life<'e>(
    submission: &Submission,
    events: impl Iterator<Item = (usize, (SimTime, Event<'e>))>,
    names: &Names,
) -> Value {
    let mut row = JobRow::new(submission);
    let (mut state, mut placement) = ("not submitted yet", Vec::new());
    let (mut steps, mut more_steps) = (Vec::new(), 0);
    let mut shares = BTreeMap::new();
    for (n, (at, event)) in events {
        row.note(n, at, &event);
        let asked = event.to.and_then(Party::cluster);
        if let Some(to) = asked.filter(|_| event.kind == EventKind::ClaimRequested) {
            shares.insert(to, event.value.cast_unsigned());
        }
        match Line::of(n, at, event, names) {
            Some(line) if steps.len() < STEPS => steps.push(line),
            _ => more_steps += 1,
        }
        state = match event.kind {
            EventKind::BrokerArrival | EventKind::Refused => "with a broker",
            EventKind::Started => {
                placement = event.placement.iter().map(PlacementReport::from).collect();
                "running"
            }
            EventKind::Finished => "completed",
            EventKind::Recovered
            | EventKind::ClaimRequested
            | EventKind::Claimed
            | EventKind::ClaimRefused
            | EventKind::ClaimEnded
            | EventKind::Promised
            | EventKind::PromiseWithdrawn
            | EventKind::CancelRequested
            | EventKind::Notified
            | EventKind::FinishSeen
            | EventKind::InfoSent => state,
            kind => kind.name(),
        };
    }
    let (spec, seconds) = (&submission.spec, SimDuration::as_secs_f64);
    let mut life = json!({
        "job": spec.id.0,
        "trace_id": row.label.trace_id,
        "owners": OWNERS.map(|(name, _)| name),
        "processors": spec.processors(),
        "run_time_ref_s": seconds(spec.run_time),
        "requested_s": spec.requested_time.map(seconds),
        "entry": names.entry(submission.entry),
        "intended_s": submission.at.as_secs_f64(),
        "state": state,
        "cluster": row.start.and(row.cluster).map(|cluster| names.cluster(cluster)),
        "hops": row.forwards,
        "wait_s": row.wait_s(),
        "queue_s": row.queue_s(),
        "response_s": row.response_s(),
        "delay_s": row.delay_s(),
        "run_time_s": row.run_time().map(seconds),
        "steps": steps,
        "more_steps": more_steps,
        "placement": placement,
        "parts": parts(&row, spec.components.iter().count(), &shares, names),
        "exchanges": [],
    });
    for (name, of) in OWNERS {
        life[name] = json!(of(submission));
    }
    life
}

/// What clusters had of a job of so many components. `shares` are those components, each a
/// power of two; none where a job of one was divided.
fn parts(
    row: &JobRow,
    components: usize,
    shares: &BTreeMap<ClusterId, u64>,
    names: &Names,
) -> Vec<Value> {
    let part = |part: &ClaimRow| {
        let bits = shares.get(&part.cluster).copied().unwrap_or(0);
        let own = (0..components.min(64)).filter(|at| bits >> at & 1 == 1);
        json!({
            "cluster": names.cluster(part.cluster),
            "components": own.map(|at| at + 1).collect::<Vec<_>>(),
            "processors": part.processors,
            "held_s": part.from.as_secs_f64(),
            "start_s": row.start.map(SimTime::as_secs_f64),
            "end_s": part.until.map(SimTime::as_secs_f64),
        })
    };
    row.parts().map(part).collect()
}
