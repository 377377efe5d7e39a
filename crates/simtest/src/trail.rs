//! What happened to each job, step by step, from whichever implementation.

use gridrig_core::decision::Decision;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason};
use gridrig_core::message::EndState;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Processors taken on one node.
///
/// Placements are compared node by node, so that two ways of writing the same
/// placement as runs of nodes are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// Position of the resource in the file.
    pub resource: u16,
    /// Node within the resource.
    pub node: u32,
    /// Processors on that node.
    pub processors: u32,
}

/// One step of a job's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Handed over; the time is the intended one.
    Submitted(Entry, SimTime),
    /// At a broker, after so many forwards.
    Arrived(DomainId, u32),
    /// Sent from one broker to another.
    Forwarded(DomainId, DomainId),
    /// Sent back by the first to the second.
    Refused(Party, Party, Reason),
    /// Thought by a broker, or agreed, to start at this instant where it sends it.
    Predicted(DomainId, SimTime),
    /// Sent by a broker to an LRMS of its own.
    Dispatched(DomainId, ClusterId),
    /// Accepted by an LRMS.
    Queued(ClusterId),
    /// A part of it is asked for at this cluster, at the same instant as all others.
    Asked(ClusterId, u64),
    /// These processors are held for a part of it.
    Held(ClusterId, Vec<Share>),
    /// They are held no more.
    LetGo(ClusterId),
    /// Begun on these processors.
    Started(ClusterId, Vec<Share>),
    /// Waits again, since a node failed; so much of its run counts as done.
    Requeued(ClusterId, i64),
    /// Ended by itself.
    Finished(ClusterId),
    /// News of the end, sent by the first to the second.
    Notified(Party, Party),
    /// News of the end has arrived where the job came in.
    Seen(Party),
    /// Found by the first, which was restarted, with the second: with itself, if
    /// nobody else has it.
    Found(DomainId, Party),
    /// Turned away for good.
    Rejected(Party, Reason),
    /// Removed on request.
    Cancelled(Party),
    /// Lost to a fault.
    Failed(Party, Reason),
    /// About its processors the first says this to the second.
    Lease(EventKind, DomainId, DomainId, i64),
}

/// The steps of every job with their instants, and the information messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trails {
    /// By job id.
    pub jobs: Vec<Vec<(SimTime, Step)>>,
    /// Every information message: when it was sent, by whom, to whom.
    pub information: Vec<(SimTime, Party, Party)>,
    /// What jobs were promised first: made when, to whom, for when.
    pub promises: Vec<(SimTime, JobId, SimTime)>,
    /// Jobs with which touch was lost: when, and by whom.
    pub lost: Vec<(SimTime, JobId, Party)>,
    /// Nodes that failed, or (`true`) were repaired.
    pub nodes: Vec<(SimTime, ClusterId, Vec<Share>, bool)>,
    /// The youngest information that a broker decided by, of each that it considered: when
    /// it did, and when that was sampled.
    pub known: BTreeMap<(DomainId, Entry), (SimTime, SimTime)>,
}

/// The instants and places of a job, as results report them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRecord {
    /// Every broker it came to, and when.
    pub hops: Vec<(DomainId, SimTime)>,
    /// When a broker last handed it to an LRMS.
    pub dispatch: Option<SimTime>,
    /// When an LRMS accepted it.
    pub queued: Option<SimTime>,
    /// When it began.
    pub start: Option<SimTime>,
    /// When it ended by itself.
    pub finish: Option<SimTime>,
    /// When the news of its end reached its submitter's side.
    pub finish_seen: Option<SimTime>,
    /// Where it was accepted.
    pub cluster: Option<ClusterId>,
    /// On which processors it ran.
    pub placement: Vec<Share>,
    /// How it ended.
    pub end: Option<EndState>,
}

impl Trails {
    /// Trails of so many jobs, all empty.
    pub fn new(jobs: usize) -> Self {
        Trails {
            jobs: vec![Vec::new(); jobs],
            ..Trails::default()
        }
    }

