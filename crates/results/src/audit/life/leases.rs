//! Processors that are delegated for a job, from one broker to the next.

use super::{Auditor, Life, Place, Rule};
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::event::Party;
use gridrig_core::ids::{DomainId, JobId};

/// Who has delegated processors for a job to whom, and by which request.
pub(super) type Lease = (Party, Party, i64);

impl<'a> Auditor<'a> {
    /// A broker delegates what is its own, or what was delegated to it.
    pub(super) fn delegated(&mut self, life: &Life<'a>, lease: Lease) {
        let (by, to, _) = lease;
        let grid = &self.facts.grid;
        let lender = by.domain().and_then(|by| grid.domains.get(by.index()));
        let around = by.domain().zip(to.domain()).is_some_and(|(by, to)| {
            lender.is_some_and(|domain| match domain.broker.matchmaking() {
                MatchmakingKind::Flock => grid.latency(by, to).is_some(),
                _ => grid.relation(by, to).is_some(),
            })
        });
        let owns = lender.is_some_and(|domain| !domain.clusters.is_empty());
        let leases = self.leases.entry(life.job.spec.id).or_default();
        let holds = owns || leases.iter().any(|(_, holder, _)| *holder == by);
        leases.insert(lease);
        if !(around && holds) {
            let (by, to) = (self.names.party(by), self.names.party(to));
            let message = format!(
                "{by} delegates processors to {to}, expected its own or delegated ones, to a \
                 neighbour"
            );
            self.find_about(Rule::Leases, life, message);
        }
    }

    /// A broker releases what was delegated to it, or what it has asked for.
    pub(super) fn released(&mut self, life: &Life<'a>, lease: Lease) {
        let job = life.job.spec.id;
        if let Some(leases) = self.leases.get_mut(&job) {
            leases.remove(&lease);
            if leases.is_empty() {
                self.leases.remove(&job);
            }
        }
    }

    /// Whether processors of this domain are delegated to that broker for a job, by one
    /// broker after the other.
    pub(super) fn is_delegated(&self, job: JobId, lender: Option<DomainId>, to: Party) -> bool {
        let Some(leases) = self.leases.get(&job) else {
            return false;
        };
        let mut holders = vec![to];
        let mut index = 0;
        while let Some(holder) = holders.get(index).copied() {
            for (by, to, _) in leases {
                if *to == holder && !holders.contains(by) {
                    holders.push(*by);
                }
            }
            index += 1;
        }
        holders[1..].iter().any(|by| by.domain() == lender)
    }

    /// Looks at what a job has not released when the log is over. The next broker of the
    /// chain may hear of it too late to tell.
    pub(super) fn look_at_leases(&mut self, life: &Life<'a>) {
        let leases = self.leases.get(&life.job.spec.id);
        let home = Party::from(life.job.entry);
        let held = leases.is_some_and(|leases| leases.iter().any(|(_, to, _)| *to == home));
        if held && matches!(life.place, Place::Ended(_)) && life.seen {
            let message = "its processors are delegated to its domain after its end";
            self.find(Rule::Leases, life.job.spec.id, None, message);
        }
    }
}
