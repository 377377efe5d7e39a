//! `gridrig reproduce`

use super::{answer, print};
use crate::exit::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::reproduce::page::Page;
use crate::reproduce::pictures::pictures;
use crate::reproduce::private_slurm::missing;
use crate::reproduce::slurm_fidelity::{
    self as fidelity, Backfill, Builtin, Plan, Real, markdown, replay, rows,
};
use crate::reproduce::study::Study;
use crate::versioned::Versioned;
use anyhow::{Context as _, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use std::fs;
use std::path::{Path, PathBuf};

/// `gridrig reproduce`: the studies.
#[derive(Debug, Subcommand)]
pub enum StudyName {
    /// Compare the emulated disciplines with a real Slurm, which it starts itself
    SlurmFidelity(FidelityArgs),
    /// Make the tables of docs/lsap.md again, beside those of the LSAP paper
    #[command(after_help = page_help("lsap --archive logs > lsap.md"))]
    Lsap(PageArgs),
    /// Make the tables of docs/la-grid-study.md again, beside those of the LA Grid paper
    #[command(after_help = page_help("la-grid > la-grid-study.md"))]
    LaGrid(PageArgs),
    /// Make the tables of docs/dmm-study.md again, beside what the paper on delegated
    /// matchmaking (SC'07) says
    #[command(after_help = page_help("dmm > dmm-study.md"))]
    Dmm(PageArgs),
    /// Make the tables of docs/coallocation.md again, beside what the paper on KOALA's
    /// placement policies (e-Science 2006) says
    #[command(after_help = page_help("koala > coallocation.md"))]
    Koala(PageArgs),
    /// Make the tables of docs/reservations.md again: what advance reservations cost (a study
    /// that the JSS paper only cites)
    #[command(after_help = page_help("jss > reservations.md"))]
    Jss(PageArgs),
}

/// The end of the help of a study that makes a page again, with its example.
fn page_help(example: &str) -> String {
    format!(
        "Example:\n  gridrig reproduce {example}\n\n\
         A comment above each table in the page names its scenarios."
    )
}

/// `gridrig reproduce lsap`, `gridrig reproduce la-grid`, `gridrig reproduce dmm`,
/// `gridrig reproduce koala`, `gridrig reproduce jss`
#[derive(Debug, Args)]
pub struct PageArgs {
    /// The checkout of gridrig whose page and scenarios are read
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Where the logs of the Parallel Workloads Archive are
    #[arg(long, value_name = "DIR", default_value = ".")]
    archive: PathBuf,
    /// Remake only the tables whose name contains PART
    #[arg(long, value_name = "PART", default_value = "")]
    only: String,
    /// Write the page there instead of to stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also draw the figures, as an HTML page, for all tables, remade or not
    #[arg(long, value_name = "FILE")]
    figures: Option<PathBuf>,
}

/// `gridrig reproduce slurm-fidelity`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gridrig reproduce slurm-fidelity --jobs 240 --out fidelity\n\n\
        It starts Debian's Slurm with a munged of its own on loopback. This needs root. It runs \
        twice, with sched/builtin and with sched/backfill, some minutes each, and stops Slurm \
        afterwards. Exit code 99: the bound on start times was missed."
)]
pub struct FidelityArgs {
    #[command(flatten)]
    plan: Plan,
    /// Largest allowed 95 % quantile of the difference between emulated and real start times,
    /// in seconds
    #[arg(long, value_name = "SECONDS", default_value = "2")]
    bound: f64,
    /// Where the report and the jobs go
    #[arg(long, default_value = "slurm-fidelity")]
    out: PathBuf,
    /// Overwrite the files of an earlier study
    #[arg(long)]
    force: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    json: bool,
}

/// Runs the study.
pub(super) fn reproduce(study: &StudyName) -> Result<(), Failure> {
    match study {
        StudyName::SlurmFidelity(args) => slurm_fidelity(args),
        StudyName::Lsap(args) => page(args, "docs/lsap.md"),
        StudyName::LaGrid(args) => page(args, "docs/la-grid-study.md"),
        StudyName::Dmm(args) => page(args, "docs/dmm-study.md"),
        StudyName::Koala(args) => page(args, "docs/coallocation.md"),
        StudyName::Jss(args) => page(args, "docs/reservations.md"),
    }
}

