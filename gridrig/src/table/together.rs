//! All replications of a scenario in one table.

use super::{bounds, number, percent, unfinished, went_wrong};
use crate::runner::{PolicyRun, ReplicationRuns};
use crate::scenario::Scenario;
use gridrig_results::RunSummary;
use gridrig_results::compare::OnCommonJobs;
use gridrig_results::stats::{Distribution, Range};
use gridrig_results::summary::Metrics;
use gridrig_results::text::{aligned, cells, folded};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const HEADS: [&str; 2] = [
    "policy,|,delay,95 % interval,p95,|,bounded,|,waited,util,fwd,|,audit",
    ",|,mean s,of the mean s,s,|,slowdown,|,%,%,%,|,",
];

/// A run and its figures over the jobs that it is compared on.
type Own<'a> = (&'a PolicyRun, &'a Metrics);

/// Adds the table and what it does not say. `common` has the figures of each replication,
/// in the order of its runs.
pub(super) fn draw(
    text: &mut String,
    scenario: &Scenario,
    replications: &[ReplicationRuns],
    common: &[OnCommonJobs],
) {
    let [first, .., last] = replications else {
        return;
    };
    let runs: Vec<&PolicyRun> = replications.iter().flat_map(|one| &one.runs).collect();
    let why = why_no_interval(scenario, replications.len(), &runs);
    let jobs = replications.iter().filter_map(|one| one.runs.first());
    let jobs: u64 = jobs.map(|run| run.summary.jobs.submitted).sum();
    let compared: u64 = common.iter().map(|one| one.jobs).sum();
    let left_out: u64 = common.iter().map(|one| one.left_out).sum();
    let _ = writeln!(
        text,
        "\n{} replications, {} to {}: {jobs} jobs submitted\ncompared on the {compared} jobs that \
         completed under every policy of their replication; {left_out} left out\n",
        replications.len(),
        first.key,
        last.key
    );
    let heads = HEADS.iter().map(|line| line.split(',').map(str::to_owned));
    let mut lines: Vec<Vec<String>> = heads.map(Iterator::collect).collect();
    let mut all: Vec<(&str, Vec<Own<'_>>)> = Vec::new();
    for (position, run) in first.runs.iter().enumerate() {
        let both = replications.iter().zip(common);
        let own = both.filter_map(|(one, common)| {
            Some((one.runs.get(position)?, common.metrics.get(position)?))
        });
        all.push((run.name(), own.collect()));
    }
    lines.extend(all.iter().map(|(name, own)| row(name, own, why.is_none())));
    text.push_str(&aligned(&lines, " ", &[0, 12]));
    let tau = scenario.measure.tau.as_secs_f64();
    let _ = writeln!(
        text,
        "means over the replications; bounded slowdown with tau = {tau:.3} s of the run; delay = \
         end seen - submit - run time"
    );
    if let Some(why) = why {
        let _ = writeln!(text, "no intervals: {why}");
    }
    bounds(text, &first.runs);
    for (name, own) in &all {
        let summary = summed(own.iter().map(|(run, _)| &run.summary));
        unfinished(text, name, &summary);
        went_wrong(text, name, &summary);
    }
    for warning in folded(warnings(&runs).iter()) {
        let _ = writeln!(text, "warning: {warning}");
    }
}

/// As a comparison of the runs has it.
fn why_no_interval(scenario: &Scenario, count: usize, runs: &[&PolicyRun]) -> Option<String> {
    if runs.iter().any(|run| !run.summary.valid) {
        return Some("not all runs are valid".to_owned());
    }
    let overlap = scenario.replicate.and_then(|it| scenario.overlap(it));
    let few = || format!("too few repeats: {count}, five are needed");
    overlap.or_else(|| (count < 5).then(few))
}

fn row(name: &str, own: &[Own<'_>], is_repeated: bool) -> Vec<String> {
    let mean = |of: fn(&Own<'_>) -> Option<f64>| Distribution::of(own.iter().filter_map(of)).mean;
    // A policy that draws nothing may run alike in several replications.
    let mut seen = BTreeSet::new();
    let distinct = own
        .iter()
        .filter(|(run, _)| run.digest.is_none_or(|it| seen.insert(it)));
    let means: Vec<f64> = distinct.filter_map(|(_, it)| it.delay_s.mean).collect();
    let interval = Range::of_mean(&means).filter(|_| is_repeated);
    let interval = interval.map(|it| format!("{:.2} .. {:.2}", it.low, it.high));
    let failed = own.iter().filter(|(run, _)| run.summary.audit != "ok");
    cells([
        name.to_owned(),
        "|".to_owned(),
        number(mean(|(_, it)| it.delay_s.mean)),
        interval.unwrap_or_else(|| "-".to_owned()),
        number(mean(|(_, it)| it.delay_s.p95)),
        "|".to_owned(),
        number(mean(|(_, it)| it.bounded_slowdown.mean)),
        "|".to_owned(),
        percent(mean(|(run, _)| run.summary.waited_share)),
        percent(mean(|(run, _)| run.summary.utilization)),
        percent(mean(|(run, _)| run.summary.forwarding_ratio)),
        "|".to_owned(),
        match failed.count() {
            0 => "ok".to_owned(),
            failed => format!("{failed} of {} not ok", own.len()),
        },
    ])
}

/// What can be counted over several runs, of all of them.
fn summed<'a>(runs: impl Iterator<Item = &'a RunSummary>) -> RunSummary {
    let mut all = RunSummary::default();
    for one in runs {
        let (sum, jobs) = (&mut all.jobs, &one.jobs);
        sum.submitted += jobs.submitted;
        sum.completed += jobs.completed;
        sum.rejected += jobs.rejected;
        sum.cancelled += jobs.cancelled;
        sum.failed += jobs.failed;
        sum.unfinished += jobs.unfinished;
        all.goodput_processor_s += one.goodput_processor_s;
        for (reason, count) in &one.reasons {
            *all.reasons.entry(*reason).or_default() += count;
        }
        if let Some(lost) = &one.node_failures {
            let sum = all.node_failures.get_or_insert_default();
            sum.requeues += lost.requeues;
            sum.failed_jobs += lost.failed_jobs;
            sum.lost_processor_s += lost.lost_processor_s;
        }
        for (kind, count) in one.faults.iter().flatten() {
            let sum = all.faults.get_or_insert_with(BTreeMap::new);
            *sum.entry(*kind).or_default() += count;
        }
    }
    all
}

/// One warning of each kind, with how many runs have one like it.
fn warnings(runs: &[&PolicyRun]) -> Vec<String> {
    let mut kinds: Vec<(&str, &str, usize)> = Vec::new();
    for run in runs {
        let mut own = BTreeSet::new();
        for warning in &run.summary.warnings {
            let kind = warning.split(':').next().unwrap_or_default();
            if !own.insert(kind) {
                continue;
            }
            match kinds.iter_mut().find(|it| it.0 == kind) {
                Some((.., count)) => *count += 1,
                None => kinds.push((kind, warning, 1)),
            }
        }
    }
    let told = kinds.into_iter().map(|(_, warning, count)| match count {
        1 => warning.to_owned(),
        _ => format!("{warning} (the same or similar in {count} runs)"),
    });
    told.collect()
}
