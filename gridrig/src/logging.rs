//! Log lines go to stderr; GRIDRIG_LOG says which.

use crate::cli::LogFormat;
use std::io::IsTerminal;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Sets up logging for the whole process.
///
/// # Errors
/// When GRIDRIG_LOG is no filter.
pub fn init(format: LogFormat) -> anyhow::Result<()> {
    let wanted = std::env::var("GRIDRIG_LOG").unwrap_or_default();
    let filter = match wanted.trim() {
        "" => Targets::new().with_default(LevelFilter::WARN),
        text => text.parse().map_err(|e| {
            anyhow::anyhow!(
                "GRIDRIG_LOG = {wanted:?}: expected a filter such as info or gridrig=debug: {e}"
            )
        })?,
    };
    let lines = fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .init();
    Ok(())
}
