//! The queue of an LRMS, indexed so that the first job that fits is found
//! without walking past those that do not.
//!
//! Jobs are kept apart by requirement class and, inside a class, by size: jobs
//! of one class and size are alike to placement, so only the first of them
//! matters. Over the sizes of a class stands a tree of the least arrival
//! number, and "the first job of at most n processors" is a prefix minimum:
//! O(log sizes) per class, whatever the length of the queue.

use crate::placement::ClassId;
use crate::tournament::Tournament;

/// The first job of a line: its arrival number, and the line in the low bits.
/// One integer to compare is what keeps the tree fast.
type Head = u64;

/// Sizes that one class may show: 2^20, more than the largest machines have.
const LINE_BITS: u32 = 20;

/// Past this size a search stands in for the table of ranks.
const RANKS: u32 = 4_096;

/// No job: later than every arrival number.
const NONE: Head = u64::MAX;

/// A queued job's handle: its position in the cluster's own job table.
pub type Slot = u32;

/// Queued jobs in arrival order.
#[derive(Default)]
pub struct Queue {
    classes: Vec<ClassQueue>,
    /// Classes that have a job waiting, in class order.
    waiting: Vec<ClassId>,
    jobs: usize,
    next_arrival: u64,
    /// The only job there is: it stays out of the index until another joins
    /// it. On a machine that is not full, most jobs wait alone and briefly.
    sole: Option<First>,
}

/// The first job of some selection, and its arrival number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct First {
    /// Place in the order of arrival; smaller came earlier.
    pub arrival: u64,
    /// The job.
    pub slot: Slot,
    /// Its class.
    pub class: ClassId,
    /// Its processors.
    pub processors: u32,
    /// Where its size stands in the index, until the next arrival.
    line: u32,
}

#[derive(Default)]
struct ClassQueue {
    /// The sizes seen so far, rising.
    sizes: Vec<u32>,
    /// How many of the sizes are at most n, for each n that is not too large
    /// for a table.
    ranks: Vec<u16>,
    /// Jobs of each size in arrival order.
    lines: Vec<Line>,
    /// The heads by size.
    heads: Tournament<Head>,
    jobs: usize,
}

/// Jobs of one class and size: arrival number and slot.
type Line = std::collections::VecDeque<(u64, Slot)>;

