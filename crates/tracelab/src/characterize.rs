//! What a trace is like: tables, profiles, demand (LSAP 4.2, DMM 2.2 and 5.1).
//!
//! [`characterize`] computes everything at once; the parts are plain functions
//! over [`Columns`], so that a window of a trace, a sample of it or a generated
//! workload can be measured alike. `docs/trace-info.md` has every figure.
//!
//! ```
//! use gridrig_tracelab::characterize::{Options, characterize};
//! use gridrig_tracelab::format::{Format, TraceReader};
//! use gridrig_tracelab::load::load_from;
//! use gridrig_tracelab::spec::SizeFrom;
//!
//! let text = "; MaxProcs: 8\n\
//!             1 0 -1 90 4 -1 -1 4 300 -1 1 7 1 -1 0 -1 -1 -1\n\
//!             2 60 -1 30 2 -1 -1 2 300 -1 1 7 1 -1 0 -1 -1 -1\n";
//! let mut reader = TraceReader::new(Format::Swf, text.as_bytes(), "tiny.swf");
//! let loaded = load_from(&mut reader, SizeFrom::Allocated).unwrap();
//! let trace = characterize(&loaded, &Options::default());
//! assert_eq!(trace.demand.peak_processors, Some(6));
//! assert_eq!(trace.demand.peak_processors_at_s, Some(60.0));
//! assert_eq!(trace.batches.count, 1);
//! ```

pub mod arrivals;
pub mod batches;
pub(crate) mod bins;
pub mod calendar;
pub mod clusters;
pub mod demand;
pub mod profile;
pub mod sheet;
pub mod sizes;

use crate::format::NAMED;
use crate::load::{Loaded, TraceJob};
use arrivals::{ArrivalProfile, Autocorrelation, autocorrelation, interarrival_s};
use batches::{BATCH_WINDOW, BatchStatistics};
use calendar::Clock;
use clusters::{ClusterField, Clusters, clusters};
use demand::Demand;
use gridrig_core::time::SimDuration;
use gridrig_results::stats::Distribution;
use profile::Profile;
use serde::Serialize;
use sizes::{SizeCdf, SizeCounts, SizeShares, run_time_percentiles_s};
use std::collections::{BTreeMap, BTreeSet};

/// The columns of a trace that figures are made from, in its order: they walk it
/// some thirty times, each over what it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Submit times, from the log's time 0.
    pub submits: Vec<SimDuration>,
    /// Run times by the wall clock.
    pub run_times: Vec<SimDuration>,
    /// Processors of each job, at least 1.
    pub sizes: Vec<u32>,
    /// Who submitted each job, where the trace says so.
    pub users: Vec<Option<u32>>,
}

impl Columns {
    /// Those of some jobs.
    pub fn of(jobs: &[TraceJob]) -> Self {
        Columns {
            submits: jobs.iter().map(|job| job.submit).collect(),
            run_times: jobs.iter().map(|job| job.run_time).collect(),
            sizes: jobs.iter().map(|job| job.processors).collect(),
            users: jobs.iter().map(TraceJob::user).collect(),
        }
    }

    /// Submit time, run time and size of each job.
    pub fn rows(&self) -> impl Iterator<Item = (SimDuration, SimDuration, u32)> + Clone + '_ {
        let times = self.submits.iter().zip(&self.run_times);
        let rows = times.zip(&self.sizes);
        rows.map(|((submit, run_time), size)| (*submit, *run_time, *size))
    }

    /// Run time x processors of each job in processor-nanoseconds.
    pub fn demands(&self) -> impl Iterator<Item = u128> + '_ {
        let rows = self.run_times.iter().zip(&self.sizes);
        rows.map(|(run, size)| u128::from(*size) * u128::from(run.as_nanos()))
    }
}

/// What the header does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Processors of the machine; `None` takes the header's.
    pub processors: Option<u64>,
    /// Processors of single clusters, by their number in the trace.
    pub cluster_processors: BTreeMap<u32, u64>,
}

/// Lags of the autocorrelation, in jobs.
const LAGS: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/// Most bins of a series over time.
const BINS: usize = 200;

/// Where the number of processors comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessorsFrom {
    /// The user.
    Option,
    /// `MaxProcs` of the header.
    MaxProcs,
    /// `MaxNodes` of the header, which has no `MaxProcs`.
    MaxNodes,
    /// `Processors` of a GWF header.
    Processors,
}

