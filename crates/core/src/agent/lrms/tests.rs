use super::*;
use crate::agent::tests::Tested;
use crate::agent::{
    Arrival, Cancel, Due, Fate, LrmsInput, Record, Replay, SAY_AGAIN, Undelivered, digest,
};
use crate::cluster::{Overrun, Reserving};
use crate::discipline::DisciplineKind;
use crate::event::NoEvents;
use crate::ids::ClusterId;
use crate::job::{Reason, Requirements, StartWindow};
use crate::message::{EndState, Route};
use crate::reservation::{AdvanceReservation, ReservationOrder, ReservationStep, ReservationUse};
use crate::resource::Resources;
use crate::time::Decimal;

fn lrms(home: bool) -> Tested<LrmsAgent> {
    with_room(home, None)
}

/// One in which so many jobs may wait.
fn with_room(home: bool, queue_limit: Option<usize>) -> Tested<LrmsAgent> {
    let mut cluster = ClusterConfig::new(
        ClusterId(0),
        Resources::homogeneous(4),
        DisciplineKind::FirstInFirstFit,
    );
    cluster.queue_limit = queue_limit;
    let home = home.then_some(Home {
        domain: DomainId(0),
        latency: SimDuration::from_millis(1),
        exchange: SimDuration::from_secs(15),
    });
    let setup = LrmsSetup {
        names_apart: false,
        cluster,
        home,
        incarnation: 1,
        keep_ended: 100,
    };
    Tested::new(LrmsAgent::new(setup))
}

fn arrival(id: u32, processors: u32, seconds: u64, from: Party) -> Arrival {
    let spec = JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(seconds));
    let key = Some(format!("run/{id}/0"));
    let route = match from {
        Party::Broker(domain) => Some(Route {
            from: Some(domain),
            ..Route::entering(domain)
        }),
        Party::Client | Party::Lrms(_) => None,
    };
    Arrival {
        key,
        id: Some(JobId(id)),
        route,
        ..Arrival::of(spec)
    }
}

#[test]
fn timers_that_are_late_happen_at_their_nominal_instants_before_the_message() {
    let mut machine = lrms(true);
    let broker = Party::Broker(DomainId(0));
    machine.advance(SimTime::ZERO);
    machine
        .handle(SimTime::from_secs(1), arrival(0, 4, 10, broker))
        .unwrap();
    machine.advance(machine.now());
    machine.advance(SimTime::from_secs(16));
    machine
        .handle(SimTime::from_secs(16), arrival(1, 1, 1, broker))
        .unwrap();
    let expected = [
        (0.0, "info-sent"),
        (1.0, "queued"),
        (1.0, "started"),
        (11.0, "finished"),
        (11.0, "notified"),
        (15.0, "info-sent"),
        (16.0, "queued"),
    ];
    let seen = machine.around.log.iter();
    let seen: Vec<_> = seen.map(|(at, name)| (at.as_secs_f64(), *name)).collect();
    assert_eq!(seen, expected);
    let envelopes = machine.envelopes();
    let due: Vec<f64> = envelopes
        .iter()
        .map(|envelope| envelope.due.as_secs_f64())
        .collect();
    assert_eq!(due, [0.001, 11.001, 15.001]);
}

#[test]
fn who_follows_hears_of_queue_start_and_end() {
    let mut machine = lrms(false);
    machine.handle(SimTime::ZERO, Follow);
    machine
        .handle(SimTime::from_secs(1), arrival(0, 3, 5, Party::Client))
        .unwrap();
    machine.advance(SimTime::from_secs(9));
    let mut heard = Vec::new();
    for one in machine.agent.take_news() {
        heard.push(match one {
            JobNews::Queued { spec, at } => ("queued", spec.id, at),
            JobNews::Started { job, at, placement } => {
                let taken: u32 = placement.iter().map(|run| run.nodes).sum();
                assert_eq!(taken, 3);
                ("started", job, at)
            }
            JobNews::Ended { end, at } => {
                assert_eq!(end.finish, Some(at));
                ("ended", end.job, at)
            }
            JobNews::Requeued { job } => ("requeued", job, SimTime::MAX),
        });
    }
    let at = SimTime::from_secs;
    let expected = [
        ("queued", JobId(0), at(1)),
        ("started", JobId(0), at(1)),
        ("ended", JobId(0), at(6)),
    ];
    assert_eq!(heard, expected);
}

