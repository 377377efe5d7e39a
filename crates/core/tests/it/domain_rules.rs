//! The policies that weigh whole domains (LA Grid 4.3.4).

use crate::rig::{Rig, job, refusal, sample, secs};
use gridrig_core::agent::{Brought, Cancel, FromBroker, Passed, ToPeer, Told};
use gridrig_core::broker::OwnDispatch;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Components, JobSpec, Reason, Requirements};
use gridrig_core::message::{Route, Target};
use gridrig_core::policy::Tie;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::transfer_time;
use gridrig_core::time::{Decimal, SimDuration};
use std::convert::Infallible;

const C0: Target = Target::Cluster(ClusterId(0));
const C1: Target = Target::Cluster(ClusterId(1));
const PEER_1: Target = Target::Peer(DomainId(1));
const PEER_2: Target = Target::Peer(DomainId(2));

fn nodes(count: u32, architecture: &str, os: &str, speed: &str) -> Resource {
    Resource {
        name: None,
        count,
        cpu_count: 1,
        architecture: Some(architecture.to_owned()),
        os: Some(os.to_owned()),
        memory_mib: Some(1024),
        disk_mib: Some(1000),
        speed: Decimal::parse(speed).expect("a speed"),
        generic: Default::default(),
    }
}

fn cluster(groups: &[Resource]) -> Resources {
    Resources::new(groups.to_vec()).expect("processors")
}

fn wanting(id: u32, processors: u32, architecture: &str, os: &str) -> JobSpec {
    let requirements = Requirements {
        architecture: Some(architecture.into()),
        os: Some(os.into()),
        ..Requirements::default()
    };
    JobSpec {
        components: Components::one(processors, requirements),
        ..job(id, processors)
    }
}

/// Domain 0 with clusters of 4 and 8, domain 1 with one of 8.
fn rank(policy: &str) -> Rig {
    Rig::new(&[&[4, 8], &[8]], policy)
}

#[test]
fn the_rank_is_the_sum_of_speed_times_free_less_queued_processors() {
    // 0: 4 + (8 - 6 - 1) = 5 free; 1: 8 - 2 = 6.
    let mut rig = rank("best-broker-rank");
    rig.info(C1, &[sample(1, 8).busy(6).queued_processors(1)]);
    rig.info(PEER_1, &[sample(2, 8).busy(2)]);
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, PEER_1)]);
    // A queue that is longer than what is free counts as nothing, not less.
    rig.info(C1, &[sample(1, 8).busy(6).queued_processors(90)]);
    rig.info(PEER_1, &[sample(2, 8).busy(5)]);
    assert_eq!(rig.decide(10, &[job(1, 1)]), [(1, C0)]);
}

#[test]
fn a_fast_domain_outranks_a_larger_slow_one() {
    let mut rig = rank("best-broker-rank");
    rig.resources(2, cluster(&[nodes(8, "x86", "LINUX", "2.5")]));
    // 12 x 1.0 here, 5 x 2.5 there.
    rig.info(PEER_1, &[sample(2, 8).busy(3)]);
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, PEER_1)]);
    rig.info(PEER_1, &[sample(2, 8).busy(4)]);
    assert_eq!(rig.decide(10, &[job(1, 1)]), [(1, C1)]);
}

#[test]
fn only_clusters_that_can_run_the_job_count() {
    let mut rig = rank("best-broker-rank");
    rig.info(PEER_1, &[sample(2, 8).busy(1)]);
    // For 5 processors only the cluster of 8 counts here: 8 against 7.
    assert_eq!(rig.decide(5, &[job(0, 5)]), [(0, C1)]);
    rig.info(C1, &[sample(1, 8).busy(2)]);
    assert_eq!(
        rig.decide(10, &[job(1, 5), job(2, 1)]),
        [(1, PEER_1), (2, C1)]
    );
}

#[test]
fn where_nothing_is_free_the_shares_of_processors_count() {
    let mut rig = rank("best-broker-rank");
    rig.info(C0, &[sample(0, 4).busy(4)]);
    rig.info(C1, &[sample(1, 8).busy(8).queued_processors(8)]);
    rig.info(PEER_1, &[sample(2, 8).busy(8).queued_processors(1)]);
    // 4/8 + 8/24 = 0.83 here, 8/17 = 0.47 there; in C0 the share is larger.
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, C0)]);
    // For a wide job it is 8/24 against 8/17.
    assert_eq!(rig.decide(10, &[job(1, 5)]), [(1, PEER_1)]);
}

