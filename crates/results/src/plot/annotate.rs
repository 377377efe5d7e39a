//! Annotations of a chart: values of an axis that readers are to look at.

use crate::plot::axis::Axis;
use crate::plot::canvas::Canvas;
use crate::plot::data;
use crate::plot::frame::{Area, Frame};
use crate::plot::style::Color;
use crate::plot::text;

/// An annotation: a value of one axis, with a label.
#[derive(Clone, Debug)]
#[must_use]
pub struct Mark {
    place: Place,
    label: String,
    color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    X(f64),
    Y(f64),
}

impl Mark {
    /// A vertical line at this x.
    pub fn x(at: f64, label: impl Into<String>) -> Self {
        Mark::of(Place::X(at), label.into())
    }

    /// A horizontal line at this y.
    pub fn y(at: f64, label: impl Into<String>) -> Self {
        Mark::of(Place::Y(at), label.into())
    }

    /// Its colour; the colour of text if not given.
    pub fn color(mut self, color: Color) -> Self {
        self.color = color;
        self
    }

    fn of(place: Place, label: String) -> Self {
        Mark {
            place,
            label,
            color: Color::Ink,
        }
    }

    /// Extends the axes so that it can be seen.
    pub(super) fn extend(&self, x: &mut Axis, y: &mut Axis) {
        match self.place {
            Place::X(at) => x.include.push(at),
            Place::Y(at) => y.include.push(at),
        }
    }
}

/// Lines of annotations and all their labels, above the series. A label
/// that finds no free place goes to the notes.
pub(super) fn annotations(marks: &[Mark], canvas: &mut Canvas, area: Area, frame: &Frame) {
    let mut taken: Vec<[f64; 4]> = Vec::new();
    for mark in marks {
        let at = match mark.place {
            Place::X(at) => frame.x.inside(at),
            Place::Y(at) => frame.y.inside(at),
        };
        let Some(at) = at else {
            canvas.notes.push(format!(
                "{} lies outside the axes.",
                data::or(&mark.label, "A mark")
            ));
            continue;
        };
        canvas.open(mark.color);
        match mark.place {
            Place::X(_) => canvas.line(
                "r",
                (area.left + at, area.top),
                (area.left + at, area.top + area.height),
            ),
            Place::Y(_) => canvas.line(
                "r",
                (area.left, area.top + at),
                (area.left + area.width, area.top + at),
            ),
        }
        canvas.close();
        if mark.label.is_empty() {
            continue;
        }
        let width = text::width(&mark.label, 11.0);
        let spot = spots(mark.place, at, area, width).into_iter().find(|spot| {
            spot[0] >= area.left
                && spot[2] <= area.left + area.width
                && !taken.iter().any(|other| overlap(spot, other))
        });
        match spot {
            Some(spot) => {
                canvas.text(spot[0], spot[3] - 3.0, "k halo", &mark.label);
                taken.push(spot);
            }
            None => canvas
                .notes
                .push(format!("Marked without a label: {}.", mark.label)),
        }
    }
}

/// Places for a label, best first: left, top, right, bottom.
fn spots(place: Place, at: f64, area: Area, width: f64) -> Vec<[f64; 4]> {
    let spot = |x: f64, y: f64| [x, y, x + width, y + 14.0];
    match place {
        Place::X(_) => {
            let x = area.left + at;
            let rows = (0..4).map(|row| area.top + 2.0 + 15.0 * f64::from(row));
            rows.flat_map(|y| [spot(x + 4.0, y), spot(x - width - 4.0, y)])
                .collect()
        }
        Place::Y(_) => {
            let y = area.top + at;
            let (near, far) = (area.left + 6.0, area.left + area.width - width - 6.0);
            let above = if y - 16.0 >= area.top - 4.0 {
                y - 16.0
            } else {
                y + 2.0
            };
            [(far, above), (near, above), (far, y + 2.0), (near, y + 2.0)]
                .into_iter()
                .map(|(x, y)| spot(x, y))
                .collect()
        }
    }
}

/// Whether two boxes touch.
fn overlap(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[2] + 4.0 && b[0] < a[2] + 4.0 && a[1] < b[3] && b[1] < a[3]
}
