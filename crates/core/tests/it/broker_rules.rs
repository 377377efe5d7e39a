//! How a broker decides: candidates, views, ties, turns.

use crate::rig::{Rig, job, millis, sample, secs};
use gridrig_core::agent::{FromBroker, Told};
use gridrig_core::broker::OwnDispatch;
use gridrig_core::grid::BrokerSettings;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::load::{LoadSample, Mean, Window};
use gridrig_core::message::{News, Target};
use gridrig_core::policy::Tie;
use gridrig_core::time::SimDuration;

const C0: Target = Target::Cluster(ClusterId(0));
const C1: Target = Target::Cluster(ClusterId(1));
const C2: Target = Target::Cluster(ClusterId(2));
const PEER: Target = Target::Peer(DomainId(1));

#[test]
fn before_the_first_report_capacity_is_known_and_load_is_taken_as_idle() {
    let mut rig = Rig::new(&[&[4, 9], &[8]], "free-node");
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, C1)]);
    // One busy processor of nine is known; the peer's eight are believed free.
    rig.info(C1, &[sample(1, 9).busy(2)]);
    assert_eq!(rig.decide(10, &[job(1, 1)]), [(1, PEER)]);
}

#[test]
fn candidates_are_own_clusters_in_file_order_then_peers_in_link_order() {
    let mut rig = Rig::new(&[&[4, 4], &[4], &[4]], "round-robin");
    let jobs: Vec<_> = (0..5).map(|id| job(id, 1)).collect();
    let third = Target::Peer(DomainId(2));
    assert_eq!(
        rig.decide(5, &jobs),
        [(0, C0), (1, C1), (2, PEER), (3, third), (4, C0)]
    );
}

#[test]
fn only_candidates_that_could_ever_run_the_job_remain() {
    let mut rig = Rig::new(&[&[4, 8], &[6]], "free-node");
    rig.info(C1, &[sample(1, 8).busy(8)]);
    // It fits nowhere else, full as the cluster is: whether it fits at this
    // instant is not asked.
    assert_eq!(rig.decide(5, &[job(0, 7)]), [(0, C1)]);
    assert_eq!(rig.decide(10, &[job(1, 9)]), []);
    assert_eq!(rig.rejected(), [(1, Reason::NoCandidate)]);
}

#[test]
fn the_whole_queue_is_decided_on_one_view() {
    let mut rig = Rig::new(&[&[4], &[5]], "free-node");
    let jobs = [job(0, 3), job(1, 3), job(2, 3)];
    assert_eq!(rig.decide(5, &jobs), [(0, PEER), (1, PEER), (2, PEER)]);
}

#[test]
fn the_queue_is_decided_first_come_first_served() {
    let mut rig = Rig::new(&[&[4, 4]], "round-robin");
    assert_eq!(
        rig.decide(5, &[job(7, 1), job(3, 1), job(5, 1)]),
        [(7, C0), (3, C1), (5, C0)]
    );
}

#[test]
fn a_debiting_broker_subtracts_what_it_has_itself_sent() {
    let mut rig = Rig::new(&[&[4], &[5]], "free-node");
    rig.settings(|broker| broker.own_dispatch = OwnDispatch::Debited);
    // 4 and 5 free; then 4 and 2; then 1 and 2; then 1 and -1.
    let jobs = [job(0, 3), job(1, 3), job(2, 3), job(3, 1)];
    assert_eq!(
        rig.decide(5, &jobs),
        [(0, PEER), (1, C0), (2, PEER), (3, C0)]
    );
}

#[test]
fn a_job_stays_debited_until_a_sample_taken_at_or_after_its_arrival_is_received() {
    let mut rig = Rig::new(&[&[4], &[5]], "free-node");
    rig.settings(|broker| broker.own_dispatch = OwnDispatch::Debited);
    // The link takes 50 ms: the job is there at 5.050 s.
    assert_eq!(rig.decide(5, &[job(0, 3)]), [(0, PEER)]);
    rig.info(PEER, &[sample(1, 5).at(millis(5_049))]);
    assert_eq!(rig.decide(10, &[job(1, 1)]), [(1, C0)], "5 - 3 < 4");
    rig.info(C0, &[sample(0, 4).at(millis(10_001))]);
    rig.info(PEER, &[sample(1, 5).at(millis(5_050))]);
    assert_eq!(rig.decide(15, &[job(2, 1)]), [(2, PEER)], "5 > 4");
}

