//! How the jobs of a reduced trace were found among those of the original.

use serde::Serialize;
use std::fmt;
/// Whether the jobs of the reduced trace are jobs of the original.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// Whether job numbers name the same jobs in both traces. Where they do
    /// not, nothing below is counted and no job is recognized.
    pub ids_kept: bool,
    /// Reduced jobs whose number the original has.
    pub shared: u64,
    /// Reduced jobs whose number the original's window does not have.
    pub foreign: u64,
    /// Reduced jobs whose number came before, more often than in the original.
    pub repeated: u64,
    /// Shared jobs whose submit time is not the scaled one.
    pub submit_changed: u64,
    /// Shared jobs whose run time is not the scaled one.
    pub run_time_changed: u64,
    /// Shared jobs of another size.
    pub processors_changed: u64,
    /// Shared jobs of another user, queue or executable.
    pub labels_changed: u64,
}

impl Identity {
    /// Whether every job is a job of the original, unchanged but for its
    /// scale; also true where there is no telling.
    pub fn holds(&self) -> bool {
        !self.ids_kept || self.faults().is_empty()
    }

    /// What is wrong, for people.
    pub fn faults(&self) -> Vec<String> {
        let counts = [
            self.foreign,
            self.repeated,
            self.submit_changed,
            self.run_time_changed,
            self.processors_changed,
            self.labels_changed,
        ];
        let faults = [
            "whose number the original's window does not have",
            "whose number occurs more often than in the original",
            "with another submit time than in the original",
            "with another run time than in the original",
            "of another size than in the original",
            "of another user, queue or executable",
        ];
        let faults = counts.into_iter().zip(faults);
        let some = faults.filter(|(count, _)| self.ids_kept && *count > 0);
        some.map(|(count, what)| format!("{count} jobs {what}"))
            .collect()
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.faults();
        match (self.ids_kept, faults.is_empty()) {
            (false, _) => f.write_str("job numbers do not name the same jobs in both traces"),
            (true, true) => f.write_str(
                "every job is a job of the original, the same but for the scale of its times",
            ),
            (true, false) => f.write_str(&faults.join("; ")),
        }
    }
}
