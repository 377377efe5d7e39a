//! Log lines go to stderr; GRIDRIG_LOG says which.

use crate::cli::LogFormat;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Sets up logging for the whole process.
///
/// # Errors
/// When GRIDRIG_LOG is no filter.
pub fn init(format: LogFormat) -> anyhow::Result<()> {
    let wanted = std::env::var("GRIDRIG_LOG").unwrap_or_default();
    let filter = EnvFilter::builder()
        .with_default_directive(tracing::level_filters::LevelFilter::WARN.into())
        .parse(&wanted)
        .map_err(|e| {
            anyhow::anyhow!(
                "GRIDRIG_LOG = {wanted:?}: expected a filter such as info or gridrig=debug: {e}"
            )
        })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
