//! One of each picture on a page: `cargo run -p gridrig-results --example
//! gallery -- DIR` writes `gallery.html` there.

use gridrig_core::rng;
use gridrig_results::plot::{
    Axis, Cell, Chart, Color, Figure, Gantt, Mark, Matrix, Page, Rows, Series, Strips, Table, Unit,
    Verdict,
};
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let dir = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("gallery.html"), page(&figures()))
}

/// File name, picture, caption.
pub type Named = (&'static str, Box<dyn Figure>, &'static str);

/// Uniform numbers of a stream of this name.
fn uniform(name: &str, n: usize) -> Vec<f64> {
    use rand::RngExt;
    let mut stream = rng::stream(1, name);
    (0..n).map(|_| stream.random::<f64>()).collect()
}

/// Run times as traces have them: log-normal, from a second to a day.
fn run_times(name: &str, n: usize) -> Vec<f64> {
    let (a, b) = (uniform(name, n), uniform(&format!("{name}-2"), n));
    let normal = a
        .iter()
        .zip(&b)
        .map(|(a, b)| (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos());
    normal
        .map(|z| (5.5 + 2.0 * z).exp().clamp(1.0, 86_400.0).round())
        .collect()
}

/// One of each, from fixed streams of random numbers.
pub fn figures() -> Vec<Named> {
    vec![
        (
            "cdf",
            Box::new(cdf()),
            "Exact steps; the reduced trace is dashed.",
        ),
        (
            "demand",
            Box::new(demand()),
            "Seven days, a value per arrival and end.",
        ),
        ("scatter", Box::new(scatter(400)), "Few jobs, a dot each."),
        ("density", Box::new(scatter(50_000)), "Many jobs."),
        ("bars", Box::new(bars()), "Two traces, hour by hour."),
        ("bins", Box::new(bins()), "A histogram on a log axis."),
        (
            "forest",
            Box::new(forest()),
            "Intervals of 95 %, paired by week.",
        ),
        ("strips", Box::new(strips()), "Each row has its own scale."),
        ("matrix", Box::new(matrix()), "Rows forward to columns."),
        ("week", Box::new(week()), "Arrivals."),
        ("gantt", Box::new(gantt(140)), "Few boxes."),
        ("gantt-cells", Box::new(gantt(20_000)), "Many boxes."),
        (
            "empty",
            Box::new(Chart::new("Nothing to see").half()),
            "A chart without values.",
        ),
        ("elbow", Box::new(elbow()), "A line with a mark."),
    ]
}

fn forest() -> Rows {
    let axis = Axis::linear("difference of mean delay to round-robin", Unit::Seconds);
    Rows::new("Mean delay against round-robin, 47 weeks", axis)
        .reference(0.0, "no difference")
        .row("queue-length", -310.0, -120.0, 70.0, Color::Series(0))
        .row("free-node", 20.0, 240.0, 460.0, Color::Series(0))
        .row(
            "utilization (debited views)",
            -40.0,
            15.0,
            70.0,
            Color::Series(0),
        )
        .row("local-only", f64::NAN, 400.0, f64::NAN, Color::Muted)
        .row(
            "full-information",
            f64::NAN,
            f64::NAN,
            f64::NAN,
            Color::Series(0),
        )
}

fn strips() -> Strips {
    let (plain, inf) = (|| Unit::Plain, f64::INFINITY);
    Strips::new("The reduction against 200 random samples of its size")
        .judged_row(
            "processors: KS distance",
            plain(),
            0.012,
            (-inf, 0.031),
            Some(true),
        )
        .judged_row(
            "run time: mean",
            Unit::Seconds,
            13_434.0,
            (11_800.0, 15_020.0),
            Some(true),
        )
        .judged_row(
            "users: total variation",
            Unit::Fraction,
            0.31,
            (0.08, 0.19),
            Some(false),
        )
        .judged_row(
            "jobs of the busiest user",
            Unit::Fraction,
            0.0,
            (0.055, 0.09),
            Some(false),
        )
        .judged_row(
            "adjusted Rand index",
            plain(),
            0.93,
            (0.91, inf),
            Some(true),
        )
        .judged_row("executables", plain(), f64::NAN, (0.0, 0.2), None)
}

fn matrix() -> Matrix {
    let names = ["alpha", "beta", "gamma", "delta"];
    let values: Vec<Vec<f64>> = (0..4)
        .map(|row| {
            (0..4)
                .map(|column| f64::from((row * 37 + column * 61) % 100 * 12))
                .collect()
        })
        .collect();
    Matrix::new("Forwarded jobs", names, names, values)
        .axes("from", "to")
        .unit("jobs")
        .half()
}

fn week() -> Matrix {
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let hours = uniform("week", 168);
    let values: Vec<Vec<f64>> = hours
        .chunks(24)
        .enumerate()
        .map(|(day, chunk)| {
            let weekend = if day > 4 { 0.3 } else { 1.0 };
            let shape =
                |hour: usize| 1.0 + ((hour as f64 - 9.0) / 24.0 * std::f64::consts::TAU).sin();
            chunk
                .iter()
                .enumerate()
                .map(|(hour, u)| (weekend * shape(hour) * 40.0 * (0.6 + u)).round())
                .collect()
        })
        .collect();
    let hours = (0..24).map(|hour| hour.to_string());
    Matrix::new("Jobs by day and hour", days, hours, values)
        .axes("day", "hour of day")
        .unit("jobs")
}

fn gantt(n: usize) -> Gantt {
    let rows = (0..24).map(|node| format!("node {node}"));
    let axis = Axis::linear("time", Unit::Seconds);
    let mut gantt = Gantt::new(format!("{n} jobs on 24 nodes"), axis, rows)
        .legend(Color::Series(0), "from this domain")
        .legend(Color::Series(1), "forwarded");
    let (lengths, origins) = (uniform("lengths", n), uniform("origins", n));
    let mut free = [0.0_f64; 24];
    for job in 0..n {
        let mut row = 0;
        for node in 1..free.len() {
            if free[node] < free[row] {
                row = node;
            }
        }
        let start = free[row].max(job as f64 * 86_400.0 / n as f64);
        let end = start + 40.0 + lengths[job] * 44.0 * 86_400.0 / n as f64;
        free[row] = end;
        let color = Color::Series(usize::from(origins[job] > 0.7));
        gantt.span((row, 1), (start, end), color, format!("job {job}"));
    }
    gantt
}

fn cdf() -> Chart {
    Chart::new("Run times")
        .half()
        .x(Axis::log("run time", Unit::Seconds))
        .y(Axis::linear("share of jobs", Unit::Fraction))
        .series(Series::cdf(
            "original (12,000 jobs)",
            run_times("original", 12_000),
        ))
        .series(Series::cdf("reduced (481 jobs)", run_times("reduced", 481)))
        .mark(Mark::x(10.0, "tau = 10 s"))
}

fn demand() -> Chart {
    let mut level: f64 = 0.0;
    let steps = uniform("demand", 60_000);
    let points: Vec<(f64, f64)> = steps
        .iter()
        .enumerate()
        .map(|(index, u)| {
            let t = index as f64 * 10.08;
            let day = 1.0 + 0.8 * (t / 86_400.0 * std::f64::consts::TAU).sin();
            level = (level + (u - 0.5) * 40.0 + (300.0 * day - level) * 0.01).max(0.0);
            (t, level.round())
        })
        .collect();
    Chart::new("Demand with unlimited resources")
        .x(Axis::linear(
            "time since the start of the log",
            Unit::Seconds,
        ))
        .y(Axis::linear("processors in use", Unit::Plain))
        .series(Series::area("processors", points).until(604_800.0))
        .mark(Mark::y(450.0, "processors of the cluster").color(Color::Bad))
}

fn scatter(n: usize) -> Chart {
    let points: Vec<(f64, f64)> = run_times("scatter", n)
        .into_iter()
        .zip(uniform("size", n))
        .map(|(time, u)| (2f64.powf((u * u * 9.0).floor()), time))
        .collect();
    Chart::new(format!("Job profile, {n} jobs"))
        .half()
        .x(Axis::log("processors", Unit::Plain))
        .y(Axis::log("run time", Unit::Seconds))
        .series(Series::scatter("", points))
}

fn bars() -> Chart {
    let hours: Vec<f64> = (0..24)
        .map(|hour| 4.0 + 3.0 * ((f64::from(hour) - 8.0) / 24.0 * std::f64::consts::TAU).sin())
        .collect();
    let other: Vec<f64> = hours.iter().map(|value| value * 0.9 + 0.4).collect();
    Chart::new("Arrivals by hour of day")
        .half()
        .x(Axis::categories(
            "hour of day",
            (0..24).map(|hour| hour.to_string()),
        ))
        .y(Axis::linear("share of jobs", Unit::Fraction))
        .series(Series::bars(
            "original",
            hours.iter().map(|v| v / 96.0).collect::<Vec<_>>(),
        ))
        .series(Series::bars(
            "reduced",
            other.iter().map(|v| v / 96.0).collect::<Vec<_>>(),
        ))
}

fn bins() -> Chart {
    let edges: Vec<f64> = (0..=18).map(|i| 10f64.powf(f64::from(i) * 0.28)).collect();
    let times = run_times("bins", 9000);
    let heights: Vec<f64> = edges
        .windows(2)
        .map(|pair| {
            times
                .iter()
                .filter(|t| **t >= pair[0] && **t < pair[1])
                .count() as f64
        })
        .collect();
    Chart::new("Run times")
        .half()
        .x(Axis::log("run time", Unit::Seconds))
        .y(Axis::linear("jobs", Unit::Plain))
        .series(Series::bins("", edges, heights))
}

fn elbow() -> Chart {
    let wcss = |k: i32| 1e9 / f64::from(k).powf(1.6);
    let line: Vec<_> = (1..=30).map(|k| (f64::from(k), wcss(k) * 1.05)).collect();
    Chart::new("Within-cluster sum of squares of submission times")
        .half()
        .x(Axis::linear("clusters k", Unit::Plain))
        .y(Axis::log("sum of squares", Unit::Named("s²".into())))
        .series(Series::line("reduced", line))
        .mark(Mark::x(6.0, "elbow: k = 6"))
}

/// The page that shows them.
pub fn page(figures: &[Named]) -> String {
    let mut page = Page::new("Gallery of pictures");
    page.verdict(
        Verdict::Pass,
        "All 14 statistics lie inside the envelope of 200 random samples.",
    );
    page.verdict(
        Verdict::Fail,
        "2 of 14 statistics lie outside the envelope of 200 random samples.",
    );
    page.verdict(Verdict::Warning, "The runs differ by 12 % in offered load.");
    page.facts([
        ("Trace", "CTC-SP2-1996-3.1-cln.swf"),
        ("Jobs", "77,222"),
        ("Seed", "1"),
    ]);
    page.heading("Table");
    page.table(
        &Table::new(["statistic", "original", "reduced", "verdict"])
            .caption("What random sampling would give")
            .row([
                "processors, KS distance".into(),
                Cell::from(0.0),
                0.0123.into(),
                Cell::Pass("inside".into()),
            ])
            .row([
                "run time, mean".into(),
                Cell::Number("3 h 44 min".into()),
                Cell::Number("2 h 30 min".into()),
                Cell::Fail("below".into()),
            ])
            .row([
                "users".into(),
                Cell::from(679_u64),
                Cell::Missing,
                "not judged".into(),
            ]),
    );
    page.heading("Charts");
    let wide = ["demand", "forest", "strips", "week", "gantt", "gantt-cells"];
    let (full, half): (Vec<_>, Vec<_>) = figures.iter().partition(|(name, ..)| wide.contains(name));
    page.grid(
        half.into_iter()
            .map(|(_, figure, caption)| (figure.as_ref(), *caption)),
    );
    for (_, figure, caption) in full {
        page.figure(figure.as_ref(), caption);
    }
    page.heading("Command");
    page.code("gridrig trace validate traces/ctc-like.swf.gz reduced.swf --html sheet.html");
    page.footer("gridrig, seed 1");
    page.to_html()
}
