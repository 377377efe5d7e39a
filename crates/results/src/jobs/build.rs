//! The job table out of the event log, in one pass.

use super::{ClusterInfo, HopRow, JobRow, JobState, JobTable};
use crate::index::JobIndex;
use crate::log::EventLog;
use crate::names::Names;
use gridrig_core::event::{Event, EventKind, MessageKind, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason, Submission};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;

impl JobTable {
    /// The table of a run: one row per submission, in their order.
    ///
    /// `workloads` are the names of the scenario's workloads by position. A
    /// log that contradicts itself still gives a table: of two things that
    /// should have happened once the first counts; the
    /// [audit](mod@crate::audit) tells.
    #[must_use]
    pub fn build(
        log: &EventLog,
        submissions: &[Submission],
        grid: &Grid,
        workloads: &[String],
    ) -> JobTable {
        let mut builder = Builder::new(submissions, grid);
        for (position, (at, event)) in log.records().enumerate() {
            builder.take(position, at, event);
        }
        let Builder {
            rows,
            mut hops,
            clusters,
            last_finish,
            strays,
            ..
        } = builder;
        // Stable: the visits of one job stay in the order of arrival.
        hops.sort_by_key(|visit| visit.row.job);
        JobTable {
            rows,
            hops: hops.into_iter().map(|visit| visit.row).collect(),
            names: Names::of(grid),
            workloads: workloads.to_vec(),
            clusters,
            messages: MessageKind::ALL.map(|kind| log.messages(kind)),
            end: log.end(),
            last_finish,
            strays,
        }
    }
}

/// A visit, and the visit it would go back to when refused.
struct Visit {
    row: HopRow,
    before: Option<usize>,
}

struct Builder {
    index: JobIndex,
    rows: Vec<JobRow>,
    /// The visit that each job is at.
    at_visit: Vec<Option<usize>>,
    hops: Vec<Visit>,
    clusters: Vec<ClusterInfo>,
    last_finish: Option<SimTime>,
    strays: u64,
}

impl Builder {
    fn new(submissions: &[Submission], grid: &Grid) -> Self {
        let clusters: Vec<ClusterInfo> = grid
            .clusters
            .iter()
            .map(|cluster| ClusterInfo {
                domain: cluster.domain,
                processors: cluster.config.resources.processors(),
                pass_interval: cluster.config.interval,
            })
            .collect();
        let rows = submissions.iter();
        let row = |job: &Submission| JobRow {
            origin: origin(job, &clusters),
            ..JobRow::new(job)
        };
        Builder {
            index: JobIndex::new(submissions),
            rows: rows.map(row).collect(),
            at_visit: vec![None; submissions.len()],
            hops: Vec::new(),
            clusters,
            last_finish: None,
            strays: 0,
        }
    }

    fn take(&mut self, position: usize, at: SimTime, event: Event<'_>) {
        let Some(job) = event.job else {
            return;
        };
        let Some(index) = self.index.find(job) else {
            self.strays += 1;
            return;
        };
        let row = &mut self.rows[index];
        row.note(position, at, &event);
        match event.kind {
            EventKind::BrokerArrival => {
                if let Some(domain) = event.by.domain() {
                    self.arrive(at, index, domain, event.hop());
                }
            }
            EventKind::Recovered if event.to == Some(event.by) => {
                if let Some(domain) = event.by.domain() {
                    self.find_here(at, index, domain, event.hop());
                }
            }
            EventKind::Forwarded => {
                if let Some(visit) = self.at_visit[index] {
                    self.hops[visit].row.forwarded = Some(at);
                    self.hops[visit].row.forwarded_to = event.to.and_then(Party::domain);
                }
            }
            EventKind::Refused => self.refuse(at, index, event.by, event.reason),
            EventKind::Dispatched => {
                if let Some(visit) = self.at_visit[index] {
                    self.hops[visit].row.dispatched = Some(at);
                }
            }
            EventKind::Queued => {
                row.exec_domain = row.cluster.and_then(|id| domain_of(&self.clusters, id));
            }
            EventKind::Finished => self.last_finish = self.last_finish.max(row.finish),
            _ => {}
        }
    }

    fn arrive(&mut self, at: SimTime, index: usize, domain: DomainId, hop: u32) {
        let before = self.at_visit[index];
        let from_domain = before.map(|visit| self.hops[visit].row.domain);
        let row = visit_row(self.rows[index].job, hop, domain, from_domain, at);
        self.at_visit[index] = Some(self.hops.len());
        self.hops.push(Visit { row, before });
        self.show_visit(index);
    }

