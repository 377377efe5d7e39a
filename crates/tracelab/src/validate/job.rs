//! The jobs that are compared: which of the original, and which are the same.

use super::ValidateError;
use super::identity::Identity;
use super::sampling;
use crate::format::{EXECUTABLE, QUEUE, USER};
use crate::load::TraceJob;
use crate::reduce::divided;
use crate::spec::{TraceWindow, WorkloadSpec, ZeroRunTime};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, NANOS_PER_SEC, SimDuration};
use std::collections::BTreeMap;

/// Which part of the original a reduced trace stands for, and how its times
/// were changed: the reduction without its sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// Wider jobs were left out.
    pub max_processors: Option<u32>,
    /// The window; `None` is the whole trace.
    pub window: Option<TraceWindow>,
    /// What is time 0 of the reduced trace, in the time of the original.
    /// `None` tries the start of the window and 0, and without a window 0 and
    /// the first submit.
    pub origin: Option<SimDuration>,
    /// What became of run times of 0.
    pub zero_run_time: ZeroRunTime,
    /// Divisor of the submit times.
    pub scale_arrival: Decimal,
    /// Divisor of the run times.
    pub scale_run_time: Decimal,
    /// The shortest run of the reduced trace, after scaling.
    pub min_run_time: SimDuration,
    /// The second trace was generated: that job numbers coincide means nothing.
    pub generated: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Selection {
            max_processors: None,
            window: None,
            origin: None,
            zero_run_time: ZeroRunTime::Keep,
            scale_arrival: Decimal::ONE,
            scale_run_time: Decimal::ONE,
            min_run_time: SimDuration::ZERO,
            generated: false,
        }
    }
}

impl From<&WorkloadSpec> for Selection {
    fn from(spec: &WorkloadSpec) -> Self {
        Selection {
            max_processors: spec.max_processors,
            window: spec.window,
            zero_run_time: spec.zero_run_time,
            scale_arrival: spec.scale_arrival,
            scale_run_time: spec.scale_run_time,
            min_run_time: spec.min_run_time,
            ..Selection::default()
        }
    }
}

/// A job in the time of the original, with its place in the reference if it is
/// known to be a job of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub job: TraceJob,
    pub origin: Option<u32>,
}

impl Placed {
    /// A job that is none of the original.
    fn foreign(job: TraceJob) -> Self {
        Placed { job, origin: None }
    }
}

/// Both traces in the time of the original, sorted by submit time.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub reference: Vec<TraceJob>,
    pub reduced: Vec<Placed>,
    pub identity: Identity,
    /// Jobs of the original that the reduced trace cannot stand for.
    pub left_out: BTreeMap<&'static str, u64>,
    pub notes: Vec<String>,
}

/// How much a time may differ from the scaled one: traces are often written in
/// whole seconds, rounded either way.
const TOLERANCE_NS: u64 = NANOS_PER_SEC;

impl Pair {
    pub(super) fn new(
        original: &[TraceJob],
        reduced: &[TraceJob],
        selection: &Selection,
    ) -> Result<Self, ValidateError> {
        let (mut reference, left_out) = select(original, selection);
        if reference.is_empty() {
            return Err(ValidateError::NoOriginal(left_out.values().sum()));
        }
        let mut notes = Vec::new();
        let first = original
            .iter()
            .map(|job| job.submit)
            .min()
            .unwrap_or_default();
        let candidates = match (selection.origin, selection.window) {
            (Some(origin), _) => vec![origin],
            (None, Some(window)) => vec![window.start, SimDuration::ZERO],
            (None, None) => vec![SimDuration::ZERO, first],
        };
        let index = index(&reference);
        let (origin, agreeing) = origin(&reference, &index, reduced, selection, &candidates);
        let scale = Scale { selection, origin };
        let mut identity = Identity {
            ids_kept: !selection.generated
                && (agreeing || same_labels(&reference, &index, reduced, &scale)),
            ..Identity::default()
        };
        if !identity.ids_kept {
            notes.push(
                "job numbers do not name the same jobs in both traces: jobs are not compared one \
                 by one, and the two clusterings not by their shared jobs"
                    .to_owned(),
            );
            scale.coarsen(&mut reference, reduced);
        }
        scale.lift(&mut reference);
        let mut placed: Vec<Placed> = if identity.ids_kept {
            let mut matcher = Matcher {
                reference: &reference,
                index: &index,
                scale: &scale,
                used: vec![false; reference.len()],
                identity: &mut identity,
            };
            reduced.iter().map(|job| matcher.place(job)).collect()
        } else {
            let place = |job: &TraceJob| Placed::foreign(scale.back(job));
            reduced.iter().map(place).collect()
        };
        placed.sort_by_key(|placed| (placed.job.submit, placed.origin));
        Ok(Pair {
            reference,
            reduced: placed,
            identity,
            left_out,
            notes,
        })
    }

