//! Seeded random plans of faults that happen while jobs are under way.

use crate::scenarios::{
    Scenario, co_allocating, matched, once_in, pick, propagating, with_drains, with_failures,
    with_long_failures, with_windows,
};
use crate::services;
use gridrig_core::agent::Memory;
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::event::Party;
use gridrig_core::faults::{Chance, FaultPlan, LinkFaults, Outage, Rates, Restart, Scope};
use gridrig_core::grid::Domain;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::Entry;
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;

/// The scenario of this seed for services, in some with nodes that fail and brokers
/// that are drained, under a matchmaking or pass information on, and a plan of several kinds of faults for it.
pub fn of_several_kinds(seed: u64) -> (Scenario, FaultPlan) {
    let mut rng = rng::stream(seed, "scenario.plan");
    let mut scenario = services::scenario(seed);
    if once_in(&mut rng, 3) {
        scenario = with_long_failures(with_failures(scenario));
    }
    if once_in(&mut rng, 3) {
        scenario = with_drains(scenario);
    }
    let mut kinds = rng::stream(seed, "scenario.plan.matchmaking");
    let kind = pick(&mut kinds, &MatchmakingKind::ALL);
    if kind != MatchmakingKind::Route && once_in(&mut kinds, 3) {
        scenario = matched(kind, scenario);
        for domain in &mut scenario.grid.domains {
            // Long enough for a job to get there, whatever is late on the way.
            let timeout = &mut domain.broker.lease_timeout;
            *timeout = timeout.map(|it| it + SimDuration::from_secs(20));
        }
    }
    if seed % 4 == 1 {
        scenario = propagating(scenario);
    }
    let routes = |domain: &Domain| domain.broker.matchmaking() == MatchmakingKind::Route;
    if seed % 8 == 2 && scenario.grid.domains.iter().all(routes) {
        scenario = with_windows(scenario);
    }
    if seed % 8 == 6 {
        scenario = co_allocating(scenario);
    }
    let speed = pick(&mut rng, &["1", "1", "2.5"]);
    let mut plan = FaultPlan {
        speed: Decimal::parse(speed).unwrap_or(Decimal::ONE),
        ..FaultPlan::default()
    };
    let mut draw = Draw {
        scenario: &scenario,
        rng,
        at_removals: true,
    };
    for _ in 0..draw.rng.random_range(2..=4) {
        draw.any(&mut plan);
    }
    let has_promised = |domain: &Domain| {
        let kind = domain.broker.matchmaking();
        kind.makes_deals() || kind == MatchmakingKind::CoAllocate
    };
    if scenario.grid.domains.iter().any(has_promised) {
        // What was delegated, or is held, is known by the journal only.
        for restart in &mut plan.restarts {
            restart.anew = restart.anew.map(|_| Memory::Journal);
        }
    }
    (scenario, plan)
}

/// Draws the faults of one scenario.
pub struct Draw<'a> {
    scenario: &'a Scenario,
    rng: ChaCha8Rng,
    /// Every third time begins soon after a request to remove a job.
    at_removals: bool,
}

impl<'a> Draw<'a> {
    /// For this scenario, by its seed.
    pub fn new(scenario: &'a Scenario) -> Self {
        Draw {
            scenario,
            rng: rng::stream(scenario.seed, "scenario.faults"),
            at_removals: false,
        }
    }

    /// Two brokers find no way to each other for a time.
    pub fn partition(&mut self, plan: &mut FaultPlan) {
        let (of, towards) = (self.broker(), self.broker());
        if of != towards {
            self.outage(plan, of.into(), Some(towards.into()), false);
        }
    }

    /// A broker answers nobody for a time.
    pub fn silence(&mut self, plan: &mut FaultPlan) {
        let of = self.broker().into();
        self.outage(plan, of, None, true);
    }

    /// Brokers are restarted and have forgotten everything, so many times in all.
    pub fn restarts(&mut self, plan: &mut FaultPlan, times: u32) {
        self.stops(plan, times, Some(Memory::None));
    }

    /// Brokers stop, so many times, and go on: restarted with this memory, or,
    /// without one, because they only stood still.
    pub fn stops(&mut self, plan: &mut FaultPlan, times: u32, anew: Option<Memory>) {
        for _ in 0..times {
            let (broker, (at, back)) = (self.broker(), self.span());
            plan.restarts.push(Restart {
                broker,
                at,
                back,
                anew,
            });
        }
    }

