//! First come, first served.

use super::Discipline;
use crate::placement::Nodes;
use crate::queue::{First, Queue};

/// The head of the queue starts when it fits; until then nobody does.
pub struct Fcfs;

impl Discipline for Fcfs {
    fn next_start(&mut self, queue: &Queue, nodes: &mut Nodes) -> Option<First> {
        let head = queue.first()?;
        (head.processors <= nodes.available(head.class)).then_some(head)
    }
}
