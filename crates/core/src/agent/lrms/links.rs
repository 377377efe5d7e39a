//! An LRMS as a participant: what reaches it, and what it sends, over links on
//! which every message arrives once.

use super::{Home, Outside};
use crate::agent::{
    Asked, Brought, Cancel, ClaimAnswer, ClaimStep, Cx, Envelope, EnvelopeId, FromLrms, Handle,
    LrmsSends, Participant, ToBroker,
};
use crate::cluster::{
    Cluster, ClusterConfig, Finished, JobStatus, NodeChange, ProcessorIds, Started, earlier,
};
use crate::event::{Event, EventKind, Party};
use crate::ids::{ClusterId, IdMap, JobId};
use crate::job::{JobSpec, Reason};
use crate::message::{EndState, JobEnd, News};
use crate::reservation::{ReservationOrder, ReservationRefusal, ReservationUse, ReservationView};
use crate::time::{SimDuration, SimTime};
use std::collections::BTreeSet;

/// A cluster with those who bring it jobs.
pub struct Lrms {
    id: ClusterId,
    cluster: Cluster,
    home: Option<Home>,
    /// One-way latency to whoever brings jobs.
    latency: SimDuration,
    /// Who brings jobs: the broker at home, or without one clients.
    usual: Party,
    /// Who brought a job, where it was somebody else.
    brought_by: IdMap<Party>,
    /// Jobs whose processors are delegated to whoever brought them, and until when.
    leases: BTreeSet<(SimTime, JobId)>,
    /// Reused: what has just ended.
    finished: Vec<Finished>,
}

/// Running jobs have come to their end, or nodes fail or are repaired as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completions;

/// The broker says something about processors for a part of a job that several clusters
/// run together.
#[derive(Clone, Copy, Debug)]
pub struct Claimed<'a> {
    /// By what they were asked for.
    pub asked: Asked,
    /// What it says.
    pub step: ClaimStep<&'a JobSpec>,
}

/// A scheduling pass is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass;

impl Lrms {
    /// An empty LRMS that reports to this broker.
    pub fn new(cluster: ClusterConfig, home: Option<Home>) -> Self {
        let broker = |home: Home| Party::Broker(home.domain);
        Lrms {
            id: cluster.id,
            cluster: Cluster::new(cluster),
            latency: home.map_or(SimDuration::ZERO, |home| home.latency),
            usual: home.map_or(Party::Client, broker),
            home,
            brought_by: IdMap::default(),
            leases: BTreeSet::new(),
            finished: Vec::new(),
        }
    }

    /// The cluster, to look at.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// When the next job ends, nodes fail or are repaired as planned, or the processors of a
    /// job are taken back.
    #[inline]
    pub fn next_completion(&self) -> Option<SimTime> {
        let lease = self.leases.first().map(|(until, _)| *until);
        earlier(self.cluster.next_completion(), lease)
    }

    /// The broker that it reports to.
    pub fn home(&self) -> Option<Home> {
        self.home
    }

    /// The end of a job that does not come to its own: what has run by then
    /// is told with it. To be asked before it ends.
    fn cut_short(&self, job: JobId, state: EndState, at: SimTime) -> JobEnd {
        match self.cluster.query(job) {
            Some(JobStatus::Running { start, .. }) => {
                let finish = at.max(start);
                self.ran(Finished { job, start, finish }, state)
            }
            _ => JobEnd::without_run(job, state),
        }
    }

    /// The end of a job that has run.
    fn ran(&self, ended: Finished, state: EndState) -> JobEnd {
        JobEnd {
            cluster: Some(self.id),
            start: Some(ended.start),
            finish: Some(ended.finish),
            ..JobEnd::without_run(ended.job, state)
        }
    }

    /// These jobs have failed for this reason.
    fn lost(&mut self, cx: &mut impl Cx<LrmsSends>, lost: Vec<Finished>, why: Reason) {
        for ended in lost {
            self.end(cx, self.ran(ended, EndState::Failed(why)));
        }
    }

    /// A job's end goes back to whoever brought the job.
    #[inline]
    fn end(&mut self, cx: &mut impl Cx<LrmsSends>, end: JobEnd) {
        if !self.leases.is_empty() {
            self.leases.retain(|(_, job)| *job != end.job);
        }
        let to = match self.brought_by.is_empty() {
            true => None,
            false => self.brought_by.remove(&end.job),
        };
        let to = to.unwrap_or(self.usual);
        let now = cx.now();
        if let Party::Broker(broker) = to {
            let told = Event::new(EventKind::Notified, end.job, self.id);
            cx.emit(now, told.to(to));
            let news = ToBroker::News(News::Ended(end));
            return self.post(cx, FromLrms::Broker(broker, news));
        }
        let seen = Event::new(EventKind::FinishSeen, end.job, Party::Client);
        cx.emit(now, seen);
        self.post(cx, FromLrms::Client(end));
    }

