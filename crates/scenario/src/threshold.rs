//! Figures of a run by name, and thresholds: what a run has to reach, or the
//! command ends with 99.

use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// Metrics with a summary, as `run --json` names them.
pub const METRICS: [&str; 6] = [
    "delay_s",
    "expansion",
    "wait_s",
    "response_s",
    "bounded_slowdown",
    "bounded_slowdown_ref",
];
/// Metrics with a summary that are not compared.
pub const MORE_METRICS: [&str; 2] = ["slowdown", "queue_s"];
/// The figures of a summary.
const STATISTICS: [&str; 11] = [
    "n",
    "mean",
    "sd",
    "cv",
    "min",
    "max",
    "p50",
    "p90",
    "p95",
    "p99",
    "mean_trimmed",
];
/// The counts under `jobs`.
const JOBS: [&str; 6] = [
    "submitted",
    "completed",
    "rejected",
    "cancelled",
    "failed",
    "unfinished",
];
/// Figures that stand by themselves.
pub const FIGURES: [&str; 9] = [
    "forwarding_ratio",
    "makespan_s",
    "utilization",
    "waited_share",
    "forwards_per_job",
    "away_share",
    "goodput_processor_s",
    "throughput_per_s",
    "delay_s_unwaited_mean",
];
/// The same, which a summary has by these names.
pub const FURTHER: [&str; 24] = [
    "finished_share",
    "goodput_ref_processor_s",
    "utilization_ref",
    "utilization_arrivals",
    "response_s_weighted",
    "slowdown_weighted",
    "overhead_s_mean",
    "clusters_mean",
    "placement_s_mean",
    "startup_s_mean",
    "moved_mib_mean",
    "run_time_s_mean",
    "reservations_granted_share",
    "wait_s_unreserved_mean",
    "prediction_error_s_mean",
    "prediction_error_s_abs_mean",
    "prediction_kept_share",
    "prediction_interval_coverage",
    "prediction_interval_s_mean",
    "messages_per_job",
    "jain_domains",
    "jain_users",
    "max_min_domains",
    "max_min_users",
];

/// Widest jobs of each size class but the last.
const SIZES: [u32; 5] = [1, 4, 16, 64, 256];

/// Names of the size classes, in processors: the figures under `goodput_by_size`.
pub const SIZE_NAMES: [&str; 6] = ["1", "2-4", "5-16", "17-64", "65-256", "over 256"];

/// The size class of so many processors.
pub fn size_class(processors: u32) -> usize {
    let wider = SIZES.iter().take_while(|widest| processors > **widest);
    wider.count()
}

/// The ways to all figures in one run of `run --json`.
pub fn paths() -> Vec<Vec<&'static str>> {
    let metrics = METRICS.iter().chain(&MORE_METRICS);
    let metrics = metrics.flat_map(|metric| STATISTICS.map(|statistic| vec![*metric, statistic]));
    let jobs = JOBS.map(|count| vec!["jobs", count]);
    let sizes = SIZE_NAMES.map(|class| vec!["goodput_by_size", class]);
    let others = FIGURES.iter().chain(&FURTHER).map(|figure| vec![*figure]);
    metrics.chain(jobs).chain(sizes).chain(others).collect()
}

/// A statistic of a job metric, such as `delay_s.mean`: what policies are
/// compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Figure {
    /// Position of the metric in [`METRICS`].
    metric: usize,
    /// Position of the statistic in [`Figure::STATISTICS`].
    statistic: usize,
}

impl Figure {
    /// Statistics that comparisons are made of.
    pub const STATISTICS: [&'static str; 4] = ["mean", "p50", "p95", "p99"];

    /// What is compared unless somebody asks for something else.
    pub const DEFAULT: Figure = Figure {
        metric: 0,
        statistic: 0,
    };

    /// All figures, metric by metric.
    pub fn all() -> impl Iterator<Item = Figure> {
        let statistics = 0..Figure::STATISTICS.len();
        (0..METRICS.len()).flat_map(move |metric| {
            let figure = move |statistic| Figure { metric, statistic };
            statistics.clone().map(figure)
        })
    }

    /// Reads `METRIC.STATISTIC`.
    ///
    /// # Errors
    /// Says what there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let known = Figure::all().find(|figure| figure.to_string() == text.trim());
        known.ok_or_else(|| {
            format!(
                "it is not one of {}.{{{}}}",
                METRICS.join("|"),
                Figure::STATISTICS.join("|")
            )
        })
    }

    /// Its metric.
    pub fn metric(self) -> &'static str {
        METRICS[self.metric]
    }

    /// Position of its metric in [`METRICS`].
    pub fn metric_index(self) -> usize {
        self.metric
    }

    /// Its statistic.
    pub fn statistic(self) -> &'static str {
        Figure::STATISTICS[self.statistic]
    }

    /// The unit of its metric: `s`, or nothing for a ratio.
    pub fn unit(self) -> &'static str {
        if self.metric().ends_with("_s") {
            "s"
        } else {
            ""
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.metric(), self.statistic())
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How a figure is compared with its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
}

