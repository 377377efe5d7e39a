//! The life of each job: what may follow what, and where.

mod lost;

use super::occupancy::Occupancy;
use super::place::{End, Life, Place, UNBORN};
use super::{AuditFacts, AuditReport, Finding, Rule};
use crate::index::JobIndex;
use crate::log::EventLog;
use crate::names::Names;
use gridrig_core::cluster::run_time_on;
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::grid::GridCluster;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::Submission;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};

/// Goes through the log with one life per job.
pub(super) struct Auditor<'a, 'l> {
    facts: AuditFacts<'a>,
    names: Names,
    index: JobIndex,
    lives: Vec<Life<'l>>,
    clusters: Vec<Occupancy<'a>>,
    findings: Vec<Finding>,
}

impl<'a, 'l> Auditor<'a, 'l> {
    pub(super) fn new(facts: &AuditFacts<'a>, findings: Vec<Finding>) -> Self {
        let clusters = facts.grid.clusters.iter();
        let index = JobIndex::new(facts.submissions);
        let mut auditor = Auditor {
            names: Names::of(facts.grid),
            lives: vec![UNBORN; facts.submissions.len()],
            clusters: clusters
                .map(|cluster| Occupancy::new(&cluster.config.resources))
                .collect(),
            facts: *facts,
            index: JobIndex::Dense(0),
            findings,
        };
        for job in index.doubles() {
            let message = "more than one job of the workload has this id".to_owned();
            auditor.find(Rule::KnownJob, job, None, message);
        }
        auditor.index = index;
        auditor
    }

    pub(super) fn take(&mut self, at: SimTime, event: Event<'l>) {
        let Some(job) = event.job else {
            return;
        };
        let Some(index) = self.index.find(job) else {
            let message = "an event is about a job that is not of the workload".to_owned();
            return self.find(Rule::KnownJob, job, Some(at), message);
        };
        let life = &mut self.lives[index];
        if at < life.last {
            let message = format!("something happens before the instant {} reached", life.last);
            self.find(Rule::LogOrder, job, Some(at), message);
        }
        self.lives[index].last = at;
        let (by, to) = (event.by, event.to.unwrap_or(Party::Client));
        match event.kind {
            EventKind::Submitted => self.submitted(at, index, to, event.instant()),
            EventKind::BrokerArrival => self.arrived(at, index, by, event.hop()),
            EventKind::Recovered => self.recovered(at, index, (by, to), event.hop()),
            EventKind::Forwarded => self.forwarded(at, index, by, to),
            EventKind::Refused => self.refused(at, index, by, to),
            EventKind::Dispatched => self.dispatched(at, index, by, to),
            EventKind::Queued => self.queued(at, index, by),
            EventKind::Promised => self.lives[index].promised = event.instant(),
            EventKind::PromiseWithdrawn => self.lives[index].promised = SimTime::MAX,
            EventKind::Started => self.started(at, index, by, event.placement),
            EventKind::LostTouch => self.lost_touch(at, index, by, to),
            EventKind::Finished => self.finished(at, index, by),
            EventKind::Rejected => self.rejected(at, index, by),
            EventKind::Cancelled => self.removed(at, index, by, End::Cancelled),
            EventKind::Failed => self.removed(at, index, by, End::Failed),
            EventKind::Notified => self.news(at, index, "sent", self.lives[index].lost),
            EventKind::FinishSeen => self.seen(at, index, by),
            _ => {}
        }
    }

    /// Looks at what is missing when the log is over.
    pub(super) fn finish(mut self, log: &EventLog) -> (AuditReport, Vec<Finding>) {
        let mut report = AuditReport {
            events: log.len() as u64,
            ..AuditReport::default()
        };
        for index in 0..self.lives.len() {
            let life = self.lives[index];
            if life.submitted {
                report.submitted += 1;
            }
            report.lost_touch += u64::from(life.lost);
            match life.place {
                Place::Ended(end) => {
                    report.found_again += u64::from(life.lost);
                    *match end {
                        End::Completed => &mut report.completed,
                        End::Rejected => &mut report.rejected,
                        End::Cancelled => &mut report.cancelled,
                        End::Failed => &mut report.failed,
                    } += 1;
                    let may_be_unseen = life.lost || self.facts.partial;
                    if end == End::Completed && !life.seen && !may_be_unseen {
                        let message = "the news of its end never arrived".to_owned();
                        self.find_about(Rule::News, index, None, message);
                    }
                }
                Place::Nowhere if self.facts.partial => report.not_submitted += 1,
                _ if life.lost || self.facts.partial => report.unfinished += 1,
                place => self.find_missing(index, place),
            }
        }
        (report, self.findings)
    }

