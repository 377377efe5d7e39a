//! Resource information.

use super::generic::{self, GenericCounts};
use super::notice::LetterName;
use super::place::Place;
use super::problem::{Problem, Result};
use crate::xml::too_long;
use gridrig_core::generic::EXPECTED;
use gridrig_core::ids::ClusterId;
use gridrig_core::load::{FreeSpace, LoadSample, Mean};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A mean as the exact fraction `sum / weight_ns`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MeanReport {
    /// Value times nanoseconds, as a decimal string: it can pass 2^64. A broker
    /// takes means of at most 2^24.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9]{1,39}$", example = "0"))]
    pub sum: String,
    /// Nanoseconds, or 1 for the value of an instant.
    #[cfg_attr(
        feature = "openapi",
        schema(minimum = 1, maximum = 300_000_000_000_u64)
    )]
    pub weight_ns: u64,
}

/// The load of one cluster, sampled at an instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LoadReport {
    /// Which cluster.
    pub cluster: u16,
    /// When it was sampled, in nanoseconds of the run.
    pub at_ns: u64,
    /// All processors.
    pub processors: u32,
    /// Busy processors.
    pub busy: u32,
    /// Queued jobs.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 4_294_967_295_u64))]
    pub queued: u64,
    /// Processors that the queued jobs want.
    #[cfg_attr(
        feature = "openapi",
        schema(minimum = 0, maximum = 4_611_686_018_427_387_904_u64)
    )]
    pub queued_processors: u64,
    /// Processor-nanoseconds still to be done, as a decimal string. A real
    /// LRMS does not know it and says 0; no policy that runs in real time
    /// looks at it. A broker takes at most 2^90.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9]{1,39}$", example = "0"))]
    pub work_left: String,
    /// Queued jobs over 30 s.
    pub queued_mean_30s: MeanReport,
    /// Queued jobs over 300 s.
    pub queued_mean_300s: MeanReport,
    /// Busy processors over 30 s.
    pub busy_mean_30s: MeanReport,
    /// Busy processors over 300 s.
    pub busy_mean_300s: MeanReport,
    /// Memory of all nodes that no job has, in KiB, where nodes have a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_memory_kib: Option<u64>,
    /// The most of it on one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_node_memory_kib: Option<u64>,
    /// Disk of the nodes that have a free processor, in MiB, where nodes have a
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_disk_mib: Option<u64>,
    /// Generic resources of all nodes that no job has, where nodes have some.
    #[serde(
        default,
        deserialize_with = "generic::some",
        skip_serializing_if = "Option::is_none"
    )]
    pub free_generic_resources: Option<GenericCounts>,
}

impl From<&LoadSample> for LoadReport {
    fn from(sample: &LoadSample) -> Self {
        let mean = |mean: Mean| MeanReport {
            sum: mean.sum.to_string(),
            weight_ns: mean.weight,
        };
        LoadReport {
            cluster: sample.cluster.0,
            at_ns: sample.at.as_nanos(),
            processors: sample.processors,
            busy: sample.busy,
            queued: sample.queued,
            queued_processors: sample.queued_processors,
            work_left: sample.work_left.to_string(),
            queued_mean_30s: mean(sample.queued_means[0]),
            queued_mean_300s: mean(sample.queued_means[1]),
            busy_mean_30s: mean(sample.busy_means[0]),
            busy_mean_300s: mean(sample.busy_means[1]),
            free_memory_kib: sample.space.memory_kib,
            free_node_memory_kib: sample.space.node_memory_kib,
            free_disk_mib: sample.space.disk_mib,
            free_generic_resources: (!sample.space.generic.is_empty()).then(|| {
                let free = sample.space.generic.iter();
                let free = free.map(|(name, count)| (name.to_string(), *count));
                GenericCounts(free.collect())
            }),
        }
    }
}

impl TryFrom<&LoadReport> for LoadSample {
    type Error = Problem;

    fn try_from(report: &LoadReport) -> Result<Self> {
        Ok(LoadSample {
            cluster: ClusterId(report.cluster),
            at: SimTime::from_nanos(report.at_ns),
            processors: report.processors,
            busy: report.busy,
            queued: bounded("queued", report.queued, u64::from(u32::MAX))?,
            queued_processors: bounded("queued_processors", report.queued_processors, 1 << 62)?,
            work_left: whole("work_left", &report.work_left)?,
            queued_means: [
                mean("queued_mean_30s", &report.queued_mean_30s)?,
                mean("queued_mean_300s", &report.queued_mean_300s)?,
            ],
            busy_means: [
                mean("busy_mean_30s", &report.busy_mean_30s)?,
                mean("busy_mean_300s", &report.busy_mean_300s)?,
            ],
            space: FreeSpace {
                memory_kib: report.free_memory_kib,
                node_memory_kib: report.free_node_memory_kib,
                disk_mib: report.free_disk_mib,
                generic: match &report.free_generic_resources {
                    None => Default::default(),
                    Some(counts) => counts.free().ok_or_else(|| {
                        let field = "free_generic_resources";
                        Problem::field(field, &counts.to_string(), EXPECTED)
                    })?,
                },
            }
            .into(),
        })
    }
}

