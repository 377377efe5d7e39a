//! What an LRMS does with jobs and requests that reach it, and at its timers.

use super::{Follow, JobNews, Lrms, LrmsAgent, Outside};
use crate::agent::SAY_AGAIN;
use crate::agent::lrms::{Completions, Inside, Pass};
use crate::agent::store::{Opened, Receipt, SubmitError};
use crate::agent::{Brought, Cancel, Cx, Due, Freeze, Handle};
use crate::cluster::{NodeChange, ProcessorIds};
use crate::conversation::{Arrival, ClaimAnswer, FromLrms, ToBroker};
use crate::envelope::{Fate, Message as _};
use crate::event::Party;
use crate::job::Reason;
use crate::message::News;
use crate::reservation::ReservationOrder;

impl Handle<Arrival> for LrmsAgent {
    type Answer = Result<Receipt, SubmitError>;

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, arrival: Arrival) -> Self::Answer {
        self.catch_up(cx);
        let (from, at) = (arrival.from(), self.notes.now);
        if arrival.sought {
            let found = self.notes.store.find(arrival.key.as_deref());
            return found.unwrap_or(Err(SubmitError::NotHere));
        }
        let job = match self.notes.store.open(&arrival, false)? {
            Opened::Repeated(receipt) => {
                let news = self.notes.store.told_under(&arrival);
                self.tell_again(cx, news, from);
                return Ok(receipt);
            }
            Opened::New(job) => job,
        };
        self.forget_part_of(cx, job);
        if self.cluster().query(job).is_some() {
            return Err(SubmitError::IdTaken(job));
        }
        let route = arrival.route;
        let reservation = arrival.reservation.clone();
        let spec = self.notes.store.enter(arrival, job, at);
        let brought = Brought { spec: &spec, route };
        let reservation = reservation.as_deref();
        let inside = Inside {
            brought,
            reservation,
        };
        let taken = self.inside(cx, inside);
        if taken.is_ok() {
            self.notes.tell(|| JobNews::Queued { spec, at });
        }
        Ok(self.notes.store.answer(Receipt::first(job, at, taken)))
    }
}

/// What the LRMS inside handles as it is.
macro_rules! handled_inside {
    ($($input:ty),+) => {
        $(impl Handle<$input> for LrmsAgent {
            type Answer = <Lrms as Handle<$input>>::Answer;

            fn handle(&mut self, cx: &mut impl Cx<FromLrms>, input: $input) -> Self::Answer {
                self.inside(cx, input)
            }
        })+
    };
}

handled_inside!(
    Cancel,
    Completions,
    NodeChange,
    Pass,
    ReservationOrder,
    Outside<ProcessorIds>,
    Outside<()>,
    Outside<Reason>
);

/// The load is due to be told to the broker at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange;

impl Handle<Exchange> for LrmsAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, _due: Exchange) {
        self.catch_up(cx);
        if let (Some(due), Some(home)) = (self.next_sample, self.lrms.home())
            && due <= self.notes.now
        {
            self.send_sample(cx, home);
            self.next_sample = Some(due + home.exchange);
        }
    }
}

impl Handle<Follow> for LrmsAgent {
    type Answer = ();

    fn handle(&mut self, _cx: &mut impl Cx<FromLrms>, _follow: Follow) {
        self.notes.news.get_or_insert_default();
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

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, due: Due) {
        self.catch_up(cx);
        match due {
            Due::Model { .. } => {
                self.inside(cx, Completions);
                self.inside(cx, Pass);
                self.handle(cx, Exchange);
            }
            Due::Wall => {
                self.tell_again_at = None;
                for (broker, said) in std::mem::take(&mut self.untold).into_values() {
                    match said {
                        ToBroker::News(news) => {
                            self.tell_again(cx, Some(news), Party::Broker(broker));
                        }
                        said => self.post(cx, None, FromLrms::Broker(broker, said)),
                    }
                }
            }
        }
    }
}

/// What is said of a job and did not arrive is told again after a while, for as long as
/// it takes: nobody else could tell.
impl Handle<Fate<FromLrms>> for LrmsAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromLrms>, fate: Fate<FromLrms>) {
        self.catch_up(cx);
        let (Err(error), message) = (fate.result, fate.envelope.message) else {
            return;
        };
        if let Some(kind) = message.kind() {
            self.notes.undelivered.count(kind);
        }
        if let (true, FromLrms::Broker(broker, said)) = (error.is_passing(), message) {
            let about = match said {
                ToBroker::News(News::Refused { job, visit, .. }) => (job, visit),
                ToBroker::News(News::Ended(end)) => (end.job, None),
                ToBroker::Claim(asked, _) => (asked.job, Some(asked.at.as_nanos())),
                ToBroker::Info(_) => return,
            };
            // That processors are held is not said after that they are no more.
            use ClaimAnswer::{Held, Reserved};
            let is_early = matches!(said, ToBroker::Claim(_, Held(_) | Reserved { .. }));
            if !(is_early && self.untold.contains_key(&about)) {
                self.untold.insert(about, (broker, said));
            }
            let at = cx.wall() + SAY_AGAIN;
            self.tell_again_at.get_or_insert(at);
        }
    }
}
