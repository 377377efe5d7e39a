//! A run after it is over: audited, summarized, written.

use super::{Executed, Load};
use crate::scenario::{Clock, Replication, Scenario};
use gridrig_core::grid::Grid;
use gridrig_core::policy::PolicySpec;
use gridrig_core::time::SimDuration;
use gridrig_results::audit::{AuditFacts, Violation, audit};
use gridrig_results::regret::Regret;
use gridrig_results::summary::CommonJobs;
use gridrig_results::{JobTable, Measure, RunHeader, RunSummary};
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
    /// Every job.
    pub table: JobTable,
    /// What was measured.
    pub measure: Measure,
    /// Bound of bounded slowdown.
    pub tau: SimDuration,
    /// Trace seconds in a second of the run.
    pub compression: f64,
    /// How late timers may have been: zero in virtual time.
    pub tolerance: SimDuration,
    /// What the audit found.
    pub violations: Vec<Violation>,
    /// Where it was written.
    pub dir: Option<PathBuf>,
    /// Whether it was broken off.
    pub interrupted: bool,
    /// What makes it fail although it came to an end.
    pub failures: Vec<String>,
}

/// All policies on one replication.
pub struct Comparison {
    /// Which replication.
    pub index: u32,
    /// What tells it from the others.
    pub key: String,
    /// The runs, in the order of the policies.
    pub runs: Vec<PolicyRun>,
    /// The jobs on which policies are compared.
    pub common: CommonJobs,
}

impl Comparison {
    /// The comparison of these runs.
    #[must_use]
    pub fn new(replication: &Replication, runs: Vec<PolicyRun>) -> Self {
        // Bounds have no say in what the policies between them are compared
        // on, as in `gridrig compare`.
        let competing = runs.iter().filter(|run| !run.is_bound()).count();
        let tables: Vec<(&JobTable, &Measure)> = runs
            .iter()
            .filter(|run| competing < 2 || !run.is_bound())
            .map(|run| (&run.table, &run.measure))
            .collect();
        let common = CommonJobs::of(&tables);
        Comparison {
            index: replication.index,
            key: replication.key.clone(),
            runs,
            common,
        }
    }

    /// Whether the other one gave the same job tables: then it is the same
    /// run, whatever its key says.
    pub(super) fn repeats(&self, other: &Comparison) -> bool {
        let rows = |comparison: &Comparison| -> Vec<_> {
            comparison
                .runs
                .iter()
                .map(|run| run.table.rows().to_vec())
                .collect()
        };
        self.common == other.common && rows(self) == rows(other)
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
        replication: &Replication,
        policy: Option<&PolicySpec>,
        grid: &Grid,
        load: &Load,
        executed: &Executed,
    ) -> Self {
        let scenario = &replication.scenario;
        let names: Vec<String> = load.workloads.iter().map(|w| w.name.clone()).collect();
        let table = JobTable::build(&executed.log, &load.submissions, grid, &names);
        let measure = scenario.measure;
        let partial = executed.interrupted
            || executed.lost
            || measure.stop == gridrig_results::Stop::LastArrival;
        let facts = AuditFacts {
            partial,
            tolerance: executed.timer_tolerance,
            ..AuditFacts::new(grid, &load.submissions)
        };
        let violations = audit(&executed.log, &facts).err().unwrap_or_default();
        let mut failures = executed.faults.clone();
        let header = header(replication, policy, load, executed, &violations);
        let mut summary = RunSummary::compute(&table, &measure, &header);
        if scenario.regret {
            summary.regret = Regret::of(&table, grid, &load.submissions, &measure);
        }
        let compression = scenario.compression().as_f64();
        if let Some(late) = too_late(scenario, &summary, compression) {
            summary.valid = false;
            summary.warnings.push(late.clone());
            failures.push(late);
        }
        PolicyRun {
            policy: policy.cloned(),
            name: replication.run_name(policy, "no broker"),
            pooled: replication.pooled,
            summary,
            table,
            tau: measure.tau,
            measure,
            compression,
            tolerance: executed.timer_tolerance,
            violations,
            dir: None,
            interrupted: executed.interrupted,
            failures,
        }
    }

    /// The policy's name, or that there is no broker.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it can be a bound of other policies.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        let policy = self.policy.as_ref();
        self.pooled || policy.is_some_and(|policy| policy.entry().is_bound)
    }

    /// The run in a line, for progress output.
    #[must_use]
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

fn header(
    replication: &Replication,
    policy: Option<&PolicySpec>,
    load: &Load,
    executed: &Executed,
    violations: &[Violation],
) -> RunHeader {
    let scenario = &replication.scenario;
    let mut warnings = load.warnings.clone();
    warnings.extend(executed.notes.iter().cloned());
    if executed.interrupted {
        warnings.push("the run was interrupted: it is partial".to_owned());
    }
    RunHeader {
        policy: replication.policy_name(policy),
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
        valid: violations.is_empty() && !executed.interrupted && executed.faults.is_empty(),
        warnings,
        timer_tolerance: executed.timer_tolerance,
    }
}

/// Submission lag past the tolerance makes a run invalid.
fn too_late(scenario: &Scenario, summary: &RunSummary, compression: f64) -> Option<String> {
    let lag_s = summary.submission_lag_ns_p99? / 1e9 * compression;
    let tolerance_s = scenario.lag_tolerance.as_secs_f64();
    (lag_s > tolerance_s).then(|| {
        format!(
            "submission-lag: p99 lag times compression is {lag_s:.3} s of trace time, above the \
             tolerance of {tolerance_s} s: the run is not valid"
        )
    })
}
