//! Hops, refusals and the way back.

use crate::rig::{Rig, completed, job, notify, refusal, secs};
use gridrig_core::agent::{Cancel, FromBroker, Passed, ToPeer, Told};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, News, Route, Target};
use gridrig_core::time::SimTime;

const C0: Target = Target::Cluster(ClusterId(0));
const PEER_1: Target = Target::Peer(DomainId(1));
const PEER_2: Target = Target::Peer(DomainId(2));

/// Three domains in a circle of consumers: 0 -> 1 -> 2 -> 0.
fn circle(domain: u16, sizes: [u32; 3]) -> Rig {
    let [a, b, c] = sizes;
    let domains: [&[u32]; 3] = [&[a], &[b], &[c]];
    let links = [(0, 1), (1, 2), (2, 0)];
    Rig::of(domain, &domains, &links, "round-robin")
}

#[test]
fn with_one_hop_the_receiving_broker_uses_its_own_clusters_only() {
    let mut rig = circle(1, [4, 4, 4]);
    let id = Target::Cluster(ClusterId(1));
    for forwarded in 0..3 {
        rig.arrive_from(secs(1), &job(forwarded, 1), Some(0), 1);
    }
    assert_eq!(rig.cycle(secs(5)), [(0, id), (1, id), (2, id)]);
}

#[test]
fn with_more_hops_the_receiving_broker_decides_anew() {
    let mut rig = circle(1, [4, 4, 4]);
    rig.settings(|broker| broker.max_hops = 2);
    rig.arrive_from(secs(1), &job(0, 1), Some(0), 1);
    rig.arrive_from(secs(1), &job(1, 1), Some(0), 1);
    rig.arrive_from(secs(1), &job(2, 1), Some(0), 2);
    let own = Target::Cluster(ClusterId(1));
    assert_eq!(rig.cycle(secs(5)), [(0, own), (1, PEER_2), (2, own)]);
    let forwards = rig.take_out();
    let forward = Passed {
        job: JobId(1),
        route: Route {
            from: Some(DomainId(1)),
            hop: 2,
            ..Route::entering(DomainId(0))
        },
        has_data: false,
    };
    let forward = FromBroker::Peer(DomainId(2), ToPeer::Forward(forward));
    assert!(forwards.contains(&forward));
}

#[test]
fn a_peer_is_a_candidate_if_the_hops_left_lead_to_a_cluster_that_could_run_the_job() {
    for (hops, expected) in [(1, vec![]), (2, vec![(0, PEER_1)])] {
        let mut rig = circle(0, [4, 4, 8]);
        rig.settings(|broker| broker.max_hops = hops);
        assert_eq!(rig.decide(5, &[job(0, 6)]), expected, "{hops} hops");
    }
}

#[test]
fn a_refused_job_is_decided_again_in_its_old_place_without_that_candidate() {
    let mut rig = Rig::new(&[&[4], &[4]], "free-node");
    rig.info(C0, &[crate::rig::sample(0, 4).busy(1)]);
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, PEER_1)]);
    rig.arrive(secs(6), &job(1, 1));
    rig.refuse(JobId(0), PEER_1);
    assert_eq!(rig.cycle(secs(10)), [(0, C0), (1, PEER_1)]);
}

#[test]
fn a_refusal_by_somebody_who_does_not_have_the_job_changes_nothing() {
    let mut rig = Rig::new(&[&[4], &[5]], "free-node");
    assert_eq!(rig.decide(5, &[job(0, 1)]), [(0, PEER_1)]);
    rig.refuse(JobId(0), C0);
    rig.refuse(JobId(9), C0);
    assert_eq!(rig.broker.queued(), 0);
}

#[test]
fn when_every_candidate_has_refused_the_job_is_rejected_where_it_entered() {
    let mut rig = Rig::new(&[&[4], &[8]], "round-robin");
    assert_eq!(rig.decide(5, &[job(0, 6)]), [(0, PEER_1)]);
    rig.refuse(JobId(0), PEER_1);
    assert_eq!(rig.cycle(secs(10)), []);
    assert_eq!(rig.rejected(), [(0, Reason::AllRefused)]);
    assert_eq!(rig.broker.held(), 0);
}

#[test]
fn when_nobody_can_take_it_a_forwarded_job_goes_back_to_its_forwarder() {
    let mut rig = circle(1, [8, 4, 8]);
    rig.arrive_from(secs(1), &job(0, 6), Some(0), 1);
    assert_eq!(rig.cycle(secs(5)), []);
    let refusal = refusal(0, 0, Reason::NoCandidate);
    assert_eq!(rig.take_out(), [refusal]);
    assert_eq!(rig.broker.held(), 0);
}

#[test]
fn news_of_the_end_goes_back_to_whoever_the_job_came_from() {
    let mut rig = circle(1, [4, 4, 4]);
    rig.arrive_from(secs(1), &job(0, 1), Some(0), 1);
    let (_, from) = rig.cycle(secs(5))[0];
    rig.take_out();
    let said = News::Ended(completed(0));
    rig.handle(secs(20), Told { from, said });
    assert_eq!(rig.take_out(), [notify(0, completed(0))]);
    rig.handle(secs(20), Told { from, said });
    assert_eq!(rig.take_out(), [], "the news is passed on once");
}

#[test]
fn a_job_that_comes_round_is_held_twice_and_its_news_goes_round_too() {
    let mut rig = circle(0, [4, 4, 4]);
    rig.settings(|broker| broker.max_hops = 3);
    rig.arrive(secs(1), &job(9, 1));
    rig.arrive(secs(1), &job(0, 1));
    assert_eq!(rig.cycle(secs(5)), [(9, C0), (0, PEER_1)]);
    rig.arrive_from(secs(11), &job(0, 1), Some(2), 3);
    assert_eq!(rig.cycle(secs(15)), [(0, C0)]);
    rig.take_out();
    let end = completed(0);
    let said = News::Ended(end);
    rig.handle(secs(30), Told { from: C0, said });
    assert_eq!(rig.take_out(), [notify(2, end)]);
    rig.handle(secs(31), Told { from: PEER_1, said });
    assert_eq!(rig.take_out(), [FromBroker::Client(end)]);
}

#[test]
fn a_cancelled_job_is_removed_where_it_waits_or_followed_to_where_it_was_sent() {
    let mut rig = Rig::new(&[&[4], &[5]], "free-node");
    let cancel = |rig: &mut Rig, at: SimTime, id| {
        rig.take_out();
        let found = rig.handle(at, Cancel(JobId(id)));
        (found, rig.take_out())
    };
    rig.arrive(secs(1), &job(0, 1));
    let (found, out) = cancel(&mut rig, secs(2), 0);
    let Some(FromBroker::Client(end)) = out.first().copied() else {
        panic!("its end is seen at once: {out:?}");
    };
    assert!(found && end.state == EndState::Cancelled);
    assert_eq!(rig.decide(5, &[job(1, 1)]), [(1, PEER_1)]);
    let (found, out) = cancel(&mut rig, secs(6), 1);
    let follow = FromBroker::Peer(DomainId(1), ToPeer::Cancel(JobId(1)));
    assert!(found);
    assert_eq!(out, [follow]);
    assert_eq!(cancel(&mut rig, secs(6), 7), (false, vec![]));
}
