//! The whole grid as both drivers and all services are told of it: domains
//! with their brokers and clusters, and the links between them.

mod passed_on;

use crate::broker::{BrokerConfig, Neighbour, PeerConfig, Relation};
use crate::cluster::ClusterConfig;
use crate::ids::{ClusterId, DomainId};
use crate::policy::MatchmakingKind;
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration, SimTime};
use crate::timetable::Timetable;
use passed_on::{PassedOn, passed_on};
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
            clusters: vec![cluster],
            ..Grid::default()
        }
    }

    /// When this provider takes jobs of this consumer; `None`: always.
    pub fn timetable(&self, consumer: DomainId, provider: DomainId) -> Option<&Timetable> {
        let is_it = |one: &&LinkHours| (one.consumer, one.provider) == (consumer, provider);
        self.hours.iter().find(is_it).map(|one| &one.timetable)
    }

    /// The links over which this domain forwards, in link order.
    pub fn providers_of(&self, consumer: DomainId) -> impl Iterator<Item = &Link> {
        let links = self.links.iter();
        links.filter(move |link| link.consumer == consumer)
    }

    /// The links over which this domain is told of jobs, in link order.
    pub fn consumers_of(&self, provider: DomainId) -> impl Iterator<Item = &Link> {
        let links = self.links.iter();
        links.filter(move |link| link.provider == provider)
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
        self.clusters_within(from, hops, |domain| self.providers_of(domain))
    }

    /// The same over providers that take jobs at this instant.
    pub fn reachable_at(&self, from: DomainId, hops: u32, at: SimTime) -> Vec<ClusterId> {
        self.clusters_within(from, hops, |domain| {
            let links = self.providers_of(domain);
            links.filter(move |link| self.is_open(link.consumer, link.provider, at))
        })
    }

    /// Whether this provider takes jobs of this consumer at this instant.
    pub fn is_open(&self, consumer: DomainId, provider: DomainId, at: SimTime) -> bool {
        let hours = self.timetable(consumer, provider);
        hours.is_none_or(|timetable| timetable.is_open(at))
    }

    /// The clusters of a domain and of those that so many forwards lead to.
    fn clusters_within<'a, I: Iterator<Item = &'a Link>>(
        &self,
        from: DomainId,
        hops: u32,
        providers: impl Fn(DomainId) -> I,
    ) -> Vec<ClusterId> {
        let mut domains = vec![from];
        let mut hop_before = 0;
        for _ in 0..hops {
            let frontier = hop_before..domains.len();
            if frontier.is_empty() {
                break;
            }
            hop_before = domains.len();
            for index in frontier {
                for link in providers(domains[index]) {
                    if !domains.contains(&link.provider) {
                        domains.push(link.provider);
                    }
                }
            }
        }
        let clusters = domains.iter().map(|id| &self.domains[id.index()].clusters);
        let mut clusters: Vec<ClusterId> = clusters.flatten().copied().collect();
        clusters.sort_unstable();
        clusters
    }

    /// The complete set-up of a domain's broker.
    pub fn broker_config(&self, domain: DomainId) -> BrokerConfig {
        self.broker_configs().of(domain)
    }

    /// The complete set-ups of all brokers.
    pub fn broker_configs(&self) -> BrokerConfigs<'_> {
        let resources = self.clusters.iter();
        let resources = resources.map(|cluster| Arc::new(cluster.config.resources.clone()));
        let mut providers = vec![Vec::new(); self.domains.len()];
        for link in &self.links {
            providers[link.consumer.index()].push(link);
        }
        BrokerConfigs {
            grid: self,
            resources: resources.collect(),
            providers,
            passed_on: passed_on(self),
        }
    }

    /// The domain with the queue of all, if there is one.
    pub fn central(&self) -> Option<DomainId> {
        let mut domains = (0..).map(DomainId).zip(&self.domains);
        let (id, _) = domains.find(|(_, domain)| domain.topology.central)?;
        Some(id)
    }

    /// The neighbours of a domain in the tree.
    pub fn around(&self, domain: DomainId) -> BTreeMap<DomainId, Relation> {
        let all = (0..self.domains.len() as u16).map(DomainId);
        all.filter_map(|other| Some((other, self.relation(domain, other)?)))
            .collect()
    }

    /// What another domain is to this one in the tree, if they are neighbours.
    pub fn relation(&self, domain: DomainId, other: DomainId) -> Option<Relation> {
        let own = &self.domains[domain.index()].topology;
        if own.parent == Some(other) {
            return Some(Relation::Parent);
        }
        if own.siblings.contains(&other) {
            return Some(Relation::Sibling);
        }
        let below = self.domains.get(other.index())?;
        (below.topology.parent == Some(domain)).then_some(Relation::Child)
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

/// The set-ups of all brokers of a grid, and what they share.
pub struct BrokerConfigs<'a> {
    grid: &'a Grid,
    resources: Vec<Arc<Resources>>,
    /// By domain the links over which it forwards.
    providers: Vec<Vec<&'a Link>>,
    passed_on: PassedOn,
}

