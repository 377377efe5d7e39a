//! The life of each job: what may follow what, and where.

use super::occupancy::Occupancy;
use super::{AuditFacts, AuditReport, Finding, Rule};
use crate::index::JobIndex;
use crate::log::EventLog;
use crate::names::Names;
use gridrig_core::cluster::run_time_on;
use gridrig_core::event::{Event, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// With the replayer.
    Nowhere,
    /// Handed over, not taken in yet.
    Entering(Entry),
    /// Held by a domain's broker.
    Broker(DomainId),
    /// On its way between two brokers.
    Forwarded(DomainId, DomainId),
    /// On its way from a broker to an LRMS.
    Dispatched(DomainId, ClusterId),
    /// Waiting at an LRMS.
    Queued(ClusterId),
    /// Running.
    Running(ClusterId),
    /// Sent back to the submitter, to be rejected.
    SentBack,
    /// Over.
    Ended(End),
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Completed,
    Rejected,
    Cancelled,
    Failed,
}

/// What is known of one job.
#[derive(Clone, Copy)]
struct Life<'l> {
    place: Place,
    submitted: bool,
    seen: bool,
    /// Forwards on the path to where it is.
    hop: u32,
    last: SimTime,
    start: SimTime,
    /// Where it runs, while it does.
    placement: &'l [PlacementRun],
}

