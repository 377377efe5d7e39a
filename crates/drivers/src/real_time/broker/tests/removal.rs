//! Requests to remove a job that meet it on its way.

use super::*;
use gridrig_core::time::Decimal;

const B: Target = Target::Peer(DomainId(1));

/// A broker that can but forward a job, whose 3 MiB of data take three seconds.
fn forwarding(data_kib: u64) -> (BrokerMachine, Letter) {
    let mut grid = grid(PolicyKind::FreeNode);
    for link in &mut grid.links {
        link.bandwidth = Some(Decimal::ONE);
    }
    let setup = BrokerSetup::of(&grid, DomainId(0), 1).unwrap();
    let mut broker = BrokerMachine::new(setup, Recorder::default());
    for cluster in [0, 1] {
        let own = Target::Cluster(ClusterId(cluster));
        broker.broker.set_access(own, Access::Gone);
    }
    let mut spec = JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(9));
    spec.data_kib = data_kib;
    let arrival = Arrival {
        id: Some(JobId(0)),
        ..Arrival::of(spec)
    };
    broker.submit(millis(1000), arrival).unwrap();
    broker.step(millis(5000));
    let letter = letters(&mut broker).remove(0);
    assert!(matches!(letter.message, Message::Forward { .. }));
    (broker, letter)
}

fn is_cancelled(broker: &BrokerMachine) -> bool {
    matches!(state(broker), JobState::Ended(end) if end.state == EndState::Cancelled)
}

fn cancels(broker: &mut BrokerMachine) -> usize {
    let letters = letters(broker);
    let cancel = |letter: &&Letter| matches!(letter.message, Message::Cancel(_));
    letters.iter().filter(cancel).count()
}

fn silence() -> TransportError {
    TransportError::NoAnswer {
        to: String::new(),
        why: String::new(),
    }
}

#[test]
fn a_job_whose_data_travels_is_stopped_and_never_gets_there() {
    let (mut broker, letter) = forwarding(3 * 1024);
    assert_eq!(letter.due, millis(8050));
    assert!(broker.cancel(millis(6000), JobId(0)));
    assert!(is_cancelled(&broker));
    // The courier learns that it must not hand it over.
    assert!(!letter.recall.clone().unwrap().leave());
    assert_eq!(cancels(&mut broker), 0);
    deliver(&mut broker, letter, Err(TransportError::CalledBack));
    assert!(is_cancelled(&broker));
    assert_eq!((broker.published(), broker.due()), (1, None));
    // It was sent and never came.
    assert_eq!(broker.undelivered.total(), 1);
}

#[test]
fn a_request_that_comes_when_the_job_is_handed_over_follows_it() {
    let (mut broker, letter) = forwarding(3 * 1024);
    // The courier was quicker.
    assert!(letter.recall.clone().unwrap().leave());
    assert!(broker.cancel(millis(6000), JobId(0)));
    assert!(matches!(state(&broker), JobState::Sent { to: B }));
    // It would overtake the job, which its receiver has not confirmed.
    assert_eq!(cancels(&mut broker), 0);
    deliver(&mut broker, letter, Ok(()));
    assert_eq!(cancels(&mut broker), 1);
    let end = end_of(JobId(0), EndState::Cancelled);
    assert!(broker.handle_end(millis(8200), B, end));
    assert!(is_cancelled(&broker));
    assert_eq!(broker.published(), 1);
}

#[test]
fn a_job_without_data_is_followed_at_once() {
    let (mut broker, letter) = forwarding(0);
    assert!(broker.cancel(millis(5010), JobId(0)));
    assert_eq!(cancels(&mut broker), 1);
    // Confirmed later, it is not asked for a second time.
    deliver(&mut broker, letter, Ok(()));
    assert_eq!(cancels(&mut broker), 0);
}

