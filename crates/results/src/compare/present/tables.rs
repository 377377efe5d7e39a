//! The tables of a comparison.

use super::Table;
use crate::compare::document::{Breakdown, Comparison, Estimate, Policy, Role};
use crate::compare::text::{maybe, number, p_value, percent, signed};
use crate::regret::Regret;
use crate::stats::{Interval, Judgement};
use crate::text::{cells, head};
use crate::threshold::{Figure, METRICS};
use crate::words;

/// What intervals of figures that nobody declared can say.
const UNCORRECTED: &str =
    "Intervals are not corrected for their number: of twenty, one misses by chance.";

/// All that there is something to show in, in order.
pub(super) fn all(document: &Comparison) -> Vec<Table> {
    let primary = document.primary.iter();
    let mut tables: Vec<Table> = primary
        .filter_map(|figure| primary_table(document, *figure))
        .collect();
    tables.extend(further(document));
    tables.extend(thresholds_table(document));
    tables.extend(metrics_table(document));
    tables.extend(load_table(document));
    tables.extend(fairness_table(document));
    tables.extend(decisions_table(document));
    tables.extend(clusters_table(document));
    tables.extend(forwarding_table(document));
    // One group is all jobs, which the tables above are about.
    let several = document.breakdown.iter().filter(|b| b.groups.len() > 1);
    tables.extend(several.filter_map(|b| breakdown_table(document, b)));
    tables.extend(starvation_table(document));
    tables
}

/// A table of these rows; none without any.
fn table(
    title: impl Into<String>,
    header: Vec<String>,
    rows: impl IntoIterator<Item = Vec<String>>,
    note: &str,
) -> Option<Table> {
    let rows = Vec::from_iter(rows);
    (!rows.is_empty()).then(|| Table {
        title: title.into(),
        header,
        rows,
        note: (!note.is_empty()).then(|| note.to_owned()),
    })
}

/// `-1.5 .. +2`.
fn between(interval: Interval) -> String {
    format!("{} .. {}", signed(interval.low), signed(interval.high))
}

/// Those that pages show as they are.
pub(crate) fn further(document: &Comparison) -> impl Iterator<Item = Table> {
    let tables = [pairs_table(document), unfinished_table(document)];
    tables.into_iter().flatten()
}

fn primary_table(document: &Comparison, figure: Figure) -> Option<Table> {
    let unit = words::unit_of(figure.metric());
    let mut rows = Vec::new();
    for policy in &document.policies {
        let Some(estimate) = policy.estimate(figure) else {
            continue;
        };
        let Some(paired) = &estimate.paired else {
            let mut line = vec![String::new(); 9];
            line[0] = policy.shown();
            line[1] = maybe(estimate.value);
            line[2] = own_interval(estimate);
            let baseline = policy.role == Role::Baseline;
            line[3] = if baseline { "baseline" } else { "-" }.to_owned();
            rows.push(line);
            continue;
        };
        rows.push(cells([
            policy.shown(),
            maybe(estimate.value),
            own_interval(estimate),
            signed(paired.difference),
            paired.interval.map_or("-".to_owned(), between),
            maybe(paired.ratio),
            match policy.role {
                Role::Bound => "reference".to_owned(),
                _ => judgement(estimate.judgement),
            },
            p_value(estimate.p_corrected),
            match paired.tied {
                0 => format!("{} of {}", paired.disagree, paired.n),
                tied => format!("{}/{}, {tied} tied", paired.disagree, paired.n),
            },
        ]));
    }
    let what = words::figure(figure);
    table(
        format!("{figure}: {what}{unit}, mean over the replications; less is better"),
        head(
            "policy | value | 95 % interval | difference | 95 % interval | ratio | verdict | p | disagree",
        ),
        rows,
        &bounds_note(document).unwrap_or_default(),
    )
}

/// `better`, `worse`, `equivalent` or `open`.
fn judgement(judgement: Option<Judgement>) -> String {
    judgement.map_or("-", Into::into).to_owned()
}

/// Nobody runs more; how many it would be says nothing.
const MOST_REPEATS: u64 = 1_000_000;

