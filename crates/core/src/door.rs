//! How a participant gets a rule of somebody else's, which is in no table.

use std::fmt;
use std::sync::Arc;

type Open<T> = dyn Fn() -> Box<T> + Send + Sync;

/// How a participant gets a rule that is in no table, such as a policy.
pub struct Door<T: ?Sized>(Arc<Open<T>>);

impl<T: ?Sized> Door<T> {
    /// A door behind which it is had in this way.
    pub fn new(open: impl Fn() -> Box<T> + Send + Sync + 'static) -> Self {
        Door(Arc::new(open))
    }

    /// The rule.
    pub(crate) fn open(&self) -> Box<T> {
        (self.0)()
    }
}

impl<T: ?Sized> Clone for Door<T> {
    fn clone(&self) -> Self {
        Door(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> fmt::Debug for Door<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Door")
    }
}

impl<T: ?Sized> PartialEq for Door<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: ?Sized> Eq for Door<T> {}
