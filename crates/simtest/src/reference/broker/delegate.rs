//! The reference of delegated matchmaking: requests are visits, like jobs, and everything
//! that is held is found by looking at all visits.

use super::{Decision, RefBroker, RefWay, Visit};
use gridrig_core::agent::{Asked, Deal};
use gridrig_core::broker::{Blocking, MatchmakingKind};
use gridrig_core::grid::BrokerSettings;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::JobSpec;
use gridrig_core::message::Target;
use gridrig_core::time::SimTime;
use std::cmp::Reverse;

impl Visit {
    /// The neighbour's request that it is.
    pub(super) fn asked_here(&self) -> Asked {
        Asked {
            job: self.spec.id,
            at: self.asked_at,
        }
    }

    /// Lends processors that are this broker's until some instant, or its own.
    pub(super) fn lend(
        &mut self,
        now: SimTime,
        settings: &BrokerSettings,
        (cluster, until): (ClusterId, Option<SimTime>),
    ) -> Deal {
        let own = settings.lease_timeout.map(|timeout| now + timeout);
        let until = [own, until].into_iter().flatten().min();
        self.lent_until = until;
        Deal::Delegate {
            asked: self.asked_here(),
            cluster,
            until,
        }
    }

    /// The request for it, at the neighbour that was asked last.
    pub(super) fn asked_there(&self) -> Asked {
        Asked {
            job: self.spec.id,
            at: self.asking_at,
        }
    }
}

