//! The document of an ARC CE: `InfoRoot`, with everything nested below the one
//! service (read off a real A-REX 6.17). ARC's client takes what it needs and
//! drops a target without a capability for the creation of jobs.

use super::{
    NAMESPACE, associations, benchmark_id, distribution, entity, implementation, largest_memory,
    multiplicity, os_family,
};
use crate::xml::Element;
use gridrig_core::load::LoadSample;
use gridrig_core::resource::{Resource, Resources};

const CAPABILITIES: [&str; 9] = [
    "executionmanagement.jobcreation",
    "executionmanagement.jobdescription",
    "executionmanagement.jobmanagement",
    "information.discovery.resource",
    "information.discovery.job",
    "information.lookup.job",
    "data.access.sessiondir.file",
    "data.access.stageindir.file",
    "security.delegation",
];

/// A-REX says so where there is no limit.
const UNLIMITED: u64 = 2_147_483_647;

/// How long the document and those of jobs may be relied on, in seconds.
const VALIDITY: &str = "60";

/// What speed 1.0 is called in the benchmark that brokers of ARC look at.
const SPECINT_OF_SPEED_1: f64 = 1000.0;

/// A cluster behind an ARC CE.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// Its name; the domain's, too.
    pub name: &'a str,
    /// Name and identifier of its one queue.
    pub share: (&'a str, &'a str),
    /// Host and port that the reader came to: two clusters may share a name,
    /// not an address.
    pub host: &'a str,
    /// Where the interface is.
    pub url: &'a str,
    /// The issuer of its certificate.
    pub issuer: Option<&'a str>,
    /// When it looked like this.
    pub created: &'a str,
    /// Its nodes.
    pub resources: &'a Resources,
    /// Its load.
    pub sample: &'a LoadSample,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that have not reached the queue yet.
    pub staging: u64,
    /// Most jobs that it keeps.
    pub max_jobs: usize,
}

