//! The table at the end of a run: which policy did better, on the same jobs.

mod remarks;
mod together;

use crate::check::{FaultReport, how_nodes_fail};
use crate::runner::{PolicyRun, ReplicationRuns};
use crate::scenario::Scenario;
use crate::words::{counts, list, many};
use gridrig_core::broker::{Blocking, Commit, LocalInfo, MatchmakingKind, OwnDispatch};
use gridrig_core::grid::{BrokerSettings, Grid};
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_results::compare::{self, CompareError, OnCommonJobs};
use gridrig_results::summary::Metrics;
use gridrig_results::text::{aligned, cells, folded};
use remarks::remark;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The report of a scenario's runs, for people: the policies side by side, of several
/// replications in one table, from the run directories.
///
/// # Errors
/// When these cannot be read.
pub fn report(
    scenario: &Scenario,
    replications: &[ReplicationRuns],
) -> Result<String, CompareError> {
    let mut text = answer(replications);
    settings(&mut text, scenario);
    let common = replications.iter().map(|replication| {
        let dirs = replication.runs.iter().filter_map(|run| run.dir.clone());
        compare::on_common_jobs(&dirs.collect::<Vec<_>>())
    });
    let common = common.collect::<Result<Vec<_>, _>>()?;
    match (replications, &common[..]) {
        ([replication], [common]) => one(&mut text, scenario, replication, common),
        _ => together::draw(&mut text, scenario, replications, &common),
    }
    Ok(text)
}

/// What decides; nothing where runs cannot be compared, as a single policy.
fn answer(replications: &[ReplicationRuns]) -> String {
    let runs = replications.iter().flat_map(|one| &one.runs);
    let dirs: Vec<_> = runs.filter_map(|run| run.dir.clone()).collect();
    let options = compare::Options::default();
    compare::compare(&dirs, &options).map_or_else(|_| String::new(), |it| it.answer() + "\n")
}

/// Everything that can reverse a ranking stands above the table.
fn settings(text: &mut String, scenario: &Scenario) {
    let grid = &scenario.grid;
    let _ = writeln!(text, "scenario {}, seed {}", scenario.name, scenario.seed);
    for (index, domain) in grid.domains.iter().enumerate() {
        let broker = &domain.broker;
        if broker.external {
            let (name, clusters) = (&domain.name, clusters(grid, &domain.clusters));
            let _ = writeln!(text, "  domain {name}: {clusters}; an external broker");
            continue;
        }
        let is_debited = broker.own_dispatch == OwnDispatch::Debited;
        let own = if is_debited { "debited" } else { "ignored" };
        let is_fresh = broker.local_info == LocalInfo::Fresh;
        let info = if is_fresh { "fresh" } else { "exchange" };
        let mut unusual = String::new();
        if broker.ttl != broker.max_hops {
            let _ = write!(unusual, ", ttl {}", broker.ttl);
        }
        if broker.commit == Commit::Late {
            unusual.push_str(", commit late");
        }
        unusual.push_str(&matchmaking(broker));
        if broker.origin_promotion != Decimal::ONE {
            let _ = write!(unusual, ", origin_promotion {}", broker.origin_promotion);
        }
        let _ = writeln!(
            text,
            "  domain {}: {}; cycle {} from {}, exchange {}, tie {}, own_dispatch {own}, \
             local_info {info}, max_hops {}{unusual}, lrms_latency {}{}",
            domain.name,
            clusters(grid, &domain.clusters),
            broker.interval,
            broker.phase,
            broker.exchange,
            broker.tie.name(),
            broker.max_hops,
            broker.lrms_latency,
            peers(grid, index)
        );
    }
    if grid.domains.is_empty() {
        let all: Vec<_> = grid.clusters.iter().map(|c| c.config.id).collect();
        let _ = writeln!(text, "  no broker; {}", clusters(grid, &all));
    }
    for (cluster, written) in grid.clusters.iter().zip(scenario.clusters()) {
        if let Some(how) = how_nodes_fail(written) {
            let _ = writeln!(text, "  cluster {}: {how}", cluster.name);
        }
    }
    if let Some(faults) = FaultReport::of(scenario.fault_plan()) {
        let _ = writeln!(text, "  faults: {faults}");
    }
    let mut drawn: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for workload in &scenario.workloads {
        if let Some(draw) = &workload.draw {
            let trace = workload.trace.display().to_string();
            drawn.entry(list(draw.keys())).or_default().push(trace);
        }
    }
    for (keys, traces) in drawn {
        let of = match traces.as_slice() {
            [trace] => format!("workload {trace}"),
            more => format!("{} workloads", more.len()),
        };
        let _ = writeln!(text, "  {of}: drawn at random by draw: {keys}");
    }
}

