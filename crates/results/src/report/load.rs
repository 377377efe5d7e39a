//! Queues and utilization over time, cluster by cluster.

use super::choose::Chosen;
use super::error::Result;
use super::material::Material;
use super::number::key_words;
use crate::plot::{Axis, Chart, Color, Page, Series, Unit};
use crate::rundir::{self, ClusterSeries, SeriesPoint, names};

/// Charts of so many clusters are drawn, those with the longest queues.
const MOST_CLUSTERS: usize = 6;

/// So many policies are drawn: as many as there are colours.
const MOST_LINES: usize = Color::COUNT;

/// More policies than these have a panel each: neither dashes nor colours tell so many lines
/// of one plot apart.
pub(super) const MOST_TOGETHER: usize = 4;

/// Lines of utilization are means of so many equal parts of the run: the
/// exact steps of several policies in one chart cover each other.
const PARTS: usize = 100;

/// A cluster's load under one policy: the policy's position, which gives the
/// colour that it has in all charts, its name, and the end of the run.
type Line<'a> = (usize, &'a str, &'a ClusterSeries, f64);

pub(super) fn draw(page: &mut Page, material: &Material, chosen: &Chosen) -> Result<()> {
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
        let own = read.iter().enumerate();
        let own = own.filter_map(|(position, (policy, series, end))| {
            let found = series.iter().find(|series| series.cluster == cluster)?;
            Some((position, *policy, found, *end))
        });
        let own: Vec<Line<'_>> = own.collect();
        charts.push(queues(cluster, &own));
        charts.push(utilization(cluster, &own));
    }
    let mut caption =
        "Time of the run; lines of utilization are means of each hundredth of it.".to_owned();
    if !chosen.why.is_empty() {
        caption.push_str(&format!(" {}.", key_words(&chosen.key)));
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
    page.figures(&charts, &caption);
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

/// A chart of these lines, each drawn by its policy, its points and the end of the run.
fn chart(
    title: String,
    y: Axis,
    lines: &[Line<'_>],
    draw: impl Fn(&str, &[SeriesPoint], f64) -> Series,
) -> Chart {
    let chart = Chart::new(title)
        .half()
        .x(Axis::linear("time", Unit::Seconds))
        .y(y)
        .apart(lines.len() > MOST_TOGETHER);
    lines
        .iter()
        .fold(chart, |chart, (position, policy, series, end)| {
            let line = draw(policy, &series.points, *end);
            chart.series(line.dash(position % 4).color(Color::Series(*position)))
        })
}

fn queues(cluster: &str, lines: &[Line<'_>]) -> Chart {
    let axis = Axis::linear("queued jobs", Unit::Plain).include(0.0);
    let title = format!("{cluster}: jobs that wait");
    chart(title, axis, lines, |policy, points, end| {
        let points = points.iter().map(|it| (it.at_s, it.queued_max as f64));
        Series::step(policy, points.collect::<Vec<_>>()).until(end)
    })
}

fn utilization(cluster: &str, lines: &[Line<'_>]) -> Chart {
    let axis = Axis::linear("processors in use", Unit::Fraction).range(0.0, 1.0);
    let title = format!("{cluster}: utilization");
    chart(title, axis, lines, |policy, points, end| {
        Series::line(policy, parts(points, end))
    })
}

/// The mean utilization of equal parts of the run, each in its middle.
fn parts(points: &[SeriesPoint], end: f64) -> Vec<(f64, f64)> {
    let length = end / PARTS as f64;
    if !(length.is_finite() && length > 0.0) {
        return Vec::new();
    }
    let mut busy = vec![0.0; PARTS];
    for (index, point) in points.iter().enumerate() {
        let until = points.get(index + 1).map_or(end, |next| next.at_s).min(end);
        let first = (point.at_s / length).floor().clamp(0.0, PARTS as f64 - 1.0) as usize;
        for (part, sum) in busy.iter_mut().enumerate().skip(first) {
            let (from, to) = (part as f64 * length, (part + 1) as f64 * length);
            let shared = until.min(to) - point.at_s.max(from);
            if shared <= 0.0 {
                break;
            }
            *sum += shared * point.utilization;
        }
    }
    let middle = |part: usize| (part as f64 + 0.5) * length;
    let means = busy.iter().enumerate();
    means
        .map(|(part, sum)| (middle(part), sum / length))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_the_mean_of_the_whole() {
        let point = |at_s, utilization| SeriesPoint {
            at_s,
            queued_max: 0,
            utilization,
        };
        // Idle for 25 s, full until 70.5 s, half until 100 s.
        let points = [point(0.0, 0.0), point(25.0, 1.0), point(70.5, 0.5)];
        let found = parts(&points, 100.0);
        assert_eq!(found.len(), PARTS);
        let at = |second: usize| found[second].1;
        assert_eq!(
            [at(24), at(25), at(69), at(71), at(99)],
            [0.0, 1.0, 1.0, 0.5, 0.5]
        );
        assert!((at(70) - 0.75).abs() < 1e-9);
        let mean = found.iter().map(|(_, value)| value).sum::<f64>() / PARTS as f64;
        assert!((mean - (45.5 + 14.75) / 100.0).abs() < 1e-9);
        assert!(parts(&points, 0.0).is_empty());
    }
}
