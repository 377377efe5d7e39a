//! Prints Tables 1 and 2 of LSAP beside ours, as `docs/traces-tables.md` has
//! them: `cargo run -p gridrig-tracelab --example paper_tables -- CTC.swf.gz
//! traces/grid5000-like.swf.gz`.

use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_results::stats::Distribution;
use gridrig_tracelab::characterize::Columns;
use gridrig_tracelab::characterize::demand::Demand;
use gridrig_tracelab::load::load;
use gridrig_tracelab::prepare::Prepared;
use gridrig_tracelab::spec::{Keep, SizeFrom, TraceWindow, WorkloadSpec};
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What the paper gives: max, mean, standard deviation, coefficient of
/// variation.
type Published = [f64; 4];

const CTC_RUN_TIME: Published = [1081.0, 223.9, 332.7, 1.486];
const CTC_PROCESSORS: Published = [162.0, 14.0, 29.4, 2.095];
const GRID5000_RUN_TIME: Published = [10_000.0, 476.8, 1190.3, 2.496];
const GRID5000_PROCESSORS: Published = [204.0, 18.7, 39.4, 2.106];

const ROWS: [(&str, usize); 4] = [("max", 1), ("mean", 1), ("sd", 1), ("cv", 3)];

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(ctc), Some(grid5000)) = (files.next(), files.next()) else {
        return Err("expected the CTC log and grid5000-like.swf.gz".into());
    };
    let text = ctc_tables(&ctc)? + &grid5000_tables(&grid5000)?;
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// A workload after its reduction, as the tables look at it.
pub(crate) struct Reduced {
    pub(crate) run_time: Distribution,
    pub(crate) processors: Distribution,
    pub(crate) demand: Demand,
}

/// The jobs of a run, as a trace has them.
pub(crate) fn columns(prepared: &Prepared) -> Columns {
    let jobs = prepared.jobs.iter();
    let submits = jobs
        .clone()
        .map(|job| SimDuration::from_nanos(job.at.as_nanos()));
    Columns {
        submits: submits.collect(),
        run_times: jobs.clone().map(|job| job.spec.run_time).collect(),
        sizes: jobs.map(|job| job.spec.processors()).collect(),
        users: Vec::new(),
    }
}

impl Reduced {
    pub(crate) fn of(prepared: &Prepared) -> Self {
        let columns = columns(prepared);
        Reduced {
            run_time: Distribution::of(columns.run_times.iter().map(|run| run.as_secs_f64())),
            processors: Distribution::of(columns.sizes.iter().map(|size| f64::from(*size))),
            demand: Demand::of(&columns, 1, None),
        }
    }
}

/// Times as the experiments have them.
pub(crate) fn spec(trace: &Path) -> WorkloadSpec {
    let mut spec = WorkloadSpec::whole(trace.to_path_buf(), Entry::Domain(DomainId(0)));
    spec.scale_arrival = Decimal::from_whole(60);
    spec.scale_run_time = Decimal::from_whole(60);
    spec.min_run_time = SimDuration::from_secs(1);
    spec
}

/// One of the five phases of the week of the CTC log.
pub(crate) fn ctc_week(trace: &Path, phase: u64) -> Result<WorkloadSpec, Box<dyn Error>> {
    let (m, n) = (2, 5);
    Ok(WorkloadSpec {
        max_processors: Some(225),
        window: Some(TraceWindow {
            start: SimDuration::parse("87.08d")?,
            length: SimDuration::parse("7d")?,
        }),
        keep: Keep::Systematic { m, n, phase },
        ..spec(trace)
    })
}

fn four(of: &Distribution) -> [Option<f64>; 4] {
    [of.max, of.mean, of.sd, of.cv]
}

fn show(value: Option<f64>, places: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.places$}"))
}

