//! The whole grid as both drivers and all services are told of it: domains
//! with their brokers and clusters, and the links between them.

use crate::broker::{BrokerConfig, Neighbour, PeerConfig, Relation};
use crate::cluster::ClusterConfig;
use crate::ids::{ClusterId, DomainId};
use crate::policy::MatchmakingKind;
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration, SimTime};
use crate::timetable::Timetable;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::policy::BrokerSettings;

/// Domains, clusters and links. Positions are ids.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Domains in file order; empty in a run without brokers.
    pub domains: Vec<Domain>,
    /// All clusters, those of one domain next to each other.
    pub clusters: Vec<GridCluster>,
    /// Who may forward to whom, in link order.
    pub links: Vec<Link>,
    /// When providers take jobs over those links that are not always open.
    pub hours: Vec<LinkHours>,
}

/// When a provider takes the jobs of a consumer. What is under way to it when
/// it closes is still taken, and it goes on telling of its resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkHours {
    /// Who forwards.
    pub consumer: DomainId,
    /// Who takes jobs.
    pub provider: DomainId,
    /// When.
    pub timetable: Timetable,
}

/// One administrative site: a broker plus its clusters.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// How its broker behaves.
    pub broker: BrokerSettings,
    /// Its clusters in file order.
    pub clusters: Vec<ClusterId>,
    /// Where it stands among the others.
    pub topology: Topology,
}

/// Where a domain stands among the others: in a tree, or in one of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The domain above it.
    pub parent: Option<DomainId>,
    /// Domains of the same level with the same parent that it is linked with; each
    /// names the other.
    pub siblings: Vec<DomainId>,
    /// The site that it is part of, by which what is delegated is told apart.
    pub site: Option<Arc<str>>,
    /// The grid that it is part of, likewise.
    pub grid: Option<Arc<str>>,
    /// Nothing runs there and no jobs enter there.
    pub administrative: bool,
    /// It has the queue of all domains, where matchmaking has one.
    pub central: bool,
}

/// A cluster and where it belongs.
#[derive(Clone, Debug)]
pub struct GridCluster {
    /// Its name.
    pub name: String,
    /// Its domain; `None` in a run without brokers.
    pub domain: Option<DomainId>,
    /// How it is set up.
    pub config: ClusterConfig,
}

/// One direction of a link: `consumer` may forward jobs to `provider`, which
/// sends its resource information back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Who forwards.
    pub consumer: DomainId,
    /// Who takes jobs.
    pub provider: DomainId,
    /// One-way latency, above 0.
    pub latency: SimDuration,
    /// MiB of job data a second carries, above 0; `None`: data costs no time.
    pub bandwidth: Option<Decimal>,
}

impl Grid {
    /// A single cluster without any broker.
    pub fn single_cluster(name: &str, config: ClusterConfig) -> Self {
        let cluster = GridCluster {
            name: name.to_owned(),
            domain: None,
            config,
        };
        Grid {
            domains: Vec::new(),
            clusters: vec![cluster],
            links: Vec::new(),
            hours: Vec::new(),
        }
    }

    /// When this provider takes jobs of this consumer; `None`: always.
    pub fn timetable(&self, consumer: DomainId, provider: DomainId) -> Option<&Timetable> {
        let mut hours = self.hours.iter();
        hours
            .find(|one| (one.consumer, one.provider) == (consumer, provider))
            .map(|one| &one.timetable)
    }

    /// The links over which this domain forwards, in link order.
    pub fn providers_of(&self, consumer: DomainId) -> impl Iterator<Item = &Link> {
        self.links
            .iter()
            .filter(move |link| link.consumer == consumer)
    }

    /// The links over which this domain is told of jobs, in link order.
    pub fn consumers_of(&self, provider: DomainId) -> impl Iterator<Item = &Link> {
        self.links
            .iter()
            .filter(move |link| link.provider == provider)
    }

    /// The latency of the link between two domains. A link has one latency,
    /// whichever way a message travels on it.
    pub fn latency(&self, a: DomainId, b: DomainId) -> Option<SimDuration> {
        let joins = |link: &&Link| {
            (link.consumer, link.provider) == (a, b) || (link.consumer, link.provider) == (b, a)
        };
        self.links.iter().find(joins).map(|link| link.latency)
    }

    /// Every cluster that a job at this domain's broker can get to with so
    /// many forwards, in cluster order.
    pub fn reachable(&self, from: DomainId, hops: u32) -> Vec<ClusterId> {
        self.reach(from, hops, |_| true)
    }