    /// Takes note of a step. A job beyond the announced number extends the list.
    pub fn note(&mut self, at: SimTime, job: JobId, step: Step) {
        if self.jobs.len() <= job.index() {
            self.jobs.resize(job.index() + 1, Vec::new());
        }
        self.jobs[job.index()].push((at, step));
    }

    /// The record of a job; empty for one that never appeared.
    pub fn record(&self, job: JobId) -> JobRecord {
        let mut record = JobRecord::default();
        for (at, step) in self.jobs.get(job.index()).into_iter().flatten() {
            let at = *at;
            match step {
                Step::Arrived(domain, _) => record.hops.push((*domain, at)),
                Step::Dispatched(..) => record.dispatch = Some(at),
                Step::Queued(cluster) => {
                    record.queued = Some(at);
                    record.cluster = Some(*cluster);
                }
                Step::Started(_, placement) => {
                    record.start = Some(at);
                    record.placement.clone_from(placement);
                }
                Step::Finished(_) => {
                    record.finish = Some(at);
                    record.end = Some(EndState::Completed);
                }
                Step::Seen(_) => record.finish_seen = Some(at),
                Step::Rejected(_, reason) => record.end = Some(EndState::Rejected(*reason)),
                Step::Cancelled(_) => record.end = Some(EndState::Cancelled),
                Step::Failed(_, reason) => record.end = Some(EndState::Failed(*reason)),
                _ => {}
            }
        }
        record
    }

    /// The first difference between two runs, told with the whole trail of
    /// the job it concerns; `None` when they agree.
    ///
    /// "First" is by the instant at which the trails part, since a later
    /// difference is often a consequence of an earlier one. Information is
    /// compared up to the last step of any job: when a run stops to exchange
    /// it after that is the driver's own affair.
    pub fn first_difference(&self, name: &str, other: &Self, other_name: &str) -> Option<String> {
        let jobs = self.jobs.len().max(other.jobs.len());
        let empty = Vec::new();
        let of = |trails: &Trails, job: usize| trails.jobs.get(job).unwrap_or(&empty).clone();
        let mut first: Option<(SimTime, usize)> = None;
        for job in 0..jobs {
            let (a, b) = (of(self, job), of(other, job));
            let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            let parted = [a.get(same), b.get(same)].into_iter().flatten();
            if let Some(at) = parted.map(|(at, _)| *at).min() {
                first = first.into_iter().chain([(at, job)]).min();
            }
        }
        if let Some((at, job)) = first {
            let mut text = format!("job {job} differs from {} s on\n", at.as_secs_f64());
            tell(&mut text, name, &of(self, job));
            tell(&mut text, other_name, &of(other, job));
            return Some(text);
        }
        let end = self.last_step();
        let before_end = |trails: &Trails| -> Vec<(SimTime, Party, Party)> {
            let sent = trails.information.iter().copied();
            let mut sent: Vec<_> = sent.filter(|(at, ..)| *at < end).collect();
            sent.sort_unstable();
            sent
        };
        let (a, b) = (before_end(self), before_end(other));
        let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        (same < a.len().max(b.len())).then(|| {
            let (a, b) = (a.get(same), b.get(same));
            format!("information message {same}: {name} has {a:?}, {other_name} has {b:?}")
        })
    }

    /// The last instant at which anything happened to a job.
    pub fn last_step(&self) -> SimTime {
        let steps = self.jobs.iter().flatten();
        steps.map(|(at, _)| *at).max().unwrap_or(SimTime::ZERO)
    }
}

fn tell(text: &mut String, name: &str, trail: &[(SimTime, Step)]) {
    let _ = writeln!(text, "  {name}:");
    for (at, step) in trail {
        let _ = writeln!(text, "    {:>14} {step:?}", at.as_secs_f64());
    }
}

