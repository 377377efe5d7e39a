//! Advance reservations without a job, as a cluster keeps them.

use crate::calendar::{Reservation, Shares};
use crate::ids::JobId;
use crate::placement::Share;
use crate::reservation::{AdvanceReservation, ReservationRefusal};
use crate::time::SimTime;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An advance reservation without a job, and the jobs that wait in it.
pub(super) struct Block {
    pub wanted: AdvanceReservation,
    pub confirmed: bool,
    /// What was reserved when it began.
    pub all: Option<Reservation>,
    pub waiting: Vec<JobId>,
}

/// All those of a cluster, by names and by the numbers that stand for them among jobs.
#[derive(Default)]
pub(super) struct Blocks {
    pub named: BTreeMap<Arc<str>, JobId>,
    pub by_id: BTreeMap<JobId, Block>,
    /// When those that have begun end.
    pub closes: BTreeSet<(SimTime, JobId)>,
    /// Jobs in them, and what those have of them that run.
    pub inside: BTreeMap<JobId, (JobId, Option<Shares>)>,
    /// Jobs that have waited in vain.
    pub turned_out: Vec<JobId>,
}

impl Blocks {
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// A number that no job has.
    pub fn next_id(&self) -> JobId {
        let least = self.by_id.first_key_value();
        JobId(least.map_or(u32::MAX, |(id, _)| id.0 - 1))
    }

    pub fn of(&self, name: &str, user: Option<&Arc<str>>) -> Result<JobId, ReservationRefusal> {
        let id = *self.named.get(name).ok_or(ReservationRefusal::NotHere)?;
        match self.by_id[&id].wanted.is_for(user) {
            true => Ok(id),
            false => Err(ReservationRefusal::NotYours),
        }
    }

    pub fn is_used(&self, id: JobId) -> bool {
        self.inside.values().any(|(block, _)| *block == id)
    }

    /// Whether a flexible one may begin.
    pub fn is_confirmed(&self, id: JobId) -> bool {
        self.by_id.get(&id).is_some_and(|block| block.confirmed)
    }
}

/// So many of these processors, the first ones.
pub(super) fn part(of: &Shares, processors: u32) -> Option<Shares> {
    let mut left = processors;
    let own = of.iter().map_while(|share| {
        let processors = share.processors.min(left);
        left -= processors;
        (processors > 0).then_some(Share {
            processors,
            ..*share
        })
    });
    let own: Shares = own.collect();
    (left == 0).then_some(own)
}

pub(super) fn take_out(all: &mut Shares, own: &Shares) {
    for (from, taken) in all.iter_mut().zip(own) {
        from.processors -= taken.processors;
    }
    all.retain(|share| share.processors > 0);
}

pub(super) fn merge(all: &mut Shares, own: Shares) {
    for share in own {
        let place = |it: &Share| (it.resource, it.node);
        match all.binary_search_by_key(&place(&share), place) {
            Ok(at) => all[at].processors += share.processors,
            Err(at) => all.insert(at, share),
        }
    }
}
