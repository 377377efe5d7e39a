//! Heat maps with their numbers.

use crate::plot::axis::Unit;
use crate::plot::canvas::Canvas;
use crate::plot::chart::{legend, no_data};
use crate::plot::data::{ends, more, or};
use crate::plot::figure::{Drawing, Figure};
use crate::plot::format;
use crate::plot::style::Color;
use crate::plot::table::{Cell, Table};
use crate::plot::text;

/// Rows and columns above this number are drawn in blocks.
const MOST: usize = 60;

/// The scale of colours has at most so many steps.
const STEPS: f64 = 4.0;

/// A matrix: rows by columns, the fuller the colour the greater the value, values printed where
/// they fit. Negative values have the second colour. Below it stands the scale of colours.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Matrix {
    title: String,
    rows: Vec<String>,
    columns: Vec<String>,
    values: Vec<Vec<f64>>,
    row_axis: String,
    column_axis: String,
    unit: String,
    width: f64,
}

impl Matrix {
    /// A matrix of these rows of values; values that are missing are empty
    /// cells.
    pub fn new<R: Into<String>, C: Into<String>>(
        title: impl Into<String>,
        rows: impl IntoIterator<Item = R>,
        columns: impl IntoIterator<Item = C>,
        values: impl Into<Vec<Vec<f64>>>,
    ) -> Self {
        Matrix {
            title: title.into(),
            rows: rows.into_iter().map(Into::into).collect(),
            columns: columns.into_iter().map(Into::into).collect(),
            values: values.into(),
            width: 1000.0,
            ..Matrix::default()
        }
    }

    /// What rows and columns are, such as `from` and `to`.
    pub fn axes(mut self, rows: impl Into<String>, columns: impl Into<String>) -> Self {
        (self.row_axis, self.column_axis) = (rows.into(), columns.into());
        self
    }

    /// What the values count, such as `jobs`; for the scale of colours.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    /// Half as wide.
    pub fn half(mut self) -> Self {
        self.width = 506.0;
        self
    }

    fn table(&self) -> Table {
        let corner = match (self.row_axis.is_empty(), self.column_axis.is_empty()) {
            (false, false) => format!("{} \\ {}", self.row_axis, self.column_axis),
            _ => self.row_axis.clone(),
        };
        let heads = self.columns.iter().take(MOST).cloned();
        let mut table = Table::new(std::iter::once(corner).chain(heads));
        for (index, name) in self.rows.iter().enumerate().take(MOST) {
            let mut row = vec![Cell::Text(name.clone())];
            row.extend((0..self.columns.len().min(MOST)).map(|column| {
                let value = self.values.get(index).and_then(|row| row.get(column));
                Unit::Plain.cell(value.copied())
            }));
            table.push(row);
        }
        more(table, self.rows.len())
    }
}

/// What is drawn: the matrix, or means of its blocks.
struct Cells {
    rows: Vec<String>,
    columns: Vec<String>,
    values: Vec<Vec<f64>>,
    /// Rows and columns per block.
    block: (usize, usize),
    undefined: u64,
}

impl Cells {
    fn of(matrix: &Matrix) -> Self {
        let block = (
            matrix.rows.len().div_ceil(MOST).max(1),
            matrix.columns.len().div_ceil(MOST).max(1),
        );
        let (rows, columns) = (
            names(&matrix.rows, block.0),
            names(&matrix.columns, block.1),
        );
        let mut undefined = 0;
        let mut values = Vec::with_capacity(rows.len());
        for row in 0..rows.len() {
            let mut line = Vec::with_capacity(columns.len());
            for column in 0..columns.len() {
                let inside = matrix.values.iter().skip(row * block.0).take(block.0);
                let inside = inside.flat_map(|row| row.iter().skip(column * block.1).take(block.1));
                let all: Vec<f64> = inside.copied().collect();
                let finite: Vec<f64> = all.iter().copied().filter(|v| v.is_finite()).collect();
                undefined += (all.len() - finite.len()) as u64;
                let n = finite.len() as f64;
                line.push(finite.iter().map(|value| value / n).fold(f64::NAN, add));
            }
            values.push(line);
        }
        Cells {
            rows,
            columns,
            values,
            block,
            undefined,
        }
    }

