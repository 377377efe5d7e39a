//! A trace in figures, for people: about one screen.

mod clusters;

use crate::words::counts;
use gridrig_results::text::{cells, table};
use gridrig_tracelab::characterize::Characterization;
use gridrig_tracelab::characterize::ProcessorsFrom;
use gridrig_tracelab::characterize::calendar::{ClockSource, WEEKDAYS};
use std::fmt::Write as _;

/// Columns of a drawn curve.
const CURVE_WIDTH: usize = 60;

const DAY: f64 = 86_400.0;

/// The report.
pub fn report(trace: &Characterization) -> String {
    let mut text = String::new();
    head(&mut text, trace);
    tables(&mut text, trace);
    sizes(&mut text, trace);
    demand(&mut text, trace);
    arrivals(&mut text, trace);
    batches(&mut text, trace);
    if let Some(all) = &trace.clusters {
        clusters::write(&mut text, all);
    }
    // The first line has named the file already.
    let prefix = format!("{}: ", trace.file);
    for warning in &trace.warnings {
        let _ = writeln!(
            text,
            "warning: {}",
            warning.strip_prefix(&prefix).unwrap_or(warning)
        );
    }
    text
}

fn head(text: &mut String, trace: &Characterization) {
    let _ = writeln!(
        text,
        "{}: {}, {} jobs of {} users in {}",
        trace.file,
        trace.format.to_uppercase(),
        trace.jobs,
        trace.distinct.users,
        length(trace.span_s)
    );
    if let (Some(first), Some(last)) = (&trace.first_submit, &trace.last_submit) {
        let _ = writeln!(text, "submitted {first} to {last}");
    }
    if let Some(has) = trace.max_processors {
        let from = match trace.max_processors_from {
            Some(ProcessorsFrom::MaxProcs) => "MaxProcs",
            Some(ProcessorsFrom::MaxNodes) => "MaxNodes",
            Some(ProcessorsFrom::Processors) => "Processors",
            _ => "--processors",
        };
        let load = trace.offered_load.map_or(String::new(), |load| {
            format!(", offered load {:.1} %", 100.0 * load)
        });
        let _ = writeln!(text, "machine of {has} processors ({from}){load}");
    }
    let total: u64 = trace.skipped.values().sum();
    match total {
        0 => text.push_str("no line skipped"),
        _ => {
            let _ = write!(text, "{total} lines skipped ({})", counts(&trace.skipped));
        }
    }
    let _ = writeln!(
        text,
        "; {} jobs failed or were cancelled after they ran",
        trace.failed
    );
}

/// LSAP Tables 1 and 2, with quantiles.
fn tables(text: &mut String, trace: &Characterization) {
    let mut lines = vec![cells([
        "", "mean", "sd", "cv", "min", "p50", "p90", "p95", "p99", "max", "trimmed",
    ])];
    lines.extend(
        [
            ("run time s", &trace.run_time_s),
            ("processors", &trace.processors),
            ("inter-arrival s", &trace.interarrival_s),
        ]
        .map(|(name, of)| [cells([name]), of.row().map(number).into()].concat()),
    );
    text.push('\n');
    text.push_str(&table(&lines));
    text.push_str("(trimmed: mean without the largest 1 %)\n");
}

fn sizes(text: &mut String, trace: &Characterization) {
    let sizes = &trace.sizes;
    let _ = writeln!(
        text,
        "\njob sizes       {} serial ({} of the processor time), {} powers of two, {} other",
        percent(sizes.serial_share),
        percent(sizes.serial_processor_time_share),
        percent(sizes.power_of_two_share),
        percent(sizes.other_share)
    );
}

fn demand(text: &mut String, trace: &Characterization) {
    let demand = &trace.demand;
    let (Some(processors), Some(at), Some(jobs), Some(jobs_at)) = (
        demand.peak_processors,
        demand.peak_processors_at_s,
        demand.peak_jobs,
        demand.peak_jobs_at_s,
    ) else {
        text.push_str("demand          none: no job runs\n");
        return;
    };
    let _ = writeln!(
        text,
        "demand          if every job started at once: peak {processors} processors at {}, {jobs} \
         jobs at {};",
        instant(at),
        instant(jobs_at)
    );
    let above = match (demand.above_machine_share, trace.max_processors) {
        (Some(share), Some(has)) => {
            format!("; more than {has} for {} of the time", percent(Some(share)))
        }
        _ => String::new(),
    };
    let _ = writeln!(
        text,
        "                mean {} processors, {} jobs{above}",
        number(demand.mean_processors),
        number(demand.mean_jobs)
    );
    let peaks: Vec<f64> = demand
        .series
        .processors_max
        .iter()
        .map(|value| *value as f64)
        .collect();
    let begin = demand.series.at_s.first().copied().unwrap_or(0.0);
    let end = demand.series.at_s.last().copied().unwrap_or(0.0) + demand.bin_s.unwrap_or(0.0);
    let _ = writeln!(
        text,
        "                {} {} {}",
        instant(begin),
        curve(&narrow(&peaks, CURVE_WIDTH)),
        instant(end)
    );
}

