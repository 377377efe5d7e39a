//! Intervals around predicted starts, and how often they held.
//!
//! A 90 % interval is the prediction plus two order statistics of the errors (start - predicted
//! start) that its broker knew by then: of n errors the one at floor((n + 1) * 0.05) and the one
//! at ceil((n + 1) * 0.95). Where the next error is as likely to be at any place among them, at
//! least 90 % of the intervals hold, whatever the errors are distributed by: conformal
//! prediction (Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World*, 2005;
//! split, from errors of predictions that were made before: Papadopoulos, Proedrou, Vovk and
//! Gammerman, *Inductive Confidence Machines for Regression*, ECML 2002). Waits of jobs depend
//! on each other, so the share that holds is a figure.
//!
//! Errors are a broker's, not a cluster's: `predicted` names no cluster, a broker does not know
//! which one of a peer will run the job, and few jobs of each would do. Only its newest count,
//! as load changes.

use super::share;
use crate::jobs::JobRow;
use gridrig_core::ids::DomainId;
use gridrig_core::time::SimTime;
use std::collections::{BTreeMap, VecDeque};

/// One in so many errors is below an interval, and one above it.
const TAIL: usize = 20;

/// So many of the newest errors count.
const NEWEST: usize = 1_000;

/// What was last predicted of a job that started.
struct Prediction {
    at: SimTime,
    by: DomainId,
    /// How much later it started, in nanoseconds.
    error: i128,
    /// When that was known; `None` if the news of its end never came.
    known: Option<SimTime>,
    is_measured: bool,
}

/// The predictions of a run.
#[derive(Default)]
pub(super) struct Predictions(Vec<Prediction>);

impl Predictions {
    /// A broker learns when a job started by the news of its end, which the entry broker has
    /// no earlier than the one that sent it on.
    pub(super) fn add(&mut self, row: &JobRow, is_measured: bool) {
        if let (Some(start), Some(predicted), Some((at, by))) =
            (row.start, row.predicted, row.predicted_by)
        {
            self.0.push(Prediction {
                at,
                by,
                error: i128::from(start.as_nanos()) - i128::from(predicted.as_nanos()),
                // A log may have any order.
                known: row.finish_seen.map(|seen| seen.max(start).max(at)),
                is_measured,
            });
        }
    }

    /// The share of the intervals of measured jobs that held, and their mean width in seconds.
    pub(super) fn intervals(&self) -> [Option<f64>; 2] {
        let made = self.0.iter().map(|it| (it.at, false, it));
        let known = self.0.iter().filter_map(|it| Some((it.known?, true, it)));
        let mut steps: Vec<_> = made.chain(known).collect();
        // What becomes known at the instant of a prediction may have come after it.
        steps.sort_by_key(|(at, is_known, _)| (*at, *is_known));
        let mut brokers = BTreeMap::<DomainId, Errors>::new();
        let (mut count, mut held, mut width) = (0_u64, 0_u64, 0_i128);
        for (_, is_known, one) in steps {
            let errors = brokers.entry(one.by).or_default();
            if is_known {
                errors.add(one.error);
            } else if let Some((least, most)) = errors.interval().filter(|_| one.is_measured) {
                count += 1;
                held += u64::from((least..=most).contains(&one.error));
                width += most - least;
            }
        }
        let width_s = (count > 0).then(|| width as f64 / 1e9 / count as f64);
        [share(held, count), width_s]
    }
}

/// The newest errors of a broker.
#[derive(Default)]
struct Errors {
    newest: VecDeque<i128>,
    sorted: Vec<i128>,
}

impl Errors {
    /// A binary search in, and a move of, at most [`NEWEST`].
    fn add(&mut self, error: i128) {
        if self.newest.len() == NEWEST
            && let Some(oldest) = self.newest.pop_front()
        {
            let place = self.place(oldest);
            self.sorted.remove(place);
        }
        self.newest.push_back(error);
        let place = self.place(error);
        self.sorted.insert(place, error);
    }

    fn place(&self, error: i128) -> usize {
        self.sorted.partition_point(|it| *it < error)
    }