fn clusters(grid: &Grid, ids: &[gridrig_core::ids::ClusterId]) -> String {
    let one = |id: &gridrig_core::ids::ClusterId| {
        let cluster = &grid.clusters[id.index()];
        let config = &cluster.config;
        let every = (!config.interval.is_zero()).then_some(config.interval);
        let pass = every.map_or(String::new(), |every| format!(" every {every}"));
        let processors = config.resources.processors();
        let (name, discipline) = (&cluster.name, config.discipline_name());
        let known = match config.run_times.0.len() {
            0 => String::new(),
            1 => ", run times of 1 program".to_owned(),
            programs => format!(", run times of {programs} programs"),
        };
        format!("{name} ({processors} processors, {discipline}{pass}{known})")
    };
    match ids.is_empty() {
        true => "no processors".to_owned(),
        false => list(ids.iter().map(one)),
    }
}

/// When a provider that is not always open takes jobs, as a share of the day.
fn hours(grid: &Grid, link: &gridrig_core::grid::Link) -> String {
    let Some(table) = grid.timetable(link.consumer, link.provider) else {
        return String::new();
    };
    let open = table.open().iter();
    let open = open.map(|hours| format!("{} to {}", hours.from, hours.until));
    let open = open.collect::<Vec<_>>().join(" and ");
    let (day, starts_at) = (table.day(), table.starts_at());
    format!(", open {open} of a day of {day}, begun at {starts_at}")
}

/// So many peers are listed by name where their links are alike.
const LISTED: usize = 6;

fn peers(grid: &Grid, domain: usize) -> String {
    let id = gridrig_core::ids::DomainId(domain as u16);
    let one = |link: &gridrig_core::grid::Link| {
        let name = grid.domains[link.provider.index()].name.clone();
        let bandwidth = link.bandwidth.map(|rate| format!(", {rate} MiB/s"));
        let bandwidth = bandwidth.unwrap_or_default();
        let hours = hours(grid, link);
        (name, format!("{}{bandwidth}{hours}", link.latency))
    };
    let peers: Vec<(String, String)> = grid.providers_of(id).map(one).collect();
    match peers.is_empty() {
        true => String::new(),
        false => format!(", forwards to {}", listed(&peers)),
    }
}

/// Peers with their links; many that are alike are counted.
fn listed(peers: &[(String, String)]) -> String {
    let alike = peers.windows(2).all(|pair| pair[0].1 == pair[1].1);
    match peers {
        [(first, link), .., (last, _)] if alike && peers.len() > LISTED => {
            format!("{} domains, {first} to {last} ({link} each)", peers.len())
        }
        _ => list(peers.iter().map(|(name, link)| format!("{name} ({link})"))),
    }
}

/// The policies of one replication.
fn one(
    text: &mut String,
    scenario: &Scenario,
    replication: &ReplicationRuns,
    common: &OnCommonJobs,
) {
    let Some(first) = replication.runs.first() else {
        return;
    };
    let _ = writeln!(text);
    let _ = write!(text, "{} jobs submitted", first.summary.jobs.submitted);
    let skipped = &first.summary.skipped;
    let lines: u64 = skipped.values().sum();
    if lines > 0 {
        let reasons = counts(skipped);
        let lines = many(lines, "line");
        let _ = write!(text, ", {lines} of the trace skipped ({reasons})");
    }
    let compression = scenario.compression().as_f64();
    let tau = scenario.measure.tau.as_secs_f64();
    let _ = writeln!(
        text,
        "\ncompared on the {} jobs that completed under every policy; {}\n\n{}bounded \
         slowdown with tau = {tau:.3} s of the run, {:.1} s of the trace; delay = end seen - submit \
         - run time",
        common.jobs,
        not_compared(common.left_out, common.never_completed),
        table(&replication.runs, &common.metrics),
        tau * compression
    );
    bounds(text, &replication.runs);
    for run in &replication.runs {
        remark(text, run.name(), &run.summary, &[&run.summary], compression);
    }
    let runs = replication.runs.iter();
    for warning in folded(runs.flat_map(|run| &run.summary.warnings)) {
        let _ = writeln!(text, "warning: {warning}");
    }
}