    /// Samples both traces down to a share of their jobs.
    pub(super) fn thin(&mut self, share: f64, seed: u64) {
        let of = |count: usize| ((count as f64 * share).round() as usize).max(1);
        let wanted = of(self.reference.len()).min(self.reduced.len());
        let mut stream = rng::stream(seed, "validate-thin");
        let kept = sampling::random(self.reduced.len(), wanted, &mut stream);
        self.reduced = kept.iter().map(|at| self.reduced[*at as usize]).collect();
    }
}

/// The jobs of the original that could have been sampled.
fn select(
    original: &[TraceJob],
    selection: &Selection,
) -> (Vec<TraceJob>, BTreeMap<&'static str, u64>) {
    let mut left_out: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut jobs = Vec::with_capacity(original.len());
    for job in original {
        let inside = selection.window.is_none_or(|window| {
            let end = window.start + window.length;
            (window.start..end).contains(&job.submit)
        });
        let mut job = *job;
        let reason = match selection.zero_run_time {
            _ if selection
                .max_processors
                .is_some_and(|limit| job.processors > limit) =>
            {
                Some("wider-than-limit")
            }
            _ if !inside => Some("outside-window"),
            ZeroRunTime::Drop if job.run_time.is_zero() => Some("zero-run-time"),
            ZeroRunTime::As(length) if job.run_time.is_zero() => {
                job.run_time = length;
                None
            }
            _ => None,
        };
        match reason {
            Some(reason) => *left_out.entry(reason).or_default() += 1,
            None => jobs.push(job),
        }
    }
    jobs.sort_by_key(|job| job.submit);
    (jobs, left_out)
}

/// Places of the reference by job number.
fn index(reference: &[TraceJob]) -> Vec<(u64, u32)> {
    let mut index: Vec<(u64, u32)> = reference.iter().map(|job| job.trace_id).zip(0..).collect();
    index.sort_unstable();
    index
}

/// The places of a job number.
fn places(index: &[(u64, u32)], id: u64) -> &[(u64, u32)] {
    let from = index.partition_point(|entry| entry.0 < id);
    let to = index.partition_point(|entry| entry.0 <= id);
    &index[from..to]
}

/// Time 0 of the reduced trace in the original, and whether at least half of
/// the jobs with a known number lie where it says.
fn origin(
    reference: &[TraceJob],
    index: &[(u64, u32)],
    reduced: &[TraceJob],
    selection: &Selection,
    candidates: &[SimDuration],
) -> (SimDuration, bool) {
    for origin in candidates {
        let scale = Scale {
            selection,
            origin: *origin,
        };
        let known = reduced.iter().filter_map(|job| {
            let place = places(index, job.trace_id).first()?;
            Some((job, &reference[place.1 as usize]))
        });
        let (mut agree, mut all) = (0u64, 0u64);
        for (job, original) in known {
            all += 1;
            agree += u64::from(scale.same_submit(job, original));
        }
        if agree * 2 >= all && agree > 0 {
            return (*origin, true);
        }
    }
    (candidates.first().copied().unwrap_or_default(), false)
}

/// Whether numbers name the same jobs, though not at the same times: size, run
/// time, user, queue and executable agree far more often than with the job of
/// the next number (Cohen's kappa at least one half).
fn same_labels(
    reference: &[TraceJob],
    index: &[(u64, u32)],
    reduced: &[TraceJob],
    scale: &Scale<'_>,
) -> bool {
    let (mut all, mut agree, mut by_chance) = (0u64, 0u64, 0u64);
    let same = |job: &TraceJob, entry: &(u64, u32)| {
        let other = &reference[entry.1 as usize];
        job.processors == other.processors
            && labels(job) == labels(other)
            && scale.same_run_time(job, other)
    };
    for job in reduced {
        let at = index.partition_point(|entry| entry.0 < job.trace_id);
        let Some(entry) = index.get(at).filter(|entry| entry.0 == job.trace_id) else {
            continue;
        };
        let neighbour = index.get(at + 1).or(index.first()).unwrap_or(entry);
        all += 1;
        agree += u64::from(same(job, entry));
        by_chance += u64::from(same(job, neighbour));
    }
    agree > by_chance && (agree - by_chance) * 2 >= all - by_chance
}

/// The way between the two traces' times.
#[derive(Clone, Copy, Debug)]
struct Scale<'a> {
    selection: &'a Selection,
    /// Time 0 of the reduced trace in the original.
    origin: SimDuration,
}

