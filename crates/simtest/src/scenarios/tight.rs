//! Small clusters with little memory, on which plans are put to the test.

use super::{DISCIPLINES, Scenario, millis, once_in, pick};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::job::{Components, JobSpec, Requirements};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::sync::Arc;

/// Half of the clusters under `slurm-backfill` keep what they promise.
pub(super) fn promise(rng: &mut ChaCha8Rng, config: &mut ClusterConfig) {
    if once_in(rng, 2) {
        config.slurm.bf_resolution = SimDuration::ZERO;
    }
}

/// Gives the only cluster a few small nodes and a discipline that plans, and
/// its jobs sizes, memory and, if asked, exact estimates to go with them. The
/// first job that minds memory may come late.
pub(super) fn tighten(rng: &mut ChaCha8Rng, scenario: &mut Scenario, exact: bool) {
    let config = &mut scenario.grid.clusters[0].config;
    config.resources = resources(rng);
    config.discipline = pick(rng, &DISCIPLINES[2..]);
    config.slurm.bf_interval = millis(pick(rng, &[250, 500, 1_000, 3_000]));
    config.slurm.bf_window = millis(pick(rng, &[4_000, 86_400_000, 86_400_000]));
    if exact {
        config.interval = SimDuration::ZERO;
    }
    let widest = config.resources.processors();
    let jobs = scenario.submissions.len();
    let memory_from = pick(rng, &[0, jobs / 4, jobs / 2, jobs * 3 / 4]);
    for (index, submission) in scenario.submissions.iter_mut().enumerate() {
        let spec = &mut submission.spec;
        let processors = pick(rng, &[1, 1, 2, 2, 3, widest / 2, widest]).clamp(1, widest);
        spec.components = Components::one(processors, requirements(rng, index >= memory_from));
        // Many lengths, short ones beside long ones: gaps to fill, and plans
        // that reach far.
        spec.run_time = millis(pick(
            rng,
            &[0, 250, 500, 750, 1_000, 1_500, 2_000, 3_500, 6_000],
        ));
        spec.requested_time = match exact {
            true => pick(rng, &[None, Some(spec.run_time)]),
            false => estimate(rng, spec),
        };
    }
}

fn estimate(rng: &mut ChaCha8Rng, spec: &JobSpec) -> Option<SimDuration> {
    let nanos = spec.run_time.as_nanos();
    let others = [nanos / 2, nanos, nanos * 2, nanos * 5 + 250_000_000];
    pick(rng, &[None, Some(others)]).map(|others| SimDuration::from_nanos(pick(rng, &others)))
}

fn resources(rng: &mut ChaCha8Rng) -> Resources {
    let mut groups = Vec::new();
    for _ in 0..rng.random_range(1..=3) {
        let speed = pick(rng, &["1", "1", "1", "2", "0.5"]);
        groups.push(Resource {
            name: None,
            count: rng.random_range(1..=3),
            cpu_count: rng.random_range(1..=4),
            architecture: pick(rng, &[None, Some("x86"), Some("ppc")]).map(str::to_owned),
            os: None,
            memory_mib: pick(rng, &[None, Some(1), Some(2), Some(3), Some(4), Some(6)]),
            disk_mib: None,
            speed: Decimal::parse(speed).unwrap_or(Decimal::ONE),
            generic: Default::default(),
        });
    }
    Resources::new(groups).unwrap_or_else(|| Resources::homogeneous(3))
}

fn requirements(rng: &mut ChaCha8Rng, with_memory: bool) -> Requirements {
    let memory_kib = pick(rng, &[0, 512, 1_024, 1_024, 1_500, 2_048, 3_072]);
    Requirements {
        architecture: pick(rng, &[None, None, None, Some("x86"), Some("ppc")]).map(Arc::from),
        memory_kib: if with_memory { memory_kib } else { 0 },
        speed_millionths: pick(rng, &[0, 0, 0, 0, 1_000_000]),
        ..Requirements::default()
    }
}
