//! Reduction: from a trace to the jobs of a run, step by step and accounted for.
//!
//! `docs/reduction.md` has every step with its formula.

mod steps;

use crate::error::TraceError;
use crate::load::{Loaded, TraceJob, generate, load};
use crate::reduce::WindowRanking;
use crate::spec::{Keep, Spread, SpreadBy, TraceWindow, WorkloadSpec};
use crate::swf::Header;
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Requirements, Submission};
use gridrig_core::rng;
use gridrig_core::time::{NANOS_PER_SEC, SimDuration, SimTime};
use rand::RngExt as _;
use std::collections::BTreeMap;

/// A job of a workload in the time of the run, before jobs of several
/// workloads are merged and numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedJob {
    /// When it is to be submitted.
    pub at: SimTime,
    /// Its size, at least 1.
    pub processors: u32,
    /// Run time at speed 1.0.
    pub run_time: SimDuration,
    /// The user's estimate, scaled like the run time.
    pub requested_time: Option<SimDuration>,
    /// What its nodes must offer.
    pub requirements: Requirements,
    /// Data that goes with it when it is forwarded, in KiB.
    pub data_kib: u64,
    /// Where it enters, of a workload that is spread over the domains.
    pub domain: Option<DomainId>,
    /// Where it came from.
    pub label: JobLabel,
}

/// A workload after its reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Jobs by submit time, ties in trace order.
    pub jobs: Vec<PreparedJob>,
    /// Where they enter.
    pub entry: Entry,
    /// Lines of the trace that are no usable job, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Jobs that the reduction left out, by reason: the name of a sanitizing
    /// rule, `wider-than-limit`, `outside-window`, `not-sampled`,
    /// `zero-run-time`.
    pub reduced: BTreeMap<&'static str, u64>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Header comments of the trace.
    pub header: Header,
    /// SHA-256 of the trace file on disk, in hex.
    pub sha256: String,
    /// The steps in order, from [`STEPS`]; a step that was not asked for
    /// changes nothing.
    pub steps: Vec<StepReport>,
    /// The window, given or chosen.
    pub window: Option<TraceWindow>,
    /// All windows it was chosen from, best first.
    pub ranking: Option<WindowRanking>,
    /// The sample; one that was chosen by its load is the share it came to.
    pub keep: Keep,
}

/// A trace after all steps but the offset, still as jobs of a trace: their
/// submit times count from time 0 of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// Jobs by submit time, ties in trace order.
    pub jobs: Vec<TraceJob>,
    /// What became time 0 of the run, counted from the log's time 0 before
    /// scaling.
    pub origin: SimDuration,
    /// As in [`Prepared`].
    pub skipped: BTreeMap<&'static str, u64>,
    /// As in [`Prepared`].
    pub reduced: BTreeMap<&'static str, u64>,
    /// As in [`Prepared`].
    pub warnings: Vec<String>,
    /// Header comments of the source.
    pub header: Header,
    /// The names behind the ids of the source, as in [`Loaded::names`].
    pub names: BTreeMap<&'static str, Vec<String>>,
    /// SHA-256 of the source on disk, in hex.
    pub sha256: String,
    /// The name of the source in messages.
    pub file: String,
    /// As in [`Prepared`].
    pub steps: Vec<StepReport>,
    /// As in [`Prepared`].
    pub window: Option<TraceWindow>,
    /// As in [`Prepared`].
    pub ranking: Option<WindowRanking>,
    /// As in [`Prepared`].
    pub keep: Keep,
}

/// The names of the steps, in order.
pub const STEPS: [&str; 7] = [
    "sanitize",
    "width-limit",
    "window",
    "keep",
    "zero-run-time",
    "scale",
    "min-run-time",
];

/// What one reduction step did to the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepReport {
    /// One of [`STEPS`].
    pub name: &'static str,
    /// Before the step.
    pub before: Load,
    /// After it.
    pub after: Load,
}

/// The load of a set of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Number of jobs.
    pub jobs: u64,
    /// Sum of run time x processors, in processor-nanoseconds.
    pub processor_nanos: u128,
    /// Time they arrive in: from the first to the last submit of the whole
    /// trace, the length of the window once there is one, divided by the
    /// arrival scale. Leaving out single jobs does not change it.
    pub span: SimDuration,
}

impl Load {
    /// Processor-seconds wanted per second over processors there are; `None`
    /// without span or processors.
    #[must_use]
    pub fn offered(&self, processors: u64) -> Option<f64> {
        let capacity = u128::from(processors) * u128::from(self.span.as_nanos());
        (capacity > 0).then(|| self.processor_nanos as f64 / capacity as f64)
    }

    /// Sum of run time x processors in processor-seconds.
    #[must_use]
    pub fn processor_seconds(&self) -> f64 {
        self.processor_nanos as f64 / NANOS_PER_SEC as f64
    }
}

/// Reads a trace and reduces it; `index` is the position of the workload in
/// the scenario.
///
/// # Errors
/// Any [`TraceError`]: the file, or a step that makes no sense.
pub fn prepare(spec: &WorkloadSpec, index: u16) -> Result<Prepared, TraceError> {
    let file = spec.trace.display().to_string();
    steps::check(spec, &file)?;
    let loaded = match spec.is_model {
        true => generate(&spec.trace, spec.size, spec.seed)?,
        false => load(&spec.trace, spec.size)?,
    };
    loaded.into_prepared(spec, index)
}