/// Every two policies that compete, where they are more than two.
fn pairs_table(document: &Comparison) -> Option<Table> {
    let verdict = &document.verdict;
    let judged = verdict.pairs.len() > 1 && document.method.interval.is_some();
    let rows = verdict.pairs.iter().filter_map(|pair| {
        let interval = pair.paired.interval?;
        let open = pair.judgement == Some(Judgement::Open);
        let needed = pair.pairs_needed.filter(|_| open);
        Some(cells([
            pair.policy.clone(),
            pair.against.clone(),
            signed(pair.paired.difference),
            between(interval),
            judgement(pair.judgement),
            p_value(pair.p_corrected),
            match needed {
                None => "-".to_owned(),
                Some(needed) if needed > MOST_REPEATS => "over a million".to_owned(),
                Some(needed) => needed.to_string(),
            },
        ]))
    });
    let rows: Vec<Vec<String>> = rows.collect();
    judged.then(|| Table {
        title: format!("{}: every two policies that compete", verdict.figure),
        header: head(
            "policy | against | difference | 95 % interval | verdict | p | repeats needed",
        ),
        rows,
        note: Some(
            "Intervals hold all together in 95 of 100 studies. Repeats needed, where the \
             verdict is open: to tell a difference that matters from none, if repeats vary as \
             these do."
                .to_owned(),
        ),
    })
}

/// What became of all jobs, where some did not finish.
fn unfinished_table(document: &Comparison) -> Option<Table> {
    let rows = document.policies.iter().filter_map(|policy| {
        let own = policy.unfinished?;
        let of = |estimate: Estimate, shown: &dyn Fn(f64) -> String| {
            let value = estimate.value.map_or("-".to_owned(), shown);
            let by = estimate.paired.and_then(|paired| paired.interval);
            by.map_or(value.clone(), |by| format!("{value} ({})", between(by)))
        };
        Some(cells([
            policy.shown(),
            of(own.finished_share, &|share| format!("{share:.4}")),
            of(own.wait_s_p50, &number),
            of(own.wait_s_p95, &number),
        ]))
    });
    table(
        "All measured jobs, unfinished ones too (95 % interval of the difference)",
        head("policy | finished share | wait s, median | wait s, p95"),
        rows,
        "Waits by Kaplan and Meier: a job that did not start has waited until the end of the run. The \
         other tables are over jobs that finished under every policy.",
    )
}

/// The interval of a value, if it has one.
fn own_interval(estimate: &Estimate) -> String {
    let interval = estimate.value_interval;
    interval.map_or("-".to_owned(), |range| {
        format!("{} .. {}", number(range.low), number(range.high))
    })
}

/// What bounds are, and what they lack.
fn bounds_note(document: &Comparison) -> Option<String> {
    if document.policies.iter().all(|p| p.role != Role::Bound) {
        return None;
    }
    let lacking = document.policies.iter().filter(|p| p.missing_jobs > 0);
    let lacking = lacking.map(|policy| {
        format!(
            " Under {} {} of the jobs did not complete: its figures and differences are over the \
             others.",
            policy.name, policy.missing_jobs
        )
    });
    let note = "In parentheses: references, which do not compete and have no verdict.".to_owned();
    Some(lacking.fold(note, |note, more| note + &more))
}

fn thresholds_table(document: &Comparison) -> Option<Table> {
    let rows = document.thresholds.iter().map(|threshold| {
        let mark = if threshold.held {
            "\u{2713}"
        } else {
            "\u{2717}"
        };
        cells([
            threshold.require.clone(),
            threshold.policy.clone(),
            mark.to_owned(),
            format!(
                "{} of {}",
                threshold.runs - threshold.missed,
                threshold.runs
            ),
            maybe(threshold.worst),
            threshold.worst_run.clone(),
        ])
    });
    table(
        "Thresholds, over all measured jobs of each run",
        head("require | policy | kept | runs | worst | in"),
        rows,
        "",
    )
}

