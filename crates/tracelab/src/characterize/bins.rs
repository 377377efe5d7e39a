//! Bins of equal width that a reader can name: 10 minutes, 6 hours, 2 days.

use gridrig_core::time::{NANOS_PER_SEC, SimDuration};

/// Widths in seconds; past the last one, its doublings.
const NICE_SECONDS: [u64; 27] = [
    1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600,
    43_200, 86_400, 172_800, 345_600, 604_800, 1_209_600, 2_419_200, 4_838_400, 9_676_800,
];

/// The smallest such width, in nanoseconds, with which a span takes at most
/// `bins` bins.
pub(crate) fn nice_width(span: u64, bins: usize) -> u64 {
    let bins = bins.max(2) as u64 - 1;
    let least = span.div_ceil(bins).max(1);
    let nice = NICE_SECONDS.iter().map(|seconds| seconds * NANOS_PER_SEC);
    let doubled = std::iter::successors(Some(2 * 9_676_800 * NANOS_PER_SEC), |width| {
        width.checked_mul(2)
    });
    nice.chain(doubled)
        .find(|width| *width >= least)
        .unwrap_or(least)
}

/// Bins from the multiple of the width at or before `begin` to past `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bins {
    origin: u64,
    pub width: u64,
    pub count: usize,
}

impl Bins {
    /// All in nanoseconds.
    pub fn new(begin: u64, end: u64, width: u64) -> Self {
        let width = width.max(1);
        let origin = begin - begin % width;
        let count = (end.max(origin) - origin) / width + 1;
        Bins {
            origin,
            width,
            count: usize::try_from(count).unwrap_or(usize::MAX),
        }
    }

    /// About `bins` bins of a nice width.
    pub fn spanning(begin: SimDuration, end: SimDuration, bins: usize) -> Self {
        let (begin, end) = (begin.as_nanos(), end.as_nanos());
        Bins::new(begin, end, nice_width(end - begin, bins))
    }

    /// The width in seconds.
    pub fn width_s(&self) -> f64 {
        self.width as f64 / NANOS_PER_SEC as f64
    }

    /// The bin of an instant; the nearest one for an instant outside.
    pub fn index(&self, at: u64) -> usize {
        let index = at.saturating_sub(self.origin) / self.width;
        (index as usize).min(self.count - 1)
    }

    /// Where a bin ends; the last one never does.
    pub fn end(&self, bin: usize) -> u64 {
        if bin + 1 >= self.count {
            return u64::MAX;
        }
        self.start(bin + 1)
    }

    fn start(&self, bin: usize) -> u64 {
        let offset = (bin as u64).saturating_mul(self.width);
        self.origin.saturating_add(offset)
    }

    /// Where the bins begin, in seconds.
    pub fn starts_s(&self) -> Vec<f64> {
        let start = |bin| self.start(bin) as f64 / NANOS_PER_SEC as f64;
        (0..self.count).map(start).collect()
    }
}

/// Bins by quarters of an octave: 0 for 0, then four to each power of two.
pub(crate) const fn quarter_octave(value: u64) -> usize {
    let Some(octave) = value.checked_ilog2() else {
        return 0;
    };
    let quarter = ((value as u128) << 2 >> octave) & 3;
    1 + 4 * octave as usize + quarter as usize
}

/// Sums the values up to each bin and with it.
pub(crate) fn cumulate(values: &mut [f64]) {
    let mut sum = 0.0;
    for value in values {
        sum += *value;
        *value = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = NANOS_PER_SEC;

    #[test]
    fn a_width_is_the_smallest_nice_one_that_is_enough() {
        for bins in [2, 10, 100, 300] {
            for span in [0, 1, 59 * S, 604_800 * S, 40_000_000 * S, u64::MAX] {
                let width = nice_width(span, bins);
                for begin in [0, 1, width / 2, width - 1] {
                    let Some(end) = begin.checked_add(span) else {
                        continue;
                    };
                    let count = Bins::new(begin, end, width).count;
                    assert!(count <= bins + 1, "{span} in {bins}: {count} of {width}");
                }
            }
        }
        assert_eq!(nice_width(604_800 * S, 200), 3_600 * S);
    }

    #[test]
    fn every_instant_lies_in_one_bin() {
        let bins = Bins::new(25, 61, 10);
        assert_eq!((bins.count, bins.starts_s().len()), (5, 5));
        assert_eq!(bins.index(25), 0);
        assert_eq!(bins.index(30), 1);
        assert_eq!(bins.end(0), 30);
        assert_eq!((bins.index(61), bins.end(4)), (4, u64::MAX));
    }
}
