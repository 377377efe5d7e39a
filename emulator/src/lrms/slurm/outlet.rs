//! The task that submits jobs to a real Slurm, looks at them and tells the
//! LRMS what it saw.

use super::Settings;
use super::commands::{CALL, Said, call};
use super::listing;
use super::site::Site;
use super::store::{JobStore, News, What};
use gridrig_core::agent::{Cancel, JobHolder as _, JobNews, JobState, LrmsAgent, Outside};
use gridrig_core::cluster::Started;
use gridrig_core::ids::JobId;
use gridrig_core::job::{JobSpec, Reason};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::{Actor, CallError, Driven, RunClock};
use gridrig_service::persist;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

/// Submissions between two looks, at most: a long queue of them does not keep
/// the ends of others from being seen.
const AT_ONCE: usize = 16;

/// Jobs cancelled by one call.
const CANCEL: usize = 500;

/// Opens the outlet of an LRMS; it lives as long as the task.
pub(crate) fn open(site: &Site, clock: RunClock, actor: &Actor<LrmsAgent>) -> JoinHandle<()> {
    let prefix = format!("gridrig-{:x}-", gridrig_service::incarnation());
    let outlet = Outlet {
        site: Arc::new(site.clone()),
        clock,
        actor: actor.clone(),
        store: JobStore::new(prefix),
        silent_since: None,
        lost: false,
    };
    tokio::spawn(async move {
        // The machine has stopped: so has everything here.
        let _ = outlet.run().await;
    })
}

struct Outlet {
    site: Arc<Site>,
    clock: RunClock,
    actor: Actor<LrmsAgent>,
    store: JobStore,
    /// Since when Slurm does not answer.
    silent_since: Option<SimTime>,
    /// Whether it is given up until it answers again.
    lost: bool,
}

impl Outlet {
    async fn run(mut self) -> Result<(), CallError> {
        let mut news = self.follow().await?;
        let mut beat = tokio::time::interval(self.settings().poll);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut next_look = self.clock.now();
        loop {
            tokio::select! {
                one = news.recv() => match one {
                    Some(one) => self.hear(one),
                    None => return Ok(()),
                },
                _ = beat.tick() => {}
            }
            while let Ok(one) = news.try_recv() {
                self.hear(one);
            }
            let mut submitted = 0;
            while submitted < AT_ONCE && !self.lost && self.submit().await? {
                submitted += 1;
            }
            if self.clock.now() >= next_look {
                next_look = self.clock.now() + self.clock.run(self.settings().poll);
                self.look().await?;
            }
        }
    }

    fn settings(&self) -> &Settings {
        &self.site.settings
    }

    /// From now on hears of every job, and of those that came before.
    async fn follow(&mut self) -> Result<UnboundedReceiver<JobNews>, CallError> {
        let look =
            |machine: &mut Driven<LrmsAgent>, _| (machine.follow(), machine.list(None, usize::MAX));
        let (news, before) = persist(&self.actor, BUSY, look).await?;
        for view in before {
            if let JobState::Queued { since } = view.state {
                self.store.arrive(view.spec, since);
            }
        }
        Ok(news)
    }

    fn hear(&mut self, news: JobNews) {
        match news {
            JobNews::Queued { spec, at } => self.store.arrive(spec, at),
            JobNews::Ended { end, .. } => self.store.end(end.job),
            JobNews::Started { .. } | JobNews::Requeued { .. } => {}
        }
    }

    /// One call of a command, on a thread where it may block.
    async fn command(&self, name: &'static str, args: Vec<String>, stdin: Option<String>) -> Call {
        let site = Arc::clone(&self.site);
        let run = move || call(&site.settings, name, &args, stdin.as_deref(), CALL);
        let done = tokio::task::spawn_blocking(run).await;
        done.unwrap_or_else(|_| Err(io::Error::other("the call was broken off")))
    }

