//! An inventory as XML.

use super::error::InventoryDocumentError as Error;
use super::{AttributeDocument, InventoryDocument, NAMESPACE};
use crate::xml::record::{
    At, Attribute, Field, Fields, Language, Record, Tag, Value, Wrong, attributes, texts,
};
use crate::xml::{Element, digits, excerpt};
use std::collections::BTreeMap;

pub(super) type Read<T> = Result<T, Error>;

impl InventoryDocument {
    /// The XML document.
    pub fn to_xml(&self) -> String {
        self.element().to_document()
    }

    /// The root element, `Inventory`.
    pub fn element(&self) -> Element {
        Value::<Documents>::write(self, (NAMESPACE, "Inventory"))
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
        read(root, "Inventory")
    }
}

/// What an element of this name says.
pub(super) fn read<T: Value<Documents>>(root: &Element, name: &str) -> Read<T> {
    let at = At::root(root);
    if !root.is(NAMESPACE, name) {
        let expected = format!("expected {name} in the namespace {NAMESPACE}");
        return Err(Documents.error(&at, Wrong::Other(&expected)));
    }
    T::read(&at, &mut Documents)
}

/// The language of inventories and of their schemas.
pub(super) struct Documents;

impl Language for Documents {
    type Error = Error;

    fn error(&self, at: &At<'_>, what: Wrong<'_>) -> Error {
        let (mut element, name) = (at.element, &at.element.name);
        let problem = match what {
            Wrong::Attribute(name, []) => format!("unknown attribute {name}: expected none"),
            Wrong::Attribute(name, known) => {
                format!("unknown attribute {name}: expected {}", known.join(", "))
            }
            Wrong::NoAttribute(name) => format!("missing attribute {name}"),
            Wrong::Text(text) => format!("unexpected text {:?}", excerpt(text)),
            Wrong::Inner(_) => "expected a text".to_owned(),
            Wrong::Unknown(unknown, tags) => {
                element = unknown;
                let names: Vec<&str> = tags.iter().map(|tag| tag.1).collect();
                match &*names.join(" or ") {
                    "" => "expected no element here".to_owned(),
                    names => format!("expected {names} in the namespace {NAMESPACE}"),
                }
            }
            Wrong::Twice => format!("expected one {}", name.to_lowercase()),
            Wrong::Missing(name, _) => format!("missing element {name}"),
            Wrong::BadAttribute(name, value, expected) => {
                let value = excerpt(value);
                format!("{name} = {value:?}: expected {expected}")
            }
            Wrong::Value(value, expected) => format!("{value:?}: expected {expected}"),
            Wrong::Other(problem) => problem.to_owned(),
        };
        Error::Element {
            line: element.line,
            element: element.name.to_string(),
            problem,
        }
    }

    /// Attributes of other namespaces are none of ours.
    fn surplus(&mut self, at: &At<'_>, what: Wrong<'_>) -> Read<()> {
        match what {
            Wrong::Attribute(name, _) if at.element.attribute("", name).is_none() => Ok(()),
            _ => Err(self.error(at, what)),
        }
    }
}

/// Attributes by their names.
impl Field<Documents> for BTreeMap<String, AttributeDocument> {
    fn put(&self, (namespace, name): Tag, parent: &mut Element) {
        parent.push_all(self.iter().map(|(of, attribute)| {
            let mut element = Element::new(namespace, name).with_attribute("name", of);
            attribute.put_all(&mut element);
            element
        }));
    }

    fn take(fields: &mut Fields<'_, Documents>, tag: Tag) -> Read<Self> {
        let mut all = BTreeMap::new();
        while let Some(element) = fields.next(tag) {
            let at = fields.at.inner(element);
            let mut inner = Fields::of(&at, fields.language)?;
            let name = Attribute::take(&mut inner, "name")?;
            let attribute = Record::take_all(&mut inner)?;
            inner.end()?;
            if all.insert(name, attribute).is_some() {
                let problem = "expected each name once in a record";
                return Err(fields.language.error(&at, Wrong::Other(problem)));
            }
        }
        Ok(all)
    }
}

impl Record<Documents> for AttributeDocument {
    fn put_all(&self, element: &mut Element) {
        element.set("count", Attribute::<Documents>::put(&self.count));
        element.set("total", self.total.clone());
        element.set("mean", self.mean.clone());
        element.set("median", self.median.clone());
        Documents::put(&self.range, (NAMESPACE, "Range"), element);
        Documents::put(&self.value, (NAMESPACE, "Value"), element);
        for value in self.list.iter().flatten() {
            Documents::put(value, (NAMESPACE, "Value"), element);
        }
    }

    fn take_all(fields: &mut Fields<'_, Documents>) -> Read<Self> {
        let count = Attribute::take(fields, "count")?;
        let total = Attribute::take(fields, "total")?;
        let mean = Attribute::take(fields, "mean")?;
        let median = Attribute::take(fields, "median")?;
        let mut values: Vec<String> = fields.take((NAMESPACE, "Value"))?;
        Ok(AttributeDocument {
            // One value is a value, several are a list.
            value: (values.len() == 1).then(|| values.remove(0)),
            list: (!values.is_empty()).then_some(values),
            range: fields.take((NAMESPACE, "Range"))?,
            count,
            total,
            mean,
            median,
        })
    }
}

texts! { Documents }

attributes! { Documents:
    String = "", |text| Some(text.to_owned()), String::clone;
    u64 = "a whole number below 2^64", |text| digits(text)?.parse().ok(), u64::to_string;
}
