//! How an event is packed.

use gridrig_core::event::{Event, EventKind, Party, Value};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Reason;
use gridrig_core::placement::PlacementRun;
use gridrig_core::time::SimTime;

/// One event in 24 bytes: every field of it, whatever its kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) at: SimTime,
    /// From bit 0 the value in 48 bits, or where it is beside the records;
    /// then kind, reason, who `by` and `to` are, and whether it is beside.
    packed: u64,
    /// The job; one that no run has for a kind that is about none.
    pub(super) job: JobId,
    /// Numbers of domains or clusters.
    by: u16,
    to: u16,
}

const VALUE_BITS: u32 = 48;
const KIND: Field = Field { from: 48, bits: 6 };
const REASON: Field = Field { from: 54, bits: 5 };
const BY: Field = Field { from: 59, bits: 2 };
const TO: Field = Field { from: 61, bits: 2 };
const BESIDE: Field = Field { from: 63, bits: 1 };

const _: () = assert!(EventKind::ALL.len() <= 1 << KIND.bits);
const _: () = assert!(Reason::ALL.len() < 1 << REASON.bits);

/// Some bits of a record.
struct Field {
    from: u32,
    bits: u32,
}

impl Field {
    const fn put(&self, value: u64) -> u64 {
        value << self.from
    }

    const fn get(&self, packed: u64) -> u64 {
        packed >> self.from & ((1 << self.bits) - 1)
    }
}

/// What does not fit into records.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    /// Placements, one after the other.
    arena: Vec<PlacementRun>,
    /// Where the placement with that index ends; it begins where the one
    /// before it ends.
    ends: Vec<usize>,
    /// Values of more bits than a record has.
    values: Vec<i64>,
}

impl Beside {
    pub(super) fn with_capacity(placements: usize) -> Self {
        Beside {
            arena: Vec::with_capacity(placements),
            ends: Vec::with_capacity(placements),
            values: Vec::new(),
        }
    }

    #[inline]
    fn add_placement(&mut self, placement: &[PlacementRun]) -> u64 {
        let index = self.ends.len() as u64;
        self.arena.extend_from_slice(placement);
        self.ends.push(self.arena.len());
        index
    }

    #[cold]
    fn add_value(&mut self, value: i64) -> u64 {
        self.values.push(value);
        self.values.len() as u64 - 1
    }

    fn placement(&self, index: u64) -> &[PlacementRun] {
        let index = index as usize;
        let begin = match index {
            0 => 0,
            _ => self.ends[index - 1],
        };
        &self.arena[begin..self.ends[index]]
    }
}

impl Record {
    #[inline(always)]
    pub(super) fn new(at: SimTime, event: &Event<'_>, beside: &mut Beside) -> Record {
        let row = event.kind.row();
        let (mut value, mut is_beside) = (event.value, row.has_placement);
        if row.value == Value::Instant {
            // The distance is short where the instant is not.
            value = value.wrapping_sub(at.as_nanos().cast_signed());
        }
        if row.has_placement {
            value = beside.add_placement(event.placement).cast_signed();
        } else if value << (64 - VALUE_BITS) >> (64 - VALUE_BITS) != value {
            value = beside.add_value(value).cast_signed();
            is_beside = true;
        }
        let reason = event
            .reason
            .map_or(Reason::ALL.len() as u64, |it| it as u64);
        let (by_class, by) = pack(Some(event.by));
        let (to_class, to) = pack(event.to);
        let value = value.cast_unsigned() & ((1 << VALUE_BITS) - 1);
        Record {
            at,
            packed: value
                | KIND.put(event.kind as u64)
                | REASON.put(reason)
                | BY.put(by_class)
                | TO.put(to_class)
                | BESIDE.put(u64::from(is_beside)),
            job: event.job.unwrap_or(JobId(u32::MAX)),
            by,
            to,
        }
    }

    #[inline]
    pub(super) fn event<'a>(&self, beside: &'a Beside) -> Event<'a> {
        let kind = self.kind();
        let row = kind.row();
        let is_beside = BESIDE.get(self.packed) > 0;
        let index = self.packed & ((1 << VALUE_BITS) - 1);
        let (mut value, mut placement) = (0, &[][..]);
        if row.has_placement {
            placement = beside.placement(index);
        } else {
            value = match is_beside {
                true => beside.values[index as usize],
                false => (index << (64 - VALUE_BITS)).cast_signed() >> (64 - VALUE_BITS),
            };
        }
        if row.value == Value::Instant {
            value = value.wrapping_add(self.at.as_nanos().cast_signed());
        }
        let reason = REASON.get(self.packed) as usize;
        Event {
            kind,
            job: row.has_job.then_some(self.job),
            by: unpack(BY.get(self.packed), self.by).unwrap_or(Party::Client),
            to: unpack(TO.get(self.packed), self.to),
            reason: Reason::ALL.get(reason).copied(),
            value,
            placement,
        }
    }

    /// What came first in the life of a job, for events of one instant: the
    /// order of the kinds, but a forwarded job arrives after it was forwarded, and
    /// one that waits again may start before and after, and one whose parts are reserved is
    /// placed and dispatched at once.
    pub(super) fn rank(&self) -> (EventKind, bool) {
        let forwards = self.packed & ((1 << VALUE_BITS) - 1);
        match self.kind() {
            EventKind::BrokerArrival if forwards > 0 => (EventKind::Forwarded, true),
            EventKind::Requeued => (EventKind::Started, false),
            EventKind::ClaimRequested => (EventKind::Dispatched, false),
            EventKind::Dispatched => (EventKind::Dispatched, true),
            kind => (kind, false),
        }
    }

    fn kind(&self) -> EventKind {
        EventKind::ALL[KIND.get(self.packed) as usize]
    }
}

/// Who a party is in two bits, and its number. The bits are those of the enum,
/// so that nothing is to be done for them.
#[inline]
const fn pack(party: Option<Party>) -> (u64, u16) {
    match party {
        Some(Party::Client) => (0, 0),
        Some(Party::Broker(domain)) => (1, domain.0),
        Some(Party::Lrms(cluster)) => (2, cluster.0),
        None => (3, 0),
    }
}

#[inline]
fn unpack(class: u64, number: u16) -> Option<Party> {
    match class {
        0 => Some(Party::Client),
        1 => Some(Party::Broker(DomainId(number))),
        2 => Some(Party::Lrms(ClusterId(number))),
        _ => None,
    }
}
