//! Groups of jobs, jobs that starved, and how evenly clusters were loaded.

use super::material::{Column, Material};
use super::number::{cell, count, key_words, share, with_difference};
use crate::compare::{Breakdown, Comparison, Policy};
use crate::plot::{Cell, Page, Table};
use crate::words::{self, short};
use gridrig_scenario::each_once;

/// Jobs of each policy that the starvation report tells of.
const STARVED: usize = 5;

/// Clusters of so many columns are told one by one.
const MOST_CLUSTERS: usize = 24;

pub(super) fn draw(page: &mut Page, material: &Material) {
    let Some(comparison) = &material.comparison else {
        if let Some(alone) = &material.alone {
            page.heading("Groups of jobs");
            tables(page, alone);
            starvation(page, alone);
            decisions(page, material, alone);
        }
        page.heading("Clusters");
        own_load(page, &material.columns);
        return;
    };
    page.heading("Groups of jobs");
    page.paragraph(
        "Means over the replications, with the difference to the baseline in parentheses. A \
         star: the 95 % interval of the difference excludes 0, without correction for the number \
         of comparisons. It is a hint where to look, not a result.",
    );
    tables(page, comparison);
    starvation(page, comparison);
    decisions(page, material, comparison);
    page.heading("Balance of load");
    load(page, comparison);
}

/// What brokers knew, and what it cost.
fn decisions(page: &mut Page, material: &Material, comparison: &Comparison) {
    let policies = comparison.policies.iter();
    let is_known = |it: &&Policy| it.load.regret.is_some() || it.load.information.is_some();
    let mut known = policies.filter(is_known).peekable();
    if known.peek().is_none() {
        return;
    }
    page.heading("Decisions");
    page.paragraph(
        "Information age: how old what a broker knew of the candidate was when it chose it. Regret: \
         how much later the job would start where it was sent than at the best candidate, by the \
         true state at that instant: with the jobs that ran, were queued or were on their way \
         there, and none that came later.",
    );
    if material
        .runs()
        .any(|run| !run.manifest.grid.real_clusters().is_empty())
    {
        page.paragraph(
            "Some clusters were real LRMSs: there regret assumes that jobs start in the order of \
             the queue.",
        );
    }
    let mut table = Table::new("policy | decisions | information age, s | oldest, s | sent to the best | mean regret, s | p95, s | max, s".split(" | "))
    .caption("Decisions of entry brokers; regret: means over the replications");
    for policy in known {
        let (age, regret) = (policy.load.information, policy.load.regret);
        table.push([
            Cell::Text(policy.name.clone()),
            regret.map_or(Cell::Missing, |regret| Cell::from(regret.decisions)),
            cell(age.map(|age| age.mean_s)),
            cell(age.map(|age| age.max_s)),
            share(regret.and_then(|regret| regret.best_share)),
            cell(regret.and_then(|regret| regret.mean_s)),
            cell(regret.and_then(|regret| regret.p95_s)),
            cell(regret.and_then(|regret| regret.max_s)),
        ]);
    }
    page.table(&table);
}

/// A table for each way to group jobs; one group is all jobs, which other
/// tables are about.
fn tables(page: &mut Page, comparison: &Comparison) {
    let all = comparison.breakdown.iter();
    let mut several = all.filter(|b| b.groups.len() > 1).peekable();
    if several.peek().is_none() {
        page.paragraph("All jobs are of one kind.");
    }
    for breakdown in several {
        page.table(&groups(comparison, breakdown));
    }
}

fn head(first: &str, same_jobs: bool, policies: &[Policy]) -> Vec<String> {
    let names = policies.iter().map(Policy::shown);
    let jobs = same_jobs.then(|| "jobs".to_owned());
    let first = std::iter::once(first.to_owned());
    first.chain(jobs).chain(names).collect()
}

fn groups(comparison: &Comparison, breakdown: &Breakdown) -> Table {
    let by = breakdown.by.replace('-', " ");
    let unit = words::unit_of(breakdown.metric);
    let more = match (breakdown.by, breakdown.same_jobs) {
        (_, false) => "; other jobs under each policy, so there are no differences".to_owned(),
        ("size", _) => ", in processors".to_owned(),
        ("run-time", _) => ", in time of the trace".to_owned(),
        (domain, _) if domain.ends_with("domain") => String::new(),
        (owner, _) => format!(": the {owner}s with the most processor time"),
    };
    let mut table =
        Table::new(head(&by, breakdown.same_jobs, &comparison.policies)).caption(format!(
            "Mean {}{unit} by {by}{more}",
            words::metric(breakdown.metric)
        ));
    for group in &breakdown.groups {
        let mut row = vec![Cell::Text(group.group.clone())];
        let jobs = group.cells.first().filter(|_| breakdown.same_jobs);
        row.extend(jobs.map(|first| Cell::from(first.jobs)));
        row.extend(group.cells.iter().map(|one| {
            if breakdown.same_jobs {
                return with_difference(one.estimate.value, one.estimate.paired.as_ref());
            }
            match one.estimate.value {
                Some(value) => {
                    Cell::Number(format!("{} ({})", short(value), count(one.jobs, "job")))
                }
                None => Cell::Missing,
            }
        }));
        table.push(row);
    }
    table
}

