//! A broker that was restarted, and services that stop answering.

use super::*;
use crate::agent::Drain;
use crate::agent::store::{SubmitError, visit_name};

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
fn so_many_jobs_are_looked_for_at_a_time_and_one_that_is_nowhere_makes_room() {
    let (mut broker, _) = asking();
    let arrival = |number: u32| Arrival {
        key: Some(format!("run/{number}/0/0")),
        id: Some(JobId(number)),
        meant: Some(millis(1000)),
        sought: true,
        ..Arrival::of(JobSpec::rigid(JobId(number), 1, SimDuration::from_secs(9)))
    };
    for number in 1..100_000 {
        let answer = broker.handle(millis(10_200), arrival(number));
        assert_eq!(answer.unwrap_err(), SubmitError::NotFoundYet);
        if number < 99_999 {
            drop(broker.envelopes());
        }
    }
    let mut questions = broker.envelopes();
    let each = questions.len();
    let brought = Arrival {
        sought: false,
        ..arrival(100_000)
    };
    for more in [arrival(100_000), brought.clone()] {
        let answer = broker.handle(millis(10_300), more);
        assert_eq!(answer.unwrap_err(), SubmitError::NotFoundYet);
        assert!(broker.envelopes().is_empty());
    }
    // What is known, or looked for, needs no room; nor does what has come further.
    let known = Arrival {
        sought: false,
        ..arrival(0)
    };
    assert!(broker.handle(millis(10_310), known).unwrap().repeated);
    assert!(broker.envelopes().is_empty());
    let hop = Route {
        hop: 1,
        from: Some(DomainId(1)),
        ..Route::entering(DomainId(1))
    };
    let further = Arrival {
        route: Some(hop),
        ..arrival(100_001)
    };
    let answer = broker.handle(millis(10_320), further);
    assert_eq!(answer.unwrap_err(), SubmitError::NotFoundYet);
    questions.extend(broker.envelopes());
    assert!(questions.len() > each);
    // One that is nowhere makes room, some time later: until then whoever has asked may
    // come for the answer.
    for question in questions {
        deliver(&mut broker, question, Err(Undelivered::Declined(None)));
    }
    let nowhere = broker.handle(millis(10_330), arrival(99_999));
    assert_eq!(nowhere.unwrap_err(), SubmitError::NotHere);
    let later = broker.around.wall + SimDuration::from_secs(59);
    for (wall, taken) in [(later, false), (later + SimDuration::from_secs(1), true)] {
        broker.around.wall = wall;
        let answer = broker.handle(millis(10_400), brought.clone());
        assert_eq!(
            (answer.is_ok(), !broker.envelopes().is_empty()),
            (taken, taken)
        );
    }
}

/// A broker that a cluster of its own has confirmed a job to, and has been restarted since.
fn forgotten_by(there: Target, has_key: bool) -> Broker {
    let alive = |life| Alive {
        service: there,
        life,
    };
    let mut broker = broker();
    assert_eq!(broker.handle(millis(500), alive(1)), 0);
    let sent = dispatch(&mut broker);
    // What it has not confirmed is sent until it does.
    assert_eq!(broker.handle(millis(5100), alive(2)), 0);
    deliver(&mut broker, sent, Ok(()));
    assert_eq!(broker.handle(millis(5300), alive(2)), 0);
    assert!(broker.envelopes().is_empty());
    if !has_key {
        let mut under_way = broker.agent.notes.under_way.values_mut();
        under_way.next().unwrap().job.key = None;
    }
    assert_eq!(broker.handle(millis(5400), alive(3)), 1);
    broker
}

