//! Messages about resources: `requestResourceData`, `sendResourceData`.

use super::words::{Form, UpdateKind, UpdateVerdict};
use super::xml::{LaGrid, parts};
use crate::inventory::InventoryDocument;
use crate::rest::{LetterName, LoadReport, NodeGroup};
use crate::xml::LAGRID;

parts! {
    /// A consumer asks a provider for its resources (pull).
    pub struct RequestResourceData {
        /// The connection.
        pub connection: String = "connection",
        /// How far the information shall be aggregated; absent, as agreed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub form: Option<Form> = "form",
        /// The last update that the consumer has, for an incremental answer;
        /// absent, the answer is full.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub since: Option<u64> = "since",
    }

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

    /// A provider tells a consumer of its resources (push).
    pub struct SendResourceData {
        /// The connection.
        pub connection: String = "connection",
        /// The name of this letter; without one it is never a repetition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub letter: Option<LetterName> = "letter",
        /// When it was meant to arrive, in nanoseconds of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub meant_ns: Option<u64> = "meantNs",
        /// The resources.
        pub update: ResourceUpdate = "update",
    }

    /// What became of an update.
    pub struct SendResourceDataAnswer {
        /// What became of it.
        pub verdict: UpdateVerdict = "verdict",
        /// The last update that the consumer has now, 0 if none.
        pub have: u64 = "have",
    }
}
