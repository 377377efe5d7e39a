//! An agent with what its task gives it.

use super::recall::Recall;
use super::record::Recorder;
use gridrig_core::agent::{Agent, Cx, Envelope, EnvelopeId, Follow, Handle, JobNews, Message};
use gridrig_core::event::{Event, EventSink};
use gridrig_core::ids::JobId;
use gridrig_core::time::{SimTime, WallTime};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An agent with its log and its outgoing messages. To be looked at as the
/// agent itself; it is changed by [`handle`](Self::handle) alone.
pub struct Driven<A: Agent> {
    agent: A,
    surroundings: Surroundings<A::Sends>,
    followers: Vec<UnboundedSender<JobNews>>,
}

/// What the agent is given.
struct Surroundings<M> {
    now: SimTime,
    /// When the wall clock of the agent began.
    began: Instant,
    recorder: Recorder,
    envelopes: Vec<Envelope<M>>,
    /// By which messages can be stopped that carry data.
    recalls: BTreeMap<JobId, (EnvelopeId, Recall)>,
}

impl<M> EventSink for Surroundings<M> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.recorder.emit(at, event);
    }
}

impl<M: Message> Cx<M> for Surroundings<M> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn wall(&self) -> WallTime {
        let elapsed = self.began.elapsed().as_nanos();
        WallTime::from_nanos(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    fn send(&mut self, envelope: Envelope<M>) {
        if let Some(job) = envelope.message.data_of() {
            self.recalls.insert(job, (envelope.id, Recall::default()));
        }
        self.envelopes.push(envelope);
    }

    fn recall(&mut self, job: JobId) -> bool {
        let last = self.recalls.get(&job);
        last.is_some_and(|(_, recall)| recall.call_back())
    }
}

impl<A: Agent> Driven<A> {
    /// The agent with its log. Whoever drives it tells it what is due, and sends
    /// what it says.
    pub fn new(agent: A, recorder: Recorder) -> Self {
        Driven {
            agent,
            surroundings: Surroundings {
                now: SimTime::ZERO,
                began: super::clock::monotonic_now(),
                recorder,
                envelopes: Vec::new(),
                recalls: BTreeMap::new(),
            },
            followers: Vec::new(),
        }
    }

    /// Hands the agent an input at this instant of the run.
    pub fn handle<I>(&mut self, now: SimTime, input: I) -> A::Answer
    where
        A: Handle<I>,
    {
        self.surroundings.now = now;
        let answer = self.agent.handle(&mut self.surroundings, input);
        for news in self.agent.take_news() {
            let told = |follower: &UnboundedSender<JobNews>| follower.send(news.clone()).is_ok();
            self.followers.retain(told);
        }
        answer
    }

    /// From now on, tells of every job that is queued, starts or ends here.
    /// News that nobody takes are kept, so the receiver is to be read or
    /// dropped; what an input changed is told before it is answered.
    pub fn follow(&mut self) -> UnboundedReceiver<JobNews>
    where
        A: Handle<Follow>,
    {
        let (follower, news) = unbounded_channel();
        self.handle(self.surroundings.now, Follow);
        self.followers.push(follower);
        news
    }

    /// What the agent has said since this was last asked.
    pub fn take_envelopes(&mut self) -> Vec<Envelope<A::Sends>> {
        std::mem::take(&mut self.surroundings.envelopes)
    }

    /// By which a message can be called back until it has been delivered.
    pub(super) fn recall_of(&self, envelope: &Envelope<A::Sends>) -> Option<Recall> {
        let (id, recall) = self
            .surroundings
            .recalls
            .get(&envelope.message.data_of()?)?;
        (*id == envelope.id).then(|| recall.clone())
    }

    /// Nothing can be called back of a message that has been delivered or lost.
    pub(super) fn forget_recall(&mut self, envelope: &Envelope<A::Sends>) {
        if let Some(job) = envelope.message.data_of()
            && self.recall_of(envelope).is_some()
        {
            self.surroundings.recalls.remove(&job);
        }
    }

    /// Whether timers of the wall clock are due.
    pub fn is_wall_due(&self) -> bool {
        let due = self.agent.next_wall_due();
        due.is_some_and(|due| due <= self.surroundings.wall())
    }

    /// Waits until a timer of the wall clock is due.
    pub fn wall_timer(&self) -> impl Future<Output = ()> + use<A> {
        let due = self.agent.next_wall_due();
        let wait = due.map(|due| Duration::from_nanos(due.as_nanos()));
        let deadline = wait.map(|wait| (self.surroundings.began + wait).into());
        async move {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        }
    }
}

impl<A: Agent> Deref for Driven<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.agent
    }
}
