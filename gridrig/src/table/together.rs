//! All replications of a scenario in one table.

use super::remarks::remark;
use super::{bounds, not_compared, number, percent};
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
    let not_compared = not_compared(
        common.iter().map(|one| one.left_out).sum(),
        common.iter().map(|one| one.never_completed).sum(),
    );
    let _ = writeln!(
        text,
        "\n{} replications, {} to {}: {jobs} jobs submitted in all\ncompared on the {compared} jobs \
         that completed under every policy of their replication; {not_compared}\n",
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
        "means over the replications, below with (least .. most) where they differ; jobs, skipped \
         lines, other counts and processor-hours are sums over them\nbounded slowdown with tau = \
         {tau:.3} s of the run; delay = end seen - submit - run time"
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
    let compression = scenario.compression().as_f64();
    for (name, own) in &all {
        let own: Vec<&RunSummary> = own.iter().map(|(run, _)| &run.summary).collect();
        remark(text, name, &summed(&own), &own, compression);
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
fn summed(runs: &[&RunSummary]) -> RunSummary {
    let mut all = RunSummary {
        jobs: runs.iter().map(|one| one.jobs).sum(),
        measured: runs.iter().map(|one| one.measured).sum(),
        ..RunSummary::default()
    };
    for one in runs {
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
        if let Some(lent) = &one.lending {
            let sum = all.lending.get_or_insert_default();
            sum.local_processor_s += lent.local_processor_s;
            sum.intra_site_processor_s += lent.intra_site_processor_s;
            sum.intra_grid_processor_s += lent.intra_grid_processor_s;
            sum.inter_grid_processor_s += lent.inter_grid_processor_s;
            sum.charged_processor_s += lent.charged_processor_s;
            sum.requests += lent.requests;
            sum.rejections += lent.rejections;
            sum.cancelled_requests += lent.cancelled_requests;
            sum.delegations += lent.delegations;
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
        let lines = counts(&skipped);
        let _ = writeln!(text, "lines of the traces skipped in all: {lines}");
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
    use super::*;
    use crate::runner::{RunOptions, run};
    use crate::table::report;
    use std::fs;
    use std::path::Path;

    /// The runs of a scenario in a folder, on these jobs: its number, when it comes, how long it
    /// runs, and its processors.
    fn study(dir: &Path, text: &str, jobs: &[[i64; 4]]) -> (Scenario, Vec<ReplicationRuns>) {
        let line = |[id, submit, run, size]: &[i64; 4]| {
            format!("{id} {submit} -1 {run} {size} -1 -1 {size} -1 -1 1 7 1 1 1 1 -1 -1\n")
        };
        let trace: String = jobs.iter().map(line).collect();
        fs::write(dir.join("t.swf"), trace).unwrap();
        let file = dir.join("s.toml");
        fs::write(&file, text).unwrap();
        let scenario = Scenario::load(&file, &[]).unwrap();
        let options = RunOptions {
            out: Some(dir.join("runs")),
            quiet: true,
            ..RunOptions::default()
        };
        let all = run(&scenario, &options).unwrap();
        (scenario, all)
    }

    #[test]
    fn runs_of_a_study_that_goes_on_are_told_under_their_own_policy() {
        let dir = tempfile::tempdir().unwrap();
        // Under round-robin every second job goes to the slow site.
        let jobs: Vec<[i64; 4]> = (1..7).map(|id| [id, 0, 20, 2]).collect();
        let text = "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n\
                    [[domain]]\nname = \"a\"\nclusters = [{ name = \"a1\", processors = 12 }]\n\
                    [[domain]]\nname = \"b\"\nclusters = [{ name = \"b1\", processors = 2 }]\n\
                    [[link]]\nbetween = [\"a\", \"b\"]\nlatency = \"50ms\"\n\
                    [run]\npolicies = [\"round-robin\", \"free-node\"]\nbounds = false\n\
                    replicate = { over = \"broker-phase\", count = 3 }\n";
        let (scenario, mut all) = study(dir.path(), text, &jobs);
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

    /// In each of two replications two jobs run on processors that are lent, and one line is
    /// skipped.
    #[test]
    fn what_was_lent_and_skipped_is_summed_over_replications() {
        let dir = tempfile::tempdir().unwrap();
        let broker = "broker = { matchmaking_interval = \"20s\", delegation_interval = \"5s\", \
                      max_hops = 4 }";
        let text = format!(
            "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n\
             [[domain]]\nname = \"a\"\nsiblings = [\"b\"]\ngrid = \"g\"\n{broker}\n\
             clusters = [{{ name = \"a1\", processors = 2 }}]\n\
             [[domain]]\nname = \"b\"\ngrid = \"g\"\ncentral = true\n{broker}\n\
             clusters = [{{ name = \"b1\", processors = 4 }}]\n\
             [mesh]\nlatency = \"1ms\"\n\
             [run]\npolicies = [\"free-node(matchmaking=delegate)\"]\n\
             replicate = {{ over = \"broker-phase\", count = 2 }}\n"
        );
        let jobs = [
            [1, 1, 300, 2],
            [2, 13, 100, 2],
            [3, 21, 50, 1],
            [4, 22, -1, 1],
        ];
        let (scenario, all) = study(dir.path(), &text, &jobs);
        let told = report(&scenario, &all).unwrap();
        for expected in [
            ": 6 jobs submitted in all\n",
            "\nlines of the traces skipped in all: 2 never-ran\n",
            "\nfree-node(matchmaking=delegate): goodput 0.3 processor-hours where jobs entered, ",
            "; requests 4, rejected 0, cancelled 0, delegations 4; ",
        ] {
            assert!(told.contains(expected), "{expected}: {told}");
        }
    }

    #[test]
    fn what_was_placed_and_reserved_is_a_mean_with_its_range() {
        let dir = tempfile::tempdir().unwrap();
        let cluster = |name: &str| {
            format!(
                "{{ name = \"{name}\", processors = 4, discipline = \"easy-backfill\", \
                 reservations = {{}} }}"
            )
        };
        let (first, second) = (cluster("a1"), cluster("a2"));
        let text = format!(
            "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n\
             [workload.draw]\n\
             start_window = {{ share = 0.5, notice = \"1min\", length = \"1h\" }}\n\
             [[domain]]\nname = \"a\"\nclusters = [{first}, {second}]\n\
             [run]\npolicies = [\"co-reservation\", \"free-node\"]\nbounds = false\n\
             replicate = {{ over = \"seed\", count = 3 }}\n"
        );
        let jobs = [[1, 1, 300, 2], [2, 13, 100, 2], [3, 21, 50, 1]];
        let (scenario, all) = study(dir.path(), &text, &jobs);
        let starts = all.iter().map(|one| &one.runs[0].summary.further);
        let starts = Distribution::of(starts.map(|own| own["startup_s_mean"].unwrap()));
        let [mean, least, most] = [starts.mean, starts.min, starts.max].map(Option::unwrap);
        assert!(most - least > 1.0, "{starts:?}");
        let told = report(&scenario, &all).unwrap();
        for expected in [
            "\nco-reservation: all jobs that it placed, on average: 1.00 clusters, ",
            &format!(" started {mean:.1} ({least:.1} .. {most:.1}) s later\n"),
            "\nfree-node: 100.0 % of the jobs with a start window started; jobs without one waited ",
        ] {
            assert!(told.contains(expected), "{expected}: {told}");
        }
    }

    #[test]
    fn predictions_are_told_with_their_intervals_where_some_have_one() {
        let predicted = |interval: Option<(f64, f64)>| RunSummary {
            further: [
                ("prediction_error_s_abs_mean", Some(20.0)),
                ("prediction_kept_share", Some(0.5)),
                ("prediction_interval_coverage", interval.map(|it| it.0)),
                ("prediction_interval_s_mean", interval.map(|it| it.1)),
            ]
            .into(),
            ..RunSummary::default()
        };
        let told = |runs: [&RunSummary; 2]| {
            let mut text = String::new();
            remark(&mut text, "p", &summed(&runs), &runs, 1.0);
            text
        };
        let without = "p: predicted starts of all its jobs were off by 20.0 s on average, \
                       50.0 % started no later";
        let none = predicted(None);
        assert_eq!(told([&none, &none]), format!("{without}\n"));
        let (first, second) = (
            predicted(Some((0.875, 70.0))),
            predicted(Some((0.925, 30.0))),
        );
        let within = "; 90.0 (87.5 .. 92.5) % started within a 90 % interval, on average \
                      50.0 (30.0 .. 70.0) s wide\n";
        assert_eq!(told([&first, &second]), format!("{without}{within}"));
    }

    #[test]
    fn how_late_jobs_were_submitted_is_a_mean_and_the_worst_of_all() {
        let late = |p99_s: f64, max_s: i64| RunSummary {
            submission_lag_ns_p99: Some(p99_s * 1e9),
            submission_lag_ns_max: Some(max_s * 1_000_000_000),
            ..RunSummary::default()
        };
        let mut text = String::new();
        let runs = [&late(1.0, 5), &late(3.0, 4)];
        remark(&mut text, "p", &summed(&runs), &runs, 10.0);
        let expected = "p: submission lag: p99 2.000 (1.000 .. 3.000) s, worst 5.000 s of run time, \
                        which is 50.0 s of trace time\n";
        assert_eq!(text, expected);
    }
}