/// Makes the tables of a page again: all scenarios are read before any is run.
fn page(args: &PageArgs, name: &str) -> Result<(), Failure> {
    let file = args.root.join(name);
    let text = fs::read_to_string(&file).with_context(|| {
        let file = file.display();
        format!(
            "{file}: expected a checkout of gridrig at --root {}",
            args.root.display()
        )
    })?;
    let page = Page::read(&text).with_context(|| file.display().to_string())?;
    let only = args.only.as_str();
    if page.tables(only).next().is_none() {
        let names: Vec<&str> = page.tables("").map(|table| table.name.as_str()).collect();
        let names = names.join(", ");
        return Err(anyhow!("--only {only}: expected a part of one of {names}").into());
    }
    if args.figures.is_some() && page.tables("").all(|table| table.x.is_none()) {
        return Err(anyhow!("--figures: expected a page with figures, and {name} has none").into());
    }
    let figures = page.figures(only);
    let study = Study {
        root: &args.root,
        archive: &args.archive,
        figures: &figures,
    };
    let needs = page.needs(only).into_iter();
    let scenarios = needs.map(|(key, policies)| Ok((study.scenario(&key, &policies)?, key)));
    let scenarios: Vec<_> = scenarios.collect::<anyhow::Result<_>>()?;
    let runs = study.run_every(&scenarios).map_err(Failure::Run)?;
    let text = page.write(only, &runs);
    let write = |flag: &str, file: &Path, text: &str| {
        let written = fs::write(file, text);
        let written = written.with_context(|| format!("{flag} {}", file.display()));
        written.map_err(Failure::Run)
    };
    if let Some(file) = &args.figures {
        write("--figures", file, &pictures(&text)?)?;
    }
    args.out
        .as_ref()
        .map_or_else(|| print(&text), |out| write("--out", out, &text))
}

const REPORT: &str = "report.md";

fn slurm_fidelity(args: &FidelityArgs) -> Result<(), Failure> {
    refuse(args)?;
    let plan = args.plan;
    let builtin = replayed(&plan, "sched/builtin")?;
    let backfill = replayed(&plan, "sched/backfill")?;
    let study = fidelity::Study {
        slurm: builtin.version.clone(),
        plan,
        builtin: Builtin::of(&builtin, plan.processors, args.bound),
        backfill: Backfill::of(&backfill, plan.processors),
    };
    let text = markdown(&study);
    let document = Versioned::of("gridrig.reproduce-slurm-fidelity.1", &study);
    let json = serde_json::to_string_pretty(&document).map_err(Failure::run)?;
    for (name, content) in [
        (REPORT, text.as_str()),
        ("study.json", json.as_str()),
        ("jobs-builtin.csv", &rows(&builtin)),
        ("jobs-backfill.csv", &rows(&backfill)),
    ] {
        let path = args.out.join(name);
        let written = fs::write(&path, content);
        let written = written.with_context(|| path.display().to_string());
        written.map_err(Failure::Run)?;
    }
    answer(args.json, &document, |_| text)?;
    eprintln!("written: {}", args.out.display());
    match study.builtin.kept {
        true => Ok(()),
        false => Err(Failure::Threshold),
    }
}

/// Refuses what cannot work, before anything is started.
fn refuse(args: &FidelityArgs) -> anyhow::Result<()> {
    for (flag, value) in [("--load", args.plan.load), ("--bound", args.bound)] {
        let fits = value > 0.0 && value <= 1000.0;
        ensure!(fits, "{flag} {value}: expected a number above 0");
    }
    let out = args.out.display();
    if !args.force && args.out.join(REPORT).exists() {
        bail!("--out {out}: there is a study already (expected a new directory, or --force)");
    }
    let missing = missing().join(", ");
    ensure!(
        missing.is_empty(),
        "slurm-fidelity starts a Slurm of its own: expected {missing}"
    );
    fs::create_dir_all(&args.out).with_context(|| format!("--out {out}: expected a directory"))
}

fn replayed(plan: &Plan, scheduler: &'static str) -> Result<Real, Failure> {
    let progress = Progress::new(scheduler, plan.jobs as usize, true);
    let observe = |now: gridrig_replayer::player::Progress| {
        progress.update(now.now, now.ended, Some(now.worst_lag));
    };
    let real = replay(plan, scheduler, interrupt::wait(), observe).map_err(Failure::Run)?;
    progress.finish(&format!("{} jobs have run", real.jobs.len()));
    if real.interrupted {
        return Err(Failure::Interrupted);
    }
    if real.jobs.is_empty() {
        let why = anyhow!("{scheduler}: no job ran to its end");
        return Err(Failure::Run(why));
    }
    Ok(real)
}