impl Cluster<'_> {
    /// The document.
    pub fn document(&self) -> Element {
        let domain = self
            .entity("AdminDomain", &format!("urn:ad:{}", self.name))
            .field("Name", self.name)
            .field("Distributed", "false")
            .with(Element::new(NAMESPACE, "Services").with(self.service()));
        let domains = Element::new(NAMESPACE, "Domains").with(domain);
        Element::new("", "InfoRoot").with(domains)
    }

    fn entity(&self, name: &'static str, id: &str) -> Element {
        entity(name, self.created, id).with_attribute("Validity", VALIDITY)
    }

    fn id(&self, kind: &str, of: &str) -> String {
        format!("urn:ogf:{kind}:{}:{}:{of}", self.name, self.host)
    }

    fn endpoint_id(&self) -> String {
        self.id("ComputingEndpoint", &format!("rest:{}", self.url))
    }

    fn environment_id(&self, index: usize) -> String {
        self.id("ExecutionEnvironment", &format!("execenv{index}"))
    }

    fn total_jobs(&self) -> u64 {
        self.running + self.sample.queued + self.staging
    }

    fn service(&self) -> Element {
        let id = self.id("ComputingService", "arex");
        let nodes = self.resources.groups().len();
        let element = self
            .entity("ComputingService", &id)
            .field("Name", self.name)
            .fields("Capability", CAPABILITIES)
            .field("Type", "org.nordugrid.arex")
            .field("QualityLevel", "production")
            .field("Complexity", format!("endpoint=1,share=1,resource={nodes}"));
        self.counts(element)
            .with(self.endpoint())
            .with(self.share())
            .with(self.manager())
            .with(associations().field("ServiceID", &id))
    }

    fn counts(&self, element: Element) -> Element {
        element
            .field("TotalJobs", self.total_jobs())
            .field("RunningJobs", self.running)
            .field("WaitingJobs", self.sample.queued)
            .field("StagingJobs", self.staging)
            .field("SuspendedJobs", 0)
            .field("PreLRMSWaitingJobs", 0)
    }

    fn share_ids(&self) -> Element {
        associations().field("ComputingShareID", self.share.1)
    }

    fn endpoint(&self) -> Element {
        let element = self
            .entity("ComputingEndpoint", &self.endpoint_id())
            .field("Name", "ARC REST")
            .field("URL", self.url)
            .fields("Capability", CAPABILITIES)
            .field("Technology", "rest")
            .field("InterfaceName", "org.nordugrid.arcrest")
            .field("InterfaceVersion", "1.0");
        let element = implementation(element, "production")
            .optional("IssuerCA", self.issuer)
            .optional("TrustedCA", self.issuer)
            .field("Staging", "staginginout")
            .field("JobDescription", "emies:adl");
        self.counts(element).with(self.share_ids())
    }

    fn share(&self) -> Element {
        let (queue, id) = self.share;
        let free = self.sample.processors.saturating_sub(self.sample.busy);
        let environments = 0..self.resources.groups().len();
        let environments = environments.map(|index| self.environment_id(index));
        let associated = associations()
            .field("ComputingEndpointID", self.endpoint_id())
            .fields("ExecutionEnvironmentID", environments);
        self.entity("ComputingShare", id)
            .field("Name", queue)
            .field("Description", format!("emulated cluster {}", self.name))
            .field("MappingQueue", queue)
            .field("MaxWallTime", UNLIMITED)
            .field("MinWallTime", 0)
            .field("DefaultWallTime", 0)
            .field("MaxCPUTime", UNLIMITED)
            .field("MinCPUTime", 0)
            .field("DefaultCPUTime", 0)
            .field("MaxRunningJobs", self.max_jobs)
            .field("MaxWaitingJobs", self.max_jobs)
            .field("MaxUserRunningJobs", self.max_jobs)
            .field("MaxSlotsPerJob", self.sample.processors)
            .optional("MaxMainMemory", largest_memory(self.resources))
            .field("ServingState", "production")
            .field("TotalJobs", self.total_jobs())
            .field("RunningJobs", self.running)
            .field("LocalRunningJobs", 0)
            .field("WaitingJobs", self.sample.queued)
            .field("LocalWaitingJobs", 0)
            .field("SuspendedJobs", 0)
            .field("LocalSuspendedJobs", 0)
            .field("StagingJobs", self.staging)
            .field("PreLRMSWaitingJobs", 0)
            .field("FreeSlots", free)
            .field("FreeSlotsWithDuration", free)
            .field("UsedSlots", self.sample.busy)
            .field("RequestedSlots", self.sample.queued_processors)
            .with(associated)
    }

    fn manager(&self) -> Element {
        let id = self.id("ComputingManager", "gridrig");
        let kinds = self.resources.groups().iter();
        let slots = kinds.clone().map(|kind| {
            let speed = kind.speed.as_f64();
            f64::from(kind.count) * f64::from(kind.cpu_count) * speed
        });
        let mean_speed = slots.sum::<f64>() / f64::from(self.resources.processors());
        let environments = kinds
            .enumerate()
            .map(|(index, kind)| self.environment(index, kind));
        self.entity("ComputingManager", &id)
            .field("ProductName", "gridrig")
            .field("ProductVersion", env!("CARGO_PKG_VERSION"))
            .field("BulkSubmission", "true")
            .field("TotalLogicalCPUs", self.sample.processors)
            .field("TotalSlots", self.sample.processors)
            .field("SlotsUsedByLocalJobs", 0)
            .field("SlotsUsedByGridJobs", self.sample.busy)
            .field("Homogeneous", self.resources.groups().len() <= 1)
            .field("LogicalCPUDistribution", distribution(self.resources))
            .field("WorkingAreaShared", "true")
            .field("WorkingAreaGuaranteed", "false")
            .with_all(benchmarks(&id, mean_speed))
            .with(Element::new(NAMESPACE, "ExecutionEnvironments").with_all(environments))
            .with(Element::new(NAMESPACE, "ApplicationEnvironments"))
    }

    fn environment(&self, index: usize, kind: &Resource) -> Element {
        let id = self.environment_id(index);
        let name = kind.name.clone();
        let cpus = u64::from(kind.count) * u64::from(kind.cpu_count);
        self.entity("ExecutionEnvironment", &id)
            .field("Name", name.unwrap_or_else(|| format!("execenv{index}")))
            .optional("Platform", kind.architecture.as_ref())
            .field("TotalInstances", kind.count)
            .field("UnavailableInstances", 0)
            .field("PhysicalCPUs", cpus)
            .field("LogicalCPUs", cpus)
            .field("CPUMultiplicity", multiplicity(kind))
            .optional("MainMemorySize", kind.memory_mib)
            .optional("OSFamily", os_family(kind))
            .field("ConnectivityIn", "undefined")
            .field("ConnectivityOut", "undefined")
            .with_all(benchmarks(&id, kind.speed.as_f64()))
            .with(self.share_ids())
    }
}

fn benchmarks(owner: &str, speed: f64) -> [Element; 2] {
    let marks = [
        ("specint2000", format!("{:.1}", speed * SPECINT_OF_SPEED_1)),
        ("speed", format!("{speed:.6}")),
    ];
    marks.map(|(kind, value)| {
        Element::new(NAMESPACE, "Benchmark")
            .field("ID", benchmark_id(owner, kind))
            .field("Type", kind)
            .field("Value", value)
    })
}

/// The start of the document of a job, `ComputingActivity`, as of an instant.
pub fn activity(created: &str) -> Element {
    Element::new(NAMESPACE, "ComputingActivity")
        .with_attribute("BaseType", "Activity")
        .with_attribute("CreationTime", created)
        .with_attribute("Validity", VALIDITY)
}

/// Its end: the share that the job is in.
pub fn in_share(activity: Element, share_id: &str) -> Element {
    activity.with(associations().field("ComputingShareID", share_id))
}
