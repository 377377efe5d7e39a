mod removal;

use super::*;
use crate::real_time::outbox::TransportError;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::policy::{PolicyKind, Tie};
use gridrig_core::resource::Resources;

/// Site a with two clusters; b forwards to it and takes its jobs.
fn grid(policy: PolicyKind) -> Grid {
    let broker = BrokerSettings {
        policy,
        tie: Tie::First,
        ..BrokerSettings::default()
    };
    let site = |name: &str, clusters: &[u16]| Domain {
        name: name.to_owned(),
        broker,
        clusters: clusters.iter().map(|id| ClusterId(*id)).collect(),
    };
    let cluster = |id: u16, domain: u16| GridCluster {
        name: format!("c{id}"),
        domain: Some(DomainId(domain)),
        config: ClusterConfig::new(
            ClusterId(id),
            Resources::homogeneous(4),
            DisciplineKind::Fcfs,
        ),
    };
    let link = |consumer: u16, provider: u16| Link {
        consumer: DomainId(consumer),
        provider: DomainId(provider),
        latency: SimDuration::from_millis(50),
        bandwidth: None,
    };
    Grid {
        domains: vec![site("a", &[0, 1]), site("b", &[2])],
        clusters: vec![cluster(0, 0), cluster(1, 0), cluster(2, 1)],
        links: vec![link(0, 1), link(1, 0)],
        hours: Vec::new(),
    }
}

fn broker() -> BrokerMachine {
    let setup = BrokerSetup::of(&grid(PolicyKind::FreeNode), DomainId(0), 1).unwrap();
    let grace = SimDuration::from_millis(100);
    BrokerMachine::new(BrokerSetup { grace, ..setup }, Recorder::default())
}

fn millis(millis: u64) -> SimTime {
    SimTime::ZERO + SimDuration::from_millis(millis)
}

fn submit(broker: &mut BrokerMachine, id: u32, at: u64, meant: Option<u64>) {
    let arrival = Arrival {
        id: Some(JobId(id)),
        meant: meant.map(millis),
        ..Arrival::of(JobSpec::rigid(JobId(id), 1, SimDuration::from_secs(9)))
    };
    broker.submit(millis(at), arrival).unwrap();
}

fn letters(broker: &mut BrokerMachine) -> Vec<Letter> {
    let mut letters = Vec::new();
    broker.take_letters(&mut letters);
    letters
}

/// Submits a job, lets it be dispatched and answers the letter.
fn dispatch(broker: &mut BrokerMachine) -> Letter {
    submit(broker, 0, 1000, None);
    broker.step(millis(5000));
    letters(broker).remove(0)
}

fn deliver(broker: &mut BrokerMachine, letter: Letter, result: Result<(), TransportError>) {
    broker.handle_delivery(millis(5200), Delivery { letter, result });
}

fn state(broker: &BrokerMachine) -> JobState {
    broker.view(JobId(0)).unwrap().state
}

#[test]
fn a_job_meant_for_a_cycle_still_belongs_to_it_within_the_grace() {
    let check = |at: u64, meant: Option<u64>, cycle: u64| {
        let mut broker = broker();
        submit(&mut broker, 0, at, meant);
        assert_eq!(broker.due(), Some(millis(cycle)), "{at} {meant:?}");
    };
    check(4900, Some(4900), 5000);
    check(5020, Some(4990), 5000);
    check(5020, Some(5000), 5000);
    check(5020, Some(5010), 10_000);
    check(5020, None, 10_000);
    check(5200, Some(5000), 10_000);
    check(5000, Some(9000), 5000);
}

#[test]
fn a_cycle_that_waits_is_not_lost_to_a_later_arrival() {
    let mut broker = broker();
    submit(&mut broker, 0, 4000, None);
    submit(&mut broker, 1, 5020, Some(5000));
    assert_eq!(broker.due(), Some(millis(5000)));
    broker.step(millis(5000));
    assert_eq!(letters(&mut broker).len(), 2);
    assert_eq!(broker.due(), None);
    // What was meant for a cycle that is over waits for the next one.
    submit(&mut broker, 2, 5040, Some(5000));
    assert_eq!(broker.due(), Some(millis(10_000)));
}

#[test]
fn the_samples_of_one_exchange_reach_a_consumer_as_one_message() {
    let mut broker = broker();
    let mut report = |cluster: u16, at: u64, now: u64| {
        let mut sample = LoadSample::idle(ClusterId(cluster), 4);
        sample.at = millis(at);
        let from = Target::Cluster(ClusterId(cluster));
        broker.handle_info(millis(now), from, &[sample]);
        letters(&mut broker)
    };
    assert!(report(0, 15_000, 15_010).is_empty());
    let sent = report(1, 15_000, 15_020);
    assert_eq!(sent.len(), 1);
    // One link latency after the sample was taken, not after it came.
    assert_eq!(sent[0].due, millis(15_050));
    assert!(matches!(&sent[0].message, Message::Info(samples) if samples.len() == 2));
    // An LRMS that is silent does not silence the other.
    assert!(report(0, 30_000, 30_010).is_empty());
    let sent = report(0, 45_000, 45_010);
    assert!(matches!(&sent[0].message, Message::Info(samples) if samples.len() == 1));
}