    /// Submits the next job; `false` if none waits or Slurm does not answer.
    async fn submit(&mut self) -> Result<bool, CallError> {
        let Some(spec) = self.store.next().cloned() else {
            return Ok(false);
        };
        let id = spec.id;
        let (args, script) = self.batch(&spec);
        let answer = self.command("sbatch", args, Some(script)).await;
        match read_answer(answer) {
            Answer::Number(slurm) => {
                self.store.submitted(id, Some(slurm));
                Ok(true)
            }
            Answer::None(why) => {
                tracing::warn!(job = id.0, why, "a submission to Slurm was not answered");
                self.store.submitted(id, None);
                Ok(false)
            }
            Answer::Refusal(why) => {
                tracing::warn!(job = id.0, why, "Slurm refuses a job");
                self.store.refused(id);
                let action = move |machine: &mut Driven<LrmsAgent>, now: SimTime| {
                    machine.handle(now, outside(now, id, Reason::LrmsRefused))
                };
                persist(&self.actor, BUSY, action).await?;
                Ok(true)
            }
        }
    }

    /// The options of `sbatch` for a job, and its script.
    fn batch(&self, spec: &JobSpec) -> (Vec<String>, String) {
        let settings = self.settings();
        let mut args: Vec<String> = ["--parsable", "--no-requeue", "--chdir=/"]
            .map(str::to_owned)
            .into();
        let mut option = |name: &str, value: &str| args.push(format!("--{name}={value}"));
        option("output", "/dev/null");
        option("error", "/dev/null");
        option("job-name", &self.store.name(spec.id));
        option("ntasks", &spec.processors().to_string());
        if let Some(partition) = &settings.partition {
            option("partition", partition);
        }
        if let Some(limit) = spec.requested_time {
            // Slurm counts minutes.
            let minutes = self.clock.wall(limit).as_secs_f64() / 60.0;
            option("time", &(minutes.ceil().max(1.0) as u64).to_string());
        }
        let wanted = &spec.components.first.requirements;
        if wanted.memory_kib > 0 {
            let mib = wanted.memory_kib.div_ceil(1024);
            option("mem-per-cpu", &mib.to_string());
        }
        if !wanted.generic.is_empty() {
            option("gres", &wanted.generic.to_string());
        }
        let seconds = self.clock.wall(spec.run_time);
        let seconds = format!("{}.{:03}", seconds.as_secs(), seconds.subsec_millis());
        let script = settings.template.replace("{seconds}", &seconds);
        let script = script.replace("{job}", &spec.id.0.to_string());
        let script = script.replace("{processors}", &spec.processors().to_string());
        (args, script)
    }

    /// Looks at all jobs, tells what has happened, and cancels what nobody
    /// wants.
    async fn look(&mut self) -> Result<(), CallError> {
        if self.store.is_idle() {
            return Ok(());
        }
        let looked = self.clock.now();
        let args = ["-d", "-o", "show", "job"].map(str::to_owned).into();
        let listed = match self.command("scontrol", args, None).await {
            Ok(said) if said.is_ok() => listing::jobs(&said.stdout, self.store.prefix()),
            failed => return self.silence(looked, &describe(failed)).await,
        };
        if self.lost {
            tracing::info!("Slurm answers again");
        }
        (self.silent_since, self.lost) = (None, false);
        let clock = self.clock;
        let epoch = SimDuration::from_nanos(clock.epoch_unix_ns());
        let when = move |unix: u64| {
            let since = SimDuration::from_secs(unix).as_nanos();
            let wall = since.saturating_sub(epoch.as_nanos());
            SimTime::ZERO + clock.run(Duration::from_nanos(wall))
        };
        let news = self.store.look(&listed, looked, &self.site, when);
        self.tell(news).await?;
        self.cancel().await;
        Ok(())
    }

    /// Tells the LRMS, a start before the end of whoever is in its place
    /// excepted: that waits for the next round or the next look.
    async fn tell(&mut self, mut news: Vec<News>) -> Result<(), CallError> {
        while !news.is_empty() {
            let (told, left) = {
                let action =
                    move |machine: &mut Driven<LrmsAgent>, now| tell(machine, now, news.clone());
                persist(&self.actor, BUSY, action).await?
            };
            if told.is_empty() {
                break;
            }
            for one in told {
                match one.what {
                    What::Started(_) => self.store.told_start(one.job),
                    What::Failed(reason) => {
                        tracing::warn!(
                            job = one.job.0,
                            reason = reason.name(),
                            "a job of Slurm has failed"
                        );
                        self.store.told_end(one.job);
                    }
                    What::Finished | What::Cancelled => self.store.told_end(one.job),
                }
            }
            news = left;
        }
        Ok(())
    }

