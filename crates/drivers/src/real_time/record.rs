//! The events of a machine, kept until the run collects them.

use super::counts::Counts;
use gridrig_core::decision::{About, Decision, Decisions};
use gridrig_core::event::{Event, EventSink, Value};
use gridrig_core::ids::JobId;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::{fmt, io};

/// An event that owns all it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it happened, in the time of the run.
    pub at: SimTime,
    /// The event, less its placement.
    event: Event<'static>,
    placement: Box<[PlacementRun]>,
}

impl Recorded {
    /// Keeps an event.
    pub fn new(at: SimTime, event: Event<'_>) -> Self {
        Recorded {
            at,
            event: event.on(&[]),
            placement: event.placement.into(),
        }
    }

    /// The same about a job of another name.
    #[must_use]
    pub fn about(mut self, job: JobId) -> Self {
        self.event.job = self.event.job.map(|_| job);
        self
    }

    /// The same so much earlier, down to time 0.
    #[must_use]
    pub fn earlier(mut self, by: SimDuration) -> Self {
        let earlier = |at: SimTime| SimTime::ZERO + at.since(SimTime::ZERO + by);
        self.at = earlier(self.at);
        if self.event.kind.row().value == Value::Instant {
            self.event = self.event.at(earlier(self.event.instant()));
        }
        self
    }

    /// The event as it was told.
    pub fn event(&self) -> Event<'_> {
        self.event.on(&self.placement)
    }
}

/// A sink that several may hold: the machine writes, its service pages the
/// events out, and the run still has them when the service has been killed.
/// The default one keeps everything.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Kept>>);

/// Is told each event before it is kept. Where it cannot take one, whoever emits that ends
/// with a panic that carries the error: nothing is to follow from what is not written.
pub type EventWriter = Box<dyn FnMut(SimTime, &Event<'_>) -> io::Result<()> + Send>;

#[derive(Default)]
struct Writer(Option<EventWriter>);

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Writer").field(&self.0.is_some()).finish()
    }
}

#[derive(Debug)]
struct Kept {
    events: VecDeque<Recorded>,
    /// Older events that are there no more.
    forgotten: u64,
    most: usize,
    counts: Counts,
    /// Lives of the service whose events are here.
    lives: u32,
    decisions: Decisions,
    writer: Writer,
}

impl Default for Kept {
    fn default() -> Self {
        Kept {
            events: VecDeque::new(),
            forgotten: 0,
            most: usize::MAX,
            counts: Counts::default(),
            lives: 1,
            decisions: Decisions::default(),
            writer: Writer::default(),
        }
    }
}

/// Some events of a log, with where they are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSlice {
    /// Position of the first one; above the wanted one where older events are
    /// forgotten.
    pub first: u64,
    /// The events.
    pub events: Vec<Recorded>,
    /// How many have happened so far, the forgotten ones among them.
    pub total: u64,
}

impl Recorder {
    /// One that keeps the newest `most` events and forgets older ones, for a
    /// service that nobody ends.
    pub fn keeping(most: usize) -> Self {
        Recorder(Arc::new(Mutex::new(Kept {
            most,
            ..Kept::default()
        })))
    }

    /// The same, which also keeps how brokers decide about these jobs.
    #[must_use]
    pub fn deciding(self, about: About) -> Self {
        self.0.lock().decisions = Decisions::about(about);
        self
    }

    /// From now on events are told to this writer, too.
    pub fn write_to(&self, writer: EventWriter) {
        self.0.lock().writer = Writer(Some(writer));
    }

    /// Takes out how brokers have decided.
    pub fn take_decisions(&self) -> Vec<(SimTime, Decision)> {
        self.0.lock().decisions.take()
    }

    /// Its events are from so many lives of the service.
    pub fn set_lives(&self, lives: u32) {
        self.0.lock().lives = lives;
    }

    /// How many lives of the service its events are from.
    pub fn lives(&self) -> u32 {
        self.0.lock().lives
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.0.lock().events.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `limit` events from position `after` on.
    pub fn page(&self, after: u64, limit: usize) -> EventSlice {
        let kept = self.0.lock();
        let first = after.max(kept.forgotten);
        let skipped = usize::try_from(first - kept.forgotten).unwrap_or(usize::MAX);
        // A range, since a long log is read page by page.
        let events = kept.events.range(skipped.min(kept.events.len())..);
        EventSlice {
            first,
            events: events.take(limit).cloned().collect(),
            total: kept.forgotten + kept.events.len() as u64,
        }
    }

    /// What has been recorded so far, counted: what is forgotten or taken out
    /// stays counted.
    pub fn counts(&self) -> Counts {
        self.0.lock().counts.clone()
    }

    /// Takes all events out.
    pub fn take(&self) -> Vec<Recorded> {
        let mut kept = self.0.lock();
        kept.forgotten += kept.events.len() as u64;
        std::mem::take(&mut kept.events).into()
    }
}

impl EventSink for Recorder {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        let mut kept = self.0.lock();
        kept.counts.count(at, &event);
        if let Some(write) = &mut kept.writer.0
            && let Err(error) = write(at, &event)
        {
            resume_unwind(Box::new(error));
        }
        kept.events.push_back(Recorded::new(at, event));
        if kept.events.len() > kept.most {
            kept.events.pop_front();
            kept.forgotten += 1;
        }
    }

