//! Domains, clusters and links.

use super::Context;
use super::faults::MOST_FAILURES;
use crate::document::{Broker, Cluster, Document, Domain, Link, Mesh, Roles, Run};
use crate::failure_table::FailureTable;
use crate::interface::LinkProtocol;
use crate::value::{At, Identifier, PathText, Positive, Str, Written, fill};
use crate::{Result, ScenarioError};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{self, Grid, GridCluster, Topology};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::policy::{Commit, POLICIES, PolicySpec};
use gridrig_core::resource::{MOST_PROCESSORS, Resources};
use gridrig_core::time::SimDuration;
use gridrig_protocol::resources;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

/// Latency of a link that names none (design 5).
const LINK_LATENCY: SimDuration = SimDuration::from_millis(1);

/// The most domains or clusters: their ids have 16 bits.
const MOST: usize = u16::MAX as usize;

/// The grid and what of its links is no matter of the model.
#[derive(Default)]
pub(super) struct Built {
    pub(super) grid: Grid,
    pub(super) protocols: BTreeMap<(DomainId, DomainId), LinkProtocol>,
    /// Directories with the commands of Slurm.
    slurm_bins: BTreeSet<PathBuf>,
}

impl Context<'_> {
    pub(super) fn grid(
        &self,
        raw: &mut Document,
        run: &Run,
        policy: Option<&PolicySpec>,
    ) -> Result<Built> {
        let mut built = Built::default();
        if raw.cluster.is_some() && raw.domain.is_none() {
            self.refuse_broker_keys(raw, run)?;
        }
        match (&mut raw.cluster, &mut raw.domain) {
            (Some(cluster), Some(_)) => {
                let expected = "either [cluster] (a run without brokers) or [[domain]], not both";
                return Err(self.refuse(&cluster.span(), expected));
            }
            (None, None) => {
                let expected = "[cluster] for a run without brokers, or [[domain]]";
                return Err(self.tables.missing(&(0..0), "cluster", expected));
            }
            (Some(cluster), None) => self.add_cluster(&mut built, cluster, None)?,
            (None, Some(domains)) => {
                let span = domains.span();
                let list = domains.get_mut();
                let count = list.len();
                let some = (1..=MOST).contains(&count);
                self.check(some, &span, "between 1 and 65535 domains")?;
                for (index, domain) in list.iter_mut().enumerate() {
                    self.add_domain(&mut built, domain, (index, count), run, policy)?;
                }
                self.topology(&mut built.grid, list)?;
                let some = !built.grid.clusters.is_empty();
                self.check(some, &span, "at least one domain with a cluster")?;
            }
        }
        let links = raw.link.iter_mut();
        for link in links.flat_map(At::get_mut) {
            self.add_link(&mut built, link)?;
        }
        let mesh = raw.mesh.take();
        let mesh = mesh.as_ref().map(At::get);
        let written = add_mesh(&mut built.grid, mesh);
        let links = raw.link.get_or_insert_with(|| At::new(Default::default()));
        links.get_mut().extend(written.into_iter().map(At::new));
        raw.link = raw.link.take().filter(|links| !links.get().is_empty());
        Ok(built)
    }

    /// Keys that mean nothing without brokers.
    fn refuse_broker_keys(&self, raw: &Document, run: &Run) -> Result<()> {
        let links = raw.link.as_ref().map(At::span);
        let mesh = raw.mesh.as_ref().map(At::span);
        let spans = links.or(mesh).or_else(|| run.tie.as_ref().map(At::span));
        let expected = "nothing in a run without brokers ([[domain]])";
        spans.map_or(Ok(()), |span| Err(self.refuse(&span, expected)))
    }

    fn add_domain(
        &self,
        built: &mut Built,
        raw: &mut At<Domain>,
        (index, count): (usize, usize),
        run: &Run,
        policy: Option<&PolicySpec>,
    ) -> Result<()> {
        let span = raw.span();
        let raw = raw.get_mut();
        let name = self.required(&raw.name, &span, "name", "the name of the domain")?;
        let own = |other: &grid::Domain| other.name != name.get().0.0;
        let own = built.grid.domains.iter().all(own);
        self.check(own, &name.span(), "a name no other domain has")?;
        let id = DomainId(u16::try_from(index).unwrap_or(u16::MAX));
        let first = built.grid.clusters.len();
        for cluster in raw.clusters.get_or_insert_default() {
            self.add_cluster(built, cluster, Some(id))?;
        }
        let grid = &mut built.grid;
        // The index is below the count, so that the phase is below the interval.
        let staggered = |interval: SimDuration| {
            let phase = u128::from(interval.as_nanos()) * index as u128 / count.max(1) as u128;
            SimDuration::from_nanos(u64::try_from(phase).unwrap_or(u64::MAX))
        };
        let broker = raw.broker.get_or_insert_with(|| At::new(Broker::default()));
        let mut settings = broker.get().settings(staggered);
        settings.tie = run.tie.as_ref().map_or(settings.tie, Written::value);
        settings.policy = policy.cloned().unwrap_or_default();
        if !broker.get().is_external() {
            *broker.get_mut() = Broker::of(&settings, Broker::default());
        }
        let clusters = &grid.clusters[first..];
        let clusters = clusters.iter().map(|cluster| cluster.config.id).collect();
        grid.domains.push(grid::Domain {
            name: name.get().0.0.clone(),
            broker: settings,
            clusters,
            topology: Topology {
                site: raw.site.as_ref().map(|site| site.0.0.as_str().into()),
                grid: raw.grid.as_ref().map(|grid| grid.0.0.as_str().into()),
                ..Topology::default()
            },
        });
        Ok(())
    }

    /// Jobs wait for room only under policies that know of any; the bounds commit
    /// early, whatever the others do.
    pub(super) fn refuse_late(
        &self,
        raw: &Document,
        grid: &Grid,
        policies: &[Option<PolicySpec>],
    ) -> Result<()> {
        let contenders = || policies.iter().flatten().filter(|p| !p.entry().is_bound);
        let Some(policy) = contenders().find(|p| !p.entry().can_commit_late()) else {
            return Ok(());
        };
        for (raw, domain) in raw.domains().zip(&grid.domains) {
            if let (Some(broker), Commit::Late) = (&raw.broker, domain.broker.commit) {
                let able = POLICIES.iter().filter(|entry| entry.can_commit_late());
                let able: Vec<&str> = able.map(|entry| entry.name).collect();
                let expected = format!(
                    "\"early\" with {policy}, which cannot tell whether there is room; late is \
                     possible with {}, also for a single policy as \"{}(commit=late)\"",
                    able.join(", "),
                    able[0]
                );
                return Err(self.refuse(&self.tables.key(&broker.span(), "commit"), expected));
            }
        }
        Ok(())
    }

    fn add_cluster(
        &self,
        built: &mut Built,
        raw: &mut At<Cluster>,
        domain: Option<DomainId>,
    ) -> Result<()> {
        let (grid, span) = (&mut built.grid, raw.span());
        let key = |key| self.tables.key(&span, key);
        let cluster = raw.get_mut();
        let name = match (&cluster.name, domain) {
            (None, None) => "cluster".to_owned(),
            (name, _) => {
                let name = self.required(name, &span, "name", "the name of the cluster")?;
                name.0.0.clone()
            }
        };
        let own = grid.clusters.iter().all(|other| other.name != name);
        self.check(own, &key("name"), "a name no other cluster has")?;
        self.check(grid.clusters.len() < MOST, &span, "at most 65535 clusters")?;
        let resources = self.resources(cluster, &span)?;
        let id = ClusterId(u16::try_from(grid.clusters.len()).unwrap_or(u16::MAX));
        self.lrms(cluster, &span)?;
        self.own_discipline(cluster, &key("discipline"))?;
        let config = cluster.config(id, resources);
        let has_slurm = config.discipline == DisciplineKind::SlurmBackfill;
        let expected = "no slurm settings, or discipline = \"slurm-backfill\"";
        let may = has_slurm || cluster.slurm.is_none();
        self.check(may, &key("slurm"), expected)?;
        let bin = cluster.slurm_bin();
        let own = bin.is_none_or(|dir| built.slurm_bins.insert(dir));
        let expected = "a directory that no other cluster has";
        self.check(own, &key("slurm_bin"), expected)?;
        self.run_times(cluster, &config, &key("run_times"))?;
        self.node_failures(cluster, &config.resources, &span)?;
        cluster.faces = cluster.faces.take().filter(|faces| !faces.is_empty());
        let cluster_of_grid = GridCluster {
            name,
            domain,
            config,
        };
        *cluster = Cluster::of(&cluster_of_grid, std::mem::take(cluster));
        grid.clusters.push(cluster_of_grid);
        Ok(())
    }

    /// Run times that are known are those on the nodes as they are.
    fn run_times(
        &self,
        cluster: &Cluster,
        config: &ClusterConfig,
        at: &Range<usize>,
    ) -> Result<()> {
        let programs = cluster.run_times.iter().flatten();
        let sizes = programs.map(|(_, sizes)| sizes);
        if sizes.clone().next().is_none() {
            return Ok(());
        }
        let emulated = "nothing with a real LRMS, which determines how long jobs run";
        self.check(!cluster.is_real(), at, emulated)?;
        let some = sizes.clone().all(|sizes| !sizes.is_empty());
        let expected = "sizes with their run times, such as { 5 = { 1 = \"15355s\" } }";
        self.check(some, at, expected)?;
        let groups = config.resources.groups();
        let one_speed = groups.iter().all(|group| group.speed == groups[0].speed);
        self.check(one_speed, at, "a cluster whose nodes have one speed")
    }

    /// How its nodes fail.
    fn node_failures(
        &self,
        cluster: &mut Cluster,
        resources: &Resources,
        span: &Range<usize>,
    ) -> Result<()> {
        cluster.outages = cluster.outages.take().filter(|outages| !outages.is_empty());
        if cluster.is_real() {
            let may = !cluster.fails() && cluster.on_node_failure.is_none();
            let expected = "no failures of nodes, since a real LRMS reports its own";
            return self.check(may, span, expected);
        }
        if let Some(file) = &mut cluster.node_failures_file {
            let at = self.tables.key(span, "node_failures_file");
            let refuse = |expected: String| self.refuse(&at, expected);
            let found = self.find(&file.0.0).map_err(refuse)?;
            let text = std::fs::read_to_string(&found);
            let text = text.map_err(|why| refuse(format!("a text file ({why})")))?;
            let table = FailureTable::read(text, resources);
            let table = table.map_err(|why| refuse(format!("a table of failures ({why})")))?;
            cluster.failures = Some(table);
            *file = Str(PathText::of(&found));
        }
        // One a second is many enough.
        let at = self.tables.key(span, "node_failures");
        let failures = cluster.node_failures.as_ref().map(|it| (it, at));
        self.failures(failures, SimDuration::from_secs(MOST_FAILURES))?;
        for outage in cluster.outages.iter().flatten() {
            let at = self.tables.key(span, "outages");
            let ends = outage.from.zip(outage.until);
            let expected = "outages that each have a from and a later until";
            let in_order = ends.is_some_and(|(from, until)| from.0 < until.0);
            self.check(in_order, &at, expected)?;
        }
        Ok(())
    }

    fn resources(&self, raw: &mut Cluster, span: &Range<usize>) -> Result<Resources> {
        let at = || self.tables.key(span, "resources");
        match (&raw.processors, &mut raw.resources) {
            (Some(_), Some(_)) => {
                let expected = "either processors or resources, not both";
                Err(self.refuse(&at(), expected))
            }
            (None, None) => {
                let expected = "a number of processors, or resources = \"FILE.xml\"";
                Err(self.tables.missing(span, "processors", expected))
            }
            (Some(processors), None) => {
                let count = processors.as_u32();
                let at = self.tables.key(span, "processors");
                let expected = format!("at most {MOST_PROCESSORS} processors in a cluster");
                self.check(count <= MOST_PROCESSORS, &at, &expected)?;
                Ok(Resources::homogeneous(count))
            }
            (None, Some(file)) => {
                let path = self.find(&file.0.0);
                let path = path.map_err(|places| self.refuse(&at(), places))?;
                *file = Str(PathText::of(&path));
                resources::read(&path).map_err(|source| {
                    let (field, value) = self.tables.describe(&at());
                    ScenarioError::Resources {
                        at: self.tables.source.place(&at()),
                        field,
                        value,
                        source: Box::new(source),
                    }
                })
            }
        }
    }

    fn add_link(&self, built: &mut Built, raw: &mut At<Link>) -> Result<()> {
        let span = raw.span();
        let (grid, link) = (&mut built.grid, raw.get_mut());
        let names = "the names of two domains";
        let between = self.required(&link.between, &span, "between", names)?;
        let at = between.span();
        let [one, other] = between.get().as_slice() else {
            return Err(self.refuse(&at, names));
        };
        let (a, b) = (self.domain(grid, one)?, self.domain(grid, other)?);
        self.check(a != b, &at, "two different domains")?;
        let first = grid.latency(a, b).is_none();
        self.check(first, &at, "one link between two domains")?;
        let latency = fill(&mut link.latency, LINK_LATENCY);
        let directions = self.directions(grid, &link.roles, (a, b))?;
        if let ([direction], Some(between)) = (directions.as_slice(), &mut link.between)
            && *direction != (a, b)
        {
            between.get_mut().reverse();
        }
        for (consumer, provider) in directions {
            grid.links.push(grid::Link {
                consumer,
                provider,
                latency,
                bandwidth: link.bandwidth_mib_s.map(|bandwidth| bandwidth.0),
            });
        }
        if let Some(protocol) = &link.protocol {
            let ends = (a.min(b), a.max(b));
            built.protocols.insert(ends, protocol.value());
        }
        Ok(())
    }

    fn directions(
        &self,
        grid: &Grid,
        roles: &Option<At<Roles>>,
        (a, b): (DomainId, DomainId),
    ) -> Result<Vec<(DomainId, DomainId)>> {
        let Some(roles) = roles else {
            return Ok(vec![(a, b), (b, a)]);
        };
        let (span, roles) = (roles.span(), roles.get());
        let one = "one of the two domains";
        let consumer = self.required(&roles.consumer, &span, "consumer", one)?;
        let provider = self.required(&roles.provider, &span, "provider", one)?;
        let direction = (self.domain(grid, consumer)?, self.domain(grid, provider)?);
        let expected = "one of the two domains as consumer and the other as provider";
        self.check([(a, b), (b, a)].contains(&direction), &span, expected)?;
        Ok(vec![direction])
    }

    pub(super) fn domain(&self, grid: &Grid, name: &At<Str<Identifier>>) -> Result<DomainId> {
        let names: Vec<&str> = grid.domains.iter().map(|it| it.name.as_str()).collect();
        self.position((&name.get().0.0, &name.span()), &names, "a domain")
            .map(DomainId)
    }
}

