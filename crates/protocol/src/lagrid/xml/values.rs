//! What stands in one element.

use super::LaGrid;
use crate::inventory::{InventoryDocument, NAMESPACE};
use crate::jsdl::{JSDL, JobDefinition};
use crate::lagrid::LAGRID;
use crate::lagrid::reference::{Parameter, Reference};
use crate::lagrid::words::{
    Auth, ConnEvent, Form, JobLanguage, JobNews, ResourceLanguage, Role, UpdateKind, UpdateVerdict,
};
use crate::rest::{GenericCounts, JobState, Result};
use crate::soap::EndpointReference;
use crate::xml::record::{
    At, Field, Fields, Language as _, Tag, Value, Wrong, required, texts, values,
};
use crate::xml::{ADDRESSING, Element, Name};

// The standard parser lets a plus sign pass, and so does the schema.
values! { LaGrid:
    u16 = "a whole number from 0 to 65535", |text| text.parse().ok();
    u32 = "a whole number from 0 to 4294967295", |text| text.parse().ok();
    u64 = "a whole number from 0 to 18446744073709551615", |text| text.parse().ok();
    bool = "true or false", crate::xml::boolean;
    GenericCounts = "names with their numbers, such as gpu:2,nic:1", |text| text.parse().ok();
}

required! { LaGrid: Reference, JobDefinition, InventoryDocument }
texts! { LaGrid }

macro_rules! words {
    ($($kind:ident,)+) => {$(
        required! { LaGrid: $kind }

        impl Value<LaGrid> for $kind {
            fn write(&self, (namespace, name): Tag) -> Element {
                Element::with_text(namespace, name, self.name())
            }

            fn read(at: &At<'_>, language: &mut LaGrid) -> Result<Self> {
                let words: Vec<&str> = Self::ALL.iter().map(|word| word.name()).collect();
                at.parsed(language, &words.join(", "), Self::from_name)
            }
        }
    )+};
}

words! {
    Auth, ConnEvent, JobLanguage, JobNews, JobState, Form, ResourceLanguage, Role,
    UpdateKind, UpdateVerdict,
}

/// The reference parameters stand in the header of the envelope.
impl Field<LaGrid> for Vec<Parameter> {
    fn put(&self, _tag: Tag, _parent: &mut Element) {}

    fn take(_fields: &mut Fields<'_, LaGrid>, _tag: Tag) -> Result<Self> {
        Ok(Vec::new())
    }
}

impl From<&Reference> for EndpointReference {
    fn from(reference: &Reference) -> Self {
        EndpointReference {
            address: reference.address.clone(),
            parameters: reference.parameters.iter().map(Element::from).collect(),
        }
    }
}

impl From<&Parameter> for Element {
    fn from(parameter: &Parameter) -> Self {
        let mut element = Element::with_text("", "", parameter.value.as_str());
        // Names that are known beforehand cost nothing to keep.
        element.namespace = match parameter.namespace == LAGRID {
            true => Name::Borrowed(LAGRID),
            false => Name::Owned(parameter.namespace.clone()),
        };
        element.name = Name::Owned(parameter.name.clone());
        element
    }
}

impl Value<LaGrid> for Reference {
    fn write(&self, (namespace, name): Tag) -> Element {
        EndpointReference::from(self).write(namespace, name)
    }

    fn read(at: &At<'_>, language: &mut LaGrid) -> Result<Self> {
        let read = EndpointReference::read(at.element).map_err(|fault| {
            let what = format!(": {}", fault.reason);
            language.error(at, Wrong::Other(&what))
        })?;
        let parameters = read.parameters.iter();
        let parameters = parameters.map(|one| parameter(&at.inner(one)));
        Ok(Reference {
            address: read.address,
            parameters: parameters.collect::<Result<_, _>>()?,
        })
    }
}

fn parameter(at: &At<'_>) -> Result<Parameter> {
    let element = at.element;
    if element.elements().next().is_some() {
        let what = ": expected a reference parameter with a text only";
        return Err(LaGrid.error(at, Wrong::Other(what)));
    }
    Ok(Parameter {
        namespace: element.namespace.clone().into_owned(),
        name: element.name.clone().into_owned(),
        value: element.text(),
    })
}

/// The reference parameters among the blocks of a header, which are marked as
/// such (WS-Addressing 1.0 SOAP Binding, section 2.3).
pub(in crate::lagrid) fn parameters(header: &[Element]) -> Result<Vec<Parameter>> {
    let marked = |block: &&Element| {
        let mark = block.attribute(ADDRESSING, "IsReferenceParameter");
        matches!(mark.map(str::trim), Some("true" | "1"))
    };
    let blocks = header.iter().filter(marked);
    blocks
        .map(|block| parameter(&At::named(block, "Header").inner(block)))
        .collect()
}

/// The only element in another one.
fn only<'a>(at: &At<'a>, language: &mut LaGrid, expected: &str) -> Result<&'a Element> {
    at.attributes(language, &[])?;
    let mut elements = at.element.elements();
    match (elements.next(), elements.next(), at.element.stray_text()) {
        (Some(only), None, None) => Ok(only),
        _ => {
            let what = format!(": expected exactly one {expected} and nothing else");
            Err(language.error(at, Wrong::Other(&what)))
        }
    }
}

/// A job's description stands in an element of ours.
impl Value<LaGrid> for JobDefinition {
    fn write(&self, (namespace, name): Tag) -> Element {
        Element::new(namespace, name).with(self.element())
    }

    fn read(at: &At<'_>, language: &mut LaGrid) -> Result<Self> {
        let definition = only(at, language, &format!("JobDefinition of {JSDL}"))?;
        Ok(JobDefinition::read_element("request", definition)?)
    }
}

/// So does an inventory.
impl Value<LaGrid> for InventoryDocument {
    fn write(&self, (namespace, name): Tag) -> Element {
        Element::new(namespace, name).with(self.element())
    }

    fn read(at: &At<'_>, language: &mut LaGrid) -> Result<Self> {
        let inventory = only(at, language, &format!("Inventory of {NAMESPACE}"))?;
        Ok(InventoryDocument::from_element(inventory)?)
    }
}
