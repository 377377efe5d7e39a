//! One cluster of everything: what the grid could do without any borders.

use super::{ClusterSource, Provides, Replication, Scenario};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::grid::Grid;
use gridrig_core::ids::ClusterId;
use gridrig_core::job::Entry;
use gridrig_core::resource::Resources;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Name of the bound that has every node of a grid in one cluster, of that
/// cluster, and of the directory of its runs.
pub const POOLED: &str = "pooled";

/// Where the pooled cluster's nodes are described, beside the resolved
/// scenario, if a number of processors does not.
pub const POOLED_RESOURCES: &str = "pooled-resources.xml";

impl Scenario {
    /// The same jobs on one cluster that has all nodes of the grid, with the
    /// discipline of the first cluster and without any broker; `None` if there
    /// is no cluster.
    #[must_use]
    pub fn pooled(&self) -> Option<Scenario> {
        let first = self.grid.clusters.first()?;
        let nodes = self.grid.clusters.iter();
        let groups = nodes.flat_map(|cluster| cluster.config.resources.groups().iter().cloned());
        let alike = |source: &ClusterSource| match source {
            ClusterSource::Processors(processors) => Some(*processors),
            ClusterSource::File(_) => None,
        };
        let processors: Option<Vec<u32>> = self.cluster_sources.iter().map(alike).collect();
        let (resources, source) = match processors {
            Some(processors) => {
                let all = processors
                    .iter()
                    .fold(0, |sum: u32, own| sum.saturating_add(*own));
                (Resources::homogeneous(all), ClusterSource::Processors(all))
            }
            None => (
                Resources::new(groups.collect())?,
                ClusterSource::File(PathBuf::from(POOLED_RESOURCES)),
            ),
        };
        let config = ClusterConfig {
            interval: first.config.interval,
            ..ClusterConfig::new(ClusterId(0), resources, first.config.discipline)
        };
        let mut scenario = Scenario {
            grid: Grid::single_cluster(POOLED, config),
            cluster_sources: vec![source],
            lrms: BTreeMap::new(),
            provides: Provides::always(),
            policies: vec![None],
            bounds: false,
            warnings: Vec::new(),
            ..self.clone()
        };
        for workload in &mut scenario.workloads {
            workload.entry = Entry::Cluster(ClusterId(0));
        }
        Some(scenario)
    }
}

impl Replication {
    /// This replication on one pooled cluster, if the scenario asks for bounds.
    #[must_use]
    pub fn pooled(&self) -> Option<Replication> {
        let scenario = self.scenario.bounds.then(|| self.scenario.pooled())??;
        Some(Replication {
            scenario,
            pooled: true,
            ..self.clone()
        })
    }
}
