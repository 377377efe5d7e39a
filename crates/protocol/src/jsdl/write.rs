//! Writing a document, in the order of the schemas.

use super::resources::{ARCHITECTURES, OPERATING_SYSTEMS, listed};
use super::{
    Application, Bound, DataStaging, FileName, Identification, JSDL, JobDefinition, OWN, Processes,
    Program, ProgramKind, RangeValue, Resources, SPMD,
};
use crate::xml::{Attribute, Element, Name, SCHEMA_INSTANCE};

impl JobDefinition {
    /// The document.
    #[must_use]
    pub fn write(&self) -> String {
        self.element().to_document()
    }

    /// The document's root, to be put into another one.
    #[must_use]
    pub fn element(&self) -> Element {
        let mut description = Element::new(JSDL, "JobDescription");
        if self.identification != Identification::default() {
            description.push(identification(&self.identification));
        }
        if let Some(part) = &self.application {
            description.push(application(part));
        }
        if self.resources != Resources::default() {
            description.push(resources(&self.resources));
        }
        let own = |name, time: &Option<gridrig_core::time::SimDuration>| {
            time.map(|time| Element::with_text(OWN, name, time.to_string()))
        };
        let description = description
            .with_all(self.staging.iter().map(staging))
            .with_all(own("RunTime", &self.run_time))
            .with_all(own("RequestedTime", &self.requested_time));
        let mut root = Element::new(JSDL, "JobDefinition").with(description);
        if let Some(id) = &self.id {
            root = root.with_attribute("id", id.as_str());
        }
        root
    }
}

fn text(name: &'static str, value: &Option<String>) -> Option<Element> {
    let value = value.as_deref()?;
    Some(Element::with_text(JSDL, name, value))
}

fn identification(part: &Identification) -> Element {
    let all = |name: &'static str, values: &[String]| -> Vec<Element> {
        let values = values.iter();
        values
            .map(|value| Element::with_text(JSDL, name, value.as_str()))
            .collect()
    };
    Element::new(JSDL, "JobIdentification")
        .with_all(text("JobName", &part.name))
        .with_all(text("Description", &part.description))
        .with_all(all("JobAnnotation", &part.annotations))
        .with_all(all("JobProject", &part.projects))
}

fn application(part: &Application) -> Element {
    Element::new(JSDL, "Application")
        .with_all(text("ApplicationName", &part.name))
        .with_all(text("ApplicationVersion", &part.version))
        .with_all(text("Description", &part.description))
        .with_all(part.program.as_ref().map(program))
}

fn program(part: &Program) -> Element {
    let (namespace, name) = part.kind.element();
    let inner = part.kind.inner();
    let file =
        |name, value: &Option<FileName>| value.as_ref().map(|value| file_name(inner, name, value));
    let plain = |name, value: &Option<String>| {
        value
            .as_deref()
            .map(|value| Element::with_text(inner, name, value))
    };
    let mut element = Element::new(namespace, name);
    if let Some(name) = &part.name {
        element = element.with_attribute("name", name.as_str());
    }
    let arguments = part.arguments.iter();
    let element = element
        .with_all(file("Executable", &part.executable))
        .with_all(arguments.map(|value| file_name(inner, "Argument", value)))
        .with_all(file("Input", &part.input))
        .with_all(file("Output", &part.output))
        .with_all(file("Error", &part.error))
        .with_all(file("WorkingDirectory", &part.working_directory))
        .with_all(part.environment.iter().map(|variable| {
            file_name(inner, "Environment", &variable.value)
                .with_attribute("name", variable.name.as_str())
        }));
    match part.kind {
        ProgramKind::Posix => {
            let limits = part.limits.iter();
            element
                .with_all(
                    limits.map(|(limit, n)| Element::with_text(inner, limit.name(), n.to_string())),
                )
                .with_all(plain("UserName", &part.user))
                .with_all(plain("GroupName", &part.group))
        }
        ProgramKind::HpcProfile => element.with_all(plain("UserName", &part.user)),
        ProgramKind::Spmd => {
            let spmd = part.spmd.clone().unwrap_or_default();
            element
                .with_all(plain("UserName", &part.user))
                .with_all(
                    spmd.processes
                        .map(|n| processes("NumberOfProcesses", "actualtotalcpucount", n)),
                )
                .with_all(
                    spmd.per_host
                        .map(|n| Element::with_text(SPMD, "ProcessesPerHost", n.to_string())),
                )
                .with_all(
                    spmd.threads
                        .map(|n| processes("ThreadsPerProcess", "actualindividualcpucount", n)),
                )
                .with(Element::with_text(SPMD, "SPMDVariation", spmd.variation))
        }
    }
}

fn file_name(namespace: &'static str, name: &'static str, value: &FileName) -> Element {
    let element = Element::with_text(namespace, name, value.value.as_str());
    match &value.filesystem {
        Some(filesystem) => element.with_attribute("filesystemName", filesystem.as_str()),
        None => element,
    }
}

