//! One cluster of everything: what the grid could do without any borders.

use super::{Replication, Scenario};
use crate::document::Cluster;
use crate::value::{At, Count, PathText, Str, Whole};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::grid::Grid;
use gridrig_core::ids::ClusterId;
use gridrig_core::job::Entry;
use gridrig_core::policy::PolicySpec;
use gridrig_core::resource::Resources;
use std::path::Path;

/// Name of the bound that has every node of a grid in one cluster, of that
/// cluster, and of the directory of its runs.
pub const POOLED: &str = "pooled";

/// Whether what has this name shows what is possible at best or at worst.
pub fn is_bound(policy: &str) -> bool {
    let known = policy.parse::<PolicySpec>();
    policy == POOLED || known.is_ok_and(|policy| policy.entry().is_bound)
}

/// Where the pooled cluster's nodes are described, beside the resolved
/// scenario, if a number of processors does not.
pub const POOLED_RESOURCES: &str = "pooled-resources.xml";

impl Scenario {
    /// The same jobs on one cluster that has all nodes of the grid, with the
    /// discipline of the first cluster and without any broker; `None` if there
    /// is no cluster, or nodes of one fail.
    pub fn pooled(&self) -> Option<Scenario> {
        if self.clusters().any(Cluster::fails) {
            return None;
        }
        let first = self.grid.clusters.first()?;
        let nodes = self.grid.clusters.iter();
        let groups = nodes.flat_map(|cluster| cluster.config.resources.groups().iter().cloned());
        let processors = self.clusters().map(|cluster| cluster.processors);
        let processors: Option<Vec<Count>> = processors.collect();
        let mut written = Cluster {
            discipline: self.clusters().next()?.discipline.clone(),
            ..Cluster::default()
        };
        let resources = match processors {
            Some(processors) => {
                let all = processors.iter().map(|own| own.as_u32());
                let all = all.fold(0, u32::saturating_add);
                written.processors = Some(Whole(all.into()));
                Resources::homogeneous(all)
            }
            None => {
                written.resources = Some(Str(PathText::of(Path::new(POOLED_RESOURCES))));
                Resources::new(groups.collect())?
            }
        };
        let config = ClusterConfig {
            interval: first.config.interval,
            own_discipline: first.config.own_discipline.clone(),
            ..ClusterConfig::new(ClusterId(0), resources, first.config.discipline)
        };
        let mut scenario = Scenario {
            grid: Grid::single_cluster(POOLED, config),
            policies: vec![None],
            faults: None,
            bounds: false,
            warnings: Vec::new(),
            ..self.clone()
        };
        let document = &mut scenario.document;
        let cluster = Cluster::of(&scenario.grid.clusters[0], written);
        (document.domain, document.link, document.faults) = (None, None, None);
        document.cluster = Some(At::new(cluster));
        if let Some(run) = document.run.as_mut().map(At::get_mut) {
            (run.policies, run.bounds, run.tie) = (None, None, None);
            (run.day, run.starts_at) = (None, None);
        }
        let entry = Entry::Cluster(ClusterId(0));
        for (_, workload) in document.workload.iter_mut() {
            if workload.spread.is_none() {
                workload.enter(entry, &scenario.grid);
            }
        }
        for workload in &mut scenario.workloads {
            workload.entry = entry;
        }
        Some(scenario)
    }
}

impl Replication {
    /// This replication on one pooled cluster, if the scenario asks for bounds.
    pub fn pooled(&self) -> Option<Replication> {
        let scenario = self.scenario.bounds.then(|| self.scenario.pooled())??;
        Some(Replication {
            scenario,
            pooled: true,
            ..self.clone()
        })
    }
}
