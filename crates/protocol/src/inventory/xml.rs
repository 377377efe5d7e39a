//! An inventory as XML.

use super::error::InventoryDocumentError as Error;
use super::{
    AttributeDocument, InventoryDocument, NAMESPACE, RangeDocument, RecordDocument,
    RelationDocument,
};
use crate::xml::Element;
use std::collections::BTreeMap;

impl InventoryDocument {
    /// The XML document.
    #[must_use]
    pub fn to_xml(&self) -> String {
        self.element().to_document()
    }

    /// The root element, `Inventory`.
    #[must_use]
    pub fn element(&self) -> Element {
        let records = self.records.iter().map(record_element);
        Element::new(NAMESPACE, "Inventory")
            .with_attribute("form", &self.form)
            .with_all(records)
    }

    /// Reads an XML document.
    ///
    /// # Errors
    /// [`InventoryDocumentError`](Error) when it is no XML of an inventory.
    pub fn parse(document: &[u8]) -> Result<Self, Error> {
        Self::from_element(&Element::parse(document)?)
    }

    /// Reads an `Inventory` element.
    ///
    /// # Errors
    /// [`InventoryDocumentError`](Error) when it is none.
    pub fn from_element(root: &Element) -> Result<Self, Error> {
        expect(root, "Inventory", &["form"])?;
        let records = children(root, &["Record"])?.into_iter().map(record);
        Ok(InventoryDocument {
            form: required(root, "form")?,
            records: records.collect::<Result<_, _>>()?,
        })
    }
}

fn record_element(record: &RecordDocument) -> Element {
    let attributes = record.attributes.iter();
    let relations = record.relations.iter().map(|relation| {
        Element::new(NAMESPACE, "Relation")
            .with_attribute("name", &relation.name)
            .with_attribute("to", &relation.to)
    });
    Element::new(NAMESPACE, "Record")
        .with_attribute("id", &record.id)
        .with_attribute("type", &record.kind)
        .with_attribute("count", record.count.to_string())
        .with_all(attributes.map(|(name, attribute)| attribute_element(name, attribute)))
        .with_all(relations)
}

fn attribute_element(name: &str, attribute: &AttributeDocument) -> Element {
    let count = attribute.count.map(|count| count.to_string());
    let figures = [
        ("count", &count),
        ("total", &attribute.total),
        ("mean", &attribute.mean),
        ("median", &attribute.median),
    ];
    let mut element = Element::new(NAMESPACE, "Attribute").with_attribute("name", name);
    for (figure, value) in figures {
        if let Some(value) = value {
            element = element.with_attribute(figure, value);
        }
    }
    if let Some(range) = &attribute.range {
        let range = Element::new(NAMESPACE, "Range")
            .with_attribute("min", &range.min)
            .with_attribute("max", &range.max);
        element.push(range);
    }
    let values = attribute.value.iter();
    let values = values.chain(attribute.list.iter().flatten());
    element.with_all(values.map(|value| Element::with_text(NAMESPACE, "Value", value)))
}

fn record(element: &Element) -> Result<RecordDocument, Error> {
    expect(element, "Record", &["id", "type", "count"])?;
    let mut attributes = BTreeMap::new();
    let mut relations = Vec::new();
    for child in children(element, &["Attribute", "Relation"])? {
        if child.name == "Relation" {
            expect(child, "Relation", &["name", "to"])?;
            children(child, &[])?;
            let (name, to) = (required(child, "name")?, required(child, "to")?);
            relations.push(RelationDocument { name, to });
            continue;
        }
        let name = required(child, "name")?;
        if attributes.insert(name, attribute(child)?).is_some() {
            return Err(problem(child, "expected each name once in a record"));
        }
    }
    Ok(RecordDocument {
        id: required(element, "id")?,
        kind: required(element, "type")?,
        count: whole(element, "count", &required(element, "count")?)?,
        attributes,
        relations,
    })
}

fn attribute(element: &Element) -> Result<AttributeDocument, Error> {
    let known = ["name", "count", "total", "mean", "median"];
    expect(element, "Attribute", &known)?;
    let figure = |name: &str| element.attribute("", name).map(str::to_owned);
    let mut values = Vec::new();
    let mut range = None;
    for child in children(element, &["Value", "Range"])? {
        if child.name == "Value" {
            expect(child, "Value", &[])?;
            if child.elements().next().is_some() {
                return Err(problem(child, "expected a text"));
            }
            values.push(child.text());
            continue;
        }
        expect(child, "Range", &["min", "max"])?;
        children(child, &[])?;
        let (min, max) = (required(child, "min")?, required(child, "max")?);
        if range.replace(RangeDocument { min, max }).is_some() {
            return Err(problem(child, "expected one range"));
        }
    }
    let count = figure("count").map(|count| whole(element, "count", &count));
    Ok(AttributeDocument {
        // One value is a value, several are a list.
        value: (values.len() == 1).then(|| values.remove(0)),
        list: (!values.is_empty()).then_some(values),
        range,
        count: count.transpose()?,
        total: figure("total"),
        mean: figure("mean"),
        median: figure("median"),
    })
}

/// The element has this name and no other attributes than these.
pub(super) fn expect(element: &Element, name: &str, attributes: &[&str]) -> Result<(), Error> {
    if !element.is(NAMESPACE, name) {
        return Err(problem(
            element,
            &format!("expected {name} in the namespace {NAMESPACE}"),
        ));
    }
    let stray = element.attributes.iter().find(|attribute| {
        attribute.namespace.is_empty() && !attributes.contains(&&*attribute.name)
    });
    match stray {
        None => Ok(()),
        Some(stray) => {
            let expected = match attributes {
                [] => "none".to_owned(),
                known => known.join(", "),
            };
            let name = &stray.name;
            Err(problem(
                element,
                &format!("unknown attribute {name}: expected {expected}"),
            ))
        }
    }
}

/// The children, each of one of these names; no text between them.
pub(super) fn children<'a>(
    element: &'a Element,
    names: &[&str],
) -> Result<Vec<&'a Element>, Error> {
    if let Some(text) = element.stray_text() {
        let text: String = text.chars().take(80).collect();
        return Err(problem(element, &format!("unexpected text {text:?}")));
    }
    let stray = element
        .elements()
        .find(|child| !names.iter().any(|name| child.is(NAMESPACE, name)));
    match stray {
        None => Ok(element.elements().collect()),
        Some(stray) => {
            let expected = match names {
                [] => "no element here".to_owned(),
                names => format!("{} in the namespace {NAMESPACE}", names.join(" or ")),
            };
            Err(problem(stray, &format!("expected {expected}")))
        }
    }
}

pub(super) fn required(element: &Element, attribute: &str) -> Result<String, Error> {
    let value = element.attribute("", attribute).map(str::to_owned);
    value.ok_or_else(|| problem(element, &format!("missing attribute {attribute}")))
}

fn whole(element: &Element, attribute: &str, value: &str) -> Result<u64, Error> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|_| digits);
    number.ok_or_else(|| {
        let value: String = value.chars().take(80).collect();
        let expected = "expected a whole number below 2^64";
        problem(element, &format!("{attribute} = {value:?}: {expected}"))
    })
}

pub(super) fn problem(element: &Element, problem: &str) -> Error {
    Error::Element {
        line: element.line,
        element: element.name.to_string(),
        problem: problem.to_owned(),
    }
}
