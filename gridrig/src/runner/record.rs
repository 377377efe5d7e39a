//! A run after it is over: audited, summarized, written.

use super::{Cell, Executed, Load, NO_BROKER};
use crate::scenario::{Clock, Replication, Scenario};
use gridrig_core::grid::Grid;
use gridrig_core::policy::PolicySpec;
use gridrig_results::audit::{AuditFacts, AuditReport, Violation, audit};
use gridrig_results::regret::Regret;
use gridrig_results::{JobTable, RunSummary};
use std::path::PathBuf;

/// One policy on one replication.
pub struct PolicyRun {
    /// The policy of ours; `None` without a broker, or with one that is not
    /// ours.
    pub policy: Option<PolicySpec>,
    /// The name of the policy, whosever it is.
    name: String,
    /// Whether it is the bound of one pooled cluster.
    pub pooled: bool,
    /// Its figures.
    pub summary: RunSummary,
    /// Of its job table: equal where the tables are. `None` where nothing varies
    /// that could give the same one again.
    pub digest: Option<u64>,
    /// What the audit found.
    pub violations: Vec<Violation>,
    /// Where it was written.
    pub dir: Option<PathBuf>,
    /// Whether it was broken off.
    pub interrupted: bool,
    /// By what, if not by somebody.
    pub broke: Option<String>,
    /// What makes it fail although it came to an end.
    pub failures: Vec<String>,
}

/// All policies on one replication.
pub struct ReplicationRuns {
    /// Which replication.
    pub index: u32,
    /// What tells it from the others.
    pub key: String,
    /// The runs, in the order of the policies.
    pub runs: Vec<PolicyRun>,
}

impl ReplicationRuns {
    /// The runs of this replication.
    pub fn new(replication: &Replication, runs: Vec<PolicyRun>) -> Self {
        ReplicationRuns {
            index: replication.index,
            key: replication.key.clone(),
            runs,
        }
    }

    /// Whether the other one gave the same job tables: then it is the same
    /// run, whatever its key says.
    pub(super) fn repeats(&self, other: &ReplicationRuns) -> bool {
        let own = self.runs.iter().map(|run| run.digest);
        own.eq(other.runs.iter().map(|run| run.digest))
    }

    pub(super) fn note_repeated(&mut self, replication: &Replication) {
        let note = format!(
            "replication {} ({}) gave the same job table as replication {}: it counts once",
            replication.index, replication.key, self.index
        );
        for run in &mut self.runs {
            run.summary.warnings.push(note.clone());
        }
    }
}

impl PolicyRun {
    /// Audits and summarizes a run.
    pub(super) fn new(
        cell: &Cell,
        grid: &Grid,
        load: &Load,
        executed: &Executed,
        table: &JobTable,
    ) -> Self {
        let replication = &cell.replication;
        let scenario = &replication.scenario;
        let measure = scenario.measure;
        let partial = executed.interrupted
            || executed.lost
            || measure.stop == gridrig_results::Stop::LastArrival;
        let facts = AuditFacts {
            partial,
            tolerance: executed.timer_tolerance,
            ..AuditFacts::new(grid, &load.submissions)
        };
        let audited = audit(&executed.log, &facts);
        let note = audited.as_ref().ok().and_then(AuditReport::note);
        let violations = audited.err().unwrap_or_default();
        let mut failures = executed.faults.clone();
        let mut known = known(cell, load, executed, &violations);
        known.warnings.extend(note);
        let tolerance = executed.timer_tolerance;
        let mut summary = RunSummary::compute(table, &measure, tolerance, known);
        match (scenario.regret, summary.node_failures) {
            (true, None) => {
                summary.regret = Regret::of(table, grid, &load.submissions, &measure);
            }
            (true, Some(_)) if !grid.domains.is_empty() => {
                let why = "no-regret: nodes failed, so that no regret of decisions was computed: \
                           nobody could know what would fail";
                summary.warnings.push(why.to_owned());
            }
            _ => {}
        }
        if let Some(late) = too_late(scenario, &summary) {
            summary.valid = false;
            summary.warnings.push(late.clone());
            failures.push(late);
        }
        PolicyRun {
            policy: cell.contender.ours.clone(),
            name: cell.name().unwrap_or_else(|| NO_BROKER.to_owned()),
            pooled: replication.pooled,
            summary,
            digest: replication.varies.map(|_| table.digest()),
            violations,
            dir: None,
            interrupted: executed.interrupted,
            broke: executed.broke.clone(),
            failures,
        }
    }

