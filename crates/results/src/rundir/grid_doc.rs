//! The grid as the manifest has it: enough to build it again.

use crate::names::Names;
use gridrig_core::broker::{LocalInfo, OwnDispatch};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::{DisciplineKind, SlurmBackfillSettings};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link, LinkHours};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::load::Window;
use gridrig_core::policy::{PolicyKind, Tie};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_core::timetable::{Hours, Timetable};
use serde::{Deserialize, Serialize};

pub use gridrig_scenario::POOLED;

/// Domains, clusters and links by name. Lengths of time are durations with
/// their unit, such as `5s`.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    interval: String,
    exchange: String,
    phase: String,
    max_hops: u32,
    /// Absent in runs from before there was one.
    #[serde(default)]
    ttl: Option<u32>,
    /// Likewise.
    #[serde(default)]
    origin_promotion: Option<String>,
    own_dispatch: String,
    local_info: String,
    tie: String,
    policy: String,
    queue_window: String,
    utilization_window: String,
    lrms_latency: String,
    /// Whether its broker was somebody else's program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    external: bool,
}

/// A cluster and its nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterDoc {
    name: String,
    domain: Option<String>,
    discipline: String,
    interval: String,
    /// What `slurm-backfill` went by; absent of other disciplines, and in runs
    /// from before it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slurm: Option<SlurmDoc>,
    queue_limit: Option<u64>,
    /// Whether a real LRMS ran its jobs; left out where the model did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_real: bool,
    resources: Vec<ResourceDoc>,
}

/// Settings of `slurm-backfill`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SlurmDoc {
    bf_interval: String,
    bf_resolution: String,
    bf_window: String,
    bf_max_job_test: u32,
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
    speed: String,
}

impl GridDoc {
    /// Whether it is the bound of one pooled cluster: no domains, and one
    /// cluster of that name.
    #[must_use]
    pub fn is_pooled(&self) -> bool {
        let clusters = self.clusters.as_slice();
        self.domains.is_empty() && matches!(clusters, [only] if only.name == POOLED)
    }

    /// All processors.
    #[must_use]
    pub fn processors(&self) -> u64 {
        self.clusters.iter().map(ClusterDoc::processors).sum()
    }

    /// Clusters whose jobs a real LRMS ran.
    pub(crate) fn real_clusters(&self) -> Vec<String> {
        let real = self.clusters.iter().filter(|cluster| cluster.is_real);
        real.map(|cluster| cluster.name.clone()).collect()
    }

    /// Domains whose broker was somebody else's program.
    pub(crate) fn external_brokers(&self) -> Vec<String> {
        let external = self.domains.iter().filter(|domain| domain.external);
        external.map(|domain| domain.name.clone()).collect()
    }

    /// Who takes whose jobs at times only, and how much data a link carries.
    pub(crate) fn link_terms(&self) -> Vec<String> {
        let mut terms = Vec::new();
        for link in &self.links {
            let way = format!("{} to {}", link.consumer, link.provider);
            if let Some(hours) = &link.hours {
                let open = hours
                    .open
                    .iter()
                    .map(|[from, until]| format!("{from} to {until}"));
                let open = open.collect::<Vec<_>>().join(" and ");
                let (day, start) = (&hours.day, &hours.starts_at);
                terms.push(format!(
                    "{way}: open from {open} of a day of {day}, the run begins at {start}"
                ));
            }
            if let Some(bandwidth) = &link.bandwidth_mib_s {
                terms.push(format!("{way}: job data at {bandwidth} MiB/s"));
            }
        }
        terms
    }

    /// How information of this domain is made; `None` if there is none such.
    pub(crate) fn information(&self, domain: &str) -> Option<InformationRule> {
        let doc = self.domains.iter().find(|doc| doc.name == domain)?;
        Some(InformationRule {
            exchange: SimDuration::parse(&doc.exchange).ok()?,
            lrms_latency: SimDuration::parse(&doc.lrms_latency).ok()?,
            fresh: doc.local_info == local_info_name(LocalInfo::Fresh),
        })
    }

    /// One way between two domains; `None` without a link.
    pub(crate) fn link_latency(&self, consumer: &str, provider: &str) -> Option<SimDuration> {
        let mut links = self.links.iter();
        let link = links.find(|link| link.consumer == consumer && link.provider == provider)?;
        SimDuration::parse(&link.latency).ok()
    }

