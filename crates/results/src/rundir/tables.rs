//! `jobs.parquet`, `hops.parquet` and `series.parquet`.

use super::columns::Columns;
use super::{FileDoc, RunDirError, RunFiles, names};
use crate::jobs::{JobRow, JobTable, SeriesRow};
use crate::log::EventLog;
use crate::threshold::METRICS;
use gridrig_core::ids::DomainId;
use gridrig_core::job::Submission;
use gridrig_protocol::rest::JobComponent;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

pub(super) fn write_jobs(dir: &Path, run: &RunFiles<'_>) -> Result<FileDoc, RunDirError> {
    job_columns(run).write(dir, names::JOBS, run.table.rows().len())
}

/// Writes what tells which jobs completed when, and the metrics.
pub(super) fn write_compared(dir: &Path, run: &RunFiles<'_>) -> Result<(), RunDirError> {
    let path = dir.join(names::JOBS);
    let file = File::create(&path).map_err(RunDirError::io("create", &path))?;
    let columns = job_columns(run).only(&[&["job_id", "submit_ns"], &METRICS[..]].concat());
    let written = columns.write_to(BufWriter::new(file), run.table.rows().len());
    let mut file = written.map_err(RunDirError::parquet(&path))?;
    file.flush().map_err(RunDirError::io("write", &path))
}

fn job_columns<'a>(run: &RunFiles<'a>) -> Columns<'a> {
    let mut columns = Columns::default();
    place_columns(&mut columns, run.table);
    time_columns(&mut columns, run.table);
    metric_columns(&mut columns, run);
    fact_columns(&mut columns, run);
    columns
}

fn place_columns<'a>(columns: &mut Columns<'a>, table: &'a JobTable) {
    let rows = table.rows();
    let names = table.names();
    columns.u32("job_id", |row| Some(rows[row].job.0));
    columns.text("workload", |row| {
        Some(table.workload(rows[row].label.workload))
    });
    columns.u32("user", |row| rows[row].label.user);
    let domain = move |id: Option<DomainId>| id.map(|id| names.domain(id));
    columns.text("origin_domain", move |row| domain(rows[row].origin));
    columns.text("exec_domain", move |row| domain(rows[row].exec_domain));
    columns.text("cluster", |row| {
        rows[row].cluster.map(|id| names.cluster(id))
    });
    columns.u32("processors", |row| Some(rows[row].processors));
    columns.u32("hops", |row| Some(rows[row].hops));
    columns.text("state", |row| Some(rows[row].state.name()));
    columns.text("reason", |row| rows[row].reason.map(|reason| reason.name()));
}

fn time_columns<'a>(columns: &mut Columns<'a>, table: &'a JobTable) {
    let rows = table.rows();
    columns.time("intended_ns", |row| Some(rows[row].intended));
    columns.time("submit_ns", |row| rows[row].submit);
    columns.time("broker_arrival_ns", |row| rows[row].broker_arrival);
    columns.time("dispatch_ns", |row| rows[row].dispatch);
    columns.time("queued_ns", |row| rows[row].queued);
    columns.time("start_ns", |row| rows[row].start);
    columns.time("finish_ns", |row| rows[row].finish);
    columns.time("finish_seen_ns", |row| rows[row].finish_seen);
    columns.duration("run_time_ns", |row| rows[row].run_time());
}

fn metric_columns<'a>(columns: &mut Columns<'a>, run: &RunFiles<'a>) {
    let (table, log) = (run.table, run.log);
    let rows = table.rows();
    let tau = run.info.measure.tau;
    columns.f64("delay_s", |row| rows[row].delay_s());
    columns.f64("expansion", |row| rows[row].expansion());
    columns.f64("wait_s", |row| rows[row].wait_s());
    columns.f64("response_s", |row| rows[row].response_s());
    columns.f64("bounded_slowdown", move |row| {
        rows[row].bounded_slowdown(tau)
    });
    columns.placement("placement", |row| placement(table, log, &rows[row]));
    columns.f64("bounded_slowdown_ref", move |row| {
        rows[row].bounded_slowdown_ref(tau)
    });
    columns.u32("forwards", |row| Some(rows[row].forwards));
    columns.time("end_ns", |row| rows[row].end);
}

