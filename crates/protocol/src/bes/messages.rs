//! Requests as they are taken apart, answers as they are put together.

use super::{BesFault, FACTORY, GRIDSAM, OWN, Operation};
use crate::jsdl::{JSDL, architecture_element, operating_system_element};
use crate::soap::{EndpointReference, Fault};
use crate::xml::Element;
use gridrig_core::resource::{Resource, Resources};

/// The job definition that a `CreateActivity` holds.
///
/// # Errors
/// When it has none.
pub fn activity_document(request: &Element) -> Result<&Element, BesFault> {
    let document = request.child(FACTORY, "ActivityDocument").ok_or_else(|| {
        let message = "element CreateActivity: missing element: expected ActivityDocument";
        BesFault::invalid("CreateActivity/ActivityDocument", message)
    })?;
    document.child(JSDL, "JobDefinition").ok_or_else(|| {
        let message = format!(
            "element CreateActivity/ActivityDocument: missing element: expected JobDefinition of {JSDL}"
        );
        BesFault::invalid("CreateActivity/ActivityDocument/JobDefinition", message)
    })
}

/// The activities that a request is about, in its order.
///
/// # Errors
/// When one is no endpoint reference.
pub fn identifiers(request: &Element) -> Result<Vec<EndpointReference>, BesFault> {
    let path = format!("{}/ActivityIdentifier", request.name);
    let invalid = |fault: Fault| BesFault::invalid(&path, fault.reason);
    let is_one = |child: &&Element| child.is(FACTORY, "ActivityIdentifier");
    let references = request
        .elements()
        .filter(is_one)
        .map(EndpointReference::read);
    references.map(|read| read.map_err(invalid)).collect()
}

/// The endpoint reference of an activity, in the form of GridSAM: its clients
/// look for an element literally called `ID`, without a prefix.
impl EndpointReference {
    /// The reference of the activity `id` of the service at `address`.
    pub fn of_activity(address: &str, id: &str) -> Self {
        let inner = Element::with_text(GRIDSAM, "ID", id);
        EndpointReference {
            address: address.to_owned(),
            parameters: vec![Element::new(GRIDSAM, "JobIdentifier").with(inner)],
        }
    }

    /// The activity that the reference names, if it names one.
    pub fn activity(&self) -> Option<String> {
        self.parameter(&[GRIDSAM, ""], "ID")
    }
}

/// The answer to a `CreateActivity`; what was left out of the document is
/// listed in elements of our own.
pub fn create_activity_response(reference: &EndpointReference, ignored: &[String]) -> Element {
    let ignored = ignored.iter();
    Element::new(FACTORY, Operation::CreateActivity.response())
        .with(reference.write(FACTORY, "ActivityIdentifier"))
        .with_all(ignored.map(|path| Element::with_text(OWN, "Ignored", path.as_str())))
}

/// What is said of one activity.
pub type ActivityAnswer = Result<Element, BesFault>;

/// The answer about several activities, in the order in which they were asked
/// for.
pub fn responses(operation: Operation, answers: impl IntoIterator<Item = Element>) -> Element {
    Element::new(operation.namespace(), operation.response()).with_all(answers)
}

/// The answer about one activity.
pub fn response(
    operation: Operation,
    reference: &EndpointReference,
    answer: ActivityAnswer,
) -> Element {
    let ends = operation == Operation::TerminateActivities;
    let response = Element::new(FACTORY, "Response")
        .with(reference.write(FACTORY, "ActivityIdentifier"))
        .optional("Terminated", ends.then_some(answer.is_ok()));
    match answer {
        Ok(_) if ends => response,
        Ok(element) => response.with(element),
        Err(fault) => response.with(fault.within_answer()),
    }
}

/// What the service tells of itself.
#[derive(Clone, Debug)]
pub struct Factory<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is, in a sentence.
    pub description: &'a str,
    /// Its nodes.
    pub resources: &'a Resources,
    /// Whether it takes jobs in.
    pub accepting: bool,
    /// Jobs that wait and run.
    pub activities: u64,
    /// Jobs that wait.
    pub queued: u64,
    /// Processors that are taken.
    pub busy: u32,
}

/// Activities are named by plain endpoint references (GFD.108, section 5.1).
const NAMING: &str = "http://schemas.ggf.org/bes/2006/08/bes/naming/BasicWSAddressing";
/// The HPC Basic Profile (GFD.114, section 4).
const HPC_BASIC_PROFILE: &str = "http://schemas.ogf.org/hpcp/2007/01/bp";
/// Which LRMS stands behind the service.
const LRMS: &str = "urn:gridrig:emulator";

/// The answer to a `GetFactoryAttributesDocument`.
pub fn factory_attributes_response(factory: &Factory<'_>) -> Element {
    let groups = factory.resources.groups();
    let own = [
        ("QueuedJobs", factory.queued),
        ("BusyProcessors", factory.busy.into()),
    ];
    let document = Element::new(FACTORY, "FactoryResourceAttributesDocument")
        .with(overall(factory))
        .field("IsAcceptingNewActivities", factory.accepting)
        .field("CommonName", factory.name)
        .field("LongDescription", factory.description)
        .field("TotalNumberOfActivities", factory.activities)
        .field("TotalNumberOfContainedResources", groups.len())
        .with_all(groups.iter().map(contained))
        .field("NamingProfile", NAMING)
        .field("BESExtension", HPC_BASIC_PROFILE)
        .field("LocalResourceManagerType", LRMS)
        .with_all(own.map(|(name, value)| Element::with_text(OWN, name, value.to_string())));
    Element::new(FACTORY, Operation::GetFactoryAttributesDocument.response()).with(document)
}

/// What all nodes have in common, and their processors together.
fn overall(factory: &Factory<'_>) -> Element {
    let groups = factory.resources.groups();
    let common = |property: fn(&Resource) -> &Option<String>| -> Option<&str> {
        let mut all = groups.iter().map(|group| property(group).as_deref());
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    };
    basic(
        Some(factory.name),
        common(|group| &group.os),
        common(|group| &group.architecture),
        factory.resources.processors(),
        None,
    )
}

/// A group of identical nodes as a contained resource: one node of it, and
/// how many there are.
pub fn contained(group: &Resource) -> Element {
    let (os, architecture) = (group.os.as_deref(), group.architecture.as_deref());
    let name = group.name.as_deref();
    let document = basic(name, os, architecture, group.cpu_count, group.memory_mib)
        .with(Element::with_text(OWN, "Nodes", group.count.to_string()))
        .with(Element::with_text(OWN, "Speed", group.speed.to_string()));
    Element::new(FACTORY, "ContainedResource").with(document)
}

fn basic(
    name: Option<&str>,
    os: Option<&str>,
    architecture: Option<&str>,
    processors: u32,
    memory_mib: Option<u64>,
) -> Element {
    // Bytes, as JSDL counts memory.
    let memory = memory_mib.map(|mib| u128::from(mib) * 1_048_576);
    Element::new(FACTORY, "BasicResourceAttributesDocument")
        .optional("ResourceName", name)
        .with_all(os.map(|os| operating_system_element(FACTORY, os)))
        .with_all(architecture.map(|name| architecture_element(FACTORY, name)))
        .field("CPUCount", processors)
        .optional("PhysicalMemory", memory)
}
