//! The statistics: their names, what they mean and which way is bad.

use serde::Serialize;
use std::str::FromStr;

/// What a statistic is about. A whole group is judged or not.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
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
    pub const ALL: &'static [Group] = <Group as strum::VariantArray>::VARIANTS;

    /// What a trace that was generated from a model can be held to: its jobs
    /// are nobody's, at no particular time.
    pub const GENERATED: [Group; 4] = [
        Group::Marginals,
        Group::Classes,
        Group::Hours,
        Group::Batches,
    ];

    /// Its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Group::ALL
            .iter()
            .copied()
            .find(|group| group.name() == text);
        found.ok_or_else(|| {
            let names: Vec<&str> = Group::ALL.iter().map(|group| group.name()).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}

/// Which deviations from honest samples count.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Its name in reports and requirements.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// Which deviations count.
    pub side: Side,
    /// In a few words.
    pub what: &'static str,
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
    /// Whether the value lies in the envelope.
    pub inside: bool,
}

const fn of(name: &'static str, group: Group, side: Side, what: &'static str) -> Statistic {
    Statistic {
        name,
        group,
        side,
        what,
    }
}

/// All statistics, in the order of the report. `docs/validate.md` has the
/// formulas.
pub const STATISTICS: [Statistic; 30] = {
    use Group::{
        Arrivals, Association, Batches, Classes, Clusters, Hours, Marginals, Order, Shares,
    };
    use Side::{Both, Lower, Upper};
    [
        of(
            "processors.ks",
            Marginals,
            Upper,
            "distance of processor CDFs",
        ),
        of("run_time.ks", Marginals, Upper, "distance of run-time CDFs"),
        of(
            "serial.share",
            Marginals,
            Both,
            "share of single-processor jobs",
        ),
        of(
            "demand.ratio",
            Marginals,
            Both,
            "mean run time x processors over the original's",
        ),
        of(
            "classes.tv",
            Classes,
            Upper,
            "shares of job classes, total variation",
        ),
        of(
            "classes.worst",
            Classes,
            Upper,
            "job class furthest from its share",
        ),
        of(
            "profiles.tv",
            Classes,
            Upper,
            "shares of k-means job profiles, total variation",
        ),
        of(
            "users.tv",
            Shares,
            Upper,
            "shares of users, total variation",
        ),
        of("users.worst", Shares, Upper, "user furthest from its share"),
        of(
            "users.demand_tv",
            Shares,
            Upper,
            "shares of users in demand, total variation",
        ),
        of(
            "queues.tv",
            Shares,
            Upper,
            "shares of queues, total variation",
        ),
        of(
            "queues.worst",
            Shares,
            Upper,
            "queue furthest from its share",
        ),
        of(
            "executables.tv",
            Shares,
            Upper,
            "shares of executables, total variation",
        ),
        of(
            "executables.worst",
            Shares,
            Upper,
            "executable furthest from its share",
        ),
        of(
            "hours.tv",
            Hours,
            Upper,
            "arrivals by hour of day, total variation",
        ),
        of(
            "hours.worst",
            Hours,
            Upper,
            "hour of day furthest from its share",
        ),
        of(
            "arrivals.ks",
            Arrivals,
            Upper,
            "distance of submit-time CDFs",
        ),
        of(
            "demand.ks",
            Arrivals,
            Upper,
            "distance of cumulated demand over submit time",
        ),
        of(
            "interarrival.ks",
            Batches,
            Upper,
            "distance of inter-arrival CDFs",
        ),
        of(
            "interarrival.cv",
            Batches,
            Both,
            "variation of inter-arrival times",
        ),
        of("batches.share", Batches, Both, "share of jobs in batches"),
        of(
            "processors.lag1",
            Order,
            Both,
            "autocorrelation of processors",
        ),
        of("run_time.lag1", Order, Both, "autocorrelation of run times"),
        of(
            "users.repeat",
            Order,
            Both,
            "share of jobs after one of the same user",
        ),
        of("processors.time", Association, Both, "sizes by submit time"),
        of(
            "run_time.time",
            Association,
            Both,
            "run times by submit time",
        ),
        of("users.time", Association, Both, "users by submit time"),
        of(
            "clusters.wcss",
            Clusters,
            Upper,
            "distance of the WCSS curves",
        ),
        of(
            "clusters.ari",
            Clusters,
            Lower,
            "agreement of the clusterings (adjusted Rand index)",
        ),
        of(
            "clusters.match",
            Clusters,
            Upper,
            "work to turn one set of clusters into the other",
        ),
    ]
};

/// Values by name; an undefined one is absent.
pub(super) type Values = std::collections::BTreeMap<&'static str, f64>;
