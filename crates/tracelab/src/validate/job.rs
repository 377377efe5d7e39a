//! The jobs that are compared: which of the original, and which are the same.

use super::ValidateError;
use super::identity::Identity;
use super::sampling;
use crate::load::TraceJob;
use crate::spec::{TraceWindow, WorkloadSpec, ZeroRunTime};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, NANOS_PER_SEC, SimDuration};
use std::collections::BTreeMap;

/// What a comparison looks at in a job. Times are nanoseconds of its own
/// trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValJob {
    /// Job number, which a reduction keeps.
    pub id: u64,
    /// From the trace's time 0.
    pub submit_ns: u64,
    /// Wall clock.
    pub run_time_ns: u64,
    /// Its size.
    pub processors: u32,
    /// SWF field 12.
    pub user: Option<u32>,
    /// SWF field 15.
    pub queue: Option<u32>,
    /// SWF field 14.
    pub executable: Option<u32>,
}

impl From<&TraceJob> for ValJob {
    fn from(job: &TraceJob) -> Self {
        ValJob {
            id: job.trace_id,
            submit_ns: job.submit.as_nanos(),
            run_time_ns: job.run_time.as_nanos(),
            processors: job.processors,
            user: job.user,
            queue: job.queue,
            executable: job.executable,
        }
    }
}

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
        }
    }
}

impl From<&WorkloadSpec> for Selection {
    fn from(spec: &WorkloadSpec) -> Self {
        Selection {
            max_processors: spec.max_processors,
            window: spec.window,
            origin: None,
            zero_run_time: spec.zero_run_time,
            scale_arrival: spec.scale_arrival,
            scale_run_time: spec.scale_run_time,
            min_run_time: spec.min_run_time,
        }
    }
}

/// A job in the time of the original, with its place in the reference if it is
/// known to be a job of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub job: ValJob,
    pub origin: Option<u32>,
}

