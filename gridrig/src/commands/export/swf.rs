//! A run as a log in the Standard Workload Format: what the emulated machines
//! would have logged.

use crate::words::list;
use gridrig_core::time::SimDuration;
use gridrig_results::JobTable;
use gridrig_results::jobs::{JobRow, JobState};
use gridrig_results::rundir::{Manifest, Run};
use gridrig_tracelab::comments::comments_of;
use gridrig_tracelab::format::{Format, Record, Writer, field};
use std::io::{self, Write};

/// Writes the submitted jobs in the order of the workload.
pub(super) fn write(run: &Run, table: &JobTable, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer::new(out, Format::Swf, &header(run, table))?;
    for (row, submission) in table.rows().iter().zip(&run.submissions) {
        if row.submit.is_none() {
            continue;
        }
        let spec = &submission.spec;
        let memory = Some(spec.components.first.requirements.memory_kib).filter(|kib| *kib > 0);
        let record = record(row)
            .with(field::REQUESTED_TIME, spec.requested_time)
            .with(field::REQUESTED_MEMORY, memory);
        writer.write(&record)?;
    }
    writer.finish()?;
    Ok(())
}

/// SWF counts jobs from 1. Numbers of the trace may repeat where a scenario has several.
fn number(row: &JobRow) -> u64 {
    u64::from(row.job.0) + 1
}

fn record(row: &JobRow) -> Record {
    let submit = row.submit.map(|at| SimDuration::from_nanos(at.as_nanos()));
    let wait = row.start.zip(row.submit);
    let ran = row.start.zip(row.end);
    let kept = row.kept();
    let partition = row.start.and(row.cluster);
    let processors = u64::from(row.processors);
    Record::default()
        .with(field::JOB, number(row))
        .with(field::SUBMIT, submit)
        .with(
            field::WAIT,
            wait.map(|(start, submit)| start.since(submit) - kept),
        )
        .with(
            field::RUN_TIME,
            ran.map(|(start, end)| end.since(start) + kept),
        )
        .with(field::ALLOCATED, row.start.map(|_| processors))
        .with(field::REQUESTED, processors)
        .with(field::STATUS, status(row))
        .with(field::USER, row.label.user.map(u64::from))
        .with(field::PARTITION, partition.map(|id| id.index() as u64 + 1))
}

/// Field 11. A job that ran to its end keeps what the trace said of its end.
fn status(row: &JobRow) -> Option<u64> {
    const FAILED: u64 = 0;
    const COMPLETED: u64 = 1;
    const CANCELLED: u64 = 5;
    match row.state {
        JobState::Completed if row.label.failed_in_trace => Some(FAILED),
        JobState::Completed => Some(COMPLETED),
        JobState::Failed => Some(FAILED),
        JobState::Cancelled | JobState::Rejected => Some(CANCELLED),
        JobState::Unfinished => None,
    }
}

/// What the log is, and how it was made. No date and no path of the machine:
/// the same run gives the same bytes.
fn header(run: &Run, table: &JobTable) -> Vec<(String, String)> {
    let manifest = &run.manifest;
    let submitted = table.rows().iter().filter(|row| row.submit.is_some());
    let jobs = submitted.count().to_string();
    let clusters = &run.grid.clusters;
    let processors = |cluster: &gridrig_core::grid::GridCluster| {
        u64::from(cluster.config.resources.processors())
    };
    let all: u64 = clusters.iter().map(processors).sum();
    let mut lines = Vec::new();
    let mut line = |key: &str, value: &str| lines.push((key.to_owned(), value.to_owned()));
    line("Version", "2.2");
    line("Computer", &format!("{} emulated clusters", clusters.len()));
    line("Conversion", &conversion(manifest));
    line("MaxJobs", &jobs);
    line("MaxRecords", &jobs);
    line("Preemption", "No");
    line("MaxProcs", &all.to_string());
    line("MaxPartitions", &clusters.len().to_string());
    for (number, cluster) in (1..).zip(clusters) {
        let id = gridrig_core::ids::ClusterId(number - 1);
        let name = table.names().cluster(id);
        let processors = processors(cluster);
        line(
            "Partition",
            &format!("{number} {name} ({processors} processors)"),
        );
    }
    line("Note", &origin(manifest));
    line("Note", &scale(manifest));
    line(
        "Note",
        "wait time: start - submit, as the run had it; run time: from start to end; the \
         partition is the cluster that ran the job",
    );
    line(
        "Note",
        "status: 1 completed, 0 failed or failed in the trace, 5 cancelled or rejected, -1 when \
         the run ended first",
    );
    for (row, submission) in table.rows().iter().zip(&run.submissions) {
        if row.submit.is_some() {
            lines.extend(comments_of(number(row), &submission.spec));
        }
    }
    let mut line = |key: &str, value: &str| lines.push((key.to_owned(), value.to_owned()));
    for warning in &manifest.warnings {
        line("Note", &format!("warning: {warning}"));
    }
    lines
}

fn conversion(manifest: &Manifest) -> String {
    let version = manifest.versions.get("gridrig");
    format!(
        "gridrig export --format swf, from a run of gridrig {}",
        version.map_or("(unknown version)", String::as_str)
    )
}

fn origin(manifest: &Manifest) -> String {
    let traces = manifest.trace_sha256.iter();
    let traces = list(traces.map(|(name, hash)| format!("{name} (SHA-256 {hash})")));
    let policy = manifest.policy.as_deref().unwrap_or("no broker");
    format!(
        "scenario {}, {policy}, replication {} ({}), seed {}, {} clock; replayed: {}",
        manifest.study.scenario,
        manifest.replication,
        manifest.study.key,
        manifest.seed,
        manifest.clock,
        traces
    )
}

fn scale(manifest: &Manifest) -> String {
    match manifest.study.scale {
        Some(scale) if scale.arrival != 1.0 || scale.run_time != 1.0 => format!(
            "times are seconds of the run: those of the trace, with arrivals divided by {} and run \
             times by {}",
            scale.arrival, scale.run_time
        ),
        _ => "times are seconds of the run".to_owned(),
    }
}
