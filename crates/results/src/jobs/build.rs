//! The job table out of the event log, in one pass.

use super::{ClaimRow, ClusterInfo, EarlierRun, HopRow, JobRow, JobState, JobTable, SAID};
use crate::index::JobIndex;
use crate::log::EventLog;
use crate::names::{Names, unique};
use gridrig_core::agent::ClaimShare;
use gridrig_core::event::{Event, EventKind, MessageKind, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, JobSpec, Reason, Submission};
use gridrig_core::placement::PlacementRun;
use gridrig_core::resource::Resources;
use gridrig_core::time::SimTime;

impl JobTable {
    /// The table of a run: one row per submission, in their order.
    ///
    /// `workloads` are the names of the scenario's workloads by position; those
    /// that are there twice are told apart. A log that contradicts itself still gives a table: of two things that
    /// should have happened once the first counts; the
    /// [audit](mod@crate::audit) tells.
    pub fn build(
        log: &EventLog,
        submissions: &[Submission],
        grid: &Grid,
        workloads: &[String],
    ) -> JobTable {
        let clusters = grid.clusters.iter().map(|cluster| ClusterInfo {
            domain: cluster.domain,
            processors: cluster.config.resources.processors(),
            speeds: speeds(&cluster.config.resources),
            pass_interval: cluster.config.interval,
            down: Vec::new(),
        });
        let clusters: Vec<ClusterInfo> = clusters.collect();
        let row = |job: &Submission| JobRow {
            origin: origin(job, &clusters),
            ..JobRow::new(job)
        };
        let mut builder = Builder {
            index: JobIndex::new(submissions),
            at_visit: vec![None; submissions.len()],
            before: Vec::new(),
            table: JobTable {
                rows: submissions.iter().map(row).collect(),
                hops: Vec::new(),
                names: Names::of(grid),
                workloads: unique(workloads.iter().map(|name| (name.clone(), None))),
                clusters,
                messages: MessageKind::ALL.map(|kind| log.messages(kind)),
                topology: grid.domains.iter().map(|it| it.topology.clone()).collect(),
                said: [0; SAID.len()],
                end: log.end(),
                last_finish: None,
            },
        };
        // Chunk by chunk: an iterator over chunks looks for the next one at each event.
        let mut position = 0;
        log.records().for_each(|(at, event)| {
            builder.take(position, at, event);
            position += 1;
        });
        let mut table = builder.table;
        for (row, submission) in table.rows.iter_mut().zip(submissions) {
            row.moved_mib = row.moved_mib(&submission.spec);
            // Of a cluster that knows how long its program runs there.
            let cluster = row.cluster.filter(|_| row.claims.is_empty());
            if let Some(cluster) = cluster.and_then(|id| grid.clusters.get(id.index())) {
                row.run_time_ref = cluster.config.length_of(&submission.spec);
            }
        }
        // Stable: the visits of one job stay in the order of arrival.
        table.hops.sort_by_key(|visit| visit.job);
        table
    }
}

/// The sum of the speeds of all processors, in parts of 1e-9.
fn speeds(resources: &Resources) -> u128 {
    let groups = resources.groups().iter();
    let speeds = groups.map(|group| {
        let processors = u128::from(group.count) * u128::from(group.cpu_count);
        processors * u128::from(group.speed.multiply(1_000_000_000))
    });
    speeds.sum()
}

struct Builder {
    index: JobIndex,
    table: JobTable,
    /// The visit that each job is at, a row of `table.hops`.
    at_visit: Vec<Option<usize>>,
    /// For each visit the one that its job would go back to when refused.
    before: Vec<Option<usize>>,
}

impl Builder {
    fn take(&mut self, position: usize, at: SimTime, event: Event<'_>) {
        let table = &mut self.table;
        let Some(job) = event.job else {
            return note_nodes(&mut table.clusters, at, &event);
        };
        let Some(index) = self.index.find(job) else {
            return;
        };
        let row = &mut table.rows[index];
        row.note(position, at, &event);
        match (event.kind, self.at_visit[index]) {
            (EventKind::BrokerArrival, _) => {
                if let Some(domain) = event.by.domain() {
                    self.arrive(at, index, domain, event.hop());
                }
            }
            (EventKind::Recovered, _) if event.to == Some(event.by) => {
                if let Some(domain) = event.by.domain() {
                    self.find_here(at, index, domain, event.hop());
                }
            }
            (EventKind::Forwarded, Some(visit)) => {
                table.hops[visit].forwarded = Some(at);
                table.hops[visit].forwarded_to = event.to.and_then(Party::domain);
            }
            (EventKind::Refused, Some(visit)) => {
                self.refuse(at, index, visit, &event);
            }
            (EventKind::Dispatched, Some(visit)) => table.hops[visit].dispatched = Some(at),
            (EventKind::Queued, _) => {
                row.exec_domain = row.cluster.and_then(|id| domain_of(&table.clusters, id));
            }
            (kind, _) if SAID.contains(&kind) => {
                let place = SAID.iter().position(|said| *said == kind);
                table.said[place.unwrap_or(0)] += 1;
            }
            (EventKind::Finished, _) => table.last_finish = table.last_finish.max(row.finish),
            _ => {}
        }
    }

