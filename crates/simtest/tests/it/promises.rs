//! What a plan promises, held against what then happens.

use crate::grids::{by_driver, by_reference};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Requirements, Submission};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_simtest::checkers;
use gridrig_simtest::scenarios::{Scenario, exact_scenario, with_components, with_generics};
use std::collections::BTreeMap;

/// Every run of the tests tries these; `GRIDRIG_SCENARIOS` asks for more.
const SCENARIOS: u64 = 2_000;

const MIB: u64 = 1_024;

#[test]
fn with_exact_estimates_no_job_starts_later_than_it_was_first_promised() {
    let mut waited: BTreeMap<&str, u32> = BTreeMap::new();
    let seeds = crate::scenarios(SCENARIOS);
    let plain = seeds.clone().map(exact_scenario);
    let generic = seeds
        .clone()
        .map(|seed| with_generics(exact_scenario(seed)));
    let joint = seeds.map(|seed| with_components(exact_scenario(seed)));
    for scenario in plain.chain(generic).chain(joint) {
        let seed = scenario.seed;
        let trails = by_driver(&scenario);
        for trails in [&by_reference(&scenario), &trails] {
            if let Err(text) = checkers::check_all(&scenario.grid, &scenario.submissions, trails) {
                panic!("seed {seed}: {text}\n{scenario:#?}");
            }
        }
        let discipline = scenario.grid.clusters[0].config.discipline.name();
        for (made, _, start) in &trails.promises {
            *waited.entry(discipline).or_default() += u32::from(start > made);
        }
    }
    for kind in &DisciplineKind::ALL[3..] {
        let often = waited.get(kind.name()).copied().unwrap_or(0);
        assert!(often > 500, "{} promised {often} times only", kind.name());
    }
}

#[test]
fn memory_is_promised_node_by_node() {
    for discipline in &DisciplineKind::ALL[3..] {
        let resources = [group(2, 2, "x86", Some(2))];
        let mut scenario = cluster(*discipline, &resources);
        add(&mut scenario, 0, (1, 4), ("x86", 2 * MIB));
        add(&mut scenario, 0, (1, 6), ("x86", 2 * MIB));
        // It needs both nodes, and all their memory.
        add(&mut scenario, 0, (2, 5), ("x86", 2 * MIB));
        // Half the memory of the first node is enough for it from 4 s on.
        add(&mut scenario, 0, (1, 20), ("x86", MIB));
        assert_eq!(starts(&scenario), [0, 0, 6, 11], "{discipline:?}");
    }
}

#[test]
fn a_job_that_takes_no_time_is_promised_its_instant_all_the_same() {
    for discipline in &DisciplineKind::ALL[3..] {
        let mut scenario = cluster(*discipline, &[group(2, 1, "x86", None)]);
        add(&mut scenario, 0, (1, 10), ("x86", 0));
        add(&mut scenario, 0, (2, 0), ("x86", 0));
        // It would hold a processor at 10 s.
        add(&mut scenario, 0, (1, 20), ("x86", 0));
        assert_eq!(starts(&scenario), [0, 10, 10], "{discipline:?}");
    }
}

#[test]
fn promises_by_resource_are_kept_when_memory_comes_to_matter() {
    for discipline in &DisciplineKind::ALL[4..] {
        let resources = [group(1, 2, "x86", Some(4)), group(1, 1, "ppc", Some(4))];
        let mut scenario = cluster(*discipline, &resources);
        add(&mut scenario, 0, (1, 5), ("x86", 0));
        add(&mut scenario, 0, (1, 3), ("ppc", 0));
        // Both processors of the first node, at 5 s.
        add(&mut scenario, 0, (2, 5), ("x86", 0));
        // The second node, at 3 s; it comes before the last one in time, and
        // there is a free processor on the first node.
        add(&mut scenario, 0, (1, 6), ("", 0));
        add(&mut scenario, 1, (1, 1), ("", MIB));
        assert_eq!(starts(&scenario), [0, 0, 5, 3, 1], "{discipline:?}");
    }
}

fn group(count: u32, cpu_count: u32, architecture: &str, memory_mib: Option<u64>) -> Resource {
    Resource {
        name: None,
        count,
        cpu_count,
        architecture: Some(architecture.to_owned()),
        os: None,
        memory_mib,
        disk_mib: None,
        speed: Decimal::ONE,
        generic: Default::default(),
    }
}

/// One cluster; under `slurm-backfill` it plans every second and does not round.
fn cluster(discipline: DisciplineKind, resources: &[Resource]) -> Scenario {
    let resources = Resources::new(resources.to_vec()).expect("there are processors");
    let mut config = ClusterConfig::new(ClusterId(0), resources, discipline);
    config.slurm.bf_interval = SimDuration::from_secs(1);
    config.slurm.bf_resolution = SimDuration::ZERO;
    Scenario {
        seed: 1,
        grid: Grid::single_cluster("only", config),
        submissions: Vec::new(),
        cancellations: Vec::new(),
    }
}

/// A job: second of submission, processors, seconds of run time, architecture
/// if it minds, KiB per processor.
fn add(
    scenario: &mut Scenario,
    at: u64,
    (processors, run_time): (u32, u64),
    (architecture, memory_kib): (&str, u64),
) {
    let id = JobId(scenario.submissions.len() as u32);
    let mut spec = JobSpec::rigid(id, processors, SimDuration::from_secs(run_time));
    spec.components.first.requirements = Requirements {
        architecture: (!architecture.is_empty()).then(|| architecture.into()),
        memory_kib,
        ..Requirements::default()
    };
    scenario.submissions.push(Submission {
        spec,
        at: SimTime::from_secs(at),
        entry: Entry::Cluster(ClusterId(0)),
        label: JobLabel::default(),
    });
}

/// When each job starts, in seconds.
fn starts(scenario: &Scenario) -> Vec<u64> {
    let trails = by_reference(scenario);
    let start = |job: &Submission| trails.record(job.spec.id).start.expect("it ran");
    let starts = scenario.submissions.iter().map(start);
    starts
        .map(|start| start.as_nanos() / 1_000_000_000)
        .collect()
}
