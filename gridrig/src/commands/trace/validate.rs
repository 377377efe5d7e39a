//! `gridrig trace validate`

use crate::exit::Failure;
use clap::Args;

/// `gridrig trace validate`
#[derive(Debug, Args)]
pub struct ValidateArgs {}

/// Scaffold; the command is not there yet.
pub(super) fn validate(_args: &ValidateArgs) -> Result<(), Failure> {
    Ok(())
}
