//! How delays are distributed, over all replications.

use super::data::Replications;
use super::material::Material;
use super::number::count;
use crate::plot::{Axis, Chart, Page, Series, Unit};

/// The tail begins at this share of jobs.
const TAIL: f64 = 0.95;

pub(super) fn draw(page: &mut Page, material: &Material, replications: &Replications) {
    page.heading("Delays");
    let delay = || Axis::log("delay", Unit::Seconds);
    let tail_delay = match tail_ends(replications) {
        Some((low, high)) => delay().range(low, high),
        None => delay(),
    };
    let share = || Axis::linear("share of jobs", Unit::Fraction);
    let body = chart(
        material,
        replications,
        "Delay: share of jobs with at most so much",
        (delay(), share()),
    );
    let tail = chart(
        material,
        replications,
        "The same for the last 5 % of the jobs",
        (tail_delay, share().range(TAIL, 1.0)),
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
        (&tail, "The jobs with the longest delays."),
    );
}

fn chart(
    material: &Material,
    replications: &Replications,
    title: &str,
    (delay, share): (Axis, Axis),
) -> Chart {
    let chart = Chart::new(title).half().x(delay).y(share);
    let columns = material.columns.iter().zip(&replications.delays);
    columns.fold(chart, |chart, (column, delays)| {
        chart.series(Series::cdf(&column.name, delays.iter().copied()))
    })
}

/// The least delay at which a tail begins, and the greatest delay.
fn tail_ends(replications: &Replications) -> Option<(f64, f64)> {
    let ends = replications.delays.iter().filter_map(|delays| {
        let rank = (TAIL * delays.len() as f64) as usize;
        Some((*delays.get(rank)?, *delays.last()?))
    });
    ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// A log axis has no place for zeros.
fn zeros(material: &Material, replications: &Replications) -> String {
    let columns = material.columns.iter().zip(&replications.delays);
    let told: Vec<String> = columns
        .filter_map(|(column, delays)| {
            let none = delays.partition_point(|delay| *delay <= 0.0) as u64;
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
