//! The arguments of `gridrig trace synthesize`.

use crate::cli::values::known;
use clap::{Args, Subcommand};
use gridrig_tracelab::synth::Extent;
use gridrig_tracelab::synth::burst::{Moments, Week};
use gridrig_tracelab::synth::lublin::Preset;
use gridrig_tracelab::synth::poisson::Koala;
use std::path::PathBuf;

/// `gridrig trace synthesize`: the kinds of models.
#[derive(Debug, Subcommand)]
pub enum What {
    /// The Lublin-Feitelson model of parallel machines, with a load of your
    /// choice
    Lublin(LublinArgs),
    /// Poisson arrivals of a mix of applications (KOALA's W1 and W2)
    Poisson(PoissonArgs),
    /// A look-alike fitted to a trace
    Like(LikeArgs),
    /// A week of bursts of wide jobs with given moments
    Burst(BurstArgs),
    /// The workload of a model file
    Model(ModelArgs),
}

/// What all models have in common.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// The SWF file to write, gzip when it ends in .gz
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Also write the model with all its parameters as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) model_out: Option<PathBuf>,
    /// Seed [default: that of the model file, else 1]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// How many jobs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) jobs: Option<u64>,
    /// Length in days; with --jobs, whichever is reached first
    #[arg(long, value_name = "D")]
    pub(super) days: Option<f64>,
    /// Overwrite files that exist
    #[arg(long)]
    pub(super) force: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

impl Common {
    /// What was asked for, else this.
    pub(super) fn extent(&self, otherwise: Extent) -> Extent {
        match (self.jobs, self.days) {
            (None, None) => otherwise,
            (jobs, days) => Extent { jobs, days },
        }
    }
}

/// `synthesize lublin`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
        gridrig trace synthesize lublin --preset dmm --processors 128 --days 1 --load 0.9 --out day.swf\n\n\
        Generates a week, unless --jobs or --days says otherwise. --load is demand / (processors x \
        days), reached by scaling the gaps between arrivals; without it the published gaps are \
        used.")]
