//! `gridrig replay`

mod needed;
mod sessions;

use crate::cli::ReplayArgs;
use crate::commands::run::{finish, place, say_where};
use crate::commands::{answer, may_listen};
use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::progress::Progress;
use crate::realtime::{SubmitterMetrics, in_step, outlet, remote, unless_it_breaks_off, workdir};
use crate::runner::{
    Cell, Executed, Load, ReplicationRuns, RunOptions, conclude, hold, notes_of, tolerance, vacant,
};
use crate::scenario::external::Contender;
use crate::scenario::{Clock, Replication, Scenario};
use crate::versioned::Versioned;
use crate::words::list;
use anyhow::{Context as _, Result, anyhow, bail};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::Entry;
use gridrig_core::policy::PolicySpec;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::{Recorder, RunClock, wall_length};
use gridrig_protocol::client::Client;
use gridrig_replayer::outlet::{CommandLog, Limits, OutletText};
use gridrig_replayer::player::{self, Outlets, Patience, PlayConfig, Played};
use gridrig_results::EventLog;
use gridrig_service::http::metrics::{Target, TargetsFile};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// How long a service may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Plays the workload of a scenario to running services.
pub(in crate::commands) fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    if let Some(listen) = args.metrics {
        may_listen("--metrics", listen, false, args.insecure)?;
    }
    let mut scenario = Scenario::load(&args.scenario, &args.set).map_err(Failure::input)?;
    let runtime = Runtime::new().map_err(Failure::run)?;
    let entries = entries(&scenario.grid, &args.to)?;
    let urls = &args.collect;
    let asked: Vec<String> = entries.values().chain(urls).cloned().collect();
    let client = Client::new(PATIENCE).map_err(Failure::run)?;
    let clock = runtime.block_on(service_clock(&client, &asked, scenario.speed))?;
    let workdir = workdir().map_err(Failure::run)?;
    let outlets = outlets(args, &scenario.grid, workdir.path(), clock)?;
    let outlets = runtime.block_on(with_logs(&client, outlets, &scenario.grid, urls))?;
    mark_external(&mut scenario.grid, &outlets);
    // Whatever clock the scenario names, this one is real.
    scenario.clock = Clock::Real {
        speed: clock.speed(),
    };
    let replication = scenario.replications().swap_remove(0);
    let (place, _scratch) = place(args.out.clone(), args.json)?;
    let options = RunOptions {
        force: args.force,
        ..place
    };
    let cell = cell(&replication);
    if !args.collect.is_empty() {
        vacant(&cell, &options)?;
    }
    let mut load = Load::prepare(&replication)?;
    let (jobs, grid) = (&load.submissions, grid_of(&replication));
    needed::refuse_unaddressed(args, &grid, jobs, |entry| {
        entries.contains_key(entry) || outlets.ways.contains_key(entry)
    })?;
    let left_out = runtime.block_on(needed::not_collected(&client, urls, &grid, jobs));
    left_out.iter().for_each(|why| eprintln!("{why}"));
    runtime.block_on(sessions::open(&client, &asked, &grid));
    // Time 0 of the workload on the services' clock: soon, and at an instant at which all
    // cycles and exchanges stand as they do at time 0 of a run.
    let domains = scenario.grid.domains.iter();
    let periods = domains.flat_map(|d| [d.broker.interval, d.broker.exchange]);
    let start = in_step(clock, periods);
    load.submissions.iter_mut().for_each(|job| job.at += start);
    let recorder = Recorder::default();
    let metrics = offer_metrics(args, &replication, load.submissions.len(), clock, &recorder)?;
    let watched = metrics.as_ref().map(|(metrics, _file)| metrics);
    let logs = outlets.logs.clone();
    let _held = hold(&cell, &options)?;
    let play = play(
        &scenario,
        &load,
        (entries, outlets),
        (clock, args.patience.unwrap_or_default()),
        &recorder,
        watched,
    );
    let played = runtime.block_on(play)?;
    drop(metrics);
    keep_templates(args, workdir);
    if args.collect.is_empty() {
        return without_log(args, &load, &played);
    }
    let own = recorder.take();
    let collected = remote::collect(&client, own, urls, &logs, &played.names);
    let (log, found, gaps) = runtime.block_on(collected).map_err(Failure::Run)?;
    let mut notes = Vec::from_iter(left_out);
    if !logs.is_empty() {
        notes.extend(notes_of(&grid, &found, &played.unseen));
    }
    with_log(args, (&cell, &options), &load, (log, notes, gaps), &played)
}

/// Whatever takes the jobs of a domain with an outlet is not the broker of the scenario.
fn mark_external(grid: &mut Grid, outlets: &Outlets) {
    for entry in outlets.ways.keys() {
        if let Entry::Domain(domain) = entry {
            let broker = &mut grid.domains[domain.index()].broker;
            (broker.external, broker.max_hops) = (true, 0);
        }
    }
}