/// Links every two domains that are not linked yet, in file order: with a mesh all, else
/// neighbours in the tree, and all with the central domain. Answers the links as somebody
/// could have written them.
fn add_mesh(grid: &mut Grid, mesh: Option<&Mesh>) -> Vec<Link> {
    let count = u16::try_from(grid.domains.len()).unwrap_or(u16::MAX);
    let latency = mesh.and_then(|mesh| mesh.latency);
    let latency = latency.map_or(LINK_LATENCY, |latency| latency.value());
    let bandwidth = mesh.and_then(|mesh| mesh.bandwidth_mib_s);
    let bandwidth = bandwidth.map(|bandwidth| bandwidth.0);
    let central = grid.central();
    let ends = |link: &grid::Link| (link.consumer, link.provider);
    let written: BTreeSet<(DomainId, DomainId)> = grid.links.iter().map(ends).collect();
    let mut links = Vec::new();
    for a in (0..count).map(DomainId) {
        for b in (a.0 + 1..count).map(DomainId) {
            let near = grid.relation(a, b).is_some() || [Some(a), Some(b)].contains(&central);
            let wanted = mesh.is_some() || near;
            if !wanted || written.contains(&(a, b)) || written.contains(&(b, a)) {
                continue;
            }
            for (consumer, provider) in [(a, b), (b, a)] {
                grid.links.push(grid::Link {
                    consumer,
                    provider,
                    latency,
                    bandwidth,
                });
            }
            let name = |id: DomainId| Str(Identifier(grid.domains[id.index()].name.clone()));
            links.push(Link {
                between: Some(At::new(vec![At::new(name(a)), At::new(name(b))])),
                latency: Some(Written::of(latency)),
                bandwidth_mib_s: bandwidth.map(Positive),
                ..Link::default()
            });
        }
    }
    links
}
