//! Values in their envelopes: what was measured against what random sampling
//! gives.

use crate::plot::axis::Unit;
use crate::plot::canvas::{Canvas, Path};
use crate::plot::chart::no_data;
use crate::plot::figure::{Drawing, Figure};
use crate::plot::format;
use crate::plot::rows::{MOST, not_drawn};
use crate::plot::style::Color;
use crate::plot::table::{Cell, Table};
use crate::plot::text;

/// Width of a picture in pixels.
const WIDTH: f64 = 1000.0;

/// Height of a row in pixels.
const ROW: f64 = 26.0;

/// A row per statistic: its value as a dot on the envelope [low, high] it is
/// judged by. Each row has its own scale (statistics have different units):
/// the envelope is the middle third of every strip (and reaches its end where
/// it has none of its own), so that a dot outside the
/// band is a value outside the envelope, whatever it counts.
#[derive(Clone, Debug)]
#[must_use]
pub struct Strips {
    title: String,
    rows: Vec<Strip>,
}

#[derive(Clone, Debug)]
struct Strip {
    label: String,
    unit: Unit,
    value: f64,
    low: f64,
    high: f64,
    passed: Option<bool>,
}

impl Strip {
    /// Where the value lies, in half widths of the envelope from its middle;
    /// `None` if that cannot be said. An envelope with one end is drawn as if
    /// it were as wide as that end is large: from 0 where it says "at most".
    fn place(&self) -> Option<f64> {
        let size = |end: f64| if end == 0.0 { 1.0 } else { end.abs() };
        let (low, high) = match (self.low, self.high) {
            (f64::NEG_INFINITY, high) if high.is_finite() => (high - size(high), high),
            (low, f64::INFINITY) if low.is_finite() => (low, low + size(low)),
            ends => ends,
        };
        let finite = [self.value, low, high].iter().all(|v| v.is_finite());
        if !finite || low > high {
            return None;
        }
        let (middle, half) = (low / 2.0 + high / 2.0, high / 2.0 - low / 2.0);
        let off = self.value - middle;
        Some(match (half > 0.0, off) {
            (true, off) => (off / half).clamp(-1e3, 1e3),
            (false, 0.0) => 0.0,
            (false, off) => 1e3 * off.signum(),
        })
    }

    fn color(&self) -> Color {
        match self.passed {
            Some(true) => Color::Good,
            Some(false) => Color::Bad,
            None => Color::Muted,
        }
    }
}

