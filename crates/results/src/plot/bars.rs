//! Bars and histograms.

use crate::plot::axis::Kind;
use crate::plot::canvas::{Canvas, Path};
use crate::plot::data::{LeftOut, lead};
use crate::plot::frame::Frame;
use crate::plot::lines::{Shape, area, line, line_class, thinned_note};
use crate::plot::sample::thin;

/// Bars above this number carry no text of their own.
const MOST_TITLES: usize = 120;

/// Bars over the names of the category axis.
pub(super) fn bars(
    canvas: &mut Canvas,
    frame: &Frame,
    heights: &[f64],
    bar: usize,
    name: &str,
    left_out: &mut LeftOut,
) -> Option<String> {
    let middle = |index: usize| frame.x.at(index as f64).unwrap_or(0.0);
    let band = middle(1) - middle(0);
    let (ground, series) = (frame.ground(), frame.bar_series.max(1) as f64);
    let width = band * 0.8 / series;
    let offset = -band * 0.4 + width * bar as f64;
    let mut placed = Vec::new();
    for (index, height) in heights.iter().enumerate() {
        // A bar of height 0 on a log axis is rightly no bar.
        if *height == 0.0 {
            left_out.total += 1;
            continue;
        }
        if let Some((x, y)) = frame.place(left_out, index as f64, *height) {
            placed.push((index, x + offset, y.clamp(-4.0, frame.height + 4.0)));
        }
    }
    if band < 2.0 {
        let tops = placed.iter().map(|(_, x, y)| Some((*x, *y)));
        let (kept, thinned) = thin(tops, frame.width, placed.len());
        area(canvas, "f", &kept, ground);
        return thinned.then(|| thinned_note(name, heights.len()));
    }
    let mut path = Path::default();
    for (index, x, y) in placed {
        let (top, size) = (y.min(ground), (y - ground).abs().max(0.5));
        if heights.len() > MOST_TITLES {
            path.rect(x, top, width, size);
            continue;
        }
        let group = match &frame.x_axis.kind {
            Kind::Categories(names) => names.get(index).map_or("", String::as_str),
            _ => "",
        };
        let value = frame.y_axis.unit.show(heights[index]);
        let title = format!("{}{}{value}", lead(name), lead(group));
        canvas.rect("f", " fill-opacity=\".85\"", [x, top, width, size], &title);
    }
    canvas.titled_path("f", " fill-opacity=\".85\"", &path, "");
    None
}

/// A histogram: single boxes where they are few, else an outline.
pub(super) fn bins(
    canvas: &mut Canvas,
    frame: &Frame,
    edges: &[f64],
    heights: &[f64],
    name: &str,
    left_out: &mut LeftOut,
) -> Option<String> {
    let ground = frame.ground();
    let mut corners: Vec<Option<(f64, f64)>> = Vec::new();
    let mut boxes = Vec::new();
    let surplus = heights.len().saturating_sub(edges.len().saturating_sub(1));
    left_out.undefined += surplus as u64;
    left_out.total += surplus as u64;
    for (pair, height) in edges.windows(2).zip(heights) {
        // On a log axis the first bin may begin at 0: it is drawn from the
        // axis' lower end.
        let ends = (frame.x.clamped(pair[0]), frame.x.clamped(pair[1]));
        let showable = pair[0] < pair[1] && frame.x_axis.can_show(pair[1]);
        let (Some(from), Some(to), true) = (ends.0, ends.1, showable) else {
            left_out.total += 1;
            left_out.undefined += 1;
            continue;
        };
        let top = match *height {
            0.0 => {
                left_out.total += 1;
                Some(ground)
            }
            height => frame.place(left_out, pair[1], height).map(|at| at.1),
        };
        let Some(top) = top else { continue };
        let top = top.clamp(-4.0, frame.height + 4.0);
        corners.push(Some((from, top)));
        boxes.push((from, to, top, (pair[0], pair[1], *height)));
    }
    let last = boxes.last().map(|(_, to, _, _)| Some((*to, ground)));
    corners.extend(last);
    if frame.bin_series == 1 && boxes.len() <= MOST_TITLES {
        for (from, to, top, (low, high, height)) in boxes {
            let unit = &frame.x_axis.unit;
            let title = format!(
                "{}{} to {}: {}",
                lead(name),
                unit.show(low),
                unit.show(high),
                frame.y_axis.unit.show(height)
            );
            let area = [
                from,
                top.min(ground),
                (to - from).max(0.5),
                (top - ground).abs(),
            ];
            canvas.rect("f s", " fill-opacity=\".85\"", area, &title);
        }
        return None;
    }
    let (kept, thinned) = thin(corners.into_iter(), frame.width, heights.len());
    area(canvas, "a", &kept, ground);
    line(canvas, &line_class("", true), &kept, Shape::Stepped);
    thinned.then(|| thinned_note(name, heights.len()))
}