#[test]
fn what_a_restarted_lrms_does_not_know_is_lost_and_what_it_knows_is_there() {
    let there = Target::Cluster(ClusterId(0));
    let is_lost = |broker: &Broker| {
        let lost = matches!(state(broker), JobState::Ended(end) if end.state.is_lost());
        assert_eq!(broker.published(), u64::from(lost));
        lost
    };
    let declined = Err(Undelivered::Declined(None));
    for (answer, lost) in [(declined, true), (Ok(()), false)] {
        let mut broker = forgotten_by(there, true);
        let question = broker.envelopes().remove(0);
        let FromBroker::Lrms(_, ToLrms::Dispatch(job)) = &question.message else {
            panic!("{question:?}");
        };
        assert!(job.sought && !is_lost(&broker));
        deliver(&mut broker, question, answer);
        assert_eq!(is_lost(&broker), lost);
        // What it knows is not sent to it once more.
        assert!(broker.envelopes().is_empty());
        assert_eq!(broker.relied_on().contains(&there), !lost);
        broker.handle(millis(7000), ended(there, EndState::Completed));
        assert!(matches!(state(&broker), JobState::Ended(end) if !end.state.is_lost()));
    }
    // Nothing is asked about a job that several clusters run together.
    let mut broker = forgotten_by(there, false);
    assert!(broker.envelopes().is_empty() && is_lost(&broker));
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

/// A job that this broker had forwarded is found again at the peer, which knows it by
/// the instant at which it was to arrive there in the earlier life.
#[test]
fn a_refusal_by_a_name_of_an_earlier_life_is_asked_for_and_told_by_the_new_one() {
    let b = Target::Peer(DomainId(1));
    let (mut broker, questions) = asking();
    let question = questions
        .into_iter()
        .find(|one| one.message.to() == b.into());
    deliver(&mut broker, question.unwrap(), Ok(()));
    let found = broker.envelopes().remove(0);
    let key = |sent: &Sent| match &sent.message {
        FromBroker::Peer(_, ToPeer::Forward(job)) if !job.sought => {
            (job.key.clone().unwrap(), job.meant)
        }
        other => panic!("{other:?}"),
    };
    let known = key(&found);
    deliver(&mut broker, found, Ok(()));
    let reason = Reason::HopsExhausted;
    let refused = |meant| News::Refused {
        job: JobId(0),
        reason,
        visit: Some(visit_name(&known.0, meant)),
    };
    broker.handle(
        millis(11_000),
        Received::new(b, refused(Some(millis(2050)))),
    );
    assert!(matches!(state(&broker), JobState::Sent { to } if to == b));
    assert_eq!(key(&broker.envelopes().remove(0)), known);
    broker.handle(millis(11_100), Received::new(b, refused(known.1)));
    assert!(matches!(state(&broker), JobState::Queued { .. }));
}

#[test]
fn whoever_repeats_a_job_hears_its_refusal_by_the_name_that_he_gives_it() {
    let mut broker = broker();
    broker.handle(millis(900), Drain(millis(9000)));
    let mut name_of = |meant| {
        let job = Arrival {
            key: Some("run/1/0/1".to_owned()),
            id: Some(JobId(0)),
            meant: Some(millis(meant)),
            route: Some(Route {
                from: Some(DomainId(1)),
                hop: 1,
                ..Route::entering(DomainId(1))
            }),
            ..Arrival::of(JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(9)))
        };
        broker.handle(millis(1000), job).unwrap();
        let FromBroker::Peer(_, ToPeer::News(news)) = broker.envelopes().remove(0).message else {
            panic!("news");
        };
        let name = visit_name("run/1/0/1", Some(millis(meant)));
        matches!(news, News::Refused { visit, .. } if visit == Some(name))
    };
    assert!(name_of(1000) && name_of(500));
}

/// Two brokers that each have the job from the other told each other for ever that it
/// was lost.
#[test]
fn each_visit_of_a_job_is_lost_once() {
    let b = Target::Peer(DomainId(1));
    let mut grid = grid("free-node");
    grid.domains[0].broker.max_hops = 3;
    let setup = BrokerSetup::of(&grid, DomainId(0), 1).unwrap();
    let mut broker = Tested::new(BrokerAgent::new(setup));
    for cluster in [0, 1] {
        let own = Target::Cluster(ClusterId(cluster));
        broker.agent.broker.set_access(own, Access::Gone);
    }
    for (hop, from) in [(0, None), (2, Some(DomainId(1)))] {
        let route = Route {
            from,
            hop,
            ..Route::entering(DomainId(0))
        };
        let job = Arrival {
            id: Some(JobId(0)),
            route: Some(route),
            ..Arrival::of(JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(9)))
        };
        broker.handle(millis(1000), job).unwrap();
        let due = broker.next_due().unwrap();
        broker.step(due);
        let sent = broker.envelopes().remove(0);
        deliver(&mut broker, sent, Ok(()));
    }
    // The peer hears of the later visit, the client of the first, nobody of a third.
    for (published, told) in [(0, 1), (1, 0), (1, 0)] {
        broker.handle(millis(20_000), ended(b, EndState::LOST));
        let sent = (broker.published(), broker.envelopes().len());
        assert_eq!(sent, (published, told));
    }
}
