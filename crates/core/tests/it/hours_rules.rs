//! Providers that are closed for a part of the day.

use crate::rig::{Rig, job, secs};
use gridrig_core::agent::{BrokerSends, Cancel, FromBroker};
use gridrig_core::grid::LinkHours;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Reason, StartWindow};
use gridrig_core::message::Target;
use gridrig_core::policy::POLICIES;
use gridrig_core::time::SimDuration;
use gridrig_core::timetable::{Hours, Timetable};

const OWN: Target = Target::Cluster(ClusterId(0));
const PEER_1: Target = Target::Peer(DomainId(1));
const PEER_2: Target = Target::Peer(DomainId(2));

/// Domain 0 with a cluster of four; its peers 1 and 2 with eight and six are
/// open in these seconds of a day of 100 seconds.
fn rig(policy: &str, hours: &[(u16, u64, u64)]) -> Rig {
    let links = [(0, 1), (0, 2)];
    let mut rig = Rig::of(0, &[&[4], &[8], &[6]], &links, policy);
    let length = SimDuration::from_secs;
    let hours = hours.iter().map(|(provider, from, until)| {
        let open = Hours {
            from: length(*from),
            until: length(*until),
        };
        LinkHours {
            consumer: DomainId(0),
            provider: DomainId(*provider),
            timetable: Timetable::new(length(100), SimDuration::ZERO, &[open]).unwrap(),
        }
    });
    rig.hours(hours.collect());
    rig
}

#[test]
fn a_closed_peer_is_no_candidate() {
    let mut rig = rig("round-robin", &[(1, 50, 100)]);
    let jobs = [job(0, 1), job(1, 1), job(2, 1), job(3, 1)];
    let sent = [(0, OWN), (1, PEER_2), (2, OWN), (3, PEER_2)];
    assert_eq!(rig.decide(5, &jobs), sent);
    let jobs = [job(4, 1), job(5, 1), job(6, 1)];
    let sent = [(4, PEER_1), (5, PEER_2), (6, OWN)];
    assert_eq!(rig.decide(50, &jobs), sent);
}

#[test]
fn a_job_goes_elsewhere_if_anybody_open_could_ever_run_it() {
    // Those that place components forward nothing.
    for entry in POLICIES.iter().filter(|entry| entry.placement.is_none()) {
        let policy = entry.name;
        let mut rig = rig(policy, &[(1, 50, 100)]);
        let alone = policy == "local-only";
        let expected = if alone { vec![] } else { vec![(0, PEER_2)] };
        assert_eq!(rig.decide(5, &[job(0, 6)]), expected, "{policy:?}");
        if alone {
            assert_rejected(&rig.take_out(), 0);
        }
    }
}

fn assert_rejected(out: &[BrokerSends], job: u32) {
    assert_rejected_as(out, job, Reason::NoCandidate);
}

fn assert_rejected_as(out: &[BrokerSends], job: u32, why: Reason) {
    let of_job = |message: &BrokerSends| match message {
        FromBroker::Client(end) => end.job == JobId(job) && end.state.reason() == Some(why),
        _ => false,
    };
    assert!(out.iter().any(of_job), "{out:?}");
}

#[test]
fn what_only_a_closed_peer_could_run_waits_until_it_opens() {
    let remote = POLICIES.iter().filter(|entry| entry.placement.is_none());
    let remote = remote.map(|entry| entry.name);
    for policy in remote.filter(|name| *name != "local-only") {
        let mut rig = rig(policy, &[(1, 52, 90), (2, 30, 40)]);
        assert_eq!(rig.decide(5, &[job(0, 8)]), [], "{policy:?}");
        assert_eq!(rig.broker.queued(), 1);
        // Peer 2 opens first; it cannot run the job.
        assert_eq!(rig.broker.poll_timeout(secs(5)), Some(secs(30)));
        assert_eq!(rig.cycle(secs(30)), [], "{policy:?}");
        assert_eq!(rig.broker.poll_timeout(secs(30)), Some(secs(55)));
        assert_eq!(rig.cycle(secs(55)), [(0, PEER_1)], "{policy:?}");
        assert_eq!(rig.broker.queued(), 0);
        assert_eq!(rig.broker.poll_timeout(secs(55)), None);
    }
}

#[test]
fn a_job_whose_window_closes_before_its_peer_opens_is_rejected_then() {
    let mut rig = rig("queue-length", &[(1, 50, 90)]);
    let mut wanted = job(0, 8);
    wanted.start_window = Some(Box::new(StartWindow {
        earliest: secs(10),
        latest: secs(20),
        flexible: true,
    }));
    assert_eq!(rig.decide(5, &[wanted, job(1, 8)]), []);
    assert_eq!(rig.broker.poll_timeout(secs(5)), Some(secs(25)));
    assert_eq!(rig.cycle(secs(25)), []);
    assert_rejected_as(&rig.take_out(), 0, Reason::NotReserved);
    assert_eq!(rig.broker.queued(), 1);
    // The other one waits for the peer.
    assert_eq!(rig.broker.poll_timeout(secs(25)), Some(secs(50)));
    assert_eq!(rig.cycle(secs(50)), [(1, PEER_1)]);
}

#[test]
fn others_are_decided_while_one_waits_for_a_peer_to_open() {
    let mut rig = rig("round-robin", &[(1, 50, 90), (2, 50, 90)]);
    assert_eq!(rig.decide(5, &[job(0, 8), job(1, 2)]), [(1, OWN)]);
    assert_eq!(rig.decide(10, &[job(2, 2)]), [(2, OWN)]);
    // The first to come is the first to go.
    assert_eq!(rig.decide(50, &[job(3, 8)]), [(0, PEER_1), (3, PEER_1)]);
}

#[test]
fn a_job_that_waits_for_a_peer_to_open_can_be_cancelled() {
    let mut rig = rig("queue-length", &[(1, 50, 90)]);
    assert_eq!(rig.decide(5, &[job(0, 8)]), []);
    assert!(rig.handle(secs(7), Cancel(JobId(0))));
    assert_eq!((rig.broker.queued(), rig.broker.held()), (0, 0));
    assert_eq!(rig.broker.poll_timeout(secs(7)), None);
}

#[test]
fn what_nobody_could_ever_run_is_rejected_whoever_is_closed() {
    let mut rig = rig("round-robin", &[(1, 50, 90)]);
    assert_eq!(rig.decide(5, &[job(0, 9)]), []);
    assert_rejected(&rig.take_out(), 0);
}
