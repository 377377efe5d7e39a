//! `gridrig trace reduce`

use crate::exit::Failure;
use clap::Args;

/// `gridrig trace reduce`
#[derive(Debug, Args)]
pub struct ReduceArgs {}

/// Scaffold; the command is not there yet.
pub(super) fn reduce(_args: &ReduceArgs) -> Result<(), Failure> {
    Ok(())
}
