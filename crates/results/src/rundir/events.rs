//! `events.parquet`: the event log, and back.

use super::columns::Columns;
use super::read::{Batch, for_each_row};
use super::{FileDoc, RunDirError, names};
use crate::log::EventLog;
use crate::names::Names;
use gridrig_core::event::{Event, EventSink, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;
use std::path::Path;

/// The event as a row: who, to whom, and what else there is to say.
#[derive(Default)]
struct Row<'a> {
    kind: &'static str,
    job: u32,
    from: Option<Party>,
    to: Option<Party>,
    hop: Option<u32>,
    reason: Option<Reason>,
    intended: Option<SimTime>,
    placement: Option<&'a [PlacementRun]>,
}

pub(super) fn write(dir: &Path, log: &EventLog, shown: &Names) -> Result<FileDoc, RunDirError> {
    let row = |index: usize| log.get(index).map(|(_, event)| row_of(event));
    let party = move |party: Option<Party>| party.map(|party| shown.party(party));
    let mut columns = Columns::default();
    columns.time("time_ns", |index| Some(log.get(index)?.0));
    columns.text("event", move |index| Some(row(index)?.kind));
    columns.u32("job_id", move |index| Some(row(index)?.job));
    columns.text("from", move |index| party(row(index)?.from));
    columns.text("to", move |index| party(row(index)?.to));
    columns.u32("hop", move |index| row(index)?.hop);
    columns.text("reason", move |index| Some(row(index)?.reason?.name()));
    columns.time("intended_ns", move |index| row(index)?.intended);
    columns.placement("placement", move |index| {
        let row = row(index)?;
        let cluster = match row.to? {
            Party::Lrms(cluster) => shown.cluster(cluster),
            _ => return None,
        };
        Some((cluster, row.placement?))
    });
    columns.write(dir, names::EVENTS, log.len())
}

fn row_of(event: Event<'_>) -> Row<'_> {
    let (from, to) = parties(event);
    let mut row = Row {
        kind: kind_of(event),
        job: event.job().map_or(0, |job| job.0),
        from,
        to,
        ..Row::default()
    };
    match event {
        Event::Submitted { intended, .. } => row.intended = Some(intended),
        Event::BrokerArrival { hop, .. } => row.hop = Some(hop),
        Event::Started { placement, .. } => row.placement = Some(placement),
        Event::Refused { reason, .. }
        | Event::Rejected { reason, .. }
        | Event::Failed { reason, .. } => row.reason = Some(reason),
        _ => {}
    }
    row
}

fn kind_of(event: Event<'_>) -> &'static str {
    match event {
        Event::Submitted { .. } => "submitted",
        Event::BrokerArrival { .. } => "arrived",
        Event::Forwarded { .. } => "forwarded",
        Event::Refused { .. } => "refused",
        Event::Dispatched { .. } => "dispatched",
        Event::Queued { .. } => "queued",
        Event::Started { .. } => "started",
        Event::Finished { .. } => "finished",
        Event::Notified { .. } => "notified",
        Event::FinishSeen { .. } => "finish-seen",
        Event::Rejected { .. } => "rejected",
        Event::Cancelled { .. } => "cancelled",
        Event::Failed { .. } => "failed",
        Event::InfoSent { .. } => "info-sent",
    }
}

/// Who did it or sent it, and where it happened or went.
fn parties(event: Event<'_>) -> (Option<Party>, Option<Party>) {
    let lrms = |id| Some(Party::Lrms(id));
    let broker = |id| Some(Party::Broker(id));
    match event {
        Event::Submitted { entry, .. } => {
            let to = match entry {
                Entry::Domain(id) => broker(id),
                Entry::Cluster(id) => lrms(id),
            };
            (Some(Party::Client), to)
        }
        Event::BrokerArrival { domain, .. } => (None, broker(domain)),
        Event::Forwarded { from, to, .. } => (broker(from), broker(to)),
        Event::Refused { by, to, .. } => (Some(by), Some(to)),
        Event::Dispatched {
            domain, cluster, ..
        } => (broker(domain), lrms(cluster)),
        Event::Queued { cluster, .. } | Event::Started { cluster, .. } => (None, lrms(cluster)),
        Event::Finished { cluster, .. } => (lrms(cluster), None),
        Event::Notified { from, to, .. } | Event::InfoSent { from, to } => (Some(from), Some(to)),
        Event::FinishSeen { by, .. } => (None, Some(by)),
        Event::Rejected { by, .. } | Event::Cancelled { by, .. } | Event::Failed { by, .. } => {
            (Some(by), None)
        }
    }
}

/// A row that says nothing that can be an event: its number from 1, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableRow {
    /// Counted from 1.
    pub row: u64,
    /// The job, if the row names one.
    pub job: Option<JobId>,
    /// Which field is out of place.
    pub message: String,
}

/// Reads the event log back. Rows that cannot be are left out and told.
pub(super) fn read(
    path: &Path,
    shown: &Names,
) -> Result<(EventLog, Vec<UnreadableRow>), RunDirError> {
    let mut log = EventLog::default();
    let mut unreadable = Vec::new();
    let mut placement = Vec::new();
    for_each_row(path, |batch, index, row| {
        let job = batch.u32("job_id", index)?.map(JobId);
        match read_row(batch, index, job, shown, &mut placement)? {
            Ok((at, event)) => log.emit(at, event),
            Err(message) => unreadable.push(UnreadableRow { row, job, message }),
        }
        Ok(())
    })?;
    Ok((log, unreadable))
}

/// A row as an event, or why it is none.
pub(super) type ReadEvent<'p> = Result<(SimTime, Event<'p>), String>;