#[test]
fn a_debit_is_one_more_queued_job_and_busy_processors_in_every_window() {
    for window in Window::ALL {
        let mut rig = Rig::new(&[&[10], &[10]], "queue-length");
        rig.settings(|broker| {
            broker.own_dispatch = OwnDispatch::Debited;
            broker.queue_window = window;
        });
        rig.info(C0, &[sample(0, 10).queued_everywhere(1)]);
        rig.info(PEER, &[sample(1, 10).queued_everywhere(2)]);
        let jobs = [job(0, 9), job(1, 9), job(2, 9), job(3, 9)];
        // 1 and 2; 2 and 2, the first turn is over; 2 and 3; 3 and 3.
        assert_eq!(
            rig.decide(5, &jobs),
            [(0, C0), (1, PEER), (2, C0), (3, PEER)],
            "{window:?}"
        );

        let mut rig = Rig::new(&[&[10], &[10]], "utilization");
        rig.settings(|broker| {
            broker.own_dispatch = OwnDispatch::Debited;
            broker.utilization_window = window;
        });
        rig.info(C0, &[sample(0, 10).busy_everywhere(1)]);
        rig.info(PEER, &[sample(1, 10).busy_everywhere(3)]);
        // 1 and 3 of 10; then 6 and 3; then 6 and 5; then 6 and 8.
        let jobs = [job(0, 5), job(1, 2), job(2, 3), job(3, 1)];
        assert_eq!(
            rig.decide(5, &jobs),
            [(0, C0), (1, PEER), (2, PEER), (3, C0)],
            "{window:?}"
        );
    }
}

#[test]
fn a_peer_is_seen_as_the_sum_of_its_queue_lengths() {
    let mut rig = Rig::new(&[&[4], &[4, 4]], "queue-length");
    rig.info(C0, &[sample(0, 4).queued_everywhere(4)]);
    let peer = [
        sample(1, 4).queued_everywhere(2),
        sample(2, 4).queued_everywhere(3),
    ];
    rig.info(PEER, &peer);
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, C0)], "4 < 2 + 3");
    rig.info(C0, &[sample(0, 4).queued_everywhere(6)]);
    assert_eq!(rig.decide(10, &[job(1, 1)]), [(1, PEER)], "2 + 3 < 6");
}

#[test]
fn under_threshold_a_job_leaves_home_when_the_queue_there_has_reached_it() {
    // Queued at home, queued at the peer, and who gets a job at which threshold.
    for (home, peer, at_two, at_five) in [
        (1, 0, C0, C0),
        (2, 0, PEER, C0),
        (4, 5, C0, C0),
        (5, 4, PEER, PEER),
    ] {
        for (policy, wanted) in [("threshold", at_two), ("threshold(jobs=5)", at_five)] {
            let mut rig = Rig::new(&[&[4], &[4]], policy);
            rig.info(C0, &[sample(0, 4).queued_everywhere(home)]);
            rig.info(PEER, &[sample(1, 4).queued_everywhere(peer)]);
            let case = format!("{policy}: {home} here, {peer} there");
            assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, wanted)], "{case}");
        }
    }
}

#[test]
fn a_peer_is_seen_as_the_most_free_processors_in_one_cluster() {
    let mut rig = Rig::new(&[&[4], &[8, 8]], "free-node");
    rig.info(PEER, &[sample(1, 8).busy(5), sample(2, 8).busy(5)]);
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, C0)], "4 > max(3, 3)");
    rig.info(PEER, &[sample(1, 8).busy(8), sample(2, 8).busy(3)]);
    assert_eq!(rig.decide(10, &[job(1, 1)]), [(1, PEER)], "4 < max(0, 5)");
}

#[test]
fn a_peer_is_seen_as_its_busy_processors_over_all_its_processors() {
    let mut rig = Rig::new(&[&[10], &[10, 90]], "utilization");
    // 10 % of the first and 90 % of the second cluster are 82 % of both.
    let peer = [
        sample(1, 10).busy_everywhere(1),
        sample(2, 90).busy_everywhere(81),
    ];
    rig.info(PEER, &peer);
    rig.info(C0, &[sample(0, 10).busy_everywhere(8)]);
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, C0)], "0.80 < 0.82");
}

#[test]
fn queue_length_and_utilization_go_by_their_30_s_means_by_default() {
    let mut rig = Rig::new(&[&[4, 4]], "queue-length");
    let mean = |queued| {
        let mut sample: LoadSample = sample(0, 4).queued_everywhere(0).into();
        sample.queued_means[0] = Mean::instant(queued);
        sample
    };
    let mut first = mean(2);
    first.queued = 0;
    let mut second = LoadSample {
        cluster: ClusterId(1),
        ..mean(1)
    };
    second.queued = 50;
    second.queued_means[1] = Mean::instant(50);
    rig.info_raw(C0, &[first]);
    rig.info_raw(C1, &[second]);
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, C1)]);
}