/// Distinct values of the fields that describe who and what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distinct {
    /// Field 12.
    pub users: u64,
    /// Field 13.
    pub groups: u64,
    /// Field 14.
    pub executables: u64,
    /// Field 15.
    pub queues: u64,
    /// Field 16.
    pub partitions: u64,
    /// Sites of submission (GWF).
    pub sites: u64,
}

/// A trace in figures. The order of the fields is that of `--json`; times are
/// seconds, instants count from the log's time 0, shares lie between 0 and 1,
/// and what is undefined is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Characterization {
    /// Format of the file.
    pub format: &'static str,
    /// Jobs that ran; everything below is about these.
    pub jobs: u64,
    /// Lines that are no usable job, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// From the first to the last submission (s).
    pub span_s: f64,
    /// Processors of the machine; null where nobody says.
    pub max_processors: Option<u64>,
    /// Run times (LSAP Table 1).
    pub run_time_s: Distribution,
    /// Sizes (LSAP Table 2).
    pub processors: Distribution,
    /// Gaps between neighbours.
    pub interarrival_s: Distribution,
    /// Demand with unlimited resources (LSAP Figures 7 and 8).
    pub demand: Demand,
    /// Arrivals over the day and the week.
    pub arrivals: ArrivalProfile,
    /// Of the inter-arrival times.
    pub autocorrelation: Vec<Autocorrelation>,
    /// Shares of single-processor, power-of-two and other jobs.
    pub sizes: SizeShares,
    /// Batch submissions (DMM 5.1).
    pub batches: BatchStatistics,
    /// Load of the clusters that the trace names (DMM 2.2); null where it
    /// names none.
    pub clusters: Option<Clusters>,
    /// Distribution function of sizes.
    pub processors_cdf: SizeCdf,
    /// 0 %, 1 %, ... 100 % quantiles of run times (s).
    pub run_time_percentiles_s: Vec<f64>,
    /// Run time and size over time (LSAP Figures 5 and 6).
    pub profile: Profile,
    /// Offered load: run time x processors over processors x span; null where
    /// one of them is unknown or 0.
    pub offered_load: Option<f64>,
    /// Where `max_processors` comes from; null where nobody says.
    pub max_processors_from: Option<ProcessorsFrom>,
    /// Jobs that failed or were cancelled after they ran.
    pub failed: u64,
    /// Distinct users and so on.
    pub distinct: Distinct,
    /// First submission (s of the log).
    pub first_submit_s: f64,
    /// The same as a local date; null where no calendar is known.
    pub first_submit: Option<String>,
    /// Last submission as a local date.
    pub last_submit: Option<String>,
    /// The file as it was named.
    pub file: String,
    /// SHA-256 of the file on disk, in hex.
    pub sha256: String,
    /// What the reader of these figures should know.
    pub warnings: Vec<String>,
}

/// Computes everything that is known about a trace.
pub fn characterize(loaded: &Loaded, options: &Options) -> Characterization {
    let distinct = distinct(&loaded.jobs);
    let jobs = &Columns::of(&loaded.jobs);
    let submits = &jobs.submits;
    let clock = Clock::of(&loaded.header);
    let (max_processors, max_processors_from) = machine(loaded, options);
    let first = submits.first().copied().unwrap_or_default();
    let last = submits.last().copied().unwrap_or_default();
    let span = last - first;
    let gaps = interarrival_s(submits);
    let counts = SizeCounts::of(&jobs.sizes);
    let clusters = ClusterField::of(&distinct)
        .and_then(|field| clusters(loaded, field, &options.cluster_processors, &clock, BINS));
    let mut trace = Characterization {
        format: loaded.format.name(),
        jobs: submits.len() as u64,
        skipped: loaded.skipped.clone(),
        span_s: span.as_secs_f64(),
        max_processors,
        run_time_s: Distribution::of(jobs.run_times.iter().map(|run| run.as_secs_f64())),
        processors: Distribution::of(jobs.sizes.iter().map(|size| f64::from(*size))),
        autocorrelation: autocorrelation(&gaps, &LAGS),
        interarrival_s: Distribution::of(gaps),
        demand: Demand::of(jobs, BINS, max_processors),
        arrivals: ArrivalProfile::of(submits, &clock),
        sizes: SizeShares::of(jobs, &counts),
        batches: BatchStatistics::of(jobs, BATCH_WINDOW),
        clusters,
        processors_cdf: counts.cdf(),
        run_time_percentiles_s: run_time_percentiles_s(&jobs.run_times),
        profile: Profile::of(jobs, BINS),
        offered_load: max_processors.and_then(|has| offered_load(jobs, span, has)),
        max_processors_from,
        failed: loaded.jobs.iter().filter(|job| job.failed).count() as u64,
        distinct,
        first_submit_s: first.as_secs_f64(),
        first_submit: clock.date(first),
        last_submit: clock.date(last),
        file: loaded.file.clone(),
        sha256: loaded.sha256.clone(),
        warnings: Vec::new(),
    };
    trace.warnings = warnings(loaded, options, &clock, &trace);
    trace
}

