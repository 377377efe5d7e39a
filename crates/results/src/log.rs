//! The event log of a run: everything a run reports is computed from it.
//!
//! Records are 24 bytes each, and placements and the rare value that is too
//! great for that lie one after the other in lists beside them, so that taking
//! note of an event costs no allocation of its own. A log that is followed is
//! made of chunks, each of which goes to whoever writes it down as soon as it is
//! full. Messages that carry resource information are only counted, by sender
//! and receiver, with the times between them: a year of grid life sends many
//! more of them than there are jobs.

mod info;
mod order;
mod record;

use gridrig_core::decision::{About, Decision, Decisions};
use gridrig_core::event::{Event, EventKind, EventSink, MessageKind, Party};
use gridrig_core::ids::{JobId, SmallMap};
use gridrig_core::time::{SimDuration, SimTime};
use info::Flow;
pub use info::InfoAge;
use record::{Beside, Record};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Events of a chunk, and rows of a group of the file.
pub(crate) const CHUNK: usize = 65_536;

/// Events that lie together.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    records: Vec<Record>,
    beside: Beside,
}

impl Chunk {
    fn with_capacity(events: usize, placements: usize) -> Self {
        Chunk {
            records: Vec::with_capacity(events),
            beside: Beside::with_capacity(placements),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Some of its events with their instants.
    pub(crate) fn events(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = (SimTime, Event<'_>)> + Clone {
        let records = self.records[range].iter();
        records.map(|record| (record.at, record.event(&self.beside)))
    }
}

/// Everything that happened in a run, in the order in which it was told.
///
/// - As an [`EventSink`] it takes note of events.
/// - Getters: [`records`](Self::records), [`len`](Self::len),
///   [`messages`](Self::messages), [`info_messages`](Self::info_messages),
///   [`end`](Self::end), [`is_sorted`](Self::is_sorted).
/// - A real-time run takes in the events of all its services and then calls
///   [`sort`](Self::sort) once.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    /// Chunks of [`CHUNK`] events, but for the last one of a log that was followed
    /// to its end.
    full: Vec<Arc<Chunk>>,
    /// The events after them; all of a log that nobody follows.
    last: Chunk,
    follower: Option<Sender<Arc<Chunk>>>,
    messages: [u64; MessageKind::ALL.len()],
    info: SmallMap<(Party, Party), Flow>,
    end: SimTime,
    decisions: Decisions,
}

impl EventLog {
    /// An empty log, and where its chunks come out until
    /// [`end_chunks`](Self::end_chunks). It cannot be sorted.
    pub fn followed() -> (Self, Receiver<Arc<Chunk>>) {
        let (follower, chunks) = channel();
        let log = EventLog {
            last: Chunk::with_capacity(CHUNK, CHUNK / 4),
            follower: Some(follower),
            ..EventLog::default()
        };
        (log, chunks)
    }

    /// From now on, how brokers decide about these jobs is kept.
    pub fn keep_decisions(&mut self, about: About) {
        self.decisions = Decisions::about(about);
    }

    /// How brokers have decided, about the jobs of which that is kept.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// No event comes any more: the last chunk is what there is of it.
    pub fn end_chunks(&mut self) {
        if self.follower.is_some() && !self.last.records.is_empty() {
            self.turn(0);
        }
        self.follower = None;
    }

    /// Closes the last chunk and begins another one.
    #[cold]
    fn turn(&mut self, capacity: usize) {
        let next = Chunk::with_capacity(capacity, capacity / 4);
        let chunk = Arc::new(std::mem::replace(&mut self.last, next));
        if let Some(follower) = &self.follower {
            // One that has given up says so at its end.
            let _ = follower.send(Arc::clone(&chunk));
        }
        self.full.push(chunk);
    }

    /// Its chunks, in order.
    fn chunks(&self) -> impl Iterator<Item = &Chunk> + Clone {
        self.full.iter().map(AsRef::as_ref).chain([&self.last])
    }

    /// The events with their instants, in the order of the log. Messages with
    /// resource information are not among them.
    pub fn records(&self) -> impl Iterator<Item = (SimTime, Event<'_>)> + Clone {
        let chunks = self.chunks();
        chunks.flat_map(|chunk| chunk.events(0..chunk.len()))
    }

    /// The event at this position with its instant.
    pub fn get(&self, index: usize) -> Option<(SimTime, Event<'_>)> {
        let (chunk, index) = match self.full.get(index / CHUNK) {
            Some(chunk) => (&**chunk, index % CHUNK),
            None => (&self.last, index - self.full.len() * CHUNK),
        };
        let record = chunk.records.get(index)?;
        Some((record.at, record.event(&chunk.beside)))
    }

    /// Number of events kept.
    pub fn len(&self) -> usize {
        self.chunks().map(Chunk::len).sum()
    }

    /// Whether no event is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages of this kind were sent.
    pub fn messages(&self, kind: MessageKind) -> u64 {
        self.messages[kind as usize]
    }

    /// How many information messages went from whom to whom, ordered by
    /// (sender, receiver), and the instant of the last one; `None` in a log that
    /// was read from a file.
    pub fn info_messages(&self) -> impl Iterator<Item = (Party, Party, u64, Option<SimTime>)> + '_ {
        let mut flows: Vec<_> = self.info.iter().collect();
        flows.sort_unstable_by_key(|(pair, _)| **pair);
        let flows = flows.into_iter();
        flows.map(|(&(from, to), flow)| (from, to, flow.count, flow.last))
    }

    /// How old what `to` knew of `from` was, where its messages take so long;
    /// `None` if none arrived, and for a log that was read from a file, whose
    /// manifest has it.
    pub fn info_age(&self, from: Party, to: Party, latency: SimDuration) -> Option<InfoAge> {
        self.info.get(&(from, to))?.age(latency, self.end)
    }

    /// Adds to the count of information messages, as a reader of a finished
    /// run does.
    pub fn add_info_messages(&mut self, from: Party, to: Party, count: u64) {
        let flow = self.info.entry((from, to)).or_default();
        flow.count = flow.count.saturating_add(count);
        let all = &mut self.messages[MessageKind::Info as usize];
        *all = all.saturating_add(count);
    }

    /// The instant of the latest event of any kind, information included.
    pub fn end(&self) -> SimTime {
        self.end
    }

    /// Lets the log last at least until `end`: the last event of a run may be
    /// an information message, which a reader of a finished run does not have.
    pub(crate) fn extend_end(&mut self, end: SimTime) {
        self.end = self.end.max(end);
    }

    /// Puts the events in the order of time, and those of one job at one
    /// instant in the order of cause and effect.
    ///
    /// Everything else keeps its place: what one service told at one instant
    /// stays in the order in which it told it, so that a processor which is
    /// given back and taken at the same instant is not taken first.
    pub fn sort(&mut self) {
        debug_assert!(self.full.is_empty(), "chunks are written as they were told");
        order::sort(&mut self.last.records);
    }

    /// Whether no event lies before its predecessor in time.
    pub fn is_sorted(&self) -> bool {
        let records = self.chunks().flat_map(|chunk| &chunk.records);
        records.is_sorted_by_key(|record| record.at)
    }
}

impl EventSink for EventLog {
    // Where an event is told its kind is known: written out there, all that its
    // row in the table of kinds decides is decided by the compiler.
    #[inline(always)]
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.end = self.end.max(at);
        debug_assert_eq!(event.check(), Ok(()), "{event:?}");
        if let Some(kind) = event.kind.row().message {
            self.messages[kind as usize] += 1;
        }
        // They are only counted: there may be many more of them than of jobs.
        if let (EventKind::InfoSent, Some(to)) = (event.kind, event.to) {
            return self.info.entry((event.by, to)).or_default().add(at);
        }
        let record = Record::new(at, &event, &mut self.last.beside);
        self.last.records.push(record);
        if self.last.records.len() >= CHUNK && self.follower.is_some() {
            self.turn(CHUNK);
        }
    }

