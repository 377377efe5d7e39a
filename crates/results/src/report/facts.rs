//! What the runs were, and how to make them again.

use super::Options;
use super::diff::text;
use super::error::Result;
use super::material::{Column, Material};
use super::number::{count, key_words};
use crate::compare::find::FoundRun;
use crate::plot::{Cell, Page, Table};
use crate::rundir::Manifest;
use crate::words::pairs;
use std::collections::BTreeSet;

/// Runs that are listed one by one.
const MOST_RUNS: usize = 400;

/// A longer list of them is folded.
const MOST_OPEN: usize = 40;

/// So many different scenarios are on the page, no longer than this in bytes.
const MOST_SCENARIOS: usize = 3;
const LONGEST_SCENARIO: usize = 64 * 1024;

pub(super) fn draw(page: &mut Page, material: &Material, options: &Options) -> Result<()> {
    page.heading("Runs and how to repeat them");
    facts(page, material);
    again(page, material, options)?;
    warnings(page, material);
    list(page, material);
    let columns = material.columns.iter();
    let runs: usize = columns.map(|column| column.runs.len()).sum();
    page.footer(&format!(
        "Made by gridrig from {}. This page holds everything it shows and loads nothing.",
        count(runs as u64, "run directory").replace("directorys", "directories")
    ));
    Ok(())
}

/// Values that the runs have, each once.
fn distinct(material: &Material, of: impl Fn(&FoundRun) -> Vec<String>) -> String {
    let values: BTreeSet<String> = material.runs().flat_map(of).collect();
    let all = values.len();
    let mut shown: Vec<String> = values.into_iter().take(8).collect();
    if all > shown.len() {
        shown.push(format!("and {} more", all - shown.len()));
    }
    shown.join(", ")
}

fn facts(page: &mut Page, material: &Material) {
    let told = |of: fn(&Manifest) -> Vec<String>| distinct(material, |run| of(&run.manifest));
    let measured = |manifest: &Manifest| {
        let measure = &manifest.measure;
        let until = measure.until;
        let until = until.map_or("the last finish".to_owned(), |until| until.0.to_string());
        let (from, stop) = (measure.from.0, measure.stop.0.0.name());
        vec![format!(
            "submitted from {from} until {until}, {stop}, tau {}",
            measure.tau_in_seconds()
        )]
    };
    let mut facts = vec![
        ("scenario", told(|of| vec![of.study.scenario.clone()])),
        ("clock", told(|of| vec![of.clock.clone()])),
        ("seed", told(|of| vec![of.seed.to_string()])),
        ("trace, SHA-256", told(|of| pairs(&of.trace_sha256))),
        ("versions", told(|of| pairs(&of.versions))),
        ("measured", told(measured)),
    ];
    // What a model did not do, and what is not always so.
    let special = [
        ("real LRMS", told(|of| of.grid.real_clusters())),
        ("brokers of others", told(|of| of.grid.external_brokers())),
        ("links", told(|of| of.grid.link_terms())),
    ];
    facts.extend(special.into_iter().filter(|(_, text)| !text.is_empty()));
    page.facts(facts);
}

fn again(page: &mut Page, material: &Material, options: &Options) -> Result<()> {
    page.subheading("Run it again");
    page.paragraph(
        "The resolved scenario lies in each run directory and is folded below, for those who have \
         this page only; on the virtual clock the same scenario gives the same bytes. Where the \
         trace lies elsewhere, add --set workload.trace=PATH; its SHA-256 is above.",
    );
    let made = makers(material);
    let mut commands: Vec<String> = made.iter().flat_map(|column| commands_of(column)).collect();
    commands.dedup();
    page.code(&commands.join("\n"));
    let firsts = made.iter().filter_map(|column| column.runs.first());
    for run in firsts.take(MOST_SCENARIOS) {
        let scenario = text(run)?;
        if (1..=LONGEST_SCENARIO).contains(&scenario.len()) {
            let file = run.dir.join(crate::rundir::names::SCENARIO);
            page.folded_code(&file.display().to_string(), &scenario);
        }
    }
    let mut varies = material
        .runs()
        .filter_map(|run| run.manifest.study.varies.as_ref());
    if varies.any(|varies| varies.over == "shake" && varies.step.is_none()) {
        page.paragraph(
            "The submit times of these runs were shaken (run.replicate.over = \"shake\") by a \
             step that their directories do not hold: run their scenario file again.",
        );
    }
    page.paragraph("And this page:");
    page.code(&page_again(material, options));
    Ok(())
}

/// Columns whose scenarios make all runs: a scenario has all of its policies,
/// and with `run.bounds` the pooled cluster too, so that one makes them.
fn makers(material: &Material) -> Vec<&Column> {
    let bounded = material.runs().any(|run| run.manifest.study.bounds);
    let mut made: BTreeSet<&str> = BTreeSet::new();
    let mut makers = Vec::new();
    for column in &material.columns {
        let Some(first) = column.runs.first() else {
            continue;
        };
        let manifest = &first.manifest;
        let pooled = manifest.policy.is_none() && bounded;
        if !pooled && made.insert(&manifest.scenario_hash) {
            makers.push(column);
        }
    }
    makers
}

