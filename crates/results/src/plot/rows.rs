//! Rows with an estimate and its interval: forest plots.

use crate::plot::axis::{Axis, Scale, Unit};
use crate::plot::canvas::{Canvas, Path};
use crate::plot::chart::{head, no_data};
use crate::plot::data::or;
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
#[derive(Clone, Debug)]
pub struct Rows {
    title: String,
    axis: Axis,
    width: f64,
    reference: Option<(f64, String)>,
    rows: Vec<Row>,
    notes: Vec<String>,
}

#[derive(Clone, Debug)]
enum Row {
    Group(String),
    Estimate {
        label: String,
        low: f64,
        value: f64,
        high: f64,
        color: Color,
    },
}

impl Rows {
    /// An empty plot on this axis, 1000 pixels wide, as high as its rows need.
    #[must_use]
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Rows {
            title: title.into(),
            axis,
            width: 1000.0,
            reference: None,
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Half as wide.
    #[must_use]
    pub fn half(mut self) -> Self {
        self.width = 506.0;
        self
    }

    /// A vertical line that rows are read against, with its label.
    #[must_use]
    pub fn reference(mut self, at: f64, label: impl Into<String>) -> Self {
        self.reference = Some((at, label.into()));
        self
    }

    /// A line of text over the rows that follow.
    #[must_use]
    pub fn group(mut self, label: impl Into<String>) -> Self {
        self.rows.push(Row::Group(label.into()));
        self
    }

    /// Adds a row. Ends that are not numbers (too few repeats for an interval)
    /// leave the estimate alone; an estimate that is none leaves a row `n/a`.
    #[must_use]
    pub fn row(self, label: impl Into<String>, low: f64, value: f64, high: f64) -> Self {
        self.colored_row(label, low, value, high, Color::Series(0))
    }

    /// Adds a row of this colour.
    #[must_use]
    pub fn colored_row(
        mut self,
        label: impl Into<String>,
        low: f64,
        value: f64,
        high: f64,
        color: Color,
    ) -> Self {
        let label = label.into();
        self.rows.push(Row::Estimate {
            label,
            low,
            value,
            high,
            color,
        });
        self
    }

    /// Adds a note of the caller's to those of the picture.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// The ends of the axis.
    fn ends(&self) -> Option<(f64, f64)> {
        let numbers = self.rows.iter().take(MOST).flat_map(|row| match row {
            Row::Group(_) => [f64::NAN; 3],
            Row::Estimate {
                low, value, high, ..
            } => [*low, *value, *high],
        });
        let line = self.reference.iter().map(|(at, _)| *at);
        let shown = numbers.chain(line).filter(|v| self.axis.can_show(*v));
        let span = shown.fold(None, |span: Option<(f64, f64)>, v| match span {
            None => Some((v, v)),
            Some((low, high)) => Some((low.min(v), high.max(v))),
        });
        self.axis.ends(span)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["", "low", "estimate", "high"]);
        for row in self.rows.iter().take(MOST) {
            match row {
                Row::Group(label) => table.push([label.as_str()]),
                Row::Estimate {
                    label,
                    low,
                    value,
                    high,
                    ..
                } => {
                    let cell = |value: &f64| match value.is_finite() {
                        true => Cell::Number(self.axis.unit.show(*value)),
                        false => Cell::Missing,
                    };
                    table.push([
                        Cell::Text(label.clone()),
                        cell(low),
                        cell(value),
                        cell(high),
                    ]);
                }
            }
        }
        table
    }

