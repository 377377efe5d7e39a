//! The logs of LRMSs as part of a run: what somebody else's broker brought
//! there gets the names of the workload back, and what is nobody's is counted.

use crate::sighting::{Names, Owner};
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_drivers::real_time::Recorded;
use std::collections::{BTreeMap, BTreeSet};

/// What the logs of the LRMSs say of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Correlation {
    /// Jobs of the workload that were found by their tags.
    pub found: BTreeSet<JobId>,
    /// Jobs that were in LRMSs more than once, one attempt of each counts.
    pub repeated: BTreeSet<JobId>,
    /// Jobs in an LRMS that are not the workload's: they took processors, and
    /// are in no figure.
    pub foreign: BTreeMap<ClusterId, usize>,
}

impl Correlation {
    /// Jobs that are not the workload's, in all LRMSs.
    #[must_use]
    pub fn strangers(&self) -> usize {
        self.foreign.values().sum()
    }
}

/// What one job has been through under one name in one LRMS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Attempt {
    Rejected,
    Removed,
    Queued,
    Running,
    Completed,
}

/// Gives the jobs in the logs of LRMSs the names of the workload, in place.
///
/// Of several attempts of one job the one that came furthest counts, of equals
/// the first; the events of others, and of jobs that are not the workload's,
/// are taken out.
pub fn correlate(logs: &mut BTreeMap<ClusterId, Vec<Recorded>>, names: &Names) -> Correlation {
    let mut correlation = Correlation::default();
    let mut attempts: BTreeMap<JobId, BTreeMap<(ClusterId, JobId), Attempt>> = BTreeMap::new();
    let mut order: Vec<(&Recorded, ClusterId)> = Vec::new();
    for (cluster, log) in logs.iter() {
        order.extend(log.iter().map(|recorded| (recorded, *cluster)));
    }
    order.sort_by_key(|(recorded, _)| recorded.at);
    let mut firsts: BTreeMap<(ClusterId, JobId), usize> = BTreeMap::new();
    for (position, (recorded, cluster)) in order.into_iter().enumerate() {
        let event = recorded.event();
        let Some(local) = event.job else { continue };
        let place = (cluster, local);
        if let Some(Owner::Tagged(job)) = names.get(&place) {
            firsts.entry(place).or_insert(position);
            let attempt = attempts.entry(*job).or_default().entry(place);
            let attempt = attempt.or_insert(Attempt::Rejected);
            *attempt = (*attempt).after(&event);
        }
    }
    let mut chosen: BTreeMap<(ClusterId, JobId), JobId> = BTreeMap::new();
    for (job, attempts) in &attempts {
        correlation.found.insert(*job);
        if attempts.len() > 1 {
            correlation.repeated.insert(*job);
        }
        let first = |place| std::cmp::Reverse(firsts.get(place).copied());
        let best = attempts
            .iter()
            .max_by_key(|(place, attempt)| (**attempt, first(*place)));
        chosen.extend(best.map(|(place, _)| (*place, *job)));
    }
    for (cluster, log) in logs.iter_mut() {
        let mut foreign = BTreeSet::new();
        let events = std::mem::take(log).into_iter();
        let kept = events.filter_map(|recorded| {
            let Some(local) = recorded.event().job else {
                return Some(recorded);
            };
            let place = (*cluster, local);
            match names.get(&place) {
                Some(Owner::Named(_)) => Some(recorded),
                Some(Owner::Tagged(_)) => chosen.get(&place).map(|job| recorded.about(*job)),
                Some(Owner::Foreign) | None => {
                    foreign.insert(local);
                    None
                }
            }
        });
        *log = seen_at_their_end(kept.collect(), &correlation.found);
        if !foreign.is_empty() {
            correlation.foreign.insert(*cluster, foreign.len());
        }
    }
    correlation
}

/// An LRMS that was given a job by a broker tells the broker of its end, and
/// what becomes of the news there is not known: it counts as seen when the LRMS
/// has written it.
fn seen_at_their_end(log: Vec<Recorded>, found: &BTreeSet<JobId>) -> Vec<Recorded> {
    let seen: BTreeSet<JobId> = log
        .iter()
        .map(Recorded::event)
        .filter(|event| event.kind == EventKind::FinishSeen)
        .filter_map(|event| event.job)
        .collect();
    let mut with_news = Vec::with_capacity(log.len());
    for recorded in log {
        let event = recorded.event();
        let ended = event.job.filter(|_| event.kind.is_terminal());
        let at = recorded.at;
        with_news.push(recorded);
        if let Some(job) = ended.filter(|job| found.contains(job) && !seen.contains(job)) {
            let by = Party::Client;
            with_news.push(Recorded::new(
                at,
                Event::new(EventKind::FinishSeen, job, by),
            ));
        }
    }
    with_news
}

impl Attempt {
    fn after(self, event: &Event<'_>) -> Self {
        match event.kind {
            EventKind::Queued => Attempt::Queued,
            EventKind::Started => Attempt::Running,
            EventKind::Finished => Attempt::Completed,
            EventKind::Rejected => Attempt::Rejected,
            EventKind::Cancelled | EventKind::Failed => Attempt::Removed,
            _ => self,
        }
    }
}

/// Takes out of a client's log how jobs ended that an LRMS has had, be it that
/// it had given them up or that a broker had said so: how these stand is what
/// the LRMS says.
pub fn withdraw(log: &mut Vec<Recorded>, found: &BTreeSet<JobId>) {
    log.retain(|recorded| {
        let event = recorded.event();
        let gone = match event.kind {
            EventKind::Failed | EventKind::FinishSeen => event.by == Party::Client,
            // Entered in the name of a broker that had said so.
            EventKind::Rejected | EventKind::Cancelled => true,
            _ => false,
        };
        !(gone && event.job.is_some_and(|job| found.contains(&job)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::job::Reason;
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
    fn the_attempt_that_came_furthest_stands_for_the_job() {
        let (by, reason) = (Party::Lrms(A), Reason::NeverFits);
        let job = JobId(900);
        let refused = at(1, Event::new(EventKind::Rejected, job, by).because(reason));
        let mut logs = BTreeMap::from([
            (A, [vec![refused], life(A, 901, 2, false)].concat()),
            (B, life(B, 900, 3, true)),
        ]);
        let ours = Owner::Tagged(JobId(7));
        let names = Names::from([
            ((A, JobId(900)), ours),
            ((A, JobId(901)), ours),
            ((B, JobId(900)), ours),
        ]);
        let correlation = correlate(&mut logs, &names);
        assert_eq!(correlation.found, BTreeSet::from([JobId(7)]));
        assert_eq!(correlation.repeated, BTreeSet::from([JobId(7)]));
        assert!(logs[&A].is_empty());
        // Its LRMS told a broker: that is as far as the news can be followed.
        let (job, by) = (JobId(7), Party::Client);
        let seen = at(8, Event::new(EventKind::FinishSeen, job, by));
        assert_eq!(logs[&B], [life(B, 7, 3, true), vec![seen]].concat());
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

    #[test]
    fn a_clients_belief_gives_way_to_what_an_lrms_has() {
        let (by, reason) = (Party::Client, Reason::SubmitFailed);
        let lost = |job| at(1, Event::new(EventKind::Failed, job, by).because(reason));
        let mut log = vec![lost(JobId(1)), lost(JobId(2))];
        withdraw(&mut log, &BTreeSet::from([JobId(1)]));
        assert_eq!(log, [lost(JobId(2))]);
    }
}
