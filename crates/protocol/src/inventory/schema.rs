//! Schema documents: which types aggregate on which attributes, and how
//! closely relations are kept (LA Grid, Listing 1).

use super::NAMESPACE;
use super::convert::text;
use super::error::InventoryDocumentError as Error;
use super::xml::{children, expect, problem, required};
use crate::xml::Element;
use gridrig_core::inventory::{
    AttributeRule, Form, RelationRule, Schema, Shape, Statistic, TypeRule,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Reads a schema document.
///
/// # Errors
/// [`InventoryDocumentError`](Error) when it is none, or its rules contradict
/// each other.
pub fn read_schema(document: &[u8]) -> Result<Schema, Error> {
    let root = Element::parse(document)?;
    expect(&root, "ResourceSchema", &[])?;
    let mut types = Vec::new();
    let mut relations = Vec::new();
    for child in children(&root, &["Type", "Relation"])? {
        if child.name == "Type" {
            types.push(type_rule(child)?);
        } else {
            relations.push(relation_rule(child)?);
        }
    }
    Ok(Schema::new(types, relations)?)
}

/// The element of a schema document, `ResourceSchema`.
#[must_use]
pub fn schema_element(schema: &Schema) -> Element {
    let keep = |rule: &AttributeRule| {
        let statistics: Vec<&str> = rule.statistics.iter().map(|one| one.name()).collect();
        Element::new(NAMESPACE, "Keep")
            .with_attribute("attribute", &*rule.name)
            .with_attribute("values", rule.shape.name())
            .with_attribute("statistics", statistics.join(" "))
    };
    let aggregate_on = |name: &Arc<str>| {
        Element::new(NAMESPACE, "AggregateOn").with_attribute("attribute", &**name)
    };
    let types = schema.types().iter().map(|rule| {
        Element::new(NAMESPACE, "Type")
            .with_attribute("name", &*rule.name)
            .with_all(rule.aggregate_on.iter().map(aggregate_on))
            .with_all(rule.keep.iter().map(keep))
    });
    let relations = schema.relations().iter().map(|rule| {
        Element::new(NAMESPACE, "Relation")
            .with_attribute("name", &*rule.name)
            .with_attribute("from", &*rule.from)
            .with_attribute("to", &*rule.to)
            .with_attribute("model", rule.model.name())
    });
    Element::new(NAMESPACE, "ResourceSchema")
        .with_all(types)
        .with_all(relations)
}

fn type_rule(element: &Element) -> Result<TypeRule, Error> {
    expect(element, "Type", &["name"])?;
    let mut rule = TypeRule {
        name: name(element, "name")?,
        aggregate_on: Vec::new(),
        keep: Vec::new(),
    };
    for child in children(element, &["AggregateOn", "Keep"])? {
        children(child, &[])?;
        if child.name == "AggregateOn" {
            expect(child, "AggregateOn", &["attribute"])?;
            rule.aggregate_on.push(name(child, "attribute")?);
            continue;
        }
        expect(child, "Keep", &["attribute", "values", "statistics"])?;
        rule.keep.push(AttributeRule {
            name: name(child, "attribute")?,
            shape: shape(child)?,
            statistics: statistics(child)?,
        });
    }
    Ok(rule)
}

fn relation_rule(element: &Element) -> Result<RelationRule, Error> {
    expect(element, "Relation", &["name", "from", "to", "model"])?;
    children(element, &[])?;
    let model = required(element, "model")?;
    let expected = "expected unique, one-to-n or n-to-n";
    Ok(RelationRule {
        name: name(element, "name")?,
        from: name(element, "from")?,
        to: name(element, "to")?,
        model: Form::from_name(&model)
            .ok_or_else(|| problem(element, &format!("model = {model:?}: {expected}")))?,
    })
}

fn name(element: &Element, attribute: &str) -> Result<Arc<str>, Error> {
    let value = required(element, attribute)?;
    Ok(Arc::from(text(attribute, &value)?))
}

fn shape(element: &Element) -> Result<Shape, Error> {
    match element.attribute("", "values") {
        None => Ok(Shape::default()),
        Some(text) => [Shape::Range, Shape::List]
            .into_iter()
            .find(|shape| shape.name() == text)
            .ok_or_else(|| {
                problem(
                    element,
                    &format!("values = {text:?}: expected range or list"),
                )
            }),
    }
}

/// All of them unless some are named.
fn statistics(element: &Element) -> Result<BTreeSet<Statistic>, Error> {
    let Some(text) = element.attribute("", "statistics") else {
        return Ok(Statistic::ALL.into());
    };
    let one = |word: &str| {
        let mut all = Statistic::ALL.into_iter();
        all.find(|statistic| statistic.name() == word)
            .ok_or_else(|| {
                let expected = "expected some of total, mean, median";
                problem(element, &format!("statistics = {text:?}: {expected}"))
            })
    };
    text.split_ascii_whitespace().map(one).collect()
}