    fn arrive(&mut self, at: SimTime, index: usize, domain: DomainId, hop: u32) {
        let before = self.at_visit[index];
        let hops = &mut self.table.hops;
        self.at_visit[index] = Some(hops.len());
        self.before.push(before);
        hops.push(HopRow {
            job: self.table.rows[index].job,
            hop,
            domain,
            from_domain: before.map(|visit| hops[visit].domain),
            arrival: at,
            ..HopRow::default()
        });
        self.show_visit(index);
    }

    /// A broker that was restarted has the job: it has come, or has never
    /// left.
    fn find_here(&mut self, at: SimTime, index: usize, domain: DomainId, hop: u32) {
        let visit = self.at_visit[index].map(|visit| &self.table.hops[visit]);
        if visit.is_none_or(|visit| (visit.domain, visit.hop) != (domain, hop)) {
            self.arrive(at, index, domain, hop);
        }
    }

    /// A broker that has the job sends it back to the visit before. An LRMS
    /// that refuses, or a broker that did not even take it in, leaves it with
    /// the broker that has it.
    fn refuse(&mut self, at: SimTime, index: usize, here: usize, event: &Event<'_>) {
        let visit = &mut self.table.hops[here];
        let before = self.before[here];
        if event.by == visit.domain.into() && before.is_some() {
            visit.refused = Some(at);
            visit.reason = event.reason;
            self.at_visit[index] = before;
            self.show_visit(index);
        }
    }

    fn show_visit(&mut self, index: usize) {
        if let Some(visit) = self.at_visit[index] {
            let visit = &self.table.hops[visit];
            self.table.rows[index].broker_arrival = Some(visit.arrival);
            self.table.rows[index].hops = visit.hop;
        }
    }
}

impl JobRow {
    /// A job that nothing has happened to yet; the grid knows its origin.
    pub fn new(submission: &Submission) -> Self {
        JobRow {
            job: submission.spec.id,
            label: submission.label,
            processors: submission.spec.processors(),
            intended: submission.at,
            direct: matches!(submission.entry, Entry::Cluster(_)),
            reserves: submission.spec.start_window.is_some(),
            run_time_ref: submission.spec.run_time,
            ..JobRow::default()
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
            EventKind::Predicted => {
                self.predicted = Some(event.instant());
                self.predicted_by = event.by.domain().map(|by| (at, by));
            }
            // It was about a place where the job is no more.
            EventKind::Refused => (self.predicted, self.predicted_by) = (None, None),
            EventKind::Dispatched => self.dispatch = Some(at),
            EventKind::Queued => {
                self.queued = Some(at);
                self.cluster = event.by.cluster();
            }
            EventKind::Started if self.start.is_none() => {
                self.start = Some(at);
                self.started_by = position;
            }
            EventKind::Requeued => {
                if let Some(start) = self.start.take() {
                    let mut earlier = std::mem::take(&mut self.earlier).into_vec();
                    earlier.push(EarlierRun {
                        start,
                        end: at,
                        is_kept: event.value > 0,
                    });
                    self.earlier = earlier.into();
                }
            }
            // The broker has forgotten that before the client knew.
            EventKind::Recovered
                if self.state == JobState::Rejected && event.to == Some(event.by) =>
            {
                (self.state, self.reason) = (JobState::Unfinished, None);
                (self.end, self.finish_seen) = (None, None);
            }
            EventKind::Delegated => {
                if let Some((by, to)) = event.by.domain().zip(event.to.and_then(Party::domain)) {
                    let lease = self.lease.get_or_insert_default();
                    lease.delegated(at, by, to);
                }
            }
            // What those between release follows from it.
            EventKind::Released if self.origin.is_some() && event.by.domain() == self.origin => {
                self.lease.get_or_insert_default().released(at);
            }
            EventKind::LeaseExpired
                if self.origin.is_some() && event.to.and_then(Party::domain) == self.origin =>
            {
                if let (Some(lease), Some(by)) = (&mut self.lease, event.by.domain()) {
                    lease.expired(at, by);
                }
            }
            EventKind::ClaimRequested => self.note_request(at, event),
            EventKind::Claimed | EventKind::ClaimEnded => self.note_claim(position, at, event),
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
    pub fn placement<'l>(&self, log: &'l EventLog) -> &'l [PlacementRun] {
        let started = self.start.and_then(|_| log.get(self.started_by));
        started.map_or(&[], |(_, event)| event.placement)
    }