impl Scale<'_> {
    /// A job of the reduced trace in the time of the original.
    fn back(&self, job: &TraceJob) -> TraceJob {
        TraceJob {
            submit: self.submit_back(job.submit),
            run_time: self.length_back(job.run_time),
            requested_time: job.requested_time.map(|time| self.length_back(time)),
            ..*job
        }
    }

    fn submit_back(&self, submit: SimDuration) -> SimDuration {
        self.origin + multiplied(self.selection.scale_arrival, submit)
    }

    /// Of a run time or a requested time.
    fn length_back(&self, length: SimDuration) -> SimDuration {
        multiplied(self.selection.scale_run_time, length)
    }

    /// The times of a job of the original in the reduced trace.
    fn submit_there(&self, original: &TraceJob) -> SimDuration {
        divided(self.selection.scale_arrival, original.submit - self.origin)
    }

    fn length_there(&self, length: SimDuration) -> SimDuration {
        divided(self.selection.scale_run_time, length)
    }

    fn same_submit(&self, job: &TraceJob, original: &TraceJob) -> bool {
        near(self.submit_there(original), job.submit)
    }

    fn same_run_time(&self, job: &TraceJob, original: &TraceJob) -> bool {
        self.same_length(job.run_time, original.run_time)
    }

    /// A job that lost its requested time, or was given one, has another.
    fn same_requested_time(&self, job: &TraceJob, original: &TraceJob) -> bool {
        let both = job.requested_time.zip(original.requested_time);
        both.is_some_and(|(time, original)| self.same_length(time, original))
    }

    fn same_length(&self, length: SimDuration, original: SimDuration) -> bool {
        let there = self.length_there(original);
        near(there.max(self.selection.min_run_time), length)
    }

    /// Brings the reference to the resolution of the reduced trace, where its
    /// jobs cannot be recognized and so keep the times that were written.
    fn coarsen(&self, reference: &mut [TraceJob], reduced: &[TraceJob]) {
        let jobs = reduced.iter();
        let unit = unit_of(jobs.clone().flat_map(|job| [job.submit, job.run_time]));
        let unit_requested = unit_of(jobs.filter_map(|job| job.requested_time));
        let whole =
            |time: SimDuration, unit: u64| SimDuration::from_nanos(time.as_nanos() / unit * unit);
        for job in reference.iter_mut() {
            job.submit = self.submit_back(whole(self.submit_there(job), unit));
            job.run_time = self.length_back(whole(self.length_there(job.run_time), unit));
            job.requested_time = job
                .requested_time
                .map(|time| self.length_back(whole(self.length_there(time), unit_requested)));
        }
    }

    /// Applies the shortest run time to the reference, to requested times as well.
    fn lift(&self, reference: &mut [TraceJob]) {
        let shortest = self.length_back(self.selection.min_run_time);
        for job in reference.iter_mut() {
            job.lift(shortest);
        }
    }
}

fn near(a: SimDuration, b: SimDuration) -> bool {
    a.as_nanos().abs_diff(b.as_nanos()) <= TOLERANCE_NS
}

/// floor(time x factor), to float precision; saturates.
fn multiplied(factor: Decimal, time: SimDuration) -> SimDuration {
    if factor == Decimal::ONE {
        return time;
    }
    SimDuration::from_nanos((time.as_nanos() as f64 * factor.as_f64()) as u64)
}

/// The coarsest of 1 s, 1 ms, 1 us and 1 ns in which all these times are whole.
fn unit_of(times: impl Iterator<Item = SimDuration> + Clone) -> u64 {
    let whole = |unit: &u64| times.clone().all(|time| time.as_nanos() % unit == 0);
    [NANOS_PER_SEC, 1_000_000, 1_000]
        .into_iter()
        .find(whole)
        .unwrap_or(1)
}

/// What should stay as it was.
fn labels(job: &TraceJob) -> [Option<u32>; 3] {
    [USER, QUEUE, EXECUTABLE].map(|at| job.ids[at])
}

/// Finds each reduced job in the reference.
struct Matcher<'a> {
    reference: &'a [TraceJob],
    index: &'a [(u64, u32)],
    scale: &'a Scale<'a>,
    used: Vec<bool>,
    identity: &'a mut Identity,
}

impl Matcher<'_> {
    /// A recognized job takes the exact times of the original, which the
    /// reduced trace may have rounded; what was changed stays as it is.
    fn place(&mut self, job: &TraceJob) -> Placed {
        let back = self.scale.back(job);
        let places = places(self.index, job.trace_id);
        if places.is_empty() {
            self.identity.foreign += 1;
            return Placed::foreign(back);
        }
        let free = |place: &&(u64, u32)| !self.used[place.1 as usize];
        let here = |place: &&(u64, u32)| {
            self.scale
                .same_submit(job, &self.reference[place.1 as usize])
        };
        // A number may occur more than once: the job at its time, else any.
        let found = places
            .iter()
            .filter(free)
            .find(here)
            .or_else(|| places.iter().find(free));
        let Some(place) = found else {
            self.identity.repeated += 1;
            return Placed::foreign(back);
        };
        self.used[place.1 as usize] = true;
        self.identity.shared += 1;
        let original = &self.reference[place.1 as usize];
        let mut placed = back;
        if self.scale.same_submit(job, original) {
            placed.submit = original.submit;
        } else {
            self.identity.submit_changed += 1;
        }
        if self.scale.same_run_time(job, original) {
            placed.run_time = original.run_time;
        } else {
            self.identity.run_time_changed += 1;
        }
        if self.scale.same_requested_time(job, original) {
            placed.requested_time = original.requested_time;
        }
        self.identity.processors_changed += u64::from(job.processors != original.processors);
        self.identity.labels_changed += u64::from(labels(job) != labels(original));
        Placed {
            job: placed,
            origin: Some(place.1),
        }
    }
}
