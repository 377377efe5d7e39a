//! The documents that activities were created with, and whose they are.

use gridrig_core::ids::JobId;
use gridrig_protocol::jsdl::JobDefinition;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The newest documents, bounded in number and in size.
#[derive(Debug)]
pub(super) struct Documents {
    by_job: BTreeMap<JobId, Arc<JobDefinition>>,
    /// The order in which they came, with the bytes of the request.
    order: VecDeque<(JobId, usize)>,
    bytes: usize,
    max: usize,
    max_bytes: usize,
}

impl Documents {
    pub(super) fn new(max: usize, max_bytes: usize) -> Self {
        Documents {
            by_job: BTreeMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            max,
            max_bytes,
        }
    }

    /// Keeps a document, and forgets the oldest beyond the bounds.
    pub(super) fn keep(&mut self, job: JobId, document: JobDefinition, bytes: usize) {
        if self.by_job.insert(job, Arc::new(document)).is_some() {
            // A repeated request; its first document has been counted.
            return;
        }
        self.order.push_back((job, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        while self.order.len() > self.max || self.bytes > self.max_bytes {
            let Some((oldest, bytes)) = self.order.pop_front() else {
                return;
            };
            self.bytes -= bytes;
            self.by_job.remove(&oldest);
        }
    }

    pub(super) fn of(&self, job: JobId) -> Option<Arc<JobDefinition>> {
        self.by_job.get(&job).map(Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(documents: &Documents) -> Vec<u32> {
        let kept = (0..10).filter(|job| documents.of(JobId(*job)).is_some());
        kept.collect()
    }

    #[test]
    fn the_oldest_documents_go_first_by_number_and_by_size() {
        let mut documents = Documents::new(3, 100);
        for job in 0..4 {
            documents.keep(JobId(job), JobDefinition::default(), 10);
        }
        assert_eq!(kept(&documents), [1, 2, 3]);
        documents.keep(JobId(4), JobDefinition::default(), 85);
        assert_eq!(kept(&documents), [3, 4]);
        documents.keep(JobId(5), JobDefinition::default(), 101);
        assert_eq!(
            kept(&documents),
            [0; 0],
            "one that is too large is not kept"
        );
    }

    #[test]
    fn a_document_that_comes_twice_is_counted_once() {
        let mut documents = Documents::new(9, 25);
        for _ in 0..9 {
            documents.keep(JobId(1), JobDefinition::default(), 10);
        }
        documents.keep(JobId(2), JobDefinition::default(), 10);
        assert_eq!(kept(&documents), [1, 2]);
    }
}