    /// The policy's name, or that there is no broker.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it can be a bound of other policies.
    pub fn is_bound(&self) -> bool {
        let policy = self.policy.as_ref();
        self.pooled || policy.is_some_and(|policy| policy.entry().is_bound)
    }

    /// The run in a line, for progress output.
    pub fn one_line(&self) -> String {
        let jobs = &self.summary.jobs;
        let delay = self.summary.metrics.delay_s.mean;
        let delay = delay.map_or(String::new(), |mean| format!(", mean delay {mean:.2} s"));
        let partial = if self.interrupted { ", partial" } else { "" };
        format!(
            "{} of {} jobs completed{delay}, audit {}{partial}",
            jobs.completed, jobs.submitted, self.summary.audit
        )
    }
}

/// What the job table does not have.
fn known(cell: &Cell, load: &Load, executed: &Executed, violations: &[Violation]) -> RunSummary {
    let replication = &cell.replication;
    let scenario = &replication.scenario;
    let mut warnings = load.warnings.clone();
    warnings.extend(executed.notes.iter().cloned());
    if executed.interrupted {
        warnings.push("the run was interrupted: it is partial".to_owned());
    }
    RunSummary {
        policy: cell.contender.name.clone(),
        seed: replication.seed,
        replication: replication.index,
        clock: match scenario.clock {
            Clock::Virtual => "virtual".to_owned(),
            Clock::Real { .. } => "real".to_owned(),
        },
        audit: match violations.len() {
            0 => "ok".to_owned(),
            count => format!("{count} violations"),
        },
        skipped: load.skipped(),
        faults: executed.fault_counts.map(|counts| counts.named().into()),
        valid: violations.is_empty() && !executed.interrupted && executed.faults.is_empty(),
        warnings,
        ..RunSummary::default()
    }
}

/// Submission lag past the tolerance makes a run invalid.
fn too_late(scenario: &Scenario, summary: &RunSummary) -> Option<String> {
    let lag_s = summary.submission_lag_ns_p99? / 1e9 * scenario.compression().as_f64();
    let tolerance_s = scenario.lag_tolerance.as_secs_f64();
    let policy = summary.policy.as_deref().unwrap_or(NO_BROKER);
    (lag_s > tolerance_s).then(|| {
        format!(
            "submission-lag: with {policy} the p99 lag times compression is {lag_s:.3} s of trace \
             time, above the tolerance of {tolerance_s} s: the run is not valid"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_that_is_too_late_is_told_with_its_policy() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.toml");
        let trace = "; Version: 2.2\n1 0 -1 90000 1 -1 -1 1 -1 -1 1 7 1 1 1 1 -1 -1\n";
        std::fs::write(dir.path().join("t.swf"), trace).unwrap();
        let text = "[workload]\ntrace = \"t.swf\"\n[cluster]\nprocessors = 4\n\
                    [run]\nclock = \"real\"\nspeed = 20\nlag_tolerance = \"9s\"\n";
        std::fs::write(&file, text).unwrap();
        let scenario = Scenario::load(&file, &[]).unwrap();
        let mut summary = RunSummary {
            policy: Some("free-node".to_owned()),
            submission_lag_ns_p99: Some(9e9),
            ..RunSummary::default()
        };
        assert_eq!(too_late(&scenario, &summary), None);
        summary.submission_lag_ns_p99 = Some(9.5e9);
        let said = too_late(&scenario, &summary).unwrap();
        assert_eq!(
            said,
            "submission-lag: with free-node the p99 lag times compression is 9.500 s of trace \
             time, above the tolerance of 9 s: the run is not valid"
        );
    }
}
