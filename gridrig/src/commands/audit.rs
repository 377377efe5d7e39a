//! `gridrig audit`

use super::run::violated;
use super::{answer, say_each};
use crate::cli::AuditArgs;
use crate::exit::Failure;
use crate::versioned::Versioned;
use anyhow::anyhow;
use gridrig_results::{Incomplete, rundir};

/// Codes of the warnings that say what of a run is somebody else's.
const OF_OTHERS: [&str; 5] = [
    "external-broker: ",
    "foreign-jobs: ",
    "lost-touch: ",
    "not-placed: ",
    "repeated-jobs: ",
];

/// Rebuilds a finished run from its event log and checks every invariant.
pub(super) fn audit(args: &AuditArgs) -> Result<(), Failure> {
    if let Some(stands) = Incomplete::at(&args.run) {
        let (run, reason) = (args.run.display(), stands.reason());
        let remedy = stands.remedy(&args.run);
        return Err(Failure::input(anyhow!(
            "{run}: a run without manifest.json: {reason} (expected a complete run; {remedy})"
        )));
    }
    let outcome = rundir::audit_run_dir(&args.run).map_err(Failure::input)?;
    let manifest = rundir::read_manifest(&args.run).map_err(Failure::input)?;
    // What was not seen cannot be audited, and what was nobody's is not.
    let unseen = |warning: &&String| OF_OTHERS.iter().any(|code| warning.starts_with(code));
    let notes: Vec<&String> = manifest.warnings.iter().filter(unseen).collect();
    match outcome {
        Ok(report) => {
            let document = serde_json::json!({
                "audit": "ok",
                "events": report.events,
                "submitted": report.jobs.submitted,
                "completed": report.jobs.completed,
                "notes": notes,
            });
            let document = Versioned::of("gridrig.audit.1", document);
            answer(args.json, &document, |_| {
                say_each("audit: note", &notes);
                let (jobs, events) = (report.jobs.submitted, report.events);
                let ended = match (manifest.partial, report.jobs.unfinished) {
                    (true, _) => "the run is partial: no job ended twice".to_owned(),
                    (false, 0) => "every job ended once".to_owned(),
                    (false, left) => format!("every job ended once, except {left} without an end"),
                };
                format!(
                    "audit ok: {jobs} jobs, {events} events, {ended}, no processor used twice\n"
                )
            })
        }
        Err(violations) => {
            say_each("audit", &violations);
            Err(violated(args.run.display(), &violations))
        }
    }
}
