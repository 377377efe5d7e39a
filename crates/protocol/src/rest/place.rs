//! Who and where.

use crate::xml::record::is_default;
use gridrig_core::event::Party;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::message::Target;
use gridrig_core::placement::PlacementRun;
use serde::{Deserialize, Serialize};

/// A kind of participant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PlaceKind {
    /// Whoever submits.
    #[default]
    Client,
    /// A domain's broker.
    Broker,
    /// A cluster's LRMS.
    Lrms,
}

/// A participant of the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// What it is.
    pub kind: PlaceKind,
    /// A broker: its domain; an LRMS: its cluster, both counted from 0 in
    /// the order of the scenario. Left out for a client.
    #[serde(default, skip_serializing_if = "is_default")]
    pub id: u16,
}

impl From<Party> for Place {
    fn from(party: Party) -> Self {
        let (kind, id) = match party {
            Party::Client => (PlaceKind::Client, 0),
            Party::Broker(domain) => (PlaceKind::Broker, domain.0),
            Party::Lrms(cluster) => (PlaceKind::Lrms, cluster.0),
        };
        Place { kind, id }
    }
}

impl From<Place> for Party {
    fn from(place: Place) -> Self {
        match place.kind {
            PlaceKind::Client => Party::Client,
            PlaceKind::Broker => Party::Broker(DomainId(place.id)),
            PlaceKind::Lrms => Party::Lrms(ClusterId(place.id)),
        }
    }
}

impl From<Target> for Place {
    fn from(target: Target) -> Self {
        match target {
            Target::Cluster(cluster) => Party::Lrms(cluster).into(),
            Target::Peer(domain) => Party::Broker(domain).into(),
        }
    }
}

impl Place {
    /// The place as something a broker sends jobs to; a client is none.
    pub fn target(self) -> Option<Target> {
        match self.kind {
            PlaceKind::Client => None,
            PlaceKind::Broker => Some(Target::Peer(DomainId(self.id))),
            PlaceKind::Lrms => Some(Target::Cluster(ClusterId(self.id))),
        }
    }
}

/// Neighbouring nodes of one resource, each giving the same number of
/// processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PlacementReport {
    /// Position of the resource in the cluster's description, from 0.
    pub resource: u16,
    /// First node, counted within the resource from 0.
    pub node: u32,
    /// How many nodes.
    pub nodes: u32,
    /// Processors taken on each.
    pub processors: u32,
}

impl From<&PlacementRun> for PlacementReport {
    fn from(run: &PlacementRun) -> Self {
        PlacementReport {
            resource: run.resource,
            node: run.node,
            nodes: run.nodes,
            processors: run.processors,
        }
    }
}

impl From<&PlacementReport> for PlacementRun {
    fn from(report: &PlacementReport) -> Self {
        PlacementRun {
            resource: report.resource,
            node: report.node,
            nodes: report.nodes,
            processors: report.processors,
        }
    }
}
