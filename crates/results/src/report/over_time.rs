//! Figures 7 to 12 of the LSAP paper: what the workload asks for, and what
//! delay each job met.

use super::Shown;
use super::choose::Chosen;
use super::data::seconds;
use crate::compare::parallel::{each, try_each};
use crate::plot::{Axis, Chart, Color, Drawing, Figure as _, Mark, Page, Series, Unit};
use crate::rundir::{Result, RunDirError, TableColumns};
use crate::stats;

/// The pictures.
#[derive(Debug)]
pub(super) struct Pictures {
    demand: Vec<Drawing>,
    delays: Vec<Drawing>,
}

impl Pictures {
    pub(super) fn show(&self, page: &mut Page, chosen: &Chosen) {
        page.heading("Demand and delay over time");
        let told = format!(
            "What the jobs ask for, and the delay that each of them met. The charts follow Liu et \
             al., An Experimental System for Grid Meta-Broker Evaluation (2009). {}",
            chosen.why
        );
        page.paragraph(told.trim_end());
        let captions = [
            "Jobs that would run, and processors that they would use, if every job started when \
             it is submitted.",
            "The delay of each job by when it was submitted. All of these charts have the same \
             axes.",
        ];
        for (pictures, caption) in [&self.demand, &self.delays].into_iter().zip(captions) {
            page.figures(pictures, caption);
        }
    }
}

pub(super) fn draw(shown: Shown<'_>) -> Result<Pictures> {
    Ok(Pictures {
        demand: demand(shown)?,
        delays: delays(shown)?,
    })
}

/// Figures 7 and 8: jobs and processors in use if nothing ever waited.
fn demand((material, chosen, replications): Shown<'_>) -> Result<Vec<Drawing>> {
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
        let (running, processors) = match jobs {
            Some(jobs) => unlimited(jobs)?,
            None => Demand::default(),
        };
        let chart = |of: &str, what: &str, points: Vec<(f64, f64)>| {
            Chart::new(format!("{name}{of} {what}, were resources unlimited"))
                .half()
                .x(Axis::linear("time", Unit::Seconds).include(0.0))
                .y(Axis::linear(of, Unit::Plain))
                .series(Series::area(of, points))
        };
        let all = Mark::y(size as f64, "all processors of the grid").color(Color::Bad);
        charts.push(chart("jobs", "running", running));
        charts.push(chart("processors", "in use", processors).mark(all));
    }
    Ok(each(&charts, Chart::draw))
}

/// Jobs, and processors, over time.
type Demand = (Vec<(f64, f64)>, Vec<(f64, f64)>);

fn unlimited(jobs: &TableColumns) -> Result<Demand> {
    let rows = jobs.rows();
    let run_times = seconds(jobs, "run_time_ref_ns")?;
    let (mut begins, mut ends) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let sizes = jobs.u32s("processors")?;
    let times = seconds(jobs, "submit_ns")?.into_iter().zip(run_times);
    for ((submit, run_time), size) in times.zip(sizes) {
        let processors = i64::from(size);
        if submit.is_finite() && run_time.is_finite() {
            begins.push((stats::key(submit), processors));
            ends.push((stats::key(submit + run_time), processors));
        }
    }
    // Jobs are nearly always in the order of their submission.
    begins.sort_unstable();
    ends.sort_unstable();
    let mut begins = begins.into_iter().peekable();
    let mut ends = ends.into_iter().peekable();
    let (mut running, mut processors) = (Vec::new(), Vec::new());
    let (mut jobs, mut busy) = (0, 0);
    // A job begins before it ends: the ends run out last.
    while let Some(&(end, _)) = ends.peek() {
        let now = begins.peek().map_or(end, |(begin, _)| end.min(*begin));
        while let Some((_, own)) = begins.next_if(|(at, _)| *at == now) {
            jobs += 1;
            busy += own;
        }
        while let Some((_, own)) = ends.next_if(|(at, _)| *at == now) {
            jobs -= 1;
            busy -= own;
        }
        let at = stats::unkey(now);
        running.push((at, f64::from(jobs)));
        processors.push((at, busy as f64));
    }
    Ok((running, processors))
}

/// Figures 9 to 12: the delay of each job by when it was submitted.
fn delays((material, _, replications): Shown<'_>) -> Result<Vec<Drawing>> {
    let points: Vec<Vec<(f64, f64)>> = try_each(&replications.chosen, |jobs| {
        let Some(jobs) = jobs else {
            return Ok(Vec::new());
        };
        let submits = seconds(jobs, "submit_ns")?.into_iter();
        let pairs = submits.zip(jobs.f64s("delay_s")?);
        Ok::<_, RunDirError>(pairs.filter(|(_, delay)| delay.is_finite()).collect())
    })?;
    let all = || points.iter().flatten();
    let x = all().map(|point| point.0).fold(0.0, f64::max);
    let delays = || all().map(|point| point.1).filter(|delay| *delay > 0.0);
    let least = delays().fold(f64::INFINITY, f64::min);
    let greatest = delays().fold(f64::NEG_INFINITY, f64::max);
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
                .y(Axis::log("delay", Unit::Seconds).range(least / 1.5, greatest * 1.5))
                .series(Series::scatter("", points.clone()).color(Color::Series(index)))
        })
        .collect();
    Ok(each(&charts, Chart::draw))
}