fn metrics_table(document: &Comparison) -> Option<Table> {
    let mut rows = Vec::new();
    let mut same = Vec::new();
    for (index, metric) in METRICS.into_iter().enumerate() {
        let of =
            |policy: &Policy, name: &str| policy.metrics.get(name).cloned().unwrap_or_default();
        let earlier = METRICS[..index].iter().find(|earlier| {
            let mut policies = document.policies.iter();
            policies.all(|policy| of(policy, earlier) == of(policy, metric))
        });
        if let Some(earlier) = earlier {
            same.push(format!("{metric} is the same as {earlier}."));
            continue;
        }
        let mut first = vec![String::new(); 1 + Figure::STATISTICS.len()];
        first[0] = metric.to_owned();
        rows.push(first);
        for policy in &document.policies {
            let own = of(policy, metric);
            let mut line = vec![format!("  {}", policy.shown())];
            for statistic in Figure::STATISTICS {
                let estimate = own.get(statistic).copied().unwrap_or_default();
                let mut text = maybe(estimate.value);
                if let Some(paired) = estimate.paired {
                    text.push_str(&format!(" ({})", signed(paired.difference)));
                }
                line.push(text);
            }
            rows.push(line);
            if own.values().any(|own| own.value_interval.is_some()) {
                let of = |statistic| own_interval(&own.get(statistic).copied().unwrap_or_default());
                let mut line = vec!["    95 %".to_owned()];
                line.extend(Figure::STATISTICS.map(of));
                rows.push(line);
            }
        }
    }
    table(
        "All metrics: mean over the replications (difference to the baseline), and its 95 % interval",
        head("metric | mean | p50 | p95 | p99"),
        rows,
        format!("{UNCORRECTED} {}", same.join(" ")).trim_end(),
    )
}

fn load_table(document: &Comparison) -> Option<Table> {
    let rows = document.policies.iter().map(|policy| {
        let load = &policy.load;
        cells([
            policy.shown(),
            percent(load.utilization),
            maybe(load.cv),
            maybe(load.gini),
            percent(load.forwarding_ratio),
            percent(load.away_share),
            percent(load.waited_share),
            maybe(load.makespan_s),
        ])
    });
    table(
        "Load: means over the replications, all measured jobs",
        head("policy | util % | CV | Gini | fwd % | away % | waited % | makespan s"),
        rows,
        "CV and Gini: imbalance of utilization between clusters.",
    )
}

/// Who would be better off without the others.
fn fairness_table(document: &Comparison) -> Option<Table> {
    let policies = document.policies.iter();
    let rows = policies.filter_map(|policy| {
        let worse = policy.worse_off?;
        let (domains, users) = (percent(worse.domains), percent(worse.users));
        Some(cells([policy.shown(), domains, users]))
    });
    let metric = document.primary[0].metric();
    table(
        format!("Worse off than under local-only: mean {metric} by domain and user"),
        head("policy | domains % | users %"),
        rows,
        "Shares of the domains where jobs entered, and of the users, over the replications.",
    )
}

/// What brokers knew, and what it cost.
fn decisions_table(document: &Comparison) -> Option<Table> {
    let known =
        |policy: &&Policy| policy.load.regret.is_some() || policy.load.information.is_some();
    let rows = document.policies.iter().filter(known).map(|policy| {
        let age = policy.load.information;
        let regret = policy.load.regret;
        let figure = |of: fn(Regret) -> Option<f64>| maybe(regret.and_then(of));
        cells([
            policy.shown(),
            maybe(age.map(|age| age.mean_s)),
            maybe(age.map(|age| age.max_s)),
            percent(regret.and_then(|regret| regret.best_share)),
            figure(|regret| regret.mean_s),
            figure(|regret| regret.p95_s),
            figure(|regret| regret.max_s),
        ])
    });
    table(
        "Decisions: what brokers knew, and what it cost",
        head("policy | info age s | oldest s | best % | regret s | p95 s | max s"),
        rows,
        "Info age: how old the information about the chosen candidate was. Regret: how much later a \
         job would start where it was sent than at the best candidate, by the true state at that instant.",
    )
}

