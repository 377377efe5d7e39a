//! What slurmctld's log says of each job, to the millisecond, where Slurm's
//! commands show seconds.

use std::collections::BTreeMap;

/// Instants of a job, in milliseconds of one day and those after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Logged {
    /// The controller has it.
    pub submitted: Option<u64>,
    /// It has its processors.
    pub allocated: Option<u64>,
    /// It has ended by itself.
    pub completed: Option<u64>,
}

/// The jobs of a log, by Slurm's number.
pub(super) fn read(log: &str) -> BTreeMap<u32, Logged> {
    let mut jobs: BTreeMap<u32, Logged> = BTreeMap::new();
    let mut midnight = (String::new(), 0);
    for line in log.lines() {
        let Some((at, words)) = line
            .strip_prefix('[')
            .and_then(|line| line.split_once("] "))
        else {
            continue;
        };
        let Some((day, at)) = instant(at) else {
            continue;
        };
        if day != midnight.0 {
            // The first day counts from 0, and a study is shorter than two.
            let next = if midnight.0.is_empty() { 0 } else { DAY };
            midnight = (day.to_owned(), midnight.1 + next);
        }
        let Some(job) = words.split("JobId=").nth(1).and_then(number) else {
            continue;
        };
        let logged = jobs.entry(job).or_default();
        let place = if words.starts_with("_slurm_rpc_submit_batch_job:") {
            &mut logged.submitted
        } else if words.starts_with("sched: Allocate ") || words.contains("_start_job: Started ") {
            &mut logged.allocated
        } else if words.starts_with("_job_complete:") && words.ends_with(" done") {
            &mut logged.completed
        } else {
            continue;
        };
        place.get_or_insert(midnight.1 + at);
    }
    jobs.retain(|_, logged| logged.submitted.is_some());
    jobs
}

const DAY: u64 = 86_400_000;

/// `2026-11-21T13:18:39.435` as its day and milliseconds.
fn instant(text: &str) -> Option<(&str, u64)> {
    let (day, time) = text.split_once('T')?;
    let (time, millis) = time.split_once('.')?;
    let mut seconds = 0;
    for part in time.split(':') {
        seconds = seconds * 60 + part.parse::<u64>().ok()?;
    }
    Some((day, seconds * 1000 + millis.parse::<u64>().ok()?))
}

fn number(text: &str) -> Option<u32> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instants_of_a_job_are_read_across_midnight() {
        let log = "[2026-11-21T23:59:58.435] _slurm_rpc_submit_batch_job: JobId=3 InitPrio=1 usec=9\n\
            [2026-11-21T23:59:58.500] debug2: sched: JobId=3 allocated resources: NodeList=(null)\n\
            [2026-11-21T23:59:59.542] sched: Allocate JobId=3 NodeList=n3 #CPUs=1 Partition=compute\n\
            [2026-11-22T00:00:02.300] _job_complete: JobId=3 WEXITSTATUS 0\n\
            [2026-11-22T00:00:02.301] _job_complete: JobId=3 done\n\
            a line without a date, JobId=9\n\
            [2026-11-22T00:00:03.000] _slurm_rpc_submit_batch_job: JobId=4 InitPrio=1 usec=9\n\
            [2026-11-22T00:00:04.000] sched/backfill: _start_job: Started JobId=4 in compute on n1\n";
        let jobs = read(log);
        let first = Logged {
            submitted: Some(DAY - 1_565),
            allocated: Some(DAY - 458),
            completed: Some(DAY + 2_301),
        };
        assert_eq!(jobs[&3], first);
        assert_eq!(jobs[&4].allocated, Some(DAY + 4_000));
        assert_eq!((jobs.len(), jobs[&4].completed), (2, None));
    }
}
