//! The tree of domains as the manifest of a run has it.

use super::Unfit;
use gridrig_core::grid::Topology;
use gridrig_core::ids::DomainId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a domain stands among the others; what is as usual is left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TopologyDoc {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    siblings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grid: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    administrative: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    central: bool,
}

impl TopologyDoc {
    pub(super) fn of(topology: &Topology, name: impl Fn(DomainId) -> String) -> Self {
        let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        TopologyDoc {
            parent: topology.parent.map(&name),
            siblings: topology.siblings.iter().map(|id| name(*id)).collect(),
            site: text(&topology.site),
            grid: text(&topology.grid),
            administrative: topology.administrative,
            central: topology.central,
        }
    }

    pub(super) fn read(
        &self,
        find: impl Fn(&str, String) -> Result<DomainId, Unfit>,
        path: &str,
    ) -> Result<Topology, Unfit> {
        let parent = self.parent.as_deref();
        let parent = parent.map(|name| find(name, format!("{path}.parent")));
        let siblings = self.siblings.iter();
        let siblings = siblings.map(|name| find(name, format!("{path}.siblings")));
        Ok(Topology {
            parent: parent.transpose()?,
            siblings: siblings.collect::<Result<_, _>>()?,
            site: self.site.as_deref().map(Arc::from),
            grid: self.grid.as_deref().map(Arc::from),
            administrative: self.administrative,
            central: self.central,
        })
    }
}
