//! The elements of an information document, in A-REX's order.

use super::{
    Benchmark, ComputingEndpoint, ComputingManager, ComputingService, ComputingShare,
    ExecutionEnvironment, InfoDocument, JobCounts, NAMESPACE, distribution, multiplicity,
};
use crate::xml::Element;

/// What GLUE 2.0 writes for "no limit" and "unknown" numbers of 32 bits.
const UNLIMITED: u64 = 2_147_483_647;

pub(super) fn document(info: &InfoDocument) -> Element {
    let services = info.services.iter().map(|of| service(info, of));
    let domain = entity("AdminDomain", "Domain", info)
        .field("ID", format!("urn:ad:{}", info.domain))
        .field("Name", &info.domain)
        .field("Distributed", "false")
        .with(Element::new(NAMESPACE, "Services").with_all(services));
    let domains = Element::new(NAMESPACE, "Domains").with(domain);
    Element::new("", "InfoRoot").with(domains)
}

/// An element with the attributes that every entity of GLUE 2.0 has.
fn entity(name: &'static str, base: &str, info: &InfoDocument) -> Element {
    Element::new(NAMESPACE, name)
        .with_attribute("BaseType", base)
        .with_attribute("CreationTime", info.created.clone())
        .with_attribute("Validity", info.validity_s.to_string())
}

fn service(info: &InfoDocument, of: &ComputingService) -> Element {
    let mut capabilities: Vec<&str> = Vec::new();
    for capability in of
        .endpoints
        .iter()
        .flat_map(|endpoint| &endpoint.capabilities)
    {
        if !capabilities.contains(capability) {
            capabilities.push(capability);
        }
    }
    let complexity = format!(
        "endpoint={},share={},resource={}",
        of.endpoints.len(),
        of.shares.len(),
        of.manager.environments.len()
    );
    let element = entity("ComputingService", "Service", info)
        .field("ID", &of.id)
        .field("Name", &of.name)
        .fields("Capability", capabilities)
        .field("Type", &of.kind)
        .field("QualityLevel", "production")
        .field("Complexity", complexity);
    counts(element, &of.jobs)
        .with_all(of.endpoints.iter().map(|of_one| endpoint(info, of, of_one)))
        .with_all(of.shares.iter().map(|of_one| share(info, of, of_one)))
        .with(manager(info, of, &of.manager))
        .with(Element::new(NAMESPACE, "Associations").field("ServiceID", &of.id))
}

fn counts(element: Element, jobs: &JobCounts) -> Element {
    element
        .field("TotalJobs", jobs.total())
        .field("RunningJobs", jobs.running)
        .field("WaitingJobs", jobs.waiting)
        .field("StagingJobs", jobs.staging)
        .field("SuspendedJobs", 0)
        .field("PreLRMSWaitingJobs", 0)
}

fn share_ids(service: &ComputingService) -> Element {
    let ids = service.shares.iter().map(|share| &share.id);
    Element::new(NAMESPACE, "Associations").fields("ComputingShareID", ids)
}

fn endpoint(info: &InfoDocument, service: &ComputingService, of: &ComputingEndpoint) -> Element {
    let element = entity("ComputingEndpoint", "Endpoint", info);
    let element = super::endpoint(element, of, "production")
        .optional("TrustedCA", of.issuer.as_ref())
        .field("Staging", "staginginout")
        .fields("JobDescription", &of.job_descriptions);
    counts(element, &service.jobs).with(share_ids(service))
}