    /// The greatest absolute value.
    fn most(&self) -> f64 {
        let all = self.values.iter().flatten().filter(|v| v.is_finite());
        all.fold(0.0, |most: f64, value| most.max(value.abs()))
    }

    /// Values at equal distances from the least to the greatest, whole ones where all are;
    /// none if no value is defined.
    fn steps(&self) -> Vec<f64> {
        let finite = || {
            let all = self.values.iter().flatten().copied();
            all.filter(|value| value.is_finite())
        };
        let Some((least, greatest)) = ends(finite()) else {
            return Vec::new();
        };
        let whole = finite().all(|value| value.fract() == 0.0);
        let steps = match (least < greatest, whole) {
            (false, _) => 0.0,
            (true, true) => (greatest - least).min(STEPS),
            (true, false) => STEPS,
        };
        let at = |step: usize| {
            let share = step as f64 / steps.max(1.0);
            // The difference of two huge values would not be finite.
            let value = least * (1.0 - share) + greatest * share;
            if whole { value.round() } else { value }
        };
        (0..=steps as usize).map(at).collect()
    }
}

/// The class and the opacity of the colour of a value, where `most` is the greatest.
fn shade(value: f64, most: f64) -> (&'static str, String) {
    let share = if most > 0.0 {
        (value.abs() / most).clamp(0.0, 1.0)
    } else {
        0.0
    };
    // Up to 0.6 the colour of text can be read on it in both schemes.
    let opacity = match value == 0.0 {
        true => 0.0,
        false => 0.05 + 0.55 * share,
    };
    let color = if value < 0.0 {
        Color::Series(1)
    } else {
        Color::Series(0)
    };
    (color.class(), format!(" fill-opacity=\"{opacity:.2}\""))
}

/// Sum of what is defined.
fn add(sum: f64, value: f64) -> f64 {
    if sum.is_nan() { value } else { sum + value }
}

