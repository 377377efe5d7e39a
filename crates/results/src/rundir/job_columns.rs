//! `jobs.parquet`: the list of its columns, each with how it is written from a
//! job, and how what was submitted is read back from them.

use super::batch::Batch;
use super::columns::Cell::{Bool, F64, Length, Placement, Text, Time, U32, U64};
use super::columns::{Column, Table, write_to};
use super::{Manifest, Result, RunDirError, RunFiles, names};
use crate::jobs::{ClaimRow, DUMMY_JOBS, JobRow};
use crate::names::Names;
use crate::threshold::METRICS;
use gridrig_core::event::Party;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{
    Component, Components, DUMMIES, Division, Entry, Input, JobLabel, JobSpec, Requirements,
    StartWindow, Submission,
};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_protocol::rest::{JobComponent, JobDivision, JobInput, inputs, more_components};
use serde_json::json;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

/// A job as it is written.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    row: &'a JobRow,
    submission: &'a Submission,
    run: &'a RunFiles<'a>,
}

impl<'a> Job<'a> {
    fn names(&self) -> &'a Names {
        self.run.table.names()
    }

    fn domain(&self, id: Option<DomainId>) -> Option<Cow<'a, str>> {
        Some(self.names().domain(id?))
    }

    fn cluster(&self) -> Option<Cow<'a, str>> {
        Some(self.names().cluster(self.row.cluster?))
    }

    fn slowdown(&self, of: fn(&JobRow, SimDuration) -> Option<f64>) -> Option<f64> {
        of(self.row, self.run.info.measure.tau.0)
    }

    fn placement(self) -> Option<(Cow<'a, str>, &'a [PlacementRun])> {
        self.row.start?;
        Some((self.cluster()?, self.row.placement(self.run.log)))
    }

    fn label(&self) -> &'a JobLabel {
        &self.submission.label
    }

    fn spec(&self) -> &'a JobSpec {
        &self.submission.spec
    }

    fn window(&self) -> Option<&'a StartWindow> {
        self.spec().start_window.as_deref()
    }

    fn generic(self) -> Option<Cow<'a, str>> {
        let generic = &self.wants().generic;
        (!generic.is_empty()).then(|| generic.to_string().into())
    }

    fn more(self) -> Option<Cow<'a, str>> {
        let more = self.spec().components.more.iter().map(JobComponent::from);
        let more: Vec<_> = more.collect();
        (!more.is_empty()).then(|| json!(more).to_string().into())
    }

    fn division(self) -> Option<Cow<'a, str>> {
        let division = self.spec().division.as_deref()?;
        Some(json!(JobDivision::from(division)).to_string().into())
    }

    fn inputs(self) -> Option<Cow<'a, str>> {
        let inputs = self.spec().inputs.iter().map(JobInput::from);
        let inputs: Vec<_> = inputs.collect();
        (!inputs.is_empty()).then(|| json!(inputs).to_string().into())
    }

    /// From whom its processors were delegated to whom.
    fn chain(self) -> Option<Cow<'a, str>> {
        let lease = self.row.lease.as_ref().filter(|it| !it.chain.is_empty())?;
        let names = lease.chain.iter().map(|id| self.domain(Some(*id)));
        let names: Option<Vec<_>> = names.collect();
        Some(names?.join(">").into())
    }

    /// What the clusters had for it that ran it together, as a JSON list.
    fn parts(self) -> Option<Cow<'a, str>> {
        let part = |claim: &ClaimRow| {
            json!({
                "cluster": self.names().cluster(claim.cluster),
                "processors": claim.processors,
                "placement": placement_json(claim.placement(self.run.log)),
            })
        };
        let parts: Vec<_> = self.row.parts().map(part).collect();
        (!parts.is_empty()).then(|| json!(parts).to_string().into())
    }

    fn charged(self) -> Option<SimDuration> {
        let lease = self.row.lease.as_ref().filter(|it| !it.chain.is_empty())?;
        Some(lease.charged(self.run.table.end()))
    }

    fn wants(&self) -> &'a Requirements {
        &self.spec().components.first.requirements
    }
}

