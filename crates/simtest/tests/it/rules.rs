//! "Rules that decide instants and ties" (design 5) that need a whole grid,
//! each worked out by hand and held against driver and reference alike.

use crate::grids::{by_driver, by_reference};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::Party;
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Reason, Submission};
use gridrig_core::message::EndState;
use gridrig_core::policy::Tie;
use gridrig_core::resource::Resources;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_simtest::reference::RefCancellation;
use gridrig_simtest::scenarios::Scenario;
use gridrig_simtest::trail::{JobRecord, Trails};

const A: Entry = Entry::Domain(DomainId(0));
const B: Entry = Entry::Domain(DomainId(1));

pub fn ms(millis: u64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

/// Domains of these cluster sizes; every two in a row forward to each other
/// over 50 ms; cycles every 5 s from 0, information every 15 s, LRMSs at 1 ms.
pub fn grid(policy: &str, domains: &[&[u32]]) -> Scenario {
    let mut grid = Grid::default();
    for (index, sizes) in (0u16..).zip(domains) {
        let mut own = Vec::new();
        for size in *sizes {
            let id = ClusterId(grid.clusters.len() as u16);
            own.push(id);
            let resources = Resources::homogeneous(*size);
            grid.clusters.push(GridCluster {
                name: format!("c{}", id.0),
                domain: Some(DomainId(index)),
                config: ClusterConfig::new(id, resources, DisciplineKind::FirstInFirstFit),
            });
        }
        grid.domains.push(Domain {
            name: format!("d{index}"),
            broker: BrokerSettings {
                policy: policy.parse().expect("a policy"),
                ..BrokerSettings::default()
            },
            clusters: own,
            topology: Default::default(),
        });
        if let Some(before) = index.checked_sub(1) {
            for (consumer, provider) in [(before, index), (index, before)] {
                grid.links.push(Link {
                    consumer: DomainId(consumer),
                    provider: DomainId(provider),
                    latency: SimDuration::from_millis(50),
                    bandwidth: None,
                });
            }
        }
    }
    Scenario {
        seed: 1,
        grid,
        submissions: Vec::new(),
        cancellations: Vec::new(),
    }
}

/// One cluster without a broker.
fn lone_cluster(processors: u32) -> Scenario {
    let resources = Resources::homogeneous(processors);
    let config = ClusterConfig::new(ClusterId(0), resources, DisciplineKind::FirstInFirstFit);
    Scenario {
        seed: 1,
        grid: Grid::single_cluster("only", config),
        submissions: Vec::new(),
        cancellations: Vec::new(),
    }
}

/// Adds a job: entry, milliseconds of submission, processors, run time in ms.
pub fn with(mut scenario: Scenario, entry: Entry, at: u64, processors: u32, run: u64) -> Scenario {
    let id = JobId(scenario.submissions.len() as u32);
    scenario.submissions.push(Submission {
        spec: JobSpec::rigid(id, processors, SimDuration::from_millis(run)),
        at: ms(at),
        entry,
        label: JobLabel::default(),
    });
    scenario
}

/// The trails of the scenario, which driver and reference agree on.
pub fn play(scenario: &Scenario) -> Trails {
    let (driver, reference) = (by_driver(scenario), by_reference(scenario));
    let difference = reference.first_difference("reference", &driver, "driver");
    assert_eq!(difference, None);
    driver
}

pub fn record(trails: &Trails, job: u32) -> JobRecord {
    trails.record(JobId(job))
}

/// Cluster, start and finish of a job, the times in ms.
fn ran(trails: &Trails, job: u32) -> (u16, u64, u64) {
    let record = record(trails, job);
    let ms = |at: Option<SimTime>| at.expect("it ran").as_nanos() / 1_000_000;
    let cluster = record.cluster.expect("it ran");
    (cluster.0, ms(record.start), ms(record.finish))
}

#[test]
fn a_job_of_length_0_frees_its_processors_within_its_instant() {
    let cluster = Entry::Cluster(ClusterId(0));
    let scenario = with(lone_cluster(2), cluster, 1_000, 2, 0);
    let scenario = with(scenario, cluster, 1_000, 2, 0);
    let trails = play(&with(scenario, cluster, 1_000, 1, 500));
    assert_eq!(ran(&trails, 0), (0, 1_000, 1_000));
    assert_eq!(ran(&trails, 1), (0, 1_000, 1_000));
    assert_eq!(ran(&trails, 2), (0, 1_000, 1_500));
}

#[test]
fn a_local_job_waits_for_the_cycle_and_one_lrms_latency_each_way() {
    let scenario = grid("local-only", &[&[4]]);
    let trails = play(&with(scenario, A, 1_000, 1, 7_000));
    let job = record(&trails, 0);
    assert_eq!(job.hops, [(DomainId(0), ms(1_000))]);
    assert_eq!(job.dispatch, Some(ms(5_000)));
    assert_eq!(job.queued, Some(ms(5_001)));
    assert_eq!(job.start, Some(ms(5_001)));
    assert_eq!(job.finish, Some(ms(12_001)));
    assert_eq!(job.finish_seen, Some(ms(12_002)));
}

#[test]
fn in_phase_over_a_50_ms_link_a_forwarded_job_waits_for_the_next_cycle_of_the_peer() {
    let scenario = grid("free-node", &[&[4], &[8]]);
    let trails = play(&with(scenario, A, 1_000, 1, 7_000));
    let job = record(&trails, 0);
    assert_eq!(
        job.hops,
        [(DomainId(0), ms(1_000)), (DomainId(1), ms(5_050))]
    );
    assert_eq!(job.dispatch, Some(ms(10_000)));
    assert_eq!(job.finish, Some(ms(17_001)));
    // LRMS to its broker 1 ms, from there to the entry broker 50 ms.
    assert_eq!(job.finish_seen, Some(ms(17_052)));
}

#[test]
fn a_staggered_peer_decides_a_forwarded_job_within_the_same_interval() {
    let mut scenario = grid("free-node", &[&[4], &[8]]);
    scenario.grid.domains[1].broker.phase = SimDuration::from_millis(2_500);
    let trails = play(&with(scenario, A, 1_000, 1, 7_000));
    assert_eq!(record(&trails, 0).dispatch, Some(ms(7_500)));
}

#[test]
fn arrivals_at_one_instant_are_in_trace_order_whatever_their_road() {
    // Job 0 comes from the peer, job 1 enters at the same instant.
    let scenario = grid("free-node", &[&[4], &[8]]);
    let scenario = with(scenario, A, 1_000, 6, 10_000);
    let trails = play(&with(scenario, B, 5_050, 6, 10_000));
    assert_eq!(ran(&trails, 0), (1, 10_001, 20_001));
    assert_eq!(ran(&trails, 1), (1, 20_001, 30_001));
    // Job 0 is handed over by the broker, job 1 comes past it.
    let scenario = with(grid("local-only", &[&[4]]), A, 1_000, 3, 10_000);
    let past = Entry::Cluster(ClusterId(0));
    let trails = play(&with(scenario, past, 5_001, 3, 10_000));
    assert_eq!(ran(&trails, 0), (0, 5_001, 15_001));
    assert_eq!(ran(&trails, 1), (0, 15_001, 25_001));
}

#[test]
fn an_own_cluster_is_known_one_lrms_latency_after_the_sample() {
    // The first cluster is filled past any broker at 14 s and sampled at 15 s.
    for (at, expected) in [(15_000, 0), (15_001, 1)] {
        let mut scenario = grid("free-node", &[&[5, 4]]);
        let settings = &mut scenario.grid.domains[0].broker;
        settings.phase = SimDuration::from_millis(at);
        let filler = Entry::Cluster(ClusterId(0));
        let scenario = with(scenario, filler, 14_000, 5, 60_000);
        let trails = play(&with(scenario, A, 14_500, 1, 1_000));
        assert_eq!(ran(&trails, 1).0, expected, "cycle at {at} ms");
    }
}

#[test]
fn a_peer_is_known_the_links_latency_after_its_sample() {
    for (at, expected) in [(15_049, 1), (15_050, 0)] {
        let mut scenario = grid("free-node", &[&[4], &[5]]);
        let settings = &mut scenario.grid.domains[0].broker;
        settings.phase = SimDuration::from_millis(at);
        let filler = Entry::Cluster(ClusterId(1));
        let scenario = with(scenario, filler, 14_000, 5, 60_000);
        let trails = play(&with(scenario, A, 14_500, 1, 1_000));
        assert_eq!(ran(&trails, 1).0, expected, "cycle at {at} ms");
    }
}

#[test]
fn peers_hear_the_sample_of_the_instant_and_not_what_their_broker_knows_when_it_arrives() {
    // The peer is full from 15.010 s on; what arrives at 15.050 s was sampled
    // at 15 s, when it was idle.
    let mut scenario = grid("free-node", &[&[4], &[5]]);
    scenario.grid.domains[0].broker.phase = SimDuration::from_millis(15_060);
    let filler = Entry::Cluster(ClusterId(1));
    let scenario = with(scenario, A, 14_500, 1, 1_000);
    let trails = play(&with(scenario, filler, 15_010, 5, 60_000));
    assert_eq!(ran(&trails, 0).0, 1);
}

#[test]
fn a_sample_sees_the_pass_of_its_own_instant() {
    let mut scenario = grid("free-node", &[&[5, 4]]);
    scenario.grid.domains[0].broker.phase = SimDuration::from_millis(2_000);
    let filler = Entry::Cluster(ClusterId(0));
    // At 0 s, the first multiple of the exchange.
    let scenario = with(scenario, filler, 0, 5, 60_000);
    let trails = play(&with(scenario, A, 1_000, 1, 1_000));
    assert_eq!(ran(&trails, 1).0, 1);
}

#[test]
fn a_sample_does_not_see_what_ends_after_its_instant_began_a_new_round() {
    let mut scenario = grid("free-node", &[&[5, 4]]);
    scenario.grid.domains[0].broker.phase = SimDuration::from_millis(2_000);
    let filler = Entry::Cluster(ClusterId(0));
    // It starts and ends at 0 s; the sample lies between the two.
    let scenario = with(scenario, filler, 0, 5, 0);
    let trails = play(&with(scenario, A, 1_000, 1, 1_000));
    assert_eq!(ran(&trails, 1).0, 1);
}

#[test]
fn with_fresh_local_information_own_clusters_are_read_at_the_cycle() {
    use gridrig_core::broker::LocalInfo;
    for (local_info, expected) in [(LocalInfo::Exchange, 0), (LocalInfo::Fresh, 1)] {
        let mut scenario = grid("free-node", &[&[5, 4]]);
        scenario.grid.domains[0].broker.local_info = local_info;
        let filler = Entry::Cluster(ClusterId(0));
        let scenario = with(scenario, filler, 1_000, 5, 60_000);
        let trails = play(&with(scenario, A, 2_000, 1, 1_000));
        assert_eq!(ran(&trails, 1).0, expected, "{local_info:?}");
    }
}

#[test]
fn information_that_arrives_with_a_cycle_is_used_in_it() {
    let mut scenario = grid("free-node", &[&[5, 4]]);
    let settings = &mut scenario.grid.domains[0].broker;
    settings.lrms_latency = SimDuration::from_millis(5_000);
    let filler = Entry::Cluster(ClusterId(0));
    let scenario = with(scenario, filler, 0, 5, 60_000);
    let trails = play(&with(scenario, A, 1_000, 1, 1_000));
    assert_eq!(ran(&trails, 1).0, 1);
}

#[test]
fn a_refusal_travels_back_and_the_forwarder_tries_its_next_candidate() {
    // Job 0 turns the counter; job 1 goes to the peer, whose own rules give
    // it no forward: only its own two processors, which are too few.
    let mut scenario = grid("round-robin", &[&[4], &[2], &[4]]);
    scenario.grid.domains[0].broker.max_hops = 2;
    let scenario = with(scenario, A, 1_000, 1, 1_000);
    let trails = play(&with(scenario, A, 1_000, 4, 1_000));
    let job = record(&trails, 1);
    assert_eq!(
        job.hops,
        [(DomainId(0), ms(1_000)), (DomainId(1), ms(5_050))]
    );
    // Refused at 10 s, back at 10.050 s, decided at 15 s.
    assert_eq!(job.dispatch, Some(ms(15_000)));
    assert_eq!(ran(&trails, 1), (0, 15_001, 16_001));
}

#[test]
fn a_job_whose_candidates_have_all_refused_is_rejected() {
    let mut scenario = grid("round-robin", &[&[3], &[2], &[4]]);
    scenario.grid.domains[0].broker.max_hops = 2;
    let trails = play(&with(scenario, A, 1_000, 4, 1_000));
    let job = record(&trails, 0);
    assert_eq!(job.end, Some(EndState::Rejected(Reason::AllRefused)));
    assert_eq!(job.finish_seen, Some(ms(15_000)));
}

#[test]
fn a_job_may_come_back_to_where_it_was_and_hops_bound_its_way() {
    let mut scenario = grid("round-robin", &[&[4], &[4]]);
    for domain in &mut scenario.grid.domains {
        domain.broker.max_hops = 2;
    }
    // One job each turns the counters, so that the third goes round.
    let scenario = with(scenario, A, 1_000, 1, 1_000);
    let scenario = with(scenario, B, 2_000, 1, 1_000);
    let trails = play(&with(scenario, A, 3_000, 1, 1_000));
    let job = record(&trails, 2);
    assert_eq!(
        job.hops,
        [
            (DomainId(0), ms(3_000)),
            (DomainId(1), ms(5_050)),
            (DomainId(0), ms(10_050))
        ]
    );
    assert_eq!(ran(&trails, 2), (0, 15_001, 16_001));
    // LRMS to broker, then back over both brokers it came by.
    assert_eq!(job.finish_seen, Some(ms(16_102)));
}

#[test]
fn a_cancellation_at_the_instant_of_an_arrival_comes_before_it_and_finds_nothing() {
    let cluster = Entry::Cluster(ClusterId(0));
    for (cancelled_at, ends) in [(1_000, EndState::Completed), (1_001, EndState::Cancelled)] {
        let mut scenario = with(lone_cluster(2), cluster, 1_000, 1, 500);
        scenario.cancellations.push(RefCancellation {
            at: ms(cancelled_at),
            job: JobId(0),
        });
        let trails = play(&scenario);
        assert_eq!(record(&trails, 0).end, Some(ends), "at {cancelled_at} ms");
    }
}

#[test]
fn a_completion_at_the_instant_of_a_cancellation_comes_before_it() {
    let cluster = Entry::Cluster(ClusterId(0));
    let mut scenario = with(lone_cluster(2), cluster, 1_000, 1, 500);
    scenario.cancellations.push(RefCancellation {
        at: ms(1_500),
        job: JobId(0),
    });
    let trails = play(&scenario);
    assert_eq!(record(&trails, 0).end, Some(EndState::Completed));
}

#[test]
fn full_information_counts_what_waits_in_a_peers_broker_and_what_is_on_its_way() {
    let mut scenario = grid("full-information", &[&[4], &[4]]);
    for domain in &mut scenario.grid.domains {
        domain.broker.tie = Tie::First;
    }
    // 0 fills the own cluster, 1 goes to the peer, 2 sees both taken and the
    // peer with less to do.
    let scenario = with(scenario, A, 1_000, 4, 60_000);
    let scenario = with(scenario, A, 1_000, 4, 50_000);
    let scenario = with(scenario, A, 1_000, 4, 1_000);
    // At 10 s two jobs wait in the peer's broker until its own cycle, and a
    // newcomer has to know.
    let trails = play(&with(scenario, A, 6_000, 4, 1_000));
    let clusters = [0, 1, 2, 3].map(|job| ran(&trails, job).0);
    assert_eq!(clusters, [0, 1, 1, 1]);
}

#[test]
fn information_goes_to_the_own_broker_and_to_every_consumer_at_multiples_of_the_exchange() {
    let scenario = grid("local-only", &[&[4], &[4]]);
    let trails = play(&with(scenario, A, 1_000, 1, 20_000));
    let broker = |domain| Party::Broker(DomainId(domain));
    let lrms = |cluster| Party::Lrms(ClusterId(cluster));
    let mut sent: Vec<_> = trails.information;
    sent.retain(|(at, ..)| *at < ms(25_000));
    sent.sort_unstable();
    let of = |at| {
        [
            (ms(at), broker(0), broker(1)),
            (ms(at), broker(1), broker(0)),
            (ms(at), lrms(0), broker(0)),
            (ms(at), lrms(1), broker(1)),
        ]
    };
    assert_eq!(sent, [of(0), of(15_000)].concat());
}

#[test]
fn a_fresh_look_at_time_0_sees_what_waits_for_the_pass_of_that_instant() {
    use gridrig_core::broker::LocalInfo;
    let mut scenario = grid("queue-length", &[&[4, 4]]);
    scenario.grid.domains[0].broker.local_info = LocalInfo::Fresh;
    let filler = Entry::Cluster(ClusterId(0));
    let scenario = with(scenario, filler, 0, 4, 60_000);
    let trails = play(&with(scenario, A, 0, 1, 1_000));
    assert_eq!(ran(&trails, 1).0, 1);
}
