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
use clap::{Args, Subcommand};

/// `gridrig trace`
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// What to do with it.
    #[command(subcommand)]
    command: TraceCommand,
}

/// What can be done with a trace.
#[derive(Debug, Subcommand)]
enum TraceCommand {
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
    Synthesize(synthesize::SynthesizeArgs),
}

/// Does what was asked for.
pub(super) fn trace(args: &TraceArgs) -> Result<(), Failure> {
    match &args.command {
        TraceCommand::Info(args) => info::info(args),
        TraceCommand::Convert(args) => convert::convert(args),
        TraceCommand::Export(args) => export::export(args),
        TraceCommand::Import(args) => import::import(args),
        TraceCommand::Reduce(args) => reduce::reduce(args),
        TraceCommand::Validate(args) => validate::validate(args),
        TraceCommand::Synthesize(args) => synthesize::synthesize(args),
    }
}
