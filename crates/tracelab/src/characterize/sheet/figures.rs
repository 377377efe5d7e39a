//! The figures of a sheet.

use crate::characterize::arrivals::{self, interarrival_s};
use crate::characterize::batches::{Batch, BatchStatistics};
use crate::characterize::calendar::{ClockSource, WEEKDAYS};
use crate::characterize::clusters::Clusters;
use crate::characterize::demand::sweep;
use crate::characterize::sizes::SizeCounts;
use crate::characterize::{Characterization, Columns};
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use gridrig_results::plot::{Axis, Chart, Color, Mark, Series, Unit, integer};

/// Where a run time of 0 stands on a logarithmic axis: it means less than half
/// a second.
const ZERO_RUN_S: f64 = 0.5;

/// Lags of the autocorrelation that are drawn.
const LAGS: usize = 100;

fn log_time() -> Axis {
    Axis::linear("time of the log", Unit::Seconds)
}

pub(super) fn run_time_profile(jobs: &Columns) -> Chart {
    let mut zero = 0u64;
    let points: Vec<(f64, f64)> = jobs
        .rows()
        .map(|(submit, run_time, _)| {
            let run = run_time.as_secs_f64();
            zero += u64::from(run == 0.0);
            let shown = if run == 0.0 { ZERO_RUN_S } else { run };
            (submit.as_secs_f64(), shown)
        })
        .collect();
    let chart = Chart::new("Run time against submission")
        .x(log_time())
        .y(Axis::log("run time", Unit::Seconds))
        .series(Series::scatter("jobs", points));
    match zero {
        0 => chart,
        _ => chart.note(format!(
            "{} run times of 0 stand at half a second.",
            integer(zero)
        )),
    }
}

pub(super) fn processor_profile(jobs: &Columns, machine: Option<u64>) -> Chart {
    let points: Vec<(f64, f64)> = jobs
        .rows()
        .map(|(submit, _, size)| (submit.as_secs_f64(), f64::from(size)))
        .collect();
    let chart = Chart::new("Processors against submission")
        .x(log_time())
        .y(Axis::log("processors", Unit::Plain))
        .series(Series::scatter("jobs", points));
    with_machine(chart, machine)
}

fn with_machine(chart: Chart, machine: Option<u64>) -> Chart {
    match machine {
        Some(has) => chart
            .mark(Mark::y(has as f64, format!("machine: {}", integer(has))).color(Color::Muted)),
        None => chart,
    }
}

/// Processors and jobs over time.
pub(super) fn demand(jobs: &Columns, trace: &Characterization) -> (Chart, Chart) {
    let mut processors: Vec<(f64, f64)> = Vec::new();
    let mut running: Vec<(f64, f64)> = Vec::new();
    let mut last = None;
    let seconds = |nanos: u64| nanos as f64 / NANOS_PER_SEC as f64;
    sweep(jobs, |level| {
        let at = seconds(level.from);
        processors.push((at, level.processors as f64));
        running.push((at, level.jobs as f64));
        last = Some(seconds(level.until));
    });
    if let Some(end) = last {
        processors.push((end, 0.0));
        running.push((end, 0.0));
    }
    let of = |title: &str, label: &str, points| {
        Chart::new(title)
            .x(log_time())
            .y(Axis::linear(label, Unit::Plain))
            .series(Series::area(label, points))
    };
    let processors = of("Demand in processors", "processors", processors);
    let peak = trace.demand.peak_processors.unwrap_or(0);
    // A machine many times larger than any demand would flatten the curve.
    let machine = trace.max_processors.filter(|has| *has <= 2 * peak);
    (
        with_machine(processors, machine),
        of("Demand in jobs", "jobs", running),
    )
}

pub(super) fn hourly(trace: &Characterization) -> Chart {
    let heights: Vec<f64> = trace.arrivals.hourly.iter().map(|n| *n as f64).collect();
    let label = match trace.arrivals.clock {
        ClockSource::StartTime | ClockSource::TimeZone => "hour of the day, local time",
        ClockSource::Utc => "hour of the day, UTC",
        ClockSource::Trace => "hour, counted from the log's time 0",
    };
    Chart::new("Arrivals by hour")
        .half()
        .x(Axis::categories(
            label,
            (0..24).map(|hour| hour.to_string()),
        ))
        .y(Axis::linear("jobs", Unit::Plain))
        .series(Series::bars("jobs", heights))
}

pub(super) fn daily(trace: &Characterization) -> Chart {
    let profile = &trace.arrivals;
    let heights = profile.per_day().to_vec();
    let (label, names): (&str, Vec<String>) = match profile.clock {
        ClockSource::Trace => (
            "day of the log, modulo 7",
            (0..7).map(|day| day.to_string()).collect(),
        ),
        _ => ("day of the week", WEEKDAYS.map(str::to_owned).to_vec()),
    };
    Chart::new("Arrivals by day")
        .half()
        .x(Axis::categories(label, names))
        .y(Axis::linear("jobs per day", Unit::Plain))
        .series(Series::bars("jobs per day", heights))
}

