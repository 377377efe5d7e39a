//! `gridrig trace reduce`

mod pipeline;
mod report;
mod verdict;

use super::values;
use crate::cli::values::text;
use crate::commands::{answer, refuse_existing, say_each};
use crate::exit::Failure;
use crate::versioned::Versioned;
use anyhow::{Context as _, bail, ensure};
use clap::Args;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::TraceError;
use gridrig_tracelab::format::{create, open};
use gridrig_tracelab::load::load;
use gridrig_tracelab::reduce::{Reduced, WriteError, Written, write_reduced};
use gridrig_tracelab::spec::{Sanitize, SizeFrom, TraceWindow, ZeroRunTime};
use gridrig_tracelab::validate::Requirement;
use pipeline::Pipeline;
use report::Report;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use verdict::Judge;

/// `gridrig trace reduce`
#[derive(Debug, Args)]
#[command(
    override_usage = "gridrig trace reduce [OPTIONS] IN [OUT]\n       \
        gridrig trace reduce [OPTIONS] --from-scenario FILE [[IN] OUT]",
    after_help = "Examples:\n  \
        gridrig trace reduce traces/ctc-like.swf.gz short.swf.gz --window 1d,2d --keep 2/5 --scale 60\n  \
        gridrig trace reduce CTC-SP2.swf.gz week.swf.gz --window-length 7d --load 0.8 --processors 450\n  \
        gridrig trace reduce CTC-SP2.swf.gz --window-length 7d --rank 10\n\n\
        The steps apply in this order: --sanitize, --max-processors, window, sample, --zero-run-time, scale, \
        --min-run-time. Without OUT nothing is written: the windows and the load after each step \
        are shown.\nExit codes: 0 done, 2 bad usage or input, 99 the reduced trace failed the test \
        against random samples of its source, or a --require was missed (the file is kept)."
)]
pub struct ReduceArgs {
    /// The trace to reduce and the SWF file to write, gzip when it ends in .gz
    #[arg(value_name = "FILE", num_args = 0..=2)]
    files: Vec<PathBuf>,
    /// The part to keep: where it begins, counted from the log's time 0, and
    /// how long it is, for example 87.08d,7d
    #[arg(long, value_name = "START,LENGTH", value_parser = values::window)]
    window: Option<TraceWindow>,
    /// Keep the window of this length that represents the whole trace best
    #[arg(long, value_name = "LENGTH", value_parser = text::<SimDuration>, conflicts_with = "window")]
    window_length: Option<SimDuration>,
    /// A chosen window starts at a multiple of this
    #[arg(long, value_name = "TIME", value_parser = text::<SimDuration>, default_value = "1d")]
    step: SimDuration,
    /// Leave out this time after the first submission when a window is chosen
    /// [default: found by a rule]
    #[arg(long, value_name = "TIME", value_parser = text::<SimDuration>, requires = "window_length")]
    skip_start: Option<SimDuration>,
    /// Leave out this time before the last submission when a window is chosen
    /// [default: found by a rule]
    #[arg(long, value_name = "TIME", value_parser = text::<SimDuration>, requires = "window_length")]
    skip_end: Option<SimDuration>,
    /// Show the N best windows with every component of their distance
    #[arg(long, value_name = "N")]
    rank: Option<usize>,
    /// Keep m of every n jobs, evenly spread
    #[arg(long, value_name = "M/N", value_parser = values::keep, conflicts_with_all = ["share", "load"])]
    keep: Option<(u64, u64)>,
    /// Place of the first job in the pattern of --keep, 0 to n-1
    #[arg(long, requires = "keep")]
    phase: Option<u64>,
    /// Keep each job with this probability, at random
    #[arg(long, value_name = "P", value_parser = text::<Decimal>, conflicts_with = "load")]
    share: Option<Decimal>,
    /// Keep a random sample of jobs with this offered load on --processors
    #[arg(long, value_name = "RHO", value_parser = text::<Decimal>)]
    load: Option<Decimal>,
    /// Seed of --share and --load
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Processors for computing load, also written as MaxProcs [default: as the
    /// header of the trace says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processors: Option<u32>,
    /// Divide all times by this
    #[arg(long, value_name = "FACTOR", value_parser = text::<Decimal>,
        conflicts_with_all = ["scale_arrival", "scale_run_time"])]
    scale: Option<Decimal>,
    /// Divide submit times by this
    #[arg(long, value_name = "FACTOR", value_parser = text::<Decimal>)]
    scale_arrival: Option<Decimal>,
    /// Divide run times and requested times by this
    #[arg(long, value_name = "FACTOR", value_parser = text::<Decimal>)]
    scale_run_time: Option<Decimal>,
    /// Leave jobs out before all other steps, by the rules of trace convert
    #[arg(long, value_name = "RULES", value_parser = Sanitize::parse)]
    sanitize: Option<Sanitize>,
    /// Leave jobs with more processors out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_processors: Option<u32>,
    /// Jobs with run time 0, before scaling: give them this run time, or `drop` or
    /// `keep` them
    #[arg(long, value_name = "RULE", value_parser = text::<ZeroRunTime>, default_value = "1s")]
    zero_run_time: ZeroRunTime,
    /// Raise shorter run times to this, after scaling
    #[arg(long, value_name = "TIME", value_parser = text::<SimDuration>, default_value = "0s")]
    min_run_time: SimDuration,
    /// The field that gives the size of a job: allocated or requested
    #[arg(long, value_name = "FIELD", value_parser = values::size, default_value = "allocated")]
    size: SizeFrom,
    /// Take all steps from the workload of a scenario
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "window", "window_length", "step", "keep", "share", "load", "seed", "scale",
        "scale_arrival", "scale_run_time", "max_processors", "zero_run_time", "min_run_time", "size", "sanitize",
    ])]
    from_scenario: Option<PathBuf>,
    /// Which workload of the scenario: its index from 0, its trace, or the
    /// domain or cluster where it enters; needed where there are several
    #[arg(long, value_name = "NAME", requires = "from_scenario")]
    workload: Option<String>,
    /// Override any key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "from_scenario")]
    set: Vec<String>,
    /// Do not compare the reduced trace with its source
    #[arg(long)]
    no_validate: bool,
    /// A bound on a statistic of the validation, for example "processors.ks < 0.05";
    /// may be repeated
    #[arg(long, value_name = "BOUND", conflicts_with = "no_validate")]
    require: Vec<Requirement>,
    /// Write the validation with its pictures as an HTML page
    #[arg(long, value_name = "FILE", conflicts_with = "no_validate")]
    sheet: Option<PathBuf>,
    /// Overwrite OUT and the sheet if they exist
    #[arg(long)]
    force: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    json: bool,
}

