//! `gridrig export`

mod swf;

use super::{print, print_json, refuse_existing, say_each};
use crate::exit::Failure;
use crate::versioned::Versioned;
use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};
use gridrig_core::job::Submission;
use gridrig_results::rundir::{self, CsvError, Run, names};
use gridrig_results::{JobTable, batsim, compare};
use gridrig_tracelab::format::create;
use serde_json::json;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// `gridrig export`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gridrig export runs/two-sites-1/free-node/r000 --format batsim --out free-node_jobs.csv
  gridrig export runs/two-sites-1/free-node/r000 --format swf --out - | head
  gridrig export runs/two-sites-1 --format csv --out tables

With several runs --out is a folder, and each run is written to
OUT/POLICY/rNNN.csv, .swf or _jobs.csv, as it lies below RUN.")]
pub struct ExportArgs {
    /// Run directories, or folders with runs below them
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// What to write
    #[arg(long, value_enum)]
    format: Form,
    /// The file to write, gzip if its name ends in .gz; a folder for several
    /// runs; - is stdout
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// Leave damaged and half-written runs out, and list them
    #[arg(long)]
    skip_damaged: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    json: bool,
}

/// What a run can be exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// The job table, column by column.
    Csv,
    /// Batsim's _jobs.csv, with the processors of each job: evalys draws its
    /// Gantt chart.
    Batsim,
    /// The Standard Workload Format, with wait times.
    Swf,
}

impl Form {
    /// Behind the name of a run.
    const fn ending(self) -> &'static str {
        match self {
            Form::Csv => ".csv",
            Form::Batsim => "_jobs.csv",
            Form::Swf => ".swf",
        }
    }
}

/// What was written of a run.
struct Written {
    jobs: u64,
    /// Jobs that the run never submitted, which no trace has.
    left_out: u64,
}

/// Writes the jobs of finished runs in a format of other tools.
pub(super) fn export(args: &ExportArgs) -> Result<(), Failure> {
    let (dirs, skipped) =
        compare::find_runs(&args.runs, args.skip_damaged).map_err(Failure::input)?;
    say_each("left out", &skipped);
    let to_stdout = args.out == Path::new("-");
    if to_stdout && args.json {
        let why = "--out -: stdout takes either the export or --json (expected a file with --json)";
        return Err(anyhow!(why).into());
    }
    let plan = plan(args, &dirs)?;
    if to_stdout {
        return match plan.as_slice() {
            [(dir, _)] => stdout(dir, args.format),
            more => Err(anyhow!(
                "--out -: {} runs were found (expected one run, or a folder for --out)",
                more.len()
            )),
        }
        .map_err(Failure::Input);
    }
    for (_, out) in &plan {
        refuse_existing(out, args.force)?;
    }
    let mut files = Vec::with_capacity(plan.len());
    for (dir, out) in &plan {
        let written = to_file(dir, args.format, out)?;
        if !args.json {
            print(&format!("{}: {}\n", out.display(), said(&written)))?;
        }
        files.push(json!({
            "run": dir.display().to_string(),
            "out": out.display().to_string(),
            "jobs": written.jobs,
            "left_out": written.left_out,
        }));
    }
    if !args.json {
        return Ok(());
    }
    let document = json!({ "format": args.format, "files": files, "skipped": skipped });
    print_json(&Versioned::of("gridrig.export.1", document))
}

fn said(written: &Written) -> String {
    let jobs = format!("{} jobs", written.jobs);
    match written.left_out {
        0 => jobs,
        count => format!("{jobs}, {count} were never submitted and are left out"),
    }
}

