//! A log beside a model of the site that wrote it: whether the model's jobs wait as
//! those of the log did, and what of the site the model does not have
//! (`docs/twin.md`).

mod fit;
mod unmodelled;

pub use fit::{Breakdown, Fit, Grade, Group};
pub use unmodelled::Unmodelled;

use crate::error::TraceError;
use crate::load::{Loaded, TraceJob};
use crate::spec::TraceWindow;
use crate::validate::Site;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::time::SimDuration;
use gridrig_results::stats::Distribution;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde::Serialize;
use std::ops::Range;

/// Two waits that are no further apart are the same.
pub const SAME: SimDuration = SimDuration::from_secs(60);

/// How the model is made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Of the machine; `None` takes the header's, else the largest occupancy of the log.
    pub processors: Option<u32>,
    /// `None` tries all and takes the one that reproduces the log best.
    pub discipline: Option<DisciplineKind>,
    /// When jobs are compared that were submitted then; all others are run beside them.
    pub window: Option<TraceWindow>,
}

/// A log and its model, side by side.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Twin {
    /// The log as it was named.
    pub file: String,
    /// One sentence.
    pub verdict: String,
    /// What the verdict comes to.
    pub grade: Grade,
    /// Processors of the model.
    pub processors: u32,
    /// What says so: `option`, `header` or `occupancy`.
    pub processors_from: &'static str,
    /// Jobs of the model: those of the log that fit the machine.
    pub jobs: u64,
    /// Jobs whose waits were compared.
    pub compared: u64,
    /// Waits of the log.
    pub recorded_s: Distribution,
    /// The discipline that reproduces the log best, by the least misfit.
    pub discipline: &'static str,
    /// The best discipline of the earlier and of the later half of the jobs that were
    /// compared; null where only one was tried.
    pub best_of_halves: Option<[&'static str; 2]>,
    /// Every discipline that was tried, the best first.
    pub fits: Vec<Fit>,
    /// Under the best discipline.
    pub breakdown: Vec<Breakdown>,
    /// What the model does not have, counted from the log.
    pub not_modelled: Vec<Unmodelled>,
    /// What the reader should know of the log.
    pub warnings: Vec<String>,
    /// Waits job by job under the best discipline.
    #[serde(skip)]
    pub waits: Vec<Waits>,
}

/// The waits of a job in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waits {
    /// Its place among the jobs of the log, by submit time.
    pub job: usize,
    /// What the log says.
    pub recorded_s: f64,
    /// What the model gives.
    pub simulated_s: f64,
}

/// A job that is run, beside its place in the log.
type Placed<'a> = (usize, &'a TraceJob);

/// Runs the jobs of a log on one cluster without a broker and compares the waits.
///
/// # Errors
/// [`TraceError::File`] for a log without recorded waits, and for a window that it
/// does not fill.
pub fn twin(loaded: &Loaded, options: &Options) -> Result<Twin, TraceError> {
    let window = bounds(loaded, options.window)?;
    let peak = unmodelled::sweep(&loaded.jobs, u32::MAX, &window).peak;
    let (processors, processors_from) = machine(loaded, options, peak);
    let jobs = loaded.jobs.iter().enumerate();
    let (jobs, wider): (Vec<Placed<'_>>, Vec<Placed<'_>>) =
        jobs.partition(|(_, job)| job.processors <= processors);
    let is_compared = |job: &TraceJob| window.contains(&job.submit) && job.wait_time.is_some();
    let compared: Vec<usize> = (0..jobs.len())
        .filter(|at| is_compared(jobs[*at].1))
        .collect();
    if compared.is_empty() {
        let jobs = jobs.iter().filter(|(_, job)| window.contains(&job.submit));
        return Err(no_waits(loaded, options, jobs.count()));
    }
    let all = DisciplineKind::ALL.to_vec();
    let kinds = options.discipline.map_or(all, |only| vec![only]);
    let tried: Vec<(Fit, [f64; 2], Vec<Waits>)> = kinds
        .into_par_iter()
        .map(|kind| tried(kind, processors, &jobs, &compared))
        .collect();
    let best_of = |half: usize| {
        let least = tried.iter().min_by(|a, b| a.1[half].total_cmp(&b.1[half]));
        least.map_or("", |(fit, ..)| fit.discipline)
    };
    let best_of_halves = (tried.len() > 1).then(|| [best_of(0), best_of(1)]);
    let mut tried = tried;
    tried.sort_by(|a, b| a.0.misfit.total_cmp(&b.0.misfit));
    let waits = std::mem::take(&mut tried[0].2);
    let fits: Vec<Fit> = tried.into_iter().map(|(fit, ..)| fit).collect();
    let recorded_s = Distribution::of(waits.iter().map(|wait| wait.recorded_s));
    let best = &fits[0];
    let grade = best.grade();
    let site = unmodelled::Site {
        loaded,
        jobs: &jobs,
        wider: wider
            .iter()
            .filter(|(_, job)| window.contains(&job.submit))
            .count() as u64,
        processors,
        peak,
        window,
        discipline: best.kind,
    };
    Ok(Twin {
        file: loaded.file.clone(),
        verdict: best.sentence(grade, &recorded_s, fits.len()),
        grade,
        processors,
        processors_from,
        jobs: jobs.len() as u64,
        compared: waits.len() as u64,
        recorded_s,
        discipline: best.discipline,
        best_of_halves,
        breakdown: fit::breakdown(loaded, &waits),
        not_modelled: site.not_modelled(),
        warnings: loaded.warnings.clone(),
        fits,
        waits,
    })
}