/// Reduces a trace, writes it and says what became of it.
pub(super) fn reduce(args: &ReduceArgs) -> Result<(), Failure> {
    let mut pipeline = Pipeline::of(args)?;
    refuse_sheet(args, &pipeline)?;
    if let Some(out) = &pipeline.out {
        refuse_output(&pipeline.spec.trace, out, args.force)?;
    }
    let loaded = load(&pipeline.spec.trace, pipeline.spec.size).map_err(Failure::input)?;
    pipeline.settle_processors(&loaded)?;
    let judge = Judge::of(args, &pipeline, &loaded);
    let reduced = loaded
        .into_reduced(&pipeline.spec)
        .map_err(|error| Failure::input(by_option(args, error)))?;
    let mut report = Report::new(&pipeline, &reduced, args.rank);
    if let Some(out) = &pipeline.out {
        let written = write(&pipeline, &reduced, out)?;
        report.cut_dependencies = written.cut_dependencies;
        report.warnings.extend(written.warnings);
    }
    if let (Some(judge), Some(out)) = (judge, &pipeline.out) {
        report.validation = Some(judge.judge(&reduced, out)?);
    }
    say_each("warning", &report.warnings);
    let document = Versioned::of("gridrig.trace-reduce.1", &report);
    answer(args.json, &document, |_| report.to_string())?;
    match (&report.validation, &pipeline.out) {
        (Some(validation), Some(out)) if !validation.passed() => {
            eprintln!(
                "missed: {} is no random sample of its source; it is kept (gridrig trace validate \
                 says more)",
                out.display()
            );
            Err(Failure::Threshold)
        }
        _ => Ok(()),
    }
}

/// The same error, of the option that was given where it is of a field of a scenario.
fn by_option(args: &ReduceArgs, error: TraceError) -> TraceError {
    // What else is refused of a field is refused of its option at once.
    let options = [
        ("window.length", "--window-length"),
        ("window.step", "--step"),
        ("keep", "--share"),
    ];
    match error {
        TraceError::File(file, problem) if args.from_scenario.is_none() => {
            let told = options.into_iter().find_map(|(field, option)| {
                let rest = problem.strip_prefix(&format!("field {field} = \""))?;
                let (value, rest) = rest.split_once('"')?;
                Some(format!("{option} {value}{rest}"))
            });
            TraceError::File(file, told.unwrap_or(problem))
        }
        error => error,
    }
}

/// A picture of nothing, and one over another.
fn refuse_sheet(args: &ReduceArgs, pipeline: &Pipeline) -> anyhow::Result<()> {
    if pipeline.out.is_none() && (args.sheet.is_some() || !args.require.is_empty()) {
        bail!("--sheet and --require judge what is written (expected OUT)");
    }
    let sheet = args.sheet.as_ref();
    sheet.map_or(Ok(()), |sheet| refuse_existing(sheet, args.force))
}

fn refuse_output(source: &Path, out: &Path, force: bool) -> anyhow::Result<()> {
    let same = source.canonicalize().ok().zip(out.canonicalize().ok());
    ensure!(
        same.is_none_or(|(source, out)| source != out),
        "{}: this is the trace to be reduced (expected another file to write)",
        out.display()
    );
    refuse_existing(out, force)
}

fn write(pipeline: &Pipeline, reduced: &Reduced, out: &Path) -> anyhow::Result<Written> {
    ensure!(
        !reduced.trace.jobs.is_empty(),
        "{}: the reduction leaves no job (expected at least one to write)",
        reduced.trace.file
    );
    let told = || format!("{}: the reduced trace cannot be written", out.display());
    let file = create(out).with_context(told)?;
    let source = open(&pipeline.spec.trace)?;
    let machine = pipeline.machine;
    let result = write_reduced(reduced, &pipeline.spec, machine, source, file);
    let (written, mut file) = match result {
        Err(WriteError::Output(error)) => Err(error).with_context(told)?,
        result => result?,
    };
    file.flush().with_context(told)?;
    file.commit().with_context(told)?;
    Ok(written)
}