    fn find_missing(&mut self, index: usize, place: Place) {
        let (rule, what) = match place {
            Place::Nowhere => (Rule::SubmittedInTime, "was never submitted"),
            Place::Forwarded(..) => (Rule::ForwardArrives, "was forwarded and never arrived"),
            Place::Dispatched(..) => (
                Rule::DispatchArrives,
                "was dispatched and neither queued nor refused",
            ),
            _ => (Rule::Ends, "has no end"),
        };
        let message = format!("it {what}: it was last {}", place.shown(&self.names));
        self.find_about(rule, index, None, message);
    }

    fn submitted(&mut self, at: SimTime, index: usize, entry: Party, intended: SimTime) {
        if self.lives[index].submitted {
            let message = "it was submitted a second time".to_owned();
            return self.find_about(Rule::SubmittedOnce, index, Some(at), message);
        }
        self.lives[index].submitted = true;
        if at + self.facts.tolerance < intended {
            let message = format!("it was submitted before its time, {intended}");
            self.find_about(Rule::SubmittedInTime, index, Some(at), message);
        }
        // An earlier event of the job has been found out of place already.
        if self.lives[index].place == Place::Nowhere {
            self.lives[index].place = Place::Entering(entry);
        }
    }

    fn arrived(&mut self, at: SimTime, index: usize, by: Party, hop: u32) {
        let Life {
            place, hop: had, ..
        } = self.lives[index];
        let (fits, expected_hop) = match place {
            Place::Entering(entry) => (entry == by, 0),
            Place::Forwarded(_, to) => (to == by, had.saturating_add(1)),
            _ => (false, hop),
        };
        if !fits {
            let what = format!("arrives at {}", self.names.party(by));
            self.find_misplaced(at, index, &what);
        } else if hop != expected_hop {
            let message = format!("it arrives with {hop} forwards, expected {expected_hop}");
            self.find_about(Rule::Hops, index, Some(at), message);
        }
        self.lives[index].hop = hop;
        self.move_to(index, Place::Broker(by));
    }

    fn forwarded(&mut self, at: SimTime, index: usize, by: Party, peer: Party) {
        if self.lives[index].place != Place::Broker(by) {
            let what = format!("is forwarded by {}", self.names.party(by));
            self.find_misplaced(at, index, &what);
        }
        self.move_to(index, Place::Forwarded(by, peer));
        let (Some(from), Some(to)) = (by.domain(), peer.domain()) else {
            return;
        };
        let linked = self
            .facts
            .grid
            .providers_of(from)
            .any(|link| link.provider == to);
        if !linked {
            let (from, to) = (self.names.domain(from), self.names.domain(to));
            let message = format!("it was forwarded from {from} to {to}, which are not linked so");
            self.find_about(Rule::Hops, index, Some(at), message);
        }
        self.check_hours(at, index, from, to);
        let hop = self.lives[index].hop;
        let domain = self.facts.grid.domains.get(from.index());
        if let Some(allowed) = domain.map(|domain| domain.broker.hops())
            && hop >= allowed
        {
            let message = format!(
                "it was forwarded by {} after {hop} forwards, expected at most {allowed} in all",
                self.names.domain(from)
            );
            self.find_about(Rule::Hops, index, Some(at), message);
        }
    }

    /// Brokers look at the hours of their own clock, which may be off by the
    /// tolerance.
    fn check_hours(&mut self, at: SimTime, index: usize, from: DomainId, to: DomainId) {
        let (grid, tolerance) = (self.facts.grid, self.facts.tolerance);
        let early = SimTime::from_nanos(at.as_nanos().saturating_sub(tolerance.as_nanos()));
        let open = |at| grid.is_open(from, to, at);
        if !open(at) && !open(early) && !open(at + tolerance) {
            let (from, to) = (self.names.domain(from), self.names.domain(to));
            let message = format!("it was forwarded from {from} to {to}, which is closed then");
            self.find_about(Rule::OpenHours, index, Some(at), message);
        }
    }

    fn refused(&mut self, at: SimTime, index: usize, by: Party, to: Party) {
        let place = self.lives[index].place;
        let hop = self.lives[index].hop;
        let (fits, hop) = match place {
            Place::Dispatched(from, here) | Place::Forwarded(from, here) => {
                (here == by && to == from, hop)
            }
            Place::Broker(here) if by.domain().is_some() => (here == by, hop.saturating_sub(1)),
            Place::Entering(entry) => (by == entry && to == Party::Client, hop),
            _ => (false, hop),
        };
        if !fits {
            let what = format!("is sent back by {}", self.names.party(by));
            self.find_misplaced(at, index, &what);
        }
        self.lives[index].hop = hop;
        let place = match to {
            Party::Broker(_) => Place::Broker(to),
            Party::Lrms(_) => Place::Queued(to),
            Party::Client => Place::SentBack,
        };
        self.move_to(index, place);
    }

