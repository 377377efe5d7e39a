//! Parts of messages about resources, and the answers to these.

use super::words::{Form, UpdateKind, UpdateVerdict};
use super::xml::{LaGrid, parts};
use crate::inventory::InventoryDocument;
use crate::rest::{LoadReport, NodeGroup};
use crate::xml::LAGRID;

parts! {
    /// A provider's resources, or what has changed of them. Updates of one
    /// provider on one connection have rising sequence numbers, pushed and pulled
    /// ones alike.
    pub struct ResourceUpdate {
        /// How much it has.
        pub kind: UpdateKind = "kind",
        /// Its number, from 1.
        pub sequence: u64 = "sequence",
        /// The update that an incremental one is based on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub from_sequence: Option<u64> = "fromSequence",
        /// How far it is aggregated.
        pub form: Form = "form",
        /// When it was taken, in nanoseconds of the run.
        pub at_ns: u64 = "atNs",
        /// The clusters: all of them, or those that have changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub clusters: Vec<ClusterReport> = "cluster",
        /// The resources as records, in the form of the update; always all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub inventory: Option<InventoryDocument> = "inventory",
        /// Clusters that are gone, of an incremental update.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub removed: Vec<u16> = "removed",
    }

    /// A cluster: how loaded it is, and in a full update what it is made of.
    pub struct ClusterReport {
        /// Its name, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String> = "name",
        /// Its nodes by group; none in an incremental update, where they have not
        /// changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub groups: Vec<NodeGroup> = "nodes",
        /// Its load.
        pub load: LoadReport = "load",
    }

    /// What became of an update.
    pub struct SendResourceDataAnswer {
        /// What became of it.
        pub verdict: UpdateVerdict = "verdict",
        /// The last update that the consumer has now, 0 if none.
        pub have: u64 = "have",
    }
}