    fn wants_decision(&self, job: JobId) -> bool {
        self.0.lock().decisions.wants(job)
    }

    fn decided(&mut self, at: SimTime, decision: Decision) {
        self.0.lock().decisions.keep(at, decision);
    }
}

/// One log of several, by time. At one instant the order of the logs counts,
/// and within a log its own order, so that causes given first stay first.
pub fn merge(logs: impl IntoIterator<Item = Vec<Recorded>>) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = logs.into_iter().flatten().collect();
    all.sort_by_key(|recorded| recorded.at);
    all
}

/// Tells a sink everything again.
pub fn replay(log: &[Recorded], sink: &mut impl EventSink) {
    for recorded in log {
        sink.emit(recorded.at, recorded.event());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::event::{EventKind, Party};
    use gridrig_core::ids::{ClusterId, DomainId};

    fn seen(at: u64, job: u32, by: Party) -> Recorded {
        let event = Event::new(EventKind::FinishSeen, JobId(job), by);
        Recorded::new(SimTime::from_secs(at), event)
    }

    fn finished(at: u64, job: u32) -> Recorded {
        let (job, cluster) = (JobId(job), ClusterId(0));
        Recorded::new(
            SimTime::from_secs(at),
            Event::new(EventKind::Finished, job, cluster),
        )
    }

    #[test]
    fn a_started_event_keeps_its_placement() {
        let placement = [PlacementRun {
            resource: 0,
            node: 3,
            nodes: 2,
            processors: 1,
        }];
        let event = Event::new(EventKind::Started, JobId(1), ClusterId(0)).on(&placement);
        let mut recorder = Recorder::default();
        recorder.emit(SimTime::from_secs(1), event);
        assert_eq!(recorder.page(0, 9).events[0].event(), event);
        assert!(recorder.page(1, 9).events.is_empty());
    }

    #[test]
    fn a_bounded_log_forgets_its_oldest_events_and_says_so() {
        let mut recorder = Recorder::keeping(3);
        for job in 0..5 {
            let (job, cluster) = (JobId(job), ClusterId(0));
            recorder.emit(
                SimTime::from_secs(1),
                Event::new(EventKind::Finished, job, cluster),
            );
        }
        let jobs = |page: &EventSlice| -> Vec<u32> {
            let jobs = page.events.iter().filter_map(|r| r.event().job);
            jobs.map(|job| job.0).collect()
        };
        let page = recorder.page(0, 2);
        assert_eq!((page.first, page.total), (2, 5));
        assert_eq!(jobs(&page), [2, 3]);
        let page = recorder.page(4, 2);
        assert_eq!((page.first, jobs(&page)), (4, vec![4]));
        let page = recorder.page(u64::MAX, 2);
        assert_eq!((page.first, page.events.len()), (u64::MAX, 0));
        assert_eq!(recorder.take().len(), 3);
    }

    #[test]
    fn forgotten_events_stay_counted() {
        let mut recorder = Recorder::keeping(1);
        for job in 0..3 {
            let (job, cluster) = (JobId(job), ClusterId(0));
            recorder.emit(SimTime::ZERO, Event::new(EventKind::Finished, job, cluster));
        }
        let _ = recorder.take();
        let counts = recorder.counts();
        let seen: Vec<_> = counts.events().filter(|(_, n)| *n > 0).collect();
        assert_eq!(seen, [(EventKind::Finished, 3)]);
    }

    #[test]
    fn logs_are_merged_by_time_and_then_by_the_order_of_the_logs() {
        let broker = Party::Broker(DomainId(0));
        let merged = merge([
            vec![seen(2, 0, broker), seen(3, 1, broker)],
            vec![finished(1, 7), finished(2, 8)],
        ]);
        let jobs: Vec<u32> = merged
            .iter()
            .filter_map(|r| r.event().job)
            .map(|j| j.0)
            .collect();
        assert_eq!(jobs, [7, 0, 8, 1]);
    }
}
