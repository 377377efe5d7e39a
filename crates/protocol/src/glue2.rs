//! GLUE 2.0 (OGF GFD-R-P.147) in XML, in two renderings. `arc` nests it as ARC's
//! A-REX publishes it: the document that brokers of the ARC world read a
//! computing element from. A real one does not validate against the OGF's
//! `GLUE2.xsd` (`Services` below `AdminDomain`, `Benchmark` without its own
//! namespace); its readers go by element names, so this follows A-REX. `ogf`
//! follows the schema.

pub mod arc;
pub mod ogf;

use crate::xml::Element;
use gridrig_core::resource::{Resource, Resources};

/// The namespace of every element below `InfoRoot`.
pub const NAMESPACE: &str = "http://schemas.ogf.org/glue/2009/03/spec_2.0_r1";

/// The part of an endpoint that is the same for all of them.
fn implementation(endpoint: Element, quality: &str) -> Element {
    endpoint
        .field("Implementor", "gridrig")
        .field("ImplementationName", "gridrig")
        .field("ImplementationVersion", env!("CARGO_PKG_VERSION"))
        .field("QualityLevel", quality)
        // Who reads this has just been answered.
        .field("HealthState", "ok")
        .field("ServingState", "production")
}

/// An entity with its id; what it is based on goes by its name.
fn entity(name: &'static str, created: &str, id: &str) -> Element {
    let base = match name {
        "AdminDomain" => Some("Domain"),
        "ExecutionEnvironment" => Some("Resource"),
        other => other.strip_prefix("Computing"),
    };
    let mut element = Element::new(NAMESPACE, name);
    element.set("BaseType", base.map(str::to_owned));
    let element = element.with_attribute("CreationTime", created);
    element.field("ID", id)
}

fn associations() -> Element {
    Element::new(NAMESPACE, "Associations")
}

/// The processors of a node, and of how many nodes, kind by kind.
fn distribution(resources: &Resources) -> String {
    let kind = |kind: &Resource| format!("{}:{}", kind.cpu_count, kind.count);
    let kinds: Vec<String> = resources.groups().iter().map(kind).collect();
    kinds.join(" ")
}

fn multiplicity(kind: &Resource) -> &'static str {
    match kind.cpu_count {
        0 | 1 => "singlecpu-singlecore",
        _ => "multicpu-singlecore",
    }
}

/// The memory of the largest node in MiB, if it is known of all.
fn largest_memory(resources: &Resources) -> Option<u64> {
    let groups = resources.groups().iter();
    let memory: Option<Vec<u64>> = groups.map(|group| group.memory_mib).collect();
    memory?.into_iter().max()
}

/// The operating system as GLUE 2.0 writes it.
fn os_family(kind: &Resource) -> Option<String> {
    kind.os.as_ref().map(|os| os.to_lowercase())
}

/// The identifier of a benchmark of an entity.
fn benchmark_id(owner: &str, kind: &str) -> String {
    let owner = owner.replace("urn:ogf:", "urn:ogf:Benchmark:");
    format!("{owner}:{kind}")
}

/// An instant as GLUE 2.0 writes it, in UTC.
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
