//! How each kind of series is drawn.

use crate::plot::bars::{bars, bins};
use crate::plot::canvas::{Canvas, Path};
use crate::plot::data::{LeftOut, lead};
use crate::plot::format;
use crate::plot::frame::Frame;
use crate::plot::lines::{Shape, area, line, line_class, thinned_note};
use crate::plot::sample::{Density, thin};
use crate::plot::series::{Cdf, Data, Series};
use crate::plot::style::Color;

/// Points above this number are drawn as a density.
const MOST_POINTS: usize = 3000;
/// Lines with more points than this are not dashed: dashes of a noisy line
/// cannot be told from its noise.
const MOST_DASHED: usize = 400;

/// What tells a series from the others.
#[derive(Clone, Copy)]
pub(super) struct Look {
    pub color: Color,
    /// Position among the lines of the chart, for the dash pattern.
    pub order: usize,
}

/// Whether a series is a line that may be dashed.
pub(super) fn is_line(series: &Series) -> bool {
    matches!(series.data, Data::Line(_) | Data::Cdf(_))
}

/// Draws a series and returns what the reader has to know about it.
pub(super) fn draw(
    canvas: &mut Canvas,
    frame: &Frame,
    series: &Series,
    bar: usize,
    look: Look,
) -> Vec<String> {
    let mut left_out = LeftOut::default();
    let dash = dash_class(series, look);
    let name = &series.name;
    let note = match &series.data {
        Data::Line(points) | Data::Step { points, .. } => {
            let placed = points.iter().map(|p| frame.place(&mut left_out, p.0, p.1));
            let (mut kept, thinned) = thin(placed, frame.width, points.len());
            let mut shape = Shape::Straight;
            if let Data::Step { until, filled, .. } = &series.data {
                shape = Shape::Stepped;
                extend(&mut kept, until.and_then(|x| frame.x.at(x)));
                if *filled {
                    area(canvas, "a", &kept, frame.ground());
                }
            }
            line(canvas, &line_class(dash, thinned), &kept, shape);
            thinned.then(|| thinned_note(name, points.len()))
        }
        Data::Scatter(points) => scatter(canvas, frame, points, look, name, &mut left_out),
        Data::Bars(heights) => bars(canvas, frame, heights, bar, name, &mut left_out),
        Data::Bins { edges, heights } => bins(canvas, frame, edges, heights, name, &mut left_out),
        Data::Cdf(cdf) => distribution(canvas, frame, cdf, &line_class(dash, false), name),
    };
    intervals(canvas, frame, series);
    note.into_iter().chain(left_out.note(name)).collect()
}

/// Upright lines with a short one at each end.
fn intervals(canvas: &mut Canvas, frame: &Frame, series: &Series) {
    let mut path = Path::default();
    for (x, low, high) in &series.intervals {
        let ends = [*low, *high].map(|y| frame.y.at(y));
        let (Some(x), [Some(low), Some(high)]) = (frame.x.at(*x), ends) else {
            continue;
        };
        path.line((x, low), (x, high));
        for end in [low, high] {
            path.line((x - 3.0, end), (x + 3.0, end));
        }
    }
    canvas.path("l", &path);
}

/// Draws a series' sample for the legend, 20 pixels wide, its middle here.
pub(super) fn swatch(canvas: &mut Canvas, series: &Series, look: Look, (x, y): (f64, f64)) {
    let dash = dash_class(series, look);
    let block = [x + 3.0, y - 5.0, 14.0, 10.0];
    match &series.data {
        Data::Step { filled: true, .. } => {
            canvas.rect("a", "", block, "");
            canvas.line("l", (x + 3.0, y - 5.0), (x + 17.0, y - 5.0));
        }
        Data::Line(_) | Data::Cdf(_) | Data::Step { .. } => {
            canvas.line(&line_class(dash, false), (x, y), (x + 20.0, y));
        }
        Data::Scatter(_) => {
            let mut dot = Path::default();
            dot.dot(x + 10.0, y);
            canvas.path(dot_class(look), &dot);
        }
        Data::Bars(_) | Data::Bins { .. } => canvas.rect("f", " fill-opacity=\".8\"", block, ""),
    }
}

