//! GLUE 2.0 as the OGF's own schema has it (GFD.147 and its XML rendering,
//! `GLUE2.xsd`): flat lists of entities below one root, which name each other
//! by their ids. What a broker publishes of its domain.

use super::{
    NAMESPACE, associations, benchmark_id, distribution, entity, implementation, largest_memory,
    multiplicity, os_family,
};
use crate::xml::Element;
use gridrig_core::load::LoadSample;
use gridrig_core::resource::{Resource, Resources};

/// What the endpoint can do, in the words of GLUE 2.0's `Capability_t`.
const CAPABILITIES: [&str; 3] = [
    "executionmanagement.jobexecution",
    "executionmanagement.jobmanager",
    "information.monitoring",
];

/// The one benchmark: the speed of the model.
const SPEED: &str = "gridrig.speed";

/// The state of a domain as its broker knows it: one computing service, whose
/// shares and managers are the clusters behind the broker.
#[derive(Clone, Debug)]
pub struct Domain<'a> {
    /// Name of the domain, for people.
    pub name: &'a str,
    /// When the document was made; see [`instant`](super::instant).
    pub created: String,
    /// Where the broker is, as its reader knows it.
    pub base: &'a str,
    /// Jobs that wait in the broker.
    pub waiting: u64,
    /// The clusters that have reported.
    pub clusters: Vec<Cluster<'a>>,
    /// Names of the domains whose brokers take jobs of this one. Each publishes
    /// a document of its own, in which its service has the id named here.
    pub providers: Vec<String>,
}

/// One cluster as the broker knows it. A broker is not told how many jobs run,
/// only how many wait and how many processors are busy: the numbers of running
/// jobs are not written.
#[derive(Clone, Debug)]
pub struct Cluster<'a> {
    /// Its name.
    pub name: String,
    /// When the information was taken, which may be long ago.
    pub created: String,
    /// Its nodes.
    pub resources: &'a Resources,
    /// Its load, as it was last reported.
    pub sample: &'a LoadSample,
}

/// What GFD.147 (appendix on place-holder values) writes for an integer of 64
/// bits that is not known.
const UNKNOWN_NUMBER: u64 = 999_999_999_999_999_999;

