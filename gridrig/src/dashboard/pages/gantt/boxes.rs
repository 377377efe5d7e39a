//! Few jobs: each as the boxes that it is.

use super::load::{Found, Timeline};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Above so many jobs or boxes, cells are drawn instead.
const MOST: usize = 2000;
/// So many jobs are told one by one.
const MOST_LINES: usize = 200;

fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// The boxes of these jobs, each a list of job, start and end in seconds, first
/// processor, processors, and the sum of 1 if it was forwarded, 2 if its start was
/// reserved, and 4 if it ran on several clusters; and the first of them as lines of a table. `None` if there are too many.
///
/// A placement says how many processors of a node a job has; which ones is
/// decided here, the lowest that are free among the jobs that are shown.
pub(super) fn draw(timeline: &Timeline, found: &Found, (from, to): (i64, i64)) -> Option<Value> {
    if found.rows.len() > MOST || found.spans.len() > MOST {
        return None;
    }
    let mut spans = found.spans.clone();
    spans.sort_by_key(|span| (timeline.ran.start[span.row as usize], span.row, span.first));
    let mut boxes = Vec::new();
    // When the processors of a node that jobs share are free again.
    let mut free: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for span in &spans {
        let row = span.row as usize;
        let (start, end) = (timeline.ran.start[row], timeline.ran.end[row]);
        let times = (seconds(start.max(from)), seconds(end.min(to)));
        let marks = u8::from(timeline.ran.away[row])
            | u8::from(timeline.is_reserved(row)) << 1
            | u8::from(timeline.clusters_of(row) > 1) << 2;
        let job = timeline.job[row];
        let mut push = |first, processors| {
            boxes.push((job, times.0, times.1, first, processors, marks));
        };
        if span.taken == span.per_node {
            push(span.first, span.height());
        } else {
            for node in 0..span.nodes {
                let first = span.first + node * span.per_node;
                let until = free.entry(first);
                let until = until.or_insert_with(|| vec![i64::MIN; span.per_node as usize]);
                for (at, count) in take(until, start, end, span.taken) {
                    push(first + at, count);
                }
            }
        }
        if boxes.len() > MOST {
            return None;
        }
    }
    Some(json!({ "mode": "boxes", "boxes": boxes, "jobs": lines(timeline, found) }))
}

/// Takes the lowest processors that are free from `start` on; as stretches
/// of neighbours.
fn take(free_from: &mut [i64], start: i64, end: i64, wanted: u32) -> Vec<(u32, u32)> {
    let mut stretches: Vec<(u32, u32)> = Vec::new();
    let mut left = wanted;
    for (at, until) in (0..).zip(free_from.iter_mut()) {
        if left == 0 {
            break;
        }
        if *until > start {
            continue;
        }
        *until = end;
        left -= 1;
        match stretches.last_mut() {
            Some((first, count)) if *first + *count == at => *count += 1,
            _ => stretches.push((at, 1)),
        }
    }
    stretches
}

fn lines(timeline: &Timeline, found: &Found) -> Vec<Value> {
    let line = |&row: &u32| {
        let row = row as usize;
        let start = timeline.ran.start[row];
        json!({
            "job": timeline.job[row],
            "cluster": timeline.ran.cluster.name(row).unwrap_or_default(),
            "origin": timeline.ran.origin.name(row).unwrap_or_default(),
            "forwarded": timeline.ran.away[row],
            "start_reserved": timeline.is_reserved(row),
            "clusters": timeline.clusters_of(row),
            "processors": timeline.ran.processors[row],
            "start_s": seconds(start),
            "end_s": seconds(timeline.ran.end[row]),
            "wait_s": seconds(start.saturating_sub(timeline.submit[row])),
        })
    };
    let mut rows = found.rows.clone();
    rows.sort_by_key(|row| (timeline.ran.start[*row as usize], *row));
    rows.iter().take(MOST_LINES).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_processors_are_taken() {
        let mut free_from = vec![i64::MIN; 5];
        assert_eq!(take(&mut free_from, 0, 10, 2), [(0, 2)]);
        assert_eq!(take(&mut free_from, 0, 5, 2), [(2, 2)]);
        // Free are 4 and, from 5 on, 2 and 3.
        assert_eq!(take(&mut free_from, 5, 9, 3), [(2, 3)]);
        assert_eq!(take(&mut free_from, 9, 12, 2), [(2, 2)]);
        assert_eq!(take(&mut free_from, 10, 12, 2), [(0, 2)]);
    }

    #[test]
    fn stretches_are_of_neighbours() {
        let mut free_from = vec![0, 9, 0, 0];
        assert_eq!(take(&mut free_from, 3, 4, 3), [(0, 1), (2, 2)]);
    }
}
