//! The study as text and as a table of jobs.

use super::{BF_INTERVAL, BF_RESOLUTION, LOOK, Real, Study};
use gridrig_results::stats::Distribution;
use std::fmt::Write as _;

/// The study as Markdown, which reads well on a terminal too.
pub fn markdown(study: &Study) -> String {
    let (mut text, plan) = (String::new(), study.plan);
    let _ = writeln!(
        text,
        "# Slurm {} and the model\n\n{} jobs on {} processors, load {}, seed {}.\n",
        study.slurm, plan.jobs, plan.processors, plan.load, plan.seed
    );
    builtin(&mut text, study);
    backfill(&mut text, study);
    text
}

fn builtin(text: &mut String, study: &Study) {
    let figures = &study.builtin;
    let _ = writeln!(
        text,
        "## sched/builtin and fcfs, job by job\n\n{} jobs compared, {} left out that did not \
         run to their end. The model is given when jobs came and how long they really lasted; \
         its interval is {LOOK}, as Slurm's controller looks each second whether there is \
         something to schedule. Seconds.\n",
        figures.jobs, figures.others
    );
    header(text, "figure", &[]);
    row(text, "wait in Slurm", &figures.slurm_wait_s, &[]);
    row(text, "wait under fcfs", &figures.model_wait_s, &[]);
    row(text, "what Slurm adds to a run", &figures.overhead_s, &[]);
    let measured = &figures.start_difference_s;
    row(text, "distance of start times", measured, &[]);
    let at_once = &figures.start_difference_at_once_s;
    row(text, "the same, the model passing at once", at_once, &[]);
    let asked = &figures.start_difference_asked_s;
    row(text, "the same, with the lengths asked for", asked, &[]);
    let verdict = match figures.kept {
        true => "kept",
        false => "missed",
    };
    let _ = writeln!(
        text,
        "\nBound: p95 of the distance at most {} s: {verdict}.\n",
        figures.bound_s
    );
}

fn backfill(text: &mut String, study: &Study) {
    let figures = &study.backfill;
    let _ = writeln!(
        text,
        "## sched/backfill and disciplines that look ahead, as distributions\n\n{} jobs \
         compared, {} left out. bf_interval {BF_INTERVAL}, bf_resolution {BF_RESOLUTION} on both \
         sides. Waits in seconds; KS is the distance of the waits' distribution from Slurm's; \
         passed is the share of jobs that started before one that came earlier.\n",
        figures.jobs, figures.others
    );
    header(text, "side", &["KS", "passed", "start distance p50"]);
    let slurm = [
        "0".to_owned(),
        format!("{:.2}", figures.slurm_passed),
        "0".to_owned(),
    ];
    row(text, "Slurm", &figures.slurm_wait_s, &slurm);
    for side in &figures.sides {
        let more = [
            format!("{:.3}", side.ks),
            format!("{:.2}", side.passed),
            number(side.start_difference_s.p50),
        ];
        row(text, &side.discipline, &side.wait_s, &more);
    }
}

fn header(text: &mut String, first: &str, more: &[&str]) {
    let mut names = vec![first, "mean", "p50", "p90", "p95", "max"];
    names.extend(more);
    let _ = writeln!(text, "| {} |", names.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(names.len() - 1));
}

fn row(text: &mut String, name: &str, values: &Distribution, more: &[String]) {
    let mut cells = vec![name.to_owned()];
    let figures = [values.mean, values.p50, values.p90, values.p95, values.max];
    cells.extend(figures.map(number));
    cells.extend_from_slice(more);
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

/// The jobs of one scheduler as CSV, times in seconds of its run.
pub fn rows(real: &Real) -> String {
    let mut text = "job,processors,run_time_s,limit_s,queued_s,start_s,finish_s\n".to_owned();
    for job in &real.jobs {
        let limit = job.spec.requested_time.unwrap_or_default();
        let _ = writeln!(
            text,
            "{},{},{:.3},{:.0},{:.3},{:.3},{:.3}",
            job.spec.id.0,
            job.spec.processors(),
            job.spec.run_time.as_secs_f64(),
            limit.as_secs_f64(),
            job.queued.as_secs_f64(),
            job.start.as_secs_f64(),
            job.finish.as_secs_f64()
        );
    }
    text
}
