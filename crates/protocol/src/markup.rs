//! XML elements as values: built once, written as XML or as the JSON that ARC
//! makes of XML.

use quick_xml::escape::escape;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A name that is mostly known when the program is built.
type Name = Cow<'static, str>;

/// An element with its attributes and either text or children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    name: Name,
    attributes: Vec<(Name, String)>,
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// An empty element.
    #[must_use]
    pub fn new(name: impl Into<Name>) -> Self {
        Element {
            name: name.into(),
            attributes: Vec::new(),
            text: String::new(),
            children: Vec::new(),
        }
    }

    /// Its name as it is written, prefix included.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text; empty where it has children.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its children in order.
    #[must_use]
    pub fn children(&self) -> &[Element] {
        &self.children
    }

    /// The first child of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// With one more attribute; a namespace is declared the same way.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<Name>, value: impl Into<String>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// With this text.
    #[must_use]
    pub fn containing(mut self, text: impl ToString) -> Self {
        self.text = text.to_string();
        self
    }

    /// With one more child.
    #[must_use]
    pub fn child(mut self, child: Element) -> Self {
        self.children.push(child);
        self
    }

    /// With more children.
    #[must_use]
    pub fn children_of(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.children.extend(children);
        self
    }

    /// With one more child that holds only text.
    #[must_use]
    pub fn field(self, name: impl Into<Name>, value: impl ToString) -> Self {
        self.child(Element::new(name).containing(value))
    }

    /// With a child for each of these values.
    #[must_use]
    pub fn fields<T: ToString>(
        self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let of = |value: T| Element::new(name).containing(value);
        self.children_of(values.into_iter().map(of))
    }

    /// With a child if there is a value.
    #[must_use]
    pub fn optional(self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.fields(name, value)
    }

    /// The document, declaration first.
    #[must_use]
    pub fn to_xml(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        self.write(&mut out);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String) {
        out.push('<');
        out.push_str(&self.name);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            out.push_str("=\"");
            out.push_str(&escape(clean(value)));
            out.push('"');
        }
        if self.text.is_empty() && self.children.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        out.push_str(&escape(clean(&self.text)));
        for child in &self.children {
            child.write(out);
        }
        out.push_str("</");
        out.push_str(&self.name);
        out.push('>');
    }

    /// The content as ARC writes it in JSON: the root's own name goes, every
    /// value is a string, children that share a name become an array, and
    /// attributes stand under `_attributes`. `arrays` names children of the
    /// root that are an array however many there are.
    #[must_use]
    pub fn to_json(&self, arrays: &[&str]) -> Value {
        if self.children.is_empty() && arrays.is_empty() {
            return Value::String(self.text.clone());
        }
        let mut object = Map::new();
        for child in &self.children {
            let value = child.to_json(&[]);
            match object.get_mut(child.name.as_ref()) {
                None if self.is_array(&child.name, arrays) => {
                    object.insert(child.name.to_string(), Value::Array(vec![value]));
                }
                None => {
                    object.insert(child.name.to_string(), value);
                }
                Some(Value::Array(values)) => values.push(value),
                Some(_) => {}
            }
        }
        for name in arrays {
            if !object.contains_key(*name) {
                object.insert((*name).to_owned(), Value::Array(Vec::new()));
            }
        }
        if !self.attributes.is_empty() {
            let attributes = self.attributes.iter();
            let attributes =
                attributes.map(|(name, value)| (name.to_string(), Value::String(value.clone())));
            object.insert(
                "_attributes".to_owned(),
                Value::Object(attributes.collect()),
            );
        }
        Value::Object(object)
    }

    fn is_array(&self, name: &str, arrays: &[&str]) -> bool {
        let same = self.children.iter().filter(|child| child.name == name);
        arrays.contains(&name) || same.take(2).count() > 1
    }
}

/// Text without the characters that XML 1.0 cannot hold even escaped: a job's
/// name that came as JSON may have them.
fn clean(text: &str) -> Cow<'_, str> {
    let banned = |c: char| matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    match text.contains(banned) {
        true => Cow::Owned(text.replace(banned, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(count: u32) -> Element {
        let job = |id| {
            Element::new("job")
                .field("id", id)
                .field("reason", "a < b & \u{1}c")
        };
        Element::new("jobs").children_of((0..count).map(job))
    }

    #[test]
    fn text_is_escaped_and_kept_legal() {
        let xml = jobs(1).to_xml();
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
        let element = Element::new("x")
            .attribute("BaseType", "Service")
            .field("a", 1)
            .field("b", 2)
            .field("a", 3);
        assert_eq!(
            element.to_json(&[]).to_string(),
            r#"{"a":["1","3"],"b":"2","_attributes":{"BaseType":"Service"}}"#
        );
    }
}