    /// A broker that was started anew has the job: it has come, or has never
    /// left.
    fn find_here(&mut self, at: SimTime, index: usize, domain: DomainId, hop: u32) {
        let visit = self.at_visit[index].map(|visit| &self.hops[visit].row);
        if visit.is_none_or(|visit| (visit.domain, visit.hop) != (domain, hop)) {
            self.arrive(at, index, domain, hop);
        }
    }

    /// A broker that has the job sends it back to the visit before. An LRMS
    /// that refuses, or a broker that did not even take it in, leaves it with
    /// the broker that has it.
    fn refuse(&mut self, at: SimTime, index: usize, by: Party, reason: Option<Reason>) {
        let Some(here) = self.at_visit[index] else {
            return;
        };
        let visit = &mut self.hops[here];
        let took_it_in = by == visit.row.domain.into();
        if took_it_in && visit.before.is_some() {
            visit.row.refused = Some(at);
            visit.row.reason = reason;
            self.at_visit[index] = visit.before;
            self.show_visit(index);
        }
    }

    fn show_visit(&mut self, index: usize) {
        if let Some(visit) = self.at_visit[index] {
            let visit = &self.hops[visit].row;
            self.rows[index].broker_arrival = Some(visit.arrival);
            self.rows[index].hops = visit.hop;
        }
    }
}

impl JobRow {
    /// A job that nothing has happened to yet; the grid knows its origin.
    #[must_use]
    pub fn new(submission: &Submission) -> Self {
        JobRow {
            job: submission.spec.id,
            label: submission.label,
            origin: None,
            exec_domain: None,
            cluster: None,
            processors: submission.spec.processors,
            hops: 0,
            forwards: 0,
            state: JobState::Unfinished,
            reason: None,
            intended: submission.at,
            submit: None,
            broker_arrival: None,
            dispatch: None,
            queued: None,
            start: None,
            finish: None,
            finish_seen: None,
            end: None,
            run_time_ref: submission.spec.run_time,
            started_by: 0,
        }
    }

    /// Takes in what an event at this position of the log says of the job
    /// alone. Of two things that should have happened once the first counts.
    pub fn note(&mut self, position: usize, at: SimTime, event: &Event<'_>) {
        match event.kind {
            EventKind::Submitted if self.submit.is_none() => {
                self.intended = event.instant();
                self.submit = Some(at);
            }
            EventKind::Forwarded => self.forwards += 1,
            EventKind::Dispatched => self.dispatch = Some(at),
            EventKind::Queued => {
                self.queued = Some(at);
                self.cluster = event.by.cluster();
            }
            EventKind::Started if self.start.is_none() => {
                self.start = Some(at);
                self.started_by = position;
            }
            EventKind::LostTouch if self.end.is_none() => self.reason = event.reason,
            EventKind::Finished => self.ended(at, JobState::Completed, None),
            EventKind::Rejected => self.ended(at, JobState::Rejected, event.reason),
            EventKind::Cancelled => self.ended(at, JobState::Cancelled, None),
            EventKind::Failed => self.ended(at, JobState::Failed, event.reason),
            EventKind::FinishSeen => {
                self.finish_seen.get_or_insert(at);
            }
            _ => {}
        }
    }

    /// Which processors it had, node by node, from the log that the table was made
    /// of; empty if it never started.
    #[must_use]
    pub fn placement<'l>(&self, log: &'l EventLog) -> &'l [PlacementRun] {
        let started = self.start.and_then(|_| log.get(self.started_by));
        started.map_or(&[], |(_, event)| event.placement)
    }

    fn ended(&mut self, at: SimTime, state: JobState, reason: Option<Reason>) {
        if self.end.is_none() {
            self.end = Some(at);
            self.state = state;
            self.reason = reason;
            self.finish = (state == JobState::Completed).then_some(at);
        }
    }
}

fn origin(submission: &Submission, clusters: &[ClusterInfo]) -> Option<DomainId> {
    match submission.entry {
        Entry::Domain(domain) => Some(domain),
        Entry::Cluster(cluster) => domain_of(clusters, cluster),
    }
}

fn visit_row(
    job: JobId,
    hop: u32,
    domain: DomainId,
    from_domain: Option<DomainId>,
    arrival: SimTime,
) -> HopRow {
    HopRow {
        job,
        hop,
        domain,
        from_domain,
        arrival,
        forwarded: None,
        forwarded_to: None,
        dispatched: None,
        refused: None,
        reason: None,
    }
}

fn domain_of(clusters: &[ClusterInfo], cluster: ClusterId) -> Option<DomainId> {
    clusters.get(cluster.index())?.domain
}
