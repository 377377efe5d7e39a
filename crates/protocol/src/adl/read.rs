//! From elements to a description.

use super::{Activity, AdlError, Executable, InputFile, NAMESPACE, NORDUGRID, OutputFile};
use crate::xml::{Element, boolean, excerpt, too_long};
use gridrig_core::generic::EXPECTED;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Reads one `ActivityDescription`.
pub(super) fn activity(root: &Element) -> Result<Activity, AdlError> {
    if !root.is(NAMESPACE, "ActivityDescription") {
        let name = format!("{{{}}}{}", root.namespace, root.name);
        return Err(AdlError::Root(root.line, name));
    }
    let mut activity = Activity {
        slots: 1,
        ..Activity::default()
    };
    for section in root.elements() {
        if !SECTIONS.contains(&&*section.name) {
            ignore(&mut activity, &section.name, "");
            continue;
        }
        for node in section.elements() {
            part(&mut activity, section, node)?;
        }
    }
    Ok(activity)
}

const SECTIONS: [&str; 4] = [
    "ActivityIdentification",
    "Application",
    "Resources",
    "DataStaging",
];

fn part(activity: &mut Activity, section: &Element, node: &Element) -> Result<(), AdlError> {
    match (&*section.name, &*node.name) {
        ("ActivityIdentification", "Name") => activity.name = some(node),
        ("Application", "Executable") => activity.executable = executable(node),
        ("Application", "Input") => activity.input = some(node),
        ("Application", "Output") => activity.output = some(node),
        ("Application", "Error") => activity.error = some(node),
        ("Application", "Environment") => {
            let name = child(node, "Name").filter(|name| !name.is_empty());
            let wrong = || wrong(node, "Application/Environment/Name", "a name");
            let value = child(node, "Value").unwrap_or_default();
            activity.environment.push((name.ok_or_else(wrong)?, value));
        }
        ("Resources", "SlotRequirement") => slots(activity, node)?,
        ("Resources", "QueueName") => activity.queue = some(node),
        // An estimate for the whole job where it is given, else for one of its
        // processes, which run side by side.
        ("Resources", "WallTime" | "TotalWallTime") => {
            activity.wall_time_s = Some(number(node, section)?);
        }
        ("Resources", "IndividualWallTime") if activity.wall_time_s.is_none() => {
            activity.wall_time_s = Some(number(node, section)?);
        }
        ("Resources", "IndividualPhysicalMemory") => {
            activity.memory_bytes = Some(number(node, section)?);
        }
        ("Resources", "DiskSpaceRequirement") => activity.disk_bytes = Some(number(node, section)?),
        ("Resources", "Coprocessor") => {
            activity.coprocessor = parse(node, "Resources/Coprocessor", EXPECTED)?;
        }
        ("Resources", "Platform") => {
            activity.platform = short(some(node), node, "Resources/Platform")?;
        }
        ("Resources", "OperatingSystem") => {
            let family = child(node, "Family").or_else(|| child(node, "Name"));
            let family = family.filter(|family| !family.is_empty());
            activity.os = short(family, node, "Resources/OperatingSystem")?;
        }
        ("DataStaging", "ClientDataPush") => activity.client_data_push = flag(node)?,
        ("DataStaging", "InputFile") => activity.inputs.push(InputFile {
            name: file_name(node, "DataStaging/InputFile/Name")?,
            sources: uris(node, "Source"),
        }),
        ("DataStaging", "OutputFile") => activity.outputs.push(OutputFile {
            name: file_name(node, "DataStaging/OutputFile/Name")?,
            targets: uris(node, "Target"),
        }),
        ("DataStaging", "DelegationID") if [NORDUGRID, NAMESPACE].contains(&&*node.namespace) => {
            activity.delegation = some(node);
        }
        (section, name) => ignore(activity, section, name),
    }
    Ok(())
}