fn dash_class(series: &Series, look: Look) -> &'static str {
    let few = match &series.data {
        Data::Line(points) => points.len() <= MOST_DASHED,
        Data::Cdf(_) => true,
        _ => false,
    };
    let pattern = series.dash.unwrap_or(if few { look.order } else { 0 });
    ["", " d1", " d2", " d3"][pattern % 4]
}

/// Round dots, and square ones for every other colour.
fn dot_class(look: Look) -> &'static str {
    let second = matches!(look.color, Color::Series(n) if n % 2 == 1);
    if !second { "o" } else { "q" }
}

/// Lets a step line go on to this pixel.
fn extend(points: &mut Vec<Option<(f64, f64)>>, until: Option<f64>) {
    if let (Some(Some(last)), Some(until)) = (points.last().copied(), until)
        && until > last.0
    {
        points.push(Some((until, last.1)));
    }
}

fn scatter(
    canvas: &mut Canvas,
    frame: &Frame,
    points: &[(f64, f64)],
    look: Look,
    name: &str,
    left_out: &mut LeftOut,
) -> Option<String> {
    let placed = points.iter().filter_map(|p| {
        let at = frame.place(left_out, p.0, p.1)?;
        (frame.x.holds(at.0) && frame.y.holds(at.1)).then_some(at)
    });
    if points.len() <= MOST_POINTS {
        let mut path = Path::default();
        placed.for_each(|(x, y)| path.dot(x, y));
        canvas.path(dot_class(look), &path);
        return None;
    }
    const LEVELS: usize = 6;
    let density = Density::of(placed, (frame.width, frame.height), 4.0);
    let mut paths: Vec<Path> = (0..LEVELS).map(|_| Path::default()).collect();
    density.runs(LEVELS, |x, y, width, level| {
        if let Some(path) = paths.get_mut(level - 1) {
            path.line((x, y), (x + width, y));
        }
    });
    for (path, opacity) in paths.iter().zip([".2", ".34", ".48", ".64", ".82", "1"]) {
        canvas.titled_path("y", &format!(" stroke-opacity=\"{opacity}\""), path, "");
    }
    let count = format::integer(points.len() as u64);
    Some(format!(
        "{}{count} points drawn as a density: the fuller the colour, the more points (logarithmic).",
        lead(name)
    ))
}

/// The share of values at most x, from the left end of the axis to its right
/// end. Values left of the axis (0 on a log axis, or cut by its range) raise
/// its start, so that every share is one of all values.
fn distribution(
    canvas: &mut Canvas,
    frame: &Frame,
    cdf: &Cdf,
    class: &str,
    name: &str,
) -> Option<String> {
    let n = cdf.n();
    if n == 0 {
        return (cdf.left_out > 0).then(|| {
            format!(
                "{}no values but {} that are not numbers.",
                lead(name),
                cdf.left_out
            )
        });
    }
    let share = |count: u64| frame.y.at(count as f64 / n as f64).unwrap_or(0.0);
    let left = cdf.steps.partition_point(|(value, _)| {
        frame.x.at(*value).is_none_or(|at| at < -0.05) && *value < f64::INFINITY
    });
    let before = left.checked_sub(1).map_or(0, |index| cdf.steps[index].1);
    let mut points = vec![Some((0.0, share(before)))];
    let inner = cdf.steps[left..].iter().filter_map(|(value, count)| {
        let at = frame.x.at(*value)?;
        Some(Some((at, share(*count))))
    });
    let (kept, _) = thin(inner, frame.width, cdf.steps.len() - left);
    points.extend(kept);
    extend(&mut points, Some(frame.width));
    line(canvas, class, &points, Shape::Stepped);
    let mut told = Vec::new();
    if before > 0 {
        let count = format::integer(before);
        told.push(format!(
            "{count} of {} values lie left of the axis",
            format::integer(n)
        ));
    }
    if cdf.left_out > 0 {
        told.push(format!(
            "{} are not numbers and not counted",
            format::integer(cdf.left_out)
        ));
    }
    (!told.is_empty()).then(|| format!("{}{}.", lead(name), told.join("; ")))
}
