//! GLUE 2.0 as the OGF's own schema has it (GFD.147 and its XML rendering,
//! `GLUE2.xsd`): flat lists of entities below one root, which name each other
//! by their ids. What a broker publishes of its domain.

use super::{Benchmark, ComputingEndpoint, ComputingManager, ComputingShare, ExecutionEnvironment};
use super::{NAMESPACE, distribution, multiplicity, text_or_unknown};
use crate::xml::Element;

/// The state of a domain as its broker knows it: one computing service, whose
/// shares and managers are the clusters behind the broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainDocument {
    /// Name of the domain, for people.
    pub domain: String,
    /// When the document was made; see [`instant`](super::instant).
    pub created: String,
    /// What the service is, such as `gridrig.broker`.
    pub kind: String,
    /// Where jobs are submitted.
    pub endpoint: ComputingEndpoint,
    /// Jobs that wait in the broker and no LRMS has yet.
    pub waiting_in_broker: u64,
    /// The clusters.
    pub clusters: Vec<ClusterState>,
    /// Names of the domains whose brokers take jobs of this one. Each publishes
    /// a document of its own, in which its service has the id named here.
    pub providers: Vec<String>,
}

/// One cluster as the broker knows it. A broker is not told how many jobs run,
/// only how many wait and how many processors are busy: the numbers of running
/// jobs are not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterState {
    /// When the information was taken, which may be long ago.
    pub created: String,
    /// Its queue.
    pub share: ComputingShare,
    /// Its LRMS and nodes.
    pub manager: ComputingManager,
}

/// What GFD.147 (appendix on place-holder values) writes for an integer of 64
/// bits that is not known.
const UNKNOWN_NUMBER: u64 = 999_999_999_999_999_999;

