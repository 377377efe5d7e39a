//! Ways on which jobs leave the replayer: our own interface, the interfaces of
//! other systems, or a command that submits to somebody else's broker.
//!
//! An [`Outlet`] hands one job over and says whether it was taken. What becomes
//! of the job afterwards is not its matter: through [`Native`] the player asks
//! the service that it entered, for all others it reads the logs of the LRMSs
//! ([`crate::observation`]), where the job's tag finds it again. One that
//! [follows](Outlet::follows) its jobs says besides what their broker says.

mod arc;
mod bes;
mod command;
mod lagrid;
mod native;
mod program;

pub use arc::ArcRest;
pub use bes::Bes;
pub use command::{Command, CommandLog, Limits};
pub use gridrig_scenario::external::{LaGridText, OutletText, Template, TemplateError, words};
pub use lagrid::LaGrid;
pub use native::Native;
pub use program::{
    Exit, Ran, end_group, plain as plain_program, prepare as prepare_program, run as run_program,
};

use gridrig_core::ids::JobId;
use gridrig_core::job::JobSpec;
use gridrig_core::message::JobEnd;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::TransportError;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// What comes of telling a service something.
pub(crate) type Result<T, E = TransportError> = std::result::Result<T, E>;

/// What jobs are called where they have gone.
type Names<T> = Arc<Mutex<BTreeMap<JobId, T>>>;

/// A job that is to be submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitRequest {
    /// The job.
    pub job: JobSpec,
    /// What it is called wherever it goes.
    pub tag: String,
    /// Its idempotency key.
    pub key: String,
    /// When it was to be submitted, in the time of the run.
    pub due: SimTime,
}

/// Whether a job was taken, in the future.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<(), TransportError>> + Send + 'a>>;

/// How a job stands that was taken: its end, or none yet; in the future.
pub type Fate<'a> =
    Pin<Box<dyn Future<Output = Result<Option<JobEnd>, TransportError>> + Send + 'a>>;

/// A way on which jobs leave.
pub trait Outlet: Debug + Send + Sync {
    /// Hands a job over. It ends within bounds of its own, and once dropped
    /// does nothing more.
    ///
    /// The error says whether the job can have been taken all the same.
    fn submit<'a>(&'a self, request: &'a SubmitRequest) -> Answer<'a>;

    /// Submissions that may be under way at a time, at least 1; others wait. With one, what
    /// was handed over first arrives first.
    fn at_once(&self) -> usize {
        1
    }

    /// Whether it can be asked how a job stands, and can have one removed.
    fn follows(&self) -> bool {
        false
    }

    /// How a job stands that it has taken; of a way that does not follow jobs,
    /// nothing is known.
    fn stands(&self, _job: JobId) -> Fate<'_> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Has a job removed that it has taken and that has not ended; a way that
    /// does not follow jobs does nothing.
    fn cancel(&self, _job: JobId) -> Answer<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A way on which so many submissions may be under way at a time.
#[derive(Debug)]
pub struct AtMost<O>(pub O, pub usize);

impl<O: Outlet> Outlet for AtMost<O> {
    fn submit<'a>(&'a self, request: &'a SubmitRequest) -> Answer<'a> {
        self.0.submit(request)
    }

    fn at_once(&self) -> usize {
        self.1.max(1)
    }

    fn follows(&self) -> bool {
        self.0.follows()
    }

    fn stands(&self, job: JobId) -> Fate<'_> {
        self.0.stands(job)
    }

    fn cancel(&self, job: JobId) -> Answer<'_> {
        self.0.cancel(job)
    }
}

/// The first part of a text from elsewhere, on one line, for messages.
pub fn shown(text: &str) -> String {
    const MOST: usize = 300;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &words[..end]),
        None => words,
    }
}
