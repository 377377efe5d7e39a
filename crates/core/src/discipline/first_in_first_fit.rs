//! First in, first fit (LSAP 3.1).

use super::Discipline;
use crate::placement::Nodes;
use crate::queue::{First, Queue};

/// In arrival order, the first job that fits runs; then again, until none
/// does. A wide job may starve behind narrow ones: that is the model's nature.
pub struct FirstInFirstFit;

impl Discipline for FirstInFirstFit {
    fn next_start(&mut self, queue: &Queue, nodes: &mut Nodes) -> Option<First> {
        queue.first_where(|class| nodes.available(class))
    }
}
