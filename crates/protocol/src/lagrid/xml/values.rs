//! What stands in one element.

use super::{Field, Fields, Path, Value, plain};
use crate::inventory::{InventoryDocument, NAMESPACE};
use crate::jsdl::{JSDL, JobDefinition};
use crate::lagrid::connection::Verdict;
use crate::lagrid::reference::{Parameter, Reference};
use crate::lagrid::words::{
    AuthMethod, ConnEvent, JobLanguage, JobNews, JobState, ResourceForm, ResourceLanguage, Role,
    UpdateKind, UpdateVerdict, Word,
};
use crate::lagrid::{LAGRID, PeerFault};
use crate::soap::EndpointReference;
use crate::xml::{ADDRESSING, Element, Name};

/// The text of an element that holds nothing else.
fn text_of(element: &Element, path: &Path<'_>) -> Result<String, PeerFault> {
    plain(element, path)?;
    if let Some(child) = element.elements().next() {
        let path = path.inner(&child.name);
        return Err(path.fault(child.line, ": expected a text and no element"));
    }
    Ok(element.text())
}

impl Value for String {
    fn write(&self, name: &'static str) -> Element {
        Element::with_text(LAGRID, name, self.as_str())
    }

    fn read(element: &Element, path: &Path<'_>) -> Result<Self, PeerFault> {
        text_of(element, path)
    }
}

/// Whole numbers; the standard parser would let a plus sign pass, and so does
/// the schema.
macro_rules! numbers {
    ($($kind:ident: $expected:literal,)+) => {$(
        impl Value for $kind {
            fn write(&self, name: &'static str) -> Element {
                Element::with_text(LAGRID, name, self.to_string())
            }

            fn read(element: &Element, path: &Path<'_>) -> Result<Self, PeerFault> {
                let text = text_of(element, path)?;
                let text = text.trim();
                text.parse().map_err(|_| path.value(element, text, $expected))
            }
        }
    )+};
}

numbers! {
    u16: "a whole number from 0 to 65535",
    u32: "a whole number from 0 to 4294967295",
    u64: "a whole number from 0 to 18446744073709551615",
}

impl Value for bool {
    fn write(&self, name: &'static str) -> Element {
        Element::with_text(LAGRID, name, self.to_string())
    }

    fn read(element: &Element, path: &Path<'_>) -> Result<Self, PeerFault> {
        match text_of(element, path)?.trim() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(path.value(element, other, "true or false")),
        }
    }
}

fn read_word<T: Word>(element: &Element, path: &Path<'_>) -> Result<T, PeerFault> {
    let text = text_of(element, path)?;
    let text = text.trim();
    let mut words = T::WORDS.iter().copied();
    words.find(|word| word.word() == text).ok_or_else(|| {
        let words: Vec<&str> = T::WORDS.iter().map(|word| word.word()).collect();
        path.value(element, text, &words.join(", "))
    })
}

macro_rules! words {
    ($($kind:ident,)+) => {$(
        impl Value for $kind {
            fn write(&self, name: &'static str) -> Element {
                Element::with_text(LAGRID, name, self.word())
            }

            fn read(element: &Element, path: &Path<'_>) -> Result<Self, PeerFault> {
                read_word(element, path)
            }
        }
    )+};
}

words! {
    AuthMethod, ConnEvent, JobLanguage, JobNews, JobState, ResourceForm, ResourceLanguage, Role,
    UpdateKind, UpdateVerdict,
}

/// One of three elements, whatever the field is called.
impl Field for Verdict {
    fn put(&self, _name: &'static str, parent: &mut Element) {
        parent.push(match self {
            Verdict::Accepted(terms) => terms.write("accepted"),
            Verdict::Counter(proposal) => proposal.write("counter"),
            Verdict::Refused(refusal) => refusal.write("refused"),
        });
    }

    fn take(fields: &mut Fields<'_>, _name: &'static str) -> Result<Self, PeerFault> {
        if let Some(terms) = <Option<_> as Field>::take(fields, "accepted")? {
            return Ok(Verdict::Accepted(terms));
        }
        if let Some(proposal) = <Option<_> as Field>::take(fields, "counter")? {
            return Ok(Verdict::Counter(proposal));
        }
        match <Option<_> as Field>::take(fields, "refused")? {
            Some(refusal) => Ok(Verdict::Refused(refusal)),
            None => Err(fields.missing("accepted, counter or refused")),
        }
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

impl Value for Reference {
    fn write(&self, name: &'static str) -> Element {
        EndpointReference::from(self).write(LAGRID, name)
    }

    fn read(element: &Element, path: &Path<'_>) -> Result<Self, PeerFault> {
        let read = EndpointReference::read(element)
            .map_err(|fault| path.fault(element.line, &format!(": {}", fault.reason)))?;
        let parameters = read.parameters.iter();
        Ok(Reference {
            address: read.address,
            parameters: parameters
                .map(|element| parameter(element, path))
                .collect::<Result<_, _>>()?,
        })
    }
}

fn parameter(element: &Element, path: &Path<'_>) -> Result<Parameter, PeerFault> {
    if element.elements().next().is_some() {
        let path = path.inner(&element.name);
        let what = ": expected a reference parameter with a text only";
        return Err(path.fault(element.line, what));
    }
    Ok(Parameter {
        namespace: element.namespace.clone().into_owned(),
        name: element.name.clone().into_owned(),
        value: element.text(),
    })
}

/// The reference parameters among the blocks of a header, which are marked as
/// such (WS-Addressing 1.0 SOAP Binding, section 2.3).
pub(in crate::lagrid) fn parameters(header: &[Element]) -> Result<Vec<Parameter>, PeerFault> {
    let marked = |block: &&Element| {
        let mark = block.attribute(ADDRESSING, "IsReferenceParameter");
        matches!(mark.map(str::trim), Some("true" | "1"))
    };
    let blocks = header.iter().filter(marked);
    blocks
        .map(|block| parameter(block, &Path::root("Header")))
        .collect()
}

/// The only element in another one.
fn only<'a>(
    element: &'a Element,
    path: &Path<'_>,
    expected: &str,
) -> Result<&'a Element, PeerFault> {
    plain(element, path)?;
    let mut elements = element.elements();
    match (elements.next(), elements.next(), element.stray_text()) {
        (Some(only), None, None) => Ok(only),
        _ => {
            let what = format!(": expected exactly one {expected} and nothing else");
            Err(path.fault(element.line, &what))
        }
    }
}

/// A job's description stands in an element of ours.
impl Value for JobDefinition {
    fn write(&self, name: &'static str) -> Element {
        Element::new(LAGRID, name).with(self.element())
    }

    fn read(element: &Element, path: &Path<'_>) -> Result<Self, PeerFault> {
        let expected = format!("JobDefinition of {JSDL}");
        let definition = only(element, path, &expected)?;
        Ok(JobDefinition::read_element("request", definition)?)
    }
}

/// So does an inventory.
impl Value for InventoryDocument {
    fn write(&self, name: &'static str) -> Element {
        Element::new(LAGRID, name).with(self.element())
    }

    fn read(element: &Element, path: &Path<'_>) -> Result<Self, PeerFault> {
        let expected = format!("Inventory of {NAMESPACE}");
        let inventory = only(element, path, &expected)?;
        Ok(InventoryDocument::from_element(inventory)?)
    }
}
