//! First come, first served.

use super::{Discipline, View};
use crate::queue::First;

/// The head of the queue starts when it fits; until then nobody does.
pub struct Fcfs;

impl Discipline for Fcfs {
    fn next_start(&mut self, view: &mut View<'_>) -> Option<First> {
        let head = view.queue.first()?;
        (head.processors <= view.available(head.class)).then_some(head)
    }
}
