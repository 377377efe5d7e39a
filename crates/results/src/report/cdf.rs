//! How delays are distributed, over all replications.

use super::data::Replications;
use super::material::Material;
use super::number::count;
use crate::plot::{Axis, Chart, Page, Series, Unit};

pub(super) fn draw(page: &mut Page, material: &Material, replications: &Replications) {
    page.heading("Delays");
    let mut chart = Chart::new("Delay: share of jobs with at most so much")
        .x(Axis::log("delay", Unit::Seconds))
        .y(Axis::linear("share of jobs", Unit::Fraction));
    let mut zeros = Vec::new();
    for (column, delays) in material.columns.iter().zip(&replications.delays) {
        let none = delays.iter().filter(|delay| **delay <= 0.0).count();
        if none > 0 {
            let jobs = count(none as u64, "job");
            zeros.push(format!("{jobs} of {}", column.name));
        }
        chart = chart.series(Series::cdf(&column.name, delays.iter().copied()));
    }
    let over = match (material.replications(), &material.comparison) {
        (_, None) => "Measured jobs that completed, all runs of a kind together.".to_owned(),
        (1, Some(_)) => "Jobs that completed under every policy.".to_owned(),
        (n, Some(_)) => {
            format!("Jobs that completed under every policy, all {n} replications together.")
        }
    };
    let zeros = match zeros.is_empty() {
        true => "No job has a delay of 0.".to_owned(),
        false => format!(
            "A delay of 0 has no place on a log axis and raises the left end of its line: {}.",
            zeros.join(", ")
        ),
    };
    let caption = format!("{over} Further left and higher is better. {zeros}");
    page.figure(&chart, &caption);
}
