//! How delays are distributed, over all replications.

use super::data::Replications;
use super::material::Material;
use super::number::count;
use crate::plot::{Axis, Chart, Page, Series, Unit};

/// The tail begins at this share of jobs.
const TAIL: f64 = 0.9;

pub(super) fn draw(page: &mut Page, material: &Material, replications: &Replications) {
    page.heading("Delays");
    let share = || Axis::linear("share of jobs", Unit::Fraction);
    let body = chart(
        material,
        replications,
        "Delay: share of jobs with at most so much",
        share(),
    );
    let tail = chart(
        material,
        replications,
        "The same, from the 90 % quantile on",
        share().range(TAIL, 1.0),
    );
    let over = match (material.replications(), &material.comparison) {
        (_, None) => "Measured jobs that completed, all runs of a kind together.".to_owned(),
        (1, Some(_)) => "Jobs that completed under every policy.".to_owned(),
        (n, Some(_)) => {
            format!("Jobs that completed under every policy, all {n} replications together.")
        }
    };
    let caption = format!(
        "{over} Further left and higher is better. {}",
        zeros(material, replications)
    );
    page.pair(
        (&body, caption.as_str()),
        (
            &tail,
            "The jobs with the longest delays, which decide the mean.",
        ),
    );
}

fn chart(material: &Material, replications: &Replications, title: &str, share: Axis) -> Chart {
    let axis = Axis::log("delay", Unit::Seconds);
    let chart = Chart::new(title).half().x(axis).y(share);
    let columns = material.columns.iter().zip(&replications.delays);
    columns.fold(chart, |chart, (column, delays)| {
        chart.series(Series::cdf(&column.name, delays.iter().copied()))
    })
}

/// A log axis has no place for zeros.
fn zeros(material: &Material, replications: &Replications) -> String {
    let columns = material.columns.iter().zip(&replications.delays);
    let told: Vec<String> = columns
        .filter_map(|(column, delays)| {
            let none = delays.iter().filter(|delay| **delay <= 0.0).count() as u64;
            (none > 0).then(|| format!("{} of {}", count(none, "job"), column.name))
        })
        .collect();
    match told.is_empty() {
        true => "No job has a delay of 0.".to_owned(),
        false => format!(
            "A delay of 0 has no place on a log axis and raises the left end of its line: {}.",
            told.join(", ")
        ),
    }
}
