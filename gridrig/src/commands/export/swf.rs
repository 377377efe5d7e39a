//! A run as a log in the Standard Workload Format: what the emulated machines
//! would have logged.

use gridrig_core::time::SimDuration;
use gridrig_results::JobTable;
use gridrig_results::jobs::{JobRow, JobState};
use gridrig_results::rundir::{Manifest, Run};
use gridrig_tracelab::format::{Format, Number, Record, Writer};
use std::io::{self, Write};

/// Writes the submitted jobs in the order of the workload.
pub(super) fn write(run: &Run, table: &JobTable, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer::new(out, Format::Swf, &header(run, table))?;
    for (row, submission) in table.rows().iter().zip(&run.submissions) {
        if row.submit.is_none() {
            continue;
        }
        let memory = submission.spec.components.first.requirements.memory_kib;
        let requested_memory = (memory > 0).then(|| Number::from(memory));
        writer.write(&Record {
            requested_time: submission.spec.requested_time,
            requested_memory,
            ..record(row)
        })?;
    }
    writer.finish()?;
    Ok(())
}

fn record(row: &JobRow) -> Record {
    let submit = row.submit.map(|at| SimDuration::from_nanos(at.as_nanos()));
    let wait = row.start.zip(row.submit);
    let ran = row.start.zip(row.end);
    let partition = row.start.and(row.cluster);
    Record {
        // SWF counts jobs from 1. Numbers of the trace may repeat where a
        // scenario has several.
        job: Some(u64::from(row.job.0) + 1),
        submit_time: submit,
        wait_time: wait.map(|(start, submit)| start.since(submit)),
        run_time: ran.map(|(start, end)| end.since(start)),
        allocated_processors: row.start.map(|_| u64::from(row.processors)),
        requested_processors: Some(u64::from(row.processors)),
        status: status(row),
        user: row.label.user.map(u64::from),
        partition: partition.map(|cluster| cluster.index() as u64 + 1),
        ..Record::default()
    }
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
    let mut line = |key: &str, value: String| lines.push((key.to_owned(), value));
    line("Version", "2.2".to_owned());
    line("Computer", format!("{} emulated clusters", clusters.len()));
    line("Conversion", conversion(manifest));
    line("MaxJobs", jobs.clone());
    line("MaxRecords", jobs);
    line("Preemption", "No".to_owned());
    line("MaxProcs", all.to_string());
    line("MaxPartitions", clusters.len().to_string());
    for (number, cluster) in (1..).zip(clusters) {
        let id = gridrig_core::ids::ClusterId(number - 1);
        let name = table.names().cluster(id);
        line(
            "Partition",
            format!("{number} {name} ({} processors)", processors(cluster)),
        );
    }
    line("Note", origin(manifest));
    line("Note", scale(manifest));
    line(
        "Note",
        "wait time: start - submit, as the run had it; run time: from start to end; the \
         partition is the cluster that ran the job"
            .to_owned(),
    );
    line(
        "Note",
        "status: 1 completed, 0 failed or failed in the trace, 5 cancelled or rejected, -1 when \
         the run ended first"
            .to_owned(),
    );
    for warning in &manifest.warnings {
        line("Note", format!("warning: {warning}"));
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
    let traces: Vec<String> = traces
        .map(|(name, hash)| format!("{name} (SHA-256 {hash})"))
        .collect();
    let policy = manifest.policy.as_deref().unwrap_or("no broker");
    format!(
        "scenario {}, {policy}, replication {} ({}), seed {}, {} clock; replayed: {}",
        manifest.study.scenario,
        manifest.replication,
        manifest.study.key,
        manifest.seed,
        manifest.clock,
        traces.join(", ")
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
