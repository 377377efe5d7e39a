//! First in, first fit (LSAP 3.1).

use super::{Discipline, View};
use crate::queue::First;

/// In arrival order, the first job that fits runs; then again, until none
/// does. A wide job may starve behind narrow ones: that is the model's nature.
pub struct FirstInFirstFit;

impl Discipline for FirstInFirstFit {
    fn next_start(&mut self, view: &mut View<'_>) -> Option<First> {
        let queue = view.queue;
        queue.first_where(|class| view.available(class))
    }
}
