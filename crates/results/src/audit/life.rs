//! The life of each job: what may follow what, and where.

mod claims;
mod leases;
mod lost;
mod nodes;

use super::occupancy::Occupancy;
use super::place::{Life, Place};
use super::{AuditFacts, AuditReport, Rule, Violation};
use crate::index::JobIndex;
use crate::jobs::JobState;
use crate::log::EventLog;
use crate::names::Names;
use claims::Claim;
use gridrig_core::cluster::run_time_on;
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::grid::GridCluster;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use leases::Lease;
use std::collections::{BTreeMap, BTreeSet};

/// Goes through the log with one life per job.
pub(super) struct Auditor<'a> {
    facts: AuditFacts<'a>,
    names: Names,
    index: JobIndex,
    lives: Vec<Life<'a>>,
    clusters: Vec<Occupancy<'a>>,
    findings: Vec<Violation>,
    /// The cluster where nodes failed last, and when, if it is to be seen yet
    /// whether all jobs have left them.
    failed: Option<(SimTime, Party)>,
    /// Processors that are delegated for a job: by whom and to whom, from the lender on.
    leases: BTreeMap<JobId, BTreeSet<Lease>>,
    /// Processors that are held for parts of a job, or were asked for.
    claims: BTreeMap<JobId, Vec<Claim<'a>>>,
}

impl<'a> Auditor<'a> {
    pub(super) fn new(facts: &AuditFacts<'a>, findings: Vec<Violation>) -> Self {
        let clusters = facts.grid.clusters.iter();
        let clusters = clusters.map(|cluster| Occupancy::new(&cluster.config.resources));
        let mut auditor = Auditor {
            facts: *facts,
            names: Names::of(facts.grid),
            index: JobIndex::new(facts.submissions),
            lives: facts.submissions.iter().map(Life::new).collect(),
            clusters: clusters.collect(),
            findings,
            failed: None,
            leases: BTreeMap::new(),
            claims: BTreeMap::new(),
        };
        for job in auditor.index.doubles() {
            let message = "more than one job of the workload has this id";
            auditor.find(Rule::KnownJob, job, None, message);
        }
        auditor
    }

    pub(super) fn take(&mut self, at: SimTime, event: Event<'a>) {
        if let Some((then, lrms)) = self.failed.filter(|(then, _)| *then < at) {
            self.look_at_failed(then, lrms);
        }
        let Some(job) = event.job else {
            return self.change_nodes(at, event);
        };
        let Some(index) = self.index.find(job) else {
            let message = "an event is about a job that is not of the workload";
            return self.find(Rule::KnownJob, job, Some(at), message);
        };
        let mut life = self.lives[index];
        if at < life.last {
            let message = format!("something happens before the instant {} reached", life.last);
            self.find(Rule::LogOrder, job, Some(at), message);
        }
        life.last = at;
        self.follow(&mut life, event);
        self.lives[index] = life;
    }

    fn follow(&mut self, life: &mut Life<'a>, event: Event<'a>) {
        let (by, to) = (event.by, event.to.unwrap_or(Party::Client));
        match event.kind {
            EventKind::Submitted => self.submitted(life, to, event.instant()),
            EventKind::BrokerArrival => self.arrived(life, by, event.hop()),
            EventKind::Recovered => self.recovered(life, (by, to), event.hop()),
            EventKind::Forwarded => self.forwarded(life, by, to),
            EventKind::Refused => self.refused(life, by, to),
            EventKind::Dispatched => self.dispatched(life, by, to),
            EventKind::Queued => self.queued(life, by),
            EventKind::Promised => life.promised = event.instant(),
            EventKind::Reserved => self.reserved(life, event.instant()),
            EventKind::PromiseWithdrawn => life.promised = SimTime::MAX,
            EventKind::Started => self.started(life, by, event.placement),
            EventKind::Requeued => self.requeued(life, by, event.instant()),
            EventKind::ClaimRequested => self.claim_requested(life, to, event.value),
            EventKind::Claimed => self.claimed(life, by, event.placement),
            EventKind::ClaimRefused => self.claim_refused(life, by),
            EventKind::ClaimEnded => self.claim_ended(life, by),
            EventKind::LostTouch => self.lost_touch(life, by, to),
            EventKind::Finished => self.finished(life, by),
            EventKind::Rejected => self.rejected(life, by),
            EventKind::Cancelled => self.removed(life, by, JobState::Cancelled),
            EventKind::Failed => self.removed(life, by, JobState::Failed),
            EventKind::Delegated => self.delegated(life, (by, to, event.value)),
            EventKind::Released => self.released(life, (to, by, event.value)),
            EventKind::LeaseExpired => self.released(life, (by, to, event.value)),
            EventKind::Notified => self.news(life, "sent", life.lost),
            EventKind::FinishSeen => self.seen(life, by),
            _ => {}
        }
    }