    /// Draws the axis below the rows and the lines through them.
    fn axis(&self, canvas: &mut Canvas, scale: &Scale, ends: (f64, f64), top: f64, bottom: f64) {
        let mut lines = Path::default();
        for (tick, middle) in ticks::horizontal(&self.axis, ends, scale, (2.0, self.width - 2.0)) {
            if let (Some(at), false) = (scale.inside(tick.value), tick.label.is_empty()) {
                lines.start(at, top);
                lines.to(at, bottom);
                canvas.text(middle, bottom + 16.0, "k m", &tick.label);
            }
        }
        canvas.path("g", &lines);
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

/// `estimate [low, high]`.
fn spelled(unit: &Unit, low: f64, value: f64, high: f64) -> String {
    match (value.is_finite(), low.is_finite() && high.is_finite()) {
        (false, _) => format::UNDEFINED.to_owned(),
        (true, false) => unit.show(value),
        (true, true) => format!(
            "{} [{}, {}]",
            unit.show(value),
            unit.show(low),
            unit.show(high)
        ),
    }
}

impl Figure for Rows {
    fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let mut notes = Vec::new();
        let count = self.rows.len().min(MOST);
        let mut top = head(&mut canvas, &self.title, self.width) + 6.0;
        if self.reference.is_some() {
            top += 16.0;
        }
        let bottom = top + ROW * count as f64;
        let title = self.axis.title();
        let height = bottom + if title.is_empty() { 24.0 } else { 42.0 };
        match self.ends().filter(|_| count > 0) {
            None => no_data(&mut canvas, top, self.width, height.max(120.0)),
            Some(ends) => {
                self.rows_on(&mut canvas, ends, top, bottom, &mut notes);
            }
        }
        if self.rows.len() > MOST {
            let more = format::integer((self.rows.len() - MOST) as u64);
            notes.push(format!(
                "The first {MOST} rows are drawn; {more} more are not."
            ));
        }
        notes.extend(self.notes.iter().cloned());
        Drawing {
            title: self.title.clone(),
            description: format!("Estimates with intervals of {}.", or(&title, "values")),
            width: self.width,
            height: height.max(120.0),
            body: canvas.finish_body(),
            notes,
            table: self.table(),
        }
    }
}

impl Rows {
    /// Labels, intervals and numbers of all rows.
    fn rows_on(
        &self,
        canvas: &mut Canvas,
        ends: (f64, f64),
        top: f64,
        bottom: f64,
        notes: &mut Vec<String>,
    ) {
        let unit = &self.axis.unit;
        let (mut labels, mut numbers) = (40.0_f64, 40.0_f64);
        for row in self.rows.iter().take(MOST) {
            if let Row::Estimate {
                label,
                low,
                value,
                high,
                ..
            } = row
            {
                labels = labels.max(text::width(label, 12.0));
                numbers = numbers.max(text::width(&spelled(unit, *low, *value, *high), 11.0));
            }
        }
        let left = labels.min(self.width * 0.34) + 12.0;
        let right = self.width - numbers.min(self.width * 0.36) - 12.0;
        let scale = Scale::new(&self.axis, ends, left + 8.0, right - 8.0);
        self.axis(canvas, &scale, ends, top, bottom);
        let title = self.axis.title();
        if !title.is_empty() {
            let middle = (left + right) / 2.0;
            canvas.fitted_text((middle, bottom + 35.0), "h m", &title, right - left);
        }
        let mut cut = 0;
        for (index, row) in self.rows.iter().take(MOST).enumerate() {
            let y = top + ROW * (index as f64 + 0.5);
            match row {
                Row::Group(label) => {
                    canvas.fitted_text((2.0, y + 4.0), "b6", label, self.width - 4.0);
                }
                Row::Estimate {
                    label,
                    low,
                    value,
                    high,
                    color,
                } => {
                    canvas.fitted_text((2.0, y + 4.0), "", label, left - 10.0);
                    let spelled = spelled(unit, *low, *value, *high);
                    canvas.fitted_text(
                        (self.width - 2.0, y + 4.0),
                        "k e",
                        &spelled,
                        self.width - right,
                    );
                    canvas.open(*color);
                    cut += interval(canvas, &scale, [*low, *value, *high], y);
                    canvas.close();
                }
            }
        }
        if cut > 0 {
            notes.push("Arrows: the interval goes on outside the axis.".to_owned());
        }
    }
}

/// Draws an interval and its estimate; 1 if an end lies outside the axis.
fn interval(canvas: &mut Canvas, scale: &Scale, [low, value, high]: [f64; 3], y: f64) -> u32 {
    let mut cut = 0;
    if let (Some(a), Some(b)) = (scale.clamped(low), scale.clamped(high)) {
        let mut path = Path::default();
        path.start(a, y);
        path.to(b, y);
        for (end, at, inwards) in [(low, a, 5.0), (high, b, -5.0)] {
            match scale.inside(end) {
                Some(_) => {
                    path.start(at, y - 4.0);
                    path.to(at, y + 4.0);
                }
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
