//! A broker that was restarted, and services that stop answering.

use super::*;

/// A broker that began its life at 10 s is sent a job that was meant for 1 s;
/// answers its questions.
pub fn asking() -> (Broker, Vec<Sent>) {
    let setup = BrokerSetup::of(&grid("free-node"), DomainId(0), 1).unwrap();
    let born = millis(10_000);
    let setup = BrokerSetup { born, ..setup };
    let mut broker = Tested::new(BrokerAgent::new(setup));
    let arrival = Arrival {
        key: Some("run/0/0/0".to_owned()),
        id: Some(JobId(0)),
        meant: Some(millis(1000)),
        ..Arrival::of(JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(9)))
    };
    broker.handle(millis(10_100), arrival).unwrap();
    let questions = broker.envelopes();
    (broker, questions)
}

fn told(broker: &Broker) -> Vec<&'static str> {
    broker.around.log.iter().map(|(_, kind)| *kind).collect()
}

const RECOVERED: &str = EventKind::Recovered.name();

#[test]
fn a_job_that_is_found_again_neither_arrives_nor_leaves_a_second_time() {
    let (mut broker, mut questions) = asking();
    assert_eq!(told(&broker), Vec::<&str>::new());
    deliver(&mut broker, questions.remove(0), Ok(()));
    assert_eq!(told(&broker), [RECOVERED]);
    // It is certainly there: it is sent there until that is answered, for its end
    // may have been told already, and goes nowhere else.
    let again = broker.envelopes().remove(0);
    let there = Target::Cluster(ClusterId(0));
    deliver(&mut broker, again, Err(Undelivered::NotReached));
    broker.around.wall = broker.next_wall_due().unwrap();
    broker.handle(millis(6000), Due::Wall);
    assert_eq!(broker.envelopes().len(), 1);
    assert_eq!(told(&broker), [RECOVERED]);
    assert_eq!(broker.handle(millis(7000), Lost(there)), 1);
    assert_eq!(told(&broker)[1..], [EventKind::LostTouch.name()]);
    assert_eq!(broker.next_due(), None);
}

#[test]
fn a_job_that_nobody_has_is_here_and_is_decided() {
    let (mut broker, questions) = asking();
    for question in questions {
        deliver(&mut broker, question, Err(Undelivered::Declined(None)));
    }
    broker.advance(millis(15_000));
    let expected = [RECOVERED, EventKind::Dispatched.name()];
    assert_eq!(told(&broker), expected);
}

#[test]
fn what_is_lost_further_on_is_lost_here_and_found_when_its_end_comes() {
    let mut broker = broker();
    let sent = dispatch(&mut broker);
    deliver(&mut broker, sent, Ok(()));
    let there = Target::Cluster(ClusterId(0));
    let before = broker.around.log.len();
    broker.handle(
        millis(6000),
        ended(Target::Peer(DomainId(1)), EndState::LOST),
    );
    assert_eq!(broker.around.log.len(), before, "it is not there");
    broker.handle(millis(6000), ended(there, EndState::LOST));
    assert!(matches!(state(&broker), JobState::Ended(end) if end.state.is_lost()));
    broker.handle(millis(7000), ended(there, EndState::Completed));
    let expected = [EventKind::LostTouch.name(), EventKind::FinishSeen.name()];
    assert_eq!(told(&broker)[before..], expected);
}
