//! What is under way, in the order in which it takes effect.

use gridrig_core::agent::Order;
use gridrig_core::time::SimTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The place in an instant: the order, the receiver's domain and cluster, and the
/// job, or for what is about no job its sender.
pub(super) type Place = (Order, u16, u16, u32);

/// Something that takes effect at an instant.
pub(super) trait Timed {
    /// What tells apart what has one place: nothing on links on which everything
    /// arrives once, else the sender, its number for the message, and the try.
    type Which: Copy + Ord;

    /// Its place in the instant.
    fn place(&self) -> Place;

    /// Which of those with this place it is.
    fn which(&self) -> Self::Which;
}

/// A priority queue over the place in time: two machines' messages at one instant do not
/// depend on who spoke first. What one machine says of one thing comes as it was said.
pub(super) struct Agenda<M: Timed> {
    /// With the number of the message, and its position in `slots`: what is sorted stays
    /// small.
    heap: BinaryHeap<Reverse<(Key<M>, u32, u32)>>,
    said: u32,
    slots: Vec<Option<M>>,
    free: Vec<u32>,
    /// Those that are about a job; nothing else keeps a run going.
    about_jobs: usize,
}

type Key<M> = (SimTime, Place, <M as Timed>::Which);

impl<M: Timed> Agenda<M> {
    pub fn new() -> Self {
        Agenda {
            heap: BinaryHeap::new(),
            said: 0,
            slots: Vec::new(),
            free: Vec::new(),
            about_jobs: 0,
        }
    }

    /// Out of line, so that the push of the heap is in line here.
    #[inline(never)]
    pub fn push(&mut self, at: SimTime, message: M) {
        let place = message.place();
        let key = (at, place, message.which());
        self.about_jobs += usize::from(is_about_job(place));
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(message);
        self.said = self.said.wrapping_add(1);
        self.heap.push(Reverse((key, self.said, slot)));
    }

    pub fn next_time(&self) -> Option<SimTime> {
        self.heap.peek().map(|Reverse((key, ..))| key.0)
    }

    /// The next message that takes effect at this instant.
    pub fn pop_at(&mut self, now: SimTime) -> Option<M> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse((key, _, slot)) = self.heap.pop()?;
        self.about_jobs -= usize::from(is_about_job(key.1));
        self.free.push(slot);
        self.slots[slot as usize].take()
    }

    pub fn has_job_messages(&self) -> bool {
        self.about_jobs > 0
    }

    /// Takes away what this is not true of.
    pub fn retain(&mut self, mut keep: impl FnMut(&M) -> bool) {
        let slots = &mut self.slots;
        let (free, about_jobs) = (&mut self.free, &mut self.about_jobs);
        self.heap.retain(|Reverse((key, _, slot))| {
            let kept = slots[*slot as usize].as_ref().is_some_and(&mut keep);
            if !kept {
                slots[*slot as usize] = None;
                free.push(*slot);
                *about_jobs -= usize::from(is_about_job(key.1));
            }
            kept
        });
    }

    /// All that is under way, in no order. What is put in the place of a message
    /// takes effect when that would have.
    pub fn under_way(&mut self) -> impl Iterator<Item = &mut M> {
        self.slots.iter_mut().flatten()
    }
}

#[inline]
fn is_about_job(place: Place) -> bool {
    !matches!(place.0, Order::Information | Order::Crash | Order::Repair)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number, all at one place.
    struct Said(u32);

    impl Timed for Said {
        type Which = ();

        fn place(&self) -> Place {
            (Order::Lease, 0, 1, 0)
        }

        fn which(&self) {}
    }

    #[test]
    fn what_is_said_of_one_thing_comes_as_it_was_said() {
        let mut agenda = Agenda::new();
        let (now, later) = (SimTime::ZERO, SimTime::from_secs(1));
        (0..3).for_each(|number| agenda.push(now, Said(number)));
        while agenda.pop_at(now).is_some() {}
        // Into slots that are free again.
        (3..9).for_each(|number| agenda.push(later, Said(number)));
        let all = std::iter::from_fn(|| agenda.pop_at(later));
        let all: Vec<u32> = all.map(|said| said.0).collect();
        assert_eq!(all, [3, 4, 5, 6, 7, 8]);
    }
}
