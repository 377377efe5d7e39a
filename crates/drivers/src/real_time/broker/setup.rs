//! How a broker is set up for real time.

use crate::real_time::RealTimeError;
use crate::real_time::clock::RunClock;
use gridrig_core::broker::BrokerConfig;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::inventory::Schema;
use gridrig_core::policy::PolicyKind;
use gridrig_core::session::Threshold;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A broker at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Whose broker.
    pub domain: DomainId,
    /// One-way latency of the link.
    pub latency: SimDuration,
    /// MiB of job data a second carries; `None`: data costs no time.
    pub bandwidth: Option<Decimal>,
    /// Whether it forwards jobs here and is therefore told of the load here.
    pub consumer: bool,
}

/// The names of a grid's domains and clusters, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridNames {
    domains: Arc<[String]>,
    clusters: Arc<[String]>,
}

impl GridNames {
    /// Those of this grid.
    #[must_use]
    pub fn of(grid: &Grid) -> Self {
        GridNames {
            domains: grid.domains.iter().map(|site| site.name.clone()).collect(),
            clusters: grid.clusters.iter().map(|one| one.name.clone()).collect(),
        }
    }

    /// How many domains there are.
    #[must_use]
    pub fn domains(&self) -> usize {
        self.domains.len()
    }

    /// A domain's name; its number if the grid has no such domain.
    #[must_use]
    pub fn domain(&self, id: DomainId) -> Cow<'_, str> {
        let known = self.domains.get(id.index());
        known.map_or_else(|| id.to_string().into(), |name| name.as_str().into())
    }

    /// The domain with this name.
    #[must_use]
    pub fn find_domain(&self, name: &str) -> Option<DomainId> {
        let index = self.domains.iter().position(|known| known == name)?;
        u16::try_from(index).ok().map(DomainId)
    }

    /// A cluster's name; its number if the grid has no such cluster.
    #[must_use]
    pub fn cluster(&self, id: ClusterId) -> Cow<'_, str> {
        let known = self.clusters.get(id.index());
        known.map_or_else(|| id.to_string().into(), |name| name.as_str().into())
    }
}

/// How a broker is set up.
#[derive(Clone, Debug)]
pub struct BrokerSetup {
    /// The broker.
    pub config: BrokerConfig,
    /// Every broker it has a link with.
    pub neighbours: Vec<Neighbour>,
    /// Name of the domain; its random stream is called after it.
    pub name: String,
    /// The names of all domains and clusters of the grid, for people.
    pub names: GridNames,
    /// By which rules the resources of the domain are aggregated for others.
    pub resource_schema: Schema,
    /// How long a cycle waits, past its nominal instant, for submissions that
    /// were meant to arrive by then. See [`BrokerSetup::wait_on`].
    pub grace: SimDuration,
    /// Seed of the run.
    pub seed: u64,
    /// Distinguishes the lives of a service that is started anew.
    pub incarnation: u64,
    /// Ended jobs that are still known.
    pub keep_ended: usize,
    /// Peers with which it talks in sessions, and how far a load must move
    /// before they are told (`None`: they are told at each exchange). Nothing
    /// is sent to them before a session is open, and jobs that are with them
    /// when they are lost are sent once more when they are found again.
    pub sessions: BTreeMap<DomainId, Option<Threshold>>,
    /// When this life began: a job that was meant to arrive earlier may have
    /// been here in an earlier one, and is looked for before it is decided.
    pub born: SimTime,
    /// Time between questions to somebody who does not answer.
    pub ask_again: SimDuration,
}

impl BrokerSetup {
    /// The set-up of a domain's broker.
    ///
    /// # Errors
    /// When its policy needs the truth, or the grid has no such domain.
    pub fn of(grid: &Grid, domain: DomainId, seed: u64) -> Result<Self, RealTimeError> {
        let (index, domains) = (domain.index(), grid.domains.len());
        let site = grid
            .domains
            .get(index)
            .ok_or(RealTimeError::NoSuchDomain { index, domains })?;
        let policy = site.broker.policy;
        if policy == PolicyKind::FullInformation {
            let domain = site.name.clone();
            return Err(RealTimeError::NeedsTruth {
                domain,
                policy: policy.name(),
            });
        }
        let mut neighbours: BTreeMap<DomainId, Neighbour> = BTreeMap::new();
        for link in &grid.links {
            let (other, consumer) = match (link.consumer == domain, link.provider == domain) {
                (true, false) => (link.provider, false),
                (false, true) => (link.consumer, true),
                _ => continue,
            };
            let latency = grid.latency(domain, other).unwrap_or(link.latency);
            let fresh = Neighbour {
                domain: other,
                latency,
                bandwidth: link.bandwidth,
                consumer,
            };
            neighbours.entry(other).or_insert(fresh).consumer |= consumer;
        }
        Ok(BrokerSetup {
            config: grid.broker_config(domain),
            neighbours: neighbours.into_values().collect(),
            name: site.name.clone(),
            names: GridNames::of(grid),
            resource_schema: Schema::la_grid(),
            grace: SimDuration::ZERO,
            seed,
            incarnation: 0,
            keep_ended: DEFAULT_KEEP_ENDED,
            sessions: BTreeMap::new(),
            born: SimTime::ZERO,
            ask_again: SimDuration::from_millis(500),
        })
    }
}

impl BrokerSetup {
    /// The same for a life that begins now, with the grace that fits this
    /// clock.
    ///
    /// A submission is on the wire for a moment: a loopback hop takes half a
    /// millisecond, a timer is late by one, and a machine with other work adds
    /// some. Without grace, a job meant for just before a cycle would wait for
    /// the next one, which virtual time does not know.
    #[must_use]
    pub fn wait_on(mut self, clock: &RunClock) -> Self {
        let part = SimDuration::from_nanos(self.config.settings.interval.as_nanos() / GRACE_SHARE);
        self.grace = clock.run(GRACE).min(part);
        self.born = clock.now();
        self.ask_again = clock.run(ASK_AGAIN);
        self
    }
}

/// The grace of a cycle on the wall: about twice what a submission was seen to
/// take on loopback. Everything a cycle sends is late by it, so that more of it
/// would move starts away from where virtual time has them.
const GRACE: Duration = Duration::from_millis(4);
/// Time on the wall between questions to somebody who does not answer.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// However fast the clock, no cycle is late by more than this part of the
/// interval.
const GRACE_SHARE: u64 = 20;

/// Ended jobs that a service still answers for, unless told otherwise.
const DEFAULT_KEEP_ENDED: usize = 1_000_000;
