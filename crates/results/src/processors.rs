//! The processors of a grid by number.

use gridrig_core::placement::PlacementRun;

/// All processors of the grid, numbered through all clusters in file order,
/// resource by resource and node by node, and which are in use. A placement says
/// how many processors of a node a job has; which ones is decided here, the
/// lowest free ones first.
pub(crate) struct Processors {
    busy: Vec<bool>,
    /// Of each cluster, the first processor of each resource with its nodes
    /// and processors per node.
    groups: Vec<Vec<(usize, u32, u32)>>,
}

impl Processors {
    /// Of clusters by the nodes, and processors per node, of their resources.
    pub(crate) fn new<C: IntoIterator<Item = (u32, u32)>>(
        clusters: impl Iterator<Item = C>,
    ) -> Self {
        let mut first = 0;
        let mut number = |(nodes, per_node): (u32, u32)| {
            let group = (first, nodes, per_node);
            first += nodes as usize * per_node as usize;
            group
        };
        let groups = clusters.map(|own| own.into_iter().map(&mut number).collect());
        let groups = groups.collect();
        Processors {
            busy: vec![false; first],
            groups,
        }
    }

    /// The processors of a placement, rising. Nodes that do not exist are
    /// passed over; the audit tells of them.
    pub(crate) fn take(&mut self, cluster: usize, placement: &[PlacementRun]) -> Vec<usize> {
        let mut taken = Vec::new();
        let groups = self.groups.get(cluster).map_or(&[][..], Vec::as_slice);
        for run in placement {
            let Some(&(first, count, per_node)) = groups.get(usize::from(run.resource)) else {
                continue;
            };
            let end = run.node.saturating_add(run.nodes).min(count);
            for node in run.node..end {
                let begin = first + node as usize * per_node as usize;
                let own = begin..begin + per_node as usize;
                let free = own.filter(|&processor| !self.busy[processor]);
                let chosen: Vec<usize> = free.take(run.processors as usize).collect();
                for &processor in &chosen {
                    self.busy[processor] = true;
                }
                taken.extend(chosen);
            }
        }
        taken.sort_unstable();
        taken
    }

    /// Takes processors back.
    pub(crate) fn give_back(&mut self, processors: &[usize]) {
        for &processor in processors {
            self.busy[processor] = false;
        }
    }
}