/// What became of jobs on which policies are not compared.
fn not_compared(left_out: u64, never_completed: u64) -> String {
    let never = match never_completed {
        0 => String::new(),
        jobs => format!("; {} completed under none", many(jobs, "job")),
    };
    format!("{left_out} left out{never}")
}

fn table(runs: &[PolicyRun], metrics: &[Metrics]) -> String {
    let mut lines = vec![
        "policy | delay sd p95 max unwaited | expansion bounded | waited util fwd | audit"
            .split(' ')
            .map(str::to_owned)
            .collect(),
        cells([
            "", "|", "mean s", "s", "s", "s", "mean s", "|", "mean", "slowdown", "|", "%", "%",
            "%", "|", "",
        ]),
    ];
    let bar = || "|".to_owned();
    lines.extend(runs.iter().zip(metrics).map(|(run, metrics)| {
        let (delay, summary) = (metrics.delay_s, &run.summary);
        vec![
            run.name().to_owned(),
            bar(),
            number(delay.mean),
            number(delay.sd),
            number(delay.p95),
            number(delay.max),
            number(summary.delay_s_unwaited_mean),
            bar(),
            number(metrics.expansion.mean),
            number(metrics.bounded_slowdown.mean),
            bar(),
            percent(summary.waited_share),
            percent(summary.utilization),
            percent(summary.forwarding_ratio),
            bar(),
            summary.audit.clone(),
        ]
    }));
    aligned(&lines, " ", &[0, 15])
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share))
}

/// Which of the rows are references, which do not compete.
fn bounds(text: &mut String, runs: &[PolicyRun]) {
    let bounds = runs.iter().filter(|run| run.is_bound());
    let names: Vec<&str> = bounds.map(PolicyRun::name).collect();
    if !names.is_empty() && runs.len() - names.len() > 1 {
        let _ = writeln!(
            text,
            "for reference only (the jobs compared need not have completed under them): {}",
            names.join(", ")
        );
    }
}

/// How jobs and processors come together, where that is not as it is by default.
fn matchmaking(broker: &BrokerSettings) -> String {
    let default = BrokerSettings::default();
    let mut text = String::new();
    if broker.matchmaking != MatchmakingKind::Route {
        let _ = write!(text, ", matchmaking {}", broker.matchmaking.name());
    }
    let mut tell = |key: &str, of: fn(&BrokerSettings) -> SimDuration| {
        let value = of(broker);
        if value != of(&default) {
            let _ = write!(text, ", {key} {value}");
        }
    };
    tell("matchmaking_interval", |it| it.matchmaking_interval);
    tell("delegation_interval", |it| it.delegation_interval);
    tell("delegation_memory", |it| it.delegation_memory);
    tell("usage_half_life", |it| it.usage_half_life);
    if let Some(timeout) = broker.lease_timeout {
        let _ = write!(text, ", lease_timeout {timeout}");
    }
    if broker.propagate_info {
        text.push_str(", propagate_info");
    }
    if broker.delegation_threshold != default.delegation_threshold {
        let threshold = broker.delegation_threshold;
        let _ = write!(text, ", delegation_threshold {threshold}");
    }
    if broker.blocking == Blocking::Skip {
        text.push_str(", blocking skip");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::listed;

    fn peers(links: &[&str]) -> String {
        let peers = links.iter().zip('a'..);
        let peers: Vec<(String, String)> = peers
            .map(|(link, name)| (name.to_string(), (*link).to_owned()))
            .collect();
        listed(&peers)
    }

    #[test]
    fn many_peers_that_are_alike_are_counted_and_others_named() {
        assert_eq!(peers(&["50ms", "50ms"]), "a (50ms), b (50ms)");
        assert_eq!(peers(&["50ms"; 7]), "7 domains, a to g (50ms each)");
        let mut links = ["50ms"; 7];
        links[6] = "10ms";
        let named = peers(&links);
        assert!(named.ends_with(", f (50ms), g (10ms)"), "{named}");
    }
}
