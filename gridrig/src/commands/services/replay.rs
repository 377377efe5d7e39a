//! `gridrig replay`

use super::{duration, named_url};
use crate::cli::ReplayArgs;
use crate::commands::run::{finish, say_where};
use crate::commands::{print, print_json};
use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::progress::Progress;
use crate::realtime::{SubmitterMetrics, remote};
use crate::runner::{Comparison, Executed, Load, PolicyRun, RunOptions, TIMER_TOLERANCE};
use crate::scenario::{Clock, Replication, Scenario};
use anyhow::anyhow;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::{Recorder, RunClock};
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::serve::Monitoring;
use gridrig_protocol::rest::serve::metrics::{Target, TargetsFile};
use gridrig_replayer::player::{self, Patience, PlayConfig, Played};
use gridrig_results::EventLog;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Wall time between the command and the workload's time 0, at the least.
const LEAD: Duration = Duration::from_millis(500);

/// Plays the workload of a scenario to running services.
pub(in crate::commands) fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    let patience = patience(args)?;
    let mut scenario = Scenario::load(&args.scenario, &args.set).map_err(Failure::input)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::run)?;
    let entries = entries(&scenario.grid, &args.to)?;
    let clock = runtime.block_on(service_clock(&entries))?;
    // Whatever clock the scenario names, this one is real.
    scenario.clock = Clock::Real {
        speed: clock.speed(),
    };
    let replication = scenario.replications().swap_remove(0);
    let mut load = Load::prepare(&replication)?;
    shift(&mut load.submissions, start(&scenario.grid, clock));
    let recorder = Recorder::default();
    let metrics = offer_metrics(args, &replication, load.submissions.len(), clock, &recorder)?;
    let watched = metrics.as_ref().map(|(metrics, _file)| metrics);
    let play = play(
        &scenario, &load, entries, clock, patience, &recorder, watched,
    );
    let played = runtime.block_on(play)?;
    drop(metrics);
    if args.collect.is_empty() {
        return without_log(args, &load, &played);
    }
    let client = Client::new(Duration::from_secs(10)).map_err(Failure::run)?;
    let urls: Vec<String> = args
        .collect
        .iter()
        .map(|url| url.trim_end_matches('/').to_owned())
        .collect();
    let collected = remote::collect(&client, recorder.take(), &urls);
    let (log, _withdrawn) = runtime.block_on(collected).map_err(Failure::run)?;
    with_log(args, &replication, &load, log, &played, clock)
}

/// How long services may stay away.
fn patience(args: &ReplayArgs) -> Result<Patience, Failure> {
    let comes_back = match &args.patience {
        Some(text) => duration("--patience", text)?,
        None => SimDuration::ZERO,
    };
    Ok(Patience {
        comes_back: Duration::from_nanos(comes_back.as_nanos()),
        ..Patience::default()
    })
}

/// The address of every domain or cluster that jobs are sent to.
fn entries(grid: &Grid, to: &[String]) -> Result<BTreeMap<Entry, String>, Failure> {
    let one = |text: &String| {
        let (name, url) = named_url("--to", text)?;
        let domain = grid.domains.iter().position(|domain| domain.name == name);
        let cluster = grid
            .clusters
            .iter()
            .position(|cluster| cluster.name == name);
        let entry = match (domain, cluster) {
            (Some(index), _) => Entry::Domain(DomainId(index as u16)),
            (None, Some(index)) => Entry::Cluster(ClusterId(index as u16)),
            (None, None) => {
                return Err(Failure::input(anyhow!(
                    "--to {text}: the scenario has no domain or cluster {name}"
                )));
            }
        };
        Ok((entry, url))
    };
    to.iter().map(one).collect()
}

/// The clock of the services, which have to agree on it.
async fn service_clock(entries: &BTreeMap<Entry, String>) -> Result<RunClock, Failure> {
    let client = Client::new(Duration::from_secs(5)).map_err(Failure::run)?;
    let mut found: Option<RunClock> = None;
    for url in entries.values() {
        let clock = remote::clock_of(&client, url)
            .await
            .map_err(Failure::input)?;
        let differs = |other: &RunClock| {
            (other.epoch_unix_ns(), other.speed()) != (clock.epoch_unix_ns(), clock.speed())
        };
        if found.as_ref().is_some_and(differs) {
            return Err(Failure::input(anyhow!(
                "--to {url}: its clock differs from the others' (expected services started with \
                 the same --epoch and --speed)"
            )));
        }
        found = Some(clock);
    }
    found.ok_or_else(|| Failure::input(anyhow!("--to: expected at least one")))
}

/// Time 0 of the workload on the services' clock: soon, and at an instant at
/// which all cycles and exchanges stand as they do at time 0 of a run.
fn start(grid: &Grid, clock: RunClock) -> SimDuration {
    let now = clock.now() + clock.run(LEAD);
    let periods = grid
        .domains
        .iter()
        .flat_map(|d| [d.broker.interval, d.broker.exchange]);
    let period = periods
        .map(SimDuration::as_nanos)
        .reduce(least_common_multiple);
    let period = SimDuration::from_nanos(period.unwrap_or(0));
    now.next_on_grid(SimDuration::ZERO, period)
        .since(SimTime::ZERO)
}

