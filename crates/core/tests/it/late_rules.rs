//! Brokers that keep a job until there is room for it, worked out by hand.

use crate::rig::{Rig, job, sample, secs};
use gridrig_core::broker::{Blocking, Commit};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::message::Target;

const C0: Target = Target::Cluster(ClusterId(0));
const C1: Target = Target::Cluster(ClusterId(1));
const PEER: Target = Target::Peer(DomainId(1));

fn late(domains: &[&[u32]], policy: &str, blocking: Blocking) -> Rig {
    let mut rig = Rig::new(domains, policy);
    rig.settings(|broker| (broker.commit, broker.blocking) = (Commit::Late, blocking));
    rig
}

#[test]
fn a_job_without_room_waits_and_those_behind_it_with_it_or_pass_it() {
    for (blocking, passed) in [(Blocking::Head, vec![]), (Blocking::Skip, vec![(1, C0)])] {
        let mut rig = late(&[&[4]], "utilization", blocking);
        rig.info(C0, &[sample(0, 4).busy_everywhere(2)]);
        assert_eq!(rig.decide(5, &[job(0, 3), job(1, 1)]), passed);
        rig.info(C0, &[sample(0, 4).at(secs(10))]);
        let rest: Vec<_> = [(0, C0), (1, C0)][..2 - passed.len()].to_vec();
        assert_eq!(rig.cycle(secs(10)), rest, "{blocking:?}");
    }
}

#[test]
fn what_the_broker_has_sent_takes_room_whatever_own_dispatch_says() {
    let mut rig = late(&[&[4]], "free-node", Blocking::Head);
    let jobs = [job(0, 3), job(1, 1), job(2, 1)];
    assert_eq!(rig.decide(5, &jobs), [(0, C0), (1, C0)]);
    assert_eq!(rig.cycle(secs(10)), []);
    rig.info(C0, &[sample(0, 4).at(secs(11)).busy_everywhere(3)]);
    assert_eq!(rig.cycle(secs(15)), [(2, C0)]);
}

#[test]
fn the_policy_chooses_first_and_equals_with_room_come_before_those_without() {
    // The larger cluster is less busy, and the job waits for it.
    let mut rig = late(&[&[10, 2]], "utilization", Blocking::Head);
    rig.info(C0, &[sample(0, 10).busy_everywhere(4)]);
    rig.info(C1, &[sample(1, 2).busy_everywhere(1)]);
    assert_eq!(rig.decide(5, &[job(0, 7), job(1, 1)]), []);
    // Of two equals the first in turn has no room; waiting moves no turn.
    let mut rig = late(&[&[4, 8]], "utilization", Blocking::Head);
    rig.info(C0, &[sample(0, 4).busy_everywhere(2)]);
    rig.info(C1, &[sample(1, 8).busy_everywhere(4)]);
    assert_eq!(rig.decide(5, &[job(0, 3)]), [(0, C1)]);
}

#[test]
fn a_job_waits_for_room_in_one_cluster_of_a_peer_unless_only_others_behind_it_could_run_it() {
    let mut rig = Rig::of(0, &[&[], &[4, 6], &[20]], &[(0, 1), (1, 2)], "free-node");
    rig.settings(|broker| (broker.commit, broker.max_hops) = (Commit::Late, 2));
    rig.info(PEER, &[sample(0, 4), sample(1, 6).busy_everywhere(1)]);
    assert_eq!(rig.decide(5, &[job(0, 6), job(1, 20)]), []);
    rig.info(PEER, &[sample(0, 4).at(secs(6)), sample(1, 6).at(secs(6))]);
    assert_eq!(rig.cycle(secs(10)), [(0, PEER), (1, PEER)]);
}

#[test]
fn a_policy_may_commit_late_by_itself_and_one_that_sees_no_room_never_does() {
    let waits = |policy: &str, commit| {
        let mut rig = Rig::new(&[&[4]], policy);
        rig.settings(|broker| broker.commit = commit);
        rig.info(C0, &[sample(0, 4).busy_everywhere(4)]);
        rig.decide(5, &[job(0, 1)]).is_empty()
    };
    assert!(waits("best-broker-rank(commit=late)", Commit::Early));
    assert!(waits("best-broker-rank", Commit::Late));
    assert!(!waits("best-broker-rank(commit=early)", Commit::Late));
    for policy in ["round-robin", "queue-length", "inter-rr", "local-only"] {
        assert!(!waits(policy, Commit::Late), "{policy}");
    }
}