/// The five phases of the week of the CTC log.
pub fn ctc_tables(trace: &Path) -> Result<String, Box<dyn Error>> {
    let loaded = load(trace, SizeFrom::Allocated)?;
    let mut phases = Vec::new();
    for phase in 0..5 {
        let week = ctc_week(trace, phase)?;
        phases.push(Reduced::of(&loaded.clone().into_prepared(&week, 0)?));
    }
    let mut text = String::new();
    writeln!(text, "## CTC\n")?;
    writeln!(text, "| | phase 0 | 1 | 2 | 3 | 4 | paper | |")?;
    writeln!(text, "|---|---:|---:|---:|---:|---:|---:|---|")?;
    let counts: Vec<String> = phases.iter().map(|of| of.run_time.n.to_string()).collect();
    writeln!(text, "| jobs | {} | | not given |", counts.join(" | "))?;
    let columns = |get: fn(&Reduced) -> &Distribution| -> Vec<[Option<f64>; 4]> {
        phases.iter().map(|of| four(get(of))).collect()
    };
    beside(
        &mut text,
        "run time",
        &columns(|of| &of.run_time),
        CTC_RUN_TIME,
    )?;
    beside(
        &mut text,
        "processors",
        &columns(|of| &of.processors),
        CTC_PROCESSORS,
    )?;
    let peaks: Vec<&Demand> = phases.iter().map(|of| &of.demand).collect();
    let values = peaks
        .iter()
        .filter_map(|of| Some(of.peak_processors? as f64));
    let values: Vec<f64> = values.collect();
    let shown: Vec<String> = values.iter().map(|value| format!("{value:.0}")).collect();
    let verdict = position(&values, 1400.0);
    writeln!(
        text,
        "| peak demand | {} | about 1400 | {verdict} |",
        shown.join(" | ")
    )?;
    let shown: Vec<String> = peaks
        .iter()
        .filter_map(|of| Some(format!("{:.0}", of.peak_processors_at_s?)))
        .collect();
    writeln!(text, "| at (s) | {} | around 9000 | |\n", shown.join(" | "))?;
    Ok(text)
}

fn beside(
    text: &mut String,
    what: &str,
    columns: &[[Option<f64>; 4]],
    paper: Published,
) -> std::fmt::Result {
    for (at, (row, places)) in ROWS.into_iter().enumerate() {
        let shown: Vec<String> = columns.iter().map(|of| show(of[at], places)).collect();
        // The paper's figures are rounded, so ours are compared rounded alike.
        let scale = 10f64.powi(places as i32);
        let rounded = |value: f64| (value * scale).round() / scale;
        let known: Vec<f64> = columns
            .iter()
            .filter_map(|of| of[at].map(rounded))
            .collect();
        let verdict = position(&known, paper[at]);
        let paper = paper[at];
        writeln!(
            text,
            "| {what} {row} | {} | {paper} | {verdict} |",
            shown.join(" | ")
        )?;
    }
    Ok(())
}

/// Where the paper lies against the range of ours.
fn position(ours: &[f64], paper: f64) -> &'static str {
    let low = ours.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ours.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match paper {
        paper if paper < low => "below",
        paper if paper > high => "above",
        _ => "inside",
    }
}

/// The shipped week that stands in for Grid'5000.
pub fn grid5000_tables(trace: &Path) -> Result<String, Box<dyn Error>> {
    let loaded = load(trace, SizeFrom::Allocated)?;
    let of = Reduced::of(&loaded.clone().into_prepared(&spec(trace), 0)?);
    let mut text = String::new();
    writeln!(text, "## Grid'5000\n")?;
    writeln!(text, "| | grid5000-like | paper | off by |")?;
    writeln!(text, "|---|---:|---:|---:|")?;
    writeln!(text, "| jobs | {} | not given | |", of.run_time.n)?;
    for (what, ours, paper) in [
        ("run time", &of.run_time, GRID5000_RUN_TIME),
        ("processors", &of.processors, GRID5000_PROCESSORS),
    ] {
        for (at, (row, places)) in ROWS.into_iter().enumerate() {
            let value = four(ours)[at];
            // Adding 0 turns a zero that came from below into a plain one.
            let off = value.map(|value| (1000.0 * (value / paper[at] - 1.0)).round() / 10.0 + 0.0);
            let (shown, off) = (show(value, places), show(off, 1));
            writeln!(text, "| {what} {row} | {shown} | {} | {off} % |", paper[at])?;
        }
    }
    let peak = of.demand.peak_processors.unwrap_or(0);
    writeln!(text, "| peak demand | {peak} | around 700 | |")?;
    Ok(text)
}
