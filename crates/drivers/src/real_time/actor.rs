//! One task that owns one agent.

use super::clock::RunClock;
use super::driven::{Driven, Journal};
use super::outbox::{Delivery, Outbox, Transport};
use super::record::Recorder;
use gridrig_core::agent::{Due, Fate, JobHolder, Journaled, Resumed, Tally, Tries};
use gridrig_core::time::SimTime;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// The way to an agent that a task owns. Cheap to clone.
pub struct Actor<M: Journaled> {
    calls: mpsc::Sender<Call<M>>,
    published: watch::Receiver<u64>,
    undelivered: watch::Receiver<Tally>,
    under_way: watch::Receiver<usize>,
}

/// Something to be done with an agent.
struct Call<M: Journaled> {
    /// For a message: when it was meant to arrive. Everything else may be done
    /// whenever it comes.
    meant: Option<SimTime>,
    run: Action<M>,
}

type Action<M> = Box<dyn FnOnce(&mut Driven<M>, SimTime) + Send>;

/// Why an agent could not be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Too many calls wait already.
    #[error("the service has too many requests to answer")]
    Busy,
    /// The agent's task has ended.
    #[error("the service has stopped")]
    Stopped,
}

/// Calls that may wait for an agent: beyond, callers are told to come back.
const MAILBOX: usize = 1024;

/// Gives the agent to a task of its own, on the runtime this is called in. It
/// tells `recorder` what happens, and `journal` what it is told. The task ends when
/// nobody has the way to the agent any more, or with a panic: its own, or that of a
/// task that sends.
pub fn start<M: JobHolder, T: Transport<Message = M::Sends>>(
    resumed: Resumed<M>,
    journal: Option<Journal<M::Input>>,
    recorder: Recorder,
    clock: RunClock,
    transport: Arc<T>,
) -> (Actor<M>, JoinHandle<()>) {
    let (calls, calls_in) = mpsc::channel(MAILBOX);
    let (reports, reports_in) = mpsc::unbounded_channel();
    let mut outbox = Outbox::new(clock, transport, reports);
    for envelope in resumed.unanswered {
        outbox.post_again(envelope);
    }
    let (published, published_in) = watch::channel(0);
    let (undelivered, undelivered_in) = watch::channel(Tally::default());
    let actor = Actor {
        calls,
        published: published_in,
        undelivered: undelivered_in,
        under_way: outbox.under_way(),
    };
    let work = Task {
        machine: Driven::new(resumed.agent, resumed.wall, recorder, journal),
        clock,
        outbox,
        published,
        undelivered,
    };
    (actor, tokio::spawn(work.run(calls_in, reports_in)))
}

impl<M: Journaled> Actor<M> {
    /// Runs `call` on the machine as soon as it can, and answers what it
    /// answers. For looking, and for what no timer depends on.
    ///
    /// # Errors
    /// [`CallError`] when the machine has too much to do or has stopped.
    pub async fn call<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Driven<M>, SimTime) -> R + Send + 'static,
    ) -> Result<R, CallError> {
        self.post(None, call).await
    }

    /// The same for a message that was meant to arrive at `meant`, or, if
    /// that is not known, when it does. A timer of an earlier nominal instant
    /// that is waiting out its grace is handled before the message, which
    /// waits with it.
    ///
    /// # Errors
    /// [`CallError`] when the machine has too much to do or has stopped.
    pub async fn message<R: Send + 'static>(
        &self,
        meant: Option<SimTime>,
        call: impl FnOnce(&mut Driven<M>, SimTime) -> R + Send + 'static,
    ) -> Result<R, CallError> {
        self.post(Some(meant.unwrap_or(SimTime::MAX)), call).await
    }

    async fn post<R: Send + 'static>(
        &self,
        meant: Option<SimTime>,
        call: impl FnOnce(&mut Driven<M>, SimTime) -> R + Send + 'static,
    ) -> Result<R, CallError> {
        let (reply, answer) = oneshot::channel();
        let run = Box::new(move |machine: &mut Driven<M>, now| {
            // Whoever asked may have gone away; what was asked is done anyway.
            let _ = reply.send(call(machine, now));
        });
        self.calls
            .try_send(Call { meant, run })
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => CallError::Busy,
                mpsc::error::TrySendError::Closed(_) => CallError::Stopped,
            })?;
        answer.await.map_err(|_| CallError::Stopped)
    }

    /// Follows the number of published ends.
    pub fn published(&self) -> watch::Receiver<u64> {
        self.published.clone()
    }

    /// Messages that never arrived; of an agent that has stopped, those until
    /// then.
    pub fn undelivered(&self) -> Tally {
        *self.undelivered.borrow()
    }

    /// Follows the number of messages under way. It changes whenever the machine
    /// sends something.
    pub fn under_way(&self) -> watch::Receiver<usize> {
        self.under_way.clone()
    }

    /// Waits until no message of the machine is under way.
    pub async fn drained(&self) {
        let mut under_way = self.under_way.clone();
        // The sender only goes away together with every message.
        let _ = under_way.wait_for(|envelopes| *envelopes == 0).await;
    }
}

