//! Jobs as the commands list them: the pending tasks of an array are one
//! record until they start.

use super::{Job, JobStore, State};
use crate::faces::slurm::batch::compress;
use crate::faces::slurm::depend::{self, Target};
use crate::slurm::times;
use gridrig_core::time::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// One line of a listing.
pub(in crate::faces::slurm) struct Record<'a> {
    pub job: &'a Job,
    /// Pending tasks of an array that stand together.
    pub tasks: Option<Vec<u32>>,
    pub reason: &'static str,
    pub node_list: String,
    pub nodes: u32,
    pub cpus: u32,
}

impl Record<'_> {
    /// `12`, `12_3`, `12_[4-6%2]`.
    pub fn id(&self) -> String {
        match (&self.job.task, &self.tasks) {
            (None, _) => self.job.id.to_string(),
            (Some(task), None) => format!("{}_{}", task.array, task.index),
            (Some(task), Some(_)) => format!("{}_[{}]", task.array, self.task_ids()),
        }
    }

    /// `3` or `4-6%2`; `N/A` without an array.
    pub fn task_ids(&self) -> String {
        let Some(task) = &self.job.task else {
            return "N/A".to_owned();
        };
        match (&self.tasks, task.at_a_time) {
            (None, _) => task.index.to_string(),
            (Some(tasks), None) => compress(tasks),
            (Some(tasks), Some(most)) => format!("{}%{most}", compress(tasks)),
        }
    }

    /// The number of the array, or of the job.
    pub fn array_id(&self) -> u32 {
        let task = self.job.task.as_ref();
        task.map_or(self.job.id, |task| task.array)
    }

    /// Zero while it is held; `--nice` takes from it.
    pub fn priority(&self) -> u32 {
        match self.job.hold {
            Some(_) => 0,
            None => {
                let nice = i64::from(self.job.priority).saturating_sub(self.job.batch.nice);
                u32::try_from(nice.clamp(1, i64::from(u32::MAX - 1))).unwrap_or(1)
            }
        }
    }

    /// What it waits for, as Slurm shows it.
    pub fn dependency(&self) -> String {
        match self.job.wishes.as_slice() {
            [] => "(null)".to_owned(),
            wishes => depend::show(wishes),
        }
    }

    /// When it started, or when it may begin if that lies ahead.
    pub fn start(&self, now: SimTime) -> Option<SimTime> {
        let ahead = self.job.begin.filter(|begin| *begin > now);
        let pending = self.job.state == State::Pending;
        self.job.start.or(ahead.filter(|_| pending))
    }

    /// Seconds that it has run.
    pub fn run_seconds(&self, now: SimTime) -> u64 {
        let Some(start) = self.job.start.filter(|_| self.job.state != State::Pending) else {
            return 0;
        };
        times::seconds(self.job.end.unwrap_or(now).since(start))
    }
}

impl JobStore {
    /// The records of these jobs, `apart` with one for each pending task.
    /// Jobs that have aged are left out.
    pub fn records(&self, now: SimTime, of: Option<&[Target]>, apart: bool) -> Vec<Record<'_>> {
        let chosen: Option<BTreeSet<u32>> = of.map(|targets| {
            let found = targets.iter().flat_map(|target| self.find(*target));
            found.collect()
        });
        let jobs: Box<dyn Iterator<Item = &Job>> = match &chosen {
            None => Box::new(self.jobs.values()),
            Some(seqs) => Box::new(seqs.iter().filter_map(|seq| self.jobs.get(seq))),
        };
        let mut records: Vec<Record<'_>> = Vec::new();
        let mut arrays: BTreeMap<(u32, Option<super::Hold>), usize> = BTreeMap::new();
        for job in jobs.filter(|job| !job.dropped && !self.is_aged(job, now)) {
            let waits = job.state == State::Pending && !apart;
            let task = job.task.as_ref().filter(|task| job.id == task.array);
            let Some(task) = task.filter(|_| waits) else {
                records.push(self.record(job, now));
                continue;
            };
            let at = *arrays
                .entry((task.array, job.hold))
                .or_insert(records.len());
            if at == records.len() {
                records.push(self.record(job, now));
            }
            records[at].tasks.get_or_insert_default().push(task.index);
        }
        // The last that waits of several is a job like any other.
        for record in &mut records {
            let alone = record.tasks.as_ref().is_some_and(|tasks| tasks.len() == 1);
            let task = record.job.task.as_ref();
            if alone && task.is_some_and(|task| task.shape.0 > 1) {
                record.tasks = None;
            }
        }
        records
    }

    /// One job by itself.
    pub fn record<'a>(&'a self, job: &'a Job, now: SimTime) -> Record<'a> {
        let allocated = self.site.nodes_of(&job.placement);
        let processors = self.processors(&job.batch);
        let (nodes, cpus) = match allocated.is_empty() {
            true => {
                let packed = processors.div_ceil(self.site.widest());
                let most = job.batch.most_nodes.unwrap_or(1);
                (packed.max(job.batch.fewest_nodes()).max(most), processors)
            }
            false => {
                let cpus = allocated.iter().map(|(_, cpus)| cpus).sum();
                (u32::try_from(allocated.len()).unwrap_or(u32::MAX), cpus)
            }
        };
        Record {
            job,
            tasks: None,
            reason: self.reason(job, now),
            node_list: self.site.node_list(&job.placement),
            nodes,
            cpus,
        }
    }
}
