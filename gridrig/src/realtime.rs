//! A whole grid in real time, within one process: every LRMS and every broker
//! is a service of its own on loopback, in a thread of its own, and every
//! message crosses a socket between two listeners.

mod configs;
mod external;
mod grid;
mod guard;
mod journals;
mod listener;
mod outcome;
mod processes;
mod recalled;
pub mod remote;
#[cfg(test)]
mod tests;
mod watched;
mod workdir;

pub use configs::Configs;
use configs::Urls;
pub use external::{outlet, sbatch, slurm_setup};
pub use grid::Services;
pub use guard::guard;
pub use journals::Journals;
pub use listener::Listener;
pub use outcome::{Exchanged, RealOutcome};
pub use processes::{Order, run_in_processes};
pub use recalled::{broken_off, recall, told};
pub use watched::SubmitterMetrics;
pub use workdir::{BrokerLogs, workdir};

use crate::scenario::external::External;
use crate::words::panicked;
use anyhow::{Context as _, ensure};
use external::Supervisor;
use futures_util::FutureExt as _;
use gridrig_core::agent::ClientAgent;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::decision::About;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::time::{Decimal, SimDuration, SimTime, gcd};
use gridrig_drivers::faults::Faults;
use gridrig_drivers::real_time::{Recorder, RunClock, wall_length};
use gridrig_metabroker_stub::lagrid::LinkProtocol;
use gridrig_replayer::player::{self, Outlets, Patience, PlayConfig, PlayError, Played, Progress};
use gridrig_scenario::document::Cluster;
use gridrig_service::http::{AnswerFault, Monitoring};
use gridrig_service::{Begun, JournalSetup};
use listener::Elsewhere;
use recalled::Recalled;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Events that a participant keeps for whoever asks it, where all are on the disk.
const KEPT_EVENTS: usize = 20_000;

/// The same for an LRMS whose log the client reads over HTTP, as with brokers that are not ours:
/// what is forgotten before it is read ends the run, and a busy machine may be late.
const KEPT_EVENTS_TO_READ: usize = 10 * KEPT_EVENTS;

/// How a grid is run in real time.
#[derive(Clone, Debug, Default)]
pub struct RealOptions {
    /// Seconds of the run per second on the wall.
    pub speed: Decimal,
    /// Seed of every broker's random stream.
    pub seed: u64,
    /// Name of the run, part of every submission's key.
    pub run_id: String,
    /// The run is stopped at this instant; `None` waits for the last job.
    pub stop_at: Option<SimTime>,
    /// The jobs about which it is kept how brokers decide.
    pub decisions: About,
    /// What goes wrong on the way.
    pub faults: Vec<Fault>,
    /// What is planned to go wrong with messages.
    pub planned: Faults,
    /// The commands of Slurm that clusters answer.
    pub slurm: BTreeMap<ClusterId, gridrig_emulator::faces::slurm::Setup>,
    /// Real ones in the place of emulated LRMSs, found and asked already.
    pub lrms: BTreeMap<ClusterId, gridrig_emulator::lrms::slurm::Site>,
    /// When a service counts as lost.
    pub liveness: gridrig_metabroker_stub::Liveness,
    /// What the scenario says of each cluster, by position in the grid; of
    /// those beyond its end nothing.
    pub clusters: Vec<Cluster>,
    /// How brokers talk, by the two domains of a link, the lower first; links
    /// that are not here talk natively.
    pub protocols: BTreeMap<(DomainId, DomainId), LinkProtocol>,
    /// How the services are monitored. Only with a folder for targets does the
    /// submitter serve its metrics too.
    pub monitoring: Monitoring,
    /// Who listens while it goes.
    pub listener: Listener,
    /// Brokers that are not ours.
    pub external: External,
    /// The journals, from which the run goes on if they have something.
    pub journals: Option<Journals>,
}