type Owner = (&'static str, fn(&Submission) -> Option<u32>);

/// The columns that say by a number whose a job is: comparisons group jobs by
/// them, and the life of a job tells them. But for the first, a run has those of
/// which some job has a number.
pub const OWNERS: [Owner; 3] = [
    ("user", |job| job.label.user),
    ("account", |job| Some(job.spec.account?.get())),
    ("executable", |job| Some(job.spec.executable?.get())),
];

/// A column of runs that have it: nodes failed there.
const REQUEUES: &str = "requeues";

/// The columns of runs in which several clusters ran jobs together.
const TOGETHER: [&str; 2] = ["clusters", "parts"];

/// A column of runs in which brokers predicted when jobs start.
const PREDICTED: &str = "predicted_start_ns";

/// The columns of runs in which jobs were to start within a window.
const WINDOW: [&str; 3] = ["earliest_start_ns", "latest_start_ns", "flexible"];

/// A column of runs in which jobs limit what they take of a node.
const MOST: &str = "most_per_node";

/// Columns of runs in which jobs named their cluster or said how they may be divided.
const NAMED: &str = "named_cluster";
const DIVISION: &str = "division";

/// The columns of runs in which components read data.
const INPUTS: [&str; 2] = ["inputs", "moved_mib"];

/// The columns of runs in which processors were delegated.
const LEASE: [&str; 2] = ["lease", "leased_ns"];

/// The columns in their order; `docs/run-directory.md` says what they mean.
#[rustfmt::skip]
fn columns<'a>() -> [Column<'a, Job<'a>>; 55] {
    [
        ("job_id", U32(|of| Some(of.row.job.0))),
        ("workload", Text(|of| Some(of.run.table.workload(of.label().workload)))),
        (OWNERS[0].0, U32(|of| OWNERS[0].1(of.submission))),
        (OWNERS[1].0, U32(|of| OWNERS[1].1(of.submission))),
        (OWNERS[2].0, U32(|of| OWNERS[2].1(of.submission))),
        ("origin_domain", Text(|of| of.domain(of.row.origin))),
        ("exec_domain", Text(|of| of.domain(of.row.exec_domain))),
        ("cluster", Text(|of| of.cluster())),
        ("processors", U32(|of| Some(of.row.processors))),
        ("hops", U32(|of| Some(of.row.hops))),
        ("state", Text(|of| Some(of.row.state.name().into()))),
        ("reason", Text(|of| Some(of.row.reason?.name().into()))),
        ("intended_ns", Time(|of| Some(of.row.intended))),
        ("submit_ns", Time(|of| of.row.submit)),
        ("broker_arrival_ns", Time(|of| of.row.broker_arrival)),
        ("dispatch_ns", Time(|of| of.row.dispatch)),
        ("queued_ns", Time(|of| of.row.queued)),
        ("start_ns", Time(|of| of.row.start)),
        ("finish_ns", Time(|of| of.row.finish)),
        ("finish_seen_ns", Time(|of| of.row.finish_seen)),
        ("run_time_ns", Length(|of| of.row.run_time())),
        ("delay_s", F64(|of| of.row.delay_s())),
        ("expansion", F64(|of| of.row.expansion())),
        ("wait_s", F64(|of| of.row.wait_s())),
        ("response_s", F64(|of| of.row.response_s())),
        ("bounded_slowdown", F64(|of| of.slowdown(JobRow::bounded_slowdown))),
        ("placement", Placement(Job::placement)),
        ("bounded_slowdown_ref", F64(|of| of.slowdown(JobRow::bounded_slowdown_ref))),
        ("forwards", U32(|of| Some(of.row.forwards))),
        ("end_ns", Time(|of| of.row.end)),
        ("trace_job", U64(|of| Some(of.label().trace_id))),
        ("failed_in_trace", Bool(|of| Some(of.label().failed_in_trace))),
        ("entry", Text(|of| Some(of.names().entry(of.submission.entry)))),
        ("run_time_ref_ns", Length(|of| Some(of.spec().run_time))),
        ("requested_time_ns", Length(|of| of.spec().requested_time)),
        ("architecture", Text(|of| text(&of.wants().architecture))),
        ("os", Text(|of| text(&of.wants().os))),
        ("memory_kib", U64(|of| Some(of.wants().memory_kib))),
        ("disk_mib", U64(|of| Some(of.wants().disk_mib))),
        ("speed_millionths", U64(|of| Some(of.wants().speed_millionths))),
        (MOST, U32(|of| Some(of.wants().most_per_node).filter(|most| *most > 0))),
        ("generic_resources", Text(Job::generic)),
        (REQUEUES, U32(|of| Some(of.row.earlier.len() as u32))),
        (LEASE[0], Text(Job::chain)),
        (LEASE[1], Length(Job::charged)),
        (TOGETHER[0], U32(|of| of.row.clusters())),
        (TOGETHER[1], Text(Job::parts)),
        (PREDICTED, Time(|of| of.row.predicted)),
        (WINDOW[0], Time(|of| Some(of.window()?.earliest))),
        (WINDOW[1], Time(|of| Some(of.window()?.latest))),
        (WINDOW[2], Bool(|of| Some(of.window()?.flexible))),
        (NAMED, U32(|of| Some(of.spec().components.first.cluster?.0.into()))),
        (DIVISION, Text(Job::division)),
        (INPUTS[0], Text(Job::inputs)),
        (INPUTS[1], U64(|of| of.row.moved_mib)),
    ]
}