    /// A cluster is asked for a part of it, at the same instant as all others.
    fn note_request(&mut self, at: SimTime, event: &Event<'_>) {
        let (then, clusters) = &mut **self.asked.get_or_insert_default();
        if std::mem::replace(then, at) != at {
            clusters.clear();
        }
        let cluster = event.to.and_then(Party::cluster);
        clusters.extend(cluster.map(|id| (id, event.value.cast_unsigned())));
    }

    /// A cluster holds processors for a part of it, or does no more.
    fn note_claim(&mut self, position: usize, at: SimTime, event: &Event<'_>) {
        let Some(cluster) = event.by.cluster() else {
            return;
        };
        if event.kind == EventKind::Claimed {
            let runs = event.placement.iter();
            return self.claims.push(ClaimRow {
                cluster,
                processors: runs.map(|run| run.nodes * run.processors).sum(),
                from: at,
                until: None,
                told_by: position,
            });
        }
        let mut held = self.claims.iter_mut().filter(|it| it.until.is_none());
        if let Some(claim) = held.find(|it| it.cluster == cluster) {
            claim.until = Some(at);
        }
    }

    /// How many clusters ran it together; `None` if it did not start so.
    pub fn clusters(&self) -> Option<u32> {
        let parts = self.parts().count() as u32;
        (self.start.is_some() && parts > 0).then_some(parts)
    }

    /// The parts that ran together; empty for a job of one cluster. What was held for an
    /// earlier request is none.
    pub fn parts(&self) -> impl Iterator<Item = &ClaimRow> {
        let (start, asked) = (self.start, self.asked.as_deref());
        let runs = move |claim: &&ClaimRow| {
            let is_part =
                asked.is_some_and(|(_, all)| all.iter().any(|(id, _)| *id == claim.cluster));
            start.is_some_and(|start| {
                is_part && claim.from <= start && claim.until.is_none_or(|until| until >= start)
            })
        };
        self.claims.iter().filter(runs)
    }

    /// How much was brought to its clusters of what it reads.
    fn moved_mib(&self, spec: &JobSpec) -> Option<u64> {
        self.clusters().filter(|_| !spec.inputs.is_empty())?;
        let of = |claim: &ClaimRow| {
            let mut asked = self.asked.iter().flat_map(|asked| &asked.1);
            let (cluster, bits) = *asked.find(|(id, _)| *id == claim.cluster)?;
            let share = ClaimShare::of_bits(bits, claim.processors);
            Some(share.missing_mib(spec, cluster))
        };
        Some(self.parts().filter_map(of).fold(0, u64::saturating_add))
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

impl ClaimRow {
    /// Which processors were held, from the log that the table was made of.
    pub fn placement<'l>(&self, log: &'l EventLog) -> &'l [PlacementRun] {
        let told = log.get(self.told_by);
        told.map_or(&[], |(_, event)| event.placement)
    }
}

/// Nodes of a cluster go down or come up.
fn note_nodes(clusters: &mut [ClusterInfo], at: SimTime, event: &Event<'_>) {
    let sign = match event.kind {
        EventKind::NodeFailed => 1,
        EventKind::NodeRepaired => -1,
        _ => return,
    };
    let cluster = event
        .by
        .cluster()
        .and_then(|id| clusters.get_mut(id.index()));
    if let Some(cluster) = cluster {
        let runs = event.placement.iter();
        let processors = runs.map(|run| i64::from(run.nodes) * i64::from(run.processors));
        cluster.down.push((at, sign * processors.sum::<i64>()));
    }
}

fn origin(submission: &Submission, clusters: &[ClusterInfo]) -> Option<DomainId> {
    match submission.entry {
        Entry::Domain(domain) => Some(domain),
        Entry::Cluster(cluster) => domain_of(clusters, cluster),
    }
}

fn domain_of(clusters: &[ClusterInfo], cluster: ClusterId) -> Option<DomainId> {
    clusters.get(cluster.index())?.domain
}
