//! Rows with an estimate and its interval: forest plots.

use crate::plot::axis::{Axis, Scale, Unit};
use crate::plot::canvas::{Canvas, Path};
use crate::plot::chart::no_data;
use crate::plot::data::{self, or};
use crate::plot::figure::{Drawing, Figure};
use crate::plot::format;
use crate::plot::style::Color;
use crate::plot::table::{Cell, Table};
use crate::plot::text;
use crate::plot::ticks;

/// Rows above this number are counted, not drawn.
pub(super) const MOST: usize = 200;
/// Height of a row in pixels.
const ROW: f64 = 24.0;

/// A forest plot: a row per comparison with low end, estimate and high end on
/// one axis, the numbers beside it, and a line where there is no difference.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Rows {
    title: String,
    axis: Axis,
    width: f64,
    reference: Option<(f64, String)>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    label: String,
    low: f64,
    value: f64,
    high: f64,
    color: Color,
}

impl Rows {
    /// An empty plot on this axis, 1000 pixels wide, as high as its rows need.
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Rows {
            title: title.into(),
            axis,
            width: 1000.0,
            ..Rows::default()
        }
    }

    /// Half as wide.
    pub fn half(mut self) -> Self {
        self.width = 506.0;
        self
    }

    /// A vertical line that rows are read against, with its label.
    pub fn reference(mut self, at: f64, label: impl Into<String>) -> Self {
        self.reference = Some((at, label.into()));
        self
    }

    /// Adds a row of this colour.
    pub fn row(
        mut self,
        label: impl Into<String>,
        low: f64,
        value: f64,
        high: f64,
        color: Color,
    ) -> Self {
        self.rows.push(Row {
            label: label.into(),
            low,
            value,
            high,
            color,
        });
        self
    }

    /// The ends of the axis.
    fn ends(&self) -> Option<(f64, f64)> {
        let rows = self.rows.iter().take(MOST);
        let numbers = rows.flat_map(|row| [row.low, row.value, row.high]);
        let line = self.reference.iter().map(|(at, _)| *at);
        self.axis.ends(data::span(&self.axis, numbers.chain(line)))
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["", "low", "estimate", "high"]);
        for row in self.rows.iter().take(MOST) {
            let numbers = [row.low, row.value, row.high];
            let label = std::iter::once(Cell::Text(row.label.clone()));
            table.push(label.chain(numbers.map(|value| self.axis.unit.cell(value))));
        }
        table
    }

    /// The dashed line and what it means.
    fn reference_line(&self, canvas: &mut Canvas, scale: &Scale, top: f64, bottom: f64) {
        if let Some((at, label)) = &self.reference
            && let Some(at) = scale.inside(*at)
        {
            canvas.open(Color::Ink);
            canvas.line("r", (at, top - 4.0), (at, bottom));
            canvas.close();
            let half = text::width(label, 11.0) / 2.0;
            let middle = at.min(self.width - half - 2.0).max(half + 2.0);
            canvas.text(middle, top - 8.0, "k m", label);
        }
    }
}

impl Row {
    /// The numbers of a row, as text.
    fn spelled(&self, unit: &Unit) -> String {
        let (low, high) = (self.low, self.high);
        let value = unit.show(self.value);
        match self.value.is_finite() && low.is_finite() && high.is_finite() {
            true => format!("{value} [{}, {}]", unit.show(low), unit.show(high)),
            false => value,
        }
    }
}

impl Figure for Rows {
    fn draw(&self) -> Drawing {
        let (mut canvas, top) = Canvas::titled(&self.title, self.width);
        let count = self.rows.len().min(MOST);
        let top = top + if self.reference.is_some() { 22.0 } else { 6.0 };
        let bottom = top + ROW * count as f64;
        let title = self.axis.title();
        let height = bottom + if title.is_empty() { 24.0 } else { 42.0 };
        match self.ends().filter(|_| count > 0) {
            None => no_data(&mut canvas, top, height.max(120.0)),
            Some(ends) => self.rows_on(&mut canvas, ends, top, bottom),
        }
        canvas.notes.extend(not_drawn(self.rows.len()));
        let description = format!("Estimates with intervals of {}.", or(&title, "values"));
        canvas.drawing(height.max(120.0), description, self.table())
    }
}

impl Rows {
    /// Labels, intervals and numbers of all rows.
    fn rows_on(&self, canvas: &mut Canvas, ends: (f64, f64), top: f64, bottom: f64) {
        let rows = || self.rows.iter().take(MOST);
        let spelled = |row: &Row| row.spelled(&self.axis.unit);
        let labels = rows().map(|row| text::width(&row.label, 12.0));
        let numbers = rows().map(|row| text::width(&spelled(row), 11.0));
        let left = labels.fold(40.0, f64::max).min(self.width * 0.34) + 12.0;
        let numbers = numbers.fold(40.0, f64::max).min(self.width * 0.36);
        let right = self.width - numbers - 12.0;
        let scale = Scale::new(&self.axis, ends, left + 8.0, right - 8.0);
        let axis = (&self.axis, &scale);
        ticks::below(canvas, axis, ends, (top, bottom));
        self.reference_line(canvas, &scale, top, bottom);
        let mut cut = 0;
        for (index, row) in rows().enumerate() {
            let y = top + ROW * (index as f64 + 0.5);
            canvas.fitted_text((2.0, y + 4.0), "", &row.label, left - 10.0);
            let numbers = (self.width - 2.0, y + 4.0);
            canvas.fitted_text(numbers, "k e", &spelled(row), self.width - right);
            canvas.open(row.color);
            cut += interval(canvas, &scale, [row.low, row.value, row.high], y);
            canvas.close();
        }
        if cut > 0 {
            let arrows = "Arrows: the interval goes on outside the axis.";
            canvas.notes.push(arrows.to_owned());
        }
    }
}

/// What is told of more rows than are drawn.
pub(super) fn not_drawn(rows: usize) -> Option<String> {
    let more = rows.checked_sub(MOST).filter(|more| *more > 0)?;
    let more = format::integer(more as u64);
    Some(format!(
        "The first {MOST} rows are drawn; {more} more are not."
    ))
}

/// Draws an interval and its estimate; 1 if an end lies outside the axis.
fn interval(canvas: &mut Canvas, scale: &Scale, [low, value, high]: [f64; 3], y: f64) -> u32 {
    let mut cut = 0;
    if let (Some(a), Some(b)) = (scale.clamped(low), scale.clamped(high)) {
        let mut path = Path::default();
        path.line((a, y), (b, y));
        for (end, at, inwards) in [(low, a, 5.0), (high, b, -5.0)] {
            match scale.inside(end) {
                Some(_) => path.line((at, y - 4.0), (at, y + 4.0)),
                None => {
                    cut = 1;
                    path.start(at + inwards, y - 5.0);
                    path.to(at, y);
                    path.to(at + inwards, y + 5.0);
                }
            }
        }
        canvas.path("l", &path);
    }
    if let Some(at) = scale.inside(value) {
        let side = 8.0;
        canvas.rect("f", "", [at - side / 2.0, y - side / 2.0, side, side], "");
    } else if value.is_finite() {
        cut = 1;
    }
    cut
}
