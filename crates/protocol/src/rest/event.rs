//! The event log of a service, page by page.

use super::end::reason_of;
use super::place::{Place, PlacementReport};
use super::problem::{Problem, Result};
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::ids::JobId;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;
use serde::{Deserialize, Serialize};

/// One event. Which of the optional fields are there depends on its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EventReport {
    /// When, in nanoseconds of the run.
    pub at_ns: u64,
    /// The name of its kind: those of `events.parquet`, and `info-sent`.
    pub event: String,
    /// The job's number; information is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u32>,
    /// Who did it: the sender of a message, the place of an event.
    pub by: Place,
    /// The receiver of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Place>,
    /// Why a job was refused, rejected or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When a job should have been submitted, in nanoseconds of the run; how
    /// often one that arrives was forwarded so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
    /// Where a job started, node by node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placement: Vec<PlacementReport>,
}

/// Some of a service's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventPage {
    /// Position of the first one; above the wanted one if older events are
    /// forgotten.
    pub first: u64,
    /// Events in the order in which they happened there.
    pub events: Vec<EventReport>,
    /// What to give as `after` for the following ones.
    pub next: u64,
    /// How many have happened so far.
    pub total: u64,
    /// From how many lives of the service they are: more than 1 where one that
    /// was restarted still tells the events of those before.
    #[serde(default = "one_life")]
    pub lives: u32,
}

fn one_life() -> u32 {
    1
}

impl EventReport {
    /// The event as it goes over the wire.
    pub fn of(at: SimTime, event: &Event<'_>) -> Self {
        EventReport {
            at_ns: at.as_nanos(),
            event: event.kind.name().to_owned(),
            job: event.job.map(|job| job.0),
            by: event.by.into(),
            to: event.to.map(Place::from),
            reason: event.reason.map(|reason| reason.name().to_owned()),
            value: event.own_value(),
            placement: event.placement.iter().map(PlacementReport::from).collect(),
        }
    }

    /// When it happened, and where a started job runs.
    pub fn at_and_placement(&self) -> (SimTime, Vec<PlacementRun>) {
        let placement = self.placement.iter().map(PlacementRun::from).collect();
        (SimTime::from_nanos(self.at_ns), placement)
    }

    /// The event, its placement being the one given.
    ///
    /// # Errors
    /// When a field is missing or has no meaning.
    pub fn event<'a>(&self, placement: &'a [PlacementRun]) -> Result<Event<'a>> {
        let unknown = || Problem::field("event", &self.event, "the name of an event");
        let kind = EventKind::from_name(&self.event).ok_or_else(unknown)?;
        let reason = self.reason.as_deref();
        let event = Event {
            kind,
            job: self.job.map(JobId),
            by: self.by.into(),
            to: self.to.map(Party::from),
            reason: reason.map(|name| reason_of(Some(name))).transpose()?,
            value: kind.row().value.or_missing(self.value),
            placement,
        };
        let wrong = |(field, expected)| Problem::field(field, "", expected);
        event.check().map_err(wrong).map(|()| event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::ids::{ClusterId, DomainId};
    use gridrig_core::job::{Entry, Reason};

    #[test]
    fn every_event_survives_the_wire() {
        let (job, domain, cluster) = (JobId(4), DomainId(1), ClusterId(2));
        let (by, to, reason) = (
            Party::Lrms(cluster),
            Party::Broker(domain),
            Reason::QueueFull,
        );
        let placement = [PlacementRun {
            resource: 0,
            node: 1,
            nodes: 2,
            processors: 3,
        }];
        let intended = SimTime::from_secs(1);
        let events = [
            Event::new(EventKind::Submitted, job, Party::Client)
                .to(Entry::Domain(domain))
                .at(intended),
            Event::new(EventKind::Submitted, job, Party::Client)
                .to(Entry::Cluster(cluster))
                .at(intended),
            Event::new(EventKind::BrokerArrival, job, domain).with(0),
            Event::new(EventKind::Forwarded, job, domain).to(DomainId(0)),
            Event::new(EventKind::Refused, job, by)
                .to(to)
                .because(reason),
            Event::new(EventKind::Dispatched, job, domain).to(cluster),
            Event::new(EventKind::Queued, job, cluster),
            Event::new(EventKind::Started, job, cluster).on(&placement),
            Event::new(EventKind::Finished, job, cluster),
            Event::new(EventKind::Notified, job, by).to(to),
            Event::new(EventKind::FinishSeen, job, Party::Client),
            Event::new(EventKind::Rejected, job, by).because(reason),
            Event::new(EventKind::Cancelled, job, by),
            Event::new(EventKind::Failed, job, by).because(reason),
            Event::new(EventKind::InfoSent, None::<JobId>, by).to(to),
        ];
        for event in events {
            let report = EventReport::of(SimTime::from_secs(9), &event);
            let text = serde_json::to_string(&report).unwrap();
            let read: EventReport = serde_json::from_str(&text).unwrap();
            let (at, placement) = read.at_and_placement();
            assert_eq!(at, SimTime::from_secs(9));
            assert_eq!(read.event(&placement), Ok(event), "{text}");
        }
    }

    #[test]
    fn an_event_without_its_fields_is_refused() {
        let check = |json: &str, wrong: &str| {
            let report: EventReport = serde_json::from_str(json).unwrap();
            let detail = report.event(&[]).unwrap_err().detail;
            assert!(detail.contains(wrong), "{detail}");
        };
        let of_lrms = |more: &str| format!(r#"{{"at_ns":1,"by":{{"kind":"lrms"}},{more}}}"#);
        check(&of_lrms(r#""event":"queued""#), "field job");
        check(&of_lrms(r#""event":"x","job":1"#), "field event = \"x\"");
        let arrival = of_lrms(r#""event":"broker-arrival","job":1,"value":0"#);
        check(&arrival, "field by = \"\": expected a broker");
        for (event, wrong) in [
            ("broker-arrival", "field value"),
            ("forwarded", "field to"),
            ("failed", "field reason"),
        ] {
            let by = r#""at_ns":1,"by":{"kind":"broker"},"job":1"#;
            check(&format!(r#"{{{by},"event":"{event}"}}"#), wrong);
        }
    }
}
