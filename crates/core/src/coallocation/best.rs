//! One reservation of several that can be had, and all others let go of (JSS 5.2.1).

use super::{Answer, Asker, Found};
use crate::time::{SimDuration, SimTime};

/// Where a job could run.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its number, that of the resource if that is asked to reserve.
    pub resource: usize,
    /// Whether it is asked.
    pub reserves: bool,
    /// When the job is thought to start there without a reservation; `None`: it would not.
    pub estimate: Option<SimTime>,
    /// What counts beside the start.
    pub run: SimDuration,
}

/// Asks each place in turn for a start by which it would be better than the best so far, which
/// it takes the place of then. One that does not reserve, or never so long, counts by its
/// estimate, as all do where nobody reserves in time.
pub(super) async fn search(
    asker: Asker,
    (jobs, places): (u64, Vec<Place>),
    (earliest, latest): (SimTime, SimTime),
) -> Option<Found> {
    let ask = |resource, jobs, window| asker.ask(resource, jobs, window);
    let mut best: Option<(SimTime, (usize, SimTime))> = None;
    let (mut estimated, mut later) = (Vec::new(), Vec::new());
    for place in places {
        let better = best.map(|(value, _)| value.as_nanos().saturating_sub(place.run.as_nanos()));
        let last = better.map_or(latest, |before| {
            latest.min(SimTime::from_nanos(before.saturating_sub(1)))
        });
        if !place.reserves {
            estimated.push(place);
        } else if earliest > last {
            later.push(place);
        } else {
            match ask(place.resource, jobs, (earliest, last)).await {
                Answer::Granted(start) => {
                    if let Some((_, (before, _))) = best {
                        ask(before, 0, (earliest, last)).await;
                    }
                    best = Some((start + place.run, (place.resource, start)));
                }
                Answer::Refused(None) => estimated.push(place),
                Answer::Refused(Some(_)) => later.push(place),
            }
        }
    }
    if best.is_none() {
        estimated.append(&mut later);
    }
    let estimated = estimated.into_iter().filter_map(|place| {
        let start = place.estimate?;
        Some((start + place.run, (place.resource, start)))
    });
    let estimated = estimated.min_by_key(|(value, _)| *value);
    let found = match (best, estimated) {
        (Some(best), Some(other)) if other.0 < best.0 => {
            ask(best.1.0, 0, (earliest, latest)).await;
            Some(other)
        }
        (best, other) => best.or(other),
    };
    found.map(|(_, place)| vec![place])
}

#[cfg(test)]
mod tests {
    use super::super::{Search, Step};
    use super::*;

    const fn at(secs: u64) -> SimTime {
        SimTime::from_secs(secs)
    }

    fn place(resource: usize, estimate: u64, run: u64) -> Place {
        Place {
            resource,
            reserves: true,
            estimate: Some(at(estimate)),
            run: SimDuration::from_secs(run),
        }
    }

    /// Where a job goes if each resource has room from an instant on, 0 being never, and what
    /// is reserved in the end.
    fn search(places: &[Place], room: &[u64], latest: u64) -> (Option<Found>, Vec<usize>) {
        let mut search = Search::best(1, places.to_vec(), (at(10), at(latest)));
        let (mut answer, mut held) = (None, Vec::new());
        loop {
            let question = match search.go_on(answer) {
                Step::Asks(question) => question,
                Step::Over(found) => return (found, held),
            };
            let room = at(room[question.resource]);
            held.retain(|at| *at != question.resource);
            answer = Some(match room {
                _ if question.jobs == 0 => Answer::Granted(at(0)),
                SimTime::ZERO => Answer::Refused(None),
                room if room > question.window.1 => Answer::Refused(Some(room)),
                room => {
                    held.push(question.resource);
                    Answer::Granted(room.max(question.window.0))
                }
            });
        }
    }

    #[test]
    fn the_earliest_is_kept_and_all_others_are_let_go_of() {
        let places = [place(0, 11, 0), place(1, 12, 0), place(2, 13, 0)];
        let found = search(&places, &[50, 30, 40], 100);
        assert_eq!(found, (Some(vec![(1, at(30))]), vec![1]));
        // Equals: the one that was thought to be better.
        let found = search(&places, &[30, 30, 30], 100);
        assert_eq!(found, (Some(vec![(0, at(30))]), vec![0]));
    }

    #[test]
    fn the_end_counts_where_it_is_to_be_early() {
        let places = [place(0, 11, 90), place(1, 40, 20)];
        let found = search(&places, &[30, 99, 0], 100);
        assert_eq!(found, (Some(vec![(1, at(99))]), vec![1]));
        let found = search(&places, &[10, 81, 0], 100);
        assert_eq!(found, (Some(vec![(0, at(10))]), vec![0]));
    }

    #[test]
    fn who_does_not_reserve_counts_by_its_estimate() {
        let places = [place(0, 20, 0), place(1, 25, 0)];
        assert_eq!(
            search(&places, &[0, 30], 100),
            (Some(vec![(0, at(20))]), vec![])
        );
        assert_eq!(
            search(&places, &[0, 15], 100),
            (Some(vec![(1, at(15))]), vec![1])
        );
        // Nobody has room in time.
        assert_eq!(
            search(&places, &[200, 300], 100),
            (Some(vec![(0, at(20))]), vec![])
        );
        // Nor would anybody: it is too late.
        assert_eq!(
            search(&places, &[15, 15], 9),
            (Some(vec![(0, at(20))]), vec![])
        );
        let only_reserved = places.map(|place| Place {
            estimate: None,
            ..place
        });
        assert_eq!(search(&only_reserved, &[200, 0], 100), (None, vec![]));
    }
}