/// To gwd the directory of a template is that of the jobs, where it puts what they have said,
/// and that may be after their end.
fn keep_templates(args: &ReplayArgs, workdir: TempDir) {
    let mut outlets = args.outlet.iter();
    if outlets.any(|outlet| outlet.contains("{template}")) {
        let dir = workdir.keep();
        eprintln!(
            "kept: {}, where gwd writes the output of jobs",
            dir.display()
        );
    }
}

/// The outlets that are asked for.
fn outlets(
    args: &ReplayArgs,
    grid: &Grid,
    dir: &Path,
    clock: RunClock,
) -> Result<Outlets, Failure> {
    let limits = Limits {
        timeout: args.outlet_timeout,
        at_once: args.outlet_at_once,
    };
    let log = Arc::new(CommandLog::none(clock));
    let here = std::env::current_dir().map_err(Failure::run)?;
    let mut outlets = Outlets {
        lost_after: args.lost_after,
        ..Outlets::default()
    };
    for text in &args.outlet {
        let refuse = |why: String| anyhow!("--outlet {text}: expected {why}");
        let pair = text.split_once('=');
        let (name, way) = pair.ok_or_else(|| refuse(format!("NAME={}", OutletText::EXPECTED)))?;
        let entry = entry_named(grid, name, || format!("--outlet {text}"))?;
        let read = OutletText::read(way).and_then(|way| outlet(&way, (dir, &here), limits, &log));
        outlets.ways.insert(entry, read.map_err(refuse)?);
    }
    Ok(outlets)
}

/// With other outlets than ours, the LRMSs among these services are where
/// their jobs are looked for.
async fn with_logs(
    client: &Client,
    mut outlets: Outlets,
    grid: &Grid,
    urls: &[String],
) -> Result<Outlets> {
    if outlets.ways.is_empty() {
        return Ok(outlets);
    }
    for url in urls {
        // A broker answers in another form.
        let Ok(info) = client.cluster(url).await else {
            continue;
        };
        let cluster = ClusterId(info.cluster);
        let known = grid.clusters.get(cluster.index());
        if known.is_none_or(|known| known.config.resources.processors() != info.processors) {
            let (name, processors, number) = (info.name, info.processors, info.cluster);
            bail!(
                "--collect {url}: cluster {name} has {processors} processors and number {number}: \
                 expected a cluster of the scenario (give the emulator --scenario and --name, or \
                 --index)"
            );
        }
        outlets.logs.insert(cluster, url.clone());
    }
    Ok(outlets)
}

fn entry_named(grid: &Grid, name: &str, flag: impl Fn() -> String) -> Result<Entry> {
    let domain = grid.domains.iter().position(|domain| domain.name == name);
    let mut clusters = grid.clusters.iter();
    match (domain, clusters.position(|cluster| cluster.name == name)) {
        (Some(index), _) => Ok(Entry::Domain(DomainId(index as u16))),
        (None, Some(index)) => Ok(Entry::Cluster(ClusterId(index as u16))),
        (None, None) => bail!("{}: the scenario has no domain or cluster {name}", flag()),
    }
}

/// The address of every domain or cluster that jobs are sent to.
fn entries(grid: &Grid, to: &[(String, String)]) -> Result<BTreeMap<Entry, String>> {
    let one = |(name, url): &(String, String)| {
        let entry = entry_named(grid, name, || format!("--to {name}={url}"))?;
        Ok((entry, url.clone()))
    };
    to.iter().map(one).collect()
}

/// The clock of the services, which have to agree on it; one of its own where
/// there are none.
async fn service_clock(client: &Client, urls: &[String], speed: Decimal) -> Result<RunClock> {
    let mut found: Option<RunClock> = None;
    for url in urls {
        let clock = remote::clock_of(client, url).await?;
        let differs = |other: &RunClock| {
            (other.epoch_unix_ns(), other.speed()) != (clock.epoch_unix_ns(), clock.speed())
        };
        if found.as_ref().is_some_and(differs) {
            bail!(
                "{url}: its clock differs from the others' (expected services started with the \
                 same --epoch, such as $(date +%s%N), and the same --speed)"
            );
        }
        found = Some(clock);
    }
    Ok(found.unwrap_or_else(|| RunClock::starting_in(Duration::ZERO, speed)))
}

/// Serves the submitter's metrics if they are asked for, and says where.
fn offer_metrics(
    args: &ReplayArgs,
    replication: &Replication,
    jobs: usize,
    clock: RunClock,
    recorder: &Recorder,
) -> Result<Option<(SubmitterMetrics, Option<TargetsFile>)>, Failure> {
    let monitoring = crate::commands::monitoring(&args.monitoring)?;
    let bind = match (args.metrics, &monitoring.targets) {
        (Some(bind), _) => bind,
        (None, Some(_)) => (Ipv4Addr::LOCALHOST, 0).into(),
        (None, None) => return Ok(None),
    };
    let monitoring = monitor::of_run(replication, policy(replication), &monitoring);
    let at = (bind, &args.allow_host[..]);
    let served = SubmitterMetrics::serve(at, &monitoring.labels, jobs, clock, recorder);
    let metrics = served.with_context(|| {
        format!("--metrics {bind} (expected an address that is free, or port 0)")
    })?;
    let address = metrics.address();
    eprintln!("metrics: http://{address}/metrics");
    let file = monitoring.announce("replay", Target::new(address, metrics.labels()));
    Ok(Some((metrics, file.map_err(Failure::run)?)))
}