#[test]
fn a_job_whose_receiver_was_not_reached_is_tried_elsewhere() {
    let mut broker = broker();
    let letter = dispatch(&mut broker);
    assert_eq!(letter.to, Party::Lrms(ClusterId(0)));
    let error = TransportError::NotReached {
        to: String::new(),
        why: String::new(),
    };
    deliver(&mut broker, letter, Err(error));
    broker.step(millis(10_000));
    assert_eq!(letters(&mut broker)[0].to, Party::Lrms(ClusterId(1)));
}

#[test]
fn a_job_that_its_receiver_may_have_is_not_run_a_second_time() {
    let mut broker = broker();
    let letter = dispatch(&mut broker);
    let error = TransportError::NoAnswer {
        to: String::new(),
        why: String::new(),
    };
    deliver(&mut broker, letter, Err(error));
    let lost = EndState::Failed(Reason::ServiceLost);
    assert!(matches!(state(&broker), JobState::Ended(end) if end.state == lost));
    assert_eq!((broker.due(), broker.published()), (None, 1));
}

#[test]
fn only_jobs_that_a_lost_service_had_confirmed_are_lost_with_it() {
    let target = Target::Cluster(ClusterId(0));
    let mut broker = broker();
    let letter = dispatch(&mut broker);
    assert_eq!(broker.handle_lost(millis(5100), target), 0);
    deliver(&mut broker, letter, Ok(()));
    assert!(broker.relied_on().contains(&target));
    assert_eq!(broker.handle_lost(millis(5300), target), 1);
    assert!(matches!(state(&broker), JobState::Ended(_)));
    assert!(broker.relied_on().is_empty());
}

#[test]
fn news_from_where_the_job_is_not_changes_nothing() {
    let mut broker = broker();
    let letter = dispatch(&mut broker);
    deliver(&mut broker, letter, Ok(()));
    let end = end_of(JobId(0), EndState::Completed);
    let (here, elsewhere) = (ClusterId(0), ClusterId(1));
    assert!(!broker.handle_end(millis(6000), Target::Cluster(elsewhere), end));
    assert!(matches!(state(&broker), JobState::Sent { .. }));
    assert!(broker.handle_end(millis(6000), Target::Cluster(here), end));
    assert!(!broker.handle_end(millis(6000), Target::Cluster(here), end));
    assert_eq!(broker.published(), 1);
}

#[test]
fn a_job_travels_under_its_key_with_the_hop_it_is_on() {
    let mut broker = broker();
    let spec = JobSpec::rigid(JobId(7), 1, SimDuration::from_secs(9));
    let arrival = Arrival {
        key: Some("run/0/7/0".to_owned()),
        id: Some(JobId(7)),
        ..Arrival::of(spec)
    };
    broker.submit(millis(0), arrival).unwrap();
    broker.step(millis(0));
    let sent = letters(&mut broker);
    assert!(matches!(&sent[0].message, Message::Dispatch { key, .. } if key == "run/0/7/0"));
}

#[test]
fn the_truth_is_refused_with_the_domain_and_the_policy() {
    let refused = BrokerSetup::of(&grid(PolicyKind::FullInformation), DomainId(0), 1);
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("domain a: field policy = \"full-information\""),
        "{message}"
    );
}

#[test]
fn jobs_that_are_taken_in_are_counted_by_where_they_entered() {
    let mut broker = broker();
    let keys = ["run/1/0/1", "run/x/1/0/1", "run/9/2/1", "x", "run/1/4/0"];
    for (id, key) in (0..).zip(keys) {
        let from = match id {
            4 => Party::Client,
            _ => Party::Broker(DomainId(1)),
        };
        let arrival = Arrival {
            key: Some(key.to_owned()),
            id: Some(JobId(id)),
            from,
            hop: u32::from(id != 4),
            ..Arrival::of(JobSpec::rigid(JobId(id), 1, SimDuration::from_secs(9)))
        };
        broker.submit(millis(1000), arrival).unwrap();
    }
    broker.step(millis(5000));
    let counted: Vec<_> = broker.taken_in().collect();
    // Nine is no domain of the grid, and one key says nothing.
    assert_eq!(counted, [(None, 2), (Some(DomainId(1)), 2)]);
}