impl RealOptions {
    /// A run at this speed in which nothing goes wrong.
    pub fn new(speed: Decimal, seed: u64, run_id: &str) -> Self {
        RealOptions {
            speed,
            seed,
            run_id: run_id.to_owned(),
            ..RealOptions::default()
        }
    }

    /// The journal of a service with this name.
    fn journal(&self, name: &str) -> Option<JournalSetup> {
        self.journals.as_ref().map(|all| all.of(name))
    }

    /// Whether what has happened is read from the disk in the end, so that nobody has to
    /// keep it in memory until then. Inputs do not tell what programs of others did.
    fn is_on_disk(&self) -> bool {
        let all_are_ours = self.lrms.is_empty() && self.external.brokers.is_empty();
        let journals = self.journals.as_ref();
        journals.is_some_and(|all| all.only_events() || all_are_ours)
    }

    /// Events that a participant keeps in memory.
    fn keep_events(&self) -> usize {
        match self.is_on_disk() {
            true => KEPT_EVENTS,
            false => usize::MAX,
        }
    }

    /// Events that an LRMS keeps in memory.
    fn keep_events_of_lrms(&self) -> usize {
        let kept = self.keep_events();
        match self.external.brokers.is_empty() {
            true => kept,
            false => kept.max(KEPT_EVENTS_TO_READ),
        }
    }

    fn known(&self, jobs: usize, is_external: bool, shift: SimDuration) -> outcome::Known {
        outcome::Known {
            jobs,
            // Messages that an earlier life has received are counted nowhere.
            has_faults: !self.faults.is_empty() || self.from() > SimTime::ZERO,
            is_planned: self.planned.counts().is_some(),
            is_external,
            decisions: self.decisions,
            shift,
        }
    }

    /// The instant of the run at which it goes on, or begins.
    fn from(&self) -> SimTime {
        self.journals.as_ref().map_or(SimTime::ZERO, Journals::from)
    }
}

/// Something that goes wrong at an instant of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When, in the time of the run.
    pub at: SimTime,
    /// With which service.
    pub service: ServiceId,
    /// What.
    pub kind: FaultKind,
}

/// A service of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServiceId {
    /// A cluster's LRMS.
    Lrms(ClusterId),
    /// A domain's broker.
    Broker(DomainId),
}

/// What goes wrong with a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It is gone at once and for good.
    Kill,
    /// It answers slowly, or not at all, or well again.
    Answers(AnswerFault),
}

/// Runs the grid on these submissions in real time, until every job has ended,
/// the run's `stop_at` has come or `shutdown` ends; what has happened by then
/// is a valid run, marked as interrupted in the latter case.
///
/// `submissions` are sorted by time with rising job ids. `progress` is called
/// a few times a second.
///
/// # Errors
/// When it cannot begin: nothing has been submitted then. Whatever goes wrong
/// later is part of the outcome.
pub async fn run_real(
    grid: &Grid,
    submissions: &[Submission],
    options: &RealOptions,
    shutdown: impl Future<Output = ()>,
    progress: impl FnMut(Progress),
) -> anyhow::Result<RealOutcome> {
    let started = Started::of(grid, options).await?;
    conduct(started, grid, submissions, shutdown, progress).await
}

/// The services of a run, ready for its jobs.
struct Started {
    services: Arc<Services>,
    options: RealOptions,
    clock: RunClock,
    workdir: Option<Arc<TempDir>>,
}

impl Started {
    async fn of(grid: &Grid, options: &RealOptions) -> anyhow::Result<Self> {
        let speed = options.speed;
        ensure!(
            !speed.is_zero(),
            "field speed = \"0\": expected a number above 0"
        );
        let mut options = options.clone();
        let workdir = external::prepare(grid, &mut options)?;
        let clock = RunClock::waiting_at(options.from(), speed);
        let services = Arc::new(Services::start(grid, &options, clock).await?);
        services.sessions_open().await;
        Ok(Started {
            services,
            options,
            clock,
            workdir,
        })
    }
}

