//! An LRMS in real time: the cluster of the core, its sampling, and the jobs
//! that it answers for.

use super::actor::{JobKeeper, Machine};
use super::ledger::{Arrival, JobState, JobView, Ledger, Naming, Opened, Receipt, SubmitError};
use super::letter::{Letter, LetterId, Message, Tally};
use super::outbox::Delivery;
use super::record::Recorder;
use gridrig_core::cluster::{Cluster, ClusterConfig, Finished, JobStatus};
use gridrig_core::event::{Event, EventSink, Party};
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
}

/// An LRMS as its task owns it.
pub struct LrmsMachine {
    cluster: Cluster,
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

/// Longest tag, in characters.
const MOST_TAG: usize = 200;

impl LrmsMachine {
    /// An empty LRMS that tells `recorder` what happens.
    #[must_use]
    pub fn new(setup: LrmsSetup, recorder: Recorder) -> Self {
        let next = if setup.home.is_some() {
            UNNAMED_FROM
        } else {
            0
        };
        let sampled = setup.home.filter(|home| !home.exchange.is_zero());
        LrmsMachine {
            cluster: Cluster::new(setup.cluster),
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
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// What the LRMS would report at this instant.
    #[must_use]
    pub fn sample_at(&mut self, now: SimTime) -> LoadSample {
        self.set_now(now);
        self.cluster.sample(self.now)
    }

    /// Notes what whoever submitted a job calls it: its name in a description
    /// of another system, cut to 200 characters. By it a job is found
    /// again that came through somebody else's broker.
    pub fn set_tag(&mut self, job: JobId, tag: &str) {
        let tag: String = tag.chars().take(MOST_TAG).collect();
        self.ledger.set_tag(job, tag.into());
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
                    Event::Refused {
                        job,
                        by,
                        to: from,
                        reason,
                    },
                );
                self.ledger.end(end);
                self.write(job, from, Message::Refusal { job, reason });
            }
            Party::Client | Party::Lrms(_) => {
                self.sink
                    .emit(self.now, Event::Rejected { job, by, reason });
                self.end(self.now, end);
            }
        }
    }

