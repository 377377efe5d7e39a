//! Domains, clusters and links.

use super::Context;
use crate::interface::FaceKind;
use crate::interface::LinkProtocol;
use crate::raw::{RawBroker, RawCluster, RawDomain, RawLink, RawMesh, RawRun, RawScenario};
use crate::value::{At, Identifier, Str};
use crate::{ClusterSource, RealLrms, ScenarioError};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::{DisciplineKind, SlurmBackfillSettings};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::policy::PolicyKind;
use gridrig_core::resource::Resources;
use gridrig_core::time::SimDuration;
use gridrig_protocol::resources;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Latency of a link that names none (design 5).
const LINK_LATENCY: SimDuration = SimDuration::from_millis(1);

/// The most domains or clusters: their ids have 16 bits.
const MOST: usize = u16::MAX as usize;

/// The grid and where its clusters come from.
pub(super) struct Built {
    pub(super) grid: Grid,
    pub(super) cluster_sources: Vec<ClusterSource>,
    pub(super) faces: Vec<Vec<FaceKind>>,
    pub(super) arc_steps: BTreeMap<ClusterId, std::time::Duration>,
    pub(super) slurm_bins: BTreeMap<ClusterId, PathBuf>,
    pub(super) lrms: BTreeMap<ClusterId, RealLrms>,
    pub(super) protocols: BTreeMap<(DomainId, DomainId), LinkProtocol>,
}

