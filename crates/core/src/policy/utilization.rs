//! Utilization (LSAP 4.3.2): the smallest share of busy processors, 30 s mean
//! by default.

use super::{BrokerSettings, Choice, InformationNeed, Parameter, Policy, PolicyEntry, Tie, View};
use crate::decision::Score;
use crate::job::JobRequest;
use crate::load::Window;

pub(super) const ENTRY: PolicyEntry = PolicyEntry::new(
    "utilization",
    "where the smallest share of the processors is busy",
    &[WINDOW, Tie::PARAMETER, BrokerSettings::COMMIT],
    InformationNeed::Totals,
    |settings| {
        Box::new(Utilization {
            window: WINDOW.of(settings).parse().expect("a window"),
            tie: Tie::of(settings),
        })
    },
);

const WINDOW: Parameter =
    Parameter::window(|settings| settings.utilization_window.name().to_owned());

/// The least utilized is the best. At the instant and among equal sizes this
/// is free-node.
struct Utilization {
    /// Over which window.
    window: Window,
    tie: Tie,
}

impl Policy for Utilization {
    fn choose(&mut self, _: &JobRequest<'_>, view: &View) -> Choice {
        let over = self.window as usize;
        let best = view.best(&view.candidates, |a, b| {
            a.utilization[over].compare(b.utilization[over])
        });
        Choice::Among(best, self.tie)
    }

    fn score(&self, _: &JobRequest<'_>, view: &View, index: usize) -> Option<Score> {
        Some(Score {
            of: "share of busy processors, the smallest",
            value: view.candidates[index].utilization[self.window as usize].as_f64(),
        })
    }
}
