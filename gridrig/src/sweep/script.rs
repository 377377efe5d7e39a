//! Scripts that run a sweep on an engine.

use super::plan::Plan;
use crate::words::many;
use anyhow::Context as _;
use clap::ValueEnum;
use gridrig_results::plot;
use std::process::Command;

/// What starts the slices of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Slurm: sbatch with a job array.
    Slurm,
    /// HyperQueue: hq submit with an array of tasks.
    Hyperqueue,
    /// GNU parallel, on this machine or by ssh.
    Parallel,
    /// Snakemake: a Snakefile.
    Snakemake,
}

/// A slice should take so long, or it costs the engine more than it is worth.
const SLICE_S: f64 = 600.0;
/// Slurm's default.
const MAX_ARRAY_SIZE: usize = 1001;

/// The script for an engine; `slices` is how many are wanted, if not as many as take ten
/// minutes each.
///
/// # Errors
/// When the program or the folder has no name that can be written.
pub fn script(
    plan: &Plan,
    engine: Engine,
    processors: usize,
    slices: Option<usize>,
) -> anyhow::Result<String> {
    let most = match engine {
        Engine::Slurm => max_array_size().saturating_sub(1).max(1),
        _ => plan.points.len(),
    };
    let all_s = plan.predicted_s() / processors as f64;
    let wanted = slices.unwrap_or((all_s / SLICE_S) as usize);
    let count = wanted.clamp(1, plan.points.len().min(most));
    let program = std::env::current_exe().context("the path of this program")?;
    let sweep = format!("{} sweep", quoted(&program.display().to_string()));
    let dir = quoted(&plan.dir.display().to_string());
    let head = format!(
        "# {}, each about {} on {}. What was killed or failed is run\n\
         # again by the same script. {sweep} status {dir} says how far it is; then:\n\
         #   {sweep} merge {dir}\n",
        many(count as u64, "slice"),
        plot::seconds(all_s / count as f64),
        many(processors as u64, "processor")
    );
    let run = format!("{sweep} run {dir} -j {processors}");
    Ok(match engine {
        Engine::Slurm => format!(
            "#!/bin/sh\n#SBATCH --job-name=sweep\n#SBATCH --array=1-{count}\n\
             #SBATCH --cpus-per-task={processors}\n#SBATCH --output={dir}/slice-%a.log\n{head}\
             # Indices stay below MaxArraySize ({}). Only some slices: sbatch --array=3,7\n\
             exec {run} --slice \"$SLURM_ARRAY_TASK_ID/{count}\"\n",
            most + 1,
        ),
        Engine::Hyperqueue => format!(
            "#!/bin/sh\n{head}# Each task knows its slice by HQ_TASK_ID.\n\
             exec hq submit --name sweep --array 1-{count} --cpus {processors} -- \\\n  \
             {run} --slices {count}\n"
        ),
        Engine::Parallel => format!(
            "#!/bin/sh\n{head}# On several hosts that share the folder: parallel --sshlogin ...\n\
             seq {count} | parallel --jobs 1 --joblog {dir}/parallel.log \\\n  \
             {run} --slice '{{}}/{count}'\n"
        ),
        Engine::Snakemake => format!(
            "{head}rule merge:\n    input: expand(\"slices/{{slice}}.done\", slice=range(1, {}))\n    \
             output: touch(\"merged.done\")\n    shell: {:?}\n\nrule slice:\n    \
             output: touch(\"slices/{{slice}}.done\")\n    threads: {processors}\n    \
             shell: {:?}\n",
            count + 1,
            format!("{sweep} merge {dir}"),
            format!("{sweep} run {dir} -j {{threads}} --slice {{wildcards.slice}}/{count}"),
        ),
    })
}

/// What Slurm says of itself here; its default where it says nothing.
fn max_array_size() -> usize {
    let said = Command::new("scontrol").args(["show", "config"]).output();
    let said = said.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let said = said.unwrap_or_default();
    let lines = said.lines().filter_map(|line| line.split_once('='));
    let mut sizes = lines.filter(|(key, _)| key.trim() == "MaxArraySize");
    let size = sizes.next().and_then(|(_, size)| size.trim().parse().ok());
    size.unwrap_or_else(|| {
        eprintln!("scontrol show config says no MaxArraySize here: taken as {MAX_ARRAY_SIZE}");
        MAX_ARRAY_SIZE
    })
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
