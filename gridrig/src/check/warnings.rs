//! What the results of a run will not be able to say (design 5, *Validity*).

use super::{CheckReport, Facts, human};
use crate::scenario::{Clock, Stop, Warning};
use gridrig_core::broker::{BrokerConfig, OwnDispatch};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, Link};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, MOST_COMPONENTS, Submission};
use gridrig_core::policy::{Placement, PolicySpec};
use gridrig_core::time::{Decimal, SimDuration, gcd};
use gridrig_tracelab::prepare::Prepared;
use gridrig_tracelab::spec::WorkloadSpec;
use std::collections::BTreeSet;
use std::ptr;

/// A median run should be this many broker intervals long.
const INTERVALS_PER_RUN: f64 = 10.0;
/// The share of runs that may be shorter than one broker interval.
const SHORT_RUNS: f64 = 0.05;
/// Two loads that differ by more are not comparable.
const LOAD_CHANGE: f64 = 0.1;
/// Of the time until the last job of all, how much a workload may lack in the end.
const ENDS_APART: f64 = 0.2;
/// Seconds that the longest log has then, at least: a day.
const LONG_LOG: f64 = 86_400.0;
/// Jobs between two exchanges that are a burst even where the mean is low.
const BURST: u64 = 5;
/// So many domains are named in a warning that holds for many.
const NAMED: usize = 3;
/// How late a timer of the real clock may be without anything being wrong.
const TIMER_LATENESS: SimDuration = SimDuration::from_millis(10);

/// Takes a warning: its code, and what it says.
type Add<'a> = &'a mut dyn FnMut(&'static str, String);

pub(super) fn warnings(facts: &Facts<'_>, report: &CheckReport) -> Vec<Warning> {
    let mut all = facts.scenario.warnings.clone();
    let mut add = |code, message: String| all.push(Warning { code, message });
    for prepared in facts.prepared {
        let messages = prepared.reduction.trace.warnings.iter();
        messages.for_each(|message| add("trace", message.clone()));
    }
    jobs(report, &mut add);
    components(facts, &mut add);
    compression(facts, report, &mut add);
    run_times(facts, &mut add);
    herding(facts, report, &mut add);
    reduction(report, &mut add);
    edges(facts, &mut add);
    real_time(facts, &mut add);
    super::faults::warn(facts, &mut add);
    all
}

fn jobs(report: &CheckReport, add: Add<'_>) {
    if report.jobs == 0 {
        add("no-jobs", "no job is left after reduction".to_owned());
    } else if report.impossible_jobs == report.jobs {
        add(
            "nothing-can-run",
            "no job fits any cluster in its reach: all will be rejected".to_owned(),
        );
    } else if report.impossible_jobs > 0 {
        let message = format!(
            "{} of {} jobs fit no cluster in their reach and will be rejected",
            report.impossible_jobs, report.jobs
        );
        add("impossible-jobs", message);
    }
    if let Some(load) = report.offered_load.filter(|load| *load > 1.0) {
        let message = format!(
            "the offered load is {load:.2}, more than the clusters can process: queues grow until \
             the last arrival, and every mean depends on the length of the run"
        );
        add("overload", message);
    }
}

/// Jobs of which a policy never has all components at once, however empty the clusters are.
fn components(facts: &Facts<'_>, add: Add<'_>) {
    for policy in facts.scenario.policies.iter().flatten() {
        if !policy.placement().is_some_and(Placement::is_together) {
            continue;
        }
        let grid = facts.scenario.grid_for(Some(policy));
        let ids = (0..grid.domains.len() as u16).map(DomainId);
        let brokers: Vec<BrokerConfig> = ids.map(|id| grid.broker_config(id)).collect();
        let processors = |id: ClusterId| grid.clusters[id.index()].config.resources.processors();
        let never = never_placed(facts, &brokers, &|id, _| processors(id));
        if policy.placement().is_some_and(Placement::reserves)
            && let Some(message) = unreserved(facts, policy, &grid, (&brokers, &never))
        {
            add("never-together", message);
        }
        let Some(first) = never.first() else {
            continue;
        };
        let any = BrokerSettings {
            policy: policy.clone(),
            ..BrokerSettings::default()
        };
        let beyond = |job: &&&Submission| !any.takes_components_of(&job.spec);
        let beyond = match never.iter().filter(beyond).count() {
            0 => String::new(),
            beyond => format!(
                "; {beyond} of them have more than {} components, the most there may be",
                MOST_COMPONENTS - 1
            ),
        };
        let message = format!(
            "under {policy} {} of {} jobs can never be placed, even while all clusters are empty, \
             and will be rejected (no-candidate); the first is {}{beyond}",
            never.len(),
            facts.jobs().count(),
            named(facts, first)
        );
        add("never-together", message);
    }
}

/// What is to be said of jobs that have room, but not for what clusters reserve.
fn unreserved(
    facts: &Facts<'_>,
    policy: &PolicySpec,
    grid: &Grid,
    (brokers, never): (&[BrokerConfig], &[&Submission]),
) -> Option<String> {
    let reservable = |id: ClusterId, length: SimDuration| {
        let config = &grid.clusters[id.index()].config;
        let reserving = config.reserving.as_ref();
        let reserving = reserving.filter(|it| it.longest.is_none_or(|longest| length <= longest));
        reserving.map_or(0, |it| it.share_of(config.resources.processors()))
    };
    // They have no numbers yet.
    let known: BTreeSet<_> = never.iter().map(|job| ptr::from_ref(*job)).collect();
    let mut unreserved = never_placed(facts, brokers, &reservable);
    unreserved.retain(|job| !known.contains(&ptr::from_ref(*job)));
    let first = unreserved.first()?;
    Some(format!(
        "under {policy} {} of {} jobs can never be reserved for, even while all clusters are \
         empty, and will be rejected (not-reserved): too few clusters reserve, or too few \
         processors at once (reservations.most_share), or not for as long as \
         they run or request and the policy's deviation more (reservations.longest); the first is {}",
        unreserved.len(),
        facts.jobs().count(),
        named(facts, first)
    ))
}

/// Jobs for which these brokers never have room, where clusters reserve so many processors.
fn never_placed<'a>(
    facts: &'a Facts<'_>,
    brokers: &[BrokerConfig],
    reservable: &dyn Fn(ClusterId, SimDuration) -> u32,
) -> Vec<&'a Submission> {
    let could = brokers.iter().map(|broker| {
        let clusters = &broker.clusters;
        broker.settings.could_place(clusters, reservable)
    });
    let could: Vec<_> = could.collect();
    let never = facts.jobs().filter(|job| match job.entry {
        Entry::Domain(id) => !could[id.index()](&job.spec),
        Entry::Cluster(_) => false,
    });
    // Of the others it is said anyway.
    let never = never.filter(|job| {
        let reach = facts.reach(job.entry);
        facts.scenario.could_run(&job.spec.components, &reach)
    });
    never.collect()
}

