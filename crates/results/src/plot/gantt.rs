//! What ran where and when.

use crate::plot::axis::{Axis, Scale};
use crate::plot::canvas::{Canvas, Path};
use crate::plot::chart::{legend, no_data};
use crate::plot::cover::Cover;
use crate::plot::data::{self, or};
use crate::plot::figure::{Drawing, Figure};
use crate::plot::format;
use crate::plot::style::Color;
use crate::plot::table::{Cell, Table};
use crate::plot::text;
use crate::plot::ticks;
use std::collections::BTreeMap;

/// Boxes above this number are drawn as shares of cells.
const MOST: usize = 1500;
/// Width of a chart in pixels.
const WIDTH: f64 = 1000.0;

/// Width and least height of such a cell in pixels.
const CELL: (f64, f64) = (3.0, 4.0);
/// Degrees of cover that are told apart.
const LEVELS: usize = 4;

/// A Gantt chart: boxes from start to end over one or several rows.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Gantt {
    title: String,
    axis: Axis,
    rows: Vec<String>,
    spans: Vec<Span>,
    legend: Vec<(Color, String)>,
    hatched: Option<Color>,
}

#[derive(Clone, Debug)]
struct Span {
    row: usize,
    rows: usize,
    start: f64,
    end: f64,
    color: Color,
    label: String,
}

impl Gantt {
    /// An empty chart with these rows (nodes, processors, clusters), from top
    /// to bottom, over this axis of time.
    pub fn new<T: Into<String>>(
        title: impl Into<String>,
        axis: Axis,
        rows: impl IntoIterator<Item = T>,
    ) -> Self {
        Gantt {
            title: title.into(),
            axis,
            rows: rows.into_iter().map(Into::into).collect(),
            ..Gantt::default()
        }
    }

    /// Adds a box over `rows` rows from `row` on, from `start` until (not
    /// including) `end`. Boxes that lie in no row, or whose times are not
    /// numbers or not in order, are left out and counted.
    pub fn span(
        &mut self,
        (row, rows): (usize, usize),
        (start, end): (f64, f64),
        color: Color,
        label: impl Into<String>,
    ) {
        self.spans.push(Span {
            row,
            rows,
            start,
            end,
            color,
            label: label.into(),
        });
    }

    /// Says what a colour means.
    pub fn legend(mut self, color: Color, meaning: impl Into<String>) -> Self {
        self.legend.push((color, meaning.into()));
        self
    }

    /// Boxes of this colour are hatched, so that they can be told without it.
    pub fn hatched(mut self, color: Color) -> Self {
        self.hatched = Some(color);
        self
    }

    /// Whether a box can be drawn.
    fn drawable(&self, span: &Span) -> bool {
        let ordered = self.axis.can_show(span.start)
            && self.axis.can_show(span.end)
            && span.start <= span.end;
        ordered && span.rows > 0 && span.row < self.rows.len()
    }

    fn ends(&self, spans: &[&Span]) -> Option<(f64, f64)> {
        let ends = spans.iter().flat_map(|span| [span.start, span.end]);
        self.axis.ends(data::span(&self.axis, ends))
    }

    /// Boxes and their total time per row.
    fn table(&self, spans: &[&Span]) -> Table {
        let mut count = vec![(0_u64, 0.0_f64); self.rows.len()];
        // Enough rows for a reader; the work per box is bounded with them.
        let shown = self.rows.len().min(100);
        for span in spans {
            let rows = count.iter_mut().take(shown).skip(span.row);
            for (boxes, time) in rows.take(span.rows) {
                *boxes += 1;
                *time += span.end - span.start;
            }
        }
        let mut table = Table::new(["row", "boxes", "total time"]);
        for (name, (boxes, time)) in self.rows.iter().zip(count).take(shown) {
            let time = self.axis.unit.cell(time);
            table.push([Cell::Text(name.clone()), Cell::from(boxes), time]);
        }
        data::more(table, self.rows.len())
    }
}

