//! The logs of LRMSs as part of a run: what somebody else's broker brought
//! there gets the names of the workload back, and what is nobody's is counted.

use crate::observation::{Names, Owner};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_drivers::real_time::Recorded;
use std::collections::{BTreeMap, BTreeSet};

/// What the logs of the LRMSs say of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Correlation {
    /// Jobs of the workload that were found by their tags.
    pub found: BTreeSet<JobId>,
    /// Jobs that were in LRMSs more than once: one attempt of each counts.
    pub repeated: BTreeSet<JobId>,
    /// Jobs in an LRMS that are not the workload's: they took processors, and
    /// are in no figure.
    pub foreign: BTreeMap<ClusterId, usize>,
}

impl Correlation {
    /// Jobs that are not the workload's, in all LRMSs.
    pub fn foreign(&self) -> usize {
        self.foreign.values().sum()
    }
}

/// Reads out of the logs of LRMSs what happened to the jobs of the workload, by
/// the names that these have there: jobs that are not the workload's, and
/// attempts that do not count, are nothing of this run.
pub fn correlate(logs: &mut BTreeMap<ClusterId, Vec<Recorded>>, names: &Names) -> Correlation {
    let mut correlation = Correlation::default();
    for (cluster, log) in logs {
        let mut foreign = BTreeSet::new();
        let events = std::mem::take(log).into_iter();
        let own = events.filter_map(|recorded| {
            let Some(local) = recorded.event().job else {
                return Some(recorded);
            };
            match names.get(&(*cluster, local)) {
                Some(Owner::Named(_)) => Some(recorded),
                Some(Owner::Tagged(job)) => {
                    correlation.found.insert(*job);
                    Some(recorded.about(*job))
                }
                Some(Owner::Repeated(job)) => {
                    correlation.repeated.insert(*job);
                    None
                }
                Some(Owner::Foreign) | None => {
                    foreign.insert(local);
                    None
                }
            }
        });
        *log = own.collect();
        if !foreign.is_empty() {
            correlation.foreign.insert(*cluster, foreign.len());
        }
    }
    correlation
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::event::{Event, EventKind};
    use gridrig_core::time::SimTime;

    const A: ClusterId = ClusterId(0);
    const B: ClusterId = ClusterId(1);

    fn at(seconds: u64, event: Event<'_>) -> Recorded {
        Recorded::new(SimTime::from_secs(seconds), event)
    }

    fn life(cluster: ClusterId, local: u32, begin: u64, ends: bool) -> Vec<Recorded> {
        let job = JobId(local);
        let placement = &[];
        let mut life = vec![
            at(begin, Event::new(EventKind::Queued, job, cluster)),
            at(
                begin,
                Event::new(EventKind::Started, job, cluster).on(placement),
            ),
        ];
        if ends {
            life.push(at(begin + 5, Event::new(EventKind::Finished, job, cluster)));
        }
        life
    }

    #[test]
    fn a_job_found_by_its_tag_gets_its_name_back_and_counts_once() {
        let mut logs = BTreeMap::from([(A, life(A, 901, 2, false)), (B, life(B, 900, 3, true))]);
        let names = Names::from([
            ((A, JobId(901)), Owner::Repeated(JobId(7))),
            ((B, JobId(900)), Owner::Tagged(JobId(7))),
        ]);
        let correlation = correlate(&mut logs, &names);
        let only = BTreeSet::from([JobId(7)]);
        assert_eq!(
            (correlation.found, correlation.repeated),
            (only.clone(), only)
        );
        assert!(logs[&A].is_empty());
        assert_eq!(logs[&B], life(B, 7, 3, true));
    }

    #[test]
    fn what_is_nobodys_is_counted_and_what_has_its_name_keeps_it() {
        let mut logs = BTreeMap::from([(A, [life(A, 3, 1, true), life(A, 4, 1, true)].concat())]);
        let names = Names::from([((A, JobId(3)), Owner::Named(JobId(3)))]);
        let correlation = correlate(&mut logs, &names);
        assert_eq!(correlation.foreign, BTreeMap::from([(A, 1)]));
        assert_eq!(logs[&A], life(A, 3, 1, true));
        assert!(correlation.found.is_empty());
    }
}
