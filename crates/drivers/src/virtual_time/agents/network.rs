//! What agents are given in virtual time: the clocks, the log, and links that may
//! fail.

use crate::faults::Links;
use crate::virtual_time::Options;
use crate::virtual_time::agenda::{Agenda, Place, Timed};
use crate::virtual_time::watch::{Meeting, Met, Says, Step};
use gridrig_core::agent::{
    Cx, Envelope, Fate, FromBroker, FromClient, FromLrms, Memory, Message, Order, ToEntry, Tries,
    Undelivered,
};
use gridrig_core::decision::Decision;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::faults::FaultPlan;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Entry;
use gridrig_core::time::{SimDuration, SimTime, WallTime};
use std::cell::RefCell;

/// What is on its way, with the tries so far, or is to happen.
#[derive(Clone, Debug)]
pub(super) enum Parcel {
    Crash(DomainId),
    Repair(DomainId, Option<Memory>),
    /// A user wants a job removed.
    Cancel(Entry, JobId),
    FromClient(Envelope<FromClient>, Tries),
    FromBroker(Envelope<FromBroker>, Tries),
    FromLrms(Envelope<FromLrms>, Tries),
    /// To its sender.
    BrokerFate(Fate<FromBroker>),
    LrmsFate(Fate<FromLrms>),
    ClientFate(Fate<FromClient>),
    /// A question for ends that waits is answered: the service and the number of
    /// the question.
    Ends(Entry, u64),
}

/// What is sent off: how it is on its way, and how its sender learns of its fate.
pub(super) trait Sent: Says {
    const PARCEL: fn(Envelope<Self>, Tries) -> Parcel;
    const FATE: fn(Fate<Self>) -> Parcel;
}

impl Sent for FromClient {
    const PARCEL: fn(Envelope<Self>, Tries) -> Parcel = Parcel::FromClient;
    const FATE: fn(Fate<Self>) -> Parcel = Parcel::ClientFate;
}

impl Sent for FromBroker {
    const PARCEL: fn(Envelope<Self>, Tries) -> Parcel = Parcel::FromBroker;
    const FATE: fn(Fate<Self>) -> Parcel = Parcel::BrokerFate;
}

impl Sent for FromLrms {
    const PARCEL: fn(Envelope<Self>, Tries) -> Parcel = Parcel::FromLrms;
    const FATE: fn(Fate<Self>) -> Parcel = Parcel::LrmsFate;
}

/// The place of a question for ends and what becomes of it, which is about no job.
fn place_of_ends(of: Entry) -> Place {
    of.place(Order::Information, JobId(u32::MAX))
}

impl Timed for Parcel {
    /// The sender, its number for the message, and the try.
    type Which = (Party, u64, u32);

    fn place(&self) -> Place {
        match self {
            Parcel::Crash(domain) => (Order::Crash, domain.0, 0, 0),
            Parcel::Repair(domain, _) => (Order::Repair, domain.0, 0, 0),
            Parcel::Cancel(to, job) => to.place(Order::Cancellation, *job),
            Parcel::FromClient(sent, _) => match &sent.message.said {
                ToEntry::Submit(job) => sent.message.to.place(Order::Arrival, job.spec.id),
                ToEntry::Cancel(job) | ToEntry::Query(job) => {
                    sent.message.to.place(Order::Cancellation, *job)
                }
                ToEntry::Ends { .. } => place_of_ends(sent.message.to),
            },
            Parcel::Ends(by, _) => place_of_ends(*by),
            Parcel::FromBroker(sent, _) => {
                let from = sent.from.domain().unwrap_or(DomainId(0));
                sent.message.place(from, |job| job.spec.id)
            }
            Parcel::FromLrms(sent, _) => {
                let from = sent.from.cluster().unwrap_or(ClusterId(0));
                sent.message.place(from)
            }
            Parcel::BrokerFate(_) | Parcel::LrmsFate(_) | Parcel::ClientFate(_) => {
                (Order::Fate, 0, 0, 0)
            }
        }
    }

    fn which(&self) -> Self::Which {
        match self {
            Parcel::Crash(domain) | Parcel::Repair(domain, _) => (Party::Broker(*domain), 0, 0),
            Parcel::Cancel(_, job) => (Party::Client, u64::from(job.0), 0),
            Parcel::Ends(_, number) => (Party::Client, *number, 0),
            Parcel::FromClient(sent, tries) => (sent.from, sent.id.number, tries.made()),
            Parcel::FromBroker(sent, tries) => (sent.from, sent.id.number, tries.made()),
            Parcel::FromLrms(sent, tries) => (sent.from, sent.id.number, tries.made()),
            Parcel::BrokerFate(fate) => (fate.envelope.from, fate.envelope.id.number, 0),
            Parcel::LrmsFate(fate) => (fate.envelope.from, fate.envelope.id.number, 0),
            Parcel::ClientFate(fate) => (fate.envelope.from, fate.envelope.id.number, 0),
        }
    }
}

