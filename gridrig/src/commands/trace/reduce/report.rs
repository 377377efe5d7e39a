//! What a reduction did, for people and programs.

use super::pipeline::Pipeline;
use crate::check::{StepReport, human, steps};
use gridrig_core::time::SimDuration;
use gridrig_results::text::{cells, table};
use gridrig_tracelab::reduce::{
    COMPONENTS, Load, Provenance, RankedWindow, Reduced, WindowRanking,
};
use gridrig_tracelab::validate::{Agreement, Validation};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// The report. Times are seconds; those of `window` and `ranking` of the
/// source's time, all others of the reduced trace's.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// The trace that was reduced.
    source: String,
    /// The file that was written; null when nothing was.
    out: Option<String>,
    /// Jobs after all steps.
    jobs: u64,
    /// Jobs before the first.
    source_jobs: u64,
    /// Lines that are no usable job, by reason.
    skipped: BTreeMap<&'static str, u64>,
    /// Jobs that the steps left out, by reason.
    reduced: BTreeMap<&'static str, u64>,
    /// How long the reduced trace is.
    span_s: f64,
    /// Processors that loads refer to; null where nobody has said.
    processors: Option<u64>,
    /// Offered load at the end; null without processors or span.
    offered_load: Option<f64>,
    /// The steps that change something.
    steps: Vec<StepReport>,
    /// How the window was chosen, and the best ones; null for one that was
    /// given.
    ranking: Option<Value>,
    /// The same, and how many windows are shown.
    #[serde(skip)]
    ranked: Option<(WindowRanking, usize)>,
    /// The steps as they stand in the header of the reduced trace.
    reduction: Provenance,
    /// Fields 17 and 18 that were cleared, since the job they name is gone.
    pub(super) cut_dependencies: u64,
    /// Whether it is like its source; null when that was not asked.
    pub(super) validation: Option<Validation>,
    /// What the user should know.
    pub(super) warnings: Vec<String>,
}

impl Report {
    pub(super) fn new(pipeline: &Pipeline, reduced: &Reduced, rank: Option<usize>) -> Self {
        let processors = pipeline.processors;
        let last = reduced.steps.last().map(|step| step.after);
        let offered = |load: Load| load.offered(processors?);
        let ranked = reduced.ranking.clone().zip(rank.or(Some(1)));
        let mut warnings = pipeline.warnings.clone();
        warnings.extend(reduced.trace.warnings.iter().cloned());
        Report {
            source: reduced.trace.file.clone(),
            out: pipeline.out.as_ref().map(|out| out.display().to_string()),
            jobs: reduced.trace.jobs.len() as u64,
            source_jobs: reduced.steps.first().map_or(0, |step| step.before.jobs),
            skipped: reduced.trace.skipped.clone(),
            reduced: reduced.reduced.clone(),
            span_s: last.map_or(0.0, |load| load.span.as_secs_f64()),
            processors,
            offered_load: last.and_then(offered),
            steps: StepReport::all(&reduced.steps, processors),
            ranking: ranked
                .as_ref()
                .map(|(ranking, most)| document(ranking, *most)),
            ranked,
            reduction: Provenance::new(&pipeline.spec, reduced),
            cut_dependencies: 0,
            validation: None,
            warnings,
        }
    }
}

/// How a window was chosen, with the best ones.
fn document(ranking: &WindowRanking, most: usize) -> Value {
    let (steady, choice) = (ranking.steady, ranking.choice);
    let seconds = SimDuration::as_secs_f64;
    let by_component = |values: [f64; COMPONENTS.len()]| -> BTreeMap<&str, f64> {
        COMPONENTS.into_iter().zip(values).collect()
    };
    let window = |window: &RankedWindow| {
        json!({
            "start_s": seconds(window.start),
            "jobs": window.jobs,
            "arrival_rate_per_s": window.arrival_rate,
            "demand_processors": window.demand,
            "score": window.score,
            "distances": by_component(window.distances),
            "ranks": by_component(window.ranks),
        })
    };
    let windows: Vec<Value> = ranking.windows.iter().take(most).map(window).collect();
    json!({
        "considered": ranking.considered(),
        "too_few_jobs": ranking.too_few_jobs,
        "length_s": seconds(choice.length),
        "step_s": seconds(choice.step),
        "steady": {
            "start_s": seconds(steady.start),
            "length_s": seconds(steady.length()),
            "skip_start_s": seconds(steady.skip_start),
            "skip_end_s": seconds(steady.skip_end),
            "skip_start_given": choice.skip_start.is_some(),
            "skip_end_given": choice.skip_end.is_some(),
            "jobs": ranking.steady_jobs,
            "arrival_rate_per_s": ranking.arrival_rate,
            "demand_processors": ranking.demand,
        },
        "windows": windows,
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "source        {}: {} jobs",
            self.source, self.source_jobs
        )?;
        for (what, counts) in [("skipped", &self.skipped), ("left out", &self.reduced)] {
            for (reason, count) in counts {
                writeln!(f, "{what:<13} {count} {reason}")?;
            }
        }
        if let Some((ranking, most)) = &self.ranked {
            writeln!(f)?;
            windows(f, ranking, *most)?;
        } else if let Some(window) = self.reduction.window {
            let (start, length) = (window.start_s.as_secs_f64(), window.length_s.as_secs_f64());
            writeln!(f, "window        {} from {}", human(length), human(start))?;
        }
        if let (Some(share), Some(seed)) = (self.reduction.share, self.reduction.seed) {
            writeln!(f, "share         {} with seed {seed}", share.0)?;
        }
        if !self.steps.is_empty() {
            write!(f, "\n{}", steps(&self.steps, "", 4, "demand left out"))?;
        }
        let on = match (self.offered_load, self.processors) {
            (Some(load), Some(p)) => format!(", offered load {load:.4} on {p} processors"),
            _ => ", no offered load: --processors says on how many".to_owned(),
        };
        let done = match &self.out {
            Some(out) => format!("wrote {out}"),
            None => "wrote nothing".to_owned(),
        };
        writeln!(
            f,
            "\n{done}: {} jobs in {}{on}",
            self.jobs,
            human(self.span_s)
        )?;
        if self.cut_dependencies > 0 {
            let count = self.cut_dependencies;
            writeln!(
                f,
                "{count} dependencies on jobs that are left out were cleared"
            )?;
        }
        match &self.validation {
            Some(validation) => {
                verdict(f, validation)?;
                self.compared_with(f, validation)
            }
            None => Ok(()),
        }
    }
}