fn clusters_table(document: &Comparison) -> Option<Table> {
    let first = document.policies.first()?;
    let names: Vec<&String> = first.load.clusters.iter().map(|c| &c.cluster).collect();
    // Past a terminal's width the JSON has them.
    if names.len() < 2 || names.len() > 8 {
        return None;
    }
    let same = document.policies.iter().filter(|policy| {
        let own = policy.load.clusters.iter().map(|c| &c.cluster);
        own.eq(names.iter().copied())
    });
    let rows = same.map(|policy| {
        let shares = policy.load.clusters.iter().map(|c| percent(c.utilization));
        std::iter::once(policy.shown()).chain(shares).collect()
    });
    let header = std::iter::once("policy".to_owned()).chain(names.iter().map(|n| (*n).clone()));
    table("Utilization by cluster, %", header.collect(), rows, "")
}

fn forwarding_table(document: &Comparison) -> Option<Table> {
    let mut domains: Vec<&String> = document
        .policies
        .iter()
        .flat_map(|policy| &policy.forwarding)
        .flat_map(|cell| [&cell.from, &cell.to])
        .collect();
    domains.sort();
    domains.dedup();
    if domains.is_empty() || domains.len() > 7 {
        return None;
    }
    let mut rows = Vec::new();
    for policy in document
        .policies
        .iter()
        .filter(|p| !p.forwarding.is_empty())
    {
        for from in &domains {
            let own = || policy.forwarding.iter().filter(|cell| cell.from == **from);
            if own().next().is_none() {
                continue;
            }
            let mut line = vec![policy.shown(), (*from).clone()];
            for to in &domains {
                let jobs: u64 = own().filter(|c| c.to == **to).map(|c| c.jobs).sum();
                line.push(jobs.to_string());
            }
            rows.push(line);
        }
    }
    let mut header = cells(["policy", "origin"]);
    header.extend(domains.iter().map(|to| format!("ran in {to}")));
    let title = "Forwarding matrix: jobs by origin and executing domain, all replications";
    table(title, header, rows, "")
}

fn breakdown_table(document: &Comparison, breakdown: &Breakdown) -> Option<Table> {
    let mut rows = Vec::new();
    for group in &breakdown.groups {
        for (cell, policy) in group.cells.iter().zip(&document.policies) {
            let first = policy.role == Role::Baseline;
            let paired = cell.estimate.paired;
            let interval = paired.and_then(|paired| paired.interval);
            rows.push(cells([
                if first {
                    group.group.clone()
                } else {
                    String::new()
                },
                policy.shown(),
                cell.jobs.to_string(),
                maybe(cell.estimate.value),
                paired.map_or(String::new(), |paired| signed(paired.difference)),
                interval.map_or(String::new(), between),
            ]));
        }
    }
    let by = breakdown.by.replace('-', " ");
    let of = match breakdown.by {
        "run-time" => "Run times in time of the trace. ".to_owned(),
        "size" => "Processors. ".to_owned(),
        domain if domain.ends_with("domain") => String::new(),
        owner => format!("The {owner}s with the most processor time. "),
    };
    let note = match breakdown.same_jobs {
        false => "Each policy has run other jobs there, so no differences are shown.".to_owned(),
        true => format!("{of}* without correction for the number of comparisons."),
    };
    let mut header = head(&format!(
        "{by} | policy | jobs | mean | difference | 95 % interval*"
    ));
    if !breakdown.same_jobs {
        header.truncate(4);
        rows.iter_mut().for_each(|row| row.truncate(4));
    }
    let title = format!("Mean {} by {by}", breakdown.metric);
    table(title, header, rows, &note)
}

fn starvation_table(document: &Comparison) -> Option<Table> {
    let mut rows = Vec::new();
    for policy in &document.policies {
        for job in policy.starvation.iter().take(3) {
            let mut row = vec![policy.shown(), job.replication.clone()];
            row.extend(job.row.values().map(|value| match value.as_u64() {
                Some(whole) => whole.to_string(),
                None => number(value.as_f64().unwrap_or(f64::NAN)),
            }));
            row.extend([number(job.relative_wait), job.overtaken_by.to_string()]);
            rows.push(row);
        }
    }
    table(
        "Starvation: the three jobs that waited longest relative to their run time",
        head("policy | in | job | procs | run s | wait s | wait/run | overtaken by"),
        rows,
        "Only jobs that finish under every policy: one that never starts is not among them. \
         Overtaken by: jobs that the cluster queued later and started earlier.",
    )
}
