//! An element as the JSON that ARC makes of XML.

use super::Element;
use serde_json::{Map, Value};

impl Element {
    /// The content as ARC writes it in JSON: the root's own name goes, every
    /// value is a string, children that share a name become an array, and
    /// attributes stand under `_attributes`. `arrays` names children of the
    /// root that are an array however many there are.
    pub fn to_json(&self, arrays: &[&str]) -> Value {
        json(self, "", arrays)
    }
}

/// `outside` is the namespace of the element around.
fn json(of: &Element, outside: &str, arrays: &[&str]) -> Value {
    if of.elements().next().is_none() && arrays.is_empty() {
        return Value::String(of.text());
    }
    let mut object = Map::new();
    for child in of.elements() {
        let value = json(child, &of.namespace, &[]);
        let same = of.elements().filter(|other| other.name == child.name);
        let is_array = arrays.contains(&&*child.name) || same.take(2).count() > 1;
        match object.get_mut(&*child.name) {
            Some(Value::Array(values)) => values.push(value),
            _ if is_array => drop(object.insert(child.name.to_string(), vec![value].into())),
            _ => drop(object.insert(child.name.to_string(), value)),
        }
    }
    for name in arrays {
        object.entry(*name).or_insert(Value::Array(Vec::new()));
    }
    let declared = (of.namespace != outside).then(|| ("xmlns", &*of.namespace));
    let attributes = of.attributes.iter().map(|it| (&*it.name, &*it.value));
    let attributes = declared.into_iter().chain(attributes);
    let attributes: Map<String, Value> = attributes
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    if !attributes.is_empty() {
        object.insert("_attributes".to_owned(), Value::Object(attributes));
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(count: u32) -> Element {
        let job = |id| {
            Element::new("", "job")
                .field("id", id)
                .field("reason", "a < b & \u{1}c")
        };
        Element::new("", "jobs").with_all((0..count).map(job))
    }

    #[test]
    fn text_is_escaped_and_kept_legal() {
        let xml = jobs(1).to_document();
        assert!(
            xml.contains("<reason>a &lt; b &amp; \u{fffd}c</reason>"),
            "{xml}"
        );
    }

    #[test]
    fn json_has_no_root_and_arrays_where_they_are_asked_for() {
        let json = |count| jobs(count).to_json(&["job"]);
        assert_eq!(json(0).to_string(), r#"{"job":[]}"#);
        assert_eq!(json(1)["job"][0]["id"], "0");
        assert_eq!(json(2)["job"][1]["id"], "1");
    }

    #[test]
    fn children_of_one_name_share_an_array_and_attributes_stand_apart() {
        let element = Element::new("urn:x", "x")
            .with_attribute("BaseType", "Service")
            .field("a", 1)
            .field("b", 2)
            .field("a", 3);
        assert_eq!(
            element.to_json(&[]).to_string(),
            r#"{"a":["1","3"],"b":"2","_attributes":{"xmlns":"urn:x","BaseType":"Service"}}"#
        );
    }
}
