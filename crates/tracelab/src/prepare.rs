//! From a trace, reduced as [`crate::reduce`] says, to the jobs of a run.

use crate::comments::Comments;
use crate::error::{Result, TraceError};
use crate::format::{ACCOUNT, EXECUTABLE, QUEUE, USER};
use crate::load::{Loaded, TraceJob, load};
use crate::reduce::{self, Reduced};
use crate::spec::{ComponentsFrom, Spread, SpreadBy, WorkloadSpec};
use crate::synth;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::{
    Components, Entry, JobLabel, JobSpec, MOST_COMPONENTS, Requirements, Submission,
};
use gridrig_core::rng;
use gridrig_core::time::SimTime;
use rand::RngExt as _;
use std::num::NonZeroU32;

/// A workload after its reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Jobs by submit time, ties in trace order; [`merge`] numbers them.
    pub jobs: Vec<Submission>,
    /// Where they enter, unless they are spread over the domains.
    pub entry: Entry,
    /// How the trace was reduced; its jobs have become those above.
    pub reduction: Reduced,
}

/// Reads a trace and reduces it; `index` is the position of the workload in
/// the scenario.
///
/// # Errors
/// Any [`TraceError`]: the file, or a step that makes no sense.
pub fn prepare(spec: &WorkloadSpec, index: u16) -> Result<Prepared> {
    let file = spec.trace.display().to_string();
    reduce::check(spec, &file)?;
    let loaded = match spec.is_model {
        true => {
            let seed = seed_of(spec.seed, index);
            synth::generate(&spec.trace, spec.size, seed, spec.model_load)?
        }
        false => load(&spec.trace, spec.size)?,
    };
    loaded.into_prepared(spec, index)
}

/// The seed of the model at this position of a scenario: two of one model are not alike.
fn seed_of(seed: u64, index: u16) -> u64 {
    match index {
        0 => seed,
        _ => rng::stream(seed, &format!("model-{index}")).random(),
    }
}

/// Puts the jobs of several workloads in one order and numbers them: by submit
/// time, then workload (in the order given), then trace order.
///
/// # Errors
/// [`TraceError::File`] when 32 bits cannot number them.
pub fn merge(workloads: Vec<Prepared>) -> Result<Vec<Submission>> {
    let total: usize = workloads.iter().map(|w| w.jobs.len()).sum();
    if u32::try_from(total).is_err() {
        return Err(TraceError::too_many_jobs("all workloads together"));
    }
    let mut jobs = workloads.into_iter().map(|workload| workload.jobs);
    let mut submissions = jobs.next().unwrap_or_default();
    submissions.reserve_exact(total - submissions.len());
    submissions.extend(jobs.flatten());
    submissions.sort_by_key(|s| s.at);
    for (id, submission) in (0u32..).zip(&mut submissions) {
        submission.spec.id = JobId(id);
    }
    Ok(submissions)
}

impl Prepared {
    /// Where a job of this workload enters: a workload that enters at a cluster
    /// does so whole.
    pub fn entry_of(&self, job: &Submission) -> Entry {
        match self.entry {
            Entry::Domain(_) => job.entry,
            Entry::Cluster(_) => self.entry,
        }
    }
}

impl Loaded {
    /// Reduces the trace. `spec.trace` and `spec.size` are not looked at: they
    /// were used when the trace was loaded.
    ///
    /// # Errors
    /// [`TraceError::File`] for a step that makes no sense, or a time that does
    /// not fit after scaling.
    pub fn into_prepared(self, spec: &WorkloadSpec, index: u16) -> Result<Prepared> {
        self.into_reduced(spec)?.into_prepared(spec, index)
    }
}

impl Reduced {
    /// The jobs of a run: shifted by the offset of the spec.
    ///
    /// # Errors
    /// [`TraceError::File`] for a time that does not fit.
    pub fn into_prepared(mut self, spec: &WorkloadSpec, index: u16) -> Result<Prepared> {
        let trace = &mut self.trace;
        let comments = match spec.components_from {
            ComponentsFrom::Comments => Comments::read(&trace.header, &trace.file)?,
            _ => Comments::default(),
        };
        let jobs = std::mem::take(&mut trace.jobs).into_iter();
        let jobs = jobs.map(|job| {
            let mut made = run_job(&job, spec, index, &trace.file)?;
            comments.apply(job.trace_id, &mut made.spec, &trace.file)?;
            Ok(made)
        });
        let mut jobs: Vec<Submission> = jobs.collect::<Result<_, _>>()?;
        if let Some(draw) = &spec.draw {
            let specs = jobs.iter_mut().map(|job| &mut job.spec);
            crate::draw::apply(draw, specs, spec.seed, index);
            if let Some(windows) = &draw.start_window {
                crate::draw::start_windows(windows, &mut jobs, spec.seed, index);
            }
        }
        if let (Entry::Domain(_), Some(spread)) = (spec.entry, spec.spread) {
            scatter(&mut jobs, spread, spec.seed, index);
        }
        Ok(Prepared {
            jobs,
            entry: spec.entry,
            reduction: self,
        })
    }
}

/// Gives every job the domain where it enters, in order of submission.
fn scatter(jobs: &mut [Submission], spread: Spread, seed: u64, workload: u16) {
    let mut random = rng::stream(seed, &format!("spread-{workload}"));
    let domains = spread.domains.max(1);
    for (turn, job) in jobs.iter_mut().enumerate() {
        let next = match spread.by {
            SpreadBy::RoundRobin => (turn % usize::from(domains)) as u16,
            SpreadBy::Random => random.random_range(0..domains),
        };
        job.entry = Entry::Domain(DomainId(next));
    }
}

/// Shifts by the offset and turns a trace job into a job of the run.
fn run_job(job: &TraceJob, spec: &WorkloadSpec, index: u16, file: &str) -> Result<Submission> {
    let at = SimTime::ZERO + job.submit + spec.offset;
    let end = at + job.run_time;
    for (what, nanos) in [("submit time", at.as_nanos()), ("end", end.as_nanos())] {
        if nanos == SimTime::MAX.as_nanos() {
            return Err(reduce::too_long(file, job, what));
        }
    }
    let mut requirements = Requirements::default();
    if spec.require_memory {
        requirements.memory_kib = job.requested_memory_kib;
    }
    let whole = Components::one(job.processors, requirements);
    let number = job.ids[QUEUE].filter(|_| spec.components_from == ComponentsFrom::Queue);
    let divided = number.filter(|number| (1..=MOST_COMPONENTS as u32).contains(number));
    let divided = divided.and_then(|number| crate::draw::divided(&whole.first, number));
    let components = divided.unwrap_or(whole);
    let number = |field: usize| job.ids[field].and_then(NonZeroU32::new);
    Ok(Submission {
        spec: JobSpec {
            requested_time: job.requested_time,
            account: number(ACCOUNT),
            executable: number(EXECUTABLE),
            preferences: spec.preferences.clone(),
            ..JobSpec::of(components, job.run_time)
        },
        at,
        entry: spec.entry,
        label: JobLabel {
            trace_id: job.trace_id,
            workload: index,
            user: job.ids[USER],
            failed_in_trace: job.failed,
        },
    })
}
