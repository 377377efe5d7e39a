//! A run on the wall clock: real services, real sockets.

use super::running::{can_go_on, ends_here};
use super::suspended::Suspensions;
use super::{Executed, Gap, Observation, RunOptions, Running, Start, wait_for_stop};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::realtime::{
    Fault, FaultKind, Journals, Listener, RealOptions, RealOutcome, ServiceId, broken_off, recall,
    run_in_processes, run_real, slurm_setup, workdir,
};
use crate::scenario::{Clock, Scenario};
use anyhow::{Context as _, anyhow};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::faults::{FaultCounts, Faults};
use gridrig_emulator::lrms::slurm;
use gridrig_replayer::correlate::Correlation;
use gridrig_replayer::player::Unseen;
use std::collections::BTreeMap;
use std::io;

/// Who hands the jobs over, among the participants of a run.
const CLIENT: &str = "client";

/// A start this much later than the job was queued is a timer's lateness, not
/// a wait for processors: wall time, before it is multiplied by the speed.
const TIMER_TOLERANCE: SimDuration = SimDuration::from_millis(50);

pub(super) fn execute(
    start: &Start<'_>,
    options: &RunOptions,
    progress: &Progress,
    mut watching: Option<Box<dyn Observation + '_>>,
    mut running: Option<&mut Running>,
) -> Result<Executed, Failure> {
    let (scenario, grid) = (start.scenario, start.grid);
    let mut real = real_options(start, options, CLIENT)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::run)?;
    if let Some(watching) = &mut watching {
        real.listener = Listener::open();
        watching.listen(&real.listener);
    }
    if let Some(running) = &mut running {
        real.run_id = running.id().to_owned();
        real.journals = Some(running.begin(start.load, scenario)?);
    }
    let _scratch = note_plan(&mut real).map_err(Failure::run)?;
    let cut = cut(start, options, &real)?;
    let mut now = real.journals.as_ref().map_or(SimTime::ZERO, Journals::from);
    if let Some(watching) = &mut watching {
        // All of an earlier life, before the clock goes.
        watching.hear(now);
    }
    let dir = running.as_deref().filter(|_| options.processes);
    let dir = dir.map(|running| running.dir().to_owned());
    let (mut suspensions, mut suspended) = (Suspensions::watch(), Vec::new());
    let observe = |p: gridrig_replayer::player::Progress| {
        now = p.now;
        if let Some(gap) = suspensions.look(now) {
            suspended.push(gap);
            running.iter_mut().for_each(|it| it.note_suspension(gap));
        }
        progress.update(p.now, p.ended, Some(p.worst_lag));
        if let Some(watching) = &mut watching {
            watching.hear(p.now);
        }
    };
    let (jobs, stop) = (&start.load.submissions, wait_for_stop(options));
    let played = async {
        match (cut, &dir) {
            (Some(cut), _) => Ok(cut),
            (None, None) => run_real(grid, jobs, &real, stop, observe).await,
            (None, Some(dir)) => run_in_processes((grid, jobs), &real, dir, stop, observe).await,
        }
    };
    let outcome = runtime.block_on(played).map_err(Failure::Run)?;
    if let Some(watching) = watching {
        watching.end(None, now.max(outcome.log.end()));
    }
    let goes_on = can_go_on(scenario, options);
    if let (Some(running), true) = (&running, outcome.broke_off && goes_on) {
        // What follows from the first is not worth a word.
        let why = outcome.faults.first().map_or("", |why| why);
        let why = anyhow!("{why}\nto continue it: {}", running.command());
        return Err(Failure::Run(why));
    }
    let is_cut = !outcome.cut.is_empty();
    let mut gaps = running.map_or(suspended, |running| running.gaps(scenario.clock));
    // After the last time that it was broken off nobody went on with it.
    let broken = gaps.iter().rposition(|gap| !gap.suspended);
    broken.filter(|_| is_cut).map(|last| gaps.remove(last));
    let notes = notes(grid, &outcome, &gaps);
    warn_of_foreign(outcome.foreign);
    let why = outcome.faults.first().cloned();
    Ok(Executed {
        events: None,
        interrupted: outcome.interrupted || outcome.broke_off,
        is_cut,
        broke: why.filter(|_| outcome.broke_off),
        lost: !outcome.unfinished.is_empty(),
        faults: outcome.faults,
        fault_counts: fault_counts(&real).map_err(Failure::run)?,
        notes,
        gaps,
        said: outcome.said,
        log: outcome.log,
        timer_tolerance: tolerance(scenario.clock),
    })
}

