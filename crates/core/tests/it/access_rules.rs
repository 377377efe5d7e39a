//! Candidates that come and go.

use crate::rig::{Rig, job, secs};
use gridrig_core::broker::Access;
use gridrig_core::event::NoEvents;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::message::Target;
use gridrig_core::policy::POLICIES;

const C0: Target = Target::Cluster(ClusterId(0));
const PEER_1: Target = Target::Peer(DomainId(1));

fn rig() -> Rig {
    Rig::new(&[&[4], &[8]], "round-robin")
}

#[test]
fn a_closed_peer_gets_no_job_that_another_could_run() {
    let mut rig = rig();
    rig.broker.set_access(PEER_1, Access::Closed);
    assert_eq!(rig.decide(5, &[job(0, 1), job(1, 1)]), [(0, C0), (1, C0)]);
}

#[test]
fn a_job_that_only_a_closed_peer_could_run_waits_for_it_in_its_place() {
    let mut rig = rig();
    rig.broker.set_access(PEER_1, Access::Closed);
    assert_eq!(rig.decide(5, &[job(0, 6), job(1, 1)]), [(1, C0)]);
    assert_eq!((rig.broker.queued(), rig.rejected()), (1, vec![]));
    // Until there is news of somebody, no cycle has anything to decide.
    assert_eq!(rig.broker.poll_timeout(secs(6)), None);
    rig.broker.set_access(PEER_1, Access::Open);
    assert_eq!(rig.broker.poll_timeout(secs(6)), Some(secs(10)));
    rig.arrive(secs(7), &job(2, 6));
    assert_eq!(rig.cycle(secs(10)), [(0, PEER_1), (2, PEER_1)]);
}

#[test]
fn nobody_waits_for_a_peer_that_is_gone() {
    let mut rig = rig();
    rig.broker.set_access(PEER_1, Access::Gone);
    assert_eq!(rig.decide(5, &[job(0, 6)]), []);
    assert_eq!(rig.rejected(), [(0, Reason::NoCandidate)]);
}

#[test]
fn a_closed_cluster_of_its_own_gets_no_job_under_any_policy() {
    for entry in POLICIES {
        let mut rig = Rig::new(&[&[4]], entry.name);
        rig.broker.set_access(C0, Access::Closed);
        assert_eq!(rig.decide(5, &[job(0, 1)]), [], "{}", entry.name);
        rig.broker.set_access(C0, Access::Open);
        assert_eq!(rig.cycle(secs(10)), [(0, C0)], "{}", entry.name);
    }
}

#[test]
fn a_job_that_never_arrived_may_be_sent_there_again() {
    let mut rig = Rig::new(&[&[4], &[8]], "round-robin");
    assert_eq!(rig.decide(5, &[job(0, 6)]), [(0, PEER_1)]);
    assert!(!rig.broker.take_back(JobId(0), C0));
    assert!(rig.broker.take_back(JobId(0), PEER_1));
    assert_eq!(rig.cycle(secs(10)), [(0, PEER_1)]);
}

#[test]
fn a_job_that_is_set_aside_is_decided_by_no_cycle_until_it_is_put_back() {
    let mut rig = rig();
    rig.arrive(secs(1), &job(0, 1));
    assert!(rig.broker.set_aside(JobId(0)) && !rig.broker.set_aside(JobId(0)));
    assert_eq!(rig.cycle(secs(5)), []);
    rig.arrive(secs(6), &job(1, 1));
    rig.broker.put_back(secs(7), JobId(0), &mut NoEvents);
    assert_eq!(rig.cycle(secs(10)), [(0, C0), (1, PEER_1)]);
    // It is sent now, so there is nothing to put back.
    rig.broker.put_back(secs(11), JobId(0), &mut NoEvents);
    assert_eq!(rig.broker.queued(), 0);
}

#[test]
fn a_job_is_placed_where_it_is_already_without_asking_the_policy() {
    let mut rig = rig();
    rig.arrive(secs(1), &job(0, 1));
    rig.broker.set_aside(JobId(0));
    let mut out = Vec::new();
    let placed = (JobId(0), PEER_1);
    rig.broker
        .place(secs(2), placed.0, placed.1, &mut NoEvents, &mut out);
    assert_eq!((out.len(), rig.broker.queued()), (1, 0));
    assert_eq!(rig.broker.whereabouts(JobId(0)), Some(Some(PEER_1)));
}
