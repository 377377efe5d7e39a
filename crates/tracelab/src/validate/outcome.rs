//! The verdict, and everything it rests on.

use super::curves::{Curves, curves};
use super::encode::Encoded;
use super::envelope::{Envelope, envelope};
use super::identity::Identity;
use super::job::Pair;
use super::measure::{GAP_BINS, Measured, Ruler};
use super::power::{self, Demand, Power};
use super::statistics::{STATISTICS, Side, Statistic, StatisticReport, Values};
use super::{LEVEL, Options, ValidateError, sampling};
use crate::linkage::LinkageError;
use gridrig_core::rng;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde::Serialize;
use std::collections::BTreeMap;

/// How random samples are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Design {
    /// Every set of jobs of this size is equally likely.
    Random,
    /// Every so many jobs, as `keep = "m/n"` does.
    Systematic,
}

impl Design {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How the reduction stands among the samples of one design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// The design.
    pub design: Design,
    /// Whether all statistics lie within the common envelope.
    pub inside: bool,
    /// (beyond + 1) / (samples + 1).
    pub p_value: f64,
    /// Samples whose largest deviation is at least that of the reduction.
    pub beyond: u32,
    /// The largest deviation of the reduction.
    pub deviation: f64,
    /// The deviation at the edge of the envelope.
    pub critical: f64,
    /// The statistic that deviates most.
    pub worst: &'static str,
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
    /// The verdict; see [`Validation::passed`].
    pub passed: bool,
    /// The design in whose envelope the reduction is judged: the one it fits
    /// better.
    pub judged_by: Design,
    /// How it stands in each design.
    pub standing: Vec<Standing>,
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
    /// What the verdict could have told.
    pub power: Power,
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
    /// Whether the reduced trace is one that random sampling gives: all its
    /// jobs are jobs of the original, all its statistics lie within the common
    /// envelope of one design, and every bound of the user's is met.
    pub fn passed(&self) -> bool {
        self.passed
    }

    /// The verdict in a sentence.
    pub fn summary(&self) -> String {
        let standing = self.standing.iter().find(|s| s.design == self.judged_by);
        let (beyond, p_value, inside) =
            standing.map_or((0, 0.0, false), |s| (s.beyond, s.p_value, s.inside));
        let statistics = self.statistics.len();
        let place = format!(
            "the common 99 % envelope of {} {} samples ({beyond} of them deviate as far, p = \
             {p_value:.3})",
            self.samples,
            self.judged_by.name()
        );
        if self.passed {
            let little = self.power.reservation();
            return format!("all {statistics} statistics lie within {place}{little}");
        }
        let outside = self.statistics.iter().filter(|s| !s.inside).count();
        let mut reasons = Vec::new();
        if !inside {
            reasons.push(format!(
                "{outside} of {statistics} statistics lie outside {place}"
            ));
        }
        if !self.identity.holds() {
            reasons.push("jobs are not those of the original".to_owned());
        }
        let missed = self.requirements.iter().filter(|r| !r.met).count();
        if missed > 0 {
            reasons.push(format!("{missed} requirements are not met"));
        }
        reasons.join("; ")
    }

    /// Why it did not pass, one line for each reason.
    pub fn failures(&self) -> Vec<String> {
        let mut failures = self.identity.faults();
        let edge = |edge: Option<f64>| edge.map_or("..".to_owned(), |e| format!("{e:.4}"));
        for statistic in self.statistics.iter().filter(|s| !s.inside) {
            failures.push(format!(
                "{} = {:.4}: outside the envelope [{}, {}] of {} samples, {:.1} spreads \
                 from their median {:.4} ({})",
                statistic.name,
                statistic.value,
                edge(statistic.low),
                edge(statistic.high),
                self.judged_by.name(),
                statistic.deviation,
                statistic.median,
                statistic.what,
            ));
        }
        for bound in self.requirements.iter().filter(|r| !r.met) {
            failures.push(format!("{} = {:.4}", bound.requirement, bound.value));
        }
        failures
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
    let order = |judged: &&Judged| judged.envelope.largest / judged.envelope.critical.max(1e-12);
    let best = judged
        .iter()
        .min_by(|a, b| order(a).total_cmp(&order(b)))
        .unwrap_or(&judged[0]);
    let statistics = best.reports();
    let requirements = requirements(&statistics, &observed.values, options)?;
    let standing: Vec<Standing> = judged.iter().map(Judged::standing).collect();
    let passed = pair.identity.holds()
        && best.inside()
        && requirements.iter().all(|requirement| requirement.met);
    let jobs = (encoded.reference.len() as u64, encoded.reduced.len() as u64);
    let measured: Vec<&str> = statistics.iter().map(|s| s.name).collect();
    let not_judged = STATISTICS.iter().map(|s| s.name);
    Ok(Validation {
        passed,
        judged_by: best.design,
        standing,
        samples: options.samples,
        level: LEVEL,
        seed: options.seed,
        original_jobs: jobs.0,
        reduced_jobs: jobs.1,
        demand: power::demand(&encoded, &observed.values, &statistics),
        power: power::power(jobs, &statistics),
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
             window itself, and only equality passes"
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

    fn inside(&self) -> bool {
        self.envelope.largest <= self.envelope.critical
    }

    fn standing(&self) -> Standing {
        let order = |a: &usize, b: &usize| {
            let bands = &self.envelope.bands;
            bands[*a].deviation.total_cmp(&bands[*b].deviation)
        };
        let worst = (0..self.statistics.len()).max_by(order);
        Standing {
            design: self.design,
            inside: self.inside(),
            p_value: self.envelope.p_value,
            beyond: self.envelope.beyond,
            deviation: self.envelope.largest,
            critical: self.envelope.critical,
            worst: worst.map_or("", |at| self.statistics[at].name),
        }
    }

    fn reports(&self) -> Vec<StatisticReport> {
        let bands = self.envelope.bands.iter().zip(&self.observed);
        let pairs = self.statistics.iter().zip(bands);
        pairs
            .map(|(statistic, (band, value))| StatisticReport {
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
                inside: band.deviation <= self.envelope.critical,
            })
            .collect()
    }
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
