//! How near look-alikes come to their sources.
//!
//! `cargo run --release -p gridrig-tracelab --example look_alikes -- SEEDS
//! TRACE...` fits a model to each trace, makes a look-alike with each of the
//! seeds 1 to `SEEDS`, and judges it as `trace validate --generated --only
//! marginals,classes,hours` does. It ends with a table of logs by seeds in
//! Markdown; `docs/synthesize.md` has the outcome.

#![allow(clippy::print_stdout, reason = "its purpose")]

use gridrig_tracelab::format::{Format, TraceReader};
use gridrig_tracelab::load::{TraceJob, load, load_from};
use gridrig_tracelab::spec::SizeFrom;
use gridrig_tracelab::synth::like::{LookAlike, recurring_jobs};
use gridrig_tracelab::synth::{Model, output};
use gridrig_tracelab::validate::{Group, Options, Validation, validate};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [seeds, traces @ ..] = words.as_slice() else {
        return Err("expected SEEDS TRACE...".into());
    };
    let seeds: u64 = seeds.parse()?;
    let options = Options {
        groups: Some([Group::Marginals, Group::Classes, Group::Hours].into()),
        thin: Some(0.1),
        ..Options::default()
    };
    let mut table = Vec::new();
    for trace in traces {
        let source = load(trace.as_ref(), SizeFrom::Allocated)?;
        let name = source.file.rsplit('/').next().unwrap_or_default();
        let original: Vec<TraceJob> = source.jobs.clone();
        let like = LookAlike::fit(&source, None)?;
        let mut model = Model::LookAlike(Box::new(like));
        println!("{name}: {} bytes", model.to_json().len());
        let mut cells = vec![name.to_owned()];
        for seed in 1..=seeds {
            model.set_seed(seed);
            let (text, _) = output::write(&model, "an example", Vec::new())?;
            let mut reader = TraceReader::new(Format::Swf, &text[..], "like.swf");
            let made = load_from(&mut reader, SizeFrom::Allocated)?;
            let jobs: Vec<TraceJob> = made.jobs;
            let found = validate(&original, &jobs, &options)?;
            let verdict = if found.passed() { "passed" } else { "missed" };
            println!(
                "  seed {seed}: {verdict}, {} recurring jobs",
                recurring_jobs(&source, model.jobs()?)
            );
            cells.push(cell(&found));
            for row in &found.statistics {
                let edge = |edge: Option<f64>| edge.map_or(String::new(), |e| format!("{e:.4}"));
                let mark = if row.inside { "" } else { " MISSED" };
                println!(
                    "    {:16} {:.4} in {}..{}{mark}",
                    row.name,
                    row.value,
                    edge(row.low),
                    edge(row.high)
                );
            }
        }
        table.push(cells);
    }
    print_table(seeds, &table);
    Ok(())
}

/// What a cell of the table says: the statistics outside with their edges.
fn cell(found: &Validation) -> String {
    let missed = found.statistics.iter().filter(|row| !row.inside);
    let missed: Vec<String> = missed
        .map(|row| {
            let edge = if row.value > row.median {
                row.high
            } else {
                row.low
            };
            let edge = edge.map_or(String::new(), |edge| format!(" ({edge:.4})"));
            format!("`{}` {:.4}{edge}", row.name, row.value)
        })
        .collect();
    match missed.is_empty() {
        true => "passed".to_owned(),
        false => missed.join(", "),
    }
}

fn print_table(seeds: u64, table: &[Vec<String>]) {
    let heads: Vec<String> = (1..=seeds).map(|seed| format!("seed {seed}")).collect();
    println!("\n| log | {} |", heads.join(" | "));
    println!("|---|{}", "---|".repeat(heads.len()));
    for cells in table {
        println!("| {} |", cells.join(" | "));
    }
}
