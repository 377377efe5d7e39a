//! The reference of the ways to bring jobs and processors together.

use super::{RefBroker, RefView, Visit};
use gridrig_core::agent::Deal;
use gridrig_core::broker::{Commit, MatchmakingKind};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::message::Target;
use gridrig_core::time::SimDuration;

impl RefBroker<'_> {
    /// Time between cycles.
    pub fn interval(&self) -> SimDuration {
        let matched = match self.settings.matchmaking() {
            MatchmakingKind::Flock | MatchmakingKind::Delegate => true,
            MatchmakingKind::Independent => self.is_late(),
            _ => false,
        };
        match matched {
            true => self.settings.matchmaking_interval,
            false => self.settings.interval,
        }
    }

    fn is_central(&self) -> bool {
        self.grid.domains[self.domain.index()].topology.central
    }

    fn central(&self) -> Option<DomainId> {
        let mut all = (0u16..).map(DomainId).zip(&self.grid.domains);
        all.find(|(_, domain)| domain.topology.central)
            .map(|(id, _)| id)
    }

    /// Whether two domains are neighbours in the tree.
    pub(super) fn is_near(&self, one: DomainId, other: DomainId) -> bool {
        let of = |id: DomainId| &self.grid.domains[id.index()].topology;
        of(one).parent == Some(other)
            || of(other).parent == Some(one)
            || of(one).siblings.contains(&other)
    }

    /// Processors of an own cluster that nothing holds.
    pub(super) fn room(&self, cluster: ClusterId) -> i128 {
        let config = &self.grid.clusters[cluster.index()].config;
        let to = Some(Target::Cluster(cluster));
        let held = self.visits.iter().filter(|visit| visit.sent_to == to);
        let held = held.map(|visit| i128::from(visit.spec.processors()));
        i128::from(config.resources.processors()) - held.sum::<i128>()
    }

    /// Whether a candidate may have a job that it could run: now, later, or never.
    pub(super) fn may_have(&self, visit: &Visit, view: &RefView) -> Option<bool> {
        let wanted = i128::from(visit.spec.processors());
        let central = match self.settings.matchmaking() {
            // Those that keep a reservation route.
            MatchmakingKind::Route | MatchmakingKind::CoAllocate => return Some(true),
            MatchmakingKind::Independent => {
                return matches!(view.target, Target::Cluster(_)).then_some(true);
            }
            MatchmakingKind::Delegate => {
                return match view.target {
                    Target::Cluster(own) => Some(self.room(own) >= wanted),
                    Target::Peer(peer) => self.is_near(self.domain, peer).then_some(false),
                };
            }
            MatchmakingKind::Flock => {
                return match view.target {
                    Target::Cluster(own) => Some(self.room(own) >= wanted),
                    Target::Peer(pool) => {
                        let may = visit.from.is_none() && self.pool_could_run(visit, pool);
                        may.then_some(false)
                    }
                };
            }
            MatchmakingKind::Push | MatchmakingKind::Pull => self.central(),
        };
        if let (true, Target::Peer(peer)) = (self.is_central(), view.target)
            && !self.pool_could_run(visit, peer)
        {
            return None;
        }
        match (self.is_central(), self.settings.matchmaking(), view.target) {
            (true, MatchmakingKind::Push, _) => Some(view.free(true) >= wanted),
            (true, _, Target::Cluster(own)) => Some(self.room(own) >= wanted),
            (true, _, Target::Peer(peer)) => {
                let asked = self.asked.iter().find(|(who, _)| *who == peer);
                Some(asked.is_some_and(|(_, asked)| i128::from(*asked) >= wanted))
            }
            (false, _, Target::Cluster(_)) => visit.from.map(|_| true),
            (false, _, Target::Peer(peer)) => {
                (visit.from.is_none() && central == Some(peer)).then_some(true)
            }
        }
    }

    /// What to ask the central domain for at the end of a cycle's instant.
    pub(in crate::reference) fn pull(&mut self) -> Option<(DomainId, Deal)> {
        let own = &self.grid.domains[self.domain.index()];
        let pulls = self.settings.matchmaking() == MatchmakingKind::Pull;
        if !pulls || self.is_central() || own.clusters.is_empty() || !self.has_changed {
            return None;
        }
        self.has_changed = false;
        let central = self.central()?;
        let room = own.clusters.iter().map(|id| self.room(*id)).max()?;
        let asks = Deal::Room {
            processors: u32::try_from(room).unwrap_or(0),
            jobs: self.came,
        };
        let news = self.told != Some(asks);
        self.told = Some(asks);
        news.then_some((central, asks))
    }

    /// Somebody asks for jobs.
    pub(super) fn asked_for(&mut self, from: DomainId, processors: u32, jobs: u32) {
        if self.sent.iter().filter(|to| **to == from).count() as u32 <= jobs {
            self.asked.retain(|(who, _)| *who != from);
            self.asked.push((from, processors));
        }
    }

    /// A job that was sent to a peer is stopped before it has left.
    pub(in crate::reference) fn stopped(&mut self, to: DomainId, processors: u32) {
        if let Some(index) = self.sent.iter().position(|one| *one == to) {
            self.sent.swap_remove(index);
        }
        for (_, asked) in self.asked.iter_mut().filter(|(peer, _)| *peer == to) {
            *asked += processors;
        }
    }

    /// Whether jobs wait for room.
    pub(super) fn is_late(&self) -> bool {
        let looks = ["free-node", "utilization", "best-broker-rank"]
            .contains(&self.policy.as_str())
            || self.policy.starts_with("best-broker-rank-1");
        let by_room = [MatchmakingKind::Route, MatchmakingKind::Independent];
        let by_room = by_room.contains(&self.settings.matchmaking());
        looks && by_room && self.settings.commit == Commit::Late
    }
}
