//! `gridrig replay`

mod sessions;

use super::{duration, named_url};
use crate::cli::ReplayArgs;
use crate::commands::run::{finish, place, say_where};
use crate::commands::{print, print_json};
use crate::exit::Failure;
use crate::interrupt;
use crate::monitor;
use crate::progress::Progress;
use crate::realtime::{SubmitterMetrics, WorkDir, least_common_multiple, outlet, remote};
use crate::runner::{
    Cell, Executed, Load, ReplicationRuns, RunOptions, TIMER_TOLERANCE, conclude, notes_of,
};
use crate::scenario::external::Contender;
use crate::scenario::{Clock, Replication, Scenario};
use anyhow::anyhow;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_drivers::real_time::{Recorder, RunClock};
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
    let urls: Vec<String> = args
        .collect
        .iter()
        .map(|url| url.trim_end_matches('/').to_owned())
        .collect();
    let asked: Vec<String> = entries.values().chain(&urls).cloned().collect();
    let clock = runtime.block_on(service_clock(&asked, scenario.speed))?;
    let client = Client::new(Duration::from_secs(5)).map_err(Failure::run)?;
    runtime.block_on(sessions::open(&client, &asked, &scenario.grid));
    let workdir = WorkDir::make().map_err(Failure::run)?;
    let outlets = Wanted::read(args, &scenario.grid)?.outlets(args, workdir.path(), clock)?;
    let outlets = runtime.block_on(with_logs(outlets, &scenario.grid, &urls))?;
    for entry in outlets.ways.keys() {
        if let Entry::Domain(domain) = entry {
            // Whatever takes the jobs there is not the broker of the scenario.
            let broker = &mut scenario.grid.domains[domain.index()].broker;
            (broker.external, broker.max_hops) = (true, 0);
        }
    }
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
    let logs = outlets.logs.clone();
    let play = play(
        &scenario,
        &load,
        (entries, outlets),
        (clock, patience),
        &recorder,
        watched,
    );
    let played = runtime.block_on(play)?;
    drop(metrics);
    if args.collect.is_empty() {
        return without_log(args, &load, &played);
    }
    let client = Client::new(Duration::from_secs(10)).map_err(Failure::run)?;
    let own = recorder.take();
    let collected = remote::collect(&client, own, &urls, &logs, &played.names);
    let (log, found) = runtime.block_on(collected).map_err(Failure::run)?;
    let notes = match logs.is_empty() {
        true => Vec::new(),
        false => notes_of(&scenario.grid, &found, &played.unseen),
    };
    with_log(args, &replication, &load, (log, notes), &played, clock)
}

/// The outlets that are asked for.
struct Wanted(BTreeMap<Entry, OutletText>);

impl Wanted {
    fn read(args: &ReplayArgs, grid: &Grid) -> Result<Self, Failure> {
        let one = |text: &String| {
            let refuse = |why: String| Failure::input(anyhow!("--outlet {text}: expected {why}"));
            let (name, outlet) = text
                .split_once('=')
                .ok_or_else(|| refuse(format!("NAME={}", OutletText::EXPECTED)))?;
            let entry = entry_named(grid, name, &format!("--outlet {text}"))?;
            Ok((entry, OutletText::read(outlet).map_err(refuse)?))
        };
        args.outlet
            .iter()
            .map(one)
            .collect::<Result<_, _>>()
            .map(Wanted)
    }

    fn outlets(self, args: &ReplayArgs, dir: &Path, clock: RunClock) -> Result<Outlets, Failure> {
        let wall = |flag: &str, text: &str| {
            duration(flag, text).map(|length| Duration::from_nanos(length.as_nanos()))
        };
        let limits = Limits {
            timeout: wall("--outlet-timeout", &args.outlet_timeout)?,
            at_once: args.outlet_at_once,
        };
        let log = Arc::new(CommandLog::none(clock));
        let here = std::env::current_dir().map_err(Failure::run)?;
        let mut outlets = Outlets {
            lost_after: wall("--lost-after", &args.lost_after)?,
            ..Outlets::default()
        };
        for (entry, text) in self.0 {
            let outlet = outlet(&text, (dir, &here), limits, &log);
            let refuse = |why| Failure::input(anyhow!("--outlet: expected {why}"));
            outlets.ways.insert(entry, outlet.map_err(refuse)?);
        }
        Ok(outlets)
    }
}

