//! Requests to remove a job that meet it on its way.

use super::*;
use crate::agent::SAY_AGAIN;
use crate::time::Decimal;

const B: Target = Target::Peer(DomainId(1));

/// A broker that can but forward a job, whose 3 MiB of data take three seconds.
fn forwarding(data_kib: u64) -> (Broker, Sent) {
    let mut grid = grid("free-node");
    for link in &mut grid.links {
        link.bandwidth = Some(Decimal::ONE);
    }
    let setup = BrokerSetup::of(&grid, DomainId(0), 1).unwrap();
    let mut broker = Tested::new(BrokerAgent::new(setup));
    for cluster in [0, 1] {
        let own = Target::Cluster(ClusterId(cluster));
        broker.agent.broker.set_access(own, Access::Gone);
    }
    let mut spec = JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(9));
    spec.data_kib = data_kib;
    let arrival = Arrival {
        id: Some(JobId(0)),
        ..Arrival::of(spec)
    };
    broker.handle(millis(1000), arrival).unwrap();
    broker.step(millis(5000));
    let envelope = broker.envelopes().remove(0);
    assert!(matches!(
        envelope.message,
        FromBroker::Peer(_, ToPeer::Forward(_))
    ));
    (broker, envelope)
}

fn is_cancelled(broker: &Broker) -> bool {
    matches!(state(broker), JobState::Ended(end) if end.state == EndState::Cancelled)
}

fn cancels(broker: &mut Broker) -> usize {
    let envelopes = broker.envelopes();
    envelopes
        .iter()
        .filter(|envelope| is_cancel(envelope))
        .count()
}

fn is_cancel(envelope: &Sent) -> bool {
    let cancel = matches!(
        envelope.message,
        FromBroker::Lrms(_, ToLrms::Cancel(JobId(0)))
            | FromBroker::Peer(_, ToPeer::Cancel(JobId(0)))
    );
    cancel
}

#[test]
fn a_job_whose_data_travels_is_stopped_and_never_gets_there() {
    let (mut broker, envelope) = forwarding(3 * 1024);
    assert_eq!(envelope.due, millis(8050));
    assert!(broker.handle(millis(6000), Cancel(JobId(0))));
    assert!(is_cancelled(&broker));
    assert_eq!(cancels(&mut broker), 0);
    deliver(&mut broker, envelope, Err(Undelivered::CalledBack));
    assert!(is_cancelled(&broker));
    assert_eq!((broker.published(), broker.next_due()), (1, None));
    // It was sent and never came.
    assert_eq!(broker.undelivered().total(), 1);
}

#[test]
fn a_request_that_comes_when_the_job_is_handed_over_follows_it() {
    let (mut broker, envelope) = forwarding(3 * 1024);
    // It is being handed over already.
    broker.around.recalls = false;
    assert!(broker.handle(millis(6000), Cancel(JobId(0))));
    assert!(matches!(state(&broker), JobState::Sent { to: B }));
    // It would overtake the job, which its receiver has not confirmed.
    assert_eq!(cancels(&mut broker), 0);
    deliver(&mut broker, envelope, Ok(()));
    assert_eq!(cancels(&mut broker), 1);
    broker.handle(millis(8200), ended(B, EndState::Cancelled));
    assert!(is_cancelled(&broker));
    assert_eq!(broker.published(), 1);
}

#[test]
fn a_job_without_data_is_followed_at_once() {
    let (mut broker, envelope) = forwarding(0);
    assert!(broker.handle(millis(5010), Cancel(JobId(0))));
    assert_eq!(cancels(&mut broker), 1);
    // Confirmed later, it is not asked for a second time.
    deliver(&mut broker, envelope, Ok(()));
    assert_eq!(cancels(&mut broker), 0);
}

/// Where a job never arrived at the last broker of a cycle of links, a request that
/// each of them sent on every time went round for ever.
#[test]
fn a_request_that_comes_again_is_followed_once_until_touch_is_lost() {
    let (mut broker, envelope) = forwarding(0);
    deliver(&mut broker, envelope, Ok(()));
    let again = |broker: &mut Broker| {
        let known = broker.handle(millis(5300), Cancel(JobId(0)));
        (known, cancels(broker))
    };
    assert_eq!(again(&mut broker), (true, 1));
    assert_eq!(again(&mut broker), (true, 0));
    broker.handle(millis(5400), Lost(B));
    broker.envelopes();
    assert_eq!(again(&mut broker), (true, 1));
    assert_eq!(again(&mut broker), (true, 0));
}

/// Ended here at once, the job would be brought again by the peer in between, if that
/// cannot be told and this broker forgets it: then it would run.
#[test]
fn a_request_follows_a_job_that_has_come_by_twice_along_its_way() {
    let (mut broker, envelope) = forwarding(0);
    deliver(&mut broker, envelope, Ok(()));
    let spec = JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(9));
    let back = Arrival {
        id: Some(JobId(0)),
        route: Some(Route {
            from: Some(DomainId(1)),
            hop: 2,
            ..Route::entering(DomainId(0))
        }),
        ..Arrival::of(spec)
    };
    broker.handle(millis(5300), back).unwrap();
    for requests in [1, 0] {
        assert!(broker.handle(millis(5400), Cancel(JobId(0))));
        assert!(matches!(state(&broker), JobState::Queued { .. }));
        assert_eq!(cancels(&mut broker), requests);
    }
    let request = Received {
        id: Some(EnvelopeId {
            incarnation: 1,
            number: 1,
        }),
        ..Received::new(B, ToPeer::Cancel(JobId(0)))
    };
    for news in [1, 0] {
        broker.handle(millis(5500), request.clone()).unwrap();
        assert_eq!(broker.envelopes().len(), news);
    }
    // What is left is the visit before.
    assert!(matches!(state(&broker), JobState::Sent { to: B }));
    broker.handle(millis(5600), ended(B, EndState::Cancelled));
    assert!(is_cancelled(&broker));
}

