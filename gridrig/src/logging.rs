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
    let filter = filter(&wanted).ok_or_else(|| {
        anyhow::anyhow!(
            "GRIDRIG_LOG = {wanted:?}: expected levels, and targets with one, such as info or \
             warn,gridrig=debug"
        )
    })?;
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

/// Which lines these words let through: warnings if there are none.
fn filter(wanted: &str) -> Option<Targets> {
    let parts = wanted.split(',').map(str::trim);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    // What a target cannot have would match nothing.
    let is_known = |part: &&str| {
        let known = |it: char| it.is_ascii_alphanumeric() || "_-:=".contains(it);
        part.chars().all(known) && !part.ends_with('=')
    };
    match parts[..] {
        [] => Some(Targets::new().with_default(LevelFilter::WARN)),
        _ if parts.iter().all(is_known) => parts.join(",").parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::filter;
    use tracing::Level;

    #[test]
    fn levels_and_targets_are_a_filter_and_anything_else_is_refused() {
        let lets = |wanted: &str, target: &str, level: &Level| {
            filter(wanted).is_some_and(|filter| filter.would_enable(target, level))
        };
        for (wanted, target, least) in [
            ("", "gridrig", Level::WARN),
            (" , ", "gridrig", Level::WARN),
            ("info,", "gridrig", Level::INFO),
            ("DEBUG", "gridrig::wire", Level::DEBUG),
            ("warn, gridrig=info", "gridrig::wire", Level::INFO),
            ("warn, gridrig=info", "tokio", Level::WARN),
            ("gridrig", "gridrig", Level::TRACE),
        ] {
            assert!(lets(wanted, target, &least), "{wanted:?}");
            let more = [Level::INFO, Level::DEBUG, Level::TRACE];
            let mut more = more.iter().filter(|level| **level > least);
            assert!(!more.any(|level| lets(wanted, target, level)), "{wanted:?}");
        }
        assert!(!lets("gridrig=trace", "tokio", &Level::ERROR));
        for wanted in [
            "gridrig[x]=info",
            "gridrig[{a,b}]=info",
            "gridrig=",
            "gridrig=loud",
            "warn info",
        ] {
            assert!(filter(wanted).is_none(), "{wanted}");
        }
    }
}
