//! The tree of domains, and how jobs and processors are brought together in it.

use super::Context;
use crate::document::{Cluster, Document, Domain, Run};
use crate::faults::Faults;
use crate::interface::LinkProtocol;
use crate::value::{At, Written};
use crate::{ClockName, Measure, Result};
use gridrig_core::agent::Memory;
use gridrig_core::cluster::Overrun;
use gridrig_core::grid::Grid;
use gridrig_core::ids::DomainId;
use gridrig_core::policy::{MatchmakingKind, Placement, PolicySpec};
use std::collections::BTreeMap;
use std::ops::Range;

impl Context<'_> {
    /// Where each domain stands among the others, once all are there.
    pub(super) fn topology(&self, grid: &mut Grid, list: &[At<Domain>]) -> Result<()> {
        for (id, raw) in (0..).map(DomainId).zip(list) {
            let raw = raw.get();
            if let Some(parent) = &raw.parent {
                let found = self.domain(grid, parent)?;
                // The last link of a circle closes it.
                let mut above = Some(found);
                while let Some(next) = above.filter(|above| *above != id) {
                    above = grid.domains[next.index()].topology.parent;
                }
                let expected = "a domain that is neither this one nor below it";
                self.check(above.is_none(), &parent.span(), expected)?;
                grid.domains[id.index()].topology.parent = Some(found);
            }
            let has_clusters = !grid.domains[id.index()].clusters.is_empty();
            if let Some(administrative) = &raw.administrative {
                let expected = "false for a domain with clusters: an administrative one has neither \
                                clusters nor jobs";
                let is_so = administrative.value();
                self.check(!(is_so && has_clusters), &administrative.span(), expected)?;
                grid.domains[id.index()].topology.administrative = is_so;
            }
            if let Some(central) = &raw.central {
                let is_so = central.value();
                let expected = "one central domain at most";
                let alone = !is_so || grid.central().is_none();
                self.check(alone, &central.span(), expected)?;
                grid.domains[id.index()].topology.central = is_so;
            }
            self.lease_timeout(grid, id, raw)?;
            if let (Some(broker), false) = (&raw.broker, has_clusters) {
                let propagates = grid.domains[id.index()].broker.propagate_info;
                let at = self.tables.key(&broker.span(), "propagate_info");
                let expected = "false for a domain without clusters: information is passed on \
                                together with the load of its own clusters";
                self.check(!propagates, &at, expected)?;
            }
        }
        for (id, raw) in (0..).map(DomainId).zip(list) {
            for name in raw.get().siblings.iter().flat_map(At::get) {
                let sibling = self.domain(grid, name)?;
                let parent = |id: DomainId| grid.domains[id.index()].topology.parent;
                let alike = sibling != id && parent(sibling) == parent(id);
                let expected = "another domain with the same parent, or without one like this one";
                self.check(alike, &name.span(), expected)?;
                for (one, other) in [(id, sibling), (sibling, id)] {
                    let siblings = &mut grid.domains[one.index()].topology.siblings;
                    if !siblings.contains(&other) {
                        siblings.push(other);
                        siblings.sort_unstable();
                    }
                }
            }
        }
        Ok(())
    }

    /// Brokers can bring jobs and processors together in one way at a time, and in some
    /// ways only over links of one kind.
    pub(super) fn check_matchmaking(
        &self,
        raw: &Document,
        run: &Run,
        policies: &[Option<PolicySpec>],
        grid: &Grid,
        links: Links,
    ) -> Result<()> {
        let written = run.policies.iter().flat_map(At::get).map(At::span);
        let mut written = written.chain(std::iter::repeat(0..0));
        for policy in policies.iter().flatten() {
            let by_policy = written.next().unwrap_or_default();
            let (mut first, mut said) = (None, by_policy);
            for (written, domain) in raw.domains().zip(&grid.domains) {
                let kind = domain.broker.matchmaking_under(policy);
                let key = written.broker.as_ref();
                let key = key.map(|it| self.tables.key(&it.span(), "matchmaking"));
                // Where it is written, for this domain or for one before.
                let is_its = kind == domain.broker.matchmaking;
                let key = key.filter(|key| is_its && !key.is_empty());
                said = key.unwrap_or(said);
                let alike = *first.get_or_insert(kind) == kind;
                self.check(alike, &said, "the same matchmaking in every domain")?;
                self.check_one(kind, &said, grid, links)?;
                let places = policy.placement().is_some();
                if kind == MatchmakingKind::CoAllocate {
                    let expected = "a policy that places components, worst-fit, \
                                    close-to-files, cluster-minimization, \
                                    flexible-cluster-minimization or co-reservation, and \
                                    no other matchmaking = \"co-allocate\"";
                    self.check(places, &said, expected)?;
                    self.check_co_allocation((raw, grid), policy, &said, links)?;
                }
            }
        }
        Ok(())
    }

    /// Where dummy jobs keep the background load within a range: they are nobody's, and only a
    /// run in virtual time without faults knows the load at every instant.
    pub(super) fn check_background(
        &self,
        raw: &Document,
        grid: &Grid,
        (links, bounds): (Links, bool),
        measure: &Measure,
    ) -> Result<()> {
        let of_domains = raw.domains().flat_map(|domain| &domain.clusters).flatten();
        for (written, cluster) in raw.cluster.iter().chain(of_domains).zip(&grid.clusters) {
            let Some(background) = &cluster.config.background else {
                continue;
            };
            let at = self.tables.key(&written.span(), "background");
            let expected = "clock = \"virtual\" and no faults for a background load that is \
                            controlled";
            self.check(links == Links::Certain, &at, expected)?;
            let expected = "a least share that is below the most";
            self.check(background.least < background.most, &at, expected)?;
            let fits = background.processors.get() <= cluster.config.resources.processors();
            self.check(fits, &at, "dummy jobs no wider than the cluster")?;
            let expected = "run.bounds = false and measure.direct = false beside it: its dummy \
                            jobs are not those of a user";
            self.check(!bounds && !measure.direct, &at, expected)?;
        }
        Ok(())
    }

    /// Clusters run jobs together whose nodes do not fail, under brokers that do not forget
    /// what they hold.
    fn check_co_allocation(
        &self,
        (raw, grid): (&Document, &Grid),
        policy: &PolicySpec,
        at: &Range<usize>,
        links: Links,
    ) -> Result<()> {
        let name = policy.entry().name;
        let expected = format!(
            "brokers that are restarted with memory = \"journal\" or \"kept\" with {name}: the \
             journal knows what is held for parts of jobs"
        );
        self.check(links != Links::Forgotten, at, &expected)?;
        let real = raw.clusters().any(|it| it.is_real());
        let expected =
            format!("clusters without lrms = \"slurm\" for {name}: it holds no parts of jobs");
        self.check(!real, at, &expected)?;
        let fails = raw.clusters().any(Cluster::fails);
        let expected = format!("clusters whose nodes do not fail for {name}");
        self.check(!fails, at, &expected)?;
        self.check_reserving(grid, policy, at)?;
        for domain in &grid.domains {
            let own = domain.clusters.iter();
            let pass = own
                .map(|id| grid.clusters[id.index()].config.interval)
                .max();
            let latency = domain.broker.lrms_latency;
            // The last cluster has its pass, the broker hears of it, and all begin.
            let least = latency + latency + pass.unwrap_or_default();
            let expected = format!(
                "co_allocation.claim_timeout above {least} in domain {}, two lrms_latency and the \
                 longest interval of its clusters, for {name}",
                domain.name
            );
            let timeout = domain.broker.co_allocation.claim_timeout;
            self.check(timeout > least, at, &expected)?;
        }
        Ok(())
    }

    /// Jobs start when that is reserved.
    fn check_reserving(&self, grid: &Grid, policy: &PolicySpec, at: &Range<usize>) -> Result<()> {
        let placement = policy.placement();
        let keeps_one = placement == Some(Placement::KeptReservation);
        if !keeps_one && placement != Some(Placement::Reservations) {
            return Ok(());
        }
        let configs = || grid.clusters.iter().map(|cluster| &cluster.config);
        let overruns = || configs().map(|it| it.reserving.map(|it| it.overrun));
        let keeps = match keeps_one {
            true => overruns().all(|it| it != Some(Overrun::Delay)),
            false => overruns().all(|it| it == Some(Overrun::Kill)),
        };
        let expected = format!(
            "clusters with reservations = {{ overrun = \"kill\" }} for {policy}: jobs start at the \
             instant that is reserved"
        );
        self.check(keeps && overruns().any(|it| it.is_some()), at, &expected)?;
        let alike = !keeps_one || configs().all(|it| it.run_times.0.is_empty());
        let expected = format!("clusters without run_times for {policy}: the broker says how long");
        self.check(alike, at, &expected)
    }

    /// A borrower starts a job in the delegation cycle after it was served.
    fn lease_timeout(&self, grid: &Grid, id: DomainId, raw: &Domain) -> Result<()> {
        let timeout = grid.domains[id.index()].broker.lease_timeout;
        let (Some(timeout), Some(broker)) = (timeout, &raw.broker) else {
            return Ok(());
        };
        let all = grid.domains.iter();
        let longest = all.map(|domain| domain.broker.delegation_interval).max();
        let longest = longest.unwrap_or_default();
        let expected = format!(
            "more than the longest delegation_interval, {longest}: a job may wait that long for \
             its start on delegated processors"
        );
        let at = self.tables.key(&broker.span(), "lease_timeout");
        self.check(timeout > longest, &at, &expected)
    }

    fn check_one(
        &self,
        kind: MatchmakingKind,
        at: &Range<usize>,
        grid: &Grid,
        links: Links,
    ) -> Result<()> {
        let name = kind.name();
        let has_queue = !kind.is_central() || grid.central().is_some();
        let expected = format!("a domain with central = true, whose queue {name} needs");
        self.check(has_queue, at, expected)?;
        let mut hops = grid.domains.iter().map(|domain| domain.broker.max_hops);
        let first = hops.next();
        let alike = hops.all(|other| Some(other) == first);
        let expected = "the same max_hops in every domain with matchmaking delegate: with \
                        different ones a request that a neighbour may not pass on is repeated \
                        without end";
        self.check(alike || kind != MatchmakingKind::Delegate, at, expected)?;
        let expected = match links {
            Links::Certain | Links::Sound => return Ok(()),
            Links::Forgotten => format!(
                "brokers that are restarted with memory = \"journal\" or \"kept\" with \
                 matchmaking {name}, whose deals the journal knows"
            ),
            Links::Sessions => {
                format!("protocol = \"native\" on all links with matchmaking {name}")
            }
        };
        self.check(!kind.makes_deals(), at, &expected)
    }
}

/// What links are like between brokers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Everything arrives.
    Certain,
    /// Everything arrives, or is said again.
    Sound,
    /// They may fail, and a broker may forget what was said.
    Forgotten,
    /// Some are held in sessions, in which nothing is said of processors.
    Sessions,
}

impl Links {
    /// Those of a run.
    pub(super) fn of(
        faults: Option<&Faults>,
        clock: ClockName,
        protocols: &BTreeMap<(DomainId, DomainId), LinkProtocol>,
    ) -> Self {
        let in_sessions = protocols.values().any(|it| *it != LinkProtocol::Native);
        let mut restarts = faults.into_iter().flat_map(|faults| &faults.restarts);
        let forgets = restarts.any(|(one, _)| one.anew == Some(Memory::None));
        match (forgets, clock == ClockName::Real && in_sessions) {
            (true, _) => Links::Forgotten,
            (false, true) => Links::Sessions,
            (false, false) if faults.is_some() || clock == ClockName::Real => Links::Sound,
            (false, false) => Links::Certain,
        }
    }
}
