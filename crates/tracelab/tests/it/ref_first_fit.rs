//! A slow and obvious model of one first-in-first-fit site behind a broker.

use gridrig_core::job::Submission;

/// Broker cycle of the LSAP experiments, in nanoseconds.
const CYCLE: u64 = 5_000_000_000;

/// Delay of every job that starts, in seconds: until the next broker cycle,
/// then until enough of the processors are free for it, with the queue walked
/// in arrival order whenever something changes.
pub fn delays(jobs: &[Submission], processors: u32) -> Vec<f64> {
    let arrival = |job: &Submission| job.at.as_nanos().div_ceil(CYCLE) * CYCLE;
    let mut waiting: Vec<&Submission> = Vec::new();
    let mut coming = jobs.iter().peekable();
    let mut running: Vec<(u64, u32)> = Vec::new();
    let mut free = processors;
    let mut delays = Vec::new();
    loop {
        let next_end = running.iter().map(|r| r.0).min();
        let next_arrival = coming.peek().map(|job| arrival(job));
        let Some(now) = next_end.into_iter().chain(next_arrival).min() else {
            return delays;
        };
        running.retain(|(end, size)| {
            free += if *end == now { *size } else { 0 };
            *end != now
        });
        while let Some(job) = coming.next_if(|job| arrival(job) == now) {
            waiting.push(job);
        }
        waiting.retain(|job| {
            if job.spec.processors() > free {
                return true;
            }
            free -= job.spec.processors();
            running.push((now + job.spec.run_time.as_nanos(), job.spec.processors()));
            delays.push((now - job.at.as_nanos()) as f64 / 1e9);
            false
        });
    }
}
