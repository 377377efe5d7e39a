//! `gridrig trace validate`

mod report;

use super::behaviour::{Behaviour, Yardstick};
use super::values::{self, name};
use crate::cli::values::text;
use crate::commands::{answer, refuse_existing, say_each};
use crate::exit::Failure;
use crate::versioned::Versioned;
use anyhow::{Context as _, anyhow};
use clap::Args;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::load::{Loaded, load};
use gridrig_tracelab::reduce::{Provenance, REDUCTION_KEY};
use gridrig_tracelab::sanitize;
use gridrig_tracelab::spec::{SizeFrom, TraceWindow, WorkloadSpec, ZeroRunTime};
use gridrig_tracelab::validate::{self, Group, Options, Requirement, Selection, Site, Validation};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// `gridrig trace validate`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        gridrig trace reduce traces/ctc-like.swf.gz short.swf.gz --keep 2/5 --scale 60\n  \
        gridrig trace validate traces/ctc-like.swf.gz short.swf.gz --sheet validity.html\n  \
        gridrig trace validate CTC-SP2.swf.gz other.swf --window 87.08d,7d --scale 60,60 \\\n    \
        --require 'processors.ks < 0.02'\n\n\
        The header of a trace that gridrig reduced says how it was reduced. Of other traces the \
        options --window, --scale, --max-processors, --zero-run-time, --min-run-time and --size \
        say it; each that is given overrides the header.\nExit codes: 0 passed, 2 bad usage or \
        input, 99 the reduced trace failed the test against random samples of its original, or a \
        --require was missed.")]
pub struct ValidateArgs {
    /// The trace that was reduced
    original: PathBuf,
    /// The reduced trace
    reduced: PathBuf,
    /// The part of the original that was kept: where it begins, counted from
    /// the log's time 0, and how long it is, for example 87.08d,7d
    #[arg(long, value_name = "START,LENGTH", value_parser = values::window)]
    window: Option<TraceWindow>,
    /// What submit times and run times were divided by; one number is for both
    #[arg(long, value_name = "ARRIVAL,RUN", value_parser = scale)]
    scale: Option<(Decimal, Decimal)>,
    /// Jobs with more processors were left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_processors: Option<u32>,
    /// What became of jobs with a run time of 0, before scaling: the run time that
    /// they were given, drop or keep
    #[arg(long, value_name = "RULE", value_parser = text::<ZeroRunTime>)]
    zero_run_time: Option<ZeroRunTime>,
    /// Shorter run times were raised to this, after scaling
    #[arg(long, value_name = "TIME", value_parser = text::<SimDuration>)]
    min_run_time: Option<SimDuration>,
    /// The field of the original that gives the size of a job: allocated or
    /// requested
    #[arg(long, value_name = "FIELD", value_parser = values::size)]
    size: Option<SizeFrom>,
    /// Compare delays on the clusters of this scenario [default: one cluster of as many
    /// processors as the trace's header says, under easy-backfill]
    #[arg(long, value_name = "FILE", conflicts_with = "generated")]
    scenario: Option<PathBuf>,
    /// Number of samples to compare with, for each way of sampling: at random (each job
    /// alike), and systematic (every so many jobs)
    #[arg(long, value_name = "N", default_value = "200",
        value_parser = clap::value_parser!(u32).range(200..=100_000))]
    samples: u32,
    /// Seed of the samples
    #[arg(long, default_value = "1")]
    seed: u64,
    /// A bound of your own, for example 'processors.ks < 0.02'; may be repeated
    #[arg(long, value_name = "STATISTIC < NUMBER")]
    require: Vec<Requirement>,
    /// Judge these groups of statistics only: marginals, classes, shares,
    /// hours, arrivals, batches, order, association, clusters
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',',
          value_parser = crate::cli::values::one_of(Group::ALL, Group::name))]
    only: Vec<Group>,
    /// The second trace was generated from a model of the first. Thin both to a tenth, and
    /// judge marginals, classes, hours, batches and waits (override with --only)
    #[arg(long)]
    generated: bool,
    /// Compare a random sample of each trace, with this share of its jobs
    #[arg(long, value_name = "SHARE", value_parser = share)]
    thin: Option<f64>,
    /// Write one offline HTML page with the figures
    #[arg(long, value_name = "FILE.html")]
    sheet: Option<PathBuf>,
    /// Overwrite the sheet if it exists
    #[arg(long, requires = "sheet")]
    force: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    json: bool,
}

