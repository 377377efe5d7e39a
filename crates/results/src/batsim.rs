//! The jobs in the columns of Batsim's `_jobs.csv`, with the processors of
//! each job by number, so that evalys and its kin draw the Gantt chart.

use crate::index::JobIndex;
use crate::jobs::{JobRow, JobState, JobTable};
use crate::log::EventLog;
use crate::processors::Processors;
use gridrig_core::event::EventKind;
use gridrig_core::grid::Grid;
use gridrig_core::ids::ClusterId;
use gridrig_core::job::Submission;
use gridrig_core::time::{SimDuration, SimTime};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;

const HEADER: &str = "job_id,workload_name,profile,submission_time,\
                      requested_number_of_resources,requested_time,success,final_state,\
                      starting_time,execution_time,finish_time,waiting_time,turnaround_time,\
                      stretch,allocated_resources,consumed_energy,metadata";

/// Writes the file, one line per submitted job in the order of the workload.
/// Times are seconds since the run's start; what a job does not have is
/// empty. `docs/run-directory.md` says what stands in each column.
///
/// # Errors
/// An output that refuses.
pub fn jobs_csv(
    log: &EventLog,
    table: &JobTable,
    submissions: &[Submission],
    grid: &Grid,
    out: impl io::Write,
) -> io::Result<()> {
    let allocated = allocate(log, submissions, grid);
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(HEADER.split(','))?;
    for (index, (row, job)) in table.rows().iter().zip(submissions).enumerate() {
        if row.submit.is_some() {
            let processors = allocated.get(&index).map(String::as_str);
            for field in fields(table, row, job, processors.unwrap_or_default()) {
                csv.write_field(field.as_bytes())?;
            }
            csv.write_record(None::<&[u8]>)?;
        }
    }
    csv.flush()
}

fn fields<'a>(
    table: &'a JobTable,
    row: &JobRow,
    job: &Submission,
    processors: &'a str,
) -> [Cow<'a, str>; 17] {
    let end = row.start.and(row.end);
    let ran = row
        .start
        .zip(end)
        .map(|(start, end)| end.since(start) + row.kept());
    let turnaround = row.submit.zip(end).map(|(submit, end)| end.since(submit));
    let stretch = match (turnaround, ran) {
        (Some(turnaround), Some(ran)) if !ran.is_zero() => {
            Some(turnaround.as_secs_f64() / ran.as_secs_f64())
        }
        _ => None,
    };
    let requested = job
        .spec
        .requested_time
        .map(|time| time.seconds().to_string());
    let at = |time: Option<SimTime>| shown(time.map(|time| time.since(SimTime::ZERO)));
    let is_success = row.state == JobState::Completed;
    [
        row.job.0.to_string().into(),
        table.workload(row.label.workload),
        // Batsim's profile says what a job does; here it is a length.
        job.spec.run_time.seconds().to_string().into(),
        at(row.submit),
        row.processors.to_string().into(),
        requested.unwrap_or_else(|| "-1".to_owned()).into(),
        if is_success { "1" } else { "0" }.into(),
        final_state(row).into(),
        at(row.start),
        shown(ran),
        at(end),
        shown(row.submit.zip(row.start).map(|(s, start)| start.since(s))),
        shown(turnaround),
        stretch.map_or(Cow::Borrowed(""), |s| s.to_string().into()),
        processors.into(),
        "".into(),
        row.cluster
            .map_or(Cow::Borrowed(""), |id| table.names().cluster(id)),
    ]
}

fn final_state(row: &JobRow) -> &'static str {
    match row.state {
        JobState::Completed => "COMPLETED_SUCCESSFULLY",
        JobState::Rejected => "REJECTED",
        JobState::Cancelled => "COMPLETED_KILLED",
        JobState::Failed => "COMPLETED_FAILED",
        JobState::Unfinished if row.start.is_some() => "RUNNING",
        JobState::Unfinished => "SUBMITTED",
    }
}

/// Exact decimal seconds.
fn shown(value: Option<SimDuration>) -> Cow<'static, str> {
    value.map_or(Cow::Borrowed(""), |value| {
        value.seconds().to_string().into()
    })
}

/// The processors of each job (by position of its submission), numbered
/// through all clusters.
fn allocate(log: &EventLog, submissions: &[Submission], grid: &Grid) -> BTreeMap<usize, String> {
    let index = JobIndex::new(submissions);
    let mut processors = Processors::new(grid.clusters.iter().map(|cluster| {
        let groups = cluster.config.resources.groups().iter();
        groups.map(|group| (group.count, group.cpu_count))
    }));
    let mut held: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut parts: BTreeMap<usize, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    let mut shown = BTreeMap::new();
    for (_, event) in log.records() {
        let Some(job) = event.job.and_then(|job| index.find(job)) else {
            continue;
        };
        let cluster = event.by.cluster().map_or(usize::MAX, ClusterId::index);
        match event.kind {
            EventKind::Claimed => {
                let taken = processors.take(cluster, event.placement);
                parts.entry(job).or_default().insert(cluster, taken);
            }
            EventKind::ClaimEnded => {
                let ended = parts.get_mut(&job).and_then(|own| own.remove(&cluster));
                processors.give_back(&ended.unwrap_or_default());
            }
            EventKind::Started if parts.contains_key(&job) => {
                let all = parts[&job].values().flatten().copied();
                let mut all: Vec<usize> = all.collect();
                all.sort_unstable();
                shown.insert(job, intervals(&all));
            }
            EventKind::Started if !shown.contains_key(&job) => {
                let taken = processors.take(cluster, event.placement);
                shown.insert(job, intervals(&taken));
                held.insert(job, taken);
            }
            EventKind::Requeued => {
                processors.give_back(&held.remove(&job).unwrap_or_default());
                shown.remove(&job);
            }
            // One that is cancelled elsewhere has not started, or ends later.
            EventKind::Cancelled if event.by.cluster().is_none() => {}
            EventKind::Finished | EventKind::Cancelled | EventKind::Failed => {
                processors.give_back(&held.remove(&job).unwrap_or_default());
            }
            _ => {}
        }
    }
    shown
}

/// Rising numbers as Batsim's interval set: `0-3 7`.
fn intervals(numbers: &[usize]) -> String {
    let mut text = String::new();
    for run in numbers.chunk_by(|a, b| *b == *a + 1) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        if !text.is_empty() {
            text.push(' ');
        }
        // Writing to a String cannot fail.
        let _ = match first == last {
            true => write!(text, "{first}"),
            false => write!(text, "{first}-{last}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_shown_as_intervals() {
        assert_eq!(intervals(&[0, 1, 2, 3, 7]), "0-3 7");
        assert_eq!(intervals(&[5]), "5");
        assert_eq!(intervals(&[]), "");
    }
}
