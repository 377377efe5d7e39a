//! What a broker knows, counts and believes.

use crate::rig::{Rig, job, sample, secs};
use gridrig_core::agent::{Brought, PeerState};
use gridrig_core::broker::{Broker, OwnDispatch, Pending};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::load::{LoadSample, Mean};
use gridrig_core::message::Target;
use gridrig_core::policy::InformationNeed;
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};

const C0: Target = Target::Cluster(ClusterId(0));
const PEER: Target = Target::Peer(DomainId(1));

/// A processor busy for a second.
const SECOND: u128 = 1_000_000_000;

#[test]
fn past_the_bound_on_its_queue_a_broker_refuses_and_nothing_changes() {
    let mut rig = Rig::new(&[&[4]], "round-robin");
    let mut config = rig.broker.config().clone();
    config.queue_limit = Some(2);
    rig.broker = Broker::new(config, rng::stream(1, "broker.d0"));
    let submit = |rig: &mut Rig, at, id| {
        let (spec, route) = (&job(id, 1), None);
        rig.handle(secs(at), Brought { spec, route })
    };
    let answers = [0, 1, 2].map(|id| submit(&mut rig, 1, id));
    assert_eq!(answers, [Ok(()), Ok(()), Err(Reason::QueueFull)]);
    assert_eq!((rig.broker.queued(), rig.broker.held()), (2, 2));
    // What has been sent on waits no longer.
    rig.cycle(secs(5));
    assert_eq!(submit(&mut rig, 6, 2), Ok(()));
}

#[test]
fn the_job_itself_is_at_hand_while_it_is_held() {
    let mut rig = Rig::new(&[&[4]], "round-robin");
    rig.arrive(secs(1), &job(3, 2));
    rig.cycle(secs(5));
    assert_eq!(rig.broker.spec(JobId(3)), Some(&job(3, 2)));
    assert_eq!(rig.broker.spec(JobId(0)), None);
}

#[test]
fn what_waits_for_a_cycle_is_told_as_jobs_processors_and_work() {
    let mut rig = Rig::new(&[&[8]], "round-robin");
    assert_eq!(rig.broker.pending(), Pending::default());
    rig.arrive(secs(1), &job(0, 3));
    rig.arrive(secs(1), &job(1, 4));
    let expected = Pending {
        jobs: 2,
        processors: 7,
        work: 70 * SECOND,
    };
    assert_eq!(rig.broker.pending(), expected);
    rig.cycle(secs(5));
    assert_eq!(rig.broker.pending(), Pending::default());
}

#[test]
fn a_broker_asks_for_what_its_policy_needs() {
    let need = |policy| Rig::new(&[&[4]], policy).broker.need();
    assert_eq!(need("free-node"), InformationNeed::Totals);
    assert_eq!(need("full-information"), InformationNeed::Truth);
}

#[test]
fn information_is_as_old_as_its_oldest_sample() {
    let mut rig = Rig::new(&[&[4], &[4, 4]], "free-node");
    rig.info(C0, &[sample(0, 4).at(secs(15))]);
    let peer = [sample(1, 4).at(secs(15)), sample(2, 4).at(secs(10))];
    rig.info(PEER, &peer);
    let ages: Vec<_> = rig.broker.information_age(secs(22)).collect();
    let age = SimDuration::from_secs;
    assert_eq!(ages, [(C0, age(7)), (PEER, age(12))]);
}

#[test]
fn a_sample_that_was_overtaken_by_a_later_one_changes_nothing() {
    let mut rig = Rig::new(&[&[4], &[4]], "free-node");
    rig.info(C0, &[sample(0, 4).at(secs(30)).busy(1)]);
    rig.info(C0, &[sample(0, 4).at(secs(15))]);
    assert_eq!(rig.decide(35, &[job(0, 1)]), [(0, PEER)]);
}

#[test]
fn cycles_stay_on_the_grid_after_a_time_without_jobs() {
    let mut rig = Rig::new(&[&[4]], "round-robin");
    rig.decide(5, &[job(0, 1)]);
    rig.arrive(secs(21), &job(1, 1));
    assert_eq!(rig.broker.poll_timeout(secs(21)), Some(secs(25)));
}

#[test]
fn the_hops_that_are_left_after_a_forward_bound_what_a_peer_can_reach() {
    // 0 -> 1 -> 2 -> 0, and only domain 2 has eight processors.
    for (hop, expected) in [(0, vec![(0, PEER)]), (1, vec![])] {
        let domains: [&[u32]; 3] = [&[4], &[4], &[8]];
        let links = [(0, 1), (1, 2), (2, 0)];
        let mut rig = Rig::of(0, &domains, &links, "round-robin");
        rig.settings(|broker| broker.max_hops = 2);
        rig.arrive_from(secs(1), &job(0, 6), Some(2), hop);
        assert_eq!(rig.cycle(secs(5)), expected, "after {hop} forwards");
    }
}