impl Figure for Gantt {
    fn draw(&self) -> Drawing {
        let (mut canvas, top) = Canvas::titled(&self.title, WIDTH);
        let all = self.spans.iter();
        let spans: Vec<&Span> = all.filter(|span| self.drawable(span)).collect();
        let names = self.legend.iter().map(|(_, meaning)| meaning.as_str());
        let top = legend(&mut canvas, names, top, |canvas, index, (x, y)| {
            canvas.open(self.legend[index].0);
            let area = [x, y - 5.0, 14.0, 10.0];
            canvas.rect("f", " fill-opacity=\".8\"", area, "");
            canvas.close();
            if Some(self.legend[index].0) == self.hatched && spans.len() <= MOST {
                let mut stripes = Path::default();
                hatch(&mut stripes, area);
                canvas.titled_path("z", "", &stripes, "");
            }
        });
        let top = top + 6.0;
        let row = (420.0 / self.rows.len().max(1) as f64).clamp(0.0, 22.0);
        let bottom = top + row * self.rows.len() as f64;
        let title = self.axis.title();
        let height = (bottom + if title.is_empty() { 24.0 } else { 42.0 }).max(120.0);
        match self.ends(&spans).filter(|_| !self.rows.is_empty()) {
            None => no_data(&mut canvas, top, height),
            Some(ends) => {
                let left = self.labels(&mut canvas, top, row);
                let scale = Scale::new(&self.axis, ends, left, WIDTH - 12.0);
                let axis = (&self.axis, &scale);
                ticks::below(&mut canvas, axis, ends, (top, bottom));
                canvas.line("x", (left, bottom), (WIDTH - 12.0, bottom));
                let area = [left, top, WIDTH - 12.0 - left, bottom - top];
                canvas.open_area(area[0], area[1], area[2], area[3]);
                let inner = Scale::new(&self.axis, ends, 0.0, area[2]);
                match spans.len() <= MOST {
                    true => boxes(&mut canvas, &inner, &spans, row, self),
                    false => {
                        cells(&mut canvas, &inner, &spans, row, area);
                        let count = format::integer(spans.len() as u64);
                        canvas.notes.push(format!(
                            "{count} boxes drawn as cells: the fuller the colour, the more of the cell is covered."
                        ));
                    }
                }
                canvas.close_area();
            }
        }
        let missing = self.spans.len() - spans.len();
        if missing > 0 {
            let count = format::integer(missing as u64);
            canvas.notes.push(format!(
                "{count} boxes without a row or a time are left out."
            ));
        }
        let description = format!(
            "Gantt chart of {} boxes in {} rows over {}.",
            spans.len(),
            self.rows.len(),
            or(&title, "time")
        );
        canvas.drawing(height, description, self.table(&spans))
    }
}

impl Gantt {
    /// Names of rows, as many as fit; returns where the boxes begin.
    fn labels(&self, canvas: &mut Canvas, top: f64, row: f64) -> f64 {
        let widest = self.rows.iter().map(|name| text::width(name, 11.0));
        let left = widest.fold(20.0, f64::max).min(WIDTH * 0.25) + 10.0;
        let every = (14.0 / row.max(1e-3)).ceil().max(1.0) as usize;
        for (index, name) in self.rows.iter().enumerate().step_by(every) {
            let y = top + (index as f64 + 0.5) * row + 4.0;
            canvas.fitted_text((left - 6.0, y), "k e", name, left - 8.0);
        }
        left
    }
}

/// A box each, at least a pixel wide.
fn boxes(canvas: &mut Canvas, scale: &Scale, spans: &[&Span], row: f64, chart: &Gantt) {
    let axis = &chart.axis;
    let mut stripes = Path::default();
    for span in spans {
        let (Some(from), Some(to)) = (scale.at(span.start), scale.at(span.end)) else {
            continue;
        };
        let gap = if row >= 6.0 { 1.5 } else { 0.0 };
        let area = [
            from,
            span.row as f64 * row + gap / 2.0,
            (to - from).max(1.0),
            (span.rows as f64 * row - gap).max(0.5),
        ];
        let times = (axis.unit.show(span.start), axis.unit.show(span.end));
        let title = format!("{}: {} to {}", or(&span.label, "box"), times.0, times.1);
        let class = format!("f s {}", span.color.class());
        canvas.rect(&class, " fill-opacity=\".8\"", area, &title);
        if chart.hatched == Some(span.color) {
            hatch(&mut stripes, area);
        }
    }
    canvas.titled_path("z", "", &stripes, "");
}

