//! Programs whose run times clusters know.

use super::{Scenario, millis, pick};
use gridrig_core::cluster::RunTimes;
use gridrig_core::rng;
use rand::RngExt as _;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The same with programs of which clusters, but for those of several speeds, know how
/// long they run.
pub fn with_run_times(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.run-times");
    for submission in &mut scenario.submissions {
        submission.spec.executable = NonZeroU32::new(rng.random_range(0..4));
    }
    let numbers = |of: &[u32]| {
        of.iter()
            .copied()
            .filter_map(NonZeroU32::new)
            .collect::<Vec<_>>()
    };
    for cluster in &mut scenario.grid.clusters {
        let groups = cluster.config.resources.groups();
        if groups.iter().any(|group| group.speed != groups[0].speed) {
            continue;
        }
        let sizes = pick(
            &mut rng,
            &[numbers(&[1]), numbers(&[2, 3]), numbers(&[1, 4, 16])],
        );
        let mut time = || millis(pick(&mut rng, &[0, 250, 333, 1_000, 7_000]));
        let times = numbers(&[1, 2]).into_iter().map(|program| {
            let times = sizes.iter().map(|size| (*size, time()));
            (program, times.collect())
        });
        cluster.config.run_times = Arc::new(RunTimes(times.collect()));
    }
    scenario
}
