//! One task that owns one machine.

use super::clock::RunClock;
use super::ledger::{Arrival, JobView, Receipt, SubmitError};
use super::letter::{Letter, Tally};
use super::outbox::{Delivery, Outbox, Transport};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::load::LoadSample;
use gridrig_core::message::JobEnd;
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// A state machine as its task runs it.
///
/// - Getters: [`now`](Self::now), [`due`](Self::due), [`grace`](Self::grace),
///   [`wants_samples`](Self::wants_samples), [`published`](Self::published).
/// - Time: [`step`](Self::step).
/// - Messages: [`take_letters`](Self::take_letters) out,
///   [`handle_delivery`](Self::handle_delivery) back.
pub trait Machine: Send + 'static {
    /// The latest instant it has handled.
    fn now(&self) -> SimTime;

    /// The nominal instant of its next own timer.
    fn due(&self) -> Option<SimTime>;

    /// Handles all own timers of the nominal instant `at`, which is due.
    fn step(&mut self, at: SimTime);

    /// How long it waits past a nominal instant for messages that were meant
    /// to arrive before it.
    fn grace(&self) -> SimDuration {
        SimDuration::ZERO
    }

    /// Own clusters whose present load it must be told before the next step.
    fn wants_samples(&self) -> Vec<ClusterId> {
        Vec::new()
    }

    /// Takes in one of the samples it wanted.
    fn handle_sample(&mut self, _sample: &LoadSample) {}

    /// Moves the letters it wants sent to `out`.
    fn take_letters(&mut self, out: &mut Vec<Letter>);

    /// Learns how the delivery of a letter ended.
    fn handle_delivery(&mut self, now: SimTime, delivery: Delivery);

    /// How many ends of jobs it has published.
    fn published(&self) -> u64;

    /// Handles every own timer that is not after `now`, in nominal order and
    /// without grace.
    fn advance(&mut self, now: SimTime) {
        while let Some(due) = self.due().filter(|due| *due <= now) {
            self.step(due);
        }
    }
}

/// A machine that takes jobs in and remembers them: what a service asks of it,
/// whichever it is.
pub trait JobKeeper: Machine {
    /// Takes a job in. One that cannot be taken is rejected for good when a
    /// client brings it, and sent back to a broker as a message of its own.
    ///
    /// # Errors
    /// When the submission contradicts an earlier one.
    fn submit(&mut self, now: SimTime, arrival: Arrival) -> Result<Receipt, SubmitError>;

    /// What is known of a job; `None` if it was never here or is forgotten.
    #[must_use]
    fn view(&self, job: JobId) -> Option<JobView>;

    /// At most `limit` jobs with a name above `after`.
    #[must_use]
    fn list(&self, after: Option<JobId>, limit: usize) -> Vec<JobView>;

    /// At most `limit` ends of jobs that entered here, from position `after`
    /// on, and the position of the first one given.
    #[must_use]
    fn ends(&self, after: u64, limit: usize) -> (u64, Vec<JobEnd>);

    /// Stops all own timers, so that letters run dry at the end of a run:
    /// nothing new begins any more.
    fn freeze(&mut self);

    /// Letters that never arrived, by kind.
    #[must_use]
    fn undelivered(&self) -> Arc<Tally>;
}

/// The way to a machine that a task owns. Cheap to clone.
pub struct Actor<M> {
    calls: mpsc::Sender<Call<M>>,
    published: watch::Receiver<u64>,
    under_way: watch::Receiver<usize>,
}

/// Something to be done with a machine.
struct Call<M> {
    /// For a message: when it was meant to arrive. Everything else may be done
    /// whenever it comes.
    meant: Option<SimTime>,
    run: Errand<M>,
}

type Errand<M> = Box<dyn FnOnce(&mut M, SimTime) + Send>;

/// Why a machine could not be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Too many calls wait already.
    #[error("the machine has too many calls to answer")]
    Busy,
    /// The machine's task has ended.
    #[error("the machine has stopped")]
    Stopped,
}

/// Calls that may wait for a machine: beyond, callers are told to come back.
const MAILBOX: usize = 1024;

