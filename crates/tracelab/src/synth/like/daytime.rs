//! Who submits what at which time of the day.
//!
//! The time of the day of a job depends on its user, on its run time beyond
//! that, and on its size beyond both. All three are weights: ratios of what is
//! found to what would be if there were no dependence.

use super::{LookAlike, Profile};

/// Parts of a day.
pub(super) const PARTS: usize = 8;

/// No user is kept from any time of the day altogether, or what is left of a
/// table at the end might have no time at all.
const LEAST: f64 = 0.02;

/// The part of the day of an hour.
pub(super) fn part(hour_of_day: usize) -> usize {
    hour_of_day * PARTS / 24
}

/// Weights of the classes by part of the day: jobs of a class in a part of the
/// day over those expected if, among the jobs of a group, class and part had
/// nothing to do with each other. `jobs` has group, class and part of each.
pub(super) fn ratios(
    jobs: impl Iterator<Item = (usize, usize, usize)> + Clone,
    groups: usize,
    classes: usize,
) -> Vec<Vec<f64>> {
    let mut parts = vec![[0.0f64; PARTS]; groups];
    for (group, _, part) in jobs.clone() {
        parts[group][part] += 1.0;
    }
    let mut found = vec![[0.0f64; PARTS]; classes];
    let mut expected = vec![[0.0f64; PARTS]; classes];
    for (group, class, part) in jobs {
        let of_group = &parts[group];
        let total: f64 = of_group.iter().sum();
        found[class][part] += 1.0;
        for (sum, count) in expected[class].iter_mut().zip(of_group) {
            *sum += count / total;
        }
    }
    let ratio = |(found, expected): (&f64, &f64)| match *expected > 0.0 {
        true => (found / expected * 1e2).round() / 1e2,
        false => 1.0,
    };
    found
        .iter()
        .zip(&expected)
        .map(|(found, expected)| found.iter().zip(expected).map(ratio).collect())
        .collect()
}

/// The weight of each part of the day for each profile.
pub(super) fn of_profiles(profiles: &[Profile]) -> Vec<[f64; PARTS]> {
    let count = |profile: &Profile, part: usize| {
        let jobs = profile.parts_of_day.get(part).copied().unwrap_or(0);
        jobs as f64
    };
    let sum = |part: usize| profiles.iter().map(|p| count(p, part)).sum::<f64>();
    let all: [f64; PARTS] = std::array::from_fn(sum);
    let jobs: f64 = all.iter().sum();
    let weights = |profile: &Profile| {
        let own: f64 = (0..PARTS).map(|part| count(profile, part)).sum();
        std::array::from_fn(|part| match own > 0.0 && all[part] > 0.0 {
            true => (count(profile, part) / own / (all[part] / jobs)).max(LEAST),
            false => 1.0,
        })
    };
    profiles.iter().map(weights).collect()
}

/// The weights of the cells of a model in a part of the day.
#[derive(Clone, Copy, Debug)]
pub(super) struct DayWeights<'a> {
    pub(super) model: &'a LookAlike,
    pub(super) part: usize,
}

impl DayWeights<'_> {
    pub(super) fn of(&self, cell: u64) -> f64 {
        let runs = self.model.run_times.len() as u64;
        let at = |table: &[Vec<f64>], class: u64| {
            let ratios = table.get(class as usize);
            ratios.and_then(|r| r.get(self.part)).copied()
        };
        let run = at(&self.model.run_time_weights, cell % runs).unwrap_or(1.0);
        let size = at(&self.model.size_weights, cell / runs).unwrap_or(1.0);
        (run * size).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_time_depends_on_the_hour_beyond_what_its_user_does() {
        // User 0 submits by day only, both run times alike; user 1 submits long
        // jobs at night and short ones by day.
        let jobs = (0..100).flat_map(|i| [(0, i % 2, 4), (1, 1, 0), (1, 0, 4)]);
        let runs = ratios(jobs, 2, 2);
        // By day: 50 and 100 short jobs found, 50 and 50 expected.
        assert_eq!((runs[0][4], runs[0][0]), (1.5, 0.0));
        assert_eq!((runs[1][4], runs[1][0]), (0.5, 2.0));
    }
}