/// The clocks, the log and what is on its way.
pub(super) struct Network<'a> {
    pub now: SimTime,
    pub agenda: Agenda<Parcel>,
    pub links: Links,
    /// By job: its end has been seen where it entered.
    pub seen: Vec<bool>,
    pub ended: usize,
    /// The broker that handles something, and may call back what it has sent.
    pub speaks: Party,
    /// Jobs whose data was stopped by the input that is being handled.
    pub stopped: Vec<JobId>,
    /// Touch with it has been lost.
    lost: Vec<bool>,
    /// Jobs of which neither is true.
    pub open: usize,
    events: &'a mut dyn EventSink,
    meetings: Option<&'a RefCell<Vec<Meeting>>>,
}

impl<'a> Network<'a> {
    pub fn new(
        plan: &FaultPlan,
        options: &Options<'a>,
        jobs: usize,
        events: &'a mut dyn EventSink,
    ) -> Self {
        Network {
            now: SimTime::ZERO,
            agenda: Agenda::new(),
            links: Links::new(plan.clone(), options.seed, "faults"),
            seen: vec![false; jobs],
            ended: 0,
            speaks: Party::Client,
            stopped: Vec::new(),
            lost: vec![false; jobs],
            open: jobs,
            events,
            meetings: options.meetings,
        }
    }

    /// The clock on the wall.
    pub fn wall(&self) -> WallTime {
        WallTime::from_nanos(self.links.plan.speed.divide(self.now.as_nanos()))
    }

    /// The first instant of the run at which the clock on the wall shows this.
    pub fn instant_of(&self, wall: WallTime) -> SimTime {
        let speed = self.links.plan.speed;
        let mut nanos = speed.multiply(wall.as_nanos());
        // Both conversions round down.
        while speed.divide(nanos) < wall.as_nanos() {
            nanos += 1;
        }
        SimTime::from_nanos(nanos)
    }

    /// The same of a timer; never, if there is none.
    pub fn alarm(&self, wall: Option<WallTime>) -> SimTime {
        wall.map_or(SimTime::MAX, |wall| self.instant_of(wall))
    }

    /// The instant of the run that is so long from now on the wall.
    pub fn after(&self, wait: SimDuration) -> SimTime {
        self.instant_of(self.wall() + wait)
    }

    /// A message of one to the other, of this step and job, meets something.
    pub fn note(&self, (from, to): (Party, Party), (step, job): (Step, Option<JobId>), met: Met) {
        if let Some(meetings) = self.meetings {
            meetings.borrow_mut().push(Meeting {
                at: self.now,
                from,
                to,
                step,
                job,
                met,
            });
        }
    }

    /// Sends a message off that has been tried so.
    pub fn send_off<M: Sent>(&mut self, sent: Envelope<M>, tries: Tries) {
        let (from, to) = (sent.from, sent.message.to());
        let overtaken = self.links.counts.overtaken;
        let at = self.links.arrival(self.now, sent.due, from, to);
        if at > sent.due.max(self.now) {
            self.note((from, to), sent.message.step(), Met::Delay);
        }
        if self.links.counts.overtaken > overtaken {
            self.note((from, to), sent.message.step(), Met::Detour);
        }
        self.agenda.push(at, M::PARCEL(sent, tries));
    }
}

impl EventSink for Network<'_> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        let of_note = matches!(event.kind, EventKind::FinishSeen | EventKind::LostTouch);
        if let (true, Some(job)) = (of_note, event.job) {
            let (seen, lost) = (&mut self.seen[job.index()], &mut self.lost[job.index()]);
            self.open -= usize::from(!*seen && !*lost);
            match event.kind {
                EventKind::LostTouch => *lost = true,
                _ => self.ended += usize::from(!std::mem::replace(seen, true)),
            }
        }
        self.events.emit(at, event);
    }

    fn wants_decision(&self, job: JobId) -> bool {
        self.events.wants_decision(job)
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        self.events.decided(at, decision);
    }
}

impl<M: Sent> Cx<M> for Network<'_> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn wall(&self) -> WallTime {
        self.wall()
    }

    fn send(&mut self, sent: Envelope<M>) {
        self.send_off(sent, Tries::default());
    }

    /// A message has left with its first try. Only brokers send data.
    fn recall(&mut self, job: JobId) -> bool {
        for parcel in self.agenda.under_way() {
            if let Parcel::FromBroker(sent, tries) = parcel
                && *tries == Tries::default()
                && (sent.from, sent.message.data_of()) == (self.speaks, Some(job))
            {
                let envelope = sent.clone();
                let result = Err(Undelivered::CalledBack);
                *parcel = Parcel::BrokerFate(Fate { envelope, result });
                self.stopped.push(job);
                return true;
            }
        }
        false
    }
}
