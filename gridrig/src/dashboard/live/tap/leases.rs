//! Processors that brokers have delegated to each other for jobs.

use gridrig_core::event::EventKind;
use gridrig_core::ids::{DomainId, JobId};
use std::collections::BTreeMap;

/// Who lends to whom.
#[derive(Default)]
pub struct Leases {
    /// Of the jobs for which processors were asked for.
    asked: BTreeMap<JobId, Asked>,
    /// By lender and borrower: leases now, and so far.
    pairs: BTreeMap<(DomainId, DomainId), [u64; 2]>,
}

/// A job for which processors were asked for.
struct Asked {
    /// Where it entered: nobody asks before that one.
    borrower: DomainId,
    /// Whose processors come, through whom they may.
    lender: Option<DomainId>,
    /// They have come.
    is_served: bool,
}

impl Leases {
    /// One broker has said something about the processors of a job to another.
    pub fn said(&mut self, kind: EventKind, job: JobId, by: DomainId, to: DomainId) {
        if kind == EventKind::LeaseRequested {
            self.asked.entry(job).or_insert(Asked {
                borrower: by,
                lender: None,
                is_served: false,
            });
        }
        let Some(asked) = self.asked.get_mut(&job) else {
            return;
        };
        match kind {
            EventKind::LeaseRejected if to == asked.borrower => asked.lender = None,
            EventKind::Delegated => {
                let lender = *asked.lender.get_or_insert(by);
                if to == asked.borrower && !asked.is_served {
                    asked.is_served = true;
                    let pair = self.pairs.entry((lender, to)).or_default();
                    *pair = pair.map(|count| count + 1);
                }
            }
            // What those between release follows from it.
            EventKind::Released | EventKind::LeaseExpired
                if [(EventKind::Released, by), (EventKind::LeaseExpired, to)]
                    .contains(&(kind, asked.borrower)) =>
            {
                let pair = asked.lender.filter(|_| asked.is_served);
                let pair = pair.and_then(|lender| self.pairs.get_mut(&(lender, asked.borrower)));
                if let Some([now, _]) = pair {
                    *now = now.saturating_sub(1);
                }
                self.asked.remove(&job);
            }
            _ => {}
        }
    }

    /// So many jobs of a finished run had processors of another domain.
    pub fn recall(&mut self, lender: DomainId, borrower: DomainId, jobs: u64) {
        self.pairs.insert((lender, borrower), [0, jobs]);
    }

    /// Lender, borrower, leases now and so far.
    pub fn pairs(&self) -> impl Iterator<Item = (u16, u16, u64, u64)> {
        let pairs = self.pairs.iter();
        pairs.map(|((lender, borrower), [now, all])| (lender.0, borrower.0, *now, *all))
    }
}