    /// Whether the other has the same clusters with the same nodes; their
    /// disciplines may differ.
    #[must_use]
    pub fn same_machines(&self, other: &GridDoc) -> bool {
        let same = |(a, b): (&ClusterDoc, &ClusterDoc)| {
            (&a.name, &a.domain, &a.resources) == (&b.name, &b.domain, &b.resources)
        };
        let pairs = self.clusters.iter().zip(&other.clusters);
        self.clusters.len() == other.clusters.len() && pairs.into_iter().all(same)
    }
}

/// How a domain's information is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InformationRule {
    /// Time between samples.
    pub(crate) exchange: SimDuration,
    /// From an LRMS to its broker.
    pub(crate) lrms_latency: SimDuration,
    /// Whether its broker reads its own clusters live.
    pub(crate) fresh: bool,
}

impl ClusterDoc {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Nodes and processors per node of each of its resources, in file order.
    #[must_use]
    pub fn nodes(&self) -> Vec<(u32, u32)> {
        let groups = self.resources.iter();
        groups.map(|group| (group.count, group.cpu_count)).collect()
    }

    /// All its processors.
    #[must_use]
    pub fn processors(&self) -> u64 {
        let of = |group: &ResourceDoc| u64::from(group.count) * u64::from(group.cpu_count);
        self.resources.iter().map(of).sum()
    }
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkDoc {
    consumer: String,
    provider: String,
    latency: String,
    /// MiB of job data a second; `null`: data costs no time.
    #[serde(default)]
    bandwidth_mib_s: Option<String>,
    /// When the provider takes jobs; left out where it always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hours: Option<HoursDoc>,
}

/// The hours of a provider, in time of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoursDoc {
    /// How long a day is.
    day: String,
    /// Time of day at time 0 of the run.
    starts_at: String,
    /// From when until when it is open, those over midnight as two.
    open: Vec<[String; 2]>,
}