/// Plays the jobs on the services, and ends these.
async fn conduct(
    started: Started,
    grid: &Grid,
    submissions: &[Submission],
    shutdown: impl Future<Output = ()>,
    mut progress: impl FnMut(Progress),
) -> anyhow::Result<RealOutcome> {
    let Started {
        services,
        options,
        clock,
        workdir,
    } = started;
    let options = &options;
    clock.begin_in(LEAD);
    let mut external = match &workdir {
        None => None,
        Some(dir) => Some(Supervisor::open(dir, grid, options, &services, clock).await?),
    };
    let begin = Begin::of(grid, submissions, external.is_some(), clock);
    let submissions = &*begin.submissions;
    let outlets = external.as_ref().map(|own| own.outlets(grid, &services));
    let outlets = outlets.transpose()?;
    let elsewhere = Elsewhere::of(outlets.as_ref(), begin.shift);
    let entries = services.entries(submissions);
    let config = play_config(entries, outlets, clock, options);
    let begun = begun(&config, submissions, options)?;
    let (recorder, client) = (begun.recorder, (begun.agent, begun.journal));
    let watched = watched::watch(&services, options, submissions.len(), clock, &recorder)
        .context("the metrics cannot be offered")?;
    let listener = &options.listener;
    listener.listen(&services, grid, clock, &recorder, elsewhere);
    let (mut stopped, mut broke_off, mut faults) = (false, false, Vec::new());
    let stop_at = options.stop_at.map_or(SimTime::MAX, |at| at + begin.shift);
    let close = || options.journals.iter().for_each(Journals::close);
    let stop = async {
        tokio::select! {
            () = shutdown => stopped = true,
            () = clock.sleep_until(stop_at) => {}
            () = services.failed() => broke_off = true,
            why = external::failed(external.as_mut()) => (broke_off, faults) = (true, vec![why]),
            // In no task of its own: nobody would hear of a panic there.
            () = inject(&services, &options.faults, begin.shift, clock) => {}
        }
        // That the run is broken off is nothing that it is to remember.
        close();
    };
    let observe = |mut now: Progress| {
        now.now = SimTime::ZERO + now.now.since(SimTime::ZERO + begin.shift);
        if let Some(watched) = &watched {
            watched.submitter.update(now);
        }
        progress(now);
    };
    let played = player::go_on(&config, submissions, client, &recorder, stop, observe);
    let played = unless_it_breaks_off(played).await;
    if let Some(external) = &mut external {
        faults.extend(external.close().await);
    }
    services.wind_up().await;
    close();
    faults.extend(services.stop().await);
    let played = done(played, stopped, &mut faults)?;
    broke_off |= played.broke.is_some();
    let known = options.known(submissions.len(), external.is_some(), begin.shift);
    listener.take_in();
    let kept = services.logs();
    let (logs, recorder) = match options.is_on_disk() {
        false => (kept, recorder),
        true => Recalled::of(grid, submissions, options)?.or_faults(kept, &mut faults),
    };
    let logs = (logs, Some(&*services));
    let mut outcome = outcome::collect(logs, &recorder, played, faults, &known);
    let logs = external.map(|external| external.logs()).zip(workdir);
    outcome.said = logs.map(|(logs, dir)| BrokerLogs { dir, logs });
    outcome.broke_off = broke_off;
    Ok(outcome)
}

/// What a future answers, or the error for which an agent or a sender in it cannot go on,
/// or the panic in it.
pub(crate) async fn unless_it_breaks_off<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let done = AssertUnwindSafe(future).catch_unwind().await;
    done.map_err(|panic| match panic.downcast::<io::Error>() {
        Ok(error) => *error,
        Err(panic) => io::Error::other(panicked(&*panic)),
    })
}

/// What was played; a fault if the client could not go on.
fn done(
    played: io::Result<Result<Played, PlayError>>,
    interrupted: bool,
    faults: &mut Vec<String>,
) -> anyhow::Result<Played> {
    let played = played.unwrap_or_else(|error| {
        Ok(Played {
            broke: Some(error.to_string()),
            ..Played::default()
        })
    });
    let played = played.context("the workload cannot be played")?;
    let broke = played.broke.iter();
    faults.extend(broke.map(|why| format!("the client broke off: {why}")));
    Ok(Played {
        interrupted,
        ..played
    })
}

