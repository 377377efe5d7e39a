//! Full information: what perfect knowledge would make of the same choice.

use super::{Choice, InformationNeed, Policy, PolicyEntry, Tie, Truth, View};
use crate::decision::Score;
use crate::job::JobRequest;

pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    is_bound: true,
    ..PolicyEntry::new(
        "full-information",
        "where it can start at once, else to the least work, by the true state of the instant",
        &[Tie::PARAMETER],
        InformationNeed::Truth,
        |settings| Box::new(FullInformation(Tie::of(settings))),
    )
};

/// A candidate where the job can start at once is better than one where it
/// cannot; among equals, the least work left per processor. It sees the truth
/// of this instant and counts what is on its way.
struct FullInformation(Tie);

impl Policy for FullInformation {
    fn choose(&mut self, request: &JobRequest<'_>, view: &View) -> Choice {
        let must_wait = |c: &Truth| c.free_beyond_queue < i64::from(request.processors);
        let best = view.best(&view.truth, |a, b| {
            let by_work = || a.work_per_processor.compare(b.work_per_processor);
            must_wait(a).cmp(&must_wait(b)).then_with(by_work)
        });
        Choice::Among(best, self.0)
    }

    fn score(&self, request: &JobRequest<'_>, view: &View, index: usize) -> Option<Score> {
        let truth = view.truth[index];
        let starts = truth.free_beyond_queue >= i64::from(request.processors);
        Some(Score {
            of: "true s of work per processor, the least; 0 where it can start at once",
            value: match starts {
                true => 0.0,
                false => truth.work_per_processor.as_f64() / 1e9,
            },
        })
    }
}