    /// Looks at what is missing when the log is over.
    pub(super) fn finish(mut self, log: &EventLog) -> (AuditReport, Vec<Violation>) {
        if let Some((then, lrms)) = self.failed {
            self.look_at_failed(then, lrms);
        }
        let mut report = AuditReport {
            events: log.len() as u64,
            ..AuditReport::default()
        };
        let partial = self.facts.partial;
        for life in std::mem::take(&mut self.lives) {
            self.look_at_leases(&life);
            self.look_at_claims(&life);
            report.jobs.submitted += u64::from(life.submitted);
            report.lost_touch += u64::from(life.lost);
            match life.place {
                Place::Ended(state) => {
                    *report.jobs.in_state(state) += 1;
                    report.found_again += u64::from(life.lost);
                    if state == JobState::Completed && !(life.seen || life.lost || partial) {
                        let message = "the news of its end never arrived";
                        self.find(Rule::News, life.job.spec.id, None, message);
                    }
                }
                Place::Nowhere if partial || life.job.label.is_dummy() => report.not_submitted += 1,
                _ if life.lost || partial => report.jobs.unfinished += 1,
                _ => self.find_missing(&life),
            }
        }
        (report, self.findings)
    }

    fn find_missing(&mut self, life: &Life<'_>) {
        let (rule, what) = match life.place {
            Place::Nowhere => (Rule::SubmittedInTime, "was never submitted"),
            Place::Forwarded(..) => (Rule::ForwardArrives, "was forwarded and never arrived"),
            Place::Dispatched(..) => {
                let what = "was dispatched and neither queued nor refused";
                (Rule::DispatchArrives, what)
            }
            _ => (Rule::Ends, "has no end"),
        };
        let message = format!("it {what}: it was last {}", life.place.shown(&self.names));
        self.find(rule, life.job.spec.id, None, message);
    }

    fn submitted(&mut self, life: &mut Life<'a>, entry: Party, intended: SimTime) {
        if life.submitted {
            return self.find_about(Rule::SubmittedOnce, life, "it was submitted a second time");
        }
        life.submitted = true;
        if life.last + self.facts.tolerance < intended {
            let message = format!("it was submitted before its time, {intended}");
            self.find_about(Rule::SubmittedInTime, life, message);
        }
        // An earlier event of the job has been found out of place already.
        if life.place == Place::Nowhere {
            life.place = Place::Entering(entry);
        }
    }

    fn arrived(&mut self, life: &mut Life<'a>, by: Party, hop: u32) {
        let (fits, expected) = match life.place {
            Place::Entering(entry) => (entry == by, 0),
            Place::Forwarded(_, to) => (to == by, life.hop.saturating_add(1)),
            _ => (false, hop),
        };
        if !fits {
            self.find_misplaced(life, &format!("arrives at {}", self.names.party(by)));
        } else if hop != expected {
            let message = format!("it arrives with {hop} forwards, expected {expected}");
            self.find_about(Rule::Hops, life, message);
        }
        life.hop = hop;
        life.move_to(Place::Broker(by));
    }