impl Comparison {
    /// Longer signs first, so that `<=` is not read as `<`.
    pub const SIGNS: [(&'static str, Comparison); 5] = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("==", Comparison::Equal),
        ("<", Comparison::Below),
        (">", Comparison::Above),
    ];

    /// Whether a figure keeps this distance from a bound.
    pub fn holds<T: PartialOrd>(self, figure: &T, bound: &T) -> bool {
        match self {
            Comparison::Below => figure < bound,
            Comparison::AtMost => figure <= bound,
            Comparison::Above => figure > bound,
            Comparison::AtLeast => figure >= bound,
            Comparison::Equal => figure == bound,
        }
    }
}

/// A bound on one figure of a run, such as `delay_s.p95 < 60`.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The way to the figure in one run of `run --json`, such as
    /// `["delay_s", "p95"]` or `["jobs", "rejected"]`.
    pub path: Vec<String>,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub bound: f64,
}

impl Threshold {
    /// Reads `FIGURE SIGN NUMBER`.
    ///
    /// # Errors
    /// Says which part is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let sign = Comparison::SIGNS
            .iter()
            .filter_map(|(sign, comparison)| Some((text.find(sign)?, *sign, *comparison)))
            .min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len()));
        let (at, sign, comparison) = sign.ok_or("it has none of <, <=, >, >=, ==")?;
        let path: Vec<&str> = text[..at].trim().split('.').map(str::trim).collect();
        if !paths().contains(&path) {
            return Err(format!(
                "its figure is not one of {}|{}.{{{}}}, jobs.{{{}}}, goodput_by_size.{{{}}}, {}, {}",
                METRICS.join("|"),
                MORE_METRICS.join("|"),
                STATISTICS.join("|"),
                JOBS.join("|"),
                SIZE_NAMES.join("|"),
                FIGURES.join(", "),
                FURTHER.join(", ")
            ));
        }
        let bound: Option<f64> = text[at + sign.len()..].trim().parse().ok();
        let bound = bound.filter(|bound| bound.is_finite());
        Ok(Threshold {
            path: path.into_iter().map(str::to_owned).collect(),
            comparison,
            bound: bound.ok_or("it does not end with a number")?,
        })
    }

    /// Its figure in one run of `run --json`; `None` if that is undefined.
    pub fn figure_in(&self, run: &Value) -> Option<f64> {
        let figure = self.path.iter().try_fold(run, |value, key| value.get(key));
        figure.and_then(Value::as_f64)
    }

    /// Whether the bound is one from above, so that the largest figure is the
    /// worst.
    pub fn is_upper(&self) -> bool {
        matches!(self.comparison, Comparison::Below | Comparison::AtMost)
    }

    /// Whether a run with this figure passes. A figure that is undefined has
    /// not reached any bound.
    pub fn holds(&self, figure: Option<f64>) -> bool {
        figure.is_some_and(|figure| self.comparison.holds(&figure, &self.bound))
    }
}

/// Prints what [`Threshold::parse`] reads.
impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = Comparison::SIGNS.iter().find(|it| it.1 == self.comparison);
        let sign = sign.map_or("", |it| it.0);
        write!(f, "{} {sign} {}", self.path.join("."), self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_prints_what_it_was_read_from() {
        for text in [
            "delay_s.p95 < 60",
            "jobs.rejected == 0",
            "utilization >= 0.5",
            "slowdown.mean < 10",
            "jain_users >= 0.8",
            "goodput_by_size.over 256 > 0",
        ] {
            assert_eq!(Threshold::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_figure_prints_what_it_was_read_from() {
        assert_eq!(Figure::all().count(), 24);
        for figure in Figure::all() {
            assert_eq!(Figure::parse(&figure.to_string()), Ok(figure));
        }
        assert_eq!(Figure::DEFAULT.to_string(), "delay_s.mean");
        assert_eq!(Figure::parse("expansion.p99").unwrap().unit(), "");
        assert!(Figure::parse("delay_s.p97").unwrap_err().contains("p95"));
    }

    #[test]
    fn an_undefined_figure_passes_no_threshold() {
        let threshold = Threshold::parse("delay_s.p95<=60").unwrap();
        assert!(threshold.holds(Some(60.0)));
        assert!(!threshold.holds(Some(60.1)));
        assert!(!threshold.holds(None));
    }

    #[test]
    fn a_text_that_is_no_threshold_says_why() {
        let why = |text| Threshold::parse(text).unwrap_err();
        assert!(why("delay_s.p95 60").contains("none of"));
        assert!(why("delay_s.p97 < 60").contains("not one of"));
        assert!(why("delay < 60").contains("not one of"));
        assert!(why("delay_s.p95 < fast").contains("number"));
    }
}
