//! `gridrig trace info`

use crate::exit::Failure;
use clap::Args;

/// `gridrig trace info`
#[derive(Debug, Args)]
pub struct InfoArgs {}

/// Scaffold; the command is not there yet.
pub(super) fn info(_args: &InfoArgs) -> Result<(), Failure> {
    Ok(())
}