/// What is known of a run that is not gone on with: nobody can, or a journal of it cannot be
/// read to its end.
fn cut(
    start: &Start<'_>,
    options: &RunOptions,
    real: &RealOptions,
) -> Result<Option<RealOutcome>, Failure> {
    let (grid, jobs) = (start.grid, &start.load.submissions);
    let cut = match ends_here(start.scenario, options) {
        Some(why) => broken_off(grid, jobs, real, &why).map(Some),
        None => recall(grid, jobs, real),
    };
    cut.map_err(Failure::Run)
}

/// What a reader has to know of how a run went.
fn notes(grid: &Grid, outcome: &RealOutcome, gaps: &[Gap]) -> Vec<String> {
    let external = outcome.external.iter();
    let mut notes: Vec<String> = external
        .flat_map(|(found, unseen)| notes_of(grid, found, unseen))
        .collect();
    notes.extend(gaps.iter().map(Gap::note));
    notes.extend(outcome.restarted.iter().chain(&outcome.cut).cloned());
    notes
}

fn warn_of_foreign(jobs: usize) {
    if jobs > 0 {
        tracing::warn!(
            jobs,
            "jobs of others took processors; no figure includes them"
        );
    }
}

/// Notes the planned faults beside the journals. Brokers that are restarted have journals
/// in any case: in a directory that lasts as long as the answer, where the run keeps none.
fn note_plan(real: &mut RealOptions) -> io::Result<Option<tempfile::TempDir>> {
    let scratch = real.planned.restarts() && real.journals.is_none();
    let scratch = scratch.then(workdir).transpose()?;
    if let Some(dir) = &scratch {
        real.journals = Some(Journals::of_run(dir.path(), &real.run_id));
    }
    if let Some(journals) = &real.journals {
        journals.note(&real.planned, CLIENT)?;
    }
    Ok(scratch)
}

/// How often planned faults have struck, in whichever process.
fn fault_counts(real: &RealOptions) -> io::Result<Option<FaultCounts>> {
    match (&real.journals, real.planned.counts()) {
        (Some(journals), Some(_)) => journals.fault_counts().map(Some),
        (_, counts) => Ok(counts),
    }
}

/// How the run is to be done.
pub(super) fn real_options(
    start: &Start<'_>,
    options: &RunOptions,
    participant: &str,
) -> Result<RealOptions, Failure> {
    let (scenario, grid) = (start.scenario, start.grid);
    let speed = match scenario.clock {
        Clock::Real { speed } => speed,
        Clock::Virtual => scenario.speed,
    };
    let run_id = format!("{}-{}-{}", scenario.name, scenario.seed, std::process::id());
    let mut real = RealOptions::new(speed, scenario.seed, &run_id);
    real.stop_at = start.stop_at();
    real.decisions = scenario.decisions;
    real.clusters = scenario.clusters().cloned().collect();
    real.protocols.clone_from(&scenario.protocols);
    let kills = options.kill.iter().map(|text| kill(grid, text));
    real.faults = kills.collect::<Result<_, _>>()?;
    // Of a run that is over nobody is asked any more.
    if ends_here(scenario, options).is_none() {
        for (id, cluster) in (0..).map(ClusterId).zip(scenario.clusters()) {
            if let Some(dir) = cluster.slurm_bin() {
                real.slurm.insert(id, slurm_setup(&dir)?);
            }
        }
        real.lrms = real_lrms(scenario, grid)?;
    }
    if let Some(plan) = scenario.fault_plan() {
        // Each process draws for itself.
        real.planned = Faults::new(plan, scenario.seed, &format!("faults.{participant}"));
    }
    real.monitoring = options.monitoring.clone();
    real.external = scenario.external.clone();
    Ok(real)
}

