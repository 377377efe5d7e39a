//! `gridrig sweep`

use super::{answer, print};
use crate::exit::Failure;
use crate::runner::CellNumber;
use crate::sweep::{self, Engine, Plan, State};
use crate::words::{list, many};
use anyhow::{anyhow, bail, ensure};
use clap::{Args, Subcommand};
use gridrig_results::plot;
use serde::Serialize;
use std::path::PathBuf;

/// `gridrig sweep`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  gridrig sweep plan study.toml --out sweep
  gridrig sweep run sweep -j 0
  gridrig sweep merge sweep")]
pub struct SweepArgs {
    /// What to do.
    #[command(subcommand)]
    command: SweepCommand,
}

#[derive(Debug, Subcommand)]
enum SweepCommand {
    /// Write the plan of a study: a scenario for each point of its axes
    #[command(after_help = "Example:
  gridrig sweep plan study.toml --out sweep

A study names a scenario and the keys that vary, as --set takes them:

  scenario = \"resources/scenarios/two-sites.toml\"

  [grid]
  \"domain.*.broker.exchange\" = [\"5s\", \"15s\", \"60s\"]
  \"workload.scale.arrival\" = [30, 60]")]
    Plan {
        /// The file of the study
        study: PathBuf,
        /// The folder of the plan, and of its runs
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Run a slice of a sweep, or all of it; what is done is skipped
    #[command(after_help = "Examples:
  gridrig sweep run sweep -j 0
  gridrig sweep run sweep --slice 3/40 -j 4
  gridrig sweep run sweep --slices 40

The slice is --slice, or the number of an array's task: SLURM_ARRAY_TASK_ID of all that \
Slurm counts, or that, PBS_ARRAY_INDEX or HQ_TASK_ID, from 1, of --slices. Without any of these \
it is all.")]
    Run {
        /// The folder of the plan
        dir: PathBuf,
        /// Slice m of n, from 1
        #[arg(long, value_name = "M/N", conflicts_with = "slices")]
        slice: Option<CellNumber>,
        /// Into how many slices the plan is cut, of which the number of the task is one
        #[arg(long, value_name = "N")]
        slices: Option<usize>,
        /// So many runs at a time; 0 is one for each processor. They write the same files
        #[arg(short, long, value_name = "N", default_value_t = 1)]
        jobs: usize,
    },
    /// Say how far a sweep has come; exit code 0 only if it is whole
    Status {
        /// The folder of the plan
        dir: PathBuf,
        /// Print one JSON document on stdout and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Write the figures of all runs as Parquet: DIR/results/AXIS=value/cells.parquet
    Merge {
        /// The folder of the plan
        dir: PathBuf,
    },
    /// Print a script that runs a sweep on an engine
    #[command(after_help = "Examples:
  gridrig sweep script slurm sweep -j 4 > sweep.sh; sbatch sweep.sh
  gridrig sweep script snakemake sweep > Snakefile; snakemake --cores 8 merge")]
    Script {
        /// What runs it
        engine: Engine,
        /// The folder of the plan
        dir: PathBuf,
        /// Processors of a slice
        #[arg(short, long, value_name = "N", default_value_t = 1,
              value_parser = clap::value_parser!(u16).range(1..))]
        jobs: u16,
        /// How many slices [default: as many as take ten minutes each]
        #[arg(long, value_name = "N")]
        slices: Option<usize>,
    },
}

/// Plans, runs, looks at and merges sweeps.
pub(super) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    match &args.command {
        SweepCommand::Plan { study, out } => {
            let (plan, is_there) = sweep::make(study, out)?;
            let (points, shown) = (plan.points.len() as u64, out.display());
            let runs = plan.points.iter().map(|point| point.runs).sum();
            let (points, runs) = (many(points, "point"), many(runs, "run"));
            let took = plot::seconds(plan.predicted_s());
            let done = if is_there { "is there" } else { "planned" };
            eprintln!("{done}: {shown}: {points}, {runs}, about {took} on one processor");
            eprintln!(
                "next: gridrig sweep run {shown} -j 0, or gridrig sweep script slurm {shown}"
            );
            Ok(())
        }
        SweepCommand::Run {
            dir,
            slice,
            slices,
            jobs,
        } => {
            let slice = match slice {
                Some(slice) => *slice,
                None => of_task(*slices, |name| std::env::var(name).ok())?,
            };
            let processors = match jobs {
                0 => std::thread::available_parallelism().map_or(1, usize::from),
                jobs => *jobs,
            };
            sweep::run(&Plan::open(dir)?, slice, processors)
        }
        SweepCommand::Status { dir, json } => status(&Plan::open(dir)?, *json),
        SweepCommand::Merge { dir } => {
            let (out, runs, files) = sweep::merge(&Plan::open(dir)?)?;
            let files = many(files as u64, "file");
            eprintln!("merged: {}: {runs} runs in {files}", out.display());
            Ok(())
        }
        SweepCommand::Script {
            engine,
            dir,
            jobs,
            slices,
        } => {
            let plan = Plan::open(dir)?;
            print(&sweep::script(&plan, *engine, usize::from(*jobs), *slices)?)
        }
    }
}