#[test]
fn alpha_promotes_the_domain_where_the_job_entered() {
    let busy = |policy, busy| {
        let mut rig = Rig::new(&[&[100], &[100]], policy);
        rig.info(C0, &[sample(0, 100).busy(busy)]);
        rig.decide(5, &[job(0, 1)])[0].1
    };
    let kinds = [
        ("best-broker-rank", 1, PEER_1),
        ("best-broker-rank(alpha=1.10)", 9, C0),
        ("best-broker-rank(alpha=1.1)", 10, PEER_1),
        ("best-broker-rank-1.10", 9, C0),
        ("best-broker-rank-1.10", 10, PEER_1),
        ("best-broker-rank-1.25", 19, C0),
        ("best-broker-rank-aggr", 1, PEER_1),
        ("best-broker-rank-aggr-1.10", 9, C0),
        ("best-broker-rank-aggr-1.10", 10, PEER_1),
        ("best-broker-rank-aggr-1.25", 19, C0),
        ("best-broker-rank-aggr-1.25", 21, PEER_1),
    ];
    for (policy, processors, expected) in kinds {
        assert_eq!(
            busy(policy, processors),
            expected,
            "{policy:?} {processors}"
        );
    }
    // 1.25 x 80 = 100: a tie, which the rule for ties decides.
    let mut rig = Rig::new(&[&[100], &[100]], "best-broker-rank");
    rig.settings(|broker| {
        broker.origin_promotion = Decimal::parse("1.25").expect("a number");
        broker.tie = Tie::Local;
    });
    rig.info(C0, &[sample(0, 100).busy(20)]);
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, C0)]);
}

#[test]
fn a_forwarded_job_is_promoted_where_it_entered_and_not_where_it_is() {
    let domains: [&[u32]; 3] = [&[100], &[100], &[100]];
    let links = [(1, 0), (1, 2)];
    let mut rig = Rig::of(1, &domains, &links, "best-broker-rank-1.25");
    rig.settings(|broker| broker.max_hops = 3);
    rig.info(Target::Peer(DomainId(0)), &[sample(0, 100).busy(10)]);
    let route = Route {
        from: Some(DomainId(2)),
        hop: 1,
        origin: DomainId(0),
        settled: false,
        until: None,
    };
    rig.take_over(secs(1), &job(0, 1), route);
    assert_eq!(rig.cycle(secs(5)), [(0, Target::Peer(DomainId(0)))]);
}

#[test]
fn aggregated_information_forgets_what_belongs_together() {
    // x86 under Linux and ppc under AIX: what is asked for is in no cluster.
    let there = [nodes(8, "x86", "LINUX", "1"), nodes(8, "ppc", "AIX", "1")];
    let both = [nodes(8, "x86", "AIX", "1"), nodes(8, "ppc", "AIX", "1")];
    let decide = |policy, groups: [&[Resource]; 2]| {
        let mut rig = Rig::new(&[&[4], &[8, 8]], policy);
        rig.resources(1, cluster(groups[0]));
        rig.resources(2, cluster(groups[1]));
        rig.decide(5, &[wanting(0, 2, "X86", "aix")])
    };
    let apart = [&there[..1], &there[1..]];
    assert_eq!(decide("best-broker-rank", apart), []);
    // The relation x86 contains AIX is nowhere either.
    assert_eq!(decide("best-broker-rank-aggr", apart), []);
    let together = [&both[..1], &both[1..]];
    assert_eq!(decide("best-broker-rank-aggr", together), [(0, PEER_1)]);
    // Memory is known by operating system only: what the ppc nodes under AIX
    // have is taken for what x86 under AIX may have.
    let mut big = both.clone();
    big[1].memory_mib = Some(8192);
    let wanted = |policy| {
        let mut rig = Rig::new(&[&[4], &[8, 8]], policy);
        rig.resources(1, cluster(&big[..1]));
        rig.resources(2, cluster(&big[1..]));
        let mut job = wanting(0, 2, "x86", "aix");
        job.components.first.requirements.memory_kib = 4 * 1024 * 1024;
        rig.decide(5, &[job])
    };
    assert_eq!(wanted("best-broker-rank"), []);
    assert_eq!(wanted("best-broker-rank-aggr"), [(0, PEER_1)]);
}

#[test]
fn a_domain_without_nodes_of_the_wanted_speed_is_no_place_in_either_form() {
    for policy in ["best-broker-rank", "best-broker-rank-aggr"] {
        for (speed_millionths, expected) in [
            (2_000_000, vec![(0, PEER_1)]),
            (2_000_001, Vec::new()),
            (0, vec![(0, PEER_1)]),
        ] {
            let mut rig = Rig::new(&[&[4], &[8]], policy);
            let mixed = [nodes(6, "x86", "AIX", "1"), nodes(2, "x86", "AIX", "2")];
            rig.resources(1, cluster(&mixed));
            let mut job = wanting(0, 2, "x86", "aix");
            job.components.first.requirements.speed_millionths = speed_millionths;
            assert_eq!(rig.decide(5, &[job]), expected, "{speed_millionths}");
        }
    }
}