    fn forwarded(&mut self, life: &mut Life<'a>, by: Party, peer: Party) {
        if life.place != Place::Broker(by) {
            self.find_misplaced(life, &format!("is forwarded by {}", self.names.party(by)));
        }
        life.move_to(Place::Forwarded(by, peer));
        let (Some(from), Some(to)) = (by.domain(), peer.domain()) else {
            return;
        };
        let (grid, hop) = (self.facts.grid, life.hop);
        if !grid.providers_of(from).any(|link| link.provider == to) {
            let message = self.on_the_way(from, to, "without a link in this direction");
            self.find_about(Rule::Hops, life, message);
        }
        if !self.is_open(life.last, from, to) {
            let message = self.on_the_way(from, to, "which is closed at that time");
            self.find_about(Rule::OpenHours, life, message);
        }
        let allowed = grid.domains.get(from.index()).map(|own| own.broker.hops());
        if let Some(allowed) = allowed.filter(|allowed| hop >= *allowed) {
            let from = self.names.domain(from);
            let message = format!(
                "it was forwarded by {from} after {hop} forwards, expected at most {allowed} in all"
            );
            self.find_about(Rule::Hops, life, message);
        }
    }

    fn on_the_way(&self, from: DomainId, to: DomainId, what: &str) -> String {
        let (from, to) = (self.names.domain(from), self.names.domain(to));
        format!("it was forwarded from {from} to {to}, {what}")
    }

    /// Brokers look at the hours of their own clock, which may be off by the
    /// tolerance.
    fn is_open(&self, at: SimTime, from: DomainId, to: DomainId) -> bool {
        let (grid, tolerance) = (self.facts.grid, self.facts.tolerance);
        let early = SimTime::from_nanos(at.as_nanos().saturating_sub(tolerance.as_nanos()));
        let instants = [at, early, at + tolerance];
        instants.into_iter().any(|at| grid.is_open(from, to, at))
    }

    fn refused(&mut self, life: &mut Life<'a>, by: Party, to: Party) {
        let fits = match life.place {
            Place::Dispatched(from, here) | Place::Forwarded(from, here) => {
                // Whoever has sent it takes it back himself if it did not get there.
                (here == by || from == by) && to == from
            }
            Place::Broker(here) if by.domain().is_some() => {
                life.hop = life.hop.saturating_sub(1);
                here == by
            }
            Place::Entering(entry) => by == entry && to == Party::Client,
            _ => false,
        };
        if !fits {
            self.find_misplaced(life, &format!("is sent back by {}", self.names.party(by)));
        }
        self.unclaimed(life);
        life.move_to(match to {
            Party::Broker(_) => Place::Broker(to),
            Party::Lrms(_) => Place::Queued(to),
            Party::Client => Place::SentBack,
        });
    }

    fn dispatched(&mut self, life: &mut Life<'a>, by: Party, lrms: Party) {
        let cluster = self.cluster(lrms);
        let is_own = cluster.is_some_and(|it| {
            it.domain == by.domain() || self.is_delegated(life.job.spec.id, it.domain, by)
        });
        if life.place != Place::Broker(by) || !is_own {
            let (by, lrms) = (self.names.party(by), self.names.party(lrms));
            self.find_misplaced(life, &format!("is dispatched by {by} to {lrms}"));
        }
        life.move_to(Place::Dispatched(by, lrms));
    }

    fn queued(&mut self, life: &mut Life<'a>, lrms: Party) {
        let fits = match life.place {
            Place::Dispatched(_, to) => to == lrms,
            Place::Entering(entry) => entry == lrms || self.serves_unseen(lrms, entry),
            _ => false,
        };
        if !fits {
            self.find_misplaced(life, &format!("is queued at {}", self.names.party(lrms)));
        }
        life.move_to(Place::Queued(lrms));
    }