#[test]
fn a_job_whose_end_is_decided_outside_ends_then_and_makes_room() {
    let mut machine = lrms(false);
    for id in 0..2 {
        let job = arrival(id, 4, 1_000, Party::Client);
        machine.handle(SimTime::ZERO, job).unwrap();
    }
    machine.advance(SimTime::ZERO);
    let at = SimTime::from_secs(7);
    let mut finish = |job| {
        let (job, what) = (JobId(job), ());
        machine.handle(at, Outside { at, job, what })
    };
    assert!(!finish(1), "it waits");
    assert!(finish(0) && !finish(0));
    machine.advance(at);
    let JobState::Ended(end) = machine.view(JobId(0)).unwrap().state else {
        panic!("it has ended");
    };
    assert_eq!((end.state, end.finish), (EndState::Completed, Some(at)));
    let next = machine.view(JobId(1)).unwrap().state;
    assert!(matches!(next, JobState::Running { start, .. } if start == at));
    assert_eq!(machine.published(), 1);
    // Nothing is left of the first job's own end, nor of its work.
    assert_eq!(machine.next_due(), Some(SimTime::from_secs(1_007)));
    assert_eq!(machine.sample_at(at).work_left, 4 * 1_000 * 1_000_000_000);
}

#[test]
fn time_never_moves_back() {
    let mut machine = lrms(false);
    machine
        .handle(SimTime::from_secs(9), arrival(0, 1, 1, Party::Client))
        .unwrap();
    machine
        .handle(SimTime::from_secs(3), arrival(1, 1, 1, Party::Client))
        .unwrap();
    assert_eq!(machine.now(), SimTime::from_secs(9));
}

#[test]
fn a_job_that_never_fits_is_rejected_to_a_client_and_refused_to_a_broker() {
    let mut machine = lrms(true);
    let receipt = machine
        .handle(SimTime::ZERO, arrival(0, 5, 1, Party::Client))
        .unwrap();
    assert_eq!(receipt.taken, Err(Reason::NeverFits));
    assert_eq!(machine.published(), 1);
    let broker = Party::Broker(DomainId(0));
    machine
        .handle(SimTime::ZERO, arrival(1, 5, 1, broker))
        .unwrap();
    let envelopes = machine.envelopes();
    let refusal = News::Refused {
        job: JobId(1),
        reason: Reason::NeverFits,
        visit: Some(digest("run/1/0".bytes())),
    };
    let refusal = FromLrms::Broker(DomainId(0), ToBroker::News(refusal));
    assert_eq!((envelopes.len(), &envelopes[0].message), (1, &refusal));
    let state = machine.view(JobId(1)).unwrap().state;
    assert!(matches!(state, JobState::Ended(_)), "{state:?}");
}

/// It was refused for ever, by the answer to its first visit (`scripts/fault-plans --seed
/// 1796022364692931 1`).
#[test]
fn a_job_that_found_the_queue_full_may_come_again_by_the_same_way() {
    let mut machine = with_room(true, Some(1));
    machine
        .handle(SimTime::ZERO, arrival(0, 1, 9, Party::Client))
        .unwrap();
    let mut at = |secs: u64, meant: u64| {
        let mut job = arrival(1, 1, 1, Party::Broker(DomainId(0)));
        job.meant = Some(SimTime::from_secs(meant));
        if secs > 0 {
            machine.advance(SimTime::from_secs(secs));
        }
        let receipt = machine.handle(SimTime::from_secs(secs), job).unwrap();
        (receipt.taken, receipt.repeated)
    };
    assert_eq!(at(0, 0), (Err(Reason::QueueFull), false));
    assert_eq!(at(5, 0), (Err(Reason::QueueFull), true));
    assert_eq!(at(5, 5), (Ok(()), false));
    assert_eq!(at(6, 5), (Ok(()), true));
}

