//! The inside of a chart.

use crate::plot::axis::{Axis, Kind, Scale};
use crate::plot::data::LeftOut;

/// Where the plot lies.
#[derive(Clone, Copy)]
pub(super) struct Area {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// The inside of a chart; pixels count from its upper left corner.
pub(super) struct Frame<'a> {
    pub x: Scale,
    pub y: Scale,
    pub x_axis: &'a Axis,
    pub y_axis: &'a Axis,
    pub width: f64,
    pub height: f64,
    pub bar_series: usize,
    pub bin_series: usize,
}

impl Frame<'_> {
    /// The pixel of the ground that bars and areas stand on.
    pub(super) fn ground(&self) -> f64 {
        self.y.clamped(0.0).unwrap_or(self.height)
    }

    /// Counts a point and finds its place; a gap if it has none.
    pub(super) fn place(&self, left_out: &mut LeftOut, x: f64, y: f64) -> Option<(f64, f64)> {
        left_out.total += 1;
        let on = [(self.x_axis, x), (self.y_axis, y)];
        if on.iter().all(|(axis, value)| axis.can_show(*value)) {
            let at = (self.x.at(x)?, self.y.at(y)?);
            left_out.outside += u64::from(!self.x.holds(at.0) || !self.y.holds(at.1));
            return Some(at);
        }
        let below = |(axis, value): &(&Axis, f64)| axis.kind == Kind::Log && *value <= 0.0;
        if x.is_finite() && y.is_finite() && on.iter().any(below) {
            left_out.not_positive += 1;
        } else {
            left_out.undefined += 1;
        }
        None
    }
}
