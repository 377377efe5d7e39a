//! The steps of a reduction, one after the other.

use super::outcome::{Load, Reduced, STEPS, StepReport};
use super::provenance::Provenance;
use super::rank::{MAX_WINDOWS, Unrankable, WindowRanking, rank_windows};
use super::sample;
use crate::error::{Result, TraceError};
use crate::load::{Loaded, TraceJob};
use crate::sanitize::{self, Rules};
use crate::spec::{Keep, TraceWindow, WindowChoice, WorkloadSpec, ZeroRunTime};
use gridrig_core::time::{Decimal, SimDuration};
use std::collections::BTreeMap;

const HOUR: SimDuration = SimDuration::from_secs(3_600);
const DAY: SimDuration = SimDuration::from_secs(86_400);

impl Loaded {
    /// All steps but the offset, as jobs of a trace: what is written when a
    /// reduction becomes a trace of its own.
    ///
    /// # Errors
    /// [`TraceError::File`] for a step that makes no sense, or a time that does
    /// not fit after scaling.
    pub fn into_reduced(mut self, spec: &WorkloadSpec) -> Result<Reduced> {
        check(spec, &self.file)?;
        let made_by = Provenance::of(&self.header).transpose();
        let made_by = made_by.unwrap_or_else(|problem| {
            self.warnings.push(format!(
                "{}: {problem}; the trace is treated as one that was not reduced",
                self.file
            ));
            None
        });
        let mut reduction = Reduced::new(self, made_by.as_ref());
        reduction.sanitize(spec.sanitize.rules());
        reduction.limit_width(spec.max_processors);
        if let Some(choice) = &spec.choose {
            reduction.ranking = Some(reduction.rank(choice)?);
        }
        let best = reduction.ranking.as_ref().and_then(WindowRanking::best);
        reduction.cut_window(spec.window.or(best));
        reduction.sample(spec);
        reduction.settle_zero_run_times(spec.zero_run_time);
        reduction.scale(spec);
        reduction.lift_short_runs(spec.min_run_time);
        reduction.check_times()?;
        if reduction.trace.jobs.is_empty() {
            reduction.warn("the reduction leaves no job");
        }
        Ok(reduction)
    }
}

fn in_days(time: SimDuration) -> String {
    format!("{:.2}", time.as_secs_f64() / 86_400.0)
}

/// A time as people write it: in days or hours if these are whole.
fn plain(time: SimDuration) -> String {
    let units = [(DAY, "d"), (HOUR, "h")].into_iter();
    let mut whole = units.filter(|(unit, _)| time.as_nanos().is_multiple_of(unit.as_nanos()));
    match whole.next().filter(|_| !time.is_zero()) {
        Some((unit, name)) => format!("{}{name}", time.as_nanos() / unit.as_nanos()),
        None => time.to_string(),
    }
}

/// A time that nobody wrote, in two decimals and never longer than it is.
fn rounded(time: SimDuration) -> String {
    let (unit, name) = if time >= DAY {
        (DAY, "d")
    } else if time >= HOUR {
        (HOUR, "h")
    } else {
        (SimDuration::from_secs(1), "s")
    };
    let hundredths = u128::from(time.as_nanos()) * 100 / u128::from(unit.as_nanos());
    format!("{}.{:02} {name}", hundredths / 100, hundredths % 100)
}

/// Refuses steps that no scenario can mean.
pub(crate) fn check(spec: &WorkloadSpec, file: &str) -> Result<()> {
    let refuse =
        |field, value: String, expected: &str| Err(refusal(file, field, value, expected.into()));
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
    if let (Some(window), Some(_)) = (spec.window, spec.choose) {
        let start = window.start.to_string();
        return refuse("window.start", start, "a window given or chosen, not both");
    }
    match spec.keep {
        Keep::Systematic { m, n, .. } if m == 0 || m > n => {
            refuse("keep", format!("{m}/{n}"), "m/n with 0 < m <= n")
        }
        Keep::Share { share, .. } if share.is_zero() || share > Decimal::ONE => {
            refuse("keep", share.to_string(), "a share above 0 and at most 1")
        }
        Keep::Load { offered, .. } if offered.is_zero() => {
            refuse("load.offered", offered.to_string(), "a load above 0")
        }
        Keep::Load { processors: 0, .. } => refuse("load.processors", "0".to_owned(), "at least 1"),
        _ => Ok(()),
    }
}

fn refusal(file: &str, field: &str, value: String, expected: String) -> TraceError {
    let problem = format!("field {field} = \"{value}\": expected {expected}");
    TraceError::file(file, problem)
}