    /// What the broker has to know of processors for parts of jobs.
    fn tell_of_claims(&mut self, cx: &mut impl Cx<LrmsSends>) {
        for (asked, answer) in self.cluster.take_claim_news() {
            self.tell_of_claim(cx, asked, answer);
        }
    }

    fn tell_of_claim(&self, cx: &mut impl Cx<LrmsSends>, asked: Asked, answer: ClaimAnswer) {
        if let Party::Broker(broker) = self.usual {
            self.post(cx, FromLrms::Broker(broker, ToBroker::Claim(asked, answer)));
        }
    }

    fn turn_away(&mut self, cx: &mut impl Cx<LrmsSends>, job: JobId, from: Party, reason: Reason) {
        let (now, by) = (cx.now(), self.id);
        if let Party::Broker(broker) = from {
            let refused = Event::new(EventKind::Refused, job, by);
            cx.emit(now, refused.to(from).because(reason));
            let visit = None;
            let news = ToBroker::News(News::Refused { job, reason, visit });
            return self.post(cx, FromLrms::Broker(broker, news));
        }
        let rejected = Event::new(EventKind::Rejected, job, by);
        cx.emit(now, rejected.because(reason));
        let seen = Event::new(EventKind::FinishSeen, job, Party::Client);
        cx.emit(now, seen);
        let end = JobEnd::without_run(job, EndState::Rejected(reason));
        self.post(cx, FromLrms::Client(end));
    }

    #[inline]
    fn post(&self, cx: &mut impl Cx<LrmsSends>, message: LrmsSends) {
        cx.send(Envelope {
            id: EnvelopeId::default(),
            from: Party::Lrms(self.id),
            address: None,
            due: cx.now() + self.latency,
            message,
        });
    }
}

impl Participant for Lrms {
    type Sends = LrmsSends;

    #[inline]
    fn next_due(&self) -> Option<SimTime> {
        let own = self.cluster.poll_timeout();
        match self.leases.is_empty() {
            true => own,
            false => own.into_iter().chain(self.next_completion()).min(),
        }
    }
}

impl Handle<Brought<'_>> for Lrms {
    type Answer = Result<(), Reason>;

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, brought: Brought<'_>) -> Self::Answer {
        let inside = Inside {
            brought,
            reservation: None,
        };
        self.handle(cx, inside)
    }
}

/// A job is brought, to run in an advance reservation if it names one.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// The job.
    pub brought: Brought<'a>,
    /// The reservation, and whose job it is.
    pub reservation: Option<&'a ReservationUse>,
}

impl Handle<Inside<'_>> for Lrms {
    type Answer = Result<(), Reason>;

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, inside: Inside<'_>) -> Self::Answer {
        let Brought { spec, route } = inside.brought;
        let job = spec.id;
        let from = route.and_then(|route| route.from);
        let from = from.map_or(Party::Client, Party::Broker);
        let until = route.and_then(|route| route.until);
        // What is reserved here for it is not wanted, though that may not have been heard yet.
        if self.cluster.is_silent(job) {
            let at = SimTime::MAX;
            self.cluster.release(cx.now(), Asked { job, at }, cx);
        }
        let taken = match until.is_some_and(|until| until <= cx.now()) {
            true => Err(Reason::LeaseExpired),
            false => match inside.reservation {
                None => self.cluster.submit(cx.now(), spec, cx),
                Some(its) => self.cluster.submit_inside(cx.now(), spec, its, cx),
            },
        };
        if let (Ok(()), Some(until)) = (taken, until) {
            self.leases.insert((until, job));
        }
        match taken {
            Ok(()) if from != self.usual => {
                self.brought_by.insert(job, from);
            }
            Ok(()) => {}
            Err(reason) => self.turn_away(cx, job, from, reason),
        }
        taken
    }
}

