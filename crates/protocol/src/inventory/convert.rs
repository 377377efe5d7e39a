//! Between inventories and the documents that carry them.

use super::RelationDocument;
use super::error::InventoryDocumentError as Error;
use super::{AttributeDocument, InventoryDocument, RangeDocument, RecordDocument};
use crate::xml::is_xml;
use gridrig_core::inventory::{Attribute, Form, Inventory, Record, Relation, Value, Values};
use gridrig_core::time::Decimal;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands before the type of an aggregated record.
const AGGREGATE: &str = "Aggregate";
/// Longest name or value, in characters.
const MAX_TEXT: usize = 200;

impl From<&Inventory> for InventoryDocument {
    fn from(inventory: &Inventory) -> Self {
        let records = inventory.records().iter().enumerate();
        let relation = |relation: &Relation| RelationDocument {
            name: relation.name.to_string(),
            to: inventory.records()[relation.to].id.to_string(),
        };
        let record = |(index, record): (usize, &Record)| RecordDocument {
            id: record.id.to_string(),
            kind: match inventory.form() {
                Form::Flat => record.kind.to_string(),
                _ => format!("{AGGREGATE}{}", record.kind),
            },
            count: record.count,
            attributes: attributes(record),
            relations: inventory.relations_of(index).iter().map(relation).collect(),
        };
        InventoryDocument {
            form: inventory.form().name().to_owned(),
            records: records.map(record).collect(),
        }
    }
}

fn attributes(record: &Record) -> BTreeMap<String, AttributeDocument> {
    let document = |(name, attribute): (&Arc<str>, &Attribute)| {
        let text = |number: Option<Decimal>| number.map(|number| number.to_string());
        let mut document = AttributeDocument {
            count: (attribute.count != record.count).then_some(attribute.count),
            total: text(attribute.told_total),
            mean: text(attribute.told_mean),
            median: text(attribute.told_median),
            ..AttributeDocument::default()
        };
        match &attribute.values {
            Values::Single(value) => document.value = Some(value.to_string()),
            Values::Range(min, max) => {
                let (min, max) = (min.to_string(), max.to_string());
                document.range = Some(RangeDocument { min, max });
            }
            Values::List(values) => {
                document.list = Some(values.iter().map(Value::to_string).collect());
            }
        }
        (name.to_string(), document)
    };
    record.attributes.iter().map(document).collect()
}

impl InventoryDocument {
    /// The inventory that it describes.
    ///
    /// # Errors
    /// [`InventoryDocumentError`](Error) when a field is no value of its kind
    /// or the records contradict each other.
    pub fn inventory(&self) -> Result<Inventory, Error> {
        let expected = "flat, unique, one-to-n or n-to-n";
        let form = Form::from_name(&self.form)
            .ok_or_else(|| Error::field("form", &self.form, expected))?;
        let ids = self.records.iter().map(|record| record.id.as_str());
        let ids: BTreeMap<&str, usize> = ids.zip(0..).collect();
        let mut records = Vec::with_capacity(self.records.len());
        let mut relations = Vec::new();
        for (index, record) in self.records.iter().enumerate() {
            let path = format!("records[{index}]");
            records.push(record.read(form, &path)?);
            for relation in &record.relations {
                let path = format!("{path}.relations");
                let expected = "the id of a record of this inventory";
                let to = ids
                    .get(relation.to.as_str())
                    .ok_or_else(|| Error::field(&format!("{path}.to"), &relation.to, expected))?;
                let name = text(&format!("{path}.name"), &relation.name)?;
                relations.push(Relation::new(index, name, *to));
            }
        }
        Ok(Inventory::new(form, records, relations)?)
    }
}

impl RecordDocument {
    fn read(&self, form: Form, path: &str) -> Result<Record, Error> {
        let kind = match form {
            Form::Flat => Some(self.kind.as_str()),
            _ => self.kind.strip_prefix(AGGREGATE),
        };
        let field = format!("{path}.type");
        let expected = "a type whose name begins with Aggregate in this form";
        let kind = kind.ok_or_else(|| Error::field(&field, &self.kind, expected))?;
        let id = text(&format!("{path}.id"), &self.id)?;
        let mut record = Record::new(id, text(&field, kind)?).times(self.count);
        for (name, attribute) in &self.attributes {
            let name = text(&format!("{path}.attributes"), name)?;
            let path = format!("{path}.attributes.{name}");
            let attribute = attribute.read(self.count, &path)?;
            record.attributes.insert(Arc::from(name), attribute);
        }
        Ok(record)
    }
}

impl AttributeDocument {
    fn read(&self, of: u64, path: &str) -> Result<Attribute, Error> {
        let number = |field: &str, value: &Option<String>| match value {
            None => Ok(None),
            Some(value) => decimal(&format!("{path}.{field}"), value).map(Some),
        };
        let values = match (&self.value, &self.range, &self.list) {
            (Some(value), None, None) => Values::Single(Value::read(text(path, value)?)),
            (None, Some(range), None) => Values::Range(
                decimal(&format!("{path}.range.min"), &range.min)?,
                decimal(&format!("{path}.range.max"), &range.max)?,
            ),
            (None, None, Some(list)) => {
                let values = list.iter().map(|value| Ok(Value::read(text(path, value)?)));
                Values::List(values.collect::<Result<_, Error>>()?)
            }
            _ => {
                let expected = "exactly one of a value, a range and a list";
                return Err(Error::field(path, "", expected));
            }
        };
        Ok(Attribute {
            values,
            count: self.count.unwrap_or(of),
            told_total: number("total", &self.total)?,
            told_mean: number("mean", &self.mean)?,
            told_median: number("median", &self.median)?,
        })
    }
}

fn decimal(field: &str, value: &str) -> Result<Decimal, Error> {
    let expected = "a decimal number of at least 0 with at most nine places";
    Decimal::parse_long(value).ok_or_else(|| Error::field(field, value, expected))
}

/// A name or value: neither empty nor endless, without control characters.
pub(super) fn text<'a>(field: &str, value: &'a str) -> Result<&'a str, Error> {
    let short = !value.is_empty() && value.chars().nth(MAX_TEXT).is_none();
    let visible = value.chars().all(|c| is_xml(c) && !c.is_control());
    if short && visible && value.trim() == value {
        return Ok(value);
    }
    let expected = "1 to 200 characters, no control character, no space at either end";
    Err(Error::field(field, value, expected))
}