/// Own cluster and peer of ten processors each, all busy at the peer.
fn bound(own_busy: u32, own_work: u128, peer_work: u128) -> Rig {
    let mut rig = Rig::new(&[&[10], &[10]], "full-information");
    let own = sample(0, 10).busy(own_busy).work_left(own_work * SECOND);
    rig.info(C0, &[own]);
    let peer = sample(1, 10).busy(10).work_left(peer_work * SECOND);
    rig.info(PEER, &[peer]);
    rig
}

#[test]
fn a_job_starts_at_once_where_it_fits_beyond_what_is_queued() {
    for (processors, expected) in [(5, C0), (6, PEER)] {
        let mut rig = bound(10, 0, 0);
        let mut own: LoadSample = sample(0, 10).busy(3).work_left(9 * SECOND).into();
        own.queued_processors = 2;
        rig.info_raw(C0, &[own]);
        // 10 - 3 - 2 are left.
        assert_eq!(rig.decide(5, &[job(0, processors)]), [(0, expected)]);
    }
}

#[test]
fn a_job_starts_at_once_where_it_fits_beyond_what_waits_in_the_peers_broker() {
    for (processors, expected) in [(7, PEER), (8, C0)] {
        let mut rig = bound(10, 0, 0);
        rig.info(PEER, &[sample(1, 10).work_left(9 * SECOND)]);
        let pending = Pending {
            jobs: 1,
            processors: 3,
            work: SECOND,
        };
        let (peer, samples) = (DomainId(1), Vec::new().into());
        let truth = PeerState {
            peer,
            samples,
            pending,
        };
        rig.handle(SimTime::ZERO, truth);
        // 10 - 3 are left.
        assert_eq!(rig.decide(5, &[job(0, processors)]), [(0, expected)]);
    }
}

#[test]
fn what_waits_in_the_peers_broker_is_work_to_be_done_there() {
    for (waiting, expected) in [(2, PEER), (4, C0)] {
        let mut rig = bound(10, 5, 2);
        let pending = Pending {
            work: waiting * SECOND,
            ..Pending::default()
        };
        let (peer, samples) = (DomainId(1), Vec::new().into());
        let truth = PeerState {
            peer,
            samples,
            pending,
        };
        rig.handle(SimTime::ZERO, truth);
        // 5 against 2 + waiting.
        assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, expected)]);
    }
}

#[test]
fn the_bound_counts_the_processors_of_its_own_decisions() {
    let mut rig = bound(0, 900, 0);
    let jobs = [job(0, 4), job(1, 4), job(2, 4)];
    // 10, 6 and 2 are free.
    assert_eq!(rig.decide(5, &jobs), [(0, C0), (1, C0), (2, PEER)]);
}

#[test]
fn the_bound_counts_the_work_of_its_own_decisions() {
    let mut rig = bound(10, 500, 550);
    let jobs = [job(0, 1), job(1, 1), job(2, 10), job(3, 1)];
    // 500, 510, 520 and 620 processor-seconds against 550.
    assert_eq!(rig.decide(5, &jobs), [(0, C0), (1, C0), (2, C0), (3, PEER)]);
}

#[test]
fn the_bound_remembers_its_decisions_until_it_is_told_of_them() {
    let mut rig = bound(10, 500, 550);
    assert_eq!(rig.decide(5, &[job(0, 10)]), [(0, C0)]);
    // 600 against 550, as nothing newer is known.
    assert_eq!(rig.decide(10, &[job(1, 1)]), [(1, PEER)]);
}

#[test]
fn means_over_unlike_times_are_summed_by_their_values() {
    // Three jobs and half a job; at nanoseconds the common weight is past 64
    // bits.
    for unit in [1, 10_000_000_000] {
        let queued = |sum: u128, weight: u64| Mean {
            sum: sum * u128::from(unit),
            weight: weight * unit,
        };
        for (own, expected) in [(queued(69, 20), C0), (queued(71, 20), PEER)] {
            let mut rig = Rig::new(&[&[4], &[4, 4]], "queue-length");
            let with = |cluster, mean| {
                let mut sample: LoadSample = sample(cluster, 4).into();
                sample.queued_means[0] = mean;
                sample
            };
            rig.info_raw(C0, &[with(0, own)]);
            let peer = [with(1, queued(9, 3)), with(2, queued(2, 4))];
            rig.info_raw(PEER, &peer);
            assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, expected)], "{own:?}");
        }
    }
}

#[test]
fn a_debit_of_a_peer_is_busy_processors_over_all_of_its_processors() {
    let mut rig = Rig::new(&[&[10], &[10, 10]], "utilization");
    rig.settings(|broker| broker.own_dispatch = OwnDispatch::Debited);
    rig.info(C0, &[sample(0, 10).busy_everywhere(5)]);
    let peer = [
        sample(1, 10).busy_everywhere(4),
        sample(2, 10).busy_everywhere(4),
    ];
    rig.info(PEER, &peer);
    let jobs = [job(0, 1), job(1, 2), job(2, 1), job(3, 1)];
    // 5 of 10 against 8, 9 and 11 of 20; then 6 of 10 against 11 of 20.
    assert_eq!(
        rig.decide(5, &jobs),
        [(0, PEER), (1, PEER), (2, C0), (3, PEER)]
    );
}
