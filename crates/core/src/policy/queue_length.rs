//! Queue length (LSAP 4.3.2): the fewest queued jobs, 30 s mean by default.

use super::{Choice, InformationNeed, Parameter, Policy, PolicyEntry, Tie, View};
use crate::decision::Score;
use crate::job::JobRequest;
use crate::load::Window;

pub(super) const ENTRY: PolicyEntry = PolicyEntry::new(
    "queue-length",
    "where the fewest jobs wait",
    &[WINDOW, Tie::PARAMETER],
    InformationNeed::Totals,
    |settings| {
        Box::new(QueueLength {
            window: WINDOW.of(settings).parse().expect("a window"),
            tie: Tie::of(settings),
        })
    },
);

const WINDOW: Parameter = Parameter::window(|settings| settings.queue_window.name().to_owned());

/// The shortest queue is the best.
struct QueueLength {
    /// Over which window.
    window: Window,
    tie: Tie,
}

impl Policy for QueueLength {
    fn choose(&mut self, _: &JobRequest<'_>, view: &View) -> Choice {
        let over = self.window as usize;
        let best = view.best(&view.candidates, |a, b| {
            a.queued[over].compare(b.queued[over])
        });
        Choice::Among(best, self.tie)
    }

    fn score(&self, _: &JobRequest<'_>, view: &View, index: usize) -> Option<Score> {
        Some(Score {
            of: "queued jobs, the fewest",
            value: view.candidates[index].queued[self.window as usize].as_f64(),
        })
    }
}
