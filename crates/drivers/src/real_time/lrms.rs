//! An LRMS in real time: the cluster of the core, its sampling, and the jobs
//! that it answers for.

use super::actor::{JobKeeper, Machine};
use super::ledger::{Arrival, JobState, JobView, Ledger, Naming, Opened, Receipt, SubmitError};
use super::letter::{Letter, LetterId, Message, Tally};
use super::outbox::Delivery;
use super::plant::Plant;
use super::record::Recorder;
use gridrig_core::cluster::mirror::{Seats, Started};
use gridrig_core::cluster::{ClusterConfig, Finished, JobStatus};
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::{JobSpec, Reason};
use gridrig_core::load::LoadSample;
use gridrig_core::message::{EndState, JobEnd};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The broker that an LRMS reports to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// Whose broker.
    pub domain: DomainId,
    /// One-way latency to it.
    pub latency: SimDuration,
    /// Time between samples.
    pub exchange: SimDuration,
}

/// How an LRMS is set up.
#[derive(Clone, Debug)]
pub struct LrmsSetup {
    /// The cluster.
    pub cluster: ClusterConfig,
    /// Its broker; `None` for one that serves clients only.
    pub home: Option<Home>,
    /// Distinguishes the lives of a service that is started anew.
    pub incarnation: u64,
    /// Ended jobs that are still known.
    pub keep_ended: usize,
    /// Whether jobs that were named elsewhere may come too, so that names
    /// given here have to lie apart; so it is in any case with a home.
    pub names_apart: bool,
}

/// An LRMS as its task owns it.
pub struct LrmsMachine {
    cluster: Plant,
    home: Option<Home>,
    sink: Sink,
    ledger: Ledger,
    now: SimTime,
    next_sample: Option<SimTime>,
    frozen: bool,
    incarnation: u64,
    letters: Vec<Letter>,
    letters_written: u64,
    finished: Vec<Finished>,
    undelivered: Arc<Tally>,
}

/// What becomes of a job here, for whoever [follows](LrmsMachine::follow).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobNews {
    /// It is in the queue.
    Queued {
        /// The job.
        spec: JobSpec,
        /// Since when.
        at: SimTime,
    },
    /// It runs.
    Started {
        /// The job.
        job: JobId,
        /// Since when.
        at: SimTime,
        /// On which processors, node by node.
        placement: Vec<PlacementRun>,
    },
    /// It is over.
    Ended {
        /// How.
        end: JobEnd,
        /// Since when.
        at: SimTime,
    },
}

/// Names of jobs that come without one, where named jobs come as well: the
/// upper half belongs to those without.
const UNNAMED_FROM: u32 = 3 << 30;

impl LrmsMachine {
    /// An empty LRMS that tells `recorder` what happens.
    #[must_use]
    pub fn new(setup: LrmsSetup, recorder: Recorder) -> Self {
        let next = if setup.home.is_some() || setup.names_apart {
            UNNAMED_FROM
        } else {
            0
        };
        let sampled = setup.home.filter(|home| !home.exchange.is_zero());
        LrmsMachine {
            cluster: Plant::new(setup.cluster),
            ledger: Ledger::new(setup.keep_ended, Naming { next, step: 1 }),
            next_sample: sampled.map(|_| SimTime::ZERO),
            home: setup.home,
            frozen: false,
            sink: Sink {
                recorder,
                followers: Vec::new(),
            },
            now: SimTime::ZERO,
            incarnation: setup.incarnation,
            letters: Vec::new(),
            letters_written: 0,
            finished: Vec::new(),
            undelivered: Arc::default(),
        }
    }

    /// The cluster, to look at.
    #[must_use]
    pub fn cluster(&self) -> &Plant {
        &self.cluster
    }

    /// What the LRMS would report at this instant.
    #[must_use]
    pub fn sample_at(&mut self, now: SimTime) -> LoadSample {
        self.set_now(now);
        self.cluster.sample(self.now)
    }

    /// From now on, tells of every job that is queued, starts or ends here.
    /// News that nobody takes are kept, so the receiver is to be read or
    /// dropped; what a call changed is told before the next call is answered.
    pub fn follow(&mut self) -> UnboundedReceiver<JobNews> {
        let (follower, news) = unbounded_channel();
        self.sink.followers.push(follower);
        news
    }

    /// Ends a running job now: something outside the model has decided its
    /// end, such as the process it stands for. `false` if it does not run.
    pub fn finish(&mut self, now: SimTime, job: JobId) -> bool {
        self.set_now(now);
        let finished = self.cluster.finish(self.now, job, &mut self.sink);
        if let Some(finished) = finished {
            self.completed(finished);
        }
        finished.is_some()
    }

    /// A real LRMS has started a job at this instant, or at the latest change
    /// told since.
    pub fn started(&mut self, now: SimTime, at: SimTime, job: JobId, seats: &Seats) -> Started {
        self.set_now(now);
        self.cluster.start(at, job, seats, &mut self.sink)
    }