/// Compares two traces and judges the second.
pub(super) fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    if let Some(sheet) = &args.sheet {
        refuse_existing(sheet, args.force)?;
    }
    let reduced = load(&args.reduced, SizeFrom::Allocated).map_err(Failure::input)?;
    let (spec, note) = provenance(args, &reduced)?;
    let mut original =
        load(&args.original, args.size.unwrap_or(spec.size)).map_err(Failure::input)?;
    let removed = sanitize::apply(spec.sanitize.rules(), &mut original);
    warn(args, &original, &reduced, note.as_ref());
    let site = match &args.scenario {
        Some(file) => Some(site_of(file)?),
        None => site(&reduced, &original),
    };
    let options = Options {
        site,
        ..options(args, &spec, note.as_ref())
    };
    let outcome = validate::validate(&original.jobs, &reduced.jobs, &options);
    let mut outcome = outcome.with_context(|| {
        let (original, reduced) = (args.original.display(), args.reduced.display());
        format!("{reduced} against {original}")
    })?;
    for rule in removed.into_iter().filter(|rule| rule.removed > 0) {
        *outcome.left_out.entry(rule.reason).or_default() += rule.removed;
    }
    if let Some(file) = &args.sheet {
        let page = validate::sheet(&outcome, &name(&args.original), &name(&args.reduced));
        std::fs::write(file, page).with_context(|| file.display().to_string())?;
    }
    let names = (name(&args.original), name(&args.reduced));
    let told = Told {
        outcome: &outcome,
        queueing: behaviour_of(args, &original, &reduced),
    };
    let behaviour = told.queueing.as_ref();
    let document = Versioned::of("gridrig.trace-validate.1", &told);
    answer(args.json, &document, |_| {
        let text = report::text(&outcome, &names.0, &names.1);
        let more = behaviour.map(|behaviour| format!("\n{}", behaviour.text()));
        text + &more.unwrap_or_default()
    })?;
    let fails = behaviour.and_then(Behaviour::failure);
    if outcome.passed() && fails.is_none() {
        return Ok(());
    }
    say_each("validate", outcome.failures().into_iter().chain(fails));
    Err(Failure::Threshold)
}

/// The document of `--json`.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    outcome: &'a Validation,
    /// Of generated traces: how they queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    queueing: Option<Behaviour>,
}

/// How a generated trace queues beside its original.
fn behaviour_of(args: &ValidateArgs, original: &Loaded, generated: &Loaded) -> Option<Behaviour> {
    if !args.generated || !args.only.is_empty() {
        return None;
    }
    let widest = original.jobs.iter().map(|job| job.processors).max()?;
    let processors = original.known_processors().unwrap_or(widest).max(widest);
    let (original, generated) = (&original.jobs, &generated.jobs);
    Some(Yardstick::of(original, processors, args.seed).beside(generated))
}

/// What the header of the reduced trace says of its making, and the steps that
/// makes; a trace without such a header was not reduced by any step.
fn provenance(
    args: &ValidateArgs,
    reduced: &Loaded,
) -> anyhow::Result<(WorkloadSpec, Option<Provenance>)> {
    let entry = gridrig_core::job::Entry::Domain(gridrig_core::ids::DomainId(0));
    let whole = || WorkloadSpec {
        zero_run_time: ZeroRunTime::Keep,
        ..WorkloadSpec::whole(args.original.clone(), entry)
    };
    let refuse = |why: String| anyhow!("{}: {why}", args.reduced.display());
    let Some(note) = Provenance::of(&reduced.header) else {
        return Ok((whole(), None));
    };
    let note = note.map_err(refuse)?;
    let spec = note.to_spec(args.original.clone(), entry).map_err(refuse)?;
    Ok((spec, Some(note)))
}

