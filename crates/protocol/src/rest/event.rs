//! The event log of a service, page by page.

use super::job::reason_of;
use super::place::{Place, PlaceKind, PlacementReport};
use super::problem::Problem;
use gridrig_core::event::{Event, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Entry;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One event. Which of the optional fields are there depends on its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EventReport {
    /// When, in nanoseconds of the run.
    pub at_ns: u64,
    /// `submitted`, `broker-arrival`, `forwarded`, `refused`, `dispatched`,
    /// `queued`, `started`, `finished`, `notified`, `finish-seen`, `rejected`,
    /// `cancelled`, `failed` or `info-sent`.
    pub event: String,
    /// The job's number; information is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u32>,
    /// Who did it: the sender of a message, the place of an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Place>,
    /// The receiver of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Place>,
    /// Why a job was refused, rejected or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When a job should have been submitted, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intended_ns: Option<u64>,
    /// Forwards so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<u32>,
    /// Where a job started, node by node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placement: Vec<PlacementReport>,
}

/// Some of a service's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    /// was started anew still tells the events of those before.
    #[serde(default = "one_life")]
    pub lives: u32,
}

fn one_life() -> u32 {
    1
}

impl EventReport {
    /// The event as it goes over the wire.
    #[must_use]
    pub fn of(at: SimTime, event: &Event<'_>) -> Self {
        let lrms = |cluster: ClusterId| Some(Party::Lrms(cluster).into());
        let broker = |domain: DomainId| Some(Party::Broker(domain).into());
        let mut report = EventReport {
            at_ns: at.as_nanos(),
            job: event.job().map(|job| job.0),
            event: event.name().to_owned(),
            ..EventReport::default()
        };
        match *event {
            Event::Submitted {
                entry, intended, ..
            } => {
                report.by = Some(Party::Client.into());
                report.to = match entry {
                    Entry::Domain(domain) => broker(domain),
                    Entry::Cluster(cluster) => lrms(cluster),
                };
                report.intended_ns = Some(intended.as_nanos());
            }
            Event::BrokerArrival { domain, hop, .. } => {
                (report.by, report.hop) = (broker(domain), Some(hop));
            }
            Event::Forwarded { from, to, .. } => {
                (report.by, report.to) = (broker(from), broker(to));
            }
            Event::Refused { by, to, reason, .. } => {
                (report.by, report.to) = (Some(by.into()), Some(to.into()));
                report.reason = Some(reason.name().to_owned());
            }
            Event::Dispatched {
                domain, cluster, ..
            } => {
                (report.by, report.to) = (broker(domain), lrms(cluster));
            }
            Event::Queued { cluster, .. } | Event::Finished { cluster, .. } => {
                report.by = lrms(cluster);
            }
            Event::Started {
                cluster, placement, ..
            } => {
                report.by = lrms(cluster);
                report.placement = placement.iter().map(PlacementReport::from).collect();
            }
            Event::Notified { from, to, .. } | Event::InfoSent { from, to } => {
                (report.by, report.to) = (Some(from.into()), Some(to.into()));
            }
            Event::FinishSeen { by, .. } | Event::Cancelled { by, .. } => {
                report.by = Some(by.into());
            }
            Event::Rejected { by, reason, .. } | Event::Failed { by, reason, .. } => {
                report.by = Some(by.into());
                report.reason = Some(reason.name().to_owned());
            }
        }
        report
    }

    /// When it happened, and where a started job runs.
    #[must_use]
    pub fn at_and_placement(&self) -> (SimTime, Vec<PlacementRun>) {
        let placement = self.placement.iter().map(PlacementRun::from).collect();
        (SimTime::from_nanos(self.at_ns), placement)
    }

