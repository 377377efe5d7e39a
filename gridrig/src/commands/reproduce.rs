//! `gridrig reproduce`

use super::answer;
use crate::exit::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::reproduce::private_slurm::missing;
use crate::reproduce::slurm_fidelity::{
    Backfill, Builtin, Plan, Real, Study, markdown, replay, rows,
};
use anyhow::{Context as _, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use std::fs;
use std::path::PathBuf;

/// `gridrig reproduce`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gridrig reproduce slurm-fidelity --out fidelity")]
pub struct ReproduceArgs {
    /// Which study.
    #[command(subcommand)]
    study: StudyName,
}

#[derive(Debug, Subcommand)]
enum StudyName {
    /// Compare the emulated disciplines with a real Slurm, which it starts itself
    SlurmFidelity(FidelityArgs),
}

/// `gridrig reproduce slurm-fidelity`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gridrig reproduce slurm-fidelity --jobs 240 --out fidelity\n\n\
        It starts Debian's Slurm with a munged of its own on loopback, which takes root, and \
        ends it again: once with sched/builtin, once with sched/backfill, some minutes each. \
        Exit code 99: the bound on start times was missed."
)]
struct FidelityArgs {
    #[command(flatten)]
    plan: Plan,
    /// Bound on the 95 % quantile of the distance of start times, in seconds
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
pub(super) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    match &args.study {
        StudyName::SlurmFidelity(args) => slurm_fidelity(args),
    }
}

const REPORT: &str = "report.md";

fn slurm_fidelity(args: &FidelityArgs) -> Result<(), Failure> {
    refuse(args)?;
    let plan = args.plan;
    let builtin = replayed(&plan, "sched/builtin")?;
    let backfill = replayed(&plan, "sched/backfill")?;
    let study = Study {
        slurm: builtin.version.clone(),
        plan,
        builtin: Builtin::of(&builtin, plan.processors, args.bound),
        backfill: Backfill::of(&backfill, plan.processors),
    };
    let text = markdown(&study);
    let json = serde_json::to_string_pretty(&study).map_err(Failure::run)?;
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
    answer(args.json, &study, |_| text)?;
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
    let progress = Progress::new(scheduler, plan.jobs as usize);
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
