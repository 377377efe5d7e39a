//! How an event is packed.

use gridrig_core::event::{Event, Party};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason};
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;

/// One event in 24 bytes. What `place` and `payload` hold depends on `kind`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) at: SimTime,
    payload: u64,
    pub(super) job: JobId,
    place: u16,
    kind: Kind,
    reason: Reason,
}

/// The kinds of event. Their order is the order of cause and effect in the
/// life of a job; at one instant it decides what came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Submitted to a domain's broker.
    SubmittedToDomain,
    /// Submitted straight to a cluster.
    SubmittedToCluster,
    /// Arrived at the entry broker.
    EntryArrival,
    Forwarded,
    /// Arrived at a broker by a forward.
    PeerArrival,
    Dispatched,
    Refused,
    Queued,
    Started,
    Finished,
    Rejected,
    Cancelled,
    Failed,
    Notified,
    FinishSeen,
}

impl Record {
    /// Packs an event; `placement` is the index of a started job's placement.
    /// `None` for an information message: it is about no job, and only
    /// counted.
    pub(super) fn new(at: SimTime, event: Event<'_>, placement: u64) -> Option<Record> {
        let none = Reason::RunEnded;
        let (kind, job, place, payload, reason) = match event {
            Event::Submitted {
                job,
                entry,
                intended,
            } => {
                let (kind, place) = match entry {
                    Entry::Domain(domain) => (Kind::SubmittedToDomain, domain.0),
                    Entry::Cluster(cluster) => (Kind::SubmittedToCluster, cluster.0),
                };
                (kind, job, place, intended.as_nanos(), none)
            }
            Event::BrokerArrival { job, domain, hop } => {
                let kind = match hop {
                    0 => Kind::EntryArrival,
                    _ => Kind::PeerArrival,
                };
                (kind, job, domain.0, u64::from(hop), none)
            }
            Event::Forwarded { job, from, to } => {
                (Kind::Forwarded, job, from.0, u64::from(to.0), none)
            }
            Event::Refused {
                job,
                by,
                to,
                reason,
            } => (Kind::Refused, job, 0, pack_two(by, to), reason),
            Event::Dispatched {
                job,
                domain,
                cluster,
            } => (Kind::Dispatched, job, domain.0, u64::from(cluster.0), none),
            Event::Queued { job, cluster } => (Kind::Queued, job, cluster.0, 0, none),
            Event::Started { job, cluster, .. } => (Kind::Started, job, cluster.0, placement, none),
            Event::Finished { job, cluster } => (Kind::Finished, job, cluster.0, 0, none),
            Event::Notified { job, from, to } => (Kind::Notified, job, 0, pack_two(from, to), none),
            Event::FinishSeen { job, by } => (Kind::FinishSeen, job, 0, pack(by), none),
            Event::Rejected { job, by, reason } => (Kind::Rejected, job, 0, pack(by), reason),
            Event::Cancelled { job, by } => (Kind::Cancelled, job, 0, pack(by), none),
            Event::Failed { job, by, reason } => (Kind::Failed, job, 0, pack(by), reason),
            Event::InfoSent { .. } => return None,
        };
        Some(Record {
            at,
            payload,
            job,
            place,
            kind,
            reason,
        })
    }

    /// Unpacks the event; `placement` finds a placement by its index.
    pub(super) fn event<'a>(&self, placement: impl Fn(u64) -> &'a [PlacementRun]) -> Event<'a> {
        let Record { job, reason, .. } = *self;
        let (domain, cluster) = (DomainId(self.place), ClusterId(self.place));
        let submitted = |entry| Event::Submitted {
            job,
            entry,
            intended: SimTime::from_nanos(self.payload),
        };
        let by = || unpack(self.payload);
        let both = || unpack_two(self.payload);
        match self.kind {
            Kind::SubmittedToDomain => submitted(Entry::Domain(domain)),
            Kind::SubmittedToCluster => submitted(Entry::Cluster(cluster)),
            Kind::EntryArrival | Kind::PeerArrival => Event::BrokerArrival {
                job,
                domain,
                hop: self.payload as u32,
            },
            Kind::Forwarded => Event::Forwarded {
                job,
                from: domain,
                to: DomainId(self.payload as u16),
            },
            Kind::Refused => {
                let (by, to) = both();
                Event::Refused {
                    job,
                    by,
                    to,
                    reason,
                }
            }
            Kind::Dispatched => Event::Dispatched {
                job,
                domain,
                cluster: ClusterId(self.payload as u16),
            },
            Kind::Queued => Event::Queued { job, cluster },
            Kind::Started => Event::Started {
                job,
                cluster,
                placement: placement(self.payload),
            },
            Kind::Finished => Event::Finished { job, cluster },
            Kind::Notified => {
                let (from, to) = both();
                Event::Notified { job, from, to }
            }
            Kind::FinishSeen => Event::FinishSeen { job, by: by() },
            Kind::Rejected => Event::Rejected {
                job,
                by: by(),
                reason,
            },
            Kind::Cancelled => Event::Cancelled { job, by: by() },
            Kind::Failed => Event::Failed {
                job,
                by: by(),
                reason,
            },
        }
    }

    /// The same event in a log that has so many placements before its own.
    pub(super) fn with_placement_moved(&self, by: u64) -> Record {
        let mut moved = *self;
        if self.kind == Kind::Started {
            moved.payload += by;
        }
        moved
    }

    /// What came first in the life of a job, for events of one instant.
    pub(super) fn rank(&self) -> Kind {
        self.kind
    }
}

/// A party in 18 bits: which kind, and its number.
fn pack(party: Party) -> u64 {
    match party {
        Party::Client => 0,
        Party::Broker(domain) => 1 << 16 | u64::from(domain.0),
        Party::Lrms(cluster) => 2 << 16 | u64::from(cluster.0),
    }
}

fn unpack(packed: u64) -> Party {
    let number = packed as u16;
    match packed >> 16 & 3 {
        0 => Party::Client,
        1 => Party::Broker(DomainId(number)),
        _ => Party::Lrms(ClusterId(number)),
    }
}

fn pack_two(first: Party, second: Party) -> u64 {
    pack(first) | pack(second) << 32
}

fn unpack_two(packed: u64) -> (Party, Party) {
    (unpack(packed & 0xffff_ffff), unpack(packed >> 32))
}
