mod deals;
mod recovery;
mod removal;

use super::*;
use crate::agent::tests::Tested;
use crate::agent::{Cancel, Due, Envelope, Message as _, ToLrms, ToPeer};
use crate::cluster::ClusterConfig;
use crate::discipline::DisciplineKind;
use crate::envelope::{Fate, Received, Undelivered};
use crate::event::{EventKind, Party};
use crate::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use crate::job::JobSpec;
use crate::job::Reason;
use crate::load::LoadSample;
use crate::message::{EndState, Route};
use crate::policy::Tie;
use crate::resource::Resources;
use crate::session::{Push, Roles};

/// Site a with two clusters; b forwards to it and takes its jobs.
fn grid(policy: &str) -> Grid {
    let broker = BrokerSettings {
        policy: policy.parse().unwrap(),
        tie: Tie::First,
        ..BrokerSettings::default()
    };
    let site = |name: &str, clusters: &[u16]| Domain {
        name: name.to_owned(),
        broker: broker.clone(),
        clusters: clusters.iter().map(|id| ClusterId(*id)).collect(),
        topology: Default::default(),
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

type Broker = Tested<BrokerAgent>;

fn broker() -> Broker {
    let setup = BrokerSetup::of(&grid("free-node"), DomainId(0), 1).unwrap();
    let grace = SimDuration::from_millis(100);
    Tested::new(BrokerAgent::new(BrokerSetup { grace, ..setup }))
}

fn millis(millis: u64) -> SimTime {
    SimTime::ZERO + SimDuration::from_millis(millis)
}

fn submit(broker: &mut Broker, id: u32, at: u64, meant: Option<u64>) {
    let arrival = Arrival {
        id: Some(JobId(id)),
        meant: meant.map(millis),
        ..Arrival::of(JobSpec::rigid(JobId(id), 1, SimDuration::from_secs(9)))
    };
    broker.handle(millis(at), arrival).unwrap();
}

type Sent = Envelope<FromBroker>;

/// Submits a job, lets it be dispatched and answers the message.
fn dispatch(broker: &mut Broker) -> Sent {
    submit(broker, 0, 1000, None);
    broker.step(millis(5000));
    broker.envelopes().remove(0)
}

fn deliver(broker: &mut Broker, envelope: Sent, result: Result<(), Undelivered>) {
    broker.handle(millis(5200), Fate { envelope, result });
}

/// News of the end of job 0, from there.
fn ended(from: Target, state: EndState) -> Received<News> {
    let end = JobEnd::without_run(JobId(0), state);
    Received::new(from, News::Ended(end))
}

fn state(broker: &Broker) -> JobState {
    broker.view(JobId(0)).unwrap().state
}

#[test]
fn a_job_meant_for_a_cycle_still_belongs_to_it_within_the_grace() {
    let check = |at: u64, meant: Option<u64>, cycle: u64| {
        let mut broker = broker();
        submit(&mut broker, 0, at, meant);
        assert_eq!(broker.next_due(), Some(millis(cycle)), "{at} {meant:?}");
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
    assert_eq!(broker.next_due(), Some(millis(5000)));
    broker.step(millis(5000));
    assert_eq!(broker.envelopes().len(), 2);
    assert_eq!(broker.next_due(), None);
    // What was meant for a cycle that is over waits for the next one.
    submit(&mut broker, 2, 5040, Some(5000));
    assert_eq!(broker.next_due(), Some(millis(10_000)));
}

#[test]
fn the_samples_of_one_exchange_reach_a_consumer_as_one_message() {
    let mut broker = broker();
    let mut report = |cluster: u16, at: u64, now: u64| {
        let mut sample = LoadSample::idle(ClusterId(cluster), 4);
        sample.at = millis(at);
        let from = Target::Cluster(ClusterId(cluster));
        let info = Received::new(from, Push::from(vec![sample]));
        let taken = broker
            .handle(millis(now), info)
            .map(|updated| updated.taken);
        assert_eq!(taken, Ok(Some(crate::session::Taken::New)));
        broker.envelopes()
    };
    assert!(report(0, 15_000, 15_010).is_empty());
    let sent = report(1, 15_000, 15_020);
    assert_eq!(sent.len(), 1);
    // One link latency after the sample was taken, not after it came.
    assert_eq!(sent[0].due, millis(15_050));
    assert!(
        matches!(&sent[0].message, FromBroker::Peer(_, ToPeer::Info(push)) if push.samples.len() == 2)
    );
    // An LRMS that is silent does not silence the other.
    assert!(report(0, 30_000, 30_010).is_empty());
    let sent = report(0, 45_000, 45_010);
    assert!(
        matches!(&sent[0].message, FromBroker::Peer(_, ToPeer::Info(push)) if push.samples.len() == 1)
    );
    // What one reports that is always late goes along with what is next, the newest only.
    assert!(report(1, 15_000, 45_020).is_empty());
    assert!(report(1, 30_000, 45_030).is_empty());
    let sent = report(0, 60_000, 60_010);
    let FromBroker::Peer(_, ToPeer::Info(push)) = &sent[0].message else {
        panic!("{sent:?}");
    };
    let told = push.samples.iter().map(|one| (one.cluster.0, one.at));
    let told: Vec<_> = told.collect();
    assert_eq!(told, [(0, millis(45_000)), (1, millis(30_000))]);
    // And what has been overtaken is not told.
    assert!(report(1, 20_000, 60_020).is_empty());
    let sent = report(0, 75_000, 75_010);
    assert!(
        matches!(&sent[0].message, FromBroker::Peer(_, ToPeer::Info(push)) if push.samples.len() == 1)
    );
}

#[test]
fn a_job_whose_receiver_was_not_reached_is_tried_elsewhere() {
    let mut broker = broker();
    let envelope = dispatch(&mut broker);
    assert_eq!(envelope.message.to(), Party::Lrms(ClusterId(0)));
    deliver(&mut broker, envelope, Err(Undelivered::NotReached));
    broker.step(millis(10_000));
    assert_eq!(
        broker.envelopes()[0].message.to(),
        Party::Lrms(ClusterId(1))
    );
}

#[test]
fn a_job_that_its_receiver_may_have_is_sent_there_again_and_nowhere_else() {
    let target = Target::Cluster(ClusterId(0));
    let mut broker = broker();
    let envelope = dispatch(&mut broker);
    let key = |sent: &Sent| match &sent.message {
        FromBroker::Lrms(ClusterId(0), ToLrms::Dispatch(job)) => job.key.clone(),
        other => panic!("{other:?}"),
    };
    let first = key(&envelope);
    deliver(&mut broker, envelope, Err(Undelivered::NoAnswer));
    for result in [Err(Undelivered::NotReached), Err(Undelivered::NoAnswer)] {
        broker.around.wall = broker.next_wall_due().unwrap();
        broker.handle(millis(6000), Due::Wall);
        let again = broker.envelopes().remove(0);
        assert_eq!(key(&again), first);
        deliver(&mut broker, again, result);
        assert!(matches!(state(&broker), JobState::Sent { to } if to == target));
    }
    // It is watched, and touch is lost together with whoever may have it.
    assert!(broker.relied_on().contains(&target));
    assert_eq!(broker.handle(millis(7000), Lost(target)), 1);
    assert!(matches!(state(&broker), JobState::Ended(end) if end.state.is_lost()));
    assert_eq!((broker.next_due(), broker.published()), (None, 1));
    // Whoever has it tells its end, and that is passed on.
    let there = Target::Cluster(ClusterId(0));
    broker.handle(millis(6000), ended(there, EndState::Completed));
    assert!(matches!(state(&broker), JobState::Ended(end) if end.state == EndState::Completed));
    assert_eq!((broker.broker().held(), broker.published()), (0, 2));
}

#[test]
fn only_jobs_that_a_lost_service_had_confirmed_are_lost_with_it() {
    let target = Target::Cluster(ClusterId(0));
    let mut broker = broker();
    let envelope = dispatch(&mut broker);
    assert_eq!(broker.handle(millis(5100), Lost(target)), 0);
    deliver(&mut broker, envelope, Ok(()));
    assert!(broker.relied_on().contains(&target));
    assert_eq!(broker.handle(millis(5300), Lost(target)), 1);
    assert!(matches!(state(&broker), JobState::Ended(_)));
    assert!(broker.relied_on().is_empty());
}

#[test]
fn news_from_where_the_job_is_not_changes_nothing() {
    let mut broker = broker();
    let envelope = dispatch(&mut broker);
    deliver(&mut broker, envelope, Ok(()));
    let (here, elsewhere) = (ClusterId(0), ClusterId(1));
    let end = |cluster| ended(Target::Cluster(cluster), EndState::Completed);
    broker.handle(millis(6000), end(elsewhere));
    assert!(matches!(state(&broker), JobState::Sent { .. }));
    for _again in 0..2 {
        broker.handle(millis(6000), end(here));
        assert!(matches!(state(&broker), JobState::Ended(_)));
        assert_eq!(broker.published(), 1);
    }
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
    broker.handle(millis(0), arrival).unwrap();
    broker.step(millis(0));
    let sent = broker.envelopes();
    let FromBroker::Lrms(_, ToLrms::Dispatch(dispatch)) = &sent[0].message else {
        panic!("{:?}", sent[0]);
    };
    assert_eq!(dispatch.key.as_deref(), Some("run/0/7/0"));
}

#[test]
fn the_truth_is_refused_with_the_domain_and_the_policy() {
    let refused = BrokerSetup::of(&grid("full-information"), DomainId(0), 1);
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
        let from = DomainId(1);
        let route = Route {
            from: Some(from),
            hop: 1,
            ..Route::entering(from)
        };
        let arrival = Arrival {
            key: Some(key.to_owned()),
            id: Some(JobId(id)),
            route: (id != 4).then_some(route),
            ..Arrival::of(JobSpec::rigid(JobId(id), 1, SimDuration::from_secs(9)))
        };
        broker.handle(millis(1000), arrival).unwrap();
    }
    broker.step(millis(5000));
    let counted: Vec<_> = broker.taken_in().collect();
    // Nine is no domain of the grid, and one key says nothing.
    assert_eq!(counted, [(None, 2), (Some(DomainId(1)), 2)]);
}

#[test]
fn a_consumer_asks_a_peer_of_whose_load_it_has_heard_nothing_or_nothing_for_long() {
    let mut broker = broker();
    broker.agent.partners = Partners::of(&BTreeMap::from([(DomainId(1), None)]));
    let asks = |broker: &mut Broker, change| {
        let peer = DomainId(1);
        broker.handle(millis(1000), PeerSession { peer, change }).1
    };
    let open = |roles| SessionChange::Open {
        roles: Some(roles),
        found: false,
    };
    let pull = |since| {
        let peer = DomainId(0);
        Some(Pull { peer, since })
    };
    assert_eq!(asks(&mut broker, open(Roles::PROVIDER)), None);
    assert_eq!(asks(&mut broker, open(Roles::CONSUMER)), pull(None));
    // It was not told: it asks as soon as the peer lives.
    assert_eq!(asks(&mut broker, SessionChange::Answered), pull(None));
    let said = Push {
        sequence: 3,
        full: true,
        samples: Vec::new(),
    };
    let update = Received::new(Target::Peer(DomainId(1)), said);
    broker.handle(millis(1000), update).unwrap();
    for _ in 1..10 {
        assert_eq!(asks(&mut broker, SessionChange::Answered), None);
    }
    assert_eq!(asks(&mut broker, SessionChange::Answered), pull(Some(3)));
    assert_eq!(asks(&mut broker, SessionChange::Closed), None);
}
