//! Co-allocation by advance reservations (JSS: Elmroth and Tordsson, 3.2): one reservation
//! for each job of a set, all starting within a short time of one another.
//!
//! Which resource can be reserved when is known only by asking it, so that the search says
//! what it asks and is told the answer, by messages or by a function. It is written as it is
//! read, from one question to the next: an `async` function is a machine that stops at each
//! of them, and nothing else is meant by it here.

mod augment;
mod best;
mod exact;
mod matching;

use crate::time::{SimDuration, SimTime};
use matching::Matching;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

pub use best::Place;

/// Jobs of a set at most: they are bits of a number.
pub const MOST_JOBS: usize = 64;

/// So many questions a search asks at most, and fails after that.
const MOST_QUESTIONS: usize = 100_000;

/// What is sought.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// For each job the resources that could run it, the best one first; the jobs that are
    /// hardest to place come first.
    pub resources: Vec<Vec<usize>>,
    /// The first start that will do.
    pub earliest: SimTime,
    /// The last one.
    pub latest: SimTime,
    /// How far apart the starts may be.
    pub deviation: SimDuration,
    /// Whether each window is searched through before the next one.
    pub exact: bool,
}

/// A resource is asked for one reservation for all of these jobs and no others. If it is
/// refused what it has reserved for this set stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Whom.
    pub resource: usize,
    /// The jobs as a sum of powers of two; 0: it lets go of what it has reserved, and
    /// cannot refuse that.
    pub jobs: u64,
    /// The first and the last start that will do.
    pub window: (SimTime, SimTime),
}

/// What a resource answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is reserved from then on.
    Granted(SimTime),
    /// It is not, and the same might be from the instant on, if there is one.
    Refused(Option<SimTime>),
}

/// The resource of each job, and when its reservation starts.
pub type Found = Vec<(usize, SimTime)>;

/// How a search goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It wants to know.
    Asks(Question),
    /// It is over; what has not been found has been let go of.
    Over(Option<Found>),
}

/// What is under way between the search and whoever answers.
#[derive(Default)]
struct Talk {
    question: Option<Question>,
    answer: Option<Answer>,
}

type Stopping = Pin<Box<dyn Future<Output = Option<Found>> + Send>>;

/// A search that stops at each question.
pub struct Search {
    talk: Arc<Mutex<Talk>>,
    /// Nobody waits for this lock: it makes the search one that threads may share.
    future: Mutex<Stopping>,
}

impl Search {
    /// A search that has not begun.
    ///
    /// # Panics
    /// With more than [`MOST_JOBS`].
    pub fn new(wanted: Wanted) -> Self {
        assert!(wanted.resources.len() <= MOST_JOBS, "too many jobs");
        Self::by(|asker| Box::pin(Matching::new(wanted, asker).search()))
    }

    /// A search for the best place for these jobs together, a sum of powers of two.
    pub fn best(jobs: u64, places: Vec<Place>, window: (SimTime, SimTime)) -> Self {
        Self::by(|asker| Box::pin(best::search(asker, (jobs, places), window)))
    }

    fn by(search: impl FnOnce(Asker) -> Stopping) -> Self {
        let talk = Arc::new(Mutex::new(Talk::default()));
        let future = Mutex::new(search(Asker(Arc::clone(&talk))));
        Search { talk, future }
    }

    /// Goes on, with the answer to what was asked last, to the next question or to the end.
    pub fn go_on(&mut self, answer: Option<Answer>) -> Step {
        open(&self.talk).answer = answer;
        let future = self.future.get_mut();
        let future = future.unwrap_or_else(PoisonError::into_inner);
        let mut cx = Context::from_waker(Waker::noop());
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(found) => Step::Over(found),
            Poll::Pending => {
                let asked = open(&self.talk).question.take();
                asked.map_or(Step::Over(None), Step::Asks)
            }
        }
    }

    /// All of it, where a function answers.
    pub fn run(wanted: Wanted, mut answer: impl FnMut(Question) -> Answer) -> Option<Found> {
        let mut search = Search::new(wanted);
        let mut last = None;
        loop {
            match search.go_on(last) {
                Step::Asks(question) => last = Some(answer(question)),
                Step::Over(found) => return found,
            }
        }
    }
}

fn open(talk: &Mutex<Talk>) -> std::sync::MutexGuard<'_, Talk> {
    talk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The side of the search.
struct Asker(Arc<Mutex<Talk>>);

impl Asker {
    async fn ask(&self, resource: usize, jobs: u64, window: (SimTime, SimTime)) -> Answer {
        open(&self.0).question = Some(Question {
            resource,
            jobs,
            window,
        });
        poll_fn(|_| match open(&self.0).answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        })
        .await
    }
}