fn share(info: &InfoDocument, service: &ComputingService, of: &ComputingShare) -> Element {
    let limits = [
        ("MaxWallTime", UNLIMITED),
        ("MinWallTime", 0),
        ("DefaultWallTime", 0),
        ("MaxCPUTime", UNLIMITED),
        ("MinCPUTime", 0),
        ("DefaultCPUTime", 0),
        ("MaxRunningJobs", of.max_jobs),
        ("MaxWaitingJobs", of.max_jobs),
        ("MaxUserRunningJobs", of.max_jobs),
        ("MaxSlotsPerJob", of.max_slots_per_job),
    ];
    let element = entity("ComputingShare", "Share", info)
        .field("ID", &of.id)
        .field("Name", &of.name)
        .field("Description", &of.description)
        .field("MappingQueue", &of.name);
    let limit = |element: Element, (name, value): (&'static str, u64)| element.field(name, value);
    let endpoints = service.endpoints.iter().map(|endpoint| &endpoint.id);
    let nodes = service.manager.environments.iter().map(|nodes| &nodes.id);
    limits
        .into_iter()
        .fold(element, limit)
        .optional("MaxMainMemory", of.max_memory_mib)
        .field("ServingState", "production")
        .field("TotalJobs", of.jobs.total())
        .field("RunningJobs", of.jobs.running)
        .field("LocalRunningJobs", 0)
        .field("WaitingJobs", of.jobs.waiting)
        .field("LocalWaitingJobs", 0)
        .field("SuspendedJobs", 0)
        .field("LocalSuspendedJobs", 0)
        .field("StagingJobs", of.jobs.staging)
        .field("PreLRMSWaitingJobs", 0)
        .field("FreeSlots", of.free_slots)
        .field("FreeSlotsWithDuration", of.free_slots)
        .field("UsedSlots", of.used_slots)
        .field("RequestedSlots", of.requested_slots)
        .with(
            Element::new(NAMESPACE, "Associations")
                .fields("ComputingEndpointID", endpoints)
                .fields("ExecutionEnvironmentID", nodes),
        )
}

fn manager(info: &InfoDocument, service: &ComputingService, of: &ComputingManager) -> Element {
    let environments = of
        .environments
        .iter()
        .map(|of| environment(info, service, of));
    entity("ComputingManager", "Manager", info)
        .field("ID", &of.id)
        .field("ProductName", &of.product)
        .field("ProductVersion", &of.version)
        .field("BulkSubmission", "true")
        .field("TotalLogicalCPUs", of.total_slots)
        .field("TotalSlots", of.total_slots)
        .field("SlotsUsedByLocalJobs", 0)
        .field("SlotsUsedByGridJobs", of.used_slots)
        .field("Homogeneous", of.environments.len() <= 1)
        .field("LogicalCPUDistribution", distribution(of))
        .field("WorkingAreaShared", "true")
        .field("WorkingAreaGuaranteed", "false")
        .with_all(benchmarks(&of.id, &of.benchmarks))
        .with(Element::new(NAMESPACE, "ExecutionEnvironments").with_all(environments))
        .with(Element::new(NAMESPACE, "ApplicationEnvironments"))
}

fn benchmarks(owner: &str, all: &[Benchmark]) -> impl Iterator<Item = Element> {
    let owner = owner.replace("urn:ogf:", "urn:ogf:Benchmark:");
    all.iter().map(move |benchmark| {
        Element::new(NAMESPACE, "Benchmark")
            .field("ID", format!("{owner}:{}", benchmark.kind))
            .field("Type", &benchmark.kind)
            .field("Value", &benchmark.value)
    })
}

fn environment(
    info: &InfoDocument,
    service: &ComputingService,
    of: &ExecutionEnvironment,
) -> Element {
    let cpus = of.instances.saturating_mul(of.cpus);
    entity("ExecutionEnvironment", "Resource", info)
        .field("ID", &of.id)
        .field("Name", &of.name)
        .optional("Platform", of.platform.as_ref())
        .field("TotalInstances", of.instances)
        .optional("UsedInstances", of.used_instances)
        .field("UnavailableInstances", 0)
        .field("PhysicalCPUs", cpus)
        .field("LogicalCPUs", cpus)
        .field("CPUMultiplicity", multiplicity(of.cpus))
        .optional("MainMemorySize", of.memory_mib)
        .optional("OSFamily", of.os.as_ref())
        .field("ConnectivityIn", "undefined")
        .field("ConnectivityOut", "undefined")
        .with_all(benchmarks(&of.id, &of.benchmarks))
        .with(share_ids(service))
}