    /// Slurm does not answer: after a while its jobs are lost.
    async fn silence(&mut self, looked: SimTime, why: &str) -> Result<(), CallError> {
        let since = *self.silent_since.get_or_insert(looked);
        let silent = self.clock.wall(self.clock.now().since(since));
        if silent < self.settings().patience {
            tracing::warn!(why, "Slurm does not answer");
            return Ok(());
        }
        let jobs = self.store.alive();
        if !self.lost || !jobs.is_empty() {
            tracing::error!(why, jobs = jobs.len(), "Slurm and its jobs are given up");
        }
        self.lost = true;
        let alive = jobs.clone();
        let action = move |machine: &mut Driven<LrmsAgent>, now| {
            for job in &alive {
                machine.handle(now, outside(now, *job, Reason::ServiceLost));
            }
        };
        persist(&self.actor, BUSY, action).await?;
        jobs.into_iter().for_each(|job| self.store.end(job));
        Ok(())
    }

    async fn cancel(&mut self) {
        for some in self.store.unwanted().chunks(CANCEL) {
            let ids = some.iter().map(u32::to_string).collect();
            if let Err(error) = self.command("scancel", ids, None).await {
                tracing::warn!(%error, "jobs of Slurm are not cancelled yet");
            }
        }
    }
}

type Call = io::Result<Said>;

/// Between two tries to call a machine that has too much to do.
const BUSY: Duration = Duration::from_millis(50);

fn outside<T>(at: SimTime, job: JobId, what: T) -> Outside<T> {
    Outside { at, job, what }
}

/// What can be told now, and what has to wait.
fn tell(machine: &mut Driven<LrmsAgent>, now: SimTime, news: Vec<News>) -> (Vec<News>, Vec<News>) {
    let (mut told, mut left) = (Vec::new(), Vec::new());
    let mut held: Vec<JobId> = Vec::new();
    for one in news {
        let (at, job) = (one.at.min(now), one.job);
        let done = !held.contains(&job)
            && match &one.what {
                What::Started(ids) => {
                    machine.handle(now, outside(at, job, ids.clone())) != Started::NoRoom
                }
                What::Finished => {
                    // Cancelled here in the meantime: over all the same.
                    machine.handle(now, outside(at, job, ()));
                    true
                }
                What::Cancelled => {
                    machine.handle(now, Cancel(job));
                    true
                }
                What::Failed(reason) => {
                    machine.handle(now, outside(at, job, *reason));
                    true
                }
            };
        match done {
            true => told.push(one),
            false => {
                held.push(one.job);
                left.push(one);
            }
        }
    }
    (told, left)
}

/// What a submission came to.
enum Answer {
    Number(u32),
    None(String),
    Refusal(String),
}

fn read_answer(answer: Call) -> Answer {
    let said = match answer {
        Ok(said) => said,
        // It never was one, so nobody can have heard it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Answer::Refusal(error.to_string());
        }
        Err(error) => return Answer::None(error.to_string()),
    };
    let number = said.stdout.trim().split(';').next().map(str::parse);
    match number {
        Some(Ok(number)) if said.is_ok() => Answer::Number(number),
        _ => {
            let lower = said.stderr.to_ascii_lowercase();
            let why = said.complaint().to_owned();
            match UNANSWERED.iter().any(|words| lower.contains(words)) {
                true => Answer::None(why),
                false => Answer::Refusal(why),
            }
        }
    }
}

/// Words of a submission that may or may not have arrived.
const UNANSWERED: [&str; 6] = [
    "unable to contact",
    "timed out",
    "connection refused",
    "zero bytes",
    "not responding",
    "temporarily",
];

fn describe(failed: Call) -> String {
    match failed {
        Ok(said) => said.complaint().to_owned(),
        Err(error) => error.to_string(),
    }
}

impl Drop for Outlet {
    /// What is left with Slurm ends with the outlet.
    fn drop(&mut self) {
        let left = self.store.with_slurm();
        for some in left.chunks(CANCEL) {
            let ids: Vec<String> = some.iter().map(u32::to_string).collect();
            if let Err(error) = call(self.settings(), "scancel", &ids, None, LAST) {
                tracing::warn!(%error, "jobs of Slurm are left behind");
            }
        }
    }
}

/// How long the last call may take.
const LAST: Duration = Duration::from_secs(10);
