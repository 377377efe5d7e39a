//! As many jobs as load the target cluster to a wanted part.

use gridrig_core::rng;
use gridrig_core::time::Decimal;
use rand::Rng;

/// The stream of a seed that decides which jobs are kept.
pub(crate) const STREAM: &str = "sample";

/// Draws have as many bits as a float holds exactly, so that a share of 1
/// keeps every job.
const BITS: u32 = 53;

/// Draws at least this far apart have a share between them.
const LEAST_GAP: u64 = 8;

/// One draw for each job, in order.
pub(crate) fn draws(seed: u64) -> impl Iterator<Item = u64> {
    let mut stream = rng::stream(seed, STREAM);
    std::iter::repeat_with(move || stream.next_u64() >> (64 - BITS))
}

/// So many of a number of jobs by their position, in order: those that a share of
/// this seed keeps which is met exactly.
pub fn lowest_draws(jobs: usize, keep: usize, seed: u64) -> Vec<usize> {
    let mut drawn: Vec<(u64, usize)> = draws(seed).zip(0..jobs).collect();
    drawn.sort_unstable();
    let mut kept: Vec<usize> = drawn.into_iter().take(keep).map(|(_, at)| at).collect();
    kept.sort_unstable();
    kept
}

/// Draws below this are kept.
pub(crate) fn bound(share: Decimal) -> f64 {
    share.as_f64() * (1u64 << BITS) as f64
}

/// The share whose seeded sample has a demand as near as possible to
/// `target`, given the demand of each job at the end of all steps: jobs are
/// taken by their draw, which does not look at their requirements, until the
/// demand is nearest. `None` without jobs; at least one is kept.
///
/// The same share and seed as [`crate::spec::Keep::Share`] keep the same jobs.
pub fn share_for_load(demands: &[u128], target: u128, seed: u64) -> Option<Decimal> {
    let mut drawn: Vec<(u64, u128)> = draws(seed).zip(demands.iter().copied()).collect();
    drawn.sort_unstable();
    let mut sum: u128 = 0;
    let mut best: Option<(u128, usize)> = None;
    for (index, (draw, demand)) in drawn.iter().enumerate() {
        sum += demand;
        // No share of 17 places can tell draws apart that are so close.
        if drawn
            .get(index + 1)
            .is_some_and(|next| next.0 - draw < LEAST_GAP)
        {
            continue;
        }
        let miss = sum.abs_diff(target);
        if best.is_none_or(|(least, _)| miss < least) {
            best = Some((miss, index));
        }
        if sum >= target {
            break;
        }
    }
    let (_, last) = best?;
    Some(
        drawn
            .get(last + 1)
            .map_or(Decimal::ONE, |next| between(drawn[last].0, next.0)),
    )
}

/// The decimal of fewest places whose bound is above `kept` and not above
/// `next`, which is at least [`LEAST_GAP`] away.
fn between(kept: u64, next: u64) -> Decimal {
    let decimal = |draw: u64, places: u32| {
        let mantissa = (u128::from(draw) * 10u128.pow(places)) >> BITS;
        let width = places as usize;
        Decimal::parse(&format!("0.{mantissa:0>width$}")).unwrap_or(Decimal::ONE)
    };
    let fits = |decimal: &Decimal| {
        let bound = bound(*decimal);
        bound > kept as f64 && bound <= next as f64
    };
    (1..=15)
        .map(|places| decimal(next, places))
        .find(fits)
        // A float is off by a few draws at most, the middle is further in.
        .unwrap_or_else(|| decimal(u64::midpoint(kept, next), 17))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(demands: &[u128], share: Decimal, seed: u64) -> u128 {
        let bound = bound(share);
        let pairs = draws(seed).zip(demands);
        pairs
            .filter(|(draw, _)| (*draw as f64) < bound)
            .map(|(_, demand)| demand)
            .sum()
    }

    #[test]
    fn the_demand_is_within_half_a_job_of_the_target() {
        let demands: Vec<u128> = (0..1000).map(|i| 50 + i % 100).collect();
        let total: u128 = demands.iter().sum();
        for seed in 0..20 {
            for target in [total / 7, total / 3, total / 2] {
                let share = share_for_load(&demands, target, seed).unwrap();
                let got = kept(&demands, share, seed);
                assert!(got.abs_diff(target) <= 75, "{share}: {got} for {target}");
            }
        }
    }

    #[test]
    fn a_target_beyond_all_jobs_keeps_all_and_none_at_all_keeps_one() {
        let demands = [5u128; 10];
        assert_eq!(share_for_load(&demands, 1000, 1), Some(Decimal::ONE));
        let one = share_for_load(&demands, 0, 1).unwrap();
        assert_eq!(kept(&demands, one, 1), 5);
        assert_eq!(share_for_load(&[], 10, 1), None);
    }

    #[test]
    fn a_share_lies_between_any_two_neighbouring_draws() {
        let top = (1u64 << BITS) - 1;
        let seventh = |i: u64| top / 7 * i;
        for kept in (0..7).map(seventh).chain([top - LEAST_GAP]) {
            for gap in [LEAST_GAP, 100, 1 << 20] {
                let next = (kept + gap).min(top);
                let bound = bound(between(kept, next));
                assert!(bound > kept as f64 && bound <= next as f64, "{kept}");
            }
        }
    }
}
