//! The audit of a run: what the event log says, held against what can be.
//!
//! It is computed from the event log and the static facts of the run alone,
//! and shares no code with the machines that made the run, except the rule
//! for run times over mixed speeds.

mod history;
mod life;
mod occupancy;
mod place;

use crate::log::EventLog;
use crate::summary::JobCounts;
use gridrig_core::grid::Grid;
use gridrig_core::ids::JobId;
use gridrig_core::job::Submission;
use gridrig_core::time::{SimDuration, SimTime};
use std::fmt;
use std::sync::Arc;

/// What the log is held against.
#[derive(Clone, Copy, Debug)]
pub struct AuditFacts<'a> {
    /// Domains, clusters with their nodes, and links.
    pub grid: &'a Grid,
    /// The workload: what each job asks for.
    pub submissions: &'a [Submission],
    /// Whether jobs may be left over: the run was interrupted, or stopped
    /// with the last arrival.
    pub partial: bool,
    /// How far a run may last longer or shorter than it should, and a
    /// submission lie before its time: 0 in virtual time.
    pub tolerance: SimDuration,
}

impl<'a> AuditFacts<'a> {
    /// The facts of a run in virtual time that went on until all was done.
    pub fn new(grid: &'a Grid, submissions: &'a [Submission]) -> Self {
        AuditFacts {
            grid,
            submissions,
            partial: false,
            tolerance: SimDuration::ZERO,
        }
    }
}

/// What was found in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// Events looked at.
    pub events: u64,
    /// Jobs that were submitted, by how they ended; unfinished ones have no end
    /// that is known: left over by a partial run, or lost.
    pub jobs: JobCounts,
    /// Jobs with which somebody lost touch.
    pub lost_touch: u64,
    /// Those of them that ended all the same.
    pub found_again: u64,
    /// Jobs of the workload that a partial run never submitted.
    pub not_submitted: u64,
}

impl AuditReport {
    /// What a reader has to know of jobs with which touch was lost, if there
    /// are any.
    pub fn note(&self) -> Option<String> {
        let (lost_touch, found_again) = (self.lost_touch, self.found_again);
        (lost_touch > 0).then(|| {
            format!(
                "lost-touch: touch was lost with {lost_touch} jobs, of which {found_again} ended \
                 all the same"
            )
        })
    }
}

/// The rules that a run keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Rule {
    /// Events lie in the order of time.
    LogOrder,
    /// Rows of a file can be read and say what they may say.
    Readable,
    /// A file is the one that the run wrote.
    Unchanged,
    /// The numbers of tables and summary are those that the events give.
    Rebuilt,
    /// Events are about jobs of the workload, which has each id once.
    KnownJob,
    /// A job is submitted once.
    SubmittedOnce,
    /// A job is not submitted before its time, and every job is.
    SubmittedInTime,
    /// Things happen to a job in an order in which they can, and where it is.
    RightPlace,
    /// A job starts after it was submitted and queued.
    StartAfterQueue,
    /// A job starts when it was promised to, or before, and not before its start window.
    PromiseKept,
    /// A job makes no more forwards than its brokers allow, along links.
    Hops,
    /// A job is forwarded to a provider that takes jobs at that instant.
    OpenHours,
    /// A forwarded job arrives, or is refused.
    ForwardArrives,
    /// A dispatched job is queued, or refused.
    DispatchArrives,
    /// A job starts on nodes that exist.
    NodeExists,
    /// Its nodes are of the kind and size it asks for.
    Requirements,
    /// It gets as many processors as it wants.
    ProcessorCount,
    /// No processor, no memory and no generic resource is used twice.
    NoOverlap,
    /// Jobs run on nodes that are up, and leave those that fail at that instant.
    NodesUp,
    /// A job waits again only if a node that it ran on has failed, with as much of
    /// its run time done as its cluster says.
    Requeued,
    /// A run lasts as long as it should on its nodes.
    RunTime,
    /// A job ends once.
    EndsOnce,
    /// A job ends.
    Ends,
    /// The news of an end is sent after it, and is seen, once.
    News,
    /// Processors are delegated from one neighbour to the next, a job runs on those of
    /// another domain only while they are delegated to its own, and they are released
    /// when it has ended.
    Leases,
    /// A job that several clusters run together begins when all of them hold its
    /// processors, ends on all at one instant, and nothing is held for it any longer.
    Claims,
}

impl Rule {
    /// The name used in files and interfaces.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// By which job, if by one.
    pub job: Option<JobId>,
    /// At which instant of the run, if at one.
    pub at: Option<SimTime>,
    /// What happened, and what was expected.
    pub message: String,
    /// Everything that happened to the job, one event per line. Empty for a
    /// violation that is about no job; a note past the first
    /// [`HISTORIES`] jobs.
    pub history: Arc<[String]>,
}

/// So many jobs are shown with their whole history. A run that breaks a rule
/// for each of a million jobs needs no more to be understood.
pub const HISTORIES: usize = 1_000;

impl Violation {
    /// Without the history of its job.
    pub(crate) fn new(
        rule: Rule,
        job: Option<JobId>,
        at: Option<SimTime>,
        message: impl Into<String>,
    ) -> Self {
        Violation {
            rule,
            job,
            at,
            message: message.into(),
            history: Arc::default(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.rule.name())?;
        if let Some(job) = self.job {
            write!(f, "{job}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(at) = self.at {
            write!(f, " (at {at})")?;
        }
        for line in &*self.history {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

/// Holds a log against the facts, in time linear in events and placed nodes.
///
/// # Errors
/// Every violation, in the order in which the log shows them; jobs that are
/// missing something come last.
pub fn audit(log: &EventLog, facts: &AuditFacts<'_>) -> Result<AuditReport, Vec<Violation>> {
    audit_with(log, facts, Vec::new())
}

/// [`audit`] with what was found before.
pub(crate) fn audit_with(
    log: &EventLog,
    facts: &AuditFacts<'_>,
    mut findings: Vec<Violation>,
) -> Result<AuditReport, Vec<Violation>> {
    findings.extend(out_of_order(log));
    let mut auditor = life::Auditor::new(facts, findings);
    log.records()
        .for_each(|(at, event)| auditor.take(at, event));
    let (report, mut findings) = auditor.finish(log);
    if findings.is_empty() {
        return Ok(report);
    }
    history::tell(log, facts.grid, &mut findings);
    Err(findings)
}

fn out_of_order(log: &EventLog) -> Option<Violation> {
    if log.is_sorted() {
        return None;
    }
    let times = log.records().map(|(at, _)| at);
    let pairs = times.clone().zip(times.skip(1));
    let (number, (before, at)) = (2..).zip(pairs).find(|(_, (before, at))| at < before)?;
    let message = format!("event {number} lies before its predecessor, which is at {before}");
    Some(Violation::new(Rule::LogOrder, None, Some(at), message))
}
