//! The statistics: their names, what they mean and which way is bad.

use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

/// What a statistic is about. A whole group is judged or not.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Processors, run times and demand of the jobs.
    Marginals,
    /// Kinds of jobs by processors, run time and hour of day.
    Classes,
    /// Who submits what: users, queues, executables.
    Shares,
    /// Arrivals by hour of day.
    Hours,
    /// Arrivals and demand over the whole window.
    Arrivals,
    /// Gaps between arrivals, and batches.
    Batches,
    /// What follows what.
    Order,
    /// Which jobs come when.
    Association,
    /// The clusters of arrivals (LSAP Figure 4).
    Clusters,
}

impl Group {
    /// All groups, in the order of the report.
    pub const ALL: &'static [Group] = <Group as VariantArray>::VARIANTS;

    /// What a trace that was generated from a model can be held to: its jobs
    /// are nobody's, at no particular time.
    pub const GENERATED: [Group; 3] = [Group::Marginals, Group::Classes, Group::Hours];

    /// Its name in options and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Which deviations from random samples count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Only too large a value: distances.
    Upper,
    /// Only too small a value: agreements.
    Lower,
    /// Either.
    Both,
}

/// A statistic of a reduced trace against its original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic {
    /// Its name in reports and requirements.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// Which deviations count.
    pub side: Side,
    /// In a few words.
    pub what: &'static str,
    /// How far off it may be for the traces to be called equivalent: of a distance
    /// from 0, of a ratio from 1. `None` where only random samples tell.
    pub margin: Option<f64>,
}

/// One statistic of the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StatisticReport {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// Which deviations count.
    pub side: Side,
    /// In a few words.
    pub what: &'static str,
    /// Its value for the reduction.
    pub value: f64,
    /// How far off it may be; null where only random samples tell.
    pub margin: Option<f64>,
    /// Whether it is no further off than that; null without a margin.
    pub within: Option<bool>,
    /// Median of the samples.
    pub median: f64,
    /// Lower edge of the envelope; null where small values do not count.
    pub low: Option<f64>,
    /// Upper edge of the envelope; null where large values do not count.
    pub high: Option<f64>,
    /// Distance from the median in spreads of the samples.
    pub deviation: f64,
    /// Samples that deviate at least as far in this statistic alone.
    pub beyond: u32,
    /// Whether the value lies within its margin or in the envelope.
    pub inside: bool,
}

impl Statistic {
    /// Whether a value is no further off than the margin; `None` without one.
    pub(super) fn is_within(&self, value: f64) -> Option<bool> {
        let off = match self.side {
            Side::Both => (value - 1.0).abs(),
            Side::Upper | Side::Lower => value,
        };
        self.margin.map(|margin| off <= margin)
    }
}

/// Distances of distribution functions that do not matter.
const KS: f64 = 0.05;

/// All statistics, in the order of the report. `docs/validate.md` has the
/// formulas.
#[rustfmt::skip]
pub const STATISTICS: [Statistic; 31] = {
    use Group::{Arrivals, Association, Batches, Classes, Clusters, Hours, Marginals, Order, Shares};
    use Side::{Both, Lower, Upper};
    [
    of(Marginals, Upper, "processors.ks", "distance of processor CDFs", Some(KS)),
    of(Marginals, Upper, "run_time.ks", "distance of run-time CDFs", Some(KS)),
    of(Marginals, Both, "serial.share", "share of single-processor jobs", None),
    of(Marginals, Both, "demand.ratio",
        "mean run time x processors over the original's", Some(0.10)),
    of(Classes, Upper, "classes.tv", "shares of job classes, total variation", None),
    of(Classes, Upper, "classes.worst", "job class furthest from its share", None),
    of(Classes, Upper, "profiles.tv", "shares of k-means job profiles, total variation", None),
    of(Shares, Upper, "users.tv", "shares of users, total variation", None),
    of(Shares, Upper, "users.worst", "user furthest from its share", None),
    of(Shares, Upper, "users.demand_tv", "shares of users in demand, total variation", None),
    of(Shares, Upper, "queues.tv", "shares of queues, total variation", None),
    of(Shares, Upper, "queues.worst", "queue furthest from its share", None),
    of(Shares, Upper, "executables.tv", "shares of executables, total variation", None),
    of(Shares, Upper, "executables.worst", "executable furthest from its share", None),
    of(Hours, Upper, "hours.tv", "arrivals by hour of day, total variation", None),
    of(Hours, Upper, "hours.worst", "hour of day furthest from its share", None),
    of(Arrivals, Upper, "arrivals.ks", "distance of submit-time CDFs", Some(KS)),
    of(Arrivals, Upper, "stretches.worst",
        "stretch of the window furthest from its number of jobs", None),
    of(Arrivals, Upper, "demand.ks", "distance of cumulated demand over submit time", None),
    of(Batches, Upper, "interarrival.ks", "distance of inter-arrival CDFs", Some(KS)),
    of(Batches, Both, "interarrival.cv", "variation of inter-arrival times", None),
    of(Batches, Both, "batches.share", "share of jobs in batches", None),
    of(Order, Both, "processors.lag1", "autocorrelation of processors", None),
    of(Order, Both, "run_time.lag1", "autocorrelation of run times", None),
    of(Order, Both, "users.repeat", "share of jobs after one of the same user", None),
    of(Association, Both, "processors.time", "sizes by submit time", None),
    of(Association, Both, "run_time.time", "run times by submit time", None),
    of(Association, Both, "users.time", "users by submit time", None),
    of(Clusters, Upper, "clusters.wcss", "distance of the WCSS curves", None),
    of(Clusters, Lower, "clusters.ari", "agreement of the clusterings (adjusted Rand index)", None),
    of(Clusters, Upper, "clusters.match", "work to turn one set of clusters into the other", None),
]};

/// One row of the table.
const fn of(
    group: Group,
    side: Side,
    name: &'static str,
    what: &'static str,
    margin: Option<f64>,
) -> Statistic {
    Statistic {
        name,
        group,
        side,
        what,
        margin,
    }
}

/// Values by name; an undefined one is absent.
pub(super) type Values = std::collections::BTreeMap<&'static str, f64>;
