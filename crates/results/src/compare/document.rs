//! The comparison as a document: what `--json` prints, and what tables,
//! Markdown and pages are made from.

use super::answer::{Federation, Verdict};
use crate::regret::Regret;
use crate::stats::{Judgement, Paired, Range};
use crate::threshold::Figure;
use serde::Serialize;
use std::collections::BTreeMap;

/// Runs of several policies, compared. Undefined figures are null.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Which policy is better, by how much, and how sure that is.
    pub verdict: Verdict,
    /// What federating comes to; null without `local-only`.
    pub federation: Option<Federation>,
    /// The policy that the others are held against.
    pub baseline: String,
    /// What policies are judged by, the first before all.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub primary: Vec<Figure>,
    /// What the figures are over.
    pub measured: Measured,
    /// What was paired with what.
    pub pairs: Pairs,
    /// How intervals and p-values are made.
    pub method: Method,
    /// Whether the runs may be compared at all.
    pub guard: Guard,
    /// The baseline first, then the other policies, then the bounds.
    pub policies: Vec<Policy>,
    /// Bounds that every run has to keep.
    pub thresholds: Vec<ThresholdDoc>,
    /// The first primary metric by groups of jobs.
    pub breakdown: Vec<Breakdown>,
    /// Every run that was compared, replication by replication.
    pub runs: Vec<RunDoc>,
    /// Damaged runs that were left out, and why.
    pub skipped: Vec<String>,
    /// What the runs themselves warn of.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// A figure under two policies, by the keys of the replications: runs stand in the order
    /// of the study's keys, whose texts need not differ.
    pub(crate) fn both(
        &self,
        one: &str,
        other: &str,
        figure: Figure,
    ) -> impl Iterator<Item = (&str, Option<(f64, f64)>)> {
        let ones = self.runs.iter().filter(move |run| run.policy == one);
        let others = self.runs.iter().filter(move |run| run.policy == other);
        let pairs = ones.zip(others);
        pairs.map(move |(one, other)| {
            let figures = one.figure(figure).zip(other.figure(figure));
            (one.replication.as_str(), figures)
        })
    }
}

/// What the figures are over.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Jobs that completed under every policy but bounds, summed over the
    /// replications.
    pub jobs: u64,
    /// Jobs that completed under some policy but not under all.
    pub left_out: u64,
    /// Measured jobs that completed under no policy.
    pub never_completed: u64,
    /// The sentence about them, before all others; null where they are few.
    pub text: Option<String>,
    /// Bound of the bounded slowdown, in seconds of the run: `0.167 s`.
    pub tau: String,
    /// Trace seconds in a second of the run, by run times; null if unknown.
    pub run_time_scale: Option<f64>,
    /// The traces, with the beginning of their SHA-256.
    pub traces: String,
}

/// What was paired with what.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pairs {
    /// Replications that every policy has, each different from all others. Two policies
    /// may have fewer different pairs of runs: each difference has its own `n`.
    pub n: u64,
    /// What varies between them: `window`, `sample-phase`, `seed`,
    /// `broker-phase`, `shake`, `workload` or `repeat`; `replication` if there
    /// is only one.
    pub over: String,
    /// How far they lie apart in time of the trace (`window`), or the bound of
    /// the move (`shake`), a duration; null for what has none.
    pub step: Option<String>,
    /// Different workloads among them. With one, intervals say how much its
    /// result hangs on what varies, and nothing of other workloads.
    pub workloads: u64,
    /// Their keys.
    pub keys: Vec<String>,
    /// Replications that gave the same runs as an earlier one; they count once.
    pub identical: Vec<String>,
    /// Replications that not every policy has; they are left out.
    pub unpaired: Vec<String>,
    /// Why the samples share jobs, if they do.
    pub overlap: Option<String>,
}

/// How intervals and p-values are made.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Method {
    /// Confidence level of an interval by itself, and of all simultaneous ones
    /// together.
    pub level: f64,
    /// How the intervals were made; null if there are none.
    pub interval: Option<&'static str>,
    /// Why there are none.
    pub why_none: Option<String>,
    /// How often a 95 % interval from so many pairs held the mean of skewed
    /// populations; null without intervals.
    pub coverage: Option<f64>,
    /// Why nothing but "open" is said of intervals; null if more may be.
    pub why_open: Option<String>,
    /// How primary figures are corrected.
    pub correction: &'static str,
    /// For so many comparisons: pairs of policies that compete, times primary figures.
    pub comparisons: u64,
    /// Level of each simultaneous interval: 1 - (1 - level) / comparisons.
    pub simultaneous_level: f64,
    /// The smallest difference that matters, by primary figure; 0 where any does.
    pub relevant: BTreeMap<String, f64>,
}