    /// A real LRMS has ended a running job at this instant, or at the latest
    /// change told since; `false` if it does not run here.
    pub fn finished(&mut self, now: SimTime, at: SimTime, job: JobId) -> bool {
        self.set_now(now);
        let finished = self.cluster.finish(at, job, &mut self.sink);
        if let Some(finished) = finished {
            self.completed(finished);
        }
        finished.is_some()
    }

    /// A job that waits or runs at a real LRMS is lost; `false` if it is not
    /// here (any more).
    pub fn failed(&mut self, now: SimTime, at: SimTime, job: JobId, reason: Reason) -> bool {
        self.set_now(now);
        let end = self.cut_short(job, EndState::Failed(reason), at);
        let failed = self.cluster.fail(at, job, reason, &mut self.sink);
        if failed {
            self.end(self.now, end);
        }
        failed
    }

    /// The end of a job that does not come to its own: what has run by then
    /// is told with it. To be asked before it ends.
    fn cut_short(&self, job: JobId, state: EndState, at: SimTime) -> JobEnd {
        match self.cluster.query(job) {
            Some(JobStatus::Running { start, .. }) => JobEnd {
                cluster: Some(self.cluster.id()),
                start: Some(start),
                finish: Some(at.max(start)),
                ..end_of(job, state)
            },
            _ => end_of(job, state),
        }
    }

    fn completed(&mut self, Finished { job, start, finish }: Finished) {
        let end = JobEnd {
            job,
            state: EndState::Completed,
            cluster: Some(self.cluster.id()),
            start: Some(start),
            finish: Some(finish),
        };
        self.end(self.now, end);
    }

    fn turn_away(&mut self, job: JobId, from: Party, reason: Reason) {
        let by = Party::Lrms(self.cluster.id());
        let end = end_of(job, EndState::Rejected(reason));
        match from {
            Party::Broker(_) => {
                self.sink.emit(
                    self.now,
                    Event::new(EventKind::Refused, job, by)
                        .to(from)
                        .because(reason),
                );
                self.ledger.end(end);
                self.write(job, from, Message::Refusal { job, reason });
            }
            Party::Client | Party::Lrms(_) => {
                self.sink.emit(
                    self.now,
                    Event::new(EventKind::Rejected, job, by).because(reason),
                );
                self.end(self.now, end);
            }
        }
    }

    /// Removes a job that waits or runs; `false` if it is not here (any more).
    pub fn cancel(&mut self, now: SimTime, job: JobId) -> bool {
        self.set_now(now);
        let end = self.cut_short(job, EndState::Cancelled, self.now);
        let cancelled = self.cluster.cancel(self.now, job, &mut self.sink);
        if cancelled {
            self.end(self.now, end);
        }
        cancelled
    }

    /// A job's end goes back to whoever brought the job.
    fn end(&mut self, at: SimTime, end: JobEnd) {
        self.ledger.end(end);
        self.sink.tell(|| JobNews::Ended { end, at });
        let record = self.ledger.get(end.job);
        let from = record.map_or(Party::Client, |record| record.from);
        let wants_news = record.is_some_and(|record| record.notify.is_some());
        let here = Party::Lrms(self.cluster.id());
        if from == Party::Client {
            self.sink.emit(
                at,
                Event::new(EventKind::FinishSeen, end.job, Party::Client),
            );
            self.ledger.publish(end);
            if !wants_news {
                return;
            }
        }
        self.sink
            .emit(at, Event::new(EventKind::Notified, end.job, here).to(from));
        self.write(end.job, from, Message::Notice(end));
    }

    /// A broker that repeats a submission may have been started anew and have
    /// missed what became of the job: an end is told once more.
    fn tell_again(&mut self, job: JobId, from: Party) {
        let end = self.ledger.get(job).and_then(|record| record.end);
        let (Some(end), Party::Broker(_)) = (end, from) else {
            return;
        };
        match end.state {
            EndState::Rejected(reason) => self.write(job, from, Message::Refusal { job, reason }),
            _ => {
                let (here, at) = (Party::Lrms(self.cluster.id()), self.now);
                let (from, to) = (here, from);
                self.sink
                    .emit(at, Event::new(EventKind::Notified, job, from).to(to));
                self.write(job, to, Message::Notice(end));
            }
        }
    }

    fn write(&mut self, job: JobId, to: Party, message: Message) {
        let address = self
            .ledger
            .get(job)
            .and_then(|record| record.notify.clone());
        let latency = self.home.map_or(SimDuration::ZERO, |home| home.latency);
        self.post(to, address, latency, message);
    }

    fn post(
        &mut self,
        to: Party,
        address: Option<Arc<str>>,
        latency: SimDuration,
        message: Message,
    ) {
        let (incarnation, number) = (self.incarnation, self.letters_written);
        self.letters_written += 1;
        let id = LetterId {
            incarnation,
            number,
        };
        let from = Party::Lrms(self.cluster.id());
        self.letters.push(Letter {
            id,
            from,
            to,
            address,
            due: self.now + latency,
            message,
            recall: None,
        });
    }

    fn handle_completions(&mut self) {
        let mut finished = std::mem::take(&mut self.finished);
        self.cluster
            .handle_completions(self.now, &mut self.sink, &mut finished);
        for ended in finished.drain(..) {
            self.completed(ended);
        }
        self.finished = finished;
    }

