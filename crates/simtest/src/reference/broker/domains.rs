//! The reference of the policies that weigh domains (LA Grid 4.3.4).

use super::{RefBroker, RefView, Visit};
use gridrig_core::grid::BrokerSettings;
use gridrig_core::ids::DomainId;
use gridrig_core::job::{Preferences, Requirements};
use gridrig_core::message::Target;
use gridrig_core::policy::Tie;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{SimDuration, SimTime};

/// Where a job goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// To this candidate.
    View(usize),
    /// Back to where it entered.
    Back,
    /// Nowhere: it is too late for it.
    TooLate,
    /// Nobody takes it.
    Nobody,
    /// It waits for room.
    NoRoom,
}

/// How domains are ranked.
pub(super) struct Rank {
    aggregated: bool,
    /// alpha as a fraction.
    alpha: (u128, u128),
}

impl Rank {
    pub fn of(policy: &str, settings: &BrokerSettings) -> Option<Self> {
        let (over, under) = settings.origin_promotion.ratio();
        let own = (u128::from(over), u128::from(under));
        let (aggregated, alpha) = match policy {
            "best-broker-rank" => (false, own),
            "best-broker-rank-1.10" => (false, (110, 100)),
            "best-broker-rank-1.25" => (false, (125, 100)),
            "best-broker-rank-aggr" => (true, own),
            "best-broker-rank-aggr-1.10" => (true, (110, 100)),
            "best-broker-rank-aggr-1.25" => (true, (125, 100)),
            _ => return None,
        };
        Some(Rank { aggregated, alpha })
    }
}

/// A cluster with the load that is believed.
pub(super) struct Seen<'a> {
    resources: &'a Resources,
    memory_kib: Option<(u64, u64)>,
    processors: u128,
    busy: u128,
    pub queued: u128,
}

impl Seen<'_> {
    pub fn capacity(&self, visit: &Visit) -> u128 {
        u128::from(self.resources.capacity(&wanted(visit)))
    }

    /// The mean over those that both have.
    pub fn by_benchmarks(&self, said: &Preferences, estimate: u128) -> Option<u128> {
        let mut runs = Vec::new();
        for (name, own) in self.resources.benchmarks() {
            if let Some(measured) = said.benchmarks.get(name) {
                let (over, under) = measured.result.ratio();
                let (own_over, own_under) = own.ratio();
                let time = measured.time.map(|time| u128::from(time.as_nanos()));
                let over = time.unwrap_or(estimate) * u128::from(over) * u128::from(own_under);
                runs.push(over / (u128::from(under) * u128::from(own_over)));
            }
        }
        runs.iter().sum::<u128>().checked_div(runs.len() as u128)
    }

    pub fn can_run(&self, visit: &Visit) -> bool {
        self.capacity(visit) >= u128::from(visit.spec.processors())
    }

    pub fn free(&self, visit: &Visit) -> u128 {
        let free = self.processors.saturating_sub(self.busy);
        free.min(self.capacity(visit))
    }

    fn unclaimed(&self, visit: &Visit) -> u128 {
        self.free(visit).saturating_sub(self.queued)
    }

    /// Unclaimed processors whose memory is free too.
    fn startable(&self, visit: &Visit) -> u128 {
        let memory = wanted(visit).memory_kib;
        match self.memory_kib {
            Some((_, most)) if most < memory => 0,
            Some((all, _)) if memory > 0 => self.unclaimed(visit).min((all / memory).into()),
            _ => self.unclaimed(visit),
        }
    }

    /// Mean speed of the processors the job could have, in billionths.
    pub fn speed(&self, visit: &Visit) -> u128 {
        let wanted = &wanted(visit);
        let (mut processors, mut sum) = (0, 0);
        for group in self.resources.groups() {
            if group.meets(wanted) {
                let each = group.per_node(wanted);
                let own = u128::from(group.count) * u128::from(each);
                processors += own;
                sum += own * billionths(group);
            }
        }
        sum.checked_div(processors).unwrap_or(0)
    }

    fn share(&self, speed: u128) -> u128 {
        speed * self.processors * (1 << 32) / (self.processors + self.busy + self.queued).max(1)
    }

    fn spare(&self) -> i128 {
        self.processors.cast_signed() - self.busy.cast_signed() - self.queued.cast_signed()
    }
}

