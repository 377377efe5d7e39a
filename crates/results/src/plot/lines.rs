//! Lines through points, and what lies below them.

use crate::plot::canvas::{Canvas, Path};
use crate::plot::data::lead;
use crate::plot::format;

pub(super) fn line_class(dash: &str, thinned: bool) -> String {
    format!("l{}{dash}", if thinned { " n" } else { "" })
}

/// How what is thinned is drawn.
const THINNED: &str = "the first, least, greatest and last of every two pixels are drawn.";

pub(super) fn thinned_note(name: &str, count: usize) -> String {
    let count = format::integer(count as u64);
    format!("{}of {count} values, {THINNED}", lead(name))
}

/// Says it once where it would be said of several series.
pub(super) fn join_thinned(notes: &mut Vec<String>) {
    let thinned = |note: &String| note.ends_with(THINNED);
    if notes.iter().filter(|note| thinned(note)).count() > 1 {
        notes.retain(|note| !thinned(note));
        notes.push(format!("Of lines with more values than pixels, {THINNED}"));
    }
}

/// Whether a line goes straight to the next point or holds its value until it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shape {
    Straight,
    Stepped,
}

/// A line through points, broken at gaps.
pub(super) fn line(canvas: &mut Canvas, class: &str, points: &[Option<(f64, f64)>], shape: Shape) {
    let mut path = Path::default();
    for run in points.split(|point| point.is_none()) {
        let mut last: Option<(f64, f64)> = None;
        for (x, y) in run.iter().copied().flatten() {
            match last {
                None => path.start(x, y),
                Some((_, held)) if shape == Shape::Stepped => {
                    path.to(x, held);
                    path.to(x, y);
                }
                Some(_) => path.to(x, y),
            }
            last = Some((x, y));
        }
        // A point alone would be a line of no length, which is not drawn.
        if let ([Some((x, y))], true) = (run, shape == Shape::Straight) {
            path.line((x - 2.0, *y), (x + 2.0, *y));
        }
    }
    canvas.path(class, &path);
}

/// Fills between a step line and the ground.
pub(super) fn area(canvas: &mut Canvas, class: &str, points: &[Option<(f64, f64)>], ground: f64) {
    let mut path = Path::default();
    for run in points.split(|point| point.is_none()) {
        let run: Vec<(f64, f64)> = run.iter().copied().flatten().collect();
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        path.start(first.0, ground);
        let mut held = ground;
        for (x, y) in &run {
            path.to(*x, held);
            path.to(*x, *y);
            held = *y;
        }
        path.to(last.0, ground);
        path.close(first.0, ground);
    }
    canvas.path(class, &path);
}