/// The slice of this task of an array, by the variables that engines set.
fn of_task(
    slices: Option<usize>,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<CellNumber> {
    let number = |name: &str| -> anyhow::Result<Option<usize>> {
        let Some(text) = variable(name) else {
            return Ok(None);
        };
        let number = text.trim().parse();
        let number = number.map_err(|_| anyhow!("{name} = {text:?}: expected a number"))?;
        Ok(Some(number))
    };
    let slurm = "SLURM_ARRAY_TASK_ID";
    let mut tasks = [slurm, "PBS_ARRAY_INDEX", "HQ_TASK_ID"].into_iter();
    let task = tasks.find(|name| variable(name).is_some());
    let Some(name) = task else {
        ensure!(
            slices.is_none(),
            "--slices: expected a task of an array, with SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX or \
             HQ_TASK_ID (or --slice m/n)"
        );
        return Ok(CellNumber { number: 1, of: 1 });
    };
    let task = number(name)?.unwrap_or(0);
    let (at, of) = match (slices, number("SLURM_ARRAY_TASK_COUNT")?) {
        (Some(slices), _) => (task, slices),
        (None, Some(count)) if name == slurm => {
            let part = |end: &str| number(&format!("SLURM_ARRAY_TASK_{end}"));
            let (first, last) = (part("MIN")?.unwrap_or(1), part("MAX")?.unwrap_or(count));
            let step = part("STEP")?.unwrap_or(1).max(1);
            let of = last.saturating_sub(first) / step + 1;
            ensure!(
                of == count,
                "{slurm} = {task}: the array has {count} tasks from {first} to {last} by {step}, \
                 which are not all (expected --slice m/n or --slices n)"
            );
            (task.saturating_sub(first) / step + 1, count)
        }
        _ => bail!("{name} = {task}: expected --slices, since it does not say of how many"),
    };
    ensure!(
        (1..=of).contains(&at),
        "{name} = {task}: expected a number from 1 to {of}"
    );
    Ok(CellNumber { number: at, of })
}

/// How far a sweep has come.
#[derive(Serialize)]
struct Status {
    points: usize,
    points_done: usize,
    runs: u64,
    runs_done: u64,
    /// How long what is missing takes on one processor.
    predicted_s: f64,
    failed: Vec<String>,
}

fn status(plan: &Plan, json: bool) -> Result<(), Failure> {
    let mut status = Status {
        points: plan.points.len(),
        points_done: 0,
        runs: 0,
        runs_done: 0,
        predicted_s: 0.0,
        failed: Vec::new(),
    };
    for point in &plan.points {
        let state = State::of(plan, point);
        status.runs += point.runs;
        status.runs_done += state.done.len() as u64;
        match state.is_whole(point) {
            true => status.points_done += 1,
            false => status.predicted_s += point.predicted_s,
        }
        status.failed.extend(state.failed);
    }
    answer(json, &status, |status| {
        let failed = status.failed.iter().map(|why| format!("failed  {why}\n"));
        format!(
            "points  {} of {} done\nruns    {} of {} done\nleft    about {} on one processor\n{}",
            status.points_done,
            status.points,
            status.runs_done,
            status.runs,
            plot::seconds(status.predicted_s),
            failed.collect::<String>()
        )
    })?;
    match status.points - status.points_done {
        0 => Ok(()),
        missing => Err(Failure::run(anyhow!(
            "{}: {} to be run",
            plan.dir.display(),
            list([many(missing as u64, "point")])
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_of_an_array_knows_its_slice() {
        let slice = |slices, variables: &[(&str, &str)]| {
            let slice = of_task(slices, |name| {
                let mut all = variables.iter();
                all.find(|(own, _)| *own == name)
                    .map(|(_, value)| (*value).to_owned())
            });
            let slice = slice.map(|slice| format!("{}/{}", slice.number, slice.of));
            slice.unwrap_or_else(|error| error.to_string())
        };
        let slurm = |id, count, min, max, step| {
            let slurm = |name| format!("SLURM_ARRAY_TASK_{name}");
            let names = ["ID", "COUNT", "MIN", "MAX", "STEP"].map(slurm);
            let values = [id, count, min, max, step];
            let variables: Vec<_> = names.iter().map(String::as_str).zip(values).collect();
            slice(None, &variables)
        };
        assert_eq!(slice(None, &[]), "1/1");
        assert_eq!(slurm("3", "4", "1", "4", "1"), "3/4");
        assert_eq!(slurm("0", "4", "0", "3", "1"), "1/4");
        assert_eq!(slurm("14", "3", "10", "15", "2"), "3/3");
        assert!(slurm("7", "2", "3", "7", "1").contains("which are not all"));
        assert_eq!(slice(Some(9), &[("SLURM_ARRAY_TASK_ID", "7")]), "7/9");
        assert_eq!(slice(Some(9), &[("PBS_ARRAY_INDEX", "9")]), "9/9");
        assert_eq!(slice(Some(9), &[("HQ_TASK_ID", "1")]), "1/9");
        assert!(slice(Some(9), &[("HQ_TASK_ID", "0")]).contains("from 1 to 9"));
        assert!(slice(None, &[("HQ_TASK_ID", "1")]).contains("expected --slices"));
        assert!(slice(Some(9), &[]).contains("expected a task of an array"));
        assert!(slice(Some(9), &[("HQ_TASK_ID", "x")]).contains("expected a number"));
    }
}
