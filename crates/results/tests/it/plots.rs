//! Pictures are small, the same every time, and say what they leave out.

use crate::markup::{self, between, picture, value};
use gridrig_results::plot::{
    Axis, Cell, Chart, Color, Figure, Gantt, Mark, Matrix, Page, Rows, Series, Strips, Table, Unit,
    Verdict,
};

#[path = "../../examples/gallery.rs"]
#[allow(dead_code, reason = "the example's main is not called here")]
pub mod gallery;

/// A walk that looks like a queue length, from a fixed rule.
fn walk(n: u32) -> Vec<(f64, f64)> {
    let mut state: u32 = 1;
    let mut level: f64 = 100.0;
    (0..n)
        .map(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            level = (level + f64::from(state >> 16) / 32_768.0 - 1.0).max(0.0);
            (f64::from(i), level)
        })
        .collect()
}

#[test]
fn two_hundred_thousand_values_make_a_small_picture() {
    let points = walk(200_000);
    let time = || Axis::linear("time", Unit::Seconds);
    let over_time = |name: &str, series| Chart::new(name).x(time()).series(series);
    let values: Vec<f64> = points.iter().map(|p| p.1).collect();
    let edges: Vec<f64> = (0..=20_000).map(f64::from).collect();
    let charts = [
        over_time("line", Series::line("a", points.clone())),
        over_time("step", Series::step("a", points.clone())),
        over_time("area", Series::area("a", points.clone())),
        Chart::new("scatter").series(Series::scatter("a", points.clone())),
        Chart::new("cdf").series(Series::cdf("a", values.iter().copied())),
        Chart::new("bars")
            .x(Axis::categories("n", (0..20_000).map(|n| n.to_string())))
            .series(Series::bars("a", &values[..20_000])),
        Chart::new("bins").series(Series::bins("a", edges, &values[..20_000])),
    ];
    for chart in charts {
        let drawing = chart.draw();
        let svg = picture(&chart);
        markup::svg(&svg);
        assert!(svg.len() < 100_000, "{} bytes: {}", svg.len(), &svg[..200]);
        if !svg.contains("<title>cdf<") {
            let notes = &drawing.notes;
            assert_eq!(notes.len(), 1, "thinning is said: {notes:?}");
        }
    }
}

#[test]
fn a_hundred_thousand_boxes_make_a_small_picture() {
    let rows = (0..450).map(|node| format!("node {node}"));
    let mut gantt = Gantt::new("g", Axis::linear("t", Unit::Seconds), rows);
    for (index, (t, level)) in walk(100_000).into_iter().enumerate() {
        let row = (index * 7919) % 450;
        gantt.span(
            (row, 1 + index % 128),
            (t, t + level * 20.0),
            Color::Series(index % 3),
            "",
        );
    }
    let svg = picture(&gantt);
    markup::svg(&svg);
    assert!(svg.len() < 400_000, "{} bytes", svg.len());
    let names: Vec<String> = (0..200).map(|n| n.to_string()).collect();
    let matrix = Matrix::new("m", names.clone(), names, vec![vec![1.0; 200]; 200]);
    let svg = picture(&matrix);
    markup::svg(&svg);
    assert!(svg.len() < 600_000, "{} bytes", svg.len());
    assert_eq!(
        matrix.draw().notes,
        ["Each cell is the mean of 4 rows by 4 columns."]
    );
}

#[test]
fn a_matrix_has_a_scale_of_its_colours() {
    let scale = |values: &[f64]| -> Option<Vec<String>> {
        let columns = (0..values.len()).map(|n| format!("c{n}"));
        let matrix = Matrix::new("m", ["r"], columns, vec![values.to_vec()]).unit("jobs");
        let svg = picture(&matrix);
        markup::svg(&svg);
        let (_, scale) = svg.split_once(">jobs by colour, from the least to the greatest<")?;
        let texts = scale.split("<text ").skip(1);
        let texts = texts.filter_map(|text| text.split(['>', '<']).nth(1));
        Some(texts.map(str::to_owned).collect())
    };
    let expected: [(&[f64], &[&str]); 6] = [
        (&[3.0, 10.0, 0.0], &["0", "3", "5", "8", "10"]),
        (&[1.0, 0.0], &["0", "1"]),
        (&[7.0, f64::NAN], &["7"]),
        (&[0.5, -0.5], &["-0.5", "-0.25", "0", "0.25", "0.5"]),
        (
            &[1e300, -1e300],
            &["-1e300", "-5e299", "0", "5e299", "1e300"],
        ),
        (&[0.0, 0.0], &["0"]),
    ];
    for (values, steps) in expected {
        assert_eq!(scale(values).unwrap(), steps, "{values:?}");
    }
    assert_eq!(scale(&[f64::NAN]), None);
}

