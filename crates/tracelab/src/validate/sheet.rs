//! The sheet: the paper's Figures 3 and 4 and the envelope, as one HTML page.

use super::curves::Curve;
use super::outcome::{Agreement, Validation};
use gridrig_results::plot::{
    Axis, Cell, Chart, Color, Mark, Page, Series, Strips, Table, Unit, Verdict, integer, percent,
};

/// Intervals of the arrival charts: two hours each in a week.
const INTERVALS: usize = 84;

/// Seconds of a day, in which arrivals are drawn.
const DAY: f64 = 86_400.0;

/// One offline page with the verdict, the processor CDFs (LSAP Figure 3), the
/// clusters of arrivals of both traces (Figure 4), the curves by which their
/// number was found, and every statistic on its envelope.
pub fn sheet(validation: &Validation, original: &str, reduced: &str) -> String {
    let mut page = Page::new(format!("{reduced} against {original}"));
    let verdict = match validation.verdict {
        Agreement::Equivalent => Verdict::Pass,
        Agreement::Open => Verdict::Info,
        Agreement::Different => Verdict::Fail,
    };
    let word: &str = validation.verdict.into();
    page.badge(verdict, word, &validation.summary());
    page.list(validation.failures());
    page.facts([
        (
            "original",
            format!(
                "{original}: {} jobs could be sampled",
                integer(validation.original_jobs)
            ),
        ),
        (
            "reduced",
            format!("{reduced}: {} jobs", integer(validation.reduced_jobs)),
        ),
        ("identity", validation.identity.to_string()),
        (
            "samples",
            format!(
                "{} of each design, seed {}",
                validation.samples, validation.seed
            ),
        ),
    ]);
    page.list(&validation.notes);
    page.heading("Processors");
    page.figure(
        &processors(validation),
        "Share of jobs that want at most so many processors, original and reduced (LSAP Figure 3).",
    );
    page.heading("Clusters of arrivals");
    clusters(&mut page, validation);
    page.heading("Statistics");
    page.figure(
        &strips(validation),
        "Every statistic of the reduced trace as a dot on the envelope of random samples: outside \
         the band is outside the envelope. A distance has no lower limit, an agreement no upper \
         one.",
    );
    page.table(&table(validation));
    page.to_html()
}

/// LSAP Figure 3.
fn processors(validation: &Validation) -> Chart {
    let curves = &validation.curves;
    let distance = validation
        .statistics
        .iter()
        .find(|s| s.name == "processors.ks");
    let chart = Chart::new("Processors of original and reduced trace")
        .x(Axis::log("processors", Unit::Plain))
        .y(Axis::linear("share of jobs", Unit::Fraction).range(0.0, 1.0))
        .series(
            Series::step("original", curves.original.processors.clone()).color(Color::Series(0)),
        )
        .series(Series::step("reduced", curves.reduced.processors.clone()).color(Color::Series(1)));
    match distance {
        Some(distance) => chart.note(format!(
            "greatest distance {:.4}; random samples: median {:.4}, edge of the envelope {:.4}",
            distance.value,
            distance.median,
            distance.high.unwrap_or(f64::NAN)
        )),
        None => chart,
    }
}

/// LSAP Figure 4: arrivals of both traces by cluster, and how many clusters.
fn clusters(page: &mut Page, validation: &Validation) {
    let (curves, clusters) = (&validation.curves, &validation.clusters);
    let agreement = clusters
        .adjusted_rand_index
        .map_or("no shared jobs".to_owned(), |index| {
            format!("adjusted Rand index on the shared jobs {index:.3}")
        });
    page.paragraph(&format!(
        "Hierarchical clustering of submit times with average linkage. The elbow of the original's \
         curve is at {} clusters, that of the reduced trace's own at {}; both are cut at {}: \
         {agreement}.",
        clusters.original_k, clusters.reduced_k, clusters.original_k
    ));
    let range = range(validation);
    page.figure(
        &arrivals("original", &curves.original, range),
        "Arrivals of the original by cluster; lines are where clusters begin.",
    );
    page.figure(
        &arrivals("reduced", &curves.reduced, range),
        "Arrivals of the reduced trace, in the time of the original (LSAP Figure 4).",
    );
    page.pair(
        (
            &wcss(validation),
            "Within-cluster sum of squares, as a share of that of one cluster.",
        ),
        (
            &centres(validation),
            "Clusters that stand for each other: share of the jobs in each.",
        ),
    );
}

/// First and last submit of both, in days.
fn range(validation: &Validation) -> (f64, f64) {
    let curves = &validation.curves;
    let jobs = || curves.original.jobs.iter().chain(&curves.reduced.jobs);
    let first = jobs().map(|job| job.0).fold(f64::INFINITY, f64::min);
    let last = jobs().map(|job| job.0).fold(f64::NEG_INFINITY, f64::max);
    (first / DAY, last.max(first + 1.0) / DAY)
}

