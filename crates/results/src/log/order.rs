//! Bringing the logs of several services into one order.

use super::record::Record;
use gridrig_core::event::EventKind;
use gridrig_core::ids::JobId;
use std::collections::BTreeMap;

/// Sorts by time, keeping the order of equals, and then mends each instant.
pub(super) fn sort(records: &mut [Record]) {
    if !records.is_sorted_by_key(|record| record.at) {
        records.sort_by_key(|record| record.at);
    }
    let mut scratch = Scratch::default();
    for instant in records.chunk_by_mut(|a, b| a.at == b.at) {
        if instant.len() > 1 {
            scratch.mend(instant);
        }
    }
}

type Rank = (EventKind, bool);

/// Buffers that are used again for each instant.
#[derive(Default)]
struct Scratch {
    /// (job, rank, position) of the records of an instant, sorted.
    by_job: Vec<(JobId, Rank, usize)>,
    taken: Vec<bool>,
    mended: Vec<Record>,
}

impl Scratch {
    /// Moves, within one instant, causes before their effects.
    ///
    /// The records are gone through in their order; before one is taken, the
    /// records of the same job with a lower rank that are still behind it are
    /// taken. Two records of one job with one rank keep their order.
    fn mend(&mut self, instant: &mut [Record]) {
        self.by_job.clear();
        let keys = instant.iter().enumerate();
        self.by_job
            .extend(keys.map(|(position, record)| (record.job, record.rank(), position)));
        self.by_job.sort_unstable();
        let in_place =
            |pair: &[(JobId, Rank, usize)]| pair[0].0 != pair[1].0 || pair[0].2 < pair[1].2;
        if self.by_job.windows(2).all(in_place) {
            return;
        }
        self.taken.clear();
        self.taken.resize(instant.len(), false);
        self.mended.clear();
        // Where the next record of a job stands in `by_job`.
        let mut next: BTreeMap<JobId, usize> = BTreeMap::new();
        for (index, (job, _, _)) in self.by_job.iter().enumerate() {
            next.entry(*job).or_insert(index);
        }
        for position in 0..instant.len() {
            let job = instant[position].job;
            while !self.taken[position] {
                let index = next.entry(job).or_default();
                let (_, _, earliest) = self.by_job[*index];
                *index += 1;
                self.taken[earliest] = true;
                self.mended.push(instant[earliest]);
            }
        }
        instant.copy_from_slice(&self.mended);
    }
}

#[cfg(test)]
mod tests {
    use crate::log::EventLog;
    use gridrig_core::event::{Event, EventKind, EventSink, Party};
    use gridrig_core::ids::{ClusterId, DomainId, JobId};
    use gridrig_core::job::Entry;
    use gridrig_core::time::SimTime;

    const CLUSTER: ClusterId = ClusterId(0);
    const DOMAIN: DomainId = DomainId(0);

    fn queued(job: u32) -> Event<'static> {
        Event::new(EventKind::Queued, JobId(job), CLUSTER)
    }

    fn started(job: u32) -> Event<'static> {
        Event::new(EventKind::Started, JobId(job), CLUSTER).on(&[])
    }

    fn finished(job: u32) -> Event<'static> {
        Event::new(EventKind::Finished, JobId(job), CLUSTER)
    }

    fn arrival(job: u32) -> Event<'static> {
        Event::new(EventKind::BrokerArrival, JobId(job), DOMAIN).with(0)
    }

    fn submitted(job: u32) -> Event<'static> {
        Event::new(EventKind::Submitted, JobId(job), Party::Client)
            .to(Entry::Domain(DOMAIN))
            .at(SimTime::ZERO)
    }

    fn check(told: &[(u64, Event<'_>)], expected: &[Event<'_>]) {
        let mut log = EventLog::default();
        for &(at, event) in told {
            log.emit(SimTime::from_secs(at), event);
        }
        log.sort();
        let events: Vec<_> = log.records().map(|(_, event)| event).collect();
        assert_eq!(events, expected);
    }

    #[test]
    fn earlier_events_come_first_whoever_told_them() {
        check(
            &[
                (3, finished(0)),
                (2, queued(0)),
                (1, arrival(0)),
                (0, submitted(0)),
            ],
            &[submitted(0), arrival(0), queued(0), finished(0)],
        );
    }

    #[test]
    fn at_one_instant_a_cause_comes_before_its_effect() {
        check(
            &[
                (1, queued(0)),
                (1, queued(1)),
                (1, arrival(0)),
                (1, submitted(0)),
            ],
            &[submitted(0), arrival(0), queued(0), queued(1)],
        );
    }

    #[test]
    fn a_processor_given_back_at_an_instant_is_not_taken_first() {
        let told = [
            (1, started(0)),
            (1, finished(0)),
            (1, started(1)),
            (1, finished(1)),
            (1, submitted(1)),
        ];
        check(
            &told,
            &[
                started(0),
                finished(0),
                submitted(1),
                started(1),
                finished(1),
            ],
        );
    }
}
