//! The jobs of a run as they lay on its processors.

use super::ClusterUse;
use gridrig_core::event::EventKind;
use gridrig_core::policy::{Placement, PolicySpec};
use gridrig_results::rundir::{
    self, GridDoc, Manifest, Placements, Ran, Result, TableColumns, names,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

/// Some nodes of a resource: a stretch of the axis of all processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    first: u64,
    nodes: u32,
    per_node: u32,
}

/// A job on some neighbouring nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Its row in the table of jobs.
    pub(super) row: u32,
    /// The first processor of the first node.
    pub(super) first: u32,
    pub(super) nodes: u32,
    /// Processors that a node has, and that the job has of each.
    pub(super) per_node: u32,
    pub(super) taken: u32,
}

impl Span {
    /// Processors of its nodes.
    pub(super) fn height(&self) -> u32 {
        self.nodes.saturating_mul(self.per_node)
    }
}

/// The jobs of a run, row by row, and where they lay.
#[derive(Debug)]
pub(in crate::dashboard::pages) struct Timeline {
    /// In the order of the grid, not used yet.
    clusters: Vec<ClusterUse>,
    end: i64,
    pub(super) job: Vec<u32>,
    pub(super) submit: Vec<i64>,
    /// By row, where some job has one: the first instant at which it was to start.
    window: Option<Vec<i64>>,
    /// Jobs for which the broker had a start reserved, under a policy that does.
    reserved: BTreeSet<u32>,
    /// By row, where some job ran on several: on how many clusters.
    clusters_of: Option<Vec<u32>>,
    pub(super) ran: Ran,
    /// By row.
    spans: Vec<Span>,
}

/// Rows and spans of the jobs that ran in a part of a run.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Rows, in the order of the table.
    pub(super) rows: Vec<u32>,
    pub(super) spans: Vec<Span>,
}

/// The clusters of a grid one after another on the axis of all processors, and
/// the stretches of each.
fn axis(grid: &GridDoc) -> (Vec<ClusterUse>, Vec<Vec<Group>>) {
    let mut first = 0;
    let clusters = grid.clusters.iter().map(|cluster| {
        let before = first;
        let groups = cluster.nodes().into_iter().map(|(nodes, per_node)| {
            let group = Group {
                first,
                nodes,
                per_node,
            };
            first += u64::from(nodes) * u64::from(per_node);
            group
        });
        let groups = groups.collect();
        let unused = ClusterUse {
            name: cluster.name().to_owned(),
            first: before,
            processors: first - before,
            ..ClusterUse::default()
        };
        (unused, groups)
    });
    clusters.unzip()
}

