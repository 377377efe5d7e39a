//! Many jobs: how full each cell of a grid is.

use super::load::{Found, Timeline};
use gridrig_results::plot::Cover;
use serde_json::{Value, json};

/// Cells across and, at most, up.
const COLUMNS: usize = 320;
const LINES: usize = 110;
/// Degrees of cover that are told apart, besides none.
const LEVELS: f64 = 8.0;
/// The first of the characters that stand for a cell.
const FIRST: u8 = b'#';

/// The level of a cell.
fn level(cover: &f64) -> u8 {
    // Whatever can be seen is seen; rounding may leave a trace of none.
    match *cover > 1e-4 {
        true => (cover * LEVELS).round().clamp(1.0, LEVELS) as u8,
        false => 0,
    }
}

/// The cells of a part of a run. Each line is a stretch of processors, from the
/// first on; each character a cell. Its code less 35 is 9 h + a: h is how full
/// the cell is of jobs that ran where they were submitted, a of jobs that were
/// forwarded, from 0 (not at all) to 8.
pub(super) fn draw(timeline: &Timeline, found: &Found, (from, to): (i64, i64)) -> Value {
    let processors = timeline.processors().max(1);
    let lines = usize::try_from(processors).unwrap_or(LINES).min(LINES);
    let mut covers = [(); 2].map(|()| Cover::new(COLUMNS, lines));
    let across = COLUMNS as f64 / (to.saturating_sub(from)).max(1) as f64;
    let up = lines as f64 / processors as f64;
    for span in &found.spans {
        let row = span.row as usize;
        let column = |at: i64| {
            let at = at.clamp(from, to).saturating_sub(from);
            (at as f64 * across).min(COLUMNS as f64)
        };
        let ran = &timeline.ran;
        let (left, right) = (column(ran.start[row]), column(ran.end[row]));
        let share = f64::from(span.taken) / f64::from(span.per_node.max(1));
        let low = f64::from(span.first) * up;
        let high = (low + f64::from(span.height()) * up).min(lines as f64);
        let cover = &mut covers[usize::from(ran.away[row])];
        let first = (low.floor() as usize).min(lines - 1);
        let end = (high.ceil() as usize).clamp(first + 1, lines);
        for line in first..end {
            let inside = high.min(line as f64 + 1.0) - low.max(line as f64);
            cover.add(line, left, right, share * inside);
        }
    }
    let [here, away] = covers.map(|cover| cover.cells());
    let text = |(here, away): (&Vec<f64>, &Vec<f64>)| {
        let cell = |(here, away)| char::from(FIRST + 9 * level(here) + level(away));
        here.iter().zip(away).map(cell).collect()
    };
    let lines: Vec<String> = here.iter().zip(&away).map(text).collect();
    json!({ "mode": "bins", "columns": COLUMNS, "lines": lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_as_full_as_they_are_covered() {
        let mut cover = Cover::new(COLUMNS, 2);
        cover.add(0, 0.5, 3.25, 1.0);
        cover.add(1, 2.0, 2.5, 0.5);
        cover.add(1, 0.0, COLUMNS as f64, 0.125);
        let cells = cover.cells();
        let line = |n: usize| cells[n].iter().take(5).map(level).collect::<Vec<u8>>();
        assert_eq!(line(0), [4, 8, 8, 2, 0]);
        assert_eq!(line(1), [1, 1, 3, 1, 1]);
        assert_eq!(cells[1].len(), COLUMNS);
    }
}
