//! An LRMS: its cluster, its sampling, and the jobs that it answers for.

mod inputs;

use super::conversation::{FromLrms, ToBroker};
use super::ledger::{JobState, JobView, Ledger, Naming};
use super::letter::{Letter, LetterId, Tally};
use super::{Agent, Cx, JobKeeper};
use crate::cluster::{Cluster, ClusterConfig, Finished, JobStatus};
use crate::event::{Event, EventKind, Party};
use crate::ids::{DomainId, JobId};
use crate::job::{JobSpec, Reason};
use crate::load::LoadSample;
use crate::message::{EndState, JobEnd, News};
use crate::placement::PlacementRun;
use crate::time::{SimDuration, SimTime};
use std::sync::Arc;

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

/// An LRMS.
pub struct LrmsAgent {
    cluster: Cluster,
    home: Option<Home>,
    ledger: Ledger,
    now: SimTime,
    next_sample: Option<SimTime>,
    frozen: bool,
    incarnation: u64,
    letters_written: u64,
    finished: Vec<Finished>,
    undelivered: Tally,
    /// What has become of jobs, where somebody follows them.
    news: Option<Vec<JobNews>>,
}

/// From now on the LRMS tells of every job that is queued, starts or ends here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follow;

/// What something outside the model has decided about a job that waits or runs
/// here: a real LRMS, or the process that the job stands for. It counts from
/// `at`, or from the latest change told since.
#[derive(Clone, Debug)]
pub struct Outside<T> {
    /// Since when.
    pub at: SimTime,
    /// The job.
    pub job: JobId,
    /// What has been decided: it starts on these [`ProcessorIds`](crate::cluster::ProcessorIds), it has run to its
    /// end (`()`), or it is lost for this [`Reason`].
    pub what: T,
}

/// What becomes of a job here, for whoever [follows](Follow).
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

impl LrmsAgent {
    /// An empty LRMS.
    #[must_use]
    pub fn new(setup: LrmsSetup) -> Self {
        let next = if setup.home.is_some() || setup.names_apart {
            UNNAMED_FROM
        } else {
            0
        };
        let sampled = setup.home.filter(|home| !home.exchange.is_zero());
        LrmsAgent {
            cluster: Cluster::new(setup.cluster),
            ledger: Ledger::new(setup.keep_ended, Naming { next, step: 1 }),
            next_sample: sampled.map(|_| SimTime::ZERO),
            home: setup.home,
            frozen: false,
            now: SimTime::ZERO,
            incarnation: setup.incarnation,
            letters_written: 0,
            finished: Vec::new(),
            undelivered: Tally::default(),
            news: None,
        }
    }

    /// The cluster, to look at.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// What the LRMS would report at this instant.
    #[must_use]
    pub fn sample_at(&self, now: SimTime) -> LoadSample {
        self.cluster.sample(self.now.max(now))
    }

    fn tell(&mut self, news: impl FnOnce() -> JobNews) {
        if let Some(told) = &mut self.news {
            told.push(news());
        }
    }

    /// The end of a job that does not come to its own: what has run by then
    /// is told with it. To be asked before it ends.
    fn cut_short(&self, job: JobId, state: EndState, at: SimTime) -> JobEnd {
        let end = JobEnd::without_run(job, state);
        match self.cluster.query(job) {
            Some(JobStatus::Running { start, .. }) => JobEnd {
                cluster: Some(self.cluster.id()),
                start: Some(start),
                finish: Some(at.max(start)),
                ..end
            },
            _ => end,
        }
    }

    fn completed(&mut self, cx: &mut impl Cx<FromLrms>, finished: Finished) {
        let Finished { job, start, finish } = finished;
        let end = JobEnd {
            job,
            state: EndState::Completed,
            cluster: Some(self.cluster.id()),
            start: Some(start),
            finish: Some(finish),
        };
        self.end(cx, self.now, end);
    }

    fn turn_away(&mut self, cx: &mut impl Cx<FromLrms>, job: JobId, from: Party, reason: Reason) {
        let by = Party::Lrms(self.cluster.id());
        let end = JobEnd::without_run(job, EndState::Rejected(reason));
        match from {
            Party::Broker(broker) => {
                cx.emit(
                    self.now,
                    Event::new(EventKind::Refused, job, by)
                        .to(from)
                        .because(reason),
                );
                self.ledger.end(end);
                self.write_news(cx, broker, News::Refused { job, reason });
            }
            Party::Client | Party::Lrms(_) => {
                cx.emit(
                    self.now,
                    Event::new(EventKind::Rejected, job, by).because(reason),
                );
                self.end(cx, self.now, end);
            }
        }
    }

