//! What is going on, between the run that tells it and the pages that show it.

use super::document::{self, Message, Now, Rows, RunDoc, SessionDoc};
use super::exchange;
use super::series::Series;
use super::words::Line;
use crate::realtime::Listener;
use gridrig_core::grid::Grid;
use gridrig_core::ids::JobId;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, oneshot};

/// Time between two messages.
const TICK: Duration = Duration::from_millis(250);
/// Readers of the stream at a time.
const READERS: usize = 64;
/// Messages that a slow reader may be behind before it is given the whole
/// state again.
const BACKLOG: usize = 16;
/// Questions for the life of a job that wait for the run's answer.
const QUESTIONS: usize = 16;
/// Runs of a session that are listed.
const RUNS: usize = 2000;

/// One message of the stream.
#[derive(Clone, Debug)]
pub struct News {
    /// `snapshot` or `delta`.
    pub kind: &'static str,
    /// A [`Message`] as JSON.
    pub json: Arc<str>,
}

/// What is going on.
pub struct Hub {
    state: Mutex<State>,
    news: broadcast::Sender<News>,
    readers: Arc<Semaphore>,
    /// Of the run that goes on or was the last one.
    listener: Mutex<Listener>,
}

/// A question about a job of the run that goes on.
pub struct Question {
    /// The job.
    pub job: JobId,
    /// Where its life goes; none if there is no such job.
    pub answer: oneshot::Sender<Option<Value>>,
}

/// What a run publishes at a time.
pub struct Shown {
    /// How things are.
    pub now: Now,
    /// Jobs over time.
    pub history: Series,
    /// Queues over time.
    pub sparks: Series,
    /// The newest events.
    pub feed: Vec<Line>,
}

#[derive(Default)]
struct State {
    seq: u64,
    session: Option<SessionDoc>,
    runs: Vec<RunDoc>,
    current: Option<usize>,
    grid: Value,
    shown: Option<Shown>,
    questions: Vec<Question>,
    /// Something has changed since the last message.
    dirty: bool,
    /// What readers have of it; none where they need all of it.
    sent: Option<Sent>,
}

/// What readers have.
#[derive(Clone, Copy, Default)]
struct Sent {
    runs: bool,
    history: (u32, usize),
    sparks: (u32, usize),
    feed: Option<u64>,
}

impl Default for Hub {
    fn default() -> Self {
        Hub {
            state: Mutex::new(State {
                grid: document::grid(&Grid::default()),
                ..State::default()
            }),
            news: broadcast::Sender::new(BACKLOG),
            readers: Arc::new(Semaphore::new(READERS)),
            listener: Mutex::default(),
        }
    }
}

/// A reader of the stream: the whole state first, then what is new.
pub struct Reader {
    hub: Arc<Hub>,
    first: Option<News>,
    news: broadcast::Receiver<News>,
    _place: OwnedSemaphorePermit,
}

impl Reader {
    /// The next message; none when there will be no more.
    pub async fn next(&mut self) -> Option<News> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        match self.news.recv().await {
            Ok(news) => Some(news),
            Err(broadcast::error::RecvError::Lagged(_)) => {
                let (news, snapshot) = self.hub.join();
                self.news = news;
                Some(snapshot)
            }
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

impl Hub {
    /// A new reader; none when there are too many.
    pub fn reader(self: &Arc<Self>) -> Option<Reader> {
        let place = Arc::clone(&self.readers).try_acquire_owned().ok()?;
        let (news, first) = self.join();
        Some(Reader {
            hub: Arc::clone(self),
            first: Some(first),
            news,
            _place: place,
        })
    }

    /// The whole state, and everything that comes after it.
    fn join(&self) -> (broadcast::Receiver<News>, News) {
        let state = self.state.lock();
        let news = self.news.subscribe();
        (news, state.since(None))
    }

    /// The whole state as JSON.
    pub fn snapshot(&self) -> Arc<str> {
        self.state.lock().since(None).json
    }

    /// Sends what is new, four times a second at the most, for ever.
    pub async fn tick(&self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let mut state = self.state.lock();
            if let Some(news) = state.news() {
                // Nobody listening is no error.
                let _ = self.news.send(news);
            }
        }
    }

    /// A new session begins.
    pub fn begin(&self, session: SessionDoc, runs: Vec<RunDoc>) {
        let mut state = self.state.lock();
        state.session = Some(session);
        state.runs = runs;
        state.runs.truncate(RUNS);
        state.current = None;
        state.shown = None;
        state.grid = document::grid(&Grid::default());
        state.start_over();
    }

    /// Changes the session.
    pub fn session(&self, change: impl FnOnce(&mut SessionDoc)) {
        let mut state = self.state.lock();
        if let Some(session) = state.session.as_mut() {
            change(session);
        }
        state.dirty = true;
    }

    /// Whether a session goes on here.
    pub fn is_busy(&self) -> bool {
        let state = self.state.lock();
        let session = state.session.as_ref();
        session.is_some_and(|session| matches!(session.state, "preparing" | "running"))
    }

    /// Whether this session is the one that is shown.
    pub fn shows(&self, id: u64) -> bool {
        self.state
            .lock()
            .session
            .as_ref()
            .is_some_and(|session| session.id == id)
    }

    /// A run of the session begins.
    pub fn start_run(&self, position: usize, grid: Value) {
        let mut state = self.state.lock();
        state.current = Some(position);
        state.grid = grid;
        state.shown = None;
        if let Some(run) = state.runs.get_mut(position) {
            run.state = "running";
        }
        state.start_over();
    }

    /// A run of the session looks like this now.
    pub fn change_run(&self, position: usize, change: impl FnOnce(&mut RunDoc)) {
        self.state
            .lock()
            .changed_runs()
            .get_mut(position)
            .map(change);
    }

    /// The run that goes on has come to its end and is audited and written.
    pub fn write_run(&self) {
        let position = self.state.lock().current;
        if let Some(position) = position {
            self.change_run(position, |run| run.state = "writing");
        }
    }

    /// All runs of the session, to be changed.
    pub fn change_runs(&self, change: impl FnMut(&mut RunDoc)) {
        self.state.lock().changed_runs().iter_mut().for_each(change);
    }

    /// A run begins, which is listened to if it is one in real time.
    pub fn listen(&self, listener: &Listener) {
        *self.listener.lock() = listener.clone();
    }

    /// How many events of that run came too fast to be heard.
    pub fn missed(&self) -> u64 {
        self.listener.lock().missed()
    }

    /// What was said about a job in that run.
    pub fn exchanges(&self, job: JobId) -> Value {
        let listener = self.listener.lock();
        exchange::about(&listener, job)
    }

    /// The run that goes on looks like this.
    pub fn publish(&self, shown: Shown) {
        let mut state = self.state.lock();
        state.shown = Some(shown);
        state.dirty = true;
    }

    /// How much each cluster was used over a run that is over, if it is the one shown.
    pub fn used(&self, position: usize, used: Vec<Option<f64>>) {
        let mut state = self.state.lock();
        let is_shown = state.current == Some(position);
        if let Some(shown) = state.shown.as_mut().filter(|_| is_shown) {
            shown.now.used = used;
        }
        state.dirty = true;
    }

    /// Position and name of the run that goes on or was the last one.
    pub fn current(&self) -> Option<RunDoc> {
        let state = self.state.lock();
        state.runs.get(state.current?).cloned()
    }

    /// Asks the run that goes on about a job; none when too many ask.
    pub fn ask(&self, job: JobId) -> Option<oneshot::Receiver<Option<Value>>> {
        let (answer, life) = oneshot::channel();
        let mut state = self.state.lock();
        state
            .questions
            .retain(|question| !question.answer.is_closed());
        if state.questions.len() >= QUESTIONS {
            return None;
        }
        state.questions.push(Question { job, answer });
        Some(life)
    }

    /// The questions that the run has to answer.
    pub fn questions(&self) -> Vec<Question> {
        std::mem::take(&mut self.state.lock().questions)
    }
}

impl State {
    /// Readers need the whole state.
    fn start_over(&mut self) {
        self.sent = None;
        self.dirty = true;
    }