/// A field of the manifest that cannot be: its path, value, and what was
/// expected.
pub(super) type Unfit = (String, String, &'static str);

impl GridDoc {
    pub(super) fn of(grid: &Grid, names: &Names) -> Self {
        let domains = (0..).map(DomainId).zip(&grid.domains);
        let clusters = (0..).map(ClusterId).zip(&grid.clusters);
        GridDoc {
            domains: domains
                .map(|(id, domain)| domain_doc(names.domain(id), &domain.broker))
                .collect(),
            clusters: clusters
                .map(|(id, cluster)| cluster_doc(names.cluster(id), cluster, names))
                .collect(),
            links: grid
                .links
                .iter()
                .map(|link| LinkDoc {
                    consumer: names.domain(link.consumer),
                    provider: names.domain(link.provider),
                    latency: link.latency.to_string(),
                    bandwidth_mib_s: link.bandwidth.map(|bandwidth| bandwidth.to_string()),
                    hours: grid.timetable(link.consumer, link.provider).map(hours_doc),
                })
                .collect(),
        }
    }

    /// The grid it describes.
    pub(super) fn read(&self) -> Result<Grid, Unfit> {
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
            let domain = match &doc.domain {
                None => None,
                Some(name) => Some(find_domain(name, format!("{path}.domain"))?),
            };
            clusters.push(read_cluster(doc, id, domain, &path)?);
        }
        let mut domains = Vec::with_capacity(self.domains.len());
        for (index, (doc, id)) in self.domains.iter().zip(&domain_ids).enumerate() {
            let own = clusters.iter().filter(|c| c.domain == Some(*id));
            domains.push(Domain {
                name: doc.name.clone(),
                broker: read_broker(doc, &format!("grid.domains[{index}]"))?,
                clusters: own.map(|cluster| cluster.config.id).collect(),
            });
        }
        let mut links = Vec::with_capacity(self.links.len());
        let mut hours = Vec::new();
        for (index, doc) in self.links.iter().enumerate() {
            let path = format!("grid.links[{index}]");
            if let Some(own) = &doc.hours {
                hours.push(LinkHours {
                    consumer: find_domain(&doc.consumer, format!("{path}.consumer"))?,
                    provider: find_domain(&doc.provider, format!("{path}.provider"))?,
                    timetable: read_hours(own, &format!("{path}.hours"))?,
                });
            }
            links.push(Link {
                consumer: find_domain(&doc.consumer, format!("{path}.consumer"))?,
                provider: find_domain(&doc.provider, format!("{path}.provider"))?,
                latency: length(&doc.latency, &path, "latency")?,
                bandwidth: match &doc.bandwidth_mib_s {
                    Some(text) => Some(decimal(text, &path, "bandwidth_mib_s")?),
                    None => None,
                },
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

fn hours_doc(timetable: &Timetable) -> HoursDoc {
    let open = timetable.open().iter();
    HoursDoc {
        day: timetable.day().to_string(),
        starts_at: timetable.starts_at().to_string(),
        open: open
            .map(|hours| [hours.from.to_string(), hours.until.to_string()])
            .collect(),
    }
}

fn read_hours(doc: &HoursDoc, path: &str) -> Result<Timetable, Unfit> {
    let hours = |[from, until]: &[String; 2]| {
        Ok(Hours {
            from: length(from, path, "open")?,
            until: length(until, path, "open")?,
        })
    };
    let open = doc.open.iter().map(hours).collect::<Result<Vec<_>, _>>()?;
    let day = length(&doc.day, path, "day")?;
    let starts_at = length(&doc.starts_at, path, "starts_at")?;
    Timetable::new(day, starts_at, &open).ok_or_else(|| {
        (
            format!("{path}.open"),
            format!("{:?}", doc.open),
            "hours of the day",
        )
    })
}

fn ids<T>(count: usize, field: &str, id: fn(u16) -> T) -> Result<Vec<T>, Unfit> {
    if count > usize::from(u16::MAX) {
        return Err((field.to_owned(), count.to_string(), "at most 65535 entries"));
    }
    Ok((0..u16::MAX).take(count).map(id).collect())
}

fn domain_doc(name: String, broker: &BrokerSettings) -> DomainDoc {
    DomainDoc {
        name,
        interval: broker.interval.to_string(),
        exchange: broker.exchange.to_string(),
        phase: broker.phase.to_string(),
        max_hops: broker.max_hops,
        ttl: Some(broker.ttl),
        origin_promotion: Some(broker.origin_promotion.to_string()),
        own_dispatch: own_dispatch_name(broker.own_dispatch).to_owned(),
        local_info: local_info_name(broker.local_info).to_owned(),
        tie: broker.tie.name().to_owned(),
        policy: broker.policy.name().to_owned(),
        queue_window: broker.queue_window.length().to_string(),
        utilization_window: broker.utilization_window.length().to_string(),
        lrms_latency: broker.lrms_latency.to_string(),
        external: broker.external,
    }
}

fn read_broker(doc: &DomainDoc, path: &str) -> Result<BrokerSettings, Unfit> {
    let named = |field: &str, value: &str, expected: &'static str| {
        (format!("{path}.{field}"), value.to_owned(), expected)
    };
    let own_dispatch = [OwnDispatch::Ignored, OwnDispatch::Debited]
        .into_iter()
        .find(|known| own_dispatch_name(*known) == doc.own_dispatch)
        .ok_or_else(|| named("own_dispatch", &doc.own_dispatch, "ignored or debited"))?;
    let local_info = [LocalInfo::Exchange, LocalInfo::Fresh]
        .into_iter()
        .find(|known| local_info_name(*known) == doc.local_info)
        .ok_or_else(|| named("local_info", &doc.local_info, "exchange or fresh"))?;
    let window = |field: &str, text: &str| {
        let found = SimDuration::parse(text).ok();
        let mut all = Window::ALL.into_iter();
        all.find(|window| Some(window.length()) == found)
            .ok_or_else(|| named(field, text, "0s, 30s or 300s"))
    };
    Ok(BrokerSettings {
        interval: length(&doc.interval, path, "interval")?,
        exchange: length(&doc.exchange, path, "exchange")?,
        phase: length(&doc.phase, path, "phase")?,
        max_hops: doc.max_hops,
        ttl: doc.ttl.unwrap_or(doc.max_hops),
        origin_promotion: match &doc.origin_promotion {
            Some(text) => decimal(text, path, "origin_promotion")?,
            None => Decimal::ONE,
        },
        own_dispatch,
        local_info,
        tie: Tie::from_name(&doc.tie).ok_or_else(|| named("tie", &doc.tie, "a rule for ties"))?,
        policy: PolicyKind::from_name(&doc.policy)
            .ok_or_else(|| named("policy", &doc.policy, "a policy"))?,
        queue_window: window("queue_window", &doc.queue_window)?,
        utilization_window: window("utilization_window", &doc.utilization_window)?,
        lrms_latency: length(&doc.lrms_latency, path, "lrms_latency")?,
        external: doc.external,
    })
}

fn decimal(text: &str, path: &str, field: &str) -> Result<Decimal, Unfit> {
    let unfit = || {
        (
            format!("{path}.{field}"),
            text.to_owned(),
            "a number above 0",
        )
    };
    let read = Decimal::parse(text).filter(|number| !number.is_zero());
    read.ok_or_else(unfit)
}

fn cluster_doc(name: String, cluster: &GridCluster, names: &Names) -> ClusterDoc {
    let config = &cluster.config;
    ClusterDoc {
        name,
        domain: cluster.domain.map(|id| names.domain(id)),
        discipline: config.discipline.name().to_owned(),
        interval: config.interval.to_string(),
        slurm: (config.discipline == DisciplineKind::SlurmBackfill).then(|| SlurmDoc {
            bf_interval: config.slurm.bf_interval.to_string(),
            bf_resolution: config.slurm.bf_resolution.to_string(),
            bf_window: config.slurm.bf_window.to_string(),
            bf_max_job_test: config.slurm.bf_max_job_test,
        }),
        queue_limit: config.queue_limit.map(|limit| limit as u64),
        is_real: config.is_real,
        resources: config.resources.groups().iter().map(resource_doc).collect(),
    }
}

fn read_cluster(
    doc: &ClusterDoc,
    id: ClusterId,
    domain: Option<DomainId>,
    path: &str,
) -> Result<GridCluster, Unfit> {
    let discipline = DisciplineKind::from_name(&doc.discipline).ok_or_else(|| {
        let field = format!("{path}.discipline");
        (field, doc.discipline.clone(), "a discipline")
    })?;
    let groups = doc.resources.iter().enumerate().map(|(index, group)| {
        let path = format!("{path}.resources[{index}]");
        read_resource(group, &path)
    });
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    let resources = Resources::new(groups).ok_or_else(|| {
        let field = format!("{path}.resources");
        let value = format!("{} groups", doc.resources.len());
        (field, value, "from 1 to 2^32 - 1 processors in all")
    })?;
    let mut config = ClusterConfig::new(id, resources, discipline);
    config.interval = length(&doc.interval, path, "interval")?;
    if let Some(slurm) = &doc.slurm {
        let path = format!("{path}.slurm");
        config.slurm = SlurmBackfillSettings {
            bf_interval: length(&slurm.bf_interval, &path, "bf_interval")?,
            bf_resolution: length(&slurm.bf_resolution, &path, "bf_resolution")?,
            bf_window: length(&slurm.bf_window, &path, "bf_window")?,
            bf_max_job_test: slurm.bf_max_job_test,
        };
    }
    config.is_real = doc.is_real;
    config.queue_limit = doc
        .queue_limit
        .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(GridCluster {
        name: doc.name.clone(),
        domain,
        config,
    })
}

fn resource_doc(group: &Resource) -> ResourceDoc {
    ResourceDoc {
        name: group.name.clone(),
        count: group.count,
        cpu_count: group.cpu_count,
        architecture: group.architecture.clone(),
        os: group.os.clone(),
        memory_mib: group.memory_mib,
        disk_mib: group.disk_mib,
        speed: group.speed.to_string(),
    }
}

fn read_resource(doc: &ResourceDoc, path: &str) -> Result<Resource, Unfit> {
    let speed = Decimal::parse(&doc.speed).filter(|speed| !speed.is_zero());
    let speed = speed.ok_or_else(|| {
        let field = format!("{path}.speed");
        (field, doc.speed.clone(), "a decimal number above 0")
    })?;
    Ok(Resource {
        name: doc.name.clone(),
        count: doc.count,
        cpu_count: doc.cpu_count,
        architecture: doc.architecture.clone(),
        os: doc.os.clone(),
        memory_mib: doc.memory_mib,
        disk_mib: doc.disk_mib,
        speed,
    })
}

fn length(text: &str, path: &str, field: &str) -> Result<SimDuration, Unfit> {
    SimDuration::parse(text).map_err(|_| {
        let field = format!("{path}.{field}");
        (field, text.to_owned(), "a duration with its unit")
    })
}

fn own_dispatch_name(own_dispatch: OwnDispatch) -> &'static str {
    match own_dispatch {
        OwnDispatch::Ignored => "ignored",
        OwnDispatch::Debited => "debited",
    }
}

fn local_info_name(local_info: LocalInfo) -> &'static str {
    match local_info {
        LocalInfo::Exchange => "exchange",
        LocalInfo::Fresh => "fresh",
    }
}