/// A part of an id: what the schema's `LocalID_t` allows, other bytes as `_XX`.
#[must_use]
pub fn id_part(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        other => format!("_{other:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// The id of the computing service of a domain's broker.
fn service_id(domain: &str) -> String {
    format!("urn:ogf:ComputingService:{}", id_part(domain))
}

impl DomainDocument {
    /// The whole document, from `GLUE2` down.
    #[must_use]
    pub fn element(&self) -> Element {
        let managers = self.clusters.iter().map(|one| self.manager(one));
        let nodes = self.clusters.iter().flat_map(|one| self.environments(one));
        let benchmarks = self.clusters.iter().flat_map(|one| self.benchmarks(one));
        Element::new(NAMESPACE, "GLUE2")
            .with(self.admin_domain())
            .with(self.service())
            .with(self.endpoint())
            .with_all(self.clusters.iter().map(|one| self.share(one)))
            .with_all(managers)
            .with_all(nodes)
            .with_all(benchmarks)
    }

    fn service_id(&self) -> String {
        service_id(&self.domain)
    }

    fn shares(&self) -> impl Iterator<Item = &String> {
        self.clusters.iter().map(|one| &one.share.id)
    }

    fn admin_domain(&self) -> Element {
        entity("AdminDomain", Some("Domain"), &self.created)
            .field(
                "ID",
                format!("urn:ogf:AdminDomain:{}", id_part(&self.domain)),
            )
            .field("Name", &self.domain)
            .field("Distributed", "false")
            .with(Element::new(NAMESPACE, "Associations").field("ServiceID", self.service_id()))
    }

    fn service(&self) -> Element {
        let waiting: u64 = self.clusters.iter().map(|one| one.share.jobs.waiting).sum();
        let nodes = self.clusters.iter().map(|one| &one.manager.environments);
        let complexity = format!(
            "endpointType=1, share={}, resource={}",
            self.clusters.len(),
            nodes.map(Vec::len).sum::<usize>()
        );
        let managers = self.clusters.iter().map(|one| &one.manager.id);
        let providers = self.providers.iter().map(|name| service_id(name));
        entity("ComputingService", Some("Service"), &self.created)
            .field("ID", self.service_id())
            .field("Name", &self.domain)
            .fields("Capability", &self.endpoint.capabilities)
            .field("Type", &self.kind)
            .field("QualityLevel", "testing")
            .field("Complexity", complexity)
            .field("WaitingJobs", waiting)
            .field("PreLRMSWaitingJobs", self.waiting_in_broker)
            .with(
                Element::new(NAMESPACE, "Associations")
                    .field("EndpointID", &self.endpoint.id)
                    .fields("ShareID", self.shares())
                    .fields("ManagerID", managers)
                    .fields("ServiceID", providers),
            )
    }

    fn endpoint(&self) -> Element {
        let of = &self.endpoint;
        let element = entity("ComputingEndpoint", Some("Endpoint"), &self.created);
        super::endpoint(element, of, "testing")
            .fields("JobDescription", &of.job_descriptions)
            .field("PreLRMSWaitingJobs", self.waiting_in_broker)
            .with(
                Element::new(NAMESPACE, "Associations")
                    .field("ServiceID", self.service_id())
                    .fields("ShareID", self.shares()),
            )
    }

    fn share(&self, of: &ClusterState) -> Element {
        let (share, nodes) = (&of.share, of.manager.environments.iter());
        entity("ComputingShare", Some("Share"), &of.created)
            .field("ID", &share.id)
            .field("Name", &share.name)
            .field("Description", &share.description)
            .field("MappingQueue", &share.name)
            .field("MaxSlotsPerJob", share.max_slots_per_job)
            .optional("MaxMainMemory", share.max_memory_mib)
            .field("ServingState", "production")
            .field("WaitingJobs", share.jobs.waiting)
            .field("FreeSlots", share.free_slots)
            .field("UsedSlots", share.used_slots)
            .field("RequestedSlots", share.requested_slots)
            .with(
                Element::new(NAMESPACE, "Associations")
                    .field("EndpointID", &self.endpoint.id)
                    .fields("ResourceID", nodes.map(|kind| &kind.id))
                    .field("ServiceID", self.service_id()),
            )
    }

    fn manager(&self, of: &ClusterState) -> Element {
        let manager = &of.manager;
        let kinds = || manager.environments.iter();
        let marks = manager.benchmarks.iter();
        entity("ComputingManager", Some("Manager"), &of.created)
            .field("ID", &manager.id)
            .field("ProductName", &manager.product)
            .field("ProductVersion", &manager.version)
            .field("TotalLogicalCPUs", manager.total_slots)
            .field("TotalSlots", manager.total_slots)
            .field("Homogeneous", manager.environments.len() <= 1)
            .field("LogicalCPUDistribution", distribution(manager))
            .with(
                Element::new(NAMESPACE, "Associations")
                    .field("ServiceID", self.service_id())
                    .fields("ResourceID", kinds().map(|kind| &kind.id))
                    .fields("BenchmarkID", marks.map(|one| mark_id(&manager.id, one))),
            )
    }

    fn environments(&self, of: &ClusterState) -> impl Iterator<Item = Element> {
        let environments = of.manager.environments.iter();
        environments.map(|nodes| environment(of, nodes))
    }

    fn benchmarks(&self, of: &ClusterState) -> Vec<Element> {
        let manager = &of.manager;
        let mark = |owner: &str, association: &'static str, one: &Benchmark| {
            entity("Benchmark", None, &of.created)
                .field("ID", mark_id(owner, one))
                .field("Type", &one.kind)
                .field("Value", &one.value)
                .with(Element::new(NAMESPACE, "Associations").field(association, owner))
        };
        let own = manager.benchmarks.iter();
        let mut all: Vec<Element> = own.map(|one| mark(&manager.id, "ManagerID", one)).collect();
        for nodes in &manager.environments {
            let marks = nodes.benchmarks.iter();
            all.extend(marks.map(|one| mark(&nodes.id, "ResourceID", one)));
        }
        all
    }
}

fn environment(of: &ClusterState, nodes: &ExecutionEnvironment) -> Element {
    let marks = nodes.benchmarks.iter();
    entity("ExecutionEnvironment", Some("Resource"), &of.created)
        .field("ID", &nodes.id)
        .field("Name", &nodes.name)
        .field("Platform", text_or_unknown(nodes.platform.as_deref()))
        .field("TotalInstances", nodes.instances)
        .optional("UsedInstances", nodes.used_instances)
        .field("PhysicalCPUs", nodes.cpus)
        .field("LogicalCPUs", nodes.cpus)
        .field("CPUMultiplicity", multiplicity(nodes.cpus))
        .field("MainMemorySize", nodes.memory_mib.unwrap_or(UNKNOWN_NUMBER))
        .field("OSFamily", text_or_unknown(nodes.os.as_deref()))
        .field("ConnectivityIn", "undefined")
        .field("ConnectivityOut", "undefined")
        .with(
            Element::new(NAMESPACE, "Associations")
                .field("ManagerID", &of.manager.id)
                .field("ShareID", &of.share.id)
                .fields("BenchmarkID", marks.map(|one| mark_id(&nodes.id, one))),
        )
}

/// An element with the attributes that entities have.
fn entity(name: &'static str, base: Option<&str>, created: &str) -> Element {
    let element = Element::new(NAMESPACE, name);
    let element = match base {
        Some(base) => element.with_attribute("BaseType", base),
        None => element,
    };
    element.with_attribute("CreationTime", created)
}

fn mark_id(owner: &str, mark: &Benchmark) -> String {
    let owner = owner.replace("urn:ogf:", "urn:ogf:Benchmark:");
    format!("{owner}:{}", id_part(&mark.kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_id_is_what_the_schema_allows() {
        assert_eq!(id_part("a1.site-x_y"), "a1.site-x_y");
        assert_eq!(id_part("a/é <b>"), "a_2F_C3_A9_20_3Cb_3E");
    }
}
