//! What is said about processors over links that fail.

use super::*;
use crate::conversation::{Asked, Deal};
use crate::envelope::EnvelopeId;
use crate::policy::MatchmakingKind;

const B: Target = Target::Peer(DomainId(1));

/// The broker of a, whose neighbour is b, with a job that is too wide for a.
fn lender() -> Broker {
    under(MatchmakingKind::Delegate)
}

fn under(matchmaking: MatchmakingKind) -> Broker {
    let mut grid = grid("free-node");
    grid.domains[0].topology.central = true;
    for (index, domain) in grid.domains.iter_mut().enumerate() {
        domain.broker.matchmaking = matchmaking;
        domain.topology.siblings = vec![DomainId(1 - index as u16)];
    }
    grid.clusters[2].config.resources = Resources::homogeneous(8);
    let setup = BrokerSetup::of(&grid, DomainId(0), 1).unwrap();
    let mut broker = Tested::new(BrokerAgent::new(setup));
    let wide = Arrival {
        id: Some(JobId(0)),
        ..Arrival::of(JobSpec::rigid(JobId(0), 8, SimDuration::from_secs(9)))
    };
    broker.handle(millis(1000), wide).unwrap();
    broker
}

/// What it says to the peer about processors at its next timers.
fn said(broker: &mut Broker) -> Vec<Sent> {
    while let Some(due) = broker.next_due().filter(|due| *due <= millis(400_000)) {
        broker.step(due);
        let all = broker.envelopes();
        if !all.is_empty() {
            return all;
        }
    }
    Vec::new()
}

fn request(broker: &mut Broker) -> Sent {
    let sent = said(broker).remove(0);
    assert!(
        matches!(&sent.message, FromBroker::Peer(_, ToPeer::Request(job, _)) if job.id == Some(JobId(0)))
    );
    sent
}

fn fail(broker: &mut Broker, envelope: Sent, error: Undelivered) {
    let result = Err(error);
    broker.handle(millis(61_000), Fate { envelope, result });
}

#[test]
fn a_request_that_has_not_arrived_is_as_good_as_rejected() {
    for error in [Undelivered::NotReached, Undelivered::Declined(None)] {
        let mut broker = lender();
        let first = request(&mut broker);
        fail(&mut broker, first, error);
        assert!(broker.relied_on().is_empty(), "{error:?}");
        // There is nobody else: it is asked again.
        request(&mut broker);
    }
}

#[test]
fn one_that_may_have_arrived_is_said_again_as_the_same_message_and_its_receiver_watched() {
    let mut broker = lender();
    let first = request(&mut broker);
    fail(&mut broker, first.clone(), Undelivered::NoAnswer);
    assert_eq!(broker.relied_on().into_iter().collect::<Vec<_>>(), [B]);
    let due = broker.next_wall_due().unwrap();
    broker.around.wall = due;
    broker.handle(millis(61_500), Due::Wall);
    assert_eq!(broker.envelopes(), [first]);
    // Whoever is gone has none.
    broker.handle(millis(62_000), Lost(B));
    assert!(broker.relied_on().is_empty());
    request(&mut broker);
}

#[test]
fn a_message_counts_once_and_who_is_lost_has_taken_nothing_back() {
    let mut broker = lender();
    let sent = request(&mut broker);
    let message = |number, deal| Received {
        id: Some(EnvelopeId {
            incarnation: 1,
            number,
        }),
        ..Received::new(B, ToPeer::Deal(deal))
    };
    let (job, cluster) = (JobId(0), ClusterId(2));
    // What answers another request than the last one is not taken.
    let asked = |at| Asked { job, at };
    let early = asked(millis(1));
    let old = Deal::Delegate {
        asked: early,
        cluster,
        until: None,
    };
    broker.handle(millis(69_000), message(6, old)).unwrap();
    let back = broker.envelopes().pop().unwrap().message;
    assert_eq!(
        back,
        FromBroker::Peer(DomainId(1), ToPeer::Deal(Deal::Release(early)))
    );
    let asked = asked(sent.due);
    for _ in 0..2 {
        let given = message(
            7,
            Deal::Delegate {
                asked,
                cluster,
                until: None,
            },
        );
        broker.handle(millis(70_000), given).unwrap();
    }
    let sent = said(&mut broker);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(matches!(
        &sent[0].message,
        FromBroker::Lrms(ClusterId(2), ToLrms::Dispatch(_))
    ));
    // A lender that is lost has taken nothing back.
    broker.handle(millis(130_000), Lost(B));
    assert!(matches!(state(&broker), JobState::Sent { to } if to == Target::Cluster(cluster)));
}

#[test]
fn room_is_what_was_told_last_whatever_arrives_last() {
    for (latest, sent) in [(8, 1), (0, 0)] {
        let mut broker = under(MatchmakingKind::Pull);
        for (number, processors) in [(2, latest), (1, 8 - latest)] {
            let id = Some(EnvelopeId {
                incarnation: 1,
                number,
            });
            let room = Deal::Room {
                processors,
                jobs: 0,
            };
            let told = Received {
                id,
                ..Received::new(B, ToPeer::Deal(room))
            };
            broker.handle(millis(2000), told).unwrap();
        }
        assert_eq!(said(&mut broker).len(), sent, "{latest}");
    }
}
