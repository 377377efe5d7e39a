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

impl Group {
    /// A statistic that may be as small as it likes.
    const fn upper(self, name: &'static str, what: &'static str) -> Statistic {
        self.judged(Side::Upper, name, what)
    }

    /// A statistic that may be as large as it likes.
    const fn lower(self, name: &'static str, what: &'static str) -> Statistic {
        self.judged(Side::Lower, name, what)
    }

    /// A statistic that has a right size.
    const fn both(self, name: &'static str, what: &'static str) -> Statistic {
        self.judged(Side::Both, name, what)
    }

    const fn judged(self, side: Side, name: &'static str, what: &'static str) -> Statistic {
        Statistic {
            name,
            group: self,
            side,
            what,
            margin: None,
        }
    }
}

impl Statistic {
    const fn within(self, margin: f64) -> Statistic {
        Statistic {
            margin: Some(margin),
            ..self
        }
    }

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
    use Group::{
        Arrivals, Association, Batches, Classes, Clusters, Hours, Marginals, Order, Shares,
    };
    [
        Marginals
        .upper("processors.ks", "distance of processor CDFs")
        .within(KS),
        Marginals
        .upper("run_time.ks", "distance of run-time CDFs")
        .within(KS),
        Marginals.both("serial.share", "share of single-processor jobs"),
        Marginals
        .both(
        "demand.ratio",
        "mean run time x processors over the original's",
        )
        .within(0.10),
        Classes.upper("classes.tv", "shares of job classes, total variation"),
        Classes.upper("classes.worst", "job class furthest from its share"),
        Classes.upper("profiles.tv", "shares of k-means job profiles, total variation"),
        Shares.upper("users.tv", "shares of users, total variation"),
        Shares.upper("users.worst", "user furthest from its share"),
        Shares.upper("users.demand_tv", "shares of users in demand, total variation"),
        Shares.upper("queues.tv", "shares of queues, total variation"),
        Shares.upper("queues.worst", "queue furthest from its share"),
        Shares.upper("executables.tv", "shares of executables, total variation"),
        Shares.upper("executables.worst", "executable furthest from its share"),
        Hours.upper("hours.tv", "arrivals by hour of day, total variation"),
        Hours.upper("hours.worst", "hour of day furthest from its share"),
        Arrivals
        .upper("arrivals.ks", "distance of submit-time CDFs")
        .within(KS),
        Arrivals.upper(
        "stretches.worst",
        "stretch of the window furthest from its number of jobs",
        ),
        Arrivals.upper("demand.ks", "distance of cumulated demand over submit time"),
        Batches
        .upper("interarrival.ks", "distance of inter-arrival CDFs")
        .within(KS),
        Batches.both("interarrival.cv", "variation of inter-arrival times"),
        Batches.both("batches.share", "share of jobs in batches"),
        Order.both("processors.lag1", "autocorrelation of processors"),
        Order.both("run_time.lag1", "autocorrelation of run times"),
        Order.both("users.repeat", "share of jobs after one of the same user"),
        Association.both("processors.time", "sizes by submit time"),
        Association.both("run_time.time", "run times by submit time"),
        Association.both("users.time", "users by submit time"),
        Clusters.upper("clusters.wcss", "distance of the WCSS curves"),
        Clusters.lower("clusters.ari", "agreement of the clusterings (adjusted Rand index)"),
        Clusters.upper("clusters.match", "work to turn one set of clusters into the other"),
    ]
};

/// Values by name; an undefined one is absent.
pub(super) type Values = std::collections::BTreeMap<&'static str, f64>;