fn first(job: &Submission) -> &Component {
    &job.spec.components.first
}

/// The same of a run: components have a column where a job has several, and requeues
/// where nodes failed.
fn columns_of<'a>(run: &RunFiles<'_>) -> Vec<Column<'a, Job<'a>>> {
    let mut columns = Vec::from(columns());
    let is_one = |job: &Submission| job.spec.components.only().is_some();
    if !run.submissions.iter().all(is_one) {
        columns.push(("more_components", Text(Job::more)));
    }
    for (owner, of) in &OWNERS[1..] {
        if run.submissions.iter().all(|job| of(job).is_none()) {
            columns.retain(|(name, _)| name != owner);
        }
    }
    let job = |has: fn(&Submission) -> bool| run.submissions.iter().any(has);
    let row = |has: fn(&JobRow) -> bool| run.table.rows().iter().any(has);
    let mut down = run.table.clusters().iter().map(|info| &info.down);
    let only_if: [(&[&str], bool); 9] = [
        (&[REQUEUES], down.any(|down| !down.is_empty())),
        (&TOGETHER, row(|row| !row.claims.is_empty())),
        (&WINDOW, job(|job| job.spec.start_window.is_some())),
        (
            &[MOST],
            job(|job| first(job).requirements.most_per_node > 0),
        ),
        (&[NAMED], job(|job| first(job).cluster.is_some())),
        (&[DIVISION], job(|job| job.spec.division.is_some())),
        (&INPUTS, job(|job| !job.spec.inputs.is_empty())),
        (&[PREDICTED], row(|row| row.predicted.is_some())),
        (&LEASE, row(|row| row.lease.is_some())),
    ];
    for (names, has) in only_if {
        columns.retain(|(name, _)| has || !names.contains(name));
    }
    columns
}

/// Nodes as `[resource, first node, nodes, processors of each]`.
fn placement_json(runs: &[PlacementRun]) -> serde_json::Value {
    let runs = runs.iter();
    let lists = runs.map(|run| json!([run.resource, run.node, run.nodes, run.processors]));
    lists.collect()
}

fn text(name: &Option<Arc<str>>) -> Option<Cow<'_, str>> {
    name.as_deref().map(Cow::from)
}

/// The rows of a run.
fn rows<'a>(run: &'a RunFiles<'a>) -> impl Fn(usize) -> Job<'a> {
    |row| Job {
        row: &run.table.rows()[row],
        submission: &run.submissions[row],
        run,
    }
}