    fn now(&self) -> Sent {
        let of = |series: &Series| (series.epoch(), series.len());
        let mut now = Sent::default();
        if let Some(shown) = &self.shown {
            (now.history, now.sparks) = (of(&shown.history), of(&shown.sparks));
            now.feed = shown.feed.last().map(|line| line.n);
        }
        Sent { runs: true, ..now }
    }

    /// The runs, which readers are to have again.
    fn changed_runs(&mut self) -> &mut [RunDoc] {
        if let Some(sent) = self.sent.as_mut() {
            sent.runs = false;
        }
        self.dirty = true;
        &mut self.runs
    }

    /// What readers do not have yet, if there is anything.
    fn news(&mut self) -> Option<News> {
        if !std::mem::take(&mut self.dirty) {
            return None;
        }
        self.seq += 1;
        let now = self.now();
        let sent = self.sent.replace(now);
        Some(self.since(sent))
    }

    /// What readers who have this do not have; the whole state for none.
    fn since(&self, sent: Option<Sent>) -> News {
        let shown = self.shown.as_ref();
        let rows = |series: Option<&Series>, sent: Option<(u32, usize)>| {
            let Some(series) = series else {
                return Rows::default();
            };
            let known = sent.filter(|(epoch, _)| *epoch == series.epoch());
            let from = known.map_or(0, |(_, len)| len.min(series.len()));
            let rows = series.rows(from);
            Rows { from, rows }
        };
        let feed = shown.map_or(&[][..], |shown| &shown.feed);
        let last = sent.and_then(|sent| sent.feed);
        let known = feed.partition_point(|line| last.is_some_and(|last| line.n <= last));
        let message = Message {
            seq: self.seq,
            session: self.session.as_ref(),
            runs: sent.is_none_or(|sent| !sent.runs).then_some(&self.runs[..]),
            current: self.current,
            grid: sent.is_none().then_some(&self.grid),
            now: shown.map(|shown| &shown.now),
            course: rows(shown.map(|s| &s.history), sent.map(|sent| sent.history)),
            sparks: rows(shown.map(|s| &s.sparks), sent.map(|sent| sent.sparks)),
            feed: feed.get(known..).unwrap_or_default(),
        };
        News {
            kind: if sent.is_none() { "snapshot" } else { "delta" },
            json: json(&message),
        }
    }
}

fn json(message: &Message<'_>) -> Arc<str> {
    match serde_json::to_string(message) {
        Ok(text) => text.into(),
        Err(error) => {
            tracing::error!(%error, "a message could not be written");
            "{}".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock;
    use super::*;

    #[tokio::test]
    async fn there_are_four_messages_a_second_at_the_most() {
        let hub = Arc::new(Hub::default());
        let mut reader = hub.reader().expect("a place");
        let whole = reader.next().await.expect("the state");
        assert_eq!(whole.kind, "snapshot");
        let begin = clock();
        let (ticking, changing) = (Arc::clone(&hub), Arc::clone(&hub));
        let tasks = [
            tokio::spawn(async move { ticking.tick().await }),
            tokio::spawn(async move {
                loop {
                    changing.change_runs(|_| {});
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }),
        ];
        // The first may come at once; each of the others a quarter later.
        for _ in 0..5 {
            reader.next().await.expect("news");
        }
        assert!(clock().saturating_duration_since(begin) >= 4 * TICK);
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
