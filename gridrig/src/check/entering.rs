//! What enters where, from one look at each job: a study may have hundreds of
//! clusters and millions of jobs.

use gridrig_core::job::Entry;
use gridrig_core::time::SimTime;
use gridrig_tracelab::prepare::Prepared;
use std::collections::BTreeMap;

/// The jobs by where they enter.
#[derive(Default)]
pub(super) struct Entering {
    by_entry: BTreeMap<Entry, Entered>,
    /// Processor-seconds at speed 1.0 of all jobs.
    pub work_s: f64,
}

/// The jobs that enter at one place.
#[derive(Default)]
struct Entered {
    work_s: f64,
    arrivals: Vec<SimTime>,
}

impl Entering {
    pub fn of(prepared: &[Prepared]) -> Self {
        let mut all = Entering::default();
        for workload in prepared {
            for job in &workload.jobs {
                let work_s = job.spec.run_time.as_secs_f64() * f64::from(job.spec.processors());
                let here = all.by_entry.entry(workload.entry_of(job)).or_default();
                here.work_s += work_s;
                here.arrivals.push(job.at);
                all.work_s += work_s;
            }
        }
        all
    }

    /// Processor-seconds at speed 1.0 of what enters there.
    pub fn work_s_at(&self, entry: Entry) -> f64 {
        self.by_entry.get(&entry).map_or(0.0, |here| here.work_s)
    }

    /// Jobs that enter there.
    pub fn jobs_at(&self, entry: Entry) -> u64 {
        self.arrivals_at(entry).len() as u64
    }

    /// The most jobs that enter there within one of the slots `[k * length,
    /// (k + 1) * length)`.
    pub fn busiest(&self, entry: Entry, length: u64) -> u64 {
        let arrivals = self.arrivals_at(entry).iter();
        let mut slots: Vec<u64> = arrivals.map(|at| at.as_nanos() / length.max(1)).collect();
        slots.sort_unstable();
        let sizes = slots.chunk_by(|a, b| a == b).map(<[u64]>::len);
        sizes.max().unwrap_or(0) as u64
    }

    fn arrivals_at(&self, entry: Entry) -> &[SimTime] {
        self.by_entry.get(&entry).map_or(&[], |here| &here.arrivals)
    }
}