impl Queue {
    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.jobs
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.jobs == 0
    }

    /// Appends a job; answers its arrival number and whether it is the first
    /// waiting one of its class.
    pub fn push(&mut self, class: ClassId, processors: u32, slot: Slot) -> (u64, bool) {
        let arrival = self.next_arrival;
        self.next_arrival += 1;
        self.jobs += 1;
        if self.jobs == 1 {
            self.sole = Some(First {
                arrival,
                slot,
                class,
                processors,
                line: 0,
            });
            return (arrival, true);
        }
        if let Some(sole) = self.sole.take() {
            self.file(sole.class, sole.processors, sole.arrival, sole.slot);
        }
        let first_of_class = self.file(class, processors, arrival, slot);
        (arrival, first_of_class)
    }

    /// Puts a job into the index; answers whether it is alone in its class.
    fn file(&mut self, class: ClassId, processors: u32, arrival: u64, slot: Slot) -> bool {
        let index = class.0 as usize;
        if self.classes.len() <= index {
            self.classes.resize_with(index + 1, ClassQueue::default);
        }
        let queue = &mut self.classes[index];
        queue.push(processors, arrival, slot);
        let first_of_class = queue.jobs == 1;
        if first_of_class {
            let at = self.waiting.partition_point(|waiting| *waiting < class);
            self.waiting.insert(at, class);
        }
        first_of_class
    }

    /// Puts a job back in its place; answers whether it is alone in its class.
    pub fn put_back(&mut self, class: ClassId, processors: u32, arrival: u64, slot: Slot) -> bool {
        self.jobs += 1;
        if let Some(sole) = self.sole.take() {
            self.file(sole.class, sole.processors, sole.arrival, sole.slot);
        }
        let first_of_class = self.file(class, processors, arrival, slot);
        self.classes[class.0 as usize].put_in_order(processors);
        first_of_class
    }

    /// Removes a job that [`Queue::first_where`] has just found; answers whether
    /// its class has none left.
    pub fn remove_first(&mut self, first: First) -> bool {
        if self.sole.take().is_some() {
            self.jobs = 0;
            return true;
        }
        let queue = &mut self.classes[first.class.0 as usize];
        let line = first.line as usize;
        let gone = queue.lines[line].pop_front();
        debug_assert_eq!(gone, Some((first.arrival, first.slot)));
        queue.set(line);
        self.removed(first.class)
    }

    /// Removes a job wherever it stands; answers whether its class has none
    /// left.
    ///
    /// # Panics
    /// When there is no such job.
    pub fn remove(&mut self, class: ClassId, processors: u32, arrival: u64) -> bool {
        if let Some(sole) = self.sole.take() {
            assert_eq!(sole.arrival, arrival, "only queued jobs are removed");
            self.jobs = 0;
            return true;
        }
        let queue = &mut self.classes[class.0 as usize];
        queue.remove(processors, arrival);
        self.removed(class)
    }

    fn removed(&mut self, class: ClassId) -> bool {
        let queue = &mut self.classes[class.0 as usize];
        queue.jobs -= 1;
        self.jobs -= 1;
        let emptied = queue.jobs == 0;
        if emptied {
            self.waiting.retain(|waiting| *waiting != class);
        }
        emptied
    }

    /// The job that came first of all.
    pub fn first(&self) -> Option<First> {
        self.first_where(|_| u32::MAX)
    }

    /// The earliest job among those with at most `available(class)`
    /// processors.
    pub fn first_where(&self, mut available: impl FnMut(ClassId) -> u32) -> Option<First> {
        if let Some(sole) = self.sole {
            return (sole.processors <= available(sole.class)).then_some(sole);
        }
        let firsts = self.waiting.iter().filter_map(|&class| {
            self.classes[class.0 as usize].first_up_to(available(class), class)
        });
        firsts.min()
    }
}

impl ClassQueue {
    fn push(&mut self, processors: u32, arrival: u64, slot: Slot) {
        let line = self.sizes_up_to(processors - 1);
        if self.sizes.get(line) != Some(&processors) {
            self.sizes.insert(line, processors);
            self.lines.insert(line, Line::new());
            self.rebuild();
        }
        self.lines[line].push_back((arrival, slot));
        self.jobs += 1;
        if self.lines[line].len() == 1 {
            self.set(line);
        }
    }

    /// Brings the job that was pushed last to its place in its line.
    fn put_in_order(&mut self, processors: u32) {
        let line = self.sizes_up_to(processors - 1);
        let jobs = &mut self.lines[line];
        if let Some(last) = jobs.pop_back() {
            let at = jobs.partition_point(|job| job.0 < last.0);
            jobs.insert(at, last);
        }
        self.set(line);
    }

    fn remove(&mut self, processors: u32, arrival: u64) {
        let size = self.sizes.binary_search(&processors);
        let line = size.expect("a queued job's size is in the index");
        let jobs = &mut self.lines[line];
        let at = jobs.binary_search_by_key(&arrival, |job| job.0);
        let at = at.expect("a queued job is in the line of its size");
        jobs.remove(at);
        if at == 0 {
            self.set(line);
        }
    }