pub struct LublinArgs {
    /// Published parameter set
    #[arg(long, default_value = "all", value_parser = known(LUBLIN))]
    pub(super) preset: Preset,
    /// Processors of the machine; job sizes scale with it
    #[arg(long, value_name = "P", default_value = "128", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) processors: u32,
    /// The offered load to reach, 1 being all processors all the time
    #[arg(long, value_name = "RHO")]
    pub(super) load: Option<f64>,
    /// Hour of the day at which the trace begins
    #[arg(long, value_name = "H", default_value = "0", value_parser = clap::value_parser!(u32).range(0..24))]
    pub(super) start_hour: u32,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Published parameters of the Lublin-Feitelson model.
#[rustfmt::skip]
const LUBLIN: &[(Preset, &str, &str)] = &[
    (Preset::All, "all", "All jobs fitted together, without types"),
    (Preset::Batch, "batch", "Batch jobs only"),
    (Preset::Interactive, "interactive", "Interactive jobs only"),
    (Preset::Both, "both", "Batch and interactive jobs, each with their own parameters"),
    (Preset::Dmm, "dmm", "95 % serial jobs, as in the delegated matchmaking paper (SC 2007)"),
];

/// `synthesize poisson`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
        gridrig trace synthesize poisson --preset koala-w1 --run-time 100,300 --out w1.swf\n\n\
        The KOALA paper (e-Science 2006) prints run times only in a figure; 150 to 250 s is our \
        choice. The SWF queue of a job is its number of components. For other mixes write the \
        model with --model-out, edit it, and generate the trace with `synthesize model`.")]
pub struct PoissonArgs {
    /// Which workload
    #[arg(long, default_value = "koala-w1", value_parser = known(KOALA))]
    pub(super) preset: Koala,
    /// Mean time between submissions in seconds
    #[arg(long, value_name = "S")]
    pub(super) interarrival: Option<f64>,
    /// Shortest and longest run time in seconds
    #[arg(long, value_name = "MIN,MAX", value_parser = pair)]
    pub(super) run_time: Option<[u64; 2]>,
    /// Processors of the machine, in the header and for the load
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) processors: Option<u32>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// KOALA's workloads.
const KOALA: &[(Koala, &str, &str)] = &[
    (Koala::W1, "koala-w1", "200 jobs, 80 s apart on average"),
    (Koala::W2, "koala-w2", "200 jobs, 40 s apart on average"),
];

/// `synthesize like`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
        gridrig trace synthesize like traces/ctc-like.swf.gz --model-out ctc.json --out other.swf.gz\n\n\
        By default generates as many jobs as the source has, over as many days (--jobs, --days). \
        The model holds tables of counts, no jobs; `synthesize model` needs nothing else.")]
pub struct LikeArgs {
    /// The trace to resemble, plain or compressed
    pub(super) trace: PathBuf,
    /// Processors of the machine, if the header lacks them
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) processors: Option<u32>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// `synthesize burst`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
        gridrig trace synthesize burst --jobs 1000 --bursts 8,5,100 --run-time 5000,300,700 --size 204,11,23 --out week.swf.gz\n\n\
        Moments are those of the jobs in a run: run times divided by 60 and at least \
        1 s. Without options the presets are the traces that ship in traces/.")]
pub struct BurstArgs {
    /// The week to begin with
    #[arg(long, default_value = "grid5000", value_parser = known(WEEKS))]
    pub(super) preset: Week,
    /// Largest value, mean and standard deviation of the run times in scaled
    /// seconds
    #[arg(long, value_name = "MAX,MEAN,SD", value_parser = moments)]
    pub(super) run_time: Option<Moments>,
    /// Largest value, mean and standard deviation of the sizes
    #[arg(long, value_name = "MAX,MEAN,SD", value_parser = moments)]
    pub(super) size: Option<Moments>,
    /// Replace the bursts by N bursts of JOBS jobs of SIZE processors each
    #[arg(long, value_name = "N,JOBS,SIZE", value_parser = triple)]
    pub(super) bursts: Option<[u32; 3]>,
    /// Users of the jobs outside the bursts
    #[arg(long, value_name = "N")]
    pub(super) users: Option<u64>,
    /// Processors of the machine named in the header
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) processors: Option<u32>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl BurstArgs {
    /// Whether another week than that of the preset is made.
    pub(super) fn changes(&self) -> bool {
        let moments = self.run_time.is_some() || self.size.is_some();
        moments || self.bursts.is_some() || self.users.is_some() || self.common.jobs.is_some()
    }
}

/// The burst weeks that ship.
#[rustfmt::skip]
const WEEKS: &[(Week, &str, &str)] = &[
    (Week::Ctc, "ctc", "Like the CTC week of the LSAP paper"),
    (Week::Grid5000, "grid5000", "Like the Grid'5000 week of the LSAP paper"),
];

/// `synthesize model`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
        gridrig trace synthesize model traces/grid5000-like.json --out week.swf.gz\n\n\
        Model files are what --model-out writes; docs/synthesize.md describes them.")]
pub struct ModelArgs {
    /// The model file
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) common: Common,
}

/// So many numbers between commas.
fn numbers<const N: usize, T: std::str::FromStr>(text: &str) -> Option<[T; N]> {
    let parts = text.split(',').map(|part| part.trim().parse().ok());
    parts.collect::<Option<Vec<T>>>()?.try_into().ok()
}

fn pair(text: &str) -> Result<[u64; 2], String> {
    let found = numbers::<2, u64>(text).filter(|[low, high]| low <= high);
    found.ok_or_else(|| "expected two whole numbers MIN,MAX".to_owned())
}

fn triple(text: &str) -> Result<[u32; 3], String> {
    let found = numbers::<3, u32>(text)
        .filter(|[n, jobs, size]| *n <= 1_000 && *jobs <= 10_000 && *size > 0);
    found.ok_or_else(|| {
        "expected three whole numbers N,JOBS,SIZE with N up to 1000 and JOBS up to 10000".to_owned()
    })
}

fn moments(text: &str) -> Result<Moments, String> {
    let expected = || "expected MAX,MEAN,SD with a whole number MAX".to_owned();
    let [max, mean, sd] = numbers::<3, f64>(text).ok_or_else(expected)?;
    if !(1.0..=1e12).contains(&max) || max.fract() != 0.0 {
        return Err(expected());
    }
    Ok(Moments {
        max: max as u64,
        mean,
        sd,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_numbers_are_read_and_others_refused() {
        assert_eq!(pair("1,20"), Ok([1, 20]));
        assert!(pair("20,1").is_err() && pair("1").is_err() && pair("1,x").is_err());
        assert_eq!(triple("2, 3,4"), Ok([2, 3, 4]));
        assert!(triple("2,3,0").is_err() && triple("9999,1,1").is_err());
        let found = moments("100,8.5,16").unwrap();
        assert_eq!((found.max, found.mean, found.sd), (100, 8.5, 16.0));
        assert!(moments("1.5,1,1").is_err() && moments("NaN,1,1").is_err());
    }
}
