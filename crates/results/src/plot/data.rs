//! What a chart's series span, and their numbers as a table.

use crate::plot::axis::{Axis, Kind, Scale};
use crate::plot::format;
use crate::plot::sample::column_means;
use crate::plot::series::{Cdf, Data, Fill, Series};
use crate::plot::table::{Cell, Table};
use std::fmt::Write as _;

/// Rows of a table behind a picture: what a reader, or a screen reader, can
/// take in.
const MOST_ROWS: usize = 100;

/// Values of a series that are not in the picture.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeftOut {
    pub total: u64,
    pub undefined: u64,
    pub not_positive: u64,
    pub outside: u64,
}

impl LeftOut {
    /// Counts one value; whether it can be drawn.
    pub(super) fn admit(&mut self, on: &[(&Axis, &Scale, f64)]) -> bool {
        self.total += 1;
        let finite = on.iter().all(|(_, _, value)| value.is_finite());
        let showable = on.iter().all(|(axis, _, value)| axis.can_show(*value));
        let inside = on
            .iter()
            .all(|(_, scale, value)| scale.inside(*value).is_some());
        match (finite, showable, inside) {
            (true, true, true) => {}
            (true, true, false) => self.outside += 1,
            (true, false, _)
                if on
                    .iter()
                    .any(|(axis, _, v)| axis.kind == Kind::Log && *v <= 0.0) =>
            {
                self.not_positive += 1;
            }
            _ => self.undefined += 1,
        }
        showable
    }

    /// What to tell the reader, if anything was left out.
    pub(super) fn note(&self, name: &str) -> Option<String> {
        let reasons = [
            (self.undefined, "not a number that can be drawn"),
            (self.not_positive, "not positive, on a log axis"),
            (self.outside, "outside the axes"),
        ];
        let reasons: Vec<String> = reasons
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{} {why}", format::integer(*count)))
            .collect();
        let missing = self.undefined + self.not_positive + self.outside;
        (missing > 0).then(|| {
            let of = format::integer(self.total);
            let count = format::integer(missing);
            format!(
                "{}Not shown: {count} of {of} values ({}).",
                lead(name),
                reasons.join(", ")
            )
        })
    }
}

/// `NAME: ` or nothing.
pub(super) fn lead(name: &str) -> String {
    match name.is_empty() {
        true => String::new(),
        false => format!("{name}: "),
    }
}