/// A job as its trace has it.
fn named(facts: &Facts<'_>, job: &Submission) -> String {
    let trace = &facts.scenario.workloads[usize::from(job.label.workload)].trace;
    format!("job {} of {}", job.label.trace_id, trace.display())
}

fn compression(facts: &Facts<'_>, report: &CheckReport, add: Add<'_>) {
    let factor = report.compression;
    if factor <= 1.0 {
        return;
    }
    let mut parts = Vec::new();
    let mut part = |what: &str, duration: SimDuration| {
        let seconds = duration.as_secs_f64();
        let text = format!("{what} {} is {}", human(seconds), human(seconds * factor));
        if !duration.is_zero() && !parts.contains(&text) {
            parts.push(text);
        }
    };
    for domain in ours(facts) {
        part("broker interval", domain.broker.interval);
        part("exchange", domain.broker.exchange);
        part("LRMS latency", domain.broker.lrms_latency);
    }
    for link in &facts.scenario.grid.links {
        part("link latency", link.latency);
    }
    for cluster in &facts.scenario.grid.clusters {
        part("scheduling pass", cluster.config.interval);
    }
    if ours(facts).next().is_some() {
        part("mean load over", SimDuration::from_secs(30));
        part("mean load over", SimDuration::from_secs(300));
    }
    if let Clock::Real { speed } = facts.scenario.clock {
        let lag = SimDuration::from_millis(1).as_secs_f64() * speed.as_f64() * factor;
        parts.push(format!("submission lag 1 ms is {}", human(lag)));
    }
    if parts.is_empty() {
        return;
    }
    let message = format!(
        "jobs arrive {factor} times as fast as in the trace, but intervals and latencies are not \
         shortened; in the time of the trace, {}",
        parts.join(", ")
    );
    add("compressed-intervals", message);
}

/// Domains with a broker of ours.
fn ours<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Domain> {
    let domains = facts.scenario.grid.domains.iter();
    domains.filter(|domain| !domain.broker.external)
}