impl Context<'_> {
    pub(super) fn grid(
        &self,
        raw: &RawScenario,
        run: &RawRun,
        policy: Option<PolicyKind>,
    ) -> Result<Built, ScenarioError> {
        let mut built = Built {
            grid: Grid::default(),
            cluster_sources: Vec::new(),
            faces: Vec::new(),
            arc_steps: BTreeMap::new(),
            slurm_bins: BTreeMap::new(),
            lrms: BTreeMap::new(),
            protocols: BTreeMap::new(),
        };
        match (&raw.cluster, &raw.domain) {
            (Some(cluster), Some(_)) => {
                let expected = "either [cluster] (a run without brokers) or [[domain]], not both";
                return Err(self.document.refuse(&cluster.span(), expected));
            }
            (None, None) => {
                let expected = "[cluster] for a run without brokers, or [[domain]]";
                return Err(self.document.missing(&(0..0), "cluster", expected));
            }
            (Some(cluster), None) => {
                self.refuse_broker_keys(raw, run)?;
                self.add_cluster(&mut built, cluster, None)?;
            }
            (None, Some(domains)) => {
                let list = &domains.get().0;
                if list.is_empty() || list.len() > MOST {
                    let expected = "between 1 and 65535 domains";
                    return Err(self.document.refuse(&domains.span(), expected));
                }
                for (index, domain) in list.iter().enumerate() {
                    self.add_domain(&mut built, domain, (index, list.len()), run, policy)?;
                }
                if built.grid.clusters.is_empty() {
                    let expected = "at least one domain with a cluster";
                    return Err(self.document.refuse(&domains.span(), expected));
                }
                for link in raw.link.iter().flat_map(|links| &links.get().0) {
                    self.add_link(&mut built, link)?;
                }
                if let Some(mesh) = &raw.mesh {
                    add_mesh(&mut built.grid, mesh.get());
                }
            }
        }
        Ok(built)
    }

    /// Keys that mean nothing without brokers.
    fn refuse_broker_keys(&self, raw: &RawScenario, run: &RawRun) -> Result<(), ScenarioError> {
        let links = raw.link.as_ref().map(At::span);
        let mesh = raw.mesh.as_ref().map(At::span);
        let spans = links.or(mesh).or_else(|| run.tie.as_ref().map(At::span));
        match spans {
            Some(span) => {
                let expected = "nothing in a run without brokers ([[domain]])";
                Err(self.document.refuse(&span, expected))
            }
            None => Ok(()),
        }
    }

    fn add_domain(
        &self,
        built: &mut Built,
        raw: &At<RawDomain>,
        (index, count): (usize, usize),
        run: &RawRun,
        policy: Option<PolicyKind>,
    ) -> Result<(), ScenarioError> {
        let Some(name) = &raw.get().name else {
            return Err(self
                .document
                .missing(&raw.span(), "name", "the name of the domain"));
        };
        let taken = built
            .grid
            .domains
            .iter()
            .any(|other| other.name == name.get().0.0);
        if taken {
            return Err(self
                .document
                .refuse(&name.span(), "a name no other domain has"));
        }
        let id = DomainId(u16::try_from(index).unwrap_or(u16::MAX));
        let first = built.grid.clusters.len();
        for cluster in raw.get().clusters.iter().flat_map(|clusters| &clusters.0) {
            self.add_cluster(built, cluster, Some(id))?;
        }
        let no_broker = RawBroker::default();
        let broker = raw.get().broker.as_ref().unwrap_or(&no_broker);
        let mut settings = broker_settings(broker, (index, count));
        settings.tie = run.tie.as_ref().map_or(settings.tie, |tie| tie.get().0.0);
        settings.policy = policy.unwrap_or(settings.policy);
        let clusters = &built.grid.clusters[first..];
        let clusters = clusters.iter().map(|cluster| cluster.config.id).collect();
        built.grid.domains.push(Domain {
            name: name.get().0.0.clone(),
            broker: settings,
            clusters,
        });
        Ok(())
    }

    fn add_cluster(
        &self,
        built: &mut Built,
        raw: &At<RawCluster>,
        domain: Option<DomainId>,
    ) -> Result<(), ScenarioError> {
        let cluster = raw.get();
        let name = match (&cluster.name, domain) {
            (Some(name), _) => name.get().0.0.clone(),
            (None, None) => "cluster".to_owned(),
            (None, Some(_)) => {
                let expected = "the name of the cluster";
                return Err(self.document.missing(&raw.span(), "name", expected));
            }
        };
        if built.grid.clusters.iter().any(|other| other.name == name) {
            let span = cluster.name.as_ref().map_or(raw.span(), At::span);
            return Err(self.document.refuse(&span, "a name no other cluster has"));
        }
        if built.grid.clusters.len() >= MOST {
            return Err(self.document.refuse(&raw.span(), "at most 65535 clusters"));
        }
        let (resources, source) = self.resources(raw)?;
        let id = ClusterId(u16::try_from(built.grid.clusters.len()).unwrap_or(u16::MAX));
        let discipline = cluster
            .discipline
            .map_or(DisciplineKind::FirstInFirstFit, |d| d.0.0);
        let mut config = ClusterConfig::new(id, resources, discipline);
        config.interval = cluster.interval.unwrap_or_default().0;
        config.slurm = self.slurm(cluster, discipline)?;
        let faces = cluster.faces.iter().flat_map(|faces| &faces.0);
        built.faces.push(faces.map(|face| face.get().0.0).collect());
        if let Some(step) = cluster.arc_step {
            let step = std::time::Duration::from_nanos(step.0.as_nanos());
            built.arc_steps.insert(id, step);
        }
        if let Some(dir) = &cluster.slurm_bin {
            let path = PathBuf::from(&dir.get().0.0);
            if built.slurm_bins.values().any(|other| *other == path) {
                let expected = "a directory that no other cluster has";
                return Err(self.document.refuse(&dir.span(), expected));
            }
            built.slurm_bins.insert(id, path);
        }
        if let Some(real) = self.lrms(cluster)? {
            config.is_real = true;
            built.lrms.insert(id, real);
        }
        built.cluster_sources.push(source);
        built.grid.clusters.push(GridCluster {
            name,
            domain,
            config,
        });
        Ok(())
    }

    fn slurm(
        &self,
        cluster: &RawCluster,
        discipline: DisciplineKind,
    ) -> Result<SlurmBackfillSettings, ScenarioError> {
        let default = SlurmBackfillSettings::default();
        let Some(raw) = &cluster.slurm else {
            return Ok(default);
        };
        if discipline != DisciplineKind::SlurmBackfill {
            let expected = "no slurm settings, or discipline = \"slurm-backfill\"";
            return Err(self.document.refuse(&raw.span(), expected));
        }
        let raw = raw.get();
        Ok(SlurmBackfillSettings {
            bf_interval: raw.bf_interval.map_or(default.bf_interval, |d| d.0.0),
            bf_resolution: raw.bf_resolution.map_or(default.bf_resolution, |d| d.0),
            bf_window: raw.bf_window.map_or(default.bf_window, |d| d.0),
            bf_max_job_test: raw
                .bf_max_job_test
                .map_or(default.bf_max_job_test, |n| n.as_u32()),
        })
    }

    fn resources(&self, raw: &At<RawCluster>) -> Result<(Resources, ClusterSource), ScenarioError> {
        match (&raw.get().processors, &raw.get().resources) {
            (Some(_), Some(file)) => {
                let expected = "either processors or resources, not both";
                Err(self.document.refuse(&file.span(), expected))
            }
            (None, None) => {
                let expected = "a number of processors, or resources = \"FILE.xml\"";
                Err(self.document.missing(&raw.span(), "processors", expected))
            }
            (Some(processors), None) => {
                let processors = processors.get().as_u32();
                let source = ClusterSource::Processors(processors);
                Ok((Resources::homogeneous(processors), source))
            }
            (None, Some(file)) => {
                let path = self
                    .find(&file.get().0.0)
                    .map_err(|places| self.document.refuse(&file.span(), places))?;
                let read = self.read_resources(&path, &file.span())?;
                Ok((read, ClusterSource::File(path)))
            }
        }
    }

    fn read_resources(&self, path: &Path, span: &Range<usize>) -> Result<Resources, ScenarioError> {
        resources::read(path).map_err(|source| {
            let (field, value) = self.document.describe(span);
            ScenarioError::Resources {
                at: self.document.source.place(span),
                field,
                value,
                source: Box::new(source),
            }
        })
    }

    fn add_link(&self, built: &mut Built, raw: &At<RawLink>) -> Result<(), ScenarioError> {
        let (grid, link) = (&mut built.grid, raw.get());
        let Some(between) = &link.between else {
            let expected = "the names of two domains";
            return Err(self.document.missing(&raw.span(), "between", expected));
        };
        let [one, other] = between.get().0.as_slice() else {
            return Err(self
                .document
                .refuse(&between.span(), "the names of two domains"));
        };
        let (a, b) = (self.domain(grid, one)?, self.domain(grid, other)?);
        if a == b {
            return Err(self
                .document
                .refuse(&between.span(), "two different domains"));
        }
        if grid.latency(a, b).is_some() {
            return Err(self
                .document
                .refuse(&between.span(), "one link between two domains"));
        }
        let latency = link.latency.map_or(LINK_LATENCY, |latency| latency.0.0);
        for (consumer, provider) in self.directions(grid, link, (a, b))? {
            grid.links.push(Link {
                consumer,
                provider,
                latency,
                bandwidth: link.bandwidth_mib_s.map(|bandwidth| bandwidth.0),
            });
        }
        if let Some(protocol) = link.protocol {
            built.protocols.insert((a.min(b), a.max(b)), protocol.0.0);
        }
        Ok(())
    }

    fn directions(
        &self,
        grid: &Grid,
        link: &RawLink,
        (a, b): (DomainId, DomainId),
    ) -> Result<Vec<(DomainId, DomainId)>, ScenarioError> {
        let Some(roles) = &link.roles else {
            return Ok(vec![(a, b), (b, a)]);
        };
        let missing = |key| {
            self.document
                .missing(&roles.span(), key, "one of the two domains")
        };
        let consumer = roles
            .get()
            .consumer
            .as_ref()
            .ok_or_else(|| missing("consumer"))?;
        let provider = roles
            .get()
            .provider
            .as_ref()
            .ok_or_else(|| missing("provider"))?;
        let direction = (self.domain(grid, consumer)?, self.domain(grid, provider)?);
        if direction != (a, b) && direction != (b, a) {
            let expected = "one of the two domains as consumer and the other as provider";
            return Err(self.document.refuse(&roles.span(), expected));
        }
        Ok(vec![direction])
    }

    pub(super) fn domain(
        &self,
        grid: &Grid,
        name: &At<Str<Identifier>>,
    ) -> Result<DomainId, ScenarioError> {
        let names: Vec<&str> = grid
            .domains
            .iter()
            .map(|domain| domain.name.as_str())
            .collect();
        self.position(name, &names, "a domain").map(DomainId)
    }
}

