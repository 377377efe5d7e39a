//! A finished run in virtual time, played again to see what it has not recorded.

use super::{Load, Start, execute};
use crate::exit::Failure;
use crate::own_policy;
use crate::scenario::{Clock, Scenario, ScenarioText};
use anyhow::{Context as _, anyhow};
use gridrig_core::decision::About;
use gridrig_core::ids::JobId;
use gridrig_drivers::virtual_time;
use gridrig_results::rundir::{self, DecisionDoc, Manifest};
use gridrig_results::{EventLog, JobTable};
use std::ops::ControlFlow;
use std::path::Path;

/// How brokers decided about a job of a finished run, and whether the run has recorded
/// that; one in virtual time that has not is played again.
///
/// # Errors
/// As [`decide_again`], and a table that cannot be read.
pub fn decisions(
    dir: &Path,
    manifest: &Manifest,
    job: JobId,
) -> Result<(Vec<DecisionDoc>, bool), Failure> {
    let recorded = rundir::read_decisions(dir, job).map_err(Failure::input)?;
    match recorded.is_empty() {
        false => Ok((recorded, true)),
        true => Ok((decide_again(dir, manifest, job)?, false)),
    }
}

/// How brokers decided about a job of a run: from its scenario and its own list of
/// jobs, the traces are not read. The answer is about that very run: all events are
/// compared.
///
/// # Errors
/// Of a run in real time, which cannot be played again; of one that comes out
/// differently, as by another version of gridrig; of a directory that cannot be read.
fn decide_again(dir: &Path, manifest: &Manifest, job: JobId) -> Result<Vec<DecisionDoc>, Failure> {
    let shown = dir.display();
    let run = rundir::read(dir).map_err(Failure::input)?;
    let file = dir.join(rundir::names::SCENARIO);
    let text = std::fs::read_to_string(&file);
    let text = text.map_err(|error| Failure::Input(anyhow!("{}: {error}", file.display())))?;
    let scenario = Scenario::parse(&ScenarioText {
        traces_may_be_missing: true,
        ..ScenarioText::new(&file, &text, &[])
    });
    let scenario = scenario.map_err(Failure::input)?;
    if scenario.clock != Clock::Virtual {
        let mut warnings = manifest.warnings.iter();
        if warnings.any(|warning| warning.starts_with("not-continued")) {
            let why = "the run was killed, and how its brokers had decided is not kept";
            return Err(Failure::Input(anyhow!("{shown}: job {}: {why}", job.0)));
        }
        let why = "the run was in real time and recorded no decision about this job (expected a \
                   run with run.decisions = 1, or a share that has this job)";
        return Err(Failure::Input(anyhow!("{shown}: job {}: {why}", job.0)));
    }
    let mut policies = scenario.policies.iter().flatten();
    let policy = policies.find(|it| manifest.policy.as_ref() == Some(&it.to_string()));
    own_policy::refuse(
        policy,
        Some(&scenario.grid),
        "a run that is simulated again for its decisions",
    )
    .context("expected a run with run.decisions = 1")?;
    let mut grid = scenario.grid_for(policy);
    scenario.fail_nodes(&mut grid, run.submissions.iter());
    let mut submissions = run.submissions;
    for job in &mut submissions {
        // What all jobs of a workload have is told by the scenario alone.
        let workload = scenario.workloads.get(usize::from(job.label.workload));
        job.spec.preferences = workload.and_then(|it| it.preferences.clone());
    }
    let load = Load {
        submissions,
        ..Load::default()
    };
    let start = Start {
        scenario: &scenario,
        grid: &grid,
        policy,
        load: &load,
    };
    let options = virtual_time::Options {
        seed: scenario.seed,
        stop_at: start.stop_at(),
        ..virtual_time::Options::default()
    };
    let mut log = EventLog::default();
    log.keep_decisions(About::Job(job));
    let observe = |_, _| ControlFlow::Continue(());
    execute::play(&start, &options, &mut log, observe)?;
    // One that was interrupted goes on.
    if !run.log.records().eq(log.records().take(run.log.len())) {
        let by = manifest.versions.get("gridrig").map_or("", |it| it);
        let own = env!("CARGO_PKG_VERSION");
        return Err(Failure::Input(anyhow!(
            "{shown}: simulated again, the run has other events: expected a run of this version of \
             gridrig ({own}; that one is of {by}), or one with run.decisions = 1"
        )));
    }
    let table = JobTable::build(&log, &load.submissions, &grid, &manifest.workloads);
    rundir::decisions_of(&log, &table).map_err(Failure::run)
}
