//! `gridrig trace`: the trace laboratory.

mod behaviour;
mod convert;
mod export;
mod import;
mod info;
mod reduce;
mod synthesize;
mod validate;
pub(super) mod values;

use crate::exit::Failure;
use clap::Subcommand;

/// `gridrig trace`: what can be done with a trace.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Describe a trace by its statistics
    Info(info::InfoArgs),
    /// Write a trace in another format, or sanitized
    Convert(convert::ConvertArgs),
    /// Write a trace in a format of other tools
    Export(export::ExportArgs),
    /// Make a trace from the accounting log of a cluster, for example Slurm's
    Import(Box<import::ImportArgs>),
    /// Make a short trace that behaves like a long one
    Reduce(Box<reduce::ReduceArgs>),
    /// Check that a reduced trace behaves like its original
    Validate(validate::ValidateArgs),
    /// Generate a trace from a model
    #[command(subcommand)]
    #[command(after_help = "Examples:\n  \
            gridrig trace synthesize lublin --processors 128 --days 7 --load 0.7 --seed 1 --out week.swf.gz\n  \
            gridrig trace synthesize poisson --preset koala-w2 --out w2.swf\n  \
            gridrig trace synthesize like traces/ctc-like.swf.gz --model-out ctc.json\n  \
            gridrig trace synthesize model ctc.json --seed 2 --days 30 --out month.swf.gz\n\n\
            Without --out nothing is written: the trace is generated and its statistics are printed. \
            Same model and seed, same bytes. docs/synthesize.md has the models and file formats.")]
    Synthesize(synthesize::What),
}

/// Does what was asked for.
pub(super) fn trace(command: &TraceCommand) -> Result<(), Failure> {
    match command {
        TraceCommand::Info(args) => info::info(args),
        TraceCommand::Convert(args) => convert::convert(args),
        TraceCommand::Export(args) => export::export(args),
        TraceCommand::Import(args) => import::import(args),
        TraceCommand::Reduce(args) => reduce::reduce(args),
        TraceCommand::Validate(args) => validate::validate(args),
        TraceCommand::Synthesize(args) => synthesize::synthesize(args),
    }
}