impl<M: Journaled> Clone for Actor<M> {
    fn clone(&self) -> Self {
        Actor {
            calls: self.calls.clone(),
            published: self.published.clone(),
            undelivered: self.undelivered.clone(),
            under_way: self.under_way.clone(),
        }
    }
}

struct Task<M: Journaled, T: Transport> {
    machine: Driven<M>,
    clock: RunClock,
    outbox: Outbox<T>,
    published: watch::Sender<u64>,
    undelivered: watch::Sender<Tally>,
}

impl<M: JobHolder, T: Transport<Message = M::Sends>> Task<M, T> {
    async fn run(
        mut self,
        mut calls: mpsc::Receiver<Call<M>>,
        mut reports: mpsc::UnboundedReceiver<Delivery<M::Sends>>,
    ) {
        // Messages that wait for a timer to wait out its grace.
        let mut held: VecDeque<Action<M>> = VecDeque::new();
        loop {
            let due = self.machine.next_due();
            let wake = due.map_or(SimTime::MAX, |due| due + self.machine.grace());
            tokio::select! {
                biased;
                Some(report) = reports.recv() => {
                    let now = self.catch_up().await;
                    self.machine.forget_recall(&report.envelope);
                    let result = report.result.map_err(|error| error.fate());
                    let envelope = report.envelope;
                    self.machine.handle(now, Fate { envelope, result });
                }
                call = calls.recv() => {
                    let Some(call) = call else { return };
                    let now = self.catch_up().await;
                    match call.meant {
                        Some(meant) if self.waits_before(meant, now) => held.push_back(call.run),
                        _ => (call.run)(&mut self.machine, now),
                    }
                }
                () = self.clock.sleep_until(wake) => {}
                () = self.machine.wall_timer() => {}
                () = self.outbox.panicked() => {}
            }
            // What a message set off at this instant happens before the next
            // message is looked at.
            let mut now = self.catch_up().await;
            while !self.waits_before(SimTime::MAX, now)
                && let Some(run) = held.pop_front()
            {
                run(&mut self.machine, now);
                now = self.catch_up().await;
            }
            tell(&self.published, self.machine.published());
            tell(&self.undelivered, self.machine.undelivered());
        }
    }

    /// Whether a timer of an instant before `meant` is waiting out its grace.
    fn waits_before(&self, meant: SimTime, now: SimTime) -> bool {
        let due = self.machine.next_due();
        due.is_some_and(|due| due <= now && due < meant)
    }

    /// The order rule: own timers up to the present, each at its nominal
    /// instant and after its grace. Answers the present, which never lies
    /// before what the agent has handled.
    async fn catch_up(&mut self) -> SimTime {
        let now = self.clock.now().max(self.machine.now());
        let grace = self.machine.grace();
        while let Some(due) = self.machine.next_due().filter(|due| *due + grace <= now) {
            let mut loads = Vec::new();
            for cluster in self.machine.reads() {
                // Where an LRMS cannot be read, the broker decides on what it
                // last knew.
                loads.extend(self.outbox.transport().sample(cluster).await);
            }
            self.machine.handle(due, Due::Model { loads });
        }
        if self.machine.is_wall_due() {
            self.machine.handle(now, Due::Wall);
        }
        for envelope in self.machine.take_envelopes() {
            let recall = self.machine.recall_of(&envelope);
            self.outbox.send(envelope, recall, Tries::default());
        }
        self.clock.now().max(self.machine.now())
    }
}

/// Tells those who follow a value that it has changed.
fn tell<V: PartialEq>(followed: &watch::Sender<V>, value: V) {
    followed.send_if_modified(|seen| {
        let changed = *seen != value;
        *seen = value;
        changed
    });
}
