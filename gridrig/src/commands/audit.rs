//! `gridrig audit`

use super::{print, print_json};
use crate::cli::AuditArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use gridrig_results::rundir;

/// Rebuilds a finished run from its event log and checks every invariant.
pub(super) fn audit(args: &AuditArgs) -> Result<(), Failure> {
    let outcome = rundir::audit_run_dir(&args.run).map_err(Failure::input)?;
    match outcome {
        Ok(report) => {
            if args.json {
                return print_json(&serde_json::json!({
                    "audit": "ok",
                    "events": report.events,
                    "submitted": report.submitted,
                    "completed": report.completed,
                }));
            }
            print(&format!(
                "audit ok: {} jobs, {} events, every job ended once, no processor used twice\n",
                report.submitted, report.events
            ))
        }
        Err(violations) => {
            for violation in &violations {
                eprintln!("audit: {violation}");
            }
            let count = violations.len();
            let first = violations
                .first()
                .map_or(String::new(), |v| v.message.clone());
            Err(Failure::run(anyhow!(
                "{}: the audit found {count} violations, the first: {first}",
                args.run.display()
            )))
        }
    }
}