/// Puts the jobs of several workloads in one order and numbers them: by submit
/// time, then workload (in the order given), then trace order.
///
/// # Errors
/// [`TraceError::TooManyJobs`] when 32 bits cannot number them.
pub fn merge(workloads: Vec<Prepared>) -> Result<Vec<Submission>, TraceError> {
    let total: usize = workloads.iter().map(|w| w.jobs.len()).sum();
    if u32::try_from(total).is_err() {
        return Err(TraceError::TooManyJobs {
            file: "all workloads together".to_owned(),
            limit: u64::from(u32::MAX),
        });
    }
    let mut submissions = Vec::with_capacity(total);
    for workload in workloads {
        let entry = workload.entry;
        let jobs = workload.jobs.into_iter();
        submissions.extend(jobs.map(|job| {
            let entry = job.entry(entry);
            job.submission(entry)
        }));
    }
    submissions.sort_by_key(|s| s.at);
    for (id, submission) in (0u32..).zip(&mut submissions) {
        submission.spec.id = JobId(id);
    }
    Ok(submissions)
}

impl PreparedJob {
    /// Where it enters, given where its workload does.
    #[must_use]
    pub fn entry(&self, workload: Entry) -> Entry {
        match (workload, self.domain) {
            (Entry::Domain(_), Some(own)) => Entry::Domain(own),
            _ => workload,
        }
    }

    /// As a submission that waits for its number.
    fn submission(self, entry: Entry) -> Submission {
        Submission {
            spec: JobSpec {
                id: JobId(0),
                processors: self.processors,
                run_time: self.run_time,
                requested_time: self.requested_time,
                requirements: self.requirements,
                data_kib: self.data_kib,
            },
            at: self.at,
            entry,
            label: self.label,
        }
    }
}

impl Loaded {
    /// Reduces a copy of the trace, which can so be read once for many
    /// windows or samples. `spec.trace` and `spec.size` are not looked at:
    /// they were used when the trace was loaded.
    ///
    /// # Errors
    /// [`TraceError::Step`] for a step that makes no sense,
    /// [`TraceError::TooLong`] for a time that does not fit after scaling.
    pub fn prepare(&self, spec: &WorkloadSpec, index: u16) -> Result<Prepared, TraceError> {
        self.clone().into_prepared(spec, index)
    }

    /// As [`Loaded::prepare`], without the copy.
    ///
    /// # Errors
    /// The same.
    pub fn into_prepared(self, spec: &WorkloadSpec, index: u16) -> Result<Prepared, TraceError> {
        self.into_reduced(spec)?.into_prepared(spec, index)
    }

    /// All steps but the offset, as jobs of a trace: what is written when a
    /// reduction becomes a trace of its own.
    ///
    /// # Errors
    /// As [`Loaded::prepare`].
    pub fn into_reduced(self, spec: &WorkloadSpec) -> Result<Reduced, TraceError> {
        steps::reduce(self, spec)
    }
}

impl Reduced {
    /// The jobs of a run: shifted by the offset of the spec.
    ///
    /// # Errors
    /// [`TraceError::TooLong`] for a time that does not fit.
    pub fn into_prepared(self, spec: &WorkloadSpec, index: u16) -> Result<Prepared, TraceError> {
        let jobs = self.jobs.iter();
        let jobs = jobs.map(|job| run_job(job, spec, index, &self.file));
        let mut jobs: Vec<PreparedJob> = jobs.collect::<Result<_, _>>()?;
        if let Some(draw) = &spec.draw {
            draw.apply(&mut jobs, spec.seed, index);
        }
        if let Some(spread) = spec.spread {
            scatter(&mut jobs, spread, spec.seed, index);
        }
        Ok(Prepared {
            jobs,
            entry: spec.entry,
            skipped: self.skipped,
            reduced: self.reduced,
            warnings: self.warnings,
            header: self.header,
            sha256: self.sha256,
            steps: self.steps,
            window: self.window,
            ranking: self.ranking,
            keep: self.keep,
        })
    }
}

/// Gives every job the domain where it enters, in order of submission.
fn scatter(jobs: &mut [PreparedJob], spread: Spread, seed: u64, workload: u16) {
    let mut random = rng::stream(seed, &format!("spread-{workload}"));
    let domains = spread.domains.max(1);
    for (turn, job) in jobs.iter_mut().enumerate() {
        let next = match spread.by {
            SpreadBy::RoundRobin => (turn % usize::from(domains)) as u16,
            SpreadBy::Random => random.random_range(0..domains),
        };
        job.domain = Some(DomainId(next));
    }
}

/// Shifts by the offset and turns a trace job into a job of the run.
fn run_job(
    job: &TraceJob,
    spec: &WorkloadSpec,
    index: u16,
    file: &str,
) -> Result<PreparedJob, TraceError> {
    let at = SimTime::ZERO + job.submit + spec.offset;
    let end = at + job.run_time;
    for (what, nanos) in [("submit time", at.as_nanos()), ("end", end.as_nanos())] {
        if nanos == SimTime::MAX.as_nanos() {
            return Err(steps::too_long(file, job, what));
        }
    }
    let mut requirements = Requirements::default();
    if spec.require_memory {
        requirements.memory_kib = job.requested_memory_kib;
    }
    Ok(PreparedJob {
        at,
        processors: job.processors,
        run_time: job.run_time,
        requested_time: job.requested_time,
        requirements,
        data_kib: 0,
        domain: None,
        label: JobLabel {
            trace_id: job.trace_id,
            workload: index,
            user: job.user,
            failed_in_trace: job.failed,
        },
    })
}
