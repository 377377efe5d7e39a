//! What a machine has told, counted as it is told: a reader of metrics wants
//! totals since the start, whichever events are still kept.

use gridrig_core::event::{Event, EventKind, MessageKind};
use gridrig_core::time::{SimDuration, SimTime};

/// Upper bounds of the classes of submission lag, in the time of the run. A
/// last class without a bound follows.
pub const LAG_BOUNDS: [SimDuration; 17] = [
    SimDuration::from_millis(1),
    SimDuration::from_millis(2),
    SimDuration::from_millis(5),
    SimDuration::from_millis(10),
    SimDuration::from_millis(20),
    SimDuration::from_millis(50),
    SimDuration::from_millis(100),
    SimDuration::from_millis(200),
    SimDuration::from_millis(500),
    SimDuration::from_secs(1),
    SimDuration::from_secs(2),
    SimDuration::from_secs(5),
    SimDuration::from_secs(10),
    SimDuration::from_secs(20),
    SimDuration::from_secs(50),
    SimDuration::from_secs(100),
    SimDuration::from_secs(500),
];

/// Events by kind, messages by kind, and how late jobs were handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    events: [u64; EventKind::ALL.len()],
    messages: [u64; MessageKind::ALL.len()],
    lags: [u64; LAG_BOUNDS.len() + 1],
    total_lag: SimDuration,
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            events: [0; _],
            messages: [0; _],
            lags: [0; _],
            total_lag: SimDuration::ZERO,
        }
    }
}

impl Counts {
    /// Takes note of an event of this instant.
    pub(super) fn count(&mut self, at: SimTime, event: &Event<'_>) {
        self.events[event.kind as usize] += 1;
        if let Some(kind) = event.kind.row().message {
            self.messages[kind as usize] += 1;
        }
        if event.kind == EventKind::Submitted {
            let lag = at.since(event.instant());
            self.lags[LAG_BOUNDS.partition_point(|bound| *bound < lag)] += 1;
            self.total_lag = self.total_lag + lag;
        }
    }

    /// Events, each kind once.
    pub fn events(&self) -> impl Iterator<Item = (EventKind, u64)> {
        EventKind::ALL.into_iter().zip(self.events)
    }

    /// Messages sent, each kind once.
    pub fn messages(&self) -> impl Iterator<Item = (MessageKind, u64)> {
        MessageKind::ALL.into_iter().zip(self.messages)
    }

    /// Jobs handed over by class of lag: one count per bound of
    /// [`LAG_BOUNDS`], and one for what is later than the last.
    pub fn lags(&self) -> &[u64] {
        &self.lags
    }

    /// All lags added up, in the time of the run.
    pub fn total_lag(&self) -> SimDuration {
        self.total_lag
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::event::Party;
    use gridrig_core::ids::{DomainId, JobId};
    use gridrig_core::job::Entry;

    #[test]
    fn a_lag_is_counted_in_the_first_class_that_holds_it() {
        let mut counts = Counts::default();
        for lag in [0, 1, 2, 600_000] {
            let event = Event::new(EventKind::Submitted, JobId(lag), Party::Client)
                .to(Entry::Domain(DomainId(0)))
                .at(SimTime::from_secs(1));
            let at = SimTime::from_secs(1) + SimDuration::from_millis(u64::from(lag));
            counts.count(at, &event);
        }
        assert_eq!(counts.lags()[..3], [2, 1, 0]);
        assert_eq!(counts.lags().last(), Some(&1));
        assert_eq!(counts.total_lag(), SimDuration::from_millis(600_003));
        assert_eq!(counts.messages().next(), Some((MessageKind::Submit, 4)));
        assert_eq!(counts.events().next(), Some((EventKind::Submitted, 4)));
    }
}