/// Both traces in the time of the original, sorted by submit time.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub reference: Vec<ValJob>,
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
        original: &[ValJob],
        reduced: &[ValJob],
        selection: &Selection,
    ) -> Result<Self, ValidateError> {
        let (mut reference, left_out) = select(original, selection);
        if reference.is_empty() {
            return Err(ValidateError::NoOriginal {
                dropped: left_out.values().sum(),
            });
        }
        let mut notes = Vec::new();
        let first = original.iter().map(|job| job.submit_ns).min().unwrap_or(0);
        let candidates = match (selection.origin, selection.window) {
            (Some(origin), _) => vec![origin.as_nanos()],
            (None, Some(window)) => vec![window.start.as_nanos(), 0],
            (None, None) => vec![0, first],
        };
        let index = index(&reference);
        let (origin, agreeing) = origin(&reference, &index, reduced, selection, &candidates);
        let scale = Scale { selection, origin };
        let mut identity = Identity {
            ids_kept: agreeing || same_labels(&reference, &index, reduced, &scale),
            ..Identity::default()
        };
        if !identity.ids_kept {
            notes.push(
                "job numbers do not name the same jobs in both traces: jobs are not compared one \
                 by one, and the two clusterings not by their shared jobs"
                    .to_owned(),
            );
            scale.coarsen(&mut reference, unit_of(reduced));
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
            let place = |job: &ValJob| Placed {
                job: scale.back(job),
                origin: None,
            };
            reduced.iter().map(place).collect()
        };
        placed.sort_by_key(|placed| (placed.job.submit_ns, placed.origin));
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
    original: &[ValJob],
    selection: &Selection,
) -> (Vec<ValJob>, BTreeMap<&'static str, u64>) {
    let mut left_out: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut jobs = Vec::with_capacity(original.len());
    for job in original {
        let inside = selection.window.is_none_or(|window| {
            let end = window.start + window.length;
            (window.start.as_nanos()..end.as_nanos()).contains(&job.submit_ns)
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
            ZeroRunTime::Drop if job.run_time_ns == 0 => Some("zero-run-time"),
            ZeroRunTime::As(length) if job.run_time_ns == 0 => {
                job.run_time_ns = length.as_nanos();
                None
            }
            _ => None,
        };
        match reason {
            Some(reason) => *left_out.entry(reason).or_default() += 1,
            None => jobs.push(job),
        }
    }
    jobs.sort_by_key(|job| job.submit_ns);
    (jobs, left_out)
}

/// Places of the reference by job number.
fn index(reference: &[ValJob]) -> Vec<(u64, u32)> {
    let mut index: Vec<(u64, u32)> = reference.iter().map(|job| job.id).zip(0..).collect();
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
    reference: &[ValJob],
    index: &[(u64, u32)],
    reduced: &[ValJob],
    selection: &Selection,
    candidates: &[u64],
) -> (u64, bool) {
    for origin in candidates {
        let scale = Scale {
            selection,
            origin: *origin,
        };
        let known = reduced.iter().filter_map(|job| {
            let place = places(index, job.id).first()?;
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
    (candidates.first().copied().unwrap_or(0), false)
}

/// Whether numbers name the same jobs, though not at the same times: size, run
/// time, user, queue and executable agree far more often than with the job of
/// the next number (Cohen's kappa at least one half).
fn same_labels(
    reference: &[ValJob],
    index: &[(u64, u32)],
    reduced: &[ValJob],
    scale: &Scale<'_>,
) -> bool {
    let (mut all, mut agree, mut by_chance) = (0u64, 0u64, 0u64);
    let same = |job: &ValJob, entry: &(u64, u32)| {
        let other = &reference[entry.1 as usize];
        job.processors == other.processors
            && (job.user, job.queue, job.executable) == (other.user, other.queue, other.executable)
            && scale.same_run_time(job, other)
    };
    for job in reduced {
        let at = index.partition_point(|entry| entry.0 < job.id);
        let Some(entry) = index.get(at).filter(|entry| entry.0 == job.id) else {
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
    origin: u64,
}

impl Scale<'_> {
    /// A job of the reduced trace in the time of the original.
    fn back(&self, job: &ValJob) -> ValJob {
        ValJob {
            submit_ns: self.submit_back(job.submit_ns),
            run_time_ns: multiplied(self.selection.scale_run_time, job.run_time_ns),
            ..*job
        }
    }

    fn submit_back(&self, submit: u64) -> u64 {
        self.origin
            .saturating_add(multiplied(self.selection.scale_arrival, submit))
    }

    fn same_submit(&self, job: &ValJob, original: &ValJob) -> bool {
        let since = original.submit_ns.saturating_sub(self.origin);
        let scaled = self.selection.scale_arrival.divide(since);
        scaled.abs_diff(job.submit_ns) <= TOLERANCE_NS
    }

    fn same_run_time(&self, job: &ValJob, original: &ValJob) -> bool {
        let scaled = self.selection.scale_run_time.divide(original.run_time_ns);
        let scaled = scaled.max(self.selection.min_run_time.as_nanos());
        scaled.abs_diff(job.run_time_ns) <= TOLERANCE_NS
    }

    /// Brings the reference to the resolution of the reduced trace, where its
    /// jobs cannot be recognized and so keep the times that were written.
    fn coarsen(&self, reference: &mut [ValJob], unit: u64) {
        for job in reference.iter_mut() {
            let since = job.submit_ns.saturating_sub(self.origin);
            let submit = self.selection.scale_arrival.divide(since) / unit * unit;
            job.submit_ns = self.submit_back(submit);
            let run = self.selection.scale_run_time.divide(job.run_time_ns) / unit * unit;
            job.run_time_ns = multiplied(self.selection.scale_run_time, run);
        }
    }

    /// Applies the shortest run time to the reference.
    fn lift(&self, reference: &mut [ValJob]) {
        let shortest = self.selection.min_run_time.as_nanos();
        let shortest = multiplied(self.selection.scale_run_time, shortest);
        for job in reference.iter_mut() {
            job.run_time_ns = job.run_time_ns.max(shortest);
        }
    }
}

/// floor(nanos x factor), to float precision; saturates.
fn multiplied(factor: Decimal, nanos: u64) -> u64 {
    if factor == Decimal::ONE {
        return nanos;
    }
    (nanos as f64 * factor.as_f64()) as u64
}

/// The coarsest of 1 s, 1 ms, 1 us and 1 ns in which all times are whole.
fn unit_of(jobs: &[ValJob]) -> u64 {
    let whole = |unit: &u64| {
        jobs.iter()
            .all(|job| job.submit_ns % unit == 0 && job.run_time_ns % unit == 0)
    };
    [NANOS_PER_SEC, 1_000_000, 1_000]
        .into_iter()
        .find(whole)
        .unwrap_or(1)
}

/// Finds each reduced job in the reference.
struct Matcher<'a> {
    reference: &'a [ValJob],
    index: &'a [(u64, u32)],
    scale: &'a Scale<'a>,
    used: Vec<bool>,
    identity: &'a mut Identity,
}

impl Matcher<'_> {
    /// A recognized job takes the exact times of the original, which the
    /// reduced trace may have rounded; what was changed stays as it is.
    fn place(&mut self, job: &ValJob) -> Placed {
        let back = self.scale.back(job);
        let places = places(self.index, job.id);
        if places.is_empty() {
            self.identity.foreign += 1;
            return Placed {
                job: back,
                origin: None,
            };
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
            return Placed {
                job: back,
                origin: None,
            };
        };
        self.used[place.1 as usize] = true;
        self.identity.shared += 1;
        let original = &self.reference[place.1 as usize];
        let mut placed = back;
        if self.scale.same_submit(job, original) {
            placed.submit_ns = original.submit_ns;
        } else {
            self.identity.submit_changed += 1;
        }
        if self.scale.same_run_time(job, original) {
            placed.run_time_ns = original.run_time_ns;
        } else {
            self.identity.run_time_changed += 1;
        }
        self.identity.processors_changed += u64::from(job.processors != original.processors);
        let labels = |job: &ValJob| (job.user, job.queue, job.executable);
        self.identity.labels_changed += u64::from(labels(job) != labels(original));
        Placed {
            job: placed,
            origin: Some(place.1),
        }
    }
}
