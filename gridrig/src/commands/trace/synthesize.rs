//! `gridrig trace synthesize`

use crate::exit::Failure;
use clap::Args;

/// `gridrig trace synthesize`
#[derive(Debug, Args)]
pub struct SynthesizeArgs {}

/// Scaffold; the command is not there yet.
pub(super) fn synthesize(_args: &SynthesizeArgs) -> Result<(), Failure> {
    Ok(())
}
