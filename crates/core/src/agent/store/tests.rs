use super::*;
use crate::message::EndState;
use crate::time::SimDuration;

fn arrival(key: &str, id: Option<u32>, processors: u32) -> Arrival {
    let spec = JobSpec::rigid(
        JobId(id.unwrap_or(0)),
        processors,
        SimDuration::from_secs(1),
    );
    let (key, id) = (Some(key.to_owned()), id.map(JobId));
    Arrival {
        key,
        id,
        ..Arrival::of(spec)
    }
}

fn submit(store: &mut JobStore, arrival: Arrival) -> Result<Receipt, SubmitError> {
    let job = match store.open(&arrival, false)? {
        Opened::Repeated(receipt) => return Ok(receipt),
        Opened::New(job) => job,
    };
    store.enter(arrival, job, SimTime::ZERO);
    Ok(store.answer(Receipt::first(job, SimTime::ZERO, Ok(()))))
}

fn store(keep: usize) -> JobStore {
    JobStore::new(keep, Naming { next: 0, step: 1 })
}

#[test]
fn a_repeated_key_is_answered_with_the_first_answer() {
    let mut store = store(10);
    let first = submit(&mut store, arrival("k", None, 2)).unwrap();
    let again = submit(&mut store, arrival("k", None, 2)).unwrap();
    assert!(again.repeated && !first.repeated && again.job == first.job);
    let other = submit(&mut store, arrival("k", None, 3));
    assert_eq!(other, Err(SubmitError::KeyReused("k".to_owned())));
}

#[test]
fn names_given_by_the_store_avoid_those_that_were_brought_along() {
    let mut store = store(10);
    submit(&mut store, arrival("a", Some(0), 1)).unwrap();
    assert_eq!(
        submit(&mut store, arrival("b", None, 1)).unwrap().job,
        JobId(1)
    );
    let taken = submit(&mut store, arrival("c", Some(1), 1));
    assert_eq!(taken, Err(SubmitError::IdTaken(JobId(1))));
}

#[test]
fn old_ended_jobs_are_forgotten_together_with_their_keys() {
    let mut store = store(2);
    for id in 0..3 {
        submit(&mut store, arrival(&format!("k{id}"), Some(id), 1)).unwrap();
        let state = EndState::Cancelled;
        let job = JobId(id);
        let end = JobEnd::without_run(job, state);
        store.end(end);
        store.publish(end);
    }
    assert!(store.get(JobId(0)).is_none() && store.get(JobId(1)).is_some());
    assert_eq!(store.keys.len(), 2);
    let (from, ends) = store.ends(0, 9);
    assert_eq!((from, ends.len(), store.published()), (1, 2, 3));
}

#[test]
fn a_job_that_has_come_back_is_not_forgotten_with_its_earlier_end() {
    let mut store = store(2);
    let ends = |store: &mut JobStore, id| {
        store.end(JobEnd::without_run(JobId(id), EndState::Cancelled));
    };
    submit(&mut store, arrival("a job's first visit", Some(0), 1)).unwrap();
    ends(&mut store, 0);
    store.enter(
        arrival("a job's second visit", Some(0), 1),
        JobId(0),
        SimTime::ZERO,
    );
    for id in 1..4 {
        submit(&mut store, arrival(&format!("k{id}"), Some(id), 1)).unwrap();
        ends(&mut store, id);
    }
    assert!(
        store
            .get(JobId(0))
            .is_some_and(|record| record.end.is_none())
    );
    assert!(store.get(JobId(1)).is_none() && store.get(JobId(2)).is_some());
    // Nor is one that has ended again.
    ends(&mut store, 0);
    assert!(store.get(JobId(0)).is_some() && store.get(JobId(2)).is_none());
    let third = arrival("a job's third visit", Some(0), 1);
    store.enter(third, JobId(0), SimTime::ZERO);
    ends(&mut store, 3);
    for id in 4..6 {
        submit(&mut store, arrival(&format!("k{id}"), Some(id), 1)).unwrap();
        ends(&mut store, id);
    }
    assert!(
        store
            .get(JobId(0))
            .is_some_and(|record| record.end.is_none())
    );
    ends(&mut store, 0);
    assert!(store.get(JobId(0)).is_some() && store.get(JobId(4)).is_none());
}

#[test]
fn a_message_counts_once_and_a_restarted_sender_is_heard_again() {
    let mut store = store(1);
    let id = |incarnation, number| {
        Some(EnvelopeId {
            incarnation,
            number,
        })
    };
    assert!(store.hear(Party::Client, id(1, 0)));
    assert!(!store.hear(Party::Client, id(1, 0)));
    assert!(store.hear(Party::Client, id(1, 1)));
    assert!(store.hear(Party::Client, id(2, 0)));
}
