//! A client and services that fail.

use super::*;
use crate::agent::tests::Tested;
use crate::job::JobSpec;

type Client = Tested<ClientAgent>;
type Sent = Envelope<FromClient>;

const HERE: Entry = Entry::Domain(DomainId(0));
const ELSEWHERE: Entry = Entry::Domain(DomainId(1));

/// A client with one job, due at 1 s, that enters there.
fn client(entry: Entry, comes_back: u64, has_logs: bool) -> Client {
    let setup = ClientSetup {
        run: "run".to_owned(),
        services: BTreeSet::from([HERE]),
        patience: Patience {
            comes_back: SimDuration::from_secs(comes_back),
            ..Patience::default()
        },
        answering: BTreeSet::from([ELSEWHERE]),
        has_logs,
        lost_after: SimDuration::from_secs(60),
    };
    let submission = Submission {
        spec: JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(9)),
        at: SimTime::from_secs(1),
        entry,
        label: Default::default(),
    };
    let mut client = Tested::new(ClientAgent::new(setup, Arc::new([submission])));
    client.step(SimTime::from_secs(1));
    client
}

/// What it has sent: submissions, and other messages.
fn said(client: &mut Client) -> (Vec<Sent>, Vec<Sent>) {
    let is_submission = |sent: &Sent| matches!(sent.message.said, ToEntry::Submit(_));
    client.envelopes().into_iter().partition(is_submission)
}

fn fate(client: &mut Client, envelope: Sent, result: Result<(), Undelivered>) {
    client.handle(SimTime::from_secs(2), Fate { envelope, result });
}

fn page(client: &mut Client, life: u64, ends: &[JobEnd]) {
    let page = Published {
        by: HERE,
        life,
        next: ends.len() as u64,
        ends: ends.to_vec(),
    };
    client.handle(SimTime::from_secs(3), page);
}

/// The timers of the wall up to this second.
fn pass(client: &mut Client, seconds: u64) {
    client.around.wall = WallTime::ZERO + SimDuration::from_secs(seconds);
    client.handle(SimTime::from_secs(3), Due::Wall);
}

fn log(client: &Client) -> Vec<&'static str> {
    client.around.log.iter().map(|(_, kind)| *kind).collect()
}

const END: JobEnd = JobEnd::without_run(JobId(0), EndState::Completed);

#[test]
fn a_job_is_sent_again_under_its_key_to_whoever_forgot_it_or_did_not_take_it() {
    let mut client = client(HERE, 60, false);
    let (mut first, _) = said(&mut client);
    page(&mut client, 7, &[]);
    assert!(said(&mut client).0.is_empty(), "it is on its way");
    fate(&mut client, first.remove(0), Err(Undelivered::NoAnswer));
    page(&mut client, 7, &[]);
    let (mut second, questions) = said(&mut client);
    let key = |sent: &Sent| match &sent.message.said {
        ToEntry::Submit(job) => job.key.clone(),
        _ => None,
    };
    assert_eq!(key(&second[0]).as_deref(), Some("run/0/0/0"));
    let waits = ToEntry::Ends {
        after: 0,
        wait: SimDuration::from_secs(10),
    };
    assert_eq!(questions[0].message.said, waits);
    fate(&mut client, second.remove(0), Ok(()));
    page(&mut client, 7, &[]);
    assert!(said(&mut client).0.is_empty(), "it is confirmed");
    // Ends that a new life tells were not asked for.
    page(&mut client, 8, &[END]);
    assert_eq!((client.submitted_again(), client.is_done()), (2, false));
    page(&mut client, 8, &[END]);
    assert!(client.is_done());
    assert_eq!(client.ends()[&JobId(0)], END);
}

#[test]
fn touch_is_lost_with_what_a_silent_service_has_when_patience_is_over_and_found_again() {
    let mut client = client(HERE, 2, false);
    let mut sent = said(&mut client).0;
    fate(&mut client, sent.remove(0), Ok(()));
    pass(&mut client, 0);
    for second in 0..=2 {
        let question = said(&mut client).1.remove(0);
        assert_eq!(log(&client), [EventKind::Submitted.name()]);
        fate(&mut client, question, Err(Undelivered::NoAnswer));
        pass(&mut client, second + 1);
    }
    let expected = [EventKind::Submitted, EventKind::LostTouch].map(EventKind::name);
    assert_eq!(log(&client), expected);
    assert_eq!(client.given_up(), [(JobId(0), GivenUp::ServiceLost)]);
    assert!(client.is_done());
}

