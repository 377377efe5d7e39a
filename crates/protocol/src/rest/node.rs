//! Nodes of an LRMS that are taken down and up by hand.

use serde::{Deserialize, Serialize};

/// Whether a node is to be up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({"up": false})))]
pub struct NodeState {
    /// It runs jobs; else it is down.
    pub up: bool,
}

/// The nodes of an LRMS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeList {
    /// How many there are: `n1`, `n2`, ... over all resources in file order.
    pub nodes: u32,
    /// The names of those that are down, in order.
    pub down: Vec<String>,
}