async fn play(
    scenario: &Scenario,
    load: &Load,
    (entries, outlets): (BTreeMap<Entry, String>, Outlets),
    (clock, comes_back): (RunClock, Duration),
    recorder: &Recorder,
    watched: Option<&SubmitterMetrics>,
) -> Result<Played, Failure> {
    let config = PlayConfig {
        entries,
        outlets,
        clock,
        // Two replays of one scenario are two runs.
        run_id: format!(
            "{}-{}-{}",
            scenario.name,
            clock.now().as_nanos(),
            std::process::id()
        ),
        faults: Default::default(),
        patience: Patience {
            comes_back: wall_length(comes_back),
            ..Patience::default()
        },
    };
    let progress = Progress::new("replay", load.submissions.len(), true);
    let observe = |p: player::Progress| {
        if let Some(watched) = watched {
            watched.update(p);
        }
        progress.update(p.now, p.ended, Some(p.worst_lag));
    };
    let jobs = &load.submissions;
    let played = player::play(&config, jobs, recorder, interrupt::wait(), observe);
    let played = unless_it_breaks_off(played).await.map_err(Failure::run)?;
    let played = played.map_err(Failure::input)?;
    progress.finish(&format!(
        "{} of {} jobs ended",
        played.ends.len(),
        jobs.len()
    ));
    Ok(played)
}

fn with_log(
    args: &ReplayArgs,
    (cell, options): (&Cell, &RunOptions),
    load: &Load,
    (log, mut notes, gaps): (EventLog, Vec<String>, Vec<String>),
    played: &Played,
) -> Result<(), Failure> {
    notes.extend(gaps.iter().map(|gap| format!("log-gap: {gap}")));
    let broke = played.broke.as_ref().or(gaps.first()).cloned();
    let replication = &cell.replication;
    let mut executed = Executed {
        log,
        interrupted: played.interrupted || broke.is_some(),
        broke,
        lost: !played.unfinished.is_empty(),
        timer_tolerance: tolerance(replication.scenario.clock),
        faults: faults(played),
        notes,
        ..Executed::default()
    };
    let grid = grid_of(replication);
    let run = conclude(cell, &grid, load, &mut executed, options)?;
    let replications = [ReplicationRuns::new(replication, vec![run])];
    if !args.json && args.out.is_some() {
        say_where(&replications);
    }
    finish(&replication.scenario, &replications, args.json)
}

/// The one run that a replay is.
fn cell(replication: &Replication) -> Cell {
    let policy = policy(replication);
    Cell {
        contender: Contender {
            ours: policy.cloned(),
            name: replication.policy_name(policy),
        },
        replication: replication.clone(),
    }
}

/// The grid with the policy of its brokers.
fn grid_of(replication: &Replication) -> Grid {
    replication.scenario.grid_for(policy(replication))
}

/// The policy of the brokers, if they are ours.
fn policy(replication: &Replication) -> Option<&PolicySpec> {
    replication.scenario.policies.first()?.as_ref()
}

fn faults(played: &Played) -> Vec<String> {
    let unseen = &played.unseen;
    // What somebody else's broker does to jobs is what the run is to show.
    let theirs = |job| unseen.refused.contains_key(job) || unseen.not_placed.contains(job);
    let given_up = played.given_up.iter().filter(|(job, _)| !theirs(job));
    let given_up = given_up.map(|(job, why)| format!("{job} was given up: {why}"));
    unseen.none_worked().into_iter().chain(given_up).collect()
}

/// What the submitter knows by itself.
fn without_log(args: &ReplayArgs, load: &Load, played: &Played) -> Result<(), Failure> {
    let mut states: BTreeMap<&str, u64> = BTreeMap::new();
    for end in played.ends.values() {
        *states.entry(end.state.name()).or_default() += 1;
    }
    let lag = played.handover.worst_lag.as_secs_f64();
    let document = json!({
        "submitted": played.handover.submitted,
        "ends": states,
        "taken": played.unseen.taken,
        "given_up": played.given_up.len(),
        "unfinished": played.unfinished.len(),
        "worst_lag_s": lag,
        "interrupted": played.interrupted,
    });
    let document = Versioned::of("gridrig.replay.1", document);
    answer(args.json, &document, |_| {
        let taken = played.unseen.taken;
        let taken = (taken > 0).then(|| format!("{taken} taken by outlets"));
        let ends = states.iter().map(|(state, n)| format!("{n} {state}"));
        format!(
            "{} of {} jobs submitted; {}; worst submission lag {lag:.3} s of run time\n",
            played.handover.submitted,
            load.submissions.len(),
            list(ends.chain(taken))
        )
    })?;
    if played.interrupted {
        return Err(Failure::Interrupted);
    }
    match faults(played).first() {
        Some(first) => Err(Failure::run(anyhow!("{first}"))),
        None => Ok(()),
    }
}
