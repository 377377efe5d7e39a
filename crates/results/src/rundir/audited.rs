//! The audit of a run directory: whether its files are those that the run wrote, its
//! numbers those that the events give, and its events such as can be.

use super::{
    AuditOutcome, Result, Run, RunFiles, decisions, file, job_columns, names, read, tables,
};
use crate::audit::{AuditFacts, Rule, Violation, audit_with};
use crate::jobs::JobTable;
use crate::names::Names;
use crate::regret::Regret;
use crate::summary::RunSummary;
use serde_json::Value;
use std::path::Path;

/// Audits a finished run from its directory alone: the files are those that
/// the run wrote, every number in them is the one that the events give, and these
/// keep every [`Rule`].
///
/// # Errors
/// When a file is missing or so damaged that it cannot be read. Events that
/// contradict the facts are not an error but violations.
pub fn audit_run_dir(dir: &Path) -> Result<AuditOutcome> {
    let run = read(dir)?;
    let mut findings = Vec::new();
    for (name, doc) in &run.manifest.files {
        let found = file::sha256_of(&dir.join(name))?;
        if found != doc.sha256 {
            let message = format!("{name} has SHA-256 {found}, expected {}", doc.sha256);
            findings.push(Violation::new(Rule::Unchanged, None, None, message));
        }
    }
    findings.extend(run.unreadable.iter().map(|bad| {
        let message = format!("{}:{}: {}", names::EVENTS, bad.row, bad.message);
        Violation::new(Rule::Readable, bad.job, None, message)
    }));
    let contradicted = decisions::contradicted(dir, &run.log, &Names::of(&run.grid))?;
    let contradicted = contradicted.into_iter();
    findings.extend(contradicted.map(|(job, it)| Violation::new(Rule::Rebuilt, job, None, it)));
    // Without all events there are no numbers to compare.
    if run.unreadable.is_empty() {
        let differences = differences(dir, &run)?.into_iter();
        findings.extend(differences.map(|it| Violation::new(Rule::Rebuilt, None, None, it)));
    }
    let facts = AuditFacts {
        grid: &run.grid,
        submissions: &run.submissions,
        partial: run.manifest.partial,
        tolerance: run.manifest.tolerance.0,
    };
    Ok(audit_with(&run.log, &facts, findings))
}

/// What of a summary is not computed from events.
const KNOWN: [&str; 9] = [
    "policy",
    "seed",
    "replication",
    "clock",
    "audit",
    "skipped",
    "faults",
    "valid",
    "warnings",
];

/// Builds the tables and the summary of a run again, from what was submitted and
/// its events, and says where the directory has other numbers: the first place of
/// each table, and every place of the summary. A summary that was not computed has
/// none, and neither has a figure of a later version.
fn differences(dir: &Path, run: &Run) -> Result<Vec<String>> {
    let manifest = &run.manifest;
    let table = JobTable::build(&run.log, &run.submissions, &run.grid, &manifest.workloads);
    let files = RunFiles {
        info: manifest,
        scenario: "",
        grid: &run.grid,
        document: None,
        submissions: &run.submissions,
        log: &run.log,
        table: &table,
    };
    let tables = [
        job_columns::table(&files).difference(dir)?,
        tables::hops(&table).difference(dir)?,
        tables::series(&table, &table.series()).difference(dir)?,
    ];
    let mut found: Vec<String> = tables.into_iter().flatten().collect();
    let measure = manifest.measure.read();
    let summary = RunSummary::default();
    let mut summary = RunSummary::compute(&table, &measure, manifest.tolerance.0, summary);
    // Where it was not asked for, or nodes failed, there is none.
    if !manifest.summary["regret"].is_null() {
        summary.regret = Regret::of(&table, &run.grid, &run.submissions, &measure);
    }
    let expected = serde_json::to_value(summary).unwrap_or_default();
    for (name, expected) in expected.as_object().into_iter().flatten() {
        let known = KNOWN.contains(&name.as_str());
        if let (false, Some(given)) = (known, manifest.summary.get(name)) {
            compare(&format!("summary.{name}"), given, expected, &mut found);
        }
    }
    Ok(found)
}

fn compare(field: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
    match (found, expected) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, expected) in other {
                if let Some(found) = one.get(name) {
                    compare(&format!("{field}.{name}"), found, expected, differences);
                }
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (found, expected)) in one.iter().zip(other).enumerate() {
                compare(&format!("{field}[{index}]"), found, expected, differences);
            }
        }
        _ if is_alike(found, expected) => {}
        _ => {
            let file = names::MANIFEST;
            differences.push(format!(
                "{file}: field {field} = {found}: expected {expected}"
            ));
        }
    }
}

/// A number that was read from text may differ in its last digit.
fn is_alike(found: &Value, expected: &Value) -> bool {
    const RELATIVE: f64 = 1e-14;
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => (found - expected).abs() <= RELATIVE * expected.abs(),
        _ => found == expected,
    }
}
