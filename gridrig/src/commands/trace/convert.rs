//! `gridrig trace convert`

use crate::exit::Failure;
use clap::Args;

/// `gridrig trace convert`
#[derive(Debug, Args)]
pub struct ConvertArgs {}

/// Scaffold; the command is not there yet.
pub(super) fn convert(_args: &ConvertArgs) -> Result<(), Failure> {
    Ok(())
}