fn run_times(facts: &Facts<'_>, add: Add<'_>) {
    let intervals = ours(facts).map(|domain| domain.broker.interval);
    let Some(interval) = intervals.max() else {
        return;
    };
    let mut runs: Vec<SimDuration> = facts.jobs().map(|job| job.spec.run_time).collect();
    if runs.is_empty() {
        return;
    }
    runs.sort_unstable();
    let (low, high) = (runs[(runs.len() - 1) / 2], runs[runs.len() / 2]);
    let median_s = f64::midpoint(low.as_secs_f64(), high.as_secs_f64());
    let wanted_s = interval.as_secs_f64() * INTERVALS_PER_RUN;
    if median_s < wanted_s {
        let message = format!(
            "the median run time is {}, less than {INTERVALS_PER_RUN} broker intervals ({}): delay \
             and expansion depend more on the broker interval than on the queues",
            human(median_s),
            human(wanted_s)
        );
        add("short-median-run", message);
    }
    let short = runs.partition_point(|run| *run < interval);
    let share = short as f64 / runs.len() as f64;
    if share > SHORT_RUNS {
        let message = format!(
            "{:.1} % of the jobs run for less than one broker interval ({}): they can start and \
             end between two cycles of the broker",
            share * 100.0,
            human(interval.as_secs_f64())
        );
        add("short-runs", message);
    }
}

fn herding(facts: &Facts<'_>, report: &CheckReport, add: Add<'_>) {
    let policies = facts.scenario.policies.iter().flatten();
    // Where jobs wait for room what was sent counts.
    let brokers = facts.scenario.grid.domains.iter().map(|it| &it.broker);
    let stale = policies.filter(|policy| {
        let counts = |it: &BrokerSettings| {
            let kind = it.matchmaking_under(policy);
            it.commits_late(policy) || kind.is_central() || kind.is_lending()
        };
        policy.entry().need.is_received() && !brokers.clone().all(counts)
    });
    let stale: Vec<String> = stale.map(|policy| policy.to_string()).collect();
    if stale.is_empty() {
        return;
    }
    let mut crowds = Vec::new();
    for (domain, seen) in facts.scenario.grid.domains.iter().zip(&report.domains) {
        let crowded = seen.jobs_per_cycle > 1.0
            || seen.jobs_per_exchange > 1.0
            || seen.busiest_exchange >= BURST;
        if domain.broker.own_dispatch == OwnDispatch::Ignored && crowded {
            crowds.push(format!(
                "{}: {:.2} jobs arrive per cycle and {:.2} per exchange, at most {}",
                domain.name, seen.jobs_per_cycle, seen.jobs_per_exchange, seen.busiest_exchange,
            ));
        }
    }
    let where_to = match crowds.len() {
        0 => return,
        1 => format!("domain {}", crowds[0]),
        all => {
            let more = match all.saturating_sub(NAMED) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            crowds.truncate(NAMED);
            format!("{all} domains, {}{more}", crowds.join("; "))
        }
    };
    let message = format!(
        "{where_to}. With own_dispatch = \"ignored\" a broker does not count the jobs that it has \
         sent since the last exchange, and can send all of them to the same place (under {})",
        stale.join(", ")
    );
    add("herding", message);
}

fn reduction(report: &CheckReport, add: Add<'_>) {
    for workload in &report.workloads {
        for step in &workload.steps {
            if step.name == "width-limit" && step.work_lost > 0.0 {
                let message = format!(
                    "{}: {} jobs ask for more than max_processors and are left out, which are \
                     {:.1} % of the processor-seconds",
                    workload.trace,
                    step.jobs_before - step.jobs_after,
                    step.work_lost * 100.0
                );
                add("wide-jobs-lost", message);
            }
            let (Some(before), Some(after)) = (step.load_before, step.load_after) else {
                continue;
            };
            if before > 0.0 && (after / before - 1.0).abs() > LOAD_CHANGE {
                let message = format!(
                    "{}: step {} changes the offered load from {before:.3} to {after:.3}: results \
                     with and without this step cannot be compared",
                    workload.trace, step.name
                );
                add("load-changed", message);
            }
        }
    }
}

