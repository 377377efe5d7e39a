//! The grid as the manifest of a run has it: enough to build it again, and all
//! that a scenario can set, in the types of [`crate::document`].

mod policy;
mod read;
mod topology;

use crate::POOLED;
use crate::document::{Broker, Cluster, Document};
use crate::interface::LinkProtocol;
use crate::value::{At, Duration, Name, Str, Written};
use gridrig_core::generic::{EXPECTED, Generics};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link, LinkHours};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::policy::Tie;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_core::timetable::{Hours, Timetable};
use policy::RecordedPolicy;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use topology::TopologyDoc;

/// Domains, clusters and links by name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GridDoc {
    /// Domains in file order.
    pub domains: Vec<DomainDoc>,
    /// Clusters in file order.
    pub clusters: Vec<ClusterDoc>,
    /// Links in file order, one entry for each direction.
    pub links: Vec<LinkDoc>,
}

/// A domain and its broker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainDoc {
    name: String,
    #[serde(flatten, serialize_with = "written")]
    broker: Broker,
    tie: Str<Name<Tie>>,
    policy: Str<RecordedPolicy>,
    /// Whether its broker was somebody else's program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    external: bool,
    #[serde(flatten)]
    topology: TopologyDoc,
}

/// A cluster and its nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterDoc {
    name: String,
    #[serde(flatten, serialize_with = "written")]
    written: Cluster,
    domain: Option<String>,
    queue_limit: Option<u64>,
    /// Whether a real LRMS ran its jobs; left out where the model did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_real: bool,
    resources: Vec<ResourceDoc>,
}

/// The keys that are there.
fn written<T: Serialize, S: Serializer>(entry: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let Ok(Value::Object(mut keys)) = serde_json::to_value(entry) else {
        return Map::new().serialize(serializer);
    };
    keys.retain(|_, value| !value.is_null());
    for value in keys.values_mut() {
        if let Value::Object(inner) = value {
            inner.retain(|_, value| !value.is_null());
        }
    }
    keys.serialize(serializer)
}

/// A group of identical nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceDoc {
    name: Option<String>,
    count: u32,
    cpu_count: u32,
    architecture: Option<String>,
    os: Option<String>,
    memory_mib: Option<u64>,
    disk_mib: Option<u64>,
    speed: Str<Decimal>,
    /// Of each node, by name; left out where there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    generic_resources: BTreeMap<String, u32>,
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkDoc {
    consumer: String,
    provider: String,
    latency: Duration,
    /// MiB of job data a second; `null`: data costs no time.
    #[serde(default)]
    bandwidth_mib_s: Option<Str<Decimal>>,
    /// When the provider takes jobs; left out where it always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hours: Option<HoursDoc>,
    /// How the brokers talked in real time; left out where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protocol: Option<Str<Name<LinkProtocol>>>,
}

/// The hours of a provider, in time of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoursDoc {
    /// How long a day is.
    day: Duration,
    /// Time of day at time 0 of the run.
    starts_at: Duration,
    /// From when until when it is open, those over midnight as two.
    open: Vec<[Duration; 2]>,
}