impl EventSink for Trails {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        let Event { by, reason, .. } = event;
        let broker = || by.domain().expect("a broker does this");
        let lrms = || by.cluster().expect("an LRMS does this");
        let to = || event.to.expect("somebody receives this");
        let peer = || to().domain().expect("a broker receives this");
        let to_lrms = || to().cluster().expect("an LRMS receives this");
        let why = || reason.expect("there is a reason for this");
        let step = match event.kind {
            EventKind::Submitted => {
                let entry = match to() {
                    Party::Lrms(cluster) => Entry::Cluster(cluster),
                    _ => Entry::Domain(peer()),
                };
                Step::Submitted(entry, event.instant())
            }
            EventKind::BrokerArrival => Step::Arrived(broker(), event.hop()),
            EventKind::Forwarded => Step::Forwarded(broker(), peer()),
            EventKind::Refused => Step::Refused(by, to(), why()),
            EventKind::Dispatched => Step::Dispatched(broker(), to_lrms()),
            EventKind::Predicted => Step::Predicted(broker(), event.instant()),
            EventKind::Queued => Step::Queued(lrms()),
            EventKind::Promised => {
                let job = event.job.expect("a job is promised its start");
                return self.promises.push((at, job, event.instant()));
            }
            EventKind::LostTouch => {
                let job = event.job.expect("touch is lost with a job");
                return self.lost.push((at, job, by));
            }
            EventKind::Reserved
            | EventKind::PromiseWithdrawn
            | EventKind::CancelRequested
            | EventKind::ClaimRefused => return,
            EventKind::ClaimRequested => Step::Asked(to_lrms(), event.value.cast_unsigned()),
            EventKind::Claimed => Step::Held(lrms(), shares(event.placement)),
            EventKind::ClaimEnded => Step::LetGo(lrms()),
            EventKind::Recovered => Step::Found(broker(), to()),
            EventKind::Started => Step::Started(lrms(), shares(event.placement)),
            EventKind::NodeFailed | EventKind::NodeRepaired => {
                let up = event.kind == EventKind::NodeRepaired;
                let nodes = (at, lrms(), shares(event.placement), up);
                return self.nodes.push(nodes);
            }
            EventKind::Requeued => Step::Requeued(lrms(), event.value),
            EventKind::LeaseRequested
            | EventKind::LeaseRejected
            | EventKind::Delegated
            | EventKind::LeaseExpired
            | EventKind::Released => Step::Lease(event.kind, broker(), peer(), event.value),
            EventKind::Finished => Step::Finished(lrms()),
            EventKind::Notified => Step::Notified(by, to()),
            EventKind::FinishSeen => Step::Seen(by),
            EventKind::Rejected => Step::Rejected(by, why()),
            EventKind::Cancelled => Step::Cancelled(by),
            EventKind::Failed => Step::Failed(by, why()),
            EventKind::InfoSent => return self.information.push((at, by, to())),
        };
        if let Some(job) = event.job {
            self.note(at, job, step);
        }
    }

    fn wants_decision(&self, _job: JobId) -> bool {
        true
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        let ahead = |(at, from): (SimTime, SimTime)| {
            i128::from(from.as_nanos()) - i128::from(at.as_nanos())
        };
        for one in decision.candidates {
            // What there is in the beginning everybody knows.
            if one.information_from > SimTime::ZERO {
                let known = (at, one.information_from);
                let youngest = self.known.entry((decision.by, one.target));
                let youngest = youngest.or_insert(known);
                *youngest = std::cmp::max_by_key(*youngest, known, |it| ahead(*it));
            }
        }
    }
}

/// A placement node by node.
pub fn shares(placement: &[PlacementRun]) -> Vec<Share> {
    let mut shares = Vec::new();
    for run in placement {
        for node in run.node..run.node.saturating_add(run.nodes) {
            shares.push(Share {
                resource: run.resource,
                node,
                processors: run.processors,
            });
        }
    }
    shares
}
