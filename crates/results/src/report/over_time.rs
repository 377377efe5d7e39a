//! Figures 7 to 12 of the LSAP paper: what the workload asks for, and what
//! delay each job met.

use super::choose::Chosen;
use super::data::{Jobs, Replications};
use super::material::Material;
use crate::compare::parallel::each;
use crate::plot::{Axis, Chart, Color, Figure as _, Mark, Page, Series, Unit};

pub(super) fn draw(
    page: &mut Page,
    material: &Material,
    chosen: &Chosen,
    replications: &Replications,
) {
    page.heading("Demand and delay over time");
    page.paragraph(&format!(
        "The pictures of the LSAP paper (Liu et al., 2009), for these runs. {}",
        chosen.why
    ));
    demand(page, material, chosen, replications);
    delays(page, material, replications);
}

/// Figures 7 and 8: jobs and processors in use if nothing ever waited.
fn demand(page: &mut Page, material: &Material, chosen: &Chosen, replications: &Replications) {
    // Every policy is given the same jobs; side by side they may differ.
    let shown = match material.comparison {
        Some(_) => 1,
        None => material.columns.len().min(4),
    };
    let mut charts = Vec::new();
    for (column, jobs) in material
        .columns
        .iter()
        .zip(&replications.chosen)
        .take(shown)
    {
        let name = match shown {
            1 => String::new(),
            _ => format!("{}: ", column.name),
        };
        let run = column.at(chosen.index);
        let size = run.map_or(0, |run| run.manifest.grid.processors());
        let (running, processors) = unlimited(jobs);
        let axis = || Axis::linear("time", Unit::Seconds).include(0.0);
        charts.push(
            Chart::new(format!("{name}jobs running, were resources unlimited"))
                .half()
                .x(axis())
                .y(Axis::linear("jobs", Unit::Plain))
                .series(Series::area("jobs", running)),
        );
        charts.push(
            Chart::new(format!("{name}processors in use, were resources unlimited"))
                .half()
                .x(axis())
                .y(Axis::linear("processors", Unit::Plain))
                .series(Series::area("processors", processors))
                .mark(Mark::y(size as f64, "all processors of the grid").color(Color::Bad)),
        );
    }
    let caption = "As Figures 7 and 8 of LSAP: every job starts when it is submitted.";
    page.grid(
        each(&charts, Chart::draw)
            .iter()
            .map(|chart| (chart as &dyn crate::plot::Figure, caption)),
    );
}

/// Jobs, and processors, over time.
type Demand = (Vec<(f64, f64)>, Vec<(f64, f64)>);

fn unlimited(jobs: &Jobs) -> Demand {
    let mut changes: Vec<(f64, i64, i64)> = Vec::with_capacity(2 * jobs.submit_s.len());
    for (row, submit) in jobs.submit_s.iter().enumerate() {
        let (run_time, processors) = (jobs.run_time_s[row], i64::from(jobs.processors[row]));
        if submit.is_finite() && run_time.is_finite() {
            changes.push((*submit, 1, processors));
            changes.push((submit + run_time, -1, -processors));
        }
    }
    changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut running, mut processors) = (Vec::new(), Vec::new());
    let (mut jobs, mut busy) = (0, 0);
    for now in changes.chunk_by(|a, b| a.0 == b.0) {
        let at = now.first().map_or(0.0, |change| change.0);
        jobs += now.iter().map(|change| change.1).sum::<i64>();
        busy += now.iter().map(|change| change.2).sum::<i64>();
        running.push((at, jobs as f64));
        processors.push((at, busy as f64));
    }
    (running, processors)
}

/// Figures 9 to 12: the delay of each job by when it was submitted.
fn delays(page: &mut Page, material: &Material, replications: &Replications) {
    let points: Vec<Vec<(f64, f64)>> = replications
        .chosen
        .iter()
        .map(|jobs| {
            let pairs = jobs.submit_s.iter().zip(&jobs.delay_s);
            let pairs = pairs.map(|(submit, delay)| (*submit, *delay));
            pairs.filter(|(_, delay)| delay.is_finite()).collect()
        })
        .collect();
    let all = || points.iter().flatten();
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |ends, value| {
            (ends.0.min(value), ends.1.max(value))
        })
    };
    let x = all().map(|point| point.0).fold(0.0, f64::max);
    let y = ends(&mut all().map(|point| point.1).filter(|delay| *delay > 0.0));
    // Points at the very edge would be cut in half.
    let room = x * 0.01;
    let charts: Vec<Chart> = material
        .columns
        .iter()
        .zip(&points)
        .enumerate()
        .map(|(index, (column, points))| {
            Chart::new(&column.name)
                .half()
                .x(Axis::linear("submitted", Unit::Seconds).range(-room, x + room))
                .y(Axis::log("delay", Unit::Seconds).range(y.0 / 1.5, y.1 * 1.5))
                .series(Series::scatter("", points.clone()).color(Color::Series(index)))
        })
        .collect();
    let caption = "As Figures 9 to 12 of LSAP: the delay of each job by when it was submitted. All \
                   of these charts have the same axes.";
    page.grid(
        each(&charts, Chart::draw)
            .iter()
            .map(|chart| (chart as &dyn crate::plot::Figure, caption)),
    );
}