#[test]
fn series_apart_have_a_panel_each_on_the_same_axes() {
    let mut chart = Chart::new("c").half().apart(true);
    for most in 1..=6 {
        let line = Series::line(format!("n{most}"), [(0.0, 0.0), (1.0, f64::from(most))]);
        chart = chart.series(line.dash(1));
    }
    let svg = picture(&chart);
    let elements = markup::svg(&svg);
    let panels = elements.iter().filter(|(name, _)| name == "svg").skip(1);
    let sizes = panels.map(|(_, own)| ["x", "width", "height"].map(|name| value(own, name)));
    let sizes: Vec<[&str; 3]> = sizes.collect();
    assert_eq!(sizes.len(), 6);
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    // No line is dashed, and each is as high as its greatest value.
    let lines = elements
        .iter()
        .filter(|(_, own)| value(own, "class") == "l");
    let ends = lines.map(|(_, own)| value(own, "d").rsplit('-').next().unwrap());
    let heights: Vec<f64> = ends.map(|end| end.parse().unwrap()).collect();
    assert_eq!(heights.len(), 6);
    for (height, most) in heights.iter().zip(1..) {
        let expected = heights[5] * f64::from(most) / 6.0;
        assert!((height - expected).abs() < 0.2, "{heights:?}");
    }
    assert_eq!(svg.matches(">n3</text>").count(), 1);
    assert_eq!(chart.draw().table.len(), 6);
}

#[test]
fn long_names_do_not_swell_a_picture() {
    let names: Vec<String> = (0..60)
        .map(|n| format!("{n}{}", "é".repeat(10_000)))
        .collect();
    let matrix = Matrix::new("m", names.clone(), names, vec![vec![1.0; 60]; 60]);
    let svg = picture(&matrix);
    markup::svg(&svg);
    assert!(svg.len() < 3_000_000, "{} bytes", svg.len());
    assert!(svg.contains("0é") && !svg.contains(&"é".repeat(201)));
}

#[test]
fn what_is_left_out_is_counted_by_reason() {
    let points = vec![
        (1.0, 1.0),
        (2.0, 0.0),
        (3.0, -1.0),
        (4.0, f64::NAN),
        (5.0, 10.0),
    ];
    let chart = Chart::new("c")
        .y(Axis::log("y", Unit::Plain))
        .series(Series::scatter("jobs", points.clone()));
    assert_eq!(
        chart.draw().notes,
        [
            "jobs: Not shown: 3 of 5 values (1 not a number that can be drawn, 2 not positive, on a log axis)."
        ]
    );
    let chart = Chart::new("c")
        .x(Axis::linear("x", Unit::Plain).range(0.0, 2.5))
        .series(Series::scatter("", points));
    assert_eq!(
        chart.draw().notes,
        ["Not shown: 3 of 5 values (1 not a number that can be drawn, 2 outside the axes)."]
    );
}

#[test]
fn zeros_left_of_a_log_axis_raise_the_start_of_a_distribution() {
    let waits = [0.0, 0.0, 0.0, 10.0, 100.0, 1000.0];
    let chart = Chart::new("c")
        .x(Axis::log("wait time", Unit::Seconds))
        .y(Axis::linear("share", Unit::Fraction))
        .series(Series::cdf("waits", waits));
    let drawing = chart.draw();
    assert_eq!(
        drawing.notes,
        ["waits: 3 of 6 values lie left of the axis."]
    );
    // The line begins at half the height of the plot.
    let svg = picture(&chart);
    let elements = markup::svg(&svg);
    let mut plots = elements.iter().filter(|(name, _)| name == "svg");
    let (_, plot) = plots.nth(1).unwrap();
    let height: f64 = value(plot, "height").parse().unwrap();
    let line = svg.split("class=\"l\" d=\"M0 ").nth(1).unwrap();
    let start: f64 = line.split(['h', 'v', 'l']).next().unwrap().parse().unwrap();
    assert!((start - height / 2.0).abs() < 0.2, "{start} of {height}");
}

#[test]
fn a_picture_without_values_says_so() {
    let empty: [Box<dyn Figure>; 6] = [
        Box::new(Chart::new("c")),
        Box::new(Chart::new("c").series(Series::line("a", [(f64::NAN, 1.0)]))),
        Box::new(Rows::new("r", Axis::linear("x", Unit::Plain))),
        Box::new(Strips::new("s")),
        Box::new(Matrix::new("m", ["a"; 0], ["b"; 0], vec![])),
        Box::new(Gantt::new("g", Axis::linear("t", Unit::Seconds), ["a"])),
    ];
    for figure in empty {
        let svg = picture(figure.as_ref());
        markup::svg(&svg);
        assert!(svg.contains(">no data</text>"), "{svg}");
    }
}

