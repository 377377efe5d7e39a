//! Examples of the paper, and what jobs say themselves.

use super::*;
use crate::job::{Input, Requirements};
use crate::resource::Resource;

fn clusters(idle: &[u32]) -> Vec<(ClusterId, Arc<Resources>)> {
    let one = |(id, processors): (u16, &u32)| {
        (
            ClusterId(id),
            Arc::new(Resources::homogeneous((*processors).max(1))),
        )
    };
    (0..).zip(idle).map(one).collect()
}

fn components(sizes: &[u32]) -> JobSpec {
    let one = |processors: &u32| Component {
        processors: *processors,
        requirements: Requirements::default(),
        cluster: None,
    };
    let all = Components::new(sizes.iter().map(one)).expect("a component");
    JobSpec::of(all, SimDuration::ZERO)
}

/// What each cluster gets.
fn placed(placement: Placement, idle: &[u32], sizes: &[u32]) -> Option<Vec<u32>> {
    placed_job(placement, idle, &components(sizes))
}

fn placed_job(placement: Placement, idle: &[u32], job: &JobSpec) -> Option<Vec<u32>> {
    placed_on(&clusters(idle), placement, idle, job)
}

fn placed_on(
    clusters: &[(ClusterId, Arc<Resources>)],
    placement: Placement,
    idle: &[u32],
    job: &JobSpec,
) -> Option<Vec<u32>> {
    let placing = Placing {
        placement,
        reservations: None,
        tries: 0,
        quota: Decimal::ONE,
        least_component: 1,
        most_components: 0,
    };
    let parts = placing.parts(job, clusters)?;
    let mut given = vec![0; idle.len()];
    for (at, share) in placing.place(&parts, idle)?.0 {
        given[at] += parts.processors_of(share);
    }
    Some(given)
}

use Placement::{
    CloseToFiles as CF, ClusterMinimization as CM, FlexibleClusterMinimization as FCM,
    WorstFit as WF,
};

/// KOALA, Figure 2: three components of 8, idle 18, 15 and 12.
#[test]
fn worst_fit_spreads_what_cluster_minimization_puts_together() {
    let idle = [18, 15, 12];
    assert_eq!(placed(WF, &idle, &[8, 8, 8]), Some(vec![8, 8, 8]));
    assert_eq!(placed(CM, &idle, &[8, 8, 8]), Some(vec![16, 8, 0]));
}

/// KOALA, Figure 4: 24 processors.
#[test]
fn a_flexible_job_is_divided_where_no_cluster_has_room_for_it() {
    let idle = [18, 15, 12];
    assert_eq!(placed(WF, &idle, &[24]), None);
    assert_eq!(placed(CM, &idle, &[24]), None);
    assert_eq!(placed(FCM, &idle, &[24]), Some(vec![18, 6, 0]));
    assert_eq!(placed(FCM, &idle, &[8, 8, 8]), Some(vec![18, 6, 0]));
    assert_eq!(placed(FCM, &idle, &[46]), None);
    assert_eq!(placed(FCM, &[0, 5], &[5]), Some(vec![0, 5]));
}

#[test]
fn the_order_of_clusters_stays_under_cluster_minimization_only() {
    assert_eq!(placed(WF, &[10, 9], &[4, 4]), Some(vec![4, 4]));
    assert_eq!(placed(CM, &[10, 9], &[4, 4]), Some(vec![8, 0]));
    assert_eq!(placed(CM, &[10, 9], &[4, 8]), Some(vec![8, 4]));
    assert_eq!(placed(CM, &[7, 9], &[8, 4, 4]), None);
}

#[test]
fn a_quota_bounds_what_is_taken_of_a_cluster() {
    let placing = |quota| Placing {
        placement: CM,
        reservations: None,
        tries: 0,
        quota: Decimal::parse(quota).expect("a number"),
        least_component: 1,
        most_components: 0,
    };
    assert_eq!(placing("0.5").may_take(20, 20), 10);
    assert_eq!(placing("0.5").may_take(20, 12), 2);
    assert_eq!(placing("0.5").may_take(20, 9), 0);
    assert_eq!(placing("1").may_take(20, 9), 9);
}

