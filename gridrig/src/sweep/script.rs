//! Scripts that run a sweep on an engine.

use super::plan::Plan;
use crate::words::many;
use anyhow::Context as _;
use clap::ValueEnum;
use gridrig_replayer::outlet::plain_program;
use gridrig_results::plot;
use std::path::Path;

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
    let word = |path: &Path| {
        let word = quoted(&path.display().to_string());
        match engine {
            // A text of Python, in which braces are names.
            Engine::Snakemake => {
                let word = word.replace('\\', "\\\\").replace('"', "\\\"");
                word.replace('{', "{{").replace('}', "}}")
            }
            _ => word,
        }
    };
    let each = plot::seconds(all_s / count as f64);
    let slices = many(count as u64, "slice");
    let on = many(processors as u64, "processor");
    let values = [
        ("@WHAT@", format!("{slices}, each about {each} on {on}")),
        ("@SLICES@", count.to_string()),
        ("@PROCESSORS@", processors.to_string()),
        ("@ARRAY@", (most + 1).to_string()),
        ("@SWEEP@", word(&program) + " sweep"),
        ("@DIR@", word(&plan.dir)),
    ];
    let template = match engine {
        Engine::Slurm => include_str!("script/slurm.sh"),
        Engine::Hyperqueue => include_str!("script/hyperqueue.sh"),
        Engine::Parallel => include_str!("script/parallel.sh"),
        Engine::Snakemake => include_str!("script/Snakefile"),
    };
    let fill = |text: String, (name, value): (&str, String)| text.replace(name, &value);
    Ok(values.into_iter().fold(template.to_owned(), fill))
}

/// What Slurm says of itself here; its default where it says nothing.
fn max_array_size() -> usize {
    let said = plain_program("scontrol").args(["show", "config"]).output();
    let said = said.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let said = said.unwrap_or_default();
    let lines = said.lines().filter_map(|line| line.split_once('='));
    let mut sizes = lines.filter(|(key, _)| key.trim() == "MaxArraySize");
    let size = sizes.next().and_then(|(_, size)| size.trim().parse().ok());
    size.unwrap_or_else(|| {
        eprintln!("scontrol show config has no MaxArraySize here; assumed: {MAX_ARRAY_SIZE}");
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