impl Timeline {
    /// Reads what is drawn of a run, and nothing else of it.
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let manifest = rundir::read_manifest(dir)?;
        let table = TableColumns::open(dir, names::JOBS)?;
        let end = i64::try_from(manifest.end_ns).unwrap_or(i64::MAX);
        let (clusters, groups) = axis(&manifest.grid);
        let i64s = |name| table.has(name).then(|| table.i64s(name)).transpose();
        let has_clusters = table.has("clusters");
        thread::scope(|scope| {
            // The placements take about as long as all the rest.
            let placements = scope.spawn(|| rundir::read_placements(dir, &manifest.grid));
            let ran = Ran::read(&table, &manifest)?;
            let placements = placements.join();
            let placements = placements.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok(Timeline {
                job: table.u32s("job_id")?,
                submit: table.i64s("submit_ns")?,
                window: i64s("earliest_start_ns")?,
                reserved: reserved(dir, &manifest)?,
                clusters_of: has_clusters.then(|| table.u32s("clusters")).transpose()?,
                spans: spans(&groups, &ran, &placements),
                clusters,
                end,
                ran,
            })
        })
    }

    /// Whether a job had its start reserved in advance.
    pub(super) fn is_reserved(&self, row: usize) -> bool {
        let window = self.window.as_ref();
        let has_window = window.is_some_and(|window| window[row] != Ran::NEVER);
        has_window || self.reserved.contains(&self.job[row])
    }

    /// On how many clusters a job ran.
    pub(super) fn clusters_of(&self, row: usize) -> u32 {
        let counts = self.clusters_of.as_ref();
        match counts.map(|counts| counts[row]) {
            // One that went past the broker that places others.
            None | Some(u32::MAX) => 1,
            Some(count) => count.max(1),
        }
    }

    pub(super) fn jobs(&self) -> usize {
        self.ran.start.len()
    }

    pub(super) fn end_s(&self) -> f64 {
        self.end as f64 / 1e9
    }

    pub(super) fn never_ran(&self) -> u64 {
        let starts = self.ran.start.iter();
        starts.filter(|start| **start == Ran::NEVER).count() as u64
    }

    pub(super) fn processors(&self) -> u64 {
        self.clusters.iter().map(|own| own.processors).sum()
    }

    /// The jobs that ran in a part of the run.
    pub(super) fn window(&self, (from, to): (i64, i64)) -> Found {
        let inside = |row: usize| {
            let (start, end) = (self.ran.start[row], self.ran.end[row]);
            start != Ran::NEVER && start < to && end > from
        };
        let rows = (0..self.ran.start.len()).filter(|row| inside(*row));
        let spans = self.spans.iter();
        let spans = spans.filter(|span| inside(span.row as usize)).copied();
        Found {
            rows: rows.map(|row| row as u32).collect(),
            spans: spans.collect(),
        }
    }

    /// Who used the clusters in a part of the run.
    pub(super) fn use_of(&self, found: &Found, (from, to): (i64, i64)) -> Vec<ClusterUse> {
        let mut all = self.clusters.clone();
        let mut busy = vec![0.0; all.len()];
        for &row in &found.rows {
            let row = row as usize;
            if let Some(own) = self.ran.on[row] {
                all[own].jobs += 1;
                all[own].forwarded += u64::from(self.ran.away[row]);
            }
        }
        for span in &found.spans {
            let row = span.row as usize;
            let inside = self.ran.end[row].min(to) - self.ran.start[row].max(from);
            let at = all.partition_point(|own| own.first <= u64::from(span.first));
            let processors = f64::from(span.nodes) * f64::from(span.taken);
            busy[at.saturating_sub(1)] += inside as f64 * processors;
        }
        // Past the end of the run nothing was available.
        let length = (to.min(self.end) - from) as f64;
        for (cluster, busy) in all.iter_mut().zip(busy) {
            let available = length * cluster.processors as f64;
            cluster.busy = (available > 0.0).then(|| busy / available);
        }
        all
    }
}

/// The jobs for which clusters reserved a start at the request of a broker whose policy asks
/// for that, also for jobs without a window.
fn reserved(dir: &Path, manifest: &Manifest) -> Result<BTreeSet<u32>> {
    let policy = manifest.policy.as_deref();
    let policy = policy.and_then(|policy| policy.parse::<PolicySpec>().ok());
    let placement = policy.and_then(|policy| policy.placement());
    if !placement.is_some_and(Placement::reserves) {
        return Ok(BTreeSet::new());
    }
    let events = TableColumns::open(dir, names::EVENTS)?;
    let (kinds, jobs) = (events.codes("event")?, events.u32s("job_id")?);
    let told = jobs.into_iter().enumerate();
    let told = told.filter(|(row, _)| kinds.name(*row) == Some(EventKind::Reserved.name()));
    Ok(told.map(|(_, job)| job).collect())
}

/// Where the jobs lay, row by row.
fn spans(groups: &[Vec<Group>], ran: &Ran, placements: &Placements) -> Vec<Span> {
    let mut spans = Vec::with_capacity(ran.start.len());
    for (row, (begin, own)) in ran.start.iter().zip(&ran.on).enumerate() {
        let parts = placements.by_cluster(row, own.filter(|_| *begin != Ran::NEVER));
        for (own, run) in parts.flat_map(|(own, runs)| runs.iter().map(move |run| (own, run))) {
            let group = groups[own].get(usize::from(run.resource));
            // Nodes that do not exist are passed over: the audit tells of
            // them.
            if let Some(group) = group.filter(|group| run.node < group.nodes) {
                let first = group.first + u64::from(run.node) * u64::from(group.per_node);
                spans.push(Span {
                    row: u32::try_from(row).unwrap_or(u32::MAX),
                    first: u32::try_from(first).unwrap_or(u32::MAX),
                    nodes: run.nodes.min(group.nodes - run.node),
                    per_node: group.per_node,
                    taken: run.processors.min(group.per_node),
                });
            }
        }
    }
    spans
}