fn warn(args: &ValidateArgs, original: &Loaded, reduced: &Loaded, note: Option<&Provenance>) {
    say_each("warning", original.warnings.iter().chain(&reduced.warnings));
    if let Some(note) = note.filter(|note| note.sha256 != original.sha256) {
        eprintln!(
            "warning: {}: its header says that it was made from {} (SHA-256 {}), and {} is another \
             file",
            args.reduced.display(),
            note.source,
            note.sha256,
            args.original.display()
        );
    }
    let unsaid = note.is_none() && args.window.is_none() && args.scale.is_none();
    if unsaid && !args.generated {
        eprintln!(
            "warning: {}: no header line {REDUCTION_KEY}, no --window and no --scale: compared \
             with the whole original, unscaled",
            args.reduced.display()
        );
    }
}

fn options(args: &ValidateArgs, spec: &WorkloadSpec, note: Option<&Provenance>) -> Options {
    let of_spec = Selection::from(spec);
    let (arrival, run_time) = args
        .scale
        .unwrap_or((spec.scale_arrival, spec.scale_run_time));
    let origin = note.map(|note| note.origin_s);
    let groups = match (args.only.is_empty(), args.generated) {
        (false, _) => Some(args.only.iter().copied().collect()),
        (true, true) => Some(Group::GENERATED.into_iter().collect()),
        (true, false) => None,
    };
    Options {
        selection: Selection {
            max_processors: args.max_processors.or(of_spec.max_processors),
            window: args.window.or(of_spec.window),
            // A window of the user's has an origin of its own.
            origin: origin.filter(|_| args.window.is_none()),
            zero_run_time: args.zero_run_time.unwrap_or(of_spec.zero_run_time),
            scale_arrival: arrival,
            scale_run_time: run_time,
            min_run_time: args.min_run_time.unwrap_or(of_spec.min_run_time),
            generated: args.generated,
        },
        samples: args.samples,
        seed: args.seed,
        groups,
        thin: args.thin.or(args.generated.then_some(0.1)),
        requirements: args.require.clone(),
        declared: note.is_some() || args.window.is_some() || args.scale.is_some(),
        ..Options::default()
    }
}

/// One cluster of the processors that the headers know of.
pub(super) fn site(reduced: &Loaded, original: &Loaded) -> Option<Site> {
    let processors = reduced.header.max_processors();
    let processors = processors.or(original.header.max_processors())?;
    u32::try_from(processors).ok().map(Site::one_cluster)
}

/// The clusters of a scenario, entered where its first workload enters.
fn site_of(file: &Path) -> anyhow::Result<Site> {
    let scenario = crate::scenario::Scenario::load(file, &[])?;
    let entry = scenario.workloads.first().map(|workload| workload.entry);
    Ok(Site {
        name: format!("the clusters of {}", name(file)),
        entry: entry.with_context(|| format!("{}: no workload", file.display()))?,
        seed: scenario.seed,
        grid: scenario.grid,
    })
}

/// `60,60` or `60`
fn scale(text: &str) -> Result<(Decimal, Decimal), String> {
    let (arrival, run_time) = text.split_once(',').unwrap_or((text, text));
    let part = |part: &str| Decimal::parse(part.trim()).filter(|factor| !factor.is_zero());
    part(arrival)
        .zip(part(run_time))
        .ok_or_else(|| "expected ARRIVAL,RUN, numbers above 0 such as 60,60".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text
        .parse()
        .ok()
        .filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "expected a share above 0 and below 1 such as 0.1".to_owned())
}
