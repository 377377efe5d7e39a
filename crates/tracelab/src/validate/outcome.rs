//! The verdict, and everything it rests on.

use super::behaviour::{Behaviour, behaviour};
use super::curves::{Curves, curves};
use super::demand::Demand;
use super::encode::Encoded;
use super::envelope::{Envelope, envelope};
use super::identity::Identity;
use super::job::Pair;
use super::measure::{GAP_BINS, Measured, Ruler};
use super::sampling::Design;
use super::statistics::{STATISTICS, Side, Statistic, StatisticReport, Values};
use super::stretches::Stretch;
use super::{LEVEL, Options, ValidateError, sampling};
use crate::linkage::LinkageError;
use gridrig_core::rng;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a reduction is to its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Agreement {
    /// All statistics that have a margin are within it, and delays agree.
    Equivalent,
    /// It is a random sample, and it is not known to be equivalent.
    Open,
    /// It is no random sample: some statistic is beyond its margin and further off
    /// than samples are, jobs are not the original's, the load is another one and
    /// nothing says so, or a bound of the user's is missed.
    Different,
}

/// The clusters of arrivals of both traces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Clusters {
    /// Clusters of the original by the elbow of its curve.
    pub original_k: usize,
    /// Clusters of the reduced trace by the elbow of its own curve; it is cut
    /// at the original's for comparison.
    pub reduced_k: usize,
    /// Within-cluster sum of squares of the original for 1, 2, ... clusters,
    /// in square seconds.
    pub original_wcss: Vec<f64>,
    /// The same of the reduced trace, in the time of the original.
    pub reduced_wcss: Vec<f64>,
    /// Adjusted Rand index on the shared jobs; null without any.
    pub adjusted_rand_index: Option<f64>,
    /// Clusters that stand for each other.
    pub matched: Vec<MatchedCluster>,
}

/// A cluster of the original and that of the reduced trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MatchedCluster {
    /// Centre in the original, in seconds from the log's time 0.
    pub original_centre_s: f64,
    /// Centre in the reduced trace, in the time of the original.
    pub reduced_centre_s: f64,
    /// Share of the original's jobs.
    pub original_share: f64,
    /// Share of the reduced trace's jobs.
    pub reduced_share: f64,
}

/// A bound that the user set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequirementReport {
    /// As written.
    pub requirement: String,
    /// The value of its statistic.
    pub value: f64,
    /// Whether it is within the bound.
    pub met: bool,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validation {
    /// Whether the reduction is anything but different.
    pub passed: bool,
    /// The verdict.
    pub verdict: Agreement,
    /// Samples of each design.
    pub samples: u32,
    /// Share of random samples outside the envelope.
    pub level: f64,
    /// Seed of the samples.
    pub seed: u64,
    /// Jobs of the original that could have been sampled.
    pub original_jobs: u64,
    /// Jobs of the reduced trace.
    pub reduced_jobs: u64,
    /// The demand of both, and what share of it random samples keep.
    pub demand: Demand,
    /// The delays of both on clusters; null where there is no work, or too much.
    pub behaviour: Option<Behaviour>,
    /// The stretch of the window furthest from its number of jobs; null for fewer
    /// than 16 jobs.
    pub stretch: Option<Stretch>,
    /// Jobs of the original that could not, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Whether jobs are those of the original.
    pub identity: Identity,
    /// Every statistic that is judged.
    pub statistics: Vec<StatisticReport>,
    /// Statistics that the traces do not have, or that were not asked for.
    pub not_judged: Vec<&'static str>,
    /// Bounds that the user set.
    pub requirements: Vec<RequirementReport>,
    /// The clusters of arrivals.
    pub clusters: Clusters,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What the pictures show.
    #[serde(skip)]
    pub curves: Curves,
}

impl Validation {
    /// Whether the reduced trace is equivalent to the original, or open: all its
    /// jobs are jobs of the original, each statistic lies within its margin or in the
    /// envelope of one design, the load is the original's or declared, and every bound
    /// of the user's is met.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.passed
    }
}

