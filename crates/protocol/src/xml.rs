//! An XML document as a tree of elements with resolved namespaces: what the
//! SOAP and JSDL codecs read from and write to.
//!
//! Messages of the interfaces here are small and carry parts of each other
//! (a job definition in a request in an envelope), so that a tree that is read
//! once serves all of them. Reading is bounded in depth and in the number of
//! nodes and attributes; document types and entities are refused.
//!
//! ```
//! use gridrig_protocol::xml::Element;
//!
//! let root = Element::parse(br#"<a xmlns="urn:x"><b>1 &lt; 2</b></a>"#).unwrap();
//! assert!(root.is("urn:x", "a"));
//! assert_eq!(root.child("urn:x", "b").unwrap().text(), "1 < 2");
//! ```

mod json;
mod namespaces;
mod read;
pub(crate) mod record;
mod write;

pub use namespaces::*;

use std::borrow::Cow;

/// A name or namespace: mostly one that is known beforehand.
pub type Name = Cow<'static, str>;

/// Deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;
/// Most elements and texts of a message.
pub const MAX_NODES: usize = 100_000;
/// Most attributes of one element.
pub const MAX_ATTRIBUTES: usize = 64;

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its namespace; empty for none.
    pub namespace: Name,
    /// Its local name.
    pub name: Name,
    /// Its attributes, without the declarations of namespaces.
    pub attributes: Vec<Attribute>,
    /// What is in it.
    pub children: Vec<Node>,
    /// The line it begins on, from 1; 0 for one that was not read.
    pub line: usize,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its namespace; empty for none, as most attributes have.
    pub namespace: Name,
    /// Its local name.
    pub name: Name,
    /// Its value.
    pub value: String,
}

/// What an element holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// An element.
    Element(Element),
    /// Characters, with references resolved.
    Text(String),
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct XmlError {
    /// The line, counted from 1.
    pub line: usize,
    /// `malformed-xml`, `doctype-refused` or `too-complex`.
    pub code: &'static str,
    /// What is wrong, and what was expected.
    pub problem: String,
}

impl Element {
    /// An empty element.
    pub fn new(namespace: &'static str, name: impl Into<Name>) -> Self {
        Element {
            namespace: Cow::Borrowed(namespace),
            name: name.into(),
            ..Element::default()
        }
    }

    /// An element with a text.
    pub fn with_text(namespace: &'static str, name: &'static str, text: impl Into<String>) -> Self {
        let mut element = Element::new(namespace, name);
        let text = text.into();
        if !text.is_empty() {
            element.children.push(Node::Text(text));
        }
        element
    }

    /// The same element with one more child.
    #[must_use]
    pub fn with(mut self, child: Element) -> Self {
        self.push(child);
        self
    }

    /// The same element with more children.
    #[must_use]
    pub fn with_all(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.push_all(children);
        self
    }

    /// The same element with a child of its namespace that holds a text.
    #[must_use]
    pub fn field(self, name: &'static str, value: impl ToString) -> Self {
        self.fields(name, [value])
    }

    /// The same element with such a child for each of these values.
    #[must_use]
    pub fn fields<T: ToString>(
        mut self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        for value in values {
            let mut child = Element::with_text("", name, value.to_string());
            child.namespace = self.namespace.clone();
            self.push(child);
        }
        self
    }

    /// The same element with such a child if there is a value.
    #[must_use]
    pub fn optional(self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.fields(name, value)
    }

    /// The same element with one more attribute of no namespace.
    #[must_use]
    pub fn with_attribute(self, name: &'static str, value: impl Into<String>) -> Self {
        self.with_attribute_of("", name, value)
    }

    /// The same element with one more attribute.
    #[must_use]
    pub fn with_attribute_of(
        mut self,
        namespace: &'static str,
        name: &'static str,
        value: impl Into<String>,
    ) -> Self {
        self.attributes.push(Attribute {
            namespace: Cow::Borrowed(namespace),
            name: Cow::Borrowed(name),
            value: value.into(),
        });
        self
    }

    /// Adds an attribute of no namespace, if there is a value.
    pub fn set(&mut self, name: &'static str, value: Option<String>) {
        self.attributes.extend(value.map(|value| Attribute {
            namespace: Cow::Borrowed(""),
            name: Cow::Borrowed(name),
            value,
        }));
    }

    /// Adds a child.
    pub fn push(&mut self, child: Element) {
        self.children.push(Node::Element(child));
    }

    /// Adds children.
    pub fn push_all(&mut self, children: impl IntoIterator<Item = Element>) {
        self.children
            .extend(children.into_iter().map(Node::Element));
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`XmlError`].
    pub fn parse(document: &[u8]) -> Result<Self, XmlError> {
        read::parse(document, MAX_NODES)
    }

    /// Reads a document of at most so many elements and texts.
    pub(crate) fn parse_at_most(document: &[u8], nodes: usize) -> Result<Self, XmlError> {
        read::parse(document, nodes)
    }

    /// Whether it has this name.
    pub fn is(&self, namespace: &str, name: &str) -> bool {
        self.name == name && self.namespace == namespace
    }

    /// The elements in it.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The first child of this name.
    pub fn child(&self, namespace: &str, name: &str) -> Option<&Element> {
        self.elements().find(|child| child.is(namespace, name))
    }

    /// The value of an attribute; `""` is no namespace.
    pub fn attribute(&self, namespace: &str, name: &str) -> Option<&str> {
        let is = |it: &&Attribute| it.name == name && it.namespace == namespace;
        self.attributes.iter().find(is).map(|it| it.value.as_str())
    }

    /// The characters directly in it, as they are.
    pub fn text(&self) -> String {
        let texts = self.children.iter().filter_map(|node| match node {
            Node::Text(text) => Some(text.as_str()),
            Node::Element(_) => None,
        });
        texts.collect()
    }

    /// The first characters between its elements that are more than space.
    pub fn stray_text(&self) -> Option<&str> {
        self.children.iter().find_map(|node| match node {
            Node::Text(text) if text.contains(|c| !is_space(c)) => {
                Some(text.trim_matches(is_space))
            }
            _ => None,
        })
    }

    /// The document with this root.
    pub fn to_document(&self) -> String {
        let mut xml = String::with_capacity(1024);
        xml.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        write::write(self, &mut xml);
        xml
    }
}

/// A text from outside, so that a hostile one is not echoed at length.
pub fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Longest name of an architecture or operating system, in characters.
pub const MAX_NAME: usize = 200;

/// What is expected of such a name that is longer than [`MAX_NAME`].
pub(crate) fn too_long(name: &str) -> Option<String> {
    let length = name.chars().count();
    (length > MAX_NAME).then(|| format!("at most {MAX_NAME} characters, not {length}"))
}

/// A truth value as XML schemas have it.
pub fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// The text if it is digits and nothing else: a sign is no part of our numbers.
pub(crate) fn digits(text: &str) -> Option<&str> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(text)
}

/// White space of XML.
pub fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// Whether XML 1.0 has this character.
pub fn is_xml(c: char) -> bool {
    is_space(c) || (c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'))
}

/// What a name without prefix may begin with (Namespaces in XML 1.0, NCName).
fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic()
        || c == '_'
        || matches!(c, '\u{c0}'..='\u{2ff}' | '\u{370}'..='\u{1fff}' | '\u{200c}' | '\u{200d}'
            | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}'
            | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
            && !matches!(c, '\u{d7}' | '\u{f7}' | '\u{37e}')
}

/// What it may go on with.
fn continues_name(c: char) -> bool {
    begins_name(c)
        || c.is_ascii_digit()
        || matches!(
            c,
            '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}'
        )
}