#[test]
fn components_of_a_divided_job_keep_its_bounds() {
    let placing = Placing {
        placement: FCM,
        reservations: None,
        tries: 0,
        quota: Decimal::ONE,
        least_component: 4,
        most_components: 2,
    };
    let (job, clusters) = (components(&[20]), clusters(&[18, 15, 12]));
    let parts = placing.parts(&job, &clusters).expect("parts");
    let shares = |idle: &[u32]| {
        let (placed, _) = placing.place(&parts, idle)?;
        let sizes = placed
            .iter()
            .map(|(at, share)| (*at, parts.processors_of(*share)));
        Some(sizes.collect::<Vec<_>>())
    };
    assert_eq!(shares(&[18, 15, 12]), Some(vec![(0, 16), (1, 4)]));
    assert_eq!(shares(&[8, 8, 8]), None);
    assert_eq!(shares(&[3, 15, 3]), None);
}

#[test]
fn a_component_goes_to_the_cluster_that_it_names_or_nowhere() {
    let idle = [18, 15, 12];
    let mut job = components(&[10, 8, 8]);
    job.components.more[1].cluster = Some(ClusterId(1));
    // The fixed one first, although a larger one comes before it.
    for (policy, given) in [(WF, [10, 8, 8]), (CM, [18, 8, 0]), (FCM, [18, 8, 0])] {
        assert_eq!(
            placed_job(policy, &idle, &job),
            Some(given.into()),
            "{policy:?}"
        );
    }
    assert_eq!(placed_job(CM, &[30, 7, 12], &job), None);
    // One component that names its cluster is not divided.
    let mut one = components(&[12]);
    one.components.first.cluster = Some(ClusterId(2));
    assert_eq!(placed_job(FCM, &idle, &one), Some(vec![0, 0, 12]));
    assert_eq!(placed_job(FCM, &[18, 15, 11], &one), None);
    one.components.first.cluster = Some(ClusterId(3));
    assert_eq!(placed_job(FCM, &idle, &one), None);
}

/// The first cluster has 100 nodes of 1 GiB and two of 8, the second eight of 8.
#[test]
fn a_cluster_has_no_more_room_for_a_component_than_nodes_that_it_asks_for() {
    let nodes = |count, gib: u64| Resource {
        count,
        memory_mib: Some(gib * 1024),
        ..Resources::homogeneous(1).groups()[0].clone()
    };
    let of = |groups| Arc::new(Resources::new(groups).expect("processors"));
    let clusters = [
        (ClusterId(0), of(vec![nodes(100, 1), nodes(2, 8)])),
        (ClusterId(1), of(vec![nodes(8, 8)])),
    ];
    let asking = |sizes: &[u32], gib: u64| {
        let mut job = components(sizes);
        for component in job.components.iter_mut() {
            component.requirements.memory_kib = gib << 20;
        }
        job
    };
    for policy in [WF, CM, FCM, CF] {
        let placed = |idle: [u32; 2], job: &JobSpec| {
            placed_on(&clusters, policy, &idle, job).unwrap_or_default()
        };
        let empty = |sizes: &[u32]| placed([102, 8], &asking(sizes, 4));
        assert_eq!(empty(&[5]), [0, 5], "{policy:?}");
        assert_eq!(empty(&[2, 2, 2]), [0, 6], "{policy:?}");
        // What the components of a job get of a cluster has to be there together.
        assert_eq!(empty(&[2; 5]), [2, 8], "{policy:?}");
        assert_eq!(empty(&[2; 6]), [0_u32; 0], "{policy:?}");
        assert_eq!(empty(&[11]), [0_u32; 0], "{policy:?}");
        let divided: &[u32] = if policy == FCM { &[2, 3] } else { &[] };
        assert_eq!(placed([102, 3], &asking(&[5], 4)), divided, "{policy:?}");
        // Pieces of one component likewise.
        for (size, given) in [(10, &[2, 8][..]), (12, &[])] {
            let split = Division::Splits([vec![2; size as usize / 2].into()].into());
            let job = JobSpec {
                division: Some(Box::new(split)),
                ..asking(&[size], 4)
            };
            assert_eq!(placed([102, 8], &job), given, "{policy:?}");
        }
        // Who asks for nothing takes any.
        assert_eq!(
            placed([102, 8], &asking(&[50, 50], 0)),
            [100, 0],
            "{policy:?}"
        );
    }
}