/// When the jobs were submitted that are compared.
fn bounds(loaded: &Loaded, window: Option<TraceWindow>) -> Result<Range<SimDuration>, TraceError> {
    let Some(TraceWindow { start, length }) = window else {
        return Ok(SimDuration::ZERO..SimDuration::from_nanos(u64::MAX));
    };
    let last = loaded
        .jobs
        .last()
        .map_or(SimDuration::ZERO, |job| job.submit);
    let end = start + length;
    // A window of whole days may end after the last submission of its last day.
    let day = SimDuration::from_secs(86_400);
    let inside = |job: &TraceJob| (start..end).contains(&job.submit);
    if end > last + day || !loaded.jobs.iter().any(inside) {
        let problem = format!(
            "window {start},{length}: expected a part of the log with jobs, whose last submission \
             is at {last}"
        );
        return Err(TraceError::file(&loaded.file, problem));
    }
    Ok(start..end)
}

fn machine(loaded: &Loaded, options: &Options, peak: u64) -> (u32, &'static str) {
    let widest = loaded.jobs.iter().map(|job| job.processors).max();
    let occupied = u32::try_from(peak).unwrap_or(u32::MAX);
    let known = options.processors.map(|count| (count, "option"));
    let known = known.or_else(|| Some((loaded.known_processors()?, "header")));
    known.unwrap_or((occupied.max(widest.unwrap_or(1)), "occupancy"))
}

fn no_waits(loaded: &Loaded, options: &Options, jobs: usize) -> TraceError {
    let of = match options.window {
        Some(_) => " of the window",
        None => "",
    };
    let problem = format!(
        "none of the {jobs} jobs{of} that fit the machine has a recorded wait time (field 3): \
         expected a log of a site, with waits to compare with"
    );
    TraceError::file(&loaded.file, problem)
}

/// Runs the jobs under a discipline; with the misfit of both halves.
fn tried(
    kind: DisciplineKind,
    processors: u32,
    jobs: &[Placed<'_>],
    compared: &[usize],
) -> (Fit, [f64; 2], Vec<Waits>) {
    let run: Vec<&TraceJob> = jobs.iter().map(|(_, job)| *job).collect();
    let first = compared.first().copied().unwrap_or(0);
    let awaited = first..compared.last().map_or(first, |last| last + 1);
    let simulated = Site::under(kind, processors).waits(&run, awaited);
    let waits = compared.iter().map(|at| {
        let (job, record) = jobs[*at];
        Waits {
            job,
            recorded_s: record.wait_time.unwrap_or_default().as_secs_f64(),
            simulated_s: simulated[*at - first].as_secs_f64(),
        }
    });
    let waits: Vec<Waits> = waits.collect();
    let (earlier, later) = waits.split_at(waits.len() / 2);
    let halves = [earlier, later].map(|half| Fit::of(kind, half).misfit);
    (Fit::of(kind, &waits), halves, waits)
}