/// Saturates, as would a wait of 584 years.
fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a.checked_div(x).map_or(0, |share| share.saturating_mul(b))
}

fn shift(submissions: &mut [Submission], by: SimDuration) {
    for submission in submissions {
        submission.at += by;
    }
}

/// Serves the submitter's metrics if they are asked for, and says where.
fn offer_metrics(
    args: &ReplayArgs,
    replication: &Replication,
    jobs: usize,
    clock: RunClock,
    recorder: &Recorder,
) -> Result<Option<(SubmitterMetrics, Option<TargetsFile>)>, Failure> {
    let monitoring = monitor::monitoring(&args.monitoring)?;
    let bind = match (args.metrics, &monitoring.targets) {
        (Some(bind), _) => bind,
        (None, Some(_)) => (Ipv4Addr::LOCALHOST, 0).into(),
        (None, None) => return Ok(None),
    };
    let policy = replication.scenario.policies.first().copied().flatten();
    let monitoring = monitor::of_run(replication, policy, &monitoring);
    let served = SubmitterMetrics::serve(bind, &monitoring.labels, jobs, clock, recorder);
    let metrics = served.map_err(|error| {
        Failure::input(anyhow!(
            "--metrics {bind}: {error} (expected an address that is free, or port 0)"
        ))
    })?;
    let address = metrics.address();
    eprintln!("metrics: http://{address}/metrics");
    let file = monitoring.announce("replay", Target::new(address, metrics.labels()));
    Ok(Some((metrics, file.map_err(Failure::run)?)))
}

async fn play(
    scenario: &Scenario,
    load: &Load,
    entries: BTreeMap<Entry, String>,
    clock: RunClock,
    patience: Patience,
    recorder: &Recorder,
    watched: Option<&SubmitterMetrics>,
) -> Result<Played, Failure> {
    let config = PlayConfig {
        entries,
        clock,
        // Two replays of one scenario are two runs.
        run_id: format!(
            "{}-{}-{}",
            scenario.name,
            clock.now().as_nanos(),
            std::process::id()
        ),
        patience,
    };
    let progress = Progress::new("replay", load.submissions.len());
    let observe = |p: player::Progress| {
        if let Some(watched) = watched {
            watched.update(p);
        }
        progress.update(p.now, p.ended, Some(p.worst_lag));
    };
    let played = player::play(
        &config,
        &load.submissions,
        recorder,
        interrupt::wait(),
        observe,
    )
    .await
    .map_err(Failure::input)?;
    progress.finish(&format!(
        "{} of {} jobs ended",
        played.ends.len(),
        load.submissions.len()
    ));
    Ok(played)
}

fn with_log(
    args: &ReplayArgs,
    replication: &Replication,
    load: &Load,
    log: EventLog,
    played: &Played,
    clock: RunClock,
) -> Result<(), Failure> {
    let wall = TIMER_TOLERANCE.as_nanos() as f64 * clock.speed().as_f64();
    let executed = Executed {
        log,
        interrupted: played.interrupted,
        lost: !played.unfinished.is_empty(),
        timer_tolerance: SimDuration::from_nanos(wall as u64),
        faults: faults(played),
    };
    let options = RunOptions {
        out: args.out.clone(),
        force: args.force,
        csv: false,
        kill: Vec::new(),
        monitoring: Monitoring::default(),
        watch: None,
    };
    let policy = replication.scenario.policies.first().copied().flatten();
    let grid = replication.scenario.grid_for(policy);
    let run = PolicyRun::new(replication, policy, &grid, load, executed, &options)?;
    let comparisons = vec![Comparison::new(replication, vec![run])];
    if !args.json {
        say_where(&comparisons);
    }
    finish(&replication.scenario, &comparisons, args.json)
}

fn faults(played: &Played) -> Vec<String> {
    played
        .given_up
        .iter()
        .map(|(job, why)| format!("{job} was given up: {why}"))
        .collect()
}

/// What the submitter knows by itself.
fn without_log(args: &ReplayArgs, load: &Load, played: &Played) -> Result<(), Failure> {
    let mut states: BTreeMap<&str, u64> = BTreeMap::new();
    for end in played.ends.values() {
        *states.entry(end.state.name()).or_default() += 1;
    }
    let lag = played.handover.worst_lag.as_secs_f64();
    if args.json {
        print_json(&json!({
            "submitted": played.handover.submitted,
            "ends": states,
            "given_up": played.given_up.len(),
            "unfinished": played.unfinished.len(),
            "worst_lag_s": lag,
            "interrupted": played.interrupted,
        }))?;
    } else {
        let ends: Vec<String> = states
            .iter()
            .map(|(state, n)| format!("{n} {state}"))
            .collect();
        print(&format!(
            "{} of {} jobs submitted; {}; worst submission lag {lag:.3} s of run time\n",
            played.handover.submitted,
            load.submissions.len(),
            ends.join(", ")
        ))?;
    }
    if played.interrupted {
        return Err(Failure::Interrupted);
    }
    match faults(played).first() {
        Some(first) => Err(Failure::run(anyhow!("{first}"))),
        None => Ok(()),
    }
}