pub(crate) fn too_long(file: &str, job: &TraceJob, what: &str) -> TraceError {
    let id = job.trace_id;
    let problem = format!("job {id}: its {what} does not fit 584 years after scaling and offset");
    TraceError::file(file, problem)
}

impl Reduced {
    /// A trace that is itself the outcome of a reduction begins at its own
    /// time 0 and lasts as long as its window did, whenever its first and its
    /// last job come.
    fn new(trace: Loaded, made_by: Option<&Provenance>) -> Self {
        let first = trace.jobs.first().map_or(SimDuration::ZERO, |j| j.submit);
        let last = trace.jobs.last().map_or(SimDuration::ZERO, |j| j.submit);
        let load = Load {
            span: made_by.map_or(last - first, |made| made.span_s),
            ..measure(&trace.jobs)
        };
        Reduced {
            trace,
            origin: made_by.map_or(first, |_| SimDuration::ZERO),
            load,
            steps: Vec::with_capacity(STEPS.len()),
            reduced: BTreeMap::new(),
            window: None,
            ranking: None,
            keep: Keep::All,
        }
    }

    fn warn(&mut self, what: &str) {
        let file = &self.trace.file;
        self.trace.warnings.push(format!("{file}: {what}"));
    }

    /// Closes a step: what it left out is counted under `reason`.
    fn report(&mut self, span: SimDuration, reason: &'static str) {
        let lost = self.load.jobs - self.trace.jobs.len() as u64;
        if lost > 0 {
            self.reduced.insert(reason, lost);
        }
        self.close(span);
    }

    /// Closes a step whose losses have been counted.
    fn close(&mut self, span: SimDuration) {
        let after = Load {
            span,
            ..measure(&self.trace.jobs)
        };
        self.steps.push(StepReport {
            name: STEPS[self.steps.len()],
            before: self.load,
            after,
        });
        self.load = after;
    }

    fn sanitize(&mut self, rules: &Rules) {
        if !rules.is_empty() {
            for report in sanitize::apply(rules, &mut self.trace) {
                if report.removed > 0 {
                    *self.reduced.entry(report.rule).or_default() += report.removed;
                }
            }
        }
        self.close(self.load.span);
    }

    fn limit_width(&mut self, limit: Option<u32>) {
        if let Some(limit) = limit {
            self.trace.jobs.retain(|job| job.processors <= limit);
        }
        self.report(self.load.span, "wider-than-limit");
    }

    /// Ranks the windows of what is left of the whole trace.
    fn rank(&self, choice: &WindowChoice) -> Result<WindowRanking> {
        rank_windows(&self.trace.jobs, choice).map_err(|why| {
            let (length, step) = (plain(choice.length), plain(choice.step));
            let (field, value, expected) = match why {
                Unrankable::Zero if choice.step.is_zero() => {
                    ("window.step", step, "a duration above 0".to_owned())
                }
                Unrankable::Zero => ("window.length", length, "a duration above 0".to_owned()),
                Unrankable::TooLong(steady) => (
                    "window.length",
                    length,
                    format!(
                        "a window that starts at a multiple of {step} and fits the trace without \
                         warm-up and wrap-up, which is {} long",
                        rounded(steady)
                    ),
                ),
                Unrankable::TooMany(count) => (
                    "window.step",
                    step,
                    format!(
                        "a step that leaves at most {} windows, not {count}",
                        MAX_WINDOWS
                    ),
                ),
                Unrankable::Empty => (
                    "window.length",
                    length,
                    "a window that holds at least two jobs somewhere".to_owned(),
                ),
            };
            refusal(&self.trace.file, field, value, expected)
        })
    }

    fn cut_window(&mut self, window: Option<TraceWindow>) {
        let mut span = self.load.span;
        if let Some(window) = window {
            let end = window.start + window.length;
            let ends = [self.trace.jobs.first(), self.trace.jobs.last()];
            let ends = ends.map(|job| job.map_or(SimDuration::ZERO, |job| job.submit));
            let any = !self.trace.jobs.is_empty();
            self.trace
                .jobs
                .retain(|job| window.start <= job.submit && job.submit < end);
            if any && self.trace.jobs.is_empty() {
                let [first, last] = ends.map(in_days);
                let [start, end] = [window.start, end].map(in_days);
                self.warn(&format!(
                    "no job is submitted in the window from day {start} to {end}, counted from the \
                     log's time 0: the first is submitted on day {first}, the last on day {last}"
                ));
            }
            // Past the last submission of the log there is nothing that could arrive.
            let left = self.origin + self.load.span - window.start;
            span = window.length.min(left);
            self.origin = window.start;
        }
        self.window = window;
        self.report(span, "outside-window");
    }

