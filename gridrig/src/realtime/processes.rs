//! A grid in real time whose services are processes of their own, which are restarted
//! with their journals when they die.
//!
//! The listener of each stays with the runner, and its process has it as its standard
//! input: whoever calls a service that is being restarted waits, and is not refused.
//! What has happened is read from the journals in the end.

use super::configs::{Door, Urls, names, not_started};
use super::{Journals, RealOptions, RealOutcome, outcome};
use crate::words::list;
use anyhow::{Context as _, bail};
use gridrig_core::grid::Grid;
use gridrig_core::job::Submission;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::RunClock;
use gridrig_protocol::client::Client;
use gridrig_replayer::outlet::plain_program;
use gridrig_replayer::player::{self, Progress};
use serde::{Deserialize, Serialize};
use std::env::var_os;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What the process of a service is told, as its only argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The run directory.
    pub dir: PathBuf,
    /// Which service, as its journal is called.
    pub service: String,
    /// Where all of them are.
    pub urls: Urls,
    /// When the clock begins to go, or an instant after that, in nanoseconds since 1970,
    /// and what it shows then.
    pub start: (u64, SimTime),
    /// The process of the runner, with which that of the service ends.
    pub runner: u32,
}

/// Runs the grid on these submissions as [`run_real`](super::run_real) does, each service
/// in a process of its own, which writes its journal in this run directory.
///
/// # Errors
/// When it cannot begin, or its journals cannot be read.
pub async fn run_in_processes(
    (grid, submissions): (&Grid, &[Submission]),
    options: &RealOptions,
    dir: &Path,
    shutdown: impl Future<Output = ()>,
    progress: impl FnMut(Progress),
) -> anyhow::Result<RealOutcome> {
    let clock = RunClock::waiting_at(options.from(), options.speed);
    clock.begin_in(LEAD);
    let mut processes = Processes::start(grid, dir, clock)?;
    processes.ready().await?;
    let urls = processes.urls.clone();
    let config = super::play_config(urls.entries(submissions), None, clock, options);
    let begun = super::begun(&config, submissions, options)?;
    let (recorder, client) = (begun.recorder, (begun.agent, begun.journal));
    let (mut stopped, mut faults) = (false, Vec::new());
    let close = || options.journals.iter().for_each(Journals::close);
    let stop = async {
        tokio::select! {
            () = shutdown => stopped = true,
            () = clock.sleep_until(options.stop_at.unwrap_or(SimTime::MAX)) => {}
            why = processes.failed() => faults.push(why),
        }
        close();
    };
    let played = player::go_on(&config, submissions, client, &recorder, stop, progress);
    let played = super::unless_it_breaks_off(played).await;
    close();
    processes.stop().await;
    let played = super::done(played, stopped, &mut faults)?;
    let told = super::Recalled::of(grid, submissions, options)?;
    let (recalled, recorder) = (told.services, told.client);
    faults.extend(recalled.errors);
    let broke_off = !faults.is_empty();
    let known = options.known(submissions.len(), false, SimDuration::ZERO);
    let mut outcome = outcome::collect((recalled.logs, None), &recorder, played, faults, &known);
    outcome.broke_off = broke_off;
    let restarted = recalled.restarted.iter();
    let restarted = list(restarted.map(|(name, times)| format!("{name} ({times})")));
    let note = format!("restarted: services were restarted: {restarted}");
    outcome.restarted = Some(note).filter(|_| !restarted.is_empty());
    Ok(outcome)
}

/// Time until the clock goes, for the processes to start.
const LEAD: Duration = Duration::from_secs(2);