    fn started(&mut self, life: &mut Life<'a>, lrms: Party, placement: &'a [PlacementRun]) {
        if life.place != Place::Queued(lrms) {
            let (here, was) = (self.names.party(lrms), life.place.shown(&self.names));
            let message =
                format!("it starts at {here}, expected it queued there first; it was {was}");
            self.find_about(Rule::StartAfterQueue, life, message);
        }
        if matches!(life.place, Place::Running(_) | Place::Ended(_)) {
            return;
        }
        self.look_at_window(life);
        let (at, promised) = (life.last, life.promised);
        if at > promised + self.facts.tolerance {
            let message = format!("it starts at {at}, expected at {promised} as promised");
            self.find_about(Rule::PromiseKept, life, message);
        }
        let faults = match (self.runs_together(life), self.occupancy(lrms)) {
            (true, _) => self.begun_together(life, lrms, placement),
            (_, Some(occupancy)) => occupancy.take(&life.job.spec, placement),
            (_, None) => {
                let shown = self.names.party(lrms);
                let message = format!("it starts at {shown}, which does not exist");
                vec![(Rule::NodeExists, message)]
            }
        };
        for (rule, message) in faults {
            self.find_about(rule, life, message);
        }
        life.start = at;
        life.placement = placement;
        life.place = Place::Running(lrms);
    }

    /// It starts then, or where its window is flexible, by the end of that at the latest.
    fn reserved(&mut self, life: &mut Life<'a>, start: SimTime) {
        if self.runs_together(life) && life.job.spec.start_window.is_none() {
            life.promised = start;
            return;
        }
        let Some(window) = &life.job.spec.start_window else {
            let message = "processors are reserved for it, and it has no start window";
            return self.find_about(Rule::PromiseKept, life, message);
        };
        life.promised = if window.flexible {
            window.latest
        } else {
            start
        };
        if start < window.earliest || start > window.latest {
            let message = format!("processors are reserved for it at {start}, outside its window");
            self.find_about(Rule::PromiseKept, life, message);
        }
    }

    fn look_at_window(&mut self, life: &Life<'a>) {
        let window = life.job.spec.start_window.as_deref();
        let earliest = window.map_or(SimTime::ZERO, |window| window.earliest);
        if life.last + self.facts.tolerance < earliest {
            let message = format!("it starts before its start window, which opens at {earliest}");
            self.find_about(Rule::PromiseKept, life, message);
        }
    }

    fn finished(&mut self, life: &mut Life<'a>, lrms: Party) {
        if self.ended_before(life, "finishes") {
            return;
        }
        let (at, start) = (life.last, life.start);
        if life.place != Place::Running(lrms) {
            self.find_misplaced(life, &format!("finishes at {}", self.names.party(lrms)));
        } else if let Some(expected) = self.expected_run_time(life, lrms) {
            let lasted = at.since(start);
            let off = lasted.max(expected) - lasted.min(expected);
            if off > self.facts.tolerance || at < start {
                let message = format!("it ran for {lasted}, expected {expected}");
                self.find_about(Rule::RunTime, life, message);
            }
        }
        self.look_at_parts(life);
        self.end(life, JobState::Completed);
    }

    fn rejected(&mut self, life: &mut Life<'a>, by: Party) {
        if self.ended_before(life, "is rejected") {
            return;
        }
        let fits = match life.place {
            Place::Entering(entry) => by == entry || self.serves_unseen(by, entry),
            Place::Broker(here) => by == here,
            Place::SentBack => true,
            _ => false,
        };
        if !fits {
            self.find_misplaced(life, &format!("is rejected by {}", self.names.party(by)));
        }
        self.end(life, JobState::Rejected);
    }

    /// Cancelled or lost: possible wherever the job is, but an LRMS speaks
    /// only of jobs that are with it.
    fn removed(&mut self, life: &mut Life<'a>, by: Party, how: JobState) {
        let verb = match how {
            JobState::Cancelled => "is cancelled",
            _ => "is lost",
        };
        if self.ended_before(life, verb) {
            return;
        }
        let fits = match (life.place, by) {
            (Place::Nowhere, _) => false,
            (Place::Queued(here) | Place::Running(here), Party::Lrms(_)) => here == by,
            (Place::Broker(_) | Place::Forwarded(..) | Place::SentBack, Party::Lrms(_)) => false,
            _ => true,
        };
        if !fits {
            self.find_misplaced(life, &format!("{verb} at {}", self.names.party(by)));
        }
        self.end(life, how);
    }