#[test]
fn a_job_that_is_refused_while_the_request_travels_ends_as_it_comes_back() {
    let (mut broker, envelope) = forwarding(0);
    deliver(&mut broker, envelope, Ok(()));
    assert!(broker.handle(millis(5300), Cancel(JobId(0))));
    let refused = News::Refused {
        job: JobId(0),
        reason: Reason::AllRefused,
        visit: None,
    };
    broker.handle(millis(5310), Received::new(B, refused));
    assert!(is_cancelled(&broker));
    assert_eq!((broker.published(), broker.next_due()), (1, None));
}

#[test]
fn a_request_that_does_not_arrive_is_made_again() {
    let (mut broker, envelope) = forwarding(0);
    deliver(&mut broker, envelope, Ok(()));
    assert!(broker.handle(millis(5300), Cancel(JobId(0))));
    let request = broker.envelopes().remove(0);
    deliver(&mut broker, request, Err(Undelivered::NoAnswer));
    // After a while on the wall, whatever the time of the run.
    assert_eq!((broker.envelopes().len(), broker.next_due()), (0, None));
    let due = broker.next_wall_due().unwrap();
    assert_eq!(due, WallTime::ZERO + SAY_AGAIN);
    broker.around.wall = due;
    broker.handle(millis(5210), Due::Wall);
    let again = broker.envelopes().remove(0);
    assert!(is_cancel(&again), "{again:?}");
    deliver(&mut broker, again, Err(Undelivered::NoAnswer));
    // Once the job has ended there, nobody is asked any more.
    broker.handle(millis(5400), ended(B, EndState::Completed));
    broker.around.wall = broker.next_wall_due().unwrap();
    broker.handle(millis(5400), Due::Wall);
    assert_eq!((cancels(&mut broker), broker.next_wall_due()), (0, None));
}

#[test]
fn a_lost_peer_is_asked_to_remove_a_job_when_it_is_found() {
    let (mut broker, envelope) = forwarding(0);
    broker.agent.partners = Partners::of(&BTreeMap::from([(DomainId(1), None)]));
    deliver(&mut broker, envelope, Ok(()));
    assert!(broker.handle(millis(5300), Cancel(JobId(0))));
    let request = broker.envelopes().remove(0);
    deliver(&mut broker, request, Err(Undelivered::NoAnswer));
    assert_eq!(cancels(&mut broker), 0);
    // Found in the same life, by a sign of life.
    let session = |change| PeerSession {
        peer: DomainId(1),
        change,
    };
    broker.handle(millis(6000), session(SessionChange::Answered));
    assert_eq!(cancels(&mut broker), 1);
    // Found in another life: it is asked for the job, which it may have removed in
    // the one before, gets it again, and then the request.
    let found = SessionChange::Open {
        roles: None,
        found: true,
    };
    assert_eq!(broker.handle(millis(7000), session(found)).0, 1);
    let question = broker.envelopes().remove(0);
    let asks = matches!(&question.message, FromBroker::Peer(_, ToPeer::Forward(job)) if job.sought);
    assert!(asks, "{question:?}");
    deliver(&mut broker, question, Ok(()));
    let again = broker.envelopes().remove(0);
    let forward =
        matches!(&again.message, FromBroker::Peer(_, ToPeer::Forward(job)) if !job.sought);
    assert!(forward, "{again:?}");
    deliver(&mut broker, again, Ok(()));
    assert_eq!(cancels(&mut broker), 1);
}

#[test]
fn a_job_that_is_looked_for_is_removed_where_it_is_found() {
    let (mut broker, questions) = recovery::asking();
    let is_question = |envelope: &Sent| {
        matches!(
            &envelope.message,
            FromBroker::Lrms(_, ToLrms::Dispatch(job)) | FromBroker::Peer(_, ToPeer::Forward(job))
            if job.sought
        )
    };
    assert!(questions.iter().all(is_question));
    assert!(broker.handle(millis(10_200), Cancel(JobId(0))));
    // It may run: nothing is decided before somebody has answered.
    assert!(matches!(state(&broker), JobState::Queued { .. }));
    let own = Party::Lrms(ClusterId(1));
    let mut found = questions.into_iter();
    let question = found.find(|question| question.message.to() == own);
    deliver(&mut broker, question.unwrap(), Ok(()));
    let sent = broker.envelopes();
    let kinds: Vec<bool> = sent.iter().map(is_cancel).collect();
    // The job once more under its key, then the request.
    assert_eq!(kinds, [false, true]);
    assert!(sent.iter().all(|envelope| envelope.message.to() == own));
}