#[test]
fn a_strip_says_inside_or_outside() {
    let inf = f64::INFINITY;
    let rows = [
        ("in", 0.5, (0.0, 1.0), Some(true)),
        ("point", 1.0, (1.0, 1.0), Some(true)),
        ("at most", 0.0, (-inf, 1.0), Some(true)),
        ("at least", 0.9, (1.0, inf), Some(false)),
        ("out", 1.01, (0.0, 1.0), Some(false)),
        ("undefined", f64::NAN, (0.0, 1.0), None),
    ];
    let strips = rows.into_iter().fold(Strips::new("s"), |strips, row| {
        let (label, value, ends, passed) = row;
        strips.judged_row(label, Unit::Plain, value, ends, passed)
    });
    let mut page = Page::new("t");
    page.figure(&strips, "");
    let html = page.to_html();
    assert_eq!(html.matches("<td class=\"pass\">").count(), 3);
    assert_eq!(html.matches("<td class=\"fail\">").count(), 2);
    assert_eq!(html.matches("<td>not judged</td>").count(), 1);
    assert!(html.contains(">at most 1</text>") && html.contains(">at least 1</text>"));
}

#[test]
fn names_of_every_kind_stay_text() {
    let name = "</text><script>alert(1)</script>&\u{0}\u{202e}";
    let mut gantt = Gantt::new(name, Axis::linear(name, Unit::Named(name.into())), [name]);
    gantt.span((0, 1), (0.0, 1.0), Color::Bad, name);
    let figures: [Box<dyn Figure>; 5] = [
        Box::new(
            Chart::new(name)
                .x(Axis::categories(name, [name, name]))
                .series(Series::bars(name, [1.0, 2.0]))
                .series(Series::bars(name, [1.0, 2.0]))
                .mark(Mark::y(1.5, name))
                .note(name),
        ),
        Box::new(
            Rows::new(name, Axis::linear(name, Unit::Plain))
                .reference(0.0, name)
                .row(name, -1.0, 0.0, 1.0, Color::Ink),
        ),
        Box::new(Strips::new(name).judged_row(
            name,
            Unit::Named(name.into()),
            0.5,
            (0.0, 1.0),
            Some(true),
        )),
        Box::new(Matrix::new(name, [name], [name], vec![vec![1.0]]).axes(name, name)),
        Box::new(gantt.legend(Color::Bad, name)),
    ];
    let mut page = Page::new(name);
    page.heading(name);
    page.subheading(name);
    page.paragraph(name);
    page.code(name);
    page.list([name]);
    page.facts([(name, name)]);
    page.verdict(Verdict::Info, name);
    page.footer(name);
    page.table(&Table::new([name]).caption(name).row([Cell::from(name)]));
    for figure in &figures {
        markup::svg(&picture(figure.as_ref()));
        page.figure(figure.as_ref(), name);
    }
    let html = page.to_html();
    let mut elements = markup::elements(&html).into_iter();
    assert!(elements.all(|(element, _)| element != "script"));
    assert!(!html.contains('\u{202e}'));
    assert!(!html.contains("&amp;amp;"), "it is escaped once");
}

#[test]
fn a_page_needs_nothing_from_outside_and_its_style_matches_its_policy() {
    use sha2::{Digest, Sha256};
    let html = gallery::page(&gallery::figures());
    for (element, attributes) in markup::elements(&html) {
        assert!(
            !matches!(
                element.as_str(),
                "script" | "link" | "img" | "iframe" | "object" | "base" | "image" | "use"
            ),
            "{element}"
        );
        for (name, value) in attributes {
            assert!(
                !name.starts_with("on") && name != "style" && name != "src",
                "{name}"
            );
            if name == "href" {
                assert!(value.starts_with('#'), "{value}");
            }
        }
    }
    assert_eq!(html.matches("<style>").count(), 1);
    assert!(!html.contains("url(") && !html.contains("@import"));
    let digest = Sha256::digest(between(&html, "<style>", "</style>"));
    let hash = between(&html, "'sha256-", "'");
    assert_eq!(hash, data_encoding::BASE64.encode(&digest));
}

#[test]
fn the_gallery_is_the_same_every_time_and_every_picture_is_named() {
    let figures = gallery::figures();
    let html = gallery::page(&figures);
    assert_eq!(html, gallery::page(&gallery::figures()));
    assert!(html.len() < 300_000, "{} bytes", html.len());
    let pictures = markup::elements(&html);
    let named = pictures.iter().filter(|(element, attributes)| {
        element == "svg" && attributes.contains(&("role".to_owned(), "img".to_owned()))
    });
    assert_eq!(named.count(), figures.len());
    assert!(html.matches("<desc>").count() == figures.len());
    // Addresses are unique.
    let mut ids: Vec<&str> = html
        .split(" id=\"")
        .skip(1)
        .map(|part| part.split('"').next().unwrap())
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}