    /// Peers are asked to remove jobs, cannot say that they have, and forget it: up to
    /// so many times.
    pub fn forgotten_removals(&mut self, plan: &mut FaultPlan, times: usize) {
        let links = &self.scenario.grid.links;
        for removal in self.scenario.cancellations.iter().take(times) {
            if links.is_empty() {
                return;
            }
            let link = pick(&mut self.rng, links);
            let mut after = |most| {
                let wait = self.rng.random_range(0..=most);
                removal.at + SimDuration::from_millis(wait)
            };
            let (from, at) = (after(500), after(3_000));
            let back = at + SimDuration::from_millis(200);
            let ends = (link.provider.into(), Some(link.consumer.into()));
            add_outage(plan, ends, (from, back), false);
            plan.restarts.push(Restart {
                broker: link.provider,
                at,
                back,
                anew: Some(Memory::None),
            });
        }
    }

    /// Something of any kind.
    fn any(&mut self, plan: &mut FaultPlan) {
        let silent = once_in(&mut self.rng, 2);
        match self.rng.random_range(0..13) {
            0..=3 => self.links(plan),
            4 => {
                let of = self.broker().into();
                self.outage(plan, of, None, silent);
            }
            5 => {
                let of = self.lrms();
                self.outage(plan, of, None, silent);
            }
            6 => {
                let (of, towards) = self.way();
                self.outage(plan, of, Some(towards), silent);
            }
            7 => {
                let (of, _) = self.way();
                self.outage(plan, of, None, silent);
                plan.outages.last_mut().expect("one").information = true;
            }
            8 => self.stops(plan, 2, Some(Memory::Journal)),
            9 => self.stops(plan, 2, Some(Memory::None)),
            10 => self.stops(plan, 2, None),
            11 => self.relapse(plan),
            _ => self.relapse_of_lrms(plan),
        }
    }

    /// A broker is restarted, and soon cannot be reached or is gone again: while it
    /// looks for jobs, and jobs are looked for with it.
    fn relapse(&mut self, plan: &mut FaultPlan) {
        let rng = &mut self.rng;
        let memory = pick(rng, &[Memory::None, Memory::None, Memory::Journal]);
        let (silent, way) = (once_in(rng, 2), self.way());
        self.stops(plan, 1, Some(memory));
        let first = *plan.restarts.last().expect("one");
        let from = first.back + SimDuration::from_millis(self.rng.random_range(0..=2_000));
        let until = from + SimDuration::from_millis(self.rng.random_range(1..=20_000));
        if once_in(&mut self.rng, 3) {
            let memory = pick(&mut self.rng, &[None, Some(Memory::Journal)]);
            let (at, back) = (from, until);
            plan.restarts.push(Restart {
                at,
                back,
                anew: memory,
                ..first
            });
            return;
        }
        let itself = (first.broker.into(), None);
        let ends = pick(&mut self.rng, &[itself, (way.0, Some(way.1))]);
        add_outage(plan, ends, (from, until), silent);
    }

    /// An LRMS is slow, silent, there for a moment, and silent again: where jobs go
    /// straight to it, while one of them is submitted and is to be removed.
    fn relapse_of_lrms(&mut self, plan: &mut FaultPlan) {
        let (of, jobs) = (self.lrms(), &self.scenario.submissions);
        let home = of
            .cluster()
            .and_then(|cluster| self.scenario.grid.clusters[cluster.index()].domain);
        let towards = pick(&mut self.rng, &[None, home.map(Party::Broker)]);
        self.outage(plan, of, towards, true);
        let removals = self.scenario.cancellations.iter();
        let removals = removals.map(|one| (&jobs[one.job.index()], one.at));
        let removals = removals.filter(|(job, _)| matches!(job.entry, Entry::Cluster(_)));
        let removals: Vec<_> = removals.collect();
        let first = plan.outages.last_mut().expect("one");
        if !removals.is_empty() {
            let (job, removed) = pick(&mut self.rng, &removals);
            first.of = job.entry.into();
            first.towards = None;
            let before = self
                .rng
                .random_range(0..=job.at.as_nanos().min(500 * MILLI));
            first.from = SimTime::from_nanos(job.at.as_nanos() - before);
            first.until = removed + SimDuration::from_millis(self.rng.random_range(500..=5_000));
        }
        let (first, of) = (*first, first.of);
        let from = first.until + SimDuration::from_millis(self.rng.random_range(500..=2_000));
        let until = from + SimDuration::from_millis(self.rng.random_range(1..=20_000));
        plan.outages.push(Outage {
            from,
            until,
            ..first
        });
        let delay = SimDuration::from_millis(self.rng.random_range(0..=1_000));
        let slow = LinkFaults {
            on: Scope::Of(of, None),
            from: first.from,
            until,
            rates: Rates {
                delay,
                ..Rates::default()
            },
        };
        plan.links.insert(0, slow);
    }