impl Handle<Claimed<'_>> for Lrms {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, Claimed { asked, step }: Claimed<'_>) {
        let (now, job) = (cx.now(), asked.job);
        match step {
            ClaimStep::Hold {
                job: spec,
                share,
                estimate,
                timeout,
            } => {
                let part = share.of(spec, estimate);
                let times = (asked.at, timeout);
                let held = part.map(|part| self.cluster.hold(now, &part, times, cx));
                if held != Some(Ok(())) {
                    cx.emit(now, Event::new(EventKind::ClaimRefused, job, self.id));
                    self.tell_of_claim(cx, asked, ClaimAnswer::No);
                }
            }
            ClaimStep::Reserve {
                job: spec,
                share,
                length,
                timeout,
                window,
            } => {
                let part = share.of(spec, length);
                let answer = part.map_or(ClaimAnswer::No, |part| {
                    let times = (asked.at, timeout);
                    self.cluster.reserve_part(now, &part, times, window, cx)
                });
                self.tell_of_claim(cx, asked, answer);
            }
            ClaimStep::Begin { at, length, leads } => {
                if !self.cluster.begin(now, asked, (at, length, leads), cx) {
                    self.tell_of_claim(cx, asked, ClaimAnswer::No);
                }
            }
            ClaimStep::Release => self.cluster.release(now, asked, cx),
        }
    }
}

impl Handle<ReservationOrder> for Lrms {
    type Answer = Result<ReservationView, ReservationRefusal>;

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, order: ReservationOrder) -> Self::Answer {
        self.cluster.order_reservation(cx.now(), &order, cx)
    }
}

/// The answer is whether the job was here (still).
impl Handle<Cancel> for Lrms {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, Cancel(job): Cancel) -> bool {
        // Of a part the broker lets go.
        if self.cluster.is_silent(job) {
            return false;
        }
        let now = cx.now();
        let end = self.cut_short(job, EndState::Cancelled, now);
        if self.cluster.query(job).is_some() {
            let asked = Event::new(EventKind::CancelRequested, job, self.id);
            cx.emit(now, asked);
        }
        let cancelled = self.cluster.cancel(now, job, cx);
        if cancelled {
            self.end(cx, end);
        }
        cancelled
    }
}

impl Handle<Completions> for Lrms {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, _due: Completions) {
        let mut finished = std::mem::take(&mut self.finished);
        self.cluster.handle_completions(cx.now(), cx, &mut finished);
        for ended in finished.drain(..) {
            self.end(cx, self.ran(ended, EndState::Completed));
        }
        self.finished = finished;
        self.tell_of_claims(cx);
        if self.cluster.next_node_change().is_some() {
            let mut lost = Vec::new();
            self.cluster.handle_node_changes(cx.now(), cx, &mut lost);
            self.lost(cx, lost, Reason::NodeFailed);
        }
        if self.cluster.reserves() {
            let mut ended = Vec::new();
            self.cluster.handle_reservations(cx.now(), cx, &mut ended);
            self.lost(cx, ended, Reason::OverranReservation);
            for job in self.cluster.take_turned_out() {
                let state = EndState::Failed(Reason::NotReserved);
                self.end(cx, JobEnd::without_run(job, state));
            }
        }
        while let Some((until, job)) = self.leases.first().copied()
            && until <= cx.now()
        {
            self.leases.pop_first();
            let (at, what) = (cx.now(), Reason::LeaseExpired);
            self.handle(cx, Outside { at, job, what });
        }
    }
}

/// Nodes are taken down or up by hand; the answer is whether they exist.
impl Handle<NodeChange> for Lrms {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, change: NodeChange) -> bool {
        let mut lost = Vec::new();
        let exist = self.cluster.change_nodes(cx.now(), change, cx, &mut lost);
        self.lost(cx, lost, Reason::NodeFailed);
        exist
    }
}

impl Handle<Pass> for Lrms {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, _due: Pass) {
        self.cluster.handle_pass(cx.now(), cx);
        self.tell_of_claims(cx);
    }
}

/// A real LRMS has started a job.
impl Handle<Outside<ProcessorIds>> for Lrms {
    type Answer = Started;

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, started: Outside<ProcessorIds>) -> Started {
        let Outside { at, job, what } = started;
        self.cluster.start_outside(at, job, &what, cx)
    }
}

/// A running job has come to its end; the answer is whether it ran here.
impl Handle<Outside<()>> for Lrms {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, ended: Outside<()>) -> bool {
        let finished = self.cluster.finish(ended.at, ended.job, cx);
        if let Some(finished) = finished {
            self.end(cx, self.ran(finished, EndState::Completed));
        }
        finished.is_some()
    }
}

/// A job that waits or runs at a real LRMS is lost; the answer is whether it
/// was here (still).
impl Handle<Outside<Reason>> for Lrms {
    type Answer = bool;

    fn handle(&mut self, cx: &mut impl Cx<LrmsSends>, lost: Outside<Reason>) -> bool {
        let Outside { at, job, what } = lost;
        let end = self.cut_short(job, EndState::Failed(what), at);
        let failed = self.cluster.fail(at, job, what, cx);
        if failed {
            self.end(cx, end);
        }
        failed
    }
}
