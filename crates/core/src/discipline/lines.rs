//! The waiting jobs apart by kind, so that a backfiller finds the first of
//! those that are short enough without walking past those that are not.
//!
//! To a plan, two jobs of one shape (what of each resource they may have, and
//! memory) and one size differ in nothing but their estimates, and the shorter
//! one fits wherever the longer one does. So the jobs of a shape and size
//! stand in one line in arrival order, and over each line stands a tree of the
//! least estimate: "the first job from this arrival on that takes at most so
//! long" is O(log length).

use crate::calendar::Layout;
use crate::plan::Backlog;
use crate::time::SimDuration;
use crate::tournament::Tournament;

/// A place whose job has gone.
const GONE: u64 = u64::MAX;

/// Jobs by shape and size.
#[derive(Default)]
pub(super) struct Lines {
    shapes: Vec<Shape>,
    /// Jobs before this arrival have been taken in.
    next: u64,
}

/// Jobs of one shape, by size.
#[derive(Default)]
pub(super) struct Shape {
    /// The sizes seen so far, rising.
    sizes: Vec<u32>,
    lines: Vec<Line>,
}

/// Jobs of one shape and size in arrival order.
#[derive(Default)]
struct Line {
    arrivals: Vec<u64>,
    /// Their estimates in ns, `GONE` where no job is.
    estimates: Tournament<u64>,
    jobs: usize,
}

impl Lines {
    /// Takes in the jobs that have come since the last call.
    pub fn take_in(&mut self, backlog: &Backlog, layout: &Layout) {
        let oldest = backlog.waiting_from(0).next().map_or(0, |job| job.arrival);
        for job in backlog.waiting_from(self.next) {
            self.next = job.arrival + 1;
            let shape = layout.shape(job.demand.class);
            if self.shapes.len() <= shape {
                self.shapes.resize_with(shape + 1, Shape::default);
            }
            let line = self.shapes[shape].line(job.demand.processors);
            line.push(job.arrival, job.demand.length, oldest);
        }
    }

    /// By shape, in the calendar's numbers.
    pub fn shapes(&self) -> impl Iterator<Item = (usize, &Shape)> {
        self.shapes.iter().enumerate()
    }

    /// Jobs before this arrival have been taken in.
    pub fn end(&self) -> u64 {
        self.next
    }

    /// Forgets a job that does not wait any more, if it is here.
    pub fn forget(&mut self, shape: usize, processors: u32, arrival: u64) {
        if let Some(shape) = self.shapes.get_mut(shape)
            && let Ok(line) = shape.sizes.binary_search(&processors)
        {
            shape.lines[line].remove(arrival);
        }
    }
}

impl Shape {
    /// The sizes of which jobs may wait, rising.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The arrival of the first job of the size at `index` that came at `from`
    /// or later and is expected to take at most `longest`.
    #[inline]
    pub fn first(&self, index: usize, from: u64, longest: SimDuration) -> Option<u64> {
        let line = &self.lines[index];
        // Most lines have nobody so short.
        match line.estimates.least() > longest.as_nanos() {
            true => None,
            false => line.first(from, longest),
        }
    }

    fn line(&mut self, processors: u32) -> &mut Line {
        let at = match self.sizes.binary_search(&processors) {
            Ok(at) => at,
            Err(at) => {
                self.sizes.insert(at, processors);
                self.lines.insert(at, Line::default());
                at
            }
        };
        &mut self.lines[at]
    }
}

impl Line {
    fn push(&mut self, arrival: u64, length: SimDuration, oldest: u64) {
        if self.arrivals.len() == self.estimates.places() {
            self.make_room(oldest);
        }
        let at = self.arrivals.len();
        self.arrivals.push(arrival);
        self.estimates.set(at, estimate(length));
        self.jobs += 1;
    }

    fn remove(&mut self, arrival: u64) {
        if let Ok(at) = self.arrivals.binary_search(&arrival)
            && self.estimates.values()[at] != GONE
        {
            self.estimates.set(at, GONE);
            self.jobs -= 1;
            if self.jobs == 0 {
                self.arrivals.clear();
            }
        }
    }

    /// Closes the ranks, also where jobs from before `oldest` stood, who have
    /// gone as heads of the queue; makes room for as many jobs again.
    fn make_room(&mut self, oldest: u64) {
        let here = self.arrivals.iter().zip(self.estimates.values());
        let here: Vec<(u64, u64)> = here
            .filter(|(arrival, estimate)| **arrival >= oldest && **estimate != GONE)
            .map(|(arrival, estimate)| (*arrival, *estimate))
            .collect();
        self.jobs = here.len();
        self.arrivals = here.iter().map(|(arrival, _)| *arrival).collect();
        let estimates = here.iter().map(|(_, estimate)| *estimate);
        self.estimates = Tournament::of(estimates, (2 * here.len()).max(4), GONE);
    }

    fn first(&self, from: u64, longest: SimDuration) -> Option<u64> {
        let begin = self.arrivals.partition_point(|arrival| *arrival < from);
        let at = self.estimates.first(begin, estimate(longest))?;
        Some(self.arrivals[at])
    }
}

/// An estimate as a line holds it: never that of a job that has gone.
fn estimate(length: SimDuration) -> u64 {
    length.as_nanos().min(GONE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(line: &Line, from: u64, longest: u64) -> Option<u64> {
        line.first(from, SimDuration::from_nanos(longest))
    }

    #[test]
    fn the_first_short_enough_job_from_an_arrival_on_is_found() {
        let mut line = Line::default();
        for (arrival, estimate) in [(3, 50), (4, 10), (8, 20), (9, u64::MAX)] {
            line.push(arrival, SimDuration::from_nanos(estimate), 0);
        }
        assert_eq!(first(&line, 0, 50), Some(3));
        assert_eq!(first(&line, 0, 49), Some(4));
        assert_eq!(first(&line, 5, 49), Some(8));
        assert_eq!(first(&line, 9, 49), None);
        assert_eq!(first(&line, 9, u64::MAX), Some(9));
        assert_eq!(first(&line, 10, u64::MAX), None);
        line.remove(4);
        assert_eq!(first(&line, 0, 49), Some(8));
    }

    proptest! {
        /// Against a list that is walked from its front.
        #[test]
        fn a_line_finds_what_a_walk_finds(
            steps in prop::collection::vec((0u64..40, 0u8..4, 0u64..200), 1..300)
        ) {
            let mut line = Line::default();
            let mut list: Vec<(u64, u64)> = Vec::new();
            let mut oldest = 0;
            for (arrival, (estimate, what, other)) in steps.into_iter().enumerate() {
                let arrival = 2 * arrival as u64;
                match what {
                    0 | 1 => {
                        line.push(arrival, SimDuration::from_nanos(estimate), oldest);
                        list.push((arrival, estimate));
                    }
                    2 => {
                        line.remove(other);
                        list.retain(|job| job.0 != other);
                    }
                    // Heads of the queue leave without being told of.
                    _ => oldest = oldest.max(list.first().map_or(0, |job| job.0 + 1)),
                }
                list.retain(|job| job.0 >= oldest);
                for from in [oldest, oldest.max(other)] {
                    let walked = list.iter().find(|job| job.0 >= from && job.1 <= estimate);
                    prop_assert_eq!(first(&line, from, estimate), walked.map(|job| job.0));
                }
            }
        }
    }
}