#[test]
fn what_is_turned_away_has_ended_and_what_nobody_takes_is_given_up() {
    let reason = Reason::NeverFits;
    let mut turned_away = client(HERE, 0, false);
    let mut sent = said(&mut turned_away).0;
    let declined = Err(Undelivered::Declined(Some(reason)));
    fate(&mut turned_away, sent.remove(0), declined);
    let end = turned_away.ends()[&JobId(0)];
    assert_eq!(end.state, EndState::Rejected(reason));
    let mut client = client(HERE, 0, false);
    let mut sent = said(&mut client).0;
    fate(&mut client, sent.remove(0), Err(Undelivered::NotReached));
    assert_eq!(client.given_up(), [(JobId(0), GivenUp::NotTaken)]);
    assert_eq!(client.undelivered().of(MessageKind::Submit), 1);
}

#[test]
fn a_removal_is_asked_for_until_that_is_answered() {
    let mut client = client(HERE, 0, false);
    said(&mut client);
    assert!(client.handle(SimTime::from_secs(2), Cancel(JobId(0))));
    assert!(!client.handle(SimTime::from_secs(2), Cancel(JobId(1))));
    let is_removal = |sent: &Sent| sent.message.said == ToEntry::Cancel(JobId(0));
    for result in [Err(Undelivered::NoAnswer), Ok(())] {
        let mut asked = said(&mut client).1;
        asked.retain(is_removal);
        assert_eq!(asked.len(), 1);
        fate(&mut client, asked.remove(0), result);
        pass(&mut client, 1);
    }
    assert!(!said(&mut client).1.iter().any(is_removal));
}

#[test]
fn of_a_job_elsewhere_its_broker_is_asked_and_its_word_counts_where_no_log_has_it() {
    let mut client = client(ELSEWHERE, 0, true);
    let mut sent = said(&mut client).0;
    fate(&mut client, sent.remove(0), Ok(()));
    pass(&mut client, 1);
    let asked = said(&mut client).1;
    let is_question = |sent: &Sent| sent.message.said == ToEntry::Query(JobId(0));
    assert_eq!(asked.iter().filter(|sent| is_question(sent)).count(), 1);
    let (by, job) = (ELSEWHERE, JobId(0));
    let end = Some(JobEnd::without_run(job, EndState::Cancelled));
    client.handle(SimTime::from_secs(3), Stands { by, job, end });
    pass(&mut client, 2);
    assert!(!client.is_done(), "a log may be behind");
    pass(&mut client, 4);
    assert!(client.is_done());
    client.handle(SimTime::from_secs(9), LogsRead);
    let expected = [
        EventKind::Submitted,
        EventKind::Cancelled,
        EventKind::FinishSeen,
    ];
    assert_eq!(log(&client), expected.map(EventKind::name));
}

#[test]
fn a_job_elsewhere_that_no_log_has_is_given_up_and_removed() {
    let mut client = client(ELSEWHERE, 0, true);
    let mut sent = said(&mut client).0;
    fate(&mut client, sent.remove(0), Ok(()));
    pass(&mut client, 59);
    assert!(client.given_up().is_empty());
    said(&mut client);
    pass(&mut client, 61);
    assert_eq!(client.given_up(), [(JobId(0), GivenUp::NotPlaced)]);
    let asked = said(&mut client).1;
    let is_removal = |sent: &Sent| sent.message.said == ToEntry::Cancel(JobId(0));
    assert!(asked.iter().any(is_removal));
    client.handle(SimTime::from_secs(9), LogsRead);
    assert_eq!(log(&client).last(), Some(&EventKind::LostTouch.name()));
}

#[test]
fn an_attempt_in_a_log_counts_more_than_what_the_broker_says() {
    let mut client = client(ELSEWHERE, 0, true);
    let mut sent = said(&mut client).0;
    fate(&mut client, sent.remove(0), Err(Undelivered::NoAnswer));
    let place = (ClusterId(3), JobId(900));
    for (second, kind) in [(1, EventKind::Queued), (5, EventKind::Finished)] {
        pass(&mut client, second);
        assert!(!client.is_done());
        let at = SimTime::from_secs(second);
        let (job, reason) = (JobId(0), None);
        let observation = Observation {
            job,
            place,
            at,
            kind,
            reason,
        };
        client.handle(at, observation);
    }
    assert!(client.is_done());
    assert_eq!(client.ends()[&JobId(0)].cluster, Some(ClusterId(3)));
    client.handle(SimTime::from_secs(9), LogsRead);
    let seen = (SimTime::from_secs(5), EventKind::FinishSeen.name());
    assert_eq!(client.around.log.last(), Some(&seen));
}
