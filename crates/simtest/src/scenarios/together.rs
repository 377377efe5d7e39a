//! Jobs that several clusters run together.

use super::{Scenario, millis, once_in, pick};
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::cluster::{Overrun, Reserving};
use gridrig_core::ids::ClusterId;
use gridrig_core::job::{Component, Division, Entry, Input, JobSpec, Requirements, StartWindow};
use gridrig_core::policy::{CoAllocation, Placement};
use gridrig_core::rng;
use gridrig_core::time::Decimal;
use rand::rngs::ChaCha8Rng;
use std::sync::Arc;

/// Policies that place components. A list of its own, as that of all.
const POLICIES: [&str; 5] = [
    "worst-fit",
    "worst-fit(tries=6)",
    "cluster-minimization",
    "flexible-cluster-minimization",
    "flexible-cluster-minimization(quota=0.75,most_components=2)",
];

/// Policies that reserve for components.
const RESERVING: [&str; 3] = [
    "co-reservation(deviation=1ms,notice=200ms,within=10m)",
    "co-reservation(deviation=3s,notice=1s,within=10m)",
    "co-reservation(search=exact,deviation=2s,notice=1s,within=2m,tries=4)",
];

/// Policies that keep one reservation of several.
const KEEPING: [&str; 4] = [
    "earliest-start(reserve=all,notice=200ms,within=10m)",
    "earliest-completion(reserve=all,notice=1s)",
    "earliest-start(candidates=2,reserve=all,notice=10ms,within=20s)",
    "earliest-completion(reserve=windows,wait=recent)",
];

/// The same where each broker places jobs, of some components that want nothing of their
/// nodes, on all its clusters. No node fails.
pub fn co_allocating(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.together");
    let mut reserving = rng::stream(scenario.seed, "scenario.together.reservations");
    let mut wishes = rng::stream(scenario.seed, "scenario.together.wishes");
    let reserves = once_in(&mut reserving, 3);
    let mut keeping = rng::stream(scenario.seed, "scenario.together.keeping");
    let keeps = once_in(&mut keeping, 4);
    let reserves = reserves || keeps;
    for domain in &mut scenario.grid.domains {
        let broker = &mut domain.broker;
        broker.policy = pick(&mut rng, &POLICIES).parse().expect("a policy");
        if reserves {
            broker.policy = pick(&mut reserving, &RESERVING).parse().expect("a policy");
        }
        if keeps {
            broker.policy = pick(&mut keeping, &KEEPING).parse().expect("a policy");
        }
        broker.matchmaking = MatchmakingKind::Route;
        let startup = pick(&mut rng, &[&[][..], &[0, 1_000], &[2_000, 3_000, 5_000]]);
        let factors = pick(&mut rng, &[&[][..], &["1", "1.25"]]).iter();
        broker.co_allocation = CoAllocation {
            startup: startup.iter().copied().map(millis).collect(),
            wide_area: factors.filter_map(|it| Decimal::parse(it)).collect(),
            claim_timeout: millis(pick(&mut rng, &[15_000, 60_000])),
            ..CoAllocation::default()
        };
    }
    for cluster in &mut scenario.grid.clusters {
        // A queue that takes no job at all would refuse each part for ever.
        cluster.config.queue_limit = None;
        cluster.config.node_plan = Arc::default();
        // All parts begin at one instant, whoever is in the way.
        let does = reserves && !(keeps && once_in(&mut keeping, 4));
        cluster.config.reserving = does.then_some(Reserving {
            overrun: Overrun::Kill,
            most_share: Decimal::ONE,
            longest: None,
            most_ahead: None,
        });
    }
    for submission in &mut scenario.submissions {
        let components = &mut submission.spec.components;
        components.first.requirements = Requirements::default();
        let more = if once_in(&mut rng, 2) {
            0
        } else {
            pick(&mut rng, &[1, 2, 3])
        };
        let others = (0..more).map(|_| Component {
            processors: pick(&mut rng, &[1, 1, 2, 3]),
            requirements: Requirements::default(),
            cluster: None,
        });
        components.more = others.collect();
        if let Entry::Domain(domain) = submission.entry {
            let own = &scenario.grid.domains[domain.index()].clusters;
            wish(&mut wishes, &mut submission.spec, own);
        }
        if reserves && once_in(&mut reserving, 3) {
            let earliest = submission.at + millis(pick(&mut reserving, &[0, 3_000, 30_000]));
            let length = millis(pick(&mut reserving, &[250, 20_000, 60_000]));
            submission.spec.start_window = Some(Box::new(StartWindow {
                earliest,
                latest: earliest + length,
                flexible: once_in(&mut reserving, 2),
            }));
        }
    }
    reading(&mut scenario);
    scenario
}

/// Some jobs read data, and some brokers place them close to it.
fn reading(scenario: &mut Scenario) {
    let mut rng = rng::stream(scenario.seed, "scenario.together.reading");
    let domains = &mut scenario.grid.domains;
    for domain in domains.iter_mut() {
        let broker = &mut domain.broker;
        broker.co_allocation.bandwidth = Decimal::parse(pick(&mut rng, &["", "0.5", "8"]));
        let reserves = broker.policy.placement().is_some_and(Placement::reserves);
        if !reserves && once_in(&mut rng, 3) {
            broker.policy = "close-to-files".parse().expect("a policy");
        }
    }
    for submission in &mut scenario.submissions {
        if let Entry::Domain(id) = submission.entry
            && let domain = &domains[id.index()]
            && domain.broker.policy.placement() != Some(Placement::KeptReservation)
            && once_in(&mut rng, 2)
        {
            submission.spec.inputs = reads(&mut rng, &submission.spec, &domain.clusters);
        }
    }
}

/// What some components of a job read, and where that is.
fn reads(rng: &mut ChaCha8Rng, job: &JobSpec, clusters: &[ClusterId]) -> Box<[Input]> {
    let own = (0..)
        .zip(job.components.iter())
        .map(|(component, _)| Input {
            component,
            data_mib: pick(rng, &[0, 3, 40]),
            clusters: clusters
                .iter()
                .copied()
                .filter(|_| once_in(rng, 3))
                .collect(),
        });
    own.collect()
}

/// Some jobs say how they may be divided, or where a component is to be.
fn wish(rng: &mut ChaCha8Rng, spec: &mut JobSpec, clusters: &[ClusterId]) {
    let whole = spec.components.first.processors;
    if spec.components.only().is_some() && once_in(rng, 2) {
        let pieces = vec![1; whole.min(60) as usize];
        let splits = [vec![whole], pieces].into_iter();
        let splits = splits.filter(|sizes| sizes.iter().sum::<u32>() == whole);
        spec.division = Some(Box::new(match once_in(rng, 2) {
            true => Division::Splits(splits.map(Vec::into_boxed_slice).collect()),
            false => Division::Bounds {
                least_component: pick(rng, &[0, 1, 2]),
                most_components: pick(rng, &[0, 1, 2]),
            },
        }));
        return;
    }
    for component in spec.components.iter_mut() {
        if once_in(rng, 6) {
            component.cluster = Some(pick(rng, clusters));
        }
    }
}