#[test]
fn a_debited_broker_counts_what_it_has_sent_against_the_rank() {
    for (own_dispatch, expected) in [
        (OwnDispatch::Ignored, [(0, PEER_1), (1, PEER_1)]),
        (OwnDispatch::Debited, [(0, PEER_1), (1, C0)]),
    ] {
        let mut rig = Rig::new(&[&[8], &[9]], "best-broker-rank");
        rig.settings(|broker| broker.own_dispatch = own_dispatch);
        assert_eq!(rig.decide(5, &[job(0, 2), job(1, 2)]), expected);
    }
}

#[test]
fn a_job_stays_where_there_is_room_and_else_goes_to_the_peers_in_turn() {
    let mut rig = Rig::new(&[&[4, 8], &[8], &[8]], "inter-rr");
    rig.settings(|broker| broker.ttl = 2);
    rig.info(C1, &[sample(1, 8).busy(6)]);
    let jobs = [job(0, 3), job(1, 5), job(2, 5), job(3, 5)];
    let sent = rig.decide(5, &jobs);
    assert_eq!(sent, [(0, C0), (1, PEER_1), (2, PEER_2), (3, PEER_1)]);
}

#[test]
fn room_is_where_a_job_could_start_now_by_the_view() {
    let mut rig = Rig::new(&[&[8], &[8]], "inter-rr");
    rig.resources(0, cluster(&[nodes(8, "x86", "LINUX", "1")]));
    let load = |queued, all, most| {
        let free = sample(0, 8).busy(4).memory_mib(all, most);
        free.queued_processors(queued)
    };
    // Four processors are free.
    for (queued, all, most, expected) in [
        (0, 4096, 1024, C0),
        (2, 4096, 1024, C0),
        // What waits there comes first.
        (3, 4096, 1024, PEER_1),
        // Two processors with 512 MiB each: in sum, and on some node.
        (0, 1024, 512, C0),
        (0, 1023, 1023, PEER_1),
        (0, 4096, 511, PEER_1),
    ] {
        rig.info(C0, &[load(queued, all, most)]);
        let mut job = job(0, 2);
        job.components.first.requirements.memory_kib = 512 * 1024;
        let sent = rig.decide(5, &[job]);
        assert_eq!(sent[0].1, expected, "{queued} {all} {most}");
    }
    // A node without a bound of memory will do.
    let mut rig = Rig::new(&[&[8], &[8]], "inter-rr");
    rig.info(C0, &[load(0, 0, 0)]);
    assert_eq!(rig.decide(5, &[job(0, 2)]), [(0, C0)]);
}

#[test]
fn local_first_keeps_what_could_start_here_and_ranks_the_rest() {
    let mut rig = rank("best-broker-rank(local_first=true)");
    rig.info(C1, &[sample(1, 8).busy(6)]);
    // 4 + 2 here, 8 there: by rank all would go.
    let sent = rig.decide(5, &[job(0, 4), job(1, 5)]);
    assert_eq!(sent, [(0, C0), (1, PEER_1)]);
}

#[test]
fn a_wandering_job_goes_neither_back_nor_past_its_ttl() {
    let domains: [&[u32]; 4] = [&[8], &[8], &[8], &[8]];
    let links = [(1, 0), (1, 2), (1, 3)];
    let onward = Some(Target::Peer(DomainId(3)));
    for (hop, policy, expected) in [
        (1, "inter-random(revisit=false)", onward),
        (3, "inter-random(revisit=false)", None),
        (3, "inter-random(revisit=false,ttl=4)", onward),
        (1, "inter-random(revisit=false,ttl=1)", None),
    ] {
        let mut rig = Rig::of(1, &domains, &links, policy);
        rig.settings(|broker| broker.ttl = 3);
        rig.info(C1, &[sample(1, 8).busy(8)]);
        let route = Route {
            from: Some(DomainId(2)),
            hop,
            origin: DomainId(0),
            settled: false,
            until: None,
        };
        rig.take_over(secs(1), &job(7, 1), route);
        let sent: Vec<Target> = rig.cycle(secs(5)).iter().map(|(_, to)| *to).collect();
        assert_eq!(sent.first().copied(), expected);
        if expected.is_none() {
            let refusal = refusal(2, 7, Reason::HopsExhausted);
            assert_eq!(rig.take_out(), [refusal]);
        }
    }
}

