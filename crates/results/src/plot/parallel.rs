//! Parallel coordinates: what belongs together as a line over several axes.

use crate::plot::axis::Unit;
use crate::plot::canvas::{Canvas, Path};
use crate::plot::chart::no_data;
use crate::plot::data::ends;
use crate::plot::figure::{Drawing, Figure};
use crate::plot::style::Color;
use crate::plot::table::{Cell, Table};

/// Lines beyond these are not drawn.
const MOST: usize = 5000;
const HEIGHT: f64 = 340.0;

/// An upright axis for each direction, and a line through all of them for each case.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Parallel {
    title: String,
    axes: Vec<Upright>,
    groups: Vec<(String, Vec<Vec<f64>>)>,
}

#[derive(Clone, Debug)]
struct Upright {
    label: String,
    unit: Unit,
    /// The values that are shown by name, from 0.
    names: Vec<String>,
}

impl Parallel {
    /// An empty picture, 1000 pixels wide.
    pub fn new(title: impl Into<String>) -> Self {
        Parallel {
            title: title.into(),
            ..Parallel::default()
        }
    }

    /// Adds an axis of numbers.
    pub fn axis(mut self, label: impl Into<String>, unit: Unit) -> Self {
        let (label, names) = (label.into(), Vec::new());
        self.axes.push(Upright { label, unit, names });
        self
    }

    /// Adds an axis of names; the value `i` is the i-th.
    pub fn names(mut self, label: impl Into<String>, names: Vec<String>) -> Self {
        let (label, unit) = (label.into(), Unit::Plain);
        self.axes.push(Upright { label, unit, names });
        self
    }

    /// Adds cases of one colour, each with a value for every axis in their order.
    pub fn group(mut self, name: impl Into<String>, cases: Vec<Vec<f64>>) -> Self {
        self.groups.push((name.into(), cases));
        self
    }

    /// The least and the greatest value of an axis.
    fn span(&self, axis: usize) -> Option<(f64, f64)> {
        let cases = self.groups.iter().flat_map(|(_, cases)| cases);
        let values = cases.filter_map(|case| case.get(axis).copied());
        ends(values.filter(|value| value.is_finite()))
    }
}

impl Upright {
    fn show(&self, value: f64) -> String {
        match self.names.get(value as usize) {
            Some(name) if !self.names.is_empty() => name.clone(),
            _ => self.unit.show(value),
        }
    }
}

impl Figure for Parallel {
    fn draw(&self) -> Drawing {
        let (mut canvas, top) = Canvas::titled(&self.title, 1000.0);
        let spans: Option<Vec<(f64, f64)>> =
            (0..self.axes.len()).map(|axis| self.span(axis)).collect();
        let spans = spans.filter(|spans| spans.len() > 1);
        let mut table = Table::new(["axis", "least", "greatest"]);
        let Some(spans) = spans else {
            no_data(&mut canvas, top, HEIGHT);
            return canvas.drawing(HEIGHT, "Nothing to draw.".to_owned(), table);
        };
        let mut x = 2.0;
        for (index, (name, _)) in self.groups.iter().enumerate() {
            canvas.open(Color::Series(index));
            canvas.line("l", (x, top + 12.0), (x + 20.0, top + 12.0));
            canvas.close();
            canvas.text(x + 26.0, top + 16.0, "", name);
            x += 46.0 + crate::plot::text::width(name, 12.0);
        }
        let (low, high) = (HEIGHT - 22.0, top + 56.0);
        let step = 860.0 / (self.axes.len() - 1) as f64;
        let at = |axis: usize| 70.0 + step * axis as f64;
        let place = |axis: usize, value: f64| {
            let (least, greatest) = *spans.get(axis)?;
            let share = match greatest > least {
                true => (value - least) / (greatest - least),
                false => 0.5,
            };
            value
                .is_finite()
                .then(|| (at(axis), low - share * (low - high)))
        };
        let mut left = MOST;
        for (index, (_, cases)) in self.groups.iter().enumerate() {
            let mut path = Path::default();
            for case in cases.iter().take(left) {
                let places = case
                    .iter()
                    .enumerate()
                    .map(|(axis, value)| place(axis, *value));
                let places: Vec<(f64, f64)> = places.flatten().collect();
                for (number, (x, y)) in places.into_iter().enumerate() {
                    if number == 0 {
                        path.start(x, y)
                    } else {
                        path.to(x, y)
                    }
                }
            }
            left = left.saturating_sub(cases.len());
            canvas.open(Color::Series(index));
            canvas.titled_path("l", " stroke-opacity=\".45\"", &path, "");
            canvas.close();
        }
        for (axis, upright) in self.axes.iter().enumerate() {
            let (least, greatest) = spans[axis];
            canvas.line("g", (at(axis), high), (at(axis), low));
            canvas.fitted_text((at(axis), high - 22.0), "m", &upright.label, step - 8.0);
            canvas.text(at(axis), high - 8.0, "k m", &upright.show(greatest));
            canvas.text(at(axis), low + 14.0, "k m", &upright.show(least));
            let ends = [least, greatest].map(|value| upright.show(value));
            let [least, greatest] = ends.map(Cell::Text);
            table.push([Cell::from(upright.label.as_str()), least, greatest]);
        }
        let count: usize = self.groups.iter().map(|(_, cases)| cases.len()).sum();
        if count > MOST {
            canvas
                .notes
                .push(format!("The first {MOST} of {count} lines are drawn."));
        }
        let description = format!("{count} cases as lines over {} axes.", self.axes.len());
        canvas.drawing(HEIGHT, description, table)
    }
}