#[test]
fn permitted_splits_are_tried_in_their_order() {
    let of = |splits: &[&[u32]]| {
        let splits = splits.iter().map(|sizes| Box::from(*sizes)).collect();
        let division = Some(Box::new(Division::Splits(splits)));
        JobSpec {
            division,
            ..components(&[24])
        }
    };
    let all = of(&[&[24], &[12, 12], &[8, 8, 8]]);
    for (idle, given) in [
        ([24, 24, 24], [24, 0, 0]),
        ([18, 15, 12], [12, 12, 0]),
        ([18, 11, 9], [16, 8, 0]),
    ] {
        assert_eq!(placed_job(FCM, &idle, &all), Some(given.into()));
        assert_eq!(placed_job(CM, &idle, &all), Some(given.into()));
    }
    assert_eq!(placed_job(FCM, &[15, 7, 7], &all), None);
    let pieces = of(&[&[8, 8, 8]]);
    assert_eq!(placed_job(WF, &[24, 9, 9], &pieces), Some(vec![16, 8, 0]));
    assert_eq!(placed_job(CM, &[24, 9, 9], &pieces), Some(vec![24, 0, 0]));
}

#[test]
fn the_narrower_of_a_jobs_own_bounds_and_the_policys_holds() {
    let bounded = |least_component, most_components| JobSpec {
        division: Some(Box::new(Division::Bounds {
            least_component,
            most_components,
        })),
        ..components(&[24])
    };
    let idle = [18, 15, 12];
    assert_eq!(placed_job(FCM, &idle, &bounded(0, 0)), Some(vec![18, 6, 0]));
    assert_eq!(
        placed_job(FCM, &idle, &bounded(10, 0)),
        Some(vec![14, 10, 0])
    );
    assert_eq!(placed_job(FCM, &idle, &bounded(0, 1)), None);
    // Bounds divide nothing where a policy does not.
    assert_eq!(placed_job(CM, &idle, &bounded(0, 0)), None);
}

/// A component, how much it reads, and who has that.
fn input(component: u8, data_mib: u64, clusters: &[u16]) -> Input {
    let clusters = clusters.iter().copied().map(ClusterId).collect();
    Input {
        component,
        data_mib,
        clusters,
    }
}

#[test]
fn components_go_to_what_they_read_and_where_that_does_not_matter_as_under_worst_fit() {
    let idle = [18, 15, 12];
    let with = |sizes: &[u32], inputs: &[Input]| JobSpec {
        inputs: inputs.into(),
        ..components(sizes)
    };
    // The second would go to the third cluster, which has no room left.
    let far = with(
        &[10, 6, 6],
        &[input(0, 6144, &[2]), input(1, 1024, &[2, 1])],
    );
    assert_eq!(placed_job(CF, &idle, &far), Some(vec![6, 6, 10]));
    assert_eq!(placed_job(WF, &idle, &far), Some(vec![10, 6, 6]));
    // 3 MiB are to be brought to the first cluster, 2 to the second and 5 to the third.
    let two = with(&[9], &[input(0, 2, &[0]), input(0, 3, &[1])]);
    assert_eq!(placed_job(CF, &idle, &two), Some(vec![0, 9, 0]));
    assert_eq!(placed_job(CF, &[18, 8, 20], &two), Some(vec![9, 0, 0]));
    assert_eq!(placed_job(CF, &[8, 8, 8], &two), None);
    // Of those that have it the one with the most idle processors, then the first.
    let equal = with(&[4, 4], &[input(0, 5, &[1, 2]), input(1, 5, &[1, 2])]);
    assert_eq!(placed_job(CF, &[9, 8, 8], &equal), Some(vec![0, 4, 4]));
    assert_eq!(placed_job(CF, &[9, 3, 8], &equal), Some(vec![0, 0, 8]));
    for (idle, sizes) in [(idle, &[8, 8, 8][..]), ([7, 9, 9], &[4, 5, 6, 2])] {
        let as_worst_fit = placed(WF, &idle, sizes);
        assert!(as_worst_fit.is_some());
        assert_eq!(placed(CF, &idle, sizes), as_worst_fit);
        // Nobody has it.
        let away = with(sizes, &[input(0, 9, &[]), input(1, 9, &[])]);
        assert_eq!(placed_job(CF, &idle, &away), as_worst_fit);
    }
}