#[test]
fn a_wandering_job_may_come_back_unless_that_is_forbidden() {
    for (policy, expected) in [
        ("inter-rr", Some(Target::Peer(DomainId(0)))),
        ("inter-rr(revisit=false)", None),
    ] {
        let mut rig = Rig::of(1, &[&[8], &[8]], &[(1, 0)], policy);
        rig.settings(|broker| broker.ttl = 3);
        rig.info(C1, &[sample(1, 8).busy(8)]);
        rig.arrive_from(secs(1), &job(7, 1), Some(0), 1);
        let sent = rig.cycle(secs(5));
        assert_eq!(sent.first().map(|(_, to)| *to), expected, "{policy}");
    }
}

#[test]
fn a_job_that_has_wandered_enough_rests_where_it_entered_and_is_decided_again() {
    let mut rig = Rig::new(&[&[4], &[8]], "inter-rr(reschedule_interval=30s)");
    rig.info(C0, &[sample(0, 4).busy(4).queued_processors(3)]);
    assert_eq!(rig.decide(5, &[job(0, 4)]), [(0, PEER_1)]);
    // It is back at 6 s.
    rig.refuse_as(JobId(0), PEER_1, Reason::HopsExhausted);
    assert_eq!(rig.broker.queued(), 1);
    assert_eq!(rig.broker.poll_timeout(secs(6)), Some(secs(40)));
    // Others are decided meanwhile.
    assert_eq!(rig.decide(35, &[job(1, 4)]), [(1, PEER_1)]);
    assert_eq!(rig.cycle(secs(40)), [(0, PEER_1)]);
    rig.refuse_as(JobId(0), PEER_1, Reason::HopsExhausted);
    rig.info(C0, &[sample(0, 4)]);
    assert_eq!(rig.cycle(secs(45)), [(0, C0)]);
}

#[test]
fn a_resting_job_is_removed_like_any_other() {
    let mut rig = Rig::new(&[&[4], &[8]], "inter-rr");
    rig.info(C0, &[sample(0, 4).busy(4)]);
    assert_eq!(rig.decide(5, &[job(0, 4)]), [(0, PEER_1)]);
    rig.refuse_as(JobId(0), PEER_1, Reason::HopsExhausted);
    assert!(rig.handle(secs(7), Cancel(JobId(0))));
    assert_eq!((rig.broker.queued(), rig.broker.held()), (0, 0));
    assert_eq!(rig.broker.poll_timeout(secs(7)), None);
}

#[test]
fn a_job_that_has_wandered_enough_waits_where_it_entered_in_the_shortest_queue() {
    let mut rig = Rig::new(&[&[4, 8], &[8]], "inter-rr(ttl_end=settle)");
    rig.info(C0, &[sample(0, 4).busy(4).queued_processors(3)]);
    rig.info(C1, &[sample(1, 8).busy(8).queued_processors(5)]);
    assert_eq!(rig.decide(5, &[job(0, 4)]), [(0, PEER_1)]);
    rig.refuse_as(JobId(0), PEER_1, Reason::HopsExhausted);
    assert_eq!(rig.cycle(secs(10)), [(0, C0)]);
    // Too wide for the shorter one.
    assert_eq!(rig.decide(15, &[job(1, 5)]), [(1, PEER_1)]);
    rig.refuse_as(JobId(1), PEER_1, Reason::HopsExhausted);
    assert_eq!(rig.cycle(secs(20)), [(1, C1)]);
}

#[test]
fn on_its_way_back_a_job_passes_through_the_brokers_it_came_by() {
    let mut rig = Rig::of(1, &[&[4], &[4], &[4]], &[(1, 2)], "inter-rr");
    rig.settings(|broker| broker.ttl = 2);
    rig.info(C1, &[sample(1, 4).busy(4)]);
    rig.arrive_from(secs(1), &job(0, 1), Some(0), 1);
    assert_eq!(rig.cycle(secs(5)), [(0, PEER_2)]);
    rig.take_out();
    rig.refuse_as(JobId(0), PEER_2, Reason::HopsExhausted);
    let refusal = refusal(0, 0, Reason::HopsExhausted);
    assert_eq!(rig.take_out(), [refusal]);
    assert_eq!(rig.broker.held(), 0);
}

