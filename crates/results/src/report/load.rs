//! Queues and utilization over time, cluster by cluster.

use super::choose::Chosen;
use super::error::ReportError;
use super::material::Material;
use crate::plot::{Axis, Chart, Page, Series, Unit};
use crate::rundir::{self, ClusterSeries, SeriesPoint, names};

/// Charts of so many clusters are drawn, those with the longest queues.
const MOST_CLUSTERS: usize = 6;

/// Lines of so many policies fit a chart.
const MOST_LINES: usize = 6;

/// A cluster's load under one policy, with the policy's position and name.
type Line<'a> = (&'a str, &'a ClusterSeries, f64);

pub(super) fn draw(
    page: &mut Page,
    material: &Material,
    chosen: &Chosen,
) -> Result<(), ReportError> {
    let mut read = Vec::new();
    for column in material.columns.iter().take(MOST_LINES) {
        if let Some(run) = column.at(chosen.index) {
            rundir::is_unchanged(&run.dir, &run.manifest, names::SERIES)?;
            let series = rundir::read_series(&run.dir)?;
            let end = run.manifest.end_ns as f64 / 1e9;
            read.push((column.name.as_str(), series, end));
        }
    }
    page.heading("Load over time");
    if !chosen.why.is_empty() {
        page.paragraph(&chosen.why);
    }
    let clusters = busiest(&read);
    let all = clusters.len();
    let mut charts = Vec::new();
    for cluster in clusters.into_iter().take(MOST_CLUSTERS) {
        let own = read.iter().filter_map(|(policy, series, end)| {
            let found = series.iter().find(|series| series.cluster == cluster)?;
            Some((*policy, found, *end))
        });
        let own: Vec<Line<'_>> = own.collect();
        charts.push(chart(
            format!("{cluster}: jobs that wait"),
            Axis::linear("queued jobs", Unit::Plain).include(0.0),
            &own,
            |point| point.queued_max as f64,
        ));
        charts.push(chart(
            format!("{cluster}: utilization"),
            Axis::linear("processors in use", Unit::Fraction).range(0.0, 1.0),
            &own,
            |point| point.utilization,
        ));
    }
    let mut caption = "Time of the run.".to_owned();
    if chosen.why.is_empty() {
        caption.push_str(" Steps are the exact history of a cluster, or 2,000 equal parts of it.");
    } else {
        caption.push_str(&format!(" {}.", chosen.key));
    }
    if material.columns.len() > MOST_LINES {
        caption.push_str(&format!(
            " The first {MOST_LINES} of {} are drawn.",
            material.columns.len()
        ));
    }
    if all > MOST_CLUSTERS {
        page.paragraph(&format!(
            "The {MOST_CLUSTERS} clusters with the longest queues, of {all}."
        ));
    }
    page.grid(
        charts
            .iter()
            .map(|chart| (chart as &dyn crate::plot::Figure, caption.as_str())),
    );
    Ok(())
}

/// Names of the clusters in the order of the first run, those with the longest
/// queue first where not all are shown.
fn busiest<'a>(read: &'a [(&str, Vec<ClusterSeries>, f64)]) -> Vec<&'a str> {
    let mut found: Vec<(&str, u64)> = Vec::new();
    for series in read.iter().flat_map(|(_, series, _)| series) {
        let longest = series.points.iter().map(|point| point.queued_max).max();
        let longest = longest.unwrap_or(0);
        match found.iter_mut().find(|(name, _)| *name == series.cluster) {
            Some(known) => known.1 = known.1.max(longest),
            None => found.push((&series.cluster, longest)),
        }
    }
    if found.len() > MOST_CLUSTERS {
        found.sort_by_key(|(_, longest)| std::cmp::Reverse(*longest));
    }
    found.into_iter().map(|(name, _)| name).collect()
}

fn chart(title: String, y: Axis, lines: &[Line<'_>], value: impl Fn(&SeriesPoint) -> f64) -> Chart {
    let mut chart = Chart::new(title)
        .half()
        .x(Axis::linear("time", Unit::Seconds))
        .y(y);
    for (policy, series, end) in lines {
        let points = series.points.iter().map(|point| (point.at_s, value(point)));
        let points: Vec<(f64, f64)> = points.collect();
        chart = chart.series(Series::step(*policy, points).until(*end));
    }
    chart
}