#[test]
fn utilization_of_the_instant_among_equal_sizes_is_free_node() {
    for busy in [[0, 3, 1], [2, 2, 1], [4, 1, 4]] {
        let decided = ["utilization", "free-node"].map(|policy| {
            let mut rig = Rig::new(&[&[4, 4, 4]], policy);
            rig.settings(|broker| broker.utilization_window = Window::Instant);
            for (index, busy) in (0u16..).zip(busy) {
                let target = Target::Cluster(ClusterId(index));
                rig.info(target, &[sample(index, 4).busy(busy)]);
            }
            rig.decide(5, &[job(0, 1)])
        });
        assert_eq!(decided[0], decided[1], "{busy:?}");
    }
}

#[test]
fn rotating_ties_take_turns_and_every_decision_moves_the_counter() {
    let mut rig = Rig::new(&[&[4, 4, 2]], "free-node");
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, C0)], "turn 0 of 2");
    assert_eq!(rig.decide(10, &[job(1, 1)]), [(1, C1)], "turn 1 of 2");
    // Alone at the top: no choice, but a decision.
    rig.info(C1, &[sample(1, 4).busy(1)]);
    assert_eq!(rig.decide(15, &[job(2, 1)]), [(2, C0)], "turn 2 of 1");
    rig.info(C1, &[sample(1, 4)]);
    assert_eq!(rig.decide(20, &[job(3, 1)]), [(3, C1)], "turn 3 of 2");
    assert_eq!(rig.decide(25, &[job(4, 1)]), [(4, C0)], "turn 4 of 2");
}

#[test]
fn a_job_that_nobody_can_run_moves_no_counter() {
    let mut rig = Rig::new(&[&[4, 4]], "round-robin");
    assert_eq!(
        rig.decide(5, &[job(0, 1), job(1, 5), job(2, 1)]),
        [(0, C0), (2, C1)]
    );
}

#[test]
fn a_narrower_choice_shares_the_counter_of_round_robin() {
    let mut rig = Rig::new(&[&[4, 8, 8]], "round-robin");
    let jobs = [job(0, 1), job(1, 6), job(2, 6), job(3, 1)];
    // Turn 0 of 3, turn 1 of the last two, turn 2 of them, turn 3 of 3.
    assert_eq!(rig.decide(5, &jobs), [(0, C0), (1, C2), (2, C1), (3, C0)]);
}

#[test]
fn round_robin_takes_turns_whatever_the_tie_rule() {
    let mut rig = Rig::new(&[&[4, 4]], "round-robin");
    rig.settings(|broker| broker.tie = Tie::First);
    assert_eq!(rig.decide(5, &[job(0, 1), job(1, 1)]), [(0, C0), (1, C1)]);
}

#[test]
fn local_ties_prefer_own_clusters_and_take_turns_among_them() {
    let mut rig = Rig::new(&[&[4, 4], &[4]], "free-node");
    rig.settings(|broker| broker.tie = Tie::Local);
    let jobs = [job(0, 1), job(1, 1), job(2, 1)];
    assert_eq!(rig.decide(5, &jobs), [(0, C0), (1, C1), (2, C0)]);
    rig.info(C0, &[sample(0, 4).busy(1)]);
    rig.info(C1, &[sample(1, 4).busy(1)]);
    assert_eq!(rig.decide(10, &[job(3, 1)]), [(3, PEER)], "no own is tied");
}

#[test]
fn what_a_policy_is_given_holds_over_the_settings() {
    let decide = |policy: &str, change: fn(&mut BrokerSettings)| {
        let mut rig = Rig::new(&[&[4], &[4]], policy);
        rig.settings(change);
        rig.info(C0, &[sample(0, 4).busy(3)]);
        rig.info(PEER, &[sample(1, 4).busy_everywhere(1).busy(3)]);
        rig.decide(5, &[job(0, 1), job(1, 1)])
    };
    let rotate = |broker: &mut BrokerSettings| broker.tie = Tie::Rotate;
    assert_eq!(decide("free-node", rotate), [(0, C0), (1, PEER)]);
    assert_eq!(decide("free-node(tie=first)", rotate), [(0, C0), (1, C0)]);
    let instant = |broker: &mut BrokerSettings| broker.utilization_window = Window::Instant;
    assert_eq!(decide("utilization", instant), [(0, C0), (1, PEER)]);
    let mean = "utilization(window=300s)";
    assert_eq!(decide(mean, instant), [(0, C0), (1, C0)]);
}