    /// Samples, and says what the sample came to.
    fn sample(&mut self, spec: &WorkloadSpec) {
        let keep = match spec.keep {
            Keep::Load {
                offered,
                processors,
                seed,
            } => self.share_for(spec, offered, processors, seed),
            other => other,
        };
        match keep {
            Keep::Systematic { m, n, phase } => {
                let mut index: u128 = 0;
                let kept_before = |i: u128| i * u128::from(m) / u128::from(n);
                self.trace.jobs.retain(|_| {
                    let i = index + u128::from(phase);
                    index += 1;
                    kept_before(i + 1) > kept_before(i)
                });
            }
            Keep::Share { share, seed } => {
                let bound = sample::bound(share);
                let mut draws = sample::draws(seed);
                self.trace
                    .jobs
                    .retain(|_| draws.next().is_some_and(|draw| (draw as f64) < bound));
            }
            Keep::All | Keep::Load { .. } => {}
        }
        self.keep = keep;
        self.report(self.load.span, "not-sampled");
    }

    /// The share that comes nearest to a wanted load, looking at what the
    /// later steps will make of each job.
    fn share_for(
        &mut self,
        spec: &WorkloadSpec,
        offered: Decimal,
        processors: u64,
        seed: u64,
    ) -> Keep {
        let demands = self.trace.jobs.iter().map(|job| {
            let run_time = match (spec.zero_run_time, job.run_time.is_zero()) {
                (ZeroRunTime::Drop, true) => return 0,
                (ZeroRunTime::As(length), true) => length,
                _ => job.run_time,
            };
            let scaled = divided(spec.scale_run_time, run_time).max(spec.min_run_time);
            u128::from(job.processors) * u128::from(scaled.as_nanos())
        });
        let demands: Vec<u128> = demands.collect();
        let span = divided(spec.scale_arrival, self.load.span);
        let capacity = processors as f64 * span.as_nanos() as f64;
        if span.is_zero() {
            self.warn(
                "all jobs are submitted at one instant, which has no offered load: all are kept",
            );
            let share = Decimal::ONE;
            return Keep::Share { share, seed };
        }
        let target = offered.as_f64() * capacity;
        let all = demands.iter().sum::<u128>() as f64;
        if all < target {
            self.warn(&format!(
                "all jobs together are an offered load of {:.4} on {processors} processors, less \
                 than the {offered} that was asked for: all are kept",
                all / capacity
            ));
        }
        let share = sample::share_for_load(&demands, target as u128, seed);
        Keep::Share {
            share: share.unwrap_or(Decimal::ONE),
            seed,
        }
    }

    fn settle_zero_run_times(&mut self, rule: ZeroRunTime) {
        match rule {
            ZeroRunTime::Keep => {}
            ZeroRunTime::Drop => self.trace.jobs.retain(|job| !job.run_time.is_zero()),
            ZeroRunTime::As(length) => {
                for job in self.trace.jobs.iter_mut().filter(|j| j.run_time.is_zero()) {
                    job.run_time = length;
                }
            }
        }
        self.report(self.load.span, "zero-run-time");
    }

    /// Moves submit times to the run's origin and divides all times. A result
    /// that does not fit saturates here and is refused at the end.
    fn scale(&mut self, spec: &WorkloadSpec) {
        for job in &mut self.trace.jobs {
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
        for job in &mut self.trace.jobs {
            job.lift(shortest);
        }
        self.report(self.load.span, "too-short");
    }

    fn check_times(&self) -> Result<()> {
        for job in &self.trace.jobs {
            let requested = job.requested_time.unwrap_or_default();
            for (what, time) in [
                ("submit time", job.submit),
                ("run time", job.run_time),
                ("requested time", requested),
            ] {
                if time.as_nanos() == u64::MAX {
                    return Err(too_long(&self.trace.file, job, what));
                }
            }
        }
        Ok(())
    }
}

pub(crate) fn divided(factor: Decimal, time: SimDuration) -> SimDuration {
    SimDuration::from_nanos(factor.divide(time.as_nanos()))
}

/// Jobs and demand; the span is the caller's to know.
fn measure(jobs: &[TraceJob]) -> Load {
    Load {
        jobs: jobs.len() as u64,
        processor_nanos: jobs.iter().map(TraceJob::demand).sum(),
        span: SimDuration::ZERO,
    }
}
