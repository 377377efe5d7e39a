//! A policy that is not in the table: somebody else's program, which whoever runs the
//! broker has brought.

use super::{InformationNeed, Policy, PolicyEntry};
use crate::job::JobRequest;
use std::fmt;
use std::sync::Arc;

/// What is known of any such policy beforehand.
pub(super) static ENTRY: PolicyEntry = PolicyEntry {
    draws: true,
    ..PolicyEntry::new(
        "own",
        "where a program of the user's sends it",
        &[],
        InformationNeed::Totals,
        |settings| {
            let door = settings.door.as_ref();
            (door
                .expect("whoever runs a policy of the user's own has opened it")
                .0)()
        },
    )
};

type Open = dyn Fn() -> Box<dyn Policy> + Send + Sync;

/// How a broker gets a policy that is not in the table.
#[derive(Clone)]
pub struct Door(Arc<Open>);

impl Door {
    /// A door behind which a policy is had in this way.
    pub fn new(open: impl Fn() -> Box<dyn Policy> + Send + Sync + 'static) -> Self {
        Door(Arc::new(open))
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Door")
    }
}

impl PartialEq for Door {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Door {}

/// A job that waits, with those who may have it.
pub struct Queued<'a> {
    /// The job, as its user would tell of it.
    pub request: JobRequest<'a>,
    /// Positions of the possible candidates, at least one.
    pub possible: Vec<usize>,
}