#[test]
fn a_job_that_is_refused_while_the_request_travels_ends_as_it_comes_back() {
    let (mut broker, letter) = forwarding(0);
    deliver(&mut broker, letter, Ok(()));
    assert!(broker.cancel(millis(5300), JobId(0)));
    let refusal = (JobId(0), Reason::AllRefused);
    broker.handle_refusal(millis(5310), None, refusal, B);
    assert!(is_cancelled(&broker));
    assert_eq!((broker.published(), broker.due()), (1, None));
}

#[test]
fn a_request_that_does_not_arrive_is_made_again() {
    let (mut broker, letter) = forwarding(0);
    deliver(&mut broker, letter, Ok(()));
    assert!(broker.cancel(millis(5300), JobId(0)));
    let request = letters(&mut broker).remove(0);
    deliver(&mut broker, request, Err(silence()));
    let again = letters(&mut broker).remove(0);
    assert_eq!(again.message, Message::Cancel(JobId(0)));
    assert!(again.due >= millis(5700), "{:?}", again.due);
    // Once the job has ended there, nobody is asked any more.
    assert!(broker.handle_end(millis(5400), B, end_of(JobId(0), EndState::Completed)));
    deliver(&mut broker, again, Err(silence()));
    assert_eq!(cancels(&mut broker), 0);
}

#[test]
fn a_lost_peer_is_asked_to_remove_a_job_when_it_is_found() {
    let (mut broker, letter) = forwarding(0);
    broker.partners = Partners::of(&BTreeMap::from([(DomainId(1), None)]));
    deliver(&mut broker, letter, Ok(()));
    assert!(broker.cancel(millis(5300), JobId(0)));
    let request = letters(&mut broker).remove(0);
    deliver(&mut broker, request, Err(silence()));
    assert_eq!(cancels(&mut broker), 0);
    // Found in the same life, by a sign of life.
    broker.tell_missed(millis(6000), DomainId(1));
    assert_eq!(cancels(&mut broker), 1);
    // Found in another life: first it gets the job again, then the request.
    assert_eq!(broker.resend(millis(7000), DomainId(1)), 1);
    let sent = letters(&mut broker);
    assert_eq!(sent.len(), 1);
    assert!(matches!(sent[0].message, Message::Forward { .. }));
    deliver(&mut broker, sent[0].clone(), Ok(()));
    assert_eq!(cancels(&mut broker), 1);
}

#[test]
fn a_job_that_is_looked_for_is_removed_where_it_is_found() {
    let setup = BrokerSetup::of(&grid(PolicyKind::FreeNode), DomainId(0), 1).unwrap();
    let born = millis(10_000);
    let setup = BrokerSetup { born, ..setup };
    let mut broker = BrokerMachine::new(setup, Recorder::default());
    let arrival = Arrival {
        key: Some("run/0/0/0".to_owned()),
        id: Some(JobId(0)),
        meant: Some(millis(1000)),
        ..Arrival::of(JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(9)))
    };
    broker.submit(millis(10_100), arrival).unwrap();
    let questions = letters(&mut broker);
    assert!(
        questions
            .iter()
            .all(|q| q.message == Message::Locate(JobId(0)))
    );
    assert!(broker.cancel(millis(10_200), JobId(0)));
    // It may run: nothing is decided before somebody has answered.
    assert!(matches!(state(&broker), JobState::Queued { .. }));
    let own = Party::Lrms(ClusterId(1));
    let found = questions.into_iter().find(|question| question.to == own);
    broker.handle_delivery(
        millis(10_300),
        Delivery {
            letter: found.unwrap(),
            result: Ok(()),
        },
    );
    let sent = letters(&mut broker);
    let kinds: Vec<bool> = sent
        .iter()
        .map(|letter| matches!(letter.message, Message::Cancel(_)))
        .collect();
    // The job once more under its key, then the request.
    assert_eq!(kinds, [false, true]);
    assert!(sent.iter().all(|letter| letter.to == own));
}
