//! What was made, for people and for programs.

use super::Prepared;
use super::args::Common;
use gridrig_results::text::{cells, table};
use gridrig_tracelab::synth::output::{Made, Marginal};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The document of `--json`.
pub(super) fn document(prepared: &Prepared, made: &Made, common: &Common) -> Value {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    json!({
        "model": prepared.model.kind(),
        "seed": prepared.model.seed(),
        "machine_processors": prepared.model.processors(),
        "out": path(&common.out),
        "model_out": path(&common.model_out),
        "jobs": made.jobs,
        "first_submit_s": made.first_submit_s,
        "span_s": made.span_s,
        "offered_load": made.offered_load,
        "load": prepared.calibration,
        "recurring_jobs": prepared.recurring,
        "behaviour": prepared.behaviour,
        "deals": prepared.deals,
        "serial_share": made.serial_share,
        "run_time_s": made.run_time_s,
        "processors": made.processors,
        "interarrival_s": made.interarrival_s,
        "hourly": made.hourly,
    })
}

/// The report for people.
pub(super) fn text(prepared: &Prepared, made: &Made, common: &Common) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{} jobs in {:.2} days, model {}, seed {}",
        made.jobs,
        made.span_s / 86_400.0,
        prepared.model.kind(),
        prepared.model.seed()
    );
    if let Some(load) = made.offered_load {
        let processors = prepared.model.processors();
        let _ = writeln!(text, "offered load {load:.3} on {processors} processors");
    }
    if let Some(found) = &prepared.calibration {
        let _ = writeln!(
            text,
            "load asked for {:.3}, reached {:.3}; the same parameters give {:.3} on average over \
             all seeds",
            found.wanted_load, found.achieved_load, found.expected_load
        );
    }
    if let Some(recurring) = prepared.recurring {
        let _ = writeln!(
            text,
            "{recurring} jobs of the source recur (same submit time, run time, size and user)"
        );
    }
    let mut lines = vec![cells(["", "mean", "sd", "min", "max"])];
    lines.extend(
        [
            ("run time (s)", made.run_time_s),
            ("processors", made.processors),
            ("inter-arrival (s)", made.interarrival_s),
        ]
        .into_iter()
        .filter_map(|(name, of)| Some(row(name, of?))),
    );
    text.push('\n');
    text.push_str(&table(&lines));
    let _ = writeln!(
        text,
        "single-processor jobs {:.1} %",
        100.0 * made.serial_share
    );
    hours(&mut text, &made.hourly);
    queueing(&mut text, prepared);
    match (&common.out, &common.model_out) {
        (None, None) => text.push_str("\nnothing written; --out FILE writes the trace\n"),
        (out, model) => {
            text.push('\n');
            for path in [out, model].into_iter().flatten() {
                let _ = writeln!(text, "wrote {}", path.display());
            }
        }
    }
    text
}

/// How a look-alike queues, and what it took to get it.
fn queueing(text: &mut String, prepared: &Prepared) {
    let Some(behaviour) = &prepared.behaviour else {
        return;
    };
    text.push('\n');
    text.push_str(&behaviour.text());
    let (deals, seed) = (prepared.deals, prepared.model.seed());
    let _ = match behaviour.failure() {
        None if deals == 1 => Ok(()),
        None => writeln!(
            text,
            "dealt {deals} times until its waits were like those of its source: seed {seed}"
        ),
        Some(missed) => writeln!(
            text,
            "dealt {deals} times, never with waits like those of its source; this is the nearest, \
             seed {seed}: {missed}"
        ),
    };
}

fn row(name: &str, of: Marginal) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.2}", of.mean),
        of.sd.map_or("-".to_owned(), |sd| format!("{sd:.2}")),
        format!("{:.0}", of.min),
        format!("{:.0}", of.max),
    ]
}

/// Arrivals per hour of the day as bars of their share of the busiest hour.
fn hours(text: &mut String, hourly: &[u64; 24]) {
    const WIDTH: u64 = 40;
    let most = hourly.iter().copied().max().unwrap_or(0).max(1);
    let _ = writeln!(text, "\njobs by hour of the day");
    for (hour, count) in hourly.iter().enumerate() {
        let bar = "#".repeat((count * WIDTH / most) as usize);
        let _ = writeln!(text, "{hour:>4}:00 {count:>8} {bar}");
    }
}