    /// The same over providers that take jobs at this instant.
    pub fn reachable_at(&self, from: DomainId, hops: u32, at: SimTime) -> Vec<ClusterId> {
        self.reach(from, hops, |link| {
            self.is_open(link.consumer, link.provider, at)
        })
    }

    /// Whether this provider takes jobs of this consumer at this instant.
    pub fn is_open(&self, consumer: DomainId, provider: DomainId, at: SimTime) -> bool {
        let hours = self.timetable(consumer, provider);
        hours.is_none_or(|timetable| timetable.is_open(at))
    }

    fn reach(&self, from: DomainId, hops: u32, takes: impl Fn(&Link) -> bool) -> Vec<ClusterId> {
        let mut domains = vec![from];
        let mut hop_before = 0;
        for _ in 0..hops {
            let frontier = hop_before..domains.len();
            if frontier.is_empty() {
                break;
            }
            hop_before = domains.len();
            for index in frontier {
                for link in self.providers_of(domains[index]).filter(|link| takes(link)) {
                    if !domains.contains(&link.provider) {
                        domains.push(link.provider);
                    }
                }
            }
        }
        let mut clusters: Vec<ClusterId> = domains
            .iter()
            .flat_map(|domain| self.domains[domain.index()].clusters.iter().copied())
            .collect();
        clusters.sort_unstable();
        clusters
    }

    /// The complete set-up of a domain's broker.
    pub fn broker_config(&self, domain: DomainId) -> BrokerConfig {
        let resources: Vec<Arc<Resources>> = self
            .clusters
            .iter()
            .map(|cluster| Arc::new(cluster.config.resources.clone()))
            .collect();
        let own = |domain: DomainId| -> Vec<(ClusterId, Arc<Resources>)> {
            let clusters = self.domains[domain.index()].clusters.iter();
            clusters
                .map(|id| (*id, Arc::clone(&resources[id.index()])))
                .collect()
        };
        let settings = self.domains[domain.index()].broker.clone();
        let asks = settings.matchmaking() == MatchmakingKind::Delegate;
        let peers = self.providers_of(domain).map(|link| PeerConfig {
            domain: link.provider,
            latency: link.latency,
            clusters: own(link.provider),
            bandwidth: link.bandwidth,
            timetable: self.timetable(domain, link.provider).cloned(),
            reach: (0..settings.hops().min(self.domains.len() as u32))
                .map(|hops| {
                    // Requests for processors go along the tree only.
                    let reachable = self.reach(link.provider, hops, |link| {
                        !asks || self.around(link.consumer).contains_key(&link.provider)
                    });
                    reachable
                        .iter()
                        .map(|id| Arc::clone(&resources[id.index()]))
                        .collect()
                })
                .collect(),
        });
        let peers = peers.collect();
        BrokerConfig {
            domain,
            settings,
            queue_limit: None,
            clusters: own(domain),
            around: self.around(domain),
            central: self.central(),
            peers,
            neighbours: self.neighbours(domain),
        }
    }

    /// The domain with the queue of all, if there is one.
    pub fn central(&self) -> Option<DomainId> {
        let mut domains = (0..).map(DomainId).zip(&self.domains);
        domains
            .find(|(_, domain)| domain.topology.central)
            .map(|(id, _)| id)
    }

    /// The neighbours of a domain in the tree.
    pub fn around(&self, domain: DomainId) -> BTreeMap<DomainId, Relation> {
        let own = &self.domains[domain.index()].topology;
        let below = (0..).map(DomainId).zip(&self.domains);
        let below = below.filter(|(_, other)| other.topology.parent == Some(domain));
        let below = below.map(|(id, _)| (id, Relation::Child));
        let beside = own.siblings.iter().map(|id| (*id, Relation::Sibling));
        let above = own.parent.map(|id| (id, Relation::Parent));
        below.chain(beside).chain(above).collect()
    }

    /// Every broker that this one has a link with, in order of their domains. A
    /// link given in both directions is the one that comes first.
    fn neighbours(&self, domain: DomainId) -> Vec<Neighbour> {
        let mut known: BTreeMap<DomainId, Neighbour> = BTreeMap::new();
        for link in &self.links {
            let (other, consumer) = match (link.consumer == domain, link.provider == domain) {
                (true, false) => (link.provider, false),
                (false, true) => (link.consumer, true),
                _ => continue,
            };
            let fresh = Neighbour {
                domain: other,
                latency: link.latency,
                bandwidth: link.bandwidth,
                consumer,
            };
            known.entry(other).or_insert(fresh).consumer |= consumer;
        }
        known.into_values().collect()
    }
}
