//! Threshold: at home while the queue there is short, else where it is shortest.
//! After Eager, Lazowska and Zahorjan, *Adaptive Load Sharing in Homogeneous
//! Distributed Systems* (IEEE TSE, 1986): their transfer policy with a threshold,
//! and "shortest" as the location policy, over all candidates instead of a few.

use super::view::best;
use super::{Choice, InformationNeed, Parameter, Policy, PolicyEntry, Tie, View};
use crate::decision::Score;
use crate::job::JobRequest;
use crate::load::{Fraction, Window};

pub(super) const ENTRY: PolicyEntry = PolicyEntry::new(
    "threshold",
    "at home while few jobs wait there, else where the fewest do",
    &[JOBS, WINDOW, Tie::PARAMETER],
    InformationNeed::Totals,
    |settings| {
        Box::new(Threshold {
            jobs: JOBS.of(settings).parse().expect("a whole number"),
            window: WINDOW.of(settings).parse().expect("a window"),
            tie: Tie::of(settings),
        })
    },
);

/// So many queued jobs are too many.
const JOBS: Parameter = Parameter::whole("jobs", |_| "2".to_owned());

const WINDOW: Parameter = Parameter::window(|settings| settings.queue_window.name().to_owned());

struct Threshold {
    jobs: u32,
    /// Over which window queues are counted.
    window: Window,
    tie: Tie,
}

impl Policy for Threshold {
    fn choose(&mut self, _: &JobRequest<'_>, view: &View) -> Choice {
        let over = self.window as usize;
        let limit = Fraction {
            numerator: self.jobs.into(),
            denominator: 1,
        };
        let queued = |index: &usize| (*index, view.candidates[*index].queued[over]);
        let at_home = view.possible.iter().filter(|index| **index < view.own);
        let at_home = best(at_home.map(queued), |a, b| a.compare(*b));
        let is_short = |index: &usize| queued(index).1.compare(limit).is_lt();
        let shortest = match at_home.first().is_some_and(is_short) {
            true => at_home,
            false => best(view.possible.iter().map(queued), |a, b| a.compare(*b)),
        };
        Choice::Among(shortest, self.tie)
    }

    fn score(&self, _: &JobRequest<'_>, view: &View, index: usize) -> Option<Score> {
        Some(Score {
            of: "queued jobs, few at home or the fewest",
            value: view.candidates[index].queued[self.window as usize].as_f64(),
        })
    }
}
