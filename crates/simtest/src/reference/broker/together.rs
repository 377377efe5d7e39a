//! The reference of brokers that place the components of a job on several of their clusters,
//! which hold processors for them (docs/coallocation.md).

use super::{Decision, RefBroker, Visit};
use crate::reference::matching::Searching;
use gridrig_core::agent::{Asked, ClaimAnswer, ClaimShare, ClaimStep};
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Division, JobSpec, Reason};
use gridrig_core::message::Target;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use std::cmp::Reverse;

/// What a visit is to a broker that places jobs.
#[derive(Default)]
pub(super) struct Together {
    is_known: bool,
    pub(super) tries: u32,
    /// How often it was placed and did not begin, or lost what was reserved for it.
    pub(super) late: u32,
    /// When it was first searched for.
    pub(super) since: Option<SimTime>,
    /// Whether it waits until no earlier one is searched for.
    pub(super) is_behind: bool,
    pub(super) placed: Option<Placed>,
}

pub(super) struct Placed {
    pub asked: Asked,
    /// The largest first.
    pub parts: Vec<Part>,
    pub components: usize,
    pub answers: Vec<(ClusterId, ClaimAnswer)>,
    /// From when until when it runs, once that is known.
    pub run: Option<(SimTime, SimTime)>,
    /// The search for reservations, as long as it lasts.
    pub search: Option<Box<Searching>>,
}

/// What a cluster gets of a job, and how many processors that is.
pub(super) type Part = (ClusterId, ClaimShare, u32);

/// What a part reads that its cluster does not have, in MiB; if it is a piece of one, a share
/// by its processors, rounded up.
pub(super) fn lacks(job: &JobSpec, cluster: ClusterId, share: ClaimShare) -> u64 {
    let away = |clusters: &[ClusterId]| !clusters.contains(&cluster);
    let inputs = job.inputs.iter().filter(|input| away(&input.clusters));
    let mib = inputs.map(|input| match share {
        ClaimShare::Components(bits) => input.data_mib * (bits >> input.component & 1),
        ClaimShare::Processors(part) => {
            (input.data_mib * u64::from(part)).div_ceil(u64::from(job.processors()))
        }
    });
    mib.sum()
}