fn starvation(page: &mut Page, comparison: &Comparison) {
    page.heading("Starvation");
    let mut table = Table::new("policy | replication | job | processors | run time, s | wait, s | wait / run time | overtaken by | cluster".split(" | "))
    .caption("Jobs that waited longest relative to their run time");
    for policy in &comparison.policies {
        for job in policy.starvation.iter().take(STARVED) {
            let mut row = vec![
                Cell::Text(policy.name.clone()),
                Cell::Text(key_words(&job.replication)),
            ];
            row.extend(job.row.iter().map(|(name, value)| match value.as_u64() {
                Some(job) if *name == "job" => Cell::Number(job.to_string()),
                Some(whole) => Cell::from(whole),
                None => cell(value.as_f64()),
            }));
            row.extend([
                cell(Some(job.relative_wait)),
                Cell::from(job.overtaken_by),
                Cell::Text(job.cluster.clone().unwrap_or_default()),
            ]);
            table.push(row);
        }
    }
    if table.is_empty() {
        page.paragraph("None of the jobs that finish under every policy waited.");
        return;
    }
    page.paragraph(
        "Only jobs that finish under every policy: one that never starts is not among them. \
         Overtaken by: jobs that the same cluster queued later and started earlier. \
         First-in-first-fit lets narrow jobs pass wide ones without limit.",
    );
    page.table(&table);
}

fn load(page: &mut Page, comparison: &Comparison) {
    let mut table = Table::new("policy | utilization | CV | Gini | ever waited | makespan, s".split(" | "))
    .caption("Means over the replications, all measured jobs. CV (coefficient of variation) and Gini: imbalance of utilization between clusters, 0 is even");
    for policy in &comparison.policies {
        let load = &policy.load;
        table.push([
            Cell::Text(policy.name.clone()),
            share(load.utilization),
            cell(load.cv),
            cell(load.gini),
            share(load.waited_share),
            cell(load.makespan_s),
        ]);
    }
    page.table(&table);
    let loads = comparison.policies.iter().map(|policy| {
        let clusters = policy.load.clusters.iter();
        let clusters = clusters.map(|c| (c.cluster.clone(), c.utilization));
        (policy.name.as_str(), clusters.collect())
    });
    clusters(page, &loads.collect::<Vec<_>>());
}

/// The utilization of each cluster under a policy.
type Loads<'a> = (&'a str, Vec<(String, Option<f64>)>);

/// Utilization by cluster: a row per cluster, a column per policy.
fn clusters(page: &mut Page, loads: &[Loads<'_>]) {
    let all = loads.iter().flat_map(|(_, clusters)| clusters);
    let names = each_once(all.map(|(name, _)| name));
    if names.len() < 2 {
        return;
    }
    let heads = loads.iter().map(|(policy, _)| (*policy).to_owned());
    let caption = match names.len() > MOST_CLUSTERS {
        true => format!(
            "Utilization of the first {MOST_CLUSTERS} of {} clusters",
            names.len()
        ),
        false => "Utilization by cluster".to_owned(),
    };
    let mut table = Table::new(std::iter::once("cluster".to_owned()).chain(heads)).caption(caption);
    for name in names.into_iter().take(MOST_CLUSTERS) {
        let of = |(_, clusters): &Loads<'_>| {
            let own = clusters.iter().find(|(cluster, _)| cluster == name);
            match own {
                Some((_, utilization)) => share(*utilization),
                None => Cell::Number(String::new()),
            }
        };
        let cells = loads.iter().map(of);
        table.push(std::iter::once(Cell::Text(name.clone())).chain(cells));
    }
    page.table(&table);
}

/// From the summaries of the runs: the first of each column.
fn own_load(page: &mut Page, columns: &[Column]) {
    let loads = columns.iter().map(|column| {
        let first = column.runs.first();
        let clusters = first.map_or(Vec::new(), |run| run.manifest.cluster_loads());
        (column.name.as_str(), clusters)
    });
    let loads: Vec<_> = loads.collect();
    match loads
        .iter()
        .all(|(_, clusters): &Loads<'_>| clusters.len() < 2)
    {
        true => page.paragraph("Every run has one cluster."),
        false => clusters(page, &loads),
    }
}
