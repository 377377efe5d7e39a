//! All replications of a scenario in one table.

use super::{bounds, number, percent, unfinished, went_wrong};
use crate::runner::{PolicyRun, ReplicationRuns};
use crate::scenario::Scenario;
use crate::words::counts;
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
    // A study that was gone on with has not all runs in each replication.
    for (one, common) in replications.iter().zip(common) {
        for own in one.runs.iter().zip(&common.metrics) {
            let name = own.0.name();
            match all.iter_mut().find(|it| it.0 == name) {
                Some((_, runs)) => runs.push(own),
                None => all.push((name, vec![own])),
            }
        }
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
    if replications.iter().any(|one| one.runs.len() < all.len()) {
        text.push_str(
            "not every policy ran in every replication this time: compare the folder for all runs\n",
        );
    }
    skipped(text, replications);
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

/// The lines of traces that no replication could use.
fn skipped(text: &mut String, replications: &[ReplicationRuns]) {
    let runs = replications.iter().filter_map(|one| one.runs.first());
    let mut skipped: BTreeMap<&str, u64> = BTreeMap::new();
    for (reason, lines) in runs.flat_map(|run| &run.summary.skipped) {
        *skipped.entry(reason).or_default() += lines;
    }
    if !skipped.is_empty() {
        let _ = writeln!(text, "lines of the traces skipped: {}", counts(&skipped));
    }
}

/// The warnings of all runs, those of one kind by their place among those of a run, with how
/// many runs have one like it.
fn warnings(runs: &[&PolicyRun]) -> Vec<String> {
    let mut kinds: Vec<((&str, usize), &str, usize)> = Vec::new();
    for run in runs {
        let mut own: BTreeMap<&str, usize> = BTreeMap::new();
        for warning in &run.summary.warnings {
            let kind = warning.split(':').next().unwrap_or_default();
            let place = own.entry(kind).or_default();
            let key = (kind, *place);
            *place += 1;
            match kinds.iter_mut().find(|it| it.0 == key) {
                Some((.., count)) => *count += 1,
                None => kinds.push((key, warning, 1)),
            }
        }
    }
    let told = kinds.into_iter().map(|(_, warning, count)| match count {
        1 => warning.to_owned(),
        _ => format!("{warning} (the same or similar in {count} runs)"),
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use crate::runner::{RunOptions, run};
    use crate::scenario::Scenario;
    use crate::table::report;
    use std::fs;

    #[test]
    fn runs_of_a_study_that_goes_on_are_told_under_their_own_policy() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.toml");
        // Under round-robin every second job goes to the slow site.
        let lines = (1..7).map(|id| format!("{id} 0 -1 20 2 -1 -1 2 -1 -1 1 7 1 1 1 1 -1 -1\n"));
        let trace: String = lines.collect();
        fs::write(dir.path().join("t.swf"), trace).unwrap();
        let text = "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n\
                    [[domain]]\nname = \"a\"\nclusters = [{ name = \"a1\", processors = 12 }]\n\
                    [[domain]]\nname = \"b\"\nclusters = [{ name = \"b1\", processors = 2 }]\n\
                    [[link]]\nbetween = [\"a\", \"b\"]\nlatency = \"50ms\"\n\
                    [run]\npolicies = [\"round-robin\", \"free-node\"]\nbounds = false\n\
                    replicate = { over = \"broker-phase\", count = 3 }\n";
        fs::write(&file, text).unwrap();
        let scenario = Scenario::load(&file, &[]).unwrap();
        let options = RunOptions {
            out: Some(dir.path().join("runs")),
            quiet: true,
            ..RunOptions::default()
        };
        let mut all = run(&scenario, &options).unwrap();
        let told = |all: &[_], name: &str| {
            let text = report(&scenario, all).unwrap();
            let row = text.lines().find(|line| line.starts_with(name));
            let mean = row.and_then(|row| row.split_whitespace().nth(2).map(str::to_owned));
            (mean, text)
        };
        let others = told(&all[1..], "round-robin").0;
        assert!(others.is_some() && others != told(&all[1..], "free-node").0);
        // This one ran before.
        all[0].runs.remove(0);
        let (mean, text) = told(&all, "round-robin");
        assert_eq!(mean, others, "{text}");
        assert!(text.contains("not every policy ran in every"), "{text}");
    }
}