impl Report {
    /// A window of which nothing is left out is compared with itself: that says nothing of
    /// the whole trace.
    fn compared_with(&self, f: &mut fmt::Formatter<'_>, of: &Validation) -> fmt::Result {
        let is_part = self.reduced.contains_key("outside-window");
        if !is_part || of.original_jobs != of.reduced_jobs {
            return Ok(());
        }
        let where_told = match self.ranked {
            Some(_) => "the distances above do",
            None => "--window-length with --rank does",
        };
        writeln!(
            f,
            "  It has all jobs of its window and is compared with the same window of its source. \
             That says nothing about the rest of the trace; {where_told}"
        )
    }
}

fn verdict(f: &mut fmt::Formatter<'_>, validation: &Validation) -> fmt::Result {
    let word: &str = validation.verdict.into();
    writeln!(f, "validation    {word}: {}", validation.summary())?;
    for failure in validation.failures() {
        writeln!(f, "  {failure}")?;
    }
    if validation.verdict == Agreement::Open {
        writeln!(
            f,
            "  Open means: it is like a random sample of its source, but nothing shows that it is \
             equivalent. Keep more jobs, or use several samples (--seed, --phase)"
        )?;
    }
    Ok(())
}

fn windows(f: &mut fmt::Formatter<'_>, ranking: &WindowRanking, most: usize) -> fmt::Result {
    let (steady, choice) = (ranking.steady, ranking.choice);
    let told = |time: SimDuration| human(time.as_secs_f64());
    let by = |given: Option<SimDuration>| match given {
        Some(_) => "given",
        None => "by rule",
    };
    writeln!(
        f,
        "warm-up       {} left out ({}); wrap-up {} ({})",
        told(steady.skip_start),
        by(choice.skip_start),
        told(steady.skip_end),
        by(choice.skip_end)
    )?;
    writeln!(
        f,
        "windows       {} of {}, one every {}, {} with fewer than two jobs",
        ranking.considered(),
        told(choice.length),
        told(choice.step),
        ranking.too_few_jobs
    )?;
    let mut head = cells(["window", "start", "jobs", "wanted", "score"]);
    head.extend(cells(COMPONENTS));
    let mut rows = vec![head];
    for (position, window) in ranking.windows.iter().take(most).enumerate() {
        let mut row = vec![
            format!("#{}", position + 1),
            told(window.start),
            window.jobs.to_string(),
            format!("{:.1}", window.demand),
            format!("{:.4}", window.score),
        ];
        let distances = window.distances.iter().zip(window.ranks);
        row.extend(distances.map(|(distance, rank)| format!("{distance:.3} (#{rank})")));
        rows.push(row);
    }
    let windows = steady.length().as_secs_f64() / choice.length.as_secs_f64();
    rows.push(vec![
        "all".to_owned(),
        told(steady.start),
        format!("{:.1}", ranking.steady_jobs as f64 / windows),
        format!("{:.1}", ranking.demand),
    ]);
    write!(f, "{}", table(&rows))?;
    writeln!(
        f,
        "distances from 0 (alike) to 1 with their ranks; score: root mean square of the ranks, \
         0 the best in everything, 1 the worst; wanted: mean demand in processors; all: the \
         trace without warm-up and wrap-up, jobs per window"
    )
}
