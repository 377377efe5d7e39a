//! Schema documents: which types aggregate on which attributes, and how
//! closely relations are kept (LA Grid, Listing 1).

use super::NAMESPACE;
use super::convert::text;
use super::error::InventoryDocumentError as Error;
use super::xml::{Documents, Read, read};
use crate::xml::Element;
use crate::xml::record::{At, Attribute, Fields, Tag, Value, attributes, records};
use gridrig_core::inventory::{
    AttributeRule, Form, RelationRule, Schema, Shape, Statistic, TypeRule,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What stands in a schema document.
struct Rules {
    types: Vec<TypeRule>,
    relations: Vec<RelationRule>,
}

records! { Documents:
    Rules in NAMESPACE {
        types = "Type",
        relations = "Relation",
    }
    TypeRule in NAMESPACE {
        @name = "name",
        aggregate_on = "AggregateOn",
        keep = "Keep",
    }
    AttributeRule in NAMESPACE {
        @name = "attribute",
        @shape = "values" or Shape::default(),
        @statistics = "statistics" or Statistic::ALL.into(),
    }
    RelationRule in NAMESPACE {
        @name = "name",
        @from = "from",
        @to = "to",
        @model = "model",
    }
}

/// Reads a schema document.
///
/// # Errors
/// [`InventoryDocumentError`](Error) when it is none, or its rules contradict
/// each other.
pub fn read_schema(document: &[u8]) -> Result<Schema, Error> {
    let rules: Rules = read(&Element::parse(document)?, "ResourceSchema")?;
    Ok(Schema::new(rules.types, rules.relations)?)
}

/// The element of a schema document, `ResourceSchema`.
pub fn schema_element(schema: &Schema) -> Element {
    let rules = Rules {
        types: schema.types().to_vec(),
        relations: schema.relations().to_vec(),
    };
    rules.write((NAMESPACE, "ResourceSchema"))
}

/// A type is aggregated on an attribute.
impl Value<Documents> for Arc<str> {
    fn write(&self, (namespace, name): Tag) -> Element {
        Element::new(namespace, name).with_attribute("attribute", &**self)
    }

    fn read(at: &At<'_>, language: &mut Documents) -> Read<Self> {
        let mut fields = Fields::of(at, language)?;
        let name = Attribute::take(&mut fields, "attribute")?;
        fields.end()?;
        Ok(name)
    }
}

impl Attribute<Documents> for Arc<str> {
    fn put(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn take(fields: &mut Fields<'_, Documents>, name: &'static str) -> Read<Self> {
        let value: String = Attribute::take(fields, name)?;
        Ok(Arc::from(text(name, &value)?))
    }
}

attributes! { Documents:
    Form = "unique, one-to-n or n-to-n", Form::from_name, |form: &Form| form.name().to_owned();
    Shape = "range or list", shape, |shape: &Shape| shape.name().to_owned();
    Statistics = "some of total, mean, median", statistics, statistics_text;
}

type Statistics = BTreeSet<Statistic>;

fn shape(name: &str) -> Option<Shape> {
    let mut shapes = [Shape::Range, Shape::List].into_iter();
    shapes.find(|shape| shape.name() == name)
}

fn statistics(text: &str) -> Option<Statistics> {
    let one = |word: &str| {
        let mut all = Statistic::ALL.into_iter();
        all.find(|statistic| statistic.name() == word)
    };
    text.split_ascii_whitespace().map(one).collect()
}

fn statistics_text(statistics: &Statistics) -> String {
    let names: Vec<&str> = statistics.iter().map(|one| one.name()).collect();
    names.join(" ")
}