/// What the logs of the LRMSs say of jobs that somebody else's broker was to
/// bring there, and what they do not.
pub fn notes_of(grid: &Grid, found: &Correlation, unseen: &Unseen) -> Vec<String> {
    let mut notes = vec![format!(
        "external-broker: {} jobs were submitted, {} taken, {} found in the logs of LRMSs by \
         their tags; the broker itself is not seen, and delays do not include the way of the news \
         of an end from the LRMS back to the client",
        unseen.submitted,
        unseen.taken,
        found.found.len()
    )];
    let mut note = |count: usize, code: &str, what: &str| {
        if count > 0 {
            notes.push(format!("{code}: {count} {what}"));
        }
    };
    let first = unseen.refused.values().next().map_or("", |why| why);
    let refused = format!("submissions failed, the first: {first}");
    note(unseen.refused.len(), "submit-failed", &refused);
    let lost = "jobs were accepted by the broker and never reached an LRMS";
    note(unseen.not_placed.len(), "not-placed", lost);
    let again = "jobs were in LRMSs more than once; the attempt that got furthest is counted";
    note(found.repeated.len(), "repeated-jobs", again);
    let slots = "submissions had to wait for others to end (at_once)";
    note(unseen.waited, "submissions-waited", slots);
    for (cluster, count) in &found.foreign {
        let cluster = &grid.clusters[cluster.index()].name;
        let what = format!("jobs at {cluster} are jobs of others: no figure includes them");
        note(*count, "foreign-jobs", &what);
    }
    notes
}

/// The real LRMSs of a scenario, asked what they are made of.
fn real_lrms(scenario: &Scenario, grid: &Grid) -> anyhow::Result<BTreeMap<ClusterId, slurm::Site>> {
    let mut sites = BTreeMap::new();
    for (cluster, written) in grid.clusters.iter().zip(scenario.clusters()) {
        let Some(access) = written.real_lrms() else {
            continue;
        };
        let (name, wanted) = (&cluster.name, cluster.config.resources.processors());
        let site = slurm::Site::expect(&access, wanted);
        let site = site.with_context(|| format!("cluster {name}"))?;
        let version = site.version();
        tracing::info!(cluster = name, version, "a real Slurm runs the jobs");
        sites.insert(cluster.config.id, site);
    }
    Ok(sites)
}

/// How late a timer may be, in run time: not at all in virtual time.
pub fn tolerance(clock: Clock) -> SimDuration {
    match clock {
        Clock::Virtual => SimDuration::ZERO,
        Clock::Real { speed } => {
            let wall = TIMER_TOLERANCE.as_nanos() as f64 * speed.as_f64();
            SimDuration::from_nanos(wall as u64)
        }
    }
}