/// Jobs by interval, neighbouring clusters in different colours.
fn arrivals(name: &str, curve: &Curve, (first, last): (f64, f64)) -> Chart {
    let step = (last - first) / INTERVALS as f64;
    let edges: Vec<f64> = (0..=INTERVALS).map(|at| first + at as f64 * step).collect();
    let mut heights = [vec![0.0; INTERVALS], vec![0.0; INTERVALS]];
    for (submit, cluster) in &curve.jobs {
        let at = ((submit / DAY - first) / step) as usize;
        heights[cluster % 2][at.min(INTERVALS - 1)] += 1.0;
    }
    let [odd, even] = heights;
    let mut chart = Chart::new(format!("Arrivals by cluster: {name}"))
        .size(1000, 220)
        .x(Axis::linear("days from the log's time 0", Unit::Plain).range(first, last))
        .y(Axis::linear("jobs", Unit::Plain))
        .series(Series::bins("clusters 1, 3, ...", edges.clone(), odd).color(Color::Series(0)))
        .series(Series::bins("clusters 2, 4, ...", edges, even).color(Color::Series(1)));
    for start in curve.starts.iter().skip(1) {
        chart = chart.mark(Mark::x(start / DAY, "").color(Color::Muted));
    }
    chart
}

fn wcss(validation: &Validation) -> Chart {
    let clusters = &validation.clusters;
    let points = |curve: &[f64]| -> Vec<(f64, f64)> {
        let first = curve.first().copied().filter(|w| *w > 0.0).unwrap_or(1.0);
        let share = |(at, w): (usize, &f64)| ((at + 1) as f64, w / first);
        curve.iter().enumerate().map(share).collect()
    };
    Chart::new("Within-cluster sum of squares")
        .half()
        .x(Axis::linear("clusters k", Unit::Plain))
        .y(Axis::log("share of that of one cluster", Unit::Plain))
        .series(Series::line("original", points(&clusters.original_wcss)).color(Color::Series(0)))
        .series(Series::line("reduced", points(&clusters.reduced_wcss)).color(Color::Series(1)))
        .mark(Mark::x(clusters.original_k as f64, "elbow"))
}

fn centres(validation: &Validation) -> Chart {
    let matched = &validation.clusters.matched;
    let names: Vec<String> = (1..=matched.len())
        .map(|number| number.to_string())
        .collect();
    let heights = |share: fn(&super::MatchedCluster) -> f64| -> Vec<f64> {
        matched.iter().map(share).collect()
    };
    Chart::new("Shares of the clusters")
        .half()
        .x(Axis::categories("cluster", names))
        .y(Axis::linear("share of jobs", Unit::Fraction))
        .series(Series::bars("original", heights(|m| m.original_share)).color(Color::Series(0)))
        .series(Series::bars("reduced", heights(|m| m.reduced_share)).color(Color::Series(1)))
}

/// The envelope; a side that does not count has no end.
fn strips(validation: &Validation) -> Strips {
    let mut strips = Strips::new("Statistics on their envelopes");
    for statistic in &validation.statistics {
        let low = statistic.low.unwrap_or(f64::NEG_INFINITY);
        let high = statistic.high.unwrap_or(f64::INFINITY);
        strips = strips.judged_row(
            statistic.name,
            Unit::Plain,
            statistic.value,
            (low, high),
            Some(statistic.inside),
        );
    }
    strips
}

fn table(validation: &Validation) -> Table {
    let head = "statistic | what | value | margin | median | low | high | beyond | verdict";
    let mut table = Table::new(head.split(" | ")).caption(format!(
        "Values of the reduced trace beside those of {} {} samples, the design that it fits \
         best; beyond: samples that deviate at least as far in this statistic alone. The \
         envelope holds all statistics of {} of such samples.",
        validation.samples,
        validation.judged_by.name(),
        percent(1.0 - validation.level)
    ));
    let number = |value: f64| Cell::Number(format!("{value:.4}"));
    let edge = |edge: Option<f64>| edge.map_or(Cell::Missing, number);
    for statistic in &validation.statistics {
        let verdict = match (statistic.within, statistic.inside) {
            (Some(true), _) => Cell::Pass("within margin".to_owned()),
            (_, true) => Cell::Pass("as samples".to_owned()),
            (_, false) => Cell::Fail("outside".to_owned()),
        };
        table.push([
            Cell::Text(statistic.name.to_owned()),
            Cell::Text(statistic.what.to_owned()),
            number(statistic.value),
            edge(statistic.margin),
            number(statistic.median),
            edge(statistic.low),
            edge(statistic.high),
            Cell::Number(statistic.beyond.to_string()),
            verdict,
        ]);
    }
    table
}
