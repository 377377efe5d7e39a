//! What a real-time run leaves behind.

use super::BrokerLogs;
use super::configs::Logs;
use super::grid::Services;
use crate::words::list;
use gridrig_core::decision::About;
use gridrig_core::event::{Event, EventKind, EventSink, MessageKind};
use gridrig_core::ids::JobId;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::{Recorded, Recorder, merge, replay};
use gridrig_replayer::correlate::{Correlation, correlate};
use gridrig_replayer::player::{Handover, Played, Unseen};
use gridrig_results::EventLog;
use std::collections::{BTreeMap, BTreeSet};

/// Messages of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// Sent, as the log has it.
    pub logged: u64,
    /// Requests counted at the services, each message once.
    pub received: u64,
    /// Given up after several tries, or never said by anyone: the refusal
    /// that stands for a job whose receiver was not reached.
    pub undelivered: u64,
}

impl Exchanged {
    /// Messages that nobody accounts for: under way when a service was killed.
    pub fn missing(&self) -> u64 {
        self.logged.saturating_sub(self.received + self.undelivered)
    }
}

/// What is known of a run besides what happened.
pub(super) struct Known {
    /// How many jobs the workload has; those of others have higher names.
    pub(super) jobs: usize,
    /// Whether something was to go wrong.
    pub(super) has_faults: bool,
    /// Whether messages were to get lost by plan: what becomes of jobs then is what the
    /// run is to show.
    pub(super) is_planned: bool,
    /// Whether brokers are not ours.
    pub(super) is_external: bool,
    /// The jobs about which it was kept how brokers decided.
    pub(super) decisions: About,
    /// When the run began on its clock.
    pub(super) shift: SimDuration,
}

/// What a real-time run leaves behind.
#[derive(Debug, Default)]
pub struct RealOutcome {
    /// Everything that happened, in order.
    pub log: EventLog,
    /// Messages by kind, as logged and as counted; empty where services are processes of
    /// their own, which count for themselves.
    pub messages: BTreeMap<MessageKind, Exchanged>,
    /// How punctual the submissions were, in the time of the run.
    pub handover: Handover,
    /// Jobs that were lost to a fault.
    pub failed: Vec<JobId>,
    /// Jobs with which touch was lost and whose end nobody knows.
    pub lost: Vec<JobId>,
    /// Other jobs that were submitted and have no end.
    pub unfinished: Vec<JobId>,
    /// Jobs that others than the workload brought, by the commands of Slurm
    /// say: they took processors, and are in no figure.
    pub foreign: usize,
    /// What is known of jobs of brokers that are not ours, where there are
    /// such.
    pub external: Option<(Correlation, Unseen)>,
    /// Whether `shutdown` ended the run.
    pub interrupted: bool,
    /// Which services were restarted, in words.
    pub restarted: Option<String>,
    /// Why the run did not go on, where it was broken off and cannot.
    pub cut: Vec<String>,
    /// Whether a service, or the client, could not go on.
    pub broke_off: bool,
    /// What went wrong, in words; empty after a run in good order.
    pub faults: Vec<String>,
    /// What brokers that are not ours have said.
    pub said: Option<BrokerLogs>,
}

