//! How a broker is set up.

use crate::broker::BrokerConfig;
use crate::grid::Grid;
use crate::ids::{ClusterId, DomainId};
use crate::inventory::Schema;
use crate::policy::InformationNeed;
use crate::session::Threshold;
use crate::time::{SimDuration, SimTime};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The names of a grid's domains and clusters, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridNames {
    domains: Arc<[String]>,
    clusters: Arc<[String]>,
}

impl GridNames {
    /// Those of this grid.
    pub fn of(grid: &Grid) -> Self {
        GridNames {
            domains: grid.domains.iter().map(|site| site.name.clone()).collect(),
            clusters: grid.clusters.iter().map(|one| one.name.clone()).collect(),
        }
    }

    /// How many domains there are.
    pub fn domains(&self) -> usize {
        self.domains.len()
    }

    /// A domain's name; its number if the grid has no such domain.
    pub fn domain(&self, id: DomainId) -> Cow<'_, str> {
        let known = self.domains.get(id.index());
        known.map_or_else(|| id.to_string().into(), |name| name.as_str().into())
    }

    /// The domain with this name.
    pub fn find_domain(&self, name: &str) -> Option<DomainId> {
        let index = self.domains.iter().position(|known| known == name)?;
        u16::try_from(index).ok().map(DomainId)
    }

    /// A cluster's name; its number if the grid has no such cluster.
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
    /// Name of the domain; its random stream is called after it.
    pub name: String,
    /// The names of all domains and clusters of the grid, for people.
    pub names: GridNames,
    /// By which rules the resources of the domain are aggregated for others.
    pub resource_schema: Schema,
    /// How long a cycle waits, past its nominal instant, for submissions that
    /// were meant to arrive by then.
    pub grace: SimDuration,
    /// Seed of the run.
    pub seed: u64,
    /// Distinguishes the lives of a service that is restarted.
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
}

/// Why a grid cannot run on received information and messages alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// A policy that has to know the truth everywhere at once.
    #[error(
        "domain {domain}: field policy = \"{policy}\": expected a policy that decides on received \
         information, since the truth about a grid at one instant exists on the virtual clock only"
    )]
    NeedsTruth {
        /// The domain's name.
        domain: String,
        /// The policy's name.
        policy: String,
    },
    /// A domain that the grid does not have.
    #[error("there is no domain {index}: the grid has {domains}")]
    NoSuchDomain {
        /// Its position.
        index: usize,
        /// How many there are.
        domains: usize,
    },
}

impl BrokerSetup {
    /// The set-up of a domain's broker.
    ///
    /// # Errors
    /// When its policy needs the truth, or the grid has no such domain.
    pub fn of(grid: &Grid, domain: DomainId, seed: u64) -> Result<Self, SetupError> {
        let (index, domains) = (domain.index(), grid.domains.len());
        let site = grid.domains.get(index);
        let site = site.ok_or(SetupError::NoSuchDomain { index, domains })?;
        let policy = &site.broker.policy;
        if policy.entry().need == InformationNeed::Truth {
            let (domain, policy) = (site.name.clone(), policy.to_string());
            return Err(SetupError::NeedsTruth { domain, policy });
        }
        Ok(BrokerSetup {
            config: grid.broker_config(domain),
            name: site.name.clone(),
            names: GridNames::of(grid),
            resource_schema: Schema::la_grid(),
            grace: SimDuration::ZERO,
            seed,
            incarnation: 0,
            keep_ended: KEEP_ENDED,
            sessions: BTreeMap::new(),
            born: SimTime::ZERO,
        })
    }
}

/// Ended jobs that a service still answers for, unless told otherwise, some 120 MB: its
/// memory is flat from there on.
pub const KEEP_ENDED: usize = 200_000;