    fn news(&mut self, life: &Life<'a>, what: &str, is_lost: bool) {
        if !is_lost && !matches!(life.place, Place::Ended(_)) {
            let message = format!("the news of its end is {what} before it has ended");
            self.find_about(Rule::News, life, message);
        }
    }

    fn seen(&mut self, life: &mut Life<'a>, by: Party) {
        self.news(life, "seen", false);
        if life.seen && !life.recovered {
            let message = "the news of its end is seen a second time";
            self.find_about(Rule::News, life, message);
        }
        if by != Party::Client && by != life.job.entry.into() {
            let message = format!("the news of its end is seen by {}", self.names.party(by));
            self.find_about(Rule::News, life, message);
        }
        life.seen = true;
    }

    /// Whether this is an LRMS of a domain whose broker is somebody else's:
    /// nobody has seen the job there.
    fn serves_unseen(&self, lrms: Party, entry: Party) -> bool {
        let of_external = |id: DomainId| {
            let domain = self.facts.grid.domains.get(id.index())?;
            let served = self.cluster(lrms)?.domain == Some(id);
            Some(domain.broker.external && served)
        };
        entry.domain().and_then(of_external).unwrap_or(false)
    }

    /// The cluster of an LRMS, if the grid has it.
    fn cluster(&self, lrms: Party) -> Option<&'a GridCluster> {
        let AuditFacts { grid, .. } = self.facts;
        grid.clusters.get(lrms.cluster()?.index())
    }

    fn occupancy(&mut self, lrms: Party) -> Option<&mut Occupancy<'a>> {
        self.clusters.get_mut(lrms.cluster()?.index())
    }

    fn expected_run_time(&self, life: &Life<'a>, lrms: Party) -> Option<SimDuration> {
        let occupancy = self.clusters.get(lrms.cluster()?.index())?;
        let config = &self.cluster(lrms)?.config;
        // How long the jobs of a real LRMS last is for it to say.
        if life.placement.is_empty() || !occupancy.exists(life.placement) || config.is_real {
            return None;
        }
        if self.runs_together(life) {
            return self.together(life);
        }
        let run_time = config.length_of(&life.job.spec) - life.done;
        Some(run_time_on(&config.resources, life.placement, run_time))
    }

    /// Finds a second end.
    fn ended_before(&mut self, life: &Life<'a>, verb: &str) -> bool {
        let ended = matches!(life.place, Place::Ended(_));
        if ended {
            let message = format!("it {verb} after it has ended");
            self.find_about(Rule::EndsOnce, life, message);
        }
        ended
    }

    fn end(&mut self, life: &mut Life<'a>, state: JobState) {
        if let Place::Running(lrms) = life.place
            && !self.runs_together(life)
            && let Some(occupancy) = self.occupancy(lrms)
        {
            occupancy.give_back(&life.job.spec, life.placement);
        }
        life.placement = &[];
        life.place = Place::Ended(state);
    }

    fn find_misplaced(&mut self, life: &Life<'a>, what: &str) {
        let message = format!("it {what}, but it was {}", life.place.shown(&self.names));
        self.find_about(Rule::RightPlace, life, message);
    }

    /// Finds something at the instant of the job's last event.
    fn find_about(&mut self, rule: Rule, life: &Life<'a>, message: impl Into<String>) {
        self.find(rule, life.job.spec.id, Some(life.last), message);
    }

    fn find(&mut self, rule: Rule, job: JobId, at: Option<SimTime>, message: impl Into<String>) {
        let finding = Violation::new(rule, Some(job), at, message);
        self.findings.push(finding);
    }
}