#[test]
fn a_job_that_cannot_run_where_it_entered_waits_at_the_peer_with_the_shortest_queue() {
    let mut rig = Rig::new(&[&[4], &[8], &[8]], "inter-rr");
    rig.info(PEER_1, &[sample(1, 8).busy(8).queued_processors(9)]);
    rig.info(PEER_2, &[sample(2, 8).busy(8).queued_processors(2)]);
    assert_eq!(rig.decide(5, &[job(0, 6)]), [(0, PEER_1)]);
    rig.take_out();
    rig.refuse_as(JobId(0), PEER_1, Reason::HopsExhausted);
    assert_eq!(rig.cycle(secs(10)), [(0, PEER_2)]);
    let forward = Passed {
        job: JobId(0),
        route: Route {
            from: Some(DomainId(0)),
            hop: 1,
            settled: true,
            ..Route::entering(DomainId(0))
        },
        has_data: false,
    };
    let forward = FromBroker::Peer(DomainId(2), ToPeer::Forward(forward));
    assert_eq!(rig.take_out(), [forward]);
    // There it is kept, whatever the load.
    let mut rig = Rig::of(2, &[&[4], &[8], &[8]], &[(2, 1)], "inter-rr");
    rig.info(Target::Cluster(ClusterId(2)), &[sample(2, 8).busy(8)]);
    let route = Route {
        from: Some(DomainId(0)),
        hop: 1,
        origin: DomainId(0),
        settled: true,
        until: None,
    };
    rig.take_over(secs(1), &job(0, 6), route);
    assert_eq!(rig.cycle(secs(5)), [(0, Target::Cluster(ClusterId(2)))]);
}

#[test]
fn data_takes_the_time_that_the_bandwidth_says() {
    let bandwidth = Decimal::parse("12.5");
    let expected = SimDuration::from_millis(80);
    assert_eq!(transfer_time(1024, bandwidth), expected);
    assert_eq!(transfer_time(1024, None), SimDuration::ZERO);
    assert_eq!(transfer_time(0, bandwidth), SimDuration::ZERO);
}

#[test]
fn a_drained_broker_refuses_new_jobs_and_goes_on_with_what_it_has() {
    let mut rig = Rig::new(&[&[8], &[8]], "round-robin");
    rig.settings(|settings| {
        let (from, until) = (SimDuration::from_secs(10), SimDuration::from_secs(20));
        settings.drain = vec![[from, until]];
    });
    let mut comes = |at: u64, id: u32| {
        let (spec, route) = (&job(id, 4), None);
        rig.handle(secs(at), Brought { spec, route })
    };
    assert_eq!(comes(9, 1), Ok(()));
    assert_eq!(comes(10, 2), Err(Reason::Draining));
    assert_eq!(comes(20, 3), Ok(()));
    rig.broker.drain(secs(40));
    assert_eq!(rig.cycle(secs(30)).len(), 2);
    let (spec, route) = (&job(4, 4), None);
    let refused = rig.handle(secs(39), Brought { spec, route });
    assert_eq!(refused, Err(Reason::Draining));
    rig.broker.drain(secs(39));
    let taken = rig.handle(secs(39), Brought { spec, route });
    assert_eq!(taken, Ok(()));
}

#[test]
fn a_job_that_a_drained_peer_sends_back_waits_for_it_where_nobody_else_can_run_it() {
    let mut rig = Rig::new(&[&[2], &[8]], "round-robin");
    let peer = Target::Peer(DomainId(1));
    rig.arrive(secs(1), &job(1, 4));
    assert_eq!(rig.cycle(secs(5)), [(1, peer)]);
    rig.refuse_as(JobId(1), peer, Reason::Draining);
    assert_eq!(rig.cycle(secs(10)), []);
    assert!(!rig.broker.is_open(peer, secs(10)));
    // It is asked again an exchange later.
    assert_eq!(rig.cycle(secs(25)), [(1, peer)]);
}

#[test]
fn a_peer_that_was_told_of_a_drain_is_sent_no_jobs_until_its_end() {
    let mut rig = Rig::new(&[&[2], &[8]], "round-robin");
    let from = Target::Peer(DomainId(1));
    let drain = |until: u64| Told {
        from,
        said: ToPeer::<Brought<'_>, Infallible>::Drain(secs(until)),
    };
    rig.handle(secs(1), drain(20));
    rig.arrive(secs(1), &job(1, 4));
    assert_eq!(rig.cycle(secs(5)), []);
    assert_eq!(rig.cycle(secs(20)), [(1, from)]);
    // It is back at work before the end that it told first.
    rig.handle(secs(21), drain(40));
    rig.handle(secs(22), drain(22));
    rig.arrive(secs(22), &job(2, 4));
    assert_eq!(rig.cycle(secs(25)), [(2, from)]);
}