/// Whether runs may be compared, and what differs besides the policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guard {
    /// Whether there is no objection.
    pub comparable: bool,
    /// Why not.
    pub objections: Vec<Objection>,
    /// Settings that differ between policies; legal, and to be known.
    pub differences: Vec<String>,
}

/// A reason not to compare runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Objection {
    /// A stable name for programs: `trace`, `compression`, `version`,
    /// `cluster-model`, `measure`, `offered-load`, `entry`, `invalid`.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// Runs that it is about.
    pub runs: u64,
}

/// What a policy is in a comparison; in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The others are held against it.
    Baseline,
    /// It may win.
    Contender,
    /// It shows what is possible at best or at worst, and does not compete:
    /// `local-only`, `full-information` and one pooled cluster.
    Bound,
}

/// A policy and its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Policy {
    /// Its name in this comparison.
    pub name: String,
    /// Baseline, contender or bound.
    pub role: Role,
    /// Jobs that completed under every policy that competes and not under this
    /// bound, over all replications: its figures are over the others, and so
    /// are the baseline's in its differences. 0 for all that compete.
    pub missing_jobs: u64,
    /// By metric and statistic.
    pub metrics: BTreeMap<&'static str, BTreeMap<&'static str, Estimate>>,
    /// How its clusters were loaded.
    pub load: Load,
    /// All its measured jobs, unfinished ones too; null where every job finished
    /// under every policy.
    pub unfinished: Option<Unfinished>,
    /// Who would be better off without a federation; null without `local-only`,
    /// for itself, and where it or this policy lacks common jobs.
    pub worse_off: Option<WorseOff>,
    /// Jobs by origin and executing domain.
    pub forwarding: Vec<Forwarded>,
    /// Of the jobs that complete under every policy, those that waited longest relative to
    /// their run time.
    pub starvation: Vec<Starved>,
}

impl Policy {
    /// Its name, for a table: bounds stand in parentheses.
    pub fn shown(&self) -> String {
        match self.role {
            Role::Bound => format!("({})", self.name),
            _ => self.name.clone(),
        }
    }

    /// A figure of this policy.
    pub fn estimate(&self, figure: Figure) -> Option<&Estimate> {
        self.metrics.get(figure.metric())?.get(figure.statistic())
    }
}

/// A figure over the replications. The fields of the difference are missing
/// for the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Mean over the replications; null if it is defined in none.
    pub value: Option<f64>,
    /// The 95 % interval of that mean; null with too few repeats, or where
    /// they carry none.
    pub value_interval: Option<Range>,
    /// Difference to the baseline.
    #[serde(flatten)]
    pub paired: Option<Paired>,
    /// The corrected p-value; of primary figures of contenders, whose intervals of
    /// the difference are simultaneous.
    pub p_corrected: Option<f64>,
    /// What the difference comes to; of the same.
    pub judgement: Option<Judgement>,
}

/// How the clusters of a policy were loaded: means over the replications.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Busy / available processor-seconds of all clusters.
    pub utilization: Option<f64>,
    /// Coefficient of variation of the clusters' utilizations; null with one
    /// cluster.
    pub cv: Option<f64>,
    /// Their Gini coefficient.
    pub gini: Option<f64>,
    /// Jobs forwarded at least once / jobs.
    pub forwarding_ratio: Option<f64>,
    /// Share of the jobs that ran away from their origin.
    pub away_share: Option<f64>,
    /// Share of the jobs that ever waited for processors.
    pub waited_share: Option<f64>,
    /// Last finish - first submit.
    pub makespan_s: Option<f64>,
    /// How old the information behind its decisions was: over all
    /// replications. Null on the real clock, and for policies that look at no
    /// information or at the truth.
    pub information: Option<InformationAge>,
    /// How much later jobs would start where they were sent than at the best
    /// candidate: over all replications. Null without brokers, and for runs of
    /// before it was computed.
    pub regret: Option<Regret>,
    /// By cluster.
    pub clusters: Vec<ClusterShare>,
}

