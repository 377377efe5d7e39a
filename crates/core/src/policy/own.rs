//! A policy that is not in the table: somebody else's program, which whoever runs the
//! broker has brought.

use super::{InformationNeed, PolicyEntry};
use crate::job::JobRequest;

/// What is known of any such policy beforehand.
pub(super) const ENTRY: PolicyEntry = PolicyEntry {
    draws: true,
    ..PolicyEntry::new(
        "own",
        "where a program of the user's sends it",
        &[],
        InformationNeed::Totals,
        |settings| {
            let door = settings.door.as_ref();
            door.expect("whoever runs a policy of the user's own has opened it")
                .open()
        },
    )
};

/// A job that waits, with those who may have it.
pub struct Queued<'a> {
    /// The job, as its user would tell of it.
    pub request: JobRequest<'a>,
    /// Positions of the possible candidates, at least one.
    pub possible: Vec<usize>,
}
