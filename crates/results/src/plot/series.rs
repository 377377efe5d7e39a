//! What is drawn on the axes of a chart.

use crate::plot::style::Color;

/// One set of values and the way it is drawn.
///
/// Values may come in any order and may be anything an `f64` can be; what
/// cannot be drawn is counted in the picture's notes.
#[derive(Clone, Debug)]
#[must_use]
pub struct Series {
    pub(super) name: String,
    pub(super) color: Option<Color>,
    pub(super) dash: Option<usize>,
    pub(super) data: Data,
    /// Upright intervals: x, low, high.
    pub(super) intervals: Vec<(f64, f64, f64)>,
}

/// Values by the way they are drawn.
#[derive(Clone, Debug)]
pub(super) enum Data {
    Line(Vec<(f64, f64)>),
    Step {
        points: Vec<(f64, f64)>,
        until: Option<f64>,
        /// Whether the area below it is filled.
        filled: bool,
    },
    Scatter(Vec<(f64, f64)>),
    Bars(Vec<f64>),
    Bins {
        edges: Vec<f64>,
        heights: Vec<f64>,
    },
    Cdf(Cdf),
}

/// An empirical distribution: distinct values and how many values are at most
/// as large.
#[derive(Clone, Debug, Default)]
pub(super) struct Cdf {
    /// Ascending, distinct; the count of all values up to and including this.
    pub steps: Vec<(f64, u64)>,
    /// Values that were NaN.
    pub left_out: u64,
}

impl Cdf {
    /// Number of values.
    pub(super) fn n(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.1)
    }

    /// The least value with at least this share of all values at or below it.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.n() as f64).ceil().max(1.0) as u64;
        let index = self.steps.partition_point(|step| step.1 < wanted);
        self.steps.get(index).map(|step| step.0)
    }

    /// The distribution of counted values.
    fn of_counts(counted: impl IntoIterator<Item = (f64, u64)>) -> Self {
        let mut left_out = 0;
        let mut values: Vec<(f64, u64)> = Vec::new();
        for (value, count) in counted {
            match value.is_nan() {
                true => left_out = u64::saturating_add(left_out, count),
                false => values.push((value + 0.0, count)),
            }
        }
        if !values.is_sorted_by(|a, b| a.0 <= b.0) {
            // Equal values are summed up: their order does not matter.
            values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        let mut steps: Vec<(f64, u64)> = Vec::new();
        let mut total: u64 = 0;
        for (value, count) in values.into_iter().filter(|(_, count)| *count > 0) {
            total = total.saturating_add(count);
            match steps.last_mut() {
                Some(last) if last.0 == value => last.1 = total,
                _ => steps.push((value, total)),
            }
        }
        Cdf { steps, left_out }
    }
}

impl Series {
    /// Straight lines between points, in the order of x. A point whose y is
    /// not finite makes a gap.
    pub fn line(name: impl Into<String>, points: impl Into<Vec<(f64, f64)>>) -> Self {
        Series::of(name, Data::Line(points.into()))
    }

    /// Values that hold until the next one: (from when, value).
    pub fn step(name: impl Into<String>, points: impl Into<Vec<(f64, f64)>>) -> Self {
        Series::stepped(name, points.into(), false)
    }

    /// As [`Series::step`], with the area down to 0 filled.
    pub fn area(name: impl Into<String>, points: impl Into<Vec<(f64, f64)>>) -> Self {
        Series::stepped(name, points.into(), true)
    }

    /// Single points; above some thousand they are drawn as a density.
    pub fn scatter(name: impl Into<String>, points: impl Into<Vec<(f64, f64)>>) -> Self {
        Series::of(name, Data::Scatter(points.into()))
    }

    /// A bar per name of the chart's category axis; several series stand side
    /// by side.
    pub fn bars(name: impl Into<String>, heights: impl Into<Vec<f64>>) -> Self {
        Series::of(name, Data::Bars(heights.into()))
    }

    /// A histogram: `heights[i]` stands between `edges[i]` and `edges[i + 1]`.
    /// Edges must ascend; what does not, or has no edge, is left out.
    pub fn bins(
        name: impl Into<String>,
        edges: impl Into<Vec<f64>>,
        heights: impl Into<Vec<f64>>,
    ) -> Self {
        let (edges, heights) = (edges.into(), heights.into());
        Series::of(name, Data::Bins { edges, heights })
    }

    /// The empirical distribution of these values: the share of them that is
    /// at most x.
    pub fn cdf(name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        Series::cdf_counts(name, values.into_iter().map(|value| (value, 1)))
    }

    /// The empirical distribution of counted values (value, how often), for
    /// data that was counted while it streamed by.
    pub fn cdf_counts(
        name: impl Into<String>,
        counted: impl IntoIterator<Item = (f64, u64)>,
    ) -> Self {
        Series::of(name, Data::Cdf(Cdf::of_counts(counted)))
    }

    /// Draws intervals too: x, low and high of each.
    pub fn intervals(mut self, intervals: impl Into<Vec<(f64, f64, f64)>>) -> Self {
        self.intervals = intervals.into();
        self
    }

    /// Draws in this colour instead of the next of the palette.
    pub fn color(mut self, color: Color) -> Self {
        self.color = Some(color);
        self
    }

    /// Draws lines with this dash pattern (0 is solid; 1 to 3) instead of that
    /// of the series' position.
    pub fn dash(mut self, pattern: usize) -> Self {
        self.dash = Some(pattern);
        self
    }

    /// Ends a step line or area at this x instead of at its last value.
    pub fn until(mut self, x: f64) -> Self {
        if let Data::Step { until, .. } = &mut self.data {
            *until = Some(x);
        }
        self
    }

    fn stepped(name: impl Into<String>, points: Vec<(f64, f64)>, filled: bool) -> Self {
        let data = Data::Step {
            points,
            until: None,
            filled,
        };
        Series::of(name, data)
    }

    fn of(name: impl Into<String>, mut data: Data) -> Self {
        if let Data::Line(points) | Data::Step { points, .. } = &mut data
            && !points.is_sorted_by(|a, b| a.0 <= b.0)
        {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Series {
            name: name.into(),
            color: None,
            dash: None,
            data,
            intervals: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_counts_equal_values_once() {
        let cdf = Cdf::of_counts([
            (2.0, 1),
            (1.0, 1),
            (f64::NAN, 3),
            (2.0, 2),
            (-0.0, 1),
            (0.0, 1),
        ]);
        assert_eq!(cdf.steps, [(0.0, 2), (1.0, 3), (2.0, 6)]);
        assert_eq!(cdf.left_out, 3);
        assert_eq!(cdf.quantile(0.5), Some(1.0));
        assert_eq!(cdf.quantile(1.0), Some(2.0));
        assert_eq!(cdf.quantile(0.0), Some(0.0));
        assert_eq!(Cdf::default().quantile(0.5), None);
    }
}