/// Rising stripes over a box, some pixels apart.
fn hatch(stripes: &mut Path, [x, y, width, height]: [f64; 4]) {
    const APART: f64 = 6.0;
    // The first that meets the box, so that those of neighbours go on.
    let mut at = ((x + y) / APART).ceil() * APART;
    while at < x + width + y + height {
        let low = (at - y - height).max(x);
        let high = (at - y).min(x + width);
        stripes.line((low, at - low), (high, at - high));
        at += APART;
    }
}

/// Cells in the colour that covers most of them.
fn cells(canvas: &mut Canvas, scale: &Scale, spans: &[&Span], row: f64, area: [f64; 4]) {
    let [_, _, width, height] = area;
    let columns = (width / CELL.0).ceil().max(1.0) as usize;
    let total = spans.iter().map(|span| span.row + 1).max().unwrap_or(1);
    let lines = ((height / CELL.1).floor().max(1.0) as usize)
        .min((height / row).round().max(total as f64) as usize);
    let tall = height / lines as f64;
    let mut covers: BTreeMap<Color, Cover> = BTreeMap::new();
    for span in spans {
        let (Some(from), Some(to)) = (scale.at(span.start), scale.at(span.end)) else {
            continue;
        };
        let cover = covers
            .entry(span.color)
            .or_insert_with(|| Cover::new(columns, lines));
        let (up, down) = (
            span.row as f64 * row / tall,
            ((span.row.saturating_add(span.rows)) as f64 * row / tall).min(lines as f64),
        );
        let first = (up.floor() as usize).min(lines - 1);
        for line in first..(down.ceil() as usize).clamp(first + 1, lines) {
            let weight = (down.min(line as f64 + 1.0) - up.max(line as f64)).clamp(0.0, 1.0);
            cover.add(line, from / CELL.0, to / CELL.0, weight);
        }
    }
    let all = covers.iter().map(|(color, cover)| (*color, cover.cells()));
    let covers: Vec<(Color, Vec<Vec<f64>>)> = all.collect();
    for (index, (color, _)) in covers.iter().enumerate() {
        let mut paths: Vec<Path> = (0..LEVELS).map(|_| Path::default()).collect();
        for line in 0..lines {
            draw_line(&covers, index, line, tall, &mut paths);
        }
        canvas.open(*color);
        for (path, opacity) in paths.iter().zip([".22", ".42", ".64", ".88"]) {
            canvas.titled_path("f", &format!(" fill-opacity=\"{opacity}\""), path, "");
        }
        canvas.close();
    }
}

/// Adds the runs of cells of one line in which this colour covers most.
fn draw_line(
    covers: &[(Color, Vec<Vec<f64>>)],
    index: usize,
    line: usize,
    tall: f64,
    paths: &mut [Path],
) {
    let own = &covers[index].1[line];
    let level = |column: usize| {
        let here = own[column];
        let most = covers.iter().map(|(_, cells)| cells[line][column]);
        let best = most.fold(0.0, f64::max);
        // Of equal colours the first is drawn.
        let earlier = covers[..index]
            .iter()
            .any(|(_, cells)| cells[line][column] >= here);
        match here > 1e-6 && here >= best && !earlier {
            true => ((here.min(1.0) * LEVELS as f64).ceil() as usize).clamp(1, LEVELS),
            false => 0,
        }
    };
    let levels: Vec<usize> = (0..own.len()).map(level).collect();
    let mut from = 0;
    for run in levels.chunk_by(|a, b| a == b) {
        if let Some(path) = run
            .first()
            .and_then(|level| level.checked_sub(1))
            .and_then(|level| paths.get_mut(level))
        {
            let width = run.len() as f64 * CELL.0;
            path.rect(from as f64 * CELL.0, line as f64 * tall, width, tall - 0.4);
        }
        from += run.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cover_adds_up_to_what_was_added() {
        let mut cover = Cover::new(10, 2);
        cover.add(0, 1.25, 4.5, 1.0);
        cover.add(0, 2.0, 2.5, 0.5);
        cover.add(1, -5.0, 50.0, 1.0);
        cover.add(1, 9.5, 10.0, 1.0);
        let cells = cover.cells();
        assert_eq!(cells[0][..5], [0.0, 0.75, 1.25, 1.0, 0.5]);
        assert_eq!(cells[0].iter().sum::<f64>(), 3.5);
        assert_eq!(cells[1].iter().sum::<f64>(), 10.5);
    }
}