/// The command that makes this page.
fn page_again(material: &Material, options: &Options) -> String {
    let dirs = material.paths.iter().map(|dir| dir.display().to_string());
    let mut words: Vec<String> = dirs.map(|dir| quoted(&dir)).collect();
    let mut option = |name: &str, value: &str| words.push(format!("--{name} {}", quoted(value)));
    if let Some(comparison) = &material.comparison {
        option("baseline", &comparison.baseline);
    }
    let compare = &options.compare;
    for figure in &compare.primary {
        option("primary", &figure.to_string());
    }
    for bound in &compare.require {
        option("require", &bound.to_string());
    }
    if let Some(key) = &options.replication {
        option("replication", key);
    }
    // What the command line has where nothing is said.
    if compare.users != 10 {
        option("users", &compare.users.to_string());
    }
    for (figure, least) in &compare.relevant {
        option("relevant", &format!("{figure}={least}"));
    }
    let skip = if compare.skip_damaged {
        " --skip-damaged"
    } else {
        ""
    };
    format!("gridrig report {}{skip} --out report.html", words.join(" "))
}

/// The commands that make a column's runs.
fn commands_of(column: &Column) -> Vec<String> {
    let Some(first) = column.runs.first() else {
        return Vec::new();
    };
    let one = |run: &FoundRun| {
        let scenario = run.dir.join(crate::rundir::names::SCENARIO);
        quoted(&scenario.display().to_string())
    };
    match replicate(column) {
        Some(replicate) => vec![format!(
            "gridrig run {} --set {} --out again",
            one(first),
            quoted(&format!("run.replicate={replicate}"))
        )],
        None if column.runs.len() == 1 => vec![format!("gridrig run {} --out again", one(first))],
        None => {
            let run = |run: &FoundRun| {
                let number = run.manifest.replication;
                format!("gridrig run {} --out again/{number:03}", one(run))
            };
            column.runs.iter().map(run).collect()
        }
    }
}

/// What varies, as a scenario says it, if the first run is the replication
/// from which the others can be made.
fn replicate(column: &Column) -> Option<String> {
    let [first, second, ..] = column.runs.as_slice() else {
        return None;
    };
    let varies = first.manifest.study.varies.as_ref()?;
    if first.manifest.replication != 0 || second.manifest.replication != 1 {
        return None;
    }
    let (over, count) = (&varies.over, varies.count);
    // Before the step was written down, the second key had it.
    let step = varies.step.as_deref();
    let step = step.or_else(|| second.key.strip_prefix("window+"));
    match over.as_str() {
        "window" | "shake" => Some(format!(
            "{{ over = \"{over}\", step = \"{}\", count = {count} }}",
            step?
        )),
        "seed" | "sample-phase" | "broker-phase" => {
            Some(format!("{{ over = \"{over}\", count = {count} }}"))
        }
        _ => None,
    }
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn warnings(page: &mut Page, material: &Material) {
    let told: Vec<String> = match &material.comparison {
        Some(comparison) => comparison.warnings.clone(),
        None => {
            let all = material
                .runs()
                .flat_map(|run| run.manifest.warnings.clone());
            all.collect::<BTreeSet<String>>().into_iter().collect()
        }
    };
    page.subheading("Warnings of the runs");
    match told.is_empty() {
        true => page.paragraph("None."),
        false => page.list(told),
    };
}

fn list(page: &mut Page, material: &Material) {
    page.subheading("Every run");
    let mut table = Table::new(
        "run | policy | replication | seed | valid | jobs.parquet, SHA-256".split(" | "),
    );
    for column in &material.columns {
        for run in column.runs.iter().take(MOST_RUNS - table.len()) {
            let jobs = run.manifest.files.get(crate::rundir::names::JOBS);
            let hash = jobs.map_or("", |file| file.sha256.as_str());
            table.push([
                Cell::Text(run.dir.display().to_string()),
                Cell::Text(column.name.clone()),
                Cell::Text(key_words(&run.key)),
                Cell::Text(run.manifest.seed.to_string()),
                match run.manifest.summary["valid"].as_bool() {
                    Some(true) => Cell::Pass("valid".to_owned()),
                    Some(false) => Cell::Fail("not valid".to_owned()),
                    None => Cell::Missing,
                },
                Cell::Text(hash.chars().take(16).collect()),
            ]);
        }
    }
    match table.len() {
        0..=MOST_OPEN => page.table(&table),
        n => page.folded_table(&format!("The {n} runs"), &table),
    };
    let all = material.runs().count();
    if all > table.len() {
        page.paragraph(&format!("{} more runs are not listed.", all - table.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_of_a_shell_is_quoted_where_it_must_be() {
        assert_eq!(quoted("runs/two-sites-1/r000"), "runs/two-sites-1/r000");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