/// Draws, measures and judges.
pub(super) fn judge(pair: &Pair, options: &Options) -> Result<Validation, ValidateError> {
    let encoded = Encoded::new(pair, options.seed);
    let ruler = Ruler::new(&encoded, options.most_clusters)?;
    let all: Vec<u32> = (0..encoded.reduced.len() as u32).collect();
    let observed = ruler.measure(&encoded.reduced, &all)?;
    // A thinned trace was sampled at random whatever it was before.
    let designs: &[Design] = match options.thin {
        Some(_) => &[Design::Random],
        None => &[Design::Random, Design::Systematic],
    };
    let mut judged: Vec<Judged> = Vec::new();
    for design in designs {
        let drawn = draw(&ruler, *design, options)?;
        judged.push(Judged::new(*design, &observed, &drawn, options));
    }
    let mut reports: Vec<Vec<StatisticReport>> =
        judged.iter().map(|it| it.reports(options)).collect();
    let statistics = reports.pop().unwrap_or_default();
    let statistics = statistics.into_iter().map(|own| better(own, &reports));
    let statistics: Vec<StatisticReport> = statistics.collect();
    let requirements = requirements(&statistics, &observed.values, options)?;
    let demand = Demand::of(&encoded, &observed.values, options);
    let behaviour = match options.thin {
        Some(_) => None,
        None => behaviour(pair, options),
    };
    let passed = pair.identity.holds()
        && statistics.iter().all(|s| s.inside)
        && demand.load_is_known()
        && requirements.iter().all(|requirement| requirement.met);
    let agrees = behaviour.as_ref().is_some_and(|behaviour| behaviour.agrees);
    let within = statistics.iter().all(|s| s.within != Some(false));
    let verdict = match (passed, agrees && within) {
        (false, _) => Agreement::Different,
        (true, true) => Agreement::Equivalent,
        (true, false) => Agreement::Open,
    };
    let jobs = (encoded.reference.len() as u64, encoded.reduced.len() as u64);
    let measured: Vec<&str> = statistics.iter().map(|s| s.name).collect();
    let not_judged = STATISTICS.iter().map(|s| s.name);
    Ok(Validation {
        passed,
        verdict,
        samples: options.samples,
        level: LEVEL,
        seed: options.seed,
        original_jobs: jobs.0,
        reduced_jobs: jobs.1,
        demand,
        behaviour,
        stretch: observed.stretch,
        left_out: pair
            .left_out
            .iter()
            .map(|(reason, count)| ((*reason).to_owned(), *count))
            .collect(),
        identity: pair.identity.clone(),
        not_judged: not_judged.filter(|name| !measured.contains(name)).collect(),
        statistics,
        requirements,
        clusters: clusters(&ruler, &observed),
        notes: notes(pair),
        curves: curves(pair, &ruler, &observed),
    })
}

fn notes(pair: &Pair) -> Vec<String> {
    let mut notes = pair.notes.clone();
    if pair.reduced.len() == pair.reference.len() {
        notes.push(
            "the reduced trace has as many jobs as the original's window: every sample is the \
             window itself"
                .to_owned(),
        );
    }
    notes
}

/// Draws the samples of a design and measures them, on all processors. Each
/// sample has its own stream, so the answer does not depend on their number.
fn draw(
    ruler: &Ruler<'_>,
    design: Design,
    options: &Options,
) -> Result<Vec<Measured>, LinkageError> {
    let (count, wanted) = (ruler.encoded.reference.len(), ruler.encoded.reduced.len());
    let one = |number: u32| {
        let name = format!("validate-{}-{number}", design.name());
        let mut stream = rng::stream(options.seed, &name);
        let kept = match design {
            Design::Random => sampling::random(count, wanted, &mut stream),
            Design::Systematic => sampling::systematic(count, wanted, &mut stream),
        };
        ruler.measure(&ruler.encoded.reference, &kept)
    };
    (0..options.samples).into_par_iter().map(one).collect()
}

/// The reduction among the samples of one design.
struct Judged {
    design: Design,
    statistics: Vec<&'static Statistic>,
    observed: Vec<f64>,
    envelope: Envelope,
}

impl Judged {
    fn new(design: Design, observed: &Measured, drawn: &[Measured], options: &Options) -> Self {
        let mut observed_values = observed.values.clone();
        let mut samples: Vec<Values> = drawn.iter().map(|s| s.values.clone()).collect();
        add_gap_distances(observed, &mut observed_values, drawn, &mut samples);
        let wanted = |statistic: &&Statistic| {
            let asked = options.groups.as_ref();
            asked.is_none_or(|groups| groups.contains(&statistic.group))
                && observed_values.contains_key(statistic.name)
                && samples.iter().all(|s| s.contains_key(statistic.name))
        };
        let statistics: Vec<&'static Statistic> = STATISTICS.iter().filter(wanted).collect();
        let sides: Vec<Side> = statistics.iter().map(|s| s.side).collect();
        let observed: Vec<f64> = statistics.iter().map(|s| observed_values[s.name]).collect();
        let of_samples = |s: &&Statistic| samples.iter().map(|values| values[s.name]).collect();
        let samples: Vec<Vec<f64>> = statistics.iter().map(of_samples).collect();
        Judged {
            design,
            envelope: envelope(&sides, &observed, &samples, LEVEL),
            statistics,
            observed,
        }
    }