/// What a job is by itself: enough to audit the run from its directory.
fn fact_columns<'a>(columns: &mut Columns<'a>, run: &RunFiles<'a>) {
    let jobs = run.submissions;
    let names = run.table.names();
    let wants = |row: usize| {
        jobs.get(row)
            .map(|job| &job.spec.components.first.requirements)
    };
    let label = |row: usize| jobs.get(row).map(|job| job.label);
    let spec = |row: usize| jobs.get(row).map(|job| &job.spec);
    columns.u64("trace_job", move |row| Some(label(row)?.trace_id));
    columns.bool("failed_in_trace", move |row| {
        Some(label(row)?.failed_in_trace)
    });
    columns.text("entry", |row| Some(names.entry(jobs.get(row)?.entry)));
    columns.duration("run_time_ref_ns", move |row| Some(spec(row)?.run_time));
    columns.duration("requested_time_ns", move |row| spec(row)?.requested_time);
    columns.text("architecture", move |row| {
        wants(row)?.architecture.as_deref()
    });
    columns.text("os", move |row| wants(row)?.os.as_deref());
    columns.u64("memory_kib", move |row| Some(wants(row)?.memory_kib));
    columns.u64("disk_mib", move |row| Some(wants(row)?.disk_mib));
    columns.u64("speed_millionths", move |row| {
        Some(wants(row)?.speed_millionths)
    });
    columns.text("generic_resources", move |row| {
        let generic = &wants(row)?.generic;
        (!generic.is_empty()).then(|| generic.to_string())
    });
    let is_one = |job: &Submission| job.spec.components.only().is_some();
    if !jobs.iter().all(is_one) {
        columns.text("more_components", move |row| {
            let more = &spec(row)?.components.more;
            let more: Vec<JobComponent> = more.iter().map(Into::into).collect();
            (!more.is_empty()).then(|| json!(more).to_string())
        });
    }
}

fn placement<'a>(
    table: &JobTable,
    log: &'a EventLog,
    row: &JobRow,
) -> Option<(String, &'a [gridrig_core::placement::PlacementRun])> {
    row.start?;
    let cluster = table.names().cluster(row.cluster?);
    Some((cluster, row.placement(log)))
}

pub(super) fn write_hops(dir: &Path, table: &JobTable) -> Result<FileDoc, RunDirError> {
    let rows = table.hops();
    let names = table.names();
    let mut columns = Columns::default();
    columns.u32("job_id", |row| Some(rows[row].job.0));
    columns.u32("hop", |row| Some(rows[row].hop));
    columns.text("domain", |row| Some(names.domain(rows[row].domain)));
    let domain = move |id: Option<DomainId>| id.map(|id| names.domain(id));
    columns.text("from_domain", move |row| domain(rows[row].from_domain));
    columns.time("arrival_ns", |row| Some(rows[row].arrival));
    columns.time("forwarded_ns", |row| rows[row].forwarded);
    columns.text("forwarded_to", move |row| domain(rows[row].forwarded_to));
    columns.time("dispatched_ns", |row| rows[row].dispatched);
    columns.time("refused_ns", |row| rows[row].refused);
    columns.text("reason", |row| rows[row].reason.map(|reason| reason.name()));
    columns.write(dir, names::HOPS, rows.len())
}

pub(super) fn write_series(
    dir: &Path,
    table: &JobTable,
    rows: &[SeriesRow],
) -> Result<FileDoc, RunDirError> {
    let names = table.names();
    let mut columns = Columns::default();
    columns.text("cluster", |row| Some(names.cluster(rows[row].cluster)));
    columns.time("time_ns", |row| Some(rows[row].at));
    columns.u64("queued", |row| Some(rows[row].queued));
    columns.u64("busy", |row| Some(rows[row].busy));
    columns.f64("utilization", |row| Some(rows[row].utilization));
    columns.u64("queued_max", |row| Some(rows[row].queued_max));
    columns.u64("busy_max", |row| Some(rows[row].busy_max));
    columns.write(dir, names::SERIES, rows.len())
}
