//! Processors that brokers have lent each other: whose were used (Iosup et al., SC 2007,
//! Figure 9), what was said about it (Figure 11), and who pays.

use super::choose::Chosen;
use super::material::{Column, Material};
use super::number::{cell, key_words, share};
use crate::plot::{Axis, Cell, Chart, Matrix, Page, Series, Table, Unit};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Of so many policies it is told domain by domain.
const MOST: usize = 4;

/// Where jobs ran, seen from where they entered, and its figure in seconds.
const CLASSES: [(&str, &str); 4] = [
    ("their own domain", "local_processor_s"),
    ("the same site", "intra_site_processor_s"),
    ("the same grid", "intra_grid_processor_s"),
    ("another grid", "inter_grid_processor_s"),
];

/// The paper's kinds of messages.
const MESSAGES: [(&str, &str); 6] = [
    ("Notify Broker", "notify_broker"),
    ("Negotiate", "negotiate"),
    ("Job Data Exchange", "job_data_exchange"),
    ("Match-Claim-Release", "match_claim_release"),
    ("delegation", "dmm"),
    ("KeepAlive", "keep_alive"),
];

/// A policy, and what the summaries of its runs say of lending.
struct Lent<'a> {
    column: &'a Column,
    runs: Vec<&'a Value>,
}

impl Lent<'_> {
    /// The mean of a figure over the runs.
    fn mean(&self, path: &str) -> Option<f64> {
        let values = self
            .runs
            .iter()
            .filter_map(|run| run.pointer(path)?.as_f64());
        let values: Vec<f64> = values.collect();
        let sum: f64 = values.iter().sum();
        (!values.is_empty()).then(|| sum / values.len() as f64)
    }

    fn figure(&self, name: &str) -> Option<f64> {
        self.mean(&format!("/{name}"))
    }
}

pub(super) fn draw(page: &mut Page, material: &Material, chosen: &Chosen) {
    let columns = material.columns.iter().map(|column| {
        let runs = column.runs.iter();
        let runs = runs.map(|run| &run.manifest.summary["lending"]);
        let runs = runs.filter(|lending| lending.is_object()).collect();
        Lent { column, runs }
    });
    let all: Vec<Lent<'_>> = columns.filter(|lent| !lent.runs.is_empty()).collect();
    if all.is_empty() {
        return;
    }
    page.heading("Whose processors");
    page.paragraph(
        "Domains have sites and grids here: the processors that jobs used are shown by their \
         distance from the domain where the jobs entered, and the messages about delegated \
         processors are counted. Means over the replications.",
    );
    let chart = |title: &str, y: Axis, bars: &[(&str, &str)], path: &str, size: f64| {
        let names = all.iter().map(|lent| lent.column.name.as_str());
        let chart = Chart::new(title).x(Axis::categories("policy", names)).y(y);
        bars.iter().fold(chart, |chart, (name, figure)| {
            let mean = |lent: &Lent<'_>| lent.mean(&format!("{path}/{figure}"));
            let heights = all.iter().map(|lent| mean(lent).unwrap_or(0.0) / size);
            chart.series(Series::bars(*name, heights.collect::<Vec<_>>()))
        })
    };
    let hours = Axis::linear("processor-hours", Unit::Plain).include(0.0);
    let used = chart("Goodput, by where it was", hours, &CLASSES, "", 3600.0);
    let count = Axis::log("messages", Unit::Plain);
    let title = "Messages that manage jobs";
    let said = chart(title, count, &MESSAGES, "/messages", 1.0);
    page.figure(&used, "Processor-hours of jobs that completed.");
    page.figure(&said, "Messages by kind (docs/metrics.md).");
    page.table(&agreements(&all));
    let lends = |lent: &&Lent<'_>| lent.figure("delegations").is_some_and(|some| some > 0.0);
    let lending: Vec<&Lent<'_>> = all.iter().filter(lends).collect();
    let matrices = lending.iter().take(MOST).map(|lent| loans(lent));
    let matrices: Vec<Matrix> = matrices.collect();
    if !matrices.is_empty() {
        let caption = "Processor-hours that one domain has delegated to jobs of another, used or \
                       not, all replications together.";
        page.figures(&matrices, caption);
    }
    for lent in all.iter().take(MOST) {
        who_pays(page, lent, chosen);
    }
}