/// Gives the machine to a task of its own, on the runtime this is called in.
pub fn start<M: Machine, T: Transport>(machine: M, clock: RunClock, transport: Arc<T>) -> Actor<M> {
    let (calls, calls_in) = mpsc::channel(MAILBOX);
    let (reports, reports_in) = mpsc::unbounded_channel();
    let outbox = Outbox::new(clock, transport, reports);
    let (published, published_in) = watch::channel(0);
    let actor = Actor {
        calls,
        published: published_in,
        under_way: outbox.under_way(),
    };
    let work = Task {
        machine,
        clock,
        outbox,
        published,
        letters: Vec::new(),
    };
    tokio::spawn(work.run(calls_in, reports_in));
    actor
}

impl<M: Machine> Actor<M> {
    /// Runs `call` on the machine as soon as it can, and answers what it
    /// answers. For looking, and for what no timer depends on.
    ///
    /// # Errors
    /// [`CallError`] when the machine has too much to do or has stopped.
    pub async fn call<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut M, SimTime) -> R + Send + 'static,
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
        call: impl FnOnce(&mut M, SimTime) -> R + Send + 'static,
    ) -> Result<R, CallError> {
        self.post(Some(meant.unwrap_or(SimTime::MAX)), call).await
    }

    async fn post<R: Send + 'static>(
        &self,
        meant: Option<SimTime>,
        call: impl FnOnce(&mut M, SimTime) -> R + Send + 'static,
    ) -> Result<R, CallError> {
        let (reply, answer) = oneshot::channel();
        let run = Box::new(move |machine: &mut M, now| {
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
    #[must_use]
    pub fn published(&self) -> watch::Receiver<u64> {
        self.published.clone()
    }

    /// Follows the number of letters under way. It changes whenever the machine
    /// sends something.
    #[must_use]
    pub fn under_way(&self) -> watch::Receiver<usize> {
        self.under_way.clone()
    }

    /// Waits until no letter of the machine is under way.
    pub async fn drained(&self) {
        let mut under_way = self.under_way.clone();
        // The sender only goes away together with every letter.
        let _ = under_way.wait_for(|letters| *letters == 0).await;
    }
}

impl<M> Clone for Actor<M> {
    fn clone(&self) -> Self {
        Actor {
            calls: self.calls.clone(),
            published: self.published.clone(),
            under_way: self.under_way.clone(),
        }
    }
}

struct Task<M, T> {
    machine: M,
    clock: RunClock,
    outbox: Outbox<T>,
    published: watch::Sender<u64>,
    letters: Vec<Letter>,
}

impl<M: Machine, T: Transport> Task<M, T> {
    async fn run(
        mut self,
        mut calls: mpsc::Receiver<Call<M>>,
        mut reports: mpsc::UnboundedReceiver<Delivery>,
    ) {
        // Messages that wait for a timer to wait out its grace.
        let mut held: VecDeque<Errand<M>> = VecDeque::new();
        loop {
            let due = self.machine.due();
            let wake = due.map_or(SimTime::MAX, |due| due + self.machine.grace());
            tokio::select! {
                biased;
                Some(report) = reports.recv() => {
                    let now = self.catch_up().await;
                    self.machine.handle_delivery(now, report);
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
            let published = self.machine.published();
            self.published
                .send_if_modified(|seen| std::mem::replace(seen, published) != published);
        }
    }

    /// Whether a timer of an instant before `meant` is waiting out its grace.
    fn waits_before(&self, meant: SimTime, now: SimTime) -> bool {
        self.machine
            .due()
            .is_some_and(|due| due <= now && due < meant)
    }

    /// The order rule: own timers up to the present, each at its nominal
    /// instant and after its grace. Answers the present, which never lies
    /// before what the machine has handled.
    async fn catch_up(&mut self) -> SimTime {
        let now = self.clock.now().max(self.machine.now());
        let grace = self.machine.grace();
        while let Some(due) = self.machine.due().filter(|due| *due + grace <= now) {
            for cluster in self.machine.wants_samples() {
                let transport = Arc::clone(self.outbox.transport());
                // Where an LRMS cannot be read, the broker decides on what it
                // last knew.
                if let Ok(sample) = transport.sample(cluster).await {
                    self.machine.handle_sample(&sample);
                }
            }
            self.machine.step(due);
        }
        self.send_letters();
        self.clock.now().max(self.machine.now())
    }

    fn send_letters(&mut self) {
        self.machine.take_letters(&mut self.letters);
        for letter in self.letters.drain(..) {
            self.outbox.send(letter);
        }
    }
}