    /// Removes a job that waits or runs; `false` if it is not here (any more).
    pub fn cancel(&mut self, now: SimTime, job: JobId) -> bool {
        self.set_now(now);
        let cancelled = self.cluster.cancel(self.now, job, &mut self.sink);
        if cancelled {
            self.end(self.now, end_of(job, EndState::Cancelled));
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
                Event::FinishSeen {
                    job: end.job,
                    by: Party::Client,
                },
            );
            self.ledger.publish(end);
            if !wants_news {
                return;
            }
        }
        self.sink.emit(
            at,
            Event::Notified {
                job: end.job,
                from: here,
                to: from,
            },
        );
        self.write(end.job, from, Message::Notice(end));
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
        self.sink.emit(self.now, Event::InfoSent { from, to });
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
        if let Event::Started { job, placement, .. } = event {
            self.tell(|| JobNews::Started {
                job,
                at,
                placement: placement.to_vec(),
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
            Opened::Repeated(receipt) => return Ok(receipt),
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
mod tests {
    use super::*;
    use gridrig_core::discipline::DisciplineKind;
    use gridrig_core::ids::ClusterId;
    use gridrig_core::resource::Resources;

    fn lrms(home: bool) -> LrmsMachine {
        let cluster = ClusterConfig::new(
            ClusterId(0),
            Resources::homogeneous(4),
            DisciplineKind::FirstInFirstFit,
        );
        let home = home.then_some(Home {
            domain: DomainId(0),
            latency: SimDuration::from_millis(1),
            exchange: SimDuration::from_secs(15),
        });
        let setup = LrmsSetup {
            cluster,
            home,
            incarnation: 1,
            keep_ended: 100,
        };
        LrmsMachine::new(setup, Recorder::default())
    }

    fn arrival(id: u32, processors: u32, seconds: u64, from: Party) -> Arrival {
        let spec = JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(seconds));
        let key = Some(format!("run/{id}/0"));
        Arrival {
            key,
            id: Some(JobId(id)),
            spec,
            from,
            hop: 0,
            meant: None,
            notify: None,
        }
    }

    fn events(machine: &LrmsMachine) -> Vec<(f64, String)> {
        let log = machine.sink.recorder.page(0, usize::MAX).events;
        let name = |recorded: &super::super::Recorded| {
            let text = format!("{:?}", recorded.event());
            (
                recorded.at.as_secs_f64(),
                text.split([' ', '{']).next().unwrap_or("").to_owned(),
            )
        };
        log.iter().map(name).collect()
    }

    #[test]
    fn timers_that_are_late_happen_at_their_nominal_instants_before_the_message() {
        let mut machine = lrms(true);
        let broker = Party::Broker(DomainId(0));
        machine.advance(SimTime::ZERO);
        machine
            .submit(SimTime::from_secs(1), arrival(0, 4, 10, broker))
            .unwrap();
        machine.advance(machine.now());
        machine.advance(SimTime::from_secs(16));
        machine
            .submit(SimTime::from_secs(16), arrival(1, 1, 1, broker))
            .unwrap();
        let seen = events(&machine);
        let expected = [
            (0.0, "InfoSent"),
            (1.0, "Queued"),
            (1.0, "Started"),
            (11.0, "Finished"),
            (11.0, "Notified"),
            (15.0, "InfoSent"),
            (16.0, "Queued"),
        ];
        let expected: Vec<_> = expected.map(|(at, name)| (at, name.to_owned())).into();
        assert_eq!(seen, expected);
        let mut letters = Vec::new();
        machine.take_letters(&mut letters);
        let due: Vec<f64> = letters
            .iter()
            .map(|letter| letter.due.as_secs_f64())
            .collect();
        assert_eq!(due, [0.001, 11.001, 15.001]);
    }

    #[test]
    fn who_follows_hears_of_queue_start_and_end() {
        let mut machine = lrms(false);
        let mut news = machine.follow();
        let ignored = machine.follow();
        drop(ignored);
        machine
            .submit(SimTime::from_secs(1), arrival(0, 3, 5, Party::Client))
            .unwrap();
        machine.advance(SimTime::from_secs(9));
        let mut heard = Vec::new();
        while let Ok(one) = news.try_recv() {
            heard.push(match one {
                JobNews::Queued { spec, at } => ("queued", spec.id, at),
                JobNews::Started { job, at, placement } => {
                    let taken: u32 = placement.iter().map(|run| run.nodes).sum();
                    assert_eq!(taken, 3);
                    ("started", job, at)
                }
                JobNews::Ended { end, at } => {
                    assert_eq!(end.finish, Some(at));
                    ("ended", end.job, at)
                }
            });
        }
        let at = SimTime::from_secs;
        let expected = [
            ("queued", JobId(0), at(1)),
            ("started", JobId(0), at(1)),
            ("ended", JobId(0), at(6)),
        ];
        assert_eq!(heard, expected);
    }

    #[test]
    fn a_job_whose_end_is_decided_outside_ends_then_and_makes_room() {
        let mut machine = lrms(false);
        for id in 0..2 {
            let job = arrival(id, 4, 1_000, Party::Client);
            machine.submit(SimTime::ZERO, job).unwrap();
        }
        machine.advance(SimTime::ZERO);
        let at = SimTime::from_secs(7);
        assert!(!machine.finish(at, JobId(1)), "it waits");
        assert!(machine.finish(at, JobId(0)) && !machine.finish(at, JobId(0)));
        machine.advance(at);
        let JobState::Ended(end) = machine.view(JobId(0)).unwrap().state else {
            panic!("it has ended");
        };
        assert_eq!((end.state, end.finish), (EndState::Completed, Some(at)));
        let next = machine.view(JobId(1)).unwrap().state;
        assert!(matches!(next, JobState::Running { start, .. } if start == at));
        assert_eq!(machine.published(), 1);
        // Nothing is left of the first job's own end, nor of its work.
        assert_eq!(machine.due(), Some(SimTime::from_secs(1_007)));
        assert_eq!(machine.sample_at(at).work_left, 4 * 1_000 * 1_000_000_000);
    }

    #[test]
    fn time_never_moves_back() {
        let mut machine = lrms(false);
        machine
            .submit(SimTime::from_secs(9), arrival(0, 1, 1, Party::Client))
            .unwrap();
        machine
            .submit(SimTime::from_secs(3), arrival(1, 1, 1, Party::Client))
            .unwrap();
        assert_eq!(machine.now(), SimTime::from_secs(9));
    }

    #[test]
    fn a_job_that_never_fits_is_rejected_to_a_client_and_refused_to_a_broker() {
        let mut machine = lrms(true);
        let receipt = machine
            .submit(SimTime::ZERO, arrival(0, 5, 1, Party::Client))
            .unwrap();
        assert_eq!(receipt.taken, Err(Reason::NeverFits));
        assert_eq!(machine.published(), 1);
        let broker = Party::Broker(DomainId(0));
        machine
            .submit(SimTime::ZERO, arrival(1, 5, 1, broker))
            .unwrap();
        let mut letters = Vec::new();
        machine.take_letters(&mut letters);
        let refusal = Message::Refusal {
            job: JobId(1),
            reason: Reason::NeverFits,
        };
        assert_eq!(
            letters.iter().map(|l| &l.message).collect::<Vec<_>>(),
            [&refusal]
        );
        let state = machine.view(JobId(1)).unwrap().state;
        assert!(matches!(state, JobState::Ended(_)), "{state:?}");
    }

    #[test]
    fn a_job_of_length_0_ends_in_a_further_step_of_its_instant() {
        let mut machine = lrms(false);
        machine
            .submit(SimTime::from_secs(2), arrival(0, 1, 0, Party::Client))
            .unwrap();
        machine.advance(machine.now());
        assert_eq!(machine.published(), 1);
        assert_eq!(machine.now(), SimTime::from_secs(2));
    }

    #[test]
    fn a_cancelled_job_is_over_and_its_broker_is_told() {
        let mut machine = lrms(true);
        let broker = Party::Broker(DomainId(0));
        machine
            .submit(SimTime::ZERO, arrival(0, 1, 9, broker))
            .unwrap();
        assert!(machine.cancel(SimTime::from_secs(1), JobId(0)));
        assert!(!machine.cancel(SimTime::from_secs(1), JobId(0)));
        let mut letters = Vec::new();
        machine.take_letters(&mut letters);
        assert!(matches!(
            letters[0].message,
            Message::Notice(JobEnd {
                state: EndState::Cancelled,
                ..
            })
        ));
    }
}
