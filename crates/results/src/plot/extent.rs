//! What the axes of a chart span.

use crate::plot::annotate::Mark;
use crate::plot::axis::{Axis, Kind};
use crate::plot::data;
use crate::plot::series::{Data, Series};
use crate::plot::ticks;

/// Ends of the axes, and what had to be summed up to know them.
#[derive(Clone)]
pub(super) struct Plan {
    pub x: Axis,
    pub y: Axis,
    pub ends_x: (f64, f64),
    pub ends_y: (f64, f64),
}

/// Finds the ends of both axes; `None` if there is nothing to draw.
pub(super) fn resolve(
    (x, y): (&Axis, &Axis),
    series: &[Series],
    marks: &[Mark],
    height: f64,
) -> Option<Plan> {
    let (mut x, mut y) = (x.clone(), y.clone());
    for mark in marks {
        mark.extend(&mut x, &mut y);
    }
    let all = series.iter().filter_map(|one| data::span_x(&x, one));
    let mut ends_x = x.ends(data::ends(all.flat_map(<[f64; 2]>::from)))?;
    let all = series.iter().filter_map(|one| data::span_y(&y, one));
    let all_y = data::ends(all.flat_map(<[f64; 2]>::from))?;
    let mut ends_y = y.ends(Some(all_y))?;
    if y.low.is_none() {
        ends_y = rounded(&y, ends_y, height);
    }
    if x.low.is_none() {
        ends_x = padded(&x, series, ends_x);
    }
    Some(Plan {
        x,
        y,
        ends_x,
        ends_y,
    })
}

/// Extends a linear y axis to its next marks, a log one a little.
fn rounded(axis: &Axis, (low, high): (f64, f64), height: f64) -> (f64, f64) {
    match axis.kind {
        Kind::Log => log_padded(low, high),
        Kind::Categories(_) => (low, high),
        Kind::Linear => {
            let want = (height / 60.0).clamp(2.0, 8.0) as usize;
            let step = ticks::step(&axis.unit, high - low, want);
            let ends = (
                (low / step + 1e-9).floor() * step,
                (high / step - 1e-9).ceil() * step,
            );
            let sound = step > 0.0 && ends.0.is_finite() && ends.1.is_finite() && ends.0 < ends.1;
            if sound { ends } else { (low, high) }
        }
    }
}

/// Gives points at the ends of an x axis some air; what has a width of its
/// own needs none.
fn padded(axis: &Axis, series: &[Series], (low, high): (f64, f64)) -> (f64, f64) {
    let airy = series
        .iter()
        .any(|one| matches!(one.data, Data::Scatter(_)));
    match (&axis.kind, airy) {
        (Kind::Categories(_), _) => (low, high),
        (Kind::Log, true) => log_padded(low, high),
        (Kind::Linear, true) => {
            let air = (high - low) * 0.015;
            let start = if low == 0.0 { 0.0 } else { low - air };
            (start, high + air)
        }
        (_, false) => (low, high),
    }
}

/// A log axis with a little air at both ends.
fn log_padded(low: f64, high: f64) -> (f64, f64) {
    let air = ((high.ln() - low.ln()) * 0.02).max(0.08).exp();
    ((low / air).max(1e-300), (high * air).min(1e300))
}