pub(super) fn collect(
    (mut logs, counted): (Logs, Option<&Services>),
    recorder: &Recorder,
    played: Played,
    mut faults: Vec<String>,
    known: &Known,
) -> RealOutcome {
    let has_faults = known.has_faults;
    let mut decisions = std::mem::take(&mut logs.decisions);
    decisions.retain(|(_, decision)| decision.job.index() < known.jobs);
    decisions.sort_by_key(|(at, _)| *at);
    let (logs, foreign, correlation) = gather(logs, recorder, &played, known);
    let merged = merge(logs);
    let mut log = EventLog::default();
    replay(&merged, &mut log);
    log.sort();
    log.keep_decisions(known.decisions);
    for (at, decision) in decisions {
        log.decided(at, decision);
    }
    let mut jobs = Jobs::default();
    replay(&merged, &mut jobs);
    let failed = jobs.that_are(Some(EventKind::Failed));
    let lost = jobs.that_are(Some(EventKind::LostTouch));
    let unfinished = jobs.that_are(None);
    let messages = counted.map(|services| exchanged(services, &log, played.undelivered));
    let messages = messages.unwrap_or_default();
    // What somebody else's broker does to jobs is what the run is to show.
    faults.extend(played.unseen.none_worked());
    let gone = [&failed[..], &lost].concat();
    if !gone.is_empty() && !known.is_external && !known.is_planned {
        let why = played.given_up.values().next();
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        faults.push(format!("lost to a fault: {}{why}", list(&gone)));
    }
    let all_were_to_end = !played.interrupted && played.unfinished.is_empty();
    if all_were_to_end && !unfinished.is_empty() && !known.is_planned {
        faults.push(format!("without a known end: {}", list(&unfinished)));
    }
    for (kind, exchanged) in &messages {
        if exchanged.missing() > 0 && !has_faults && !known.is_external && !known.is_planned {
            faults.push(format!(
                "messages of kind {}: {} logged, {} received and {} undelivered: expected none \
                 to be missing",
                kind.name(),
                exchanged.logged,
                exchanged.received,
                exchanged.undelivered
            ));
        }
    }
    RealOutcome {
        log,
        messages,
        handover: played.handover,
        failed,
        lost,
        unfinished,
        foreign,
        external: correlation.map(|correlation| (correlation, played.unseen)),
        interrupted: played.interrupted,
        faults,
        ..RealOutcome::default()
    }
}

/// The logs of a run, the client's first, which is the cause of all others; how many jobs of
/// others are in them; and whose the jobs are, where brokers are not ours.
fn gather(
    of: Logs,
    recorder: &Recorder,
    played: &Played,
    known: &Known,
) -> (Vec<Vec<Recorded>>, usize, Option<Correlation>) {
    let (of_brokers, mut of_lrms) = (of.brokers, of.lrms);
    let correlation = known
        .is_external
        .then(|| correlate(&mut of_lrms, &played.names));
    let mut logs = vec![recorder.take()];
    logs.extend(of_brokers);
    logs.extend(of_lrms.into_values());
    let mut foreign = BTreeSet::new();
    for log in &mut logs {
        if !known.shift.is_zero() {
            let events = std::mem::take(log).into_iter();
            *log = events.map(|event| event.earlier(known.shift)).collect();
        }
        log.retain(|recorded| match recorded.event().job {
            Some(job) if job.index() >= known.jobs => {
                foreign.insert(job);
                false
            }
            _ => true,
        });
    }
    let found = correlation.as_ref().map(Correlation::foreign);
    (logs, found.unwrap_or(foreign.len()), correlation)
}

fn exchanged(
    services: &Services,
    log: &EventLog,
    unsubmitted: u64,
) -> BTreeMap<MessageKind, Exchanged> {
    let of = |kind: MessageKind| Exchanged {
        logged: log.messages(kind),
        received: services.received(kind),
        undelivered: services.undelivered(kind)
            + u64::from(kind == MessageKind::Submit) * unsubmitted,
    };
    MessageKind::ALL
        .into_iter()
        .map(|kind| (kind, of(kind)))
        .collect()
}

/// The end of each job, `LostTouch` in the place of one, or none.
#[derive(Default)]
struct Jobs(BTreeMap<JobId, Option<EventKind>>);

impl Jobs {
    fn that_are(&self, end: Option<EventKind>) -> Vec<JobId> {
        let jobs = self.0.iter().filter(|(_, known)| **known == end);
        jobs.map(|(job, _)| *job).collect()
    }
}

impl EventSink for Jobs {
    fn emit(&mut self, _at: SimTime, event: Event<'_>) {
        let Some(job) = event.job else { return };
        let end = self.0.entry(job).or_default();
        if event.kind.is_terminal() || (event.kind == EventKind::LostTouch && end.is_none()) {
            *end = Some(event.kind);
        }
    }
}