/// The longest window is 300 s. Brokers multiply these numbers with each other:
/// within these bounds the products of three clusters fit 128 bits.
const MAX_WEIGHT_NS: u64 = 300_000_000_000;
const MAX_MEAN: u128 = 1 << 24;
const MAX_SUM: u128 = 1 << 90;

fn mean(field: &str, report: &MeanReport) -> Result<Mean> {
    if report.weight_ns == 0 || report.weight_ns > MAX_WEIGHT_NS {
        let (field, value) = (format!("{field}.weight_ns"), report.weight_ns.to_string());
        let expected = "1 to 300000000000 (the longest window)";
        return Err(Problem::field(&field, &value, expected));
    }
    // Brokers read thousands of these; the name of the field is put together
    // only for a complaint.
    let wrong = |expected| Problem::field(&format!("{field}.sum"), &report.sum, expected);
    let sum = digits(&report.sum).ok_or_else(|| wrong(EXPECTED_WHOLE))?;
    if sum > u128::from(report.weight_ns) * MAX_MEAN {
        return Err(wrong("a mean of at most 2^24"));
    }
    Ok(Mean {
        sum,
        weight: report.weight_ns,
    })
}

const EXPECTED_WHOLE: &str = "a whole number of at most 2^90";

fn whole(field: &str, text: &str) -> Result<u128> {
    digits(text).ok_or_else(|| Problem::field(field, text, EXPECTED_WHOLE))
}

fn digits(text: &str) -> Option<u128> {
    let digits = crate::xml::digits(text).filter(|text| text.len() <= 39);
    digits?.parse().ok().filter(|value| *value <= MAX_SUM)
}

fn bounded(field: &str, value: u64, most: u64) -> Result<u64> {
    let wrong = || Problem::field(field, &value.to_string(), &format!("at most {most}"));
    (value <= most).then_some(value).ok_or_else(wrong)
}

/// Samples on their way to a broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InfoReport {
    /// Who sends them.
    pub from: Place,
    /// The name of this letter; without one it is never a repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub letter: Option<LetterName>,
    /// When it was meant to arrive, in nanoseconds of the run, so that it counts
    /// for the decisions it was meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_ns: Option<u64>,
    /// One per cluster.
    pub samples: Vec<LoadReport>,
}

impl InfoReport {
    /// The samples.
    ///
    /// # Errors
    /// When a number is none or out of range.
    pub fn samples(&self) -> Result<Vec<LoadSample>> {
        self.samples.iter().map(LoadSample::try_from).collect()
    }
}

/// The clock of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClockInfo {
    /// Time 0 of the run, in nanoseconds since 1970.
    pub epoch_unix_ns: u64,
    /// Seconds of the run per second on the wall, as a decimal.
    pub speed: String,
    /// The present, in nanoseconds of the run.
    pub now_ns: u64,
}

/// Identical nodes of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeGroup {
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of nodes.
    pub nodes: u32,
    /// Processors per node.
    pub processors_per_node: u32,
    /// Processor architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// Memory per node in MiB; absent if unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Disk per node in MiB; absent if unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_mib: Option<u64>,
    /// Speed relative to 1.0, as a decimal.
    pub speed: String,
    /// Generic resources per node, such as GPUs.
    #[serde(
        default,
        deserialize_with = "generic::some",
        skip_serializing_if = "Option::is_none"
    )]
    pub generic_resources: Option<GenericCounts>,
}

impl From<&Resource> for NodeGroup {
    fn from(group: &Resource) -> Self {
        NodeGroup {
            name: group.name.clone(),
            nodes: group.count,
            processors_per_node: group.cpu_count,
            architecture: group.architecture.clone(),
            os: group.os.clone(),
            memory_mib: group.memory_mib,
            disk_mib: group.disk_mib,
            speed: group.speed.to_string(),
            generic_resources: (!group.generic.is_empty()).then(|| (&group.generic).into()),
        }
    }
}

