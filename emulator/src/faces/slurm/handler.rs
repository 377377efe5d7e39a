//! The task that answers the commands: it owns the store, and keeps it and the
//! cluster in step.

use super::execute::{Exited, Runner};
use super::length;
use super::show::{self, Caller, Outcome};
use super::site::Site;
use super::store::{Action, JobStore};
use super::users::{own_uid, user_name};
use super::wire::{self, Answer, Head, Request};
use super::{Setup, door::Door};
use crate::Config;
use crate::faces::watched;
use gridrig_core::agent::{Arrival, Cancel, JobNews, LrmsAgent, Outside};
use gridrig_core::reservation::ReservationUse;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{Actor, Driven, RunClock};
use gridrig_service::{App, persist};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Calls that are served at a time; more wait to be taken in.
const CALLS: usize = 128;

/// How long a caller may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(30);

/// Until a cluster with too many calls is asked again.
const BUSY: Duration = Duration::from_millis(1);

/// Reservations that are known to the commands.
const SHOWN: usize = 1000;

struct Ask {
    request: Request,
    gid: u32,
    reply: oneshot::Sender<Answer>,
}

/// Starts the handler of a service on the runtime this is called in.
pub(super) fn open(app: &App<Config>, setup: &Setup) {
    let config = &app.config;
    let site = Site {
        cluster: config.name.clone(),
        partition: setup.partition.clone(),
        host: host_name(),
        resources: config.cluster.resources.clone(),
        epoch_unix_ns: config.clock.epoch_unix_ns(),
        execute: setup.execute.is_some(),
        discipline: config.cluster.discipline.name(),
        max_jobs: MAX_JOBS,
        down: BTreeMap::new(),
    };
    let listener = setup.door.listener().and_then(UnixListener::from_std);
    let listener = match listener {
        Ok(listener) => listener,
        Err(error) => {
            let dir = setup.door.dir().display();
            tracing::error!(%dir, %error, "the Slurm commands have no socket");
            return;
        }
    };
    let (asks, asked) = mpsc::channel(CALLS);
    let (exits, exited) = mpsc::unbounded_channel();
    let handler = Handler {
        store: JobStore::new(site, config.keep_ended),
        actor: app.actor.clone(),
        clock: config.clock,
        runner: Runner::new(setup, exits),
        waiting: Vec::new(),
        owner: user_name(own_uid()),
    };
    let accept = accept(listener, asks, Arc::clone(&setup.door), app.actor.clone());
    tokio::spawn(watched(app.actor.clone(), accept));
    tokio::spawn(watched(app.actor.clone(), handler.work(asked, exited)));
}

/// Jobs that may wait, run or be shown: some 200 MB.
const MAX_JOBS: usize = 200_000;

