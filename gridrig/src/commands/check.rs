//! `gridrig check`

use super::{answer, load_scenario};
use crate::check::Repeats;
use crate::cli::CheckArgs;
use crate::exit::Failure;
use crate::runner;
use crate::versioned::Versioned;

/// Validates a scenario and says what it will do.
pub(super) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let scenario = load_scenario(&args.scenario)?;
    let prepared = runner::prepare_workloads(&scenario)?;
    let mut report = crate::check::check(&scenario, &prepared);
    if !args.pilot.is_empty() {
        report.repeats = Some(Repeats::of(&scenario, &args.pilot).map_err(Failure::Input)?);
    }
    let document = Versioned::from(&report);
    answer(args.scenario.json, &document, |_| report.to_string())?;
    // As a run says it.
    if report.jobs == 0 {
        let name = &scenario.name;
        let problem = format!("{name}: no job is left after the reduction (expected at least one)");
        return Err(anyhow::Error::msg(problem).into());
    }
    Ok(())
}