/// `--kill NAME@TIME`: that service is gone from then on.
pub(super) fn kill(grid: &Grid, text: &str) -> anyhow::Result<Fault> {
    let refuse = |why: String| {
        anyhow!(
            "--kill {text}: {why} (expected NAME@TIME with the name of a domain or cluster, as in \
             a1@30s)"
        )
    };
    let pair = text.split_once('@');
    let (name, time) = pair.ok_or_else(|| refuse("it has no @".to_owned()))?;
    let after = SimDuration::parse(time).map_err(|e| refuse(format!("the time: {e}")))?;
    let mut clusters = grid.clusters.iter();
    let cluster = clusters.position(|cluster| cluster.name == name);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::{Observer, PolicyRun, run};
    use crate::scenario::Replication;
    use gridrig_core::event::Event;
    use gridrig_core::time::Decimal;
    use gridrig_results::{EventLog, rundir};
    use std::sync::Arc;

    #[test]
    fn a_suspension_and_the_kill_after_it_are_gaps_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let gap = |at_s, stopped_unix_s, resumed_unix_s, suspended| Gap {
            at_s,
            stopped_unix_s,
            resumed_unix_s,
            suspended,
        };
        let mut gaps = vec![
            gap(30.0, 31, 10_000, false),
            gap(90.0, 10_060, 13_660, true),
            gap(150.0, 13_720, 13_780, false),
        ];
        // The first life is one in which no suspension was, the last begins a minute after a kill.
        let lives = serde_json::json!([
            {"began_unix_ms": 1_000, "at_ns": 0},
            {"began_unix_ms": 10_000_000, "at_ns": 30_000_000_000_u64, "suspended": [gaps[1]]},
            {"began_unix_ms": 13_780_000, "at_ns": 150_000_000_000_u64},
        ]);
        let doc = serde_json::json!({
            "format": 1, "program": env!("CARGO_PKG_VERSION"), "name": "s", "directory": "",
            "scenario": "", "cell": "1/1", "csv": false, "kill": [], "processes": false,
            "run": "s-1", "workload": null, "lives": lives,
        });
        let file = dir.path().join(rundir::names::RUNNING);
        std::fs::write(&file, doc.to_string()).unwrap();
        let mut running = Running::read(dir.path()).unwrap().unwrap();
        let speed = Decimal::from_whole(1);
        assert_eq!(running.gaps(Clock::Real { speed }), gaps);
        assert_eq!(
            gaps[1].note(),
            "suspended: the machine was suspended, or its clock was set forward (3600s at 90.0 s)"
        );
        assert_eq!(
            gaps[2].note(),
            "broken-off: the run was interrupted at 150.0 s and continued 60s later"
        );
        // The next one is in the file as soon as it is noticed.
        gaps.push(gap(170.0, 13_800, 13_900, true));
        running.note_suspension(gaps[3]);
        let running = Running::read(dir.path()).unwrap().unwrap();
        assert_eq!(running.gaps(Clock::Real { speed }), gaps);
    }

    /// Watches a run, and panics soon after its beginning.
    struct Panics;

    impl Observer for Panics {
        fn begin(&self, _: &Scenario, _: &[Replication]) {}

        fn start<'a>(&'a self, _: usize, _: &Start<'a>) -> Box<dyn Observation + 'a> {
            Box::new(Panics)
        }

        fn finish(&self, _: usize, _: &PolicyRun) {}

        fn stop_requested(&self) -> bool {
            false
        }
    }

    impl Observation for Panics {
        fn emit(&mut self, _: SimTime, _: Event<'_>) {}

        fn look(&mut self, _: &EventLog) {}

        fn listen(&mut self, _: &Listener) {}

        fn hear(&mut self, now: SimTime) {
            assert!(now < SimTime::from_secs(2), "a broken invariant");
        }

        fn end(self: Box<Self>, _: Option<&EventLog>, _: SimTime) {}
    }

    #[test]
    fn a_panic_of_who_hands_the_jobs_over_ends_the_run_and_is_named() {
        let dir = tempfile::tempdir().unwrap();
        // Nobody would wait for its end.
        let trace = "; Version: 2.2\n1 0 -1 90000 1 -1 -1 1 -1 -1 1 7 1 1 1 1 -1 -1\n";
        std::fs::write(dir.path().join("t.swf"), trace).unwrap();
        let file = dir.path().join("s.toml");
        let text = "[workload]\ntrace = \"t.swf\"\n[cluster]\nprocessors = 4\n\
                    [run]\nclock = \"real\"\nspeed = 20\n";
        std::fs::write(&file, text).unwrap();
        let scenario = Scenario::load(&file, &[]).unwrap();
        let options = |out: &str, no_journal| RunOptions {
            out: Some(dir.path().join(out)),
            no_journal,
            quiet: true,
            watch: Some(Arc::new(Panics)),
            ..RunOptions::default()
        };
        let named = "the client broke off: panic: a broken invariant";
        let why = run(&scenario, &options("kept", false)).err().unwrap().why();
        assert!(
            why.starts_with(named) && why.contains("gridrig run --resume"),
            "{why}"
        );
        let runs = run(&scenario, &options("not-kept", true)).unwrap();
        let ended = &runs[0].runs[0];
        assert_eq!(ended.broke.as_deref(), Some(named));
        let manifest = rundir::read_manifest(ended.dir.as_ref().unwrap()).unwrap();
        assert!(manifest.partial);
    }
}