/// The client, as it begins or as its journal says.
fn begun(
    config: &PlayConfig,
    submissions: &[Submission],
    options: &RealOptions,
) -> io::Result<Begun<ClientAgent>> {
    let (clock, recorder) = (config.clock, Recorder::keeping(options.keep_events()));
    let machine = |_, _| config.client(submissions);
    match &options.journals {
        None => Ok(Begun::anew(recorder, clock.now(), machine)),
        Some(journals) => {
            let mut begun = Begun::resume(&journals.of("client"), clock, recorder, machine)?;
            if journals.only_events() {
                begun.journal = Some(journals.write_seen()?);
            }
            Ok(begun)
        }
    }
}

fn play_config(
    entries: BTreeMap<Entry, String>,
    outlets: Option<Outlets>,
    clock: RunClock,
    options: &RealOptions,
) -> PlayConfig {
    let patience = Patience {
        every: wall_length(options.liveness.every),
        refused: options.liveness.refused,
        ..Patience::default()
    };
    PlayConfig {
        entries,
        outlets: outlets.unwrap_or_default(),
        clock,
        run_id: options.run_id.clone(),
        patience: options.planned.patience().unwrap_or(patience),
        faults: options.planned.clone(),
    }
}

/// When a run begins on its clock, and its submissions from there.
struct Begin<'a> {
    shift: SimDuration,
    submissions: Cow<'a, [Submission]>,
}

impl<'a> Begin<'a> {
    /// At time 0, or, since setting up brokers that are not ours takes its
    /// time, a moment after that: at an instant at which the timers of all
    /// clusters stand as at time 0.
    fn of(grid: &Grid, submissions: &'a [Submission], late: bool, clock: RunClock) -> Self {
        if !late {
            return Begin {
                shift: SimDuration::ZERO,
                submissions: Cow::Borrowed(submissions),
            };
        }
        let plans = |cluster: &ClusterConfig| match cluster.discipline {
            DisciplineKind::SlurmBackfill => cluster.slurm.bf_interval,
            _ => SimDuration::ZERO,
        };
        let clusters = grid.clusters.iter();
        let periods = clusters.flat_map(|it| [it.config.interval, plans(&it.config)]);
        let shift = in_step(clock, periods);
        let mut submissions = submissions.to_vec();
        for submission in &mut submissions {
            submission.at += shift;
        }
        Begin {
            shift,
            submissions: Cow::Owned(submissions),
        }
    }
}

/// How long after time 0 it is in a moment, at an instant at which timers of these
/// periods stand as at time 0.
pub(crate) fn in_step(clock: RunClock, periods: impl Iterator<Item = SimDuration>) -> SimDuration {
    let periods = periods.map(SimDuration::as_nanos);
    // Saturates, as would a wait of 584 years.
    let common = |a: u64, b: u64| (a / gcd(a, b)).saturating_mul(b);
    let period = periods.filter(|period| *period > 0).reduce(common);
    let period = SimDuration::from_nanos(period.unwrap_or(0));
    let now = clock.now() + clock.run(LEAD);
    now.next_on_grid(SimDuration::ZERO, period)
        .since(SimTime::ZERO)
}

/// Time to time 0 of the run when everyone listens, for who submits to get
/// ready.
const LEAD: Duration = Duration::from_millis(500);

/// Makes go wrong what is to, each at its time, and waits then for ever.
async fn inject(services: &Services, faults: &[Fault], shift: SimDuration, clock: RunClock) {
    let mut faults = faults.to_vec();
    faults.sort_by_key(|fault| fault.at);
    for fault in faults {
        clock.sleep_until(fault.at + shift).await;
        services.inject(fault.service, fault.kind);
    }
    std::future::pending().await
}
