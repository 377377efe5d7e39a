//! Many jobs: how full each cell of a grid is.

use super::load::{Found, Timeline};
use serde_json::{Value, json};

/// Cells across and, at most, up.
const COLUMNS: usize = 320;
const LINES: usize = 110;
/// Degrees of cover that are told apart, besides none.
const LEVELS: f32 = 8.0;
/// The first of the characters that stand for a cell.
const FIRST: u8 = b'#';

/// How much of each cell jobs of one kind cover.
struct Cover {
    /// What begins (and, negative, ends) to cover whole cells here.
    change: Vec<f32>,
    /// Partly covered cells.
    part: Vec<f32>,
}

impl Cover {
    fn new(lines: usize) -> Self {
        Cover {
            change: vec![0.0; (COLUMNS + 2) * lines],
            part: vec![0.0; (COLUMNS + 2) * lines],
        }
    }

    /// Adds a box from `from` to `to`, in columns, to a line.
    fn add(&mut self, line: usize, from: f64, to: f64, weight: f32) {
        let base = line * (COLUMNS + 2);
        let (first, end) = (from.floor() as usize, to.floor() as usize);
        if first == end {
            self.part[base + first] += weight * (to - from) as f32;
            return;
        }
        self.part[base + first] += weight * (first as f64 + 1.0 - from) as f32;
        self.part[base + end] += weight * (to - end as f64) as f32;
        self.change[base + first + 1] += weight;
        self.change[base + end] -= weight;
    }

    /// The levels of a line.
    fn levels(&self, line: usize) -> impl Iterator<Item = u8> + '_ {
        let base = line * (COLUMNS + 2);
        let mut whole = 0.0;
        (base..base + COLUMNS).map(move |at| {
            whole += self.change[at];
            let cover = whole + self.part[at];
            // Whatever can be seen is seen; rounding may leave a trace of none.
            match cover > 1e-4 {
                true => (cover * LEVELS).round().clamp(1.0, LEVELS) as u8,
                false => 0,
            }
        })
    }
}

/// The cells of a part of a run. Each line is a stretch of processors, from the
/// first on; each character a cell. Its code less 35 is 9 h + a: h is how full
/// the cell is of jobs that ran where they were submitted, a of jobs that were
/// forwarded, from 0 (not at all) to 8.
pub(super) fn draw(timeline: &Timeline, found: &Found, (from, to): (i64, i64)) -> Value {
    let processors = timeline.processors().max(1);
    let lines = usize::try_from(processors).unwrap_or(LINES).min(LINES);
    let mut covers = [Cover::new(lines), Cover::new(lines)];
    let across = COLUMNS as f64 / (to.saturating_sub(from)).max(1) as f64;
    let up = lines as f64 / processors as f64;
    for span in &found.spans {
        let row = span.row as usize;
        let column = |at: i64| {
            let at = at.clamp(from, to).saturating_sub(from);
            (at as f64 * across).min(COLUMNS as f64)
        };
        let (left, right) = (column(timeline.start[row]), column(timeline.end_of[row]));
        let share = span.taken as f32 / span.per_node.max(1) as f32;
        let low = f64::from(span.first) * up;
        let high = (low + f64::from(span.height()) * up).min(lines as f64);
        let cover = &mut covers[usize::from(timeline.away[row])];
        let first = (low.floor() as usize).min(lines - 1);
        let end = (high.ceil() as usize).clamp(first + 1, lines);
        for line in first..end {
            let inside = high.min(line as f64 + 1.0) - low.max(line as f64);
            cover.add(line, left, right, share * inside as f32);
        }
    }
    let text = |line: usize| {
        let pairs = covers[0].levels(line).zip(covers[1].levels(line));
        pairs
            .map(|(here, away)| char::from(FIRST + 9 * here + away))
            .collect()
    };
    let lines: Vec<String> = (0..lines).map(text).collect();
    json!({ "mode": "bins", "columns": COLUMNS, "lines": lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_as_full_as_they_are_covered() {
        let mut cover = Cover::new(2);
        cover.add(0, 0.5, 3.25, 1.0);
        cover.add(1, 2.0, 2.5, 0.5);
        cover.add(1, 0.0, COLUMNS as f64, 0.125);
        let line = |n: usize| cover.levels(n).take(5).collect::<Vec<u8>>();
        assert_eq!(line(0), [4, 8, 8, 2, 0]);
        assert_eq!(line(1), [1, 1, 3, 1, 1]);
        assert_eq!(cover.levels(1).count(), COLUMNS);
    }
}
