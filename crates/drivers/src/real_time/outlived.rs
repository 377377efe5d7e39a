//! Jobs that lived on after somebody had given them up.

use super::record::Recorded;
use gridrig_core::event::Event;
use gridrig_core::ids::JobId;
use std::collections::{BTreeMap, BTreeSet};

/// Puts the verdict on a job, and the news of it, behind all else that is known
/// of the job. A request may lie in the socket of a service that stands still
/// until long after its sender has given the job up: the service then takes the
/// job all the same, and its end may come after everybody has stopped to
/// listen. The verdict stands, as the last that was said.
///
/// `log` is in order of time, and stays so. `given_up` are the jobs whose only
/// end is such a verdict.
pub(super) fn verdicts_last(log: Vec<Recorded>, given_up: &BTreeSet<JobId>) -> Vec<Recorded> {
    let job_of = |recorded: &Recorded| recorded.event().job.filter(|job| given_up.contains(job));
    let mut last_sign: BTreeMap<JobId, usize> = BTreeMap::new();
    for (position, recorded) in log.iter().enumerate() {
        if let Some(job) = job_of(recorded).filter(|_| !is_verdict(&recorded.event())) {
            last_sign.insert(job, position);
        }
    }
    let mut held: BTreeMap<JobId, Vec<Recorded>> = BTreeMap::new();
    let mut kept = Vec::with_capacity(log.len());
    for (position, recorded) in log.into_iter().enumerate() {
        let Some(job) = job_of(&recorded) else {
            kept.push(recorded);
            continue;
        };
        let last = last_sign.get(&job).copied();
        if is_verdict(&recorded.event()) && last > Some(position) {
            held.entry(job).or_default().push(recorded);
            continue;
        }
        let at = recorded.at;
        kept.push(recorded);
        if last == Some(position) {
            for mut verdict in held.remove(&job).unwrap_or_default() {
                verdict.at = at;
                kept.push(verdict);
            }
        }
    }
    kept
}

/// The end of a job, or the news of it.
fn is_verdict(event: &Event<'_>) -> bool {
    event.kind.row().is_news || event.kind.is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::event::{EventKind, Party};
    use gridrig_core::ids::{ClusterId, DomainId};
    use gridrig_core::job::Reason;
    use gridrig_core::time::SimTime;

    #[test]
    fn a_job_that_is_taken_after_it_was_given_up_has_failed_last_of_all() {
        let (job, other, cluster) = (JobId(3), JobId(4), ClusterId(1));
        let (a, b) = (DomainId(0), DomainId(1));
        let by = Party::Broker(a);
        let reason = Reason::ServiceLost;
        let failed = |job| Event::new(EventKind::Failed, job, by).because(reason);
        let seen = |job| Event::new(EventKind::FinishSeen, job, by);
        let arrived = Event::new(EventKind::BrokerArrival, job, b).with(1);
        let queued = Event::new(EventKind::Queued, job, cluster);
        let at = |second, event| Recorded::new(SimTime::from_secs(second), event);
        let forwarded = Event::new(EventKind::Forwarded, job, a).to(b);
        let log = vec![
            at(1, forwarded),
            at(2, failed(job)),
            at(2, failed(other)),
            at(2, seen(job)),
            at(3, arrived),
            at(4, queued),
            at(5, seen(other)),
        ];
        let wanted = vec![
            at(1, forwarded),
            at(2, failed(other)),
            at(3, arrived),
            at(4, queued),
            at(4, failed(job)),
            at(4, seen(job)),
            at(5, seen(other)),
        ];
        let given_up = BTreeSet::from([job, other]);
        assert_eq!(verdicts_last(log, &given_up), wanted);
        // A verdict that was the last word is left where it is.
        assert_eq!(verdicts_last(wanted.clone(), &given_up), wanted);
    }
}