fn machine(loaded: &Loaded, options: &Options) -> (Option<u64>, Option<ProcessorsFrom>) {
    let header = &loaded.header;
    let candidates = [
        (options.processors, ProcessorsFrom::Option),
        (header.number("MaxProcs"), ProcessorsFrom::MaxProcs),
        (header.number("MaxNodes"), ProcessorsFrom::MaxNodes),
        (header.number("Processors"), ProcessorsFrom::Processors),
    ];
    let known = |(count, from): (Option<u64>, _)| Some((count.filter(|count| *count > 0)?, from));
    candidates.into_iter().find_map(known).unzip()
}

/// Demand over capacity; `None` without span or processors.
pub fn offered_load(jobs: &Columns, span: SimDuration, processors: u64) -> Option<f64> {
    let capacity = u128::from(processors) * u128::from(span.as_nanos());
    (capacity > 0).then(|| jobs.demands().sum::<u128>() as f64 / capacity as f64)
}

/// How many different ids each field has.
fn distinct(jobs: &[TraceJob]) -> Distinct {
    let [users, groups, executables, queues, partitions, sites, ..] =
        std::array::from_fn::<_, { NAMED.len() }, _>(|field| {
            let mut ids: Vec<u32> = jobs.iter().filter_map(|job| job.ids[field]).collect();
            ids.dedup();
            ids.sort_unstable();
            ids.dedup();
            ids.len() as u64
        });
    Distinct {
        users,
        groups,
        executables,
        queues,
        partitions,
        sites,
    }
}

/// What the reader of the figures should know.
fn warnings(
    loaded: &Loaded,
    options: &Options,
    clock: &Clock,
    trace: &Characterization,
) -> Vec<String> {
    let file = &loaded.file;
    let mut warnings = loaded.warnings.clone();
    let mut warn = |text: String| warnings.push(format!("{file}: {text}"));
    if loaded.header.entries().is_empty() {
        warn("the trace has no header".to_owned());
    }
    let widest = trace.processors.max.unwrap_or(0.0);
    match (trace.max_processors, trace.max_processors_from) {
        (None, _) => warn(
            "the processors of the machine are not known (--processors says them), so there is \
             no offered load"
                .to_owned(),
        ),
        (Some(has), Some(ProcessorsFrom::MaxNodes)) => warn(format!(
            "the header has no MaxProcs; MaxNodes = {has} is used instead"
        )),
        _ => {}
    }
    if let Some(has) = trace.max_processors.filter(|has| (*has as f64) < widest) {
        warn(format!(
            "the widest job has {widest} processors, the machine {has}"
        ));
    }
    match clock.source {
        calendar::ClockSource::Trace => warn(
            "the header has no UnixStartTime: hours and days count from the log's time 0"
                .to_owned(),
        ),
        calendar::ClockSource::Utc => {
            warn("the header gives no usable time zone: hours and days are UTC".to_owned());
        }
        _ if clock.contradiction => warn(format!(
            "the header's TimeZone contradicts StartTime; {}, by StartTime, is used",
            clock.zone_name()
        )),
        _ => {}
    }
    if trace.batches.jobs_without_user > 0 {
        warn(format!(
            "{} jobs have no user and belong to no batch",
            trace.batches.jobs_without_user
        ));
    }
    if let Some(unknown) = unknown_clusters(options, trace.clusters.as_ref()) {
        warn(unknown);
    }
    warnings
}

/// Says which sizes were given for clusters that the trace does not have.
fn unknown_clusters(options: &Options, clusters: Option<&Clusters>) -> Option<String> {
    let known: BTreeSet<u32> = clusters
        .iter()
        .flat_map(|clusters| clusters.loads.iter().map(|load| load.cluster))
        .collect();
    let given = options.cluster_processors.keys();
    let unknown: Vec<String> = given
        .filter(|cluster| !known.contains(cluster))
        .map(u32::to_string)
        .collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "the trace names no cluster {}; its processors are ignored",
            unknown.join(", ")
        )
    })
}
