//! Jobs that are to start within a window, on processors that are reserved for them.

use crate::grids::{by_driver, compare_all};
use gridrig_core::discipline::DisciplineKind::{self, ShortestJobFirst};
use gridrig_core::time::SimDuration;
use gridrig_simtest::checkers;
use gridrig_simtest::scenarios::{
    Scenario, committing_late, exact_scenario, grid_scenario, predicting, under, with_components,
    with_failures, with_generics, with_windows,
};
use gridrig_simtest::trail::{Step, Trails};
use std::collections::BTreeMap;

/// Every run of the tests tries these; `GRIDRIG_SCENARIOS` asks for more.
const SCENARIOS: u64 = 1_000;

#[test]
fn reservations_are_kept_whatever_else_waits_and_runs() {
    let mut kept: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    let kinds: [fn(u64) -> Scenario; 8] = [
        grid_scenario,
        |seed| with_generics(grid_scenario(seed)),
        |seed| with_components(grid_scenario(seed)),
        |seed| with_failures(grid_scenario(seed)),
        |seed| under(ShortestJobFirst, grid_scenario(seed)),
        exact_scenario,
        |seed| with_generics(exact_scenario(seed)),
        |seed| with_components(exact_scenario(seed)),
    ];
    let seeds = crate::scenarios(SCENARIOS);
    let all = seeds.flat_map(|seed| kinds.map(|kind| with_windows(kind(seed))));
    for scenario in all {
        let trails = by_driver(&scenario);
        if let Err(text) = checkers::check_all(&scenario.grid, &scenario.submissions, &trails) {
            panic!("seed {}: {text}\n{scenario:#?}", scenario.seed);
        }
        count(&scenario, &trails, &mut kept);
    }
    for kind in DisciplineKind::ALL {
        let [fixed, flexible] = kept.get(kind.name()).copied().unwrap_or_default();
        let text = format!("{}: {fixed} fixed, {flexible} flexible", kind.name());
        assert!(fixed > 300 && flexible > 300, "{text}");
    }
}

#[test]
fn brokers_send_on_what_clusters_do_not_reserve_as_the_reference_does() {
    let all = SCENARIOS / 10;
    compare_all(all, |seed| open(grid_scenario(seed)));
    compare_all(all / 2, |seed| open(with_components(grid_scenario(seed))));
    compare_all(all / 2, |seed| open(committing_late(grid_scenario(seed))));
    compare_all(all / 2, |seed| open(predicting(grid_scenario(seed))));
    compare_all(all / 2, |seed| open(with_failures(grid_scenario(seed))));
}

/// With windows, peers that are always open, and plans whose times are not rounded.
fn open(scenario: Scenario) -> Scenario {
    let mut scenario = with_windows(scenario);
    scenario.grid.hours.clear();
    for cluster in &mut scenario.grid.clusters {
        cluster.config.slurm.bf_resolution = SimDuration::ZERO;
    }
    scenario
}

/// Starts in windows that were not open yet when the job came.
fn count(scenario: &Scenario, trails: &Trails, kept: &mut BTreeMap<&str, [u32; 2]>) {
    for (job, steps) in scenario.submissions.iter().zip(&trails.jobs) {
        let Some(window) = &job.spec.start_window else {
            continue;
        };
        for (_, step) in steps {
            if let Step::Started(cluster, _) = step
                && window.earliest > job.at
            {
                let discipline = scenario.grid.clusters[cluster.index()].config.discipline;
                kept.entry(discipline.name()).or_default()[usize::from(window.flexible)] += 1;
            }
        }
    }
}
