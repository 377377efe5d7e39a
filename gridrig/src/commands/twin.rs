//! `gridrig twin`

use super::{answer, refuse_existing};
use crate::commands::trace::values;
use crate::exit::Failure;
use crate::versioned::Versioned;
use crate::words::many;
use anyhow::Context as _;
use clap::Args;
use gridrig_core::discipline::DisciplineKind;
use gridrig_results::plot::{integer, percent, seconds};
use gridrig_results::stats::Distribution;
use gridrig_results::text::{cells, head, table};
use gridrig_tracelab::load::{Loaded, load};
use gridrig_tracelab::spec::{SizeFrom, TraceWindow};
use gridrig_tracelab::twin::{self, Breakdown, Fit, Options, Twin};
use std::fmt::Write as _;
use std::path::PathBuf;

/// `gridrig twin`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gridrig twin my-cluster.swf --window 30d,60d\n\n\
        The jobs of the log run in virtual time on one cluster, and their waits are compared with \
        those of the log. docs/twin.md says how, and what the verdict means."
)]
pub struct TwinArgs {
    /// The log, SWF or GWF, plain or compressed; it has to have wait times
    log: PathBuf,
    /// The discipline of the cluster [default: all are tried, and the one that reproduces
    /// the log best is taken]
    #[arg(long, value_name = "NAME",
          value_parser = crate::cli::values::one_of(DisciplineKind::ALL, DisciplineKind::name))]
    discipline: Option<DisciplineKind>,
    /// Processors of the machine [default: MaxProcs of the header, else the most that are
    /// busy at once by the log]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processors: Option<u32>,
    /// Compare only jobs submitted in this window, counted from the log's time 0; the
    /// others are run but not compared
    #[arg(long, value_name = "START,LENGTH", value_parser = values::window)]
    window: Option<TraceWindow>,
    /// Write the recorded and the simulated wait of each job as CSV
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// Overwrite the CSV file if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    json: bool,
}

/// Says how well a model of a site reproduces the waits of its log.
pub(super) fn twin(args: &TwinArgs) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        refuse_existing(out, args.force)?;
    }
    let options = Options {
        processors: args.processors,
        discipline: args.discipline,
        window: args.window,
    };
    let loaded = load(&args.log, SizeFrom::Allocated).map_err(Failure::input)?;
    let twin = twin::twin(&loaded, &options).map_err(Failure::input)?;
    if let Some(out) = &args.out {
        let written = std::fs::write(out, csv(&loaded, &twin));
        written.with_context(|| format!("{}: expected a file to write", out.display()))?;
    }
    answer(args.json, &Versioned::from(&twin), |_| text(&twin))
}

fn csv(loaded: &Loaded, twin: &Twin) -> String {
    let mut text = "job,submit_s,processors,recorded_wait_s,simulated_wait_s\n".to_owned();
    for wait in &twin.waits {
        let job = &loaded.jobs[wait.job];
        let submit = job.submit.as_secs_f64();
        let (id, size) = (job.trace_id, job.processors);
        let (recorded, simulated) = (wait.recorded_s, wait.simulated_s);
        let _ = writeln!(text, "{id},{submit},{size},{recorded},{simulated}");
    }
    text
}

fn text(twin: &Twin) -> String {
    let mut text = format!("{}: {}\n", twin.file, twin.verdict);
    let from = match twin.processors_from {
        "option" => "--processors",
        "header" => "by the header",
        _ => "the most that are busy at once by the log",
    };
    let _ = writeln!(
        text,
        "{} jobs compared of {} in the model, on {} processors ({from})",
        integer(twin.compared),
        integer(twin.jobs),
        integer(u64::from(twin.processors))
    );
    for warning in &twin.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let _ = write!(text, "\n{}", waits(twin));
    if let Some([earlier, later]) = twin.best_of_halves {
        let chosen = twin.discipline;
        let _ = writeln!(
            text,
            "{chosen} was chosen by the least misfit of {}, on the same log that judges it. Best of \
             the earlier half\nof the jobs: {earlier}, of the later half: {later}.",
            many(twin.fits.len() as u64, "discipline")
        );
    }
    let _ = write!(text, "\n{}", fits(&twin.fits));
    for one in &twin.breakdown {
        let _ = write!(text, "\n{}", breakdown(one));
    }
    text.push_str(&not_modelled(twin));
    text
}

/// The waits of the log beside those of the model.
fn waits(twin: &Twin) -> String {
    let row = |name: &str, of: &Distribution| {
        let waits = [of.mean, of.p50, of.p90, of.p95, of.p99, of.max];
        let waits = waits.map(|wait| wait.map_or("-".to_owned(), seconds));
        [vec![name.to_owned()], waits.to_vec()].concat()
    };
    table(&[
        head("wait | mean | p50 | p90 | p95 | p99 | longest"),
        row("recorded", &twin.recorded_s),
        row(twin.discipline, &twin.fits[0].simulated_s),
    ])
}

fn fits(fits: &[Fit]) -> String {
    let mut lines = vec![head(
        "discipline | misfit | mean wait | area | KS | rank correlation | same | less | more",
    )];
    lines.extend(fits.iter().map(|fit| {
        let mut line = cells([
            fit.discipline.to_owned(),
            format!("{:.2}", fit.misfit),
            seconds(fit.simulated_s.mean.unwrap_or(0.0)),
            seconds(fit.area_s),
            format!("{:.3}", fit.ks),
            rank(fit.spearman),
        ]);
        line.extend([fit.same_share, fit.less_share, fit.more_share].map(percent));
        line
    }));
    let less = "same, less, more: jobs whose waits differ by a minute at most, that wait less and \
                more than recorded\n";
    table(&lines) + less
}

fn rank(correlation: Option<f64>) -> String {
    correlation.map_or("-".to_owned(), |it| format!("{it:.2}"))
}

fn breakdown(one: &Breakdown) -> String {
    let names = format!(
        "{} | jobs | recorded mean | simulated mean | area | rank correlation",
        one.by
    );
    let mut lines = vec![head(&names)];
    lines.extend(one.groups.iter().map(|group| {
        cells([
            group.group.clone(),
            integer(group.jobs),
            seconds(group.recorded_mean_s),
            seconds(group.simulated_mean_s),
            seconds(group.area_s),
            rank(group.spearman),
        ])
    }));
    let mut text = table(&lines);
    if one.other_groups > 0 {
        let groups = many(one.other_groups, one.by);
        let _ = writeln!(text, "and {groups} more, {}", many(one.other_jobs, "job"));
    }
    text
}

fn not_modelled(twin: &Twin) -> String {
    let (found, absent): (Vec<_>, Vec<_>) = twin.not_modelled.iter().partition(|it| it.count > 0);
    let mut text = "\nnot modelled, counted from the log:\n".to_owned();
    for it in found {
        let _ = writeln!(text, "  {}: {} {}", it.name, integer(it.count), it.text);
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|it| it.name).collect();
        let _ = writeln!(text, "  looked for and not found: {}", names.join(", "));
    }
    text
}
