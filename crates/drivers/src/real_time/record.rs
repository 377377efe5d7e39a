//! The events of a machine, kept until the run collects them.

use super::counts::Counts;
use super::outlived::verdicts_last;
use gridrig_core::event::{Event, EventKind, EventSink, Party, Value};
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    #[must_use]
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
    #[must_use]
    pub fn event(&self) -> Event<'_> {
        self.event.on(&self.placement)
    }
}

/// A sink that several may hold: the machine writes, its service pages the
/// events out, and the run still has them when the service has been killed.
/// The default one keeps everything.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Kept>>);

struct Kept {
    events: VecDeque<Recorded>,
    /// Older events that are there no more.
    forgotten: u64,
    most: usize,
    counts: Counts,
    /// Is told each event as it happens.
    witness: Option<Witness>,
    /// Lives of the service before this one, whose events are here too.
    lives_before: u32,
}

/// Is told each event before anything follows from it.
pub type Witness = Box<dyn FnMut(&Recorded) + Send>;

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} events", self.events.len())
    }
}

impl Default for Kept {
    fn default() -> Self {
        Kept {
            events: VecDeque::new(),
            forgotten: 0,
            most: usize::MAX,
            counts: Counts::default(),
            witness: None,
            lives_before: 0,
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
    #[must_use]
    pub fn keeping(most: usize) -> Self {
        Recorder(Arc::new(Mutex::new(Kept {
            most,
            ..Kept::default()
        })))
    }

    /// The same with the events of so many earlier lives before its own.
    #[must_use]
    pub fn after(self, lives: u32, before: Vec<Recorded>) -> Self {
        let mut recorder = self.clone();
        self.kept().lives_before = lives;
        for recorded in before {
            recorder.emit(recorded.at, recorded.event());
        }
        self
    }

    /// How many lives of the service its events are from.
    #[must_use]
    pub fn lives(&self) -> u32 {
        self.kept().lives_before.saturating_add(1)
    }

    /// Has every event from now on told to a witness.
    pub fn set_witness(&self, witness: Witness) {
        self.kept().witness = Some(witness);
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept().events.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `limit` events from position `after` on.
    #[must_use]
    pub fn page(&self, after: u64, limit: usize) -> EventSlice {
        let kept = self.kept();
        let first = after.max(kept.forgotten);
        let skipped = usize::try_from(first - kept.forgotten).unwrap_or(usize::MAX);
        EventSlice {
            first,
            // A range, since a long log is read page by page.
            events: kept
                .events
                .range(skipped.min(kept.events.len())..)
                .take(limit)
                .cloned()
                .collect(),
            total: kept.forgotten + kept.events.len() as u64,
        }
    }

    /// What has been recorded so far, counted: what is forgotten or taken out
    /// stays counted.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.kept().counts.clone()
    }

    /// Takes all events out.
    #[must_use]
    pub fn take(&self) -> Vec<Recorded> {
        let mut kept = self.kept();
        kept.forgotten += kept.events.len() as u64;
        std::mem::take(&mut kept.events).into()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic elsewhere does not make what was recorded before it wrong.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for Recorder {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        let mut kept = self.kept();
        kept.counts.count(at, &event);
        let recorded = Recorded::new(at, event);
        if let Some(witness) = &mut kept.witness {
            witness(&recorded);
        }
        kept.events.push_back(recorded);
        if kept.events.len() > kept.most {
            kept.events.pop_front();
            kept.forgotten += 1;
        }
    }
}

/// One log of several, by time. At one instant the order of the logs counts,
/// and within a log its own order, so that causes given first stay first.
#[must_use]
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

/// A log in which every job ends at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The events.
    pub log: Vec<Recorded>,
    /// Jobs that somebody had given up as lost although an LRMS knows their
    /// end: the verdict has been taken out.
    pub withdrawn: Vec<JobId>,
}

/// Settles contradictory ends. A broker or a client that loses touch with a
/// service declares the jobs there lost; that is a belief, and the LRMS's own
/// word on the job's end outweighs it, and with the belief goes the news of it.
/// Of several such beliefs about one job the first stands. If the job lived on
/// without an end that is known, the belief is the last that is said of it.
///
/// `log` is in order of time. Where nobody has heard of the end after it came,
/// since it had been believed in before, it counts as seen when it came.
#[must_use]
pub fn settle(log: Vec<Recorded>) -> Settled {
    let known: BTreeSet<JobId> = log
        .iter()
        .filter(|recorded| recorded.event().kind.is_terminal() && !is_belief(&recorded.event()))
        .filter_map(|recorded| recorded.event().job)
        .collect();
    let mut believed = BTreeSet::new();
    let mut withdrawn = BTreeSet::new();
    let mut settled = Settled::default();
    for recorded in log {
        if let (true, Some(job)) = (is_belief(&recorded.event()), recorded.event().job) {
            if known.contains(&job) {
                withdrawn.insert(job);
                continue;
            }
            if !believed.insert(job) {
                continue;
            }
        }
        settled.log.push(recorded);
    }
    settled.log = without_false_news(settled.log, &withdrawn);
    settled.log = verdicts_last(settled.log, &believed);
    settled.withdrawn = withdrawn.into_iter().collect();
    settled
}

/// Takes out the news of an end that had not come yet.
fn without_false_news(log: Vec<Recorded>, withdrawn: &BTreeSet<JobId>) -> Vec<Recorded> {
    if withdrawn.is_empty() {
        return log;
    }
    // Who was the first to see the end of a job, and whether somebody has seen
    // it after it came.
    let mut seen_by: BTreeMap<JobId, Party> = BTreeMap::new();
    let mut seen_after: BTreeSet<JobId> = BTreeSet::new();
    let mut ended: BTreeSet<JobId> = BTreeSet::new();
    for recorded in &log {
        let event = recorded.event();
        let own = event.job.filter(|job| withdrawn.contains(job));
        if let (EventKind::FinishSeen, Some(job)) = (event.kind, own) {
            seen_by.entry(job).or_insert(event.by);
            if ended.contains(&job) {
                seen_after.insert(job);
            }
        }
        if event.kind.is_terminal() {
            ended.extend(event.job);
        }
    }
    ended.clear();
    let mut kept = Vec::with_capacity(log.len());
    for recorded in log {
        let at = recorded.at;
        let event = recorded.event();
        let job = event.job.filter(|job| withdrawn.contains(job));
        let terminal = event.kind.is_terminal();
        if event.kind.row().is_news && job.is_some_and(|job| !ended.contains(&job)) {
            continue;
        }
        kept.push(recorded);
        if let Some(job) = job.filter(|_| terminal) {
            ended.insert(job);
            if let Some(by) = seen_by.get(&job).filter(|_| !seen_after.contains(&job)) {
                kept.push(Recorded::new(
                    at,
                    Event::new(EventKind::FinishSeen, job, *by),
                ));
            }
        }
    }
    kept
}

fn is_belief(event: &Event<'_>) -> bool {
    event.kind == EventKind::Failed
        && event.by.cluster().is_none()
        && event.reason == Some(Reason::ServiceLost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::ids::{ClusterId, DomainId};

    fn failed(at: u64, job: u32, by: Party) -> Recorded {
        let reason = Reason::ServiceLost;
        let job = JobId(job);
        Recorded::new(
            SimTime::from_secs(at),
            Event::new(EventKind::Failed, job, by).because(reason),
        )
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
    fn the_news_of_a_withdrawn_end_goes_with_it() {
        let seen = |at: u64, job: u32, by| {
            let job = JobId(job);
            Recorded::new(
                SimTime::from_secs(at),
                Event::new(EventKind::FinishSeen, job, by),
            )
        };
        let broker = Party::Broker(DomainId(0));
        let log = vec![
            failed(1, 7, broker),
            seen(1, 7, broker),
            failed(1, 8, broker),
            seen(1, 8, broker),
            finished(5, 7),
        ];
        let settled = settle(log);
        assert_eq!(settled.withdrawn, [JobId(7)]);
        let expected = [
            failed(1, 8, broker),
            seen(1, 8, broker),
            finished(5, 7),
            seen(5, 7, broker),
        ];
        assert_eq!(settled.log, expected);
        // Who hears of it in the end has seen it then.
        let client = Party::Client;
        let log = vec![
            failed(1, 7, client),
            seen(1, 7, client),
            finished(5, 7),
            seen(6, 7, broker),
        ];
        let settled = settle(log);
        assert_eq!(settled.log, [finished(5, 7), seen(6, 7, broker)]);
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
            vec![failed(2, 0, broker), failed(3, 1, broker)],
            vec![finished(1, 7), finished(2, 8)],
        ]);
        let jobs: Vec<u32> = merged
            .iter()
            .filter_map(|r| r.event().job)
            .map(|j| j.0)
            .collect();
        assert_eq!(jobs, [7, 0, 8, 1]);
    }

    #[test]
    fn the_word_of_an_lrms_outweighs_the_belief_that_a_job_is_lost() {
        let broker = Party::Broker(DomainId(0));
        let log = vec![
            failed(1, 0, broker),
            failed(1, 1, broker),
            finished(2, 0),
            failed(3, 1, Party::Client),
        ];
        let settled = settle(log);
        assert_eq!(settled.withdrawn, [JobId(0)]);
        assert_eq!(settled.log, [failed(1, 1, broker), finished(2, 0)]);
    }
}
