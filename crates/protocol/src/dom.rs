//! Small XML documents from clients, read whole: namespaces resolved, document
//! types and entities refused, size, depth and number of elements bounded.

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

/// How much a document may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of the text.
    pub bytes: usize,
    /// Elements within each other.
    pub depth: usize,
    /// Elements in all.
    pub elements: usize,
}

/// Why a text is no document that is read here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomError {
    /// Not well-formed, or with what is refused.
    #[error("line {line}: {problem}")]
    Xml {
        /// Where, from 1.
        line: usize,
        /// What.
        problem: String,
    },
    /// Larger than it may be.
    #[error("the document has more than {limit} {what}: expected fewer")]
    TooLarge {
        /// The bound.
        limit: usize,
        /// Of what.
        what: &'static str,
    },
}

/// One element of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its namespace; empty where it has none.
    pub namespace: String,
    /// Its name without a prefix.
    pub name: String,
    /// Attributes without a prefix, in order. Namespace declarations and
    /// attributes of other namespaces are no part of it.
    pub attributes: Vec<(String, String)>,
    /// All text directly in it.
    pub text: String,
    /// The elements in it.
    pub children: Vec<Node>,
    /// The line it begins in, from 1.
    pub line: usize,
}

impl Node {
    /// Reads a document.
    ///
    /// # Errors
    /// [`DomError`] where the text is not well-formed XML 1.0, has a document
    /// type or an entity of its own, or passes a bound.
    pub fn read(text: &str, bounds: Bounds) -> Result<Node, DomError> {
        if text.len() > bounds.bytes {
            return Err(too_large(bounds.bytes, "bytes"));
        }
        let mut reader = Reader {
            text: text.strip_prefix('\u{feff}').unwrap_or(text),
            line: 1,
            counted: 0,
            bounds,
            elements: 0,
            open: Vec::new(),
            root: None,
        };
        reader.read()
    }

    /// The children of this name in this namespace.
    pub fn all<'a>(&'a self, namespace: &str, name: &str) -> impl Iterator<Item = &'a Node> {
        self.children
            .iter()
            .filter(move |child| child.name == name && child.namespace == namespace)
    }

    /// The first child of this name in this namespace.
    #[must_use]
    pub fn find(&self, namespace: &str, name: &str) -> Option<&Node> {
        self.all(namespace, name).next()
    }

    /// The text of the first child of this name, without blanks around it.
    #[must_use]
    pub fn text_of(&self, namespace: &str, name: &str) -> Option<&str> {
        self.find(namespace, name).map(|child| child.text.trim())
    }
}

