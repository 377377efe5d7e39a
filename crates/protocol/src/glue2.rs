//! GLUE 2.0 (OGF GFD-R-P.147) in XML, nested as ARC's A-REX publishes it: the
//! document that brokers of the ARC world read a computing element from.
//!
//! A real A-REX document does not validate against the OGF's `GLUE2.xsd`
//! (`Services` below `AdminDomain`, `Benchmark` without its own namespace); its
//! readers go by element names, so this follows A-REX.

mod activity;
pub mod ogf;
mod write;

pub use activity::Activity;

use crate::xml::Element;

/// The namespace of every element below `InfoRoot`.
pub const NAMESPACE: &str = "http://schemas.ogf.org/glue/2009/03/spec_2.0_r1";

/// One information document: an administrative domain and its services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfoDocument {
    /// Name of the domain, for people.
    pub domain: String,
    /// When it was made, as `2026-11-20T23:56:59Z`; see [`instant`].
    pub created: String,
    /// For how many seconds a reader may keep it.
    pub validity_s: u64,
    /// What is offered.
    pub services: Vec<ComputingService>,
}

impl InfoDocument {
    /// The whole document, from `InfoRoot` down.
    #[must_use]
    pub fn element(&self) -> Element {
        write::document(self)
    }
}

/// Jobs of a service, an endpoint or a share, by where they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// On processors.
    pub running: u64,
    /// Queued in the LRMS.
    pub waiting: u64,
    /// Waiting for their input files.
    pub staging: u64,
}

impl JobCounts {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.running + self.waiting + self.staging
    }
}

/// A computing element (GFD.147 section 6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputingService {
    /// Unique among all services that a broker sees: ARC's client drops the
    /// second of two with one id.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// Such as `org.nordugrid.arex`.
    pub kind: String,
    /// Its jobs.
    pub jobs: JobCounts,
    /// Where it is talked to.
    pub endpoints: Vec<ComputingEndpoint>,
    /// Its queues.
    pub shares: Vec<ComputingShare>,
    /// Its LRMS.
    pub manager: ComputingManager,
}

/// An interface of a computing element (GFD.147 section 6.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputingEndpoint {
    /// Unique.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// What it can do. ARC's client takes only endpoints with
    /// `executionmanagement.jobcreation` as targets.
    pub capabilities: Vec<&'static str>,
    /// Such as `rest`.
    pub technology: String,
    /// Such as `org.nordugrid.arcrest`.
    pub interface: String,
    /// Version of the interface.
    pub interface_version: String,
    /// Languages of job descriptions, such as `emies:adl`.
    pub job_descriptions: Vec<&'static str>,
    /// Distinguished name of the authority that its certificate is from, if
    /// it has one.
    pub issuer: Option<String>,
}

/// A queue as its users see it (GFD.147 section 6.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputingShare {
    /// Unique.
    pub id: String,
    /// The queue.
    pub name: String,
    /// For people.
    pub description: String,
    /// Its jobs.
    pub jobs: JobCounts,
    /// Processors that are free.
    pub free_slots: u64,
    /// Processors that are busy.
    pub used_slots: u64,
    /// Processors that waiting jobs want.
    pub requested_slots: u64,
    /// Processors that one job may have.
    pub max_slots_per_job: u64,
    /// Jobs that may be there at once.
    pub max_jobs: u64,
    /// Memory that one job may have on a node, in MiB, if it is bounded.
    pub max_memory_mib: Option<u64>,
}

/// An LRMS and its nodes (GFD.147 section 6.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputingManager {
    /// Unique.
    pub id: String,
    /// What it is.
    pub product: String,
    /// Its version.
    pub version: String,
    /// All processors.
    pub total_slots: u64,
    /// Busy processors.
    pub used_slots: u64,
    /// What its nodes score on the whole, weighted by processors: the broker
    /// `Benchmark` of ARC's client reads these, not those of the nodes.
    pub benchmarks: Vec<Benchmark>,
    /// Its nodes, by kind.
    pub environments: Vec<ExecutionEnvironment>,
}

/// A figure of merit (GFD.147 section 6.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// Which one, such as `specint2000`.
    pub kind: String,
    /// The score, as a decimal.
    pub value: String,
}

/// Nodes of one kind (GFD.147 section 6.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionEnvironment {
    /// Unique.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Architecture, if it is known.
    pub platform: Option<String>,
    /// Nodes.
    pub instances: u64,
    /// Nodes of which some processor is busy, if it is known.
    pub used_instances: Option<u64>,
    /// Processors of one node.
    pub cpus: u64,
    /// Memory of one node in MiB, if it is bounded.
    pub memory_mib: Option<u64>,
    /// Operating system, if it is known.
    pub os: Option<String>,
    /// What one of its processors scores.
    pub benchmarks: Vec<Benchmark>,
}

/// What both forms of the document say of an endpoint first.
fn endpoint(element: Element, of: &ComputingEndpoint, quality: &str) -> Element {
    element
        .field("ID", &of.id)
        .field("Name", &of.name)
        .field("URL", &of.url)
        .fields("Capability", &of.capabilities)
        .field("Technology", &of.technology)
        .field("InterfaceName", &of.interface)
        .field("InterfaceVersion", &of.interface_version)
        .field("Implementor", "gridrig")
        .field("ImplementationName", "gridrig")
        .field("ImplementationVersion", env!("CARGO_PKG_VERSION"))
        .field("QualityLevel", quality)
        // Who reads this has just been answered.
        .field("HealthState", "ok")
        .field("ServingState", "production")
        .optional("IssuerCA", of.issuer.as_ref())
}

/// `LogicalCPUDistribution`: how many nodes have how many processors.
fn distribution(of: &ComputingManager) -> String {
    let kinds = of.environments.iter();
    let kinds: Vec<String> = kinds
        .map(|kind| format!("{}:{}", kind.cpus, kind.instances))
        .collect();
    kinds.join(" ")
}

/// `CPUMultiplicity_t` of GFD.147: each processor counts as one CPU, as in the
/// model.
fn multiplicity(cpus: u64) -> &'static str {
    match cpus {
        0 | 1 => "singlecpu-singlecore",
        _ => "multicpu-singlecore",
    }
}

/// A text, or what GLUE 2.0 writes where it is not known (GFD.147, appendix on
/// place-holder values).
fn text_or_unknown(text: Option<&str>) -> &str {
    text.unwrap_or("UNDEFINEDVALUE")
}

/// An instant in the form of the documents, UTC: `2026-11-20T23:56:59Z`, from
/// seconds since 1970.
#[must_use]
pub fn instant(unix_s: u64) -> String {
    let at = crate::calendar::utc(unix_s);
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::instant;

    #[test]
    fn instants_are_dates_of_the_calendar() {
        assert_eq!(instant(0), "1970-01-01T00:00:00Z");
        assert_eq!(instant(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(instant(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(instant(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(instant(1_795_000_000), "2026-11-18T11:06:40Z");
    }
}
