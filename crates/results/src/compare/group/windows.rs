//! Windows of one trace that were run one by one: do they share jobs?

use super::super::error::Result;
use super::super::find::FoundRun;
use super::Study;
use crate::rundir::{RunDirError, TableColumns, names};
use std::collections::BTreeSet;

impl Study<'_> {
    /// Whether windows of one trace overlap that nobody declared to be replications. Under
    /// other seeds it is no window that varies, and the same jobs are replayed, or drawn from,
    /// by intention.
    pub(super) fn overlap(&self) -> Result<Option<String>> {
        let declared = |run: &FoundRun| run.manifest.study.varies.is_some();
        if self.keys.len() < 2 || self.all_runs().any(declared) {
            return Ok(None);
        }
        let (mut seen, mut windows) = (BTreeSet::new(), Vec::new());
        for key in &self.keys {
            let runs = self.runs_of(key);
            let Some(run) = runs.first().copied().filter(|run| {
                let has_trace = !run.manifest.trace_sha256.is_empty();
                has_trace && seen.insert((key.seed, key.workload.as_str()))
            }) else {
                continue;
            };
            let jobs = trace_jobs(run)?;
            let traces: Vec<&String> = run.manifest.trace_sha256.values().collect();
            if let (Some(first), Some(last)) = (jobs.first(), jobs.last()) {
                windows.push(((key.seed, traces), *first, *last, run));
            }
        }
        windows.sort_by(|a, b| (&a.0, a.1, a.2).cmp(&(&b.0, b.1, b.2)));
        for pair in windows.windows(2) {
            let [(of, _, last, run), (next_of, first, _, next)] = pair else {
                continue;
            };
            if of != next_of || first > last {
                continue;
            }
            let (jobs, others) = (trace_jobs(run)?, trace_jobs(next)?);
            let shared = jobs.iter().filter(|job| others.binary_search(job).is_ok());
            let shared = shared.count();
            if shared > 0 && shared < jobs.len().max(others.len()) {
                let text = "windows of the same trace overlap and share jobs";
                return Ok(Some(text.to_owned()));
            }
        }
        Ok(None)
    }
}

/// Which jobs of which workload a run replays, by their numbers in the trace, rising.
fn trace_jobs(run: &FoundRun) -> Result<Vec<(usize, u64)>, RunDirError> {
    let columns = TableColumns::open(&run.dir, names::JOBS)?;
    let workloads = columns.codes("workload")?;
    let known = &run.manifest.workloads;
    let place = |name: &String| known.iter().position(|known| known == name);
    let places: Vec<Option<usize>> = workloads.names.iter().map(place).collect();
    let numbers = columns.u64s("trace_job")?.into_iter();
    let jobs = numbers.zip(workloads.rows).filter_map(|(number, code)| {
        let place = places.get(usize::from(code)).copied().flatten()?;
        Some((place, number))
    });
    let mut jobs: Vec<(usize, u64)> = jobs.collect();
    jobs.sort_unstable();
    jobs.dedup();
    Ok(jobs)
}