    fn send_sample(&mut self, home: Home) {
        let (from, to) = (Party::Lrms(self.cluster.id()), Party::Broker(home.domain));
        self.sink.emit(
            self.now,
            Event::new(EventKind::InfoSent, None::<JobId>, from).to(to),
        );
        let sample = self.cluster.sample(self.now);
        self.post(to, None, home.latency, Message::Info(vec![sample]));
    }

    fn set_now(&mut self, now: SimTime) {
        self.now = self.now.max(now);
    }
}

/// Where events go: to the log, and starts to those who follow.
struct Sink {
    recorder: Recorder,
    followers: Vec<UnboundedSender<JobNews>>,
}

impl Sink {
    fn tell(&mut self, news: impl Fn() -> JobNews) {
        self.followers
            .retain(|follower| follower.send(news()).is_ok());
    }
}

impl EventSink for Sink {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        if let (EventKind::Started, Some(job)) = (event.kind, event.job) {
            self.tell(|| JobNews::Started {
                job,
                at,
                placement: event.placement.to_vec(),
            });
        }
        self.recorder.emit(at, event);
    }
}

fn end_of(job: JobId, state: EndState) -> JobEnd {
    JobEnd {
        job,
        state,
        cluster: None,
        start: None,
        finish: None,
    }
}

impl JobKeeper for LrmsMachine {
    fn submit(&mut self, now: SimTime, arrival: Arrival) -> Result<Receipt, SubmitError> {
        self.set_now(now);
        let job = match self.ledger.open(&arrival)? {
            Opened::Repeated(receipt) => {
                self.tell_again(receipt.job, arrival.from);
                return Ok(receipt);
            }
            Opened::New(job) => job,
        };
        if self.cluster.query(job).is_some() {
            return Err(SubmitError::IdTaken(job));
        }
        let spec = JobSpec {
            id: job,
            ..arrival.spec.clone()
        };
        let taken = self.cluster.submit(self.now, &spec, &mut self.sink);
        let receipt = Receipt {
            job,
            at: self.now,
            taken,
            repeated: false,
        };
        let from = arrival.from;
        if taken.is_ok() {
            let (spec, at) = (&spec, self.now);
            self.sink.tell(|| JobNews::Queued {
                spec: spec.clone(),
                at,
            });
        }
        self.ledger.enter(arrival, spec, &receipt);
        if let Err(reason) = taken {
            self.turn_away(job, from, reason);
        }
        Ok(receipt)
    }

    fn view(&self, job: JobId) -> Option<JobView> {
        let record = self.ledger.get(job)?;
        let state = match (record.end, self.cluster.query(job)) {
            (Some(end), _) => JobState::Ended(end),
            (None, Some(JobStatus::Queued { since })) => JobState::Queued { since },
            (None, Some(JobStatus::Running { start, placement })) => {
                JobState::Running { start, placement }
            }
            (None, None) => return None,
        };
        Some(JobView {
            spec: record.spec.clone(),
            arrived: record.arrived,
            state,
            tag: record.tag.clone(),
            identity: record.identity.clone(),
        })
    }

    fn list(&self, after: Option<JobId>, limit: usize) -> Vec<JobView> {
        let jobs = self.ledger.list(after, limit);
        jobs.filter_map(|job| self.view(job)).collect()
    }

    fn ends(&self, after: u64, limit: usize) -> (u64, Vec<JobEnd>) {
        self.ledger.ends(after, limit)
    }

    fn freeze(&mut self) {
        self.frozen = true;
    }

    fn undelivered(&self) -> Arc<Tally> {
        Arc::clone(&self.undelivered)
    }
}

impl Machine for LrmsMachine {
    fn now(&self) -> SimTime {
        self.now
    }

    fn due(&self) -> Option<SimTime> {
        if self.frozen {
            return None;
        }
        let work = self.cluster.poll_timeout();
        work.into_iter().chain(self.next_sample).min()
    }

    /// Completions, then a pass, then the sample: the order of design 5. What
    /// the pass starts with length 0 ends in a further step of the instant.
    fn step(&mut self, at: SimTime) {
        self.set_now(at);
        if self
            .cluster
            .next_completion()
            .is_some_and(|end| end <= self.now)
        {
            self.handle_completions();
        }
        self.cluster.handle_pass(self.now, &mut self.sink);
        if let (Some(due), Some(home)) = (self.next_sample, self.home)
            && due <= self.now
        {
            self.send_sample(home);
            self.next_sample = Some(due + home.exchange);
        }
    }

    fn take_letters(&mut self, out: &mut Vec<Letter>) {
        out.append(&mut self.letters);
    }

    fn handle_delivery(&mut self, now: SimTime, delivery: Delivery) {
        self.set_now(now);
        if let (Err(_), Some(kind)) = (delivery.result, delivery.letter.message.kind()) {
            self.undelivered.count(kind);
        }
    }

    fn published(&self) -> u64 {
        self.ledger.published()
    }
}

#[cfg(test)]
mod tests;
