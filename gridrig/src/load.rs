//! A closed loop: clients that each submit a job, wait for the answer, and submit the
//! next; one more joins every so often (the experiment of DiPerF).

mod tally;

pub use tally::{Level, Paper, Report, Times};

use crate::cli::{Plan, Until};
use gridrig_core::ids::JobId;
use gridrig_core::job::JobSpec;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::rest::{JobEndReport, JobState};
use gridrig_protocol::tag::Tags;
use gridrig_replayer::describe::Form;
use gridrig_replayer::outlet::{Outlet, SubmitRequest, shown};
use gridrig_service::incarnation;
use parking_lot::Mutex;
use std::fs::File;
use std::future::Future;
use std::io;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tally::{Request, Tally};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A client that is turned away takes at least so long for it, or it would do nothing
/// but ask again.
const LEAST_OF_A_FAILURE: Duration = Duration::from_millis(100);

/// Least and most time between two questions whether a job has ended, and what part it is of
/// the time for which a client has waited: questions are not to be the load.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));
const ASK_AGAIN_PART: u32 = 20;

/// Else the name of the failure, and the reason.
type Outcome = Result<(), (&'static str, String)>;

/// What all clients know.
struct Loop {
    plan: Plan,
    outlet: Arc<dyn Outlet>,
    /// Where the outlet writes descriptions of jobs.
    descriptions: Option<PathBuf>,
    name: String,
    tags: Tags,
    began: Instant,
    submitted: AtomicU32,
    tally: Mutex<Tally>,
}

/// Lets the clients submit until each has had its time, or until somebody wants them to
/// `stop`. Writes a line about each request, and removes what an outlet has written to
/// `descriptions`.
///
/// # Errors
/// When the lines cannot be written.
pub async fn drive(
    plan: Plan,
    outlet: Arc<dyn Outlet>,
    descriptions: Option<PathBuf>,
    lines: Option<File>,
    stop: impl Future<Output = ()>,
) -> io::Result<Report> {
    let started = incarnation();
    let name = format!("load-{}-{started}", std::process::id());
    let shared = Arc::new(Loop {
        tags: Tags::of_run(&name),
        tally: Mutex::new(Tally::new(plan.clone(), started, lines)),
        began: Instant::now(),
        submitted: AtomicU32::new(0),
        plan,
        outlet,
        descriptions,
        name,
    });
    let mut clients = JoinSet::new();
    for client in 0..shared.plan.clients {
        clients.spawn(Arc::clone(&shared).client(client));
    }
    let all = async {
        while let Some(ended) = clients.join_next().await {
            // Who waits for all clients goes on with the panic of one.
            if !ended.unwrap_or_else(|error| resume_unwind(error.into_panic())) {
                return;
            }
        }
    };
    let interrupted = tokio::select! {
        () = all => false,
        () = stop => true,
    };
    clients.shutdown().await;
    let submitted = shared.submitted.load(Ordering::Relaxed);
    let mut tally = shared.tally.lock();
    tally.finish(shared.began.elapsed(), submitted, interrupted)
}

impl Loop {
    /// Submits for its time; whether the others are to go on.
    async fn client(self: Arc<Self>, client: u32) -> bool {
        let starts = self.began + self.plan.every * client;
        tokio::time::sleep_until(starts).await;
        // One request at least, even if it begins late.
        loop {
            let begins = Instant::now();
            let request = self.next(client);
            let answer = tokio::time::timeout(self.plan.timeout, self.see_to(&request)).await;
            let response = begins.elapsed();
            let late = || format!("no answer within {:?}", self.plan.timeout);
            let outcome = answer.unwrap_or_else(|_| Err(("timed-out", late())));
            let failed = outcome.is_err();
            let taken = match failed {
                true => response.max(LEAST_OF_A_FAILURE),
                false => response,
            };
            let goes_on = self.tally.lock().note(&Request {
                client,
                job: request.job.id.0,
                start: begins - self.began,
                response,
                taken,
                outcome,
            });
            self.tidy(&request.tag);
            if failed {
                tokio::time::sleep(taken - response).await;
            }
            if !goes_on || Instant::now() >= starts + self.plan.each {
                return goes_on;
            }
        }
    }

    /// A job is submitted, and has ended if that is waited for. A way that does not tell how
    /// jobs stand has waited for the end already.
    async fn see_to(&self, request: &SubmitRequest) -> Outcome {
        let failed = |error: TransportError| (name(&error), shown(&error.to_string()));
        self.outlet.submit(request).await.map_err(failed)?;
        if self.plan.until == Until::Accepted || !self.outlet.follows() {
            return Ok(());
        }
        let taken = Instant::now();
        loop {
            let end = self.outlet.stands(request.job.id).await.map_err(failed)?;
            match end.map(|end| JobEndReport::from(&end)) {
                None => {
                    let pause = taken.elapsed() / ASK_AGAIN_PART;
                    tokio::time::sleep(pause.clamp(ASK_AGAIN.0, ASK_AGAIN.1)).await;
                }
                Some(end) if end.state == JobState::Completed => return Ok(()),
                Some(end) => {
                    let why = end.reason.unwrap_or_default();
                    return Err(("not-completed", format!("{} {why}", end.state.name())));
                }
            }
        }
    }

    /// A trivial job.
    fn next(&self, client: u32) -> SubmitRequest {
        let number = self.submitted.fetch_add(1, Ordering::Relaxed);
        let run_time = self.plan.run_time.as_nanos();
        let run_time = SimDuration::from_nanos(u64::try_from(run_time).unwrap_or(u64::MAX));
        let job = JobSpec::rigid(JobId(number), self.plan.processors, run_time);
        SubmitRequest {
            tag: self.tags.tag(&job),
            key: format!("{}/{client}/{number}", self.name),
            due: SimTime::ZERO,
            job,
        }
    }

    /// A description that has been handed over is of no more use.
    fn tidy(&self, tag: &str) {
        if let Some(dir) = &self.descriptions {
            for form in Form::ALL {
                // There is one only in the forms that the command uses.
                let _ = std::fs::remove_file(dir.join(format!("{tag}.{}", form.name())));
            }
        }
    }
}

/// How a request has failed.
fn name(error: &TransportError) -> &'static str {
    match error {
        TransportError::NotReached { .. } => "not-reached",
        TransportError::Busy { .. } => "busy",
        TransportError::Answered { .. } => "refused",
        TransportError::NoAnswer { .. } | TransportError::CalledBack => "no-answer",
    }
}

#[cfg(test)]
mod tests;
