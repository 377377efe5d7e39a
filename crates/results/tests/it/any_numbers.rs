//! Pictures of whatever numbers and names: the document is sound.

use crate::markup::{self, picture};
use gridrig_results::plot::{
    Axis, Chart, Color, Figure, Gantt, Mark, Matrix, Page, Parallel, Rows, Series, Strips, Unit,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Any number a caller could hand over, the awkward ones often.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e4..1e4,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![
            0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN,
            f64::MIN_POSITIVE, 5e-324, 1e300, 1e-300, 1.0 + f64::EPSILON, 86_400.0,
        ]),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let unit = prop_oneof![
        Just(Unit::Plain),
        Just(Unit::Seconds),
        Just(Unit::Fraction),
        Just(Unit::Named("MiB".into())),
    ];
    (
        unit,
        any::<bool>(),
        any::<String>(),
        number(),
        number(),
        any::<bool>(),
    )
        .prop_map(|(unit, log, label, low, high, fixed)| {
            let axis = match log {
                true => Axis::log(label, unit),
                false => Axis::linear(label, unit),
            };
            if fixed {
                axis.range(low, high)
            } else {
                axis.include(low)
            }
        })
}

fn series() -> impl Strategy<Value = Series> {
    let numbers = || vec(number(), 0..40);
    (0..9_u8, any::<String>(), numbers(), numbers(), number()).prop_map(
        |(kind, name, a, b, until)| {
            let points: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
            match kind {
                0 => Series::line(name, points),
                1 => Series::step(name, points).until(until),
                2 => Series::area(name, points),
                3 => Series::scatter(name, points),
                4 => Series::bars(name, a),
                5 => Series::bins(name, a, b),
                6 => Series::cdf(name, a),
                7 => Series::cdf_counts(name, a.into_iter().zip(0..)),
                _ => {
                    let intervals = a.iter().zip(&b).map(|(x, low)| (*x, *low, until));
                    let line = Series::line(name, points).color(Color::Muted).dash(2);
                    line.intervals(intervals.collect::<Vec<_>>())
                }
            }
        },
    )
}

fn mark() -> impl Strategy<Value = Mark> {
    (any::<bool>(), number(), any::<String>()).prop_map(|(x, at, label)| match x {
        true => Mark::x(at, label),
        false => Mark::y(at, label),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_chart_of_any_numbers_is_sound(
        x in axis(), y in axis(),
        all in vec(series(), 0..5),
        marks in vec(mark(), 0..4),
        title in any::<String>(),
        size in (0..1200_u32, 0..700_u32),
    ) {
        let mut chart = Chart::new(title).x(x).y(y).size(size.0, size.1);
        for one in all {
            chart = chart.series(one);
        }
        for mark in marks {
            chart = chart.mark(mark);
        }
        let svg = picture(&chart);
        markup::svg(&svg);
        prop_assert_eq!(&svg, &picture(&chart));
        let mut page = Page::new("t");
        page.figure(&chart, "c");
        markup::elements(&page.to_html());
    }

    #[test]
    fn categories_of_any_names_are_sound(names in vec(any::<String>(), 0..60), heights in vec(number(), 0..70)) {
        let chart = Chart::new("c")
            .half()
            .x(Axis::categories("group", names))
            .series(Series::bars("a", heights.clone()))
            .series(Series::bars("b", heights));
        markup::svg(&picture(&chart));
    }

    #[test]
    fn rows_of_any_numbers_are_sound(rows in vec((any::<String>(), number(), number(), number()), 0..20), x in axis(), at in number()) {
        let mut forest = Rows::new("rows", x).reference(at, "line");
        let mut strips = Strips::new("strips");
        for (label, low, value, high) in rows {
            forest = forest.row(label.clone(), low, value, high, Color::Ink);
            strips = strips.judged_row(label, Unit::Seconds, value, (low, high), None);
        }
        for figure in [&forest as &dyn Figure, &forest.clone().half(), &strips] {
            markup::svg(&picture(figure));
        }
    }

    #[test]
    fn matrices_of_any_shape_are_sound(
        rows in vec("\\PC{0,12}", 0..66), columns in vec("\\PC{0,12}", 0..66),
        values in vec(vec(number(), 0..8), 0..8),
    ) {
        let matrix = Matrix::new("m", rows, columns, values).axes("from", "to");
        markup::svg(&picture(&matrix));
        markup::svg(&picture(&matrix.half()));
    }

    #[test]
    fn parallel_coordinates_of_any_numbers_are_sound(
        labels in vec(any::<String>(), 0..9), cases in vec(vec(number(), 0..10), 0..20),
    ) {
        let mut picture = Parallel::new("p").names("n", vec!["one".into(), "two".into()]);
        for label in labels {
            picture = picture.axis(label, Unit::Seconds);
        }
        let picture = picture.group("a", cases.clone()).group("b", cases);
        markup::svg(&self::picture(&picture));
    }

    #[test]
    fn gantts_of_any_boxes_are_sound(
        rows in 0..30_usize, copies in prop::sample::select(vec![1_usize, 60]),
        boxes in vec((0..40_usize, 0..40_usize, number(), number(), 0..3_usize, any::<String>()), 0..30),
    ) {
        let mut gantt = Gantt::new("g", Axis::linear("t", Unit::Seconds), (0..rows).map(|row| row.to_string()))
            .legend(Color::Series(0), "own");
        for (row, height, start, end, color, label) in boxes.iter().cycle().take(boxes.len() * copies) {
            gantt.span((*row, *height), (*start, *end), Color::Series(*color), label.clone());
        }
        markup::svg(&picture(&gantt));
    }
}