/// A field that cannot be: its path, value, and what was expected.
pub type Unfit = (String, String, &'static str);

impl GridDoc {
    /// Whether it is the bound of one pooled cluster: no domains, and one
    /// cluster of that name.
    pub fn is_pooled(&self) -> bool {
        let clusters = self.clusters.as_slice();
        self.domains.is_empty() && matches!(clusters, [only] if only.name == POOLED)
    }

    /// All processors.
    pub fn processors(&self) -> u64 {
        self.clusters.iter().map(ClusterDoc::processors).sum()
    }

    /// Clusters whose jobs a real LRMS ran.
    pub fn real_clusters(&self) -> Vec<String> {
        let real = self.clusters.iter().filter(|cluster| cluster.is_real);
        real.map(|cluster| cluster.name.clone()).collect()
    }

    /// Domains whose broker was somebody else's program.
    pub fn external_brokers(&self) -> Vec<String> {
        let external = self.domains.iter().filter(|domain| domain.external);
        external.map(|domain| domain.name.clone()).collect()
    }

    /// Who takes whose jobs at times only, and how much data a link carries.
    pub fn link_terms(&self) -> Vec<String> {
        let mut terms = Vec::new();
        for link in &self.links {
            let way = format!("{} to {}", link.consumer, link.provider);
            if let Some(hours) = &link.hours {
                let open = hours.open.iter();
                let open = open.map(|[from, until]| format!("{} to {}", from.0, until.0));
                let open = open.collect::<Vec<_>>().join(" and ");
                let (day, start) = (hours.day.0, hours.starts_at.0);
                terms.push(format!(
                    "{way}: open from {open} of a day of {day}, the run begins at {start}"
                ));
            }
            if let Some(bandwidth) = &link.bandwidth_mib_s {
                terms.push(format!("{way}: job data at {} MiB/s", bandwidth.0));
            }
        }
        terms
    }

    /// What the broker of this domain is set to; `None` if there is none such.
    pub fn broker(&self, domain: &str) -> Option<BrokerSettings> {
        let doc = self.domains.iter().find(|doc| doc.name == domain)?;
        Some(doc.settings())
    }

    /// The longest interval between two cycles of a broker; `None` without brokers.
    pub fn longest_interval(&self) -> Option<SimDuration> {
        let domains = self.domains.iter();
        domains.map(|doc| doc.settings().interval).max()
    }

    /// One way between two domains; `None` without a link.
    pub fn link_latency(&self, consumer: &str, provider: &str) -> Option<SimDuration> {
        let mut links = self.links.iter();
        let link = links.find(|link| link.consumer == consumer && link.provider == provider)?;
        Some(link.latency.0)
    }

    /// Whether the other has the same clusters with the same nodes; their
    /// disciplines may differ.
    pub fn same_machines(&self, other: &GridDoc) -> bool {
        let same = |(a, b): (&ClusterDoc, &ClusterDoc)| {
            (&a.name, &a.domain, &a.resources) == (&b.name, &b.domain, &b.resources)
        };
        let pairs = self.clusters.iter().zip(&other.clusters);
        self.clusters.len() == other.clusters.len() && pairs.into_iter().all(same)
    }
}

impl ClusterDoc {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Nodes and processors per node of each of its resources, in file order.
    pub fn nodes(&self) -> Vec<(u32, u32)> {
        let groups = self.resources.iter();
        groups.map(|group| (group.count, group.cpu_count)).collect()
    }

    /// All its processors.
    pub fn processors(&self) -> u64 {
        let of = |group: &ResourceDoc| u64::from(group.count) * u64::from(group.cpu_count);
        self.resources.iter().map(of).sum()
    }
}

impl DomainDoc {
    fn settings(&self) -> BrokerSettings {
        BrokerSettings {
            tie: self.tie.value(),
            policy: self.policy.0.0.clone(),
            external: self.external,
            ..self.broker.settings(|_| SimDuration::ZERO)
        }
    }
}

impl GridDoc {
    /// The grid with these names of its domains and clusters, and what the
    /// document of its scenario says besides.
    pub fn of(
        grid: &Grid,
        domain_name: impl Fn(DomainId) -> String,
        cluster_name: impl Fn(ClusterId) -> String,
        document: Option<&Document>,
    ) -> Self {
        let mut document = document.cloned();
        if let Some(document) = &mut document {
            document.name_no_directory();
        }
        let document = document.as_ref();
        let domains = (0..).map(DomainId).zip(&grid.domains);
        let mut brokers = document.into_iter().flat_map(Document::domains);
        let clusters = (0..).map(ClusterId).zip(&grid.clusters);
        let mut entries = document.into_iter().flat_map(Document::clusters);
        GridDoc {
            domains: domains
                .map(|(id, domain)| {
                    let broker = brokers.next().and_then(|domain| domain.broker.as_ref());
                    let broker = broker.map(|broker| broker.get().clone());
                    DomainDoc {
                        name: domain_name(id),
                        broker: Broker::of(&domain.broker, broker.unwrap_or_default()),
                        tie: Written::of(domain.broker.tie),
                        policy: Str(RecordedPolicy(domain.broker.policy.clone())),
                        external: domain.broker.external,
                        topology: TopologyDoc::of(&domain.topology, &domain_name),
                    }
                })
                .collect(),
            clusters: clusters
                .map(|(id, cluster)| {
                    let entry = entries.next().cloned().unwrap_or_default();
                    let domain = cluster.domain.map(&domain_name);
                    ClusterDoc::of(cluster, cluster_name(id), domain, entry)
                })
                .collect(),
            links: grid
                .links
                .iter()
                .map(|link| LinkDoc {
                    consumer: domain_name(link.consumer),
                    provider: domain_name(link.provider),
                    latency: Str(link.latency),
                    bandwidth_mib_s: link.bandwidth.map(Str),
                    hours: grid
                        .timetable(link.consumer, link.provider)
                        .map(HoursDoc::of),
                    protocol: document.and_then(|document| protocol(document, grid, link)),
                })
                .collect(),
        }
    }

    /// The grid it describes.
    ///
    /// # Errors
    /// The field that cannot be.
    pub fn read(&self) -> Result<Grid, Unfit> {
        let domain_ids: Vec<DomainId> = ids(self.domains.len(), "grid.domains", DomainId)?;
        let cluster_ids: Vec<ClusterId> = ids(self.clusters.len(), "grid.clusters", ClusterId)?;
        let find_domain = |name: &str, path: String| {
            let found = self.domains.iter().position(|domain| domain.name == name);
            found
                .map(|index| domain_ids[index])
                .ok_or_else(|| (path, name.to_owned(), "the name of a domain"))
        };
        let mut clusters = Vec::with_capacity(self.clusters.len());
        for (index, (doc, id)) in self.clusters.iter().zip(cluster_ids).enumerate() {
            let path = format!("grid.clusters[{index}]");
            let domain = doc.domain.as_deref();
            let domain = domain.map(|name| find_domain(name, format!("{path}.domain")));
            clusters.push(doc.read(id, domain.transpose()?, &path)?);
        }
        let mut domains = Vec::with_capacity(self.domains.len());
        for (index, (doc, id)) in self.domains.iter().zip(&domain_ids).enumerate() {
            let path = format!("grid.domains[{index}]");
            let own = clusters.iter().filter(|c| c.domain == Some(*id));
            domains.push(Domain {
                name: doc.name.clone(),
                broker: doc.settings(),
                clusters: own.map(|cluster| cluster.config.id).collect(),
                topology: doc.topology.read(find_domain, &path)?,
            });
        }
        let mut links = Vec::with_capacity(self.links.len());
        let mut hours = Vec::new();
        for (index, doc) in self.links.iter().enumerate() {
            let path = format!("grid.links[{index}]");
            let consumer = find_domain(&doc.consumer, format!("{path}.consumer"))?;
            let provider = find_domain(&doc.provider, format!("{path}.provider"))?;
            if let Some(own) = &doc.hours {
                hours.push(LinkHours {
                    consumer,
                    provider,
                    timetable: own.read(&format!("{path}.hours"))?,
                });
            }
            links.push(Link {
                consumer,
                provider,
                latency: doc.latency.0,
                bandwidth: doc.bandwidth_mib_s.map(|bandwidth| bandwidth.0),
            });
        }
        Ok(Grid {
            domains,
            clusters,
            links,
            hours,
        })
    }
}

/// What the document says of the link between two domains.
fn protocol(document: &Document, grid: &Grid, link: &Link) -> Option<Str<Name<LinkProtocol>>> {
    let name = |id: DomainId| grid.domains[id.index()].name.as_str();
    let ends = [name(link.consumer), name(link.provider)];
    let mut links = document.link.iter().flat_map(At::get);
    let joins = |link: &&At<crate::document::Link>| {
        let between = link.get().between.iter().flat_map(At::get);
        let mut between = between.map(|end| end.get().0.0.as_str());
        between.all(|end| ends.contains(&end))
    };
    links.find(joins)?.get().protocol
}

impl HoursDoc {
    fn of(timetable: &Timetable) -> Self {
        let open = timetable.open().iter();
        HoursDoc {
            day: Str(timetable.day()),
            starts_at: Str(timetable.starts_at()),
            open: open
                .map(|hours| [Str(hours.from), Str(hours.until)])
                .collect(),
        }
    }

    fn read(&self, path: &str) -> Result<Timetable, Unfit> {
        let open = self.open.iter().map(|[from, until]| Hours {
            from: from.0,
            until: until.0,
        });
        let open: Vec<Hours> = open.collect();
        Timetable::new(self.day.0, self.starts_at.0, &open).ok_or_else(|| {
            let shown = format!("{:?}", self.open);
            (format!("{path}.open"), shown, "hours of the day")
        })
    }
}

fn ids<T>(count: usize, field: &str, id: fn(u16) -> T) -> Result<Vec<T>, Unfit> {
    if count > usize::from(u16::MAX) {
        return Err((field.to_owned(), count.to_string(), "at most 65535 entries"));
    }
    Ok((0..u16::MAX).take(count).map(id).collect())
}

impl ClusterDoc {
    fn of(cluster: &GridCluster, name: String, domain: Option<String>, entry: Cluster) -> Self {
        let written = Cluster {
            // Said beside it.
            name: None,
            processors: None,
            resources: None,
            ..Cluster::of(cluster, entry)
        };
        let config = &cluster.config;
        let groups = config.resources.groups().iter();
        ClusterDoc {
            name,
            written,
            domain,
            queue_limit: config.queue_limit.map(|limit| limit as u64),
            is_real: config.is_real,
            resources: groups.map(ResourceDoc::of).collect(),
        }
    }

    fn read(
        &self,
        id: ClusterId,
        domain: Option<DomainId>,
        path: &str,
    ) -> Result<GridCluster, Unfit> {
        let groups = self.resources.iter().map(|group| {
            let field = || format!("{path}.resources.generic_resources");
            let value = || format!("{:?}", group.generic_resources);
            group.read().ok_or_else(|| (field(), value(), EXPECTED))
        });
        let resources = Resources::new(groups.collect::<Result<_, _>>()?).ok_or_else(|| {
            let field = format!("{path}.resources");
            let value = format!("{} groups", self.resources.len());
            (field, value, "from 1 to 100000000 processors in all")
        })?;
        let mut config = self.written.config(id, resources);
        config.is_real = self.is_real;
        config.queue_limit = self
            .queue_limit
            .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(GridCluster {
            name: self.name.clone(),
            domain,
            config,
        })
    }
}

impl ResourceDoc {
    fn of(group: &Resource) -> Self {
        let generic = group.generic.iter();
        ResourceDoc {
            name: group.name.clone(),
            count: group.count,
            cpu_count: group.cpu_count,
            architecture: group.architecture.clone(),
            os: group.os.clone(),
            memory_mib: group.memory_mib,
            disk_mib: group.disk_mib,
            speed: Str(group.speed),
            generic_resources: generic
                .map(|(name, count)| (name.to_string(), count))
                .collect(),
        }
    }

    fn read(&self) -> Option<Resource> {
        Some(Resource {
            name: self.name.clone(),
            count: self.count,
            cpu_count: self.cpu_count,
            architecture: self.architecture.clone(),
            os: self.os.clone(),
            memory_mib: self.memory_mib,
            disk_mib: self.disk_mib,
            speed: self.speed.0,
            generic: Generics::new(&self.generic_resources)?,
        })
    }
}
