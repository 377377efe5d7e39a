//! Submitting on time.

use super::clock::RunClock;
use super::record::Recorder;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::job::Submission;
use gridrig_core::submitter::Submitter;
use gridrig_core::time::SimDuration;
use std::future::Future;

/// How the handing over went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handover {
    /// Jobs handed over.
    pub submitted: usize,
    /// The longest that a job was handed over late, in the time of the run.
    pub worst_lag: SimDuration,
    /// All lags added up.
    pub total_lag: SimDuration,
}

/// Hands every job over when its time has come, in order, until there is none
/// left or `hand_over` says to stop. `hand_over` returns at once: it queues
/// the job for sending, so that a slow receiver does not delay the others.
///
/// Each job is told to `recorder` with the instant at which it was handed
/// over, so that lateness is part of the results.
pub async fn submit_on_time(
    clock: RunClock,
    submissions: &[Submission],
    recorder: &mut Recorder,
    mut hand_over: impl FnMut(&Submission) -> bool,
    mut stop: impl Future<Output = ()> + Unpin,
) -> Handover {
    let mut submitter = Submitter::new(submissions);
    let mut done = Handover::default();
    while let Some(due) = submitter.poll_timeout() {
        tokio::select! {
            biased;
            () = &mut stop => break,
            () = clock.sleep_until(due) => {}
        }
        let now = clock.now();
        while let Some(submission) = submitter.handle_timeout(now) {
            let at = clock.now();
            let lag = at.since(submission.at);
            done.submitted += 1;
            done.worst_lag = done.worst_lag.max(lag);
            done.total_lag = done.total_lag + lag;
            let (job, entry, intended) = (submission.spec.id, submission.entry, submission.at);
            recorder.emit(
                at,
                Event::new(EventKind::Submitted, job, Party::Client)
                    .to(entry)
                    .at(intended),
            );
            if !hand_over(submission) {
                return done;
            }
        }
    }
    done
}