    /// The event, its placement being the one given.
    ///
    /// # Errors
    /// When a field is missing or has no meaning.
    pub fn event<'a>(&self, placement: &'a [PlacementRun]) -> Result<Event<'a>, Problem> {
        if self.event == "info-sent" {
            return Ok(Event::InfoSent {
                from: self.by()?,
                to: self.to()?,
            });
        }
        let job = self.job.map(JobId).ok_or_else(|| missing("job"))?;
        let reason = || reason_of(self.reason.as_deref());
        Ok(match self.event.as_str() {
            "queued" => Event::Queued {
                job,
                cluster: cluster(self.by()?)?,
            },
            "started" => Event::Started {
                job,
                cluster: cluster(self.by()?)?,
                placement,
            },
            "finished" => Event::Finished {
                job,
                cluster: cluster(self.by()?)?,
            },
            "finish-seen" => Event::FinishSeen {
                job,
                by: self.by()?,
            },
            "rejected" => Event::Rejected {
                job,
                by: self.by()?,
                reason: reason()?,
            },
            "cancelled" => Event::Cancelled {
                job,
                by: self.by()?,
            },
            "failed" => Event::Failed {
                job,
                by: self.by()?,
                reason: reason()?,
            },
            _ => return self.message(job),
        })
    }

    fn message(&self, job: JobId) -> Result<Event<'static>, Problem> {
        let (by, to) = (self.by(), self.to());
        Ok(match self.event.as_str() {
            "submitted" => {
                let intended = self.intended_ns.ok_or_else(|| missing("intended_ns"))?;
                let entry = match to? {
                    Party::Broker(domain) => Entry::Domain(domain),
                    Party::Lrms(cluster) => Entry::Cluster(cluster),
                    Party::Client => return Err(missing("to.kind")),
                };
                Event::Submitted {
                    job,
                    entry,
                    intended: SimTime::from_nanos(intended),
                }
            }
            "broker-arrival" => {
                let hop = self.hop.ok_or_else(|| missing("hop"))?;
                Event::BrokerArrival {
                    job,
                    domain: domain(by?)?,
                    hop,
                }
            }
            "forwarded" => Event::Forwarded {
                job,
                from: domain(by?)?,
                to: domain(to?)?,
            },
            "refused" => {
                let reason = reason_of(self.reason.as_deref())?;
                Event::Refused {
                    job,
                    by: by?,
                    to: to?,
                    reason,
                }
            }
            "dispatched" => {
                let (domain, cluster) = (domain(by?)?, cluster(to?)?);
                Event::Dispatched {
                    job,
                    domain,
                    cluster,
                }
            }
            "notified" => Event::Notified {
                job,
                from: by?,
                to: to?,
            },
            other => return Err(Problem::field("event", other, "the name of an event")),
        })
    }

    fn by(&self) -> Result<Party, Problem> {
        self.by.map(Party::from).ok_or_else(|| missing("by"))
    }

    fn to(&self) -> Result<Party, Problem> {
        self.to.map(Party::from).ok_or_else(|| missing("to"))
    }
}

fn missing(field: &str) -> Problem {
    Problem::field(field, "", "a value that this kind of event has")
}

fn domain(party: Party) -> Result<DomainId, Problem> {
    match party {
        Party::Broker(domain) => Ok(domain),
        other => Err(wrong_kind(other, PlaceKind::Broker)),
    }
}

fn cluster(party: Party) -> Result<ClusterId, Problem> {
    match party {
        Party::Lrms(cluster) => Ok(cluster),
        other => Err(wrong_kind(other, PlaceKind::Lrms)),
    }
}

fn wrong_kind(found: Party, expected: PlaceKind) -> Problem {
    Problem::field("kind", &format!("{found:?}"), &format!("{expected:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::job::Reason;

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
            Event::Submitted {
                job,
                entry: Entry::Domain(domain),
                intended,
            },
            Event::Submitted {
                job,
                entry: Entry::Cluster(cluster),
                intended,
            },
            Event::BrokerArrival {
                job,
                domain,
                hop: 0,
            },
            Event::Forwarded {
                job,
                from: domain,
                to: DomainId(0),
            },
            Event::Refused {
                job,
                by,
                to,
                reason,
            },
            Event::Dispatched {
                job,
                domain,
                cluster,
            },
            Event::Queued { job, cluster },
            Event::Started {
                job,
                cluster,
                placement: &placement,
            },
            Event::Finished { job, cluster },
            Event::Notified { job, from: by, to },
            Event::FinishSeen {
                job,
                by: Party::Client,
            },
            Event::Rejected { job, by, reason },
            Event::Cancelled { job, by },
            Event::Failed { job, by, reason },
            Event::InfoSent { from: by, to },
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
        let report = EventReport {
            event: "queued".to_owned(),
            ..EventReport::default()
        };
        assert!(report.event(&[]).is_err());
        let report = EventReport {
            job: Some(1),
            event: "x".to_owned(),
            ..EventReport::default()
        };
        assert!(
            report
                .event(&[])
                .unwrap_err()
                .detail
                .contains("field event = \"x\"")
        );
    }
}