    /// The least and the largest error that are within; `None` of fewer than 19.
    fn interval(&self) -> Option<(i128, i128)> {
        // Of n + 1 places, floor of a share and ceil of the rest: as far from either end.
        let outside = (self.sorted.len() + 1) / TAIL;
        let least = self.sorted.get(outside.checked_sub(1)?)?;
        let most = self.sorted.get(self.sorted.len() - outside)?;
        Some((*least, *most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::rng;
    use rand::RngExt as _;

    const A: DomainId = DomainId(0);
    const B: DomainId = DomainId(1);

    /// A job that a broker predicts at an instant to start 1000 s later, which it does so many
    /// seconds after that; it runs for no time. All in seconds.
    fn job(by: DomainId, at: u64, error: i64) -> JobRow {
        let start = SimTime::from_secs((at + 1_000).strict_add_signed(error));
        JobRow {
            predicted_by: Some((SimTime::from_secs(at), by)),
            predicted: Some(SimTime::from_secs(at + 1_000)),
            start: Some(start),
            finish_seen: Some(start),
            ..JobRow::default()
        }
    }

    /// Errors of 1 to n seconds, known by 2000 s.
    fn known(n: i64) -> Vec<JobRow> {
        (1..=n).map(|error| job(A, 0, error)).collect()
    }

    /// Coverage and width of those predicted from 5000 s on.
    fn intervals(rows: &[JobRow]) -> [Option<f64>; 2] {
        let mut all = Predictions::default();
        for row in rows {
            let at = row.predicted_by.unwrap().0;
            all.add(row, at >= SimTime::from_secs(5_000));
        }
        all.intervals()
    }

    /// The same of jobs with these errors after 1 to n are known.
    fn after(n: i64, errors: &[i64]) -> [Option<f64>; 2] {
        let mut rows = known(n);
        rows.extend(errors.iter().map(|error| job(A, 5_000, *error)));
        intervals(&rows)
    }

    #[test]
    fn an_interval_is_between_two_order_statistics() {
        // Of fewer than 19 errors none is at floor((n + 1) * 0.05).
        assert_eq!(after(18, &[9]), [None, None]);
        // The first and the last, of 38, too; the second and the 38th of 39; the fifth and
        // the 95th of 99. What is at an end is within.
        for (n, least, most) in [
            (19, 1, 19),
            (20, 1, 20),
            (38, 1, 38),
            (39, 2, 38),
            (99, 5, 95),
        ] {
            let width = Some((most - least) as f64);
            assert_eq!(after(n, &[least, most]), [Some(1.0), width], "{n}");
            assert_eq!(after(n, &[least - 1, most + 1]), [Some(0.0), width], "{n}");
        }
        assert_eq!(after(19, &[1, 5, 19, 20]), [Some(0.75), Some(18.0)]);
    }

    #[test]
    fn equal_errors_are_within() {
        let mut rows = vec![job(A, 0, 0); 30];
        rows.push(job(A, 5_000, 0));
        assert_eq!(intervals(&rows), [Some(1.0), Some(0.0)]);
        rows.push(job(A, 5_000, 1));
        assert_eq!(intervals(&rows), [Some(0.5), Some(0.0)]);
        // One is as good as another when the oldest leaves.
        let mut errors = Errors::default();
        (0..2 * NEWEST).for_each(|_| errors.add(7));
        assert_eq!(
            (errors.sorted.len(), errors.interval()),
            (NEWEST, Some((7, 7)))
        );
    }

    #[test]
    fn only_what_its_broker_knew_counts() {
        let with = |other: JobRow| {
            let mut rows = known(18);
            rows.extend([other, job(A, 5_000, 1)]);
            intervals(&rows)
        };
        let in_time = job(A, 0, 19);
        assert_eq!(with(in_time.clone()), [Some(1.0), Some(18.0)]);
        // It started at 5010 s, and at the very instant of the prediction.
        assert_eq!(with(job(A, 4_010, 0)), [None, None]);
        assert_eq!(with(job(A, 4_000, 0)), [None, None]);
        // It had started, and the news of its end came later or never.
        let heard = |seconds: Option<u64>| JobRow {
            finish_seen: seconds.map(SimTime::from_secs),
            ..in_time.clone()
        };
        assert_eq!(with(heard(Some(5_001))), [None, None]);
        assert_eq!(with(heard(None)), [None, None]);
        assert_eq!(with(heard(Some(4_999))), [Some(1.0), Some(18.0)]);
        // Another broker's.
        assert_eq!(with(job(B, 0, 19)), [None, None]);
        // A job that has not started has no error.
        let waits = JobRow {
            start: None,
            ..in_time.clone()
        };
        assert_eq!(with(waits), [None, None]);
        // Jobs that are not measured are known, and no figure is of them.
        let mut rows = known(19);
        rows.push(job(A, 4_900, 100));
        assert_eq!(intervals(&rows), [None, None]);
    }

    #[test]
    fn the_newest_count() {
        let mut errors = Errors::default();
        (0..=1_000).for_each(|error| errors.add(error));
        // Of 1 to 1000 the 50th and the 951st.
        assert_eq!(errors.interval(), Some((50, 951)));
    }

    #[test]
    fn independent_errors_of_one_distribution_are_within_nine_times_in_ten() {
        for seed in 0..4 {
            let mut random = rng::stream(seed, "errors");
            let rows = (0..20_000).map(|index| {
                // Some equal, some far off, more of them late than early.
                let error = match random.random_range(0..4) {
                    0 => random.random_range(-500..0),
                    1 => random.random_range(0..30),
                    2 => random.random_range(0..1_000),
                    _ => random.random_range(0..100_i64).pow(2),
                };
                job(A, index * 200, error)
            });
            let rows: Vec<_> = rows.collect();
            let [coverage, width_s] = intervals(&rows);
            let coverage = coverage.unwrap();
            assert!((0.885..0.925).contains(&coverage), "{seed}: {coverage}");
            assert!(width_s > Some(1_000.0), "{seed}: {width_s:?}");
        }
    }
}
