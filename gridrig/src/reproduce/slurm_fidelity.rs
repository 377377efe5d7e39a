//! How close the emulated disciplines come to a real Slurm.
//!
//! One generated workload is replayed on a Slurm that the study starts itself,
//! first with `sched/builtin`, then with `sched/backfill`. What Slurm really
//! did, arrivals and lengths, is then given to the model, and the two are held
//! against each other: job by job for the first, as distributions for the
//! second, where instants hang on when a plan happened to be made.

mod figures;
mod log;
mod report;
mod workload;

pub use figures::{Backfill, Builtin, Side, Study};
pub use report::{markdown, rows};

use super::private_slurm::{PrivateSlurm, Setup};
use crate::realtime::{RealOptions, run_real};
use anyhow::{Context as _, ensure};
use clap::{Args, value_parser};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::{DisciplineKind, SlurmBackfillSettings};
use gridrig_core::event::EventKind;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{JobSpec, Submission};
use gridrig_core::resource::Resources;
use gridrig_core::time::{Decimal, NANOS_PER_SEC, SimDuration, SimTime};
use gridrig_drivers::virtual_time;
use gridrig_emulator::lrms::slurm::{Settings, Site};
use gridrig_replayer::player::Progress;
use gridrig_results::EventLog;
use serde::Serialize;
use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

/// What is replayed.
#[derive(Clone, Copy, Debug, Args, Serialize)]
pub struct Plan {
    /// Jobs of the workload
    #[arg(long, default_value = "240", value_parser = value_parser!(u32).range(10..=5000))]
    pub jobs: u32,
    /// Processors of the cluster, each a node with a slurmd of its own
    #[arg(long, default_value = "32", value_parser = value_parser!(u32).range(2..=128))]
    pub processors: u32,
    /// Offered load: processor time of the jobs / that of the cluster, while jobs arrive
    #[arg(long, default_value = "0.7")]
    pub load: f64,
    /// Seed of the workload
    #[arg(long, default_value = "1")]
    pub seed: u64,
}

/// `bf_interval` on both sides.
pub const BF_INTERVAL: SimDuration = SimDuration::from_secs(5);

/// `bf_resolution` on both sides.
pub const BF_RESOLUTION: SimDuration = SimDuration::from_secs(1);

/// Time between two looks at Slurm's jobs.
const POLL: Duration = Duration::from_millis(200);

/// One job as Slurm ran it, in the time of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// What was asked for.
    pub spec: JobSpec,
    /// When it came.
    pub queued: SimTime,
    /// When it started.
    pub start: SimTime,
    /// When it ended.
    pub finish: SimTime,
}

/// What one scheduler of the real Slurm did.
#[derive(Clone, Debug)]
pub struct Real {
    /// Its version.
    pub version: String,
    /// The jobs that ran to their end, in the order in which they came.
    pub jobs: Vec<Ran>,
    /// Jobs that did not.
    pub others: usize,
    /// Whether it was broken off.
    pub interrupted: bool,
}

/// Starts a Slurm with this scheduler and replays the workload on it.
///
/// # Errors
/// When it cannot be started or the replay cannot be played.
pub fn replay(
    plan: &Plan,
    scheduler: &'static str,
    shutdown: impl Future<Output = ()>,
    progress: impl FnMut(Progress),
) -> anyhow::Result<Real> {
    let slurm = PrivateSlurm::start(&Setup {
        // Slurm plans node by node: with one processor each it plans by
        // processor, as the model does.
        nodes: plan.processors,
        cpus: 1,
        scheduler,
        parameters: format!(
            "bf_interval={},bf_resolution={}",
            BF_INTERVAL.as_nanos() / NANOS_PER_SEC,
            BF_RESOLUTION.as_nanos() / NANOS_PER_SEC
        ),
    })?;
    let settings = Settings {
        conf: Some(slurm.conf()),
        poll: POLL,
        ..Settings::default()
    };
    let site = Site::expect(&settings, plan.processors).context("the Slurm of the study")?;
    let version = site.version().to_owned();
    let resources = site.resources();
    let mut config = ClusterConfig::new(ClusterId(0), resources, DisciplineKind::Fcfs);
    config.is_real = true;
    let grid = Grid::single_cluster("slurm", config);
    let submissions = workload::submissions(plan);
    let run_id = format!("slurm-fidelity-{}-{}", plan.seed, std::process::id());
    let mut options = RealOptions::new(Decimal::ONE, plan.seed, &run_id);
    options.lrms.insert(ClusterId(0), site);
    let run = run_real(&grid, &submissions, &options, shutdown, progress);
    let outcome = tokio::runtime::Runtime::new()?.block_on(run)?;
    ensure!(!outcome.broke_off, "{}", outcome.faults.join("; "));
    let jobs = finished(&submissions, &outcome.log, &slurm.log())?;
    Ok(Real {
        version,
        others: submissions.len() - jobs.len(),
        jobs,
        interrupted: outcome.interrupted,
    })
}