fn billionths(group: &Resource) -> u128 {
    u128::from(group.speed.multiply(1_000_000_000))
}

fn processors(group: &Resource) -> u128 {
    u128::from(group.count) * u128::from(group.cpu_count)
}

/// A name that is compared without regard to case.
fn folded(name: Option<&str>) -> Option<String> {
    name.map(str::to_ascii_lowercase)
}

impl RefBroker<'_> {
    /// The clusters of one candidate as they are believed to be.
    pub(super) fn seen(&self, view: &RefView) -> Vec<Seen<'_>> {
        let mut all = Vec::new();
        for (id, load) in &view.loads {
            let resources = &self.grid.clusters[id.index()].config.resources;
            all.push(Seen {
                resources,
                processors: u128::from(resources.processors()),
                busy: u128::from(load.busy)
                    + u128::from(u64::from(resources.processors()) - load.processors),
                queued: u128::from(load.queued_processors),
                memory_kib: load.memory_kib,
            });
        }
        if self.is_debited() && !all.is_empty() {
            for (_, job) in &view.sent {
                let mut most = 0;
                for (index, cluster) in all.iter().enumerate() {
                    if cluster.spare() > all[most].spare() {
                        most = index;
                    }
                }
                all[most].busy += u128::from(job.processors());
            }
        }
        all
    }

    fn own_views(&self) -> Vec<usize> {
        let own = |index: &usize| matches!(self.views[*index].target, Target::Cluster(_));
        (0..self.views.len()).filter(own).collect()
    }

    /// The own clusters that could ever run a job and have not refused it.
    pub(super) fn able_views(&self, visit: &Visit) -> Vec<usize> {
        let mut own = self.own_views();
        own.retain(|view| {
            let target = self.views[*view].target;
            self.could_ever_run(visit, target) && !visit.refused_by.contains(&target)
        });
        own
    }

    fn peer_views(&self) -> Vec<(usize, DomainId)> {
        let views = self.views.iter().enumerate();
        let peers = views.filter_map(|(index, view)| Some((index, view.target.peer()?)));
        peers.collect()
    }

    fn own_seen(&self, view: usize) -> Seen<'_> {
        let mut seen = self.seen(&self.views[view]);
        seen.remove(0)
    }

    /// The own clusters where the job could start now, with the processors for it.
    fn room_for(&self, visit: &Visit) -> Vec<(usize, u128)> {
        let mut room = Vec::new();
        for view in self.able_views(visit) {
            let startable = self.own_seen(view).startable(visit);
            if startable >= u128::from(visit.spec.processors()) {
                room.push((view, startable));
            }
        }
        let most = room.iter().map(|(_, startable)| *startable).max();
        room.retain(|(_, startable)| Some(*startable) == most);
        room
    }

    pub(super) fn choose_domain(&mut self, index: usize, rank: &Rank) -> Chosen {
        let visit = &self.visits[index];
        let room = self.room_for(visit);
        if self.written.contains("local_first=true") && !room.is_empty() {
            let tied = room.into_iter().map(|(view, _)| view).collect();
            return self.choose_among(index, self.settings.tie, tied);
        }
        let visit = &self.visits[index];
        let mut candidates: Vec<(usize, u128, u128)> = Vec::new();
        // The own domain stands for its best cluster.
        let mut best: Option<(usize, bool, u128)> = None;
        let mut own = Vec::new();
        let able = self.able_views(visit);
        for view in self.own_views() {
            let seen = self.own_seen(view);
            if able.contains(&view) {
                let speed = seen.speed(visit);
                let starts = seen.unclaimed(visit) >= u128::from(visit.spec.processors());
                let merit = match starts {
                    true => speed * seen.unclaimed(visit),
                    false => seen.share(speed),
                };
                if best.is_none_or(|(_, s, m)| (starts, merit) > (s, m)) {
                    best = Some((view, starts, merit));
                }
            }
            own.push(seen);
        }
        if let Some((view, ..)) = best {
            let (free, share) = self.rank(visit, rank, self.domain, &own);
            candidates.push((view, free, share));
        }
        for (view, peer) in self.peer_views() {
            let target = self.views[view].target;
            let refused = visit.refused_by.contains(&target) || self.is_closed(target);
            if refused || visit.way.settled || visit.way.hop >= self.hops() {
                continue;
            }
            let seen = self.seen(&self.views[view]);
            let left = self.hops() - visit.way.hop - 1;
            let suits = match rank.aggregated {
                false => self.could_ever_run(visit, target),
                true => {
                    let mut all = visit.spec.components.iter();
                    let within = || self.clusters_within(peer, left);
                    all.all(|one| !matching(&one.requirements, one.processors, &seen).is_empty())
                        || (left > 0 && self.could_hold(&visit.spec, &within()))
                }
            };
            if suits {
                let (free, share) = self.rank(visit, rank, peer, &seen);
                candidates.push((view, free, share));
            }
        }
        let nothing_free = candidates.iter().all(|(_, free, _)| *free == 0);
        let merit = |c: &(usize, u128, u128)| if nothing_free { c.2 } else { c.1 };
        let Some(most) = candidates.iter().map(merit).max() else {
            return Chosen::Nobody;
        };
        candidates.retain(|candidate| merit(candidate) == most);
        let tied = candidates.into_iter().map(|(view, ..)| view).collect();
        self.choose_among(index, self.settings.tie, tied)
    }

    /// The rank by free processors and the one by load.
    fn rank(
        &self,
        visit: &Visit,
        rank: &Rank,
        domain: DomainId,
        clusters: &[Seen<'_>],
    ) -> (u128, u128) {
        let (mut free, mut share) = (0, 0);
        if rank.aggregated {
            for all in matching(&wanted(visit), visit.spec.processors(), clusters) {
                let taken = all.busy + all.queued;
                free += all.speed * all.processors.saturating_sub(taken);
                share += all.count
                    * (all.speed * all.processors * (1 << 32) / (all.processors + taken).max(1));
            }
        } else {
            for cluster in clusters {
                if cluster.can_run(visit) {
                    let speed = cluster.speed(visit);
                    free += speed * cluster.unclaimed(visit);
                    share += cluster.share(speed);
                }
            }
        }
        let (own, other) = rank.alpha;
        let factor = if domain == visit.way.origin {
            own
        } else {
            other
        };
        (free * factor, share * factor)
    }

    /// Room here, or on to another broker, or back.
    pub(super) fn wander(&mut self, index: usize) -> Chosen {
        let visit = &self.visits[index];
        let room = self.room_for(visit);
        let waits = self.able_views(visit).into_iter();
        let mut waits: Vec<(usize, u128)> = waits
            .map(|view| (view, self.own_seen(view).queued))
            .collect();
        if !visit.way.settled && !room.is_empty() {
            return self.take(room, self.settings.tie);
        }
        let mut others = Vec::new();
        if !visit.way.settled {
            for (view, peer) in self.peer_views() {
                let target = self.views[view].target;
                let been = self.written.contains("revisit=false")
                    && (visit.from == Some(peer)
                        || (visit.from.is_some() && visit.way.origin == peer));
                if !been
                    && !self.is_closed(target)
                    && !visit.refused_by.contains(&target)
                    && self.could_ever_run(visit, target)
                {
                    others.push((view, 0));
                }
            }
        }
        if !others.is_empty() {
            if self.policy == "inter-random" {
                return self.take(others, Tie::Random);
            }
            let turn = self.forwards % others.len();
            self.forwards += 1;
            return Chosen::View(others[turn].0);
        }
        if visit.from.is_some() && !visit.way.settled {
            return Chosen::Back;
        }
        if waits.is_empty() && visit.way.settled && visit.from.is_none() && self.hops() > 0 {
            for (view, peer) in self.peer_views() {
                let seen = self.seen(&self.views[view]);
                let left = self.hops().saturating_sub(visit.way.hop + 1);
                let lost = !self.could_hold(&visit.spec, &self.clusters_within(peer, left));
                let able = seen.iter().filter(|cluster| cluster.can_run(visit));
                let shortest = able.map(|cluster| cluster.queued).min();
                let target = self.views[view].target;
                let refused = visit.refused_by.contains(&target);
                let closed = self.is_closed(target) || lost;
                if let (Some(queued), false) = (shortest, refused || closed) {
                    waits.push((view, queued));
                }
            }
        }
        let least = waits.iter().map(|(_, queued)| *queued).min();
        waits.retain(|(_, queued)| Some(*queued) == least);
        if waits.is_empty() {
            return Chosen::Nobody;
        }
        self.take(waits, self.settings.tie)
    }

    /// A job that has wandered enough is where it entered: it rests and is decided
    /// again, or it is to stay.
    pub(super) fn comes_to_rest(&mut self, now: SimTime, index: usize) {
        let could_run_here = self.could_run_here(index);
        let given = self.parameter("reschedule_interval");
        let given = given.and_then(|text| SimDuration::parse(text).ok());
        let rest = given.unwrap_or(self.settings.exchange);
        let visit = &mut self.visits[index];
        if could_run_here && !self.written.contains("ttl_end=settle") {
            visit.rests_until = Some(now + rest);
        } else {
            visit.way.settled = true;
        }
    }

    fn take(&mut self, from: Vec<(usize, u128)>, rule: Tie) -> Chosen {
        let tied = from.into_iter().map(|(view, _)| view).collect();
        Chosen::View(self.break_tie_by(rule, tied))
    }
}