/// Which run goes where. A run that was named itself is a file, whatever is
/// found below a folder goes into one.
fn plan(args: &ExportArgs, dirs: &[PathBuf]) -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
    if let ([dir], [named]) = (dirs, args.runs.as_slice())
        && (dir == named || !args.out.is_dir())
    {
        return Ok(vec![(dir.clone(), args.out.clone())]);
    }
    let mut plan: Vec<(PathBuf, PathBuf)> = Vec::with_capacity(dirs.len());
    for dir in dirs {
        let below = args.runs.iter().find_map(|run| dir.strip_prefix(run).ok());
        let place = match below.filter(|below| !below.as_os_str().is_empty()) {
            Some(below) => below.to_owned(),
            None => last_names(dir),
        };
        let mut name = place.into_os_string();
        name.push(args.format.ending());
        let out = args.out.join(name);
        if let Some((other, _)) = plan.iter().find(|(_, taken)| *taken == out) {
            let (out, other, dir) = (out.display(), other.display(), dir.display());
            bail!(
                "{out}: both {other} and {dir} would be written there (expected one folder above \
                 both as RUN)"
            );
        }
        plan.push((dir.clone(), out));
    }
    Ok(plan)
}

/// `POLICY/rNNN` of a run that was named itself.
fn last_names(dir: &Path) -> PathBuf {
    let names: Vec<_> = dir
        .components()
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .collect();
    names.iter().skip(names.len().saturating_sub(2)).collect()
}

fn stdout(dir: &Path, form: Form) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = write(dir, form, &mut out)?.and_then(|written| out.flush().map(|()| written));
    match written {
        Ok(written) if written.left_out > 0 => eprintln!("{}", said(&written)),
        // A reader that has gone away (`| head`) is no failure.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(error).context("stdout: cannot be written");
        }
        _ => {}
    }
    Ok(())
}

fn to_file(dir: &Path, form: Form, out: &Path) -> anyhow::Result<Written> {
    let refused = || format!("{}: cannot be written", out.display());
    if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(refused)?;
    }
    let mut file = create(out).with_context(refused)?;
    let written = write(dir, form, &mut file)?;
    let written = written.and_then(|written| file.commit().map(|()| written));
    written.with_context(refused)
}

/// The outer error is about the run, the inner one about the output.
fn write(dir: &Path, form: Form, out: &mut impl Write) -> anyhow::Result<io::Result<Written>> {
    if form == Form::Csv {
        return match rundir::write_csv(dir, names::JOBS, out) {
            Ok(jobs) => Ok(Ok(Written { jobs, left_out: 0 })),
            Err(CsvError::Run(error)) => Err(error.into()),
            Err(CsvError::Out(error)) => Ok(Err(error)),
        };
    }
    let run = whole(dir)?;
    let workloads = &run.manifest.workloads;
    let table = JobTable::build(&run.log, &run.submissions, &run.grid, workloads);
    if form == Form::Swf {
        // A line has one number of processors, which need the same memory.
        let differ = |job: &&Submission| {
            let all = &job.spec.components;
            let mut more = all.more.iter();
            more.any(|one| one.requirements != all.first.requirements)
        };
        if let Some(job) = run.submissions.iter().find(differ) {
            bail!(
                "{}: --format swf: {} has components that need different nodes (expected the \
                 same of all)",
                dir.display(),
                job.spec.id
            );
        }
    }
    let done = match form {
        Form::Swf => swf::write(&run, &table, out),
        Form::Batsim | Form::Csv => {
            batsim::jobs_csv(&run.log, &table, &run.submissions, &run.grid, out)
        }
    };
    let submitted = table.rows().iter().filter(|row| row.submit.is_some());
    let jobs = submitted.count() as u64;
    let left_out = table.rows().len() as u64 - jobs;
    Ok(done.map(|()| Written { jobs, left_out }))
}

/// A run with all of its events.
fn whole(dir: &Path) -> anyhow::Result<Run> {
    let run = rundir::read(dir)?;
    if let Some(bad) = run.unreadable.first() {
        bail!(
            "{}:{}: {} (expected events; `gridrig audit {}` says more)",
            dir.join(names::EVENTS).display(),
            bad.row,
            bad.message,
            dir.display()
        );
    }
    Ok(run)
}