    #[inline]
    fn wants_decision(&self, job: JobId) -> bool {
        self.decisions.wants(job)
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        self.decisions.keep(at, decision);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::ids::{ClusterId, DomainId};
    use gridrig_core::job::{Entry, Reason};
    use gridrig_core::placement::PlacementRun;

    fn run(node: u32) -> PlacementRun {
        PlacementRun {
            resource: 1,
            node,
            nodes: 3,
            processors: 2,
        }
    }

    fn one_of_each(placement: &[PlacementRun]) -> Vec<Event<'_>> {
        let (job, domain, cluster) = (JobId(7), DomainId(2), ClusterId(5));
        let (from, to) = (Party::Broker(DomainId(9)), Party::Lrms(ClusterId(65_535)));
        let by = Party::Client;
        let reason = Reason::QueueFull;
        vec![
            Event::new(EventKind::Submitted, job, Party::Client)
                .to(Entry::Cluster(ClusterId(3)))
                .at(SimTime::from_nanos(i64::MAX as u64)),
            Event::new(EventKind::Submitted, job, Party::Client)
                .to(Entry::Domain(domain))
                .at(SimTime::ZERO),
            Event::new(EventKind::BrokerArrival, job, domain).with(70_000),
            Event::new(EventKind::Forwarded, job, domain).to(DomainId(65_535)),
            Event::new(EventKind::Refused, job, from)
                .to(to)
                .because(reason),
            Event::new(EventKind::Dispatched, job, domain).to(cluster),
            Event::new(EventKind::Queued, job, cluster),
            Event::new(EventKind::Started, job, cluster).on(placement),
            Event::new(EventKind::Finished, job, cluster),
            Event::new(EventKind::Notified, job, from).to(to),
            Event::new(EventKind::FinishSeen, job, by),
            Event::new(EventKind::Rejected, job, by).because(reason),
            Event::new(EventKind::Cancelled, job, to),
            Event::new(EventKind::Failed, job, from).because(Reason::ServiceLost),
        ]
    }

