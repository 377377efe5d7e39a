//! The whole life of one job.

use super::words::Line;
use gridrig_core::event::{Event, EventKind};
use gridrig_core::ids::JobId;
use gridrig_core::job::Submission;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_protocol::rest::PlacementReport;
use gridrig_results::EventLog;
use gridrig_results::jobs::JobRow;
use gridrig_results::names::Names;
use gridrig_results::rundir::OneJob;
use serde::Serialize;

/// Steps of a life that are shown: a job that is refused for ever has more.
const STEPS: usize = 500;

/// What is known of a job so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Life {
    /// Its number in the run, as in `jobs.parquet`.
    pub job: u32,
    /// Its number in the trace.
    pub trace_id: u64,
    /// Its user in the trace.
    pub user: Option<u32>,
    /// Processors it wants.
    pub processors: u32,
    /// Its run time at speed 1.0.
    pub run_time_ref_s: f64,
    /// What its user asked for.
    pub requested_s: Option<f64>,
    /// Where it comes in.
    pub entry: String,
    /// When the trace wants it.
    pub intended_s: f64,
    /// What became of it so far, in one word.
    pub state: &'static str,
    /// Where it runs or ran.
    pub cluster: Option<String>,
    /// How often it was forwarded.
    pub hops: u32,
    /// start - submit.
    pub wait_s: Option<f64>,
    /// start - queued.
    pub queue_s: Option<f64>,
    /// finish - submit.
    pub response_s: Option<f64>,
    /// finish_seen - submit - actual run time.
    pub delay_s: Option<f64>,
    /// finish - start.
    pub run_time_s: Option<f64>,
    /// What happened, in order.
    pub steps: Vec<Line>,
    /// Steps that are not shown.
    pub more_steps: u64,
    /// Its processors, node by node.
    pub placement: Vec<PlacementReport>,
    /// What was said about it over HTTP; empty in virtual time.
    pub exchanges: Vec<super::Exchange>,
}

impl Life {
    /// The life of a job as far as this log has it; none for a job that is
    /// not among the submissions, whose ids are their positions.
    #[must_use]
    pub fn of(
        job: JobId,
        submissions: &[Submission],
        log: &EventLog,
        names: &Names,
    ) -> Option<Self> {
        let submission = submissions.get(job.index())?;
        let all = log.records().enumerate();
        let own = all.filter(|(_, (_, event))| event.job == Some(job));
        Some(Life::made(submission, own, names))
    }

    /// The life of a job of a finished run.
    #[must_use]
    pub fn of_finished(job: &OneJob) -> Self {
        let places = job.events.rows.iter().map(|row| *row as usize);
        let events = places.zip(job.events.log.records());
        Life::made(&job.submission, events, &job.names)
    }

    /// From its own events, each with its position in the log.
    fn made<'e>(
        submission: &Submission,
        events: impl Iterator<Item = (usize, (SimTime, Event<'e>))>,
        names: &Names,
    ) -> Self {
        let mut life = Life::unborn(submission, names);
        let mut row = JobRow::new(submission);
        for (n, (at, event)) in events {
            life.add(n, at, event, names);
            row.note(n, at, &event);
        }
        let queued = row.queued.zip(row.start);
        Life {
            hops: row.forwards,
            wait_s: row.wait_s(),
            queue_s: queued.map(|(queued, start)| start.since(queued).as_secs_f64()),
            response_s: row.response_s(),
            run_time_s: row.run_time().map(SimDuration::as_secs_f64),
            delay_s: row.delay_s(),
            ..life
        }
    }

    fn unborn(submission: &Submission, names: &Names) -> Self {
        let spec = &submission.spec;
        Life {
            job: spec.id.0,
            trace_id: submission.label.trace_id,
            user: submission.label.user,
            processors: spec.processors(),
            run_time_ref_s: spec.run_time.as_secs_f64(),
            requested_s: spec.requested_time.map(SimDuration::as_secs_f64),
            entry: names.entry(submission.entry),
            intended_s: submission.at.as_secs_f64(),
            state: "not submitted yet",
            cluster: None,
            hops: 0,
            wait_s: None,
            queue_s: None,
            response_s: None,
            delay_s: None,
            run_time_s: None,
            steps: Vec::new(),
            more_steps: 0,
            placement: Vec::new(),
            exchanges: Vec::new(),
        }
    }

    fn add(&mut self, n: usize, at: SimTime, event: Event<'_>, names: &Names) {
        match Line::of(n, at, event, names) {
            Some(line) if self.steps.len() < STEPS => self.steps.push(line),
            _ => self.more_steps += 1,
        }
        match event.kind {
            EventKind::BrokerArrival | EventKind::Refused => self.state = "with a broker",
            EventKind::Started => {
                self.state = "running";
                self.cluster = event.by.cluster().map(|cluster| names.cluster(cluster));
                self.placement = event.placement.iter().map(PlacementReport::from).collect();
            }
            EventKind::Finished => self.state = "completed",
            EventKind::Submitted
            | EventKind::Forwarded
            | EventKind::Dispatched
            | EventKind::Queued
            | EventKind::LostTouch
            | EventKind::Rejected
            | EventKind::Cancelled
            | EventKind::Failed => self.state = event.kind.name(),
            _ => {}
        }
    }
}