#[test]
fn a_job_of_length_0_ends_in_a_further_step_of_its_instant() {
    let mut machine = lrms(false);
    machine
        .handle(SimTime::from_secs(2), arrival(0, 1, 0, Party::Client))
        .unwrap();
    machine.advance(machine.now());
    assert_eq!(machine.published(), 1);
    assert_eq!(machine.now(), SimTime::from_secs(2));
}

#[test]
fn a_cancelled_job_is_over_and_its_broker_is_told() {
    let mut machine = lrms(true);
    let broker = Party::Broker(DomainId(0));
    machine
        .handle(SimTime::ZERO, arrival(0, 1, 9, broker))
        .unwrap();
    assert!(machine.handle(SimTime::from_secs(1), Cancel(JobId(0))));
    assert!(!machine.handle(SimTime::from_secs(1), Cancel(JobId(0))));
    let envelopes = machine.envelopes();
    let end = JobEnd::without_run(JobId(0), EndState::Cancelled);
    let told = FromLrms::Broker(DomainId(0), ToBroker::News(News::Ended(end)));
    assert_eq!(envelopes[0].message, told);
}

#[test]
fn a_job_that_is_cut_short_has_started_and_ended() {
    let mut machine = lrms(false);
    machine.advance(SimTime::ZERO);
    let (runs, waits) = (
        arrival(0, 4, 9, Party::Client),
        arrival(1, 4, 9, Party::Client),
    );
    machine.handle(SimTime::from_secs(1), runs).unwrap();
    machine.handle(SimTime::from_secs(1), waits).unwrap();
    machine.advance(SimTime::from_secs(2));
    assert!(machine.handle(SimTime::from_secs(3), Cancel(JobId(1))));
    assert!(machine.handle(SimTime::from_secs(3), Cancel(JobId(0))));
    let times = |job| match machine.view(job).unwrap().state {
        JobState::Ended(end) => (end.start, end.finish),
        state => panic!("{state:?}"),
    };
    let at = |secs| Some(SimTime::from_secs(secs));
    assert_eq!(times(JobId(0)), (at(1), at(3)));
    assert_eq!(times(JobId(1)), (None, None), "it never ran");
}

#[test]
fn news_that_did_not_arrive_are_told_again_until_they_do() {
    let mut machine = lrms(true);
    let broker = Party::Broker(DomainId(0));
    let job = arrival(0, 4, 10, broker);
    machine.handle(SimTime::ZERO, job).unwrap();
    machine.advance(SimTime::from_secs(10));
    let is_news = |envelope: &Envelope<FromLrms>| {
        matches!(
            envelope.message,
            FromLrms::Broker(_, ToBroker::News(News::Ended(_)))
        )
    };
    let mut news = machine.envelopes().into_iter().find(is_news);
    for result in [
        Err(Undelivered::NoAnswer),
        Err(Undelivered::NotReached),
        Ok(()),
    ] {
        let envelope = news.take().unwrap();
        let now = SimTime::from_secs(11);
        machine.handle(now, Fate { envelope, result });
        let due = machine.next_wall_due();
        assert_eq!(due, result.err().map(|_| machine.around.wall + SAY_AGAIN));
        if let Some(due) = due {
            machine.around.wall = due;
            machine.handle(now, Due::Wall);
            news = machine.envelopes().into_iter().find(is_news);
        }
    }
}

/// It was told the refusal of the last visit only, so that the broker waited for that of
/// the other for ever.
#[test]
fn refusals_of_two_visits_of_one_job_that_did_not_arrive_are_both_told_again() {
    let mut machine = lrms(true);
    for key in ["run/1/0", "run/1/2"] {
        let mut job = arrival(1, 5, 1, Party::Broker(DomainId(0)));
        job.key = Some(key.to_owned());
        machine.handle(SimTime::ZERO, job).unwrap();
    }
    let refusals = machine.envelopes();
    let said = |all: &[Envelope<FromLrms>]| {
        all.iter()
            .map(|one| one.message.clone())
            .collect::<Vec<_>>()
    };
    let first = said(&refusals);
    assert!(first.len() == 2 && first[0] != first[1], "{first:?}");
    for envelope in refusals {
        let result = Err(Undelivered::NoAnswer);
        machine.handle(SimTime::ZERO, Fate { envelope, result });
    }
    machine.around.wall = machine.next_wall_due().unwrap();
    machine.handle(SimTime::ZERO, Due::Wall);
    let again = said(&machine.envelopes());
    assert!(
        again.len() == 2 && first.iter().all(|one| again.contains(one)),
        "{again:?}"
    );
}