    fn reports(&self, options: &Options) -> Vec<StatisticReport> {
        let bands = self.envelope.bands.iter().zip(&self.observed);
        let pairs = self.statistics.iter().zip(bands);
        pairs
            .map(|(statistic, (band, value))| {
                // A generated trace is held to its samples alone.
                let within = statistic
                    .is_within(*value)
                    .filter(|_| options.thin.is_none());
                StatisticReport {
                    design: self.design,
                    margin: statistic.margin,
                    within,
                    name: statistic.name,
                    group: statistic.group,
                    side: statistic.side,
                    what: statistic.what,
                    value: *value,
                    median: band.median,
                    low: Some(band.low).filter(|edge| edge.is_finite()),
                    high: Some(band.high).filter(|edge| edge.is_finite()),
                    deviation: band.deviation,
                    beyond: band.beyond,
                    inside: within == Some(true) || band.deviation <= self.envelope.critical,
                }
            })
            .collect()
    }
}

/// A statistic as the design sees it whose samples it fits better.
fn better(own: StatisticReport, others: &[Vec<StatisticReport>]) -> StatisticReport {
    let others = others
        .iter()
        .flatten()
        .filter(|other| other.name == own.name);
    let order = |report: &StatisticReport| (!report.inside, report.deviation);
    others.fold(own, |best, other| {
        let (a, b) = (order(&best), order(other));
        match b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).is_lt() {
            true => *other,
            false => best,
        }
    })
}

/// Gaps between the jobs of a sample are longer than those of the original, so
/// a sample's distribution of gaps is compared with the mean one of all samples
/// and the observation.
fn add_gap_distances(
    observed: &Measured,
    observed_values: &mut Values,
    drawn: &[Measured],
    samples: &mut [Values],
) {
    let count = (drawn.len() + 1) as f64;
    let all = drawn.iter().chain([observed]);
    let mut mean = vec![0.0; GAP_BINS];
    for measured in all {
        for (mean, share) in mean.iter_mut().zip(&measured.gaps) {
            *mean += share / count;
        }
    }
    let apart = |measured: &Measured| {
        let pairs = measured.gaps.iter().zip(&mean);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    observed_values.insert("interarrival.ks", apart(observed));
    for (values, measured) in samples.iter_mut().zip(drawn) {
        values.insert("interarrival.ks", apart(measured));
    }
}

fn requirements(
    statistics: &[StatisticReport],
    values: &Values,
    options: &Options,
) -> Result<Vec<RequirementReport>, ValidateError> {
    let report = |requirement: &super::Requirement| {
        let judged = statistics.iter().find(|s| s.name == requirement.name);
        let value = judged
            .map(|s| s.value)
            .or_else(|| values.get(requirement.name).copied())
            .ok_or_else(|| ValidateError::UnknownStatistic {
                name: requirement.to_string(),
                known: values.keys().copied().collect::<Vec<_>>().join(", "),
            })?;
        Ok(RequirementReport {
            requirement: requirement.to_string(),
            value,
            met: requirement.met_by(value),
        })
    };
    options.requirements.iter().map(report).collect()
}

fn clusters(ruler: &Ruler<'_>, observed: &Measured) -> Clusters {
    let (original, reduced) = (&ruler.arrivals, &observed.arrivals);
    let seconds = super::arrivals::UNIT_NS as f64 / 1e9;
    let matched = reduced.matched(original);
    Clusters {
        original_k: original.elbow,
        reduced_k: reduced.elbow,
        original_wcss: original.wcss.clone(),
        reduced_wcss: reduced.wcss.clone(),
        adjusted_rand_index: observed.values.get("clusters.ari").copied(),
        matched: matched
            .iter()
            .map(|(a, b)| MatchedCluster {
                original_centre_s: original.shape[*a].0 * seconds,
                reduced_centre_s: reduced.shape[*b].0 * seconds,
                original_share: original.shape[*a].1,
                reduced_share: reduced.shape[*b].1,
            })
            .collect(),
    }
}
