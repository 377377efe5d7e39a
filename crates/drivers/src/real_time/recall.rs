//! Messages that can be called back while the data that goes with them is on
//! its way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::sync::Notify;

/// Shared by whoever wrote a message and the sender that has it: either the
/// message is handed over or it is called back, never both.
#[derive(Clone, Debug, Default)]
pub(super) struct Recall(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    fate: AtomicU8,
    bell: Notify,
}

const WAITING: u8 = 0;
const LEFT: u8 = 1;
const CALLED_BACK: u8 = 2;

impl Recall {
    /// Calls the message back; `false` if it is being handed over already.
    pub(super) fn call_back(&self) -> bool {
        let called = self.decide(CALLED_BACK);
        self.0.bell.notify_one();
        called
    }

    /// The sender is about to hand the message over; `false` if it must not.
    pub(super) fn leave(&self) -> bool {
        self.decide(LEFT)
    }

    /// Waits until the message is called back.
    pub(super) async fn called_back(&self) {
        while self.0.fate.load(Ordering::Acquire) != CALLED_BACK {
            self.0.bell.notified().await;
        }
    }

    fn decide(&self, fate: u8) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let known = &self.0.fate;
        let before = known.compare_exchange(WAITING, fate, success, failure);
        before == Ok(WAITING) || before == Err(fate)
    }
}

/// Two are equal if they are the same one.
impl PartialEq for Recall {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Recall {}