struct Reader<'a> {
    text: &'a str,
    line: usize,
    counted: usize,
    bounds: Bounds,
    elements: usize,
    open: Vec<Node>,
    root: Option<Node>,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<Node, DomError> {
        if let Some(at) = self.text.find(|c| !crate::resources::is_xml(c)) {
            self.count_lines(at);
            return Err(self.xml("a control character: expected characters of XML 1.0"));
        }
        let mut reader = NsReader::from_str(self.text);
        reader.config_mut().enable_all_checks(true);
        loop {
            self.count_lines(usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX));
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
                    self.count_lines(at);
                    return Err(self.xml(&format!("not well-formed XML: {error}")));
                }
            };
            match event {
                Event::Start(tag) => self.begin(&reader, &tag)?,
                Event::Empty(tag) => {
                    self.begin(&reader, &tag)?;
                    self.end();
                }
                Event::End(_) => self.end(),
                Event::Text(text) => self.characters(&text.xml10_content())?,
                Event::CData(text) => self.characters(&text.xml10_content())?,
                Event::GeneralRef(reference) => self.reference(&reference)?,
                Event::DocType(_) => {
                    return Err(self.xml("a document type: expected none, entities are refused"));
                }
                Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
                Event::Eof => return self.finish(),
            }
        }
    }

    fn begin(&mut self, reader: &NsReader<&[u8]>, tag: &BytesStart<'_>) -> Result<(), DomError> {
        if self.root.is_some() {
            return Err(self.xml("a second root element: expected the end of the document"));
        }
        self.elements += 1;
        if self.elements > self.bounds.elements {
            return Err(too_large(self.bounds.elements, "elements"));
        }
        if self.open.len() >= self.bounds.depth {
            return Err(too_large(self.bounds.depth, "levels"));
        }
        let (namespace, local) = reader.resolver().resolve_element(tag.name());
        let namespace = match namespace {
            ResolveResult::Bound(bound) => bound.0.to_owned(),
            ResolveResult::Unbound => String::new(),
            ResolveResult::Unknown(prefix) => {
                return Err(self.xml(&format!("prefix {prefix:?}: expected one that is declared")));
            }
        };
        let node = Node {
            namespace,
            name: local.into_inner().to_owned(),
            attributes: self.attributes(tag)?,
            line: self.line,
            ..Node::default()
        };
        self.open.push(node);
        Ok(())
    }

    fn attributes(&self, tag: &BytesStart<'_>) -> Result<Vec<(String, String)>, DomError> {
        let mut attributes = Vec::new();
        for attribute in tag.attributes() {
            let broken =
                |error: &dyn std::fmt::Display| self.xml(&format!("not well-formed XML: {error}"));
            let attribute = attribute.map_err(|error| broken(&error))?;
            let name = attribute.key.0;
            if name.contains(':') || name == "xmlns" {
                continue;
            }
            let value = quick_xml::escape::unescape(&attribute.value);
            let value = value.map_err(|error| broken(&error))?;
            attributes.push((name.to_owned(), value.into_owned()));
        }
        Ok(attributes)
    }

    fn end(&mut self) {
        // The XML reader refuses an end tag that has no start tag.
        if let Some(node) = self.open.pop() {
            match self.open.last_mut() {
                Some(parent) => parent.children.push(node),
                None => self.root = Some(node),
            }
        }
    }

    fn characters(&mut self, content: &str) -> Result<(), DomError> {
        match self.open.last_mut() {
            Some(node) => node.text.push_str(content),
            None if content.trim().is_empty() => {}
            None => return Err(self.xml("text outside the root element: expected none")),
        }
        Ok(())
    }

    fn reference(&mut self, reference: &BytesRef<'_>) -> Result<(), DomError> {
        let name = reference.xml10_content().into_owned();
        let character = match name.as_str() {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "apos" => Some('\''),
            "quot" => Some('"'),
            _ if reference.is_char_ref() => reference.resolve_char_ref().ok().flatten(),
            _ => None,
        };
        match character.filter(|c| crate::resources::is_xml(*c)) {
            Some(character) => self.characters(character.encode_utf8(&mut [0; 4])),
            None => Err(self.xml(&format!(
                "reference &{name};: expected a character of XML 1.0"
            ))),
        }
    }

    fn finish(&mut self) -> Result<Node, DomError> {
        match self.root.take() {
            Some(root) if self.open.is_empty() => Ok(root),
            _ => Err(self.xml("the document ends too early: expected a whole root element")),
        }
    }

    fn count_lines(&mut self, to: usize) {
        let to = to.min(self.text.len());
        if to > self.counted {
            let passed = &self.text.as_bytes()[self.counted..to];
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.counted = to;
        }
    }

    fn xml(&self, problem: &str) -> DomError {
        DomError::Xml {
            line: self.line,
            problem: problem.to_owned(),
        }
    }
}

fn too_large(limit: usize, what: &'static str) -> DomError {
    DomError::TooLarge { limit, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Bounds = Bounds {
        bytes: 1_000,
        depth: 4,
        elements: 8,
    };

    fn read(text: &str) -> Result<Node, DomError> {
        Node::read(text, SMALL)
    }

    #[test]
    fn namespaces_are_resolved_and_text_is_unescaped() {
        let node = read("<p:a xmlns:p='urn:x' k='1&lt;2'>x&amp;y<b><![CDATA[<z>]]></b>&#65;</p:a>");
        let node = node.unwrap();
        assert_eq!(
            (node.namespace.as_str(), node.name.as_str()),
            ("urn:x", "a")
        );
        assert_eq!(node.text, "x&yA");
        assert_eq!(node.attributes, [("k".to_owned(), "1<2".to_owned())]);
        assert_eq!(node.text_of("", "b"), Some("<z>"));
    }

    #[test]
    fn what_could_hurt_is_refused() {
        let cases = [
            ("<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "document type"),
            ("<a>&unknown;</a>", "reference &unknown;"),
            ("<a>&#0;</a>", "reference &#0;"),
            ("<a><b></a>", "not well-formed"),
            ("<a/><b/>", "second root"),
            ("<q:a/>", "declared"),
            ("", "too early"),
            ("<a>", "too early"),
            ("text<a/>", "outside"),
            ("<a><a><a><a><a/></a></a></a></a>", "4 levels"),
            ("<a><b/><b/><b/><b/><b/><b/><b/><b/></a>", "8 elements"),
        ];
        for (text, expected) in cases {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let long = format!("<a>{}</a>", "x".repeat(1_000));
        assert!(read(&long).unwrap_err().to_string().contains("1000 bytes"));
    }

    #[test]
    fn lines_are_counted() {
        let node = read("<a>\n\n<b/>\n</a>").unwrap();
        assert_eq!(node.children[0].line, 3);
    }
}