pub(super) fn table<'a>(run: &'a RunFiles<'a>) -> Table<'a, Job<'a>, impl Fn(usize) -> Job<'a>> {
    Table {
        name: names::JOBS,
        columns: columns_of(run),
        rows: run.table.rows().len(),
        at: rows(run),
    }
}

/// Writes what tells which jobs completed when, and the metrics.
pub(super) fn write_compared(dir: &Path, run: &RunFiles<'_>) -> Result<()> {
    let path = dir.join(names::JOBS);
    let file = File::create(&path).map_err(RunDirError::io("create", &path))?;
    // Where jobs that enter at a cluster are not measured, `entry` tells which they are.
    let compared =
        |name: &&str| ["job_id", "submit_ns", "entry"].contains(name) || METRICS.contains(name);
    let columns = columns().into_iter();
    let columns: Vec<_> = columns.filter(|(name, _)| compared(name)).collect();
    let file = BufWriter::new(file);
    let written = write_to(file, &columns, run.table.rows().len(), &rows(run));
    let mut file = written.map_err(RunDirError::unwritten(&path))?;
    file.flush().map_err(RunDirError::io("write", &path))
}

/// Reads what was submitted from a row of the table, whose number is from 1.
pub(super) fn read(
    batch: &Batch<'_>,
    (index, row): (usize, u64),
    manifest: &Manifest,
    shown: &Names,
) -> Result<Submission> {
    let wrong = |field, value: Option<&str>, expected| RunDirError::Value {
        path: batch.path.to_owned(),
        row,
        field,
        value: value.unwrap_or_default().to_owned(),
        expected,
    };
    let id = batch.u32("job_id", index)?.map(JobId);
    let id = id.ok_or_else(|| wrong("job_id", None, "the number of a job"))?;
    let workload = batch.text("workload", index)?;
    let number = workload.and_then(|name| workload_number(manifest, name));
    let entry = batch.text("entry", index)?;
    // Runs of before, and those without any, do not have these columns.
    let owner = |place: usize| match OWNERS[place].0 {
        name if batch.has(name) => Ok(batch.u32(name, index)?.and_then(NonZeroU32::new)),
        _ => Ok(None),
    };
    let processors = batch
        .u32("processors", index)?
        .ok_or_else(|| wrong("processors", None, "a number of processors"))?;
    let (components, division, inputs) = components(batch, (index, row), processors)?;
    let length = |at: SimTime| SimDuration::from_nanos(at.as_nanos());
    let run_time = batch.time("run_time_ref_ns", index)?.map(length);
    let at = batch.time("intended_ns", index)?;
    Ok(Submission {
        spec: JobSpec {
            id,
            division,
            components,
            run_time: run_time
                .ok_or_else(|| wrong("run_time_ref_ns", None, "a run time from 0"))?,
            requested_time: batch.time("requested_time_ns", index)?.map(length),
            data_kib: 0,
            inputs,
            account: owner(1)?,
            executable: owner(2)?,
            start_window: start_window(batch, index)?,
            preferences: None,
        },
        at: at.ok_or_else(|| wrong("intended_ns", None, "an instant from 0"))?,
        entry: match entry.and_then(|text| shown.find_party(text)) {
            Some(Party::Broker(id)) => Entry::Domain(id),
            Some(Party::Lrms(id)) => Entry::Cluster(id),
            _ => return Err(wrong("entry", entry, "a broker or an LRMS of the grid")),
        },
        label: JobLabel {
            trace_id: batch.u64("trace_job", index)?.unwrap_or(0),
            workload: number.ok_or_else(|| wrong("workload", workload, "a known workload"))?,
            user: batch.u32("user", index)?,
            failed_in_trace: batch.bool("failed_in_trace", index)?.unwrap_or(false),
        },
    })
}

/// What a job is made of, how it may be divided, and what it reads.
type Made = (Components, Option<Box<Division>>, Box<[Input]>);