    fn first_up_to(&self, available: u32, class: ClassId) -> Option<First> {
        let line_of = |head: Head| (head & ((1 << LINE_BITS) - 1)) as usize;
        // More often than not the earliest of all fits.
        let mut head = self.heads.least();
        if head == NONE || self.sizes[line_of(head)] > available {
            let sizes = self.sizes_up_to(available);
            head = self.heads.least_of_first(sizes, NONE);
        }
        if head == NONE {
            return None;
        }
        let line = line_of(head);
        let &(arrival, slot) = self.lines[line].front()?;
        let processors = self.sizes[line];
        let line = line as u32;
        Some(First {
            arrival,
            slot,
            class,
            processors,
            line,
        })
    }

    /// How many of the sizes are at most `processors`.
    fn sizes_up_to(&self, processors: u32) -> usize {
        match self.ranks.get(processors as usize) {
            Some(rank) => usize::from(*rank),
            None => self.sizes.partition_point(|size| *size <= processors),
        }
    }

    fn set(&mut self, line: usize) {
        self.heads.set(line, self.head(line));
    }

    fn head(&self, line: usize) -> Head {
        let first = self.lines[line].front();
        first.map_or(NONE, |(arrival, _)| arrival << LINE_BITS | line as u64)
    }

    /// Sizes are few (a trace names some dozens), so a new one may rebuild.
    fn rebuild(&mut self) {
        let largest = self.sizes.last().map_or(0, |size| RANKS.min(size + 1));
        self.ranks = (0..largest)
            .map(|n| self.sizes.partition_point(|size| *size <= n) as u16)
            .collect();
        let heads = (0..self.lines.len()).map(|line| self.head(line));
        self.heads = Tournament::of(heads, self.lines.len(), NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ANY: ClassId = ClassId(0);

    fn first_up_to(queue: &Queue, available: u32) -> Option<Slot> {
        queue.first_where(|_| available).map(|first| first.slot)
    }

    #[test]
    fn the_earliest_of_those_that_fit_is_found() {
        let mut queue = Queue::default();
        for (slot, processors) in [8, 4, 2, 4].into_iter().enumerate() {
            queue.push(ANY, processors, slot as Slot);
        }
        assert_eq!(first_up_to(&queue, 8), Some(0));
        assert_eq!(first_up_to(&queue, 7), Some(1));
        assert_eq!(first_up_to(&queue, 3), Some(2));
        assert_eq!(first_up_to(&queue, 1), None);
        queue.remove(ANY, 4, 1);
        assert_eq!(first_up_to(&queue, 4), Some(2));
        queue.remove(ANY, 2, 2);
        assert_eq!(first_up_to(&queue, 4), Some(3));
        assert_eq!(queue.len(), 2);
    }

    proptest! {
        /// Against a list that is walked from its front.
        #[test]
        fn the_index_finds_what_a_scan_finds(
            steps in prop::collection::vec((0u32..3, 1u32..40, any::<bool>(), 0u32..45), 1..200)
        ) {
            let mut queue = Queue::default();
            let mut list: Vec<First> = Vec::new();
            for (slot, (class, processors, push, available)) in steps.into_iter().enumerate() {
                let (class, slot) = (ClassId(class), slot as Slot);
                let available_to = |c: ClassId| available.saturating_sub(5 * c.0);
                if push || list.is_empty() {
                    let (arrival, first) = queue.push(class, processors, slot);
                    prop_assert_eq!(first, !list.iter().any(|job| job.class == class));
                    list.push(First { arrival, slot, class, processors, line: 0 });
                } else {
                    let gone = list.remove(processors as usize % list.len());
                    let emptied = queue.remove(gone.class, gone.processors, gone.arrival);
                    prop_assert_eq!(emptied, !list.iter().any(|job| job.class == gone.class));
                }
                let scan = list.iter().find(|job| job.processors <= available_to(job.class));
                let found = queue.first_where(available_to).map(|first| First { line: 0, ..first });
                prop_assert_eq!(found, scan.copied());
                let found = queue.first().map(|first| First { line: 0, ..first });
                prop_assert_eq!(found, list.first().copied());
                prop_assert_eq!(queue.len(), list.len());
            }
        }
    }
}