fn arrivals(text: &mut String, trace: &Characterization) {
    let profile = &trace.arrivals;
    let clock = match profile.clock {
        ClockSource::StartTime | ClockSource::TimeZone => "local time",
        ClockSource::Utc => "UTC",
        ClockSource::Trace => "from the log's time 0",
    };
    let hours: Vec<f64> = profile.hourly.iter().map(|count| *count as f64).collect();
    let share = |count: f64| percent((trace.jobs > 0).then(|| count / trace.jobs as f64));
    let (busiest, most) = extreme(&hours, |a, b| a > b);
    let (quietest, least) = extreme(&hours, |a, b| a < b);
    let _ = writeln!(
        text,
        "by hour         0h {} 23h, {clock}; most {busiest}h ({}), fewest {quietest}h ({})",
        curve(&hours),
        share(most),
        share(least)
    );
    let rates = profile.per_day();
    let names: Vec<String> = match profile.clock {
        ClockSource::Trace => (0..7).map(|day| format!("day {day}")).collect(),
        _ => WEEKDAYS.map(str::to_owned).to_vec(),
    };
    let days: Vec<String> = names
        .iter()
        .zip(&rates)
        .map(|(name, rate)| format!("{name} {}", number(Some(*rate))))
        .collect();
    let _ = writeln!(text, "jobs per day    {}", days.join("  "));
    let lags: Vec<String> = trace
        .autocorrelation
        .iter()
        .filter_map(|at| Some(format!("{}: {}", at.lag, two_places(at.r?))))
        .collect();
    if !lags.is_empty() {
        let _ = writeln!(
            text,
            "autocorrelation of inter-arrival times by lag  {}",
            lags.join("  ")
        );
    }
}

fn batches(text: &mut String, trace: &Characterization) {
    let batches = &trace.batches;
    if batches.count == 0 {
        let _ = writeln!(text, "batches         none");
        return;
    }
    let _ = writeln!(
        text,
        "batches         {} by one user within {} s, size mean {}, p95 {}, max {}: {} of the jobs, {} \
         of the processor time",
        batches.count,
        batches.window_s,
        number(batches.size.mean),
        number(batches.size.p95),
        number(batches.size.max),
        percent(batches.jobs_share),
        percent(batches.processor_time_share)
    );
    let spread = &batches.orders_of_magnitude;
    let classes: Vec<String> = batches
        .by_size
        .iter()
        .map(|class| {
            let size = match class.to {
                Some(to) if to == class.from => to.to_string(),
                Some(to) => format!("{}-{to}", class.from),
                None => format!("{}+", class.from),
            };
            format!("{size}: {:.1}", class.orders_of_magnitude_mean)
        })
        .collect();
    let _ = writeln!(
        text,
        "                longest / shortest run time in a batch, as a power of ten: mean {}, p95 {}, max {};",
        number(spread.mean),
        number(spread.p95),
        number(spread.max)
    );
    let _ = writeln!(
        text,
        "                mean by batch size  {}",
        classes.join("  ")
    );
}

/// A figure in at most nine columns; `-` where there is none.
fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.fract() == 0.0 && value.abs() < 1e9 => format!("{value:.0}"),
        Some(value) => match value.abs() {
            0.0..10.0 => format!("{value:.3}"),
            10.0..1e4 => format!("{value:.1}"),
            1e4..1e9 => format!("{value:.0}"),
            _ => format!("{value:.2e}"),
        },
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

/// A coefficient; one that rounds to nothing has no sign.
fn two_places(value: f64) -> String {
    match format!("{value:.2}") {
        text if text == "-0.00" => "0.00".to_owned(),
        text => text,
    }
}

/// A length of time in the unit that suits it.
fn length(seconds: f64) -> String {
    match seconds {
        s if s >= 2.0 * DAY => format!("{:.1} days", s / DAY),
        s if s >= 7_200.0 => format!("{:.1} hours", s / 3_600.0),
        s => format!("{s:.0} s"),
    }
}

/// An instant of the log, in a form that a scenario's window takes.
fn instant(seconds: f64) -> String {
    match seconds {
        s if s >= DAY => format!("{:.2}d", s / DAY),
        s if s.fract() == 0.0 => format!("{s:.0}s"),
        s => format!("{s:.3}s"),
    }
}

/// The first of the values that no other beats, with its place.
fn extreme(values: &[f64], beats: impl Fn(f64, f64) -> bool) -> (usize, f64) {
    let mut best = (0, values.first().copied().unwrap_or(0.0));
    for (at, value) in values.iter().enumerate() {
        if beats(*value, best.1) {
            best = (at, *value);
        }
    }
    best
}

/// As many columns as fit, each the largest of the values behind it.
fn narrow(values: &[f64], width: usize) -> Vec<f64> {
    let per = values.len().div_ceil(width).max(1);
    let largest = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
    values.chunks(per).map(largest).collect()
}

/// Values as bars, an eighth of a line each.
fn curve(values: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = values.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| match top > 0.0 {
        true => BARS[((value / top * 8.0).ceil() as usize).clamp(1, 8) - 1],
        false => BARS[0],
    };
    values.iter().map(bar).collect()
}