fn processes(name: &'static str, actual: &'static str, number: Processes) -> Element {
    match number {
        Processes::Number(number) => Element::with_text(SPMD, name, number.to_string()),
        Processes::Actual => {
            let mut element = Element::new(SPMD, name).with_attribute(actual, "true");
            element.attributes.push(Attribute {
                namespace: Name::Borrowed(SCHEMA_INSTANCE),
                name: Name::Borrowed("nil"),
                value: "true".to_owned(),
            });
            element
        }
    }
}

fn resources(part: &Resources) -> Element {
    let mut element = Element::new(JSDL, "Resources");
    if !part.candidate_hosts.is_empty() {
        let hosts = part.candidate_hosts.iter();
        let hosts = hosts.map(|host| Element::with_text(JSDL, "HostName", host.as_str()));
        element.push(Element::new(JSDL, "CandidateHosts").with_all(hosts));
    }
    if let Some(exclusive) = part.exclusive {
        element.push(Element::with_text(
            JSDL,
            "ExclusiveExecution",
            exclusive.to_string(),
        ));
    }
    if let Some(system) = &part.operating_system {
        let kind = system.name.as_deref().map(|name| {
            listed_name(
                "OperatingSystemType",
                "OperatingSystemName",
                &OPERATING_SYSTEMS,
                name,
            )
        });
        element.push(
            Element::new(JSDL, "OperatingSystem")
                .with_all(kind)
                .with_all(text("OperatingSystemVersion", &system.version))
                .with_all(text("Description", &system.description)),
        );
    }
    if let Some(name) = &part.architecture {
        let (outer, inner) = ("CPUArchitecture", "CPUArchitectureName");
        element.push(listed_name(outer, inner, &ARCHITECTURES, name));
    }
    let quantities = part.quantities.iter();
    element.with_all(quantities.map(|(quantity, value)| range_value(quantity.name(), value)))
}

/// A name of a list of the standard, or `other` with the name beside it in
/// our own namespace.
fn listed_name(
    outer: &'static str,
    inner: &'static str,
    list: &[&'static str],
    name: &str,
) -> Element {
    let element = Element::new(JSDL, outer);
    match listed(list, name) {
        Some(listed) => element.with(Element::with_text(JSDL, inner, listed)),
        None => element
            .with(Element::with_text(JSDL, inner, "other"))
            .with(Element::with_text(OWN, "Name", name)),
    }
}

/// An operating system as an element of another namespace that has the type of
/// JSDL's.
#[must_use]
pub fn operating_system_element(namespace: &'static str, name: &str) -> Element {
    let (outer, inner) = ("OperatingSystemType", "OperatingSystemName");
    let kind = listed_name(outer, inner, &OPERATING_SYSTEMS, name);
    Element::new(namespace, "OperatingSystem").with(kind)
}

/// A processor architecture as an element of another namespace that has the
/// type of JSDL's.
#[must_use]
pub fn architecture_element(namespace: &'static str, name: &str) -> Element {
    let (outer, inner) = ("CPUArchitecture", "CPUArchitectureName");
    let mut element = listed_name(outer, inner, &ARCHITECTURES, name);
    element.namespace = Name::Borrowed(namespace);
    element
}

/// A quantity as an element of this name.
fn range_value(name: &'static str, value: &RangeValue) -> Element {
    Element::new(JSDL, name)
        .with_all(value.upper.map(|b| bound("UpperBoundedRange", b)))
        .with_all(value.lower.map(|b| bound("LowerBoundedRange", b)))
        .with_all(value.exact.iter().map(|exact| {
            let element = Element::with_text(JSDL, "Exact", exact.value.to_string());
            match exact.epsilon {
                Some(epsilon) => element.with_attribute("epsilon", epsilon.to_string()),
                None => element,
            }
        }))
        .with_all(value.ranges.iter().map(|range| {
            Element::new(JSDL, "Range")
                .with(bound("LowerBound", range.lower))
                .with(bound("UpperBound", range.upper))
        }))
}

fn bound(name: &'static str, bound: Bound) -> Element {
    let element = Element::with_text(JSDL, name, bound.value.to_string());
    if bound.exclusive {
        element.with_attribute("exclusiveBound", "true")
    } else {
        element
    }
}

fn staging(part: &DataStaging) -> Element {
    let place = |name, place: &Option<Option<String>>| {
        place
            .as_ref()
            .map(|uri| Element::new(JSDL, name).with_all(text("URI", uri)))
    };
    let delete = part.delete.map(|delete| delete.to_string());
    let size = part.size.map(|size| size.to_string());
    let mut element = Element::new(JSDL, "DataStaging");
    if let Some(name) = &part.name {
        element = element.with_attribute("name", name.as_str());
    }
    element
        .with(Element::with_text(JSDL, "FileName", part.file.as_str()))
        .with_all(text("FilesystemName", &part.filesystem))
        .with(Element::with_text(
            JSDL,
            "CreationFlag",
            part.creation.name(),
        ))
        .with_all(text("DeleteOnTermination", &delete))
        .with_all(place("Source", &part.source))
        .with_all(place("Target", &part.target))
        .with_all(size.map(|size| Element::with_text(OWN, "Size", size)))
}