/// With other outlets than ours, the LRMSs among these services are where
/// their jobs are looked for.
async fn with_logs(mut outlets: Outlets, grid: &Grid, urls: &[String]) -> Result<Outlets, Failure> {
    if outlets.ways.is_empty() {
        return Ok(outlets);
    }
    let client = Client::new(Duration::from_secs(5)).map_err(Failure::run)?;
    for url in urls {
        // A broker answers in another form.
        let Ok(info) = client.cluster(url).await else {
            continue;
        };
        let cluster = ClusterId(info.cluster);
        let known = grid.clusters.get(cluster.index());
        if known.is_none_or(|known| known.config.resources.processors() != info.processors) {
            return Err(Failure::input(anyhow!(
                "--collect {url}: cluster {} has {} processors and number {}: expected a cluster \
                 of the scenario (give the emulator --scenario and --name, or --index)",
                info.name,
                info.processors,
                info.cluster
            )));
        }
        outlets.logs.insert(cluster, url.clone());
    }
    Ok(outlets)
}

fn entry_named(grid: &Grid, name: &str, flag: &str) -> Result<Entry, Failure> {
    let domain = grid.domains.iter().position(|domain| domain.name == name);
    let cluster = grid
        .clusters
        .iter()
        .position(|cluster| cluster.name == name);
    match (domain, cluster) {
        (Some(index), _) => Ok(Entry::Domain(DomainId(index as u16))),
        (None, Some(index)) => Ok(Entry::Cluster(ClusterId(index as u16))),
        (None, None) => Err(Failure::input(anyhow!(
            "{flag}: the scenario has no domain or cluster {name}"
        ))),
    }
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
        Ok((entry_named(grid, name, &format!("--to {text}"))?, url))
    };
    to.iter().map(one).collect()
}

/// The clock of the services, which have to agree on it; one of its own where
/// there are none.
async fn service_clock(urls: &[String], speed: Decimal) -> Result<RunClock, Failure> {
    let client = Client::new(Duration::from_secs(5)).map_err(Failure::run)?;
    let mut found: Option<RunClock> = None;
    for url in urls {
        let clock = remote::clock_of(&client, url)
            .await
            .map_err(Failure::input)?;
        let differs = |other: &RunClock| {
            (other.epoch_unix_ns(), other.speed()) != (clock.epoch_unix_ns(), clock.speed())
        };
        if found.as_ref().is_some_and(differs) {
            return Err(Failure::input(anyhow!(
                "{url}: its clock differs from the others' (expected services started with \
                 the same --epoch, such as $(date +%s%N), and the same --speed)"
            )));
        }
        found = Some(clock);
    }
    Ok(found.unwrap_or_else(|| RunClock::starting_in(Duration::ZERO, speed)))
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
    let policy = replication
        .scenario
        .policies
        .first()
        .and_then(Option::as_ref);
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
    (entries, outlets): (BTreeMap<Entry, String>, Outlets),
    (clock, patience): (RunClock, Patience),
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
    (log, notes): (EventLog, Vec<String>),
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
        notes,
        said: None,
    };
    let (place, _scratch) = place(args.out.clone(), args.json)?;
    let options = RunOptions {
        force: args.force,
        ..place
    };
    let policy = replication
        .scenario
        .policies
        .first()
        .and_then(Option::as_ref);
    let grid = replication.scenario.grid_for(policy);
    let cell = Cell {
        contender: Contender {
            ours: policy.cloned(),
            name: replication.policy_name(policy),
        },
        replication: replication.clone(),
    };
    let run = conclude(&cell, &grid, load, &executed, &options)?;
    let replications = [ReplicationRuns::new(replication, vec![run])];
    if !args.json && args.out.is_some() {
        say_where(&replications);
    }
    finish(&replication.scenario, &replications, args.json)
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
    if args.json {
        print_json(&json!({
            "submitted": played.handover.submitted,
            "ends": states,
            "taken": played.unseen.taken,
            "given_up": played.given_up.len(),
            "unfinished": played.unfinished.len(),
            "worst_lag_s": lag,
            "interrupted": played.interrupted,
        }))?;
    } else {
        let taken = played.unseen.taken;
        let taken = (taken > 0).then(|| format!("{taken} taken by outlets"));
        let ends: Vec<String> = states
            .iter()
            .map(|(state, n)| format!("{n} {state}"))
            .chain(taken)
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