    fn dispatched(&mut self, at: SimTime, index: usize, by: Party, lrms: Party) {
        let here = self.lives[index].place == Place::Broker(by);
        if !here
            || self
                .cluster(lrms)
                .is_none_or(|own| own.domain != by.domain())
        {
            let (by, lrms) = (self.names.party(by), self.names.party(lrms));
            let what = format!("is dispatched by {by} to {lrms}");
            self.find_misplaced(at, index, &what);
        }
        self.move_to(index, Place::Dispatched(by, lrms));
    }

    fn queued(&mut self, at: SimTime, index: usize, lrms: Party) {
        let fits = match self.lives[index].place {
            Place::Dispatched(_, to) => to == lrms,
            Place::Entering(entry) => entry == lrms || self.serves_unseen(lrms, entry),
            _ => false,
        };
        if !fits {
            let what = format!("is queued at {}", self.names.party(lrms));
            self.find_misplaced(at, index, &what);
        }
        self.move_to(index, Place::Queued(lrms));
    }

    fn started(&mut self, at: SimTime, index: usize, lrms: Party, placement: &'l [PlacementRun]) {
        let place = self.lives[index].place;
        if place != Place::Queued(lrms) {
            let message = format!(
                "it starts at {}, expected it queued there first; it was {}",
                self.names.party(lrms),
                place.shown(&self.names)
            );
            self.find_about(Rule::StartAfterQueue, index, Some(at), message);
        }
        if matches!(place, Place::Running(_) | Place::Ended(_)) {
            return;
        }
        let promised = self.lives[index].promised;
        if at > promised + self.facts.tolerance {
            let message = format!("it starts at {at}, expected at {promised} as promised");
            self.find_about(Rule::PromiseKept, index, Some(at), message);
        }
        let spec = &self.submission(index).spec;
        let faults = match self.occupancy(lrms) {
            Some(occupancy) => occupancy.take(spec, placement),
            None => {
                let message = format!(
                    "it starts at {}, which does not exist",
                    self.names.party(lrms)
                );
                vec![(Rule::NodeExists, message)]
            }
        };
        for (rule, message) in faults {
            self.find_about(rule, index, Some(at), message);
        }
        let life = &mut self.lives[index];
        life.start = at;
        life.placement = placement;
        life.place = Place::Running(lrms);
    }

    fn finished(&mut self, at: SimTime, index: usize, lrms: Party) {
        let Life { place, start, .. } = self.lives[index];
        if self.ended_before(at, index, "finishes") {
            return;
        }
        if place != Place::Running(lrms) {
            let what = format!("finishes at {}", self.names.party(lrms));
            self.find_misplaced(at, index, &what);
        } else if let Some(expected) = self.expected_run_time(index, lrms) {
            let lasted = at.since(start);
            let off = lasted.max(expected) - lasted.min(expected);
            if off > self.facts.tolerance || at < start {
                let message = format!("it ran for {lasted}, expected {expected}");
                self.find_about(Rule::RunTime, index, Some(at), message);
            }
        }
        self.end(index, End::Completed);
    }

    fn rejected(&mut self, at: SimTime, index: usize, by: Party) {
        let Life {
            place, recovered, ..
        } = self.lives[index];
        let is_again = recovered && place == Place::Ended(End::Rejected);
        if is_again || self.ended_before(at, index, "is rejected") {
            return;
        }
        let fits = match self.lives[index].place {
            Place::Entering(entry) => by == entry || self.serves_unseen(by, entry),
            Place::Broker(here) => by == here,
            Place::SentBack => true,
            _ => false,
        };
        if !fits {
            let what = format!("is rejected by {}", self.names.party(by));
            self.find_misplaced(at, index, &what);
        }
        self.end(index, End::Rejected);
    }

    /// Cancelled or lost: possible wherever the job is, but an LRMS speaks
    /// only of jobs that are with it.
    fn removed(&mut self, at: SimTime, index: usize, by: Party, how: End) {
        let verb = match how {
            End::Cancelled => "is cancelled",
            _ => "is lost",
        };
        if self.ended_before(at, index, verb) {
            return;
        }
        let place = self.lives[index].place;
        let fits = match (place, by) {
            (Place::Nowhere, _) => false,
            (Place::Queued(here) | Place::Running(here), Party::Lrms(_)) => here == by,
            (Place::Broker(_) | Place::Forwarded(..) | Place::SentBack, Party::Lrms(_)) => false,
            _ => true,
        };
        if !fits {
            let what = format!("{verb} at {}", self.names.party(by));
            self.find_misplaced(at, index, &what);
        }
        self.end(index, how);
    }

