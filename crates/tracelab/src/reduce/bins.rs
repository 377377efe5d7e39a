//! Histograms of a window that slides over a trace.

/// Bins of a distribution. Up to so many different values are told apart; of
/// more, neighbours share a bin of about an equal part of the jobs, and a
/// distance is off by less than such a part.
const MAX_BINS: usize = 512;

/// Where the bins of a distribution end, and how much of the whole lies up to
/// each end.
#[derive(Default)]
pub(super) struct Bins {
    /// The largest value of each bin, ascending.
    ends: Vec<u64>,
    /// Share of all values up to each end; the last is 1.
    cumulated: Vec<f64>,
}

impl Bins {
    /// Of these values; there may be none.
    pub(super) fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let most = values.len().div_ceil(MAX_BINS).max(1);
        let distinct = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let at_least = if distinct <= MAX_BINS { 1 } else { most };
        let mut bins = Bins::default();
        let mut below = 0;
        while below < values.len() {
            // A value that fills more than its part takes a whole bin along.
            let end = values[(below + at_least - 1).min(values.len() - 1)];
            below = values.partition_point(|value| *value <= end);
            bins.ends.push(end);
            bins.cumulated.push(below as f64 / values.len() as f64);
        }
        bins
    }

    /// The bin of a value that is no larger than the largest one.
    pub(super) fn bin(&self, value: u64) -> u16 {
        let bin = self.ends.partition_point(|end| *end < value);
        // At most MAX_BINS of them.
        bin.min(self.ends.len().saturating_sub(1)) as u16
    }

    /// Bins, none of no values.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// How many values of a window lie in each bin.
pub(super) struct Counts {
    bins: Vec<u64>,
    total: u64,
}

impl Counts {
    /// None in any of these bins.
    pub(super) fn new(bins: &Bins) -> Self {
        Counts {
            bins: vec![0; bins.len()],
            total: 0,
        }
    }

    /// One more.
    pub(super) fn add(&mut self, bin: u16) {
        self.bins[usize::from(bin)] += 1;
        self.total += 1;
    }

    /// One less of those that were added.
    pub(super) fn remove(&mut self, bin: u16) {
        self.bins[usize::from(bin)] -= 1;
        self.total -= 1;
    }

    /// The Kolmogorov-Smirnov distance to the whole, the greatest difference
    /// of the two distribution functions: 0 is alike, and nothing is as far
    /// away as can be.
    pub(super) fn distance(&self, whole: &Bins) -> f64 {
        if self.total == 0 {
            return 1.0;
        }
        let mut below = 0;
        let mut greatest: f64 = 0.0;
        for (count, cumulated) in self.bins.iter().zip(&whole.cumulated) {
            below += count;
            greatest = greatest.max((below as f64 / self.total as f64 - cumulated).abs());
        }
        greatest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(whole: &[u64], part: &[u64]) -> f64 {
        let bins = Bins::of(whole.to_vec());
        let mut counts = Counts::new(&bins);
        part.iter().for_each(|value| counts.add(bins.bin(*value)));
        counts.distance(&bins)
    }

    #[test]
    fn the_distance_is_the_greatest_difference_of_distribution_functions() {
        let whole = [1, 1, 2, 4, 8, 8, 8, 16];
        assert_eq!(distance(&whole, &whole), 0.0);
        assert_eq!(distance(&whole, &[16]), 7.0 / 8.0);
        assert_eq!(distance(&whole, &[1]), 6.0 / 8.0);
        assert_eq!(distance(&whole, &[4, 8]), 3.0 / 8.0);
        assert_eq!(distance(&whole, &[]), 1.0);
        assert_eq!(distance(&[], &[]), 1.0);
    }

    #[test]
    fn what_is_added_and_removed_leaves_nothing() {
        let bins = Bins::of((0..100).collect());
        let mut counts = Counts::new(&bins);
        counts.add(3);
        counts.remove(3);
        assert_eq!(counts.distance(&bins), 1.0);
    }

    #[test]
    fn many_values_share_bins_of_about_the_same_size_and_a_common_value_keeps_its_own() {
        let mut values: Vec<u64> = (0..100_000).collect();
        values.extend(std::iter::repeat_n(50_000, 100_000));
        let bins = Bins::of(values.clone());
        assert!(bins.len() <= MAX_BINS);
        // The exact distance of a single value from its own distribution.
        let exact = 1.0 - 99_999.0 / 200_000.0 - 1.0 / 200_000.0;
        let mut counts = Counts::new(&bins);
        counts.add(bins.bin(100));
        let near = counts.distance(&bins);
        assert!((near - 1.0).abs() < 0.01, "{near} {exact}");
        let every_tenth: Vec<u64> = values.iter().copied().step_by(10).collect();
        assert!(distance(&values, &every_tenth) < 0.01);
    }
}