impl RefBroker<'_> {
    /// Whether a job has just come to a broker that tries it at once.
    pub(in crate::reference) fn has_news(&self) -> bool {
        let waits = |index: usize| self.visits[index].sent_to.is_none();
        let is_new = |index: usize| match &self.visits[index].together {
            it if it.is_behind => !self.is_one_searched_before(index),
            it => !it.is_known,
        };
        let mut indices = 0..self.visits.len();
        self.settings.matchmaking() == MatchmakingKind::CoAllocate
            && !self.keeps_one()
            && indices.any(|index| waits(index) && is_new(index))
    }

    /// A parameter of the policy as it is written.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let (_, value) = self.written.split_once(&format!("{name}="))?;
        value.split([',', ')']).next()
    }

    pub(super) fn count(&self, name: &str) -> u32 {
        let value = self.parameter(name).and_then(|value| value.parse().ok());
        value.unwrap_or(0)
    }

    /// What may be taken of each cluster, of what is believed to be idle or of all.
    pub(super) fn may_take(&self, of_all: bool) -> Vec<(ClusterId, i128)> {
        let quota = self.parameter("quota").and_then(Decimal::parse);
        let may = self.views.iter().filter_map(|view| {
            let Target::Cluster(cluster) = view.target else {
                return None;
            };
            let all = view.processors();
            let idle = if of_all { all } else { view.free(true) };
            let filled = quota.map_or(all, |it| i128::from(it.multiply(all as u64)));
            Some((cluster, idle.min(filled - (all - idle)).max(0)))
        });
        may.collect()
    }

    /// Which parts of the job go where, and of how many components it is then.
    fn place(&self, job: &JobSpec, may: &[(ClusterId, i128)]) -> Option<(Vec<Part>, usize)> {
        let all = job.components.iter().map(|it| (it.processors, it.cluster));
        let all: Vec<(u32, Option<ClusterId>)> = all.collect();
        let is_flexible = self.policy == "flexible-cluster-minimization"
            && all.iter().all(|(_, named)| named.is_none());
        let (mut parts, components) = match job.division.as_deref() {
            Some(Division::Splits(splits)) => splits.iter().find_map(|split| {
                let sizes: Vec<_> = split.iter().map(|size| (*size, None)).collect();
                let parts = self.one_by_one(job, (&sizes, true), may)?;
                Some((parts, sizes.len()))
            })?,
            _ if is_flexible => (self.divide(job, may)?, 1),
            _ => (self.one_by_one(job, (&all, false), may)?, all.len()),
        };
        parts.sort_by_key(|(.., processors)| Reverse(*processors));
        let components = components.max(parts.len());
        Some((parts, components))
    }

    /// Components that name their cluster, then the largest first. They may be pieces of one.
    fn one_by_one(
        &self,
        job: &JobSpec,
        (sizes, pieces): (&[(u32, Option<ClusterId>)], bool),
        may: &[(ClusterId, i128)],
    ) -> Option<Vec<Part>> {
        let (mut left, mut bits) = (may.to_vec(), vec![0_u64; may.len()]);
        let share = |bits: u64, size| ClaimShare::of_bits(if pieces { 0 } else { bits }, size);
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|at| (sizes[*at].1.is_none(), Reverse(sizes[*at].0)));
        for component in order {
            let (size, named) = sizes[component];
            let rank = |at: &usize| match self.policy.as_str() {
                "worst-fit" => (0, Reverse(left[*at].1)),
                "close-to-files" => {
                    let lacks = lacks(job, left[*at].0, share(1 << component, size));
                    (lacks, Reverse(left[*at].1))
                }
                // The order of clusters stays.
                _ => (0, Reverse(may[*at].1)),
            };
            let has_room = |at: &usize| {
                let (cluster, idle) = left[*at];
                idle >= i128::from(size) && named.is_none_or(|named| named == cluster)
            };
            let at = (0..may.len()).filter(has_room).min_by_key(rank)?;
            left[at].1 -= i128::from(size);
            bits[at] |= 1 << component;
        }
        let taken = |at: usize| (may[at].1 - left[at].1) as u32;
        let used = (0..may.len()).filter(|at| bits[*at] > 0);
        let parts = used.map(|at| (may[at].0, share(bits[at], taken(at)), taken(at)));
        Some(parts.collect())
    }

    /// Each cluster takes what it has, those with the most idle processors first, but leaves
    /// enough for a component where something is left.
    fn divide(&self, job: &JobSpec, may: &[(ClusterId, i128)]) -> Option<Vec<Part>> {
        let mut left = job.processors();
        let mut least = self.count("least_component");
        let mut most = vec![self.count("most_components")];
        if let Some(Division::Bounds {
            least_component,
            most_components,
        }) = job.division.as_deref()
        {
            least = least.max(*least_component);
            most.push(*most_components);
        }
        let least = least.clamp(1, left);
        let most = most.into_iter().filter(|bound| *bound > 0).min();
        let mut order = may.to_vec();
        order.sort_by_key(|(_, idle)| Reverse(*idle));
        let mut parts: Vec<Part> = Vec::new();
        for (cluster, idle) in order {
            let mut take = left.min(idle as u32);
            if take < left && left - take < least {
                take = left.saturating_sub(least);
            }
            let is_enough = most.is_some_and(|most| parts.len() >= most as usize);
            if take >= least && left > 0 && !is_enough {
                left -= take;
                parts.push((cluster, ClaimShare::Processors(take), take));
            }
        }
        (left == 0).then_some(parts)
    }

    /// Tries the jobs that have come, or all that wait.
    pub(in crate::reference) fn scan(&mut self, now: SimTime, all: bool) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let mut stay = Vec::new();
        for index in 0..self.visits.len() {
            let follows = !self.is_one_searched_before(index);
            let together = &mut self.visits[index].together;
            let was_behind = together.is_behind;
            together.is_behind &= !follows;
            let is_known = std::mem::replace(&mut together.is_known, true);
            if together.is_behind || is_known && !was_behind && !all {
                stay.push(self.visits[index].spec.id);
            }
        }
        for job in self.waiting() {
            let Some(index) = self.latest(job.id).filter(|_| !stay.contains(&job.id)) else {
                continue;
            };
            let together = &mut self.visits[index].together;
            together.tries += 1;
            if self.policy == "co-reservation" {
                decisions.extend(self.search_for(now, index));
                continue;
            }
            let reason = match self.place(&job, &self.may_take(false)) {
                Some(placed) => {
                    decisions.extend(self.ask_for(now, index, placed));
                    continue;
                }
                None if self.is_tried_enough(index) => Reason::TriesExhausted,
                None if self.place(&job, &self.may_take(true)).is_none() => Reason::NoCandidate,
                None => continue,
            };
            self.visits.remove(index);
            decisions.push(Decision::Reject(job.id, reason));
        }
        decisions
    }

    pub(super) fn is_tried_enough(&self, index: usize) -> bool {
        let most = self.count("tries");
        most > 0 && self.visits[index].together.tries >= most
    }

    /// The time from placement to start that is known beforehand, and how long the job runs at
    /// speed 1.0.
    fn costs(&self, now: SimTime, job: &JobSpec, placed: &Placed) -> (SimDuration, SimDuration) {
        let costs = &self.settings.co_allocation;
        let starting = |visit: &&Visit| {
            let run = visit.together.placed.as_ref().and_then(|it| it.run);
            visit.spec.id != job.id && run.is_some_and(|(start, _)| start > now)
        };
        let others = self.visits.iter().filter(starting).count() as u64;
        let startup = self.startup(placed.components);
        let more = costs.startup_contention.multiply(startup.as_nanos()) * others;
        let brought = self.brought(job, &placed.parts);
        let program = (job.executable, job.processors());
        let length = costs.length(program, job.run_time, placed.parts.len());
        (startup + SimDuration::from_nanos(more) + brought, length)
    }

    pub(super) fn startup(&self, components: usize) -> SimDuration {
        let times = &self.settings.co_allocation.startup;
        let own = times.get(components - 1).or(times.last());
        own.copied().unwrap_or_default()
    }

    /// How long it takes to bring there what is read.
    pub(super) fn brought(&self, job: &JobSpec, parts: &[Part]) -> SimDuration {
        let lacks = parts.iter().map(|it| lacks(job, it.0, it.1));
        self.bringing(lacks.max().unwrap_or(0))
    }

    pub(super) fn bringing(&self, mib: u64) -> SimDuration {
        let rate = self.settings.co_allocation.bandwidth;
        SimDuration::from_nanos(rate.map_or(0, |rate| rate.divide(mib * 1_000_000_000)))
    }

    /// How much earlier clusters are told after tries that came to nothing: 2 s, then 4 s, ...
    pub(super) fn ahead(&self, index: usize, most: u64) -> SimDuration {
        SimDuration::from_nanos(match self.visits[index].together.late {
            0 => 0,
            late => most.min((1 << late.min(16)) * 1_000_000_000),
        })
    }

    /// What a request is named that arrives then: no two of a broker have one name.
    pub(super) fn name(&mut self, arrives: SimTime) -> SimTime {
        self.last_name = arrives.max(self.last_name + SimDuration::from_nanos(1));
        self.last_name
    }

    /// All clusters are asked to hold their parts.
    fn ask_for(
        &mut self,
        now: SimTime,
        index: usize,
        (parts, components): (Vec<Part>, usize),
    ) -> Vec<Decision> {
        let arrives = now + self.settings.lrms_latency;
        let at = self.name(arrives);
        let job = self.visits[index].spec.clone();
        let placed = Placed {
            asked: Asked { job: job.id, at },
            parts,
            components,
            answers: Vec::new(),
            run: None,
            search: None,
        };
        let (before, length) = self.costs(now, &job, &placed);
        let mut decisions = Vec::new();
        for (cluster, share, processors) in &placed.parts {
            let to = Target::Cluster(*cluster);
            let sent = (arrives, JobSpec::rigid(job.id, *processors, length));
            let views = self.views.iter_mut().filter(|view| view.target == to);
            views.for_each(|view| view.sent.push(sent.clone()));
            let hold = ClaimStep::Hold {
                job: (),
                share: *share,
                estimate: before + length + SimDuration::from_secs(1),
                timeout: self.settings.co_allocation.claim_timeout,
            };
            decisions.push(Decision::Part(job.id, *cluster, share.bits()));
            decisions.push(Decision::Claim(placed.asked, *cluster, hold));
        }
        let visit = &mut self.visits[index];
        visit.sent_to = Some(Target::Cluster(placed.parts[0].0));
        visit.together.placed = Some(placed);
        decisions
    }

    /// A cluster answers.
    pub(in crate::reference) fn hear(
        &mut self,
        now: SimTime,
        from: ClusterId,
        (asked, answer): (Asked, ClaimAnswer),
    ) -> Vec<Decision> {
        let index = self.latest(asked.job);
        if let Some(index) = index.filter(|index| self.is_searching(*index)) {
            return self.hear_of_search(now, index, (asked, answer));
        }
        let placed = index.and_then(|index| self.visits[index].together.placed.as_mut());
        let Some((index, placed)) = index.zip(placed.filter(|it| it.asked == asked)) else {
            return match answer {
                ClaimAnswer::No => Vec::new(),
                _ => vec![Decision::Claim(asked, from, ClaimStep::Release)],
            };
        };
        placed.answers.retain(|(of, _)| *of != from);
        placed.answers.push((from, answer));
        let no = |(_, answer): &(ClusterId, ClaimAnswer)| *answer == ClaimAnswer::No;
        match placed.answers.len() == placed.parts.len() {
            true if placed.answers.iter().any(no) => self.put_back(index),
            true if placed.run.is_none() => self.begin(now, index, None),
            _ => Vec::new(),
        }
    }

    /// All hold theirs: the job begins everywhere at one instant, that of the last
    /// reservation where there are some.
    pub(super) fn begin(
        &mut self,
        now: SimTime,
        index: usize,
        reserved: Option<SimTime>,
    ) -> Vec<Decision> {
        let Some(mut placed) = self.visits[index].together.placed.take() else {
            return Vec::new();
        };
        let (before, length) = self.costs(now, &self.visits[index].spec, &placed);
        let most = self.settings.co_allocation.claim_timeout.as_nanos() / 2;
        let ahead = self.ahead(index, most);
        let soonest = now + self.settings.lrms_latency + before.max(ahead);
        let at = reserved.unwrap_or(soonest);
        let speeds = placed.answers.iter().filter_map(|it| it.1.held());
        let slowest = speeds.min().unwrap_or(Decimal::ONE);
        let length = SimDuration::from_nanos(slowest.divide(length.as_nanos()));
        placed.run = Some((at, at + length));
        let lead = placed.parts[0].0;
        let mut decisions = vec![Decision::Begun(placed.asked.job, lead)];
        for (cluster, ..) in &placed.parts {
            let leads = *cluster == lead;
            let begin = ClaimStep::Begin { at, length, leads };
            decisions.push(Decision::Claim(placed.asked, *cluster, begin));
        }
        let visit = &mut self.visits[index];
        visit.sent_at = now;
        (visit.together.tries, visit.together.placed) = (0, Some(placed));
        decisions
    }

    /// The job does not begin: all let go, and it waits again.
    pub(super) fn put_back(&mut self, index: usize) -> Vec<Decision> {
        let mut decisions = self.release_parts(index, 0);
        let visit = &mut self.visits[index];
        let (job, placed) = (visit.spec.id, visit.together.placed.take());
        visit.sent_to = None;
        let begun = placed.as_ref().is_some_and(|placed| placed.run.is_some());
        if begun || placed.is_some_and(|placed| placed.search.is_some()) {
            visit.together.late += 1;
        }
        if begun {
            decisions.push(Decision::Refuse(job, self.domain, Reason::ServiceLost));
        }
        if visit.unwanted {
            decisions.push(Decision::Drop(job));
        } else if self.is_tried_enough(index) {
            self.visits.remove(index);
            decisions.push(Decision::Reject(job, Reason::TriesExhausted));
        }
        decisions
    }

    fn release_parts(&self, index: usize, but: usize) -> Vec<Decision> {
        if let Some(searched) = self.searched(index) {
            return searched;
        }
        let placed = self.visits[index].together.placed.iter();
        let parts = placed.flat_map(|it| it.parts.iter().map(|part| (it.asked, part.0)));
        let told = |(asked, to)| Decision::Claim(asked, to, ClaimStep::Release);
        parts.skip(but).map(told).collect()
    }

    /// When the clusters of a job have been waited for long enough.
    fn gives_up(&self, visit: &Visit) -> Option<SimTime> {
        let placed = visit.together.placed.as_ref()?;
        let timeout = self.settings.co_allocation.claim_timeout;
        placed.run.is_none().then_some(placed.asked.at + timeout)
    }

    /// The same of all jobs.
    pub(in crate::reference) fn gives_up_at(&self) -> Option<SimTime> {
        let visits = self.visits.iter();
        visits.filter_map(|visit| self.gives_up(visit)).min()
    }

    /// The first who has waited for so long gives up.
    pub(in crate::reference) fn give_up_due(&mut self, now: SimTime) -> Vec<Decision> {
        let is_due = |visit: &Visit| self.gives_up(visit).is_some_and(|at| at <= now);
        let index = self.visits.iter().position(is_due);
        index.map_or_else(Vec::new, |index| self.put_back(index))
    }

    /// Whether clusters have been asked for parts of this job, which has not begun, where it
    /// is to be removed.
    pub(in crate::reference) fn waits_for_parts(&self, job: JobId, by: Option<DomainId>) -> bool {
        let meant = self
            .meant(job, by)
            .filter(|_| self.latest(job) == self.meant(job, by));
        meant.is_some_and(|index| self.gives_up(&self.visits[index]).is_some())
    }

    /// The job has ended, or goes: clusters let go that do not so by themselves.
    pub(in crate::reference) fn is_over(&self, now: SimTime, job: JobId) -> Vec<Decision> {
        let Some(index) = self.latest(job) else {
            return Vec::new();
        };
        let placed = self.visits[index].together.placed.as_ref();
        match placed.and_then(|placed| placed.run) {
            None => self.release_parts(index, 0),
            Some((_, until)) if now < until => self.release_parts(index, 1),
            Some(_) => Vec::new(),
        }
    }
}