    #[test]
    fn what_is_told_is_read_back_unchanged() {
        let placement = [run(0), run(8)];
        let mut log = EventLog::default();
        let told: Vec<_> = (0..)
            .map(SimTime::from_nanos)
            .zip(one_of_each(&placement))
            .collect();
        for &(at, event) in &told {
            log.emit(at, event);
        }
        assert!(log.records().eq(told.iter().copied()));
        assert_eq!(log.len(), 14);
    }

    #[test]
    fn a_record_takes_24_bytes() {
        assert_eq!(size_of::<Record>(), 24);
    }

    #[test]
    fn messages_are_counted_by_kind_and_information_by_link() {
        let mut log = EventLog::default();
        for event in one_of_each(&[]) {
            log.emit(SimTime::ZERO, event);
        }
        let (from, to) = (Party::Lrms(ClusterId(0)), Party::Broker(DomainId(0)));
        for second in 0..3 {
            log.emit(
                SimTime::from_secs(second),
                Event::new(EventKind::InfoSent, None::<JobId>, from).to(to),
            );
        }
        let counts = MessageKind::ALL.map(|kind| log.messages(kind));
        assert_eq!(counts, [2, 1, 1, 1, 1, 3]);
        assert_eq!(
            log.info_messages().collect::<Vec<_>>(),
            [(from, to, 3, Some(SimTime::from_secs(2)))]
        );
        assert_eq!(log.end(), SimTime::from_secs(2));
        assert_eq!(log.len(), 14);
    }

    #[test]
    fn sorted_events_keep_their_placements() {
        let (a, b) = ([run(0)], [run(4), run(9)]);
        let started =
            |job, placement| Event::new(EventKind::Started, JobId(job), ClusterId(0)).on(placement);
        let mut log = EventLog::default();
        log.emit(SimTime::from_secs(5), started(0, &a));
        log.emit(SimTime::from_secs(1), started(1, &b));
        log.emit(SimTime::from_secs(9), started(2, &[]));
        assert!(!log.is_sorted());
        log.sort();
        let events: Vec<_> = log.records().map(|(_, event)| event).collect();
        assert_eq!(events, [started(1, &b), started(0, &a), started(2, &[])]);
    }
}
