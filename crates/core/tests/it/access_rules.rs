//! Candidates that come and go.

use crate::rig::{Rig, job, secs};
use gridrig_core::agent::{ClaimStep, FromBroker, ToLrms, Told};
use gridrig_core::broker::Access;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, JobEnd, News, Route, Target};
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
    // Others place components: what they send is no job.
    for entry in POLICIES.iter().filter(|entry| entry.placement.is_none()) {
        let mut rig = Rig::new(&[&[4]], entry.name);
        rig.broker.set_access(C0, Access::Closed);
        assert_eq!(rig.decide(5, &[job(0, 1)]), [], "{}", entry.name);
        rig.broker.set_access(C0, Access::Open);
        assert_eq!(rig.cycle(secs(10)), [(0, C0)], "{}", entry.name);
    }
}

#[test]
fn a_closed_cluster_holds_up_no_job_that_others_have_room_for() {
    let policies = [
        "worst-fit",
        "cluster-minimization",
        "flexible-cluster-minimization",
    ];
    for (policy, access) in policies
        .into_iter()
        .flat_map(|policy| [Access::Closed, Access::Gone].map(|access| (policy, access)))
    {
        let mut rig = Rig::new(&[&[4, 8]], policy);
        rig.broker.set_access(C0, access);
        // Nine processors are on both only, and no component is divided but by the last policy.
        assert_eq!(rig.decide(5, &[job(0, 3), job(1, 9)]), []);
        let out = rig.take_out();
        let asked = out.iter().filter_map(|message| match message {
            FromBroker::Lrms(to, ToLrms::Claim(asked, ClaimStep::Hold { .. })) => {
                Some((asked.job.0, to.0))
            }
            _ => None,
        });
        assert_eq!(asked.collect::<Vec<_>>(), [(0, 1)], "{policy} {access:?}");
        let waits = access == Access::Closed && policy == "flexible-cluster-minimization";
        assert_eq!(
            rig.broker.queued(),
            usize::from(waits),
            "{policy} {access:?}"
        );
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

/// A job that has entered, and after so many forwards.
fn way(hop: u32) -> Route {
    let from = (hop > 0).then_some(DomainId(1));
    Route {
        from,
        hop,
        ..Route::entering(DomainId(0))
    }
}

#[test]
fn a_job_that_was_found_again_is_decided_or_stays_where_it_is() {
    let mut rig = rig();
    rig.broker.restore(job(0, 1), way(0), None);
    rig.broker.restore(job(1, 1), way(0), Some(PEER_1));
    assert_eq!(rig.cycle(secs(5)), [(0, C0)]);
    assert!(rig.broker.is_with(JobId(1), PEER_1) && !rig.broker.is_with(JobId(1), C0));
}

#[test]
fn visits_of_a_job_end_from_the_latest_on_in_whatever_order_they_are_found() {
    for hops in [[0, 2, 4], [4, 2, 0], [2, 4, 0], [2, 0, 4]] {
        let mut rig = rig();
        for hop in hops {
            let sent = if hop == 4 { C0 } else { PEER_1 };
            rig.broker.restore(job(0, 1), way(hop), Some(sent));
        }
        assert_eq!(rig.broker.route(JobId(0)), Some(way(4)), "{hops:?}");
        // An end of which another visit hears first ends that one.
        let ends = [(PEER_1, Some(way(4))), (C0, Some(way(0))), (PEER_1, None)];
        for (by, left) in ends {
            let end = JobEnd::without_run(JobId(0), EndState::Completed);
            let said = News::Ended(end);
            rig.handle(secs(9), Told { from: by, said });
            let told = rig.take_out().len();
            assert_eq!((told, rig.broker.route(JobId(0))), (1, left), "{hops:?}");
        }
    }
}
