//! How a broker gets a policy that is not in the table.

use super::Policy;
use std::fmt;
use std::sync::Arc;

type Open = dyn Fn() -> Box<dyn Policy> + Send + Sync;

/// How a broker gets a policy that is not in the table.
#[derive(Clone)]
pub struct Door(Arc<Open>);

impl Door {
    /// A door behind which a policy is had in this way.
    pub fn new(open: impl Fn() -> Box<dyn Policy> + Send + Sync + 'static) -> Self {
        Door(Arc::new(open))
    }

    /// The policy.
    pub(super) fn open(&self) -> Box<dyn Policy> {
        (self.0)()
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
