//! What clusters do with jobs, and with parts of jobs for which they hold processors
//! (docs/coallocation.md).

use super::{Kind, Simulation, What, after};
use crate::trail::{Share, Step};
use gridrig_core::agent::{Asked, ClaimAnswer, ClaimStep};
use gridrig_core::event::Party;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, JobSpec, Reason};
use gridrig_core::time::{Decimal, SimDuration, SimTime};

/// A part that waits for its pass, or for which processors are held.
#[derive(Clone, Copy)]
pub(super) struct Part {
    cluster: ClusterId,
    asked: Asked,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It waits for a pass; what is held then is given back after so long.
    Asked(SimDuration),
    Held,
    /// Its processors are reserved, and nobody has said yet that it begins.
    Reserved,
    /// It begins when it would be given back, runs for so long, and tells of it or not.
    Begins(SimDuration, bool),
    Runs(bool),
}

impl Simulation<'_> {
    pub(super) fn completions(&mut self, now: SimTime) {
        for index in 0..self.clusters.len() {
            let cluster = self.grid.clusters[index].config.id;
            self.turn_parts(now, cluster);
            self.clusters[index].end_unconfirmed(now);
            if self.tell_of_lost(now, cluster) {
                self.changed(now, index);
            }
            let ended = self.clusters[index].complete(now);
            if !ended.is_empty() {
                self.changed(now, index);
            }
            for (finish, job) in ended {
                self.trails.note(finish, job, Step::Finished(cluster));
                self.news_from_cluster(now, cluster, job);
            }
        }
    }

    /// Reservations begin; who is in the way is looked for where something is due.
    pub(super) fn reservations(&mut self, now: SimTime, due: &[bool]) {
        for index in (0..due.len()).filter(|index| due[*index]) {
            let cluster = self.grid.clusters[index].config.id;
            let (ended, begun) = self.clusters[index].begin_reserved(now);
            if begun {
                self.passes[index] = Some(now);
            }
            for job in ended {
                let step = Step::Failed(Party::Lrms(cluster), Reason::OverranReservation);
                self.trails.note(now, job, step);
                self.changed(now, index);
                self.news_from_cluster(now, cluster, job);
            }
        }
    }

    pub(super) fn pass(&mut self, now: SimTime, index: usize) {
        self.passes[index] = None;
        let cluster = self.grid.clusters[index].config.id;
        for start in self.clusters[index].pass(now) {
            let step = match self.part_of(cluster, start.job) {
                Some(_) => Step::Held(cluster, start.placement),
                None => Step::Started(cluster, start.placement),
            };
            self.trails.note(now, start.job, step);
        }
        self.passes[index] = self.clusters[index].wakeup();
        self.tell_of_lost(now, cluster);
        // What it has started is held, what it has not leaves.
        for index in (0..self.parts.len()).rev() {
            let part = self.parts[index];
            let Stage::Asked(timeout) = part.stage else {
                continue;
            };
            if part.cluster != cluster {
                continue;
            }
            let mut answer = ClaimAnswer::No;
            match self.clusters[cluster.index()].held(part.asked.job) {
                Some((finish, placement)) => {
                    *finish = now + timeout;
                    answer = ClaimAnswer::Held(self.slowest(cluster, &placement));
                    self.parts[index].stage = Stage::Held;
                }
                None => self.let_go(now, index),
            }
            self.answer(now, cluster, part.asked, answer);
        }
    }

    /// Whether parts have lost what was reserved for them here.
    fn tell_of_lost(&mut self, now: SimTime, cluster: ClusterId) -> bool {
        let lost = self.clusters[cluster.index()].take_lost();
        for job in &lost {
            if let Some(index) = self.part_of(cluster, *job) {
                let part = self.parts.remove(index);
                self.answer(now, cluster, part.asked, ClaimAnswer::No);
            }
        }
        !lost.is_empty()
    }

    fn slowest(&self, cluster: ClusterId, placement: &[Share]) -> Decimal {
        let resources = &self.grid.clusters[cluster.index()].config.resources;
        let speed = |share: &Share| resources.groups()[usize::from(share.resource)].speed;
        let speeds = placement.iter().map(speed);
        speeds.min().unwrap_or(Decimal::ONE)
    }

    pub(super) fn part_of(&self, cluster: ClusterId, job: JobId) -> Option<usize> {
        let is_it = |part: &Part| part.cluster == cluster && part.asked.job == job;
        self.parts.iter().position(is_it)
    }

    fn answer(&mut self, now: SimTime, cluster: ClusterId, asked: Asked, answer: ClaimAnswer) {
        let at = after(now, self.latency_from(cluster));
        let domain = self.grid.clusters[cluster.index()].domain;
        let domain = domain.unwrap_or(DomainId(0));
        let key = (domain.0, cluster.0 + 1, asked.job.0);
        let what = What::Answer(domain, cluster, (asked, answer));
        self.add(at, Kind::Lease, key, what);
    }

    /// A part leaves, and what is held for it is given back.
    pub(super) fn let_go(&mut self, now: SimTime, index: usize) {
        let Part { cluster, asked, .. } = self.parts.remove(index);
        if self.clusters[cluster.index()].held(asked.job).is_some() {
            self.trails.note(now, asked.job, Step::LetGo(cluster));
        }
        self.clusters[cluster.index()].cancel(now, asked.job);
        self.changed(now, cluster.index());
    }

    fn leads(&self, index: usize) -> bool {
        matches!(
            self.parts[index].stage,
            Stage::Begins(_, true) | Stage::Runs(true)
        )
    }

    /// A job is to be removed of which a part is here; where nothing is told of it the broker
    /// lets go.
    pub(super) fn cancel_part(&mut self, now: SimTime, index: usize) {
        let Part { cluster, asked, .. } = self.parts[index];
        if self.leads(index) {
            let step = Step::Cancelled(Party::Lrms(cluster));
            self.trails.note(now, asked.job, step);
            self.let_go(now, index);
            self.news_from_cluster(now, cluster, asked.job);
        }
    }

    /// A broker tells a cluster something about a part.
    pub(super) fn tell(
        &mut self,
        now: SimTime,
        (from, to): (DomainId, ClusterId),
        (asked, said): (Asked, ClaimStep<()>),
    ) {
        let at = after(now, self.lrms_latency(from));
        let (mut kind, mut key) = (Kind::Lease, (0, to.0 + 1, asked.job.0));
        if matches!(said, ClaimStep::Hold { .. } | ClaimStep::Reserve { .. }) {
            (kind, key) = (Kind::Arrival, self.key_of(Entry::Cluster(to), asked.job));
            self.handed_by[asked.job.index()] = Some(from);
        }
        self.add(at, kind, key, What::Claim(to, (asked, said)));
    }

    /// It is told.
    pub(super) fn told(
        &mut self,
        now: SimTime,
        cluster: ClusterId,
        (asked, said): (Asked, ClaimStep<()>),
    ) {
        let here = self.part_of(cluster, asked.job);
        // What is said of an earlier request than the last does not count.
        let meant = here.filter(|index| self.parts[*index].asked.at <= asked.at);
        let held = meant.filter(|index| self.parts[*index].stage == Stage::Held);
        match said {
            ClaimStep::Hold {
                share,
                estimate,
                timeout,
                ..
            } => {
                if let Some(index) = meant.filter(|index| !self.leads(*index)) {
                    self.let_go(now, index);
                }
                let is_here = self.part_of(cluster, asked.job).is_some();
                let spec = &self.submissions[asked.job.index()].spec;
                let mut own = share.of(spec, estimate).filter(|_| !is_here);
                own.iter_mut().for_each(|own| own.executable = None);
                let lrms = &mut self.clusters[cluster.index()];
                if own.is_none_or(|own| lrms.submit(now, &own).is_err()) {
                    return self.answer(now, cluster, asked, ClaimAnswer::No);
                }
                let stage = Stage::Asked(timeout);
                self.parts.push(Part {
                    cluster,
                    asked,
                    stage,
                });
                self.changed(now, cluster.index());
            }
            ClaimStep::Reserve {
                share,
                length,
                timeout,
                window,
                ..
            } => {
                let spec = &self.submissions[asked.job.index()].spec;
                let own = share.of(spec, length);
                self.reserve(now, (cluster, asked), own, (now + timeout, window));
            }
            ClaimStep::Begin { at, length, leads } => match (meant, held) {
                (Some(index), None) if self.parts[index].stage == Stage::Reserved => {
                    self.begin_reserved(now, index, asked, (at, length, leads));
                }
                (_, Some(index)) if at >= now => {
                    self.parts[index].stage = Stage::Begins(length, leads);
                    if let Some((finish, _)) = self.clusters[cluster.index()].held(asked.job) {
                        *finish = at;
                    }
                    if leads {
                        self.trails.note(now, asked.job, Step::Queued(cluster));
                    }
                }
                _ => {
                    held.into_iter().for_each(|index| self.let_go(now, index));
                    self.answer(now, cluster, asked, ClaimAnswer::No);
                }
            },
            ClaimStep::Release => meant.into_iter().for_each(|index| self.let_go(now, index)),
        }
    }

    /// Processors are to be reserved for a part, instead of those that are, if any.
    fn reserve(
        &mut self,
        now: SimTime,
        (cluster, asked): (ClusterId, Asked),
        own: Option<JobSpec>,
        (confirm_by, window): (SimTime, (SimTime, SimTime)),
    ) {
        let here = self.part_of(cluster, asked.job);
        if let Some(index) = here
            && self.parts[index].stage != Stage::Reserved
            && !self.leads(index)
        {
            self.let_go(now, index);
        }
        let here = self.part_of(cluster, asked.job);
        let may = here.is_none_or(|index| self.parts[index].stage == Stage::Reserved);
        let lrms = &mut self.clusters[cluster.index()];
        let answer = match own.filter(|_| may) {
            Some(own) => lrms.reserve_part(now, &own, confirm_by, window),
            None => ClaimAnswer::No,
        };
        if let ClaimAnswer::Reserved { .. } = answer {
            here.map(|index| self.parts.remove(index));
            self.parts.push(Part {
                cluster,
                asked,
                stage: Stage::Reserved,
            });
            self.changed(now, cluster.index());
        }
        self.answer(now, cluster, asked, answer);
    }

    /// What is reserved for a part is used from then on, or given back.
    fn begin_reserved(
        &mut self,
        now: SimTime,
        index: usize,
        asked: Asked,
        (at, length, leads): (SimTime, SimDuration, bool),
    ) {
        let cluster = self.parts[index].cluster;
        let lrms = &mut self.clusters[cluster.index()];
        if at < now || !lrms.confirm_part(asked.job, at, length) {
            self.let_go(now, index);
            return self.answer(now, cluster, asked, ClaimAnswer::No);
        }
        let part = &mut self.parts[index];
        (part.stage, part.asked) = (Stage::Begins(length, leads), asked);
        if leads {
            self.trails.note(now, asked.job, Step::Queued(cluster));
        }
        self.changed(now, cluster.index());
    }

    /// Parts begin, end, or have been held for too long.
    fn turn_parts(&mut self, now: SimTime, cluster: ClusterId) {
        for index in (0..self.parts.len()).rev() {
            let Part { asked, stage, .. } = self.parts[index];
            let held = self.clusters[cluster.index()].held(asked.job);
            let is_here = self.parts[index].cluster == cluster;
            let Some((finish, placement)) = held.filter(|it| is_here && *it.0 <= now) else {
                continue;
            };
            if let Stage::Begins(length, leads) = stage {
                *finish = now + length;
                self.parts[index].stage = Stage::Runs(leads);
                if leads {
                    let step = Step::Started(cluster, placement);
                    self.trails.note(now, asked.job, step);
                }
                if length > SimDuration::ZERO {
                    continue;
                }
            }
            let leads = self.leads(index);
            if leads {
                self.trails.note(now, asked.job, Step::Finished(cluster));
            }
            self.let_go(now, index);
            if leads {
                self.news_from_cluster(now, cluster, asked.job);
            } else if stage == Stage::Held {
                self.answer(now, cluster, asked, ClaimAnswer::No);
            }
        }
    }
}