/// The smallest and largest of the values that an axis can show.
fn span(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let showable = values.filter(|value| axis.can_show(*value));
    showable.fold(None, |span, value| match span {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// What a series spans on the x axis.
pub(super) fn span_x(axis: &Axis, series: &Series) -> Option<(f64, f64)> {
    match &series.data {
        Data::Line(points) | Data::Scatter(points) => span(axis, points.iter().map(|p| p.0)),
        Data::Step { points, until, .. } => {
            let ends = until.iter().copied();
            span(axis, points.iter().map(|p| p.0).chain(ends))
        }
        Data::Bars(heights) => {
            let last = heights.len().checked_sub(1)?;
            Some((-0.5, last as f64 + 0.5))
        }
        Data::Bins { edges, .. } => span(axis, edges.iter().copied()),
        Data::Cdf(cdf) => span(axis, cdf.steps.iter().map(|step| step.0)),
        Data::Band(points) => span(axis, points.iter().map(|p| p.0)),
        Data::Errors(points) => span(axis, points.iter().map(|p| p.0)),
    }
}

/// What a series spans on the y axis; stacked ones are left to the stack.
pub(super) fn span_y(axis: &Axis, series: &Series) -> Option<(f64, f64)> {
    let ground = |values: &[f64]| {
        let zero = std::iter::once(0.0);
        span(axis, values.iter().copied().chain(zero))
    };
    match &series.data {
        Data::Line(points) | Data::Scatter(points) => span(axis, points.iter().map(|p| p.1)),
        Data::Step {
            fill: Fill::Stacked,
            ..
        } => None,
        Data::Step { points, fill, .. } => {
            let zero = (*fill == Fill::Area && !points.is_empty()).then_some(0.0);
            span(axis, points.iter().map(|p| p.1).chain(zero))
        }
        Data::Bars(heights) if heights.is_empty() => None,
        Data::Bins { heights, .. } if heights.is_empty() => None,
        Data::Bars(heights) | Data::Bins { heights, .. } => ground(heights),
        Data::Cdf(cdf) => (cdf.n() > 0).then_some((0.0, 1.0)),
        Data::Band(points) => span(axis, points.iter().flat_map(|p| [p.1, p.2])),
        Data::Errors(points) => span(axis, points.iter().flat_map(|p| [p.1, p.2, p.3])),
    }
}

/// Stacked areas: the tops of each, interval by interval.
pub(super) struct Stack {
    /// Ends of the intervals.
    pub edges: Vec<f64>,
    /// Per series of the chart (empty for those not stacked) the height of its
    /// upper edge in each interval.
    pub tops: Vec<Vec<f64>>,
    /// Whether values were averaged over intervals.
    pub averaged: bool,
}

impl Stack {
    /// Sums up the stacked series of a chart that spans these x values.
    pub(super) fn of(axis: &Axis, series: &[Series], ends: (f64, f64), width: f64) -> Self {
        let stacked = |one: &Series| match &one.data {
            Data::Step {
                points,
                until,
                fill: Fill::Stacked,
            } => {
                let finite = points.iter().copied().filter(|p| axis.can_show(p.0));
                Some((finite.collect::<Vec<_>>(), *until))
            }
            _ => None,
        };
        let all: Vec<_> = series.iter().map(stacked).collect();
        let columns = (width / 2.0).ceil().max(1.0);
        let count: usize = all.iter().flatten().map(|(points, _)| points.len()).sum();
        let averaged = count as f64 > 2.0 * columns;
        let edges = match averaged {
            true => {
                let scale = Scale::new(axis, ends, 0.0, columns);
                (0..=columns as usize)
                    .map(|index| scale.value(index as f64))
                    .collect()
            }
            false => {
                let inner = all.iter().flatten().flat_map(|(points, until)| {
                    points.iter().map(|p| p.0).chain(until.iter().copied())
                });
                let mut edges: Vec<f64> = inner.chain([ends.0, ends.1]).collect();
                edges.retain(|edge| *edge >= ends.0 && *edge <= ends.1);
                edges.sort_by(f64::total_cmp);
                edges.dedup();
                edges
            }
        };
        let mut ground = vec![0.0; edges.len().saturating_sub(1)];
        let mut tops = Vec::with_capacity(all.len());
        for one in &all {
            tops.push(match one {
                None => Vec::new(),
                Some((points, until)) => {
                    let means = column_means(points, *until, &edges);
                    for (sum, mean) in ground.iter_mut().zip(means) {
                        *sum = (*sum + mean).clamp(-1e300, 1e300);
                    }
                    ground.clone()
                }
            });
        }
        Stack {
            edges,
            tops,
            averaged,
        }
    }

    /// What the stack spans, with 0.
    pub(super) fn span(&self) -> Option<(f64, f64)> {
        let tops = self.tops.iter().flatten().copied();
        let zero = tops.clone().next().map(|_| 0.0);
        let all = tops.chain(zero).filter(|top| top.is_finite());
        all.fold(None, |span, value| match span {
            None => Some((value, value)),
            Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
        })
    }
}

/// The numbers behind a chart: bars and bins one by one, distributions by
/// their quantiles, else what each series spans.
pub(super) fn table(x: &Axis, y: &Axis, series: &[Series]) -> Table {
    let bars: Vec<&[f64]> = series.iter().filter_map(bar_heights).collect();
    let cdfs: Vec<&Cdf> = series.iter().filter_map(as_cdf).collect();
    if !series.is_empty() && bars.len() == series.len() {
        return bars_table(x, y, series, &bars);
    }
    if !cdfs.is_empty() && cdfs.len() * 2 > series.len() {
        return quantile_table(x, series);
    }
    span_table(x, y, series)
}

fn bar_heights(series: &Series) -> Option<&[f64]> {
    match &series.data {
        Data::Bars(heights) => Some(heights),
        _ => None,
    }
}

fn as_cdf(series: &Series) -> Option<&Cdf> {
    match &series.data {
        Data::Cdf(cdf) => Some(cdf),
        _ => None,
    }
}

/// The head of a column of values.
pub(super) fn or(name: &str, otherwise: &str) -> String {
    match name.is_empty() {
        true => otherwise.to_owned(),
        false => name.to_owned(),
    }
}

fn bars_table(x: &Axis, y: &Axis, series: &[Series], bars: &[&[f64]]) -> Table {
    let names = series
        .iter()
        .map(|one| or(&one.name, &or(&y.label, "value")));
    let mut table = Table::new(std::iter::once(or(&x.label, "group")).chain(names));
    let count = bars.iter().map(|heights| heights.len()).max().unwrap_or(0);
    for index in 0..count.min(MOST_ROWS) {
        let name = match &x.kind {
            Kind::Categories(names) => names.get(index).cloned(),
            _ => None,
        };
        let mut row = vec![Cell::Text(name.unwrap_or_else(|| index.to_string()))];
        row.extend(
            bars.iter()
                .map(|heights| shown(y, heights.get(index).copied())),
        );
        table.push(row);
    }
    more(table, count)
}

fn quantile_table(x: &Axis, series: &[Series]) -> Table {
    let of = or(&x.label, "value");
    let names = series.iter().filter(|one| as_cdf(one).is_some());
    let heads = names.map(|one| or(&one.name, &of));
    let mut table = Table::new(std::iter::once(format!("share at most this {of}")).chain(heads));
    for share in [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0] {
        let cells = series
            .iter()
            .filter_map(as_cdf)
            .map(|cdf| shown(x, cdf.quantile(share)));
        let name = match share {
            0.0 => "least".to_owned(),
            share => format::percent(share),
        };
        table.push(std::iter::once(Cell::Text(name)).chain(cells));
    }
    let counts = series
        .iter()
        .filter_map(as_cdf)
        .map(|cdf| Cell::from(cdf.n()));
    table.push(std::iter::once(Cell::from("number of values")).chain(counts));
    table
}

fn span_table(x: &Axis, y: &Axis, series: &[Series]) -> Table {
    let (of_x, of_y) = (or(&x.label, "x"), or(&y.label, "y"));
    let mut table = Table::new([
        "series".to_owned(),
        "values".to_owned(),
        format!("first {of_x}"),
        format!("last {of_x}"),
        format!("least {of_y}"),
        format!("greatest {of_y}"),
    ]);
    for one in series {
        let count = match &one.data {
            Data::Line(points) | Data::Step { points, .. } | Data::Scatter(points) => points.len(),
            Data::Bars(heights) | Data::Bins { heights, .. } => heights.len(),
            Data::Cdf(cdf) => usize::try_from(cdf.n()).unwrap_or(usize::MAX),
            Data::Band(points) => points.len(),
            Data::Errors(points) => points.len(),
        };
        let stacked = match &one.data {
            Data::Step {
                points,
                fill: Fill::Stacked,
                ..
            } => span(y, points.iter().map(|p| p.1)),
            _ => None,
        };
        let xs = span_x(x, one);
        let ys = stacked.or_else(|| span_y(y, one));
        table.push([
            Cell::Text(or(&one.name, &of_y)),
            Cell::from(count as u64),
            shown(x, xs.map(|span| span.0)),
            shown(x, xs.map(|span| span.1)),
            shown(y, ys.map(|span| span.0)),
            shown(y, ys.map(|span| span.1)),
        ]);
    }
    table
}

/// A value with its unit.
fn shown(axis: &Axis, value: Option<f64>) -> Cell {
    match value {
        Some(value) if value.is_finite() => Cell::Number(axis.unit.show(value)),
        _ => Cell::Missing,
    }
}

/// Says how many rows a table leaves out.
pub(super) fn more(table: Table, count: usize) -> Table {
    match count > MOST_ROWS {
        true => table.caption(format!(
            "The first {MOST_ROWS} of {}",
            format::integer(count as u64)
        )),
        false => table,
    }
}

/// One sentence for those who cannot see the chart.
pub(super) fn describe(x: &Axis, y: &Axis, series: &[Series]) -> String {
    let mut text = format!("Chart of {}", or(&y.title(), "values"));
    if !x.title().is_empty() {
        let _ = write!(text, " over {}", x.title());
    }
    let names: Vec<&str> = series
        .iter()
        .map(|one| one.name.as_str())
        .filter(|name| !name.is_empty())
        .take(8)
        .collect();
    if !names.is_empty() {
        let _ = write!(text, ": {}", names.join(", "));
    }
    if series.len() > 8 {
        let _ = write!(text, " and {} more", series.len() - 8);
    }
    text.push('.');
    text
}
