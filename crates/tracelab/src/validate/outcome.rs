//! The verdict, and everything it rests on.

use super::behaviour::{Behaviour, behaviour};
use super::curves::{Curves, curves};
use super::demand::Demand;
use super::encode::Encoded;
use super::envelope::{Band, Envelope, envelope};
use super::identity::Identity;
use super::job::Pair;
use super::measure::{GAP_BINS, Measured, Ruler};
use super::sampling::Design;
use super::statistics::{Group, STATISTICS, Side, Statistic, StatisticReport, Values};
use super::stretches::Stretch;
use super::{LEVEL, MOST_CLUSTERS, Options, ValidateError, sampling};
use crate::linkage::Result;
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

/// How the reduction stands among the samples of one design.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// The design.
    pub design: Design,
    /// Whether each statistic lies within its margin or in the common envelope.
    pub inside: bool,
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
    /// Whether the reduction is anything but different.
    pub passed: bool,
    /// The verdict.
    pub verdict: Agreement,
    /// The design that the reduction fits best; the statistics are judged by its
    /// samples.
    pub judged_by: Design,
    /// How it stands among the samples of each design.
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
    pub fn passed(&self) -> bool {
        self.passed
    }
}

/// Draws, measures and judges.
pub(super) fn judge(pair: &Pair, options: &Options) -> Result<Validation, ValidateError> {
    let encoded = Encoded::new(pair, options.seed);
    let ruler = Ruler::new(&encoded, MOST_CLUSTERS)?;
    let all: Vec<u32> = (0..encoded.reduced.len() as u32).collect();
    let observed = ruler.measure(&encoded.reduced, &all)?;
    let lost = lost(&encoded);
    let mut designs = vec![Design::Random];
    // A thinned trace was sampled at random whatever it was before.
    if options.thin.is_none() {
        designs.push(Design::Systematic);
        designs.extend((lost > 0.0).then_some(Design::SystematicWithLosses));
    }
    let judged = designs.into_iter().map(|design| {
        let drawn = draw(&ruler, design, lost, options)?;
        Ok(Judged::new(design, &observed, &drawn, options))
    });
    let judged = judged.collect::<Result<Vec<Judged>>>()?;
    let best = judged.iter().fold(&judged[0], |best, other| {
        let (ours, theirs) = (best.order(), other.order());
        let further = theirs.0.cmp(&ours.0).then(theirs.1.total_cmp(&ours.1));
        if further.is_lt() { other } else { best }
    });
    let statistics = best.reports.clone();
    let requirements = requirements(&statistics, &observed.values, options)?;
    let demand = Demand::of(&encoded, &observed.values, options);
    let behaviour = match options.thin {
        Some(_) => None,
        None => behaviour(pair, options),
    };
    let passed = pair.identity.holds()
        && best.inside()
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
        judged_by: best.design,
        standing: judged.iter().map(Judged::standing).collect(),
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

/// The share of jobs that the reduced trace lost, if it was a systematic sample; 0
/// where its jobs cannot be looked up.
fn lost(encoded: &Encoded) -> f64 {
    let places = encoded.reduced.iter().map(|row| row.origin);
    let places: Option<Vec<u32>> = places.collect();
    places.map_or(0.0, |mut places| {
        places.sort_unstable();
        sampling::lost(encoded.reference.len(), &places)
    })
}

/// Draws the samples of a design and measures them, on all processors. Each
/// sample has its own stream, so the answer does not depend on their number.
fn draw(ruler: &Ruler<'_>, design: Design, lost: f64, options: &Options) -> Result<Vec<Measured>> {
    let (count, wanted) = (ruler.encoded.reference.len(), ruler.encoded.reduced.len());
    let one = |number: u32| {
        let name = format!("validate-{}-{number}", design.name());
        let mut stream = rng::stream(options.seed, &name);
        let kept = match design {
            Design::Random => sampling::random(count, wanted, &mut stream),
            Design::Systematic => sampling::systematic(count, wanted, &mut stream),
            Design::SystematicWithLosses => sampling::lossy(count, wanted, lost, &mut stream),
        };
        // A pattern of very few jobs may miss them all.
        let kept = match kept.is_empty() {
            true => sampling::random(count, wanted, &mut stream),
            false => kept,
        };
        ruler.measure(&ruler.encoded.reference, &kept)
    };
    (0..options.samples).into_par_iter().map(one).collect()
}

/// The reduction among the samples of one design.
struct Judged {
    design: Design,
    reports: Vec<StatisticReport>,
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
        let envelope = envelope(&sides, &observed, &samples, LEVEL);
        let bands = envelope.bands.iter().zip(&observed);
        let report = |(statistic, (band, value)): (&&Statistic, (&Band, &f64))| {
            let within = statistic.is_within(*value);
            // A generated trace is held to its samples alone.
            let within = within.filter(|_| options.thin.is_none());
            StatisticReport {
                name: statistic.name,
                group: statistic.group,
                side: statistic.side,
                what: statistic.what,
                value: *value,
                margin: statistic.margin,
                within,
                median: band.median,
                low: Some(band.low).filter(|edge| edge.is_finite()),
                high: Some(band.high).filter(|edge| edge.is_finite()),
                deviation: band.deviation,
                beyond: band.beyond,
                inside: within == Some(true) || band.deviation <= envelope.critical,
            }
        };
        Judged {
            design,
            reports: statistics.iter().zip(bands).map(report).collect(),
            envelope,
        }
    }

    fn inside(&self) -> bool {
        self.reports.iter().all(|report| report.inside)
    }

    /// The least of these fits best: all inside, and else by what the designs differ
    /// in, statistics of neighbouring jobs. What else is outside is no matter of design.
    fn order(&self) -> (bool, f64) {
        let neighbours = |it: &&StatisticReport| matches!(it.group, Group::Batches | Group::Order);
        let deviations = self.reports.iter().filter(neighbours);
        let largest = deviations.map(|it| it.deviation).fold(0.0, f64::max);
        (!self.inside(), largest / self.envelope.critical.max(1e-12))
    }

    fn standing(&self) -> Standing {
        let order =
            |a: &&StatisticReport, b: &&StatisticReport| a.deviation.total_cmp(&b.deviation);
        Standing {
            design: self.design,
            inside: self.inside(),
            deviation: self.envelope.largest,
            critical: self.envelope.critical,
            worst: self.reports.iter().max_by(order).map_or("", |it| it.name),
        }
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
            .ok_or_else(|| {
                ValidateError::UnknownStatistic(
                    requirement.to_string(),
                    values.keys().copied().collect::<Vec<_>>().join(", "),
                )
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