async fn accept(
    listener: UnixListener,
    asks: mpsc::Sender<Ask>,
    door: Arc<Door>,
    actor: Actor<LrmsAgent>,
) {
    let slots = Arc::new(Semaphore::new(CALLS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        let stream = tokio::select! {
            stream = listener.accept() => stream,
            () = asks.closed() => break,
        };
        match stream {
            Ok((stream, _)) => {
                let asks = asks.clone();
                let served = async move {
                    if let Err(error) = serve(stream, asks).await {
                        tracing::debug!(%error, "a Slurm command was not answered");
                    }
                    drop(slot);
                };
                tokio::spawn(watched(actor.clone(), served));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection of a Slurm command failed");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(door);
}

async fn serve(mut stream: UnixStream, asks: mpsc::Sender<Ask>) -> std::io::Result<()> {
    let peer = stream.peer_cred()?;
    if !may_call(peer.uid()) {
        let refused = Answer::failed(
            1,
            "error: Access/permission denied (expected the user of the cluster)\n",
        );
        return stream.write_all(&refused.encode()).await;
    }
    let request = tokio::time::timeout(PATIENCE, read(&mut stream)).await??;
    let (reply, answer) = oneshot::channel();
    let ask = Ask {
        request,
        gid: peer.gid(),
        reply,
    };
    let answer = match asks.send(ask).await {
        Ok(()) => answer.await.ok(),
        Err(_) => None,
    };
    let answer = answer.unwrap_or_else(|| Answer::failed(1, "the cluster has stopped\n"));
    tokio::time::timeout(PATIENCE, stream.write_all(&answer.encode())).await??;
    stream.shutdown().await
}

/// Nobody but the user who runs the cluster, even if others have come to its socket.
fn may_call(uid: u32) -> bool {
    uid == own_uid()
}

async fn read(stream: &mut UnixStream) -> std::io::Result<Request> {
    let mut head = Head::default();
    stream.read_exact(&mut head).await?;
    let refuse = || std::io::Error::other("no request of a Slurm command, or too long");
    let (header, script) = wire::request_lengths(head).ok_or_else(refuse)?;
    let mut bytes = vec![0; header];
    stream.read_exact(&mut bytes).await?;
    let mut request: Request = serde_json::from_slice(&bytes)?;
    if let Some(length) = script {
        let mut script = vec![0; length];
        stream.read_exact(&mut script).await?;
        request.script = Some(script);
    }
    Ok(request)
}

struct Waiting {
    jobs: Vec<u32>,
    answer: Answer,
    reply: oneshot::Sender<Answer>,
}

struct Handler {
    store: JobStore,
    actor: Actor<LrmsAgent>,
    clock: RunClock,
    /// Without work where nothing is executed.
    runner: Runner,
    waiting: Vec<Waiting>,
    owner: Arc<str>,
}

impl Handler {
    async fn work(
        mut self,
        mut asks: mpsc::Receiver<Ask>,
        mut exits: mpsc::UnboundedReceiver<thread::Result<Exited>>,
    ) {
        let Ok(mut news) = self.actor.call(|machine, _| machine.follow()).await else {
            return;
        };
        loop {
            let timer = self.store.next_timer().unwrap_or(SimTime::MAX);
            tokio::select! {
                ask = asks.recv() => {
                    let Some(ask) = ask else { break };
                    let Some(now) = self.catch_up(&mut news).await else { break };
                    self.answer(ask, now).await;
                }
                heard = news.recv() => {
                    let Some(heard) = heard else { break };
                    self.hear(heard);
                }
                Some(exit) = exits.recv() => {
                    // What the cluster says of the job comes first.
                    let Some(_) = self.catch_up(&mut news).await else { break };
                    let exit = exit.unwrap_or_else(|panic| resume_unwind(panic));
                    self.store.exited(exit.seq, exit.exit, exit.failed);
                    self.runner.ended(exit.seq);
                }
                () = self.clock.sleep_until(timer) => {
                    let Some(now) = self.catch_up(&mut news).await else { break };
                    self.store.handle_timers(now);
                }
            }
            if !self.settle(&mut news).await {
                break;
            }
        }
        self.runner.end_all();
    }

    /// Hears all that has happened in the cluster up to now.
    async fn catch_up(&mut self, news: &mut mpsc::UnboundedReceiver<JobNews>) -> Option<SimTime> {
        let look = |machine: &mut Driven<LrmsAgent>, now| {
            let down: Vec<_> = machine.cluster().nodes_down().collect();
            let reserved: Vec<_> = machine
                .cluster()
                .reservations_as_made()
                .take(SHOWN)
                .collect();
            (now, down, reserved)
        };
        let (now, down, reserved) = self.ask(look).await?;
        self.store.reservations = reserved;
        self.store.site.note_down(now, &down);
        // The clock of a run begins when everybody is there.
        self.store.site.epoch_unix_ns = self.clock.epoch_unix_ns();
        while let Ok(heard) = news.try_recv() {
            self.hear(heard);
        }
        self.store.age(now);
        Some(now)
    }

    fn hear(&mut self, news: JobNews) {
        match news {
            JobNews::Queued { spec, at } => {
                self.store.take_in(at, &spec, own_uid(), &self.owner);
            }
            JobNews::Started { job, at, placement } => self.store.started(at, job, placement),
            JobNews::Requeued { job } => self.store.requeued(job),
            JobNews::Ended { end, at } => self.store.over(at, &end),
        }
    }

    /// Runs actions until there are none, then answers who waited for an end.
    async fn settle(&mut self, news: &mut mpsc::UnboundedReceiver<JobNews>) -> bool {
        loop {
            let actions = self.store.take_actions();
            if actions.is_empty() {
                break;
            }
            for action in actions {
                if !self.run(action).await {
                    return false;
                }
            }
            if self.catch_up(news).await.is_none() {
                return false;
            }
        }
        self.answer_waiting();
        true
    }

    /// Does one action; `false` if the cluster has stopped.
    async fn run(&mut self, action: Action) -> bool {
        match action {
            Action::Submit(seq) => return self.submit(seq).await,
            Action::Cancel(job) => {
                return self.tell(move |m, now| m.handle(now, Cancel(job))).await;
            }
            Action::Finish(job) => {
                let end = move |m: &mut Driven<LrmsAgent>, at| {
                    m.handle(at, Outside { at, job, what: () })
                };
                return self.tell(end).await;
            }
            Action::Node(change) => return self.tell(move |m, now| m.handle(now, change)).await,
            Action::Launch(seq) => {
                if let Some(job) = self.store.job(seq) {
                    self.runner.launch(job, &self.store.site);
                }
            }
            Action::Kill(seq) => self.runner.kill(seq),
            Action::Signal(seq, signal, reach) => self.runner.signal(seq, signal, reach),
        }
        true
    }

    async fn submit(&mut self, seq: u32) -> bool {
        let Some(job) = self.store.job(seq) else {
            return true;
        };
        let Some(name) = job.machine else { return true };
        let spec = self.store.spec(&job.batch, job.plan);
        let tag = length::tag_of(&job.batch);
        let reservation = job.batch.reservation.as_deref().map(|name| {
            Box::new(ReservationUse {
                name: name.into(),
                user: Some(Arc::clone(&job.batch.user)),
            })
        });
        let arrival = Arrival {
            id: Some(name),
            reservation,
            tag: Some(tag.into()),
            ..Arrival::of(spec)
        };
        let call = move |machine: &mut Driven<LrmsAgent>, now| machine.handle(now, arrival.clone());
        match self.ask(call).await {
            None => false,
            Some(Ok(_)) => true,
            Some(Err(error)) => {
                tracing::warn!(%error, "a Slurm job was not taken");
                self.store.not_taken(seq, self.clock.now());
                true
            }
        }
    }

    /// The machine has the last word on what a call does; the news tell it.
    async fn tell(
        &self,
        call: impl Fn(&mut Driven<LrmsAgent>, SimTime) -> bool + Send + Clone + 'static,
    ) -> bool {
        self.ask(call).await.is_some()
    }

    /// Calls the machine, patiently; `None` if it has stopped.
    async fn ask<R: Send + 'static>(
        &self,
        call: impl Fn(&mut Driven<LrmsAgent>, SimTime) -> R + Send + Clone + 'static,
    ) -> Option<R> {
        persist(&self.actor, BUSY, call).await.ok()
    }

    async fn answer(&mut self, ask: Ask, now: SimTime) {
        let (reply, gid) = (ask.reply, ask.gid);
        let caller = Caller {
            uid: own_uid(),
            gid,
            user: Arc::clone(&self.owner),
            now,
        };
        match show::command(&mut self.store, ask.request, &caller) {
            // Whoever asked may have gone; what was asked is done anyway.
            Outcome::Now(answer) => drop(reply.send(answer)),
            Outcome::WhenEnded(jobs, answer) => self.waiting.push(Waiting {
                jobs,
                answer,
                reply,
            }),
            Outcome::Reserve(done, order) => {
                let said = (*order).clone();
                let tell = move |lrms: &mut Driven<LrmsAgent>, now| lrms.handle(now, said.clone());
                let answer = match self.ask(tell).await {
                    Some(became) => show::reserved(done, &order, &became),
                    None => Answer::failed(1, "the cluster has stopped\n"),
                };
                drop(reply.send(answer));
            }
        }
    }

    fn answer_waiting(&mut self) {
        let store = &self.store;
        let ended = |seq: &u32| store.job(*seq).is_none_or(|job| job.state.is_ended());
        let is_done = |waiting: &mut Waiting| waiting.jobs.iter().all(ended);
        for mut waiting in self.waiting.extract_if(.., is_done) {
            let jobs = waiting.jobs.iter().filter_map(|seq| store.job(*seq));
            let code = |job: &super::store::Job| match job.exit {
                (code, 0) => code,
                (_, signal) => 128 | signal,
            };
            waiting.answer.code = jobs.map(code).max().unwrap_or(0);
            drop(waiting.reply.send(waiting.answer));
        }
    }
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().split('.').next().unwrap_or_default();
    match name {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_of_another_uid_is_turned_away() {
        assert!(may_call(own_uid()));
        assert!(!may_call(own_uid() + 1));
    }
}
