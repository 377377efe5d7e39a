//! An LRMS: its cluster, its sampling, and the jobs that it answers for.

mod claims;
mod inputs;
mod links;

pub use inputs::Exchange;
pub use links::{Claimed, Completions, Inside, Lrms, Pass};

use super::store::{JobState, JobStore, JobView, Naming};
use super::{Agent, Cx, Handle, JobHolder, Participant};
use crate::cluster::{Cluster, ClusterConfig, JobStatus};
use crate::conversation::{Arrival, FromLrms, LrmsSends, ToBroker};
use crate::envelope::{Envelope, EnvelopeId, Tally};
use crate::event::{Event, EventKind, EventSink, Party};
use crate::grid::Grid;
use crate::ids::{DomainId, JobId};
use crate::job::JobSpec;
use crate::load::LoadSample;
use crate::message::{JobEnd, News};
use crate::placement::PlacementRun;
use crate::time::{SimDuration, SimTime, WallTime};
use std::collections::BTreeMap;

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

impl Home {
    /// The broker of this domain, to its LRMSs.
    pub fn of(grid: &Grid, domain: DomainId) -> Self {
        let broker = &grid.domains[domain.index()].broker;
        Home {
            domain,
            latency: broker.lrms_latency,
            exchange: broker.exchange,
        }
    }
}

/// How an LRMS is set up.
#[derive(Clone, Debug)]
pub struct LrmsSetup {
    /// The cluster.
    pub cluster: ClusterConfig,
    /// Its broker; `None` for one that serves clients only.
    pub home: Option<Home>,
    /// Distinguishes the lives of a service that is restarted.
    pub incarnation: u64,
    /// Ended jobs that are still known.
    pub keep_ended: usize,
    /// Whether jobs that were named elsewhere may come too, so that names
    /// given here have to lie apart; so it is in any case with a home.
    pub names_apart: bool,
}

/// An LRMS as a service runs it.
pub struct LrmsAgent {
    lrms: Lrms,
    notes: Notes,
    next_sample: Option<SimTime>,
    /// What a broker could not be told, by job and, of a refusal, its visit, of a claim, its
    /// request.
    untold: BTreeMap<(JobId, Option<u64>), (DomainId, ToBroker)>,
    /// When it is told again.
    tell_again_at: Option<WallTime>,
    frozen: bool,
}

/// What it remembers so that no message counts twice.
struct Notes {
    here: Party,
    store: JobStore,
    now: SimTime,
    next_id: EnvelopeId,
    undelivered: Tally,
    /// Jobs of which parts were asked for here: the latest request, and what is known of
    /// one that has not begun.
    parts: BTreeMap<JobId, (SimTime, Option<Box<Arrival>>)>,
    /// What has become of jobs, where somebody follows them.
    news: Option<Vec<JobNews>>,
}

/// From now on the LRMS tells of every job that is queued, starts or ends here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Follow;

/// What something outside the model has decided about a job that waits or runs
/// here: a real LRMS, or the process that the job stands for. It counts from
/// `at`, or from the latest change told since.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outside<T> {
    /// Since when.
    pub at: SimTime,
    /// The job.
    pub job: JobId,
    /// What has been decided: it starts on these
    /// [`ProcessorIds`](crate::cluster::ProcessorIds), it has run to its end
    /// (`()`), or it is lost for this [`Reason`](crate::job::Reason).
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
    /// A node that it ran on has failed: it is in the queue again.
    Requeued {
        /// The job.
        job: JobId,
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
    pub fn new(setup: LrmsSetup) -> Self {
        let next = if setup.home.is_some() || setup.names_apart {
            UNNAMED_FROM
        } else {
            0
        };
        let sampled = setup.home.filter(|home| !home.exchange.is_zero());
        LrmsAgent {
            notes: Notes {
                here: Party::Lrms(setup.cluster.id),
                store: JobStore::new(setup.keep_ended, Naming { next, step: 1 }),
                now: SimTime::ZERO,
                next_id: EnvelopeId::first(setup.incarnation),
                undelivered: Tally::default(),
                parts: BTreeMap::new(),
                news: None,
            },
            next_sample: sampled.map(|_| SimTime::ZERO),
            untold: BTreeMap::new(),
            tell_again_at: None,
            lrms: Lrms::new(setup.cluster, setup.home),
            frozen: false,
        }
    }

    /// The cluster, to look at.
    pub fn cluster(&self) -> &Cluster {
        self.lrms.cluster()
    }

    /// The LRMS by itself, to look at.
    pub fn lrms(&self) -> &Lrms {
        &self.lrms
    }

    /// What the LRMS would report at this instant.
    pub fn sample_at(&self, now: SimTime) -> LoadSample {
        self.cluster().sample(self.notes.now.max(now))
    }

    /// The LRMS handles an input, and what it sends is written down.
    fn inside<I>(&mut self, cx: &mut impl Cx<FromLrms>, input: I) -> <Lrms as Handle<I>>::Answer
    where
        Lrms: Handle<I>,
    {
        self.catch_up(cx);
        let notes = &mut self.notes;
        self.lrms.handle(&mut Writing { notes, cx }, input)
    }

    /// Inputs count from now on, or from the latest one before.
    fn catch_up(&mut self, cx: &impl Cx<FromLrms>) {
        self.notes.now = self.notes.now.max(cx.now());
    }

    /// A broker is told once more what became of a job: one that repeats a
    /// submission may have been restarted and have missed it.
    fn tell_again(&mut self, cx: &mut impl Cx<FromLrms>, news: Option<News>, to: Party) {
        let (Some(news), Party::Broker(broker)) = (news, to) else {
            return;
        };
        if let News::Ended(end) = news {
            let told = Event::new(EventKind::Notified, end.job, self.notes.here);
            cx.emit(self.notes.now, told.to(to));
        }
        let job = news.job();
        self.post(cx, job, FromLrms::Broker(broker, ToBroker::News(news)));
    }

    fn send_sample(&mut self, cx: &mut impl Cx<FromLrms>, home: Home) {
        let (here, now) = (self.notes.here, self.notes.now);
        let told = Event::new(EventKind::InfoSent, None, here);
        cx.emit(now, told.to(home.domain));
        let info = ToBroker::Info(vec![self.cluster().sample(now)]);
        self.post(cx, None, FromLrms::Broker(home.domain, info));
    }

    fn post(
        &mut self,
        cx: &mut impl Cx<FromLrms>,
        job: impl Into<Option<JobId>>,
        message: FromLrms,
    ) {
        let home = self.lrms.home();
        let latency = home.map_or(SimDuration::ZERO, |home| home.latency);
        let due = self.notes.now + latency;
        self.notes.post(cx, job.into(), due, message);
    }
}