impl Strips {
    /// An empty picture, 1000 pixels wide, as high as its rows need.
    pub fn new(title: impl Into<String>) -> Self {
        Strips {
            title: title.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a statistic with a verdict of the caller's (`None`: not judged).
    pub fn judged_row(
        mut self,
        label: impl Into<String>,
        unit: Unit,
        value: f64,
        (low, high): (f64, f64),
        passed: Option<bool>,
    ) -> Self {
        self.rows.push(Strip {
            label: label.into(),
            unit,
            value,
            low,
            high,
            passed,
        });
        self
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["statistic", "value", "low", "high", "verdict"]);
        for row in self.rows.iter().take(MOST) {
            let cell = |value: f64| row.unit.cell(value);
            let verdict = match row.passed {
                Some(true) => Cell::Pass("inside".to_owned()),
                Some(false) => Cell::Fail("outside".to_owned()),
                None => Cell::from("not judged"),
            };
            table.push([
                Cell::Text(row.label.clone()),
                cell(row.value),
                cell(row.low),
                cell(row.high),
                verdict,
            ]);
        }
        table
    }

    /// Columns: label, strip, value, envelope.
    fn columns(&self) -> (f64, f64, f64) {
        let widest = |of: &dyn Fn(&Strip) -> String, size: f64| {
            let all = self.rows.iter().take(MOST);
            all.map(|row| text::width(&of(row), size))
                .fold(40.0, f64::max)
        };
        let labels = widest(&|row| row.label.clone(), 12.0).min(320.0);
        let values = widest(&|row| format!("\u{2713} {}", value_text(row)), 12.0).min(160.0);
        let envelopes = widest(&envelope_text, 11.0).min(220.0);
        let right = WIDTH - 2.0 - envelopes;
        (labels + 16.0, right - 16.0 - values, right)
    }
}

fn value_text(row: &Strip) -> String {
    row.unit.show(row.value)
}

fn envelope_text(row: &Strip) -> String {
    let show = |value| row.unit.show(value);
    match (row.low, row.high) {
        (f64::NEG_INFINITY, high) if high.is_finite() => format!("at most {}", show(high)),
        (low, f64::INFINITY) if low.is_finite() => format!("at least {}", show(low)),
        (low, high) if low.is_finite() && high.is_finite() => {
            format!("{} to {}", show(low), show(high))
        }
        _ => format::UNDEFINED.to_owned(),
    }
}

impl Figure for Strips {
    fn draw(&self) -> Drawing {
        let (mut canvas, top) = Canvas::titled(&self.title, WIDTH);
        let count = self.rows.len().min(MOST);
        let top = top + 22.0;
        let height = (top + ROW * count as f64 + 8.0).max(120.0);
        if count == 0 {
            no_data(&mut canvas, top - 16.0, height);
        } else {
            let (left, end, right) = self.columns();
            let strip = (left, end - 8.0);
            header(&mut canvas, strip, right, top - 8.0);
            for (index, row) in self.rows.iter().take(MOST).enumerate() {
                let y = top + ROW * (index as f64 + 0.5);
                draw_strip(&mut canvas, row, strip, (end, right), y);
            }
        }
        let rows = self.rows.iter();
        let failed = rows.filter(|row| row.passed == Some(false)).count();
        canvas.notes.extend(not_drawn(self.rows.len()));
        let description = format!(
            "{} statistics against their envelopes, {failed} outside.",
            self.rows.len()
        );
        canvas.drawing(height, description, self.table())
    }
}

/// The words over the columns.
fn header(canvas: &mut Canvas, strip: (f64, f64), right: f64, y: f64) {
    let third = (strip.1 - strip.0) / 3.0;
    for (slot, word) in [(0.5, "below"), (1.5, "envelope"), (2.5, "above")] {
        canvas.text(strip.0 + third * slot, y, "k m", word);
    }
    canvas.text(right - 16.0, y, "k e", "value");
    canvas.text(right, y, "k", "envelope");
}

/// A row of the picture.
fn draw_strip(
    canvas: &mut Canvas,
    row: &Strip,
    strip: (f64, f64),
    (end, right): (f64, f64),
    y: f64,
) {
    canvas.fitted_text((2.0, y + 4.0), "", &row.label, strip.0 - 14.0);
    canvas.line("g", (strip.0, y), (strip.1, y));
    let third = (strip.1 - strip.0) / 3.0;
    let open = (row.low == f64::NEG_INFINITY, row.high == f64::INFINITY);
    let from = if open.0 { strip.0 } else { strip.0 + third };
    let to = if open.1 { strip.1 } else { strip.1 - third };
    let band = [from, y - 7.0, to - from, 14.0];
    canvas.open(Color::Muted);
    canvas.rect("a", "", band, "");
    canvas.close();
    canvas.open(row.color());
    if let Some(place) = row.place() {
        let middle = (strip.0 + strip.1) / 2.0;
        let at = middle + place * third / 2.0;
        let title = format!(
            "{}: {} ({})",
            row.label,
            value_text(row),
            envelope_text(row)
        );
        if at > strip.1 - 6.0 || at < strip.0 + 6.0 {
            arrow(
                canvas,
                at.clamp(strip.0, strip.1),
                place.signum(),
                y,
                &title,
            );
        } else {
            canvas.disc((at, y), &title);
        }
    }
    canvas.close();
    let (class, mark) = match row.passed {
        Some(true) => ("cg e", "\u{2713} "),
        Some(false) => ("cb e", "\u{2717} "),
        None => ("h e", ""),
    };
    let value = format!("{mark}{}", value_text(row));
    canvas.fitted_text((right - 16.0, y + 4.0), class, &value, right - end - 4.0);
    canvas.fitted_text((right, y + 4.0), "k", &envelope_text(row), WIDTH - right);
}

/// A triangle that points out of the strip: the value lies further out.
fn arrow(canvas: &mut Canvas, at: f64, direction: f64, y: f64, title: &str) {
    let mut path = Path::default();
    path.start(at, y);
    path.to(at - 10.0 * direction, y - 6.0);
    path.to(at - 10.0 * direction, y + 6.0);
    path.close(at, y);
    canvas.titled_path("f", "", &path, title);
}
