//! `gridrig sweep`

use super::{answer, print};
use crate::exit::Failure;
use crate::runner::CellNumber;
use crate::sweep::{self, Engine, Plan, State};
use crate::versioned::Versioned;
use crate::words::many;
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Subcommand;
use gridrig_results::plot;
use serde_json::json;
use std::path::PathBuf;

/// `gridrig sweep`: what can be done with a sweep.
#[derive(Debug, Subcommand)]
pub enum SweepCommand {
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
    /// Run a slice of a sweep, or all of it; finished cells are skipped
    #[command(after_help = "Examples:
  gridrig sweep run sweep -j 0
  gridrig sweep run sweep --slice 3/40 -j 4
  gridrig sweep run sweep --slices 40

The slice is given by --slice, or by the task of a job array: without --slices by \
SLURM_ARRAY_TASK_ID and Slurm's count of tasks; with --slices N by SLURM_ARRAY_TASK_ID, \
PBS_ARRAY_INDEX or HQ_TASK_ID, from 1 to N. Without any of these the whole sweep is run.")]
    Run {
        /// The folder of the plan
        dir: PathBuf,
        /// Slice m of n, from 1
        #[arg(long, value_name = "M/N", conflicts_with = "slices")]
        slice: Option<CellNumber>,
        /// Number of slices; the number of the array task selects one
        #[arg(long, value_name = "N")]
        slices: Option<usize>,
        /// Number of runs at a time; 0: one for each processor. The files are the same for any
        /// number
        #[arg(short, long, value_name = "N", default_value_t = 1)]
        jobs: usize,
    },
    /// Say how far a sweep has come; exit code 0 only if all of it is done
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
    /// Write a page about what a sweep has found: one HTML file
    #[command(after_help = "Examples:
  gridrig sweep report sweep --out sweep.html
  gridrig sweep report sweep --out sweep.html --figure bounded_slowdown.p95 --figure utilization

The page shows the axes that differ, how each figure responds to each of them, all of them as \
parallel coordinates, and the Pareto front of the first two figures.")]
    Report {
        /// The folder of the plan
        dir: PathBuf,
        /// The page
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// A figure, such as delay_s.mean; several are shown beside each other [default:
        /// delay_s.mean and forwards_per_job]
        #[arg(long, value_name = "FIGURE")]
        figure: Vec<String>,
        /// Overwrite the page if it exists
        #[arg(long)]
        force: bool,
    },
    /// Print a script that runs a sweep with Slurm, HyperQueue, GNU parallel or Snakemake
    #[command(after_help = "Examples:
  gridrig sweep script slurm sweep -j 4 > sweep.sh; sbatch sweep.sh
  gridrig sweep script snakemake sweep > Snakefile; snakemake --cores 8 merge")]
    Script {
        /// What runs it
        engine: Engine,
        /// The folder of the plan
        dir: PathBuf,
        /// Processors for each slice
        #[arg(short, long, value_name = "N", default_value_t = 1,
              value_parser = clap::value_parser!(u16).range(1..))]
        jobs: u16,
        /// How many slices [default: so that each takes about ten minutes]
        #[arg(long, value_name = "N")]
        slices: Option<usize>,
    },
}

/// Plans, runs, looks at and merges sweeps.
pub(super) fn sweep(command: &SweepCommand) -> Result<(), Failure> {
    match command {
        SweepCommand::Plan { study, out } => {
            let (plan, is_there) = sweep::make(study, out)?;
            let took = plot::seconds(plan.predicted_s());
            eprintln!(
                "{}: {}: {}, {}, about {took} on one processor\nnext: gridrig sweep run {0} -j 0",
                out.display(),
                if is_there { "there already" } else { "planned" },
                many(plan.points.len() as u64, "point"),
                many(plan.runs(), "run"),
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
        SweepCommand::Report {
            dir,
            out,
            figure,
            force,
        } => super::report::sweep(dir, figure, (out, *force)),
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
fn of_task(slices: Option<usize>, variable: impl Fn(&str) -> Option<String>) -> Result<CellNumber> {
    let number = |name: &str| -> Result<Option<usize>> {
        let number = variable(name).map(|text| text.parse()).transpose();
        number.with_context(|| format!("{name}: expected a number"))
    };
    let slurm = |end: &str| number(&format!("SLURM_ARRAY_TASK_{end}"));
    for name in ["SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "HQ_TASK_ID"] {
        let Some(task) = number(name)? else {
            continue;
        };
        let (at, of) = match (slices, slurm("MIN")?, slurm("MAX")?) {
            (Some(slices), _, _) => (task, slices),
            (None, Some(first), Some(last)) => {
                let step = slurm("STEP")?.unwrap_or(1).max(1);
                let of = last.saturating_sub(first) / step + 1;
                ensure!(
                    slurm("COUNT")? == Some(of),
                    "{name} = {task}: the array does not have all tasks from {first} to {last} by \
                     {step} (expected --slice m/n or --slices n)"
                );
                (task.saturating_sub(first) / step + 1, of)
            }
            _ => bail!("{name} = {task}: expected --slices, since it does not say of how many"),
        };
        let slice = format!("{at}/{of}").parse();
        return slice.map_err(|why| anyhow!("{name} = {task}: {why}"));
    }
    ensure!(
        slices.is_none(),
        "--slices: expected a task of an array (SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX or \
         HQ_TASK_ID), or --slice m/n"
    );
    Ok(CellNumber { number: 1, of: 1 })
}

fn status(plan: &Plan, json: bool) -> Result<(), Failure> {
    let (mut points, mut runs, mut left_s, mut failed) = (0, 0, 0.0, Vec::new());
    for point in &plan.points {
        let state = State::of(plan, point);
        match state.is_whole(point) {
            true => points += 1,
            false => left_s += point.predicted_s,
        }
        runs += state.done.len();
        failed.extend(state.failed);
    }
    let (all, all_runs) = (plan.points.len(), plan.runs());
    let document = json!({
        "points": all, "points_done": points, "runs": all_runs, "runs_done": runs,
        "predicted_s": left_s, "failed": failed,
    });
    let document = Versioned::of("gridrig.sweep-status.1", &document);
    answer(json, &document, |_| {
        let failed = failed.iter().map(|why| format!("failed  {why}\n"));
        format!(
            "points  {points} of {all} done\nruns    {runs} of {all_runs} done\n\
             left    about {} on one processor\n{}",
            plot::seconds(left_s),
            failed.collect::<String>()
        )
    })?;
    match all - points {
        0 => Ok(()),
        left => Err(Failure::run(anyhow!(
            "{}: {left} of {all} points are not done",
            plan.dir.display()
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
        assert!(slurm("7", "2", "3", "7", "1").contains("does not have all tasks"));
        assert_eq!(slice(Some(9), &[("SLURM_ARRAY_TASK_ID", "7")]), "7/9");
        assert_eq!(slice(Some(9), &[("PBS_ARRAY_INDEX", "9")]), "9/9");
        assert_eq!(slice(Some(9), &[("HQ_TASK_ID", "1")]), "1/9");
        assert!(slice(Some(9), &[("HQ_TASK_ID", "0")]).contains("1 <= k <= n"));
        assert!(slice(None, &[("HQ_TASK_ID", "1")]).contains("expected --slices"));
        assert!(slice(Some(9), &[]).contains("expected a task of an array"));
        assert!(slice(Some(9), &[("HQ_TASK_ID", "x")]).contains("expected a number"));
    }
}