/// A name per block: that of its first and last member.
fn names(names: &[String], block: usize) -> Vec<String> {
    let blocks = names.chunks(block.max(1)).map(|part| match part {
        [one] => one.clone(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    });
    blocks.collect()
}

impl Figure for Matrix {
    fn draw(&self) -> Drawing {
        let (mut canvas, top) = Canvas::titled(&self.title, self.width);
        let cells = Cells::of(self);
        let height = match cells.rows.is_empty() || cells.columns.is_empty() {
            true => {
                no_data(&mut canvas, top, 140.0);
                140.0
            }
            false => {
                let below = self.cells(&mut canvas, &cells, top);
                self.scale(&mut canvas, &cells, below)
            }
        };
        if cells.undefined > 0 {
            let count = format::integer(cells.undefined);
            canvas
                .notes
                .push(format!("{count} cells are not defined and empty."));
        }
        if cells.block != (1, 1) {
            let (rows, columns) = cells.block;
            canvas.notes.push(format!(
                "Each cell is the mean of {rows} rows by {columns} columns."
            ));
        }
        let description = format!(
            "Matrix of {} rows ({}) by {} columns ({}).",
            self.rows.len(),
            or(&self.row_axis, "rows"),
            self.columns.len(),
            or(&self.column_axis, "columns")
        );
        canvas.drawing(height, description, self.table())
    }
}

impl Matrix {
    /// Draws all cells and labels; returns where the picture goes on.
    fn cells(&self, canvas: &mut Canvas, cells: &Cells, top: f64) -> f64 {
        let widest = |names: &[String]| {
            let all = names.iter().map(|name| text::width(name, 11.0));
            all.fold(0.0, f64::max)
        };
        let left = widest(&cells.rows).max(text::width(&self.row_axis, 12.0));
        let left = left.clamp(24.0, self.width * 0.3) + 12.0;
        let room = self.width - left - 2.0;
        let wanted = widest(&cells.columns).clamp(40.0, 110.0) + 14.0;
        let width = (room / cells.columns.len() as f64).min(wanted);
        let height = if cells.rows.len() > 30 { 14.0 } else { 24.0 };
        let mut top = top + 18.0;
        if !self.column_axis.is_empty() {
            let room = self.width - left;
            canvas.fitted_text((left, top - 2.0), "h", &self.column_axis, room);
            top += 18.0;
        }
        if !self.row_axis.is_empty() {
            canvas.fitted_text((left - 8.0, top - 4.0), "h e", &self.row_axis, left - 8.0);
        }
        self.column_labels(canvas, &cells.columns, (left, top - 4.0), width);
        for (row, name) in cells.rows.iter().enumerate() {
            let y = top + (row as f64 + 0.5) * height + 4.0;
            canvas.fitted_text((left - 8.0, y), "k e", name, left - 10.0);
        }
        let most = cells.most();
        for (row, line) in cells.values.iter().enumerate() {
            for (column, value) in line.iter().enumerate() {
                if !value.is_finite() {
                    continue;
                }
                let (x, y) = (left + column as f64 * width, top + row as f64 * height);
                let (color, fill) = shade(*value, most);
                let shown = format::number(*value);
                let title = format!("{}, {}: {shown}", cells.rows[row], cells.columns[column]);
                let class = format!("f s {color}");
                canvas.rect(&class, &fill, [x, y, width, height], &title);
                if text::width(&shown, 11.0) <= width - 4.0 && height >= 14.0 {
                    let class = if *value == 0.0 { "k m" } else { "v m" };
                    canvas.text(x + width / 2.0, y + height / 2.0 + 4.0, class, &shown);
                }
            }
        }
        top + cells.rows.len() as f64 * height + 8.0
    }

    /// Draws what the colours mean; returns the height of the picture.
    fn scale(&self, canvas: &mut Canvas, cells: &Cells, top: f64) -> f64 {
        let steps = cells.steps();
        if steps.is_empty() {
            return top;
        }
        let unit = or(&self.unit, "values");
        let title = format!("{unit} by colour, from the least to the greatest");
        canvas.fitted_text((2.0, top + 14.0), "h", &title, self.width - 4.0);
        let names: Vec<String> = steps.iter().map(|value| format::number(*value)).collect();
        let names = names.iter().map(String::as_str);
        let most = cells.most();
        legend(canvas, names, top + 18.0, |canvas, index, (x, y)| {
            let (color, fill) = shade(steps[index], most);
            let block = [x + 3.0, y - 5.0, 14.0, 10.0];
            canvas.rect(&format!("f {color}"), &fill, block, "");
            // The colour of 0 is none.
            canvas.rect("x", "", block, "");
        })
    }

    /// Labels of columns: in the middle of each cell and shortened to its width or, where
    /// cells are narrow, every n-th, from the left edge of its cell on.
    fn column_labels(
        &self,
        canvas: &mut Canvas,
        names: &[String],
        (left, y): (f64, f64),
        width: f64,
    ) {
        let all = names.iter();
        let widest = all.map(|name| text::width(name, 11.0)).fold(0.0, f64::max);
        let cut = width >= 44.0;
        let every = match cut {
            true => 1,
            false => ((widest.min(120.0) + 8.0) / width).ceil().max(1.0) as usize,
        };
        for (column, name) in names.iter().enumerate().step_by(every) {
            let x = left + column as f64 * width;
            let room = (width * every as f64 - 4.0).min(self.width - x - 2.0);
            if every == 1 {
                canvas.fitted_text((x + width / 2.0, y), "k m", name, room);
            } else if room >= text::width(name, 11.0).min(60.0) {
                canvas.fitted_text((x, y), "k", name, room);
            }
        }
    }
}