/// All the computer systems of one architecture.
struct Together {
    count: u128,
    processors: u128,
    speed: u128,
    busy: u128,
    queued: u128,
}

/// What a job wants of all its nodes: nothing where it has several components.
fn wanted(visit: &Visit) -> Requirements {
    let only = visit.spec.components.only();
    only.map(|one| one.requirements.clone()).unwrap_or_default()
}

/// The architectures of a domain whose ranges so many processors lie in.
fn matching(wanted: &Requirements, size: u32, clusters: &[Seen<'_>]) -> Vec<Together> {
    let groups = || {
        let all = clusters
            .iter()
            .flat_map(|cluster| cluster.resources.groups());
        all.filter(|group| processors(group) > 0)
    };
    let os_wanted = folded(wanted.os.as_deref());
    let disk = groups().any(|g| g.disk_mib.is_none_or(|disk| disk >= wanted.disk_mib));
    let mut architectures: Vec<Option<String>> = Vec::new();
    for group in groups() {
        let name = folded(group.architecture.as_deref());
        if !architectures.contains(&name) {
            architectures.push(name);
        }
    }
    let asked = folded(wanted.architecture.as_deref());
    let mut found = Vec::new();
    for architecture in architectures {
        let of = |group: &&Resource| folded(group.architecture.as_deref()) == architecture;
        // Some operating system that it contains has the memory, on whatever.
        let system = groups().filter(of).any(|group| {
            let os = folded(group.os.as_deref());
            let right = os_wanted.is_none() || os == os_wanted;
            let same = groups().filter(|other| folded(other.os.as_deref()) == os);
            right && same.map(Resource::memory_kib).max() >= Some(wanted.memory_kib)
        });
        let share = |cluster: &Seen<'_>| -> u128 {
            let own = cluster.resources.groups().iter().filter(of);
            own.map(processors).sum()
        };
        // Without an architecture a job may have all of a mixed cluster.
        let widest = clusters.iter().map(|cluster| match asked {
            Some(_) => share(cluster),
            None => cluster.processors,
        });
        let widest = widest.max().unwrap_or(0);
        let right = asked.is_none() || asked == architecture;
        let fastest = groups().filter(of).map(billionths).max().unwrap_or(0);
        let fast = fastest >= u128::from(wanted.speed_millionths) * 1000;
        let most = |name: &str| groups().filter(of).map(|g| g.generic.count(name)).max();
        let mut generic = wanted.generic.iter();
        let has = generic.all(|(name, count)| most(name) >= Some(count));
        let wide = widest >= u128::from(size);
        if !(right && system && disk && fast && has && wide) {
            continue;
        }
        let all: u128 = clusters.iter().map(share).sum();
        let speeds = groups().filter(of).map(|g| processors(g) * billionths(g));
        let part = |of: fn(&Seen<'_>) -> u128| -> u128 {
            let parts = clusters.iter().map(|c| of(c) * share(c) / c.processors);
            parts.sum()
        };
        found.push(Together {
            count: clusters.iter().filter(|c| share(c) > 0).count() as u128,
            processors: all,
            speed: speeds.sum::<u128>() / all,
            busy: part(|c| c.busy),
            queued: part(|c| c.queued),
        });
    }
    found
}