impl Notes {
    fn tell(&mut self, news: impl FnOnce() -> JobNews) {
        if let Some(told) = &mut self.news {
            told.push(news());
        }
    }

    fn note_end(&mut self, end: JobEnd) {
        self.store.end(end);
        let at = self.now;
        self.tell(|| JobNews::Ended { end, at });
    }

    /// Sends a message, about a job to where its news are to go.
    fn post(
        &mut self,
        cx: &mut impl Cx<FromLrms>,
        job: Option<JobId>,
        due: SimTime,
        message: FromLrms,
    ) {
        let record = job.and_then(|job| self.store.get(job));
        cx.send(Envelope {
            id: self.next_id.take(),
            from: self.here,
            address: record.and_then(|record| record.notify.clone()),
            due,
            message,
        });
    }
}

/// What the LRMS inside is given: what it says is noted.
struct Writing<'a, C> {
    notes: &'a mut Notes,
    cx: &'a mut C,
}

impl<C: EventSink> EventSink for Writing<'_, C> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        if let (EventKind::Started, Some(job)) = (event.kind, event.job) {
            let placement = event.placement;
            self.notes.tell(|| JobNews::Started {
                job,
                at,
                placement: placement.to_vec(),
            });
        }
        if let (EventKind::Requeued, Some(job)) = (event.kind, event.job) {
            self.notes.tell(|| JobNews::Requeued { job });
        }
        self.cx.emit(at, event);
    }
}

impl<C: Cx<FromLrms>> Cx<LrmsSends> for Writing<'_, C> {
    fn now(&self) -> SimTime {
        self.notes.now
    }

    fn wall(&self) -> WallTime {
        self.cx.wall()
    }

    fn send(&mut self, envelope: Envelope<LrmsSends>) {
        let (job, message) = match envelope.message {
            FromLrms::Client(end) => {
                self.notes.note_end(end);
                (end.job, FromLrms::Client(end))
            }
            FromLrms::Broker(to, ToBroker::News(news)) => {
                let news = self.notes.store.tell(to.into(), news);
                if let News::Ended(end) = news {
                    self.notes.note_end(end);
                }
                (news.job(), FromLrms::Broker(to, ToBroker::News(news)))
            }
            FromLrms::Broker(to, ToBroker::Claim(asked, held)) => {
                let said = ToBroker::Claim(asked, held);
                (asked.job, FromLrms::Broker(to, said))
            }
            FromLrms::Broker(_, ToBroker::Info(never)) => match never {},
        };
        if let FromLrms::Client(end) = message {
            self.notes.store.publish(end);
            let record = self.notes.store.get(end.job);
            if record.is_none_or(|record| record.notify.is_none()) {
                return;
            }
            let told = Event::new(EventKind::Notified, end.job, self.notes.here);
            self.cx.emit(self.notes.now, told.to(Party::Client));
        }
        self.notes.post(self.cx, Some(job), envelope.due, message);
    }

    fn recall(&mut self, job: JobId) -> bool {
        self.cx.recall(job)
    }
}

impl JobHolder for LrmsAgent {
    fn view(&self, job: JobId) -> Option<JobView> {
        let record = self.notes.store.get(job)?;
        let state = match (record.end, self.cluster().query(job)) {
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
        let jobs = self.notes.store.list(after, limit);
        jobs.filter_map(|job| self.view(job)).collect()
    }

    fn ends(&self, after: u64, limit: usize) -> (u64, Vec<JobEnd>) {
        self.notes.store.ends(after, limit)
    }
}

impl Participant for LrmsAgent {
    type Sends = FromLrms;

    fn next_due(&self) -> Option<SimTime> {
        if self.frozen {
            return None;
        }
        let work = self.lrms.next_due();
        work.into_iter().chain(self.next_sample).min()
    }
}

impl Agent for LrmsAgent {
    fn now(&self) -> SimTime {
        self.notes.now
    }

    fn next_wall_due(&self) -> Option<WallTime> {
        self.tell_again_at.filter(|_| !self.frozen)
    }

    fn published(&self) -> u64 {
        self.notes.store.published()
    }

    fn undelivered(&self) -> Tally {
        self.notes.undelivered
    }

    fn take_news(&mut self) -> Vec<JobNews> {
        let news = self.notes.news.as_mut();
        news.map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