pub(super) fn read_row<'p>(
    batch: &Batch<'_>,
    index: usize,
    job: Option<JobId>,
    shown: &Names,
    placement: &'p mut Vec<PlacementRun>,
) -> Result<ReadEvent<'p>, RunDirError> {
    let party = |name: &'static str| -> Result<Field<Party>, RunDirError> {
        let text = batch.text(name, index)?;
        let value = text.and_then(|text| shown.find_party(text));
        Ok(Field::new(
            name,
            value,
            text.map(str::to_owned),
            "a party of the grid",
        ))
    };
    let (from, to) = (party("from")?, party("to")?);
    let reason = batch.text("reason", index)?;
    let known = reason.and_then(Reason::from_name);
    let reason = Field::new("reason", known, reason.map(str::to_owned), "a known reason");
    let hop = batch.u32("hop", index)?;
    let hop = Field::new("hop", hop, None, "a number of forwards");
    let intended = batch.time("intended_ns", index)?;
    let intended = Field::new("intended_ns", intended, None, "an instant from 0");
    let at = batch.time("time_ns", index)?;
    let kind = batch.text("event", index)?.unwrap_or_default();
    let placed = batch.placement("placement", index, placement)?;
    let row = ReadRow {
        job,
        from,
        to,
        reason,
        hop,
        intended,
    };
    let Some(at) = at else {
        return Ok(Err("field time_ns: expected an instant from 0".to_owned()));
    };
    if kind == "started" && !placed {
        return Ok(Err(
            "field placement: expected resources below 65536, nodes and processors".to_owned(),
        ));
    }
    Ok(row.event(kind, placement).map(|event| (at, event)))
}

/// A field of a row, or what to say when it is needed and out of place.
struct Field<T> {
    name: &'static str,
    value: Option<T>,
    text: Option<String>,
    expected: &'static str,
}

impl<T: Copy> Field<T> {
    fn new(
        name: &'static str,
        value: Option<T>,
        text: Option<String>,
        expected: &'static str,
    ) -> Self {
        Field {
            name,
            value,
            text,
            expected,
        }
    }

    fn get(&self) -> Result<T, String> {
        self.value.ok_or_else(|| self.wrong())
    }

    fn wrong(&self) -> String {
        let value = self.text.as_deref().unwrap_or_default();
        format!(
            "field {} = \"{value}\": expected {}",
            self.name, self.expected
        )
    }
}

impl Field<Party> {
    fn domain(&self) -> Result<DomainId, String> {
        match self.get()? {
            Party::Broker(id) => Ok(id),
            _ => Err(self.wrong()),
        }
    }

    fn cluster(&self) -> Result<ClusterId, String> {
        match self.get()? {
            Party::Lrms(id) => Ok(id),
            _ => Err(self.wrong()),
        }
    }
}

/// What a row says.
struct ReadRow {
    job: Option<JobId>,
    from: Field<Party>,
    to: Field<Party>,
    reason: Field<Reason>,
    hop: Field<u32>,
    intended: Field<SimTime>,
}

impl ReadRow {
    fn event<'p>(&self, kind: &str, placement: &'p [PlacementRun]) -> Result<Event<'p>, String> {
        let missing = || "field job_id: expected the number of a job".to_owned();
        let job = self.job.ok_or_else(missing)?;
        Ok(match kind {
            "submitted" => Event::Submitted {
                job,
                entry: match self.to.get()? {
                    Party::Broker(id) => Entry::Domain(id),
                    Party::Lrms(id) => Entry::Cluster(id),
                    Party::Client => return Err(self.to.wrong()),
                },
                intended: self.intended.get()?,
            },
            "arrived" => Event::BrokerArrival {
                job,
                domain: self.to.domain()?,
                hop: self.hop.get()?,
            },
            "forwarded" => Event::Forwarded {
                job,
                from: self.from.domain()?,
                to: self.to.domain()?,
            },
            "refused" => Event::Refused {
                job,
                by: self.from.get()?,
                to: self.to.get()?,
                reason: self.reason.get()?,
            },
            "dispatched" => Event::Dispatched {
                job,
                domain: self.from.domain()?,
                cluster: self.to.cluster()?,
            },
            "queued" => Event::Queued {
                job,
                cluster: self.to.cluster()?,
            },
            "started" => Event::Started {
                job,
                cluster: self.to.cluster()?,
                placement,
            },
            _ => return self.end_event(kind, job),
        })
    }

    fn end_event(&self, kind: &str, job: JobId) -> Result<Event<'static>, String> {
        Ok(match kind {
            "finished" => Event::Finished {
                job,
                cluster: self.from.cluster()?,
            },
            "notified" => Event::Notified {
                job,
                from: self.from.get()?,
                to: self.to.get()?,
            },
            "finish-seen" => Event::FinishSeen {
                job,
                by: self.to.get()?,
            },
            "rejected" => Event::Rejected {
                job,
                by: self.from.get()?,
                reason: self.reason.get()?,
            },
            "cancelled" => Event::Cancelled {
                job,
                by: self.from.get()?,
            },
            "failed" => Event::Failed {
                job,
                by: self.from.get()?,
                reason: self.reason.get()?,
            },
            _ => {
                return Err(format!(
                    "field event = \"{kind}\": expected a kind of event"
                ));
            }
        })
    }
}