/// What a service is told of the environment besides what other programs are.
const TOLD: [&str; 3] = ["RUST_BACKTRACE", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// A service is restarted at most so often in a run.
const RESTARTS: u32 = 100;

/// How long all processes may take until they answer.
const READY: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The processes of a run.
pub(super) struct Processes {
    urls: Urls,
    stop: watch::Sender<bool>,
    /// Each answers why its service is not restarted, if it was not stopped.
    watchers: JoinSet<Result<(), String>>,
}

impl Processes {
    /// Starts one for each service of the run in this directory.
    pub fn start(grid: &Grid, dir: &Path, clock: RunClock) -> anyhow::Result<Self> {
        let (urls, doors) = Urls::bind(grid)?;
        let (stop, stopping) = watch::channel(false);
        let mut watchers = JoinSet::new();
        for (service, door) in names(grid).zip(doors) {
            let process = Process {
                door,
                clock,
                order: Order {
                    dir: dir.to_owned(),
                    service,
                    urls: urls.clone(),
                    start: clock.start(),
                    runner: std::process::id(),
                },
            };
            let service = process.order.service.clone();
            let first = process.spawn().with_context(|| not_started(&service))?;
            watchers.spawn(told(service, process.watch(first, stopping.clone())));
        }
        Ok(Processes {
            urls,
            stop,
            watchers,
        })
    }

    /// Waits until all of them answer.
    pub async fn ready(&mut self) -> anyhow::Result<()> {
        let (client, urls) = (Client::new(READY)?, self.urls.clone());
        let answer = async {
            for url in urls.all() {
                while client.healthy(url).await.is_err() {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            }
        };
        tokio::select! {
            () = answer => Ok(()),
            why = self.failed() => bail!(why),
            () = tokio::time::sleep(READY) => bail!("the processes of the services do not answer"),
        }
    }

    /// Waits until one has ended that is not restarted, or is not watched any more; answers
    /// what there is to say.
    pub async fn failed(&mut self) -> String {
        while let Some(ended) = self.watchers.join_next().await {
            if let Err(why) = ended.unwrap_or_else(|error| Err(error.to_string())) {
                return why;
            }
        }
        std::future::pending().await
    }

    /// Ends all of them.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        while self.watchers.join_next().await.is_some() {}
    }
}

/// Why this service is not watched any more, where that is a panic too.
async fn told(
    service: String,
    watching: impl Future<Output = io::Result<()>>,
) -> Result<(), String> {
    let watched = super::unless_it_breaks_off(watching).await.flatten();
    watched.map_err(|why| format!("{service} broke off: {why}"))
}

/// The process of a service.
struct Process {
    door: Door,
    clock: RunClock,
    order: Order,
}

impl Process {
    fn spawn(&self) -> io::Result<Child> {
        let listener = OwnedFd::from(self.door.listener.try_clone()?);
        let order = Order {
            start: self.clock.start(),
            ..self.order.clone()
        };
        let mut command = plain_program(std::env::current_exe()?);
        let told = TOLD.iter().filter_map(|name| Some((name, var_os(name)?)));
        command.envs(told);
        Command::from(command)
            .arg("service")
            .arg(serde_json::to_string(&order)?)
            .stdin(Stdio::from(listener))
            .stdout(Stdio::null())
            // Ctrl-C is for the runner.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }

    /// Restarts it when it was killed. What has ended by itself has said why, and would
    /// do so again.
    async fn watch(self, mut child: Child, mut stopping: watch::Receiver<bool>) -> io::Result<()> {
        let mut restarts = 0;
        loop {
            let ended = tokio::select! {
                ended = child.wait() => ended,
                // It changes once.
                _ = stopping.changed() => {
                    let _ = child.kill().await;
                    return Ok(());
                }
            };
            let was_killed = ended
                .as_ref()
                .is_ok_and(|it: &ExitStatus| it.code().is_none());
            child = match was_killed && restarts < RESTARTS {
                true => self.spawn()?,
                false => return Err(io::Error::other(ended?.to_string())),
            };
            restarts += 1;
            tracing::warn!(
                service = self.order.service,
                restarts,
                "a service is restarted"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn panics() -> io::Result<()> {
        panic!("a broken invariant")
    }

    #[tokio::test]
    async fn a_panic_of_who_watches_a_process_ends_the_run_and_is_named() {
        let mut watchers = JoinSet::new();
        watchers.spawn(told("broker-a".to_owned(), std::future::pending()));
        watchers.spawn(told("broker-b".to_owned(), panics()));
        let mut processes = Processes {
            urls: Urls::nowhere(&Grid::default()),
            stop: watch::channel(false).0,
            watchers,
        };
        let failed = tokio::time::timeout(Duration::from_secs(60), processes.failed());
        let why = failed.await.expect("the run ends");
        assert_eq!(why, "broker-b broke off: panic: a broken invariant");
    }
}