impl RefBroker<'_> {
    /// A neighbour asks for the processors of a job.
    pub(in crate::reference) fn request(
        &mut self,
        now: SimTime,
        spec: &JobSpec,
        from: DomainId,
        way: RefWay,
    ) -> Vec<Decision> {
        let before = |visit: &&Visit| visit.spec.id == spec.id && visit.from == Some(from);
        let before = self.visits.iter().find(before).map(Visit::asked_here);
        let mut said = Vec::new();
        if let Some(given_up) = before.filter(|asked| asked.at < now) {
            said = self.told(now, from, Deal::Release(given_up));
        }
        let memory = self.settings.delegation_memory.as_nanos();
        self.seen
            .retain(|(at, _)| at.as_nanos() + memory > now.as_nanos());
        let known = self.seen.iter().any(|(_, job)| *job == spec.id);
        if !known {
            self.seen.push((now, spec.id));
        }
        let known = known && !self.flocks();
        let is_here = self.visits.iter().any(|visit| visit.spec.id == spec.id);
        self.arrive(spec, Some(from), way);
        let visit = self.visits.last().expect("it has just come");
        let able = self.targets().iter().any(|to| {
            let near = match to {
                Target::Cluster(_) => true,
                Target::Peer(peer) => !self.flocks() && self.is_near(self.domain, *peer),
            };
            near && self.could_ever_run(visit, *to)
        });
        if known || is_here || !able {
            self.visits.pop();
            let asked = Asked {
                job: spec.id,
                at: now,
            };
            said.push(Decision::Say(from, Deal::Reject(asked)));
        } else {
            self.visits.last_mut().expect("it has just come").asked_at = now;
        }
        said
    }

    /// The request for a job gets to the neighbour at this instant.
    pub(in crate::reference) fn asks_at(&mut self, job: JobId, at: SimTime) {
        let index = self.latest(job).expect("it is asked for");
        self.visits[index].asking_at = at;
    }

    /// A neighbour says something about processors.
    pub(in crate::reference) fn told(
        &mut self,
        now: SimTime,
        from: DomainId,
        deal: Deal,
    ) -> Vec<Decision> {
        let flocks = self.flocks();
        let asking = |visit: &Visit, asked| {
            visit.asked_there() == asked && visit.sent_to == Some(Target::Peer(from))
        };
        match deal {
            Deal::Room { processors, jobs } => self.asked_for(from, processors, jobs),
            Deal::Reject(asked) => {
                for visit in self.visits.iter_mut().filter(|visit| asking(visit, asked)) {
                    visit.sent_to = None;
                    self.flock.unserved.push(visit.spec.account);
                    visit.rejected_by.push(from);
                }
            }
            Deal::Delegate {
                asked,
                cluster,
                until,
            } => {
                let mut visits = self.visits.iter_mut();
                let Some(visit) = visits.find(|visit| asking(visit, asked)) else {
                    return vec![Decision::Say(from, Deal::Release(asked))];
                };
                visit.lease = Some((cluster, from, until));
                if flocks {
                    let decision = self.use_lease(now, asked.job);
                    return decision.into_iter().collect();
                }
                let Some(to) = visit.from else {
                    visit.served = true;
                    return Vec::new();
                };
                let on = visit.lend(now, &self.settings, (cluster, until));
                return vec![Decision::Say(to, on)];
            }
            Deal::Release(asked) => {
                let its = |visit: &Visit| visit.asked_here() == asked && visit.from == Some(from);
                let Some(index) = self.visits.iter().position(its) else {
                    return Vec::new();
                };
                self.let_go(now, asked.job);
                let visit = self.visits.remove(index);
                if let Some(Target::Peer(to)) = visit.sent_to {
                    return vec![Decision::Say(to, Deal::Release(visit.asked_there()))];
                }
            }
        }
        Vec::new()
    }

    /// A job has ended or was refused, or is to be removed: what was delegated or asked for
    /// is released.
    pub(in crate::reference) fn give_up(&mut self, now: SimTime, job: JobId) -> Option<Decision> {
        self.let_go(now, job);
        let index = self.visits.iter().position(|visit| visit.spec.id == job)?;
        let visit = &mut self.visits[index];
        visit.rejected_by.clear();
        visit.served = false;
        let mut asked = None;
        if let Some(Target::Peer(to)) = visit.sent_to {
            asked = Some(to);
            visit.sent_to = None;
        }
        let lender = visit.lease.take().map(|(_, lender, _)| lender);
        let release = Deal::Release(visit.asked_there());
        lender.or(asked).map(|to| Decision::Say(to, release))
    }

    /// Whether the job waits here for what a neighbour was asked for.
    pub fn is_asking(&self, job: JobId) -> bool {
        let asks =
            |visit: &Visit| visit.spec.id == job && matches!(visit.sent_to, Some(Target::Peer(_)));
        self.settings.matchmaking().is_lending() && self.visits.iter().any(asks)
    }

    /// Whether it flocks instead.
    fn flocks(&self) -> bool {
        self.settings.matchmaking() == MatchmakingKind::Flock
    }

    /// A delegation cycle.
    pub(in crate::reference) fn delegation_cycle(&mut self, now: SimTime) -> Vec<Decision> {
        self.at = Some(now);
        let mut decisions = Vec::new();
        let served = self.visits.iter().filter(|visit| visit.served);
        for job in served.map(|visit| visit.spec.id).collect::<Vec<_>>() {
            decisions.extend(self.use_lease(now, job));
        }
        let own = &self.grid.domains[self.domain.index()].clusters;
        let mut room: Vec<(ClusterId, i128)> = own.iter().map(|id| (*id, self.room(*id))).collect();
        let (mut wanted, processors) = self.load();
        let blocks = self.settings.blocking == Blocking::Head;
        let mut blocked = false;
        let waiting = self.visits.iter().filter(|visit| visit.sent_to.is_none());
        for job in waiting.map(|visit| visit.spec.id).collect::<Vec<_>>() {
            let index = self.latest(job).expect("it waits");
            let visit = &self.visits[index];
            let size = i128::from(visit.spec.processors());
            let able = |id: &ClusterId| {
                let to = Target::Cluster(*id);
                self.could_ever_run(visit, to) && !visit.refused_by.contains(&to)
            };
            let never = !self.could_run_here(index);
            let served = room.iter_mut().find(|(id, room)| able(id) && *room >= size);
            if let (Some((_, room)), false) = (served, blocked) {
                *room -= size;
                continue;
            }
            let (over, under) = self.settings.delegation_threshold.ratio();
            let above =
                processors <= 0 || wanted * i128::from(under) > processors * i128::from(over);
            if !never && !above {
                blocked |= blocks;
                continue;
            }
            match (self.neighbour(visit), visit.from) {
                (Some(to), _) => {
                    let way = visit.onward();
                    self.visits[index].sent_to = Some(Target::Peer(to));
                    decisions.push(Decision::Ask(job, to, way));
                }
                (None, Some(from)) => {
                    let asked = self.visits.remove(index).asked_here();
                    decisions.push(Decision::Say(from, Deal::Reject(asked)));
                }
                (None, None) => {
                    self.visits[index].rejected_by.clear();
                    blocked |= blocks && !never;
                    continue;
                }
            }
            wanted -= size;
        }
        decisions
    }

    /// Whether no job behind one that has no room is looked at: not where no own cluster
    /// could ever run it.
    pub(super) fn keeps_others_waiting(&self, index: usize) -> bool {
        let delegates = self.settings.matchmaking() == MatchmakingKind::Delegate;
        self.settings.blocking == Blocking::Head && (!delegates || self.could_run_here(index))
    }

    pub(super) fn could_run_here(&self, index: usize) -> bool {
        !self.able_views(&self.visits[index]).is_empty()
    }

    /// A job goes to the processors that were delegated for it, if it gets there before
    /// their time-out.
    fn use_lease(&mut self, now: SimTime, job: JobId) -> Option<Decision> {
        let index = self.latest(job)?;
        let visit = &mut self.visits[index];
        let (cluster, lender, until) = visit.lease?;
        visit.served = false;
        // The way to an LRMS of others takes what that to an own one does.
        let there = now + self.settings.lrms_latency;
        if until.is_some_and(|until| until <= there) {
            (visit.sent_to, visit.lease) = (None, None);
            let release = Decision::Say(lender, Deal::Release(visit.asked_there()));
            return Some(release);
        }
        visit.sent_to = Some(Target::Cluster(cluster));
        Some(Decision::Dispatch(job, cluster, until))
    }

    /// What has been delegated up to this instant is taken back: from whom, and what else
    /// is said for it.
    pub(in crate::reference) fn take_back(
        &mut self,
        now: SimTime,
    ) -> Option<(DomainId, Asked, Vec<Decision>)> {
        let is_due = |visit: &&Visit| visit.lent_until.is_some_and(|until| until <= now);
        let due = self.visits.iter().filter(is_due);
        let first = due.min_by_key(|visit| (visit.lent_until, visit.spec.id))?;
        let (to, asked) = (first.from?, first.asked_here());
        Some((to, asked, self.told(now, to, Deal::Release(asked))))
    }

    /// When something is next taken back.
    pub(in crate::reference) fn takes_back_at(&self) -> Option<SimTime> {
        let visits = self.visits.iter();
        visits.filter_map(|visit| visit.lent_until).min()
    }

    /// Processors that are wanted here, and those that are here: own ones that are not lent,
    /// and borrowed ones.
    fn load(&self) -> (i128, i128) {
        let processors = self.own_clusters().iter().map(|id| {
            let config = &self.grid.clusters[id.index()].config;
            i128::from(config.resources.processors())
        });
        let (mut wanted, mut there) = (0, processors.sum::<i128>());
        for visit in &self.visits {
            let size = i128::from(visit.spec.processors());
            let is_job = visit.from.is_none();
            let borrows = is_job && visit.lease.is_some();
            let lent = !is_job && matches!(visit.sent_to, Some(Target::Cluster(_)));
            let asked = matches!(visit.sent_to, Some(Target::Peer(_))) && !borrows;
            if borrows {
                there += size;
            }
            if lent {
                there -= size;
            }
            if !lent && !asked {
                wanted += size;
            }
        }
        (wanted, there)
    }

    /// Whom to ask: those below, then those beside, then the one above.
    fn neighbour(&self, visit: &Visit) -> Option<DomainId> {
        let own = &self.grid.domains[self.domain.index()].topology;
        let all = (0u16..).map(DomainId).zip(&self.grid.domains);
        let below = all.filter(|(_, other)| other.topology.parent == Some(self.domain));
        let below: Vec<DomainId> = below.map(|(id, _)| id).collect();
        let above = own.parent.into_iter().collect();
        for group in [below, own.siblings.clone(), above] {
            let peers = self.views.iter();
            let peers = peers.filter_map(|view| Some((view, view.target.peer()?)));
            let able = peers.filter(|(view, peer)| {
                group.contains(peer)
                    && visit.from != Some(*peer)
                    && visit.way.origin != *peer
                    && !visit.rejected_by.contains(peer)
                    && self.could_ever_run(visit, view.target)
            });
            let best = able.min_by_key(|(view, peer)| (Reverse(view.free(false)), *peer));
            if let Some((_, peer)) = best {
                return Some(peer);
            }
        }
        None
    }
}
