//! Runs side by side.

use parking_lot::Mutex;
use std::thread;

/// Does each task, so many at a time, in the order in which they come, until one is not
/// to be gone on after. Answers what became of those that were begun, in their order.
/// Tasks are asked for one after the other, when somebody is free.
pub fn each<T, R: Send>(
    workers: usize,
    tasks: impl Iterator<Item = T> + Send,
    goes_on: impl Fn(&R) -> bool + Sync,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let queue = Mutex::new(Some(tasks.enumerate()));
    let done = Mutex::new(Vec::new());
    let take_turns = || {
        loop {
            let next = queue.lock().as_mut().and_then(Iterator::next);
            let Some((number, task)) = next else { return };
            let result = work(task);
            if !goes_on(&result) {
                *queue.lock() = None;
            }
            done.lock().push((number, result));
        }
    };
    match workers {
        0 | 1 => take_turns(),
        _ => thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(take_turns);
            }
        }),
    }
    let mut done = done.into_inner();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_are_in_the_order_of_the_tasks() {
        for workers in [0, 1, 3] {
            let all = each(workers, 0..50, |_| true, |n| n * n);
            assert_eq!(all, (0..50).map(|n| n * n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_begins_after_one_that_is_not_to_be_gone_on_after() {
        assert_eq!(
            each(1, 0..50, |n| *n != 7, |n| n),
            (0..8).collect::<Vec<_>>()
        );
        let all = each(4, 0..500, |n| *n != 7, |n| n);
        // Three others were under way at most.
        assert!(all.contains(&7) && all.len() <= 500, "{all:?}");
        assert!(all.is_sorted());
    }
}
