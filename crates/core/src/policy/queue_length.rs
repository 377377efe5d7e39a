//! Queue length (LSAP 4.3.2): the fewest queued jobs, 30 s mean by default.

use super::{Choice, InformationNeed, Parameter, Policy, PolicyEntry, Tie, View};
use crate::job::JobRequest;
use crate::load::Window;

pub(super) const ENTRY: PolicyEntry = PolicyEntry::new(
    "queue-length",
    "where the fewest jobs wait",
    InformationNeed::Totals,
    |settings| {
        Box::new(QueueLength {
            window: WINDOW.of(settings, Window::from_name),
            tie: Tie::of(settings),
        })
    },
)
.with(&[WINDOW, Tie::PARAMETER]);

const WINDOW: Parameter = Parameter::window(|settings| settings.queue_window.name().to_owned());

/// The shortest queue is the best.
struct QueueLength {
    /// Over which window.
    window: Window,
    tie: Tie,
}

impl Policy for QueueLength {
    fn choose(&mut self, _: &JobRequest<'_>, view: &View) -> Choice {
        let best = view.best(&view.candidates, |a, b| {
            a.queued_over(self.window)
                .compare(b.queued_over(self.window))
        });
        Choice::Among(best, self.tie)
    }
}