/// What a job of so many processors is made of, how it may be divided, and what it reads.
fn components(batch: &Batch<'_>, (index, row): (usize, u64), processors: u32) -> Result<Made> {
    let wrong = |field, value: &str, expected| RunDirError::Value {
        path: batch.path.to_owned(),
        row,
        field,
        value: value.to_owned(),
        expected,
    };
    let newer = |name| match batch.has(name) {
        true => batch.text(name, index),
        false => Ok(None),
    };
    let generic = newer("generic_resources")?.unwrap_or_default();
    let no_generic = |expected| wrong("generic_resources", generic, expected);
    let generic = generic.parse().map_err(no_generic)?;
    let (first, more) = match newer("more_components")? {
        None => (processors, Box::default()),
        Some(text) => divided(processors, text).ok_or_else(|| {
            let expected = "components as over REST, with fewer processors than the job";
            wrong("more_components", text, expected)
        })?,
    };
    let named = match batch.has(NAMED) {
        true => batch.u32(NAMED, index)?,
        false => None,
    };
    let components = Components {
        first: Component {
            processors: first,
            requirements: Requirements {
                generic,
                ..requirements(batch, index)?
            },
            cluster: named.and_then(|id| Some(ClusterId(u16::try_from(id).ok()?))),
        },
        more,
    };
    let division = newer(DIVISION)?;
    let division = division.map(|text| {
        let read = serde_json::from_str::<JobDivision>(text).ok();
        let read = read.and_then(|read| read.division(&components).ok());
        read.ok_or_else(|| wrong(DIVISION, text, "a division as over REST"))
    });
    let read = newer(INPUTS[0])?.map(|text| {
        let read = serde_json::from_str::<Vec<JobInput>>(text).ok();
        let read = read.and_then(|read| inputs(&read, &components).ok());
        read.ok_or_else(|| wrong(INPUTS[0], text, "inputs as over REST"))
    });
    let read = read.transpose()?.unwrap_or_default();
    Ok((components, division.transpose()?, read))
}

/// The position of a workload; one without a name is shown by its number.
fn workload_number(manifest: &Manifest, name: &str) -> Option<u16> {
    match manifest.workloads.iter().position(|known| known == name) {
        Some(index) => u16::try_from(index).ok(),
        None if name == DUMMY_JOBS => Some(DUMMIES),
        None => name.parse().ok(),
    }
}

/// What a job asks of its nodes, but for generic resources.
fn requirements(batch: &Batch<'_>, index: usize) -> Result<Requirements> {
    let text = |name| Ok(batch.text(name, index)?.map(Arc::from));
    Ok(Requirements {
        architecture: text("architecture")?,
        os: text("os")?,
        memory_kib: batch.u64("memory_kib", index)?.unwrap_or(0),
        disk_mib: batch.u64("disk_mib", index)?.unwrap_or(0),
        // Runs of before do not have this column.
        speed_millionths: match batch.has("speed_millionths") {
            true => batch.u64("speed_millionths", index)?.unwrap_or(0),
            false => 0,
        },
        most_per_node: match batch.has(MOST) {
            true => batch.u32(MOST, index)?.unwrap_or(0),
            false => 0,
        },
        ..Requirements::default()
    })
}

/// Within which it is to start; runs of before, and those without any, do not say.
fn start_window(batch: &Batch<'_>, index: usize) -> Result<Option<Box<StartWindow>>> {
    if !WINDOW.iter().all(|name| batch.has(name)) {
        return Ok(None);
    }
    let flexible = batch.bool(WINDOW[2], index)?.unwrap_or(false);
    let ends = batch
        .time(WINDOW[0], index)?
        .zip(batch.time(WINDOW[1], index)?);
    Ok(ends.map(|(earliest, latest)| {
        Box::new(StartWindow {
            earliest,
            latest,
            flexible,
        })
    }))
}

/// Processors of the first component, and the others; `None` if they are none.
fn divided(processors: u32, text: &str) -> Option<(u32, Box<[Component]>)> {
    let more = more_components(serde_json::from_str(text).ok()?).ok()?;
    let left = more
        .iter()
        .try_fold(processors, |left, one| left.checked_sub(one.processors));
    Some((left.filter(|left| *left > 0)?, more))
}