impl BrokerConfigs<'_> {
    /// The set-up of one of them.
    pub fn of(&self, domain: DomainId) -> BrokerConfig {
        let grid = self.grid;
        let settings = grid.domains[domain.index()].broker.clone();
        let hops = settings.hops().min(grid.domains.len() as u32);
        let asks = settings.matchmaking() == MatchmakingKind::Delegate;
        let providers = |domain: DomainId| {
            let links = self.providers[domain.index()].iter().copied();
            // Requests for processors go along the tree only.
            links.filter(move |link| !asks || grid.relation(domain, link.provider).is_some())
        };
        let shared = |id: &ClusterId| Arc::clone(&self.resources[id.index()]);
        let within = |provider, hops| {
            let all = grid.clusters_within(provider, hops, providers);
            all.iter().map(shared).collect()
        };
        let peers = self.providers[domain.index()].iter();
        let peers = peers.map(|link| PeerConfig {
            domain: link.provider,
            latency: link.latency,
            clusters: self.clusters_of(link.provider),
            passed_on: self.passed_on(link.provider, domain),
            bandwidth: link.bandwidth,
            timetable: grid.timetable(domain, link.provider).cloned(),
            reach: (0..hops).map(|hops| within(link.provider, hops)).collect(),
        });
        BrokerConfig {
            domain,
            settings,
            queue_limit: None,
            clusters: self.clusters_of(domain),
            around: grid.around(domain),
            central: grid.central(),
            peers: peers.collect(),
            neighbours: grid.neighbours(domain),
            passes_on: self.passes_on(domain),
        }
    }

    /// The clusters of others of which a provider tells this consumer.
    fn passed_on(&self, from: DomainId, to: DomainId) -> Vec<(ClusterId, Arc<Resources>)> {
        let clusters = self.passed_on.get(&(from, to)).into_iter().flatten();
        clusters.map(|id| self.with_nodes(*id)).collect()
    }

    /// The same of this provider for all of its consumers.
    fn passes_on(&self, from: DomainId) -> BTreeMap<DomainId, Vec<ClusterId>> {
        let its = self.passed_on.range((from, DomainId(0))..);
        let its = its.take_while(|((provider, _), _)| *provider == from);
        let told = its.map(|((_, to), clusters)| (*to, clusters.iter().copied().collect()));
        told.collect()
    }

    fn with_nodes(&self, id: ClusterId) -> (ClusterId, Arc<Resources>) {
        (id, Arc::clone(&self.resources[id.index()]))
    }

    fn clusters_of(&self, domain: DomainId) -> Vec<(ClusterId, Arc<Resources>)> {
        let clusters = self.grid.domains[domain.index()].clusters.iter();
        clusters.map(|id| self.with_nodes(*id)).collect()
    }
}
