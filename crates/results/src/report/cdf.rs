//! How delays are distributed, over all replications.

use super::data::Replications;
use super::load::MOST_TOGETHER;
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
    let counted = replications.delays.iter().map(|delays| counted(delays));
    let counted: Vec<Vec<(f64, u64)>> = counted.collect();
    let body = chart(
        material,
        &counted,
        "Delay: share of jobs with at most so much",
        (delay(), share()),
    );
    let tail = chart(
        material,
        &counted,
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
        (
            &tail,
            "The jobs with the longest delays; shares are of all jobs, as before.",
        ),
    );
}

/// Places in an ascending list that a picture is drawn from: evenly spread over
/// all of it and once more over its tail, which has a picture of its own. No
/// share of jobs is off by more than a twenty-thousandth.
const PLACES: usize = 20_000;

/// Quantiles that the table behind a picture names.
const NAMED: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// An ascending list as values with how many lie since the one before; of a
/// long list so many that the picture of it is the same.
fn counted(ascending: &[f64]) -> Vec<(f64, u64)> {
    let n = ascending.len();
    if n <= 2 * PLACES {
        return ascending.iter().map(|value| (*value, 1)).collect();
    }
    let last = n - 1;
    let tail = (TAIL * n as f64) as usize;
    let spread = |from: usize| (0..=PLACES).map(move |k| from + (last - from) * k / PLACES);
    // A quantile is the value at which the count reaches its rank: exactly so.
    let named = NAMED.map(|share| (share * n as f64).ceil() as usize);
    // So is the number of zeros, which a caption tells.
    let zeros = ascending.partition_point(|value| *value <= 0.0);
    let all = named.into_iter();
    let exact = all.chain([zeros]).map(|rank| rank.saturating_sub(1));
    let mut places: Vec<usize> = spread(0).chain(spread(tail)).chain(exact).collect();
    places.sort_unstable();
    places.dedup();
    let mut before = 0;
    let step = |place: usize| {
        let count = (place + 1 - before) as u64;
        before = place + 1;
        (ascending[place], count)
    };
    places.into_iter().map(step).collect()
}

fn chart(
    material: &Material,
    counted: &[Vec<(f64, u64)>],
    title: &str,
    (delay, share): (Axis, Axis),
) -> Chart {
    let chart = Chart::new(title).quiet().half().x(delay).y(share);
    let chart = chart.apart(material.columns.len() > MOST_TOGETHER);
    let columns = material.columns.iter().zip(counted);
    columns.fold(chart, |chart, (column, counted)| {
        chart.series(Series::cdf_counts(&column.name, counted.iter().copied()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_keeps_its_count_its_zeros_and_its_named_quantiles() {
        let values: Vec<f64> = (0..1_000_003)
            .map(|k| f64::from((k - 1_234).max(0)).sqrt())
            .collect();
        let found = counted(&values);
        assert!(found.len() < 3 * PLACES, "{}", found.len());
        let all: u64 = found.iter().map(|(_, count)| count).sum();
        assert_eq!(all, 1_000_003);
        let zeros = found.iter().filter(|(value, _)| *value <= 0.0);
        assert_eq!(zeros.map(|(_, count)| count).sum::<u64>(), 1_235);
        assert_eq!(
            found.last().map(|(value, _)| *value),
            values.last().copied()
        );
        for share in NAMED {
            let rank = (share * 1_000_003.0).ceil() as u64;
            let mut reached = 0;
            let at = found.iter().find(|(_, count)| {
                reached += count;
                reached >= rank
            });
            assert_eq!(
                at.map(|(value, _)| *value),
                Some(values[rank as usize - 1]),
                "{share}"
            );
        }
    }
}
