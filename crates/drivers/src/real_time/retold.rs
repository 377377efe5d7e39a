//! The log of a run in which a broker died and was started anew.
//!
//! A broker that has forgotten everything is sent its jobs once more, and says
//! once more what it did in its earlier life. One story is made of the two:
//! what is said a second time is left out, and so is a message that was
//! written and never sent because its writer died. What LRMSs say is left
//! alone: if a job ran twice, it is they who know.

use super::record::Recorded;
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::ids::JobId;
use std::collections::BTreeMap;

/// Where a job is, by the events so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Entering,
    Broker(Party),
    /// By the first, to the second: a broker, or an LRMS.
    Sent(Party, Party),
    Beyond,
}

struct Story {
    place: Place,
    /// Position of the last movement that was kept.
    last: usize,
    seen: bool,
}

/// A log in which no broker says twice what happened once. Logs of runs in
/// which nobody was started anew are best left as they are.
#[must_use]
pub fn told_once(log: Vec<Recorded>) -> Vec<Recorded> {
    let mut stories: BTreeMap<JobId, Story> = BTreeMap::new();
    let mut kept: Vec<Option<Recorded>> = Vec::with_capacity(log.len());
    for recorded in log {
        let Some(job) = recorded.event().job else {
            kept.push(Some(recorded));
            continue;
        };
        let story = stories.entry(job).or_insert(Story {
            place: Place::Entering,
            last: 0,
            seen: false,
        });
        let event = recorded.event();
        let position = kept.len();
        match story.follow(&event) {
            Verdict::News => {
                if !event.kind.row().is_news {
                    story.last = position;
                }
                kept.push(Some(recorded));
            }
            Verdict::Again => {}
            Verdict::AfterDeath => {
                kept[story.last] = None;
            }
        }
    }
    kept.into_iter().flatten().collect()
}

enum Verdict {
    News,
    /// It was said before.
    Again,
    /// It was said before, and what was said last never left its writer.
    AfterDeath,
}

impl Story {
    fn follow(&mut self, event: &Event<'_>) -> Verdict {
        let (place, by, to) = (self.place, event.by, event.to);
        let (fits, next) = match event.kind {
            EventKind::BrokerArrival => match place {
                Place::Entering => (true, Place::Broker(by)),
                Place::Sent(_, to) if to == by => (true, Place::Broker(by)),
                Place::Sent(from, _) if from == by => {
                    self.place = Place::Broker(by);
                    return Verdict::AfterDeath;
                }
                _ => (false, place),
            },
            EventKind::Dispatched | EventKind::Forwarded => {
                let sent = to.map_or(Place::Beyond, |to| Place::Sent(by, to));
                (place == Place::Broker(by), sent)
            }
            EventKind::Refused => {
                let fits = match place {
                    Place::Sent(_, here) | Place::Broker(here) => here == by,
                    Place::Entering => true,
                    Place::Beyond => false,
                };
                let next = to.filter(|to| to.domain().is_some());
                (fits, next.map_or(Place::Beyond, Place::Broker))
            }
            EventKind::FinishSeen => (!std::mem::replace(&mut self.seen, true), place),
            EventKind::Submitted | EventKind::Notified => (true, place),
            _ => (true, Place::Beyond),
        };
        if !fits {
            return Verdict::Again;
        }
        self.place = next;
        Verdict::News
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::ids::{ClusterId, DomainId};
    use gridrig_core::job::Entry;
    use gridrig_core::time::SimTime;

    const JOB: JobId = JobId(0);
    const B: DomainId = DomainId(1);
    const C: DomainId = DomainId(2);
    const B1: ClusterId = ClusterId(1);

    fn told(events: &[Event<'_>]) -> Vec<Recorded> {
        let numbered = (1..).zip(events);
        let record = |(at, event): (u64, &Event<'_>)| Recorded::new(SimTime::from_secs(at), *event);
        numbered.map(record).collect()
    }

    fn arrival(domain: DomainId, hop: u32) -> Event<'static> {
        Event::new(EventKind::BrokerArrival, JOB, domain).with(hop)
    }

    fn submitted() -> Event<'static> {
        Event::new(EventKind::Submitted, JOB, Party::Client)
            .to(Entry::Domain(B))
            .at(SimTime::ZERO)
    }

    fn dispatched() -> Event<'static> {
        Event::new(EventKind::Dispatched, JOB, B).to(B1)
    }

    fn seen() -> Event<'static> {
        Event::new(EventKind::FinishSeen, JOB, Party::Broker(B))
    }

    fn queued(cluster: ClusterId) -> Event<'static> {
        Event::new(EventKind::Queued, JOB, cluster)
    }

    fn finished() -> Event<'static> {
        Event::new(EventKind::Finished, JOB, B1)
    }

    fn forwarded() -> Event<'static> {
        Event::new(EventKind::Forwarded, JOB, B).to(C)
    }

    fn check(events: &[Event<'_>], kept: &[usize]) {
        let log = told(events);
        let wanted: Vec<Recorded> = kept.iter().map(|at| log[*at].clone()).collect();
        assert_eq!(told_once(log), wanted);
    }

    #[test]
    fn what_a_broker_says_again_of_a_job_that_is_elsewhere_is_left_out() {
        let story = [
            submitted(),
            arrival(B, 0),
            dispatched(),
            queued(B1),
            arrival(B, 0),
            dispatched(),
            finished(),
            seen(),
            arrival(B, 0),
            dispatched(),
            seen(),
        ];
        check(&story, &[0, 1, 2, 3, 6, 7]);
    }

    #[test]
    fn a_message_that_its_writer_took_to_the_grave_is_left_out() {
        let story = [
            submitted(),
            arrival(B, 0),
            dispatched(),
            arrival(B, 0),
            forwarded(),
            arrival(C, 1),
        ];
        check(&story, &[0, 1, 4, 5]);
    }

    #[test]
    fn a_second_run_is_not_hidden() {
        let other = ClusterId(7);
        let story = [
            submitted(),
            arrival(B, 0),
            dispatched(),
            queued(B1),
            finished(),
            queued(other),
        ];
        check(&story, &[0, 1, 2, 3, 4, 5]);
    }
}
