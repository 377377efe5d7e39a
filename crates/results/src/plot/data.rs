//! What a chart's series span, and their numbers as a table.

use crate::plot::axis::{Axis, Kind};
use crate::plot::format;
use crate::plot::series::{Cdf, Data, Series};
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
pub(super) fn span(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    ends(values.filter(|value| axis.can_show(*value)))
}

/// The smallest and largest of these values.
pub(super) fn ends(mut values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let first = values.next()?;
    let wider = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
    Some(values.fold((first, first), wider))
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
    }
}

/// What a series spans on the y axis.
pub(super) fn span_y(axis: &Axis, series: &Series) -> Option<(f64, f64)> {
    let ground = |values: &[f64]| {
        let zero = std::iter::once(0.0);
        span(axis, values.iter().copied().chain(zero))
    };
    let intervals = series.intervals.iter();
    let intervals = intervals.flat_map(|(_, low, high)| [*low, *high]);
    match &series.data {
        Data::Line(points) | Data::Scatter(points) => {
            span(axis, points.iter().map(|p| p.1).chain(intervals))
        }
        Data::Step { points, filled, .. } => {
            let zero = (*filled && !points.is_empty()).then_some(0.0);
            span(axis, points.iter().map(|p| p.1).chain(zero))
        }
        Data::Bars(heights) if heights.is_empty() => None,
        Data::Bins { heights, .. } if heights.is_empty() => None,
        Data::Bars(heights) | Data::Bins { heights, .. } => ground(heights),
        Data::Cdf(cdf) => (cdf.n() > 0).then_some((0.0, 1.0)),
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
                .map(|heights| y.unit.cell(heights.get(index).copied())),
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
        let all = series.iter().filter_map(as_cdf);
        let cells = all.map(|cdf| x.unit.cell(cdf.quantile(share)));
        let name = match share {
            0.0 => "least".to_owned(),
            share => format::percent(share),
        };
        table.push(std::iter::once(Cell::Text(name)).chain(cells));
    }
    let all = series.iter();
    let counts = all.filter_map(as_cdf).map(|cdf| Cell::from(cdf.n()));
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
        };
        let (xs, ys) = (span_x(x, one), span_y(y, one));
        table.push([
            Cell::Text(or(&one.name, &of_y)),
            Cell::from(count as u64),
            x.unit.cell(xs.map(|span| span.0)),
            x.unit.cell(xs.map(|span| span.1)),
            y.unit.cell(ys.map(|span| span.0)),
            y.unit.cell(ys.map(|span| span.1)),
        ]);
    }
    table
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
    let all = series.iter().map(|one| one.name.as_str());
    let names: Vec<&str> = all.filter(|name| !name.is_empty()).take(8).collect();
    if !names.is_empty() {
        let _ = write!(text, ": {}", names.join(", "));
    }
    if series.len() > 8 {
        let _ = write!(text, " and {} more", series.len() - 8);
    }
    text.push('.');
    text
}
