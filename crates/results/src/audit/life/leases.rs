//! Processors that are delegated for a job, from one broker to the next.

use super::{Auditor, Life, Place, Rule};
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::event::Party;
use gridrig_core::ids::{DomainId, JobId};

impl<'a> Auditor<'a> {
    /// A broker delegates what is its own, or what was delegated to it.
    pub(super) fn delegated(&mut self, life: &Life<'a>, by: Party, to: Party) {
        let around = by.domain().zip(to.domain()).is_some_and(|(by, to)| {
            let grid = &self.facts.grid;
            let known = grid.domains.get(by.index());
            known.is_some_and(|domain| match domain.broker.matchmaking() {
                MatchmakingKind::Flock => grid.latency(by, to).is_some(),
                _ => grid.relation(by, to).is_some(),
            })
        });
        let chain = self.chains.entry(life.job.spec.id).or_default();
        let follows = chain.last().is_none_or(|(_, last)| *last == by);
        chain.push((by, to));
        if !(around && follows) {
            let (by, to) = (self.names.party(by), self.names.party(to));
            let message = format!(
                "{by} delegates processors to {to}, expected its own or delegated ones, to a \
                 neighbour"
            );
            self.find_about(Rule::Leases, life, message);
        }
    }

    /// A broker releases what was delegated to it, or what it has asked for.
    pub(super) fn released(&mut self, life: &Life<'a>, by: Party, to: Party) {
        if let Some(chain) = self.chains.get_mut(&life.job.spec.id) {
            chain.retain(|link| *link != (to, by));
        }
    }

    /// Whether processors of this domain are delegated to that broker for a job.
    pub(super) fn is_delegated(&self, job: JobId, lender: Option<DomainId>, to: Party) -> bool {
        let chain = self.chains.get(&job);
        let ends = chain.and_then(|chain| chain.first().zip(chain.last()));
        ends.is_some_and(|((first, _), (_, last))| (first.domain(), *last) == (lender, to))
    }

    /// Looks at what a job has not released when the log is over. The next broker of the
    /// chain may hear of it too late to tell.
    pub(super) fn look_at_leases(&mut self, life: &Life<'a>) {
        let chain = self.chains.get(&life.job.spec.id);
        let last = chain.and_then(|chain| chain.last());
        let held = last.is_some_and(|(_, to)| *to == life.job.entry.into());
        if held && matches!(life.place, Place::Ended(_)) && life.seen {
            let message = "its processors are delegated to its domain after its end";
            self.find(Rule::Leases, life.job.spec.id, None, message);
        }
    }
}