/// The client writes an empty element for a job without a program.
fn executable(node: &Element) -> Option<Executable> {
    let path = child(node, "Path").filter(|path| !path.is_empty())?;
    Some(Executable {
        path,
        arguments: all(node, "Argument").map(Element::text).collect(),
    })
}

fn slots(activity: &mut Activity, node: &Element) -> Result<(), AdlError> {
    const ELEMENT: &str = "Resources/SlotRequirement/NumberOfSlots";
    for part in node.elements() {
        match part.name.as_ref() {
            "NumberOfSlots" => {
                let slots: NonZeroU32 = parse(part, ELEMENT, "a number from 1 to 4294967295")?;
                activity.slots = slots.get();
            }
            name => ignore(activity, "Resources/SlotRequirement", name),
        }
    }
    Ok(())
}

/// A name within the session directory; it may lie in a folder there. `/` at
/// the start is the directory itself.
fn file_name(node: &Element, element: &'static str) -> Result<String, AdlError> {
    let expected = "the name of a file in the session directory";
    let name = child(node, "Name").ok_or_else(|| wrong(node, element, expected))?;
    let name = name.trim_start_matches('/');
    let stays_inside = name.split('/').all(|part| !matches!(part, ".." | "."));
    // The client asks for the whole directory by "/".
    if stays_inside && name.len() <= MOST_NAME {
        return Ok(name.to_owned());
    }
    let at = node.child(NAMESPACE, "Name").unwrap_or(node);
    Err(wrong(at, element, expected))
}

/// Longest path of a file.
const MOST_NAME: usize = 4096;

fn uris(node: &Element, name: &str) -> Vec<String> {
    all(node, name).filter_map(|it| child(it, "URI")).collect()
}

fn flag(node: &Element) -> Result<bool, AdlError> {
    match node.text().trim() {
        "" => Ok(false),
        said => {
            boolean(said).ok_or_else(|| wrong(node, "DataStaging/ClientDataPush", "true or false"))
        }
    }
}

fn number(node: &Element, section: &Element) -> Result<u64, AdlError> {
    let element = format!("{}/{}", section.name, node.name);
    parse(node, &element, "a whole number")
}

fn parse<T: FromStr>(node: &Element, element: &str, expected: &str) -> Result<T, AdlError> {
    let parsed = node.text().trim().parse();
    parsed.map_err(|_| wrong(node, element, expected))
}

fn wrong(node: &Element, element: &str, expected: &str) -> AdlError {
    wrong_value(node, element, node.text().trim(), expected)
}

fn wrong_value(node: &Element, element: &str, value: &str, expected: &str) -> AdlError {
    AdlError::Value {
        line: node.line,
        element: element.to_owned(),
        value: excerpt(value),
        expected: expected.to_owned(),
    }
}

/// A name of nodes, unless it is too long.
fn short(name: Option<String>, at: &Element, element: &str) -> Result<Option<String>, AdlError> {
    let given = name.as_deref().unwrap_or_default();
    match too_long(given) {
        Some(expected) => Err(wrong_value(at, element, given, &expected)),
        None => Ok(name),
    }
}

fn some(node: &Element) -> Option<String> {
    let text = node.text().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn child(node: &Element, name: &str) -> Option<String> {
    let child = node.child(NAMESPACE, name)?;
    Some(child.text().trim().to_owned())
}

fn all<'a>(node: &'a Element, name: &str) -> impl Iterator<Item = &'a Element> {
    node.elements().filter(move |part| part.is(NAMESPACE, name))
}

/// Names of elements are the client's; so many different ones are kept.
const MOST_IGNORED: usize = 100;

fn ignore(activity: &mut Activity, section: &str, name: &str) {
    let path = match name {
        "" => section.to_owned(),
        name => format!("{section}/{name}"),
    };
    if activity.ignored.len() < MOST_IGNORED && !activity.ignored.contains(&path) {
        activity.ignored.push(path);
    }
}