/// The jobs that ran to their end, in the order in which they came, with the
/// instants that Slurm's controller has logged. Jobs were submitted one by one
/// in the order in which they were queued here, so the numbers that Slurm gave
/// them have that order.
fn finished(submissions: &[Submission], events: &EventLog, log: &str) -> anyhow::Result<Vec<Ran>> {
    let queued = events.records().map(|(_, event)| event);
    let queued = queued.filter(|event| event.kind == EventKind::Queued);
    let queued = queued.filter_map(|event| submissions.get(event.job?.index()));
    let queued: Vec<&Submission> = queued.collect();
    let logged = log::read(log);
    let (found, wanted) = (logged.len(), queued.len());
    ensure!(
        found == wanted,
        "slurmctld has logged {found} jobs, expected the {wanted} of the workload"
    );
    let first = logged.values().find_map(|job| job.submitted).unwrap_or(0);
    let at = |millis: Option<u64>| {
        let since = SimDuration::from_millis(millis?.saturating_sub(first));
        Some(SimTime::ZERO + since)
    };
    let ran = queued.into_iter().zip(logged.into_values());
    let ran = ran.filter_map(|(job, logged)| {
        Some(Ran {
            spec: job.spec.clone(),
            queued: at(logged.submitted)?,
            start: at(logged.allocated)?,
            finish: at(logged.completed)?,
        })
    });
    Ok(ran.collect())
}

/// How long a job ran in Slurm, all that it adds to a job among it.
fn measured(job: &Ran) -> SimDuration {
    job.finish.since(job.start)
}

/// Slurm's controller looks once a second whether a job has come or gone, and
/// schedules then.
pub const LOOK: SimDuration = SimDuration::from_secs(1);

/// When the model starts the same jobs, in their order, on so many processors:
/// with a pass at each `interval`, or after every change where that is zero. `length` is
/// how long it lets a job run.
fn model(
    jobs: &[Ran],
    (processors, discipline): (u32, DisciplineKind),
    interval: SimDuration,
    length: fn(&Ran) -> SimDuration,
) -> Vec<SimTime> {
    let resources = Resources::homogeneous(processors);
    let mut config = ClusterConfig::new(ClusterId(0), resources, discipline);
    config.interval = interval;
    config.slurm = SlurmBackfillSettings {
        bf_interval: BF_INTERVAL,
        bf_resolution: BF_RESOLUTION,
        ..SlurmBackfillSettings::default()
    };
    let grid = Grid::single_cluster("model", config);
    let submissions = jobs.iter().zip(0..).map(|(job, id)| {
        let mut spec = job.spec.clone();
        spec.id = JobId(id);
        spec.run_time = length(job);
        workload::submission(spec, job.queued)
    });
    let submissions: Vec<Submission> = submissions.collect();
    let mut log = EventLog::default();
    let options = virtual_time::Options::default();
    let go_on = |_, _| ControlFlow::Continue(());
    virtual_time::run(&grid, &submissions, &options, &mut log, go_on);
    let mut starts = vec![SimTime::ZERO; submissions.len()];
    for (at, event) in log.records() {
        if let (EventKind::Started, Some(job)) = (event.kind, event.job) {
            starts[job.index()] = at;
        }
    }
    starts
}
