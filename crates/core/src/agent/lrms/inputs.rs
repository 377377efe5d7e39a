//! What an LRMS does with jobs and requests that reach it, and at its timers.

use super::{Follow, JobNews, LrmsAgent, Outside};
use crate::agent::conversation::FromLrms;
use crate::agent::ledger::{Arrival, Opened, Receipt, SubmitError};
use crate::agent::letter::{Fate, Message as _};
use crate::agent::{Cancel, Cx, Due, Freeze, Handle};
use crate::cluster::{ProcessorIds, Started};
use crate::event::{Event, EventKind, EventSink};
use crate::job::{JobSpec, Reason};
use crate::message::EndState;
use crate::time::SimTime;

/// Where the events of a cluster go: to the log, and starts to those who
/// follow.
struct Starts<'a, E>(&'a mut E, &'a mut Option<Vec<JobNews>>);

impl<E: EventSink> EventSink for Starts<'_, E> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        if let (EventKind::Started, Some(job), Some(news)) = (event.kind, event.job, &mut self.1) {
            news.push(JobNews::Started {
                job,
                at,
                placement: event.placement.to_vec(),
            });
        }
        self.0.emit(at, event);
    }
}

impl Handle<Arrival> for LrmsAgent {
    type Answer = Result<Receipt, SubmitError>;

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, arrival: Arrival) -> Self::Answer {
        self.set_now(cx.now());
        let from = arrival.from();
        let job = match self.ledger.open(&arrival)? {
            Opened::Repeated(receipt) => {
                self.tell_again(cx, receipt.job, from);
                return Ok(receipt);
            }
            Opened::New(job) => job,
        };
        if self.cluster.query(job).is_some() {
            return Err(SubmitError::IdTaken(job));
        }
        let spec = JobSpec {
            id: job,
            ..arrival.spec.clone()
        };
        let taken = self.cluster.submit(self.now, &spec, cx);
        let receipt = Receipt {
            job,
            at: self.now,
            taken,
            repeated: false,
        };
        if taken.is_ok() {
            let at = self.now;
            self.tell(|| JobNews::Queued {
                spec: spec.clone(),
                at,
            });
        }
        self.ledger.enter(arrival, spec, &receipt);
        if let Err(reason) = taken {
            self.turn_away(cx, job, from, reason);
        }
        Ok(receipt)
    }
}

impl Handle<Cancel> for LrmsAgent {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, Cancel(job): Cancel) -> bool {
        self.set_now(cx.now());
        let end = self.cut_short(job, EndState::Cancelled, self.now);
        let cancelled = self.cluster.cancel(self.now, job, cx);
        if cancelled {
            self.end(cx, self.now, end);
        }
        cancelled
    }
}

/// A real LRMS has started a job.
impl Handle<Outside<ProcessorIds>> for LrmsAgent {
    type Answer = Started;

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, started: Outside<ProcessorIds>) -> Started {
        self.set_now(cx.now());
        let Outside { at, job, what } = started;
        let sink = &mut Starts(cx, &mut self.news);
        self.cluster.start_outside(at, job, &what, sink)
    }
}

/// A running job has come to its end; the answer is whether it ran here.
impl Handle<Outside<()>> for LrmsAgent {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, ended: Outside<()>) -> bool {
        self.set_now(cx.now());
        let finished = self.cluster.finish(ended.at, ended.job, cx);
        if let Some(finished) = finished {
            self.completed(cx, finished);
        }
        finished.is_some()
    }
}

/// A job that waits or runs at a real LRMS is lost; the answer is whether it
/// was here (still).
impl Handle<Outside<Reason>> for LrmsAgent {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, lost: Outside<Reason>) -> bool {
        self.set_now(cx.now());
        let Outside { at, job, what } = lost;
        let end = self.cut_short(job, EndState::Failed(what), at);
        let failed = self.cluster.fail(at, job, what, cx);
        if failed {
            self.end(cx, self.now, end);
        }
        failed
    }
}

impl Handle<Follow> for LrmsAgent {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<FromLrms>, _follow: Follow) {
        self.news.get_or_insert_default();
    }
}

impl Handle<Freeze> for LrmsAgent {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<FromLrms>, _freeze: Freeze) {
        self.frozen = true;
    }
}

/// Completions, then a pass, then the sample: the order of design 5. What the
/// pass starts with length 0 ends when this instant is due once more.
impl Handle<Due> for LrmsAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, _due: Due) {
        self.set_now(cx.now());
        if self
            .cluster
            .next_completion()
            .is_some_and(|end| end <= self.now)
        {
            self.handle_completions(cx);
        }
        let sink = &mut Starts(&mut *cx, &mut self.news);
        self.cluster.handle_pass(self.now, sink);
        if let (Some(due), Some(home)) = (self.next_sample, self.home)
            && due <= self.now
        {
            self.send_sample(cx, home);
            self.next_sample = Some(due + home.exchange);
        }
    }
}

impl Handle<Fate<FromLrms>> for LrmsAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, fate: Fate<FromLrms>) {
        self.set_now(cx.now());
        if let (Err(_), Some(kind)) = (fate.result, fate.letter.message.kind()) {
            self.undelivered.count(kind);
        }
    }
}