    /// Something happens to messages, on all ways or some, for a time or always.
    fn links(&mut self, plan: &mut FaultPlan) {
        let rng = &mut self.rng;
        let mut chance = || pick(rng, &[0, 0, 2, 4, 10]);
        let (lost, repeated, overtaken) = (chance(), chance(), chance());
        let mut millis = || SimDuration::from_millis(pick(rng, &[0, 0, 20, 300, 2_000]));
        let rates = Rates {
            delay: millis(),
            jitter: millis(),
            lost: Chance::once_in(lost),
            repeated: Chance::once_in(repeated),
            overtaken: Chance::once_in(overtaken),
        };
        let (one, other) = self.way();
        let scopes = [
            Scope::All,
            Scope::All,
            Scope::Brokers,
            Scope::Domain,
            Scope::Of(one, None),
            Scope::Of(one, Some(other)),
        ];
        let on = pick(&mut self.rng, &scopes);
        let (from, until) = match once_in(&mut self.rng, 2) {
            true => self.span(),
            false => (SimTime::ZERO, SimTime::MAX),
        };
        plan.links.push(LinkFaults {
            on,
            from,
            until,
            rates,
        });
    }

    /// Two that talk to each other: brokers, a broker and an LRMS of its own, or the
    /// client and a service.
    fn way(&mut self) -> (Party, Party) {
        let grid = &self.scenario.grid;
        match self.rng.random_range(0..4) {
            0 => {
                let jobs = &self.scenario.submissions;
                let entry: Entry = jobs[self.rng.random_range(0..jobs.len())].entry;
                (entry.into(), Party::Client)
            }
            1 => {
                let lrms = self.lrms();
                let cluster = lrms.cluster().unwrap_or(ClusterId(0));
                let home = grid.clusters[cluster.index()].domain;
                (lrms, home.map_or(Party::Client, Party::Broker))
            }
            _ if grid.links.is_empty() => (self.broker().into(), Party::Client),
            _ => {
                let link = &grid.links[self.rng.random_range(0..grid.links.len())];
                (link.consumer.into(), link.provider.into())
            }
        }
    }

    fn lrms(&mut self) -> Party {
        let clusters = self.scenario.grid.clusters.len();
        ClusterId(self.rng.random_range(0..clusters) as u16).into()
    }

    fn outage(&mut self, plan: &mut FaultPlan, of: Party, towards: Option<Party>, silent: bool) {
        add_outage(plan, (of, towards), self.span(), silent);
    }

    fn broker(&mut self) -> DomainId {
        DomainId(self.rng.random_range(0..self.scenario.grid.domains.len()) as u16)
    }

    /// A time of up to a minute that begins not later than half a minute after
    /// the last submission: there is work then.
    fn span(&mut self) -> (SimTime, SimTime) {
        let last = self.scenario.submissions.last().map(|one| one.at);
        let last = last.unwrap_or(SimTime::ZERO).as_nanos() / MILLI + 30_000;
        let mut from = SimTime::from_nanos(self.rng.random_range(0..=last) * MILLI);
        let removals = &self.scenario.cancellations;
        if self.at_removals && !removals.is_empty() && once_in(&mut self.rng, 3) {
            from = pick(&mut self.rng, removals).at;
            from += SimDuration::from_millis(self.rng.random_range(0..=1_500));
        }
        let length = SimDuration::from_millis(self.rng.random_range(1..=60_000));
        (from, from + length)
    }
}

fn add_outage(
    plan: &mut FaultPlan,
    (of, towards): (Party, Option<Party>),
    (from, until): (SimTime, SimTime),
    silent: bool,
) {
    plan.outages.push(Outage {
        of,
        towards,
        from,
        until,
        silent,
        information: false,
    });
}

const MILLI: u64 = 1_000_000;
