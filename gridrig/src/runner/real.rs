//! A run on the wall clock: real services, real sockets.

use super::{Executed, Load, Observation, RunOptions, wait_for_stop};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::realtime::{Ears, Fault, FaultKind, RealOptions, ServiceId, run_real, slurm_setup};
use crate::scenario::{Clock, Scenario, Stop};
use anyhow::anyhow;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_emulator::lrms::slurm;
use gridrig_replayer::correlate::Correlation;
use gridrig_replayer::player::Unseen;
use std::collections::BTreeMap;

/// A start this much later than the job was queued is a timer's lateness, not
/// a wait for processors: wall time, before it is multiplied by the speed.
pub const TIMER_TOLERANCE: SimDuration = SimDuration::from_millis(50);

pub(super) fn execute(
    scenario: &Scenario,
    grid: &Grid,
    load: &Load,
    options: &RunOptions,
    progress: &Progress,
    mut watching: Option<Box<dyn Observation + '_>>,
) -> Result<Executed, Failure> {
    let speed = match scenario.clock {
        Clock::Real { speed } => speed,
        Clock::Virtual => scenario.speed,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::run)?;
    let run_id = format!("{}-{}-{}", scenario.name, scenario.seed, std::process::id());
    let mut real = RealOptions::new(speed, scenario.seed, &run_id);
    real.stop_at = match scenario.measure.stop {
        Stop::Drained => None,
        Stop::LastArrival => load.submissions.last().map(|last| last.at),
    };
    real.faces.clone_from(&scenario.faces);
    real.arc_steps.clone_from(&scenario.arc_steps);
    real.protocols.clone_from(&scenario.protocols);
    real.faults = kills(grid, &options.kill)?;
    for (id, dir) in &scenario.slurm_bins {
        let setup = slurm_setup(dir).map_err(Failure::input)?;
        real.slurm.insert(*id, setup);
    }
    real.lrms = real_lrms(scenario, grid)?;
    real.monitoring = options.monitoring.clone();
    real.external = scenario.external.clone();
    if let Some(watching) = &mut watching {
        real.ears = Ears::open();
        watching.listen(&real.ears);
    }
    let mut now = SimTime::ZERO;
    let observe = |p: gridrig_replayer::player::Progress| {
        now = p.now;
        progress.update(p.now, p.ended, Some(p.worst_lag));
        if let Some(watching) = &mut watching {
            watching.hear(p.now);
        }
    };
    let outcome = runtime
        .block_on(run_real(
            grid,
            &load.submissions,
            &real,
            wait_for_stop(options),
            observe,
        ))
        .map_err(Failure::run)?;
    if let Some(watching) = watching {
        watching.end(None, now.max(outcome.log.end()));
    }
    let notes = outcome.external.as_ref();
    let notes = notes.map_or_else(Vec::new, |(found, unseen)| notes_of(grid, found, unseen));
    if outcome.strangers > 0 {
        let jobs = outcome.strangers;
        tracing::warn!(
            jobs,
            "jobs that are not the workload's took processors; no figure has them"
        );
    }
    Ok(Executed {
        interrupted: outcome.interrupted,
        lost: !outcome.unfinished.is_empty(),
        faults: outcome.faults,
        notes,
        said: outcome.said,
        log: outcome.log,
        timer_tolerance: tolerance(scenario.clock),
    })
}

/// What the logs of the LRMSs say of jobs that somebody else's broker was to
/// bring there, and what they do not.
#[must_use]
pub fn notes_of(grid: &Grid, found: &Correlation, unseen: &Unseen) -> Vec<String> {
    let mut notes = vec![format!(
        "external-broker: {} jobs were submitted, {} taken, {} found in the logs of LRMSs by \
         their tags; the broker itself is not seen",
        unseen.submitted,
        unseen.taken,
        found.found.len()
    )];
    let mut note = |count: usize, code: &str, what: &str| {
        if count > 0 {
            notes.push(format!("{code}: {count} {what}"));
        }
    };
    let first = unseen.refused.values().next();
    let refused = format!(
        "submissions failed, the first: {}",
        first.map_or("", |why| why)
    );
    note(unseen.refused.len(), "submit-failed", &refused);
    let lost = "jobs were taken by the broker, and no LRMS ever had them";
    note(unseen.not_placed.len(), "not-placed", lost);
    let again = "jobs were in LRMSs more than once; the attempt that came furthest counts";
    note(found.repeated.len(), "repeated-jobs", again);
    let slots = "submissions had to wait for others to end (at_once)";
    note(unseen.waited, "submissions-waited", slots);
    for (cluster, count) in &found.foreign {
        let cluster = &grid.clusters[cluster.index()].name;
        let what = format!("jobs at {cluster} are not the workload's: they are in no figure");
        note(*count, "foreign-jobs", &what);
    }
    notes
}

/// The real LRMSs of a scenario, asked what they are made of.
fn real_lrms(
    scenario: &Scenario,
    grid: &Grid,
) -> Result<BTreeMap<ClusterId, slurm::Site>, Failure> {
    let mut sites = BTreeMap::new();
    for (id, lrms) in &scenario.lrms {
        let cluster = &grid.clusters[id.index()];
        let wanted = cluster.config.resources.processors();
        let site = slurm::Site::expect(&lrms.settings, wanted);
        let site =
            site.map_err(|why| Failure::input(anyhow!("cluster {}: {why}", cluster.name)))?;
        tracing::info!(
            cluster = cluster.name,
            version = site.version(),
            "a real Slurm runs the jobs"
        );
        sites.insert(*id, site);
    }
    Ok(sites)
}

/// How late a timer may be, in run time: not at all in virtual time.
pub(super) fn tolerance(clock: Clock) -> SimDuration {
    match clock {
        Clock::Virtual => SimDuration::ZERO,
        Clock::Real { speed } => {
            let wall = TIMER_TOLERANCE.as_nanos() as f64 * speed.as_f64();
            SimDuration::from_nanos(wall as u64)
        }
    }
}

/// `--kill NAME@TIME`: that service is gone from then on.
fn kills(grid: &Grid, wanted: &[String]) -> Result<Vec<Fault>, Failure> {
    wanted.iter().map(|text| kill(grid, text)).collect()
}

fn kill(grid: &Grid, text: &str) -> Result<Fault, Failure> {
    let refuse = |why: String| {
        Failure::input(anyhow!(
            "--kill {text}: {why} (expected NAME@TIME with the name of a domain or cluster, as in a1@30s)"
        ))
    };
    let (name, time) = text
        .split_once('@')
        .ok_or_else(|| refuse("it has no @".to_owned()))?;
    let after = SimDuration::parse(time).map_err(|e| refuse(format!("the time: {e}")))?;
    let cluster = grid
        .clusters
        .iter()
        .position(|cluster| cluster.name == name);
    let domain = grid.domains.iter().position(|domain| domain.name == name);
    let service = match (cluster, domain) {
        (Some(index), _) => ServiceId::Lrms(ClusterId(index as u16)),
        (None, Some(index)) => ServiceId::Broker(DomainId(index as u16)),
        (None, None) => return Err(refuse(format!("there is no {name}"))),
    };
    Ok(Fault {
        at: SimTime::ZERO + after,
        service,
        kind: FaultKind::Kill,
    })
}
