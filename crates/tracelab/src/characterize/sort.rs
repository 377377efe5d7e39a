//! Sorting many times of a log: nearly all logs count whole seconds, so that
//! two or three counting passes do what a comparison sort needs twenty for.

use gridrig_core::time::NANOS_PER_SEC;

/// Bits sorted by in one pass; its counters fit the first-level cache.
const DIGIT_BITS: u32 = 11;

/// Below this many values a comparison sort is quicker.
const FEW: usize = 512;

/// Instants in nanoseconds with a size each, in order of time.
pub(crate) enum Timed {
    /// Whole seconds after a base, with the size in the lower half.
    Seconds {
        /// Seconds of the earliest.
        base: u64,
        /// Rising.
        packed: Vec<u64>,
    },
    /// Anything else.
    Nanos(Vec<(u64, u32)>),
}

impl Timed {
    /// Sorts by time; what happens at one instant comes in no particular
    /// order.
    pub fn sorted(items: impl Iterator<Item = (u64, u32)> + Clone) -> Self {
        match seconds_range(items.clone().map(|item| item.0)) {
            Some((base, last)) => {
                let pack = |(at, size): (u64, u32)| {
                    ((at / NANOS_PER_SEC - base) << u32::BITS) | u64::from(size)
                };
                let mut packed: Vec<u64> = items.map(pack).collect();
                let bits = u64::BITS - (last - base).leading_zeros();
                radix_sort(&mut packed, u32::BITS, bits);
                Timed::Seconds { base, packed }
            }
            None => {
                let mut pairs: Vec<(u64, u32)> = items.collect();
                pairs.sort_unstable_by_key(|pair| pair.0);
                Timed::Nanos(pairs)
            }
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Timed::Seconds { packed, .. } => packed.len(),
            Timed::Nanos(pairs) => pairs.len(),
        }
    }

    /// The instant and size at a place, `None` past the end.
    #[inline]
    pub fn get(&self, at: usize) -> Option<(u64, u32)> {
        match self {
            Timed::Seconds { base, packed } => packed.get(at).map(|item| {
                let seconds = base + (item >> u32::BITS);
                (seconds * NANOS_PER_SEC, *item as u32)
            }),
            Timed::Nanos(pairs) => pairs.get(at).copied(),
        }
    }
}

/// Sorts times in nanoseconds.
pub(crate) fn sort_times(times: &mut Vec<u64>) {
    let Some((base, last)) = seconds_range(times.iter().copied()) else {
        times.sort_unstable();
        return;
    };
    for time in times.iter_mut() {
        *time = *time / NANOS_PER_SEC - base;
    }
    let bits = u64::BITS - (last - base).leading_zeros();
    radix_sort(times, 0, bits);
    for time in times.iter_mut() {
        *time = (*time + base) * NANOS_PER_SEC;
    }
}

/// First and last in seconds, if all are whole seconds within 136 years.
fn seconds_range(times: impl Iterator<Item = u64>) -> Option<(u64, u64)> {
    let (mut least, mut most, mut whole) = (u64::MAX, 0, true);
    for time in times {
        least = least.min(time);
        most = most.max(time);
        whole &= time % NANOS_PER_SEC == 0;
    }
    let (first, last) = (least / NANOS_PER_SEC, most / NANOS_PER_SEC);
    let fits = last
        .checked_sub(first)
        .is_some_and(|range| range <= u64::from(u32::MAX));
    (whole && fits).then_some((first, last))
}

/// Sorts by `bits` bits from `shift` on, least significant digit first.
fn radix_sort(values: &mut Vec<u64>, shift: u32, bits: u32) {
    if values.len() < FEW {
        values.sort_unstable_by_key(|value| value >> shift);
        return;
    }
    let mut other = vec![0u64; values.len()];
    for pass in 0..bits.div_ceil(DIGIT_BITS) {
        let digit =
            |value: u64| (value >> (shift + pass * DIGIT_BITS)) as usize & ((1 << DIGIT_BITS) - 1);
        let mut places = [0usize; 1 << DIGIT_BITS];
        for value in values.iter() {
            places[digit(*value)] += 1;
        }
        let mut below = 0;
        for place in &mut places {
            below += std::mem::replace(place, below);
        }
        for value in values.iter() {
            let place = &mut places[digit(*value)];
            other[*place] = *value;
            *place += 1;
        }
        std::mem::swap(values, &mut other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::rng;
    use rand::RngExt;

    /// Times of several spreads: one second, a year, past 136 years, not whole.
    fn samples() -> Vec<Vec<u64>> {
        let mut rng = rng::stream(1, "sort");
        let mut samples = vec![Vec::new(), vec![5 * NANOS_PER_SEC]];
        for (count, range, unit) in [
            (2_000, 1, NANOS_PER_SEC),
            (300, 1_000, NANOS_PER_SEC),
            (5_000, 30_000_000, NANOS_PER_SEC),
            (5_000, u64::from(u32::MAX) + 1, NANOS_PER_SEC),
            (5_000, 18_000_000_000, NANOS_PER_SEC),
            (5_000, u64::MAX, 1),
        ] {
            let offset = rng.random_range(0..=range.min(1_000)) * unit;
            let mut draw = || (rng.random_range(0..range) * unit).saturating_add(offset);
            samples.push((0..count).map(|_| draw()).collect());
        }
        samples
    }

    #[test]
    fn times_are_sorted_whatever_their_spread() {
        for sample in samples() {
            let mut expected = sample.clone();
            expected.sort_unstable();
            let mut sorted = sample;
            sort_times(&mut sorted);
            assert!(sorted == expected);
        }
    }

    #[test]
    fn sizes_stay_with_their_times() {
        for sample in samples() {
            let mut expected: Vec<(u64, u32)> = sample
                .iter()
                .enumerate()
                .map(|(at, time)| (*time, u32::MAX - at as u32))
                .collect();
            let timed = Timed::sorted(expected.iter().copied());
            let mut got: Vec<(u64, u32)> =
                (0..timed.len()).filter_map(|at| timed.get(at)).collect();
            assert!(got.is_sorted_by_key(|item| item.0));
            assert_eq!(timed.get(timed.len()), None);
            expected.sort_unstable();
            got.sort_unstable();
            assert!(got == expected);
        }
    }
}