#[test]
fn first_ties_take_the_first_candidate() {
    let mut rig = Rig::new(&[&[4, 4], &[4]], "free-node");
    rig.settings(|broker| broker.tie = Tie::First);
    let jobs = [job(0, 1), job(1, 1), job(2, 1)];
    assert_eq!(rig.decide(5, &jobs), [(0, C0), (1, C0), (2, C0)]);
}

#[test]
fn random_choices_are_repeated_by_the_seed_and_reach_every_candidate() {
    let jobs: Vec<_> = (0..40).map(|id| job(id, 1)).collect();
    for (policy, tie) in [("random", Tie::Rotate), ("free-node", Tie::Random)] {
        let decide = || {
            let mut rig = Rig::new(&[&[4, 4], &[4]], policy);
            rig.settings(|broker| broker.tie = tie);
            rig.decide(5, &jobs)
        };
        let decided = decide();
        assert_eq!(decided, decide());
        for target in [C0, C1, PEER] {
            assert!(decided.iter().any(|(_, chosen)| *chosen == target));
        }
        let twice = |pair: &[(u32, Target)]| pair[0].1 == pair[1].1;
        assert!(decided.windows(2).any(twice), "they are not in turn");
    }
}

#[test]
fn local_only_never_forwards_even_what_no_own_cluster_can_run() {
    let mut rig = Rig::new(&[&[4, 4], &[8]], "local-only");
    assert_eq!(
        rig.decide(5, &[job(0, 1), job(1, 1), job(2, 6)]),
        [(0, C0), (1, C1)]
    );
    assert_eq!(rig.rejected(), [(2, Reason::NoCandidate)]);
}

#[test]
fn cycles_start_at_the_phase_and_a_job_of_that_instant_is_decided_in_them() {
    let mut rig = Rig::new(&[&[4]], "round-robin");
    rig.settings(|broker| broker.phase = SimDuration::from_millis(2_500));
    assert_eq!(rig.broker.poll_timeout(secs(0)), None, "nothing waits");
    rig.arrive(secs(1), &job(0, 1));
    assert_eq!(rig.broker.poll_timeout(secs(1)), Some(millis(2_500)));
    rig.cycle(millis(2_500));
    rig.arrive(millis(2_600), &job(1, 1));
    assert_eq!(rig.broker.poll_timeout(millis(2_600)), Some(millis(7_500)));
    rig.arrive(millis(7_500), &job(2, 1));
    assert_eq!(rig.broker.poll_timeout(millis(7_500)), Some(millis(7_500)));
    assert_eq!(rig.cycle(millis(7_500)), [(1, C0), (2, C0)]);
    rig.arrive(millis(7_500), &job(3, 1));
    let next = rig.broker.poll_timeout(millis(7_500));
    assert_eq!(next, Some(millis(12_500)), "one cycle per instant");
}

#[test]
fn full_information_prefers_where_the_job_starts_at_once_and_then_the_least_work() {
    let mut rig = Rig::new(&[&[4], &[8]], "full-information");
    let hour = 3_600 * 1_000_000_000;
    rig.info(C0, &[sample(0, 4).busy(2).work_left(2 * hour)]);
    rig.info(PEER, &[sample(1, 8).busy(8).work_left(8)]);
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, C0)], "it starts at once");
    assert_eq!(rig.decide(10, &[job(1, 4)]), [(1, PEER)], "it waits anyway");
}

#[test]
fn a_job_waits_here_until_it_is_sent_and_is_known_until_its_end() {
    let mut rig = Rig::new(&[&[4]], "round-robin");
    rig.arrive(secs(1), &job(0, 1));
    assert_eq!(rig.broker.whereabouts(JobId(0)), Some(None));
    assert_eq!((rig.broker.queued(), rig.broker.held()), (1, 1));
    rig.cycle(secs(5));
    assert_eq!(rig.broker.whereabouts(JobId(0)), Some(Some(C0)));
    assert_eq!((rig.broker.queued(), rig.broker.held()), (0, 1));
    rig.take_out();
    let end = crate::rig::completed(0);
    let said = News::Ended(end);
    rig.handle(secs(9), Told { from: C0, said });
    assert_eq!(rig.take_out(), [FromBroker::Client(end)]);
    assert_eq!(rig.broker.whereabouts(JobId(0)), None);
    assert_eq!(rig.broker.held(), 0);
}
