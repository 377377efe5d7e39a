//! Labels of pictures: no text lies on another.

use crate::markup::{between, picture};
use crate::plots::gallery;
use gridrig_results::plot::{Axis, Chart, Figure, Mark, Matrix, Series, Unit};

/// The texts of a picture as boxes, from the estimate of their width that the
/// renderer's fonts stay below.
fn overlapping_labels(svg: &str) -> Vec<(String, String)> {
    let mut boxes: Vec<(String, [f64; 4])> = Vec::new();
    for part in svg.split("<text ").skip(1) {
        let (head, tail) = part.split_once('>').unwrap();
        let (text, _) = tail.split_once("</text>").unwrap();
        let text = text.split("</title>").last().unwrap().to_owned();
        let of = |name: &str| -> f64 {
            let value = between(head, &format!("{name}=\""), "\"");
            value.parse().unwrap()
        };
        let class = match head.contains("class=\"") {
            true => between(head, "class=\"", "\""),
            false => "",
        };
        let size = if class.contains('k') { 11.0 } else { 12.0 };
        // Average advance of common sans-serif faces: half the size.
        let width = text.chars().count() as f64 * size * 0.5;
        let (x, y) = (of("x"), of("y"));
        let left = match class.split(' ').next_back() {
            Some("m") => x - width / 2.0,
            Some("e") => x - width,
            _ => x,
        };
        boxes.push((text, [left, y - size * 0.7, left + width, y]));
    }
    let mut touching = Vec::new();
    for (index, (name, a)) in boxes.iter().enumerate() {
        for (other, b) in &boxes[..index] {
            if a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3] {
                touching.push((name.clone(), other.clone()));
            }
        }
    }
    touching
}

#[test]
fn no_text_of_the_gallery_overlaps_another() {
    for (name, figure, _) in gallery::figures() {
        let touching = overlapping_labels(&picture(figure.as_ref()));
        assert!(touching.is_empty(), "{name}: {touching:?}");
    }
}

#[test]
fn labels_of_wide_matrices_do_not_overlap() {
    for (domains, half) in [(5_u32, true), (40, true), (200, true), (200, false)] {
        let names: Vec<String> = (0..domains).map(|n| format!("domain {n}")).collect();
        let jobs = |from: u32| (0..domains).map(|to| f64::from(from * to)).collect();
        let values: Vec<Vec<f64>> = (0..domains).map(jobs).collect();
        let matrix = Matrix::new("forwarded", names.clone(), names, values)
            .axes("submitted in", "ran in")
            .unit("jobs");
        let matrix = if half { matrix.half() } else { matrix };
        let svg = picture(&matrix);
        assert!(svg.contains(">submitted in</text>"));
        let touching = overlapping_labels(&svg);
        assert!(touching.is_empty(), "{domains}: {touching:?}");
    }
}

#[test]
fn panels_do_not_overlap() {
    let mut chart = Chart::new("a1: utilization")
        .half()
        .x(Axis::linear("time", Unit::Seconds))
        .y(Axis::linear("processors in use", Unit::Fraction).range(0.0, 1.0))
        .apart(true);
    for policy in 0..8 {
        let line = Series::line(format!("policy {policy}"), [(0.0, 0.0), (9_000.0, 1.0)]);
        chart = chart.series(line);
    }
    let svg = picture(&chart);
    let touching = overlapping_labels(&svg);
    assert!(touching.is_empty(), "{touching:?}");
    // The axes are named once.
    assert_eq!(svg.matches(">processors in use</text>").count(), 1);
    assert_eq!(svg.matches(">time</text>").count(), 1);
}

#[test]
fn labels_of_narrow_charts_and_of_crowded_marks_do_not_overlap() {
    for width in [220, 300, 506] {
        let mut chart = Chart::new("A title that is rather long for so narrow a chart")
            .size(width, 240)
            .x(Axis::linear(
                "time since the start of the log",
                Unit::Seconds,
            ))
            .y(Axis::log("processors", Unit::Plain))
            .series(Series::line(
                "one name",
                [(7_500_000.0, 1.0), (7_600_000.0, 5000.0)],
            ))
            .series(Series::line(
                "another rather long name",
                [(7_500_000.0, 3.0), (7_590_000.0, 2.0)],
            ));
        for index in 0..8 {
            chart = chart.mark(Mark::x(
                7_550_000.0 + f64::from(index) * 10.0,
                format!("mark {index}"),
            ));
            chart = chart.mark(Mark::y(100.0 + f64::from(index), format!("level {index}")));
        }
        let svg = picture(&chart);
        let touching = overlapping_labels(&svg);
        assert!(touching.is_empty(), "{width}: {touching:?}");
        let told = chart.draw().notes.len();
        assert!(told > 0, "marks without a place for their label are told");
    }
}
