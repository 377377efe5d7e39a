//! Who ran whose jobs.

use super::data::{Forwarding, Replications};
use super::material::Material;
use crate::plot::{Matrix, Page, Table};
use std::collections::BTreeSet;

/// Matrices of so many policies are drawn.
const MOST: usize = 12;

pub(super) fn draw(page: &mut Page, material: &Material, replications: &Replications) {
    let mut all: Vec<(&str, Forwarding)> = match &material.comparison {
        Some(comparison) => comparison
            .policies
            .iter()
            .map(|policy| {
                let cells = policy.forwarding.iter();
                let cells = cells.map(|c| ((c.from.clone(), c.to.clone()), c.jobs));
                (policy.name.as_str(), cells.collect())
            })
            .collect(),
        None => {
            let names = material.columns.iter().map(|column| column.name.as_str());
            names.zip(replications.forwarding.iter().cloned()).collect()
        }
    };
    all.retain(|(_, cells)| !cells.is_empty());
    page.heading("Forwarding");
    if all.is_empty() {
        page.paragraph("No run has brokers: jobs went straight to their clusters.");
        return;
    }
    let shown = all.iter().take(MOST);
    let plots: Vec<Matrix> = shown.map(|(name, cells)| matrix(name, cells)).collect();
    let caption = "Jobs by origin and executing domain, all replications together.";
    page.figures(&plots, caption);
    if all.len() > MOST {
        page.paragraph(&format!("{} more are in the comparison.", all.len() - MOST));
    }
    if let Some(comparison) = &material.comparison {
        let mut table = Table::new(["policy", "forwarding ratio", "ran away from their origin"])
            .caption("Forwarded jobs: means over the replications");
        for policy in &comparison.policies {
            table.push([
                policy.name.as_str().into(),
                super::number::share(policy.load.forwarding_ratio),
                super::number::share(policy.load.away_share),
            ]);
        }
        page.table(&table);
    }
}

fn matrix(name: &str, cells: &Forwarding) -> Matrix {
    let domains: BTreeSet<&String> = cells.keys().flat_map(|(from, to)| [from, to]).collect();
    let origins: BTreeSet<&String> = cells.keys().map(|(from, _)| from).collect();
    let values: Vec<Vec<f64>> = origins
        .iter()
        .map(|from| {
            let of = |to: &&String| {
                let jobs = cells.get(&((*from).clone(), (*to).clone()));
                jobs.map_or(0.0, |jobs| *jobs as f64)
            };
            domains.iter().map(of).collect()
        })
        .collect();
    Matrix::new(
        name,
        origins.iter().map(|name| name.as_str()),
        domains.iter().map(|name| name.as_str()),
        values,
    )
    .axes("submitted in", "ran in")
    .unit("jobs")
    .half()
}
