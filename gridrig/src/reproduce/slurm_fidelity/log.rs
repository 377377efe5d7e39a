//! What slurmctld's log says of each job, to the millisecond, where Slurm's
//! commands show seconds.

use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// Instants of a job, in milliseconds since 1970 of a clock in UTC.
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
    for line in log.lines() {
        let entry = || {
            let (at, words) = line.strip_prefix('[')?.split_once("] ")?;
            let job = words.split("JobId=").nth(1)?;
            let digits = job.find(|c: char| !c.is_ascii_digit());
            let job: u32 = job[..digits.unwrap_or(job.len())].parse().ok()?;
            Some((millis(at)?, words, job))
        };
        let Some((at, words, job)) = entry() else {
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
        place.get_or_insert(at);
    }
    jobs.retain(|_, logged| logged.submitted.is_some());
    jobs
}

/// `2026-11-21T13:18:39.435`
fn millis(text: &str) -> Option<u64> {
    let at: jiff::civil::DateTime = text.parse().ok()?;
    let at = TimeZone::UTC.to_timestamp(at).ok()?;
    u64::try_from(at.as_millisecond()).ok()
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
        let midnight = millis("2026-11-22T00:00:00.000").unwrap();
        let first = Logged {
            submitted: Some(midnight - 1_565),
            allocated: Some(midnight - 458),
            completed: Some(midnight + 2_301),
        };
        assert_eq!(jobs[&3], first);
        assert_eq!(jobs[&4].allocated, Some(midnight + 4_000));
        assert_eq!((jobs.len(), jobs[&4].completed), (2, None));
    }
}
