//! Resources as a cluster file.

use super::NAMESPACE;
use super::field::Field;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::Decimal;
use quick_xml::escape::escape;
use std::fmt::Write as _;

/// Why resources have no cluster file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The format has no word for nodes without this property.
    #[error("resource {index}: {element} is not set: expected a value, the format demands one")]
    Missing {
        /// Position of the group, from 0.
        index: usize,
        /// The element.
        element: &'static str,
    },
    /// The format cannot carry this value: it would be read back as another,
    /// or not at all.
    #[error("resource {index}: {element} = {value:?}: expected {expected}")]
    Value {
        /// Position of the group, from 0.
        index: usize,
        /// The element.
        element: &'static str,
        /// The value.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
}

/// The cluster file of these resources; read again, it gives the same ones.
///
/// # Errors
/// When a group has no architecture, operating system or memory (such as
/// those of [`Resources::homogeneous`]), or a value that no file can carry.
pub fn write(resources: &Resources) -> Result<String, WriteError> {
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<EmulatedResources xmlns=\"{NAMESPACE}\">\n"
    );
    for (index, group) in resources.groups().iter().enumerate() {
        xml.push_str("  <Resource>\n");
        for &field in Field::ALL {
            if let Some(value) = value(group, field, index)? {
                let name = field.name();
                // Writing to a String cannot fail.
                let _ = writeln!(xml, "    <{name}>{}</{name}>", escape(&value));
            }
        }
        xml.push_str("  </Resource>\n");
    }
    xml.push_str("</EmulatedResources>\n");
    Ok(xml)
}

fn value(group: &Resource, field: Field, index: usize) -> Result<Option<String>, WriteError> {
    let missing = || WriteError::Missing {
        index,
        element: field.name(),
    };
    let number = |number: u64| {
        checked(
            number.to_string(),
            number > 0,
            field,
            index,
            "a number above 0",
        )
    };
    let word = |text: &String| {
        let collapsed = super::field::collapse(text);
        let good = !text.is_empty() && collapsed == *text && text.chars().all(crate::xml::is_xml);
        let expected = "a text of XML characters without surplus spaces";
        checked(text.clone(), good, field, index, expected)
    };
    Ok(match field {
        Field::Name => group.name.as_ref().map(word).transpose()?,
        Field::Count => Some(number(u64::from(group.count))?),
        Field::CpuCount => Some(number(u64::from(group.cpu_count))?),
        Field::Architecture => Some(word(group.architecture.as_ref().ok_or_else(missing)?)?),
        Field::Os => Some(word(group.os.as_ref().ok_or_else(missing)?)?),
        Field::PhysicalMemory => Some(number(group.memory_mib.ok_or_else(missing)?)?),
        Field::Disk => group.disk_mib.map(number).transpose()?,
        Field::GenericResources if group.generic.is_empty() => None,
        Field::GenericResources => Some(group.generic.to_string()),
        Field::Speed if group.speed == Decimal::ONE => None,
        Field::Speed => {
            let text = group.speed.to_string();
            let good = text.split('.').all(|part| part.len() <= 9) && !group.speed.is_zero();
            let expected = "at most 9 digits on either side of the point";
            Some(checked(text, good, field, index, expected)?)
        }
    })
}

fn checked(
    value: String,
    good: bool,
    field: Field,
    index: usize,
    expected: &'static str,
) -> Result<String, WriteError> {
    if good {
        return Ok(value);
    }
    Err(WriteError::Value {
        index,
        element: field.name(),
        value,
        expected,
    })
}