/// A part of an id: what the schema's `LocalID_t` allows, other bytes as `_XX`.
fn id_part(text: &str) -> String {
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

impl Domain<'_> {
    /// The whole document.
    pub fn element(&self) -> Element {
        let all = |of: fn(&Self, &Cluster<'_>) -> Vec<Element>| {
            let clusters = self.clusters.iter();
            clusters.flat_map(move |cluster| of(self, cluster))
        };
        Element::new(NAMESPACE, "GLUE2")
            .with(self.admin_domain())
            .with(self.service())
            .with(self.endpoint())
            .with_all(all(|domain, of| vec![domain.share(of)]))
            .with_all(all(|domain, of| vec![domain.manager(of)]))
            .with_all(all(Self::environments))
            .with_all(all(Self::benchmarks))
    }

    fn endpoint_id(&self) -> String {
        format!("urn:ogf:ComputingEndpoint:{}:rest", id_part(self.name))
    }

    fn id(&self, kind: &str, of: &Cluster<'_>) -> String {
        let (domain, cluster) = (id_part(self.name), id_part(&of.name));
        format!("urn:ogf:{kind}:{domain}:{cluster}")
    }

    /// An entity of which each cluster has one.
    fn of_cluster(&self, name: &'static str, of: &Cluster<'_>) -> Element {
        entity(name, &of.created, &self.id(name, of))
    }

    fn ids(&self, kind: &str) -> impl Iterator<Item = String> {
        self.clusters.iter().map(move |of| self.id(kind, of))
    }

    fn environment_ids(&self, of: &Cluster<'_>) -> impl Iterator<Item = String> {
        let id = self.id("ExecutionEnvironment", of);
        (0..of.resources.groups().len()).map(move |index| format!("{id}:{index}"))
    }

    fn admin_domain(&self) -> Element {
        let id = format!("urn:ogf:AdminDomain:{}", id_part(self.name));
        entity("AdminDomain", &self.created, &id)
            .field("Name", self.name)
            .field("Distributed", "false")
            .with(associations().field("ServiceID", service_id(self.name)))
    }

    fn service(&self) -> Element {
        let waiting: u64 = self.clusters.iter().map(|one| one.sample.queued).sum();
        let kinds = self.clusters.iter().map(|one| one.resources.groups().len());
        let (shares, kinds) = (self.clusters.len(), kinds.sum::<usize>());
        let complexity = format!("endpointType=1, share={shares}, resource={kinds}");
        let providers = self.providers.iter().map(|name| service_id(name));
        let associated = associations()
            .field("EndpointID", self.endpoint_id())
            .fields("ShareID", self.ids("ComputingShare"))
            .fields("ManagerID", self.ids("ComputingManager"))
            .fields("ServiceID", providers);
        entity("ComputingService", &self.created, &service_id(self.name))
            .field("Name", self.name)
            .fields("Capability", CAPABILITIES)
            .field("Type", "gridrig.broker")
            .field("QualityLevel", "testing")
            .field("Complexity", complexity)
            .field("WaitingJobs", waiting)
            .field("PreLRMSWaitingJobs", self.waiting)
            .with(associated)
    }

    fn endpoint(&self) -> Element {
        let element = entity("ComputingEndpoint", &self.created, &self.endpoint_id())
            .field("Name", "gridrig REST")
            .field("URL", format!("{}/v1", self.base))
            .fields("Capability", CAPABILITIES)
            .field("Technology", "rest")
            .field("InterfaceName", "gridrig.rest")
            .field("InterfaceVersion", "1");
        let associated = associations()
            .field("ServiceID", service_id(self.name))
            .fields("ShareID", self.ids("ComputingShare"));
        implementation(element, "testing")
            .field("PreLRMSWaitingJobs", self.waiting)
            .with(associated)
    }

    fn share(&self, of: &Cluster<'_>) -> Element {
        let (name, sample) = (&of.name, of.sample);
        let description = format!("cluster {name}, as last reported to the broker");
        let associated = associations()
            .field("EndpointID", self.endpoint_id())
            .fields("ResourceID", self.environment_ids(of))
            .field("ServiceID", service_id(self.name));
        self.of_cluster("ComputingShare", of)
            .field("Name", name)
            .field("Description", description)
            .field("MappingQueue", name)
            .field("MaxSlotsPerJob", sample.processors)
            .optional("MaxMainMemory", largest_memory(of.resources))
            .field("ServingState", "production")
            .field("WaitingJobs", sample.queued)
            .field("FreeSlots", sample.free())
            .field("UsedSlots", sample.busy)
            .field("RequestedSlots", sample.queued_processors)
            .with(associated)
    }

    fn manager(&self, of: &Cluster<'_>) -> Element {
        let associated = associations()
            .field("ServiceID", service_id(self.name))
            .fields("ResourceID", self.environment_ids(of));
        self.of_cluster("ComputingManager", of)
            .field("ProductName", "gridrig")
            .field("ProductVersion", env!("CARGO_PKG_VERSION"))
            .field("TotalLogicalCPUs", of.sample.processors)
            .field("TotalSlots", of.sample.processors)
            .field("Homogeneous", of.resources.groups().len() <= 1)
            .field("LogicalCPUDistribution", distribution(of.resources))
            .with(associated)
    }

    fn environments(&self, of: &Cluster<'_>) -> Vec<Element> {
        let kinds = of.resources.groups().iter().enumerate();
        let environment = |((index, kind), id): ((usize, &Resource), String)| {
            let name = kind.name.clone();
            let unknown = || "UNDEFINEDVALUE".to_owned();
            let platform = kind.architecture.clone();
            let associated = associations()
                .field("ManagerID", self.id("ComputingManager", of))
                .field("ShareID", self.id("ComputingShare", of))
                .field("BenchmarkID", benchmark_id(&id, SPEED));
            entity("ExecutionEnvironment", &of.created, &id)
                .field("Name", name.unwrap_or_else(|| format!("nodes{index}")))
                .field("Platform", platform.unwrap_or_else(unknown))
                .field("TotalInstances", kind.count)
                .field("PhysicalCPUs", kind.cpu_count)
                .field("LogicalCPUs", kind.cpu_count)
                .field("CPUMultiplicity", multiplicity(kind))
                .field("MainMemorySize", kind.memory_mib.unwrap_or(UNKNOWN_NUMBER))
                .field("OSFamily", os_family(kind).unwrap_or_else(unknown))
                .field("ConnectivityIn", "undefined")
                .field("ConnectivityOut", "undefined")
                .with(associated)
        };
        let all = kinds.zip(self.environment_ids(of));
        all.map(environment).collect()
    }

    fn benchmarks(&self, of: &Cluster<'_>) -> Vec<Element> {
        let benchmark = |(kind, id): (&Resource, String)| {
            entity("Benchmark", &of.created, &benchmark_id(&id, SPEED))
                .field("Type", SPEED)
                .field("Value", kind.speed)
                .with(associations().field("ResourceID", id))
        };
        let kinds = of.resources.groups().iter();
        kinds.zip(self.environment_ids(of)).map(benchmark).collect()
    }
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