fn edges(facts: &Facts<'_>, add: Add<'_>) {
    let cut = |one: &&Prepared| one.reduction.reduced.contains_key("outside-window");
    let count = facts.prepared.iter().filter(cut).count();
    if count > 0 {
        let message = format!(
            "{count} of {} workloads use only a window of their trace: the clusters are empty when \
             it begins, jobs submitted before it are missing, and no job arrives after it",
            facts.scenario.workloads.len()
        );
        add("cut-edges", message);
    }
    ends(facts, add);
    if facts.scenario.measure.stop == Stop::LastArrival {
        let message = "measure.stop = \"last-arrival\" leaves jobs unfinished: mean wait times and \
                       delays are too low";
        add("no-cool-down", message.to_owned());
    }
}

/// Logs of which one ends long before another; a model may be meant to.
fn ends(facts: &Facts<'_>, add: Add<'_>) {
    let workloads = facts.scenario.workloads.iter().zip(facts.prepared);
    let workloads = workloads.filter(|(spec, _)| !spec.is_model);
    let last = |prepared: &Prepared| prepared.jobs.last().map(|job| job.at.as_secs_f64());
    let ends = workloads.filter_map(|(spec, prepared)| Some((last(prepared)?, spec)));
    let ends: Vec<(f64, &WorkloadSpec)> = ends.collect();
    let first = ends.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let end = ends.iter().map(|(end, _)| *end).fold(0.0, f64::max);
    let first = first.filter(|it| end >= LONG_LOG && it.0 < (1.0 - ENDS_APART) * end);
    let Some((before, spec)) = first else {
        return;
    };
    let (before, end) = (human(*before), human(end));
    let message = format!(
        "the last job of {} is submitted after {before}, the last of all after {end}: from then on \
         its part of the load is missing, and loads and means are of all that time together \
         (workload.window cuts workloads to one length)",
        spec.trace.display()
    );
    add("unequal-lengths", message);
}

fn real_time(facts: &Facts<'_>, add: Add<'_>) {
    let Clock::Real { speed } = facts.scenario.clock else {
        return;
    };
    let lateness = TIMER_LATENESS.as_secs_f64() * speed.as_f64();
    for link in &facts.scenario.grid.links {
        let settings = |id: DomainId| &facts.scenario.grid.domains[id.index()];
        let (from, to) = (settings(link.consumer), settings(link.provider));
        let margin = margin(&from.broker, &to.broker, link).as_secs_f64();
        if margin < lateness {
            let message = format!(
                "jobs that {} forwards arrive at {} within {} of a cycle there, and timers may be \
                 late by {} (in time of the run): chance decides whether a job is in time for the \
                 cycle",
                from.name,
                to.name,
                human(margin),
                human(lateness)
            );
            add("phase-race", message);
        }
    }
    if !facts.scenario.external.brokers.is_empty() && speed != Decimal::ONE {
        let message = format!(
            "the run is {speed} times as fast as the wall clock and an external broker is not: \
             each second that it takes is {speed} s of the run"
        );
        add("external-speed", message);
    }
}

/// The least time between the arrival of a job that one broker forwards in
/// its cycle and a cycle of the other.
fn margin(from: &BrokerSettings, to: &BrokerSettings, link: &Link) -> SimDuration {
    // Both cycle on the grid of the greatest common divisor of their
    // intervals; the margin is the distance to its nearest point.
    let step = gcd(from.interval.as_nanos(), to.interval.as_nanos());
    if step == 0 {
        return SimDuration::ZERO;
    }
    let arrival = (from.phase + link.latency).as_nanos() % step;
    let cycle = to.phase.as_nanos() % step;
    let apart = arrival.abs_diff(cycle);
    SimDuration::from_nanos(apart.min(step - apart))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_is_the_distance_to_the_nearest_cycle() {
        let broker = |interval_ms, phase_ms| BrokerSettings {
            interval: SimDuration::from_millis(interval_ms),
            phase: SimDuration::from_millis(phase_ms),
            ..BrokerSettings::default()
        };
        let check = |from: BrokerSettings, to: BrokerSettings, latency_ms, expected_ms| {
            let link = Link {
                consumer: DomainId(0),
                provider: DomainId(1),
                latency: SimDuration::from_millis(latency_ms),
                bandwidth: None,
            };
            let expected = SimDuration::from_millis(expected_ms);
            assert_eq!(margin(&from, &to, &link), expected);
        };
        check(broker(5000, 0), broker(5000, 0), 50, 50);
        check(broker(5000, 0), broker(5000, 2500), 1, 2499);
        check(broker(5000, 0), broker(5000, 0), 4999, 1);
        check(broker(6000, 0), broker(4000, 0), 1990, 10);
    }
}