/// What brokers agreed on.
fn agreements(all: &[Lent<'_>]) -> Table {
    let heads = "policy | requests | rejected | delegations | a job | delegated goodput, h | \
                 inter-grid / elsewhere | delegation / other messages | / all";
    let count = |mean: Option<f64>| mean.map_or(Cell::Missing, |it| Cell::from(it.round() as u64));
    let mut table = Table::new(heads.split(" | ")).caption("Delegated processors");
    for lent in all {
        let hours = lent.figure("delegated_processor_s").map(|it| it / 3600.0);
        table.push([
            Cell::Text(lent.column.name.clone()),
            count(lent.figure("requests")),
            count(lent.figure("rejections")),
            count(lent.figure("delegations")),
            cell(lent.figure("delegations_per_job")),
            cell(hours),
            share(lent.figure("inter_grid_share")),
            share(lent.mean("/messages/dmm_overhead")),
            share(lent.mean("/messages/dmm_share")),
        ]);
    }
    table
}

/// Who has had whose processors.
fn loans(lent: &Lent<'_>) -> Matrix {
    let mut hours: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let pairs = lent.runs.iter().filter_map(|run| run["pairs"].as_array());
    for pair in pairs.flatten() {
        let (borrower, lender) = (pair["borrower"].as_str(), pair["lender"].as_str());
        let key = (borrower.unwrap_or_default(), lender.unwrap_or_default());
        *hours.entry(key).or_default() +=
            pair["charged_processor_s"].as_f64().unwrap_or(0.0) / 3600.0;
    }
    // In the order of the scenario.
    let domains = lent.runs.iter().filter_map(|run| run["domains"].as_array());
    let domains = domains.flatten().filter_map(|it| it["domain"].as_str());
    let mut seen = BTreeSet::new();
    let domains: Vec<&str> = domains.filter(|name| seen.insert(*name)).collect();
    let some = |does: &dyn Fn(&(&str, &str), &str) -> bool| {
        let all = domains.iter().copied();
        let all = all.filter(|name| hours.keys().any(|pair| does(pair, name)));
        all.collect::<Vec<&str>>()
    };
    let borrowers = some(&|(borrower, _), name| *borrower == name);
    let lenders = some(&|(_, lender), name| *lender == name);
    let row = |borrower: &&str| {
        let of = |lender: &&str| hours.get(&(*borrower, *lender)).copied().unwrap_or(0.0);
        lenders.iter().map(of).collect()
    };
    let values: Vec<Vec<f64>> = borrowers.iter().map(row).collect();
    let name = lent.column.name.as_str();
    Matrix::new(name, borrowers, lenders, values)
        .axes("borrowed by", "lent by")
        .unit("processor-hours")
        .half()
}

/// What each domain gives and gets in the replication that is shown up close.
fn who_pays(page: &mut Page, lent: &Lent<'_>, chosen: &Chosen) {
    let Some(run) = lent.column.at(chosen.index) else {
        return;
    };
    let heads = "domain | jobs | finished | goodput of its jobs, h | lent, h | borrowed, h | \
                 mean wait, s | the same with jobs that still wait, s";
    let caption = format!("{}, {}: by domain", lent.column.name, key_words(&run.key));
    let mut table = Table::new(heads.split(" | ")).caption(caption);
    let domains = run.manifest.summary["lending"]["domains"].as_array();
    for domain in domains.into_iter().flatten() {
        let hours = |name: &str| cell(domain[name].as_f64().map(|it| it / 3600.0));
        table.push([
            Cell::Text(domain["domain"].as_str().unwrap_or_default().to_owned()),
            domain["submitted"]
                .as_u64()
                .map_or(Cell::Missing, Cell::from),
            share(domain["finished_share"].as_f64()),
            hours("goodput_processor_s"),
            hours("lent_processor_s"),
            hours("borrowed_processor_s"),
            cell(domain["wait_s_mean"].as_f64()),
            cell(domain["waits"]["mean"].as_f64()),
        ]);
    }
    page.folded_table(
        &format!("Who pays and who gains: {}", lent.column.name),
        &table,
    );
}