    fn news(&mut self, at: SimTime, index: usize, what: &str, is_lost: bool) {
        if !is_lost && !matches!(self.lives[index].place, Place::Ended(_)) {
            let message = format!("the news of its end is {what} before it has ended");
            self.find_about(Rule::News, index, Some(at), message);
        }
    }

    fn seen(&mut self, at: SimTime, index: usize, by: Party) {
        self.news(at, index, "seen", false);
        if self.lives[index].seen && !self.lives[index].recovered {
            let message = "the news of its end is seen a second time".to_owned();
            self.find_about(Rule::News, index, Some(at), message);
        }
        if by != Party::Client && by != self.submission(index).entry.into() {
            let message = format!("the news of its end is seen by {}", self.names.party(by));
            self.find_about(Rule::News, index, Some(at), message);
        }
        self.lives[index].seen = true;
    }

    /// Whether this is an LRMS of a domain whose broker is somebody else's:
    /// nobody has seen the job there.
    fn serves_unseen(&self, lrms: Party, entry: Party) -> bool {
        let Some(domain) = entry.domain() else {
            return false;
        };
        let external = self.facts.grid.domains.get(domain.index());
        external.is_some_and(|domain| domain.broker.external)
            && self
                .cluster(lrms)
                .is_some_and(|it| it.domain == Some(domain))
    }

    /// The cluster of an LRMS, if the grid has it.
    fn cluster(&self, lrms: Party) -> Option<&'a GridCluster> {
        let AuditFacts { grid, .. } = self.facts;
        grid.clusters.get(lrms.cluster()?.index())
    }

    fn occupancy(&mut self, lrms: Party) -> Option<&mut Occupancy<'a>> {
        self.clusters.get_mut(lrms.cluster()?.index())
    }

    fn expected_run_time(&self, index: usize, lrms: Party) -> Option<SimDuration> {
        let placement = self.lives[index].placement;
        let occupancy = self.clusters.get(lrms.cluster()?.index())?;
        if placement.is_empty() || !occupancy.exists(placement) {
            return None;
        }
        let config = &self.cluster(lrms)?.config;
        if config.is_real {
            // How long its jobs last is for the LRMS to say.
            return None;
        }
        let resources = &config.resources;
        let run_time = self.submission(index).spec.run_time;
        Some(run_time_on(resources, placement, run_time))
    }

    /// Finds a second end.
    fn ended_before(&mut self, at: SimTime, index: usize, verb: &str) -> bool {
        let Place::Ended(_) = self.lives[index].place else {
            return false;
        };
        let message = format!("it {verb} after it has ended");
        self.find_about(Rule::EndsOnce, index, Some(at), message);
        true
    }

    fn end(&mut self, index: usize, end: End) {
        let Life {
            place, placement, ..
        } = self.lives[index];
        let spec = &self.submission(index).spec;
        if let Place::Running(lrms) = place
            && let Some(occupancy) = self.occupancy(lrms)
        {
            occupancy.give_back(spec, placement);
        }
        self.lives[index].placement = &[];
        self.lives[index].place = Place::Ended(end);
    }

    /// Follows the log, so that one event out of place is found once. A job
    /// that runs or is over stays so: its processors must be given back.
    fn move_to(&mut self, index: usize, place: Place) {
        let life = &mut self.lives[index];
        if !matches!(life.place, Place::Running(_) | Place::Ended(_)) {
            life.place = place;
        }
    }

    fn submission(&self, index: usize) -> &'a Submission {
        let AuditFacts { submissions, .. } = self.facts;
        &submissions[index]
    }

    fn find_misplaced(&mut self, at: SimTime, index: usize, what: &str) {
        let place = self.lives[index].place;
        let message = format!("it {what}, but it was {}", place.shown(&self.names));
        self.find_about(Rule::RightPlace, index, Some(at), message);
    }

    fn find_about(&mut self, rule: Rule, index: usize, at: Option<SimTime>, message: String) {
        let job = self.submission(index).spec.id;
        self.find(rule, job, at, message);
    }

    fn find(&mut self, rule: Rule, job: JobId, at: Option<SimTime>, message: String) {
        let job = Some(job);
        self.findings.push(Finding {
            rule,
            job,
            at,
            message,
        });
    }
}
