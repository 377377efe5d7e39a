//! What is said of each policy below the table, of one run or of several.

use crate::words::{counts, list, many};
use gridrig_results::RunSummary;
use gridrig_results::stats::Distribution;
use gridrig_results::summary::Lending;
use std::fmt::Write as _;

/// What the table does not say by itself of a policy; `all` has the counts of all its runs.
pub(super) fn remark(
    text: &mut String,
    name: &str,
    all: &RunSummary,
    runs: &[&RunSummary],
    compression: f64,
) {
    unfinished(text, name, all);
    text.push_str(&lent(name, all).unwrap_or_default());
    text.push_str(&placed(name, runs));
    went_wrong(text, name, all);
    text.push_str(&lag(name, runs, compression).unwrap_or_default());
}

/// Where delegated processors have worked.
fn lent(name: &str, summary: &RunSummary) -> Option<String> {
    let all_at_home = |lent: &&Lending| {
        let away = lent.intra_site_processor_s + lent.intra_grid_processor_s;
        lent.requests == 0 && away + lent.inter_grid_processor_s == 0.0
    };
    let lent = summary.lending.as_ref();
    let lent = lent.filter(|lent| !all_at_home(lent))?;
    let hours = |seconds: f64| seconds / 3600.0;
    Some(format!(
        "{name}: goodput {:.1} processor-hours where jobs entered, {:.1} elsewhere on the same site, \
         {:.1} on other sites of the grid, {:.1} on other grids; requests {}, rejected {}, \
         cancelled {}, delegations {}; {:.1} processor-hours charged\n",
        hours(lent.local_processor_s),
        hours(lent.intra_site_processor_s),
        hours(lent.intra_grid_processor_s),
        hours(lent.inter_grid_processor_s),
        lent.requests,
        lent.rejections,
        lent.cancelled_requests,
        lent.delegations,
        hours(lent.charged_processor_s),
    ))
}

/// A figure of runs: the mean, with the least and the most where they differ.
fn figure(
    runs: &[&RunSummary],
    decimals: usize,
    of: impl Fn(&RunSummary) -> Option<f64>,
) -> Option<String> {
    let values = Distribution::of(runs.iter().filter_map(|run| of(run)));
    let shown = |value: f64| format!("{value:.decimals$}");
    let (mean, least, most) = (shown(values.mean?), shown(values.min?), shown(values.max?));
    Some(match least == most {
        true => least,
        false => format!("{mean} ({least} .. {most})"),
    })
}

/// How jobs were placed on several clusters, how reservations went, and predictions: of all
/// jobs of the runs, where the table has those that completed under every policy.
fn placed(name: &str, runs: &[&RunSummary]) -> String {
    let mut text = String::new();
    let own = |of: &str, decimals, factor: f64| {
        let of = |run: &RunSummary| run.further.get(of).copied().flatten();
        figure(runs, decimals, |run| of(run).map(|value| factor * value))
    };
    let mean = |of: &str| own(of, 1, 1.0);
    let share = |of: &str| own(of, 1, 100.0);
    let mut say = |line: String| {
        let _ = writeln!(text, "{name}: {line}");
    };
    let on_several = own("clusters_mean", 2, 1.0).zip(mean("placement_s_mean"));
    if let Some(((clusters, wait_s), startup_s)) = on_several.zip(mean("startup_s_mean")) {
        let moved = mean("moved_mib_mean").map_or_else(String::new, |mib| {
            format!(", {mib} MiB transferred for each that reads data")
        });
        say(format!(
            "all jobs that it placed, on average: {clusters} clusters, placed after {wait_s} s, \
             started {startup_s} s later{moved}"
        ));
    }
    if let Some(granted) = share("reservations_granted_share") {
        let others = mean("wait_s_unreserved_mean").map_or_else(String::new, |wait_s| {
            format!("; jobs without one waited {wait_s} s on average")
        });
        say(format!(
            "{granted} % of the jobs with a start window started{others}"
        ));
    }
    let predicted = mean("prediction_error_s_abs_mean").zip(share("prediction_kept_share"));
    if let Some((off_s, kept)) = predicted {
        let held = share("prediction_interval_coverage").zip(mean("prediction_interval_s_mean"));
        let held = held.map_or_else(String::new, |(held, wide_s)| {
            format!("; {held} % started within a 90 % interval, on average {wide_s} s wide")
        });
        say(format!(
            "predicted starts of all its jobs were off by {off_s} s on average, {kept} % started \
             no later{held}"
        ));
    }
    text
}

/// How late jobs were submitted in real time.
fn lag(name: &str, runs: &[&RunSummary], compression: f64) -> Option<String> {
    let worst = runs.iter().filter_map(|run| run.submission_lag_ns_max);
    let max = worst.max().filter(|max| *max > 0)? as f64 / 1e9;
    let p99 = figure(runs, 3, |run| Some(run.submission_lag_ns_p99? / 1e9))?;
    Some(format!(
        "{name}: submission lag: p99 {p99} s, worst {max:.3} s of run time, which is {:.1} s of \
         trace time\n",
        max * compression
    ))
}

/// What became of the jobs that did not complete.
fn unfinished(text: &mut String, name: &str, summary: &RunSummary) {
    let jobs = &summary.jobs;
    let other = [
        ("rejected", jobs.rejected),
        ("cancelled", jobs.cancelled),
        ("failed", jobs.failed),
        ("unfinished", jobs.unfinished),
    ];
    let other = counts(other.into_iter().filter(|(_, count)| *count > 0));
    if !other.is_empty() {
        let reasons = summary.reasons.iter();
        let reasons = list(reasons.map(|(reason, count)| format!("{reason} {count}")));
        let why = match reasons.is_empty() {
            true => reasons,
            false => format!(" ({reasons})"),
        };
        let _ = writeln!(text, "{name}: {other}{why}");
    }
}

/// What nodes that failed and faults have cost.
fn went_wrong(text: &mut String, name: &str, summary: &RunSummary) {
    let mut wrong = String::new();
    if let Some(lost) = &summary.node_failures {
        let requeues = many(lost.requeues, "requeue");
        let failed = many(lost.failed_jobs, "failed job");
        let lost_h = lost.lost_processor_s / 3600.0;
        let _ = write!(
            wrong,
            "; nodes that failed: {requeues}, {failed}, {lost_h:.1} processor-hours lost"
        );
    }
    if let Some(faults) = &summary.faults {
        let faults = faults.iter().map(|(kind, count)| format!("{kind} {count}"));
        let _ = write!(wrong, "; faults: {}", list(faults));
    }
    if !wrong.is_empty() {
        let (all, jobs) = (&summary.jobs, &summary.measured);
        let finished = 100.0 * jobs.completed as f64 / jobs.submitted.max(1) as f64;
        let of = match all.submitted == jobs.submitted {
            true => "jobs",
            false => "measured jobs",
        };
        let goodput_h = summary.goodput_processor_s / 3600.0;
        let _ = writeln!(
            text,
            "{name}: {finished:.2} % of the {of} finished, goodput {goodput_h:.1} \
             processor-hours{wrong}"
        );
    }
}