impl NodeGroup {
    /// The group in the terms of the model; `None` if its speed is no decimal
    /// number, its generic resources are none, or a name of it is too long.
    pub fn to_resource(&self) -> Option<Resource> {
        let names = [&self.name, &self.architecture, &self.os].into_iter();
        if names.flatten().any(|name| too_long(name).is_some()) {
            return None;
        }
        Some(Resource {
            name: self.name.clone(),
            count: self.nodes,
            cpu_count: self.processors_per_node,
            architecture: self.architecture.clone(),
            os: self.os.clone(),
            memory_mib: self.memory_mib,
            disk_mib: self.disk_mib,
            speed: Decimal::parse(&self.speed)?,
            generic: match &self.generic_resources {
                None => Default::default(),
                Some(counts) => counts.generics()?,
            },
        })
    }

    /// The groups of a cluster in file order.
    pub fn all(resources: &Resources) -> Vec<Self> {
        resources.groups().iter().map(NodeGroup::from).collect()
    }
}

/// An LRMS: what it is made of and how loaded it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClusterInfo {
    /// Its number in the run.
    pub cluster: u16,
    /// Its name.
    pub name: String,
    /// All processors.
    pub processors: u32,
    /// All nodes.
    pub nodes: u32,
    /// Its nodes by group.
    pub resources: Vec<NodeGroup>,
    /// What it achieves in benchmarks, decimal numbers by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub benchmarks: BTreeMap<String, String>,
    /// Its load at this instant.
    pub load: LoadReport,
    /// Its clock.
    pub clock: ClockInfo,
}

/// A candidate of a broker, and how old its knowledge of it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CandidateInfo {
    /// Who.
    pub place: Place,
    /// Age of the oldest sample in use, in nanoseconds of the run.
    pub information_age_ns: u64,
    /// Whether jobs may be sent there now.
    pub open: bool,
}

/// A broker: what it holds and what it knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BrokerInfo {
    /// Its domain's number in the run.
    pub domain: u16,
    /// Its domain's name.
    pub name: String,
    /// Its forwarding policy.
    pub policy: String,
    /// Jobs that wait for a cycle.
    pub queued: u64,
    /// Jobs whose end is not known here yet.
    pub held: u64,
    /// Whether it is drained: it takes no new jobs.
    pub draining: bool,
    /// Its candidates, in the order of decisions.
    pub candidates: Vec<CandidateInfo>,
    /// Its clock.
    pub clock: ClockInfo,
}

/// A broker that another one knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PeerInfo {
    /// Its domain's number in the run.
    pub domain: u16,
    /// Its domain's name.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// One-way latency of the link that is modelled on top of the network's.
    pub latency: String,
    /// Whether jobs may be forwarded to it.
    pub provider: bool,
    /// Whether it may forward jobs here.
    pub consumer: bool,
    /// The session with it, where the link speaks the protocol of LA Grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionInfo>,
}

/// How a session with a peer stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionInfo {
    /// `closed`, `open`, `suspect`, `lost` or `ended`.
    pub state: String,
    /// How this broker writes its messages: `soap-1.1`, `soap-1.2` or `json`.
    pub protocol: String,
    /// The name of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// How the peers show who they are: `none`, `bearer` or `mutual-tls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<String>,
    /// What this broker is to the peer: `provider`, `consumer`, `both` or
    /// `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Time on the wall between signs of life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
    /// How resources are told: `gridrig-clusters-1` is the load of clusters,
    /// `gridrig-inventory-1` records in a form besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_language: Option<String>,
    /// The form of the records: `flat`, `unique`, `one-to-n` or `n-to-n`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_form: Option<String>,
    /// Whether the terms are still to be negotiated anew.
    #[serde(default)]
    pub negotiating: bool,
}

/// Whether a broker takes new jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({"draining": true})))]
pub struct DrainChange {
    /// It takes none; else it is back at work.
    pub draining: bool,
    /// Until when, in nanoseconds of the run; if that is not said, until it is set
    /// back to work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<u64>,
}

impl DrainChange {
    /// When it takes jobs again.
    pub fn until(&self, now: SimTime) -> SimTime {
        let end = self.until_ns.map_or(SimTime::MAX, SimTime::from_nanos);
        if self.draining { end } else { now }
    }
}

/// What a broker shall be to a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({"role": "provider"})))]
pub struct RoleChange {
    /// `provider` (takes its jobs), `consumer` (sends it jobs), `both` or
    /// `none`.
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^(provider|consumer|both|none)$")
    )]
    pub role: String,
}

/// The brokers that a broker knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PeerList {
    /// By number of the domain.
    pub peers: Vec<PeerInfo>,
}

#[cfg(test)]
mod tests;