/// Figures of a policy over all its measured jobs, where some did not finish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unfinished {
    /// Completed jobs / submitted jobs.
    pub finished_share: Estimate,
    /// Median wait by Kaplan and Meier; a job that did not start has waited until it
    /// ended or the run did. Null in runs where fewer than half have started by any wait.
    pub wait_s_p50: Estimate,
    /// The 95 % quantile of the same.
    pub wait_s_p95: Estimate,
}

/// Shares of those whose mean of the primary metric is larger than under
/// `local-only` in the same replication, over all replications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorseOff {
    /// Of the domains where jobs entered.
    pub domains: Option<f64>,
    /// Of the users.
    pub users: Option<f64>,
}

/// Age of what was known of the chosen candidate when it was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InformationAge {
    /// Decisions about measured jobs: the last of each visit to a broker.
    pub decisions: u64,
    /// Those before the first report, with the load taken as idle; they have
    /// no age.
    pub before_first: u64,
    /// Mean age.
    pub mean_s: f64,
    /// Largest age.
    pub max_s: f64,
}

/// The load of a cluster: mean over the replications.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterShare {
    /// Its name.
    pub cluster: String,
    /// Busy / available processor-seconds.
    pub utilization: Option<f64>,
}

/// Jobs of one origin that ran in one domain, over all replications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forwarded {
    /// Where they were submitted.
    pub from: String,
    /// Where they ran.
    pub to: String,
    /// How many.
    pub jobs: u64,
}

/// A job that waited long for what it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Starved {
    /// Key of its replication.
    pub replication: String,
    /// What the job table says of it, by name: `job`, its number in the run,
    /// `processors`, `run_time_s` at speed 1.0, and `wait_s`, start - submit.
    #[serde(flatten)]
    pub row: BTreeMap<&'static str, serde_json::Number>,
    /// `wait_s` / max(`run_time_s`, tau).
    pub relative_wait: f64,
    /// Jobs that its cluster queued later and started earlier.
    pub overtaken_by: u64,
    /// Where it waited.
    pub cluster: Option<String>,
}

/// A bound and how the runs of a policy kept it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThresholdDoc {
    /// Such as `delay_s.p95 < 60`.
    pub require: String,
    /// The policy.
    pub policy: String,
    /// Whether every run kept it.
    pub held: bool,
    /// Runs.
    pub runs: u64,
    /// Runs that missed it.
    pub missed: u64,
    /// The figure of the worst run; null if it is undefined there.
    pub worst: Option<f64>,
    /// Key of the worst run.
    pub worst_run: String,
}

/// A metric by groups of jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Breakdown {
    /// `origin-domain`, `executing-domain`, `user`, `size` or `run-time`.
    pub by: &'static str,
    /// The metric; its mean is shown.
    pub metric: &'static str,
    /// Whether a group has the same jobs under every policy: if not, there
    /// are no differences.
    pub same_jobs: bool,
    /// The groups in order.
    pub groups: Vec<Group>,
}

/// A group of jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// Its name.
    pub group: String,
    /// One cell per policy, in their order.
    pub cells: Vec<Cell>,
}

/// A group under a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The policy.
    pub policy: String,
    /// Jobs, over all replications.
    pub jobs: u64,
    /// Their processor-seconds at speed 1.0.
    pub processor_s: f64,
    /// The mean of the metric. Intervals here are not corrected for the
    /// number of groups: they point at what to look into.
    #[serde(flatten)]
    pub estimate: Estimate,
}

/// A run and its own figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunDoc {
    /// The policy.
    pub policy: String,
    /// Key of the replication.
    pub replication: String,
    /// Its seed.
    pub seed: u64,
    /// Where it lies, as it was found.
    pub dir: String,
    /// Jobs that its figures are over.
    pub jobs: u64,
    /// By metric.
    pub metrics: BTreeMap<&'static str, RunMetric>,
}

impl RunDoc {
    /// A figure of this run.
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        let metric = self.metrics.get(figure.metric())?;
        metric.statistic(figure.statistic())
    }
}

/// A metric of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunMetric {
    /// Values.
    pub n: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95 % quantile.
    pub p95: Option<f64>,
    /// 99 % quantile.
    pub p99: Option<f64>,
}

impl RunMetric {
    /// One of its statistics.
    pub fn statistic(&self, name: &str) -> Option<f64> {
        match name {
            "mean" => self.mean,
            "p50" => self.p50,
            "p95" => self.p95,
            "p99" => self.p99,
            _ => None,
        }
    }
}
