//! An agent with what its task gives it.

use super::recall::Recall;
use super::record::Recorder;
use gridrig_core::agent::{
    Cx, Envelope, EnvelopeId, Follow, Handle, JobNews, Journaled, Message as _, Record,
};
use gridrig_core::decision::Decision;
use gridrig_core::event::{Event, EventSink};
use gridrig_core::ids::JobId;
use gridrig_core::time::{SimDuration, SimTime, WallTime};
use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::panic::resume_unwind;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An agent with its log and its outgoing messages. To be looked at as the
/// agent itself; it is changed by [`handle`](Self::handle) alone.
pub struct Driven<A: Journaled> {
    agent: A,
    surroundings: Surroundings<A>,
    followers: Vec<UnboundedSender<JobNews>>,
}

/// Is told each input before the agent handles it. Where it cannot take one, the
/// agent's task ends with a panic that carries the error: an agent must not know what
/// its journal does not.
pub type Journal<I> = Box<dyn FnMut(&Record<I>) -> io::Result<()> + Send>;

/// What the agent is given.
struct Surroundings<A: Journaled> {
    now: SimTime,
    wall: WallTime,
    /// When the wall clock of the agent went on, and from where.
    began: (Instant, WallTime),
    recorder: Recorder,
    journal: Option<Journal<A::Input>>,
    envelopes: Vec<Envelope<A::Sends>>,
    /// By which messages can be stopped that carry data.
    recalls: BTreeMap<JobId, (EnvelopeId, Recall)>,
}

impl<A: Journaled> Surroundings<A> {
    fn read_wall(&self) -> WallTime {
        let (since, from) = self.began;
        let elapsed = u64::try_from(since.elapsed().as_nanos());
        from + SimDuration::from_nanos(elapsed.unwrap_or(u64::MAX))
    }

    fn write(&mut self, record: &Record<A::Input>) {
        let written = self.journal.as_mut().map(|write| write(record));
        if let Some(Err(error)) = written {
            resume_unwind(Box::new(error));
        }
    }
}

impl<A: Journaled> EventSink for Surroundings<A> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.recorder.emit(at, event);
    }

    fn wants_decision(&self, job: JobId) -> bool {
        self.recorder.wants_decision(job)
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        self.recorder.decided(at, decision);
    }
}

impl<A: Journaled> Cx<A::Sends> for Surroundings<A> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn wall(&self) -> WallTime {
        self.wall
    }

    fn send(&mut self, envelope: Envelope<A::Sends>) {
        if let Some(job) = envelope.message.data_of() {
            self.recalls.insert(job, (envelope.id, Recall::default()));
        }
        self.envelopes.push(envelope);
    }

    fn recall(&mut self, job: JobId) -> bool {
        let last = self.recalls.get(&job);
        let stopped = last.is_some_and(|(_, recall)| recall.call_back());
        if stopped {
            self.write(&Record::Stopped(job));
        }
        stopped
    }
}

impl<A: Journaled> Driven<A> {
    /// The agent with its log and its journal, if it has one; `wall` is what its
    /// wall clock shows now. Whoever drives it tells it what is due, and sends what
    /// it says.
    pub fn new(
        agent: A,
        wall: WallTime,
        recorder: Recorder,
        journal: Option<Journal<A::Input>>,
    ) -> Self {
        Driven {
            agent,
            surroundings: Surroundings {
                now: SimTime::ZERO,
                wall,
                began: (super::clock::monotonic_now(), wall),
                recorder,
                journal,
                envelopes: Vec::new(),
                recalls: BTreeMap::new(),
            },
            followers: Vec::new(),
        }
    }

    /// Hands the agent an input at this instant of the run.
    pub fn handle<I: Clone>(&mut self, now: SimTime, input: I) -> A::Answer
    where
        A: Handle<I> + Journaled<Input: From<I>>,
    {
        let wall = self.surroundings.read_wall();
        (self.surroundings.now, self.surroundings.wall) = (now, wall);
        if self.surroundings.journal.is_some() {
            let (at, input) = (now, input.clone().into());
            let record = Record::Input { at, wall, input };
            self.surroundings.write(&record);
        }
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
        A: Handle<Follow> + Journaled<Input: From<Follow>>,
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
        let job = envelope.message.data_of()?;
        let (id, recall) = self.surroundings.recalls.get(&job)?;
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
        due.is_some_and(|due| due <= self.surroundings.read_wall())
    }

    /// Waits until a timer of the wall clock is due.
    pub fn wall_timer(&self) -> impl Future<Output = ()> + use<A> {
        let due = self.agent.next_wall_due();
        let (since, from) = self.surroundings.began;
        let deadline = due.map(|due| {
            let wait = due.as_nanos().saturating_sub(from.as_nanos());
            (since + Duration::from_nanos(wait)).into()
        });
        async move {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        }
    }
}

impl<A: Journaled> Deref for Driven<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.agent
    }
}
