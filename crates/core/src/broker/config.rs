//! How a broker is set up.

use crate::ids::{ClusterId, DomainId};
use crate::message::Target;
use crate::policy::BrokerSettings;
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration};
use crate::timetable::Timetable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A peer that provides for this broker.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Whose broker.
    pub domain: DomainId,
    /// One-way latency of the link.
    pub latency: SimDuration,
    /// MiB of job data a second carries; `None`: data costs no time.
    pub bandwidth: Option<Decimal>,
    /// When it takes jobs of this broker; `None`: always.
    pub timetable: Option<Timetable>,
    /// Its own clusters.
    pub clusters: Vec<(ClusterId, Arc<Resources>)>,
    /// Clusters of others of which it tells.
    pub passed_on: Vec<(ClusterId, Arc<Resources>)>,
    /// `reach[n]`: every cluster that a job may get to from there with `n`
    /// further forwards.
    pub reach: Vec<Vec<Arc<Resources>>>,
}

impl PeerConfig {
    /// All clusters of which it tells, its own first.
    pub fn told_of(&self) -> Vec<(ClusterId, Arc<Resources>)> {
        [&self.clusters[..], &self.passed_on].concat()
    }
}

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

/// What a neighbour in the tree is to a domain, in the order in which it is asked for
/// processors: what can stay below does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// It is below.
    Child,
    /// It is beside.
    Sibling,
    /// It is above.
    Parent,
}

/// How a broker is set up. All of these can reverse a ranking of policies, so
/// all are reported.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// Whose broker this is.
    pub domain: DomainId,
    /// How it behaves.
    pub settings: BrokerSettings,
    /// The most jobs that may wait for a cycle; beyond, they are refused.
    pub queue_limit: Option<usize>,
    /// Own clusters in file order.
    pub clusters: Vec<(ClusterId, Arc<Resources>)>,
    /// The neighbours in the tree, which are among the peers.
    pub around: BTreeMap<DomainId, Relation>,
    /// The domain with the queue of all, if there is one.
    pub central: Option<DomainId>,
    /// Providing peers in link order.
    pub peers: Vec<PeerConfig>,
    /// Every broker it has a link with, in order of their domains.
    pub neighbours: Vec<Neighbour>,
    /// Of which clusters of others it tells its consumers.
    pub passes_on: BTreeMap<DomainId, Vec<ClusterId>>,
}

impl BrokerConfig {
    /// The broker at the other end of a link with this domain.
    pub fn neighbour(&self, domain: DomainId) -> Option<&Neighbour> {
        let by_domain = |known: &Neighbour| known.domain;
        let position = self.neighbours.binary_search_by_key(&domain, by_domain);
        position.ok().map(|position| &self.neighbours[position])
    }

    /// One-way latency to a place that messages are sent to.
    pub fn latency(&self, to: Target) -> SimDuration {
        match to {
            Target::Cluster(_) => self.settings.lrms_latency,
            Target::Peer(peer) => {
                let known = self.neighbour(peer);
                known.map_or(SimDuration::ZERO, |neighbour| neighbour.latency)
            }
        }
    }
}