/// One that reserves, with a broker.
fn reserving() -> LrmsAgent {
    let mut cluster = ClusterConfig::new(
        ClusterId(0),
        Resources::homogeneous(4),
        DisciplineKind::EasyBackfill,
    );
    cluster.reserving = Some(Reserving {
        overrun: Overrun::Kill,
        most_share: Decimal::ONE,
        longest: None,
        most_ahead: None,
    });
    let home = Some(Home {
        domain: DomainId(0),
        latency: SimDuration::ZERO,
        exchange: SimDuration::ZERO,
    });
    LrmsAgent::new(LrmsSetup {
        names_apart: false,
        cluster,
        home,
        incarnation: 1,
        keep_ended: 100,
    })
}

/// Two processors for 100 s from 10 s on.
fn for_ada() -> ReservationOrder {
    let at = SimTime::from_secs(10);
    let wanted = AdvanceReservation {
        name: "night".into(),
        processors: 2,
        requirements: Requirements::default(),
        duration: SimDuration::from_secs(100),
        window: StartWindow {
            earliest: at,
            latest: at,
            flexible: false,
        },
        users: vec!["ada".into()],
        confirm_within: None,
    };
    ReservationOrder {
        by: Some("ada".into()),
        step: ReservationStep::Make(Box::new(wanted)),
    }
}

/// A client's job in a reservation of an LRMS with a broker: its end goes to the client, one that
/// has waited in vain fails, and an LRMS that handles the same inputs again stands the same.
#[test]
fn an_lrms_that_handles_its_inputs_again_has_the_same_reservations() {
    let order = for_ada();
    let of_ada = ReservationUse {
        name: "night".into(),
        user: Some("ada".into()),
    };
    let inside = |id, processors| Arrival {
        reservation: Some(Box::new(of_ada.clone())),
        ..arrival(id, processors, 60, Party::Client)
    };
    let inputs: [LrmsInput; 3] = [order.into(), inside(0, 2).into(), inside(1, 2).into()];
    let mut machine = Tested::new(reserving());
    let mut replay = Replay::new(reserving(), NoEvents);
    let mut record = |at, input: LrmsInput| {
        let wall = WallTime::ZERO;
        replay.take(Record::Input { at, wall, input }).unwrap();
    };
    for input in inputs {
        record(SimTime::ZERO, input.clone());
        match input {
            LrmsInput::Reservation(order) => drop(machine.handle(SimTime::ZERO, order).unwrap()),
            LrmsInput::Job(job) => {
                assert!(machine.handle(SimTime::ZERO, job).unwrap().taken.is_ok())
            }
            other => panic!("{other:?}"),
        }
    }
    while let Some(due) = machine
        .agent
        .next_due()
        .filter(|due| *due <= SimTime::from_secs(75))
    {
        record(due, Due::Model { loads: Vec::new() }.into());
        machine.step(due);
    }
    let views = |agent: &LrmsAgent| agent.cluster().reservations("").collect::<Vec<_>>();
    let [view] = &views(&machine.agent)[..] else {
        panic!("one reservation");
    };
    assert!(view.begun && view.waiting == [JobId(1)] && view.running.is_empty());
    let resumed = replay.finish().unwrap().agent;
    assert_eq!(views(&resumed), views(&machine.agent));
    machine.advance(SimTime::from_secs(200));
    let (_, ends) = machine.agent.ends(0, 10);
    let ends: Vec<_> = ends.iter().map(|end| (end.job.0, end.state)).collect();
    let vain = EndState::Failed(Reason::NotReserved);
    assert_eq!(ends, [(0, EndState::Completed), (1, vain)]);
    assert!(views(&machine.agent).is_empty());
}