#[test]
fn a_part_of_a_divided_job_reads_its_share() {
    let splits = Division::Splits([[12, 12].into()].into());
    let job = JobSpec {
        division: Some(Box::new(splits)),
        inputs: [input(0, 101, &[2])].into(),
        ..components(&[24])
    };
    assert_eq!(placed_job(WF, &[24, 11, 12], &job), Some(vec![24, 0, 0]));
    assert_eq!(placed_job(CF, &[24, 11, 12], &job), Some(vec![12, 0, 12]));
    let missing = |share: ClaimShare, at| share.missing_mib(&job, ClusterId(at));
    assert_eq!(missing(ClaimShare::Processors(6), 0), 26);
    assert_eq!(missing(ClaimShare::Processors(24), 0), 101);
    assert_eq!(missing(ClaimShare::Components(1), 0), 101);
    assert_eq!(missing(ClaimShare::Components(1), 2), 0);
    // Components of a part are counted from its first.
    let mut job = components(&[4, 4, 4]);
    job.inputs = [input(1, 7, &[]), input(2, 8, &[])].into();
    let part = ClaimShare::Components(0b101).of(&job, SimDuration::ZERO);
    assert_eq!(part.unwrap().inputs[..], [input(1, 8, &[])]);
}

/// Those that no policy could ever place at once, however many clusters each of them would suit.
#[test]
fn components_that_never_fit_together_are_known_beforehand() {
    let could = |policy: &str, all: &[u32], job: &JobSpec| {
        let policy = policy.parse().expect("a policy");
        let settings = BrokerSettings {
            policy,
            ..BrokerSettings::default()
        };
        let all = clusters(all);
        let could_place = settings.could_place(&all, |id, _| all[id.index()].1.processors());
        could_place(job)
    };
    let (reserves, fcm) = ("co-reservation", "flexible-cluster-minimization");
    for policy in [reserves, "worst-fit", "cluster-minimization"] {
        assert!(could(policy, &[10, 6], &components(&[6, 6, 4])), "{policy}");
        for sizes in [&[6, 6, 6][..], &[11], &[9, 7]] {
            assert!(!could(policy, &[10, 6], &components(sizes)), "{policy}");
        }
    }
    assert!(could(fcm, &[10, 6], &components(&[9, 7])));
    assert!(!could(fcm, &[10, 6], &components(&[9, 8])));
    let quota = "cluster-minimization(quota=0.5)";
    assert!(could(quota, &[10, 6], &components(&[5, 3])));
    assert!(!could(quota, &[10, 6], &components(&[6])));
    // Each to the first cluster with room, the last one has none: but twice 5 + 4 + 3 have.
    let job = components(&[5, 5, 4, 4, 3, 3]);
    assert!(!could("cluster-minimization", &[12, 12], &job));
    assert!(could(reserves, &[12, 12], &job));
    assert!(!could(reserves, &[12, 11], &job));
    assert!(!could(reserves, &[9, 9, 9], &components(&[5; 4])));
    let mut named = components(&[4, 4, 4]);
    for one in named.components.iter_mut().take(2) {
        one.cluster = Some(ClusterId(1));
    }
    assert!(could(reserves, &[4, 8], &named) && !could(reserves, &[8, 7], &named));
    assert!(could("earliest-start(reserve=all)", &[4], &named));
    // It would take too long to find out that 40 of them have no room.
    assert!(could(reserves, &[7; 39], &components(&[4; 40])));
}

/// The bits of 64 components are no value of an event; those that are divided as one have none.
#[test]
fn a_policy_that_places_components_takes_63() {
    let takes = |policy: &str, components: &JobSpec| {
        let policy = policy.parse().expect("a policy");
        let settings = BrokerSettings {
            policy,
            ..BrokerSettings::default()
        };
        settings.takes_components_of(components)
    };
    let (most, beyond) = (components(&[1; 63]), components(&[1; 64]));
    for policy in ["worst-fit", "cluster-minimization", "co-reservation"] {
        assert!(takes(policy, &most) && !takes(policy, &beyond), "{policy}");
    }
    for policy in [
        "flexible-cluster-minimization",
        "free-node",
        "earliest-start(reserve=all)",
    ] {
        assert!(takes(policy, &beyond), "{policy}");
    }
}