const UNBORN: Life<'static> = Life {
    place: Place::Nowhere,
    submitted: false,
    seen: false,
    hop: 0,
    last: SimTime::ZERO,
    start: SimTime::ZERO,
    placement: &[],
};

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
        let Some(job) = event.job() else {
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
        match event {
            Event::Submitted {
                entry, intended, ..
            } => self.submitted(at, index, entry, intended),
            Event::BrokerArrival { domain, hop, .. } => self.arrived(at, index, domain, hop),
            Event::Forwarded { from, to, .. } => self.forwarded(at, index, from, to),
            Event::Refused { by, to, .. } => self.refused(at, index, by, to),
            Event::Dispatched {
                domain, cluster, ..
            } => self.dispatched(at, index, domain, cluster),
            Event::Queued { cluster, .. } => self.queued(at, index, cluster),
            Event::Started {
                cluster, placement, ..
            } => self.started(at, index, cluster, placement),
            Event::Finished { cluster, .. } => self.finished(at, index, cluster),
            Event::Rejected { by, .. } => self.rejected(at, index, by),
            Event::Cancelled { by, .. } => self.removed(at, index, by, End::Cancelled),
            Event::Failed { by, .. } => self.removed(at, index, by, End::Failed),
            Event::Notified { .. } => self.news(at, index, "sent"),
            Event::FinishSeen { by, .. } => self.seen(at, index, by),
            Event::InfoSent { .. } => {}
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
            match life.place {
                Place::Ended(end) => {
                    *match end {
                        End::Completed => &mut report.completed,
                        End::Rejected => &mut report.rejected,
                        End::Cancelled => &mut report.cancelled,
                        End::Failed => &mut report.failed,
                    } += 1;
                    if end == End::Completed && !life.seen && !self.facts.partial {
                        let message = "the news of its end never arrived".to_owned();
                        self.find_about(Rule::News, index, None, message);
                    }
                }
                Place::Nowhere if self.facts.partial => report.not_submitted += 1,
                _ if self.facts.partial => report.unfinished += 1,
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
        let message = format!("it {what}: it was last {}", self.show(place));
        self.find_about(rule, index, None, message);
    }

    fn submitted(&mut self, at: SimTime, index: usize, entry: Entry, intended: SimTime) {
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

    fn arrived(&mut self, at: SimTime, index: usize, domain: DomainId, hop: u32) {
        let Life {
            place, hop: had, ..
        } = self.lives[index];
        let (fits, expected_hop) = match place {
            Place::Entering(entry) => (entry == Entry::Domain(domain), 0),
            Place::Forwarded(_, to) => (to == domain, had.saturating_add(1)),
            _ => (false, hop),
        };
        if !fits {
            let what = format!("arrives at broker:{}", self.names.domain(domain));
            self.find_misplaced(at, index, &what);
        } else if hop != expected_hop {
            let message = format!("it arrives with {hop} forwards, expected {expected_hop}");
            self.find_about(Rule::Hops, index, Some(at), message);
        }
        self.lives[index].hop = hop;
        self.move_to(index, Place::Broker(domain));
    }

    fn forwarded(&mut self, at: SimTime, index: usize, from: DomainId, to: DomainId) {
        if self.lives[index].place != Place::Broker(from) {
            let what = format!("is forwarded by broker:{}", self.names.domain(from));
            self.find_misplaced(at, index, &what);
        }
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
        self.move_to(index, Place::Forwarded(from, to));
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
        let (fits, hop) = match (place, by) {
            (Place::Dispatched(domain, cluster), Party::Lrms(lrms)) => {
                (cluster == lrms && to == Party::Broker(domain), hop)
            }
            (Place::Forwarded(from, peer), Party::Broker(domain)) => {
                (peer == domain && to == Party::Broker(from), hop)
            }
            (Place::Broker(here), Party::Broker(domain)) => (here == domain, hop.saturating_sub(1)),
            (Place::Entering(entry), _) => (self.takes(by, entry) && to == Party::Client, hop),
            _ => (false, hop),
        };
        if !fits {
            let what = format!("is sent back by {}", self.names.party(by));
            self.find_misplaced(at, index, &what);
        }
        self.lives[index].hop = hop;
        let place = match to {
            Party::Broker(domain) => Place::Broker(domain),
            Party::Lrms(cluster) => Place::Queued(cluster),
            Party::Client => Place::SentBack,
        };
        self.move_to(index, place);
    }

    fn dispatched(&mut self, at: SimTime, index: usize, domain: DomainId, cluster: ClusterId) {
        let here = self.lives[index].place == Place::Broker(domain);
        let own = self.facts.grid.clusters.get(cluster.index());
        if !here || own.is_none_or(|cluster| cluster.domain != Some(domain)) {
            let what = format!(
                "is dispatched by broker:{} to lrms:{}",
                self.names.domain(domain),
                self.names.cluster(cluster)
            );
            self.find_misplaced(at, index, &what);
        }
        self.move_to(index, Place::Dispatched(domain, cluster));
    }

    fn queued(&mut self, at: SimTime, index: usize, cluster: ClusterId) {
        let fits = match self.lives[index].place {
            Place::Dispatched(_, to) => to == cluster,
            Place::Entering(entry) => {
                entry == Entry::Cluster(cluster) || self.serves_unseen(cluster, entry)
            }
            _ => false,
        };
        if !fits {
            let what = format!("is queued at lrms:{}", self.names.cluster(cluster));
            self.find_misplaced(at, index, &what);
        }
        self.move_to(index, Place::Queued(cluster));
    }

    fn started(
        &mut self,
        at: SimTime,
        index: usize,
        cluster: ClusterId,
        placement: &'l [PlacementRun],
    ) {
        let place = self.lives[index].place;
        if place != Place::Queued(cluster) {
            let message = format!(
                "it starts at lrms:{}, expected it queued there first; it was {}",
                self.names.cluster(cluster),
                self.show(place)
            );
            self.find_about(Rule::StartAfterQueue, index, Some(at), message);
        }
        if matches!(place, Place::Running(_) | Place::Ended(_)) {
            return;
        }
        let spec = &self.submission(index).spec;
        let faults = match self.clusters.get_mut(cluster.index()) {
            Some(occupancy) => occupancy.take(spec, placement),
            None => {
                let message = format!("it starts at {cluster}, which does not exist");
                vec![(Rule::NodeExists, message)]
            }
        };
        for (rule, message) in faults {
            self.find_about(rule, index, Some(at), message);
        }
        let life = &mut self.lives[index];
        life.start = at;
        life.placement = placement;
        life.place = Place::Running(cluster);
    }

    fn finished(&mut self, at: SimTime, index: usize, cluster: ClusterId) {
        let Life { place, start, .. } = self.lives[index];
        if self.ended_before(at, index, "finishes") {
            return;
        }
        if place != Place::Running(cluster) {
            let what = format!("finishes at lrms:{}", self.names.cluster(cluster));
            self.find_misplaced(at, index, &what);
        } else if let Some(expected) = self.expected_run_time(index, cluster) {
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
        if self.ended_before(at, index, "is rejected") {
            return;
        }
        let fits = match self.lives[index].place {
            Place::Entering(entry) => {
                let unseen = |lrms| self.serves_unseen(lrms, entry);
                self.takes(by, entry) || matches!(by, Party::Lrms(lrms) if unseen(lrms))
            }
            Place::Broker(domain) => by == Party::Broker(domain),
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
            (Place::Queued(here) | Place::Running(here), Party::Lrms(lrms)) => here == lrms,
            (Place::Broker(_) | Place::Forwarded(..) | Place::SentBack, Party::Lrms(_)) => false,
            _ => true,
        };
        if !fits {
            let what = format!("{verb} at {}", self.names.party(by));
            self.find_misplaced(at, index, &what);
        }
        self.end(index, how);
    }

    fn news(&mut self, at: SimTime, index: usize, what: &str) {
        if !matches!(self.lives[index].place, Place::Ended(_)) {
            let message = format!("the news of its end is {what} before it has ended");
            self.find_about(Rule::News, index, Some(at), message);
        }
    }

    fn seen(&mut self, at: SimTime, index: usize, by: Party) {
        self.news(at, index, "seen");
        if self.lives[index].seen {
            let message = "the news of its end is seen a second time".to_owned();
            self.find_about(Rule::News, index, Some(at), message);
        }
        if by != Party::Client && !self.takes(by, self.submission(index).entry) {
            let message = format!("the news of its end is seen by {}", self.names.party(by));
            self.find_about(Rule::News, index, Some(at), message);
        }
        self.lives[index].seen = true;
    }

    /// Whether this party takes submissions at that entry.
    fn takes(&self, by: Party, entry: Entry) -> bool {
        match entry {
            Entry::Domain(domain) => by == Party::Broker(domain),
            Entry::Cluster(cluster) => by == Party::Lrms(cluster),
        }
    }

    /// Whether this cluster is one of those of a domain whose broker is
    /// somebody else's: nobody has seen the job there.
    fn serves_unseen(&self, cluster: ClusterId, entry: Entry) -> bool {
        let Entry::Domain(domain) = entry else {
            return false;
        };
        let AuditFacts { grid, .. } = self.facts;
        let external = grid.domains.get(domain.index());
        external.is_some_and(|domain| domain.broker.external)
            && grid.clusters.get(cluster.index()).map(|it| it.domain) == Some(Some(domain))
    }

    fn expected_run_time(&self, index: usize, cluster: ClusterId) -> Option<SimDuration> {
        let placement = self.lives[index].placement;
        let occupancy = self.clusters.get(cluster.index())?;
        if placement.is_empty() || !occupancy.exists(placement) {
            return None;
        }
        let config = &self.facts.grid.clusters[cluster.index()].config;
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
        if let Place::Running(cluster) = self.lives[index].place
            && let Some(occupancy) = self.clusters.get_mut(cluster.index())
        {
            let spec = &self.facts.submissions[index].spec;
            occupancy.give_back(spec, self.lives[index].placement);
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
        let message = format!("it {what}, but it was {}", self.show(place));
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

    fn show(&self, place: Place) -> String {
        let broker = |id| format!("broker:{}", self.names.domain(id));
        let lrms = |id| format!("lrms:{}", self.names.cluster(id));
        match place {
            Place::Nowhere => "not submitted".to_owned(),
            Place::Entering(entry) => format!("on its way to {}", self.names.entry(entry)),
            Place::Broker(id) => format!("held by {}", broker(id)),
            Place::Forwarded(from, to) => {
                format!("on its way from {} to {}", broker(from), broker(to))
            }
            Place::Dispatched(from, to) => {
                format!("on its way from {} to {}", broker(from), lrms(to))
            }
            Place::Queued(id) => format!("queued at {}", lrms(id)),
            Place::Running(id) => format!("running at {}", lrms(id)),
            Place::SentBack => "sent back to its submitter".to_owned(),
            Place::Ended(_) => "over".to_owned(),
        }
    }
}
