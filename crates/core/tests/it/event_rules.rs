//! The table of kinds of event.

use gridrig_core::event::{Event, EventKind, Party, Value};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::time::SimTime;
use std::collections::BTreeSet;

#[test]
fn every_kind_has_a_name_of_its_own_by_which_it_is_found() {
    let names: BTreeSet<&str> = EventKind::ALL.map(EventKind::name).into();
    assert_eq!(names.len(), EventKind::ALL.len());
    for kind in EventKind::ALL {
        assert_eq!(EventKind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(EventKind::from_name("arrived"), None);
}

#[test]
fn the_page_about_events_lists_the_table() {
    let shown = |words: &str| match words {
        "nobody" | "nothing" => String::new(),
        words => format!("{words} "),
    };
    let row = |kind: EventKind| {
        let row = kind.row();
        let star = row.message.map_or("", |_| " *");
        let end = if row.is_terminal { " Terminal." } else { "" };
        let (by, to) = (shown(row.by.words()), shown(row.to.words()));
        let value = shown(row.value.words());
        let (name, means) = (row.name, row.means);
        format!("| `{name}`{star} | {means}{end} | {by}| {to}| {value}|")
    };
    let page = include_str!("../../../../docs/events.md");
    let listed = page
        .lines()
        .skip_while(|line| !line.starts_with("| `event` | means"));
    let listed = listed.skip(2).take_while(|line| line.starts_with('|'));
    let expected = EventKind::ALL.map(row);
    assert_eq!(listed.collect::<Vec<_>>(), expected);
}

#[test]
fn an_event_is_held_to_the_fields_of_its_kind() {
    let (job, a, lrms) = (JobId(1), DomainId(0), Party::Lrms(ClusterId(0)));
    let field = |event: Event<'_>| event.check().err().map(|(field, _)| field);
    let forwarded = Event::new(EventKind::Forwarded, job, a);
    assert_eq!(field(forwarded.to(DomainId(1))), None);
    assert_eq!(field(forwarded), Some("to"));
    assert_eq!(field(forwarded.to(lrms)), Some("to"));
    let queued = Event::new(EventKind::Queued, job, lrms);
    assert_eq!(field(queued), None);
    assert_eq!(field(queued.to(a)), Some("to"));
    assert_eq!(field(queued.with(1)), Some("value"));
    assert_eq!(field(queued.because(Reason::QueueFull)), Some("reason"));
    assert_eq!(
        field(Event {
            job: None,
            ..queued
        }),
        Some("job")
    );
    assert_eq!(
        field(Event {
            by: a.into(),
            ..queued
        }),
        Some("by")
    );
    let missing = Value::Forwards.or_missing(None);
    let arrived = Event::new(EventKind::BrokerArrival, job, a).with(missing);
    assert_eq!(field(arrived), Some("value"));
    let submitted = Event::new(EventKind::Submitted, job, Party::Client).to(a);
    let last = submitted.at(SimTime::from_nanos(i64::MAX as u64));
    assert_eq!(
        (field(last), last.instant().as_nanos()),
        (None, i64::MAX as u64)
    );
}
