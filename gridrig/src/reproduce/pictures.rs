//! The figures of a page: its tables as they stand, as lines over what is varied.

use super::page::{Page, Shown};
use gridrig_results::plot::{self, Axis, Chart, Series, Unit};

/// What a chart shows: name and points of each line.
type Lines = Vec<(String, Vec<(f64, f64)>)>;

/// A page of pictures. Where several tables vary one thing, such as the load, each column is
/// a chart with that as its x axis and a line for each row; where the rows vary it, a line
/// for each table, or in a table by itself for each column. Tables that do not say with `x`
/// what is varied, and ratios, are not drawn.
///
/// # Errors
/// Says which table is not understood.
pub fn pictures(text: &str) -> anyhow::Result<String> {
    let title = text.lines().find_map(|line| line.strip_prefix("# "));
    let mut page = plot::Page::new(title.unwrap_or("Figures"));
    let mut tables = Page::read(text)?.shown();
    while !tables.is_empty() {
        let (figure, heads) = (tables[0].parts().0.to_owned(), tables[0].heads.clone());
        let of_it = |table: &mut Shown| table.parts().0 == figure && table.heads == heads;
        let group: Vec<Shown> = tables.extract_if(.., of_it).collect();
        let charts = charts(&group);
        if !charts.is_empty() {
            page.heading(&match figure.starts_with("Figure ") {
                true => format!("{figure} of the paper"),
                false => figure,
            });
            page.figures(&charts, "Means over the replications.");
        }
    }
    Ok(page.to_html())
}

fn charts(group: &[Shown]) -> Vec<Chart> {
    let first = &group[0];
    let Some(label) = &first.x else {
        return Vec::new();
    };
    let columns: Vec<usize> = (0..first.heads.len())
        .filter(|column| !first.heads[*column].starts_with("/ "))
        .collect();
    let by_rows = group.iter().all(|table| table.rows_at().is_some());
    if by_rows && group.len() == 1 {
        // Counts by themselves, and shares.
        let (shares, counts): (Vec<usize>, Vec<usize>) = columns
            .into_iter()
            .partition(|column| first.most(*column) <= 1.0);
        let lines = |columns: Vec<usize>| -> Lines {
            let line = |column: usize| (first.heads[column].clone(), first.over_rows(column));
            columns.into_iter().map(line).collect()
        };
        let both = [("numbers", lines(counts)), ("shares", lines(shares))];
        let drawn = both.into_iter().filter_map(|(y, lines)| match &lines[..] {
            [] => None,
            [(only, _)] => Some(chart(&only.clone(), label, lines)),
            _ => Some(chart(y, label, lines)),
        });
        return drawn.collect();
    }
    let charts = columns.into_iter().map(|column| {
        let lines: Lines = if by_rows {
            let line = |table: &Shown| (table.parts().1.to_owned(), table.over_rows(column));
            group.iter().map(line).collect()
        } else {
            let rows = first.rows.iter().enumerate();
            let line = |(row, (name, _)): (usize, &(String, _))| {
                let points = group.iter().filter_map(|table| {
                    let (_, values) = table.rows.get(row)?;
                    Some((number_at_end(table.parts().1)?, values[column]?))
                });
                (name.clone(), sorted(points.collect()))
            };
            rows.map(line).collect()
        };
        chart(&first.heads[column], label, lines)
    });
    let is_drawn = by_rows || group.len() > 1;
    charts.filter(|_| is_drawn).collect()
}

/// On a log axis where the figures are far apart.
fn chart(y: &str, x: &str, lines: Lines) -> Chart {
    let all = || lines.iter().flat_map(|(_, points)| points);
    let least = all().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
    let most = all().map(|(_, y)| *y).fold(0.0, f64::max);
    let axis = match least > 0.0 && most > 100.0 * least {
        true => Axis::log(y, Unit::Plain),
        false => Axis::linear(y, Unit::Plain).include(0.0),
    };
    let empty = Chart::new(y).x(Axis::linear(x, Unit::Plain)).y(axis);
    let lines = lines.into_iter().enumerate();
    lines.fold(empty, |chart, (at, (name, points))| {
        chart.series(Series::line(name, points).dash(at))
    })
}

impl Shown {
    /// What comes before the comma of its name, the figure, and behind it, what is varied.
    fn parts(&self) -> (&str, &str) {
        self.name.split_once(", ").unwrap_or((&self.name, ""))
    }

    /// The numbers that its rows are named by.
    fn rows_at(&self) -> Option<Vec<f64>> {
        let rows = self.rows.iter().map(|(name, _)| number_at_end(name));
        let at: Option<Vec<f64>> = rows.collect();
        at.filter(|at| !at.is_empty())
    }

    fn over_rows(&self, column: usize) -> Vec<(f64, f64)> {
        let at = self.rows_at().unwrap_or_default().into_iter();
        let points = at.zip(&self.rows);
        let points = points.filter_map(|(at, (_, values))| Some((at, values[column]?)));
        sorted(points.collect())
    }

    fn most(&self, column: usize) -> f64 {
        let values = self.rows.iter().filter_map(|(_, values)| values[column]);
        values.fold(0.0, f64::max)
    }
}

fn sorted(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The number that a text ends with, be it of per cent.
fn number_at_end(text: &str) -> Option<f64> {
    let text = text.trim_end_matches([' ', '%']);
    let digits = text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    text[digits.len()..].parse().ok()
}