fn cdf(title: &str, x: Axis, series: Series) -> Chart {
    Chart::new(title)
        .half()
        .x(x)
        .y(Axis::linear("share", Unit::Fraction).range(0.0, 1.0))
        .series(series)
}

pub(super) fn interarrival(submits: &[SimDuration]) -> Chart {
    cdf(
        "Inter-arrival times",
        Axis::log("inter-arrival time", Unit::Seconds),
        Series::cdf("inter-arrival times", interarrival_s(submits)),
    )
}

pub(super) fn autocorrelation(submits: &[SimDuration]) -> Chart {
    let lags: Vec<usize> = (1..=LAGS).collect();
    let of = arrivals::autocorrelation(&interarrival_s(submits), &lags);
    let known: Vec<(f64, f64)> = of
        .iter()
        .filter_map(|at| Some((at.lag as f64, at.r?)))
        .collect();
    Chart::new("Autocorrelation of inter-arrival times")
        .half()
        .x(Axis::linear("lag", Unit::Named("jobs".into())))
        .y(Axis::linear("coefficient", Unit::Plain)
            .include(0.0)
            .include(0.2))
        .series(Series::line("coefficient", known))
}

pub(super) fn processors(sizes: &[u32]) -> Chart {
    let counts: Vec<(f64, u64)> = SizeCounts::of(sizes)
        .iter()
        .map(|(size, count)| (f64::from(size), count))
        .collect();
    cdf(
        "Processors",
        Axis::log("processors", Unit::Plain),
        Series::cdf_counts("processors", counts),
    )
}

pub(super) fn run_times(run_times: &[SimDuration]) -> Chart {
    cdf(
        "Run times",
        Axis::log("run time", Unit::Seconds),
        Series::cdf("run times", run_times.iter().map(|run| run.as_secs_f64())),
    )
}

pub(super) fn batch_sizes(batches: &[Batch]) -> Chart {
    cdf(
        "Batch sizes",
        Axis::log("jobs in a batch", Unit::Plain),
        Series::cdf("batches", batches.iter().map(|batch| f64::from(batch.jobs))),
    )
}

pub(super) fn batch_spread(batches: &[Batch], of: &BatchStatistics) -> Chart {
    let points: Vec<(f64, f64)> = batches
        .iter()
        .map(|batch| (f64::from(batch.jobs), batch.orders_of_magnitude()))
        .collect();
    let largest = of.size.max.unwrap_or(2.0);
    let means: Vec<(f64, f64)> = of
        .by_size
        .iter()
        .map(|class| {
            let to = class.to.map_or(largest, f64::from).min(largest);
            let middle = (f64::from(class.from) * to).sqrt();
            (middle, class.orders_of_magnitude_mean)
        })
        .collect();
    Chart::new("Spread of run times inside batches")
        .half()
        .x(Axis::log("jobs in a batch", Unit::Plain))
        .y(Axis::linear(
            "longest over shortest run",
            Unit::Named("powers of ten".into()),
        ))
        .series(Series::scatter("batches", points).color(Color::Muted))
        .series(
            Series::line("mean by size", means)
                .color(Color::Series(1))
                .dash(0),
        )
}

/// Clusters with a curve of the hourly load; more would hide each other.
const HOURLY_CURVES: usize = 4;

/// Cumulative and hourly load of the busiest clusters.
pub(super) fn clusters(all: &Clusters) -> (Chart, Chart) {
    let series = &all.series;
    let normalized = all.loads.iter().all(|load| load.processors.is_some());
    let label = match normalized {
        true => "jobs per processor",
        false => "jobs",
    };
    let mut cumulative = Chart::new("Cumulative load of the clusters")
        .x(log_time())
        .y(Axis::linear(label, Unit::Plain));
    let mut hourly = Chart::new("Hourly load of the clusters")
        .x(log_time())
        .y(Axis::linear("jobs in the busiest hour", Unit::Plain));
    for (at, curve) in series.curves.iter().enumerate() {
        let name = all.label(curve.cluster);
        let ends = series.at_s.iter().map(|at| at + series.bin_s);
        let sums: Vec<(f64, f64)> = ends.zip(curve.cumulative.iter().copied()).collect();
        cumulative = cumulative.series(Series::line(name.clone(), sums));
        if at < HOURLY_CURVES {
            let peaks = curve.hourly_max.iter().map(|count| *count as f64);
            let peaks: Vec<(f64, f64)> = series.at_s.iter().copied().zip(peaks).collect();
            hourly = hourly.series(Series::line(name, peaks));
        }
    }
    (cumulative, hourly)
}
