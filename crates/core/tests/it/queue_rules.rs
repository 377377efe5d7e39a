//! The queue of an LRMS, by itself.

use gridrig_core::placement::ClassId;
use gridrig_core::queue::Queue;

const ANY: ClassId = ClassId(0);
const OTHER: ClassId = ClassId(1);

/// The slot of the first job of at most so many processors.
fn first(queue: &Queue, available: u32) -> Option<u32> {
    queue.first_where(|_| available).map(|first| first.slot)
}

#[test]
fn a_queue_is_empty_until_a_job_waits_and_again_when_it_is_gone() {
    let mut queue = Queue::default();
    assert!(queue.is_empty());
    let (arrival, _) = queue.push(ANY, 1, 7);
    assert!(!queue.is_empty());
    assert!(queue.remove(ANY, 1, arrival), "none of its class is left");
    assert!(queue.is_empty());
    assert_eq!(queue.first(), None);
}

#[test]
fn the_first_job_is_removed_from_the_line_of_its_size_and_the_next_one_heads_it() {
    let mut queue = Queue::default();
    for (slot, processors) in [(10, 4), (11, 1), (12, 4), (13, 2)] {
        queue.push(ANY, processors, slot);
    }
    let head = queue.first().expect("four jobs wait");
    assert_eq!((head.slot, head.processors, head.arrival), (10, 4, 0));
    assert!(!queue.remove_first(head));
    assert_eq!(queue.len(), 3);
    for (available, expected) in [(0, None), (1, Some(11)), (4, Some(11))] {
        assert_eq!(first(&queue, available), expected);
    }
    let narrow = queue.first_where(|_| 1).expect("one fits");
    assert!(!queue.remove_first(narrow));
    assert_eq!(first(&queue, 3), Some(13));
    assert_eq!(first(&queue, 4), Some(12));
}

#[test]
fn a_job_is_the_first_of_its_class_whenever_none_other_of_it_waits() {
    let mut queue = Queue::default();
    let mut push = |class, slot| queue.push(class, 1, slot);
    assert_eq!(push(OTHER, 0), (0, true));
    assert_eq!(push(ANY, 1), (1, true));
    assert_eq!(push(ANY, 2), (2, false));
    assert_eq!(push(OTHER, 3), (3, false));
    for (slot, emptied) in [(0, false), (1, false), (2, true), (3, true)] {
        let head = queue.first().expect("a job waits");
        assert_eq!(head.slot, slot);
        assert_eq!(queue.remove_first(head), emptied);
    }
    assert_eq!(queue.push(OTHER, 1, 4), (4, true));
}

#[test]
fn many_sizes_are_told_apart() {
    // Sizes 40, 39, ... 1 in order of arrival: the first of at most n
    // processors is the one of size n.
    let mut queue = Queue::default();
    for slot in 0..40 {
        queue.push(ANY, 40 - slot, slot);
    }
    for available in 1..=40 {
        assert_eq!(first(&queue, available), Some(40 - available));
    }
    // Without the even sizes it is the one below.
    for size in (2..=40).step_by(2) {
        assert!(!queue.remove(ANY, size, u64::from(40 - size)));
    }
    for available in 1..=40 {
        assert_eq!(first(&queue, available), Some(39 - (available - 1) / 2 * 2));
    }
}