    /// A job's end goes back to whoever brought the job.
    fn end(&mut self, cx: &mut impl Cx<FromLrms>, at: SimTime, end: JobEnd) {
        self.ledger.end(end);
        self.tell(|| JobNews::Ended { end, at });
        let record = self.ledger.get(end.job);
        let to = record.map_or(Party::Client, |record| record.from);
        let wants_news = record.is_some_and(|record| record.notify.is_some());
        let from = Party::Lrms(self.cluster.id());
        if to == Party::Client {
            cx.emit(
                at,
                Event::new(EventKind::FinishSeen, end.job, Party::Client),
            );
            self.ledger.publish(end);
            if !wants_news {
                return;
            }
        }
        cx.emit(at, Event::new(EventKind::Notified, end.job, from).to(to));
        match to {
            Party::Broker(broker) => self.write_news(cx, broker, News::Ended(end)),
            Party::Client | Party::Lrms(_) => {
                self.write(cx, end.job, FromLrms::Client(end));
            }
        }
    }

    /// A broker that repeats a submission may have been started anew and have
    /// missed what became of the job: an end is told once more.
    fn tell_again(&mut self, cx: &mut impl Cx<FromLrms>, job: JobId, to: Party) {
        let end = self.ledger.get(job).and_then(|record| record.end);
        let (Some(end), Party::Broker(broker)) = (end, to) else {
            return;
        };
        let news = match end.state {
            EndState::Rejected(reason) => News::Refused { job, reason },
            _ => {
                let from = Party::Lrms(self.cluster.id());
                cx.emit(self.now, Event::new(EventKind::Notified, job, from).to(to));
                News::Ended(end)
            }
        };
        self.write_news(cx, broker, news);
    }

    fn write_news(&mut self, cx: &mut impl Cx<FromLrms>, broker: DomainId, news: News) {
        let message = FromLrms::Broker(broker, ToBroker::News(news));
        self.write(cx, news.job(), message);
    }

    fn write(&mut self, cx: &mut impl Cx<FromLrms>, job: JobId, message: FromLrms) {
        let record = self.ledger.get(job);
        let address = record.and_then(|record| record.notify.clone());
        let latency = self.home.map_or(SimDuration::ZERO, |home| home.latency);
        self.post(cx, address, latency, message);
    }

    fn post(
        &mut self,
        cx: &mut impl Cx<FromLrms>,
        address: Option<Arc<str>>,
        latency: SimDuration,
        message: FromLrms,
    ) {
        let (incarnation, number) = (self.incarnation, self.letters_written);
        self.letters_written += 1;
        cx.send(Letter {
            id: LetterId {
                incarnation,
                number,
            },
            from: Party::Lrms(self.cluster.id()),
            address,
            due: self.now + latency,
            message,
        });
    }

    fn handle_completions(&mut self, cx: &mut impl Cx<FromLrms>) {
        let mut finished = std::mem::take(&mut self.finished);
        self.cluster.handle_completions(self.now, cx, &mut finished);
        for ended in finished.drain(..) {
            self.completed(cx, ended);
        }
        self.finished = finished;
    }

    fn send_sample(&mut self, cx: &mut impl Cx<FromLrms>, home: Home) {
        let (from, to) = (Party::Lrms(self.cluster.id()), Party::Broker(home.domain));
        cx.emit(self.now, Event::new(EventKind::InfoSent, None, from).to(to));
        let info = ToBroker::Info(vec![self.cluster.sample(self.now)]);
        self.post(cx, None, home.latency, FromLrms::Broker(home.domain, info));
    }

    fn set_now(&mut self, now: SimTime) {
        self.now = self.now.max(now);
    }
}

impl JobKeeper for LrmsAgent {
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
        Some(record.view(state))
    }

    fn list(&self, after: Option<JobId>, limit: usize) -> Vec<JobView> {
        let jobs = self.ledger.list(after, limit);
        jobs.filter_map(|job| self.view(job)).collect()
    }

    fn ends(&self, after: u64, limit: usize) -> (u64, Vec<JobEnd>) {
        self.ledger.ends(after, limit)
    }
}

impl Agent for LrmsAgent {
    type Sends = FromLrms;

    fn now(&self) -> SimTime {
        self.now
    }

    fn next_due(&self) -> Option<SimTime> {
        if self.frozen {
            return None;
        }
        let work = self.cluster.poll_timeout();
        work.into_iter().chain(self.next_sample).min()
    }

    fn published(&self) -> u64 {
        self.ledger.published()
    }

    fn undelivered(&self) -> Tally {
        self.undelivered
    }

    fn take_news(&mut self) -> Vec<JobNews> {
        self.news.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