/// Links every two domains that are not linked yet, in file order.
fn add_mesh(grid: &mut Grid, mesh: &RawMesh) {
    let count = u16::try_from(grid.domains.len()).unwrap_or(u16::MAX);
    let latency = mesh.latency.map_or(LINK_LATENCY, |latency| latency.0.0);
    let bandwidth = mesh.bandwidth_mib_s.map(|bandwidth| bandwidth.0);
    let written: BTreeSet<(DomainId, DomainId)> = grid
        .links
        .iter()
        .map(|link| {
            (
                link.consumer.min(link.provider),
                link.consumer.max(link.provider),
            )
        })
        .collect();
    for a in (0..count).map(DomainId) {
        for b in (a.0 + 1..count).map(DomainId) {
            if written.contains(&(a, b)) {
                continue;
            }
            for (consumer, provider) in [(a, b), (b, a)] {
                grid.links.push(Link {
                    consumer,
                    provider,
                    latency,
                    bandwidth,
                });
            }
        }
    }
}

/// The settings of the broker of domain `index` of `count`, which are those
/// of the design where nothing is written.
fn broker_settings(raw: &RawBroker, (index, count): (usize, usize)) -> BrokerSettings {
    let default = BrokerSettings::default();
    let interval = raw
        .interval
        .map_or(default.interval, |interval| interval.0.0);
    let staggered = u128::from(interval.as_nanos()) * index as u128 / count.max(1) as u128;
    // The index is below the count, so that the phase is below the interval.
    let staggered = SimDuration::from_nanos(u64::try_from(staggered).unwrap_or(u64::MAX));
    let max_hops = raw.max_hops.map_or(default.max_hops, |hops| hops.as_u32());
    BrokerSettings {
        interval,
        exchange: raw
            .exchange
            .map_or(default.exchange, |exchange| exchange.0.0),
        phase: raw.phase.map_or(staggered, |phase| phase.0),
        max_hops,
        ttl: raw.ttl.map_or(max_hops, |ttl| ttl.as_u32()),
        origin_promotion: raw
            .origin_promotion
            .map_or(default.origin_promotion, |alpha| alpha.0),
        own_dispatch: raw.own_dispatch.map_or(default.own_dispatch, |own| own.0.0),
        local_info: raw.local_info.map_or(default.local_info, |info| info.0.0),
        tie: default.tie,
        policy: default.policy,
        queue_window: raw
            .queue_window
            .map_or(default.queue_window, |window| window.0.0),
        utilization_window: raw
            .utilization_window
            .map_or(default.utilization_window, |window| window.0.0),
        lrms_latency: raw
            .lrms_latency
            .map_or(default.lrms_latency, |latency| latency.0.0),
        external: false,
    }
}
