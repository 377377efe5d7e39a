//! Reduction: from a trace to the jobs of a run, step by step and accounted for.
//!
//! `docs/reduction.md` has every step with its formula.

use crate::error::TraceError;
use crate::load::{Loaded, TraceJob, load};
use crate::spec::{Keep, TraceWindow, WorkloadSpec, ZeroRunTime};
use crate::swf::Header;
use gridrig_core::ids::JobId;
use gridrig_core::job::{Entry, JobLabel, JobSpec, Requirements, Submission};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, NANOS_PER_SEC, SimDuration, SimTime};
use rand::Rng;
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
    /// Jobs that the reduction left out, by reason: `wider-than-limit`,
    /// `outside-window`, `not-sampled`, `zero-run-time`.
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
}

/// The names of the steps, in order.
pub const STEPS: [&str; 6] = [
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
    check_steps(spec, &file)?;
    load(&spec.trace, spec.size)?.into_prepared(spec, index)
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
        submissions.extend(workload.jobs.into_iter().map(|job| job.submission(entry)));
    }
    submissions.sort_by_key(|s| s.at);
    for (id, submission) in (0u32..).zip(&mut submissions) {
        submission.spec.id = JobId(id);
    }
    Ok(submissions)
}

impl PreparedJob {
    /// As a submission that waits for its number.
    fn submission(self, entry: Entry) -> Submission {
        Submission {
            spec: JobSpec {
                id: JobId(0),
                processors: self.processors,
                run_time: self.run_time,
                requested_time: self.requested_time,
                requirements: self.requirements,
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
        check_steps(spec, &self.file)?;
        let mut reduction = Reduction::new(self.jobs);
        reduction.limit_width(spec.max_processors);
        reduction.cut_window(spec.window);
        reduction.sample(spec.keep);
        reduction.settle_zero_run_times(spec.zero_run_time);
        reduction.scale(spec);
        reduction.lift_short_runs(spec.min_run_time);
        let mut warnings = self.warnings;
        if reduction.jobs.is_empty() {
            warnings.push(format!("{}: the reduction leaves no job", self.file));
        }
        Ok(Prepared {
            jobs: reduction.finish(spec, index, &self.file)?,
            entry: spec.entry,
            skipped: self.skipped,
            reduced: reduction.reduced,
            warnings,
            header: self.header,
            sha256: self.sha256,
            steps: reduction.steps,
        })
    }
}

/// Refuses steps that no scenario can mean.
fn check_steps(spec: &WorkloadSpec, file: &str) -> Result<(), TraceError> {
    let refuse = |field, value: String, expected| {
        Err(TraceError::Step {
            file: file.to_owned(),
            field,
            value,
            expected,
        })
    };
    for (field, factor) in [
        ("scale.arrival", spec.scale_arrival),
        ("scale.run_time", spec.scale_run_time),
    ] {
        if factor.is_zero() {
            return refuse(field, factor.to_string(), "a factor above 0");
        }
    }
    if spec.max_processors == Some(0) {
        return refuse("max_processors", "0".to_owned(), "at least 1");
    }
    match spec.keep {
        Keep::Systematic { m, n, .. } if m == 0 || m > n => {
            refuse("keep", format!("{m}/{n}"), "m/n with 0 < m <= n")
        }
        Keep::Share { share, .. } if share.is_zero() || share.compare(Decimal::ONE).is_gt() => {
            refuse("keep", share.to_string(), "a share above 0 and at most 1")
        }
        _ => Ok(()),
    }
}

/// The jobs on their way through the steps.
struct Reduction {
    jobs: Vec<TraceJob>,
    /// What becomes time 0 of the run.
    origin: SimDuration,
    load: Load,
    steps: Vec<StepReport>,
    reduced: BTreeMap<&'static str, u64>,
}

impl Reduction {
    fn new(jobs: Vec<TraceJob>) -> Self {
        let first = jobs.first().map_or(SimDuration::ZERO, |j| j.submit);
        let last = jobs.last().map_or(SimDuration::ZERO, |j| j.submit);
        let load = Load {
            span: last - first,
            ..measure(&jobs)
        };
        Reduction {
            jobs,
            origin: first,
            load,
            steps: Vec::with_capacity(STEPS.len()),
            reduced: BTreeMap::new(),
        }
    }

    /// Closes a step: what it left out is counted under `reason`.
    fn report(&mut self, span: SimDuration, reason: &'static str) {
        let after = Load {
            span,
            ..measure(&self.jobs)
        };
        let lost = self.load.jobs - after.jobs;
        if lost > 0 {
            self.reduced.insert(reason, lost);
        }
        self.steps.push(StepReport {
            name: STEPS[self.steps.len()],
            before: self.load,
            after,
        });
        self.load = after;
    }

    fn limit_width(&mut self, limit: Option<u32>) {
        if let Some(limit) = limit {
            self.jobs.retain(|job| job.processors <= limit);
        }
        self.report(self.load.span, "wider-than-limit");
    }

    fn cut_window(&mut self, window: Option<TraceWindow>) {
        let mut span = self.load.span;
        if let Some(window) = window {
            let end = window.start + window.length;
            self.jobs
                .retain(|job| window.start <= job.submit && job.submit < end);
            self.origin = window.start;
            span = window.length;
        }
        self.report(span, "outside-window");
    }

    fn sample(&mut self, keep: Keep) {
        match keep {
            Keep::All => {}
            Keep::Systematic { m, n, phase } => {
                let mut index: u128 = 0;
                let kept_before = |i: u128| i * u128::from(m) / u128::from(n);
                self.jobs.retain(|_| {
                    let i = index + u128::from(phase);
                    index += 1;
                    kept_before(i + 1) > kept_before(i)
                });
            }
            Keep::Share { share, seed } => {
                let mut stream = rng::stream(seed, "sample");
                // 53 bits are all a float holds exactly, so a share of 1
                // keeps every job.
                let bound = share.as_f64() * (1u64 << 53) as f64;
                self.jobs
                    .retain(|_| ((stream.next_u64() >> 11) as f64) < bound);
            }
        }
        self.report(self.load.span, "not-sampled");
    }

    fn settle_zero_run_times(&mut self, rule: ZeroRunTime) {
        match rule {
            ZeroRunTime::Keep => {}
            ZeroRunTime::Drop => self.jobs.retain(|job| !job.run_time.is_zero()),
            ZeroRunTime::As(length) => {
                for job in self.jobs.iter_mut().filter(|j| j.run_time.is_zero()) {
                    job.run_time = length;
                }
            }
        }
        self.report(self.load.span, "zero-run-time");
    }

    /// Moves submit times to the run's origin and divides all times. A result
    /// that does not fit saturates here and is refused at the end.
    fn scale(&mut self, spec: &WorkloadSpec) {
        let divided = |factor: Decimal, time: SimDuration| {
            SimDuration::from_nanos(factor.divide(time.as_nanos()))
        };
        for job in &mut self.jobs {
            job.submit = divided(spec.scale_arrival, job.submit - self.origin);
            job.run_time = divided(spec.scale_run_time, job.run_time);
            job.requested_time = job
                .requested_time
                .map(|time| divided(spec.scale_run_time, time));
        }
        let span = divided(spec.scale_arrival, self.load.span);
        self.report(span, "scaled-away");
    }

    /// An estimate is lifted with the run, or the job would outlive an
    /// estimate that it kept in the trace.
    fn lift_short_runs(&mut self, shortest: SimDuration) {
        for job in &mut self.jobs {
            job.run_time = job.run_time.max(shortest);
            job.requested_time = job.requested_time.map(|time| time.max(shortest));
        }
        self.report(self.load.span, "too-short");
    }

    /// Shifts by the offset and turns trace jobs into jobs of the run.
    fn finish(
        &self,
        spec: &WorkloadSpec,
        index: u16,
        file: &str,
    ) -> Result<Vec<PreparedJob>, TraceError> {
        let convert = |job: &TraceJob| {
            let at = SimTime::ZERO + job.submit + spec.offset;
            let requested = job.requested_time.unwrap_or_default();
            for (what, nanos) in [
                ("submit time", at.as_nanos()),
                ("run time", job.run_time.as_nanos()),
                ("requested time", requested.as_nanos()),
                ("end", (at + job.run_time).as_nanos()),
            ] {
                if nanos == u64::MAX {
                    return Err(TraceError::TooLong {
                        file: file.to_owned(),
                        job: job.trace_id,
                        what,
                    });
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
                label: JobLabel {
                    trace_id: job.trace_id,
                    workload: index,
                    user: job.user,
                    failed_in_trace: job.failed,
                },
            })
        };
        self.jobs.iter().map(convert).collect()
    }
}

/// Jobs and demand; the span is the caller's to know.
fn measure(jobs: &[TraceJob]) -> Load {
    let demand = |job: &TraceJob| u128::from(job.processors) * u128::from(job.run_time.as_nanos());
    Load {
        jobs: jobs.len() as u64,
        processor_nanos: jobs.iter().map(demand).sum(),
        span: SimDuration::ZERO,
    }
}
